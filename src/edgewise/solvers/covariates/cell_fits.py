r"""The best Gaussian of one cell along the path of its graphical lassos, and of cells alike.

For a covariance :math:`S` of :math:`n` rows and second moments :math:`S'` of rows to be judged by,
each estimate :math:`\Omega` on the path has the risk

.. math:: \operatorname{tr}(S' \Omega) - \log\det \Omega .

Covariances around points that lie close together are alike, and solved one after the other.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.gaussian.descent import (
    Columns,
    descend_from,
    empty_columns,
    extrapolate,
    rescale_columns,
)
from edgewise.solvers.gaussian.graphical_lasso import (
    PrecisionSolution,
    alpha_max,
    graphical_lasso,
    graphical_lasso_path,
)
from edgewise.solvers.gaussian.refit import (
    Regressions,
    allocate_regressions,
    fit_to_graph,
    refit_precision,
)
from edgewise.solvers.gaussian.standard_form import (
    NO_WEIGHTS,
    StandardForm,
    rescale,
    standardize,
    writable,
)
from edgewise.solvers.linalg.kernels import gaussian_risk

#: Which estimate is judged at each alpha: the graphical lasso; maximum likelihood on its graph
#: where that exists; or the better of the two.
LASSO: Final = 0
REFIT: Final = 1
BEST: Final = 2
#: Duality gap per variable of the graphical lassos. Risks come out right to about this much.
LASSO_TOL: Final = 1e-5
#: Duality gap per variable of the refits, and the sweeps they may take.
REFIT_TOL: Final = 1e-8
REFIT_SWEEPS: Final = 500
#: Sweeps after which a graphical lasso is left to the general solver.
MAX_SWEEPS: Final = 100


class PathRules(NamedTuple):
    """How to go along a path and how to judge it.

    Attributes
    ----------
    estimate : int
        ``LASSO``, ``REFIT`` or ``BEST``.
    n_alphas : int
        Strengths, from the smallest with an empty graph down, evenly spaced on a log scale.
    ratio : float
        Last strength as a share of the first.
    patience : int
        Strengths without a smaller risk after which the path ends.
    rate : float
        Above 0: instead of a path one strength, ``rate * sqrt(log(p) / n)``.
    penalize_diagonal : bool
        Whether the graphical lasso shrinks the diagonal as well.
    price_edges : bool
        Add ``(log(n) + 2 log(p)) / n`` per edge to the risk, which makes it an extended BIC where
        the rows to be judged by are those of the fit.
    """

    estimate: int
    n_alphas: int
    ratio: float
    patience: int
    rate: float
    penalize_diagonal: bool
    price_edges: bool


class Choice(NamedTuple):
    """What was chosen; ``is_solved`` is False where a lasso is left to the general solver."""

    risk: float
    alpha: float
    is_refit: bool
    is_solved: bool


class PathWorkspace(NamedTuple):
    """State and buffers of a path.

    Attributes
    ----------
    columns, regressions
        State of the graphical lassos and of the refits.
    before : ndarray of shape (p, p)
        Dual point of the graphical lasso before.
    S, lasso_scale : ndarray of shape (p, p) and (p,)
        Standard form of the graphical lasso.
    weights : ndarray of shape (0, 0)
        Stands for ones.
    scale : ndarray of shape (p,)
        Converts the covariance to correlations, the units of what follows.
    correlation, S_val : ndarray of shape (p, p)
        Moments of the rows to fit to and of the validation rows.
    estimate : ndarray of shape (p, p)
        Precision by the graphical lasso.
    adjacency : ndarray of bool, shape (p, p)
        Its graph.
    old_scale, L : ndarray
        Scratch.
    """

    columns: Columns
    regressions: Regressions
    before: FloatArray
    S: FloatArray
    lasso_scale: FloatArray
    weights: FloatArray
    scale: FloatArray
    correlation: FloatArray
    S_val: FloatArray
    estimate: FloatArray
    adjacency: BoolArray
    old_scale: FloatArray
    L: FloatArray


def allocate_path(p: int) -> PathWorkspace:
    """Allocate the workspace for paths over ``p`` variables."""
    W, Theta, R, before, S, correlation, S_val, estimate, L = np.empty((9, p, p))
    lasso_scale, scale, old_scale = np.empty((3, p))
    return PathWorkspace(
        columns=empty_columns(W, Theta, R, p),
        regressions=allocate_regressions(p),
        before=before,
        S=S,
        lasso_scale=lasso_scale,
        weights=NO_WEIGHTS,
        scale=scale,
        correlation=correlation,
        S_val=S_val,
        estimate=estimate,
        adjacency=np.empty((p, p), np.bool_),
        old_scale=old_scale,
        L=L,
    )


@kernel
def best_on_path(
    S: FloatArray,
    S_val: FloatArray,
    n: float,
    rules: PathRules,
    work: PathWorkspace,
    precision: FloatArray,
) -> Choice:
    """Leave the best estimate in ``precision``, in the units of ``S``, and say which it is."""
    p = S.shape[0]
    largest, offset = _start(S, S_val, work)
    n_alphas, alpha = rules.n_alphas, largest
    if rules.rate > 0.0:
        n_alphas, alpha = 1, rules.rate * np.sqrt(np.log(p) / n)
    price = (np.log(n) + 2.0 * np.log(p)) / n if rules.price_edges else 0.0
    step = rules.ratio ** (1.0 / max(n_alphas - 1, 1))
    best = Choice(np.inf, alpha, False, True)
    n_worse = 0
    may_refit = rules.estimate != LASSO
    refit_risk = np.inf
    for count in range(n_alphas):
        if rules.penalize_diagonal or count == 0:
            work.old_scale[:] = work.lasso_scale
            standardize(S, alpha, work.weights, rules.penalize_diagonal, work.lasso_scale, work.S)
        form = StandardForm(work.S, alpha, work.lasso_scale, work.weights)
        if rules.penalize_diagonal:
            rescale_columns(work.columns, work.before, work.old_scale, work.lasso_scale)
        extrapolate(work.columns.W, work.before, step if count >= 2 else 0.0)
        if not descend_from(form, work.columns, LASSO_TOL * p, MAX_SWEEPS)[0] < np.inf:
            return Choice(best.risk, best.alpha, best.is_refit, False)
        n_edges, is_new = _read_estimate(work)
        is_new = is_new or count == 0
        if may_refit and is_new:
            gap, _ = fit_to_graph(
                work.correlation, work.adjacency, work.regressions, REFIT_TOL * p, REFIT_SWEEPS
            )
            may_refit = 0.0 <= gap <= REFIT_TOL * p
            if may_refit:
                refit_risk = gaussian_risk(work.regressions.Theta, work.S_val, work.L)
        risk = np.inf
        if rules.estimate != REFIT or not may_refit:
            risk = gaussian_risk(work.estimate, work.S_val, work.L)
        is_refit = may_refit and refit_risk < risk
        if is_refit:
            risk = refit_risk
        risk += offset + price * n_edges
        if risk < best.risk:
            best = Choice(risk, alpha, is_refit, True)
            rescale(work.regressions.Theta if is_refit else work.estimate, work.scale, precision)
            n_worse = 0
        elif is_new or not is_refit:
            n_worse += 1
            if n_worse >= rules.patience:
                break
        alpha *= step
    return best


@kernel
def _start(S: FloatArray, S_val: FloatArray, work: PathWorkspace) -> tuple[float, float]:
    """Change to correlation units; return the largest covariance and the risk of the units."""
    p = S.shape[0]
    standardize(S, 0.0, work.weights, False, work.scale, work.correlation)
    work.lasso_scale[:] = work.scale
    columns = work.columns
    columns.W[:] = 0.0
    work.before[:] = 0.0
    columns.size[:] = 0
    columns.theta[:] = 1.0
    work.adjacency[:] = False
    rescale(S_val, work.scale, work.S_val)
    largest = 0.0
    offset = 0.0
    for i in range(p):
        columns.W[i, i] = 1.0
        offset -= 2.0 * np.log(work.scale[i])
        for j in range(i):
            largest = max(largest, abs(S[i, j]))
    return largest, offset


@kernel
def _read_estimate(work: PathWorkspace) -> tuple[int, bool]:
    """Take the graphical lasso to correlation units, and its graph.

    Returns the number of edges and whether the graph has changed.
    """
    p = work.scale.size
    n_edges = 0
    is_new = False
    for i in range(p):
        ratio = work.lasso_scale[i] / work.scale[i]
        for j in range(p):
            units = ratio * work.lasso_scale[j] / work.scale[j]
            work.estimate[i, j] = work.columns.Theta[i, j] * units
            is_joined = i != j and work.estimate[i, j] != 0.0
            is_new = is_new or is_joined != work.adjacency[i, j]
            work.adjacency[i, j] = is_joined
            n_edges += is_joined and i < j
    return n_edges, is_new


def best_by_general_solver(
    S: FloatArray, S_val: FloatArray, n: float, rules: PathRules, precision: FloatArray
) -> Choice:
    """Do what `best_on_path` does by the general solver, at a hundred times the cost."""
    p = len(S)
    if rules.rate > 0.0:
        alphas = np.array([rules.rate * np.sqrt(np.log(p) / n)])
    else:
        alphas = alpha_max(S) * np.geomspace(1.0, rules.ratio, rules.n_alphas)
    price = (np.log(n) + 2.0 * np.log(p)) / n if rules.price_edges else 0.0
    best = Choice(np.inf, float(alphas[0]), False, True)
    start: FloatArray | None = None
    estimate = rules.estimate
    n_worse = 0
    for alpha in alphas:
        solution = graphical_lasso(
            S,
            float(alpha),
            penalize_diagonal=rules.penalize_diagonal,
            init=start,
            tol=LASSO_TOL,
            decide=0.0,
        )
        start = solution.value
        risk, is_refit, value = _judge(S, S_val, solution, estimate)
        if estimate == REFIT and not is_refit:
            estimate = LASSO
        risk += price * (np.count_nonzero(start) - p) / 2
        if risk < best.risk:
            best = Choice(risk, float(alpha), is_refit, True)
            precision[:] = value
            n_worse = 0
        else:
            n_worse += 1
            if n_worse >= rules.patience:
                break
    return best


def _judge(
    S: FloatArray, S_val: FloatArray, solution: PrecisionSolution, estimate: int
) -> tuple[float, bool, FloatArray]:
    """Risk of the estimate that the rules ask for, whether it is a refit, and itself."""
    lasso = _risk(solution.value, S_val)
    if estimate != LASSO:
        refit = refit_precision(S, solution.value != 0.0)
        risk = _risk(refit.value, S_val) if refit.exists else np.inf
        if refit.exists and (estimate != BEST or risk < lasso):
            return risk, True, refit.value
    return lasso, False, solution.value


def _risk(Theta: FloatArray, S: FloatArray) -> float:
    return float(np.vdot(Theta, S)) - float(np.linalg.slogdet(Theta)[1])


class CellFits(NamedTuple):
    """One Gaussian per cell.

    Attributes
    ----------
    risk : ndarray of shape (n_cells,)
        Mean risk of the rows that a cell is judged by.
    alpha : ndarray of shape (n_cells,)
        Strength of the graphical lasso that the estimate comes from.
    is_refit : ndarray of bool, shape (n_cells,)
        Whether the estimate is maximum likelihood on the graph.
    mean, deviation : ndarray of shape (n_cells, p)
        Location of the Gaussian, and root mean squares of the rows about it.
    precision : ndarray of shape (n_cells, p, p)
        Its precision matrix.
    is_floored : ndarray of bool, shape (n_cells, p)
        Which variances were raised to the floor.
    """

    risk: FloatArray
    alpha: FloatArray
    is_refit: BoolArray
    mean: FloatArray
    deviation: FloatArray
    precision: FloatArray
    is_floored: BoolArray


def n_sums(p: int) -> int:
    """Length of the sums over rows of ``p`` variables: count, sum, and sum of products."""
    return 1 + p + p * (p + 1) // 2


def fit_cells(
    train: FloatArray,
    validation: FloatArray,
    rules: PathRules,
    *,
    own_mean: bool,
    floor: FloatArray,
) -> CellFits:
    """Fit a Gaussian to each cell.

    Parameters
    ----------
    train, validation : ndarray of shape (n_cells, n_sums)
        Sums over the rows to fit to and over those to judge by: the count, the variables, and the
        upper triangle of their products row by row.
    rules : PathRules
        Which estimate to take.
    own_mean : bool
        Whether each cell has the mean of its rows, instead of 0.
    floor : ndarray of shape (2, p)
        Variance of each variable below which rows of a cell count as alike; and what it is then
        raised to, times their number: one in n of other rows may differ although n are alike.
    """
    n_cells, p = len(train), floor.shape[1]
    fits = CellFits(
        risk=np.empty(n_cells),
        alpha=np.empty(n_cells),
        is_refit=np.empty(n_cells, np.bool_),
        mean=np.empty((n_cells, p)),
        deviation=np.empty((n_cells, p)),
        precision=np.empty((n_cells, p, p)),
        is_floored=np.empty((n_cells, p), np.bool_),
    )
    S, S_val = np.empty((p, p)), np.empty((p, p))
    work = allocate_path(p)
    for c in range(n_cells):
        sums = writable(train[c]), writable(validation[c])
        _moments(*sums, own_mean, floor, S, S_val, fits.mean[c], fits.is_floored[c])
        fits.deviation[c] = np.sqrt(S.diagonal())
        choice = best_on_path(S, S_val, sums[0][0], rules, work, fits.precision[c])
        if not choice.is_solved:
            choice = best_by_general_solver(S, S_val, sums[0][0], rules, fits.precision[c])
        fits.risk[c], fits.alpha[c], fits.is_refit[c] = choice.risk, choice.alpha, choice.is_refit
    return fits


@kernel
def _moments(
    train: FloatArray,
    validation: FloatArray,
    own_mean: bool,
    floor: FloatArray,
    S: FloatArray,
    S_val: FloatArray,
    mean: FloatArray,
    is_floored: BoolArray,
) -> None:
    r"""Write the moments of both kinds of rows about the same mean :math:`\mu`.

    .. math:: S = \frac{1}{n} \sum_i (y_i - \mu)(y_i - \mu)^\top
    """
    p = mean.size
    for i in range(p):
        mean[i] = train[1 + i] / train[0] if own_mean else 0.0
    k = 1 + p
    for i in range(p):
        for j in range(i, p):
            S[i, j] = train[k] / train[0] - mean[i] * mean[j]
            cross = mean[i] * validation[1 + j] + validation[1 + i] * mean[j]
            S_val[i, j] = (validation[k] - cross) / validation[0] + mean[i] * mean[j]
            S[j, i] = S[i, j]
            S_val[j, i] = S_val[i, j]
            k += 1
        is_floored[i] = S[i, i] < floor[0, i]
        if is_floored[i]:
            S[i, i] = max(floor[0, i], floor[1, i] / train[0])


class NearbyFits(NamedTuple):
    """One Gaussian per covariance.

    Attributes
    ----------
    precision : ndarray of shape (n, p, p)
        Precision matrices.
    is_refit : ndarray of bool, shape (n,)
        Whether it is maximum likelihood on the graph, instead of the graphical lasso.
    gap : ndarray of shape (n,)
        Duality gap of the graphical lasso.
    n_iter : ndarray of int, shape (n,)
        Iterations of the graphical lasso.
    """

    precision: FloatArray
    is_refit: BoolArray
    gap: FloatArray
    n_iter: IntArray


def fit_nearby(S: FloatArray, alpha: float, *, refit: bool, **lasso: Any) -> NearbyFits:
    """Fit a Gaussian to each covariance, each graphical lasso started from the one before.

    Parameters
    ----------
    S : ndarray of shape (n, p, p)
        Covariances, in an order in which neighbours are alike.
    alpha : float
        Strength of the graphical lasso.
    refit : bool
        Take maximum likelihood on the graph of the graphical lasso, where it exists.
    **lasso
        Further options of `edgewise.solvers.graphical_lasso`.

    Returns
    -------
    NearbyFits
    """
    solutions: list[PrecisionSolution] = []
    start = None
    for here in S:
        solutions.append(graphical_lasso(here, alpha, init=start, decide=0.0, **lasso))
        start = solutions[-1].value
    precision = np.stack([solution.value for solution in solutions])
    is_refit = np.zeros(len(S), dtype=bool)
    if refit:
        for k, here in enumerate(S):
            is_refit[k] = _refit(here, precision[k : k + 1]) == 1
    return NearbyFits(
        precision=precision,
        is_refit=is_refit,
        gap=np.array([solution.gap for solution in solutions]),
        n_iter=np.array([solution.n_iter for solution in solutions]),
    )


def path_risks(
    S: FloatArray, S_val: FloatArray, alphas: FloatArray, *, refit: bool, **lasso: Any
) -> tuple[FloatArray, int]:
    """Risk of every covariance at every strength.

    Parameters
    ----------
    S, S_val : ndarray of shape (n, p, p)
        Covariances to fit to, and second moments to judge by.
    alphas : ndarray of shape (n_alphas,)
        Strengths, from large to small.
    refit, **lasso
        As in `fit_nearby`.

    Returns
    -------
    risks : ndarray of shape (n, n_alphas)
    n_unconverged : int
        Graphical lassos that stopped above their tolerance.
    """
    risks = np.empty((len(S), len(alphas)))
    n_unconverged = 0
    for k, (here, judge) in enumerate(zip(S, S_val, strict=True)):
        solutions = graphical_lasso_path(here, alphas, **lasso)
        n_unconverged += sum(not solution.converged for solution in solutions)
        estimates = np.stack([solution.value for solution in solutions])
        if refit:
            _refit(here, estimates)
        log_determinant: FloatArray = np.linalg.slogdet(estimates)[1]
        risks[k] = np.einsum("aij,ij->a", estimates, judge) - log_determinant
    return risks, n_unconverged


def _refit(S: FloatArray, estimates: FloatArray) -> int:
    """Replace estimates by maximum likelihood on their graphs; return how many.

    They run from sparse to dense. Once a graph has no maximum, denser ones have none either, and
    the estimates are left as they are.
    """
    p = len(S)
    scale = 1.0 / np.sqrt(S.diagonal())
    units = np.outer(scale, scale)
    correlation = S * units
    np.fill_diagonal(correlation, 1.0)
    state = allocate_regressions(p)
    target = REFIT_TOL * p
    before: BoolArray | None = None
    for k, estimate in enumerate(estimates):
        adjacency: BoolArray = estimate != 0.0
        np.fill_diagonal(adjacency, False)
        if before is None or not np.array_equal(adjacency, before):
            gap, _ = fit_to_graph(correlation, adjacency, state, target, REFIT_SWEEPS)
            if not 0.0 <= gap <= target:
                return k
        estimates[k] = state.Theta * units
        before = adjacency
    return len(estimates)
