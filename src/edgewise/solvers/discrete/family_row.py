"""Marginal likelihoods of one variable given its blanket, and given all that differ by one."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.discrete.dirichlet import log_rise, n_configurations, own_table, slice_terms
from edgewise.solvers.discrete.slice_counts import GroupCounts, merge_member, outside, take_alike


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
