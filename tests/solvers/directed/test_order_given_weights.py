import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse
from scipy.optimize import linprog

from edgewise import InputError
from edgewise.solvers import order_given_weights
from tests.messages import raises


def agony(W, tiers):
    climb = np.subtract.outer(tiers, tiers).T
    return float(np.sum(np.abs(W) * np.maximum(0, 1 - climb)))


def linear_program(W):
    """Minimum agony and the largest circulation by HiGHS, the two sides of one linear program."""
    n_nodes = len(W)
    tails, heads = np.nonzero(W)
    costs = np.abs(W[tails, heads])
    n_arcs = len(tails)
    arc = np.arange(n_arcs)
    rows = np.tile(arc, 3)
    columns = np.concatenate([tails, heads, n_nodes + arc])
    entries = np.repeat([1.0, -1.0, -1.0], n_arcs)
    A = sparse.csr_array((entries, (rows, columns)), shape=(n_arcs, n_nodes + n_arcs))
    primal = linprog(
        np.concatenate([np.zeros(n_nodes), costs]),
        A_ub=A,
        b_ub=-np.ones(n_arcs),
        bounds=[(0, n_nodes)] * n_nodes + [(0, None)] * n_arcs,
    )
    balance = sparse.csr_array((np.repeat([1.0, -1.0], n_arcs), (np.concatenate([tails, heads]),
                               np.tile(arc, 2))), shape=(n_nodes, n_arcs))  # fmt: skip
    dual = linprog(
        -np.ones(n_arcs),
        A_eq=balance,
        b_eq=np.zeros(n_nodes),
        bounds=list(zip(np.zeros(n_arcs), costs, strict=True)),
    )
    return primal.fun, -dual.fun


def random_weights(seed, n_nodes, density, whole=False):
    rng = np.random.default_rng(seed)
    W = rng.integers(1, 4, (n_nodes, n_nodes)) if whole else rng.normal(size=(n_nodes, n_nodes))
    W = W * (rng.random((n_nodes, n_nodes)) < density)
    np.fill_diagonal(W, 0)
    return W.astype(float)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 25), st.floats(0.05, 1.0))
def test_agrees_with_the_linear_program(seed, n_nodes, density):
    W = random_weights(seed, n_nodes, density)
    if not W.any():
        W[0, 1] = 1.0
    found = order_given_weights(W)
    primal, dual = linear_program(W)
    assert found.tiers.dtype.kind == "i"
    assert found.tiers.min() == 0
    assert found.agony == pytest.approx(agony(W, found.tiers), rel=1e-12)
    assert found.agony == pytest.approx(primal, rel=1e-7, abs=1e-7)
    assert found.agony == pytest.approx(dual, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_the_linear_program_on_symmetric_dense_weights(seed):
    # Lassos give nearly the same weight both ways, where orders hardly differ in agony.
    rng = np.random.default_rng(seed)
    W = np.abs(random_weights(seed, 30, 0.5))
    W = (W + W.T) * rng.uniform(0.95, 1.05, W.shape)
    assert order_given_weights(W).agony == pytest.approx(linear_program(W)[0], rel=1e-8)


@pytest.mark.parametrize("n_nodes", [2, 3, 4, 5, 6])
def test_is_the_smallest_of_all_best_orders(n_nodes):
    orders = np.array(list(itertools.product(range(n_nodes), repeat=n_nodes)))
    for seed in range(12):
        # Whole numbers tie often and sum up exactly.
        W = random_weights(100 * n_nodes + seed, n_nodes, 0.6, whole=True)
        tails, heads = np.nonzero(W)
        costs = W[tails, heads] @ np.maximum(0, 1 - (orders[:, heads] - orders[:, tails])).T
        best = orders[costs == costs.min()]
        found = order_given_weights(W)
        assert found.agony == costs.min()
        np.testing.assert_array_equal(found.tiers, best.min(axis=0))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), st.floats(0.05, 1.0), st.booleans())
def test_tiers_move_with_the_nodes(seed, n_nodes, density, whole):
    W = random_weights(seed, n_nodes, density, whole)
    order = np.random.default_rng(seed + 1).permutation(n_nodes)
    tiers = order_given_weights(W).tiers
    moved = order_given_weights(W[np.ix_(order, order)]).tiers
    np.testing.assert_array_equal(moved, tiers[order])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(0.05, 1.0))
def test_without_cycles_tiers_are_longest_paths(seed, n_nodes, density):
    rng = np.random.default_rng(seed)
    W = np.triu(random_weights(seed, n_nodes, density), 1)
    W *= 10.0 ** rng.uniform(-150, 150, W.shape)
    order = rng.permutation(n_nodes)
    W = W[np.ix_(order, order)]
    found = order_given_weights(W)
    expected = np.zeros(n_nodes, dtype=int)
    graph = nx.DiGraph(W != 0)
    for node in nx.topological_sort(graph):
        expected[node] = max((expected[i] + 1 for i in graph.predecessors(node)), default=0)
    assert found.agony == 0
    assert found.gap == 0
    np.testing.assert_array_equal(found.tiers, expected)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(0.1, 0.6))
def test_no_agony_only_without_cycles(seed, n_nodes, density):
    W = random_weights(seed, n_nodes, density)
    acyclic = nx.is_directed_acyclic_graph(nx.DiGraph(W != 0))
    assert (order_given_weights(W).agony == 0) == acyclic


def test_a_tiny_weight_still_decides():
    W = np.array([[0.0, 1e-30, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(order_given_weights(W).tiers, [0, 1, 2])


def test_equal_weights_both_ways_give_no_reason_to_part():
    found = order_given_weights([[0, 0.6, 0], [0.6, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(found.tiers, [0, 0, 0])
    assert found.agony == pytest.approx(1.2)


def test_parts_are_stacked_as_low_as_possible():
    # Two cycles whose weakest arcs go down, one arc between them, and a loose node.
    W = np.zeros((7, 7))
    for first in (0, 3):
        W[first, first + 1], W[first + 1, first + 2], W[first + 2, first] = 3, 2, 1
    W[2, 4] = 0.1
    np.testing.assert_array_equal(order_given_weights(W).tiers, [0, 1, 2, 2, 3, 4, 0])


def test_sign_and_unit_of_the_weights_do_not_matter():
    W = random_weights(3, 15, 0.5)
    plain = order_given_weights(W)
    np.testing.assert_array_equal(order_given_weights(-W).tiers, plain.tiers)
    for factor in (2.0**700, 2.0**-700, 3.7):
        scaled = order_given_weights(factor * W)
        np.testing.assert_array_equal(scaled.tiers, plain.tiers)
        assert scaled.agony == pytest.approx(factor * plain.agony)


def test_loops_cost_their_weight():
    W = random_weights(5, 8, 0.5)
    loops = W + np.diag(np.arange(8.0))
    assert order_given_weights(loops).agony == pytest.approx(order_given_weights(W).agony + 28)
    np.testing.assert_array_equal(order_given_weights(loops).tiers, order_given_weights(W).tiers)


def test_unpacks_into_tiers_and_agony():
    tiers, agony_found = found = order_given_weights(random_weights(7, 6, 0.8))
    assert tiers is found.value is found.tiers
    assert agony_found == found.objective == found.agony


@pytest.mark.parametrize("n_nodes", [10, 60])
def test_gap_is_rounding_and_cuts_are_counted(n_nodes):
    W = random_weights(9, n_nodes, 1.0)
    found = order_given_weights(W)
    assert 0 <= found.gap <= 1e-9 * np.abs(W).sum()
    assert found.converged
    assert 1 <= found.n_iter <= found.tiers.max() + 1


def test_input_is_left_alone():
    W = random_weights(11, 6, 0.8) + np.eye(6)
    before = W.copy()
    W.setflags(write=False)
    order_given_weights(W)
    np.testing.assert_array_equal(W, before)


def test_no_arcs_and_one_node():
    np.testing.assert_array_equal(order_given_weights(np.zeros((3, 3))).tiers, [0, 0, 0])
    assert order_given_weights([[2.0]]).agony == 2.0


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones((2, 3)), "tier_weights_square"),
        (np.ones(3), "tier_weights_square"),
        (np.ones((0, 0)), "tier_weights_square"),
        ([[0, np.nan], [1, 0]], "tier_weights_not_finite"),
        ([[0, np.inf], [1, 0]], "tier_weights_not_finite"),
    ],
)
def test_bad_input_is_named(W, message):
    with raises(InputError, code=message):
        order_given_weights(W)
