"""Covariances and correlations of rows and moments, and given covariances."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.checks import ROUNDING
from edgewise.estimators.base.statistics import Statistics, has_cholesky, labels
from edgewise.estimators.base.table import LATENT, RANKS
from edgewise.stats import (
    Moments,
    covariance as covariance_of,
    em_covariance,
    kendall_correlation,
    latent_correlation,
    nonparanormal_correlation,
    pairwise_covariance,
    repair_covariance,
    spearman_correlation,
)
from edgewise.stats.effective import PairScores
from edgewise.stats.polychoric import describe_kinds, level_scores
from edgewise.stats.positive import (
    check_covariance,
    correlation_from_covariance,
)
from edgewise.stats.rank import average_ranks, nonparanormal

#: Share of the smallest eigenvalue of Pearson correlations below which those of answers, which are
#: estimated pair by pair, hold less of the network than Pearson's do.
NEXT_TO_SINGULAR = 0.05


def row_statistics(
    X: FloatArray,
    sample_weight: FloatArray | None,
    *,
    names: Sequence[str] | None,
    covariance: str,
    missing: str,
    repair: str | None,
    assume_centered: bool = False,
    ordinal: BoolArray | None = None,
    is_decided: bool = False,
    is_scored: bool = False,
) -> Statistics:
    """Compute the covariance of rows, stating whatever had to be done to them."""
    treatment: list[str] = []
    has_gaps = bool(np.isnan(X).any())
    n_samples = float(len(X) if sample_weight is None else sample_weight.sum())
    if covariance in RANKS:
        _refuse_for_ranks(covariance, sample_weight, is_em=has_gaps and missing == "em")
    if covariance in LATENT:
        S, n_pairs, ordinal = _latent(
            X, sample_weight, names, covariance, missing, ordinal, treatment, is_decided=is_decided
        )
        location, n_samples = np.zeros(len(S)), n_pairs if has_gaps else n_samples
        if is_decided and repair is None and not has_cholesky(S):
            repair = "clip"
    elif has_gaps and covariance in ("spearman", "kendall"):
        location, S = np.zeros(X.shape[1]), _ranks_with_gaps(X, covariance, names, treatment)
    elif has_gaps:
        rows = normal_scores(X) if covariance in RANKS else X
        location, S = _covariance_with_gaps(rows, sample_weight, names, missing, treatment)
        if assume_centered:
            raise InputError("centered_with_missing")
        if covariance in RANKS:
            location, S = np.zeros_like(location), correlation_from_covariance(S)
    elif covariance in RANKS:
        location, S = np.zeros(X.shape[1]), _rank_correlation(X, covariance)
    else:
        location, S = covariance_of(X, sample_weight=sample_weight, assume_centered=assume_centered)
        _refuse_constant(np.abs(X).max(axis=0), S, names)
    is_by_pairs = (has_gaps and missing == "pairwise") or covariance in ("spearman", "kendall")
    is_sure = is_scored or not (is_by_pairs or covariance in LATENT)
    S = _positive(S, names, repair, treatment, is_sure=is_sure)
    statistics = Statistics(
        location=location,
        S=S,
        scale=np.ones(len(S)),
        n_samples=n_samples,
        n_rows=max(float(len(X)), n_samples),
        treatment=tuple(treatment),
        scores=_scores(X, sample_weight, covariance, ordinal),
        ordinal=ordinal if covariance in LATENT else None,
        may_shrink=covariance == "auto" and ordinal is not None and bool(ordinal.any()),
    )
    return statistics.on_correlation_scale() if covariance == "correlation" else statistics


def _scores(
    X: FloatArray, sample_weight: FloatArray | None, covariance: str, ordinal: BoolArray | None
) -> PairScores:
    """Return the scores that test pairs of columns, as their correlations see them."""
    if covariance in ("spearman", "kendall"):
        # The derivative of a latent correlation by Spearman's, or by two thirds of Kendall's.
        return PairScores(
            values=_where_seen(average_ranks, X),
            weights=sample_weight,
            inflation=(np.pi / 3.0) ** 2,
        )
    if covariance == "nonparanormal":
        return PairScores(values=normal_scores(X), weights=sample_weight)
    if covariance not in LATENT or ordinal is None or not ordinal.any():
        return PairScores(values=X, weights=sample_weight)
    values, kept = X.copy(), np.ones(X.shape[1])
    for k in np.flatnonzero(ordinal):
        values[:, k], kept[k] = level_scores(X[:, k], sample_weight)
    # The mean of 1 / (v_i v_j) over all pairs.
    inverse, p = 1.0 / kept, len(kept)
    inflation = (inverse.sum() ** 2 - np.sum(inverse**2)) / max(p * (p - 1), 1)
    return PairScores(
        values=values, weights=sample_weight, inflation=max(inflation, 1.0), counts_tails=False
    )


def precomputed_statistics(
    S: FloatArray,
    *,
    names: Sequence[str] | None,
    n_samples: float | None,
    repair: str | None,
) -> Statistics:
    """Validate a user-supplied covariance."""
    treatment: list[str] = []
    S = check_covariance(S, names, allow_indefinite=True)
    S = _positive(S, names, repair, treatment, is_sure=False)
    return Statistics(
        location=np.zeros(len(S)),
        S=S,
        scale=np.ones(len(S)),
        n_samples=None if n_samples is None else float(n_samples),
        n_rows=n_samples,
        treatment=tuple(treatment),
    )


def moment_statistics(
    moments: Moments,
    *,
    names: Sequence[str] | None,
    repair: str | None,
    assume_centered: bool = False,
) -> Statistics:
    """Take mean and covariance as they were summed up, chunk by chunk."""
    treatment: list[str] = []
    location, S = moments.mean, moments.covariance()
    # Of a constant column the mean is the only value there is.
    _refuse_constant(np.abs(location), S, names)
    if assume_centered:
        S = S + np.outer(location, location)
        location = np.zeros_like(location)
    return Statistics(
        location=location,
        S=_positive(S, names, repair, treatment, is_sure=True),
        scale=np.ones(len(S)),
        n_samples=moments.weight,
        n_rows=max(float(moments.n_samples), moments.weight),
        treatment=tuple(treatment),
    )


def _refuse_for_ranks(covariance: str, sample_weight: FloatArray | None, *, is_em: bool) -> None:
    # A weight that all rows share says how many they count for, and leaves ranks as they are.
    if sample_weight is not None and np.ptp(sample_weight) > 0:
        raise InputError("correlation_without_weights", covariance=covariance)
    if is_em and covariance != "nonparanormal":
        raise InputError("correlation_without_em", covariance=covariance)


def _rank_correlation(X: FloatArray, covariance: str) -> FloatArray:
    if covariance == "nonparanormal":
        return nonparanormal_correlation(X)
    return spearman_correlation(X) if covariance == "spearman" else kendall_correlation(X)


def _latent(
    X: FloatArray,
    sample_weight: FloatArray | None,
    names: Sequence[str] | None,
    covariance: str,
    missing: str,
    ordinal: BoolArray | None,
    treatment: list[str],
    *,
    is_decided: bool,
) -> tuple[FloatArray, float, BoolArray]:
    """Return correlations by the kinds of each pair, the mean number of rows of a pair, and kinds.

    Where those of ordered answers are no good, all columns are taken for measurements, unless
    that has been decided for the whole table.
    """
    n_missing = np.isnan(X).sum(axis=0)
    if missing == "em" and n_missing.any():
        raise InputError("polychoric_without_em", covariance=covariance)
    if ordinal is None:
        ordinal = np.ones(X.shape[1], dtype=bool)
    found = latent_correlation(X, ordinal=ordinal, sample_weight=sample_weight, names=names)
    if covariance == "auto":
        treatment.append(f'covariance="auto": {describe_kinds(ordinal, names)}')
    if found.n_corrected:
        treatment.append(
            f"half a row was put into the empty cell of {found.n_corrected} of the tables of two "
            "by two answers"
        )
    n_pairs = found.n_samples[np.triu_indices(len(n_missing), min(1, len(n_missing) - 1))]
    if n_missing.any():
        treatment.append(
            f'missing="pairwise": {_about_gaps(n_missing)}; each correlation is from the rows that '
            f"have both columns, {n_pairs.min():.0f} at least and {n_pairs.mean():.0f} on average, "
            "which counts as the number of rows"
        )
    R = found.correlation
    if covariance == "auto" and ordinal.any() and not is_decided:
        instead = pearson_instead(R, X, sample_weight, names)
        if instead is not None:
            R, why = instead
            ordinal = np.zeros_like(ordinal)
            treatment.append(why)
    return R, float(n_pairs.mean()), ordinal


def pearson_instead(
    R: FloatArray,
    X: FloatArray,
    sample_weight: FloatArray | None = None,
    names: Sequence[str] | None = None,
) -> tuple[FloatArray, str] | None:
    """Return Pearson correlations, and why, where those of ordered answers, R, are no good.

    Repaired, they would be next to singular, and their partial correlations noise.
    """
    measured = np.zeros(len(R), dtype=bool)
    pearson = latent_correlation(
        X, ordinal=measured, sample_weight=sample_weight, names=names
    ).correlation
    smallest, usual = (float(np.linalg.eigvalsh(matrix)[0]) for matrix in (R, pearson))
    if has_cholesky(R) and smallest >= NEXT_TO_SINGULAR * usual:
        return None
    why = (
        f"these correlations do not fit together (their smallest eigenvalue is {smallest:.3g}, "
        f"that of Pearson correlations {usual:.3g}), as happens with few rows or where other "
        "columns decide one, and Pearson correlations of all columns take their place"
    )
    return pearson, why


def _ranks_with_gaps(
    X: FloatArray, covariance: str, names: Sequence[str] | None, treatment: list[str]
) -> FloatArray:
    """Correlate the ranks of each pair of columns over the rows that have both."""
    is_seen = ~np.isnan(X)
    S = np.eye(X.shape[1])
    fewest = len(X)
    for i, j in combinations(range(len(S)), 2):
        both = X[is_seen[:, i] & is_seen[:, j]][:, [i, j]]
        if len(both) < 2 or (both == both[0]).all(axis=0).any():
            raise InputError("too_few_common_rows", labels=labels(names, [i, j]), n_both=len(both))
        S[i, j] = S[j, i] = _rank_correlation(both, covariance)[0, 1]
        fewest = min(fewest, len(both))
    n_missing = (~is_seen).sum(axis=0)
    treatment.append(
        f'missing="pairwise": {_about_gaps(n_missing)}; each correlation is from the rows that '
        f"have both columns, {fewest} at least"
    )
    return S


def normal_scores(X: FloatArray) -> FloatArray:
    """Nonparanormal transform of each column by the ranks of what is there."""
    return _where_seen(nonparanormal, X)


def _where_seen(score: Callable[[FloatArray], FloatArray], X: FloatArray) -> FloatArray:
    """Score the values of each column that are there."""
    if not np.isnan(X).any():
        return score(X)
    scores = np.full_like(X, np.nan)
    for k in range(X.shape[1]):
        seen = ~np.isnan(X[:, k])
        scores[seen, k] = score(X[seen, k : k + 1])[:, 0]
    return scores


def row_scores(X: FloatArray, covariance: str, ordinal: BoolArray | None) -> FloatArray | None:
    """Standardise rows, or their normal scores, to have the correlations of `row_statistics`.

    None where values are missing or correlations are not of products of rows.
    """
    is_plain = covariance in ("empirical", "correlation")
    is_plain |= covariance == "auto" and not np.any(ordinal)
    if np.isnan(X).any() or not (is_plain or covariance == "nonparanormal"):
        return None
    Z = X if is_plain else nonparanormal(X)
    Z = Z - Z.mean(axis=0)
    return np.asarray(Z / Z.std(axis=0))


def _about_gaps(n_missing: IntArray) -> str:
    """Count missing values, and the columns that have any."""
    n_values, n_columns = int(n_missing.sum()), int(np.count_nonzero(n_missing))
    values = "1 missing value" if n_values == 1 else f"{n_values} missing values"
    return f"{values} in {'1 column' if n_columns == 1 else f'{n_columns} columns'}"


def _covariance_with_gaps(
    X: FloatArray,
    sample_weight: FloatArray | None,
    names: Sequence[str] | None,
    missing: str,
    treatment: list[str],
) -> tuple[FloatArray, FloatArray]:
    n_missing = np.isnan(X).sum(axis=0)
    found = _about_gaps(n_missing)
    if missing == "pairwise":
        pairs = pairwise_covariance(X, sample_weight=sample_weight, names=names)
        fewest = int(pairs.n_pairs.min())
        treatment.append(
            f'missing="pairwise": {found}; each covariance is from the rows that have both '
            f"columns, {fewest} at least"
        )
        return pairs.location, pairs.covariance
    expected = em_covariance(X, sample_weight=sample_weight, names=names)
    ridge = f" and a ridge of {expected.ridge:g}" if expected.ridge else ""
    treatment.append(
        f'missing="em": {found}; Gaussian maximum likelihood by {expected.n_iter} steps of EM'
        f"{ridge}"
    )
    if not expected.converged:
        warnings.warn(DataWarning("em_not_converged", n_iter=expected.n_iter), stacklevel=6)
    return expected.location, expected.covariance


def _refuse_constant(size: FloatArray, S: FloatArray, names: Sequence[str] | None) -> None:
    """Refuse columns with no more spread than values of that size have by rounding."""
    flat = np.flatnonzero(np.sqrt(np.maximum(S.diagonal(), 0.0)) <= ROUNDING * size).tolist()
    if flat:
        raise InputError("covariance_constant_columns", labels=labels(names, flat))


def _positive(
    S: FloatArray,
    names: Sequence[str] | None,
    repair: str | None,
    treatment: list[str],
    *,
    is_sure: bool,
) -> FloatArray:
    """Return a positive semidefinite covariance, or raise with its smallest eigenvalue."""
    if repair is not None:
        repaired, record = repair_covariance(S, repair)  # type: ignore[arg-type]
        if record["amount"] > 0:
            treatment.append(
                f'repair="{repair}": the smallest eigenvalue of the correlations was raised from '
                f"{record['smallest_eigenvalue_before']:.3g} to "
                f"{record['smallest_eigenvalue_after']:.3g} (amount {record['amount']:.3g})"
            )
        return repaired
    if is_sure or has_cholesky(correlation_from_covariance(S)):
        return S
    return check_covariance(S, names)
