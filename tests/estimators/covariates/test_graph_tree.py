"""What `GraphTree` learns and what can be done with it."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import edgewise
from edgewise import Graph, GraphTree, HeldOut, InputError
from edgewise.solvers import refit_precision
from tests.estimators.covariates.tree_rows import (
    assert_same_tree,
    changing_rows,
    four_cells,
    penguins,
)
from tests.messages import raises


@pytest.fixture(scope="module")
def fitted():
    X, Y = changing_rows()
    return GraphTree(random_state=0, scale=(0, 1)).fit(X, Y), X, Y


def test_finds_where_the_graph_changes(fitted):
    tree, X, _ = fitted
    assert len(tree.leaves_) == 2
    low, high = tree.leaves_
    assert low.box == {"x0": (0.0, 1.0), "x1": (0.0, 0.5)}
    assert high.box == {"x0": (0.0, 1.0), "x1": (0.5, 1.0)}
    assert low.graph.weights[0, 1] < -0.5
    assert high.graph.weights[0, 1] > 0.5
    assert low.graph.n_edges + high.graph.n_edges <= 3
    np.testing.assert_array_equal(tree.apply(X), (X[:, 1] > 0.5).astype(int))
    assert tree.apply(X).dtype.kind == "i"


def test_all_rows_together_hide_it(fitted):
    tree, *_ = fitted
    assert not tree.graph_.adjacency[0, 1]
    assert tree.graph_ == tree.nodes_[0].graph
    assert tree.graph_.names == tuple(tree.response_names_) == ("y0", "y1", "y2", "y3")


def test_leaf_is_the_maximum_likelihood_of_its_training_rows():
    X, Y = changing_rows(400, 1)
    X_val, Y_val = changing_rows(400, 2)
    for mean in ("global", "leaf"):
        tree = GraphTree(scale=(0, 1), mean=mean, split_for="all").fit(X, Y, X_val, Y_val)
        for leaf in tree.leaves_:
            inside = Y[tree.apply(X) == leaf.leaf]
            assert leaf.n == len(inside)
            assert leaf.n_validation == np.sum(tree.apply(X_val) == leaf.leaf)
            center = Y.mean(axis=0) if mean == "global" else inside.mean(axis=0)
            np.testing.assert_allclose(leaf.mean, center, atol=1e-12)
            S = (inside - center).T @ (inside - center) / len(inside)
            expected = refit_precision(S, leaf.graph.adjacency)
            assert leaf.is_refit
            np.testing.assert_allclose(leaf.precision, expected.value, atol=1e-3)
            assert leaf.graph == Graph.from_precision(leaf.precision, names=leaf.graph.names)


def test_prediction_is_that_of_the_leaf(fitted):
    tree, X, _ = fitted
    number = tree.apply(X[:20])
    for k, graph, precision in zip(
        number, tree.predict_graphs(X[:20]), tree.predict_precision(X[:20]), strict=True
    ):
        assert graph == tree.leaves_[k].graph
        np.testing.assert_allclose(precision, tree.leaves_[k].precision, rtol=1e-12)
    assert tree.predict_precision(X[:20]).shape == (20, 4, 4)


def test_score_is_the_mean_log_likelihood(fitted):
    tree, X, Y = fitted
    expected = np.mean(
        [
            stats.multivariate_normal(
                tree.leaves_[k].mean, np.linalg.inv(tree.leaves_[k].precision)
            ).logpdf(y)
            for k, y in zip(tree.apply(X), Y, strict=True)
        ]
    )
    assert tree.score(X, Y) == pytest.approx(expected, rel=1e-10)
    pooled = GraphTree(max_depth=0, random_state=0).fit(X, Y)
    assert len(pooled.leaves_) == 1
    assert pooled.score(X, Y) < tree.score(X, Y) - 0.1


def test_risks_of_the_leaves_add_up(fitted):
    tree, *_ = fitted
    assert sum(leaf.risk for leaf in tree.leaves_) == pytest.approx(tree.risk_, abs=1e-12)
    assert tree.risk_path_[0] == pytest.approx(tree.nodes_[0].risk)
    assert tree.risk_path_[-1] == pytest.approx(tree.risk_)
    assert len(tree.risk_path_) == len(tree.leaves_)
    assert tree.n_iter_ > 1
    assert tree.converged_


@pytest.mark.parametrize("exchange", [False, True])
def test_risk_of_a_node_is_in_the_units_of_the_responses(exchange):
    X, Y = changing_rows(300, 20)
    X_val, Y_val = changing_rows(200, 21)
    units = np.array([0.01, 2.0, 30.0, 1.0])
    plain, other = (
        GraphTree(HeldOut(exchange=exchange), scale=(0, 1)).fit(X, Y * scale, X_val, Y_val * scale)
        for scale in (np.ones(4), units)
    )
    for node, scaled in zip(plain.nodes_, other.nodes_, strict=True):
        shares = node.n_validation / 200, node.n / 300
        share = np.mean(shares) if exchange else shares[0]
        expected = node.risk + share * 2 * np.log(units).sum()
        assert scaled.risk == pytest.approx(expected, abs=1e-9)


def test_why_a_split_is_there():
    X, Y = changing_rows(500, 3)
    by_graph = GraphTree(random_state=0, split_for="all").fit(X, Y).split_report()
    assert by_graph.loc[0, "graph"] > 0.9
    told = GraphTree(random_state=0, split_for="all").fit(X, Y).export_text()
    assert re.match(r"split by x1: gain \S+ \(mean \S+, variances \S+, graph \S+\)\n", told)
    shift = np.random.default_rng(0).normal(size=(500, 4))
    moved = shift + 2.0 * (X[:, [0]] > 0.5)
    by_mean = GraphTree(random_state=0, split_for="all").fit(X, moved).split_report()
    assert by_mean.loc[0, "covariate"] == "x0"
    assert by_mean.loc[0, "mean"] > 0.8
    wider = shift * np.where(X[:, [0]] > 0.5, 3.0, 1.0)
    by_variance = GraphTree(random_state=0, split_for="all").fit(X, wider).split_report()
    assert by_variance.loc[0, "variances"] > 0.8
    for report in (by_graph, by_mean, by_variance):
        shares = report[["mean", "variances", "graph"]].sum(axis=1)
        np.testing.assert_allclose(shares, 1.0)


def test_gains_of_the_splits_add_up_to_that_of_the_tree():
    X, Y = four_cells()
    for options in (
        {},
        {"criterion": HeldOut(exchange=False)},
        {"split_for": "all"},
        {"mean": "global"},
        {"mean": "global", "split_for": "all"},
        {"criterion": "penalized"},
    ):
        tree = GraphTree(random_state=0, **options).fit(X, Y)
        assert len(tree.leaves_) > 1
        total = tree.split_report()["gain"].sum()
        assert tree.nodes_[0].risk - tree.risk_ == pytest.approx(total, abs=1e-9)
        for node in tree.nodes_:
            if node.split is not None:
                halves = [tree.nodes_[k].risk for k in (node.split.left, node.split.right)]
                assert node.risk - sum(halves) == pytest.approx(node.split.gain, abs=1e-9)


def test_numbers_of_nodes_and_leaves():
    X, Y = four_cells()
    tree = GraphTree(random_state=0).fit(X, Y)
    assert [node.node for node in tree.nodes_] == list(range(len(tree.nodes_)))
    assert [leaf.leaf for leaf in tree.leaves_] == list(range(len(tree.leaves_)))
    for node in tree.nodes_:
        if node.split is not None:
            assert node.leaf == -1
            for child in (node.split.left, node.split.right):
                assert tree.nodes_[child].parent == node.node < child
    assert sum(leaf.n for leaf in tree.leaves_) == tree.nodes_[0].n == 400


def test_text(fitted):
    tree, *_ = fitted
    lines = tree.export_text().splitlines()
    assert lines[0].startswith("split by x1: gain ")
    assert lines[0].endswith(" by the graph alone")
    assert lines[1] == "|--- x1 <= 0.5"
    assert lines[2] == f"|   |--- leaf 0: {tree.leaves_[0].n} rows, 1 edge"
    assert lines[3] == "|--- x1 > 0.5"
    one = GraphTree(max_depth=0, random_state=0).fit(*changing_rows(60))
    assert one.export_text() == "|--- leaf 0: 30 rows, 0 edges\n"


def test_comparing_leaves(fitted):
    tree, *_ = fitted
    comparison = tree.compare_leaves(0, 1)
    assert comparison.leaves == (0, 1)
    assert comparison.boxes == {"x1": ((0.0, 0.5), (0.5, 1.0))}
    row = comparison.edges.iloc[0]
    assert (row["source"], row["target"], row["change"]) == ("y0", "y1", "sign")
    assert row["before"] == tree.leaves_[0].graph.weights[0, 1]
    assert comparison.graph.weights[0, 1] > 1
    first, second = tree.leaves_
    K, L = first.precision, second.precision
    difference = first.mean - second.mean
    forward = np.trace(L @ np.linalg.inv(K)) - 4 + np.linalg.slogdet(K)[1] - np.linalg.slogdet(L)[1]
    backward = (
        np.trace(K @ np.linalg.inv(L)) - 4 - np.linalg.slogdet(K)[1] + np.linalg.slogdet(L)[1]
    )
    forward += difference @ L @ difference
    backward += difference @ K @ difference
    assert comparison.divergence == pytest.approx((forward + backward) / 4, rel=1e-9)
    deviation = np.sqrt(np.linalg.inv(L).diagonal())
    np.testing.assert_allclose(comparison.responses["deviation_after"], deviation)
    assert tree.compare_leaves(1, 1).divergence == pytest.approx(0, abs=1e-12)
    with raises(InputError, code="no_such_leaf", number=2, n_leaves=1):
        tree.compare_leaves(0, 2)


def test_file_and_back(fitted, tmp_path):
    tree, X, Y = fitted
    tree.save(tmp_path / "tree.edgewise")
    again = edgewise.load(tmp_path / "tree.edgewise")
    assert again.score(X, Y) == tree.score(X, Y)
    assert again.get_params() == tree.get_params()
    assert_same_tree(again, tree)
    assert again.leaves_[1].box == tree.leaves_[1].box
    assert again.compare_leaves(0, 1).divergence == tree.compare_leaves(0, 1).divergence


def test_names_are_kept():
    X, Y = changing_rows(400)
    covariates = pd.DataFrame(X, columns=["lat", "lon"])
    responses = pd.DataFrame(Y, columns=["rain", "mud", "dust", "wind"])
    tree = GraphTree(random_state=0).fit(covariates, responses)
    assert list(tree.feature_names_in_) == ["lat", "lon"]
    assert tree.leaves_[0].graph.names == ("rain", "mud", "dust", "wind")
    assert tree.nodes_[0].split.covariate == "lon"
    assert "lon <=" in tree.export_text()
    assert tree.compare_leaves(0, 1).responses.index.tolist() == list(responses)
    # Without names, the same columns in the same order will do.
    assert tree.score(covariates, Y) == tree.score(covariates, responses)
    with raises(InputError, code="responses_of_fit"):
        tree.score(covariates, responses[["mud", "rain", "dust", "wind"]])


def test_not_fitted():
    tree = GraphTree()
    with pytest.raises(NotFittedError):
        tree.apply([[0.0]])
    with pytest.raises(NotFittedError):
        _ = tree.leaves_


def test_clones_are_as_new(fitted):
    tree, *_ = fitted
    copy = clone(tree)
    assert copy.get_params() == tree.get_params()
    assert not hasattr(copy, "nodes_")


def within_groups(X, Y):
    """Correlations and partial correlations of rows about the means of their groups."""
    grouped = Y.groupby([X[name] for name in X])
    rows = (Y - grouped.transform("mean")) / grouped.transform("std")
    correlation = np.corrcoef(rows.T)
    precision = np.linalg.inv(correlation)
    return -precision / np.sqrt(np.outer(precision.diagonal(), precision.diagonal()))


def test_a_shift_of_means_is_no_network():
    counts = []
    for seed in range(6):
        X, Y = penguins(seed=seed)
        tree = GraphTree(random_state=0).fit(X, Y)
        counts.append(len(tree.leaves_))
        assert sum(node.split is None for node in tree.groups_) in (5, 6, 7)
        total = sum(tree.gain_.values())
        assert tree.gain_["mean"] > 0.9 * total
        assert abs(tree.gain_["graph"]) < 0.05 * total
    # A test at 5 % may be wrong once.
    assert counts.count(1) >= 5


@pytest.mark.parametrize("split_for", ["graph", "all"])
def test_edges_have_the_signs_that_they_have_within_groups(split_for):
    X, Y = penguins(1500)
    tree = GraphTree(random_state=0, split_for=split_for).fit(X, Y)
    truth = within_groups(X, Y)
    assert (truth[np.triu_indices(4, 1)] > 0).all()
    for leaf in tree.leaves_:
        assert leaf.graph.n_edges > 0
        assert (leaf.graph.weights >= 0).all()
    if split_for == "graph":
        found = tree.graph_
        joined = found.adjacency
        np.testing.assert_allclose(found.weights[joined], truth[joined], atol=0.1)
    # One mean for all takes the species for a network, with the wrong signs.
    published = GraphTree(random_state=0, mean="global", split_for="all").fit(X, Y)
    assert any((leaf.graph.weights < -0.2).any() for leaf in published.leaves_)


def test_a_network_that_differs_is_found_beside_a_shift_of_means():
    X, Y = penguins(600, turned="Gentoo")
    tree = GraphTree(random_state=0).fit(X, Y)
    assert [leaf.box["species"] for leaf in tree.leaves_] == [("Gentoo",), ("Adelie", "Chinstrap")]
    for leaf in tree.leaves_:
        is_here = X["species"].isin(leaf.box["species"])
        truth = within_groups(X[is_here], Y[is_here])
        joined = leaf.graph.adjacency
        assert (np.sign(leaf.graph.weights[joined]) == np.sign(truth[joined])).all()
    assert tree.gain_["graph"] > 0.1
    assert tree.risk_path_[0] - tree.risk_ == pytest.approx(tree.gain_["graph"])


def test_score_is_that_of_the_leaf_about_the_mean_of_the_group():
    X, Y = penguins(600, turned="Gentoo")
    tree = GraphTree(random_state=0).fit(X, Y)
    one = GraphTree(random_state=0, mean="global", split_for="all").fit(X, Y)
    means, precisions = tree.predict_mean(X), tree.predict_precision(X)
    assert len(np.unique(means, axis=0)) == 6
    expected = [
        stats.multivariate_normal(mean, np.linalg.inv(precision)).logpdf(y)
        for mean, precision, y in zip(means, precisions, Y.to_numpy(), strict=True)
    ]
    assert tree.score(X, Y) == pytest.approx(np.mean(expected), rel=1e-10)
    new = penguins(600, seed=1, turned="Gentoo")
    assert tree.score(*new) > one.score(*new)


def test_a_tree_does_not_split_on_chance():
    n_split = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        tree = GraphTree(random_state=seed).fit(
            rng.uniform(size=(150, 3)), rng.normal(size=(150, 4))
        )
        n_split += len(tree.leaves_) > 1
    assert n_split <= 3


def test_shapes_of_nearly_equal_measurements_are_no_network():
    # As of crabs: five measurements of one size, whose proportions differ between groups.
    n_split = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, size=(200, 2)).astype(float)
        Y = np.outer(rng.normal(size=200), [1.0, 1.1, 0.9, 1.0, 1.05])
        Y += 0.1 * rng.normal(size=(200, 5))
        Y += X @ [[0.3, -0.2, 0.1, 0.0, 0.2], [0.0, 0.25, -0.1, 0.2, -0.1]]
        tree = GraphTree(random_state=seed).fit(X, Y)
        n_split += len(tree.leaves_) > 1
        assert sum(node.split is None for node in tree.groups_) == 4
    assert n_split <= 2
