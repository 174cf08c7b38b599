"""Sparse change between two Markov networks, by the ratio of their densities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgewise._core.arrays import is_foreign, like, require_device_memory, to_numpy
from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import FloatArray
from edgewise.solvers._arguments import check_nonnegative, check_numbers
from edgewise.solvers._solution import Solution
from edgewise.solvers.change.ratio_newton import DenseDual, newton
from edgewise.solvers.change.ratio_path import (
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
from edgewise.stats import Moments
from edgewise.stats.pair_features import PairFeatures, PairFunction, pair_features, pair_means

SOLVERS = ("auto", "dual", "primal")
#: Matrices of all pairs that a device holds at the same time, at most.
MATRICES = 8


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
        or both of torch or CuPy: coefficients and weights are then arrays there as well. Of the
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
        tol=tol, max_iter=max_iter,
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

    Yields
    ------
    RatioSolution

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import density_ratio_path
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
    >>> path = density_ratio_path(after, before, [0.5, 0.1, 0.05])
    >>> [int(np.count_nonzero(np.triu(solution.value[:, :, 0]))) for solution in path]
    [0, 3, 4]
    """
    check_numbers(list(alphas), tol, max_iter)
    if solver not in SOLVERS:
        raise InputError(f'solver must be "auto", "dual" or "primal", got {solver!r}.')
    if ridge == 0 and 0 in list(alphas):
        raise InputError("ridge and alpha cannot both be 0. Raise one of them.")
    if is_foreign(X_q):
        options = {
            "ridge": ridge, "basis": basis, "degree": degree, "solver": solver,
            "penalize_diagonal": penalize_diagonal, "power_scale": power_scale, "offset": offset,
            "init": init, "tol": tol, "max_iter": max_iter,
        }  # fmt: skip
        return _walk_elsewhere(X_p, X_q, [float(alpha) for alpha in alphas], options)
    problem = _make_problem(
        X_p, X_q, ridge=ridge, basis=basis, degree=degree, penalize_diagonal=penalize_diagonal,
        power_scale=power_scale, offset=offset,
    )  # fmt: skip
    start = None if init is None else _sparse(problem.features, init, "init")
    return _walk(problem, np.asarray(alphas, dtype=np.float64), solver, start, tol, max_iter)


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
    >>> from edgewise.solvers import ratio_alpha_max
    >>> round(ratio_alpha_max(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0]])), 9)
    3.0
    """
    if is_foreign(X_q):
        X_p, X_q = _on_host(X_p), to_numpy(X_q)
    problem = _make_problem(
        X_p, X_q, ridge=ridge, basis=basis, degree=degree, penalize_diagonal=penalize_diagonal,
        power_scale=power_scale, offset=offset,
    )  # fmt: skip
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
    X : ndarray of shape (n, d)
        Rows.
    theta : ndarray of shape (d, d, b)
        Coefficients, the ``value`` of a `RatioSolution`; those below the diagonal are not read.
    basis, degree, power_scale
        Those that the solution was found with.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import log_density_ratio
    >>> theta = np.array([[0.0, 0.5], [0.5, 1.0]])[:, :, None]
    >>> log_density_ratio(np.array([[1.0, 2.0]]), theta)
    array([5.])
    """
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
    >>> from edgewise.solvers import ratio_alpha_min
    >>> round(ratio_alpha_min(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0], [1.0, 1.5]])), 6)
    1.75
    """
    problem = _make_problem(
        X_p, X_q, ridge=0.0, basis=basis, degree=degree, penalize_diagonal=penalize_diagonal,
        power_scale=power_scale, offset=None,
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
    if d_p != X_q.shape[1]:
        raise InputError(
            f"X_p has {d_p} columns and X_q {X_q.shape[1]}; they must have the same ones."
        )
    check_nonnegative(ridge=ridge)
    n = len(X_q)
    shift = np.zeros(n) if offset is None else np.asarray(offset, dtype=np.float64)
    if shift.shape != (n,) or not np.isfinite(shift).all():
        raise InputError(f"offset must hold one finite number for each of the {n} rows of X_q.")
    denominator = pair_features(X_q, basis, degree, power_scale=power_scale)
    with blas_threads_for(d_p):
        target = pair_means(X_p, basis, degree, power_scale=power_scale)
    if target.at(np.zeros(1, dtype=np.int64)).shape[1] != denominator.size:
        raise InputError("The basis function returned different numbers of features for X_p, X_q.")
    return RatioProblem(
        features=denominator,
        target=target,
        offset=shift,
        ridge=float(ridge),
        penalize_diagonal=penalize_diagonal,
    )


def _checked_rows(rows: FloatArray, name: str) -> FloatArray:
    X = np.asarray(rows, dtype=np.float64)
    if X.ndim != 2 or X.size == 0:
        raise InputError(f"{name} must be a table with rows and columns, got shape {X.shape}.")
    if not np.isfinite(X).all():
        raise InputError(f"{name} contains NaN or infinite entries.")
    return X


def _walk(
    problem: RatioProblem, alphas: FloatArray, solver: str, start: Coefficients | None,
    tol: float, max_iter: int,
) -> Iterator[RatioSolution]:  # fmt: skip
    stop = Stop(gap=tol * problem.features.n_variables, slightly=tol, max_iter=max_iter)
    with blas_threads_for(problem.features.n_variables):
        point = starting_point(problem, start)
    alpha_before = problem.target.largest(point.certificate.moments, diagonal=True)
    for alpha in alphas:
        with blas_threads_for(problem.features.n_variables):
            point = solve_with_screening(problem, float(alpha), point, alpha_before, solver, stop)
            solution = _solution(problem, point, float(alpha), stop)
        alpha_before = float(alpha)
        yield solution


def _on_host(value: Any) -> Any:
    """Bring an array of another library to numpy, and leave anything else as it is."""
    return to_numpy(value) if is_foreign(value) else value


def _walk_elsewhere(
    X_p: Any, X_q: Any, alphas: list[float], options: dict[str, Any]
) -> Iterator[RatioSolution]:
    """Solve on arrays of another library than numpy, on their device where that has a solver.

    That is for products of two columns with a ridge; anything else is solved on the host.
    """
    plain = options["solver"] != "primal" and options["init"] is None and options["ridge"] > 0
    basis, offset = options["basis"], options["offset"]
    if not plain or basis not in ("gaussian", "ising") or not is_foreign(X_p):
        options = {name: _on_host(value) for name, value in options.items()}
        for solution in density_ratio_path(_on_host(X_p), to_numpy(X_q), alphas, **options):
            yield replace(
                solution, value=like(solution.value, X_q), weights=like(solution.weights, X_q)
            )
        return
    # Checks are those of the host, on the rows alone.
    for rows, name in ((X_p, "X_p"), (X_q, "X_q")):
        pair_features(_checked_rows(to_numpy(rows), name), basis)
    if X_p.shape[1] != X_q.shape[1]:
        raise InputError(
            f"X_p has {X_p.shape[1]} columns and X_q {X_q.shape[1]}; they must have the same ones."
        )
    n, d = X_q.shape
    require_device_memory(X_q, MATRICES, d)
    dual = DenseDual(
        X=X_q, target=X_p.T @ X_p / X_p.shape[0],
        offset=np.zeros(n) if offset is None else np.asarray(_on_host(offset), dtype=np.float64),
        ridge=float(options["ridge"]), alpha=0.0, own=np.inf,
    )  # fmt: skip
    log_weights = log_softmax(dual.offset)
    for alpha in alphas:
        own = np.inf if basis == "ising" else alpha if options["penalize_diagonal"] else 0.0
        dual = replace(dual, alpha=alpha, own=own)
        target = options["tol"] * d
        found = newton(dual, log_weights, gap=target, max_iter=options["max_iter"])
        log_weights, theta = found.point.log_weights, found.point.theta
        gap = found.gap + dual.rounding(theta, found.log_ratio, log_weights)
        yield RatioSolution(
            value=theta[:, :, None],
            objective=dual.objective(theta, found.log_ratio),
            gap=gap,
            n_iter=found.n_iter,
            converged=bool(gap <= target),
            history=np.array([*found.history[:-1], gap]),
            alpha=alpha,
            weights=like(np.exp(log_softmax(found.log_ratio)), X_q),
            log_normalizer=log_total(found.log_ratio) - float(np.log(n)),
            raised_alpha=alpha,
        )


def _sparse(features: PairFeatures, theta: FloatArray, name: str) -> Coefficients:
    """Coefficients of the pairs on and above the diagonal that are not 0."""
    d, size = features.n_variables, features.size
    full = np.asarray(theta, dtype=np.float64)
    if full.shape == (d, d) and size == 1:
        full = full[:, :, None]
    if full.shape != (d, d, size) or not np.isfinite(full).all():
        raise InputError(f"{name} must hold finite numbers in the shape ({d}, {d}, {size}).")
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
    )
