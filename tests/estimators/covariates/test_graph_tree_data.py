"""What kinds of data `GraphTree` takes, and what it says about the others."""

import warnings

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import DataWarning, GraphTree, HeldOut, InputError, Penalized
from edgewise.data import load_climate
from edgewise.estimators.covariates.tree import REFUTED
from edgewise.solvers import graphical_lasso_path, refit_precision
from edgewise.solvers.gaussian.graphical_lasso import alpha_max
from tests.estimators.covariates.tree_rows import assert_same_tree, changing_rows
from tests.messages import raises


def by_group(n_rows=600, seed=0):
    """The link of the first two responses depends on a category and on a boolean."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["ant", "bee", "cow", "dog"], n_rows)
    wet = rng.random(n_rows) < 0.5
    Y = rng.normal(size=(n_rows, 4))
    sign = np.where(kind == "cow", 1.0, -1.0) * np.where(wet, 1.0, -1.0)
    Y[:, 0] += sign * Y[:, 1]
    X = pd.DataFrame({"kind": kind, "wet": wet, "noise": rng.normal(size=n_rows)})
    return X, Y


def test_categories_and_booleans():
    X, Y = by_group()
    tree = GraphTree(random_state=0).fit(X, Y)
    assert len(tree.leaves_) == 4
    assert {node.split.covariate for node in tree.nodes_ if node.split} == {"kind", "wet"}
    for leaf in tree.leaves_:
        kinds, wet = leaf.box["kind"], leaf.box["wet"]
        assert kinds in (("cow",), ("ant", "bee", "dog"))
        assert wet in (("False",), ("True",))
        sign = (1 if kinds == ("cow",) else -1) * (1 if wet == ("True",) else -1)
        assert sign * leaf.graph.weights[0, 1] > 0.4
    number = tree.apply(X)
    for leaf in tree.leaves_:
        inside = X["kind"].isin(leaf.box["kind"]) & X["wet"].astype(str).isin(leaf.box["wet"])
        np.testing.assert_array_equal(number == leaf.leaf, inside)
    text = tree.export_text()
    assert "kind is cow" in text
    assert "kind is not cow" in text
    assert "wet is False" in text
    assert "wet is True" in text
    assert [c.kind for c in tree.covariates_] == ["categorical", "boolean", "numeric"]


def test_categories_and_booleans_survive_a_file(tmp_path):
    X, Y = by_group(300)
    tree = GraphTree(random_state=0, scale={"noise": (-4, 4)}).fit(X, Y)
    tree.save(tmp_path / "tree.edgewise")
    again = edgewise.load(tmp_path / "tree.edgewise")
    assert_same_tree(again, tree)
    np.testing.assert_array_equal(again.apply(X), tree.apply(X))
    np.testing.assert_array_equal(again.predict_mean(X), tree.predict_mean(X))
    assert again.gain_ == tree.gain_
    assert [c.levels for c in again.covariates_] == [c.levels for c in tree.covariates_]


def test_order_of_the_rows_does_not_matter_for_categories_either():
    X, Y = by_group(300)
    order = np.random.default_rng(1).permutation(300)
    one = GraphTree(random_state=0).fit(X, Y)
    other = GraphTree(random_state=0).fit(X.iloc[order].reset_index(drop=True), Y[order])
    assert_same_tree(one, other)


def test_new_levels_belong_to_the_others():
    X, Y = by_group()
    tree = GraphTree(random_state=0).fit(X, Y)
    row = X.iloc[[0]].assign(kind="ant")
    stranger = row.assign(kind="eel")
    np.testing.assert_array_equal(tree.apply(stranger), tree.apply(row))
    assert tree.apply(row) != tree.apply(row.assign(kind="cow"))


def test_two_levels_are_one_split():
    rng = np.random.default_rng(1)
    side = rng.choice(["left", "right"], 300)
    Y = rng.normal(size=(300, 3))
    Y[:, 0] += np.where(side == "left", 1.0, -1.0) * Y[:, 1]
    tree = GraphTree(random_state=0, split_for="all").fit(pd.DataFrame({"side": side}), Y)
    assert [leaf.box["side"] for leaf in tree.leaves_] == [("left",), ("right",)]
    # One pooled cell and its two halves, no more.
    assert tree.n_iter_ == 3


def test_an_array_of_booleans():
    rng = np.random.default_rng(2)
    X = rng.random((300, 2)) < 0.5
    Y = rng.normal(size=(300, 3))
    Y[:, 0] += np.where(X[:, 0], 1.0, -1.0) * Y[:, 1]
    tree = GraphTree(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(tree.apply(X), X[:, 0].astype(int))


def test_ties_and_few_values():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, size=(600, 1)).astype(float)
    Y = rng.normal(size=(600, 3))
    Y[:, 0] += np.where(X[:, 0] >= 3, 1.5, -1.5) * Y[:, 1]
    for scale in ("range", "quantile"):
        tree = GraphTree(random_state=0, scale=scale).fit(X, Y)
        number = tree.apply(X)
        assert len(set(number[X[:, 0] == 3])) == 1
        assert set(number[X[:, 0] == 3]).isdisjoint(number[X[:, 0] < 3])
        for leaf in tree.leaves_:
            assert leaf.n >= 10


def test_a_value_on_a_cut_lies_below_it():
    X, Y = changing_rows(400, 4)
    tree = GraphTree(random_state=0, scale=(0, 1), max_depth=1).fit(X, Y)
    at, above = tree.apply([[0.3, 0.5]]), tree.apply([[0.3, np.nextafter(0.5, 1)]])
    assert at == 0
    assert above == 1


def test_constant_covariates_are_never_split():
    X, Y = changing_rows(300, 5)
    X[:, 0] = 7.0
    tree = GraphTree(random_state=0).fit(X, Y)
    assert len(tree.leaves_) == 2
    assert tree.leaves_[0].box["x0"] == (7.0, 7.0)
    assert "never split, because constant: 'x0'" in tree.treatment_
    alone = GraphTree(random_state=0).fit(np.ones((100, 2)), Y[:100])
    assert len(alone.leaves_) == 1
    named = GraphTree(random_state=0, scale="quantile").fit(np.ones((100, 1)), Y[:100])
    assert len(named.leaves_) == 1


def test_rows_beyond_the_range_belong_to_the_nearest_box():
    X, Y = changing_rows(400, 6)
    tree = GraphTree(random_state=0).fit(X, Y)
    inside = tree.apply([[0.5, 0.01], [0.5, 0.99]])
    np.testing.assert_array_equal(tree.apply([[9.0, -5.0], [-9.0, 5.0]]), inside)
    # The same for validation rows.
    X_val, Y_val = changing_rows(400, 7)
    wide = GraphTree().fit(X, Y, 3 * X_val - 1, Y_val)
    assert sum(leaf.n_validation for leaf in wide.leaves_) == 400


def test_copies_of_a_covariate():
    X, Y = changing_rows(300, 8)
    tree = GraphTree(random_state=0).fit(np.column_stack([X[:, 1], X[:, 1]]), Y)
    assert tree.nodes_[0].split.column == 0


@pytest.mark.parametrize("grow_risk", ["l1", "refit", "best"])
@pytest.mark.parametrize("criterion", ["heldout", "penalized"])
def test_leaves_with_fewer_rows_than_responses(criterion, grow_risk):
    rng = np.random.default_rng(9)
    n_rows = 60 if criterion == "heldout" else 30
    X = rng.uniform(size=(n_rows, 2))
    Y = rng.normal(size=(n_rows, 20))
    Y[:, :10] += np.where(X[:, [0]] > 0.5, 3.0, -3.0) * Y[:, 10:]
    eager = HeldOut(min_gain=0) if criterion == "heldout" else Penalized(gamma=0)
    tree = GraphTree(eager, grow_risk=grow_risk, random_state=0, min_samples_leaf=2).fit(X, Y)
    assert len(tree.leaves_) > 1
    assert min(leaf.n for leaf in tree.leaves_) < 20
    for leaf in tree.leaves_:
        assert np.linalg.eigvalsh(leaf.precision)[0] > 0
    assert np.isfinite(tree.score(X, Y))


def test_graph_of_a_leaf_is_the_best_of_its_whole_path():
    """The risk of refits has a dip long before its least value where responses are much alike."""
    climate = load_climate()
    held, Y = climate.is_validation, climate.responses.to_numpy()
    X = climate.covariates[["lat"]].to_numpy()
    tree = GraphTree(max_depth=0).fit(X[~held], Y[~held], X[held], Y[held])
    Z = (Y - Y[~held].mean(axis=0)) / Y[~held].std(axis=0)
    S, S_val = (rows.T @ rows / len(rows) for rows in (Z[~held], Z[held]))
    alphas = alpha_max(S) * np.geomspace(1, 0.01, 40)
    risks = []
    for solution in graphical_lasso_path(S, alphas, penalize_diagonal=True):
        Theta = refit_precision(S, solution.value != 0).value
        risks.append(np.sum(S_val * Theta) - np.linalg.slogdet(Theta)[1])
    best = int(np.argmin(risks))
    first_dip = int(np.argmax(np.diff(risks) > 0.1))
    assert min(risks[first_dip + 1 : first_dip + 11]) > risks[first_dip] > risks[best] + 0.5
    assert tree.leaves_[0].alpha == pytest.approx(alphas[best], rel=1e-6)


def test_a_response_without_variance_in_a_leaf():
    rng = np.random.default_rng(10)
    X = rng.uniform(size=(400, 1))
    Y = rng.normal(size=(400, 3))
    Y[X[:, 0] > 0.5, 2] = 0.0
    with pytest.warns(DataWarning, match="'c' hardly vary"):
        tree = GraphTree(random_state=0, split_for="all", scale=(0, 1)).fit(
            X, pd.DataFrame(Y, columns=list("abc"))
        )
    assert np.isfinite(tree.risk_)
    flat = tree.leaves_[tree.apply([[0.9]])[0]]
    variance = np.linalg.inv(flat.precision)[2, 2]
    assert variance == pytest.approx(Y[:, 2].var() / flat.n, rel=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GraphTree(random_state=0).fit(*changing_rows(100))


def test_validation_rows_in_one_half_only():
    X, Y = changing_rows(400, 11)
    left = X[:, 1] < 0.4
    tree = GraphTree(scale=(0, 1)).fit(X, Y, X[left], Y[left])
    assert all(leaf.n_validation >= 10 for leaf in tree.leaves_)
    few = GraphTree(scale=(0, 1)).fit(X, Y, X[:3], Y[:3])
    assert len(few.leaves_) == 1
    assert few.leaves_[0].n_validation == 3


def test_a_handful_of_rows():
    X, Y = changing_rows(4, 12)
    tree = GraphTree(random_state=0).fit(X, Y)
    assert len(tree.leaves_) == 1
    with raises(InputError, code="too_few_validation_rows", n_rows=1, n_validation=1):
        GraphTree(random_state=0).fit(X[:2], Y[:2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X[:50], Y), "responses_row_count"),
        (lambda X, Y: (np.where(X > 0.9, np.nan, X), Y), "covariates_not_finite"),
        (lambda X, Y: (X, np.where(Y > 2, np.nan, Y)), "responses_not_finite"),
        (lambda X, Y: (X, np.where(Y > 2, np.inf, Y)), "responses_not_finite"),
        (lambda X, Y: (X, Y * np.array([1, 1, 0, 1])), "constant_responses"),
        (lambda X, Y: (X, Y[:, [0, 1, 0]]), "identical_responses"),
        (lambda X, Y: (X, Y[:, :1]), "one_response"),
        (lambda X, Y: (X, Y[:, 0]), "not_two_dimensional"),
        (lambda X, Y: (X, pd.Series(Y[:, 0])), "not_two_dimensional"),
        (lambda X, Y: (X, Y * 1e160), "values_too_large"),
        (lambda X, Y: (X, np.where(Y > 0, "a", "b")), "text_responses"),
    ],
)
def test_bad_tables_are_named(change, message):
    with raises(InputError, code=message):
        GraphTree(random_state=0).fit(*change(*changing_rows(100, 13)))


def test_bad_validation_rows_are_named():
    X, Y = changing_rows(100, 14)
    with raises(InputError, code="validation_incomplete"):
        GraphTree().fit(X, Y, X)
    with raises(InputError, code="validation_incomplete"):
        GraphTree().fit(X, Y, Y_val=Y)
    with raises(ValueError, code="columns_of_fit"):
        GraphTree().fit(X, Y, np.ones((100, 3)), Y)
    with raises(InputError, code="responses_of_fit", names=["y0", "y1", "y2"]):
        GraphTree().fit(X, Y, X, Y[:, :3])


def test_other_kinds_of_covariates_than_in_the_fit():
    X, Y = by_group(200)
    tree = GraphTree(random_state=0).fit(X, Y)
    with raises(InputError, code="covariate_type_changed", name="kind", known="categorical"):
        tree.apply(X.assign(kind=1.0))
    with raises(ValueError, code="columns_of_fit"):
        tree.apply(X[["wet", "kind", "noise"]])


def test_refitting_with_other_tables():
    X, Y = by_group(200)
    tree = GraphTree(random_state=0).fit(X, Y)
    X2, Y2 = changing_rows(200, 15)
    tree.fit(X2, Y2, X2, Y2)
    assert tree.n_features_in_ == 2
    assert len(tree.covariates_) == 2


def test_polars_tables():
    polars = pytest.importorskip("polars")
    X, Y = changing_rows(300, 16)
    names = {"covariates": ["a", "b"], "responses": ["p", "q", "r", "s"]}
    tree = GraphTree(random_state=0).fit(
        polars.DataFrame(X, schema=names["covariates"]),
        polars.DataFrame(Y, schema=names["responses"]),
    )
    assert tree.leaves_[0].graph.names == ("p", "q", "r", "s")
    assert tree.nodes_[0].split.covariate == "b"


def test_columns_that_are_constant_in_a_part_hide_no_split():
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(400, 1))
    Y = rng.normal(size=(400, 4))
    is_right = X[:, 0] > 0.5
    Y[:, 1] += np.where(is_right, -1.5, 1.5) * Y[:, 0]
    # As a tax that all towns of a region share but for a few.
    Y[is_right & (rng.uniform(size=400) < 0.98), 2] = 3.0
    tree = GraphTree(random_state=0).fit(X, Y)
    cut = tree.nodes_[0].split
    assert cut is not None
    assert cut.cut == pytest.approx(0.5, abs=0.05)


def test_splits_that_other_rows_refute_are_said():
    rng = np.random.default_rng(6)
    X, Y = rng.uniform(size=(340, 1)), rng.normal(size=(340, 3))
    sign = np.where(X[:, 0] > 0.5, -2.0, 2.0)
    # The last rows are the other way round.
    sign[300:] *= -1
    Y[:, 1] += sign * Y[:, 0]
    tree = GraphTree(random_state=0).fit(X[:300], Y[:300], X[300:], Y[300:])
    assert len(tree.leaves_) == 1
    assert REFUTED in tree.treatment_
