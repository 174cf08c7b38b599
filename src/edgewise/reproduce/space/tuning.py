"""Choosing a point of a grid: by the truth, which only an oracle knows, or by held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgewise._core.typing import FloatArray, IntArray
from edgewise.metrics import edge_metrics, gaussian_kl
from edgewise.reproduce.space.methods import Fit, Grid, Method


@dataclass(frozen=True, kw_only=True, eq=False)
class Tuned:
    """What a method gives on one data set.

    Attributes
    ----------
    oracle : Fit
        Of smallest Kullback-Leibler divergence from the truth.
    cross_validated : Fit
        Of largest likelihood on held-out rows.
    n_unconverged : int
        Fits to all rows that ended above the tolerance.
    """

    oracle: Fit
    cross_validated: Fit
    n_unconverged: int


def second_moments(X: FloatArray) -> FloatArray:
    """Covariance of rows whose mean is known to be zero."""
    S: FloatArray = X.T @ X / len(X)
    return S


def log_likelihood(precision: FloatArray, S: FloatArray) -> float:
    """Mean Gaussian log-likelihood of rows with mean zero and second moments S, in nats."""
    _, logdet = np.linalg.slogdet(precision)
    constant = len(S) * np.log(2 * np.pi)
    return float(logdet - np.sum(S * precision) - constant) / 2


def split(n_samples: int, n_folds: int, rng: np.random.Generator) -> list[IntArray]:
    """Deal the rows out to folds at random."""
    order = rng.permutation(n_samples)
    return [order[fold::n_folds] for fold in range(n_folds)]


def divergences(fits: Sequence[Fit | None], truth: FloatArray) -> FloatArray:
    """Divergence of each fit from the truth, infinite where there is no fit."""
    return np.array([np.inf if fit is None else gaussian_kl(truth, fit.precision) for fit in fits])


def held_out(method: Method, X: FloatArray, grid: Grid, folds: Sequence[IntArray]) -> FloatArray:
    """Cross-validated log-likelihood per row of each point of the grid.

    A point is out of question as soon as one fold has no fit.
    """
    total = np.zeros(1)
    for test in folds:
        train = np.delete(X, test, axis=0)
        S = second_moments(X[test])
        scores = [
            -np.inf if fit is None else log_likelihood(fit.precision, S)
            for fit in method(second_moments(train), grid)
        ]
        total = total + len(test) * np.array(scores)
    return total / len(X)


def tune(
    method: Method,
    X: FloatArray,
    truth: FloatArray,
    grid: Grid,
    folds: Sequence[IntArray],
) -> Tuned:
    """Fit the whole grid and choose both ways."""
    fits = method(second_moments(X), grid)
    return Tuned(
        oracle=best(fits, -divergences(fits, truth)),
        cross_validated=best(fits, held_out(method, X, grid, folds)),
        n_unconverged=count_unconverged(fits),
    )


def best(fits: Sequence[Fit | None], scores: FloatArray) -> Fit:
    """Take the fit of the highest score, the first of equals."""
    pairs = [(score, fit) for score, fit in zip(scores, fits, strict=True) if fit is not None]
    return max(pairs, key=lambda pair: pair[0])[1]


def count_unconverged(fits: Sequence[Fit | None]) -> int:
    """Count the fits that ended above the tolerance."""
    return sum(fit is not None and not fit.converged for fit in fits)


def measures(fit: Fit, truth: FloatArray) -> dict[str, float]:
    """How far a fit is from the truth by the four measures of the paper, and its settings."""
    edges = edge_metrics(truth, fit.adjacency)
    return {
        "kl": gaussian_kl(truth, fit.precision),
        "precision": edges.precision,
        "recall": edges.recall,
        "frobenius": float(np.linalg.norm(fit.precision - truth)),
        "edges": edges.tp + edges.fp,
        **fit.settings,
    }
