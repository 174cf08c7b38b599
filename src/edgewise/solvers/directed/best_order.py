"""The best of all sparse Gaussian Bayesian networks by a penalty, for few variables."""

from __future__ import annotations

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.directed.arc_lassos import (
    MAX_ROUNDS,
    BayesNetSolution,
    arc_lassos,
    solve_column,
)
from edgewise.solvers.directed.greedy import MOST_EXACT, best_sinks


@kernel
def best_lassos(
    G: FloatArray,
    scale: FloatArray,
    base: FloatArray,
    n_nodes: int,
    child: int,
    tol: float,
    best: FloatArray,
    supports: IntArray,
    report: FloatArray,
) -> None:
    """Set the objective of the lasso of a variable on each subset of the others.

    The lasso of a subset is also that of every smaller one that has all its coefficients, so that
    few subsets of a sparse problem are solved.
    """
    w = np.empty(len(G))
    b = np.zeros(len(G))
    residual = np.empty(len(G))
    support = np.empty(len(G), np.int64)
    for subset in range(len(best) - 1, -1, -1):
        if subset >> child & 1:
            continue
        is_known = False
        for i in range(n_nodes):
            larger = subset | 1 << i
            if i != child and larger != subset and not supports[larger] >> i & 1:
                best[subset], supports[subset] = best[larger], supports[larger]
                is_known = True
                break
        if is_known:
            continue
        for i in range(len(G)):
            w[i] = base[child, i] if i >= n_nodes or subset >> i & 1 else np.inf
        solve_column(G, scale, child, w, b, residual, support, tol, MAX_ROUNDS, report)
        best[subset], supports[subset] = report[0], 0
        for i in range(n_nodes):
            if b[i] != 0.0:
                supports[subset] |= 1 << i


def best_order_bayes_net(
    S: FloatArray,
    alpha: float,
    *,
    weights: FloatArray | None = None,
    location: FloatArray | None = None,
    tol: float = 1e-10,
    n_jobs: int | None = None,
) -> BayesNetSolution:
    r"""Learn coefficients without cycles whose lassos have the least objective of all orders.

    .. math::

        \min_{\Theta \text{ without cycles}} \; \sum_j \tfrac12 \Big( S_{jj} - 2 S_j^\top \theta_j
        + \theta_j^\top S \theta_j \Big) + \alpha \sum_{i \ne j} w_{ij} |\Theta_{ij}|

    It is the objective of `order_bayes_net` where every arc goes up. The best network over a set of
    variables has one without children, and the others make the best network without it [1]_, so
    that the objectives of all :math:`2^m` sets follow from those of smaller ones. At most 20
    variables: their objectives take 200 MB then.

    Parameters
    ----------
    S, alpha, weights, location, tol, n_jobs
        As in `order_bayes_net`.

    Returns
    -------
    BayesNetSolution
        ``gap`` is that of the lassos along the best order.

    References
    ----------
    .. [1] Silander and Myllymaki (2006). A simple approach for finding the globally optimal
       Bayesian network structure. *UAI*. https://doi.org/10.48550/arXiv.1206.6875

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.directed.best_order import best_order_bayes_net
    >>> S = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> solution = best_order_bayes_net(S, 0.1)  # of a chain, in either direction
    >>> round(solution.objective, 3), np.abs(solution.value[solution.value != 0]).round(2)
    (1.34, array([0.4, 0.4]))
    """
    lassos = arc_lassos(
        S, alpha, schedule="literal", weights=weights, location=location, init=None, tol=tol,
        max_iter=1, n_jobs=n_jobs,
    )  # fmt: skip
    m = lassos.n_nodes
    if m > MOST_EXACT:
        raise InputError("too_many_to_order", found=m, most=MOST_EXACT)
    best, supports = np.empty((m, 2**m)), np.empty(2**m, dtype=np.int64)
    for child in range(m):
        best_lassos(
            lassos.G, lassos.scale, lassos.base, m, child, tol, best[child], supports,
            lassos.report[child],
        )  # fmt: skip
    total, sink = np.empty(2**m), np.empty(2**m, dtype=np.int64)
    best_sinks(best, total, sink)
    subset, tiers = 2**m - 1, np.empty(m, dtype=np.int64)
    for k in reversed(range(m)):
        node = int(sink[subset])
        tiers[node] = k
        subset -= 1 << node
    rows = np.zeros_like(lassos.base)
    lassos.regress_in_order(rows, tiers, np.inf)
    return lassos.solution(rows, converged=True)
