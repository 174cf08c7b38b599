import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score

import edgewise
from edgewise import CV, EBIC, BootstrapGraph, InputError, MixedGraph, NeighborhoodGraph
from edgewise._core.errors import DataWarning
from tests.messages import raises


def mixed_frame(n=400, seed=0):
    """Return columns of every kind in a chain: each depends on the one before."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, n)
    diet = np.where(rng.random(n) < 0.6, np.where(age > 50, "meat", "vegan"), "fish")
    smokes = np.where(rng.random(n) < np.where(diet == "meat", 0.7, 0.2), "yes", "no")
    visits = rng.poisson(np.where(smokes == "yes", 6.0, 2.0))
    mood = np.digitize(-visits + rng.normal(0, 2, n), [-6, -4, -2, 0])
    pulse = 2.0 * mood + rng.normal(size=n)
    columns = {"age": age, "diet": diet, "smokes": smokes, "visits": visits, "mood": mood}
    return pd.DataFrame({**columns, "pulse": pulse})


@pytest.fixture(scope="module")
def frame():
    return mixed_frame()


@pytest.fixture(scope="module")
def model(frame):
    return MixedGraph().fit(frame)


def test_a_chain_of_all_kinds_is_found(model):
    assert model.kinds_ == {
        "age": "continuous",
        "diet": "nominal",
        "smokes": "binary",
        "visits": "count",
        "mood": "ordinal",
        "pulse": "continuous",
    }
    joined = model.graph_.adjacency
    assert all(joined[k, k + 1] for k in range(5))
    across = np.triu(model.graph_.weights, 2)
    assert np.abs(across).max() < 0.1
    assert model.converged_
    assert 0 <= model.gap_ <= 6e-6


def test_signs_are_where_there_is_an_order(model):
    graph = model.graph_
    names, joined = list(graph.names), graph.adjacency
    assert not graph.signed[names.index("diet")][joined[names.index("diet")]].any()
    assert graph.signed[names.index("smokes"), names.index("visits")]
    assert graph.weights[names.index("smokes"), names.index("visits")] > 0
    assert graph.weights[names.index("visits"), names.index("mood")] < 0
    assert (graph.weights[names.index("diet")] >= 0).all()


def test_text_of_two_levels_has_the_sign_of_the_second(frame):
    other = frame.assign(smokes=np.where(frame.smokes == "yes", "a", "b"))
    model = MixedGraph(0.1).fit(other)
    graph = model.graph_
    assert model.levels_[2] == ("a", "b")
    assert graph.signed[2, 3]
    assert graph.weights[2, 3] < 0
    ordered = pd.Categorical(other.smokes, categories=["b", "a"], ordered=True)
    graph = MixedGraph(0.1).fit(other.assign(smokes=ordered)).graph_
    assert graph.signed[2, 3]
    assert graph.weights[2, 3] > 0


def test_all_gaussian_is_a_neighborhood_graph():
    X = np.random.default_rng(1).normal(size=(200, 6)) * np.array([1, 2, 3, 1, 10, 0.1])
    X[:, 1] += X[:, 0]
    X[:, 3] -= X[:, 2]
    for rule in ("and", "or"):
        mixed = MixedGraph(0.1, rule=rule, tol=1e-13).fit(X)
        plain = NeighborhoodGraph(0.1, rule=rule, tol=1e-13).fit(X)
        np.testing.assert_allclose(mixed.graph_.weights, plain.graph_.weights, atol=1e-10)
        np.testing.assert_array_equal(mixed.graph_.adjacency, plain.graph_.adjacency)
        scale = X.std(axis=0)
        found = np.hstack(mixed.coef_) * scale[:, None] / scale
        np.testing.assert_allclose(found, plain.coef_ * scale[:, None] / scale, atol=1e-10)
        np.testing.assert_allclose(mixed.noise_variance_, plain.noise_variance_)
        assert mixed.score(X) == pytest.approx(plain.score(X))


def test_all_binary_is_a_logistic_lasso_of_each_column():
    rng = np.random.default_rng(2)
    X = (rng.normal(size=(300, 5)) + rng.normal(size=(300, 1)) > 0.4).astype(float)
    model = MixedGraph(0.05, tol=1e-12).fit(X)
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / scale
    for j in range(5):
        others = np.delete(np.arange(5), j)
        # alpha counts in standard deviations of the response.
        peer = LogisticRegression(
            l1_ratio=1.0,
            C=1 / (0.05 * scale[j] * len(X)),
            solver="saga",
            tol=1e-9,
            max_iter=10**5,
        ).fit(Z[:, others], X[:, j])
        np.testing.assert_allclose(
            model.coef_[j][others, 0] * scale[others], peer.coef_[0], atol=1e-5
        )


def test_names_and_order_of_levels_change_nothing(frame, model):
    other = {"meat": "a", "fish": "z", "vegan": "m"}
    again = MixedGraph().fit(frame.assign(diet=frame.diet.map(other)))
    np.testing.assert_allclose(again.graph_.weights, model.graph_.weights, atol=1e-5)
    np.testing.assert_array_equal(again.graph_.adjacency, model.graph_.adjacency)
    table, renamed = model.interaction("age", "diet"), again.interaction("age", "diet")
    np.testing.assert_allclose(
        renamed.rename(columns={v: k for k, v in other.items()})[table.columns], table, atol=1e-4
    )


def test_permuted_columns_give_the_permuted_network(frame):
    model = MixedGraph(0.1, tol=1e-11).fit(frame)
    order = [3, 0, 5, 1, 4, 2]
    other = MixedGraph(0.1, tol=1e-11).fit(frame.iloc[:, order])
    np.testing.assert_allclose(
        other.graph_.weights, model.graph_.weights[np.ix_(order, order)], atol=1e-8
    )


def test_rescaled_numbers_change_no_edge(frame):
    model = MixedGraph(0.1, tol=1e-11).fit(frame)
    other = MixedGraph(0.1, tol=1e-11).fit(frame.assign(age=1000 * frame.age - 7))
    np.testing.assert_allclose(other.graph_.weights, model.graph_.weights, atol=1e-7)


def test_the_graph_is_empty_at_a_large_alpha(frame):
    model = MixedGraph(1.0).fit(frame)
    assert model.graph_.n_edges == 0
    table = model.predictability_
    # Without a neighbour, the most frequent level is all there is.
    assert (table.value - table.baseline).abs().max() < 1e-6


def test_or_joins_what_and_does_not(frame):
    both, either = (
        MixedGraph(0.2, rule=rule).fit(frame).graph_.adjacency for rule in ("and", "or")
    )
    assert (either >= both).all()
    assert either.sum() > both.sum()


@pytest.mark.parametrize("alpha", ["ebic", "cv"])
def test_a_rule_chooses_an_alpha_for_each_column(frame, alpha):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", edgewise.selection.SelectionWarning)
        model = MixedGraph(alpha, random_state=0).fit(frame)
    assert len(model.selection_) == 6
    assert model.alpha_.shape == (6,)
    assert len(set(model.alpha_)) > 1
    assert {choice.rule for choice in model.selection_} == {alpha}


def test_options_of_rules_count(frame):
    none = MixedGraph(EBIC(gamma=1.0, n_alphas=5)).fit(frame)
    some = MixedGraph(EBIC(gamma=0.0, n_alphas=5)).fit(frame)
    assert len(none.selection_[0].alphas) >= 5
    assert some.graph_.n_edges >= none.graph_.n_edges
    assert (some.alpha_ <= none.alpha_).all()


def test_folds_do_not_depend_on_n_jobs(frame):
    rule = CV(3, n_alphas=4)
    one, two = (
        MixedGraph(rule, random_state=0, n_jobs=n_jobs).fit(frame.iloc[:, :4]) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.alpha_, two.alpha_)
    np.testing.assert_array_equal(one.graph_.weights, two.graph_.weights)


def test_weights_of_rows_are_repeated_rows(frame):
    weights = np.where(np.arange(len(frame)) < 100, 2, 1)
    kinds = MixedGraph(1.0).fit(frame).kinds_
    heavy = MixedGraph(0.1, kinds={**kinds, "mood": "nominal"}, tol=1e-11)
    heavy.fit(frame, sample_weight=weights)
    twice = frame.loc[np.repeat(frame.index, weights)].reset_index(drop=True)
    other = MixedGraph(0.1, kinds={**kinds, "mood": "nominal"}, tol=1e-11).fit(twice)
    np.testing.assert_allclose(heavy.graph_.weights, other.graph_.weights, atol=1e-8)


def test_predictions_are_of_the_right_kind_and_as_good_as_said(frame, model):
    guess = model.predict(frame)
    assert list(guess.columns) == list(frame.columns)
    said = model.predictability_
    assert (guess.diet == frame.diet).mean() == pytest.approx(said.value["diet"])
    assert (guess.smokes == frame.smokes).mean() == pytest.approx(said.value["smokes"])
    assert r2_score(frame.pulse, guess.pulse) == pytest.approx(said.value["pulse"], abs=1e-6)
    assert set(guess.mood) <= set(frame.mood)
    assert (guess.visits > 0).all()
    assert said.value["diet"] > said.baseline["diet"]
    assert said.measure.tolist() == [
        "explained variance",
        "accuracy",
        "accuracy",
        "explained deviance",
        "explained variance",
        "explained variance",
    ]


def test_explained_deviance_is_that_of_scikit_learn(frame, model):
    from sklearn.metrics import d2_tweedie_score

    expected = d2_tweedie_score(frame.visits, model.predict(frame).visits, power=1)
    assert model.predictability_.value["visits"] == pytest.approx(expected)


def test_interactions_say_what_a_level_adds(frame, model):
    table = model.interaction("diet", "age")
    assert table.index.tolist() == ["fish", "meat", "vegan"]
    assert table.loc["meat", "age"] > 0 > table.loc["vegan", "age"]
    shares = frame.diet.value_counts(normalize=True)
    # Against the average row.
    assert float((table.age * shares[table.index]).sum()) == pytest.approx(0, abs=1e-12)
    odds = model.interaction("smokes", "diet")
    assert odds.shape == (2, 3)
    np.testing.assert_allclose(odds.sum(axis=1), 0, atol=1e-9)
    assert odds.loc["yes", "meat"] - odds.loc["no", "meat"] > 0
    rate = model.interaction("smokes", "visits").visits
    simple = np.log(frame.visits[frame.smokes == "yes"].mean()) - np.log(
        frame.visits[frame.smokes == "no"].mean()
    )
    assert 0 < rate["yes"] - rate["no"] < simple
    step = model.interaction("mood", "pulse")
    assert step.shape == (1, 1)
    assert 0.5 < step.iloc[0, 0] < 1
    assert not model.interaction("age", "pulse").to_numpy().any()
    with raises(InputError, code="edge_to_itself", name="age"):
        model.interaction("age", "age")


def test_a_model_comes_back_from_its_file(frame, model, tmp_path):
    model.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    pd.testing.assert_frame_equal(again.predict(frame), model.predict(frame))
    pd.testing.assert_frame_equal(again.predictability_, model.predictability_)
    pd.testing.assert_frame_equal(
        again.interaction("diet", "smokes"), model.interaction("diet", "smokes")
    )
    assert again.score(frame) == model.score(frame)


def test_the_score_of_other_rows_falls_without_edges(model, frame):
    others = mixed_frame(seed=1)
    empty = MixedGraph(1.0).fit(frame)
    assert model.score(others) > empty.score(others) + 0.5
    weights = np.random.default_rng(0).random(len(others))
    assert model.score(others, sample_weight=weights) != model.score(others)


def test_it_can_be_resampled(frame):
    sure = BootstrapGraph(MixedGraph(0.15), n_resamples=5, random_state=0).fit(frame)
    assert sure.graph_.confidence[3, 4] == 1.0
    np.testing.assert_array_equal(sure.graph_.signed, sure.estimator_.graph_.signed)


def test_kinds_can_be_given(frame):
    given = {"mood": "nominal", "visits": "continuous"}
    model = MixedGraph(0.1, kinds=given).fit(frame)
    assert {name: model.kinds_[name] for name in given} == given
    assert model.coef_[4].shape[1] == 5
    sequence = ["continuous", None, None, "continuous", "nominal", None]
    again = MixedGraph(0.1, kinds=sequence).fit(frame)
    np.testing.assert_array_equal(again.graph_.weights, model.graph_.weights)


def test_frames_of_polars_are_read_alike(frame, model):
    again = MixedGraph().fit(pl.from_pandas(frame))
    assert again.kinds_ == model.kinds_
    np.testing.assert_allclose(again.graph_.weights, model.graph_.weights, atol=1e-12)


def test_rows_with_gaps_are_refused_or_left_out(frame):
    gappy = frame.copy()
    gappy.loc[3, "age"] = np.nan
    gappy.loc[5, "diet"] = None
    with raises(InputError, code="levels_missing_values", n_gone=2, n_gappy=2):
        MixedGraph(0.1).fit(gappy)
    model = MixedGraph(0.1, missing="drop").fit(gappy, sample_weight=np.ones(len(gappy)))
    whole = MixedGraph(0.1).fit(frame.drop(index=[3, 5]))
    np.testing.assert_array_equal(model.graph_.weights, whole.graph_.weights)
    assert model.n_samples_ == 398
    assert "2 rows" in model.treatment_[0]
    with raises(InputError, code="columns_not_finite", bad=["age", "diet"]):
        model.predict(gappy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"diet": "fish"}, "constant_columns"),
        ({"diet": [f"name {k}" for k in range(400)]}, "columns_without_kind"),
        ({"diet": pd.date_range("2020-01-01", periods=400)}, "columns_without_kind"),
        ({"age": np.inf}, "infinite_values_mixed"),
        ({"age": np.arange(400)}, "columns_without_kind"),
        ({"pulse": None}, "levels_missing_values"),
    ],
)
def test_columns_without_a_place_are_named(frame, change, message):
    with raises(InputError, code=message):
        MixedGraph(0.1).fit(frame.assign(**change))


def test_more_levels_than_rows_allow_are_named(frame):
    short = frame.head(30).assign(diet=[f"level {k % 20}" for k in range(30)])
    with raises(InputError, code="too_many_levels_mixed", name="diet", n_own=20):
        MixedGraph(0.1).fit(short)


def test_rare_levels_are_warned_of(frame):
    rare = frame.assign(diet=["insects" if k < 3 else diet for k, diet in enumerate(frame.diet)])
    with pytest.warns(DataWarning, match="Level 'insects' of 'diet' has fewer than 5 rows"):
        MixedGraph(0.1).fit(rare)


def test_a_level_that_only_a_fold_has_is_named(frame):
    once = frame.assign(diet=["insects" if k == 3 else diet for k, diet in enumerate(frame.diet)])
    with (
        pytest.warns(DataWarning, match="'insects' of 'diet'"),
        raises(InputError, code="fit_failed"),
    ):
        MixedGraph("cv", random_state=0).fit(once)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"diet": "continuous"}, "kind_does_not_fit"),
        ({"age": "count"}, "kind_does_not_fit"),
        ({"age": "nominal"}, "kind_does_not_fit"),
        ({"mood": "binary"}, "kind_does_not_fit"),
        ({"diet": "ordinal"}, "kind_does_not_fit"),
        ({"agee": "count"}, "kinds_unknown_column"),
        ({"age": "number"}, "unknown_kind"),
        ({"age": "date"}, "columns_without_kind"),
        (["count"], "kinds_count"),
        ("count", "kinds_not_named"),
    ],
)
def test_contradictory_kinds_are_named(frame, kinds, message):
    with raises(InputError, code=message):
        MixedGraph(0.1, kinds=kinds).fit(frame)


def test_equivalent_columns_are_named(frame):
    twin = frame.assign(food=frame.diet.map({"meat": "x", "fish": "y", "vegan": "z"}))
    with raises(InputError, code="columns_identical_up_to_scale", names="'diet' and 'food'"):
        MixedGraph(0.1).fit(twin)
    with raises(InputError, code="columns_identical_up_to_scale", names="'age' and 'years'"):
        MixedGraph(0.1).fit(frame.assign(years=3 - 2 * frame.age))


def test_new_rows_are_held_to_what_the_fit_knows(frame, model):
    with raises(InputError, code="unknown_level_mixed", name="diet", unknown=["insects"]):
        model.predict(frame.assign(diet="insects"))
    with raises(InputError, code="text_for_fitted_kind", name="age"):
        model.predict(frame.assign(age="old"))


def test_few_steps_are_warned_of_once(frame):
    with pytest.warns(
        UserWarning, match="In the regressions of 'age', 'diet'.*Raise max_iter"
    ) as told:
        MixedGraph(0.01, max_iter=1, tol=1e-12).fit(frame)
    assert len(told) == 1


def test_an_array_of_text_and_numbers_is_predicted_as_one(frame):
    model = MixedGraph(0.1).fit(frame.to_numpy())
    assert model.predict(frame.to_numpy()).shape == frame.shape
    numbers = frame[["age", "visits", "pulse"]].to_numpy()
    assert MixedGraph(0.1).fit(numbers).predict(numbers).dtype == np.float64


@pytest.fixture(scope="module")
def several_kinds():
    rng = np.random.default_rng(0)
    n = 300
    age = rng.normal(50, 10, n)
    diet = np.where(rng.random(n) < 0.3, "vegan", np.where(age > 50, "meat", "fish"))
    visits = rng.poisson(np.where(diet == "vegan", 1.0, 3.0))
    smokes = np.where(rng.random(n) < 1 / (1 + np.exp(2 - visits)), "yes", "no")
    return pd.DataFrame({"age": age, "diet": diet, "visits": visits, "smokes": smokes})


def test_the_joint_model_finds_the_links_with_one_alpha(several_kinds):
    fit = MixedGraph(method="joint").fit(several_kinds)
    joined = {frozenset(edge) for edge in fit.graph_.edges()[["source", "target"]].values}
    assert joined >= {
        frozenset(pair) for pair in (("age", "diet"), ("diet", "visits"), ("visits", "smokes"))
    }
    assert len(set(fit.alpha_)) == 1
    assert fit.converged_
    assert 0 <= fit.gap_ <= 4e-6
    assert fit.interaction("diet", "visits").loc["vegan", "visits"] < -0.3
    assert fit.predictability_.loc["diet", "value"] > 0.5
    assert MixedGraph(alpha="cv", method="joint", random_state=0).fit(several_kinds).graph_.n_edges


def test_names_of_levels_and_repeated_rows_change_nothing_of_the_joint_model(several_kinds):
    first = MixedGraph(0.1, kinds={"visits": "count"}, method="joint", tol=1e-11).fit(several_kinds)
    renamed = several_kinds.replace({"diet": {"fish": "z", "meat": "a"}})
    second = MixedGraph(0.1, kinds={"visits": "count"}, method="joint", tol=1e-11).fit(renamed)
    np.testing.assert_allclose(first.graph_.weights, second.graph_.weights, atol=1e-6)
    twice = pd.concat([several_kinds, several_kinds.head(60)])
    weights = np.where(np.arange(300) < 60, 2.0, 1.0)
    third = MixedGraph(0.1, kinds={"visits": "count"}, method="joint", tol=1e-11).fit(twice)
    fourth = MixedGraph(0.1, kinds={"visits": "count"}, method="joint", tol=1e-11).fit(
        several_kinds, sample_weight=weights
    )
    np.testing.assert_allclose(third.graph_.weights, fourth.graph_.weights, atol=1e-6)


@pytest.mark.parametrize("method", ["nodewise", "joint"])
def test_skewed_noise_beside_words_has_edges_in_few_tables(method):
    n_with_edges = 0
    for seed in range(40):
        rng = np.random.default_rng([3, seed])
        table = pd.DataFrame(np.exp(rng.normal(size=(200, 8))), columns=[*"abcdefgh"])
        table["sex"] = rng.choice(["f", "m"], size=200)
        table["stage"] = rng.choice(["I", "II", "III"], size=200, p=[0.8, 0.1, 0.1])
        model = MixedGraph(method=method).fit(table)
        n_with_edges += model.graph_.n_edges > 0
        assert (model.smallest_p_value_ > 0.05) == (model.selection_ is None)
    # Of 40 tables more than 6 in one of 100 runs, if 7 of 100 have an edge.
    assert n_with_edges <= 6


def test_a_dependence_on_one_level_passes_the_test():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 4)), columns=[*"abcd"])
    table["group"] = rng.choice(["x", "y", "z"], size=120)
    table["a"] += table["group"] == "z"
    model = MixedGraph().fit(table)
    assert model.smallest_p_value_ < 0.05
    assert model.graph_.adjacency[0, 4]
    assert np.isnan(MixedGraph(alpha=0.1).fit(table).smallest_p_value_)
