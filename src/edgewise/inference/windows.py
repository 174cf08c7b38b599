"""Changes between a reference period and a window that slides over ordered rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, spawn
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.table import take_rows
from edgewise.graph import Graph
from edgewise.inference.resample import (
    Problem,
    check_resamplable,
    count_rows,
    needs_labels,
    run_all,
)

#: Labels of the two periods; the first of them in order is the reference.
PERIODS = ("reference", "window")


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
        Share of the shuffles in which each pair was found.
    graph : Graph
        The changes that shuffles find at most as often as the level allows; ``confidence`` is 1
        minus that share.
    alpha : float
        Sparsity that was used for the window and for its shuffles.
    """

    start: int
    stop: int
    observed: Graph
    frequency: FloatArray = field(repr=False)
    graph: Graph
    alpha: float


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
    estimator fitted each time; a change that turns up in more than a few of these shuffles is
    left out [1]_.

    Parameters
    ----------
    estimator : estimator
        Of a change, with ``fit(X, y)``, ``graph_`` and ``alpha``. A rule for alpha chooses anew in
        each window; its shuffles are fitted at that choice.
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
        Largest share of the shuffles with a change that is kept.
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
    >>> X[200:, 1] += X[200:, 0]
    >>> found = window_changes(
    ...     NetworkChange(alpha=0.3), X, window=100, step=100, n_permutations=20, random_state=0
    ... )
    >>> [(change.start, change.stop, change.graph.n_edges) for change in found]
    [(100, 200, 0), (200, 300, 1)]
    """
    check_resamplable(estimator)
    if not needs_labels(estimator):
        raise InputError(
            "window_changes takes an estimator of changes, such as NetworkChange, and not one of "
            "a single network."
        )
    n_rows = count_rows(X)
    step = max(1, window // 2) if step is None else step
    reference = window if reference is None else reference
    _check_sizes(n_rows, window, step, reference, n_permutations, level)
    generator = as_generator(random_state)
    starts = range(reference, n_rows - window + 1, step)
    changes = []
    for start, source in zip(starts, spawn(generator, len(starts)), strict=True):
        rows = np.concatenate([np.arange(reference), np.arange(start, start + window)])
        changed = _compare(
            estimator, take_rows(X, rows), reference, start=start, source=source, level=level,
            n_permutations=n_permutations, n_jobs=n_jobs, verbose=verbose,
        )  # fmt: skip
        changes.append(changed)
    return changes


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
            raise InputError(f"{name} must be at least {least}, got {value!r}.")
    if reference + window > n_rows:
        raise InputError(
            f"A reference of {reference} rows and a window of {window} take {reference + window}, "
            f"and there are {n_rows}. Pass smaller ones."
        )
    if not 0 <= level < 1:
        raise InputError(f"level must be at least 0 and below 1, got {level!r}.")


def _compare(
    estimator: Any, X: Any, reference: int, *, start: int, source: np.random.Generator,
    level: float, n_permutations: int, n_jobs: int | None, verbose: int,
) -> WindowChange:  # fmt: skip
    """Fit one window and its shuffles."""
    n_rows = count_rows(X)
    y = np.repeat(PERIODS, [reference, n_rows - reference])
    seed = int(source.integers(2**31 - 1))
    problem = Problem(estimator=estimator, X=X, y=y, sample_weight=None, alphas=None)
    model, (observed,) = problem.fit(seed)
    alpha = float(getattr(model, "alpha_", np.nan))
    if isinstance(getattr(estimator, "alpha", None), str):
        from sklearn.base import clone

        estimator = clone(estimator).set_params(alpha=alpha)
    shuffles = [generator.permutation(n_rows) for generator in spawn(source, n_permutations)]
    found, _ = run_all(
        _find,
        [(estimator, X, y, seed, shuffle) for shuffle in shuffles],
        noun="shuffle",
        stacklevel=4,
        n_jobs=n_jobs,
        description=f"Rows {start} to {start + n_rows - reference}",
        verbose=verbose,
    )
    frequency = np.mean(found, axis=0)
    is_kept = observed.adjacency & (frequency <= level)
    graph = Graph(
        np.where(is_kept, observed.weights, 0.0), names=observed.names, confidence=1.0 - frequency
    )
    return WindowChange(
        start=start,
        stop=start + n_rows - reference,
        observed=observed,
        frequency=frequency,
        graph=graph,
        alpha=alpha,
    )


def _find(estimator: Any, X: Any, y: Any, seed: int, shuffle: IntArray) -> Any:
    """Which pairs a shuffle finds."""
    problem = Problem(estimator=estimator, X=X, y=y[shuffle], sample_weight=None, alphas=None)
    return problem.fit(seed)[1][0].adjacency
