"""Sparse precision matrices whose columns are smooth under any difference operator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for, kernel
from edgewise._core.typing import FloatArray
from edgewise.solvers._arguments import check_nonnegative, check_numbers
from edgewise.solvers.gaussian.graphical_lasso import PrecisionSolution
from edgewise.solvers.gaussian.standard_form import check_problem, rescale
from edgewise.solvers.linalg.dense import inverse_and_log_determinant
from edgewise.solvers.linalg.first_order import refuse_unbounded

#: Objectives looked back on: a step must improve on the worst of them.
MEMORY = 10
#: Share of the increase promised by the slope that a step must reach.
SUFFICIENT = 1e-4
#: A step cut to less than this is lost in rounding.
SHORTEST = 1e-10
#: Iterations at each height of the ridge that leads to a feasible start.
RIDGE_ITERATIONS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class DualBoxes:
    r"""Maximise the log-determinant of :math:`S + U + (D^\top Q + Q^\top D) / 2` over boxes.

    Attributes
    ----------
    S : ndarray of shape (p, p)
        Covariance, a penalty of the diagonal added.
    D, D_transposed : csr_array of shape (M, p), (p, M)
        Operator.
    entry_box : ndarray of shape (p, p)
        Largest size of the entries of :math:`U`, 0 on the diagonal.
    difference_box : ndarray of shape (M, p)
        Largest size of the entries of :math:`Q`.
    """

    S: FloatArray
    D: sparse.csr_array
    D_transposed: sparse.csr_array
    entry_box: FloatArray
    difference_box: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class DualPoint:
    """A feasible dual point, what was made of it, and its duality gap."""

    U: FloatArray
    Q: FloatArray
    Sigma: FloatArray
    Theta: FloatArray
    differences: FloatArray
    log_determinant: float
    gap: float


def feasible_point(problem: DualBoxes) -> DualPoint:
    """Find a positive definite dual point.

    Covariances shrunken by as much as the boxes allow are one, unless some have no room at all or
    ``S`` has a negative eigenvalue. If so, a ridge keeps the point positive definite while it
    climbs away from singularity, and is lowered by most of what it did not need.
    """
    U = problem.S - np.diag(np.diagonal(problem.S))
    size = np.abs(U)
    room = np.divide(problem.entry_box, size, out=np.ones_like(size), where=size > 0.0)
    np.fill_diagonal(room, 1.0)
    U *= -min(float(room.min()), 1.0)
    Q = np.zeros_like(problem.difference_box)
    point = _evaluate(problem, U, Q)
    ridge = 1.0
    while point is None:
        refuse_unbounded(1.0 / ridge)
        eased = replace(problem, S=problem.S + ridge * np.eye(len(U)))
        lifted = _evaluate(eased, U, Q)
        if lifted is None:
            ridge *= 2.0
            continue
        lifted, _ = climb(eased, lifted, 0.0, RIDGE_ITERATIONS)
        U, Q = lifted.U, lifted.Q
        ridge -= 0.9 * float(np.linalg.eigvalsh(lifted.Sigma)[0])
        if ridge <= 0.0:
            point = _evaluate(problem, U, Q)
    return point


def climb(
    problem: DualBoxes, point: DualPoint, target: float, max_iter: int
) -> tuple[DualPoint, list[float]]:
    """Take projected gradient steps until the gap is at most ``target``.

    Returns the point with the smallest gap, and the gap of every point.
    """
    best = point
    gaps = [point.gap]
    recent = [point.log_determinant]
    step = float(np.diagonal(point.Theta).max()) ** -2
    while best.gap > target and len(gaps) <= max_iter:
        refuse_unbounded(float(np.diagonal(point.Theta).max()))
        move_U, slope_U = _project(point.U, point.Theta, problem.entry_box, step)
        move_Q, slope_Q = _project(point.Q, point.differences, problem.difference_box, step)
        found = _search(problem, point, move_U, move_Q, slope_U + slope_Q, min(recent))
        if found is None:
            break
        moved, length = found
        # The objective is concave: its gradient changes against the move.
        change_U = _compare(point.Theta, moved.Theta, move_U)
        change_Q = _compare(point.differences, moved.differences, move_Q)
        square, product, change = (length**2, -length, 1.0) * np.add(change_U, change_Q)
        if product > 0.0:
            step = square / product if len(gaps) % 2 else product / change
        point = moved
        gaps.append(point.gap)
        recent = [*recent, point.log_determinant][-MEMORY:]
        if point.gap < best.gap:
            best = point
    return best, gaps


def _search(
    problem: DualBoxes,
    point: DualPoint,
    move_U: FloatArray,
    move_Q: FloatArray,
    slope: float,
    reference: float,
) -> tuple[DualPoint, float] | None:
    """Halve a move until it improves on ``reference``; also returns the length that is left."""
    length = 1.0
    while slope > 0.0 and length > SHORTEST:
        trial = _evaluate(problem, point.U + length * move_U, point.Q + length * move_Q)
        if trial and trial.log_determinant >= reference + SUFFICIENT * length * slope:
            return trial, length
        length *= 0.5
    return None


def _evaluate(problem: DualBoxes, U: FloatArray, Q: FloatArray) -> DualPoint | None:
    """Invert a dual point; None says that it is not positive definite."""
    Sigma = _assemble(problem.S, U, problem.D_transposed @ Q)
    Theta, log_determinant = inverse_and_log_determinant(Sigma)
    if Theta is None:
        return None
    differences = problem.D @ Theta
    cost = float(np.vdot(problem.S, Theta))
    cost += _weighted_size(problem.entry_box, Theta)
    cost += _weighted_size(problem.difference_box, differences)
    return DualPoint(
        U=U,
        Q=Q,
        Sigma=Sigma,
        Theta=Theta,
        differences=differences,
        log_determinant=log_determinant,
        gap=cost - len(U),
    )


@kernel
def _assemble(S: FloatArray, U: FloatArray, A: FloatArray) -> FloatArray:
    """Return ``S + U + (A + A.T) / 2``, exactly symmetric."""
    p = S.shape[0]
    Sigma = np.empty((p, p))
    for i in range(p):
        for j in range(i + 1):
            Sigma[i, j] = S[i, j] + U[i, j] + 0.5 * (A[i, j] + A[j, i])
            Sigma[j, i] = Sigma[i, j]
    return Sigma


@kernel
def _project(
    x: FloatArray, gradient: FloatArray, box: FloatArray, step: float
) -> tuple[FloatArray, float]:
    """Return the move to the projection of a gradient step onto the box, and the slope there."""
    move = np.empty(x.shape)
    slope = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            goal = x[i, j] + step * gradient[i, j]
            move[i, j] = min(max(goal, -box[i, j]), box[i, j]) - x[i, j]
            slope += gradient[i, j] * move[i, j]
    return move, slope


@kernel
def _compare(before: FloatArray, after: FloatArray, move: FloatArray) -> tuple[float, float, float]:
    """Return the sums of squares and products of a move and of the change of its gradient."""
    square = product = change = 0.0
    for i in range(move.shape[0]):
        for j in range(move.shape[1]):
            difference = after[i, j] - before[i, j]
            square += move[i, j] * move[i, j]
            product += move[i, j] * difference
            change += difference * difference
    return square, product, change


@kernel
def _weighted_size(box: FloatArray, x: FloatArray) -> float:
    """Return the sum of ``box * abs(x)``."""
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += box[i, j] * abs(x[i, j])
    return total


@dataclass(frozen=True, kw_only=True, eq=False)
class DifferencePenalizedSolution(PrecisionSolution):
    """Precision matrix with penalised differences.

    Attributes
    ----------
    tau : float
        Strength of the differences that the problem was solved for.
    """

    tau: float


def difference_penalized(
    S: FloatArray,
    alpha: float,
    tau: float,
    operator: FloatArray | sparse.sparray | sparse.spmatrix,
    *,
    penalize_diagonal: bool = True,
    weights: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 5000,
) -> DifferencePenalizedSolution:
    r"""Estimate a sparse precision matrix with small differences between its rows.

    Minimises over positive definite :math:`\Theta`

    .. math::
        \operatorname{tr}(S \Theta) - \log\det \Theta + \alpha \sum_{ij} w_{ij} |\Theta_{ij}|
        + \tau \sum_{m, n:\, D_{mn} = 0} |(D \Theta)_{mn}|,

    where :math:`S` is the covariance, :math:`\alpha > 0` and :math:`\tau \ge 0` are the penalty
    strengths, :math:`w` the weights (one unless given) and :math:`D` the difference operator. Rows
    of :math:`D` with one +1 and one -1 make neighbouring rows of :math:`\Theta` equal (the
    locally constant model); the rows of a graph Laplacian make every row close to the mean of its
    neighbours (a smooth model). Differences that would involve the diagonal of :math:`\Theta` do
    not count.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance or correlation matrix with positive diagonal. It may be singular.
    alpha : float
        Strength of sparsity, positive.
    tau : float
        Strength of the differences, at least 0.
    operator : ndarray or scipy sparse array of shape (M, p)
        Difference operator :math:`D`.
    penalize_diagonal : bool
        Penalise the diagonal as well.
    weights : ndarray of shape (p, p), optional
        Symmetric, finite penalty weights; 0 leaves an edge free.
    tol : float
        Duality gap per variable at which to stop.
    max_iter : int
        Largest number of iterations.

    Returns
    -------
    DifferencePenalizedSolution
        ``value`` is the precision: symmetric and positive definite. It lies within ``gap`` of the
        optimum, but it is the inverse of a dual point: entries that are zero or equal at the
        optimum are so only approximately. ``covariance`` is its inverse, ``history`` the gap at
        the start and after each iteration.

    Raises
    ------
    InputError
        If an argument is not valid.
    SolverError
        If no minimum exists, as where edges of weight 0 meet a singular ``S``.

    Notes
    -----
    The dual is to maximise :math:`\log\det \Sigma + p` over

    .. math::
        \Sigma = S + U + \tfrac12 (D^\top Q + Q^\top D) \succ 0, \qquad
        |U_{ij}| \le \alpha w_{ij}, \qquad |Q_{mn}| \le \tau [D_{mn} = 0],

    two boxes, with gradients :math:`\Sigma^{-1}` for :math:`U` and :math:`D \Sigma^{-1}` for
    :math:`Q`. Projected gradient steps of the lengths of Barzilai and Borwein, the longer and
    the shorter one in turn, climb it with a non-monotone search [1]_. The gap is taken at
    :math:`\Theta = \Sigma^{-1}`. Variables are scaled to unit variance and rows of :math:`D` to
    unit length first, which changes the boxes and neither the problem nor the gap. Steps of first
    order are slow where strong differences tie variables of very different variance together, or
    for operators that are nearly singular; the solution then says that it has not converged.

    References
    ----------
    .. [1] Birgin, Martínez and Raydan (2000). Nonmonotone spectral projected gradient methods on
       convex sets. *SIAM Journal on Optimization* 10(4), 1196-1211.
       https://doi.org/10.1137/S1052623497330963

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import difference_penalized
    >>> S = np.array([[1.0, 0.3, 0.3], [0.3, 1.0, 0.5], [0.3, 0.5, 1.0]])
    >>> chain = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    >>> difference_penalized(S, 0.1, 0.05, chain).value.round(3)
    array([[ 0.963, -0.139, -0.139],
           [-0.139,  1.049, -0.331],
           [-0.139, -0.331,  1.049]])
    """
    S, weights = check_problem(S, weights)
    p = S.shape[0]
    if not 0.0 < alpha < np.inf:
        raise InputError("difference_alpha", alpha=alpha)
    check_nonnegative(tau=tau)
    check_numbers([alpha], tol, max_iter)
    if np.isinf(weights).any():
        raise InputError("difference_weights")
    D = _check_operator(operator, p)
    thresholds = np.full((p, p), float(alpha)) if weights.size == 0 else alpha * weights
    problem, scale = _scaled(S, thresholds, tau, D, penalize_diagonal=penalize_diagonal)
    with blas_threads_for(p):
        point, gaps = climb(problem, feasible_point(problem), tol * p, max_iter)
    return DifferencePenalizedSolution(
        value=rescale(point.Theta, scale, np.empty_like(S)),
        covariance=rescale(point.Sigma, 1.0 / scale, np.empty_like(S)),
        objective=point.gap + p + point.log_determinant - 2.0 * float(np.log(scale).sum()),
        gap=point.gap,
        n_iter=len(gaps) - 1,
        converged=point.gap <= tol * p,
        history=np.array(gaps),
        alpha=float(alpha),
        tau=float(tau),
    )


def _check_operator(operator: Any, p: int) -> sparse.csr_array:
    """Return the operator as a sparse array without stored zeros, or say what is wrong with it."""
    if not sparse.issparse(operator):
        operator = np.asarray(operator, dtype=np.float64)
    if operator.ndim != 2 or operator.shape[1] != p:
        raise InputError("operator_shape", p=p, shape=operator.shape)
    D: sparse.csr_array = sparse.csr_array(operator, dtype=np.float64, copy=True)
    D.sum_duplicates()
    D.eliminate_zeros()
    if not np.isfinite(D.data).all():
        raise InputError("operator_not_finite")
    return D


def _scaled(
    S: FloatArray,
    thresholds: FloatArray,
    tau: float,
    D: sparse.csr_array,
    *,
    penalize_diagonal: bool,
) -> tuple[DualBoxes, FloatArray]:
    r"""Scale variables to unit variance and rows of the operator to unit length.

    With :math:`\Theta_{ij} = c_i c_j \Theta'_{ij}` and :math:`D_{mi} c_i = r_m D'_{mi}` the boxes
    become :math:`c_i c_j t_{ij}` and :math:`\tau r_m c_n`. Also returns :math:`c`.
    """
    variance = np.diagonal(S).copy()
    if penalize_diagonal:
        # A diagonal entry is positive, so its penalty is linear.
        variance += np.diagonal(thresholds)
    scale = 1.0 / np.sqrt(variance)
    scaled_S = rescale(S, scale, np.empty_like(S))
    np.fill_diagonal(scaled_S, 1.0)
    entry_box = rescale(thresholds, scale, np.empty_like(S))
    np.fill_diagonal(entry_box, 0.0)
    D = sparse.csr_array(D @ sparse.diags_array(scale))
    length = np.sqrt(D.power(2).sum(axis=1))
    D, length = D[length > 0.0], length[length > 0.0]
    difference_box = tau * length[:, None] * scale
    difference_box[D.nonzero()] = 0.0
    D = sparse.csr_array(sparse.diags_array(1.0 / length) @ D)
    problem = DualBoxes(
        S=scaled_S,
        D=D,
        D_transposed=sparse.csr_array(D.T),
        entry_box=entry_box,
        difference_box=difference_box,
    )
    return problem, scale
