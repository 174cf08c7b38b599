"""Sufficient statistics of the estimators, and the parameters of their computation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from scipy import linalg

from edgewise._core.constraints import Constraint, Number, OneOf
from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.selection.criteria import smallest_p_value
from edgewise.solvers.linalg.dense import inverse_and_log_determinant
from edgewise.stats.effective import PairScores
from edgewise.stats.positive import (
    correlation_from_covariance,
)

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
        Mean of the columns; 0 on the scale of ranks and for a given covariance.
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
        for a given covariance.
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
            "for the weights of its edges, a quarter for tests"
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
            return 1.0 if has_cholesky(R) else 0.0
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
        raise InputError("penalty_weights_shape", n_features=n_features, shape=given.shape)
    return given


def warn_of_scales(statistics: Statistics, names: Sequence[str] | None) -> None:
    """Warn where columns differ so much in size that one alpha cannot suit them all."""
    deviation = np.sqrt(statistics.S.diagonal())
    small, large = int(deviation.argmin()), int(deviation.argmax())
    ratio = deviation[large] / deviation[small]
    if ratio > SCALE_RATIO:
        warnings.warn(
            DataWarning("scales_differ", columns=labels(names, [large, small]), ratio=ratio),
            stacklevel=3,
        )


def labels(names: Sequence[str] | None, columns: Sequence[int]) -> list[str]:
    """Names of some columns, for a message."""
    return [f"x{k}" if names is None else names[k] for k in columns]


def has_cholesky(R: FloatArray) -> bool:
    """Whether correlations are positive semidefinite up to rounding, without eigenvalues."""
    try:
        linalg.cholesky(R + 1e-9 * np.eye(len(R)), check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


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
