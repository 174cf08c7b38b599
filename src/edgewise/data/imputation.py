"""Multiple imputation by chained equations with predictive mean matching."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import ndtri

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState

#: Rounds through all columns with gaps.
ROUNDS: Final = 8
#: Rows that are most alike, of which one gives its value.
DONORS: Final = 5
#: Columns that a regression has at most, those that go with its column most.
MOST_PREDICTORS: Final = 30
#: Ridge of the regressions, in standard deviations.
RIDGE: Final = 1e-3


def impute_rows(
    values: FloatArray,
    is_level: BoolArray,
    *,
    n_rounds: int = ROUNDS,
    random_state: RandomState = None,
) -> FloatArray:
    """Fill gaps by chained equations and predictive mean matching.

    Each column with gaps is regressed on the others (numbers by their normal scores, levels by an
    indicator each), with random weights of the rows, so that fillings differ as much as the rows
    leave them open. A gap gets the value of one of the five rows with the most similar prediction
    that have one. So all that is filled in does occur in the column. Repeated with other seeds,
    results can be pooled over fillings [1]_.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Numbers, or level numbers; NaN where a value is missing.
    is_level : ndarray of bool, shape (p,)
        Which columns hold levels without an order.
    n_rounds : int
        Rounds through all columns with gaps.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    ndarray of shape (n, p)
        Without gaps; what was there is as it was.

    References
    ----------
    .. [1] van Buuren and Groothuis-Oudshoorn (2011). mice: Multivariate imputation by chained
       equations in R. *Journal of Statistical Software* 45(3).
       https://doi.org/10.18637/jss.v045.i03

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> rows = np.column_stack([x, 3 * x])
    >>> rows[:20, 1] = np.nan
    >>> filled = impute_rows(rows, np.array([False, False]), random_state=0)
    >>> bool(np.corrcoef(filled[:20].T)[0, 1] > 0.95)
    True
    """
    is_gap = np.isnan(values)
    n_seen = (~is_gap).sum(axis=0)
    if (n_seen < 2).any():
        raise InputError("imputation_impossible")
    generator = as_generator(random_state)
    filled = values.copy()
    gappy = sorted(np.flatnonzero(is_gap.any(axis=0)).tolist(), key=lambda k: int(-n_seen[k]))
    for k in gappy:
        seen = values[~is_gap[:, k], k]
        filled[is_gap[:, k], k] = generator.choice(seen, int(is_gap[:, k].sum()))
    features = [_features(filled[:, k], bool(is_level[k])) for k in range(values.shape[1])]
    for _ in range(n_rounds):
        for k in gappy:
            others = [features[j] for j in range(len(features)) if j != k]
            donor = _donors(features[k], np.hstack(others), is_gap[:, k], generator)
            filled[is_gap[:, k], k] = values[donor, k]
            features[k] = _features(filled[:, k], bool(is_level[k]))
    return filled


def pair_shares(is_gap: BoolArray) -> FloatArray:
    """Share of the pairs of columns of each row of which both are there: what the row is worth.

    Examples
    --------
    >>> pair_shares(np.array([[False, False, False], [False, False, True], [True, True, False]]))
    array([1.        , 0.33333333, 0.        ])
    """
    n_seen = (~is_gap).sum(axis=1).astype(np.float64)
    p = is_gap.shape[1]
    shares: FloatArray = n_seen * (n_seen - 1) / (p * (p - 1))
    return shares


def _features(column: FloatArray, is_level: bool) -> FloatArray:
    """Return normal scores of numbers, or an indicator for each level but the first."""
    found, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    if is_level:
        block = (place[:, None] == np.arange(1, max(len(found), 2))).astype(np.float64)
    else:
        middle = (np.cumsum(counts) - counts / 2) / len(column)
        block = ndtri(middle)[place][:, None]
    spread = block.std(axis=0)
    scaled: FloatArray = (block - block.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def _donors(
    own: FloatArray, others: FloatArray, is_gap: BoolArray, generator: np.random.Generator
) -> IntArray:
    """Choose for each gap a row that has a value and is predicted alike."""
    there = np.flatnonzero(~is_gap)
    if others.shape[1] > MOST_PREDICTORS:
        strength = np.abs(others[there].T @ own[there]).max(axis=1)
        others = others[:, np.sort(np.argsort(-strength, kind="stable")[:MOST_PREDICTORS])]
    # The Bayesian bootstrap draws coefficients as uncertain as they are.
    weight = generator.exponential(size=len(there))
    Z, target = others[there], own[there]
    centre, mean = np.average(Z, axis=0, weights=weight), np.average(target, axis=0, weights=weight)
    gram = ((Z - centre) * weight[:, None]).T @ (Z - centre)
    moment = ((Z - centre) * weight[:, None]).T @ (target - mean)
    ridge = RIDGE * weight.sum() * np.eye(len(gram))
    predicted = (others - centre) @ np.linalg.solve(gram + ridge, moment)
    n_donors = min(DONORS, len(there))
    # Rows that are predicted alike to the digit come in a random order.
    order = generator.permutation(there)
    # Loaded where gaps are filled only.
    from scipy.spatial import cKDTree

    tree = cKDTree(predicted[order])
    _, near = tree.query(predicted[is_gap], k=n_donors)
    near = near.reshape(int(is_gap.sum()), n_donors)
    chosen = near[np.arange(len(near)), generator.integers(n_donors, size=len(near))]
    return np.asarray(order[chosen], dtype=np.int64)
