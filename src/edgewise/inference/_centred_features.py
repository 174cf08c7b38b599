"""Features of pairs whose means do not move with the means of the variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise._core.typing import FloatArray, IntArray
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
