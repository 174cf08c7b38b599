"""The parts of the locally constant solver: fused lasso, layers of paths, screening."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise.solvers.space.fused_rows import (
    FusedProblem,
    find_groups,
    fused_path,
    penalty,
    restrict,
    short_path,
    shrink_layers,
    split_blocks,
)
from edgewise.solvers.space.path_layers import cover_by_paths
from edgewise.solvers.space.splitting import split_layers
from tests.solvers.space.locally_constant_problems import (
    cvxpy_locally_constant,
    elementwise,
    objective,
    pairs_of,
    random_pairs,
    random_problem,
)


def fused(y, weight, strength):
    n = len(y)
    b = np.empty(n)
    y, weight = np.asarray(y, float), np.asarray(weight, float)
    fused_path(y, weight, strength, n, b, np.empty((5, 2 * n + 3)))
    if not weight.any():
        short = np.empty(n)
        short_path(y, strength, n, short)
        np.testing.assert_allclose(short, b, atol=1e-12 * max(1.0, np.abs(y).max()))
    return b


def violation(y, weight, strength, b):
    """How far the optimality conditions are from holding, by following the set of multipliers
    that each condition leaves: z_k = z_{k-1} + b_k - y_k + u_k."""
    low = high = worst = 0.0
    for k in range(len(y)):
        sign = np.sign(b[k])
        low += b[k] - y[k] + (weight[k] * sign if sign else -weight[k])
        high += b[k] - y[k] + (weight[k] * sign if sign else weight[k])
        step = np.sign(b[k + 1] - b[k]) if k + 1 < len(y) else 0.0
        allowed = (0.0, 0.0) if k + 1 == len(y) else (-strength, strength)
        if step:
            allowed = (strength * step, strength * step)
        worst = max(worst, allowed[0] - high, low - allowed[1])
        low, high = max(low, allowed[0]), min(high, allowed[1])
        if low > high:
            low = high = (low + high) / 2
    return worst


@settings(max_examples=300, deadline=None)
@given(
    y=st.lists(st.integers(-3, 3), min_size=1, max_size=9),
    weight=st.lists(st.integers(0, 3), min_size=9, max_size=9),
    strength=st.sampled_from([0.25, 0.5, 1.0, 3.0, 50.0]),
    shift=st.sampled_from([0.0, 0.1, 1e-9]),
)
def test_the_fused_lasso_is_optimal_also_with_many_ties(y, weight, strength, shift):
    y = np.array(y) + shift
    weight = np.array(weight[: len(y)]) / 2
    assert violation(y, weight, strength, fused(y, weight, strength)) < 1e-12


def test_the_fused_lasso_on_random_data():
    rng = np.random.default_rng(0)
    for n in (2, 5, 40, 300):
        for _ in range(20):
            y = rng.normal(size=n) * 10 ** rng.uniform(-3, 3)
            weight = rng.uniform(0, 1, n) * (rng.random(n) < 0.5)
            strength = 10 ** rng.uniform(-3, 1)
            b = fused(y, weight, strength)
            assert violation(y, weight, strength, b) < 1e-13 * n * max(1, np.abs(y).max())


@settings(max_examples=200, deadline=None)
@given(
    y=st.lists(st.integers(-3, 3), min_size=1, max_size=9),
    weight=st.sampled_from([0.0, 0.5, 1.0]),
    strength=st.sampled_from([0.25, 0.5, 1.0, 3.0, 50.0]),
    shift=st.sampled_from([0.0, 0.1, 1e-9]),
)
def test_equal_weights_are_a_threshold_after_the_fact(y, weight, strength, shift):
    y = np.array(y) + shift
    b = fused(y, np.zeros(len(y)), strength)
    assert violation(y, np.zeros(len(y)), strength, b) < 1e-12
    thresholded = np.sign(b) * np.maximum(np.abs(b) - weight, 0)
    assert violation(y, np.full(len(y), weight), strength, thresholded) < 1e-12


def test_values_far_above_the_strength_do_not_break_the_fused_lasso():
    y = np.array([1e12, -1e12, 1e12, 3.0])
    assert np.abs(fused(y, np.zeros(4), 1e-9) - y).max() <= 1e-3


def test_shrinking_a_row_cuts_paths_at_its_own_entry_and_at_forbidden_ones():
    rng = np.random.default_rng(1)
    p, tau, mu = 6, 0.3, 2.0
    pairs = pairs_of("ring", p)
    layers = cover_by_paths(pairs, p)
    H = rng.normal(size=(p, p))
    thresholds = np.full((p, p), 0.2)
    thresholds[0, 3] = thresholds[3, 0] = np.inf
    Z, U, mean = np.zeros((1, p, p)), np.zeros((1, p, p)), np.zeros((p, p))
    problem = FusedProblem(np.eye(p), thresholds, tau, pairs)
    shrink_layers(H, problem, mu, 1.0, layers, Z, U, mean)
    np.testing.assert_allclose(U[0], H - Z[0], atol=1e-15)
    np.testing.assert_allclose(mean, 2 * Z[0] - H, atol=1e-15)

    # Row 0: the ring without 0 is the path 1..5, which the forbidden entry 3 cuts; its
    # neighbours 2 and 4 get the difference as an absolute value.
    assert Z[0, 0, 3] == 0
    left = fused(H[0, [1, 2]], np.array([0.2, 0.2 + tau]) / mu, tau / mu)
    right = fused(H[0, [4, 5]], np.array([0.2 + tau, 0.2]) / mu, tau / mu)
    np.testing.assert_allclose(Z[0, 0, [1, 2, 4, 5]], [*left, *right], atol=1e-15)
    # Row 1: the ring without 1 is one path from 2 over 5 and 0.
    order = [2, 3, 4, 5, 0]
    np.testing.assert_allclose(
        Z[0, 1, order], fused(H[1, order], np.full(5, 0.2 / mu), tau / mu), atol=1e-15
    )
    assert Z[0, 1, 1] == pytest.approx(np.sign(H[1, 1]) * max(abs(H[1, 1]) - 0.2 / mu, 0))


@pytest.mark.parametrize(
    ("kind", "shape", "n_layers"),
    [
        ("chain", (7,), 1),
        ("ring", (7,), 1),
        ("grid", (4, 5), 2),
        ("grid", (3, 2, 4), 3),
        ("star", (8,), 4),
    ],
)
def test_layers_hold_every_pair_once_and_are_few(kind, shape, n_layers):
    p = int(np.prod(shape))
    pairs = pairs_of(kind, *shape)
    for order in (np.arange(len(pairs)), np.random.default_rng(0).permutation(len(pairs))):
        layers = cover_by_paths(pairs[order], p)
        assert layers.n_layers == n_layers
        assert_covered(layers, pairs[order], p)


def test_layers_of_arbitrary_pairs():
    rng = np.random.default_rng(5)
    for _ in range(20):
        p = int(rng.integers(2, 12))
        pairs = random_pairs(rng, p, int(rng.integers(0, p * (p - 1) // 2 + 1)))
        assert_covered(cover_by_paths(pairs, p), pairs, p)


def test_a_ring_through_some_of_the_variables_does_not_close():
    pairs = pairs_of("ring", 5)
    layers = cover_by_paths(pairs, 6)
    assert layers.n_layers == 2
    assert not layers.is_joined[:, -1].any()
    assert_covered(layers, pairs, 6)


def assert_covered(layers, pairs, p):
    found = set()
    for k in range(layers.n_layers):
        assert sorted(layers.nodes[k]) == list(range(p))
        for m in np.flatnonzero(layers.is_joined[k]):
            a, b = layers.nodes[k, m], layers.nodes[k, (m + 1) % p]
            pair = (min(a, b), max(a, b))
            assert pair not in found
            found.add(pair)
            assert layers.layer[np.flatnonzero((np.sort(pairs, axis=1) == pair).all(axis=1))] == k
    assert found == {tuple(pair) for pair in np.sort(pairs, axis=1).tolist()}


def test_groups_are_connected_sets_of_equal_entries():
    Theta = np.eye(5)
    for i, j, value in [(0, 3, 0.5), (0, 4, 0.5), (1, 3, 0.5), (2, 4, 0.5), (0, 1, 0.2)]:
        Theta[i, j] = Theta[j, i] = value
    pairs = pairs_of("chain", 5)
    groups = find_groups(pairs, np.zeros(4, dtype=int), Theta[None])
    assert groups[0, 3] == groups[0, 4] == groups[1, 3] == groups[3, 0] >= 0
    # Equal as well, but joined to the others by no difference of neighbours.
    assert groups[2, 4] not in (groups[0, 3], -1)
    assert groups[0, 1] not in (groups[0, 3], groups[2, 4], -1)
    assert (np.diag(groups) == -1).all()
    assert groups[2, 3] == -1
    np.testing.assert_array_equal(groups, groups.T)
    assert sorted(set(groups[groups >= 0])) == [0, 1, 2]


def test_the_penalty_is_the_formula():
    rng = np.random.default_rng(2)
    pairs = pairs_of("grid", 2, 3)
    Theta = np.eye(6) + 0.05 * (A := rng.normal(size=(6, 6))) + 0.05 * A.T
    thresholds = elementwise(6, 0.2, 1 + np.abs(np.add.outer(np.arange(6), np.arange(6))))
    S = np.eye(6)
    expected = objective(Theta, S, thresholds, 0.7, pairs)
    plain = np.sum(S * Theta) - np.linalg.slogdet(Theta)[1]
    assert penalty(Theta, FusedProblem(S, thresholds, 0.7, pairs)) == pytest.approx(
        expected - plain, rel=1e-12
    )


@pytest.mark.parametrize("seed", range(12))
def test_screening_keeps_the_solution(seed):
    rng = np.random.default_rng(seed)
    kind, shape = [("chain", (9,)), ("ring", (8,)), ("grid", (3, 3))][seed % 3]
    p = int(np.prod(shape))
    pairs = pairs_of(kind, *shape)
    S = random_problem(rng, pairs, p, 4 * p)
    size = np.sort(np.abs(S[np.triu_indices(p, 1)]))
    alpha = float(size[int(0.9 * len(size))])
    problem = FusedProblem(S=S, thresholds=np.full((p, p), alpha), tau=0.2 * alpha, pairs=pairs)
    blocks = split_blocks(problem)
    assert sorted(np.concatenate(blocks)) == list(range(p))
    value, Theta = cvxpy_locally_constant(S, problem.thresholds, problem.tau, pairs)
    total = 0.0
    for block in blocks:
        outside = np.setdiff1d(np.arange(p), block)
        assert np.abs(Theta[np.ix_(block, outside)]).max(initial=0) < 2e-6
        part = restrict(problem, block)
        if block.size == 1:
            total += part.objective(part.diagonal_solution())
        else:
            total += split_layers(part, 1e-9, 5000)[0].objective
    assert total == pytest.approx(value, abs=1e-7)


def test_screening_is_needed_with_its_weights():
    # Variable 3 of this chain screens itself out; merely leaving it out gives another answer.
    S = np.eye(5)
    S[0, 2] = S[2, 0] = 0.6
    S[0, 1] = S[1, 0] = 0.3
    pairs = pairs_of("chain", 5)
    problem = FusedProblem(S=S, thresholds=np.full((5, 5), 0.2), tau=0.1, pairs=pairs)
    blocks = split_blocks(problem)
    assert [block.tolist() for block in blocks] == [[0, 1, 2], [3], [4]]
    part = restrict(problem, blocks[0])
    assert part.thresholds[0, 2] == pytest.approx(0.2 + 0.05)
    assert part.thresholds[0, 1] == pytest.approx(0.2)
    assert part.thresholds[2, 2] == pytest.approx(0.2)
    best, _ = cvxpy_locally_constant(S, problem.thresholds, 0.1, pairs)
    naive = FusedProblem(S=S[:3, :3], thresholds=np.full((3, 3), 0.2), tau=0.1, pairs=pairs[:2])

    def excess(block):
        Theta = np.eye(5) / 1.2
        Theta[:3, :3] = split_layers(block, 1e-10, 5000)[0].Theta
        return objective(Theta, S, problem.thresholds, 0.1, pairs) - best

    assert excess(part) == pytest.approx(0, abs=1e-7)
    assert excess(naive) > 1e-4


def test_variables_join_a_block_only_when_the_rule_asks_for_it():
    S = np.eye(4)
    S[0, 3] = S[3, 0] = 0.5
    chain = pairs_of("chain", 4)

    def blocks(tau):
        problem = FusedProblem(S=S, thresholds=np.full((4, 4), 0.2), tau=tau, pairs=chain)
        return [block.tolist() for block in split_blocks(problem)]

    # Entries (1, 3) and (0, 2) each have one neighbour inside the block, which pulls by tau / 2.
    assert blocks(0.4) == [[0, 3], [1], [2]]
    assert blocks(0.41) == [[0, 1, 2, 3]]
