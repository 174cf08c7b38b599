"""Gaussian maximum likelihood under a given graph."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for, kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.io.messages import quote_names
from edgewise.solvers._arguments import check_numbers
from edgewise.solvers._solution import Solution
from edgewise.solvers.gaussian.orthant_newton import newton_direction
from edgewise.solvers.gaussian.standard_form import check_problem, rescale, writable
from edgewise.solvers.linalg.blocks import linked_sets
from edgewise.solvers.linalg.dense import inverse_and_log_determinant
from edgewise.solvers.linalg.first_order import UNBOUNDED
from edgewise.solvers.linalg.kernels import SINGULAR, add_rows, factor, solve
from edgewise.solvers.linalg.sparse_inverse import factorize, inverse

#: Steps before the minimum counts as not there; a few dozen do where it is.
MAX_STEPS = 300
#: Sweeps after which Newton steps finish: where columns nearly determine each other, each sweep
#: takes off a few per cent of the gap at most.
MAX_SWEEPS = 200
#: Up to this many free entries the Newton equations are solved as they stand.
DENSE = 2000
#: From this decrement on steps are taken whole.
CLOSE = 0.25


@dataclass(frozen=True, kw_only=True, eq=False)
class NewtonFit:
    """Where the steps ended."""

    Theta: FloatArray
    gap: float
    n_iter: int
    has_minimum: bool


def newton_on_graph(
    S: FloatArray,
    adjacency: BoolArray,
    target: float,
    *,
    start: FloatArray | None = None,
    dense: int = DENSE,
) -> NewtonFit:
    """Minimise for a unit-variance ``S`` until the duality gap is at most ``target``.

    ``start`` is positive definite, and 0 where no edge is; by default the identity.
    """
    p = len(S)
    is_free = adjacency | np.eye(p, dtype=bool)
    Theta = np.eye(p) if start is None else start
    gap = np.inf
    has_minimum = False
    for count in range(1, MAX_STEPS + 1):
        Sigma, _ = inverse_and_log_determinant(Theta)
        if Sigma is None or Theta.diagonal().max() > UNBOUNDED:
            break
        gap = bound_newton_gap(np.where(is_free, S, Sigma), Theta)
        if gap <= target:
            return NewtonFit(Theta=Theta, gap=gap, n_iter=count, has_minimum=True)
        gradient = np.where(is_free, S - Sigma, 0.0)
        step = _free_entries_step(Theta, Sigma, is_free, gradient, dense)
        if step is None:
            break
        decrement = math.sqrt(max(-float(np.vdot(gradient, step)), 0.0))
        has_minimum = has_minimum or decrement < 1.0
        length = 1.0 if decrement < CLOSE else 1.0 / (1.0 + decrement)
        Theta = Theta + length * step
    return NewtonFit(Theta=Theta, gap=gap, n_iter=count, has_minimum=has_minimum)


def _free_entries_step(
    Theta: FloatArray, Sigma: FloatArray, is_free: BoolArray, gradient: FloatArray, dense: int
) -> FloatArray | None:
    r"""Solve :math:`(\Sigma D \Sigma)_{ij} = -G_{ij}` for a symmetric ``D`` on the free entries.

    None says that the equations have become singular.
    """
    rows, columns = np.nonzero(np.triu(is_free))
    if rows.size > dense:
        return newton_direction(Theta, Sigma, is_free.astype(np.float64), gradient)
    # One unknown per unordered pair; a pair off the diagonal stands for two entries.
    share = np.where(rows == columns, 0.5, 1.0)
    H = Sigma[np.ix_(rows, rows)] * Sigma[np.ix_(columns, columns)]
    H += Sigma[np.ix_(rows, columns)] * Sigma[np.ix_(columns, rows)]
    H *= np.outer(share, share)
    try:
        factor = linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    solved = linalg.cho_solve(factor, -share * gradient[rows, columns], check_finite=False)
    step = np.zeros_like(Theta)
    step[rows, columns] = solved
    step[columns, rows] = solved
    return step


def bound_newton_gap(W: FloatArray, Theta: FloatArray) -> float:
    """Bound the duality gap of a positive definite ``Theta`` at the dual point ``W``."""
    R = Theta @ W - np.eye(len(W))
    square = max(float(np.vdot(R, R.T)), 0.0)
    return 0.5 * square / (1.0 - float(np.sqrt(square))) if square < 1.0 else np.inf


#: Conditional variance, as a share of the variance, at which a variable counts as redundant.
REDUNDANT = 1e-12


class Regressions(NamedTuple):
    """State and buffers: the regression of each variable on its neighbours.

    Attributes
    ----------
    W : ndarray of shape (p, p)
        The dual point.
    Theta : ndarray of shape (p, p)
        The precision.
    neighbors : ndarray of shape (p, p)
        Row ``i`` lists the ``degree[i]`` neighbours of ``i``.
    degree, order : ndarray of shape (p,)
        Number of neighbours, and the variables by that number.
    beta : ndarray of shape (p, p)
        Row ``i`` holds the coefficients on the neighbours of ``i``.
    theta : ndarray of shape (p,)
        Diagonal of the precision.
    gram, L, column : ndarray
        Scratch.
    """

    W: FloatArray
    Theta: FloatArray
    neighbors: IntArray
    degree: IntArray
    order: IntArray
    beta: FloatArray
    theta: FloatArray
    gram: FloatArray
    L: FloatArray
    column: FloatArray


def allocate_regressions(p: int) -> Regressions:
    """Allocate the workspace for ``p`` variables."""
    W, Theta, beta, gram, L = np.empty((5, p, p))
    theta, column = np.empty((2, p))
    degree, order = np.empty((2, p), np.int64)
    neighbors = np.empty((p, p), np.int64)
    return Regressions(W, Theta, neighbors, degree, order, beta, theta, gram, L, column)


@kernel
def fit_to_graph(
    S: FloatArray, adjacency: BoolArray, state: Regressions, target: float, max_sweeps: int
) -> tuple[float, int]:
    """Fill ``state.Theta`` with the precision and ``state.W`` with a dual point.

    ``S`` has unit variances. Returns the duality gap and the number of sweeps. A gap of -1 says
    that a regression was singular: either the likelihood has no maximum or this start, the sample
    covariance itself, is not good enough to find it. A finite gap proves ``Theta`` positive
    definite if ``W`` is, and the other way round.
    """
    _start(S, adjacency, state)
    gap = np.inf
    for count in range(1, max_sweeps + 1):
        change = 0.0
        for j in state.order:
            moved = _regress(j, S, state)
            if moved < 0.0:
                return -1.0, count
            change = max(change, moved)
        # The gap is about the square of the residual, which follows the change.
        if change * change <= target or count == max_sweeps:
            _assemble(state)
            gap = _bound_gap(state)
            if gap <= target:
                return gap, count
    return gap, max_sweeps


@kernel
def update_fit(
    S: FloatArray,
    adjacency: BoolArray,
    Theta: FloatArray,
    Sigma: FloatArray,
    is_due: BoolArray,
    state: Regressions,
    target: float,
    max_sweeps: int,
) -> float:
    """Do the same from the fit of a graph that differs at the edges of a few variables.

    New edges are those whose precision is 0. Regressions are repeated where ``is_due``, and at
    the neighbours of variables whose column of the covariance has moved; the effect of an edge
    fades with the distance from it. Overwrites ``Theta``, ``Sigma`` and ``is_due``. Returns the
    duality gap, or -1 as above.
    """
    p = S.shape[0]
    for i in range(p):
        if is_due[i]:
            for j in range(i):
                if adjacency[i, j] and Theta[i, j] == 0.0:
                    _join(i, j, S[i, j], Theta, Sigma)
    _start(Sigma, adjacency, state)
    for i in range(p):
        state.theta[i] = Theta[i, i]
        for a in range(state.degree[i]):
            state.beta[i, a] = -Theta[i, state.neighbors[i, a]] / Theta[i, i]
    return _settle(S, is_due, state, target, max_sweeps)


@kernel
def fit_by_neighbors(
    S: FloatArray, adjacency: BoolArray, state: Regressions, target: float, max_sweeps: int
) -> float:
    """Do the same as `fit_to_graph`, and let rest what does not move; for large graphs."""
    _start(S, adjacency, state)
    return _settle(S, np.ones(len(S), np.bool_), state, target, max_sweeps)


@kernel
def _settle(
    S: FloatArray, is_due: BoolArray, state: Regressions, target: float, max_sweeps: int
) -> float:
    """Repeat regressions where they are due and where a neighbour has moved; return the gap."""
    still = 0.1 * np.sqrt(target / len(S))
    gap = np.inf
    for count in range(1, max_sweeps + 1):
        is_over = True
        for j in state.order:
            if not is_due[j]:
                continue
            is_due[j] = False
            moved = _regress(j, S, state)
            if moved < 0.0:
                return -1.0
            if moved > still:
                is_over = False
                for a in range(state.degree[j]):
                    is_due[state.neighbors[j, a]] = True
        if is_over or count == max_sweeps:
            _assemble(state)
            gap = _bound_gap(state)
            if gap <= target:
                break
            still *= 0.1
            is_due[:] = True
    return gap


@kernel
def _join(i: int, j: int, s: float, Theta: FloatArray, Sigma: FloatArray) -> None:
    """Change one entry of the precision so that the covariance is ``s`` there.

    Both stay positive definite, which setting the entry of the covariance would not ensure.
    """
    a, b, w = Sigma[i, i], Sigma[j, j], Sigma[i, j]
    det = a * b - w * w
    linear = det + 2.0 * w * s
    step = 2.0 * (w - s) / (linear + np.sqrt(max(linear * linear - 4.0 * det * s * (w - s), 0.0)))
    # By Woodbury's identity, with both terms multiplied by the step.
    cross = 1.0 + w * step
    scale = step / (a * b * step * step - cross * cross)
    if not np.isfinite(scale):
        return
    Theta[i, j] += step
    Theta[j, i] += step
    first, second = Sigma[i].copy(), Sigma[j].copy()
    for k in range(len(Sigma)):
        to_first = scale * (b * step * first[k] - cross * second[k])
        to_second = scale * (a * step * second[k] - cross * first[k])
        if to_first != 0.0 or to_second != 0.0:
            for other in range(len(Sigma)):
                Sigma[k, other] -= to_first * first[other] + to_second * second[other]


@kernel
def _start(start: FloatArray, adjacency: BoolArray, state: Regressions) -> None:
    """List the neighbours, start at a covariance, and put the variables in order.

    Few neighbours come first: with fewer rows than a hub has neighbours, their covariance is
    singular until they have been made independent given the hub.
    """
    p = start.shape[0]
    for i in range(p):
        degree = 0
        for j in range(p):
            state.W[i, j] = start[i, j]
            if i != j and adjacency[i, j]:
                state.neighbors[i, degree] = j
                degree += 1
        state.degree[i] = degree
        place = i
        while place > 0 and state.degree[state.order[place - 1]] > degree:
            state.order[place] = state.order[place - 1]
            place -= 1
        state.order[place] = i


@kernel
def _regress(j: int, S: FloatArray, state: Regressions) -> float:
    """Update column ``j``; return its largest change, or -1 if the regression is singular."""
    p = S.shape[0]
    W, gram, column = state.W, state.gram, state.column
    neighbors, degree, beta = state.neighbors[j], state.degree[j], state.beta[j]
    for a in range(degree):
        beta[a] = S[j, neighbors[a]]
        for b in range(a + 1):
            gram[a, b] = W[neighbors[a], neighbors[b]]
    if not factor(gram, degree, state.L):
        return -1.0
    solve(state.L, degree, beta)
    add_rows(W, neighbors, beta, degree, column)
    rest = 1.0
    for a in range(degree):
        rest -= beta[a] * S[j, neighbors[a]]
        # What rounding leaves between the two would otherwise stay in the dual point.
        column[neighbors[a]] = S[j, neighbors[a]]
    if not rest > REDUNDANT:
        return -1.0
    state.theta[j] = 1.0 / rest
    column[j] = 1.0
    change = 0.0
    for i in range(p):
        change = max(change, abs(column[i] - W[j, i]))
        W[j, i] = column[i]
        W[i, j] = column[i]
    return change


@kernel
def _assemble(state: Regressions) -> None:
    """Write the precision that the regressions agree on, the mean of the two for each edge."""
    Theta = state.Theta
    p = state.theta.size
    for i in range(p):
        for j in range(p):
            Theta[i, j] = 0.0
    for i in range(p):
        Theta[i, i] = state.theta[i]
        for a in range(state.degree[i]):
            j = state.neighbors[i, a]
            half = -0.5 * state.beta[i, a] * state.theta[i]
            Theta[i, j] += half
            Theta[j, i] += half


@kernel
def _bound_gap(state: Regressions) -> float:
    r"""Bound the duality gap of the precision at the dual point, infinite where the bound fails.

    With :math:`R = \Theta W - I` the gap is :math:`\operatorname{tr} R - \log\det(I + R)`, at most
    :math:`\delta^2 / (2 (1 - \delta))` for :math:`\delta^2 = \operatorname{tr} R^2 < 1`.
    """
    W, Theta, R, values = state.W, state.Theta, state.gram, state.column
    p = W.shape[0]
    for i in range(p):
        degree = state.degree[i]
        for a in range(degree):
            values[a] = Theta[i, state.neighbors[i, a]]
        add_rows(W, state.neighbors[i], values, degree, R[i])
        for j in range(p):
            R[i, j] += Theta[i, i] * W[i, j]
        R[i, i] -= 1.0
    square = 0.0
    for i in range(p):
        square += R[i, i] * R[i, i]
        for j in range(i):
            square += 2.0 * R[i, j] * R[j, i]
    if not square < 1.0:
        return np.inf
    square = max(square, 0.0)
    bound: float = 0.5 * square / (1.0 - np.sqrt(square))
    return bound


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
    Newton steps on the free entries decide whether there is a minimum; after 200 sweeps, if there
    may be as many, such steps go on from there. With ``W`` equal to S on
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
        raise InputError("adjacency_shape_like_s", shape=S.shape, shape2=graph.shape)
    scale = 1.0 / np.sqrt(S.diagonal())
    correlation = rescale(S, scale, np.empty_like(S))
    np.fill_diagonal(correlation, 1.0)
    parts = []
    with blas_threads_for(p):
        # Variables that no path joins are independent: each component is a problem of its own.
        for index in linked_sets(graph):
            block = np.ix_(index, index)
            part = _solve(correlation[block], scale[index], graph[block], index, tol, max_iter)
            if not part.exists:
                return _missing(p, part.n_iter, part.message)
            parts.append((block, part))
    value, covariance = np.zeros((2, p, p))
    for block, part in parts:
        value[block], covariance[block] = part.value, part.covariance
    solved = [part for _, part in parts]
    gap = sum(part.gap for part in solved)
    return RefitSolution(
        value=value,
        covariance=covariance,
        objective=sum(part.objective for part in solved),
        gap=gap,
        n_iter=max(part.n_iter for part in solved),
        converged=all(part.converged for part in solved),
        history=np.array([gap]),
        exists=True,
        residual=max(part.residual for part in solved),
    )


def _solve(
    S: FloatArray,
    scale: FloatArray,
    adjacency: BoolArray,
    variables: IntArray,
    tol: float,
    max_iter: int,
) -> RefitSolution:
    """Solve for unit variances and return the solution in the original units."""
    target = tol * len(S)
    state = allocate_regressions(len(S))
    gap, n_iter = fit_to_graph(S, adjacency, state, target, min(max_iter, MAX_SWEEPS))
    Theta = state.Theta
    factor = factorize(Theta) if gap >= 0.0 else None
    if factor is not None and gap > target and n_iter < max_iter:
        found = newton_on_graph(S, adjacency, target, start=Theta)
        n_iter += found.n_iter
        if found.gap < gap and (better := factorize(found.Theta)) is not None:
            Theta, gap, factor = found.Theta, found.gap, better
    if factor is None:
        if clique := _singular_clique(S, adjacency):
            message = (
                f"S is singular on variables {quote_names(variables[clique])}, which are all "
                "joined to each other. Take more rows, or fewer edges."
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
        raise InputError("adjacency_not_square", shape=graph.shape)
    if not np.array_equal(graph, graph.T):
        i, j = np.argwhere(graph != graph.T)[0].tolist()
        raise InputError("adjacency_one_sided", i=i, j=j)
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
