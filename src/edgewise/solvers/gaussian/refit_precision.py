"""Gaussian maximum likelihood under a given graph, certified, or the word that there is none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.io.messages import quote_names
from edgewise.solvers._arguments import check_numbers
from edgewise.solvers._solution import Solution
from edgewise.solvers.gaussian.graph_newton import newton_on_graph
from edgewise.solvers.gaussian.graph_regressions import fit_to_graph, room_for_regressions
from edgewise.solvers.gaussian.standard_form import check_problem, rescale, writable
from edgewise.solvers.linalg.small_cholesky import SINGULAR
from edgewise.solvers.linalg.sparse_inverse import factorize, inverse


@dataclass(frozen=True, kw_only=True, eq=False)
class RefitSolution(Solution):
    """Maximum likelihood under a graph; ``value`` is the precision matrix.

    Where the likelihood has no maximum, ``exists`` is False, ``message`` says why, ``value`` and
    ``covariance`` are NaN, ``objective`` is minus infinity and ``gap`` infinite.

    Attributes
    ----------
    covariance : ndarray of shape (p, p)
        Inverse of ``value``.
    exists : bool
        Whether the likelihood has a maximum.
    residual : float
        Largest error in the likelihood equations, in correlation units: how far ``covariance``
        is from S on edges and diagonal.
    message : str
        Why there is no maximum; empty where there is one.
    """

    covariance: FloatArray
    exists: bool
    residual: float
    message: str = ""


def refit_precision(
    S: FloatArray, adjacency: ArrayLike, *, tol: float = 1e-14, max_iter: int = 1000
) -> RefitSolution:
    r"""Estimate the precision matrix of a Gaussian whose graph is known, without a penalty.

    Minimises over positive definite :math:`\Theta` with :math:`\Theta_{ij} = 0` wherever
    :math:`i \ne j` are not joined

    .. math:: \operatorname{tr}(S \Theta) - \log\det \Theta,

    where :math:`S` is the covariance. At the minimum :math:`(\Theta^{-1})_{ij} = S_{ij}` on edges
    and diagonal. This takes back the shrinkage of a graphical lasso once it has chosen the edges.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance or correlation matrix. It may be singular, but then a minimum need not exist.
    adjacency : array-like of bool, shape (p, p)
        Which pairs are joined; symmetric, the diagonal makes no difference.
    tol : float
        Duality gap per variable at which to stop. The gap falls with the square of ``residual``.
    max_iter : int
        Largest number of sweeps over the variables.

    Returns
    -------
    RefitSolution
        With ``exists`` False and a ``message`` where the likelihood has no maximum, as with fewer
        rows behind S than variables that are all joined to each other.

    Raises
    ------
    InputError
        If an argument is not valid.

    Notes
    -----
    Each variable in turn is regressed on its neighbours. Where a regression is singular, damped
    Newton steps on the free entries decide whether there is a minimum. With ``W`` equal to S on
    edges and diagonal and to the covariance elsewhere, the gap is at most
    :math:`\delta^2 / (2 (1 - \delta))` for
    :math:`\delta^2 = \operatorname{tr} (\Theta W - I)^2 < 1`.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman (2009), The Elements of Statistical Learning, second
    edition, section 17.3.1. https://doi.org/10.1007/978-0-387-84858-7

    A. P. Dempster (1972), Covariance selection, Biometrics 28, 157-175.
    https://doi.org/10.2307/2528966

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import refit_precision
    >>> S = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.3], [0.1, 0.3, 1.0]])
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> solution = refit_precision(S, chain)
    >>> solution.covariance.round(3)
    array([[1.  , 0.6 , 0.18],
           [0.6 , 1.  , 0.3 ],
           [0.18, 0.3 , 1.  ]])
    >>> refit_precision(np.ones((3, 3)), chain).message
    "S is singular on variables '0' and '1', which are all joined to each other. Take more rows,
    or fewer edges."
    """
    graph = _check_adjacency(adjacency)
    check_numbers([], tol, max_iter)
    if (flat := _zero_variances(S)).size:
        message = f"Variables {quote_names(flat)} have variance 0. Drop them, or take more rows."
        return _missing(len(graph), 0, message)
    S, _ = check_problem(S, None)
    p = len(S)
    if graph.shape != S.shape:
        raise InputError(f"adjacency must have shape {S.shape} like S, got {graph.shape}.")
    scale = 1.0 / np.sqrt(S.diagonal())
    correlation = rescale(S, scale, np.empty_like(S))
    np.fill_diagonal(correlation, 1.0)
    with blas_threads_for(p):
        return _solve(correlation, scale, graph, tol * p, max_iter)


def _solve(
    S: FloatArray, scale: FloatArray, adjacency: BoolArray, target: float, max_iter: int
) -> RefitSolution:
    """Solve for unit variances and return the solution in the original units."""
    state = room_for_regressions(len(S))
    gap, n_iter = fit_to_graph(S, adjacency, state, target, max_iter)
    Theta = state.Theta
    factor = factorize(Theta) if gap >= 0.0 else None
    if factor is None:
        if clique := _singular_clique(S, adjacency):
            message = (
                f"S is singular on variables {quote_names(clique)}, which are all joined to each "
                "other. Take more rows, or fewer edges."
            )
            return _missing(len(S), n_iter, message)
        found = newton_on_graph(S, adjacency, target)
        n_iter += found.n_iter
        factor = factorize(found.Theta) if found.has_minimum else None
        if factor is None:
            message = (
                "The likelihood grows without bound: no positive definite matrix agrees with S "
                "on the edges. Take more rows, or fewer edges."
            )
            return _missing(len(S), n_iter, message)
        Theta, gap = found.Theta, found.gap
    Sigma = inverse(factor)
    is_free = adjacency | np.eye(len(S), dtype=bool)
    return RefitSolution(
        value=rescale(Theta, scale, np.empty_like(S)),
        covariance=rescale(Sigma, 1.0 / scale, np.empty_like(S)),
        objective=float(np.vdot(S, Theta)) - factor.logdet - 2.0 * float(np.log(scale).sum()),
        gap=gap,
        n_iter=n_iter,
        converged=gap <= target,
        history=np.array([gap]),
        exists=True,
        residual=float(np.abs(Sigma - S)[is_free].max()),
    )


def _missing(p: int, n_iter: int, message: str) -> RefitSolution:
    """Say that there is no maximum."""
    return RefitSolution(
        value=np.full((p, p), np.nan),
        covariance=np.full((p, p), np.nan),
        objective=-np.inf,
        gap=np.inf,
        n_iter=n_iter,
        converged=False,
        exists=False,
        residual=np.inf,
        message=message,
    )


def _check_adjacency(adjacency: ArrayLike) -> BoolArray:
    graph: BoolArray = np.array(adjacency) != 0
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise InputError(f"adjacency must be a square matrix, got shape {graph.shape}.")
    if not np.array_equal(graph, graph.T):
        i, j = np.argwhere(graph != graph.T)[0].tolist()
        raise InputError(
            f"adjacency must be symmetric: it has ({i}, {j}) or ({j}, {i}) but not both."
        )
    np.fill_diagonal(graph, False)
    return graph


def _zero_variances(S: FloatArray) -> IntArray:
    """Variables without variance, of a matrix that is otherwise a covariance."""
    S = writable(S)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        return np.empty(0, np.int64)
    return np.flatnonzero(S.diagonal() == 0.0)


def _singular_clique(S: FloatArray, adjacency: BoolArray) -> list[int]:
    """Look for variables that are all joined and on which S is singular; empty if none is found.

    From each variable on, a clique is grown by whoever has most neighbours.
    """
    by_degree = np.argsort(-adjacency.sum(axis=0), kind="stable").tolist()
    for first in by_degree:
        clique = [first]
        for other in by_degree:
            if adjacency[other, clique].all():
                clique.append(other)
                block = S[np.ix_(clique, clique)]
                if np.linalg.eigvalsh(block)[0] <= SINGULAR:
                    return sorted(clique)
    return []
