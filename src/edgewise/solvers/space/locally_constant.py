"""Sparse and locally constant precision matrices with a certified duality gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from edgewise._core.arrays import array_namespace, is_foreign, like, require_device_memory, to_numpy
from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.neighbors import neighbor_pairs
from edgewise.solvers._arguments import check_nonnegative, check_numbers, check_start
from edgewise.solvers._solution import CLOSER, DECIDE, go_on, sum_histories
from edgewise.solvers.device.fused_rows import MATRICES, DenseFused, number_groups
from edgewise.solvers.device.graphical_lasso import check_dense
from edgewise.solvers.gaussian.graphical_lasso import PrecisionSolution, graphical_lasso
from edgewise.solvers.gaussian.standard_form import check_problem
from edgewise.solvers.linalg.blocks import put, take
from edgewise.solvers.linalg.dense import inverse_and_log_determinant, set_diagonal
from edgewise.solvers.linalg.first_order import SplitState
from edgewise.solvers.space.decided import (
    BlockProof,
    FusedProof,
    LocallyConstantProof,
    SparseProof,
)
from edgewise.solvers.space.difference_penalty import difference_penalized
from edgewise.solvers.space.fused_rows import FusedProblem, find_groups
from edgewise.solvers.space.published_descent import coordinate_directions
from edgewise.solvers.space.splitting import split_layers

SOLVERS: Final = ("admm", "descent", "dual")


@dataclass(frozen=True, kw_only=True, eq=False)
class LocallyConstantSolution(PrecisionSolution):
    """Solution whose ``value`` is a sparse and locally constant precision matrix.

    Attributes
    ----------
    tau : float
        Strength of local constancy that the problem was solved for.
    groups : ndarray of int, shape (p, p)
        Number of the fused group that an entry belongs to: entries of neighbours that are equal
        and not 0. -1 on the diagonal and where the precision is 0.
    """

    tau: float
    groups: IntArray

    @cached_property
    def tied(self) -> BoolArray | None:
        """Whether the gap proves entries (a, n) and (b, n) equal, by pair of neighbours and n."""
        proof = self.proof
        return proof.prove(self)[1] if isinstance(proof, LocallyConstantProof) else None

    @property
    def n_groups(self) -> int:
        """Number of fused groups, which is the number of different edge weights to be read."""
        return int(to_numpy(self.groups).max(initial=-1)) + 1


def locally_constant(
    S: FloatArray,
    alpha: float,
    tau: float,
    pairs: ArrayLike,
    *,
    penalize_diagonal: bool = True,
    weights: FloatArray | None = None,
    solver: str = "admm",
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 5000,
    decide: float = DECIDE,
) -> LocallyConstantSolution:
    r"""Estimate a sparse precision matrix that is constant over neighbouring variables.

    Minimises over positive definite :math:`\Theta`

    .. math::
        \operatorname{tr}(S \Theta) - \log\det \Theta + \alpha \sum_{ij} w_{ij} |\Theta_{ij}|
        + \tau \sum_{(a, b) \in E} \; \sum_{n \notin \{a, b\}} |\Theta_{an} - \Theta_{bn}|,

    where :math:`S` is the covariance, :math:`E` the pairs of neighbours, :math:`\alpha > 0` the
    strength of sparsity, :math:`w` its weights (one unless given) and :math:`\tau \ge 0` the
    strength of local constancy: where variable :math:`n` is linked to :math:`a`, it tends to be
    linked to the neighbour :math:`b` as strongly. Every entry of the symmetric matrix counts in
    the first sum, so an edge costs :math:`2 \alpha w_{ij} |\Theta_{ij}|`; each difference counts
    once, and the diagonal is in none.

    Parameters
    ----------
    S : array of shape (p, p)
        Covariance with positive diagonal; it may be singular. Of numpy, or of torch or CuPy:
        ``"admm"`` then does its work where that array is, in double precision, and precision,
        covariance and groups are arrays of the same library there.
    alpha : float
        Strength of sparsity, above 0.
    tau : float
        Strength of local constancy, at least 0.
    pairs : array-like of int, shape (n_pairs, 2)
        Pairs of neighbours, each once; `edgewise.data.neighbor_pairs` makes those of chains, rings
        and grids.
    penalize_diagonal : bool
        Whether the first sum includes the diagonal.
    weights : ndarray of shape (p, p), optional
        Symmetric weights of sparsity: 0 leaves an entry free of it, ``inf`` forbids an edge.
    solver : {"admm", "descent", "dual"}
        ``"admm"`` reaches the optimum. ``"descent"`` is the coordinate-direction descent of the
        original publication, which often stops above it; its gap, from a dual point of
        ``"admm"``, tells by how much. ``"dual"`` is projected gradient on the dual, a check by
        other means whose entries are nearly but not exactly 0 or equal.
    init : ndarray of shape (p, p), optional
        Positive definite precision to start from; ``"dual"`` does not use it.
    tol : float
        Duality gap per variable at which to stop.
    max_iter : int
        Largest number of iterations.
    decide : float
        Iterations that may follow while pairs are not ``decided``, as a multiple of those that led
        to ``tol``; 0 stops there. Only ``"admm"`` has a proof.

    Returns
    -------
    LocallyConstantSolution
        ``value`` is the precision: symmetric, positive definite, with exact zeros and ties.
        ``groups`` numbers its fused entries.

    Raises
    ------
    InputError
        If an argument is not valid.
    SolverError
        If no minimum exists, which takes weights of 0 and a singular ``S``.

    References
    ----------
    J. Honorio, L. Ortiz, D. Samaras, N. Paragios and R. Goldstein (2009), Sparse and locally
    constant Gaussian graphical models, Advances in Neural Information Processing Systems 22,
    745-753.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import locally_constant
    >>> S = np.eye(6)
    >>> S[:2, 4:] = [[0.5, 0.3], [0.4, 0.4]]
    >>> S[4:, :2] = S[:2, 4:].T
    >>> chain = [(i, i + 1) for i in range(5)]
    >>> solution = locally_constant(S, 0.05, 0.1, chain)
    >>> solution.value[:2, 4:].round(2)
    array([[-0.31, -0.31],
           [-0.31, -0.31]])
    >>> solution.n_groups, solution.converged
    (3, True)
    """
    if solver not in SOLVERS:
        raise InputError("space_solver", solver=solver)
    if is_foreign(S) and solver != "admm":
        return _solve_on_host(
            S, alpha, tau, pairs, penalize_diagonal=penalize_diagonal, weights=weights,
            solver=solver, init=init, tol=tol, max_iter=max_iter,
        )  # fmt: skip
    problem = _check(S, [alpha], [tau], pairs, weights, tol, max_iter)
    p = problem.S.shape[0]
    start = None if init is None else like(check_start(to_numpy(init), p)[0], problem.S)
    with blas_threads_for(p):
        if solver == "admm":
            scaled = problem.scaled(alpha, tau, penalize_diagonal=penalize_diagonal)
            return _solve_on(scaled, {}, start, tol, max_iter, decide)
        if solver == "descent":
            scaled = problem.scaled(alpha, tau, penalize_diagonal=penalize_diagonal)
            return _descend(scaled, start, tol, max_iter)
        found = difference_penalized(
            problem.S,
            alpha,
            tau,
            _difference_operator(problem.pairs, p),
            penalize_diagonal=penalize_diagonal,
            weights=weights,
            tol=tol,
            max_iter=max_iter,
        )
    dual = {one.name: getattr(found, one.name) for one in fields(found)}
    return LocallyConstantSolution(**dual, groups=_groups(found.value, problem.pairs))


def locally_constant_path(
    S: FloatArray,
    alphas: Sequence[float] | FloatArray,
    taus: Sequence[float] | FloatArray,
    pairs: ArrayLike,
    *,
    penalize_diagonal: bool = True,
    weights: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 5000,
    decide: float = 0.0,
) -> list[list[LocallyConstantSolution]]:
    """Solve for every combination of strengths, each started from the one before.

    Parameters
    ----------
    S, pairs, penalize_diagonal, weights, tol, max_iter
        As in `locally_constant`; ``S`` may be an array of torch or CuPy.
    decide : float
        As in `locally_constant`, for every combination.
    alphas, taus : sequence of float
        Strengths of sparsity and of local constancy. They are solved alpha by alpha from the
        largest down, and for each from the smallest tau up.

    Returns
    -------
    list of list of LocallyConstantSolution
        ``result[i][j]`` belongs to ``alphas[i]`` and ``taus[j]``, in the order given.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import locally_constant_path
    >>> S = np.array([[1.0, 0.1, 0.5], [0.1, 1.0, 0.3], [0.5, 0.3, 1.0]])
    >>> rows = locally_constant_path(S, [0.3, 0.1], [0.0, 0.1, 0.5], [(0, 1)])
    >>> [[solution.n_groups for solution in row] for row in rows]
    [[1, 2, 1], [2, 2, 1]]
    """
    problem = _check(S, alphas, taus, pairs, weights, tol, max_iter)
    result: dict[tuple[int, int], LocallyConstantSolution] = {}
    row_states: dict[bytes, SplitState] = {}
    with blas_threads_for(problem.S.shape[0]):
        for i in np.argsort(-np.asarray(alphas, dtype=np.float64), kind="stable").tolist():
            states = row_states
            for k, j in enumerate(np.argsort(np.asarray(taus), kind="stable").tolist()):
                strengths = float(alphas[i]), float(taus[j])
                scaled = problem.scaled(*strengths, penalize_diagonal=penalize_diagonal)
                states = dict(states)
                result[i, j] = _solve_on(scaled, states, None, tol, max_iter, decide)
                if k == 0:
                    row_states = states
    return [[result[i, j] for j in range(len(taus))] for i in range(len(alphas))]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Input:
    """Checked arguments that do not depend on the strengths."""

    S: Any
    weights: Any
    pairs: IntArray

    def scaled(self, alpha: float, tau: float, *, penalize_diagonal: bool) -> _Scaled:
        """Return the problem for some strengths with variances of one on average."""
        xp = array_namespace(self.S)
        thresholds = xp.full_like(self.S, float(alpha))
        if self.weights is not None:
            thresholds *= self.weights
        if not penalize_diagonal:
            thresholds = set_diagonal(thresholds, 0.0)
        unit = float(xp.mean(xp.linalg.diagonal(self.S) + xp.linalg.diagonal(thresholds)))
        problem: FusedProblem | DenseFused
        if is_foreign(self.S):
            problem = DenseFused(
                S=self.S / unit, thresholds=thresholds / unit, tau=tau / unit, pairs=self.pairs
            )
        else:
            problem = FusedProblem(self.S / unit, thresholds / unit, tau / unit, self.pairs)
        return _Scaled(problem=problem, unit=unit, alpha=float(alpha), tau=float(tau))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Scaled:
    """A problem in units in which the variances are one on average, so that any scale will do."""

    problem: Any
    unit: float
    alpha: float
    tau: float

    def solution(
        self, Theta: Any, objective: float, gap: float, n_iter: int, tol: float,
        history: FloatArray, proof: LocallyConstantProof | None = None,
    ) -> LocallyConstantSolution:  # fmt: skip
        """Return a solution in the units of the covariance that was given."""
        p = int(Theta.shape[0])
        covariance, _ = inverse_and_log_determinant(Theta)
        if is_foreign(Theta):
            groups = number_groups(self.problem, Theta)
        else:
            groups = _groups(Theta, self.problem.pairs)
        return LocallyConstantSolution(
            value=Theta / self.unit,
            covariance=covariance * self.unit,
            objective=objective + p * float(np.log(self.unit)),
            gap=gap,
            n_iter=n_iter,
            converged=gap <= tol * p,
            history=history,
            alpha=self.alpha,
            tau=self.tau,
            groups=groups,
            proof=proof,
        )


def _solve_on(
    scaled: _Scaled,
    states: dict[bytes, SplitState],
    start: Any,
    tol: float,
    max_iter: int,
    decide: float,
) -> LocallyConstantSolution:
    """Solve, and go on while pairs are undecided: of another library than numpy's on the host."""
    problem = scaled.problem
    p = int(problem.S.shape[0])
    found = _solve(scaled, states, start, tol, max_iter)
    if isinstance(problem, FusedProblem) or decide == 0.0 or not found.converged:

        def again(gap: float, max_iter: int) -> LocallyConstantSolution:
            return _solve(scaled, states, None, gap / p, max_iter)

        return go_on(found, again, decide, p)
    near = to_numpy(found.value)
    on_host = replace(scaled, problem=problem.on_host())
    steps = int(np.ceil(decide * found.n_iter))
    further = _solve(on_host, {}, near, CLOSER * tol, steps)
    if not further.gap <= tol * p:
        return found
    xp, S = array_namespace(problem.S), problem.S
    return replace(
        further,
        value=like(further.value, S),
        covariance=like(further.covariance, S),
        groups=xp.asarray(further.groups, device=S.device),
        converged=True,
    )


def _solve(
    scaled: _Scaled,
    states: dict[bytes, SplitState],
    start: Any,
    tol: float,
    max_iter: int,
) -> LocallyConstantSolution:
    """Solve block by block; ``states`` gives starts by block and receives where they ended."""
    problem = scaled.problem
    Theta = problem.diagonal_solution()
    gap, n_iter, history = 0.0, 0, []
    parts: list[tuple[IntArray, BlockProof]] = []
    for block in problem.blocks():
        if block.size == 1:
            continue
        part = problem.restrict(block)
        near = None if start is None else like(take(start, block) * scaled.unit, part.S)
        if part.tau == 0 or not len(part.pairs):
            found = graphical_lasso(
                part.S, 1.0, weights=part.thresholds, penalize_diagonal=True, init=near,
                tol=tol, max_iter=max_iter, decide=0.0,
            )  # fmt: skip
            value, steps, gaps = found.value, found.n_iter, [*found.history, found.gap]
            parts.append((block, SparseProof(solution=found, n_pairs=len(part.pairs))))
        else:
            key = block.tobytes()
            best, states[key], steps = split_layers(
                part, tol * block.size, max_iter, start=states.get(key), Theta=near
            )
            value, gaps = best.Theta, best.gaps
            if isinstance(part, FusedProblem):
                parts.append((block, FusedProof(
                    problem=part, Y=states[key].Y, Theta=value, objective=best.objective,
                )))  # fmt: skip
        Theta = put(Theta, block, like(value, Theta))
        gap += gaps[-1]
        n_iter = max(n_iter, steps)
        history.append(gaps)
    # Copies on a device are of other layers.
    is_whole = len(parts) == len(history)
    proof = LocallyConstantProof(pairs=problem.pairs, parts=tuple(parts)) if is_whole else None
    return scaled.solution(
        Theta, problem.objective(Theta), gap, n_iter, tol, sum_histories(history), proof
    )


def _solve_on_host(S: Any, *strengths: Any, **options: Any) -> LocallyConstantSolution:
    """Solve by numpy, and answer in the library of ``S``."""
    for name in ("weights", "init"):
        options[name] = None if options[name] is None else to_numpy(options[name])
    found = locally_constant(to_numpy(S), *strengths, **options)
    xp = array_namespace(S)
    return replace(
        found,
        value=like(found.value, S),
        covariance=like(found.covariance, S),
        groups=xp.asarray(found.groups, device=S.device),
    )


def _descend(
    scaled: _Scaled, start: FloatArray | None, tol: float, max_iter: int
) -> LocallyConstantSolution:
    """Run the published descent, and bound the optimum by other means."""
    problem = scaled.problem
    p = len(problem.S)
    Theta = problem.diagonal_solution() if start is None else start * scaled.unit
    Theta, objectives, n_iter = coordinate_directions(problem, Theta, max_iter, tol * p)
    bound = split_layers(problem, tol * p, max_iter)[0].bound
    objective = problem.objective(Theta)
    return scaled.solution(
        Theta, objective, objective - bound, n_iter, tol, np.asarray(objectives) - bound
    )


def _groups(Theta: FloatArray, pairs: IntArray) -> IntArray:
    groups: IntArray = find_groups(pairs, np.zeros(len(pairs), dtype=np.int64), Theta[None])
    return groups


def _difference_operator(pairs: IntArray, p: int) -> sparse.csr_array:
    """Return the matrix with +1 and -1 in the columns of each pair, one row per pair."""
    rows = np.repeat(np.arange(len(pairs)), 2)
    signs = np.tile([1.0, -1.0], len(pairs))
    return sparse.csr_array((signs, (rows, pairs.ravel())), shape=(len(pairs), p))


def _check(
    S: FloatArray,
    alphas: Sequence[float] | FloatArray,
    taus: Sequence[float] | FloatArray,
    pairs: ArrayLike,
    weights: FloatArray | None,
    tol: float,
    max_iter: int,
) -> _Input:
    """Refuse arguments that make no sense."""
    if is_foreign(S):
        S, checked = check_dense(S, weights)
        require_device_memory(S, MATRICES, S.shape[0])
    else:
        S, checked = check_problem(S, weights)
    check_numbers(alphas, tol, max_iter)
    if len(alphas) == 0 or len(taus) == 0:
        raise InputError("alphas_and_taus_empty")
    if min(alphas) <= 0:
        raise InputError("space_alpha_positive", "alpha", alphas=min(alphas))
    check_nonnegative(tau=taus)
    listed = np.asarray(pairs)
    if listed.ndim != 2:
        raise InputError("neighbor_pair_shape", shape=listed.shape)
    return _Input(
        S=S,
        weights=None if weights is None else checked,
        pairs=neighbor_pairs(listed, S.shape[0]),
    )
