"""Pictures of a tree: what they say, in which units, and that it can be read."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from edgewise import GraphTree, InputError
from edgewise.plot import plot_leaf_map, plot_tree
from edgewise.plot.partition import plot_partition
from edgewise.plot.tree import leaf_color, leaf_hatch, leaf_marker, plot_tree_risk
from tests.cases import by_default
from tests.messages import raises


def draw(n=1200, seed=0):
    """Two responses whose tie depends on two of three numeric covariates and on a group."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "lat": rng.uniform(30, 50, n),
            "lon": rng.uniform(-120, -60, n),
            "height": rng.uniform(0, 1000, n),
        }
    )
    X.iloc[:2] = [[30, -120, 0], [50, -60, 1000]]
    Y = pd.DataFrame(rng.normal(size=(n, 3)), columns=["wind", "rain", "sun"])
    Y["rain"] += np.where(X["lon"] > -90, 2, -2) * Y["wind"]
    Y["sun"] += np.where((X["lon"] > -90) & (X["lat"] > 40), 2, 0) * Y["wind"]
    return X, Y


@pytest.fixture(scope="module")
def rows():
    return draw()


@pytest.fixture(scope="module")
def tree(rows):
    X, Y = rows
    return GraphTree(random_state=0, min_samples_leaf=50).fit(X, Y, X[:300], Y[:300])


@pytest.fixture(scope="module")
def many():
    """A tree of 22 leaves."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": np.linspace(0, 1, 8800), "b": rng.uniform(size=8800)})
    Y = rng.normal(size=(8800, 2))
    slope = np.floor(X["a"] * 16) - 7.5 + 0.5 * np.where(X["a"] < 6 / 16, X["b"] > 0.5, 0)
    Y[:, 0] = 0.3 * Y[:, 0] + slope * Y[:, 1]
    return GraphTree(random_state=0, scale=(0, 1), min_samples_leaf=50, split_for="all").fit(X, Y)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def overlaps(ax):
    """Pairs of texts that cover each other."""
    ax.figure.canvas.draw()
    boxes = [(text.get_text(), text.get_window_extent()) for text in ax.texts]
    return [
        (first, second)
        for (first, one), (second, other) in itertools.combinations(boxes, 2)
        if one.overlaps(other)
    ]


def test_tree_says_every_condition_and_leaf(tree):
    said = texts(plot_tree(tree))
    for node in tree.nodes_:
        if node.split is not None:
            assert set(node.split.conditions()) <= set(said)
        else:
            edges = node.graph.n_edges
            words = f"leaf {node.leaf}\n{node.n:,} rows\n{edges} edge{'s' * (edges != 1)}"
            assert words in said
    assert {"wind", "rain", "sun"} <= set(said)
    assert any("% graph" in words for words in said)


def test_leaf_graphs_have_the_signs_of_the_leaves(tree):
    ax = plot_tree(tree)
    lines = [len(part.get_segments()) for part in ax.collections if hasattr(part, "get_segments")]
    expected = [tree.nodes_[0].graph.n_edges, *(leaf.graph.n_edges for leaf in tree.leaves_)]
    assert lines == expected


def test_of_dense_leaves_the_edges_from_some_weight_on_are_drawn():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(size=900)})
    Y = rng.normal(size=(900, 12)) @ rng.normal(size=(12, 12))
    Y[:, 0] += np.where(X["a"] > 0.5, 4, -4) * Y[:, 1]
    tree = GraphTree(random_state=0, min_samples_leaf=50).fit(X, Y)
    ax = plot_tree(tree)
    graphs = [tree.nodes_[0].graph, *(leaf.graph for leaf in tree.leaves_)]
    assert max(graph.n_edges for graph in graphs) > 20
    drawn = [len(c.get_segments()) for c in ax.collections if isinstance(c, LineCollection)]
    assert max(drawn) == 20
    said = ax.get_legend().get_texts()[-1].get_text()
    least = float(said.removeprefix("drawn: |weight| at least "))
    kept = [int((np.abs(np.triu(graph.weights, 1)) >= 0.995 * least).sum()) for graph in graphs]
    assert np.abs(np.subtract(kept, drawn)).max() <= 1, "the legend is rounded"


@pytest.mark.parametrize("which", by_default(1, ["tree", "many"]))
def test_texts_of_a_tree_do_not_cover_each_other(which, request):
    fitted = request.getfixturevalue(which)
    ax = plot_tree(fitted)
    assert not overlaps(ax)
    width, height = ax.figure.get_size_inches()
    assert width < 25
    assert height < 40


def test_a_tree_without_splits():
    rng = np.random.default_rng(0)
    single = GraphTree(random_state=0).fit(rng.uniform(size=(60, 2)), rng.normal(size=(60, 2)))
    assert len(single.leaves_) == 1
    assert "leaf 0\n30 rows\n0 edges" in texts(plot_tree(single))
    assert plot_tree_risk(single).lines[0].get_xdata().tolist() == [0]
    assert texts(plot_partition(single)) == ["0"]


def test_risk_against_splits(tree):
    ax = plot_tree_risk(tree)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), tree.risk_path_)
    assert ax.get_ylabel() == "held-out risk"
    assert ax.get_xlabel() == "number of splits"
    assert any("one graph for all rows" in words for words in texts(ax))


def test_risk_of_training_rows_is_called_that(rows):
    fitted = GraphTree("penalized").fit(*rows)
    assert plot_tree_risk(fitted).get_ylabel() == "risk of training rows"


def test_partition_has_leaves_where_they_are(tree):
    ax = plot_partition(tree)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("lon", "lat")
    for patch in ax.patches:
        middle = {
            "lon": patch.get_x() + patch.get_width() / 2,
            "lat": patch.get_y() + patch.get_height() / 2,
            "height": 500.0,
        }
        leaf = int(tree.apply(pd.DataFrame([middle])[["lat", "lon", "height"]])[0])
        assert to_hex(patch.get_facecolor()) == leaf_color(leaf).lower()
    area = sum(patch.get_width() * patch.get_height() for patch in ax.patches)
    assert area == pytest.approx(60 * 20)
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert "-90" in ticks


def test_partition_of_chosen_covariates_at_chosen_values(tree):
    east = plot_partition(tree, ["height", "lat"], at={"lon": -70})
    west = plot_partition(tree, ["height", "lat"], at={"lon": -110})
    assert east.get_xlabel() == "height"
    assert "lon = -70" in east.get_title()
    assert set(texts(east)).isdisjoint(texts(west))


def test_partition_shows_rows(rows, tree):
    ax = plot_partition(tree, X=rows[0])
    points = ax.collections[0].get_offsets()
    np.testing.assert_allclose(points, rows[0][["lon", "lat"]])


def test_partition_of_groups():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "group": rng.choice(["one", "two"], 800),
            "a": rng.uniform(size=800),
            "b": rng.uniform(size=800),
            "old": rng.uniform(size=800) < 0.5,
        }
    )
    Y = rng.normal(size=(800, 2))
    Y[:, 0] += np.where(X["group"] == "one", 2, -2) * Y[:, 1]
    fitted = GraphTree(random_state=0).fit(X, Y)
    one = texts(plot_partition(fitted, at={"group": "one", "old": True}))
    assert one != texts(plot_partition(fitted, at={"group": "two"}))
    assert plot_partition(fitted).get_title() == "at group = one"


def test_many_leaves_of_a_partition(many):
    assert len(many.leaves_) >= 22
    ax = plot_partition(many)
    assert not overlaps(ax)
    assert {int(words) for words in texts(ax)} <= {leaf.leaf for leaf in many.leaves_}
    hatched = [patch for patch in ax.patches if patch.get_hatch()]
    assert len(ax.patches) - len(hatched) == len(many.leaves_)
    assert len(hatched) == len(many.leaves_) - 7


def test_leaf_styles_differ():
    for style in (leaf_marker, leaf_hatch):
        assert len({(leaf_color(k), style(k)) for k in range(56)}) == 56
    assert all(leaf_color(k) != leaf_color(k + 1) for k in range(56))


def test_map(rows, tree):
    X = rows[0]
    ax = plot_leaf_map(tree, X)
    shown = sum(len(part.get_offsets()) for part in ax.collections)
    assert shown == len(X)
    leaf = tree.apply(X)
    for k, part in zip(np.unique(leaf).tolist(), ax.collections, strict=True):
        assert to_hex(part.get_facecolor()[0]) == leaf_color(k).lower()
        expected = X[["lon", "lat"]].to_numpy()[leaf == k]
        assert sorted(part.get_offsets().tolist()) == sorted(expected.tolist())


def test_a_place_gets_the_leaf_of_most_of_its_rows(tree):
    places = pd.DataFrame({"lat": [45.0] * 3, "lon": [-110.0, -110.0, -70.0], "height": 1.0})
    ax = plot_leaf_map(tree, places)
    assert sum(len(part.get_offsets()) for part in ax.collections) == 2


def test_map_of_other_names(rows):
    X, Y = rows
    other = X.rename(columns={"lat": "north", "lon": "east"})
    fitted = GraphTree(random_state=0).fit(other, Y)
    with raises(InputError, code="no_covariate_called", names=["north", "east", "height"]):
        plot_leaf_map(fitted, other)
    ax = plot_leaf_map(fitted, other, latitude="north", longitude="east")
    assert len(ax.collections) == len(np.unique(fitted.apply(other)))
    with raises(
        InputError, code="unknown_covariate", wanted="west", names=["north", "east", "height"]
    ):
        plot_leaf_map(fitted, other, latitude="north", longitude="west")
    plain = GraphTree(random_state=0).fit(X.to_numpy(), Y)
    assert plot_leaf_map(plain, X.to_numpy(), latitude="x0", longitude="x1").collections


@pytest.mark.parametrize("plot", [plot_tree, plot_tree_risk, plot_partition])
def test_only_fitted_trees(plot):
    with raises(InputError, code="tree_not_fitted"):
        plot(GraphTree())
    with raises(InputError, code="tree_required", type="dict"):
        plot({})


def test_bad_covariates(tree):
    with raises(InputError, code="two_covariates", wanted=["lat", "lat"]):
        plot_partition(tree, ["lat", "lat"])
    with raises(
        InputError, code="covariate_not_numeric", bad=["depth"], numeric=["lat", "lon", "height"]
    ):
        plot_partition(tree, ["lat", "depth"])
    with raises(
        InputError, code="unknown_fixed_covariate", unknown=["lat"], known=["lat", "lon", "height"]
    ):
        plot_partition(tree, ["lon", "lat"], at={"lat": 40})
    rng = np.random.default_rng(0)
    one = GraphTree(random_state=0).fit(rng.uniform(size=(60, 1)), rng.normal(size=(60, 2)))
    with raises(InputError, code="partition_covariates", n_numeric=1):
        plot_partition(one)


def test_axes_of_mine(tree):
    from matplotlib.figure import Figure

    mine = Figure().add_subplot()
    for plot in (plot_tree, plot_tree_risk, plot_partition):
        assert plot(tree, ax=mine) is mine
