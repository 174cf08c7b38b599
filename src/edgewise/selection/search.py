"""Search for alpha along a regularisation path: grid, extension, choice and warnings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from operator import attrgetter, methodcaller
from typing import Any, Final, Protocol

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, counted
from edgewise._core.typing import BoolArray, FloatArray, RandomState
from edgewise.selection.choose import (
    ConvergenceWarning,
    PairSelection,
    Selection,
    SelectionWarning,
    alpha_grid,
    choose_by_cv,
    choose_by_stars,
    take_smallest,
)
from edgewise.selection.rules import CV, EBIC, Rule, StARS
from edgewise.solvers._solution import DECIDE

#: Decades that a search adds to its default grid while its smallest alpha is the best.
MAX_EXTENSIONS: Final = 3


class PathFit(Protocol):
    """One fit along a path, as far as a search looks at it."""

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        ...

    @property
    def adjacency(self) -> BoolArray:
        """Which pairs are joined; for `StARS`."""
        ...

    @property
    def n_edges(self) -> int:
        """Number of edges, or of coefficients; for `EBIC`."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether all pairs are joined, so that a smaller alpha would join no more."""
        ...

    def ebic(self, gamma: float) -> float:
        """Return the extended BIC of the rows behind the fit; for `EBIC`."""
        ...


class PathProblem(Protocol):
    """What an estimator poses to `search`: a frozen value that worker processes can unpickle."""

    def summarize(self, rows: Any, weights: FloatArray | None) -> Any:
        """Return the statistics of some rows, as the solver needs them."""
        ...

    def largest_alpha(self, statistics: Any) -> float:
        """Return the smallest alpha with an empty graph."""
        ...

    def solve_path(self, statistics: Any, alphas: FloatArray) -> Iterable[Any]:
        """Yield one `PathFit` per alpha, from large to small."""
        ...

    def score(self, fit: Any, rows: Any, weights: FloatArray | None) -> float:
        """Return the mean log-likelihood of other rows; for `CV`."""
        ...

    def gap_warning(self, fit: Any) -> ConvergenceWarning:
        """Return the warning of a fit that stopped above its tolerance."""
        ...


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Alphas that a search tries.

    Attributes
    ----------
    n_alphas : int
        Number of alphas, log-spaced.
    ratio : float
        Smallest alpha as a share of the largest.
    n_extensions : int
        Decades that may be added, at the same density, while the smallest alpha is the best.
    """

    n_alphas: int
    ratio: float
    n_extensions: int = 0

    @classmethod
    def of(
        cls, rule: Rule, n_rows: float | None, n_features: int, least_ratio: float = 0.0
    ) -> Grid:
        """Return the grid of a rule; without a ratio of its own, that which suits the data.

        Spurious correlations shrink with the root of the number of rows, and the best alpha with
        them. With few rows per column, ever smaller alphas only fit the rows ever more closely.
        """
        n_alphas = rule.n_alphas or 30
        if rule.alpha_ratio is not None:
            return cls(n_alphas=n_alphas, ratio=rule.alpha_ratio)
        ratio = max(least_ratio, default_ratio(n_rows, n_features))
        may_extend = (n_rows or 0.0) > 2 * n_features
        return cls(n_alphas=n_alphas, ratio=ratio, n_extensions=MAX_EXTENSIONS if may_extend else 0)

    def alphas(self, largest: float, n_extensions: int = 0) -> FloatArray:
        """List the alphas from large to small, with some decades added."""
        n_alphas = self.n_alphas + round(self.n_alphas * n_extensions / -math.log10(self.ratio))
        return alpha_grid(largest, n_alphas, self.ratio * 10.0**-n_extensions)


def default_ratio(n_rows: float | None, n_features: int) -> float:
    """Smallest alpha worth trying, as a share of the largest.

    With no more rows than columns, small alphas fit the rows perfectly and mean nothing.
    """
    if n_rows is None:
        return 0.01
    if n_rows <= n_features:
        return 0.1
    return min(0.05, 0.2 / math.sqrt(n_rows))


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """Outcome of `search`: the fit at the chosen alpha, and how it was chosen.

    Attributes
    ----------
    fit : PathFit
        What the problem's ``solve_path`` gave.
    alpha : float
        The strength used; NaN where the fit has no penalty.
    selection : Selection, PairSelection or None
        The criterion on the grid; None where alpha was a number.
    """

    fit: Any
    alpha: float
    selection: Selection | PairSelection | None

    @property
    def alphas(self) -> FloatArray:
        """The strengths tried."""
        if self.selection is not None:
            return self.selection.alphas
        return np.empty(0) if math.isnan(self.alpha) else np.array([self.alpha])


def search(
    problem: PathProblem,
    rule: Rule | float,
    rows: Any,
    weights: FloatArray | None,
    statistics: Any,
    grid: Grid,
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    is_warm: bool = False,
    takes_last_tie: bool = False,
    selection: Selection | None = None,
    has_limit: bool = False,
    strength: str = "alpha",
    stacklevel: int = 3,
) -> Choice:
    """Fit at an alpha that is given, or at the one that a rule chooses on a grid.

    Warns where fits of the search did not converge, where the choice is the smallest alpha of the
    grid, and where the fit stopped above its tolerance.

    Parameters
    ----------
    problem : PathProblem
        How paths are solved and fits are judged.
    rule : Rule or float
        With the defaults of the estimator filled in, see `Strength.resolve`.
    rows : array
        Indexed by folds and subsamples, and passed to ``problem`` in parts; `EBIC` does not look
        at them.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    statistics : object
        What ``problem.summarize`` makes of all rows.
    grid : Grid
        The alphas to try.
    random_state, n_jobs, verbose
        As in `choose_by_cv`.
    is_warm : bool
        Solve the whole path down to the choice for the last fit, too, as a warm start.
    takes_last_tie : bool
        Of equal EBIC, take the smallest alpha instead of the largest.
    selection : Selection, optional
        A choice that was made before, in which case only the last fit remains to be done.
    has_limit : bool
        Whether no solution exists below the smallest alpha of the grid.
    strength : str
        What the estimator calls the alpha.
    stacklevel : int
        Where warnings point to: by default the line that called the caller.

    Returns
    -------
    Choice
    """
    if not isinstance(rule, Rule):
        fit = _last(deciding(problem).solve_path(statistics, np.array([rule])))
        choice = Choice(fit=fit, alpha=rule, selection=None)
    else:
        # Every extension must see the same folds, also where random_state is a generator.
        seed = int(as_generator(random_state).integers(2**31))
        options = {"random_state": seed, "n_jobs": n_jobs, "verbose": verbose}
        largest = problem.largest_alpha(statistics)
        for n_extensions in range(grid.n_extensions + 1):
            alphas = grid.alphas(largest, n_extensions)
            if selection is not None:
                chosen = selection
            elif isinstance(rule, EBIC):
                chosen = take_smallest(
                    counted(
                        problem.solve_path(statistics, alphas),
                        "Path of alphas",
                        len(alphas),
                        verbose,
                    ),
                    alphas,
                    methodcaller("ebic", rule.gamma),
                    attrgetter("n_edges"),
                    takes_last_tie=takes_last_tie,
                )
                chosen = replace(chosen, gamma=rule.gamma)
            else:
                chosen = _by_resampling(problem, rule, rows, weights, alphas, options)
            way = alphas[: chosen.index + 1] if is_warm else np.array([chosen.alpha])
            fit = _last(deciding(problem).solve_path(statistics, way))
            if chosen.end != "smallest" or fit.is_complete:
                break
        choice = Choice(fit=fit, alpha=chosen.alpha, selection=chosen)
        _warn_of_search(
            chosen, fit, rule, has_limit=has_limit, strength=strength, stacklevel=stacklevel + 1
        )
    warn_of_gap(problem, choice, stacklevel + 1)
    return choice


def deciding(problem: Any) -> Any:
    """Return the problem whose last fit goes on while its graph is undecided, if it has one."""
    return replace(problem, decide=DECIDE) if hasattr(problem, "decide") else problem


def warn_of_gap(problem: PathProblem, choice: Choice, stacklevel: int = 4) -> None:
    """Warn of a fit that stopped above its tolerance."""
    if not choice.fit.converged:
        warnings.warn(problem.gap_warning(choice.fit), stacklevel=stacklevel)


def _last(fits: Iterable[Any]) -> Any:
    """Return the last fit of a path, of which one at a time is held."""
    for fit in fits:
        last = fit
    return last


def _by_resampling(
    problem: PathProblem,
    rule: Rule,
    rows: Any,
    weights: FloatArray | None,
    alphas: FloatArray,
    options: dict[str, Any],
) -> Selection:
    fit_path = partial(fit_rows, problem)
    # Splits that were handed in count all rows; otherwise a weight of 0 means no row at all.
    if weights is not None and not (isinstance(rule, CV) and not isinstance(rule.cv, Integral)):
        rows, weights = rows[weights > 0], weights[weights > 0]
    if isinstance(rule, CV):
        return choose_by_cv(
            rows, alphas, fit_path, problem.score, cv=rule.cv, sample_weight=weights, **options
        )
    if isinstance(rule, StARS):
        return choose_by_stars(
            rows,
            alphas,
            fit_path,
            attrgetter("adjacency"),
            threshold=rule.instability,
            n_subsamples=rule.n_subsamples,
            sample_weight=weights,
            **options,
        )
    raise InputError("unknown_rule", rule=rule)


def fit_rows(
    problem: PathProblem, rows: Any, weights: FloatArray | None, alphas: FloatArray
) -> Iterable[Any]:
    """Solve the path of some rows."""
    return problem.solve_path(problem.summarize(rows, weights), alphas)


def _warn_of_search(
    selection: Selection,
    fit: PathFit,
    rule: Rule,
    *,
    has_limit: bool,
    strength: str,
    stacklevel: int,
) -> None:
    warn_of_unconverged(selection.n_unconverged, stacklevel=stacklevel + 1)
    if isinstance(rule, StARS) and selection.values[selection.index] > rule.instability:
        warning = SelectionWarning(
            "no_stable_alpha", instability=rule.instability, value=selection.values[0]
        )
        warnings.warn(warning, stacklevel=stacklevel)
    # At the other end the graph is empty, and a larger alpha would change nothing.
    if selection.end == "smallest" and not fit.is_complete:
        warn_of_smallest(
            rule,
            selection.alphas,
            has_limit=has_limit,
            strength=strength,
            stacklevel=stacklevel + 1,
        )


def warn_of_unconverged(
    n_unconverged: int,
    *,
    stacklevel: int = 4,
) -> None:
    """Warn of the number of fits of a search that stopped above their tolerance, if any."""
    if n_unconverged:
        warning = ConvergenceWarning("unconverged_fits", n=n_unconverged)
        warnings.warn(warning, stacklevel=stacklevel)


def warn_of_smallest(
    rule: Rule,
    alphas: FloatArray,
    *,
    has_limit: bool = False,
    strength: str = "alpha",
    stacklevel: int = 4,
) -> None:
    """Warn that the smallest alpha of a grid was chosen, and say how to search further."""
    smaller = alphas[-1] / alphas[0] / 10
    warning = SelectionWarning(
        "smallest_strength_chosen",
        strength,
        strength=strength,
        rule=rule.name,
        # A splitter that was set would not be legible here.
        type=type(rule).__name__,
        chosen=alphas[-1],
        ratio=smaller,
        has_limit=has_limit,
    )
    warnings.warn(warning, stacklevel=stacklevel)
