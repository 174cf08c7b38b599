import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.linear_model import LinearRegression

from edgewise import Graph, InputError
from edgewise.data import load_dag, make_dag, make_linear_sem
from edgewise.metrics import r2_sortability, varsortability
from tests.messages import raises

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def by_enumeration(values, arcs):
    """Score all pairs and lengths of paths, one path at a time."""
    graph = nx.from_numpy_array(np.asarray(arcs), create_using=nx.DiGraph)
    reached = {
        (i, j, len(path) - 1)
        for i in graph
        for j in graph
        if i != j
        for path in nx.all_simple_paths(graph, i, j)
    }
    rises = [1.0 if values[i] < values[j] else 0.0 for i, j, _ in reached]
    return np.mean(rises)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 8))
def test_both_agree_with_enumerated_paths(seed, n_nodes):
    arcs = make_dag(n_nodes, degree=2, rng=seed)
    arcs[0, 1] |= not arcs.any()
    X = np.random.default_rng(seed).normal(size=(30, n_nodes)) * np.arange(1, n_nodes + 1)
    others = [np.delete(X, j, axis=1) for j in range(n_nodes)]
    r2 = [LinearRegression().fit(Z, X[:, j]).score(Z, X[:, j]) for j, Z in enumerate(others)]
    assert varsortability(X, arcs) == pytest.approx(by_enumeration(X.var(axis=0), arcs))
    assert r2_sortability(X, arcs) == pytest.approx(by_enumeration(r2, arcs))


def test_extremes_and_ties():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X /= X.std(axis=0)
    assert varsortability(X * [1, 2, 3], CHAIN) == 1.0
    assert varsortability(X * [3, 2, 1], CHAIN) == 0.0
    assert varsortability(X, CHAIN) == 0.5
    # Of 0 -> 1, 1 -> 2 and 0 -> 1 -> 2, only the second does not rise.
    assert varsortability(X * [1, 3, 2], CHAIN) == pytest.approx(2 / 3)


def test_without_arcs_there_is_nothing_to_sort():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert np.isnan(varsortability(X, np.zeros((3, 3))))


def test_raw_simulations_are_sortable_and_standardised_ones_are_not():
    model = make_linear_sem(load_dag("alarm").adjacency, permute=True, rng=0)
    raw = model.sample(1000, rng=1)
    scaled = raw / raw.std(axis=0)
    assert varsortability(raw, model.adjacency) > 0.85
    assert varsortability(scaled, model.adjacency) == pytest.approx(0.5)
    unscaled = r2_sortability(raw, model.adjacency)
    assert r2_sortability(scaled, model.adjacency) == pytest.approx(unscaled)


def test_data_frames_are_matched_by_name():
    X = np.random.default_rng(0).normal(size=(20, 3))
    frame = pd.DataFrame(X / X.std(axis=0) * [2, 1, 3], columns=["b", "a", "c"])
    graph = Graph(CHAIN, names=["a", "b", "c"], directed=True)
    assert varsortability(frame, graph) == 1.0


@pytest.mark.parametrize(
    ("X", "dag", "code"),
    [
        (np.eye(4), CHAIN, "rows_shape"),
        (np.full((5, 3), np.nan), CHAIN, "rows_not_finite"),
        (np.eye(3), CHAIN + CHAIN.T, "cyclic_graph_order"),
    ],
)
def test_bad_input_is_refused(X, dag, code):
    with raises(InputError, code=code):
        varsortability(X, dag)


def test_r2_needs_more_rows_than_columns_and_no_relation():
    X = np.random.default_rng(0).normal(size=(9, 3))
    with raises(InputError, code="too_few_rows_for_r2"):
        r2_sortability(X[:3], CHAIN)
    X[:, 2] = X[:, 0]
    with raises(InputError, code="exactly_collinear"):
        r2_sortability(X, CHAIN)


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1.0, 1e8])
def test_r2_sees_relations_whatever_rounding_leaves_of_them(scale):
    # Half of these covariances have a Cholesky factor, by chance of rounding.
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(9, 3))
        X[:, 2] = X[:, 0] if seed % 2 else X[:, 0] + 3 * X[:, 1]
        X[:, 1] *= scale
        with raises(InputError, code="exactly_collinear"):
            r2_sortability(X, CHAIN)
        X[:, 2] += 1e-5 * np.random.default_rng([1, seed]).normal(size=9)
        assert 0 <= r2_sortability(X, CHAIN) <= 1
    with raises(InputError, code="exactly_collinear"):
        r2_sortability(X * [1, 1, 0], CHAIN)
