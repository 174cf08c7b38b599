"""From rows, or a covariance handed in, to the matrix that a solver gets."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, NoReturn, Self

import numpy as np
from scipy import linalg

from edgewise._core.constraints import Constraint, Number, OneOf
from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.data.checks import ROUNDING, check_columns
from edgewise.estimators.base.table import LATENT, RANKS
from edgewise.io.messages import quote_names
from edgewise.selection.criteria import smallest_p_value
from edgewise.solvers.linalg.dense import inverse_and_log_determinant
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
    find_relations,
    rows_are_independent,
)
from edgewise.stats.rank import average_ranks, nonparanormal

MISSING: Final = ("error", "pairwise", "em")
REPAIRS: Final = ("ridge", "clip")
#: Constraints of the parameters that most estimators of a covariance have.
CONSTRAINTS: Final[dict[str, Constraint]] = {
    "missing": OneOf(*MISSING),
    "repair": OneOf(None, *REPAIRS),
    "tol": Number(above=0),
    "max_iter": Number(at_least=1),
}
#: Above this ratio of the largest to the smallest standard deviation, one alpha cannot suit all.
SCALE_RATIO: Final = 1e4
#: Correlations of at least this size are 1 up to rounding.
PERFECT: Final = 1.0 - 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistics:
    """What a solver needs to know of the data.

    Attributes
    ----------
    location : ndarray of shape (p,)
        Mean of the columns; 0 on the scale of ranks and for a covariance handed in.
    S : ndarray of shape (p, p)
        Covariance, or correlation, as the solver sees it.
    scale : ndarray of shape (p,)
        ``S * outer(scale, scale)`` is in the units of the data.
    n_samples : float or None
        Rows, or the sum of their weights; None where nobody knows.
    n_rows : float or None
        What a grid of alphas goes by: rows, or the sum of their weights where that is more, so
        that a weight of 2 is two rows, and weights that add up to 1 leave the grid as it is.
    treatment : tuple of str
        What was done to the data on the way.
    scores : PairScores or None
        What pairs of columns are tested by, and how many rows their correlations are worth; None
        for a covariance handed in.
    ordinal : ndarray of bool, shape (p,), or None
        Columns whose correlations are those of ordered answers.
    may_shrink : bool
        Whether `steadied` may change these correlations.
    """

    location: FloatArray
    S: FloatArray
    scale: FloatArray
    n_samples: float | None
    n_rows: float | None
    treatment: tuple[str, ...] = ()
    scores: PairScores | None = None
    ordinal: BoolArray | None = None
    may_shrink: bool = False

    @property
    def n_effective(self) -> float:
        """Gaussian rows whose correlations vary as much as these; 0 where nobody knows."""
        return (self.n_samples or 0.0) if self.scores is None else self.scores.n_effective

    def smallest_p_value(self, allowed: BoolArray | None = None) -> float:
        """Test whether any two columns depend, corrected for the number of pairs by Bonferroni.

        NaN where the number of rows is not known.
        """
        if self.scores is not None:
            return self.scores.smallest_p_value(allowed)
        S = self.S
        if allowed is not None:
            S = np.where(allowed | np.eye(len(S), dtype=bool), S, 0.0)
        return smallest_p_value(S, self.n_samples or np.nan)

    def steadied(self, part: float = 1.0) -> Self:
        r"""Return correlations of ordered answers shrunk towards those of their scores.

        Polychoric correlations undo what the levels take off those of scores, and with few rows
        multiply the noise, most of all in the inverse. With the correlations :math:`R` of the
        scores, :math:`D` the difference of the two, and :math:`\bar\kappa` the mean variance
        factor of the pairs, the share that is taken off :math:`D` is

        .. math:: \min\Bigl(1, \frac{4 (\bar\kappa - 1) p (p - 1)}
            {n \operatorname{tr}(R^{-1} D R^{-1} D)}\Bigr),

        four times the expected share of the noise in it, or a ``part`` of that: it falls like 1/n.
        """
        if (share := self.noise_share()) == 0.0:
            return self
        sentence = (
            f"for the graph, these correlations are shrunk by {share:.0%} towards those of the "
            "mean latent value of each answer, which vary less between samples, and half as far "
            "for the weights and tests of its edges"
        )
        return replace(self.shrunk(part * share), treatment=(*self.treatment, sentence))

    def noise_share(self) -> float:
        """Return the share that `steadied` takes off; 0 where nothing may be shrunk."""
        scores = self.scores
        if not self.may_shrink or scores is None or scores.inflation == 1.0:
            return 0.0
        p, R = len(self.S), scores.correlation
        n = scores.n_effective * scores.inflation
        Theta, _ = inverse_and_log_determinant(np.ascontiguousarray(R))
        if Theta is None:
            return 1.0 if _has_cholesky(R) else 0.0
        rotated = Theta @ (self.S - R)
        noise = 4.0 * (scores.inflation - 1.0) * p * (p - 1) / n
        total = float(np.sum(rotated * rotated.T))
        return min(1.0, noise / total) if noise < total else 1.0

    def shrunk(self, share: float) -> Self:
        """Return correlations of ordered answers with a share of those of their scores."""
        if share == 0.0 or self.scores is None:
            return self
        inflation = 1.0 + (1.0 - share) * (self.scores.inflation - 1.0)
        return replace(
            self,
            S=(1.0 - share) * self.S + share * self.scores.correlation,
            scores=replace(self.scores, inflation=inflation),
        )

    def on_correlation_scale(self) -> Self:
        """Return the same statistics with a unit diagonal, the units moved into ``scale``."""
        deviation = np.sqrt(self.S.diagonal())
        S = correlation_from_covariance(self.S)
        return replace(self, S=S, scale=self.scale * deviation)

    def on_common_scale(self) -> Self:
        """Return the same statistics in the one unit that makes the mean variance 1."""
        unit = float(np.mean(self.S.diagonal()))
        return replace(self, S=self.S / unit, scale=self.scale * np.sqrt(unit))

    def perfect_pair(self) -> tuple[int, int] | None:
        """Find a pair of variables with a correlation of 1 or -1, if there is one."""
        R = np.abs(correlation_from_covariance(self.S))
        np.fill_diagonal(R, 0.0)
        first, second = np.unravel_index(int(R.argmax()), R.shape)
        return (int(first), int(second)) if R[first, second] >= PERFECT else None


@dataclass(frozen=True, kw_only=True)
class Summarizer:
    """How the statistics of a table are computed; the fields are parameters of estimators.

    Attributes
    ----------
    names : list of str or None
        Names of the columns, for messages.
    covariance : str
        What stands for the covariance, see `GaussianGraph`.
    missing : {"error", "pairwise", "em"}
        What to do with NaN.
    repair : {None, "ridge", "clip"}
        What to do with a covariance that is not positive definite.
    assume_centered : bool
        Take the mean as 0.
    ordinal : ndarray of bool, shape (p,), or None
        Columns of ordered answers, for ``covariance="auto"``: those of the whole table, so that
        folds agree on them.
    is_decided : bool
        Whether ``ordinal`` is what the correlations of the whole table have been, so that there is
        nothing left to decide; those that do not fit together in a part of the rows are clipped.
    """

    names: list[str] | None
    covariance: str = "empirical"
    missing: str = "error"
    repair: str | None = None
    assume_centered: bool = False
    ordinal: BoolArray | None = None
    is_decided: bool = False

    def decided_by(self, statistics: Statistics) -> Self:
        """Return how parts of the rows are summarized, once all of them have been."""
        if self.covariance not in LATENT:
            return self
        return replace(self, ordinal=statistics.ordinal, is_decided=True)

    def of_rows(
        self, X: FloatArray, sample_weight: FloatArray | None, *, is_fold: bool = True
    ) -> Statistics:
        """Statistics of some rows; those of weight 0 do not count.

        Columns that are copies of each other are refused, but in a fold they may be so by chance.
        """
        X, sample_weight = positive_rows(X, sample_weight)
        self._check(X, is_fold=is_fold)
        return row_statistics(X, sample_weight, **vars(self))

    def of_scored_rows(self, X: FloatArray, sample_weight: FloatArray | None) -> FloatArray:
        """Covariance of rows that a fit is judged by; without repair, it may be indefinite."""
        X, sample_weight = positive_rows(X, sample_weight)
        self._check(X, is_fold=True)
        return row_statistics(X, sample_weight, **vars(self), is_scored=True).S

    def with_ridge(
        self, X: FloatArray, sample_weight: FloatArray | None, flat: Sequence[int]
    ) -> Statistics:
        """Statistics of checked rows, with a ridge for the sake of some constant columns."""
        if not flat:
            return row_statistics(X, sample_weight, **vars(self))
        if len(flat) == X.shape[1]:
            refuse_constant(flat, X.shape[1], self.names)
        varying = np.setdiff1d(np.arange(X.shape[1]), flat)
        options = {**vars(self), "names": labels(self.names, varying.tolist())}
        return add_ridge(row_statistics(X[:, varying], sample_weight, **options), X, flat)

    def of_arranged_rows(
        self, X: FloatArray, sample_weight: FloatArray | None, *, is_fold: bool = True
    ) -> ArrangedStatistics:
        """Statistics of some rows, with the columns in an order of their own."""
        X, sample_weight = positive_rows(X, sample_weight)
        self._check(X, is_fold=is_fold)
        order = arrangement(X)
        options = {**vars(self), "names": labels(self.names, order.tolist())}
        statistics = row_statistics(np.ascontiguousarray(X[:, order]), sample_weight, **options)
        return ArrangedStatistics(**vars(statistics), arrangement=order)

    def scores_of(self, X: FloatArray) -> FloatArray | None:
        """Standardised rows whose correlations are used; None where they are of other kinds."""
        return None if self.assume_centered else row_scores(X, self.covariance, self.ordinal)

    def _check(self, X: FloatArray, *, is_fold: bool) -> None:
        """Refuse columns that no statistics can be computed of."""
        check_columns(
            X,
            self.names,
            allow_missing=self.missing != "error",
            allow_identical=is_fold or self.repair is not None,
        )

    def of_table(
        self,
        table: FloatArray | Moments,
        sample_weight: FloatArray | None,
        n_samples: float | None = None,
    ) -> Statistics:
        """Statistics of all that was handed to ``fit``: rows, a covariance, or moments."""
        if isinstance(table, Moments):
            statistics = moment_statistics(
                table,
                names=self.names,
                repair=self.repair,
                assume_centered=self.assume_centered,
            )
            is_scaled = self.covariance == "correlation"
            return statistics.on_correlation_scale() if is_scaled else statistics
        if self.covariance == "precomputed":
            return precomputed_statistics(
                table, names=self.names, n_samples=n_samples, repair=self.repair
            )
        return self.of_rows(table, sample_weight, is_fold=False)


def positive_rows(
    X: FloatArray, sample_weight: FloatArray | None
) -> tuple[FloatArray, FloatArray | None]:
    """Leave out the rows of weight 0."""
    if sample_weight is None or sample_weight.all():
        return X, sample_weight
    return X[sample_weight > 0], sample_weight[sample_weight > 0]


def edge_weights(weights: Any, n_features: int) -> FloatArray | None:
    """Check that there is a weight for every pair of columns."""
    if weights is None:
        return None
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n_features, n_features):
        raise InputError(
            f"weights must have one row and column per variable, ({n_features}, {n_features}), "
            f"got {given.shape}."
        )
    return given


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
        if is_decided and repair is None and not _has_cholesky(S):
            repair = "clip"
    elif has_gaps and covariance in ("spearman", "kendall"):
        location, S = np.zeros(X.shape[1]), _ranks_with_gaps(X, covariance, names, treatment)
    elif has_gaps:
        rows = normal_scores(X) if covariance in RANKS else X
        location, S = _covariance_with_gaps(rows, sample_weight, names, missing, treatment)
        if assume_centered:
            raise InputError(
                "assume_centered=True cannot be combined with missing values. Fill them first."
            )
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
    """Take a covariance as given, once it is one."""
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


def warn_of_scales(statistics: Statistics, names: Sequence[str] | None) -> None:
    """Warn where columns differ so much in size that one alpha cannot suit them all."""
    deviation = np.sqrt(statistics.S.diagonal())
    small, large = int(deviation.argmin()), int(deviation.argmax())
    ratio = deviation[large] / deviation[small]
    if ratio > SCALE_RATIO:
        warnings.warn(
            f"The standard deviations of columns {quote_names(labels(names, [large, small]))} "
            f"differ by a factor of {ratio:.2g}, so that one alpha cannot suit both. Pass "
            'covariance="correlation" to penalise all columns alike.',
            DataWarning,
            stacklevel=3,
        )


def labels(names: Sequence[str] | None, columns: Sequence[int]) -> list[str]:
    """Names of some columns, for a message."""
    return [f"x{k}" if names is None else names[k] for k in columns]


def _refuse_for_ranks(covariance: str, sample_weight: FloatArray | None, *, is_em: bool) -> None:
    # A weight that all rows share says how many they count for, and leaves ranks as they are.
    if sample_weight is not None and np.ptp(sample_weight) > 0:
        raise InputError(
            f'covariance="{covariance}" does not take sample_weight. Pass covariance="empirical" '
            'or "correlation".'
        )
    if is_em and covariance != "nonparanormal":
        raise InputError(
            f'covariance="{covariance}" has no likelihood, so that missing="em" cannot fill the '
            'gaps (NaN). Pass missing="pairwise", or covariance="nonparanormal".'
        )


def _rank_correlation(X: FloatArray, covariance: str) -> FloatArray:
    if covariance == "nonparanormal":
        return nonparanormal_correlation(X)
    return spearman_correlation(X) if covariance == "spearman" else kendall_correlation(X)


#: Share of the smallest eigenvalue of Pearson correlations below which those of answers, which are
#: estimated pair by pair, hold less of the network than Pearson's do.
NEXT_TO_SINGULAR = 0.05


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
        raise InputError(
            f'covariance="{covariance}" takes missing answers by pairs, not by EM. Pass '
            'missing="pairwise".'
        )
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
    if _has_cholesky(R) and smallest >= NEXT_TO_SINGULAR * usual:
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
            raise InputError(
                f"Columns {quote_names(labels(names, [i, j]))} have too few rows in common, "
                f"{len(both)}, for a correlation. Drop one of them."
            )
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
        warnings.warn(
            f"EM for the missing values stopped after {expected.n_iter} steps before it converged; "
            'the covariance is approximate. Pass missing="pairwise", or drop columns with many '
            "missing values.",
            DataWarning,
            stacklevel=6,
        )
    return expected.location, expected.covariance


def _refuse_constant(size: FloatArray, S: FloatArray, names: Sequence[str] | None) -> None:
    """Refuse columns with no more spread than values of that size have by rounding."""
    flat = np.flatnonzero(np.sqrt(np.maximum(S.diagonal(), 0.0)) <= ROUNDING * size).tolist()
    if flat:
        raise InputError(
            f"Columns {quote_names(labels(names, flat))} are constant up to rounding. "
            "Drop them, or take their mean off."
        )


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
    if is_sure or _has_cholesky(correlation_from_covariance(S)):
        return S
    return check_covariance(S, names)


def _has_cholesky(R: FloatArray) -> bool:
    """Whether correlations are positive semidefinite up to rounding, without eigenvalues."""
    try:
        linalg.cholesky(R + 1e-9 * np.eye(len(R)), check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


#: Values that differ by less, as a share of the range of their column, are equal.
DECIMALS = 9


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrangedStatistics(Statistics):
    """Statistics whose variables are in the order of `arrangement`.

    Attributes
    ----------
    arrangement : ndarray of shape (p,)
        Column of the data that each variable is.
    """

    arrangement: IntArray

    def restored(self, values: AnyArray) -> AnyArray:
        """Put one value per variable, or per pair of variables, back into the data's order."""
        result = np.empty_like(values)
        result[np.ix_(*[self.arrangement] * values.ndim)] = values
        return result

    def arranged(self, values: AnyArray) -> AnyArray:
        """Put a value per pair of columns into the order of the variables."""
        return np.ascontiguousarray(values[np.ix_(self.arrangement, self.arrangement)])


def arrangement(X: FloatArray) -> IntArray:
    """Order the columns by their values, whatever their position, unit and sign.

    The key of a column is the set of its values as shares of its range, from the end that gives
    the smaller key; neither a shift, nor a factor, nor another order of the rows, nor their
    repetition changes it. Only columns with the same set of values are compared row by row.
    """
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    # Halves do not overflow.
    width = high / 2 - low / 2
    keys = zip(_keys((X / 2 - low / 2) / width), _keys((high / 2 - X / 2) / width), strict=True)
    smaller = [min(pair) for pair in keys]
    return np.array(sorted(range(len(smaller)), key=smaller.__getitem__), dtype=np.int64)


def _keys(shares: FloatArray) -> list[tuple[bytes, bytes]]:
    """Write down the values of each column, once in order and once row by row."""
    # Adding zero turns -0.0 into 0.0.
    columns = np.ascontiguousarray((np.round(shares, DECIMALS) + 0.0).T)
    ordered = np.sort(columns, axis=1)
    is_new = np.ones(ordered.shape, dtype=bool)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return [
        (values[new].tobytes(), column.tobytes())
        for values, new, column in zip(ordered, is_new, columns, strict=True)
    ]


#: What is added to every variance for the sake of constant columns, as a share of their mean.
RIDGE: Final = 1e-3


def constant_columns(X: FloatArray) -> list[int]:
    """Find columns that vary by nothing but rounding, among the values that are there.

    A single row is no reason to call its columns constant.
    """
    if len(X) < 2:
        return []
    flat = []
    for k, column in enumerate(X.T):
        seen = column[~np.isnan(column)]
        if len(seen):
            size = float(np.abs(seen).max())
            if float(seen.std()) <= ROUNDING * size:
                flat.append(k)
    return flat


def refuse_constant(flat: Sequence[int], n_columns: int, names: Sequence[str] | None) -> NoReturn:
    """Name the constant columns and say what can be done about them."""
    if len(flat) == n_columns:
        which = "The only column has" if n_columns == 1 else f"All {n_columns} columns have"
        raise InputError(f"{which} one value in every row, so that there is nothing to learn.")
    verb, them = ("has", "it") if len(flat) == 1 else ("have", "them")
    raise InputError(
        f"{len(flat)} of {n_columns} columns {verb} one value in every row: "
        f'{quote_names(labels(names, flat))}. Pass constant="drop" to leave {them} out, or '
        f'constant="ridge" to add {RIDGE:g} of the mean variance to every variance.'
    )


def add_ridge(statistics: Statistics, X: FloatArray, flat: Sequence[int]) -> Statistics:
    """Extend the statistics of the varying columns of X to all of them, on record."""
    n_columns = X.shape[1]
    varying = np.setdiff1d(np.arange(n_columns), flat)
    ridge = RIDGE * float(np.mean(statistics.S.diagonal()))
    S = ridge * np.eye(n_columns)
    S[np.ix_(varying, varying)] += statistics.S
    location = np.empty(n_columns)
    location[varying] = statistics.location
    location[flat] = np.nanmean(X[:, flat], axis=0)
    sentence = (
        f'constant="ridge": {ridge:.3g} added to every variance because of {len(flat)} constant '
        f"{'column' if len(flat) == 1 else 'columns'}"
    )
    return replace(
        statistics,
        location=location,
        S=S,
        scale=np.ones(n_columns),
        treatment=(*statistics.treatment, sentence),
    )


def refuse_relations(statistics: Statistics, X: FloatArray, names: Sequence[str] | None) -> None:
    """Raise an `InputError` that names columns bound by an exact linear relation.

    With no more different rows than columns there are always such relations, and only those
    between two columns are looked for.
    """
    has_few_rows = rows_are_independent(X)
    relations = [] if has_few_rows else find_relations(correlation_from_covariance(statistics.S))
    if not (relations or has_few_rows):
        return
    n_different = 0 if has_few_rows else len(np.unique(X, axis=0))
    if len(statistics.S) - len(relations) < n_different - 1:
        bound = min(relations, key=len)
    else:
        bound = list(statistics.perfect_pair() or ())
    if bound:
        raise InputError(
            f"Columns {quote_names(labels(names, bound))} are bound by an exact linear relation: "
            "each follows from the others, so that no direction between them can be learned. Drop "
            'one of them, or pass repair="ridge".'
        )
