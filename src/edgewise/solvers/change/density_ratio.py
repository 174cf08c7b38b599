"""Sparse change between two Markov networks, by the ratio of their densities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgewise._core.arrays import (
    array_namespace,
    is_foreign,
    like,
    require_device_memory,
    to_numpy,
)
from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import FloatArray
from edgewise.solvers._arguments import check_nonnegative, check_numbers
from edgewise.solvers._solution import DECIDE, Solution, go_on
from edgewise.solvers.change.decided import RatioProof
from edgewise.solvers.change.ratio_newton import newton
from edgewise.solvers.change.ratio_path import (
    ACCURATE,
    RatioPoint,
    Stop,
    smallest_bounded_alpha,
    solve_with_screening,
    starting_point,
)
from edgewise.solvers.change.ratio_problem import (
    Coefficients,
    RatioProblem,
    log_softmax,
    log_total,
    moment_distance,
    moment_rounding,
)
from edgewise.solvers.device.density_ratio import DenseDual, MonomialPairs, ProductPairs
from edgewise.stats import Moments
from edgewise.stats.pair_features import (
    PairFeatures,
    PairFunction,
    basis_powers,
    check_basis,
    pair_features,
    pair_means,
)

SOLVERS = ("auto", "dual", "primal")
#: Columns from which on a GPU is the faster one.
GPU_FROM = 500


@dataclass(frozen=True, kw_only=True, eq=False)
class RatioSolution(Solution):
    """A log density ratio that is linear in features of pairs.

    Attributes
    ----------
    value : ndarray of shape (d, d, b)
        Coefficients; ``value[u, v]`` and ``value[v, u]`` belong to the same pair.
    alpha : float
        Sparsity that the problem was solved with.
    weights : ndarray of shape (n_q,)
        The ratio at the rows of the denominator, divided by their number: they sum to 1.
    log_normalizer : float
        Logarithm of the mean over the denominator of the ratio before it is normalised.
    raised_alpha : float
        The alpha that ``gap`` belongs to: ``alpha``, or slightly more without a ridge.
    """

    alpha: float
    weights: FloatArray
    log_normalizer: float
    raised_alpha: float

    @property
    def effective_sample_size(self) -> float:
        """How many rows of the denominator count: the inverse of the sum of squared weights."""
        return float(1.0 / np.sum(to_numpy(self.weights) ** 2))


def density_ratio(
    X_p: FloatArray | Moments,
    X_q: FloatArray,
    alpha: float,
    *,
    ridge: float = 0.1,
    basis: str | PairFunction = "gaussian",
    degree: int = 2,
    solver: str = "auto",
    penalize_diagonal: bool = True,
    power_scale: FloatArray | None = None,
    offset: FloatArray | None = None,
    init: FloatArray | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
    decide: float = DECIDE,
) -> RatioSolution:
    r"""Learn the change from the rows of Q to those of P without learning either network.

    .. math::

        \min_\theta\; \log \frac{1}{n_q} \sum_{i} e^{\theta' f(x_i) + o_i}
        - \frac{1}{n_p} \sum_{j} \theta' f(y_j)
        + \frac{\mathrm{ridge}}{2} \|\theta\|^2 + \alpha \sum_{u \ge v} \|\theta_{uv}\|

    with :math:`x_i` the rows of Q, :math:`y_j` those of P and :math:`f` the features of
    `edgewise.stats.pair_features`: the Kullback-Leibler importance estimate [1]_ with a penalty
    that keeps most pairs unchanged [2]_. There is one vector of coefficients per unordered pair,
    each variable with itself included.

    Parameters
    ----------
    X_p, X_q : array of shape (n_p, d) and (n_q, d)
        Rows of the numerator (after) and of the denominator (before), used as they are. Of numpy,
        or both of torch or CuPy: coefficients and weights are then arrays there as well, and the
        problem is solved there but for functions as ``basis``, ``ridge=0`` and ``"primal"``. Of the
        numerator the means of the features are enough: with ``basis="gaussian"`` it may be what
        `edgewise.stats.stream_covariance` made of more rows than fit into memory.
    alpha : float
        Sparsity. From `ratio_alpha_max` on nothing changes.
    ridge : float
        Curvature. With 0 there is no solution below `ratio_alpha_min`, which the error says.
    basis, degree, power_scale
        As in `edgewise.stats.pair_features`.
    solver : {"auto", "dual", "primal"}
        Semismooth Newton steps on the dual, whose unknowns are weights of the rows of Q;
        accelerated gradients on the primal; or the first and, should they fail, the second.
    penalize_diagonal : bool
        Whether alpha is for a variable with itself too.
    offset : ndarray of shape (n_q,), optional
        The :math:`o_i`, such as log weights of rows that were drawn from another distribution.
    init : ndarray of shape (d, d, b), optional
        Coefficients to start from.
    tol : float
        Largest duality gap per variable.
    max_iter : int
        Newton steps; gradient steps are a hundred times as many.
    decide : float
        Steps that may follow while pairs are not ``decided``, as a multiple of those that led to
        ``tol``; 0 stops there. Without a ridge nothing is proven.

    Returns
    -------
    RatioSolution

    Notes
    -----
    Without a ridge no dual point can be had that is feasible to the last digit. The gap is then
    that of the same problem with ``alpha`` raised to ``raised_alpha``, which is larger by a share
    of at most ``tol``; a free diagonal is then penalised as well, by ``tol`` times the mean
    features of the numerator at most.

    References
    ----------
    .. [1] Sugiyama, Suzuki, Nakajima, Kashima, von Bünau and Kawanabe (2008). Direct importance
       estimation for covariate shift adaptation. *Annals of the Institute of Statistical
       Mathematics* 60. https://doi.org/10.1007/s10463-008-0197-x
    .. [2] Liu, Quinn, Gutmann, Suzuki and Sugiyama (2014). Direct learning of sparse changes in
       Markov networks by density ratio estimation. *Neural Computation* 26(6).
       https://doi.org/10.1162/NECO_a_00589

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import density_ratio
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(size=(1000, 3)), rng.normal(size=(1000, 3))
    >>> after[:, 1] = 0.6 * after[:, 0] + 0.8 * after[:, 1]
    >>> solution = density_ratio(after, before, alpha=0.2)
    >>> (solution.value[:, :, 0] != 0).astype(int)
    array([[0, 1, 0],
           [1, 0, 0],
           [0, 0, 0]])
    """
    path = density_ratio_path(
        X_p, X_q, [alpha], ridge=ridge, basis=basis, degree=degree, solver=solver,
        penalize_diagonal=penalize_diagonal, power_scale=power_scale, offset=offset, init=init,
        tol=tol, max_iter=max_iter, decide=decide,
    )  # fmt: skip
    return next(path)


def density_ratio_path(
    X_p: FloatArray | Moments,
    X_q: FloatArray,
    alphas: Sequence[float] | FloatArray,
    *,
    ridge: float = 0.1,
    basis: str | PairFunction = "gaussian",
    degree: int = 2,
    solver: str = "auto",
    penalize_diagonal: bool = True,
    power_scale: FloatArray | None = None,
    offset: FloatArray | None = None,
    init: FloatArray | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
    decide: float = 0.0,
) -> Iterator[RatioSolution]:
    """Solve `density_ratio` at one alpha after the other, each from the solution before.

    Parameters
    ----------
    alphas : sequence of float
        Best from large to small.
    X_p, X_q, ridge, basis, degree, solver, penalize_diagonal, power_scale, offset, init
        As in `density_ratio`.
    tol, max_iter
        As in `density_ratio`.
    decide : float
        As in `density_ratio`, for the last of ``alphas``.

    Yields
    ------
    RatioSolution

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.density_ratio import density_ratio_path
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
    >>> path = density_ratio_path(after, before, [0.5, 0.1, 0.05])
    >>> [int(np.count_nonzero(np.triu(solution.value[:, :, 0]))) for solution in path]
    [0, 3, 4]
    """
    check_numbers(list(alphas), tol, max_iter)
    if solver not in SOLVERS:
        raise InputError("ratio_solver", solver=solver)
    if ridge == 0 and 0 in list(alphas):
        raise InputError("ridge_and_alpha_zero")
    posed: dict[str, Any] = {
        "ridge": ridge, "basis": basis, "degree": degree, "penalize_diagonal": penalize_diagonal,
        "power_scale": power_scale, "offset": offset,
    }  # fmt: skip
    if is_foreign(X_q):
        others = {
            "solver": solver, "init": init, "tol": tol, "max_iter": max_iter, "decide": decide,
        }  # fmt: skip
        return _walk_elsewhere(X_p, X_q, [float(alpha) for alpha in alphas], posed, others)
    problem = _make_problem(X_p, X_q, **posed)
    start = None if init is None else _sparse(problem.features, init, "init")
    strengths = np.asarray(alphas, dtype=np.float64)
    return _walk(problem, strengths, solver, start, tol, max_iter, decide)


def ratio_alpha_max(
    X_p: FloatArray | Moments,
    X_q: FloatArray,
    *,
    ridge: float = 0.1,
    basis: str | PairFunction = "gaussian",
    degree: int = 2,
    penalize_diagonal: bool = True,
    power_scale: FloatArray | None = None,
    offset: FloatArray | None = None,
) -> float:
    """Smallest alpha at which nothing changes that alpha is for.

    It is larger by what rounding and, with a free diagonal and a ridge, iterations leave open, so
    that from it on nothing does change.

    Parameters
    ----------
    X_p, X_q, ridge, basis, degree, penalize_diagonal, power_scale, offset
        As in `density_ratio`; the ridge matters only where the diagonal is free.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.density_ratio import ratio_alpha_max
    >>> round(ratio_alpha_max(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0]])), 9)
    3.0
    """
    posed: dict[str, Any] = {
        "ridge": ridge, "basis": basis, "degree": degree, "penalize_diagonal": penalize_diagonal,
        "power_scale": power_scale, "offset": offset,
    }  # fmt: skip
    if is_foreign(X_q):
        if not callable(basis) and (ridge > 0 or penalize_diagonal):
            return _largest_dense(_make_dense(X_p, X_q, **posed | {"ridge": ridge or 1.0}))
        posed = {name: _on_host(value) for name, value in posed.items()}
        X_p, X_q = _on_host(X_p), to_numpy(X_q)
    problem = _make_problem(X_p, X_q, **posed)
    distance = 0.0
    with blas_threads_for(problem.features.n_variables):
        point = starting_point(problem)
        if not penalize_diagonal:
            # What is left to explain once the variables themselves have changed.
            stop = Stop(gap=1e-12, slightly=1e-9, max_iter=500)
            point = solve_with_screening(problem, np.inf, point, np.inf, "dual", stop)
    if not penalize_diagonal and ridge > 0:
        # Without a ridge a share of alpha is left open at any rate.
        certificate = point.certificate
        distance = moment_distance(problem.features, certificate.gap + certificate.rounding)
    largest = problem.target.largest(point.certificate.moments, diagonal=penalize_diagonal)
    if largest == 0.0:
        return 0.0
    return largest + moment_rounding(problem.features, point.log_weights) + distance


def log_density_ratio(
    X: FloatArray,
    theta: FloatArray,
    *,
    basis: str | PairFunction = "gaussian",
    degree: int = 2,
    power_scale: FloatArray | None = None,
) -> FloatArray:
    """Evaluate the log ratio of some rows, before it is normalised.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, of numpy, torch or CuPy; the result is of the same library.
    theta : array of shape (d, d, b)
        Coefficients, the ``value`` of a `RatioSolution`; those below the diagonal are not read.
    basis, degree, power_scale
        Those that the solution was found with.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.density_ratio import log_density_ratio
    >>> theta = np.array([[0.0, 0.5], [0.5, 1.0]])[:, :, None]
    >>> log_density_ratio(np.array([[1.0, 2.0]]), theta)
    array([5.])
    """
    if is_foreign(X):
        if callable(basis):
            values = log_density_ratio(
                to_numpy(X), _on_host(theta), basis=basis, power_scale=_on_host(power_scale)
            )
        else:
            pairs = _pairs_of(X, "X", basis, degree, power_scale)
            values = _values_of(pairs, theta, "theta")
        found: FloatArray = like(values, X)
        return found
    features = pair_features(X, basis, degree, power_scale=power_scale)
    some = _sparse(features, theta, "theta")
    return features.values(some.pairs, some.values)


def ratio_alpha_min(
    X_p: FloatArray | Moments,
    X_q: FloatArray,
    *,
    basis: str | PairFunction = "gaussian",
    degree: int = 2,
    penalize_diagonal: bool = True,
    power_scale: FloatArray | None = None,
) -> float:
    """Smallest alpha at which `density_ratio` has a solution without a ridge.

    Parameters
    ----------
    X_p, X_q, basis, degree, penalize_diagonal, power_scale
        As in `density_ratio`.

    Returns
    -------
    float

    Examples
    --------
    No weights of one row can change its product, so everything below the slack is out of reach.

    >>> import numpy as np
    >>> from edgewise.solvers.change.density_ratio import ratio_alpha_min
    >>> round(ratio_alpha_min(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0], [1.0, 1.5]])), 6)
    1.75
    """
    problem = _make_problem(
        _on_host(X_p), _on_host(X_q), ridge=0.0, basis=basis, degree=degree,
        penalize_diagonal=penalize_diagonal, power_scale=_on_host(power_scale), offset=None,
    )  # fmt: skip
    return smallest_bounded_alpha(problem)


def _make_problem(
    X_p: FloatArray | Moments, X_q: FloatArray, *, ridge: float, basis: str | PairFunction,
    degree: int, penalize_diagonal: bool, power_scale: FloatArray | None, offset: FloatArray | None,
) -> RatioProblem:  # fmt: skip
    X_q = _checked_rows(X_q, "X_q")
    if not isinstance(X_p, Moments):
        X_p = _checked_rows(X_p, "X_p")
    d_p = len(X_p.mean) if isinstance(X_p, Moments) else X_p.shape[1]
    _check_columns(d_p, X_q.shape[1])
    check_nonnegative(ridge=ridge)
    shift = _checked_offset(offset, len(X_q))
    denominator = pair_features(X_q, basis, degree, power_scale=power_scale)
    with blas_threads_for(d_p):
        target = pair_means(X_p, basis, degree, power_scale=power_scale)
    if target.at(np.zeros(1, dtype=np.int64)).shape[1] != denominator.size:
        raise InputError("basis_feature_count")
    return RatioProblem(
        features=denominator,
        target=target,
        offset=shift,
        ridge=float(ridge),
        penalize_diagonal=penalize_diagonal,
    )


def _checked_rows(rows: Any, name: str) -> Any:
    """Rows in double precision, of numpy or of the library that they are of."""
    if is_foreign(rows):
        xp = array_namespace(rows)
        X = xp.astype(rows, xp.float64, copy=False)
    else:
        xp, X = np, np.asarray(rows, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise InputError("rows_table_shape", name=name, shape=tuple(X.shape))
    if not bool(xp.all(xp.isfinite(X))):
        raise InputError("rows_not_finite_named", name=name)
    return X


def _check_columns(d_p: int, d_q: int) -> None:
    if d_p != d_q:
        raise InputError("group_column_count", d_p=d_p, d_q=d_q)


def _checked_offset(offset: Any, n: int) -> FloatArray:
    shift = np.zeros(n) if offset is None else np.asarray(_on_host(offset), dtype=np.float64)
    if shift.shape != (n,) or not np.isfinite(shift).all():
        raise InputError("offset_length", n=n)
    return shift


def _walk(
    problem: RatioProblem, alphas: FloatArray, solver: str, start: Coefficients | None,
    tol: float, max_iter: int, decide: float,
) -> Iterator[RatioSolution]:  # fmt: skip
    stop = Stop(gap=tol * problem.features.n_variables, slightly=tol, max_iter=max_iter)
    with blas_threads_for(problem.features.n_variables):
        point = starting_point(problem, start)
    alpha_before = problem.target.largest(point.certificate.moments, diagonal=True)

    def solve(alpha: float, stop: Stop) -> RatioSolution:
        nonlocal point, alpha_before
        point = solve_with_screening(problem, alpha, point, alpha_before, solver, stop)
        alpha_before = alpha
        return _solution(problem, point, alpha, stop)

    for k, alpha in enumerate(alphas.tolist()):

        def again(gap: float, max_iter: int, alpha: float = alpha) -> RatioSolution:
            return solve(alpha, replace(stop, gap=gap, max_iter=max_iter))

        effort = decide if k == len(alphas) - 1 else 0.0
        with blas_threads_for(problem.features.n_variables):
            solution = go_on(solve(alpha, stop), again, effort, problem.features.n_variables)
        yield solution


def _on_host(value: Any) -> Any:
    """Bring an array of another library to numpy, and leave anything else as it is."""
    return to_numpy(value) if is_foreign(value) else value


def _walk_elsewhere(
    X_p: Any, X_q: Any, alphas: list[float], posed: dict[str, Any], others: dict[str, Any]
) -> Iterator[RatioSolution]:
    """Solve on arrays of another library than numpy, on their device where that has a solver.

    That is for products of powers with a ridge; anything else is solved on the host.
    """
    if callable(posed["basis"]) or posed["ridge"] == 0 or others["solver"] == "primal":
        options = {name: _on_host(value) for name, value in (posed | others).items()}
        for solution in density_ratio_path(_on_host(X_p), to_numpy(X_q), alphas, **options):
            yield replace(
                solution, value=like(solution.value, X_q), weights=like(solution.weights, X_q)
            )
        return
    dual = _make_dense(X_p, X_q, **posed)
    start, is_apart = dual.offset, others["init"] is None
    if not is_apart:
        start = start + to_numpy(_values_of(dual.features, others["init"], "init"))
    for alpha in alphas:
        solution, start, is_apart = _solve_dense(
            replace(dual, alpha=alpha), start, others["tol"], others["max_iter"], is_apart=is_apart
        )
        if alpha == alphas[-1] and others["decide"] > 0.0:
            solution = _finish_on_host(solution, X_p, X_q, posed, others)
        yield solution


def _finish_on_host(
    found: RatioSolution, X_p: Any, X_q: Any, posed: dict[str, Any], others: dict[str, Any]
) -> RatioSolution:
    """Solve on by numpy while pairs are undecided, so that graphs do not depend on the device."""
    on_host = {name: _on_host(value) for name, value in posed.items()}
    problem = _make_problem(_on_host(X_p), to_numpy(X_q), **on_host)
    d = problem.features.n_variables

    def again(gap: float, max_iter: int) -> RatioSolution:
        start = _sparse(problem.features, to_numpy(found.value), "init")
        alphas = np.array([found.alpha])
        further = next(_walk(problem, alphas, "auto", start, gap / d, max_iter, 0.0))
        value, weights = like(further.value, found.value), like(further.weights, found.weights)
        return replace(further, value=value, weights=weights)

    proven = replace(found, proof=RatioProof(problem=problem))
    return go_on(proven, again, others["decide"], d)


def _make_dense(
    X_p: Any, X_q: Any, *, ridge: float, basis: str, degree: int, penalize_diagonal: bool,
    power_scale: Any, offset: Any,
) -> DenseDual:  # fmt: skip
    """Pose the problem on the device of the rows of the denominator, at an infinite alpha."""
    features = _pairs_of(X_q, "X_q", basis, degree, power_scale)
    d_p = len(X_p.mean) if isinstance(X_p, Moments) else int(X_p.shape[-1])
    _check_columns(d_p, features.n_variables)
    check_nonnegative(ridge=ridge)
    X = features.powers[0]
    require_device_memory(X, features.n_matrices, features.n_variables)
    if isinstance(X_p, Moments):
        means: Any = pair_means(X_p, basis, degree, power_scale=_on_host(power_scale))
        target = like(means.values, X) / ridge
    else:
        rows = _pairs_of(like(X_p, X), "X_p", basis, degree, power_scale)
        target = rows.moments(np.full(rows.n_samples, 1.0 / (rows.n_samples * ridge)))
    return DenseDual(
        features=features, target=target, offset=_checked_offset(offset, features.n_samples),
        ridge=float(ridge), alpha=np.inf, penalize_diagonal=penalize_diagonal,
    )  # fmt: skip


def _pairs_of(
    rows: Any, name: str, basis: str, degree: int, power_scale: Any
) -> ProductPairs | MonomialPairs:
    """Check rows of another library than numpy, and prepare the features of all pairs there."""
    X = _checked_rows(rows, name)
    if power_scale is not None and basis != "polynomial":
        raise InputError("power_scale_polynomial")
    check_basis(X, basis, degree)
    powers = basis_powers(X, basis, degree, _on_host(power_scale))
    if basis == "polynomial":
        return MonomialPairs(powers)
    return ProductPairs(powers[0], has_own=basis != "ising")


def _values_of(features: ProductPairs | MonomialPairs, theta: Any, name: str) -> Any:
    """Log ratio of coefficients on and above the diagonal, not normalised."""
    powers, d, size = features.powers, features.n_variables, features.size
    xp = array_namespace(powers[0])
    full = like(theta, powers[0])
    if full.shape == (d, d) and size == 1:
        full = full[:, :, None]
    if full.shape != (d, d, size) or not bool(xp.all(xp.isfinite(full))):
        raise InputError("theta_shape", name=name, d=d, size=size)
    powers, total = [xp.ones_like(powers[0]), *powers], 0.0
    for m, (a, b) in enumerate(zip(features.left, features.right, strict=True)):
        # A variable with itself has only the first of the features.
        upper = xp.triu(full[:, :, m], k=int(m >= features.n_own))
        total = total + xp.sum((powers[a] @ upper) * powers[b], axis=1)
    return total


def _solve_dense(
    dual: DenseDual, start: FloatArray, tol: float, max_iter: int, *, is_apart: bool
) -> tuple[RatioSolution, FloatArray, bool]:
    """Solve from some logarithms of weights.

    Return the solution, those at its end, and whether nothing but a free diagonal has changed.
    Where nothing else had, it is solved for first and accurately: from the largest alpha on that is
    the solution.
    """
    features, target = dual.features, tol * dual.features.n_variables
    n_iter, history = 0, []
    with blas_threads_for(features.n_samples):
        if is_apart and not dual.penalize_diagonal:
            alone = replace(dual, alpha=np.inf)
            found = newton(alone, start, gap=ACCURATE * target, max_iter=max_iter)
            n_iter, history, start = found.n_iter, found.history, found.point.log_weights
        found = newton(dual, start, gap=target, max_iter=max_iter - n_iter)
    gap = found.gap + dual.rounding(found)
    theta = found.point.theta
    solution = RatioSolution(
        value=features.full(theta),
        objective=dual.objective(found),
        gap=gap,
        n_iter=n_iter + found.n_iter,
        converged=bool(gap <= target),
        history=np.array([*history, *found.history[:-1], gap]),
        alpha=dual.alpha,
        weights=like(np.exp(log_softmax(found.log_ratio)), features.powers[0]),
        log_normalizer=log_total(found.log_ratio) - float(np.log(features.n_samples)),
        raised_alpha=dual.alpha,
    )
    is_apart = not dual.penalize_diagonal and features.counts(theta)[0] == 0
    return solution, found.point.log_weights, is_apart


def _largest_dense(dual: DenseDual) -> float:
    """Smallest alpha without a change, on the device."""
    features, diagonal = dual.features, dual.penalize_diagonal and dual.features.n_own > 0
    log_weights, distance = log_softmax(dual.offset), 0.0
    if not dual.penalize_diagonal:
        found = newton(dual, log_weights, gap=1e-12, max_iter=500)
        log_weights = found.point.log_weights
        distance = moment_distance(features, found.gap + dual.rounding(found))
    slack = features.slack(dual.target, np.exp(log_weights) / dual.ridge)
    largest = dual.ridge * features.largest(slack, diagonal=diagonal)
    if largest == 0.0:
        return 0.0
    return largest + moment_rounding(features, log_weights) + distance


def _sparse(features: PairFeatures, theta: FloatArray, name: str) -> Coefficients:
    """Coefficients of the pairs on and above the diagonal that are not 0."""
    d, size = features.n_variables, features.size
    full = np.asarray(theta, dtype=np.float64)
    if full.shape == (d, d) and size == 1:
        full = full[:, :, None]
    if full.shape != (d, d, size) or not np.isfinite(full).all():
        raise InputError("theta_shape", name=name, d=d, size=size)
    first, second = np.nonzero(np.triu(np.any(full != 0, axis=2)))
    return Coefficients(first * d + second, full[first, second])


def _solution(problem: RatioProblem, point: RatioPoint, alpha: float, stop: Stop) -> RatioSolution:
    certificate = point.certificate
    gap = certificate.gap + certificate.rounding
    return RatioSolution(
        value=problem.features.full(point.theta.pairs, point.theta.values),
        objective=problem.loss(point.theta, point.log_ratio) + problem.penalty(point.theta, alpha),
        gap=gap,
        n_iter=point.n_iter,
        converged=bool(gap <= stop.gap and certificate.excess <= stop.slightly),
        history=np.array([*point.history[:-1], gap]),
        alpha=alpha,
        weights=np.exp(log_softmax(point.log_ratio)),
        log_normalizer=log_total(point.log_ratio) - problem.log_n,
        raised_alpha=alpha * (1.0 + certificate.excess),
        proof=RatioProof(problem=problem) if problem.ridge > 0 else None,
    )
