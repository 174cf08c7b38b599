r"""Logarithms of rising factorials, of which Dirichlet marginal likelihoods are made.

With :math:`A = a \cdot` (number of cells), counts :math:`c` with sum :math:`m` have

.. math::
    \log \int \prod_l \theta_l^{c_l} \, \mathrm{Dir}(\theta; a) \, d\theta
    = \sum_l \bigl[ \log\Gamma(c_l + a) - \log\Gamma(a) \bigr]
    - \bigl[ \log\Gamma(m + A) - \log\Gamma(A) \bigr].

Empty cells add nothing, so that sums run over the groups of rows that occur.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.discrete.slice_counts import GroupCounts

#: Configurations beyond this many count as so many, so that each has a share of something.
MOST_CONFIGURATIONS = 1e280
#: Above this size of a count its log-gamma is computed instead of looked up.
LARGEST_TABLE = 2**20


def rising_table(a: float, n_samples: int) -> FloatArray:
    """Return log Gamma(m + a) - log Gamma(a) for m = 0, 1, ..."""
    table: FloatArray = gammaln(np.arange(min(n_samples, LARGEST_TABLE) + 1) + a) - gammaln(a)
    return table


@kernel
def n_configurations(members: IntArray, cardinalities: IntArray) -> float:
    """Return how many slices there could be."""
    product = 1.0
    for k in members:
        product = min(product * cardinalities[k], MOST_CONFIGURATIONS)
    return product


@kernel
def slice_terms(
    z: int,
    counts: GroupCounts,
    variables: IntArray,
    offsets: IntArray,
    s: int,
    a: float,
    b: float,
    cells: FloatArray,
    sums: FloatArray,
    terms: FloatArray,
) -> None:
    """Write the part of the marginal likelihood of slice ``z`` that another variable has in it.

    For each of some ``variables`` with ``s`` levels that is the sum of the rises of its cells, with
    parameter ``a``, less those of its margin, with ``b``. ``cells`` and ``sums`` are their tables.
    """
    totals = counts.totals[counts.starts[z] : counts.starts[z + 1]]
    places = counts.places[counts.starts[z] : counts.starts[z + 1]]
    tables = counts.tables
    margins = np.empty(s, np.int64)
    for q in range(len(variables)):
        for y in range(s):
            margins[y] = 0
        value = 0.0
        for g in range(len(totals)):
            # Level 0 is not marked: it has what the others leave.
            rest = totals[g]
            for y in range(1, s):
                c = tables[places[g], offsets[variables[q]] + y - 1]
                value += rise(a, c, cells)
                margins[y] += c
                rest -= c
            value += rise(a, rest, cells)
            margins[0] += rest
        for y in range(s):
            value -= rise(b, margins[y], sums)
        terms[q] = value


@kernel
def own_table(a: float, largest: int, n_uses: int) -> FloatArray:
    """Return a table of log Gamma(m + a) - log Gamma(a) if it is used often enough to pay."""
    if n_uses < largest or largest > LARGEST_TABLE:
        return np.empty(0)
    table = np.zeros(largest + 1)
    lost = 0.0
    for m in range(largest):
        # What rounding takes off a long sum is carried along.
        step = math.log(m + a) - lost
        table[m + 1] = table[m] + step
        lost = (table[m + 1] - table[m]) - step
    return table


@kernel
def rise(a: float, m: int, table: FloatArray) -> float:
    """Return log Gamma(m + a) - log Gamma(a), from the table where it has it."""
    if m < len(table):
        known: float = table[m]
        return known
    return log_rise(a, m)


@kernel
def log_rise(a: float, m: int) -> float:
    """Return log Gamma(m + a) - log Gamma(a)."""
    return math.lgamma(m + a) - math.lgamma(a)
