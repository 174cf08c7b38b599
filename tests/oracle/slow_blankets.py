"""Scores of Markov networks on discrete data, written for being read and not for speed.

Rows are tuples of level numbers, graphs are lists of sets of neighbours, counts are dictionaries.
"""

from collections import Counter
from itertools import combinations
from math import exp, expm1, lgamma, log, log1p, prod


def dirichlet_marginal(counts, n_cells, a):
    """Log marginal likelihood of counts under a symmetric Dirichlet; absent cells hold 0."""
    total = sum(counts.values())
    value = lgamma(a * n_cells) - lgamma(a * n_cells + total)
    for count in counts.values():
        value += lgamma(count + a) - lgamma(a)
    return value


def slices(rows, given):
    """Rows by their values in the columns ``given``; those that occur."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[k] for k in given), []).append(row)
    return found


def independence(rows, levels, i, j, given=(), *, pseudocount=1.0, prior=0.5, ess=1.0):
    """Log probabilities that i and j are independent, and dependent, given other columns."""
    found = slices(rows, given)
    if not found:
        return log(prior), log(1 - prior)
    if pseudocount == "bdeu":
        q = prod(levels[k] for k in given)
        a_ij, a_i, a_j = (
            ess / (size * q) for size in (levels[i] * levels[j], levels[i], levels[j])
        )
    else:
        a_ij = a_i = a_j = pseudocount
    log_p = log(prior) / len(found)
    log_odds_dependent = log(-expm1(log_p)) - log_p
    log_independent = 0.0
    for part in found.values():
        log_g = dirichlet_marginal(Counter(row[i] for row in part), levels[i], a_i)
        log_g += dirichlet_marginal(Counter(row[j] for row in part), levels[j], a_j)
        table = Counter((row[i], row[j]) for row in part)
        log_h = dirichlet_marginal(table, levels[i] * levels[j], a_ij)
        v = log_odds_dependent + log_h - log_g
        log_independent -= max(v, 0.0) + log1p(exp(-abs(v)))
    return log_independent, log(-expm1(log_independent))


def assertion(rows, levels, blankets, i, j, **options):
    """Log probability of what the blanket of i says about i and j."""
    if j in blankets[i]:
        return independence(rows, levels, i, j, sorted(blankets[i] - {j}), **options)[1]
    return independence(rows, levels, i, j, sorted(blankets[i]), **options)[0]


def ib(rows, levels, blankets, **options):
    """Sum over all ordered pairs."""
    n = len(levels)
    return sum(
        assertion(rows, levels, blankets, i, j, **options)
        for i in range(n)
        for j in range(n)
        if i != j
    )


def bjp(rows, levels, blankets, *, ties="index", **options):
    """Chain rule along the variables by ascending degree; what came earlier is inferred."""
    order = sorted(range(len(levels)), key=lambda i: (len(blankets[i]), i))
    total = 0.0
    for first, second in combinations(order, 2):
        value = assertion(rows, levels, blankets, first, second, **options)
        if ties == "mean" and len(blankets[first]) == len(blankets[second]):
            value = (value + assertion(rows, levels, blankets, second, first, **options)) / 2
        total += value
    return total


def mpl(rows, levels, blankets, *, ess=1.0, cell=None):
    """Sum over variables and configurations of their blankets."""
    total = 0.0
    for j, blanket in enumerate(blankets):
        q = prod(levels[k] for k in blanket)
        a = ess / (levels[j] * q) if cell is None else cell
        for part in slices(rows, sorted(blanket)).values():
            total += dirichlet_marginal(Counter(row[j] for row in part), levels[j], a)
    return total


SCORES = {"bjp": bjp, "ib": ib, "mpl": mpl}


def all_graphs(n):
    """Every undirected graph on n nodes, as lists of neighbour sets."""
    pairs = list(combinations(range(n), 2))
    for number in range(2 ** len(pairs)):
        blankets = [set() for _ in range(n)]
        for bit, (i, j) in enumerate(pairs):
            if number >> bit & 1:
                blankets[i].add(j)
                blankets[j].add(i)
        yield blankets
