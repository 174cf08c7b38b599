"""Reading accuracies off the rows of a part."""

from __future__ import annotations

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray
from edgewise.reproduce._files import mean_and_error
from edgewise.reproduce.classify.deciders import LIKELIHOOD
from edgewise.reproduce.classify.splits import N_EDGES, OR

#: What an accuracy is looked up by.
KEY = ["method", "decider", "bias", "alpha", "n_edges"]


class Accuracies:
    """Accuracies in per cent on all splits of a table, in their order."""

    def __init__(self, frame: pd.DataFrame) -> None:
        ordered = frame.sort_values("split", kind="stable")
        with_networks = ordered[ordered["decider"].notna()]
        self._found = {
            key: 100 * group.to_numpy(dtype=np.float64)
            for key, group in with_networks.groupby(KEY)["accuracy"]
        }
        rivals = ordered[ordered["decider"].isna()]
        self.rivals: dict[str, FloatArray] = {
            str(name): 100 * group.to_numpy(dtype=np.float64)
            for name, group in rivals.groupby("method", sort=False)["accuracy"]
        }
        settings = with_networks[["alpha", "n_edges"]].drop_duplicates()
        usual = settings["n_edges"] == N_EDGES
        self.alphas = sorted(settings["alpha"][usual].tolist())
        self.edge_alphas = sorted(settings["alpha"][~usual].unique().tolist())
        self.edges = sorted(settings["n_edges"].astype(int).unique().tolist())
        self.n_splits = int(frame["split"].nunique())

    def of(
        self,
        method: str,
        bias: str,
        alpha: float,
        *,
        decider: str = LIKELIHOOD,
        n_edges: int = N_EDGES,
    ) -> FloatArray:
        """Accuracies of one method."""
        return self._found[method, decider, bias, alpha, n_edges]

    def gain(
        self, method: str, bias: str, alpha: float, *, over: str = OR, decider: str = LIKELIHOOD
    ) -> FloatArray:
        """Accuracies of one method less those of another on the same splits."""
        ours, theirs = (self.of(name, bias, alpha, decider=decider) for name in (method, over))
        return np.asarray(ours - theirs)


def written_gain(values: FloatArray) -> str:
    """Write a gain in points, with its sign.

    Examples
    --------
    >>> import numpy as np
    >>> written_gain(np.array([1.0, 3.0])), written_gain(np.array([-1.0]))
    ('+2.0 ± 1.0', '-1.0')
    """
    text = mean_and_error(values, digits=1).removeprefix("-")
    is_loss = round(float(values.mean()), 1) < 0
    return f"{'-' if is_loss else '+'}{text}"


def standard_error(values: FloatArray) -> float:
    """Give the standard error of a mean, 0 for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
