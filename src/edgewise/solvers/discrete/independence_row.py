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

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.discrete.dirichlet import (
    log_rise,
    n_configurations,
    own_table,
    rise,
    slice_terms,
)
from edgewise.solvers.discrete.slice_counts import GroupCounts, merge_member, outside, take_alike

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
) -> FloatArray:
    """Return -log P(i independent of k) for all k, given the blanket without k.

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
        s = cardinalities[members[q]]
        strengths = _strengths(r, s, space / s, pseudocount, ess)
        result[members[q]] = _member_term(r, s, q, counts, strengths, prior, rises)
    is_open = outside(i, members, n)
    for first in range(n):
        if is_open[first]:
            s = cardinalities[first]
            strengths = _strengths(r, s, space, pseudocount, ess)
            cells = columns = rises
            variables = take_alike(first, cardinalities, is_open)
            if pseudocount <= 0.0:
                n_uses = s * len(variables)
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
