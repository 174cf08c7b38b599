"""Polychoric, polyserial and Pearson correlations of mixed columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.special import ndtr, ndtri

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.kinds import FEW_ANSWERS, is_answers
from edgewise.data.table import Table
from edgewise.io.messages import quote_names

#: A correlation is looked for up to this size; a table that leaves no doubt gets it.
LARGEST: Final = 0.9999
#: More answers than this are measurements, for which a table of thresholds makes no sense.
MOST_ANSWERS: Final = 50
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentCorrelation:
    """Correlations of latent normal variables, estimated pair by pair.

    Attributes
    ----------
    correlation : ndarray of shape (p, p)
        Unit diagonal; may have negative eigenvalues, since each pair is estimated by itself.
    n_samples : ndarray of shape (p, p)
        Rows (or their weight) that have both columns.
    n_corrected : int
        Pairs of two-level columns with an empty cell, which was filled by half a row.
    thresholds : tuple of ndarray
        Of each ordinal column: the latent values between neighbouring answers; empty for others.
    """

    correlation: FloatArray
    n_samples: FloatArray
    n_corrected: int
    thresholds: tuple[FloatArray, ...]


def polychoric_correlation(X: Any, *, sample_weight: Any = None) -> FloatArray:
    r"""Correlations of the normal variables behind ordered answers.

    Answers :math:`1, \dots, r` of a column are modelled as a standard normal variable cut at
    thresholds :math:`\tau_1 < \dots < \tau_{r-1}`, which the shares of the answers in all rows that
    have the column give. For each pair of columns, with :math:`n_{ij}` rows in cell :math:`(i, j)`,
    the correlation maximises

    .. math:: \sum_{ij} n_{ij} \log P_{ij}(\rho), \qquad
        P_{ij}(\rho) = \Pr(\tau_{i-1} < U \le \tau_i,\; \tau'_{j-1} < V \le \tau'_j),

    where :math:`U, V` are standard normal with correlation :math:`\rho` (two-step maximum
    likelihood [1]_). With two answers a column this is the tetrachoric correlation; there an empty
    cell gets half a row, with the margins kept.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Numbers whose order is that of the answers; NaN where an answer is missing, which leaves the
        row out of the pairs of that column.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.

    Returns
    -------
    ndarray of shape (p, p)
        May have negative eigenvalues; see `edgewise.stats.repair_covariance`.

    See Also
    --------
    latent_correlation : The same for tables that hold measurements as well, with rows per pair.

    References
    ----------
    .. [1] Olsson (1979). Maximum likelihood estimation of the polychoric correlation coefficient.
       *Psychometrika* 44(4). https://doi.org/10.1007/BF02296207

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> latent = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=5000)
    >>> answers = np.digitize(latent, [-1.0, 0.0, 0.5])
    >>> print(np.corrcoef(answers.T)[0, 1].round(2), polychoric_correlation(answers)[0, 1].round(2))
    0.53 0.61
    """
    return latent_correlation(X, sample_weight=sample_weight).correlation


def latent_correlation(
    X: Any,
    *,
    ordinal: Sequence[bool] | BoolArray | None = None,
    sample_weight: Any = None,
    names: Sequence[str] | None = None,
) -> LatentCorrelation:
    r"""Correlations by the kinds of each pair: polychoric, polyserial or Pearson.

    Two ordinal columns have the correlation of `polychoric_correlation`, two measurements that of
    Pearson. For a measurement :math:`z`, standardised, and answers with thresholds :math:`\tau`,
    :math:`\rho` maximises the likelihood of the answers given the measurement [1]_,

    .. math:: \sum_k \log \left(
        \Phi\!\left( \frac{\tau_{a_k} - \rho z_k}{\sqrt{1 - \rho^2}} \right)
        - \Phi\!\left( \frac{\tau_{a_k - 1} - \rho z_k}{\sqrt{1 - \rho^2}} \right) \right).

    Parameters
    ----------
    X : array-like of shape (n, p)
        Numbers; NaN leaves a row out of the pairs of that column.
    ordinal : sequence of bool, optional
        Which columns are ordered answers; all by default.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.
    names : sequence of str, optional
        Names of the columns, for messages.

    Returns
    -------
    LatentCorrelation

    References
    ----------
    .. [1] Olsson, Drasgow and Dorans (1982). The polyserial correlation coefficient.
       *Psychometrika* 47(3). https://doi.org/10.1007/BF02294164

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> latent = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=5000)
    >>> mixed = np.column_stack([latent[:, 0], np.digitize(latent[:, 1], [-1.0, 0.5])])
    >>> print(latent_correlation(mixed, ordinal=[False, True]).correlation[0, 1].round(2))
    0.6
    """
    values, weights = _as_rows(X, sample_weight)
    n_features = values.shape[1]
    is_ordinal = np.ones(n_features, dtype=bool) if ordinal is None else np.asarray(ordinal, bool)
    if is_ordinal.shape != (n_features,):
        raise InputError("ordinal_length", n_features=n_features)
    labels = [f"x{k}" for k in range(n_features)] if names is None else list(names)
    # A row without weight has no say in which answers there are.
    values, weights = values[weights > 0], weights[weights > 0]
    codes, n_levels = _codes(values, is_ordinal, labels)
    scores = _standardised(values, is_ordinal, weights)
    thresholds = tuple(
        _thresholds(codes[:, k], int(n_levels[k]), weights) for k in range(n_features)
    )
    cuts = np.full((n_features, max(int(n_levels.max()), 1)), np.nan)
    for own, found_cuts in zip(cuts, thresholds, strict=True):
        own[: len(found_cuts)] = found_cuts
    # Weights may add up to 1: half a row is half of what a row weighs, then.
    half = 0.5 * min(1.0, float(weights.mean()))
    found = _correlate(codes, scores, cuts, n_levels, weights, half, _NODES, _WEIGHTS)
    correlation, n_samples, is_bad, n_corrected = found
    if is_bad.any():
        first, second = np.argwhere(np.triu(is_bad, 1))[0]
        raise InputError("no_common_variation", value=[labels[first], labels[second]])
    return LatentCorrelation(
        correlation=correlation,
        n_samples=n_samples,
        n_corrected=int(n_corrected),
        thresholds=thresholds,
    )


def ordinal_columns(X: Any) -> BoolArray:
    """Tell columns of ordered answers from measurements.

    Ordered answers are whole numbers, at most 10 different ones, that have 5 rows each on average
    (two answers may have fewer), and categories with a declared order.

    Parameters
    ----------
    X : array-like, data frame or Table of shape (n, p)
        Numbers, NaN where a value is missing, or ordered categories.

    Returns
    -------
    ndarray of bool, shape (p,)
        Whether each column holds ordered answers.

    Examples
    --------
    >>> answers = np.arange(60) % 5 + 1
    >>> ordinal_columns(np.column_stack([answers, answers / 2, np.arange(60)])).tolist()
    [True, False, False]
    """
    table = X if isinstance(X, Table) else Table.from_input(X)
    columns = zip(table.values.T, table.ordered, strict=True)
    return np.array([has_order or is_answers(column) for column, has_order in columns], dtype=bool)


def describe_kinds(ordinal: BoolArray, names: Sequence[str] | None = None) -> str:
    """Describe the kind of each column, and its correlations.

    Examples
    --------
    >>> print(describe_kinds(np.array([False, False])))
    2 columns of measurements, by Pearson correlations
    """
    n_ordinal = int(np.count_nonzero(ordinal))
    n_measured = len(ordinal) - n_ordinal
    answers = f"of ordered answers (at most {FEW_ANSWERS} different whole numbers)"
    if n_measured == 0:
        return f"{n_ordinal} columns {answers}, by polychoric correlations"
    if n_ordinal == 0:
        return f"{n_measured} columns of measurements, by Pearson correlations"
    labels = np.array([f"x{k}" for k in range(len(ordinal))] if names is None else names)
    return (
        f"{n_ordinal} {'column' if n_ordinal == 1 else 'columns'} {answers}, "
        f"{quote_names(labels[ordinal])}, and {n_measured} of measurements, "
        f"{quote_names(labels[~ordinal])}, by polychoric, polyserial and Pearson correlations"
    )


def _as_rows(X: Any, sample_weight: Any) -> tuple[FloatArray, FloatArray]:
    values = np.asarray(X if isinstance(X, np.ndarray) else _numbers(X), dtype=np.float64)
    if values.ndim != 2 or len(values) < 2:
        raise InputError("two_dimensions_two_rows", shape=values.shape)
    if np.isinf(values).any():
        raise InputError("rows_infinite")
    weights = np.ones(len(values))
    if sample_weight is not None:
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != (len(values),) or not (weights >= 0).all() or not weights.any():
            raise InputError("row_weights_nonnegative")
    return values, weights


def _numbers(X: Any) -> FloatArray:
    """Read a table of numbers, or of categories with a declared order."""
    table = Table.from_input(X)
    table.refuse_text(allows_order=True)
    return table.values


def _codes(
    values: FloatArray, is_ordinal: BoolArray, names: Sequence[str]
) -> tuple[IntArray, IntArray]:
    """Return the answers of ordinal columns as numbers from 0, -1 for a missing value."""
    codes = np.zeros(values.shape, dtype=np.int64)
    n_levels = np.zeros(values.shape[1], dtype=np.int64)
    for k, name in enumerate(names):
        has_value = ~np.isnan(values[:, k])
        answers, position = np.unique(values[has_value, k], return_inverse=True)
        if len(answers) < 2:
            raise InputError("single_value_column", name=name)
        codes[~has_value, k] = -1
        if is_ordinal[k]:
            if len(answers) > MOST_ANSWERS:
                raise InputError(
                    "too_many_answers", name=name, n_answers=len(answers), most_answers=MOST_ANSWERS
                )
            codes[has_value, k] = position
            n_levels[k] = len(answers)
    return codes, n_levels


def _standardised(values: FloatArray, is_ordinal: BoolArray, weights: FloatArray) -> FloatArray:
    """Return measurements with mean 0 and variance 1 over the rows that have them, others as 0."""
    has_value = ~np.isnan(values) & ~is_ordinal
    shares = has_value * weights[:, None]
    shares = shares / np.where(is_ordinal, 1.0, shares.sum(axis=0))
    centred = np.where(has_value, values, 0.0)
    centred = np.where(has_value, centred - (shares * centred).sum(axis=0), 0.0)
    scale = np.sqrt((shares * centred**2).sum(axis=0))
    return np.asarray(centred / np.where(scale > 0.0, scale, 1.0))


def _thresholds(codes: IntArray, n_levels: int, weights: FloatArray) -> FloatArray:
    if n_levels == 0:
        return np.empty(0)
    has_value = codes >= 0
    shares = np.bincount(codes[has_value], weights[has_value], n_levels)
    return np.asarray(ndtri(np.cumsum(shares)[:-1] / shares.sum()))


def level_scores(
    values: FloatArray, sample_weight: FloatArray | None = None
) -> tuple[FloatArray, float]:
    r"""Score ordered answers by the mean of the latent normal within each level.

    Answer k stands for the interval between two thresholds, where a standard normal has the mean
    :math:`(\varphi(\tau_{k-1}) - \varphi(\tau_k)) / p_k`. Near independence a polychoric
    correlation is the mean product of the scores over the product of their variances.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Answers, NaN where one is missing.
    sample_weight : ndarray of shape (n,), optional

    Returns
    -------
    scores : ndarray of shape (n,)
    variance : float
        Share of the variance of the latent normal that the scores have.

    Examples
    --------
    >>> scores, variance = level_scores(np.array([0.0, 0.0, 1.0, 2.0]))
    >>> scores.round(2), round(variance, 2)
    (array([-0.8 , -0.8 ,  0.32,  1.27]), 0.75)
    """
    has_value = ~np.isnan(values)
    _, position = np.unique(values[has_value], return_inverse=True)
    weight = None if sample_weight is None else sample_weight[has_value]
    shares = np.bincount(position, weight)
    shares = shares / shares.sum()
    cuts = ndtri(np.cumsum(shares)[:-1])
    density = np.concatenate([[0.0], np.exp(-0.5 * cuts**2) / math.sqrt(2.0 * math.pi), [0.0]])
    means = -np.diff(density) / shares
    scores = np.full(values.shape, np.nan)
    scores[has_value] = means[position]
    return scores, float(shares @ means**2)


def polychoric_standard_error(rho: float, table: FloatArray) -> float:
    """Return the standard error of a polychoric correlation, thresholds being estimated as well.

    Parameters
    ----------
    rho : float
        The correlation.
    table : ndarray of shape (r, c)
        Rows in each cell; no row or column of it is empty.

    Returns
    -------
    float

    Examples
    --------
    >>> round(polychoric_standard_error(0.5, np.array([[40.0, 10.0], [20.0, 30.0]])), 3)
    0.13
    """
    n = table.sum()
    a = ndtri(np.cumsum(table.sum(axis=1))[:-1] / n)
    b = ndtri(np.cumsum(table.sum(axis=0))[:-1] / n)
    joint = np.zeros((len(a) + 2, len(b) + 2))
    joint[-1, 1:] = [*ndtr(b), 1.0]
    joint[1:, -1] = [*ndtr(a), 1.0]
    for i, h in enumerate(a):
        for j, k in enumerate(b):
            joint[i + 1, j + 1] = bivariate_normal(h, k, rho, _NODES, _WEIGHTS)
    P = np.maximum(np.diff(np.diff(joint, axis=0), axis=1), 1e-300)
    s = math.sqrt(1.0 - rho**2)
    density = np.zeros_like(joint)
    grid = (a[:, None] ** 2 + b**2 - 2.0 * rho * np.outer(a, b)) / (2.0 * s**2)
    density[1:-1, 1:-1] = np.exp(-grid) / (2.0 * np.pi * s)
    slopes = [np.diff(np.diff(density, axis=0), axis=1)]
    for i, h in enumerate(a):
        across = np.diff(np.array([0.0, *ndtr((b - rho * h) / s), 1.0]))
        moved = np.zeros_like(P)
        moved[i] = across * math.exp(-0.5 * h**2) / math.sqrt(2.0 * math.pi)
        moved[i + 1] = -moved[i]
        slopes.append(moved)
    for j, k in enumerate(b):
        along = np.diff(np.array([0.0, *ndtr((a - rho * k) / s), 1.0]))
        moved = np.zeros_like(P)
        moved[:, j] = along * math.exp(-0.5 * k**2) / math.sqrt(2.0 * math.pi)
        moved[:, j + 1] = -moved[:, j]
        slopes.append(moved)
    J = np.array([slope.ravel() for slope in slopes])
    return float(math.sqrt(np.linalg.inv(n * (J / P.ravel()) @ J.T)[0, 0]))


@kernel
def bivariate_normal(
    h: float, k: float, rho: float, nodes: FloatArray, weights: FloatArray
) -> float:
    r"""Probability that two standard normals of correlation rho are at most h and k.

    The density of the pair integrated over the correlation (Plackett 1954), in the angle whose
    sine it is: from 0 to rho, added to the product of the margins, or for a correlation near 1 in
    panels that halve towards the end, taken from the value at 1.
    """
    size = abs(rho)
    k_signed = k if rho >= 0.0 else -k
    if size <= 0.9:
        total = _panel(h, k_signed, math.acos(size), 0.5 * math.pi, nodes, weights)
        value = _normal(h) * _normal(k_signed) + total
    else:
        # What the angles between that of rho and 0 add up to is missing from min(h, k).
        total, upper = 0.0, math.acos(size)
        while upper > 1e-9:
            lower = 0.5 * upper
            total += _panel(h, k_signed, lower, upper, nodes, weights)
            upper = lower
            if (h - k_signed) ** 2 > 80.0 * upper * upper:
                break
        if upper > 0.0 and (h - k_signed) ** 2 <= 80.0 * upper * upper:
            total += _panel(h, k_signed, 0.0, upper, nodes, weights)
        value = _normal(min(h, k_signed)) - total
    if rho < 0.0:
        value = _normal(h) - value
    return value


@kernel
def _panel(
    h: float, k: float, lower: float, upper: float, nodes: FloatArray, weights: FloatArray
) -> float:
    """Integrate the density over the angle to perfect correlation, between two angles."""
    half, middle, total = 0.5 * (upper - lower), 0.5 * (upper + lower), 0.0
    for m in range(nodes.size):
        angle = middle + half * nodes[m]
        sine = math.sin(angle)
        apart = (h - k) ** 2 + 4.0 * h * k * math.sin(0.5 * angle) ** 2
        total += weights[m] * math.exp(-apart / (2.0 * sine * sine))
    return total * half / (2.0 * math.pi)


@kernel
def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@kernel
def _correlate(
    codes: IntArray,
    scores: FloatArray,
    cuts: FloatArray,
    n_levels: IntArray,
    sample_weight: FloatArray,
    half: float,
    nodes: FloatArray,
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray, BoolArray, int]:
    """Go through all pairs; a pair in which a column does not vary is marked as bad."""
    n, p = codes.shape
    correlation, n_samples = np.eye(p), np.zeros((p, p))
    is_bad = np.zeros((p, p), dtype=np.bool_)
    n_corrected = 0
    for i in range(p):
        for k in range(n):
            if codes[k, i] >= 0:
                n_samples[i, i] += sample_weight[k]
        for j in range(i):
            total = 0.0
            for k in range(n):
                if codes[k, i] >= 0 and codes[k, j] >= 0:
                    total += sample_weight[k]
            n_samples[i, j] = n_samples[j, i] = total
            rho = np.nan
            if n_levels[i] > 0 and n_levels[j] > 0:
                table = _table(codes[:, i], codes[:, j], n_levels[i], n_levels[j], sample_weight)
                if _varies(table.sum(axis=1)) and _varies(table.sum(axis=0)):
                    n_corrected += _fill_empty(table, half)
                    a, b = cuts[i, : n_levels[i] - 1], cuts[j, : n_levels[j] - 1]
                    rho = _polychoric(table, a, b, nodes, weights)
            elif n_levels[i] == 0 and n_levels[j] == 0:
                rho = _pearson(codes[:, i], codes[:, j], scores[:, i], scores[:, j], sample_weight)
            elif n_levels[i] > 0:
                own = cuts[i, : n_levels[i] - 1]
                rho = _polyserial(codes[:, j], scores[:, j], codes[:, i], own, sample_weight)
            else:
                own = cuts[j, : n_levels[j] - 1]
                rho = _polyserial(codes[:, i], scores[:, i], codes[:, j], own, sample_weight)
            is_bad[i, j] = is_bad[j, i] = np.isnan(rho)
            correlation[i, j] = correlation[j, i] = rho
    return correlation, n_samples, is_bad, n_corrected


@kernel
def _table(
    first: IntArray, second: IntArray, r: int, c: int, sample_weight: FloatArray
) -> FloatArray:
    """Count the rows with both columns in each cell."""
    counts = np.zeros((r, c))
    for k in range(first.size):
        if first[k] >= 0 and second[k] >= 0:
            counts[first[k], second[k]] += sample_weight[k]
    return counts


@kernel
def _varies(margin: FloatArray) -> bool:
    """Whether rows have more than one answer."""
    return bool(np.count_nonzero(margin) > 1)


@kernel
def _fill_empty(table: FloatArray, half: float) -> int:
    """Give an empty cell of a table of four half a row, with the margins kept."""
    if table.shape != (2, 2) or table.min() > 0.0:
        return 0
    moved = half if table[0, 0] == 0.0 or table[1, 1] == 0.0 else -half
    table[0, 0] += moved
    table[1, 1] += moved
    table[0, 1] -= moved
    table[1, 0] -= moved
    return 1


@kernel
def _next(rho: float, slope: float, information: float, bracket: FloatArray) -> float:
    """Scoring step within the bracket of the maximum, or its middle where that leads outside."""
    bracket[0 if slope > 0.0 else 1] = rho
    step = slope / information if information > 0.0 else np.inf
    if not bracket[0] < rho + step < bracket[1]:
        step = 0.5 * (bracket[0] + bracket[1]) - rho
    return step


@kernel
def _polychoric(
    table: FloatArray, a: FloatArray, b: FloatArray, nodes: FloatArray, weights: FloatArray
) -> float:
    """Maximise the likelihood of a table, given the thresholds of both columns."""
    r, c = table.shape
    joint, density = np.zeros((r + 1, c + 1)), np.zeros((r + 1, c + 1))
    joint[r, c] = 1.0
    for i in range(r - 1):
        joint[i + 1, c] = _normal(a[i])
    for j in range(c - 1):
        joint[r, j + 1] = _normal(b[j])
    rho, bracket = 0.0, np.array([-LARGEST, LARGEST])
    for _ in range(100):
        s2 = 1.0 - rho * rho
        for i in range(r - 1):
            for j in range(c - 1):
                joint[i + 1, j + 1] = bivariate_normal(a[i], b[j], rho, nodes, weights)
                apart = a[i] ** 2 + b[j] ** 2 - 2.0 * rho * a[i] * b[j]
                density[i + 1, j + 1] = math.exp(-apart / (2.0 * s2)) / (
                    2.0 * math.pi * math.sqrt(s2)
                )
        slope, information = 0.0, 0.0
        for i in range(r):
            for j in range(c):
                P = joint[i + 1, j + 1] - joint[i, j + 1] - joint[i + 1, j] + joint[i, j]
                d = density[i + 1, j + 1] - density[i, j + 1] - density[i + 1, j] + density[i, j]
                P = max(P, 1e-14)
                slope += table[i, j] * d / P
                information += d * d / P
        step = _next(rho, slope, information * table.sum(), bracket)
        rho += step
        if abs(step) < 1e-11:
            break
    return rho


@kernel
def _pearson(
    first: IntArray, second: IntArray, x: FloatArray, y: FloatArray, sample_weight: FloatArray
) -> float:
    moments = np.zeros(6)
    for k in range(x.size):
        if first[k] >= 0 and second[k] >= 0:
            w = sample_weight[k]
            moments[0] += w
            moments[1] += w * x[k]
            moments[2] += w * y[k]
    if moments[0] == 0.0:
        return np.nan
    mean_x, mean_y = moments[1] / moments[0], moments[2] / moments[0]
    for k in range(x.size):
        if first[k] >= 0 and second[k] >= 0:
            w, dx, dy = sample_weight[k], x[k] - mean_x, y[k] - mean_y
            moments[3] += w * dx * dx
            moments[4] += w * dy * dy
            moments[5] += w * dx * dy
    if moments[3] <= 0.0 or moments[4] <= 0.0:
        return np.nan
    return float(moments[5]) / math.sqrt(moments[3] * moments[4])


@kernel
def _polyserial(
    has_x: IntArray, x: FloatArray, answers: IntArray, cuts: FloatArray, sample_weight: FloatArray
) -> float:
    """Maximise the likelihood of the answers given a measurement and their thresholds."""
    margin, lowest, highest = np.zeros(cuts.size + 1), np.inf, -np.inf
    for k in range(x.size):
        if has_x[k] >= 0 and answers[k] >= 0:
            margin[answers[k]] += sample_weight[k]
            lowest, highest = min(lowest, x[k]), max(highest, x[k])
    if not _varies(margin) or not lowest < highest:
        return np.nan
    return _root_of_slope(has_x, x, answers, cuts, sample_weight)


@kernel
def _root_of_slope(
    has_x: IntArray, x: FloatArray, answers: IntArray, cuts: FloatArray, sample_weight: FloatArray
) -> float:
    """Find where the likelihood of the answers stops rising with the correlation.

    On the scale of the artanh, in steps that grow from 0 up to a change of sign, and then by false
    position in the Illinois way, where the slope of an end that stays twice counts half.
    """
    slope = _slope(0.0, has_x, x, answers, cuts, sample_weight)
    side, limit = (1.0 if slope > 0.0 else -1.0), math.atanh(LARGEST)
    near, at_near, far, at_far, reach = 0.0, slope, 0.0, slope, 0.25
    while slope * side > 0.0:
        near, at_near = far, at_far
        if near == side * limit:
            return side * LARGEST
        far = side * min(abs(near) + reach, limit)
        reach *= 1.5
        slope = at_far = _slope(math.tanh(far), has_x, x, answers, cuts, sample_weight)
    last = 0
    for _ in range(100):
        if at_near == at_far:
            break
        middle = (near * at_far - far * at_near) / (at_far - at_near)
        slope = _slope(math.tanh(middle), has_x, x, answers, cuts, sample_weight)
        moved = abs(middle - (near if slope * side > 0.0 else far))
        if slope * side > 0.0:
            near, at_near = middle, slope
            at_far *= 0.5 if last == 1 else 1.0
            last = 1
        else:
            far, at_far = middle, slope
            at_near *= 0.5 if last == -1 else 1.0
            last = -1
        if slope == 0.0 or moved < 1e-11 or abs(far - near) < 1e-11:
            return math.tanh(middle)
    return math.tanh(0.5 * (near + far))


@kernel
def _slope(
    rho: float,
    has_x: IntArray,
    x: FloatArray,
    answers: IntArray,
    cuts: FloatArray,
    sample_weight: FloatArray,
) -> float:
    """Differentiate the log-likelihood of the answers by the correlation."""
    s = math.sqrt(1.0 - rho * rho)
    slope = 0.0
    for k in range(x.size):
        if has_x[k] < 0 or answers[k] < 0:
            continue
        z, level = x[k], answers[k]
        above, below, d = np.inf, -np.inf, 0.0
        if level < cuts.size:
            above = (cuts[level] - rho * z) / s
            d += math.exp(-0.5 * above * above) * (rho * cuts[level] - z)
        if level > 0:
            below = (cuts[level - 1] - rho * z) / s
            d -= math.exp(-0.5 * below * below) * (rho * cuts[level - 1] - z)
        # The smaller tails, since probabilities near 1 cancel.
        P = _normal(-below) - _normal(-above) if below > 0.0 else _normal(above) - _normal(below)
        if P > 1e-280:
            slope += sample_weight[k] * d / (math.sqrt(2.0 * math.pi) * s**3 * P)
        else:
            # So far out, the logarithm of the probability is -u * u / 2 of the nearer cut.
            cut, u = (cuts[level - 1], below) if below > 0.0 else (cuts[level], above)
            slope -= sample_weight[k] * u * (rho * cut - z) / s**3
    return slope
