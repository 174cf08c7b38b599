"""Changes: a permutation test between two groups that needs no fit, and sliding windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, parallel_map, spawn
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.labels import TwoSamples
from edgewise.data.table import take_rows
from edgewise.estimators import NetworkChange
from edgewise.graph import Graph
from edgewise.inference.permutation import PermutationTest, assemble_test, at_least
from edgewise.inference.resample import (
    Problem,
    check_resamplable,
    count_rows,
    needs_labels,
    run_all,
)
from edgewise.stats.monomial_features import MonomialFeatures
from edgewise.stats.pair_features import PairFeatures, pair_features

#: Step of central differences, in standard deviations of a variable.
STEP = 1e-4
#: What is left of a feature that only says where its variables lie, as a share of its square.
ROUNDING = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class CentredFeatures:
    r"""Features :math:`f` of pairs, less what a shift of either variable does to them.

    A group that is centred has means of 0. One that labels were shuffled into has not, and the
    means of its features vary with its own means :math:`m`, to first order as
    :math:`\bar f = \bar f_0 + g^\top m` with the mean slope :math:`g` of the feature.
    :math:`f - g^\top x` has no such part, and the same mean as :math:`f` in a centred group.

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        Rows of both groups.
    features : PairFeatures
        Of these rows.
    basis : str or callable
        What the features are.
    slopes : MonomialFeatures or None
        Features of the slopes of all variables, followed by the variables themselves.
    is_centred : bool
        Whether the groups were; features are left as they are if not.
    """

    rows: FloatArray
    features: PairFeatures
    basis: Any
    slopes: MonomialFeatures | None
    is_centred: bool

    @classmethod
    def make(
        cls, rows: FloatArray, arguments: dict[str, Any], *, is_centred: bool
    ) -> CentredFeatures:
        """Prepare the features that `pair_features` makes with these arguments."""
        features, slopes = pair_features(rows, **arguments), None
        if is_centred and isinstance(features, MonomialFeatures):
            up, down = (
                pair_features(rows + step, **arguments).powers  # type: ignore[attr-defined]
                for step in (STEP, -STEP)
            )
            powers = np.concatenate([(up - down) / (2 * STEP), features.powers], axis=1)
            slopes = MonomialFeatures(powers, features.left, features.right, features.diagonal_size)
        return cls(
            rows=rows,
            features=features,
            basis=arguments["basis"],
            slopes=slopes,
            is_centred=is_centred,
        )

    @property
    def size(self) -> int:
        """Number of features of a pair."""
        return self.features.size

    def columns(self, pairs: IntArray) -> FloatArray:
        """Features of some pairs, of shape (len(pairs), size, n)."""
        n, d = self.rows.shape
        values = self.features.columns(pairs, np.ones(n))
        if not self.is_centred:
            return values
        squares = np.sum(values**2, axis=2)
        for slope, variable in zip(self._slopes(pairs), (pairs // d, pairs % d), strict=True):
            values -= slope[:, :, None] * self.rows.T[variable][:, None, :]
        values -= values.mean(axis=2, keepdims=True)
        values[np.sum(values**2, axis=2) <= ROUNDING * squares] = 0.0
        return values

    def _slopes(self, pairs: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean slopes of the features in the first and in the second variable of each pair."""
        n, d = self.rows.shape
        first, second = pairs // d, pairs % d
        if self.slopes is not None:
            weights = np.full(n, 1.0 / n)
            plain = d
            return (
                self.slopes.moments_at(weights, first * 2 * d + plain + second),
                self.slopes.moments_at(weights, (plain + first) * 2 * d + second),
            )
        return self._numeric_slopes(first, second)

    def _numeric_slopes(self, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean slopes of a function of the user's."""
        columns = self.rows.T
        slopes = np.empty((2, len(first), self.size))
        for k, (u, v) in enumerate(zip(first, second, strict=True)):
            for which, (at_first, at_second) in enumerate(((STEP, 0.0), (0.0, STEP))):
                up, down = (
                    np.asarray(
                        self.basis(columns[u] + sign * at_first, columns[v] + sign * at_second)
                    )
                    for sign in (1.0, -1.0)
                )
                slopes[which, k] = np.mean((up - down) / (2 * STEP), axis=0)
        return slopes[0], slopes[1]


#: Features and statistics that a block of pairs may hold at a time.
BLOCK = 2**20
#: A spread below this share of the largest one possible is rounding.
NO_SPREAD = 1e-12


def max_change_test(
    X: Any,
    y: Any,
    *,
    basis: str | Callable[..., Any] = "gaussian",
    degree: int = 2,
    standardize: bool = True,
    studentize: bool = True,
    n_permutations: int = 999,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> PermutationTest:
    r"""Test in a second whether anything changed between two groups of rows.

    Each pair of variables has features :math:`f` of `edgewise.NetworkChange`, and its statistic
    is how far their means lie apart in the two groups,

    .. math:: |\bar f_{\mathrm{after}} - \bar f_{\mathrm{before}}|,

    the alpha at which the pair enters the path of `NetworkChange` if it is the first to do so.
    With ``studentize`` each mean difference is divided by its standard error, from the variances
    within both groups [1]_. The labels are then shuffled :math:`B` times. Sums over the second
    group of all shuffles are one matrix product, so that nothing is fitted at all.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
        Rows of both groups.
    y : array-like of shape (n,)
        Labels of two groups, of any type that can be sorted.
    basis, degree, standardize
        As in `edgewise.NetworkChange`. If standardised, every group is centred before the labels
        are shuffled, so that a change of the means does not count.
    studentize : bool
        Divide by standard errors. Pairs then compete on equal terms, and a p-value holds for its
        pair whatever else changed. Without, a pair that varies more in the smaller group looks
        changed too often.
    n_permutations : int
        Number of shuffles. No p-value can be below ``1 / (1 + n_permutations)``.
    n_jobs : int, optional
        Blocks of pairs at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the shuffles.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    PermutationTest
        ``observed`` holds the statistics: signed where a pair has one feature.

    Notes
    -----
    What is compared are means of products, that is covariances: when a link changes, so do the
    covariances along the paths that it is part of. ``pvalue`` says whether anything changed.
    For which links did, see `change_intervals`. A variable with itself is not tested; but where
    the features of a pair hold powers of one of its variables, as with ``"polynomial"``, a change
    of that variable alone shows in all of its pairs.

    References
    ----------
    .. [1] Chung and Romano (2013). Exact and asymptotically robust permutation tests. *Annals of
       Statistics* 41(2). https://doi.org/10.1214/13-AOS1090

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.inference import max_change_test
    >>> X = np.random.default_rng(0).normal(size=(200, 30))
    >>> y = np.repeat(["before", "now"], 100)
    >>> max_change_test(X, y, random_state=0).pvalue > 0.05
    True
    >>> X[y == "now", 1] += X[y == "now", 0]
    >>> test = max_change_test(X, y, random_state=0)
    >>> test.significant(by="familywise").edges()[["source", "target"]]
      source target
    0     x0     x1
    """
    if n_permutations < 1:
        raise InputError(f"n_permutations must be at least 1, got {n_permutations!r}.")
    scaling = "pooled" if standardize else False
    model = NetworkChange(0.0, basis=basis, degree=degree, standardize=scaling)
    samples, labels = _prepare(model, X, y)
    d = samples.n_features
    if d < 2:
        raise InputError("X has one column. A change of links needs at least 2 variables.")
    problem = _Problem(
        features=CentredFeatures.make(
            np.concatenate([samples.first, samples.second]),
            model._loss().prepare(samples).features,
            is_centred=standardize and basis != "ising",
        ),
        shuffles=_shuffle(samples, n_permutations, as_generator(random_state)),
        sizes=(len(samples.first), len(samples.second)),
        studentize=studentize,
    )
    first, second = np.triu_indices(d, 1)
    found = parallel_map(
        _compare,
        [(problem, pairs) for pairs in _blocks(problem, first * d + second)],
        n_jobs=n_jobs,
        description="Permutation test",
        verbose=verbose,
    )
    weights, reached = np.zeros((d, d)), np.zeros((d, d), dtype=np.int64)
    weights[first, second] = np.concatenate([block.observed for block in found])
    reached[first, second] = np.concatenate([block.reached for block in found])
    observed = Graph(weights + weights.T, names=model._names())
    return assemble_test(
        observed,
        reached[np.nonzero(np.triu(observed.adjacency))],
        null_max=np.max([block.largest for block in found], axis=0),
        null_sum=np.sum([block.total for block in found], axis=0),
        classes=labels,
    )


class _Problem(NamedTuple):
    """Features of all rows, and which rows each shuffle puts into the second group.

    The first of the ``shuffles``, of shape (n, 1 + B), is no shuffle but the labels themselves.
    """

    features: CentredFeatures
    shuffles: FloatArray
    sizes: tuple[int, int]
    studentize: bool


class _Block(NamedTuple):
    """Statistics of some pairs, how many shuffles reach each, and largest and sum per shuffle."""

    observed: FloatArray
    reached: IntArray
    largest: FloatArray
    total: FloatArray


def _prepare(model: NetworkChange, X: Any, y: Any) -> tuple[TwoSamples, tuple[Any, Any]]:
    """Check rows and labels as the estimator would, and centre and scale the rows."""
    problem = model._pose(X, y, in_order=False)
    return problem.summarize(problem.places).samples, problem.groups.classes


def _shuffle(
    samples: TwoSamples, n_permutations: int, generator: np.random.Generator
) -> FloatArray:
    """Draw memberships in the second group, one column per shuffle after the observed one."""
    member = np.repeat([0.0, 1.0], [len(samples.first), len(samples.second)])
    shuffles = np.tile(member, (1 + n_permutations, 1))
    generator.permuted(shuffles[1:], axis=1, out=shuffles[1:])
    return np.ascontiguousarray(shuffles.T)


def _blocks(problem: _Problem, pairs: IntArray) -> list[IntArray]:
    """Cut the pairs into pieces whose features and statistics fit into memory at once."""
    n, n_shuffles = problem.shuffles.shape
    n_pairs = max(BLOCK // (problem.features.size * (n + n_shuffles)), 1)
    return np.split(pairs, np.arange(n_pairs, len(pairs), n_pairs))


def _compare(problem: _Problem, pairs: IntArray) -> _Block:
    """Compare some pairs between the groups of every shuffle."""
    n, n_shuffles = problem.shuffles.shape
    difference = standardized_differences(
        problem.features.columns(pairs).reshape(-1, n),
        problem.shuffles,
        problem.sizes,
        studentize=problem.studentize,
        first_is_centred=problem.features.is_centred,
    )
    if problem.features.size == 1:
        observed, size = difference[:, 0].copy(), np.abs(difference, out=difference)
    else:
        squares = np.square(difference, out=difference).reshape(len(pairs), -1, n_shuffles)
        size = np.sqrt(squares.sum(axis=1))
        observed = size[:, 0]
    return _Block(
        observed=observed,
        reached=np.count_nonzero(size[:, 1:] >= at_least(size[:, :1]), axis=1),
        largest=size[:, 1:].max(axis=0),
        total=size[:, 1:].sum(axis=0),
    )


def standardized_differences(
    values: FloatArray,
    members: FloatArray,
    sizes: tuple[int, int] | tuple[IntArray, IntArray],
    *,
    studentize: bool = True,
    first_is_centred: bool = False,
) -> FloatArray:
    """Differences of means between two groups, over their standard errors or not.

    Parameters
    ----------
    values : ndarray of shape (k, n)
        Quantities whose means are compared.
    members : ndarray of shape (n, b)
        For each of several groupings, 1 for rows of the second group and 0 for others.
    sizes : tuple of int, or of ndarray of shape (b,)
        Rows of the first and of the second group.
    studentize : bool
        Divide by standard errors, from the variances within both groups.
    first_is_centred : bool
        Whether the groups of the first grouping lost a degree of freedom to their own means.

    Returns
    -------
    ndarray of shape (k, b)
    """
    # With the sums of a value and of its square over the second group, those over the first are
    # the rest.
    n_first, n_second = sizes
    after = values @ members
    before = values.sum(axis=1, keepdims=True) - after
    difference: FloatArray = after / n_second - before / n_first
    if not studentize:
        return difference
    squares = values**2
    whole = squares.sum(axis=1, keepdims=True)
    after *= after
    before *= before
    squares_after = squares @ members
    variance = (squares_after - after / n_second) / (n_second * (n_second - 1))
    rest = (whole - squares_after - before / n_first) / (n_first * (n_first - 1))
    if first_is_centred:
        variance[:, 0] *= n_second / (n_second - 1)
        rest[:, 0] *= n_first / (n_first - 1)
    variance += rest
    # Groups that a value tells apart without a doubt have no spread to divide by.
    np.maximum(variance, NO_SPREAD * whole / (n_first * n_second), out=variance)
    np.sqrt(variance, out=variance)
    return np.divide(difference, variance, out=difference, where=variance > 0)


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
        changed = _compare_window(
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


def _compare_window(
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
