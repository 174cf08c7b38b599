"""Networks with exact correlations, and blankets found one plain test at a time."""

import itertools

import numpy as np
from scipy import stats

#: So many rows that a test finds whatever is not rounding.
EXACT = 1e16


def random_weights(arcs, seed):
    rng = np.random.default_rng(seed)
    return arcs * rng.uniform(0.5, 1.0, arcs.shape) * rng.choice([-1, 1], arcs.shape)


def exact_correlations(weights):
    """Correlations of x = x weights + noise with unit variances."""
    mix = np.linalg.inv(np.eye(len(weights)) - weights)
    S = mix.T @ mix
    scale = np.sqrt(S.diagonal())
    return (S + S.T) / 2 / np.outer(scale, scale)


def make_dag(seed, n_nodes, n_parents=1.5):
    rng = np.random.default_rng(seed)
    arcs = np.zeros((n_nodes, n_nodes), dtype=bool)
    for j in range(1, n_nodes):
        arcs[rng.choice(j, min(j, rng.poisson(n_parents)), replace=False), j] = True
    order = rng.permutation(n_nodes)
    return arcs[np.ix_(order, order)]


def shuffled(arcs, seed):
    order = np.random.default_rng(seed).permutation(len(arcs))
    return arcs[np.ix_(order, order)]


def moral_graph(arcs):
    """Parents, children and spouses."""
    joined = arcs | arcs.T
    for child in range(len(arcs)):
        for pair in itertools.permutations(np.flatnonzero(arcs[:, child]), 2):
            joined[pair] = True
    return joined


def statistic(R, n_samples, x, y, given):
    """Fisher's z by the inverse of the correlations of all that take part."""
    K = np.linalg.inv(R[np.ix_([x, y, *given], [x, y, *given])])
    r = np.clip(-K[0, 1] / np.sqrt(K[0, 0] * K[1, 1]), -1 + 1e-15, 1 - 1e-15)
    return np.sqrt(n_samples - len(given) - 3) * np.abs(np.arctanh(r))


def critical_value(level):
    return stats.norm.isf(level / 2)


def p_value(R, n_samples, x, y, given):
    return 2 * stats.norm.sf(statistic(R, n_samples, x, y, given))


def without(members, node):
    return [member for member in members if member != node]


def slow_shrink(R, n_samples, target, members, level):
    members = list(members)
    while members:
        values = [statistic(R, n_samples, target, y, without(members, y)) for y in members]
        weakest = int(np.argmin(values))
        if values[weakest] > critical_value(level):
            break
        members.pop(weakest)
    return members


def left_over(R, target, members):
    if not members:
        return 1.0
    return 1 - R[target, members] @ np.linalg.solve(R[np.ix_(members, members)], R[members, target])


def slow_blanket(R, n_samples, target, method, level):
    """Blanket of one variable by the definition of each method, of at most half as many as rows."""
    members = []
    while True:
        room = int(n_samples // 2) - len(members)
        others = [y for y in range(len(R)) if y != target and y not in members]
        values = {y: statistic(R, n_samples, target, y, members) for y in others}
        found = [y for y in others if values[y] > critical_value(level)]
        if not found or room == 0:
            break
        before = left_over(R, target, members)
        if method == "gs":
            members = [*members, max(found, key=lambda y: abs(R[target, y]))]
        elif method == "fast-iamb":
            members = members + sorted(found, key=values.get, reverse=True)[:room]
        else:
            members = [*members, max(found, key=values.get)]
        if method.startswith(("inter", "fast")):
            members = slow_shrink(R, n_samples, target, members, level)
            if left_over(R, target, members) >= before * (1 - 1e-12):
                break
    if method == "iamb-npc":
        return members
    return slow_shrink(R, n_samples, target, members, level)


def slow_separator(R, n_samples, x, y, pool, level, deepest=99):
    """Smallest subset that separates; of those, the one that does so best."""
    for size in range(min(len(pool), deepest) + 1):
        subsets = list(itertools.combinations(pool, size))
        values = [statistic(R, n_samples, x, y, subset) for subset in subsets]
        if min(values) <= critical_value(level):
            return set(subsets[int(np.argmin(values))])
    return None


def slow_pruned_blanket(R, n_samples, target, method, level):
    """Keep neighbours, and those that share a child with the target."""
    members = slow_blanket(R, n_samples, target, method, level)
    separators = {
        y: slow_separator(R, n_samples, target, y, without(members, y), level) for y in members
    }
    neighbors = [y for y in members if separators[y] is None]
    kept = list(neighbors)
    for y in members:
        for child in neighbors:
            if y in kept or child in separators[y]:
                continue
            pool = [target, *without(without(members, y), child)]
            if slow_separator(R, n_samples, y, child, pool, level) is None:
                kept.append(y)
    return kept
