"""The graphical lasso: sparse precision matrices with a certified duality gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from edgewise._core.arrays import array_namespace, is_foreign, like, require_device_memory, to_numpy
from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for, kernel
from edgewise._core.resume import chain
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers._arguments import check_numbers, check_start
from edgewise.solvers._solution import DECIDE, Solution, go_on, sum_histories
from edgewise.solvers.device.graphical_lasso import MATRICES, DenseProblem, check_dense, solve_dense
from edgewise.solvers.gaussian.decided import decide_edges
from edgewise.solvers.gaussian.descent import (
    Columns,
    columns_from_precision,
    descend_from,
    extrapolate,
    rescale_columns,
)
from edgewise.solvers.gaussian.glasso_component import solve_component
from edgewise.solvers.gaussian.standard_form import (
    NO_WEIGHTS,
    StandardForm,
    check_problem,
    components,
    penalty,
    rescale,
    scatter,
    standard_form,
    standardize,
    submatrix,
)
from edgewise.solvers.linalg.dense import log_determinant
from edgewise.solvers.linalg.kernels import dot

#: Up to this many variables a whole path runs as one compiled call.
SMALL = 48
#: Sweeps for one penalty strength there before it is left to the general solver.
PATIENCE = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class PrecisionSolution(Solution):
    """Solution whose ``value`` is a precision matrix.

    Attributes
    ----------
    covariance : ndarray of shape (p, p)
        Inverse of ``value``.
    alpha : float
        Penalty strength that the problem was solved for.
    """

    covariance: FloatArray
    alpha: float


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphicalLassoProof:
    """A problem in the units of its covariance, and what a gap proves of its optimum."""

    S: Any
    weights: Any
    penalize_diagonal: bool

    def decide(self, solution: PrecisionSolution) -> BoolArray:
        """Mark the pairs that are proven."""
        S = to_numpy(self.S)
        weights = NO_WEIGHTS if self.weights is None else to_numpy(self.weights)
        diagonal = self.penalize_diagonal
        form = standard_form(S, solution.alpha, weights, penalize_diagonal=diagonal)
        Theta, Sigma = to_numpy(solution.value), to_numpy(solution.covariance)
        if not np.all(form.scale == 1.0):
            Theta = rescale(Theta, 1.0 / form.scale, np.empty_like(Theta))
            Sigma = rescale(Sigma, form.scale, np.empty_like(Sigma))
        return decide_edges(form, Theta, Sigma, solution.gap)


def graphical_lasso(
    S: FloatArray,
    alpha: float,
    *,
    weights: FloatArray | None = None,
    penalize_diagonal: bool = False,
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 5000,
    decide: float = DECIDE,
) -> PrecisionSolution:
    r"""Estimate a sparse precision matrix from a covariance.

    Minimises over positive definite :math:`\Theta`

    .. math::
        \operatorname{tr}(S \Theta) - \log\det \Theta
        + \alpha \sum_{i \ne j} w_{ij} |\Theta_{ij}|,

    where :math:`S` is the covariance, :math:`\alpha \ge 0` the penalty strength and :math:`w`
    the weights (one unless given); with ``penalize_diagonal`` the sum takes in :math:`i = j`.
    Every entry of the symmetric matrix counts, so an edge costs
    :math:`2 \alpha w_{ij} |\Theta_{ij}|`.

    Parameters
    ----------
    S : array of shape (p, p)
        Covariance or correlation matrix with positive diagonal. It may be singular (fewer samples
        than variables). Of numpy, or of torch or CuPy: the work is then done where that array is,
        in double precision, and precision and covariance are arrays of the same library there.
    alpha : float
        Penalty strength, at least 0.
    weights : ndarray of shape (p, p), optional
        Symmetric penalty weights: 0 leaves an edge free, ``inf`` forbids it.
    penalize_diagonal : bool
        Penalise the diagonal as well.
    init : ndarray of shape (p, p), optional
        Positive definite precision to start from, such as the solution for a nearby ``alpha``.
    tol : float
        Duality gap per variable at which to stop.
    max_iter : int
        Largest number of sweeps and of other steps in any component.
    decide : float
        Sweeps that may follow while pairs are not ``decided``, as a multiple of those that led to
        ``tol``; 0 stops there.

    Returns
    -------
    PrecisionSolution
        ``value`` is the precision: symmetric, positive definite, with exact zeros. ``covariance``
        is its inverse.

    Raises
    ------
    InputError
        If an argument is not valid.
    SolverError
        If no minimum exists, as for ``alpha=0`` with a singular ``S``.

    Notes
    -----
    The problem is scaled to unit variances, split into the connected components of
    :math:`|S_{ij}| > \alpha w_{ij}`, and each component is solved by block coordinate descent on
    the dual, or by ascent along its gradient where columns are dense. The gap that is reported
    bounds the distance to the optimum, and inverting ``value`` and clipping the result to the dual
    box confirms it.
    Arrays of other libraries than numpy are solved by alternating directions, whose own dual point
    gives the gap; solutions agree with those of numpy to within the gaps.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani (2008), Sparse inverse covariance estimation with the
    graphical lasso, Biostatistics 9, 432-441. https://doi.org/10.1093/biostatistics/kxm045

    R. Mazumder and T. Hastie (2012), Exact covariance thresholding into connected components for
    large-scale graphical lasso, JMLR 13, 781-794.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import graphical_lasso
    >>> S = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.3], [0.1, 0.3, 1.0]])
    >>> solution = graphical_lasso(S, 0.2)
    >>> solution.value.round(3)
    array([[ 1.19 , -0.476,  0.   ],
           [-0.476,  1.201, -0.101],
           [ 0.   , -0.101,  1.01 ]])
    >>> solution.converged, solution.gap <= 1e-6 * 3
    (True, True)
    """
    if is_foreign(S):
        check_numbers([alpha], tol, max_iter)
        found = _dense_path(S, [float(alpha)], weights, penalize_diagonal, init, tol, max_iter)[0]
        on_host = partial(
            _finish_on_host, found, S, alpha, weights, penalize_diagonal=penalize_diagonal
        )
        return go_on(found, on_host, decide, S.shape[0])
    S, weights = check_problem(S, weights)
    check_numbers([alpha], tol, max_iter)
    start = None if init is None else check_start(init, S.shape[0])
    alphas = np.array([float(alpha)])
    return _path(S, alphas, weights, penalize_diagonal, start, tol, max_iter, decide)[0]


def graphical_lasso_path(
    S: FloatArray,
    alphas: Sequence[float] | FloatArray,
    *,
    weights: FloatArray | None = None,
    penalize_diagonal: bool = False,
    tol: float = 1e-6,
    max_iter: int = 5000,
) -> list[PrecisionSolution]:
    """Solve the graphical lasso for several penalty strengths, each started from the last.

    Parameters
    ----------
    S : array of shape (p, p)
        Covariance or correlation matrix, of numpy, torch or CuPy.
    alphas : sequence of float
        Penalty strengths. They are solved from the largest down and returned in the order given.
    weights, penalize_diagonal, tol, max_iter
        As in `graphical_lasso`.

    Returns
    -------
    list of PrecisionSolution
        One for each of ``alphas``.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import graphical_lasso_path
    >>> S = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.3], [0.1, 0.3, 1.0]])
    >>> path = graphical_lasso_path(S, [0.7, 0.4, 0.2])
    >>> [int((solution.value != 0).sum() - 3) // 2 for solution in path]
    [0, 1, 2]
    """
    strengths = to_numpy(alphas).astype(np.float64)
    if strengths.ndim != 1 or strengths.size == 0:
        raise InputError("alphas_empty")
    check_numbers(strengths, tol, max_iter)
    order = np.argsort(-strengths, kind="stable")
    if is_foreign(S):
        in_order = strengths[order].tolist()
        solutions = _dense_path(S, in_order, weights, penalize_diagonal, None, tol, max_iter)
    else:
        S, weights = check_problem(S, weights)
        solutions = _path(S, strengths[order], weights, penalize_diagonal, None, tol, max_iter)
    return [solutions[k] for k in np.argsort(order, kind="stable")]


def alpha_max(S: FloatArray, *, weights: FloatArray | None = None) -> float:
    """Return the smallest ``alpha`` at which the graph has no edge.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance or correlation matrix.
    weights : ndarray of shape (p, p), optional
        Penalty weights; edges with weight 0 or ``inf`` do not count, as no ``alpha`` moves them.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.gaussian.graphical_lasso import alpha_max
    >>> alpha_max(np.array([[1.0, -0.6], [-0.6, 1.0]]))
    0.6
    """
    if is_foreign(S):
        S, weights = check_dense(S, weights)
        return alpha_max(to_numpy(S), weights=None if weights is None else to_numpy(weights))
    S, weights = check_problem(S, weights)
    size = np.abs(S)
    np.fill_diagonal(size, 0.0)
    if weights.size:
        counts = (weights > 0.0) & np.isfinite(weights)
        size = np.divide(size, weights, out=np.zeros_like(size), where=counts)
    return float(size.max())


#: Precision and covariance in the units of S.
_Start = tuple[FloatArray, FloatArray]


def _path(
    S: FloatArray,
    alphas: FloatArray,
    weights: FloatArray,
    penalize_diagonal: bool,
    start: _Start | None,
    tol: float,
    max_iter: int,
    decide: float = 0.0,
) -> list[PrecisionSolution]:
    """Solve for each of ``alphas`` in turn, small problems in one compiled call."""
    p = S.shape[0]
    proof = GraphicalLassoProof(S=S, weights=weights, penalize_diagonal=penalize_diagonal)
    if alphas.size > 1 and p > SMALL:
        tasks = [(float(alpha), S, weights, penalize_diagonal, tol, max_iter) for alpha in alphas]
        return [replace(found, proof=proof) for found in chain(_next_on_path, tasks)]
    gaps = np.full(alphas.size, np.inf)
    if p <= SMALL and max_iter >= PATIENCE:
        precision, covariance = (np.eye(p), np.zeros((p, p))) if start is None else start
        values, covariances, objectives, gaps, n_iter = small_path(
            S, alphas, weights, penalize_diagonal, precision, covariance, tol, PATIENCE
        )
    solutions = []
    for k, alpha in enumerate(alphas):
        if gaps[k] < np.inf:
            solution = PrecisionSolution(
                value=values[k],
                covariance=covariances[k],
                objective=float(objectives[k]),
                gap=float(gaps[k]),
                n_iter=int(n_iter[k]),
                converged=True,
                history=gaps[k : k + 1],
                alpha=float(alpha),
                proof=proof,
            )
        else:
            form = standard_form(S, float(alpha), weights, penalize_diagonal=penalize_diagonal)
            with blas_threads_for(p):
                solution = replace(_solve(form, tol, max_iter, start, decide), proof=proof)
            start = solution.value, solution.covariance
        solutions.append(solution)
    if gaps[0] == np.inf:
        return solutions

    def again(gap: float, _: int) -> PrecisionSolution:
        # A few more sweeps of few variables.
        near = solutions[0].value, solutions[0].covariance
        return _path(S, alphas, weights, penalize_diagonal, near, gap / p, max_iter)[0]

    return [go_on(solutions[0], again, decide, p), *solutions[1:]]


def _finish_on_host(
    found: PrecisionSolution, S: Any, alpha: float, weights: Any, gap: float, max_iter: int,
    *, penalize_diagonal: bool,
) -> PrecisionSolution:  # fmt: skip
    """Solve on by numpy from a solution elsewhere, whose graph it then is on any device."""
    further = graphical_lasso(
        to_numpy(S), alpha, weights=None if weights is None else to_numpy(weights),
        penalize_diagonal=penalize_diagonal, init=to_numpy(found.value),
        tol=gap / S.shape[0], max_iter=max_iter, decide=0.0,
    )  # fmt: skip
    return replace(further, value=like(further.value, S), covariance=like(further.covariance, S))


def _next_on_path(
    previous: PrecisionSolution | None,
    alpha: float,
    *problem: Any,
) -> PrecisionSolution:
    """Solve for one alpha, starting from the solution for the alpha before."""
    S, weights, penalize_diagonal, tol, max_iter = problem
    start = None if previous is None else (previous.value, previous.covariance)
    found = _path(S, np.array([alpha]), weights, penalize_diagonal, start, tol, max_iter)[0]
    # What is kept of a run need not hold the problem again for every alpha.
    return replace(found, proof=None)


def _solve(
    form: StandardForm, tol: float, max_iter: int, start: _Start | None, decide: float
) -> PrecisionSolution:
    """Solve a standard form, component by component."""
    p = form.scale.size
    precision = np.zeros((p, p))
    covariance = np.zeros((p, p))
    logdet = 2.0 * float(np.log(form.scale).sum())
    gap = 0.0
    n_iter = 0
    history = []
    for index in components(form):
        if index.size == 1:
            precision[index, index] = covariance[index, index] = 1.0
            continue
        part = form.component(index)
        near = None if start is None else _near(start, index, part.scale)
        solved = solve_component(part, tol * index.size, max_iter, near, decide)
        scatter(solved.Theta, index, precision)
        scatter(solved.Sigma, index, covariance)
        logdet += solved.logdet
        gap += solved.gap
        n_iter = max(n_iter, solved.n_iter)
        history.append(solved.history)
    penalised = penalty(form, precision)
    objective = float(np.vdot(form.S, precision)) - logdet + penalised
    if not np.all(form.scale == 1.0):
        rescale(precision, form.scale, precision)
        rescale(covariance, 1.0 / form.scale, covariance)
    return PrecisionSolution(
        objective=objective,
        value=precision,
        covariance=covariance,
        gap=gap,
        n_iter=n_iter,
        converged=gap <= tol * p,
        history=sum_histories(history),
        alpha=form.alpha,
    )


def _near(start: _Start, index: IntArray, scale: FloatArray) -> _Start:
    """Cut a start down to one component and bring it to standard form."""
    shape = (index.size, index.size)
    precision = submatrix(start[0], index, np.empty(shape))
    covariance = submatrix(start[1], index, np.empty(shape))
    return (
        rescale(precision, 1.0 / scale, precision),
        rescale(covariance, scale, covariance),
    )


def _dense_path(
    S: Any,
    alphas: Sequence[float],
    weights: Any,
    penalize_diagonal: bool,
    init: Any,
    tol: float,
    max_iter: int,
) -> list[PrecisionSolution]:
    """Solve for each of ``alphas`` in turn on arrays of another library than numpy."""
    S, weights = check_dense(S, weights)
    require_device_memory(S, MATRICES, S.shape[0])
    start = None if init is None else like(init, S)
    if start is not None and log_determinant(start) == -np.inf:
        raise InputError("init_indefinite")
    solutions = []
    for alpha in alphas:
        solutions.append(_solve_dense(S, alpha, weights, penalize_diagonal, start, tol, max_iter))
        start = solutions[-1].value
    return solutions


def _solve_dense(
    S: Any,
    alpha: float,
    weights: Any,
    penalize_diagonal: bool,
    start: Any,
    tol: float,
    max_iter: int,
) -> PrecisionSolution:
    """Solve for one alpha, and put the result into the units of ``S``."""
    xp, p = array_namespace(S), S.shape[0]
    problem, scale = DenseProblem.scaled(S, alpha, weights, penalize_diagonal=penalize_diagonal)
    units = scale[:, None] * scale[None, :]
    near = None if start is None else start / units
    found = solve_dense(problem, tol, max_iter, near)
    logdet = found.logdet + 2.0 * float(xp.sum(xp.log(scale)))
    return PrecisionSolution(
        objective=problem.objective(found.Theta, logdet),
        value=found.Theta * units,
        covariance=found.Sigma / units,
        gap=found.gap,
        n_iter=found.n_iter,
        converged=found.gap <= tol * p,
        history=sum_histories(found.histories),
        alpha=alpha,
        proof=GraphicalLassoProof(S=S, weights=weights, penalize_diagonal=penalize_diagonal),
    )


@kernel
def small_path(
    S: FloatArray,
    alphas: FloatArray,
    weights: FloatArray,
    penalize_diagonal: bool,
    precision: FloatArray,
    covariance: FloatArray,
    tol: float,
    patience: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray]:
    """Solve for each of ``alphas`` in turn, starting from the solution before.

    ``precision`` and ``covariance`` are where the first solve starts, ``patience`` is the number of
    sweeps before a solve is left to the general solver. Returns the precisions, their
    inverses, the objectives, the gaps (infinite where a solve was left) and the sweeps.
    """
    p = S.shape[0]
    precisions = np.zeros((alphas.size, p, p))
    covariances = np.zeros((alphas.size, p, p))
    objectives = np.empty(alphas.size)
    gaps = np.full(alphas.size, np.inf)
    sweeps = np.zeros(alphas.size, np.int64)
    scale, scaled = np.empty(p), np.empty((p, p))
    previous = np.ones(p)
    before = covariance.copy()
    n_steady = 0
    support, coef, size, theta = columns_from_precision(precision)
    columns = Columns(
        covariance.copy(), support, coef, size, theta, np.empty((p, p)), np.empty((p, p))
    )
    for a in range(alphas.size):
        form = standardize(S, alphas[a], weights, penalize_diagonal, scale, scaled)
        rescale_columns(columns, before, previous, scale)
        previous[:] = scale
        step = 0.0
        if n_steady >= 2 and alphas[a - 1] < alphas[a - 2] and not penalize_diagonal:
            step = (alphas[a] - alphas[a - 1]) / (alphas[a - 1] - alphas[a - 2])
        extrapolate(columns.W, before, step)
        gaps[a], logdet, sweeps[a], is_warm = descend_from(form, columns, tol * p, patience)
        n_steady = n_steady + 1 if is_warm else 0
        if gaps[a] < np.inf:
            objectives[a] = _objective(form, columns.Theta, logdet)
            for i in range(p):
                for j in range(p):
                    units = scale[i] * scale[j]
                    precisions[a, i, j] = columns.Theta[i, j] * units
                    covariances[a, i, j] = columns.Sigma[i, j] / units
    return precisions, covariances, objectives, gaps, sweeps


@kernel
def _objective(form: StandardForm, Theta: FloatArray, logdet: float) -> float:
    """Return the objective in the original units."""
    total = penalty(form, Theta) - logdet
    for i in range(form.scale.size):
        total += dot(form.S[i], Theta[i]) - 2.0 * np.log(form.scale[i])
    return total
