"""Networks of several classes, learned together so that their Fisher scores separate the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.classify.class_arcs import (
    ClassArcs,
    ClassNetworksSolution,
    check_classes,
    fit_error_ratio,
)
from edgewise.solvers.classify.fisher_scores import fisher_kernel
from edgewise.solvers.linalg.projected_gradient import minimize_over_balls

#: Takes a kernel and signs, returns signed dual coefficients of the hard-margin machine.
Machine = Callable[[FloatArray, FloatArray], FloatArray]


def fisher_networks(
    X: FloatArray,
    labels: IntArray,
    coefs: FloatArray,
    arcs: IntArray,
    machine: Machine,
    *,
    C: float = 1.0,
    slack: float = 0.01,
    weights: FloatArray | None = None,
    tol: float = 1e-4,
    max_iter: int = 200,
) -> ClassNetworksSolution:
    r"""Move some coefficients of the classes' networks to lower the radius-margin bound.

    For each pair of classes the rows of both have Fisher scores in both networks, with the kernel
    K of `fisher_kernel`. KL-SGBN [1]_ minimises the bound on the error of a support vector machine
    on them,

    .. math::

        J = \Big( \max_{a \ge 0, \, y^\top a = 0} \mathbf{1}^\top a
        - \tfrac12 (a \circ y)^\top \tilde K (a \circ y) \Big)
        \; \Big( \operatorname{tr} \tilde K - \tfrac1n \mathbf{1}^\top \tilde K \mathbf{1} \Big),
        \qquad \tilde K = K + I / C ,

    the squared inverse margin times the scatter of the rows, subject to
    :math:`h_c(\Theta_c) \le (1 + s) h_c^0` as in `margin_networks`. The machine is solved anew at
    every evaluation: with its coefficients frozen, as published, the iterations run in a cycle.
    With more than two classes the mean of J over all pairs, each as a share of its start, is
    minimised.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Rows.
    labels : ndarray of shape (n,)
        Class of each row, numbered from 0.
    coefs : ndarray of shape (n_classes, m + 1, m)
        Networks to start from, as in `network_residuals`.
    arcs : ndarray of shape (k, 3)
        Class, parent and child of the coefficients that may move; parent m is the constant.
    machine : callable
        ``machine(K, y)`` returns the optimal :math:`a \circ y` for a kernel and signs.
    C : float
        Cost of squared slack in the machine.
    slack : float
        By how much the networks may fit their own class worse.
    weights : ndarray of shape (n,), optional
        Multiplies C for each row.
    tol : float
        Bound on the largest decrease that the gradient promises anywhere in the set, as a share of
        the objective at the start. Not below the precision of the machine.
    max_iter : int

    Returns
    -------
    ClassNetworksSolution
        ``objective`` as a share of that at the start.

    References
    ----------
    .. [1] Zhou, Wang, Liu, Ogunbona and Shen (2016). Learning discriminative Bayesian networks
       from high-dimensional continuous neuroimaging data. *IEEE Transactions on Pattern Analysis
       and Machine Intelligence* 38(11). https://doi.org/10.1109/TPAMI.2015.2511754
    """
    check_classes(X, labels, coefs, arcs, slack)
    if not 0 < C < np.inf:
        raise InputError(f"C must be positive, got {C}.")
    cost = np.full(len(X), C) if weights is None else C * weights
    move = ClassArcs.of(X, labels, coefs, arcs, slack)
    pairs = [
        _PairBound.of(X, labels, coefs, pair, move, cost, machine)
        for pair in combinations(range(len(coefs)), 2)
    ]
    scales = [pair.bound(move.initial)[0] for pair in pairs]

    def mean_bound(z: FloatArray) -> tuple[float, FloatArray]:
        residuals = move.residuals(z)
        total, per_residual = 0.0, np.zeros_like(residuals)
        for pair, scale in zip(pairs, scales, strict=True):
            value, part = pair.bound(residuals)
            total += value / scale / len(pairs)
            per_residual[np.ix_(pair.rows, pair.blocks)] += part / scale / len(pairs)
        return total, move.gradient(per_residual)

    start = np.zeros(len(move.arcs))
    minimum = minimize_over_balls(mean_bound, move.balls, start, tol=tol, max_iter=max_iter)
    value = move.coefs(minimum.z, coefs)
    return ClassNetworksSolution(
        value=value,
        objective=minimum.value,
        gap=minimum.gap,
        n_iter=len(minimum.history) - 1,
        converged=minimum.converged,
        history=np.array(minimum.history),
        start=1.0,
        fit_error_ratio=fit_error_ratio(X, labels, coefs, value),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _PairBound:
    """Radius-margin bound of one pair of classes, with what does not change worked out beforehand.

    Attributes
    ----------
    rows : ndarray
        Rows of both classes.
    blocks : ndarray
        Blocks of arcs in the networks of both.
    sign : ndarray
        -1 for the rows of the first class, 1 for those of the second.
    products : ndarray
        X X' + 1 among the rows.
    children : ndarray of shape (n_rows, n_blocks)
        Values of the blocks' children.
    fixed : ndarray
        Kernel of the scores that do not change, with 1 / C on the diagonal.
    machine : callable
    """

    rows: IntArray
    blocks: IntArray
    sign: FloatArray
    products: FloatArray
    children: FloatArray
    fixed: FloatArray
    machine: Machine

    @classmethod
    def of(
        cls,
        X: FloatArray,
        labels: IntArray,
        coefs: FloatArray,
        pair: tuple[int, int],
        move: ClassArcs,
        cost: FloatArray,
        machine: Machine,
    ) -> _PairBound:
        rows = np.flatnonzero(np.isin(labels, pair))
        blocks = np.flatnonzero(np.isin(move.classes, pair))
        own = X[rows]
        bound = cls(
            rows=rows,
            blocks=blocks,
            sign=np.where(labels[rows] == pair[0], -1.0, 1.0),
            products=own @ own.T + 1.0,
            children=own[:, move.children[blocks]],
            fixed=fisher_kernel(own, own, coefs[list(pair)]) + np.diag(1.0 / cost[rows]),
            machine=machine,
        )
        return replace(bound, fixed=bound.fixed - bound.moving(move.initial[np.ix_(rows, blocks)]))

    def moving(self, residuals: FloatArray) -> FloatArray:
        """Kernel of the scores of arcs into the blocks' children, given their residuals."""
        mixed = residuals * self.children
        return np.asarray((residuals @ residuals.T) * self.products - mixed @ mixed.T)

    def bound(self, all_residuals: FloatArray) -> tuple[float, FloatArray]:
        """Bound and its gradient in the residuals of the blocks' children in the rows."""
        residuals = all_residuals[np.ix_(self.rows, self.blocks)]
        kernel = self.fixed + self.moving(residuals)
        dual = self.machine(kernel, self.sign)
        image = kernel @ dual
        inverse_margin = float(np.abs(dual).sum() - 0.5 * dual @ image)
        n = len(kernel)
        scatter = float(np.trace(kernel) - kernel.sum() / n)
        # Of the bound in the kernel; the machine is at its optimum and need not be differentiated.
        slope = inverse_margin * (np.eye(n) - 1.0 / n) - 0.5 * scatter * np.outer(dual, dual)
        part = (slope * self.products) @ residuals
        part -= self.children * (slope @ (self.children * residuals))
        return inverse_margin * scatter, 2.0 * part
