"""Choosing two penalty strengths at a time by held-out likelihood."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import parallel_map
from edgewise._core.typing import FloatArray, RandomState
from edgewise.selection.grid import decreasing
from edgewise.selection.search import Score, make_folds, score_fold, weight_of

#: Fits rows, with weights or None, at one alpha and each of the taus, in their order.
FitTaus = Callable[[float, FloatArray, FloatArray | None, FloatArray], Iterable[Any]]


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
        As in `edgewise.selection.choose_by_cv`.
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
    >>> from edgewise.selection import choose_pair_by_cv
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
            raise InputError(f"There were {len(scores)} fits for {len(taus)} taus.")
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
        raise InputError("taus must be a non-empty list of numbers from small to large.")
    return taus
