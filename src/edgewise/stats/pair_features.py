r"""Features of all pairs of variables, and their moments, without forming the features.

With :math:`d` variables there are :math:`d (d + 1) / 2` pairs, each with one or several features,
for each of :math:`n` rows: too many to keep. Weighted means of all of them are matrix products,
and features of a few pairs are computed when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from edgewise._core.arrays import array_namespace, like
from edgewise._core.errors import InputError
from edgewise._core.memory import Arrays, require_memory
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.stats.moments import Moments
from edgewise.stats.monomial_features import (
    MonomialFeatures,
    PairFeatures,
    PairMoments,
    ProductFeatures,
    ProductMoments,
    exponents_of,
)

#: A function of two columns that returns one or several features, of shape (n,) or (n, b).
PairFunction: TypeAlias = Callable[[FloatArray, FloatArray], Any]


@dataclass(frozen=True)
class ListedMoments(PairMoments):
    """Means of the features of a list of pairs, of shape (n_pairs, b)."""

    values: FloatArray
    pairs: IntArray
    is_diagonal: BoolArray

    def above(self, other: Any, threshold: float, diagonal_threshold: float) -> IntArray:
        """Pairs whose means differ by more than a threshold, in order."""
        square = np.sum((self.values - other.values) ** 2, axis=1)
        limit = np.where(self.is_diagonal, diagonal_threshold, threshold)
        return np.asarray(self.pairs[square > limit**2])

    def at(self, pairs: IntArray) -> FloatArray:
        """Means of some pairs."""
        return self.values[np.searchsorted(self.pairs, pairs)]

    def subset(self, variables: IntArray) -> ListedMoments:
        """Means of the pairs among some of the variables, which are in order."""
        d = int(np.sqrt(2 * len(self.pairs)))
        first, second = np.triu_indices(len(variables))
        places = np.searchsorted(self.pairs, variables[first] * d + variables[second])
        pairs = first * len(variables) + second
        return ListedMoments(self.values[places], pairs, self.is_diagonal[places])


class ListedFeatures(PairFeatures):
    """Features that a function computes of every pair, all of them in memory.

    Parameters
    ----------
    table : ndarray of shape (d (d + 1) / 2, b, n)
        Features of the pairs (v, u), v <= u, in order.
    n_variables : int
    """

    def __init__(self, table: FloatArray, n_variables: int) -> None:
        self.table = table
        self.n_variables = n_variables
        _, self.size, self.n_samples = table.shape
        first, second = np.triu_indices(n_variables)
        self.pairs = first * n_variables + second
        self.is_diagonal = first == second

    def moments(self, weights: FloatArray) -> PairMoments:
        """Sum over the rows of the features of all pairs."""
        return ListedMoments(self.table @ weights, self.pairs, self.is_diagonal)

    def moments_at(self, weights: FloatArray, pairs: IntArray) -> FloatArray:
        """Sum over the rows of the features of some pairs."""
        out: FloatArray = self.table[self._places(pairs)] @ weights
        return out

    def values(self, pairs: IntArray, coef: FloatArray) -> FloatArray:
        """Sum over some pairs, of each row."""
        out: FloatArray = np.tensordot(coef, self.table[self._places(pairs)], axes=2)
        return out

    def columns(self, pairs: IntArray, scale: FloatArray) -> FloatArray:
        """Features of some pairs."""
        return self.table[self._places(pairs)] * scale

    def subset(self, variables: IntArray) -> ListedFeatures:
        """Features of the pairs among some of the variables, which are in order."""
        first, second = np.triu_indices(len(variables))
        places = self._places(variables[first] * self.n_variables + variables[second])
        return ListedFeatures(self.table[places], len(variables))

    @cached_property
    def row_lengths(self) -> FloatArray:
        """Length of all the features of each row."""
        return np.asarray(np.sqrt(np.einsum("gbn,gbn->n", self.table, self.table)))

    def _places(self, pairs: IntArray) -> IntArray:
        return np.searchsorted(self.pairs, pairs)


def listed_features(X: FloatArray, function: PairFunction) -> ListedFeatures:
    """Call the function for every pair of columns, the first one not after the second."""
    n, d = X.shape
    rows: list[FloatArray] = []
    for v, u in zip(*np.triu_indices(d), strict=True):
        found = np.asarray(function(X[:, v], X[:, u]), dtype=np.float64)
        if found.ndim == 1:
            found = found[:, None]
        if found.ndim != 2 or len(found) != n or (rows and found.shape[1] != len(rows[0])):
            raise InputError("basis_shape", shape=found.shape, v=v, u=u, n=n)
        if not np.isfinite(found).all():
            raise InputError("basis_not_finite", v=v, u=u)
        if not rows:
            require_memory(
                f"A basis function of {d:,} columns",
                [Arrays(2.0, (d * (d + 1) // 2, found.shape[1], n))],
                advice="Keep fewer columns or rows, or pass the name of a basis.",
            )
        rows.append(found.T)
    return ListedFeatures(np.stack(rows), d)


__all__ = [
    "BASES",
    "PairFeatures",
    "PairFunction",
    "PairMoments",
    "basis_powers",
    "check_basis",
    "exponents_of",
    "pair_features",
    "pair_means",
]

BASES = ("gaussian", "power", "polynomial", "ising")
LARGEST_FEATURE = 1e150


def pair_features(
    X: FloatArray,
    basis: str | PairFunction = "gaussian",
    degree: int = 2,
    *,
    power_scale: FloatArray | None = None,
) -> PairFeatures:
    r"""Prepare the features of all pairs of columns.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    basis : {"gaussian", "power", "polynomial", "ising"} or callable
        - ``"gaussian"``: :math:`x_u x_v`;
        - ``"power"``: the same of :math:`\mathrm{sign}(x) |x|^k`;
        - ``"polynomial"``: :math:`x_u^a x_v^b` with :math:`1 \le a + b \le k`, and the powers of
          :math:`x_u` for a variable with itself;
        - ``"ising"``: :math:`x_u x_v` of entries -1 and 1; nothing for a variable with itself;
        - a function of two columns, of shape (n,) each, that returns (n,) or (n, b). The features
          of all pairs are then kept in memory.
    degree : int
        The :math:`k` of ``"power"`` and ``"polynomial"``, at least 1 and 2.
    power_scale : ndarray of shape (degree, d), optional
        What :math:`x, x^2, \dots, x^k` of each column are divided by with ``"polynomial"``.

    Returns
    -------
    PairFeatures

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> features = pair_features(X)
    >>> features.mean().at(np.array([0, 1, 3]))
    array([[ 5.],
           [ 7.],
           [10.]])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.size == 0:
        raise InputError("table_required", shape=X.shape)
    if not np.isfinite(X).all():
        raise InputError("table_not_finite")
    if power_scale is not None and basis != "polynomial":
        raise InputError("power_scale_polynomial")
    if callable(basis):
        return listed_features(X, basis)
    check_basis(X, basis, degree)
    if basis == "polynomial":
        _require_polynomials(len(X), X.shape[1], degree)
    powers = basis_powers(X, basis, degree, power_scale)
    if basis == "polynomial":
        left, right = exponents_of(degree)
        table = np.stack([np.ones_like(X.T), *(power.T for power in powers)])
        return MonomialFeatures(table, left, right, degree)
    (X,) = powers
    one = np.ones(1, dtype=np.int64)
    return ProductFeatures(np.stack([np.ones_like(X.T), X.T]), one, one, int(basis != "ising"))


def basis_powers(
    X: Any, basis: str, degree: int = 2, power_scale: FloatArray | None = None
) -> list[Any]:
    """Return the columns that the features of a named basis are products of.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows that `check_basis` has seen, of numpy or any other array library.
    basis, degree, power_scale
        As in `pair_features`.

    Returns
    -------
    list of arrays of shape (n, d)
        Powers 1 to ``degree`` with ``"polynomial"``, and one array with anything else.

    Examples
    --------
    >>> import numpy as np
    >>> [power.tolist() for power in basis_powers(np.array([[-2.0, 3.0]]), "power", 2)]
    [[[-4.0, 9.0]]]
    """
    if basis == "power":
        xp = array_namespace(X)
        return [xp.sign(X) * xp.abs(X) ** degree]
    if basis != "polynomial":
        return [X]
    powers = [X**k for k in range(1, degree + 1)]
    if power_scale is None:
        return powers
    scale = _check_scale(power_scale, (degree, X.shape[1]))
    return [power / like(one, X) for power, one in zip(powers, scale, strict=True)]


def _require_polynomials(n_rows: int, n_columns: int, degree: int) -> None:
    """Refuse powers, and moments of their products, that do not fit into memory."""
    n_features = degree * (degree + 3) // 2
    require_memory(
        f"Polynomials of degree {degree:,} in {n_columns:,} columns",
        [
            Arrays(1.5, (n_features, n_columns, n_columns)),
            Arrays(degree + 1.0, (n_rows, n_columns)),
        ],
        advice="Pass a smaller degree, or keep fewer columns.",
    )


def pair_means(
    X: FloatArray | Moments,
    basis: str | PairFunction = "gaussian",
    degree: int = 2,
    *,
    power_scale: FloatArray | None = None,
) -> PairMoments:
    """Mean features of all pairs of columns, from rows or from what was summed up of them.

    Parameters
    ----------
    X : ndarray of shape (n, d), or Moments
        Rows; or their moments, which know the mean products of ``basis="gaussian"``.
    basis, degree, power_scale
        As in `pair_features`.

    Returns
    -------
    PairMoments

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.stats import Moments
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> pair_means(Moments.from_samples(X)).at(np.array([0, 1, 3]))
    array([[ 5.],
           [ 7.],
           [10.]])
    """
    if not isinstance(X, Moments):
        return pair_features(X, basis, degree, power_scale=power_scale).mean()
    if basis != "gaussian":
        raise InputError("moments_gaussian_only")
    return ProductMoments(X.covariance() + np.outer(X.mean, X.mean))


def check_basis(X: Any, basis: str, degree: int) -> None:
    """Refuse a basis, a degree or finite rows of any array library that do not fit together."""
    if basis not in BASES:
        names = ", ".join(f'"{name}"' for name in BASES)
        raise InputError("unknown_basis", names=names, basis=basis)
    if basis in ("power", "polynomial"):
        least = 1 if basis == "power" else 2
        is_whole = isinstance(degree, (int, np.integer)) and not isinstance(degree, bool)
        if not is_whole or degree < least:
            raise InputError("degree_whole", least=least, basis=basis, degree=degree)
    xp = array_namespace(X)
    if basis == "ising" and not bool(xp.all(xp.abs(X) == 1.0)):
        bad = xp.nonzero(xp.any(xp.abs(X) != 1.0, axis=0))[0]
        raise InputError("ising_column", bad=int(bad[0]))
    largest = float(xp.max(xp.abs(X)))
    exponent = {"power": 2 * degree, "polynomial": degree}.get(basis, 2)
    # Features are squared later on.
    if largest > LARGEST_FEATURE ** (1.0 / exponent):
        raise InputError("entries_too_large", largest=largest)


def _check_scale(power_scale: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    scale = np.asarray(power_scale, dtype=np.float64)
    if scale.shape != shape or not ((scale > 0) & (scale < np.inf)).all():
        raise InputError("power_scale_shape", shape=shape[0], shape2=shape[1])
    return scale
