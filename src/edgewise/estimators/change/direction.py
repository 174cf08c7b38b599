"""Whether a change looks the same in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgewise.graph import Graph

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, eq=False)
class DirectionCheck:
    """Changes from first to second beside those from second to first.

    Attributes
    ----------
    forward, backward : Graph
        The changes that were learned either way round.
    agreement : float
        Share of the pairs found by either that both found, with opposite signs where changes have
        one; 1 where neither found any.
    is_signed : bool
        Whether changes have a sign.
    """

    forward: Graph
    backward: Graph
    agreement: float
    is_signed: bool

    def table(self) -> pd.DataFrame:
        """List the pairs that either direction found, the largest change first.

        Returns
        -------
        pandas.DataFrame
            ``source``, ``target``, ``forward``, ``backward`` and whether they ``agree``.
        """
        import pandas as pd

        ahead, back = self.forward.weights, self.backward.weights
        first, second = np.nonzero(np.triu((ahead != 0) | (back != 0)))
        names = self.forward.names
        frame = pd.DataFrame(
            {
                "source": [names[k] for k in first],
                "target": [names[k] for k in second],
                "forward": ahead[first, second],
                "backward": back[first, second],
            }
        )
        signs = np.sign(frame["forward"]) * np.sign(frame["backward"])
        frame["agree"] = signs < 0 if self.is_signed else signs != 0
        size = frame[["forward", "backward"]].abs().max(axis=1)
        return frame.loc[size.sort_values(ascending=False, kind="stable").index].reset_index(
            drop=True
        )

    def __str__(self) -> str:
        counts = f"{self.forward.n_edges} changes one way, {self.backward.n_edges} the other"
        if self.agreement == 1.0:
            return f"Both directions agree: {counts}."
        return (
            f"The directions disagree: {counts}, of which {self.agreement:.0%} are the same. Trust "
            "those that both found."
        )


def compare_directions(forward: Graph, backward: Graph, *, is_signed: bool) -> DirectionCheck:
    """Compare the changes of both directions."""
    product = np.triu(np.sign(forward.weights) * np.sign(backward.weights))
    n_same = np.count_nonzero(product < 0 if is_signed else product)
    n_either = np.count_nonzero(np.triu(forward.adjacency | backward.adjacency))
    return DirectionCheck(
        forward=forward,
        backward=backward,
        agreement=n_same / n_either if n_either else 1.0,
        is_signed=is_signed,
    )
