"""The competitors: each turns second moments into one fit per point of its grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np

from edgewise._core.errors import SolverError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.metrics import edge_metrics, gaussian_kl
from edgewise.solvers import (
    Solution,
    graphical_lasso,
    graphical_lasso_path,
    locally_constant,
    locally_constant_path,
)
from edgewise.solvers.gaussian.graphical_lasso import PrecisionSolution
from edgewise.solvers.lasso.gram import neighborhood_lasso
from studies.figures import BLUE, VERMILION

LOCALLY_CONSTANT: Final = "locally constant"
GRAPHICAL_LASSO: Final = "graphical lasso"
LOOK: Final[dict[str, dict[str, Any]]] = {
    LOCALLY_CONSTANT: {"color": BLUE, "marker": "o"},
    GRAPHICAL_LASSO: {"color": VERMILION, "marker": "s"},
}
#: Smallest eigenvalue of a precision put together from regressions, as a share of the largest.
CLIP = 1e-3
#: Gap per variable that is close enough to choose between points of a grid.
TUNING_TOL = 1e-4
#: A grid has so many times more points for one strength than for two: they cost little, and a
#: coarse grid would hurt methods with one strength more.
FINER = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """An estimate.

    Attributes
    ----------
    precision : ndarray of shape (p, p)
        Positive definite.
    adjacency : ndarray of bool, shape (p, p)
        Its graph.
    settings : dict
        The point of the grid, by name.
    converged : bool
        Whether the solver reached its tolerance.
    """

    precision: FloatArray
    adjacency: BoolArray
    settings: dict[str, float]
    converged: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Strengths to try.

    Attributes
    ----------
    alphas : ndarray
        Of sparsity alone.
    coarse_alphas, taus : ndarray
        Of sparsity and of local constancy together, every combination.
    ridges : ndarray
        Added to the variances.
    """

    alphas: FloatArray
    coarse_alphas: FloatArray
    taus: FloatArray
    ridges: FloatArray


#: From second moments and a grid to one fit per point, None where no estimate exists.
Method: TypeAlias = Callable[[FloatArray, Grid], Sequence[Fit | None]]


def grid_for(S: FloatArray, *, per_decade: int) -> Grid:
    """Spread strengths over three decades below the largest covariance, for both penalties.

    A wide grid is part of the comparison: one that begins too high shows no use of ``tau``. The
    largest covariance empties the graph; the one ``alpha`` above it shrinks the variances, which
    a few rows may need.
    """
    largest = float(np.abs(S - np.diag(S.diagonal())).max())
    fine = np.linspace(0, -3, 3 * FINER * per_decade + 1)
    return Grid(
        alphas=largest * 10.0 ** np.append(0.5, fine),
        coarse_alphas=largest * 10.0 ** np.append(0.5, fine[::FINER]),
        taus=largest * 10.0 ** fine[::-FINER],
        ridges=float(S.diagonal().mean()) * np.logspace(1, -4, 5 * FINER * per_decade + 1),
    )


def fit_of(solution: PrecisionSolution, **settings: float) -> Fit:
    """Read the graph off the zeros of a solution."""
    return Fit(
        precision=solution.value,
        adjacency=_graph(solution.value),
        settings=settings,
        converged=solution.converged,
    )


def fit_locally_constant(S: FloatArray, grid: Grid, pairs: IntArray, *, tol: float) -> list[Fit]:
    """Penalise entries and differences; without the differences it is the graphical lasso."""
    fits = [
        replace(fit, settings={**fit.settings, "tau": 0.0})
        for fit in fit_graphical_lasso(S, grid, tol=tol)
    ]
    paths = locally_constant_path(S, grid.coarse_alphas, grid.taus, pairs, tol=tol)
    fits += [
        fit_of(solution, alpha=solution.alpha, tau=solution.tau)
        for path in paths
        for solution in path
    ]
    return fits


def fit_graphical_lasso(S: FloatArray, grid: Grid, *, tol: float) -> list[Fit]:
    """Penalise every entry, the diagonal too, as the locally constant problem does at tau = 0."""
    path = graphical_lasso_path(S, grid.alphas, penalize_diagonal=True, tol=tol)
    return [fit_of(solution, alpha=solution.alpha) for solution in path]


def fit_both(S: FloatArray, grid: Grid, pairs: IntArray) -> dict[str, list[Fit]]:
    """Fit both methods to their grids, close enough to choose between the points."""
    return {
        GRAPHICAL_LASSO: fit_graphical_lasso(S, grid, tol=TUNING_TOL),
        LOCALLY_CONSTANT: fit_locally_constant(S, grid, pairs, tol=TUNING_TOL),
    }


def refine(S: FloatArray, fit: Fit, pairs: IntArray) -> Fit:
    """Solve one of the above again at the default tolerance; tuning makes do with a looser one."""
    alpha, tau = fit.settings["alpha"], fit.settings.get("tau", 0.0)
    return fit_of(locally_constant(S, alpha, tau, pairs), **fit.settings)


def fit_regressions(S: FloatArray, grid: Grid) -> list[Fit]:
    """Meinshausen and Bühlmann without refit: the regressions themselves make the precision.

    Column j says that the precision of j is one over its residual variance, and that its entries
    are the negative coefficients times that. The mean of both columns makes it symmetric, clipped
    eigenvalues make it positive definite.
    """
    fits = []
    for alpha, solution in _regressions(S, grid):
        B = solution.value
        residual = np.diagonal(S - S @ B - B.T @ S + B.T @ S @ B)
        # A saturated regression leaves nothing but rounding.
        diagonal = 1.0 / np.maximum(residual, CLIP * S.diagonal())
        columns = (np.eye(len(S)) - B) * diagonal
        eigenvalues, vectors = np.linalg.eigh((columns + columns.T) / 2)
        eigenvalues = np.maximum(eigenvalues, CLIP * eigenvalues[-1])
        fits.append(
            Fit(
                precision=(vectors * eigenvalues) @ vectors.T,
                adjacency=_either(B),
                settings={"alpha": alpha},
                converged=solution.converged,
            )
        )
    return fits


def fit_regressions_refitted(S: FloatArray, grid: Grid) -> list[Fit | None]:
    """Meinshausen and Bühlmann with refit: the Gaussian of largest likelihood on their graph."""
    fits: list[Fit | None] = []
    hopeless: list[BoolArray] = []
    for alpha, solution in _regressions(S, grid):
        adjacency = _either(solution.value)
        # Where the likelihood has no maximum on a graph, it has none on a larger one.
        is_larger = any(bool((adjacency >= smaller).all()) for smaller in hopeless)
        precision = None if is_larger else refit(S, adjacency)
        if precision is None:
            hopeless.append(adjacency)
            fits.append(None)
            continue
        fits.append(Fit(precision=precision, adjacency=adjacency, settings={"alpha": alpha}))
    return fits


def refit(S: FloatArray, adjacency: BoolArray) -> FloatArray | None:
    """Maximise the likelihood among Gaussians with this graph; None where it has no maximum."""
    weights = np.where(adjacency, 0.0, np.inf)
    np.fill_diagonal(weights, 0.0)
    try:
        # Where a maximum exists it is found at once; where none does, the search has no end.
        solution = graphical_lasso(S, 1.0, weights=weights, max_iter=200)
    except SolverError:
        return None
    return solution.value if solution.converged else None


def fit_full(S: FloatArray, grid: Grid) -> list[Fit]:
    """Invert the second moments, with a ridge on the variances."""
    return [_ridge_fit(S, float(ridge)) for ridge in grid.ridges]


def fit_independent(S: FloatArray, grid: Grid) -> list[Fit]:
    """Invert the variances alone, with the same ridge."""
    return [_ridge_fit(np.diag(S.diagonal()), float(ridge)) for ridge in grid.ridges]


def _ridge_fit(S: FloatArray, ridge: float) -> Fit:
    precision = np.linalg.inv(S + ridge * np.eye(len(S)))
    precision = (precision + precision.T) / 2
    return Fit(precision=precision, adjacency=_graph(precision), settings={"ridge": ridge})


def _regressions(S: FloatArray, grid: Grid) -> Iterator[tuple[float, Solution]]:
    """Regress along the alphas, which fall, each started from the last."""
    init = None
    for alpha in grid.alphas.tolist():
        solution = neighborhood_lasso(S, alpha, init=init)
        init = solution.value
        yield alpha, solution


def _graph(precision: FloatArray) -> BoolArray:
    adjacency: BoolArray = precision != 0
    np.fill_diagonal(adjacency, False)
    return adjacency


def _either(B: FloatArray) -> BoolArray:
    """Join two variables if either is in the regression of the other."""
    return _graph(B) | _graph(B).T


@dataclass(frozen=True, kw_only=True, eq=False)
class Tuned:
    """What a method gives on one data set.

    Attributes
    ----------
    oracle : Fit
        Of smallest Kullback-Leibler divergence from the truth.
    cross_validated : Fit
        Of largest likelihood on held-out rows.
    n_unconverged : int
        Fits to all rows that ended above the tolerance.
    """

    oracle: Fit
    cross_validated: Fit
    n_unconverged: int


def second_moments(X: FloatArray) -> FloatArray:
    """Covariance of rows whose mean is known to be zero."""
    S: FloatArray = X.T @ X / len(X)
    return S


def log_likelihood(precision: FloatArray, S: FloatArray) -> float:
    """Mean Gaussian log-likelihood of rows with mean zero and second moments S, in nats."""
    _, logdet = np.linalg.slogdet(precision)
    constant = len(S) * np.log(2 * np.pi)
    return float(logdet - np.sum(S * precision) - constant) / 2


def split(n_samples: int, n_folds: int, rng: np.random.Generator) -> list[IntArray]:
    """Deal the rows out to folds at random."""
    order = rng.permutation(n_samples)
    return [order[fold::n_folds] for fold in range(n_folds)]


def divergences(fits: Sequence[Fit | None], truth: FloatArray) -> FloatArray:
    """Divergence of each fit from the truth, infinite where there is no fit."""
    return np.array([np.inf if fit is None else gaussian_kl(truth, fit.precision) for fit in fits])


def held_out(method: Method, X: FloatArray, grid: Grid, folds: Sequence[IntArray]) -> FloatArray:
    """Cross-validated log-likelihood per row of each point of the grid.

    A point is out of question as soon as one fold has no fit.
    """
    total = np.zeros(1)
    for test in folds:
        train = np.delete(X, test, axis=0)
        S = second_moments(X[test])
        scores = [
            -np.inf if fit is None else log_likelihood(fit.precision, S)
            for fit in method(second_moments(train), grid)
        ]
        total = total + len(test) * np.array(scores)
    return total / len(X)


def tune(
    method: Method,
    X: FloatArray,
    truth: FloatArray,
    grid: Grid,
    folds: Sequence[IntArray],
) -> Tuned:
    """Fit the whole grid and choose both ways."""
    fits = method(second_moments(X), grid)
    return Tuned(
        oracle=best(fits, -divergences(fits, truth)),
        cross_validated=best(fits, held_out(method, X, grid, folds)),
        n_unconverged=count_unconverged(fits),
    )


def best(fits: Sequence[Fit | None], scores: FloatArray) -> Fit:
    """Take the fit of the highest score, the first of equals."""
    pairs = [(score, fit) for score, fit in zip(scores, fits, strict=True) if fit is not None]
    return max(pairs, key=lambda pair: pair[0])[1]


def count_unconverged(fits: Sequence[Fit | None]) -> int:
    """Count the fits that ended above the tolerance."""
    return sum(fit is not None and not fit.converged for fit in fits)


def measures(fit: Fit, truth: FloatArray) -> dict[str, float]:
    """How far a fit is from the truth by the four measures of the paper, and its settings."""
    edges = edge_metrics(truth, fit.adjacency)
    return {
        "kl": gaussian_kl(truth, fit.precision),
        "precision": edges.precision,
        "recall": edges.recall,
        "frobenius": float(np.linalg.norm(fit.precision - truth)),
        "edges": edges.tp + edges.fp,
        **fit.settings,
    }
