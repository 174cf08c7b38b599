"""Networks of several groups, learned together."""

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import CV, EBIC, InputError, JointGraphs
from edgewise.data import GaussianModel, make_gaussian_graph
from edgewise.solvers import joint_graphical_lasso
from tests.messages import raises

TRUTH = make_gaussian_graph(8, "erdos-renyi", degree=2, rng=0)


@pytest.fixture(scope="module")
def table():
    """Three groups of one network, the last without the edges of its first column."""
    last = TRUTH.precision.copy()
    last[0, 1:] = last[1:, 0] = 0
    rows = [GaussianModel.from_precision(P).sample(120, rng=k) for k, P in
            enumerate([TRUTH.precision, TRUTH.precision, last])]  # fmt: skip
    return pd.DataFrame(np.vstack(rows), columns=list("abcdefgh")), np.repeat(["x", "y", "z"], 120)


@pytest.mark.parametrize("penalty", ["fused", "group"])
def test_it_is_the_joint_graphical_lasso_of_the_correlations(table, penalty):
    X, y = table
    model = JointGraphs(0.1, coupling=0.05, penalty=penalty).fit(X, y)
    S = np.stack([np.corrcoef(X[y == label].T) for label in "xyz"])
    solved = joint_graphical_lasso(S, 0.1, 0.05, penalty=penalty)
    np.testing.assert_allclose(model.precisions_, solved.value, atol=1e-6)
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert model.gap_ == pytest.approx(solved.gap, abs=1e-9)
    for graph, Theta in zip(model.graphs_, solved.value, strict=True):
        scale = np.sqrt(Theta.diagonal())
        partial = -Theta / np.outer(scale, scale) + 2 * np.eye(8)
        np.testing.assert_allclose(graph.weights + np.eye(8), partial, atol=1e-6)
        assert graph.names == tuple("abcdefgh")


def test_larger_groups_weigh_more(table):
    X, y = table
    few = np.flatnonzero((y != "z") | (np.arange(len(y)) % 4 == 0))
    model = JointGraphs(0.1, coupling=0.05, covariance="empirical").fit(X.iloc[few], y[few])
    S = np.stack([np.cov(X[y == label].T, bias=True) for label in "xyz"])
    S[2] = np.cov(X.iloc[few][y[few] == "z"].T, bias=True)
    sizes = np.array([120, 120, 30])
    solved = joint_graphical_lasso(S, 0.1, 0.05, group_weights=sizes / sizes.mean())
    np.testing.assert_allclose(model.precisions_, solved.value, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ["ebic", EBIC(1.0), "cv", CV(3, n_alphas=5)])
def test_rules_choose_both_strengths(table, alpha):
    model = JointGraphs(alpha, random_state=0).fit(*table)
    assert model.alpha_ in model.alphas_
    assert model.coupling_ >= 0
    found = np.array([graph.adjacency for graph in model.graphs_])
    is_true = TRUTH.adjacency
    assert found[0][is_true].mean() > 0.7
    assert found[2][0].sum() <= found[0][0].sum()


def test_ordered_groups_and_listed_pairs(table):
    chain = JointGraphs(0.1, coupling=0.1, order="chain").fit(*table).precisions_
    listed = JointGraphs(0.1, coupling=0.1, order=[(0, 1), (1, 2)]).fit(*table).precisions_
    every = JointGraphs(0.1, coupling=0.1).fit(*table).precisions_
    np.testing.assert_array_equal(chain, listed)
    assert (chain != every).any()


def test_saved_and_loaded(table, tmp_path):
    model = JointGraphs(0.2, coupling=0.1).fit(*table)
    model.save(tmp_path / "m")
    again = edgewise.load(tmp_path / "m")
    np.testing.assert_array_equal(again.precisions_, model.precisions_)
    assert [graph.n_edges for graph in again.graphs_] == [graph.n_edges for graph in model.graphs_]


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({}, np.zeros(360), "joint_one_class"),
        ({}, np.r_[np.zeros(359), 1], "joint_group_with_one_row"),
        ({"coupling": -1}, None, "coupling_or_search"),
        ({"order": "ring"}, None, "unknown_group_order"),
        ({"penalty": "ridge"}, None, "invalid_value"),
        ({"order": [(0, 7)], "coupling": 0.1}, None, "group_pairs_range"),
    ],
)
def test_bad_input(table, options, labels, message):
    X, y = table
    with raises(InputError, code=message):
        JointGraphs(0.2, **options).fit(X, y if labels is None else labels)


def test_a_column_that_is_constant_in_a_group_is_named_with_it(table):
    X, y = table
    X = X.assign(b=np.where(y == "y", 1.0, X["b"]))
    with raises(InputError, code="joint_constant_in_group", labels=["b"], n_flat=1):
        JointGraphs(0.2, coupling=0.1).fit(X, y)
