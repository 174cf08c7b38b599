"""Graphs and data: predictability of nodes, and sortability of a DAG by variance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise._core.constraints import Number
from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import FloatArray, RandomState
from edgewise.data.table import Table, take_rows
from edgewise.graph.equivalence import find_cycle
from edgewise.graph.graph import Graph
from edgewise.graph.metrics import GraphLike, as_adjacency
from edgewise.stats.moments import covariance, explained_variance

if TYPE_CHECKING:
    import pandas as pd

#: Two values whose ratio differs from 1 by less are equal.
EQUAL = 1e-9


def varsortability(X: Any, dag: GraphLike) -> float:
    r"""Share of the directed paths that lead from a smaller to a larger variance.

    .. math::

        \frac{\sum_{k} \#\{(i, j) \in P_k : s_i^2 < s_j^2\}}{\sum_{k} \# P_k},

    where :math:`P_k` are the pairs joined by a path of k arcs from i to j and :math:`s_i^2` is the
    variance of column i; a tie counts one half. Near 1, sorting the columns by variance finds the
    order, so that a method that sees raw columns has an easy task; 0.5 says nothing. Linear models
    drawn at random have values near 1, measured columns depend on their units.

    Parameters
    ----------
    X : array-like or data frame of shape (n, m)
        Rows, on the scale that the method sees.
    dag : Graph or array-like of shape (m, m)
        Arc i -> j where entry [i, j] is not zero; without cycles. A `Graph` is matched with the
        columns of a data frame by name.

    Returns
    -------
    float
        Between 0 and 1; NaN without arcs.

    References
    ----------
    A. G. Reisach, C. Seiler, S. Weichwald (2021). Beware of the simulated DAG! Causal discovery
    benchmarks may be easy to game. NeurIPS 34. https://doi.org/10.48550/arXiv.2102.13647

    Examples
    --------
    >>> from edgewise.metrics import varsortability
    >>> varsortability([[0, 2, 1], [1, 0, 0], [0, 0, 2]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    0.6666666666666666
    """
    rows = _aligned_rows(X, dag)
    return _sortability(rows.var(axis=0), dag)


def r2_sortability(X: Any, dag: GraphLike) -> float:
    """Share of the directed paths along which columns get more predictable from all others.

    As `varsortability`, with the share of each column's variance that a linear regression on all
    other columns explains in place of the variance. Units make no difference to it, so that
    standardised columns can give away an order in this way still.

    Parameters
    ----------
    X : array-like or data frame of shape (n, m)
        Rows, more than columns.
    dag : Graph or array-like of shape (m, m)
        As for `varsortability`.

    Returns
    -------
    float
        Between 0 and 1; NaN without arcs.

    References
    ----------
    A. G. Reisach, M. Tami, C. Seiler, A. Chambaz, S. Weichwald (2023). A scale-invariant sorting
    criterion to find a causal order in additive noise models. NeurIPS 36.
    https://doi.org/10.48550/arXiv.2303.18211

    Examples
    --------
    >>> from edgewise.metrics import r2_sortability
    >>> collider = [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    >>> r2_sortability([[0, 1, 1], [1, 0, 2], [0, 0, 2], [2, 1, 2], [3, 4, 0]], collider)
    1.0
    """
    rows = _aligned_rows(X, dag)
    if len(rows) <= rows.shape[1]:
        raise InputError("too_few_rows_for_r2", n_rows=len(rows), n_columns=rows.shape[1])
    return _sortability(explained_variance(covariance(rows)[1]), dag)


def _sortability(values: FloatArray, dag: GraphLike) -> float:
    arcs, _ = as_adjacency(dag)
    if find_cycle(arcs):
        raise InputError("cyclic_graph_order")
    margin = EQUAL * np.maximum(values[:, None], values)
    rises = values - values[:, None]
    # 1 for a rise, 1/2 for a tie.
    score = 0.5 * (rises > margin) + 0.5 * (rises >= -margin)
    total, n_pairs, joined = 0.0, 0, arcs
    while joined.any():
        total += float(score[joined].sum())
        n_pairs += int(np.count_nonzero(joined))
        joined = joined @ arcs
    return total / n_pairs if n_pairs else float("nan")


def _aligned_rows(X: Any, dag: GraphLike) -> FloatArray:
    """Return the rows as floats, with a column for each node."""
    if isinstance(dag, Graph) and hasattr(X, "columns") and set(X.columns) == set(dag.names):
        X = X[list(dag.names)]
    rows = np.asarray(X, dtype=np.float64)
    n_nodes = len(as_adjacency(dag)[0])
    if rows.ndim != 2 or rows.shape[1] != n_nodes:
        raise InputError("rows_shape", shape=rows.shape, n_nodes=n_nodes)
    if not np.isfinite(rows).all():
        raise InputError("rows_not_finite")
    return rows


def predictability(
    model: Any, X: Any, *, cv: int = 5, random_state: RandomState = 0
) -> pd.DataFrame:
    r"""Tell how well the neighbours of each node predict it in rows that were held out.

    In each fold, a node is regressed on its neighbours (parents, along arcs) in the other folds
    and predicted in this one. A column of numbers is regressed by least squares, and its
    predictability is the variance explained,

    .. math:: 1 - \frac{\sum_r (x_r - \hat x_r)^2}{\sum_r (x_r - \bar x)^2},

    with the mean :math:`\bar x` of the rows regressed. Text, declared categories and columns of
    two values are predicted by logistic regression; with the share A of rows predicted right and
    the share G that the most frequent level gets right, it is the accuracy over the best guess
    [1]_,

    .. math:: \frac{A - G}{1 - G}.

    It is 0 for a node without neighbours, 1 for one that follows exactly, and below 0 where
    neighbours mislead.

    Parameters
    ----------
    model : Graph, array-like of shape (p, p), or estimator
        A graph was likely learned from the rows held out too, so that its neighbours are a little
        too good; an estimator is fitted anew to the other folds each time.
    X : array-like or data frame of shape (n, p)
        Rows without missing values. A data frame is matched with the names of a `Graph`.
    cv : int
        Number of folds.
    random_state : int, Generator, RandomState or None
        Shuffles the rows into folds.

    Returns
    -------
    DataFrame
        ``predictability`` and its ``measure``, indexed by the names of the nodes.

    References
    ----------
    .. [1] Haslbeck and Waldorp (2018). How well do network models predict observations? On the
       importance of predictability in network models. *Behavior Research Methods* 50.
       https://doi.org/10.3758/s13428-017-0910-x

    Examples
    --------
    >>> from edgewise import GaussianGraph
    >>> from edgewise.metrics import predictability
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> X[:, 1] += X[:, 0]
    >>> predictability(GaussianGraph(), X)["predictability"].round(2).tolist()
    [0.52, 0.52, 0.0]
    """
    import pandas as pd
    from sklearn.base import clone
    from sklearn.model_selection import KFold

    table = match_columns(model, X)
    _check_folds(table, cv)
    rows, is_level = table.values, are_levels(table)
    is_learned = hasattr(model, "fit")
    names = model.names if isinstance(model, Graph) else table.names
    loss, worst = np.zeros(len(names)), np.zeros(len(names))
    seed = int(as_generator(random_state).integers(2**31 - 1))
    for train, test in KFold(cv, shuffle=True, random_state=seed).split(rows):
        graph = clone(model).fit(take_rows(X, train)).graph_ if is_learned else model
        joined, _ = as_adjacency(graph)
        if len(joined) != len(names):
            raise InputError("column_count", n_columns=len(names), n_nodes=len(joined))
        for k in range(len(names)):
            features = level_columns(rows[:, joined[:, k]], is_level[joined[:, k]])
            predict = _predict_level if is_level[k] else _predict_number
            guess, mean = predict(features[train], rows[train, k], features[test])
            off, off_mean = rows[test, k] - guess, rows[test, k] - mean
            loss[k] += np.sum(off != 0 if is_level[k] else off**2)
            worst[k] += np.sum(off_mean != 0 if is_level[k] else off_mean**2)
    explained = 1.0 - np.divide(loss, worst, out=np.ones(len(names)), where=worst > 0)
    measure = np.where(is_level, "accuracy over the best guess", "explained variance")
    return pd.DataFrame({"predictability": explained, "measure": measure}, index=list(names))


def match_columns(graph: Any, X: Any) -> Table:
    """Read rows, with the columns in the order of the nodes where both have the same names."""
    if isinstance(graph, Graph) and hasattr(X, "columns") and set(X.columns) == set(graph.names):
        X = X[list(graph.names)]
    return Table.from_input(X)


def _check_folds(table: Table, cv: int) -> None:
    if table.missing.any():
        raise InputError("missing_values_refused")
    Number(at_least=2, at_most=table.n_samples, is_whole=True).check("cv", cv)


def are_levels(table: Table) -> Any:
    """Which columns hold levels: text, categories, booleans, and numbers of two values."""
    n_values = np.array([len(np.unique(column)) for column in table.values.T])
    return (n_values == 2) | (np.array(table.kinds) != "numeric")


def level_columns(columns: FloatArray, is_level: Any) -> FloatArray:
    """Columns of numbers as they are, and one column for each level but the first of others."""
    parts = [np.empty((len(columns), 0))]
    for column, has_levels in zip(columns.T, is_level, strict=True):
        levels = np.unique(column)[1:]
        parts.append((column[:, None] == levels).astype(float) if has_levels else column[:, None])
    return np.concatenate(parts, axis=1)


def _predict_number(
    features: FloatArray, target: FloatArray, new: FloatArray
) -> tuple[FloatArray, float]:
    """Predict by least squares; return the mean too, which is the best guess without features."""
    mean, center = float(target.mean()), features.mean(axis=0)
    coef = np.linalg.lstsq(features - center, target - mean)[0]
    return mean + (new - center) @ coef, mean


def _predict_level(
    features: FloatArray, target: FloatArray, new: FloatArray
) -> tuple[FloatArray, float]:
    """Predict by logistic regression; return the most frequent level too."""
    levels, counts = np.unique(target, return_counts=True)
    best = float(levels[counts.argmax()])
    if len(levels) == 1 or not features.shape[1]:
        return np.full(len(new), best), best
    return np.asarray(_logistic(features, target).predict(new), dtype=np.float64), best


def _logistic(features: FloatArray, target: FloatArray) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # A weak penalty, so that levels that neighbours separate have finite coefficients.
    model = make_pipeline(StandardScaler(), LogisticRegression(C=100.0, max_iter=1000))
    return model.fit(features, target)


def residuals(features: FloatArray, target: FloatArray, *, is_level: bool) -> FloatArray:
    """Return what features leave of a column: of levels but the last, indicator less chance."""
    if not is_level:
        return (target - _predict_number(features, target, features)[0])[:, None]
    levels = np.unique(target)
    indicators = (target[:, None] == levels).astype(np.float64)
    if len(levels) == 1 or not features.shape[1]:
        chances = indicators.mean(axis=0)
    else:
        chances = _logistic(features, target).predict_proba(features)
    return np.asarray((indicators - chances)[:, :-1])
