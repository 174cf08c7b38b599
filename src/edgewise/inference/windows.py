"""Sliding windows: changes from a reference period."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, spawn
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.table import take_rows
from edgewise.graph import Graph
from edgewise.graph.graph import edge_positions
from edgewise.inference.permutation import share_at_least
from edgewise.inference.resample import (
    Problem,
    check_resamplable,
    count_rows,
    needs_labels,
    run_all,
)

if TYPE_CHECKING:
    import pandas as pd

#: Labels of the two periods; the first of them in order is the reference.
PERIODS = ("reference", "window")


#: Quantile of the largest changes of shuffles that windows are compared by.
SELDOM = 0.95
#: What an estimator may choose from the rows, which shuffles then keep.
CHOSEN = ("alpha", "coupling", "degree")


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowChange:
    """The change from the reference period to one window.

    Attributes
    ----------
    start, stop : int
        Rows of the window: from ``start`` to before ``stop``.
    observed : Graph
        All changes found.
    frequency : ndarray of shape (p, p)
        Share of the shuffles in which each pair was found, of any size.
    familywise : ndarray of shape (p, p)
        p-value of the size of each change, among all pairs and windows: the share of the shuffles
        in which any change of any window is as large.
    graph : Graph
        The changes with a p-value up to the level; ``confidence`` is 1 minus that.
    alpha : float
        Penalty on changes that was used for the window and for its shuffles.
    """

    start: int
    stop: int
    observed: Graph
    frequency: FloatArray = field(repr=False)
    familywise: FloatArray = field(repr=False)
    graph: Graph
    alpha: float

    @property
    def pvalue(self) -> float:
        """That anything changed from the reference to this window, among all windows."""
        return float(self.familywise.min())

    def table(self) -> pd.DataFrame:
        """List the changes found, the surest first.

        Returns
        -------
        pandas.DataFrame
            ``source``, ``target``, ``change`` and ``pvalue_familywise``.
        """
        import pandas as pd

        names, at = self.observed.names, edge_positions(self.observed.adjacency, directed=False)
        frame = pd.DataFrame(
            {
                "source": [names[i] for i in at[0]],
                "target": [names[j] for j in at[1]],
                "change": self.observed.weights[at],
                "pvalue_familywise": self.familywise[at],
            }
        )
        return frame.sort_values("pvalue_familywise", kind="stable", ignore_index=True)

    def significant(self, level: float = 0.05) -> Graph:
        """Keep the changes with a family-wise p-value up to a level; 1 minus it is confidence."""
        is_kept = self.observed.adjacency & (self.familywise <= level)
        return Graph(
            np.where(is_kept, self.observed.weights, 0.0),
            names=self.observed.names,
            confidence=1.0 - self.familywise,
        )


def window_changes(
    estimator: Any,
    X: Any,
    *,
    window: int,
    step: int | None = None,
    reference: int | None = None,
    n_permutations: int = 100,
    level: float = 0.05,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> list[WindowChange]:
    """Compare the first rows with each of the windows that follow them.

    Rows of reference and window are also put together and dealt out anew, many times, with the
    estimator fitted each time [1]_. Changes that are larger than the largest ones of these
    shuffles are kept: so that where nothing changes, any window has one in at most a share
    ``level`` of all tables.

    Parameters
    ----------
    estimator : estimator
        Of a change, with ``fit(X, y)``, ``graph_`` and ``alpha``. A rule for alpha, or several
        degrees, choose anew in each window; its shuffles are fitted at that choice.
    X : array-like or data frame of shape (n, p)
        Rows in order, such as time.
    window : int
        Rows of a window.
    step : int, optional
        Rows from one window to the next; half a window by default.
    reference : int, optional
        Rows of the reference period, the first; as many as a window by default.
    n_permutations : int
        Shuffles of each window.
    level : float
        Largest p-value of a change that is kept, family-wise over pairs and windows.
    n_jobs : int, optional
        Shuffles fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Deals out the rows, and seeds every ``random_state`` of the estimator that is None.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    list of WindowChange

    Notes
    -----
    Windows of a larger alpha have smaller changes. Sizes of several windows are therefore compared
    in units of the 95 % quantile of the largest change in the shuffles of each.

    Rows that follow each other are rarely independent. Shuffles then vary less than the periods
    do, and changes look more certain than they are: take every k-th row, or differences.

    References
    ----------
    .. [1] Liu, Quinn, Gutmann, Suzuki and Sugiyama (2014). Direct learning of sparse changes in
       Markov networks by density ratio estimation. *Neural Computation* 26(6).
       https://doi.org/10.1162/NECO_a_00589

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import NetworkChange
    >>> from edgewise.inference import window_changes
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> X[200:, 1] += 2 * X[200:, 0]
    >>> found = window_changes(
    ...     NetworkChange(alpha=0.3), X, window=100, step=100, n_permutations=20, random_state=0
    ... )
    >>> [(change.start, change.stop, change.graph.n_edges) for change in found]
    [(100, 200, 0), (200, 300, 1)]
    """
    check_resamplable(estimator)
    if not needs_labels(estimator):
        raise InputError("windows_need_change")
    n_rows = count_rows(X)
    step = max(1, window // 2) if step is None else step
    reference = window if reference is None else reference
    _check_sizes(n_rows, window, step, reference, n_permutations, level)
    generator = as_generator(random_state)
    starts = range(reference, n_rows - window + 1, step)
    fits = []
    for start, source in zip(starts, spawn(generator, len(starts)), strict=True):
        rows = np.concatenate([np.arange(reference), np.arange(start, start + window)])
        fits.append(
            _compare_window(
                estimator, take_rows(X, rows), reference, start=start, source=source,
                n_permutations=n_permutations, n_jobs=n_jobs, verbose=verbose,
            )
        )  # fmt: skip
    # Shuffles that failed are left out of all windows.
    fewest = min(len(one.largest) for one in fits)
    largest = np.stack([one.largest[:fewest] / one.unit for one in fits]).max(axis=0)
    return [_judge(one, np.sort(largest), level, window) for one in fits]


class _Fit(NamedTuple):
    """Changes of a window, and the largest of each of its shuffles."""

    start: int
    observed: Graph
    alpha: float
    largest: FloatArray
    frequency: FloatArray

    @property
    def unit(self) -> float:
        """Size that the largest change of a shuffle seldom has; 1 where there are none."""
        return float(np.quantile(self.largest, SELDOM)) or 1.0


def _judge(fit: _Fit, largest: FloatArray, level: float, window: int) -> WindowChange:
    """Hold the sizes of the changes against the largest ones of shuffles, in order."""
    observed = fit.observed
    size = np.abs(observed.weights) / fit.unit
    familywise = share_at_least(largest, size)
    # A shuffle that finds nothing comes up to a pair without a change.
    familywise[~observed.adjacency] = 1.0
    found = WindowChange(
        start=fit.start,
        stop=fit.start + window,
        observed=observed,
        frequency=fit.frequency,
        familywise=familywise,
        graph=observed,
        alpha=fit.alpha,
    )
    return replace(found, graph=found.significant(level))


def _check_sizes(
    n_rows: int, window: int, step: int, reference: int, n_permutations: int, level: float
) -> None:
    for name, value, least in (
        ("window", window, 2),
        ("reference", reference, 2),
        ("step", step, 1),
        ("n_permutations", n_permutations, 1),
    ):
        if value < least:
            raise InputError("window_size_range", name=name, least=least, value=value)
    if reference + window > n_rows:
        raise InputError(
            "window_too_long",
            reference=reference,
            window=window,
            reference2=reference + window,
            n_rows=n_rows,
        )
    if not 0 <= level < 1:
        raise InputError("window_level_range", level=level)


def _compare_window(
    estimator: Any, X: Any, reference: int, *, start: int, source: np.random.Generator,
    n_permutations: int, n_jobs: int | None, verbose: int,
) -> _Fit:  # fmt: skip
    """Fit one window and its shuffles."""
    n_rows = count_rows(X)
    y = np.repeat(PERIODS, [reference, n_rows - reference])
    seed = int(source.integers(2**31 - 1))
    problem = Problem(estimator=estimator, X=X, y=y, sample_weight=None, alphas=None)
    model, (observed,) = problem.fit(seed)
    frozen = replace(problem, estimator=_with_choices(estimator, model))
    found, _ = run_all(
        _fit_shuffle,
        [(frozen, seed, one.permutation(n_rows)) for one in spawn(source, n_permutations)],
        noun="shuffle",
        stacklevel=4,
        n_jobs=n_jobs,
        description=f"Rows {start} to {start + n_rows - reference}",
        verbose=verbose,
    )
    alpha = float(getattr(model, f"{getattr(model, '_strength', 'alpha')}_", np.nan))
    return _Fit(
        start=start,
        observed=observed,
        alpha=alpha,
        largest=np.array([np.abs(graph.weights).max() for graph in found]),
        frequency=np.mean([graph.adjacency for graph in found], axis=0),
    )


def _with_choices(estimator: Any, model: Any) -> Any:
    """Return a copy that takes what a fit has chosen."""
    from sklearn.base import clone

    given = estimator.get_params()
    chosen = {name: getattr(model, f"{name}_", None) for name in CHOSEN if name in given}
    return clone(estimator).set_params(
        **{name: value for name, value in chosen.items() if value is not None}
    )


def _fit_shuffle(problem: Problem, seed: int, shuffle: IntArray) -> Graph:
    """Learn the changes of a shuffle."""
    (graph,) = replace(problem, y=problem.y[shuffle]).fit(seed)[1]
    return graph
