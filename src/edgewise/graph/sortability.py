"""Sortability: how well variances or R² predict the order of a directed acyclic graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.graph.equivalence import find_cycle
from edgewise.graph.graph import Graph
from edgewise.graph.metrics import GraphLike, as_adjacency
from edgewise.stats.moments import covariance, explained_variance

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
        raise InputError(
            f"With {len(rows)} rows, every one of the {rows.shape[1]} columns follows exactly from "
            "the others. Take more rows than columns."
        )
    return _sortability(explained_variance(covariance(rows)[1]), dag)


def _sortability(values: FloatArray, dag: GraphLike) -> float:
    arcs, _ = as_adjacency(dag)
    if find_cycle(arcs):
        raise InputError("The graph is not acyclic, so that there is no order to find.")
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
        raise InputError(f"X has shape {rows.shape} for a graph of {n_nodes} nodes.")
    if not np.isfinite(rows).all():
        raise InputError("X holds NaN or inf. Drop those rows.")
    return rows
