"""Strength of the edges of a discrete network, with a sign where levels have an order."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from edgewise import BootstrapGraph, DiscreteMarkovNet, Graph
from edgewise._core.errors import InputError
from edgewise.plot import plot_network
from edgewise.solvers.discrete.scores import edge_associations
from tests.messages import raises

PAIR = np.array([[False, True], [True, False]])


def strength(X, is_ordered, adjacency=PAIR, **options):
    X = np.asarray(X)
    ordered = np.full(X.shape[1], is_ordered)
    return edge_associations(X, adjacency, X.max(axis=0) + 1, ordered, **options)[0, 1]


def dependent(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    latent = rng.multivariate_normal([0, 0], [[1, -0.6], [-0.6, 1]], n_rows)
    return np.column_stack(
        [np.digitize(latent[:, 0], [-1, 0, 1]), np.digitize(latent[:, 1], [0.5])]
    )


def test_one_slice_is_what_scipy_computes():
    X = dependent()
    assert strength(X, True) == pytest.approx(stats.kendalltau(*X.T, variant="b").statistic)
    table = stats.contingency.crosstab(*X.T).count
    n, degrees = len(X), 3
    chance = n / (n - 1) * degrees
    chi = stats.chi2_contingency(table, correction=False).statistic
    assert strength(X, False) == pytest.approx(np.sqrt((chi - chance) / (n - chance)))


def test_counted_rows_are_repeated_rows():
    X, counts = dependent(40), np.arange(40) % 4
    for is_ordered in (True, False):
        repeated = strength(np.repeat(X, counts, axis=0), is_ordered)
        kept = counts > 0
        assert strength(X[kept], is_ordered, counts=counts[kept]) == pytest.approx(repeated)


@pytest.mark.parametrize("is_ordered", [True, False])
def test_what_a_common_neighbour_explains_is_no_strength(is_ordered):
    """Mean 0 given the neighbours, also where these leave two or three rows to a slice."""
    rng = np.random.default_rng(0)
    chain = np.ones((3, 3), dtype=bool) & ~np.eye(3, dtype=bool)
    found = []
    for _ in range(200):
        driver = rng.integers(0, 20, 60)
        X = np.column_stack([(driver + rng.integers(0, 12, (2, 60))) // 8]).T
        X = np.column_stack([X, driver])
        found.append(strength(X, is_ordered, adjacency=chain))
    assert abs(strength(X[:, :2], is_ordered)) > 0.3
    # The root of what is above 0 by chance is not 0 on average; its median is small.
    assert abs(np.mean(found)) < 0.03 if is_ordered else np.median(found) < 0.3


def test_a_perfect_dependence_is_one_and_none_is_not_known():
    levels = np.arange(30) % 3
    assert strength(np.column_stack([levels, levels]), True) == pytest.approx(1)
    assert strength(np.column_stack([levels, 2 - levels]), True) == pytest.approx(-1)
    assert strength(np.column_stack([levels, (levels + 1) % 3]), False) == pytest.approx(1)
    assert strength([[0, 0], [0, 1], [0, 0]], True) == 0


@pytest.fixture(scope="module")
def answers():
    """Answers of a chain in which every second link is negative; the last column is text."""
    rng = np.random.default_rng(0)
    Theta = np.eye(5) + np.diag([0.4, -0.4, 0.4, -0.4], 1) + np.diag([0.4, -0.4, 0.4, -0.4], -1)
    latent = rng.multivariate_normal(np.zeros(5), np.linalg.inv(Theta), 2000)
    frame = pd.DataFrame(np.digitize(latent, [-0.5, 0.5]), columns=list("abcde"))
    return frame.assign(e=np.array(["low", "mid", "high"])[frame["e"]])


def test_the_signs_of_a_chain_of_answers(answers):
    model = DiscreteMarkovNet().fit(answers)
    graph = model.graph_
    for k, sign in enumerate((-1, 1, -1)):
        assert graph.adjacency[k, k + 1]
        assert graph.weights[k, k + 1] * sign > 0.15
    assert 0.15 < graph.weights[3, 4] < 1
    assert not graph.signed[3, 4]
    assert graph.signed[0, 1]
    assert np.abs(graph.weights).max() < 1
    assert model.support_[0, 1] > 10
    assert graph.confidence[0, 1] > 0.99
    turned = DiscreteMarkovNet().fit(answers.assign(b=2 - answers["b"])).graph_
    np.testing.assert_allclose(
        turned.weights[:2, 1:3].diagonal(), -graph.weights[:2, 1:3].diagonal()
    )
    resampled = BootstrapGraph(DiscreteMarkovNet(), n_resamples=3, random_state=0).fit(answers)
    np.testing.assert_array_equal(resampled.graph_.signed, graph.signed)


@pytest.mark.parametrize("suffix", [".csv", ".json", ".graphml", ".gexf"])
def test_files_keep_what_has_no_sign(tmp_path, suffix):
    signed = np.array([[True, True, True], [True, True, False], [True, False, True]])
    weights = [[0, -0.5, 0], [-0.5, 0, 0.3], [0, 0.3, 0]]
    graph = Graph(weights, names=["a", "b", "c"], signed=signed)
    graph.write(tmp_path / f"graph{suffix}")
    assert Graph.read(tmp_path / f"graph{suffix}") == graph
    assert Graph.from_networkx(graph.to_networkx()) == graph
    assert graph != Graph(weights, names=["a", "b", "c"])


def test_an_edge_without_a_sign_is_grey_and_said_to_be():
    graph = Graph([[0, 0.5], [0.5, 0]], signed=~PAIR)
    labels = [text.get_text() for text in plot_network(graph).get_legend().get_texts()]
    assert "without a sign" in labels
    assert "positive" not in labels
    with raises(InputError, code="negative_unsigned_edge", source="x0", target="x1"):
        Graph([[0, -0.5], [-0.5, 0]], signed=~PAIR)
    with raises(InputError, code="pairs_not_boolean", n_nodes=2, dtype="bool"):
        Graph([[0, 0.5], [0.5, 0]], signed=[True])


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(2, 5), st.booleans())
def test_strengths_are_symmetric_bounded_and_follow_the_order_of_levels(seed, p, is_ordered):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (60, p))
    X[0], X[1] = 0, 2
    adjacency = np.triu(rng.random((p, p)) < 0.6, 1)
    adjacency |= adjacency.T
    ordered = np.full(p, is_ordered)
    found = edge_associations(X, adjacency, np.full(p, 3), ordered)
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    assert np.abs(found).max() <= 1 + 1e-12
    assert not found[~adjacency].any()
    # Levels of one column in reverse: signs turn where there is an order, nothing else changes.
    turned = X.copy()
    turned[:, 0] = 2 - turned[:, 0]
    again = edge_associations(turned, adjacency, np.full(p, 3), ordered)
    sign = -1 if is_ordered else 1
    np.testing.assert_allclose(again[0, 1:], sign * found[0, 1:], atol=1e-9)
    np.testing.assert_allclose(again[1:, 1:], found[1:, 1:], atol=1e-9)


@pytest.mark.parametrize("n_rows", [7, 40, 101])
def test_a_level_of_its_own_for_every_row_has_no_strength(n_rows):
    X = np.column_stack([np.arange(n_rows), np.arange(n_rows) % 3])
    assert strength(X, False) == 0.0
