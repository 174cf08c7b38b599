"""Networks of several classes, learned together for a large margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logsumexp, softmax

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.classify.class_arcs import (
    ClassArcs,
    ClassNetworksSolution,
    check_classes,
    fit_error_ratio,
)
from edgewise.solvers.classify.fisher_scores import network_residuals
from edgewise.solvers.linalg.projected_gradient import minimize_over_balls

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
        raise InputError(f"nu must be above 0 and at most 1, got {nu}.")
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
