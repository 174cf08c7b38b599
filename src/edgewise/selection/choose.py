"""Choice of alpha along a regularisation path, for any solver: criteria, folds, subsamples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
from sklearn import exceptions

from edgewise._core.errors import InputError
from edgewise._core.messages import Message
from edgewise._core.parallel import as_generator, parallel_map, spawn
from edgewise._core.plain_values import archived
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.selection.criteria import ebic, instability, stars_subsample_size


class ConvergenceWarning(Message, exceptions.ConvergenceWarning):  # type: ignore[misc]
    """A solver stopped above its tolerance; also scikit-learn's warning of that name."""


class SelectionWarning(Message, UserWarning):
    """The best alpha sits at the end of the grid, so a better one may lie beyond it."""


@archived
@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """Outcome of a search for alpha.

    Attributes
    ----------
    rule : str
        ``"stepwise"``, ``"ebic"``, ``"cv"`` or ``"stars"``.
    alphas : ndarray of shape (n_alphas,)
        The grid, from large to small.
    values : ndarray of shape (n_alphas,)
        Criterion at each alpha: EBIC (smaller is better), mean held-out log-likelihood per row
        (larger is better), or instability made monotone from sparse to dense (the least sparse
        below the threshold wins).
    index : int
        Position of the choice.
    alpha : float
        The choice, ``alphas[index]``.
    end : str
        ``"largest"`` or ``"smallest"`` when the choice sits at that end of the grid, ``""`` else.
    n_unconverged : int
        Fits of the search that stopped above their tolerance.
    details : ndarray
        Held-out log-likelihood of every fold (n_alphas, n_folds) for ``"cv"``; number of edges
        for ``"ebic"``; instability before it is made monotone for ``"stars"``.
    gamma : float or None
        That of the extended BIC, where it chose.
    """

    rule: str
    alphas: FloatArray
    values: FloatArray
    index: int
    alpha: float
    end: Literal["", "largest", "smallest"]
    n_unconverged: int = 0
    details: FloatArray = field(default_factory=lambda: np.empty(0))
    gamma: float | None = None


def alpha_grid(largest: float, n_alphas: int = 30, ratio: float = 0.01) -> FloatArray:
    """Log-spaced alphas from ``largest`` down to ``ratio * largest``.

    Parameters
    ----------
    largest : float
        Usually the smallest alpha with an empty graph. Where it is 0, nothing is correlated and
        every alpha gives the empty graph: the grid is then the single value 1.
    n_alphas : int
        Number of alphas, at least 2.
    ratio : float
        Smallest alpha as a share of the largest, between 0 and 1.

    Returns
    -------
    ndarray of shape (n_alphas,)

    Examples
    --------
    >>> alpha_grid(1.0, n_alphas=3, ratio=0.01)
    array([1.  , 0.1 , 0.01])
    """
    if n_alphas < 2:
        raise InputError("too_few_alphas", n_alphas=n_alphas)
    if not 0 < ratio < 1:
        raise InputError("alpha_ratio_range", ratio=ratio)
    if not (np.isfinite(largest) and largest >= 0):
        raise InputError("largest_alpha", largest=largest)
    if largest == 0:
        return np.ones(1)
    return np.geomspace(largest, ratio * largest, n_alphas)


def make_selection(
    rule: str,
    alphas: FloatArray,
    values: FloatArray,
    index: int,
    n_unconverged: int,
    details: FloatArray,
) -> Selection:
    """Build the outcome from the position of the choice, noting an end of the grid."""
    if len(values) != len(alphas):
        raise InputError("path_fit_count", n_values=len(values), n_alphas=len(alphas))
    end: Literal["", "largest", "smallest"] = ""
    if len(alphas) > 1 and index == 0:
        end = "largest"
    elif len(alphas) > 1 and index == len(alphas) - 1:
        end = "smallest"
    return Selection(
        rule=rule,
        alphas=alphas,
        values=values,
        index=index,
        alpha=float(alphas[index]),
        end=end,
        n_unconverged=int(n_unconverged),
        details=np.asarray(details, dtype=np.float64),
    )


def decreasing(alphas: FloatArray) -> FloatArray:
    """Return the alphas as an array, or refuse them where they do not run from large to small."""
    alphas = np.asarray(alphas, dtype=np.float64)
    if alphas.ndim != 1 or len(alphas) == 0 or not (np.diff(alphas) < 0).all():
        raise InputError("alphas_descending")
    return alphas


class Fit(Protocol):
    """What a search needs of a fit: whether its solver reached the tolerance."""

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        ...


#: Fits rows, with weights or None, at each of the alphas, in their order.
FitPath = Callable[[FloatArray, FloatArray | None, FloatArray], Iterable[Any]]
#: Mean log-likelihood per row of a fit on other rows.
Score = Callable[[Any, FloatArray, FloatArray | None], float]


def choose_by_ebic(
    fits: Iterable[Fit],
    alphas: FloatArray,
    *,
    log_likelihood: Callable[[Any], float],
    count_edges: Callable[[Any], int],
    n_samples: float,
    n_features: int,
    gamma: float = 0.5,
) -> Selection:
    """Take the alpha with the smallest extended BIC.

    Parameters
    ----------
    fits : iterable
        One fit per alpha; may be a generator, of which one fit at a time is held.
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    log_likelihood : callable
        Log-likelihood of all rows under a fit.
    count_edges : callable
        Number of edges of a fit.
    n_samples, n_features, gamma
        As in `edgewise.selection.criteria.ebic`.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.selection.choose import choose_by_ebic
    >>> from edgewise.selection.criteria import gaussian_log_likelihood
    >>> from edgewise.solvers import graphical_lasso_path
    >>> S = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.05], [0.0, 0.05, 1.0]])
    >>> alphas = np.array([0.6, 0.05, 0.01])
    >>> chosen = choose_by_ebic(
    ...     graphical_lasso_path(S, alphas),
    ...     alphas,
    ...     log_likelihood=lambda fit: 100 * gaussian_log_likelihood(fit.value, S),
    ...     count_edges=lambda fit: np.count_nonzero(np.triu(fit.value, 1)),
    ...     n_samples=100,
    ...     n_features=3,
    ... )
    >>> chosen.alpha, chosen.end
    (0.05, '')
    """

    def criterion(fit: Any) -> float:
        return ebic(log_likelihood(fit), count_edges(fit), n_samples, n_features, gamma)

    return take_smallest(fits, decreasing(alphas), criterion, count_edges)


def take_smallest(
    fits: Iterable[Fit],
    alphas: FloatArray,
    criterion: Callable[[Any], float],
    count_edges: Callable[[Any], int],
    *,
    takes_last_tie: bool = False,
) -> Selection:
    """Take the alpha whose fit has the smallest extended BIC; of equal ones, the first or last."""
    values, edges, n_unconverged = [], [], 0
    for fit in fits:
        values.append(criterion(fit))
        edges.append(count_edges(fit))
        n_unconverged += not fit.converged
    index = int(np.argmin(values))
    if takes_last_tie:
        ties = np.flatnonzero(np.array(values) <= values[index] + 1e-9 * abs(values[index]))
        index = int(ties[-1])
    return make_selection("ebic", alphas, np.array(values), index, n_unconverged, np.array(edges))


def choose_by_cv(
    X: FloatArray,
    alphas: FloatArray,
    fit_path: FitPath,
    score: Score,
    *,
    cv: Any = 5,
    sample_weight: FloatArray | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Selection:
    """Take the alpha with the largest held-out log-likelihood.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        All rows.
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    fit_path : callable
        ``fit_path(rows, weights, alphas)`` yields one fit per alpha. Must be importable by worker
        processes, as must ``score``.
    score : callable
        ``score(fit, rows, weights)``, the mean log-likelihood per row.
    cv : int or splitter or iterable of (train, test)
        Number of shuffled folds, or anything scikit-learn takes as a splitter.
    sample_weight : ndarray of shape (n,), optional
        Weights of the rows, in the fits and in the mean over held-out rows. A row is in one
        fold, whatever it weighs.
    random_state : int, Generator, RandomState or None
        Shuffles the folds when ``cv`` is a number.
    n_jobs, verbose : int
        Folds run in parallel; a progress bar is drawn when ``verbose`` is above 0.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from edgewise.selection.choose import choose_by_cv
    >>> def fit_path(rows, weights, alphas):
    ...     return [SimpleNamespace(mean=rows.mean() / (1 + a), converged=True) for a in alphas]
    >>> def score(fit, rows, weights):
    ...     return -float(np.mean((rows - fit.mean) ** 2))
    >>> X = np.random.default_rng(0).normal(5.0, 1.0, size=(20, 1))
    >>> choose_by_cv(X, np.array([1.0, 0.1, 0.01]), fit_path, score, random_state=0).end
    'smallest'
    """
    alphas = decreasing(alphas)
    folds = make_folds(X, cv, random_state)
    tasks = [
        (fit_path, score, X, sample_weight, alphas, train, test, f"Fold {k + 1} of {len(folds)}")
        for k, (train, test) in enumerate(folds)
    ]
    results = parallel_map(
        score_fold, tasks, n_jobs=n_jobs, description="Cross-validation", verbose=verbose
    )
    held_out = np.column_stack([scores for scores, _ in results])
    sizes = [weight_of(sample_weight, test) for _, test in folds]
    values = np.average(held_out, axis=1, weights=sizes)
    n_unconverged = sum(count for _, count in results)
    return make_selection("cv", alphas, values, int(np.argmax(values)), n_unconverged, held_out)


def choose_by_stars(
    X: FloatArray,
    alphas: FloatArray,
    fit_path: FitPath,
    adjacency: Callable[[Any], BoolArray],
    *,
    threshold: float = 0.05,
    n_subsamples: int = 20,
    subsample_size: int | None = None,
    sample_weight: FloatArray | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Selection:
    """Take the smallest alpha whose graphs still agree across subsamples.

    Stability approach to regularization selection: the instability of `edgewise.selection.
    instability` is made monotone from sparse to dense, and the densest graph at or below
    ``threshold`` wins [1]_.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        All rows.
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    fit_path : callable
        ``fit_path(rows, weights, alphas)`` yields one fit per alpha.
    adjacency : callable
        Boolean (p, p) matrix of a fit. Must be importable by worker processes.
    threshold : float
        Largest instability accepted, between 0 and 0.5.
    n_subsamples : int
        Subsamples drawn, at least 2.
    subsample_size : int, optional
        Rows in each; by default that of `edgewise.selection.criteria.stars_subsample_size`.
    sample_weight : ndarray of shape (n,), optional
        Weights of the rows, used in the fits.
    random_state : int, Generator, RandomState or None
        Draws the subsamples.
    n_jobs, verbose : int
        Subsamples run in parallel; a progress bar is drawn when ``verbose`` is above 0.

    Returns
    -------
    Selection

    References
    ----------
    .. [1] Liu, Roeder and Wasserman (2010). Stability approach to regularization selection
       (StARS) for high dimensional graphical models. *Advances in Neural Information Processing
       Systems* 23. https://doi.org/10.48550/arXiv.1006.3316

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from edgewise.selection.choose import choose_by_stars
    >>> def fit_path(rows, weights, alphas):
    ...     R = np.abs(np.corrcoef(rows.T))
    ...     return [SimpleNamespace(joined=R > a, converged=True) for a in alphas]
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> X[:, 1] += X[:, 0]
    >>> alphas = np.array([0.9, 0.5, 0.1])
    >>> choose_by_stars(X, alphas, fit_path, lambda fit: fit.joined, random_state=0).alpha
    0.5
    """
    alphas = decreasing(alphas)
    if not 0 < threshold < 0.5:
        raise InputError("stars_threshold", threshold=threshold)
    if n_subsamples < 2:
        raise InputError("stars_subsamples", n_subsamples=n_subsamples)
    size = stars_subsample_size(len(X)) if subsample_size is None else subsample_size
    if not 2 <= size < len(X):
        raise InputError("stars_subsample_size", n_rows=len(X), size=size)
    tasks = [
        (fit_path, adjacency, X, sample_weight, alphas, rows, f"Subsample {k + 1}")
        for k, generator in enumerate(spawn(random_state, n_subsamples))
        for rows in [np.sort(generator.choice(len(X), size, replace=False))]
    ]
    results = parallel_map(_join_subsample, tasks, n_jobs=n_jobs, description="StARS",
                           verbose=verbose)  # fmt: skip
    n_pairs = X.shape[1] * (X.shape[1] - 1) // 2
    raw = np.empty(len(alphas))
    for k in range(len(alphas)):
        joined = np.zeros(n_pairs)
        for packed, _ in results:
            joined += np.unpackbits(packed[k], count=n_pairs)
        raw[k] = instability(joined / n_subsamples)
    values = np.maximum.accumulate(raw)
    index = max(int(np.searchsorted(values, threshold, side="right")) - 1, 0)
    return make_selection("stars", alphas, values, index, sum(count for _, count in results), raw)


def score_fold(
    fit_path: FitPath, score: Score, X: FloatArray, sample_weight: FloatArray | None,
    alphas: FloatArray, train: IntArray, test: IntArray, label: str,
) -> tuple[FloatArray, int]:  # fmt: skip
    """Held-out score per alpha, and how many fits did not converge."""
    held_out = _take(sample_weight, test)
    if held_out is not None and not held_out.any():
        return np.zeros(len(alphas)), 0
    scores, n_unconverged = [], 0
    try:
        for fit in fit_path(X[train], _take(sample_weight, train), alphas):
            scores.append(score(fit, X[test], held_out))
            n_unconverged += not fit.converged
    except InputError as error:
        raise InputError("fit_failed", error.parameter, label=label, error=error) from error
    return np.array(scores), n_unconverged


def _join_subsample(
    fit_path: FitPath, adjacency: Callable[[Any], BoolArray], X: FloatArray,
    sample_weight: FloatArray | None, alphas: FloatArray, rows: IntArray, label: str,
) -> tuple[list[Any], int]:  # fmt: skip
    """Edges above the diagonal per alpha, one bit each, and the number of unconverged fits."""
    above = np.triu_indices(X.shape[1], 1)
    packed, n_unconverged = [], 0
    try:
        for fit in fit_path(X[rows], _take(sample_weight, rows), alphas):
            packed.append(np.packbits(adjacency(fit)[above]))
            n_unconverged += not fit.converged
    except InputError as error:
        raise InputError("fit_failed", error.parameter, label=label, error=error) from error
    return packed, n_unconverged


def make_folds(
    X: FloatArray, cv: Any, random_state: RandomState
) -> list[tuple[IntArray, IntArray]]:
    """Return training and test rows of each fold."""
    from sklearn.model_selection import KFold, check_cv

    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if not 2 <= cv <= len(X):
            raise InputError("cv_range", n_rows=len(X), cv=cv)
        seed = int(as_generator(random_state).integers(2**31 - 1))
        cv = KFold(n_splits=int(cv), shuffle=True, random_state=seed)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in check_cv(cv).split(X)]
    if not folds:
        raise InputError("no_folds")
    return folds


def _take(sample_weight: FloatArray | None, rows: IntArray) -> FloatArray | None:
    return None if sample_weight is None else sample_weight[rows]


def weight_of(sample_weight: FloatArray | None, rows: IntArray) -> float:
    """Return how much some rows weigh."""
    return float(len(rows)) if sample_weight is None else float(sample_weight[rows].sum())


#: Fits rows, with weights or None, at one alpha and each of the taus, in their order.
FitTaus = Callable[[float, FloatArray, FloatArray | None, FloatArray], Iterable[Any]]


@archived
@dataclass(frozen=True, kw_only=True, eq=False)
class PairSelection:
    """Outcome of a search for two strengths.

    Attributes
    ----------
    rule : str
        ``"cv"``.
    alphas : ndarray of shape (n_alphas,)
        First strengths tried, from large to small.
    taus : ndarray of shape (n_taus,)
        Second strengths tried, from small to large.
    values : ndarray of shape (n_alphas, n_taus)
        Mean held-out log-likelihood per row; larger is better.
    index : tuple of int
        Position of the choice.
    alpha, tau : float
        The choice.
    n_unconverged : int
        Fits of the search that stopped above their tolerance.
    details : ndarray of shape (n_alphas, n_taus, n_folds)
        Held-out log-likelihood of every fold.
    """

    rule: str
    alphas: FloatArray
    taus: FloatArray
    values: FloatArray
    index: tuple[int, int]
    alpha: float
    tau: float
    n_unconverged: int = 0
    details: FloatArray = field(default_factory=lambda: np.empty(0))


def choose_pair_by_cv(
    X: FloatArray,
    alphas: FloatArray,
    taus: FloatArray,
    fit_taus: FitTaus,
    score: Score,
    *,
    cv: Any = 5,
    sample_weight: FloatArray | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> PairSelection:
    """Take the two strengths with the largest held-out log-likelihood.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        All rows.
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    taus : ndarray of shape (n_taus,)
        Increasing.
    fit_taus : callable
        ``fit_taus(alpha, rows, weights, taus)`` yields one fit per tau. Must be importable by
        worker processes, as must ``score``.
    score : callable
        ``score(fit, rows, weights)``, the mean log-likelihood per row.
    cv, sample_weight, random_state
        As in `edgewise.selection.choose.choose_by_cv`.
    n_jobs, verbose : int
        The pairs of an alpha and a fold run in parallel; a progress bar is drawn when ``verbose``
        is above 0.

    Returns
    -------
    PairSelection
        Of equal values the one with the larger alpha, then the smaller tau.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from edgewise.selection.choose import choose_pair_by_cv
    >>> def fit_taus(alpha, rows, weights, taus):
    ...     mean = rows.mean() / (1 + alpha)
    ...     return [SimpleNamespace(mean=mean + tau, converged=True) for tau in taus]
    >>> def score(fit, rows, weights):
    ...     return -float(np.mean((rows - fit.mean) ** 2))
    >>> X = np.random.default_rng(0).normal(5.0, 1.0, size=(20, 1))
    >>> alphas, taus = np.array([1.0, 0.1]), np.array([0.0, 0.4, 3.0])
    >>> best = choose_pair_by_cv(X, alphas, taus, fit_taus, score, random_state=0)
    >>> best.alpha, best.tau, best.values.shape
    (0.1, 0.4, (2, 3))
    """
    alphas, taus = decreasing(alphas), _increasing(taus)
    folds = make_folds(X, cv, random_state)
    labels = [f"Fold {k + 1} of {len(folds)}" for k in range(len(folds))]
    tasks = [
        (partial(fit_taus, float(alpha)), score, X, sample_weight, taus, train, test, label)
        for alpha in alphas
        for (train, test), label in zip(folds, labels, strict=True)
    ]
    results = parallel_map(
        score_fold, tasks, n_jobs=n_jobs, description="Cross-validation", verbose=verbose
    )
    for scores, _ in results:
        if len(scores) != len(taus):
            raise InputError("tau_fit_count", n_scores=len(scores), n_taus=len(taus))
    held_out = np.array([scores for scores, _ in results])
    details = held_out.reshape(len(alphas), len(folds), len(taus)).swapaxes(1, 2)
    sizes = [weight_of(sample_weight, test) for _, test in folds]
    values = np.average(details, axis=2, weights=sizes)
    first, second = np.unravel_index(int(np.argmax(values)), values.shape)
    return PairSelection(
        rule="cv",
        alphas=alphas,
        taus=taus,
        values=values,
        index=(int(first), int(second)),
        alpha=float(alphas[first]),
        tau=float(taus[second]),
        n_unconverged=sum(count for _, count in results),
        details=details,
    )


def _increasing(taus: FloatArray) -> FloatArray:
    """Return the taus as an array, or refuse them where they do not run from small to large."""
    taus = np.asarray(taus, dtype=np.float64)
    if taus.ndim != 1 or len(taus) == 0 or not (np.diff(taus) > 0).all():
        raise InputError("taus_ascending")
    return taus
