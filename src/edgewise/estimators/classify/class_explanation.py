"""Which arcs the learning of class networks changed, and which decide about one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.solvers.classify.fisher_scores import network_residuals, with_constant

if TYPE_CHECKING:
    import pandas as pd


def arc_changes(
    before: FloatArray, after: FloatArray, classes: Sequence[Any], parents: Sequence[str]
) -> pd.DataFrame:
    """List the arcs whose coefficients changed, the largest change first."""
    arcs = np.argwhere(before != after)
    old, new = before[tuple(arcs.T)], after[tuple(arcs.T)]
    values = {"before": old, "after": new, "change": new - old}
    return _listed(arcs, classes, parents, values, by=np.abs(new - old))


def arc_supports(
    row: FloatArray,
    coefs: FloatArray,
    pair: tuple[int, int],
    classes: Sequence[Any],
    parents: Sequence[str],
) -> pd.DataFrame:
    r"""List the arcs of two networks by what they add to the decision between them.

    Without the arc i -> j of a network, the residual of j would be :math:`r_j + \theta_{ij} x_i`,
    and the log-likelihood lower by :math:`\tfrac12 ((r_j + \theta_{ij} x_i)^2 - r_j^2)`. That is
    the support of the arc; for the network of the other class, minus that.
    """
    chosen = coefs[list(pair)]
    arcs = np.argwhere(chosen)
    weight = chosen[tuple(arcs.T)]
    residual = network_residuals(row[None, :], chosen)[arcs[:, 0], 0, arcs[:, 2]]
    share = weight * with_constant(row[None, :])[0, arcs[:, 1]]
    support = 0.5 * ((residual + share) ** 2 - residual**2) * np.array([1.0, -1.0])[arcs[:, 0]]
    labels = [classes[k] for k in pair]
    values = {"weight": weight, "support": support}
    return _listed(arcs, labels, parents, values, by=np.abs(support))


def _listed(
    arcs: Any,
    classes: Sequence[Any],
    parents: Sequence[str],
    values: dict[str, FloatArray],
    *,
    by: FloatArray,
) -> pd.DataFrame:
    import pandas as pd

    order = np.argsort(-by, kind="stable")
    frame = pd.DataFrame(
        {
            "class": [classes[k] for k in arcs[order, 0]],
            "source": [parents[k] for k in arcs[order, 1]],
            "target": [parents[k] for k in arcs[order, 2]],
        }
    )
    return frame.assign(**{name: value[order] for name, value in values.items()})
