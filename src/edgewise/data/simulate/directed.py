"""Linear structural equations on a directed acyclic graph, and samples from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.simulate.gaussian import GraphKind, make_graph


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearSEM:
    r"""Linear structural equations: each variable is a sum over its parents, plus noise.

    .. math:: x_j = \sum_i B_{ij} x_i + e_j, \qquad e_j \sim N(0, \sigma_j^2),

    with :math:`B` the coefficients of a directed acyclic graph.

    Attributes
    ----------
    coef : ndarray of shape (n_features, n_features)
        ``coef[i, j]`` is the coefficient of the arc i -> j, 0 where there is none.
    noise_variance : ndarray of shape (n_features,)
        Of each equation.
    columns : ndarray of int, shape (n_features,)
        Which node of the graph that was asked for each variable is.

    Examples
    --------
    >>> model = make_linear_sem([[0, 1], [0, 0]], low=1.0, high=1.0, rng=1)
    >>> model.covariance
    array([[ 1., -1.],
           [-1.,  2.]])
    """

    coef: FloatArray
    noise_variance: FloatArray
    columns: IntArray

    @property
    def adjacency(self) -> BoolArray:
        """Arcs i -> j, shape (n_features, n_features)."""
        arcs: BoolArray = self.coef != 0
        return arcs

    @property
    def covariance(self) -> FloatArray:
        r"""Covariance of the variables, :math:`(I - B)^{-\top} D_\sigma^2 (I - B)^{-1}`."""
        order = np.concatenate(generations(self.adjacency))
        system = np.eye(len(order)) - self.coef[np.ix_(order, order)]
        effects = linalg.solve_triangular(system, np.eye(len(order)), unit_diagonal=True)
        Sigma = np.empty_like(effects)
        Sigma[np.ix_(order, order)] = (effects.T * self.noise_variance[order]) @ effects
        return (Sigma + Sigma.T) / 2.0

    def sample(
        self, n_samples: int, rng: RandomState = None, *, standardize: bool = False
    ) -> FloatArray:
        """Draw independent rows, with Gaussian noise.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        rng : int, Generator or None
            Seed.
        standardize : bool
            Shift and scale each column to a mean of 0 and a variance of 1. Variances of raw
            columns tend to grow from causes to effects, which gives their order away
            (`edgewise.metrics.varsortability`).

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> X = make_linear_sem([[0, 1], [0, 0]], rng=0).sample(100, rng=0, standardize=True)
        >>> X.var(axis=0).round(6)
        array([1., 1.])
        """
        if n_samples < (2 if standardize else 1):
            raise InputError("n_samples_at_least", standardize=1 + standardize, n_samples=n_samples)
        noise = as_generator(rng).standard_normal((n_samples, len(self.coef)))
        rows: FloatArray = noise * np.sqrt(self.noise_variance)
        for nodes in generations(self.adjacency)[1:]:
            rows[:, nodes] += rows @ self.coef[:, nodes]
        if standardize:
            rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        return rows


def make_linear_sem(
    adjacency: ArrayLike,
    *,
    low: float = 0.5,
    high: float = 1.0,
    noise_variance: ArrayLike = 1.0,
    permute: bool = False,
    rng: RandomState = None,
) -> LinearSEM:
    """Draw linear structural equations on a directed acyclic graph.

    Coefficients are drawn evenly from ``[low, high]``, with either sign at equal odds.

    Parameters
    ----------
    adjacency : array-like of shape (n_features, n_features)
        Entry [i, j] is not zero for the arc i -> j; without cycles.
    low, high : float
        Smallest and largest absolute coefficient.
    noise_variance : float or array-like of shape (n_features,)
        Of each equation.
    permute : bool
        Put the variables into a random order. Many graphs list their nodes from causes to effects,
        and a method that breaks ties by position would be told the answer.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    LinearSEM
        Its ``columns`` say which node each variable is.

    Examples
    --------
    >>> from edgewise.data import load_dag
    >>> model = make_linear_sem(load_dag("alarm").adjacency, permute=True, rng=0)
    >>> int(model.adjacency.sum())
    46
    """
    arcs = np.array(adjacency, dtype=bool)
    if arcs.ndim != 2 or arcs.shape[0] != arcs.shape[1]:
        raise InputError("adjacency_not_square", shape=arcs.shape)
    if not 0 < low <= high:
        raise InputError("low_high_range", low=low, high=high)
    generations(arcs)
    variance = np.broadcast_to(np.asarray(noise_variance, dtype=np.float64), len(arcs)).copy()
    if not (variance > 0).all():
        raise InputError("noise_variance_positive")
    generator = as_generator(rng)
    size = generator.uniform(low, high, size=arcs.shape)
    sign = np.where(generator.random(arcs.shape) < 0.5, -1.0, 1.0)
    coef = np.where(arcs, sign * size, 0.0)
    columns = generator.permutation(len(arcs)) if permute else np.arange(len(arcs))
    return LinearSEM(
        coef=coef[np.ix_(columns, columns)], noise_variance=variance[columns], columns=columns
    )


def make_dag(
    n_features: int,
    kind: GraphKind = "erdos-renyi",
    *,
    degree: float = 3.0,
    rng: RandomState = None,
) -> BoolArray:
    """Draw a directed acyclic graph: an undirected one whose edges follow a random order.

    Parameters
    ----------
    n_features : int
        Number of nodes, at least 2.
    kind : {"erdos-renyi", "barabasi-albert", "hub", "chain", "ring", "grid"}
        Family of the undirected graph, see `make_graph`.
    degree : float
        As in `make_graph`: average number of parents and children together.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    ndarray of bool, shape (n_features, n_features)
        Arc i -> j at [i, j].

    Examples
    --------
    >>> make_dag(4, "chain", rng=0).astype(int)
    array([[0, 0, 0, 0],
           [1, 0, 1, 0],
           [0, 0, 0, 1],
           [0, 0, 0, 0]])
    """
    generator = as_generator(rng)
    joined = make_graph(n_features, kind, degree=degree, rng=generator)
    rank = generator.permutation(n_features)
    arcs: BoolArray = joined & (rank[:, None] < rank)
    return arcs


def generations(adjacency: BoolArray) -> list[IntArray]:
    """Sort the nodes of a directed acyclic graph: each group has parents in earlier ones only."""
    left = np.ones(len(adjacency), dtype=bool)
    groups = []
    while left.any():
        ready = left & ~adjacency[left].any(axis=0)
        if not ready.any():
            raise InputError(
                "cycle_among_nodes", listed=", ".join(map(str, np.flatnonzero(left).tolist()))
            )
        groups.append(np.flatnonzero(ready))
        left &= ~ready
    return groups
