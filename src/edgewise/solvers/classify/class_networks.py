"""Networks of several classes, learned together for a large margin or for their Fisher scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import brentq
from scipy.special import expit, logsumexp, softmax

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.classify.fisher_scores import fisher_kernel, network_residuals, with_constant
from edgewise.solvers.linalg.ball_descent import Balls, minimize_over_balls

#: Added to the mean square of each parent, so that parents may be collinear.
RIDGE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassNetworksSolution(Solution):
    """Networks of all classes, learned together to tell the classes apart.

    ``value[c, i, j]`` is the coefficient of i -> j in the network of class c, ``value[c, m]`` its
    intercepts. ``history`` is the objective at each iteration and never rises; the problem is not
    convex, so that ``gap`` is no bound: it is the largest decrease that the gradient promises
    anywhere in the set, in units of the objective, and 0 where nothing more can be won nearby.

    Attributes
    ----------
    start : float
        Objective of the given networks.
    fit_error_ratio : ndarray of shape (n_classes,)
        Sum of squared residuals of each class in its own network, as a share of that at the start.
    """

    start: float
    fit_error_ratio: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassArcs:
    r"""Arcs that may change, in coordinates in which each class may move within a ball.

    The arcs of class c into child i are a block with parents :math:`A` (rows of the class). For a
    change :math:`\delta` of their coefficients and :math:`L L^\top = A^\top A`, the squared
    residuals become :math:`|z - L^{-1} A^\top r|^2` plus a constant in :math:`z = L^\top \delta`,
    so that a bound on their sum over all children of the class is a ball.

    Attributes
    ----------
    arcs : ndarray of shape (k, 3)
        Class, parent and child, sorted by class and child.
    block : ndarray of shape (k,)
        Block of each arc.
    starts : ndarray of shape (n_blocks,)
        First arc of each block.
    classes : ndarray of shape (n_blocks,)
        Class of each block.
    children : ndarray of shape (n_blocks,)
    parents : ndarray of shape (n, k)
        Values of the parents in all rows, in the coordinates z.
    initial : ndarray of shape (n, n_blocks)
        Residuals of the blocks' children in all rows, at the start.
    factors : list of ndarray
        L of each block.
    balls : Balls
    """

    arcs: IntArray
    block: IntArray
    starts: IntArray
    classes: IntArray
    children: IntArray
    parents: FloatArray
    initial: FloatArray
    factors: list[FloatArray]
    balls: Balls

    @classmethod
    def of(
        cls, X: FloatArray, labels: IntArray, coefs: FloatArray, arcs: IntArray, slack: float
    ) -> Self:
        """Set the coordinates up for networks that fit (1 + slack) times as badly at worst."""
        keys = arcs[:, [0, 2]]
        is_first = np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)]
        starts = np.flatnonzero(is_first)
        classes, children = keys[starts].T
        residuals = network_residuals(X, coefs)
        initial = np.ascontiguousarray(residuals[classes, :, children].T)
        parents = with_constant(X)[:, arcs[:, 1]]
        factors, centre = [], np.zeros(len(arcs))
        for b, (first, last) in enumerate(zip(starts, [*starts[1:], len(arcs)], strict=True)):
            rows = labels == classes[b]
            design = parents[rows, first:last]
            moments = design.T @ design
            ridge = RIDGE * (moments.diagonal() + np.finfo(float).tiny)
            factor = lapack.dpotrf(moments + np.diag(ridge), lower=1, clean=1)[0]
            inner = design.T @ initial[rows, b]
            centre[first:last] = _forward(factor, inner)
            parents[:, first:last] = _forward(factor, parents[:, first:last].T).T
            factors.append(factor)
        squares = np.bincount(arcs[:, 0], weights=centre**2, minlength=len(coefs))
        fit = np.array([(residuals[c][labels == c] ** 2).sum() for c in range(len(coefs))])
        balls = Balls(member=arcs[:, 0], centre=centre, radius=np.sqrt(squares + slack * fit))
        return cls(
            arcs=arcs,
            block=np.cumsum(is_first) - 1,
            starts=starts,
            classes=classes,
            children=children,
            parents=parents,
            initial=initial,
            factors=factors,
            balls=balls,
        )

    def residuals(self, z: FloatArray) -> FloatArray:
        """Residuals of the blocks' children in all rows."""
        return np.asarray(self.initial - np.add.reduceat(self.parents * z, self.starts, axis=1))

    def gradient(self, per_residual: FloatArray) -> FloatArray:
        """Turn a gradient in the residuals into one in the coordinates."""
        return np.asarray(-np.einsum("ak,ak->k", per_residual[:, self.block], self.parents))

    def coefs(self, z: FloatArray, start: FloatArray) -> FloatArray:
        """Coefficients of all networks."""
        result = start.copy()
        for b, (first, factor) in enumerate(zip(self.starts, self.factors, strict=True)):
            last = first + len(factor)
            change = lapack.dtrtrs(factor, z[first:last], lower=1, trans=1)[0]
            result[self.classes[b], self.arcs[first:last, 1], self.children[b]] += change
        return result


def _forward(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a lower triangle; many small ones, where the checks of scipy take longest."""
    return np.asarray(lapack.dtrtrs(factor, right, lower=1)[0])


def check_classes(
    X: FloatArray, labels: IntArray, coefs: FloatArray, arcs: IntArray, slack: float
) -> None:
    """Refuse shapes that do not belong together, and a slack without room."""
    n, m = X.shape
    if coefs.ndim != 3 or len(coefs) < 2 or coefs.shape[1:] != (m + 1, m):
        raise InputError("coefs_shape", m=m + 1, m2=m, shape=coefs.shape)
    present = np.unique(labels)
    if labels.shape != (n,) or not np.array_equal(present, np.arange(len(coefs))):
        raise InputError("class_label_numbers", n_coefs=len(coefs), n=n)
    if arcs.ndim != 2 or arcs.shape[1] != 3 or not len(arcs):
        raise InputError("arc_triples_shape", shape=arcs.shape)
    if not 0 < slack < np.inf:
        raise InputError("slack_positive", "slack", slack=slack)


def fit_error_ratio(
    X: FloatArray, labels: IntArray, before: FloatArray, after: FloatArray
) -> FloatArray:
    """Sum of squared residuals of each class in its own network, after as a share of before."""
    ratios = np.ones(len(before))
    for c in range(len(before)):
        rows = X[labels == c]
        old, new = ((network_residuals(rows, k[c : c + 1]) ** 2).sum() for k in (before, after))
        if old > 0:
            ratios[c] = new / old
    return ratios


#: Widths over which hinges are rounded off, one after the other, in standard deviations of the
#: margins: each minimum is the start for the next.
WIDTHS = (0.05, 0.015, 0.0045)


def margin_networks(
    X: FloatArray,
    labels: IntArray,
    coefs: FloatArray,
    arcs: IntArray,
    *,
    nu: float = 0.5,
    slack: float = 0.01,
    weights: FloatArray | None = None,
    tol: float = 1e-4,
    max_iter: int = 500,
) -> ClassNetworksSolution:
    r"""Move some coefficients of the classes' networks so that the smallest margins grow.

    The margin of row a is how much likelier it is under the network of its class than under the
    best other, :math:`f_a = L_{y_a}(x_a) - \max_{c \ne y_a} L_c(x_a)`, with
    :math:`L_c(x) = -\tfrac12 |r_c(x)|^2` for the residuals :math:`r_c` in network c (unit noise).
    The problem is MM-SGBN [1]_,

    .. math::

        \min_{\Theta, \, r \ge 0} \; \frac{1}{\nu n} \sum_a \max(0, r - f_a(\Theta)) - r
        \quad \text{s.t.} \quad h_c(\Theta_c) \le (1 + s) \, h_c^0 ,

    where :math:`h_c` is the sum of squared residuals of the rows of class c in their network and
    :math:`h_c^0` that at the start. Its optimum is minus the mean of the :math:`\nu n` smallest
    margins (unless that is negative), so that :math:`\nu` is the share of the rows that count.
    Only the listed arcs move: what is absent stays absent, and no cycle can arise. Hinges and the
    maximum are rounded off, less and less, which only adds to the objective.

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
    nu : float
        Share of the rows that count, above 0 and at most 1.
    slack : float
        By how much the networks may fit their own class worse.
    weights : ndarray of shape (n,), optional
        Of the rows.
    tol : float
        Bound on the largest decrease that the gradient promises anywhere in the set, in standard
        deviations of the margins at the start.
    max_iter : int
        Largest number of iterations for each width of rounding.

    Returns
    -------
    ClassNetworksSolution
        ``objective`` is that of the problem itself, ``history`` that of the rounded one; both in
        units of log-likelihood.

    References
    ----------
    .. [1] Zhou, Wang, Liu, Ogunbona and Shen (2016). Learning discriminative Bayesian networks
       from high-dimensional continuous neuroimaging data. *IEEE Transactions on Pattern Analysis
       and Machine Intelligence* 38(11). https://doi.org/10.1109/TPAMI.2015.2511754

    Examples
    --------
    >>> import numpy as np
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 40))
    >>> labels = np.repeat([0, 1], 20)
    >>> X = np.column_stack([x, np.where(labels, 0.8, -0.8) * x + noise])
    >>> nets = np.zeros((2, 3, 2))
    >>> nets[0, 0, 1], nets[1, 0, 1] = -0.5, 0.5
    >>> found = margin_networks(X, labels, nets, np.array([[0, 0, 1], [1, 0, 1]]))
    >>> bool(found.objective < found.start)
    True
    >>> bool(found.fit_error_ratio.max() <= 1.01 + 1e-9)
    True
    """
    check_classes(X, labels, coefs, arcs, slack)
    if not 0 < nu <= 1:
        raise InputError("nu_range", nu=nu)
    share = np.ones(len(X)) if weights is None else weights
    move = ClassArcs.of(X, labels, coefs, arcs, slack)
    margins = _Margins.of(X, labels, coefs, move, share / (nu * share.sum()))
    z = np.zeros(len(move.arcs))
    start = margins.objective(z)
    unit = float(np.std(margins.margins(margins.likelihoods(move.initial)))) or 1.0
    history: list[float] = []
    best, gap, converged = z, 0.0, True
    for width in WIDTHS:
        minimum = minimize_over_balls(
            lambda z, width=width: margins.rounded(z, width * unit, unit),  # type: ignore[misc]
            move.balls,
            z,
            tol=tol,
            max_iter=max_iter,
        )
        z, gap, converged = minimum.z, minimum.gap * unit, minimum.converged
        history += [value * unit for value in minimum.history]
    # What rounding adds may hide that the start was better.
    if margins.objective(z) < start:
        best = z
    value = move.coefs(best, coefs)
    return ClassNetworksSolution(
        value=value,
        objective=margins.objective(best),
        gap=gap,
        n_iter=len(history) - len(WIDTHS),
        converged=converged,
        history=np.array(history),
        start=start,
        fit_error_ratio=fit_error_ratio(X, labels, coefs, value),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Margins:
    """The objective with what does not change worked out beforehand.

    ``fixed[a, c]`` is the log-likelihood of row a in network c from the children that no arc in
    question leads to; ``share`` what the shortfall of each row counts.
    """

    labels: IntArray
    move: ClassArcs
    fixed: FloatArray
    share: FloatArray

    @classmethod
    def of(
        cls,
        X: FloatArray,
        labels: IntArray,
        coefs: FloatArray,
        move: ClassArcs,
        share: FloatArray,
    ) -> _Margins:
        squares = network_residuals(X, coefs) ** 2
        squares[move.classes, :, move.children] = 0.0
        fixed = -0.5 * squares.sum(axis=2).T
        return cls(labels=labels, move=move, fixed=fixed, share=share)

    def likelihoods(self, residuals: FloatArray) -> FloatArray:
        """Log-likelihood of each row in each network, up to a constant."""
        n_classes = self.fixed.shape[1]
        return np.asarray(self.fixed - 0.5 * residuals**2 @ np.eye(n_classes)[self.move.classes])

    def margins(self, likelihoods: FloatArray) -> FloatArray:
        """How much likelier each row is in its own network than in the best other."""
        own, others = self._split(likelihoods)
        return np.asarray(own - others.max(axis=1))

    def _split(self, likelihoods: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-likelihoods of the own class, and all with minus infinity in its place."""
        rows = np.arange(len(self.labels))
        others = likelihoods.copy()
        others[rows, self.labels] = -np.inf
        return likelihoods[rows, self.labels], others

    def objective(self, z: FloatArray) -> float:
        """Objective of the problem itself: the best r is 0 or one of the margins."""
        margins = self.margins(self.likelihoods(self.move.residuals(z)))
        order = np.argsort(margins)
        counted = np.cumsum(self.share[order])
        # The slope in r turns positive where the shares below it pass 1.
        best = margins[order][min(int(np.searchsorted(counted, 1.0)), len(order) - 1)]
        threshold = max(float(best), 0.0)
        return float(self.share @ np.maximum(threshold - margins, 0.0) - threshold)

    def rounded(self, z: FloatArray, width: float, unit: float) -> tuple[float, FloatArray]:
        """Objective with everything rounded off over a width, and its gradient; in given units."""
        residuals = self.move.residuals(z)
        own, others = self._split(self.likelihoods(residuals))
        margins = own - width * logsumexp(others / width, axis=1)
        threshold = max(self._threshold(margins, width), 0.0)
        excess = (threshold - margins) / width
        value = width * float(self.share @ np.logaddexp(0.0, excess)) - threshold
        pull = self.share * expit(excess)
        # Of the value in each log-likelihood: the own class lowers it, the others raise it.
        slope = pull[:, None] * softmax(others / width, axis=1)
        slope[np.arange(len(pull)), self.labels] = -pull
        per_residual = -slope[:, self.move.classes] * residuals
        return value / unit, self.move.gradient(per_residual) / unit

    def _threshold(self, margins: FloatArray, width: float) -> float:
        """Best r of the rounded problem: where the slope in r is 0."""
        low, high = margins.min() - 40 * width, margins.max() + 40 * width
        if self.share.sum() <= 1 + 1e-12:
            # Every row counts in full (nu = 1): the value falls with r towards minus their mean.
            return float(high)
        found = brentq(
            lambda r: float(self.share @ expit((r - margins) / width)) - 1.0,
            low,
            high,
            xtol=1e-10 * (high - low),
        )
        return float(found)


#: Takes a kernel and signs, returns signed dual coefficients of the hard-margin machine.
Machine = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


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
    every evaluation: with its coefficients frozen, as published, the iterations can run in a
    cycle.
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
        ``machine(K, y, d)`` returns the optimal :math:`a \circ y` for a kernel, signs, and what
        squared slack has put on the diagonal of the kernel.
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
        raise InputError("c_positive", C=C)
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
    ridge : ndarray
        1 / C of each row.
    machine : callable
    """

    rows: IntArray
    blocks: IntArray
    sign: FloatArray
    products: FloatArray
    children: FloatArray
    fixed: FloatArray
    ridge: FloatArray
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
            ridge=1.0 / cost[rows],
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
        dual = self.machine(kernel, self.sign, self.ridge)
        image = kernel @ dual
        inverse_margin = float(np.abs(dual).sum() - 0.5 * dual @ image)
        n = len(kernel)
        scatter = float(np.trace(kernel) - kernel.sum() / n)
        # Of the bound in the kernel; the machine is at its optimum and need not be differentiated.
        slope = inverse_margin * (np.eye(n) - 1.0 / n) - 0.5 * scatter * np.outer(dual, dual)
        part = (slope * self.products) @ residuals
        part -= self.children * (slope @ (self.children * residuals))
        return inverse_margin * scatter, 2.0 * part
