"""Choice of an unpenalised Gaussian graph: stepwise EBIC, or FDR control of pairwise tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import counted, step_counter
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.selection.choose import SelectionWarning, make_selection
from edgewise.selection.criteria import (
    default_gamma,
    ebic,
    false_discovery_control,
)
from edgewise.selection.edge_tests import pair_tests
from edgewise.selection.rules import EBIC, FDR, Stepwise
from edgewise.selection.search import (
    Choice,
    Grid,
    PathProblem,
    search,
    warn_of_gap,
    warn_of_unconverged,
)
from edgewise.solvers.gaussian.graph_search import fit_graph, search_graph
from edgewise.solvers.gaussian.graphical_lasso import SMALL
from edgewise.solvers.linalg.dense import inverse_and_log_determinant

#: Alphas after which a criterion that keeps rising ends a path of large problems.
PATIENCE: Final = 6
#: Columns from which on a path is looked at in steps of several alphas first.
LARGE: Final = 250
STRIDE: Final = 3
#: Mean number of neighbours up to which many columns are searched edge by edge: a step takes the
#: cube of it, and one edge more or less is little to whoever has so many.
DENSE: Final = 20
#: Level of the Bonferroni test that rules out the empty graph.
LEVEL: Final = 0.05


class GraphProblem(PathProblem, Protocol):
    """A `PathProblem` whose graphs have a maximum likelihood."""

    @property
    def weights(self) -> FloatArray | None:
        """Factor of the penalty of each pair: 0 leaves an edge free, ``inf`` forbids it."""
        ...

    def solve_path(
        self, statistics: Any, alphas: FloatArray, *, at_once: bool = True
    ) -> Iterable[Any]:
        """Yield one fit per alpha; leaving early saves time where not solved at once."""
        ...

    def scores(self, rows: Any, weights: FloatArray | None) -> FloatArray | None:
        """Return the standardised rows whose correlations are used; None where there are none."""
        ...

    def refit(self, statistics: Any, adjacency: BoolArray) -> Any:
        """Fit a graph by maximum likelihood; None where there is none."""
        ...


class Judged(NamedTuple):
    """A graph on the path, with its alpha, the number of its edges and its criterion per row."""

    alpha: float
    adjacency: BoolArray
    n_edges: int
    cost: float


def choose_stepwise(
    problem: GraphProblem, rule: Stepwise, statistics: Any, grid: Grid, verbose: int = 0
) -> Choice:
    """Search for the graph with the best extended BIC at its maximum likelihood.

    The graphs along the path are judged first, and edges added to and removed from the best, or
    from the pairs that pay for an edge given all others, where that is better than what was found.
    The path ends where a graph has no maximum likelihood, which those with more edges have not
    either, and, where its fits take long, once the criterion has been rising for `PATIENCE` of
    them or a graph is worse than that at the largest alpha, which is empty: along the path ever
    weaker pairs are joined, and edges that do not pay for themselves together are no start for a
    search. The graph is empty if and only if no correlation passes a Bonferroni test at `LEVEL`, so
    that noise has edges in no more than 5 of 100 tables, and a plain dependence is never missed.

    Where columns determine each other, so that the likelihood has no maximum, penalised fits are
    judged instead, with a warning.

    Parameters
    ----------
    problem : GraphProblem
        Solves the path.
    rule : Stepwise
        With the defaults filled in.
    statistics : Statistics
        Of all rows; the criterion counts its effective number of rows.
    grid : Grid
        The alphas.
    verbose : int
        Above 0, progress is shown on standard error.

    Returns
    -------
    Choice
        ``alpha`` is NaN, as there is no penalty; that of ``selection`` is where on the path the
        search set out from.
    """
    choice, n_unconverged = _choose_graph(problem, rule, statistics, grid, verbose)
    if choice is None:
        warnings.warn(SelectionWarning("stepwise_fallback"), stacklevel=3)
        gamma = EBIC.gamma if rule.gamma is None else rule.gamma
        penalised = EBIC(gamma=gamma, n_alphas=rule.n_alphas, alpha_ratio=rule.alpha_ratio)
        return search(
            problem, penalised, None, None, statistics, grid, verbose=verbose, stacklevel=4
        )
    warn_of_unconverged(n_unconverged)
    warn_of_gap(problem, choice)
    return choice


def _choose_graph(
    problem: GraphProblem, rule: Stepwise, statistics: Any, grid: Grid, verbose: int
) -> tuple[Choice | None, int]:
    """Choose a graph, or None where the likelihood has no maximum; count unconverged fits."""
    # A graph with few edges takes out noise itself, so that its weights need less shrinkage.
    estimated, statistics = statistics.steadied(0.5), statistics.steadied()
    n_rows = statistics.n_effective
    R = np.ascontiguousarray(statistics.on_correlation_scale().S)
    p = len(R)
    gamma = default_gamma(n_rows, p) if rule.gamma is None else rule.gamma
    price = ebic(0.0, 1, n_rows, p, gamma) / n_rows
    largest = problem.largest_alpha(statistics)
    # A longer path of many columns would be solved for edges that the search below adds itself.
    for n_extensions in range(grid.n_extensions + 1 if p <= SMALL else 1):
        alphas = grid.alphas(largest, n_extensions)
        fits, n_unconverged = _refit_path(problem, statistics, R, alphas, price, n_rows, verbose)
        if not fits:
            return None, n_unconverged
        costs = [fit.cost for fit in fits]
        index = int(np.argmin(costs))
        if index < len(alphas) - 1 or fits[index].n_edges == p * (p - 1) // 2:
            break
    allowed = required = None
    candidates = R
    if problem.weights is not None:
        allowed, required = np.isfinite(problem.weights), problem.weights == 0
        candidates = np.where(allowed | np.eye(p, dtype=bool), R, 0.0)
    if statistics.perfect_pair() is not None:
        return None, n_unconverged
    is_dependent = statistics.smallest_p_value(allowed) <= LEVEL
    start = fits[index].adjacency
    if not is_dependent:
        index, start = 0, fits[0].adjacency
    elif not start.any():
        start = _strongest_pair(candidates)
    if is_dependent and (p <= SMALL or start.sum() <= DENSE * p):
        start = _search_edges(R, start, price, n_rows, allowed, required, verbose)
    selection = make_selection(
        rule.name,
        np.array([fit.alpha for fit in fits]),
        n_rows * (np.array(costs) + np.log(2 * np.pi * statistics.S.diagonal()).sum()),
        index,
        n_unconverged,
        np.array([fit.n_edges for fit in fits]),
    )
    selection = replace(selection, gamma=gamma)
    fit = problem.refit(estimated, start)
    if fit is None:
        return None, n_unconverged
    return Choice(fit=fit, alpha=math.nan, selection=selection), n_unconverged


def choose_tested(
    problem: GraphProblem, rule: FDR, statistics: Any, scores: FloatArray | None
) -> Choice:
    """Join the pairs whose partial correlation is not 0, at a false discovery rate.

    Pairs that ``weights`` forbid are not tested, and those that they leave free are joined.
    ``scores`` are the rows, where they are known.
    """
    R = np.ascontiguousarray(statistics.on_correlation_scale().S)
    tested = pair_tests(R, statistics.n_samples, scores)
    pvalues = np.nan_to_num(tested.tests.pvalues, nan=1.0)
    allowed = np.triu(np.ones(R.shape, dtype=bool), 1)
    joined = np.zeros(R.shape, dtype=bool)
    if problem.weights is not None:
        allowed &= np.isfinite(problem.weights)
        joined = allowed & (problem.weights == 0)
        allowed &= ~joined
    if allowed.any():
        q = false_discovery_control(pvalues[allowed], method=rule.correction)
        joined[allowed] = q <= rule.level
    fit = problem.refit(statistics, joined | joined.T)
    if fit is None:
        raise InputError("no_maximum_likelihood", joined=joined.sum())
    choice = Choice(fit=fit, alpha=math.nan, selection=None)
    warn_of_gap(problem, choice)
    return choice


def _refit_path(
    problem: GraphProblem,
    statistics: Any,
    R: FloatArray,
    alphas: FloatArray,
    price: float,
    n_rows: float,
    verbose: int,
) -> tuple[list[Judged], int]:
    """Fit the graphs along a path without the penalty, up to where none can be chosen any more.

    Of very many columns every `STRIDE`-th alpha is looked at first, and then those on either side
    of the best. Returns the number of penalised fits that did not converge, too.
    """
    judge = partial(_judge_path, problem, statistics, R, price=price, n_rows=n_rows)
    if len(R) <= LARGE:
        return judge(alphas, patience=PATIENCE, verbose=verbose)
    coarse = np.unique([*range(0, len(alphas), STRIDE), len(alphas) - 1])
    judged, n_unconverged = judge(alphas[coarse], patience=PATIENCE // STRIDE, verbose=verbose)
    if not judged:
        return judged, n_unconverged
    best = int(np.argmin([one.cost for one in judged]))
    around = np.arange(coarse[max(best - 1, 0)], coarse[min(best + 1, len(coarse) - 1)] + 1)
    finer = np.setdiff1d(around, coarse)
    more, n_more = judge(alphas[finer], patience=len(finer), verbose=verbose)
    judged = sorted([*judged, *more], key=lambda one: -one.alpha)
    return judged, n_unconverged + n_more


def _judge_path(
    problem: GraphProblem,
    statistics: Any,
    R: FloatArray,
    alphas: FloatArray,
    *,
    price: float,
    n_rows: float,
    patience: int,
    verbose: int,
) -> tuple[list[Judged], int]:
    """Judge the graphs at falling alphas, up to where none has a maximum or costs keep rising."""
    p = len(R)
    judged: list[Judged] = []
    refit = None
    n_unconverged = 0
    best, best_at = np.inf, 0
    path = problem.solve_path(statistics, alphas, at_once=p <= SMALL)
    fits = counted(path, "Path of alphas", len(alphas), verbose)
    for k, (alpha, fit) in enumerate(zip(alphas.tolist(), fits, strict=True)):
        n_unconverged += not fit.converged
        has_room = fit.n_edges <= max(p - 1, n_rows * p / 4)
        refit = fit_graph(R, fit.adjacency, refit) if has_room or k == 0 else None
        if refit is None:
            break
        judged.append(Judged(alpha, refit.adjacency, refit.n_edges, refit.cost(price)))
        if judged[-1].cost < best:
            best, best_at = judged[-1].cost, k
        elif p > SMALL and (k >= best_at + patience or judged[-1].cost >= judged[0].cost):
            break
    return judged, n_unconverged


def _search_edges(
    R: FloatArray,
    start: BoolArray,
    price: float,
    n_rows: float,
    allowed: BoolArray | None,
    required: BoolArray | None,
    verbose: int,
) -> BoolArray:
    """Add and remove edges, from the best graph on the path and, if better, from all that pay.

    The edges of a column that nearly follows from several others pay together and not one by one:
    neither the path nor single steps find them. Each does pay where all others are there.
    """
    with step_counter(verbose) as watch:
        search = partial(
            search_graph,
            R,
            price=price,
            allowed=allowed,
            required=required,
            max_degree=n_rows / 2,
            least=1,
            watch=watch,
        )
        found = search(start)
        other = _paying_given_all(R, price, n_rows, allowed, required)
        if other.any() and (len(R) <= SMALL or other.sum() <= DENSE * len(R)):
            fit = fit_graph(R, other)
            if fit is not None and fit.cost(price) < found.cost(price):
                found = search(other)
    return found.adjacency


def _paying_given_all(
    R: FloatArray,
    price: float,
    n_rows: float,
    allowed: BoolArray | None,
    required: BoolArray | None,
) -> BoolArray:
    """Join pairs whose edge could not be taken from the complete graph for less than its price.

    None is joined where that graph has no maximum likelihood.
    """
    none: BoolArray = np.zeros(R.shape, dtype=bool)
    if n_rows <= len(R):
        return none
    Theta, _ = inverse_and_log_determinant(R)
    if Theta is None:
        return none
    scale = np.sqrt(Theta.diagonal())
    pays: BoolArray = np.square(Theta / np.outer(scale, scale)) > -np.expm1(-price)
    np.fill_diagonal(pays, False)
    pays &= np.count_nonzero(pays, axis=0) <= n_rows / 2
    if allowed is not None:
        pays &= allowed
    return (pays & pays.T) if required is None else (pays & pays.T) | required


def _strongest_pair(R: FloatArray) -> BoolArray:
    """Join the two variables with the largest correlation."""
    size = np.abs(np.triu(R, 1))
    i, j = np.unravel_index(int(size.argmax()), size.shape)
    joined = np.zeros(R.shape, dtype=bool)
    joined[i, j] = joined[j, i] = size[i, j] > 0.0
    return joined
