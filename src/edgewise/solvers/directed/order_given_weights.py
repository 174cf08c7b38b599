"""The order that a weighted directed graph agrees with most."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.agony_kernels import smallest_tiers

#: Weights are counted in units of the largest times two to the power of minus this.
BITS = 40
#: Sums of weights stay below two to this power.
SUM_BITS = 62


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderSolution(Solution):
    """Tiers of a weighted directed graph; unpacks into tiers and agony.

    ``value`` are the tiers, ``objective`` is the agony, and ``n_iter`` counts minimum cuts. The
    gap is to a circulation within the weights, which bounds the agony of any order from below.
    """

    @property
    def tiers(self) -> IntArray:
        """Tier of each node, from 0."""
        return self.value

    @property
    def agony(self) -> float:
        """How much the weights disagree with the tiers; 0 if all arcs go up."""
        return self.objective

    def __iter__(self) -> Iterator[Any]:
        return iter((self.tiers, self.agony))


def order_given_weights(W: ArrayLike) -> OrderSolution:
    r"""Find the tiers that the arcs of a weighted directed graph agree with most.

    .. math::

        \min_{u} \; \sum_{i, j} |W_{ij}| \, \max(0, 1 - (u_j - u_i))

    over tiers :math:`u`: an arc i -> j that goes up costs nothing, one within a tier its weight,
    one that goes down by k tiers k + 1 times its weight. This is the weighted agony of the graph
    [1]_ [2]_, and the step of sparse Gaussian Bayesian networks that finds the order [3]_. It is a
    linear program whose vertices are whole numbers, and its dual is the largest circulation with
    capacities :math:`|W|`. It is solved exactly by a few minimum cuts: from tier 0, the smallest
    set of nodes that gains most is raised by one until none gains [4]_.

    Of all optimal tiers these are the smallest, node by node, which makes them unique: they move
    with the nodes when those are put into another order.

    Parameters
    ----------
    W : array-like of shape (m, m)
        ``W[i, j]`` is the weight of the arc i -> j; its sign does not matter. An entry on the
        diagonal costs itself in any order.

    Returns
    -------
    OrderSolution
        With ``tiers`` (whole numbers from 0) and ``agony``, into which it also unpacks. Sums of
        weights that differ by less than :math:`2^{-40}` of the largest may count as equal.

    References
    ----------
    .. [1] Gupte, Shankar, Li, Muthukrishnan and Iftode (2011). Finding hierarchy in directed
       online social networks. *WWW*. https://doi.org/10.1145/1963405.1963484
    .. [2] Tatti (2017). Tiers for peers: a practical algorithm for discovering hierarchy in
       weighted networks. *Data Mining and Knowledge Discovery* 31.
       https://doi.org/10.1007/s10618-016-0485-y
    .. [3] Zhou, Wang, Liu, Ogunbona and Shen (2016). Learning discriminative Bayesian networks
       from high-dimensional continuous neuroimaging data. *IEEE Transactions on Pattern Analysis
       and Machine Intelligence* 38(11). https://doi.org/10.1109/TPAMI.2015.2511754
    .. [4] Murota and Shioura (2014). Exact bounds for steepest descent algorithms of L-convex
       function minimization. *Operations Research Letters* 42(5).
       https://doi.org/10.1016/j.orl.2014.06.005

    Examples
    --------
    The weakest arc of the cycle 0 -> 1 -> 2 -> 0 goes down two tiers:

    >>> from edgewise.solvers import order_given_weights
    >>> tiers, agony = order_given_weights([[0, 3, 0], [0, 0, 2], [1, 0, 0]])
    >>> tiers, agony
    (array([0, 1, 2]), 3.0)
    """
    weights = np.abs(np.asarray(W, dtype=np.float64))
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or weights.shape[0] == 0:
        raise InputError(f"W must be a square matrix, got shape {weights.shape}.")
    if not np.isfinite(weights).all():
        raise InputError("W contains NaN or infinite entries.")
    loops = float(weights.diagonal().sum())
    np.fill_diagonal(weights, 0.0)
    tiers, agony, bound, n_cuts = minimize_agony(weights)
    return OrderSolution(
        value=tiers,
        objective=agony + loops,
        gap=agony - bound,
        n_iter=n_cuts,
        converged=True,
    )


def minimize_agony(weights: FloatArray) -> tuple[IntArray, float, float, int]:
    """Return the smallest tiers, their agony, a lower bound on it, and the number of cuts.

    The weights are at least 0, with a diagonal of 0.
    """
    n_nodes = len(weights)
    # Contiguous, so that the kernels are compiled once: a single arc is, and others are not.
    tails, heads = map(np.ascontiguousarray, np.nonzero(weights))
    if len(tails) == 0:
        return np.zeros(n_nodes, dtype=np.int64), 0.0, 0.0, 0
    amounts = weights[tails, heads]
    # An exact power of two, so that equal weights stay equal and others keep their ratio.
    bits = min(BITS, SUM_BITS - math.ceil(math.log2(len(amounts) + 1)))
    exponent = bits - math.frexp(float(amounts.max()))[1]
    units = _times_power_of_two(amounts, exponent)
    # However small, a weight counts: a graph without cycles must have agony 0.
    counts = np.maximum(units.astype(np.int64), 1)
    starts = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n_nodes))])
    tiers, circulation, n_cuts = smallest_tiers(starts, tails, heads, counts)
    agony = float(amounts @ np.maximum(1 - (tiers[heads] - tiers[tails]), 0))
    # Where a count is above its weight, the cycles through that arc may have to give up as much.
    excess = int(np.count_nonzero(units < 1)) * n_nodes
    bound = _times_power_of_two(np.array(max(float(circulation) - excess, 0.0)), -exponent)
    return tiers, agony, float(bound), n_cuts


def _times_power_of_two(amounts: FloatArray, exponent: int) -> FloatArray:
    """Multiply in two steps, since the power alone may be out of range."""
    return amounts * 2.0 ** (exponent // 2) * 2.0 ** (exponent - exponent // 2)
