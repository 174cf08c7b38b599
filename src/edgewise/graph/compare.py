"""What changed between two graphs over the same nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import IntArray
from edgewise.graph._arrays import edge_positions
from edgewise.graph.graph import Graph
from edgewise.io.messages import quote_names

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphDifference:
    """The way from one graph to another, as `Graph.diff` returns it.

    Attributes
    ----------
    changes : pandas.DataFrame
        One row per edge that changed, in order of the size of the change: ``source``,
        ``target``, ``change`` (``"appeared"``, ``"vanished"``, ``"sign"`` or ``"weight"``) and
        the weights ``before`` and ``after``.
    graph : Graph
        The edges that changed, weighted by after minus before.

    Examples
    --------
    >>> from edgewise import Graph
    >>> before, after = Graph([[0, 0.5], [0.5, 0]]), Graph([[0, 0.75], [0.75, 0]])
    >>> before.diff(after).graph.weights
    array([[0.  , 0.25],
           [0.25, 0.  ]])
    """

    changes: pd.DataFrame
    graph: Graph


def difference(before: Graph, after: Graph, *, tol: float = 0.0) -> GraphDifference:
    """Compare two graphs whose nodes are matched by name; see `Graph.diff`."""
    import pandas as pd

    if before.directed != after.directed:
        raise InputError("One graph is directed and the other is not. Compare two of a kind.")
    order = positions_by_name(before, after)
    after_weights = after.weights[np.ix_(order, order)]
    after_adjacency = after.adjacency[np.ix_(order, order)]
    delta = after_weights - before.weights
    came_or_went = before.adjacency != after_adjacency
    changed = came_or_went | (np.abs(delta) > tol)
    graph = Graph(
        np.where(changed, delta, 0.0),
        names=before.names,
        directed=before.directed,
        adjacency=changed,
    )
    rows, columns = edge_positions(changed, directed=before.directed)
    by_size = np.argsort(-np.abs(delta[rows, columns]), kind="stable")
    rows, columns = rows[by_size], columns[by_size]
    old, new = before.weights[rows, columns], after_weights[rows, columns]
    labels = np.array(before.names, dtype=object)
    kinds = np.select(
        [
            ~before.adjacency[rows, columns],
            ~after_adjacency[rows, columns],
            np.sign(old) * np.sign(new) < 0,
        ],
        ["appeared", "vanished", "sign"],
        default="weight",
    )
    table = {"source": labels[rows], "target": labels[columns], "change": kinds.astype(object)}
    return GraphDifference(
        changes=pd.DataFrame({**table, "before": old, "after": new}), graph=graph
    )


def positions_by_name(reference: Graph, other: Graph) -> IntArray:
    """Positions in ``other`` of the nodes of ``reference``; both must have the same names."""
    where = {name: position for position, name in enumerate(other.names)}
    missing = [name for name in reference.names if name not in where]
    surplus = sorted(where.keys() - set(reference.names), key=where.__getitem__)
    if missing or surplus:
        parts = [f"the second graph lacks {quote_names(missing)}"] if missing else []
        parts += [f"the first graph lacks {quote_names(surplus)}"] if surplus else []
        raise InputError(
            f"The graphs have different nodes: {' and '.join(parts)}. Compare graphs over the "
            "same variables."
        )
    return np.array([where[name] for name in reference.names])
