r"""Posteriors of the independence of one variable and each of the others.

Two variables in a slice are independent with probability proportional to the product of the
marginal likelihoods :math:`g` of their margins, dependent proportional to that of their table,
:math:`h`. Independence given the blanket means independence in each of the :math:`K` slices that
occur, with prior :math:`\pi^{1/K} = p` each, so that

.. math::
    -\log P(\text{independent}) = \sum_k \operatorname{softplus}(v_k), \qquad
    v_k = \log\frac{1 - p}{p} + \log h_k - \log g_k .
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.discrete.counts import GroupCounts, merge_member, outside, take_alike

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


@kernel
def family_row(
    i: int,
    members: IntArray,
    cardinalities: IntArray,
    offsets: IntArray,
    counts: GroupCounts,
    cell: float,
    ess: float,
) -> tuple[float, FloatArray]:
    """Return the log marginal likelihood of i given its blanket, and with each k put in or out.

    Every cell has the Dirichlet parameter ``cell`` where that is above 0, and otherwise a share
    of ``ess``.
    """
    r = cardinalities[i]
    space = n_configurations(members, cardinalities)
    result = np.zeros(len(cardinalities))
    for q in range(len(members)):
        _, totals, _, slice_totals = merge_member(q, counts)
        a = cell if cell > 0.0 else ess * cardinalities[members[q]] / (r * space)
        result[members[q]] = _family_term(r, a, totals, slice_totals)
    is_open = outside(i, members, len(cardinalities))
    for first in range(len(cardinalities)):
        if is_open[first]:
            s = cardinalities[first]
            a = cell if cell > 0.0 else ess / (r * s * space)
            variables = take_alike(first, cardinalities, is_open)
            n_uses = s * len(variables)
            cells = own_table(a, counts.largest, n_uses * len(counts.totals))
            sums = own_table(a * r, counts.largest, n_uses * len(counts.starts))
            terms = np.empty(len(variables))
            for z in range(len(counts.slice_totals)):
                slice_terms(z, counts, variables, offsets, s, a, r * a, cells, sums, terms)
                for q in range(len(variables)):
                    result[variables[q]] += terms[q]
    a = cell if cell > 0.0 else ess / (r * space)
    return _family_term(r, a, counts.totals, counts.slice_totals), result


@kernel
def _family_term(r: int, a: float, totals: IntArray, slice_totals: IntArray) -> float:
    """Return the log marginal likelihood of the rows of each group, given those of each slice."""
    value = 0.0
    for c in totals:
        value += log_rise(a, c)
    for m in slice_totals:
        value -= log_rise(r * a, m)
    return value


#: Smallest -log P(independent) that is told from 0, so that P(dependent) has a logarithm.
SMALLEST = 1e-300


@kernel
def independence_row(
    i: int,
    members: IntArray,
    cardinalities: IntArray,
    offsets: IntArray,
    counts: GroupCounts,
    pseudocount: float,
    ess: float,
    prior: float,
    rises: FloatArray,
    is_wanted: BoolArray,
) -> FloatArray:
    """Return -log P(i independent of k) for the k that are wanted, given the blanket without k.

    A ``pseudocount`` above 0 is the Dirichlet parameter of every cell and margin, for which
    ``rises`` is a table; otherwise ``ess`` is shared out among the cells of all slices (BDeu).
    """
    n = len(cardinalities)
    r = cardinalities[i]
    result = np.full(n, -math.log(prior))
    if len(counts.codes) == 0:
        return result
    space = n_configurations(members, cardinalities)
    for q in range(len(members)):
        if not is_wanted[members[q]]:
            continue
        s = cardinalities[members[q]]
        strengths = _strengths(r, s, space / s, pseudocount, ess)
        result[members[q]] = _member_term(r, s, q, counts, strengths, prior, rises)
    is_outside = outside(i, members, n)
    is_open = is_outside & is_wanted
    for first in range(n):
        if is_open[first]:
            s = cardinalities[first]
            strengths = _strengths(r, s, space, pseudocount, ess)
            cells = columns = rises
            variables = take_alike(first, cardinalities, is_open)
            if pseudocount <= 0.0:
                # Of all alike, wanted or not, so that rounding does not depend on who asks.
                n_uses = s * np.count_nonzero(is_outside & (cardinalities == s))
                cells = own_table(strengths[0], counts.largest, n_uses * len(counts.totals))
                columns = own_table(strengths[2], counts.largest, n_uses * len(counts.starts))
            _add_outside(
                r, s, variables, offsets, counts, strengths, prior, rises, cells, columns, result
            )
    for k in range(n):
        result[k] = max(result[k], SMALLEST)
    return result


@kernel
def _strengths(
    r: int, s: int, space: float, pseudocount: float, ess: float
) -> tuple[float, float, float]:
    """Return the Dirichlet parameters of cells, of the margin of i and of that of k."""
    if pseudocount > 0.0:
        return pseudocount, pseudocount, pseudocount
    return ess / (r * s * space), ess / (r * space), ess / (s * space)


@kernel
def _add_outside(
    r: int,
    s: int,
    variables: IntArray,
    offsets: IntArray,
    counts: GroupCounts,
    strengths: tuple[float, float, float],
    prior: float,
    rows: FloatArray,
    cells: FloatArray,
    columns: FloatArray,
    result: FloatArray,
) -> None:
    """Sum the slices for variables outside the blanket that have ``s`` levels each."""
    a, a_row, a_column = strengths
    n_slices = len(counts.slice_totals)
    odds = _log_odds_against(prior, n_slices)
    terms = np.empty(len(variables))
    n_alone = 0
    for k in variables:
        result[k] = 0.0
    for z in range(n_slices):
        # One row says nothing about dependence: its slice keeps the prior.
        if counts.slice_totals[z] == 1:
            n_alone += 1
            continue
        common = odds + _constant(r, s, strengths, counts.slice_totals[z])
        for g in range(counts.starts[z], counts.starts[z + 1]):
            common -= rise(a_row, counts.totals[g], rows)
        slice_terms(z, counts, variables, offsets, s, a, a_column, cells, columns, terms)
        for q in range(len(variables)):
            result[variables[q]] += _softplus(common + terms[q])
    for k in variables:
        result[k] -= n_alone * math.log(prior) / n_slices


@kernel
def _member_term(
    r: int,
    s: int,
    member: int,
    counts: GroupCounts,
    strengths: tuple[float, float, float],
    prior: float,
    rises: FloatArray,
) -> float:
    """Return -log P(independent) of a member of the blanket, given the others."""
    a, a_row, a_column = strengths
    merged, margins, slices, sums = merge_member(member, counts)
    value = np.full(len(sums), _log_odds_against(prior, len(sums)))
    for g in range(len(merged)):
        group = merged[g]
        value[slices[group]] += rise(a, counts.totals[g], rises)
    for m in range(len(margins)):
        value[slices[m]] -= rise(a_row, margins[m], rises)
    for z in range(len(counts.slice_totals)):
        group = merged[counts.starts[z]]
        value[slices[group]] -= rise(a_column, counts.slice_totals[z], rises)
    result = 0.0
    for z in range(len(sums)):
        if sums[z] == 1:
            result -= math.log(prior) / len(sums)
        else:
            result += _softplus(value[z] + _constant(r, s, strengths, sums[z]))
    return result


@kernel
def _constant(r: int, s: int, strengths: tuple[float, float, float], total: int) -> float:
    """Return the part of log h - log g that depends on the number of rows of a slice only."""
    a, a_row, a_column = strengths
    return log_rise(a_row * r, total) + log_rise(a_column * s, total) - log_rise(a * r * s, total)


@kernel
def _log_odds_against(prior: float, n_slices: int) -> float:
    """Return log((1 - p) / p) of one of ``n_slices`` slices that share a prior."""
    log_p = math.log(prior) / n_slices
    return math.log(-math.expm1(log_p)) - log_p


@kernel
def _softplus(v: float) -> float:
    if v > 35.0:
        return v
    if v < -35.0:
        return math.exp(v)
    return math.log1p(math.exp(v))


@kernel
def pool_slices(
    slices: IntArray, pair: IntArray, weight: FloatArray, shape: IntArray, is_signed: bool
) -> FloatArray:
    """Add up, over slices of sorted rows, what `edge_associations` takes of their tables."""
    table = np.zeros((shape[0], shape[1]))
    sums, start = np.zeros(3), 0
    while start < len(slices):
        stop = start
        while stop < len(slices) and slices[stop] == slices[start]:
            table[pair[stop, 0], pair[stop, 1]] += weight[stop]
            stop += 1
        if table.sum() > 1.0:
            sums += _concordance(table) if is_signed else _contingency(table)
        for row in range(start, stop):
            table[pair[row, 0], pair[row, 1]] = 0.0
        start = stop
    return sums


@kernel
def _concordance(table: FloatArray) -> FloatArray:
    """Concordant less discordant pairs of rows, and those that differ in each column, per row."""
    n, excess = table.sum(), 0.0
    before = np.zeros(table.shape[1])
    for i in range(table.shape[0]):
        left, right = 0.0, before.sum()
        for j in range(table.shape[1]):
            right -= before[j]
            excess += table[i, j] * (left - right)
            left += before[j]
        before += table[i]
    across = 0.5 * (n * n - (table.sum(axis=1) ** 2).sum())
    along = 0.5 * (n * n - (table.sum(axis=0) ** 2).sum())
    return np.array([excess / n, across / n, along / n])


@kernel
def _contingency(table: FloatArray) -> FloatArray:
    """Chi-squared and the largest that it can be, both less what chance adds."""
    n, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
    r, c = (rows > 0.0).sum(), (columns > 0.0).sum()
    chi = -n
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            if table[i, j] > 0.0:
                chi += n * table[i, j] ** 2 / (rows[i] * columns[j])
    chance = n / (n - 1.0) * (r - 1.0) * (c - 1.0)
    return np.array([chi - chance, n * (min(r, c) - 1.0) - chance, 0.0])
