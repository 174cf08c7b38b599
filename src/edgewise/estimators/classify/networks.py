"""One sparse network per class: learning each by itself, and tables of their arcs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers import bcd_bayes_net, order_bayes_net
from edgewise.solvers.classify.fisher_scores import (
    network_residuals,
    score_correlations,
    select_arcs,
    with_constant,
)
from edgewise.solvers.directed.arc_lassos import BayesNetSolution

if TYPE_CHECKING:
    import pandas as pd


def arc_changes(
    before: FloatArray, after: FloatArray, classes: Sequence[Any], parents: Sequence[str]
) -> pd.DataFrame:
    """List the arcs whose coefficients changed, the largest change first."""
    arcs = np.argwhere(before != after)
    old, new = before[tuple(arcs.T)], after[tuple(arcs.T)]
    values = {"before": old, "after": new, "change": new - old}
    return _table(arcs, classes, parents, values, by=np.abs(new - old))


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
    return _table(arcs, labels, parents, values, by=np.abs(support))


def _table(
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


def in_data_order(coefs: FloatArray, order: IntArray) -> FloatArray:
    """Put coefficients of all networks back into the order of the columns of the data.

    ``order[k]`` is the column that variable k of the networks stands for.
    """
    result = np.empty_like(coefs)
    parents = np.append(order, len(order))
    result[np.ix_(np.arange(len(coefs)), parents, order)] = coefs
    return result


def generative_networks(
    rows: FloatArray,
    labels: IntArray,
    alpha: float,
    *,
    method: str,
    has_free_bias: bool,
    n_jobs: int | None,
) -> tuple[FloatArray, list[BayesNetSolution]]:
    """Learn the network of each class from its own rows.

    Returns the coefficients of all, of shape (n_classes, m + 1, m) with the intercepts last,
    and the solutions.
    """
    is_order = method == "order"
    solve: Callable[..., BayesNetSolution] = order_bayes_net if is_order else bcd_bayes_net
    options: dict[str, Any] = {"n_jobs": n_jobs} if is_order else {}
    coefs, solutions = [], []
    for c in range(int(labels.max()) + 1):
        own = rows[labels == c]
        mean = own.mean(axis=0)
        S = np.cov(own, rowvar=False, bias=True).reshape(len(mean), -1)
        # A column that does not vary in the class is tied to nothing there.
        still = np.ptp(own, axis=0) == 0
        S[still, :] = S[:, still] = 0.0
        S[still, still] = 1.0
        if not has_free_bias:
            options["location"] = mean
        solution = solve(S, alpha, **options)
        bias = mean - mean @ solution.value if has_free_bias else solution.intercept
        coefs.append(np.vstack([solution.value, bias]))
        solutions.append(solution)
    return np.stack(coefs), solutions


def informative_arcs(
    rows: FloatArray, labels: IntArray, coefs: FloatArray, n_edges: int
) -> IntArray:
    """Class, parent and child of the arcs whose Fisher scores correlate most with the class.

    Arcs that are absent stay so. Intercepts count as arcs: where they are penalised, most start
    from 0, and they are what sets the classes apart.
    """
    allowed = coefs != 0
    allowed[:, -1, :] = True
    return select_arcs(score_correlations(rows, labels, coefs), allowed, n_edges)
