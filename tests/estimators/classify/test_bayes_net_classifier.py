"""Class networks as a scikit-learn classifier."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

import edgewise
from edgewise import BayesNetClassifier, GaussianBayesNet, InputError
from edgewise.solvers.classify.fisher_scores import fisher_vectors
from tests.messages import raises

LEARNINGS = ("generative", "fisher", "margin")


def breast(n=60, n_columns=12):
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    return X[rows, :n_columns], y[rows]


def wine():
    X, y = load_wine(return_X_y=True)
    return X[::2], y[::2]


def is_acyclic(coef):
    reach = (coef != 0).astype(float)
    power = np.eye(len(coef))
    for _ in range(len(coef)):
        power = (power @ reach > 0).astype(float)
    return not power.any()


@pytest.mark.parametrize("learning", LEARNINGS)
@pytest.mark.parametrize("decide", ["likelihood", "svm"])
@pytest.mark.parametrize("data", [breast, wine])
def test_each_way_to_learn_and_decide(learning, decide, data):
    X, y = data()
    model = BayesNetClassifier(learning, decide).fit(X, y)
    assert model.score(X, y) > 0.9
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))
    assert all(is_acyclic(coef) for coef in model.coef_)
    assert max(model.fit_error_ratio_.values()) <= 1.01 + 1e-9
    assert model.converged_
    assert model.gap_ >= 0
    if learning != "generative":
        assert model.objective_ < model.start_objective_
        assert np.diff(model.history_).max() <= 1e-12
        assert not np.array_equal(model.standard_coef_, model.start_coef_)
    distance = model.decision_function(X)
    if len(model.classes_) == 2:
        np.testing.assert_array_equal(distance > 0, model.predict(X) == model.classes_[1])
    else:
        np.testing.assert_array_equal(distance.argmax(axis=1), model.predict(X))


def test_generative_networks_are_those_of_each_class():
    X, y = breast()
    model = BayesNetClassifier("generative", alpha=0.2).fit(X, y)
    standard = (X - X.mean(0)) / X.std(0)
    for c in (0, 1):
        alone = GaussianBayesNet(alpha=0.2, standardize=False).fit(standard[y == c])
        np.testing.assert_allclose(model.standard_coef_[c, :-1], alone.coef_, atol=1e-8)
        np.testing.assert_allclose(model.standard_coef_[c, -1], alone.intercept_, atol=1e-8)
    assert model.fit_error_ratio_ == {0: 1.0, 1: 1.0}


def test_likelihood_decides_in_the_units_of_the_data():
    X, y = breast()
    model = BayesNetClassifier("generative", class_weight={0: 9, 1: 1}).fit(X, y)
    score = [
        np.log(prior) - 0.5 * (((X - X @ coef - bias) / model.scale_) ** 2).sum(axis=1)
        for prior, coef, bias in zip([0.9, 0.1], model.coef_, model.intercept_, strict=True)
    ]
    np.testing.assert_allclose(model.decision_function(X), score[1] - score[0], rtol=1e-8)
    even = BayesNetClassifier("generative").fit(X, y).decision_function(X)
    np.testing.assert_allclose(even - (score[1] - score[0]), np.log(9.0), rtol=1e-8)


def test_svm_decides_as_one_on_explicit_scores():
    X, y = breast()
    model = BayesNetClassifier("fisher", "svm", C=0.5).fit(X, y)
    standard = (X - X.mean(0)) / X.std(0)
    vectors = fisher_vectors(standard, model.standard_coef_).reshape(len(X), -1)
    kernel = vectors @ vectors.T
    sign = np.where(y == 0, -1, 1)
    # Squared slack at cost C/2 is the same machine with 1/C on the diagonal of its kernel.
    peer = SVC(C=1e9, kernel="precomputed", tol=1e-6).fit(kernel + np.eye(len(X)) / 0.5, sign)
    found = model.decision_function(X)
    np.testing.assert_allclose(found, peer.decision_function(kernel), atol=2e-3)


@pytest.mark.parametrize("learning", LEARNINGS)
@pytest.mark.parametrize("bias", ["free", "penalized"])
def test_columns_in_any_order_give_the_same(learning, bias):
    X, y = breast(n_columns=8)
    order = np.random.default_rng(3).permutation(8)
    model = BayesNetClassifier(learning, bias=bias).fit(X, y)
    other = BayesNetClassifier(learning, bias=bias).fit(X[:, order], y)
    np.testing.assert_allclose(
        other.coef_, model.coef_[:, order][:, :, order], rtol=1e-8, atol=1e-9
    )
    np.testing.assert_allclose(other.decision_function(X[:, order]), model.decision_function(X))


def test_units_make_no_difference():
    X, y = breast(n_columns=6)
    factor = 10.0 ** np.array([-6, 6, 0, 3, -3, 1])
    model, other = BayesNetClassifier().fit(X, y), BayesNetClassifier().fit(X * factor + 5, y)
    np.testing.assert_allclose(other.standard_coef_, model.standard_coef_, rtol=1e-4, atol=1e-5)


def test_penalised_intercepts_shrink():
    X, y = breast()
    free = BayesNetClassifier("generative", alpha=0.4).fit(X, y)
    drawn = BayesNetClassifier("generative", alpha=0.4, bias="penalized").fit(X, y)
    assert np.abs(drawn.standard_coef_[:, -1]).sum() < np.abs(free.standard_coef_[:, -1]).sum()
    assert (drawn.standard_coef_[:, -1] == 0).any()


@pytest.mark.parametrize(
    ("option", "learning"),
    [
        ({"n_edges": 5}, "margin"),
        ({"slack": 0.2}, "margin"),
        ({"nu": 0.1}, "margin"),
        ({"C": 0.01}, "fisher"),
        ({"class_weight": {0: 10, 1: 1}}, "margin"),
        ({"class_weight": {0: 10, 1: 1}}, "fisher"),
        ({"alpha": 0.5}, "generative"),
        ({"method": "bcd"}, "generative"),
        ({"tol": 0.1}, "margin"),
    ],
)
def test_options_matter(option, learning):
    X, y = breast(n_columns=20)
    plain = BayesNetClassifier(learning).fit(X, y)
    other = BayesNetClassifier(**{"learning": learning, **option}).fit(X, y)
    assert not np.allclose(plain.standard_coef_, other.standard_coef_)


def test_only_as_many_arcs_move_as_asked_for():
    X, y = breast()
    model = BayesNetClassifier(n_edges=5).fit(X, y)
    assert len(model.explain()) == 5


def test_balanced_weights_equal_given_ones():
    X, y = breast()
    counts = np.bincount(y)
    given = {k: len(y) / (2 * counts[k]) for k in (0, 1)}
    balanced = BayesNetClassifier(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(
        BayesNetClassifier(class_weight=given).fit(X, y).coef_, balanced.coef_
    )


def test_scores_have_names_and_feed_other_classifiers():
    X, y = breast(n_columns=4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = BayesNetClassifier().fit(frame, np.where(y, "well", "sick"))
    names = model.get_feature_names_out()
    assert len(names) == 2 * 4 * 4
    assert names[0] == "a->b|sick"
    assert names[-1] == "bias->d|well"
    standard = (X - X.mean(0)) / X.std(0)
    vectors = fisher_vectors(standard, model.standard_coef_)
    np.testing.assert_allclose(model.transform(frame)[:, 0], vectors[:, 0, 0, 1])
    chain = make_pipeline(BayesNetClassifier(), SelectKBest(k=3), LogisticRegression())
    assert chain.fit(frame, y).score(frame, y) > 0.8
    output = BayesNetClassifier().set_output(transform="pandas").fit(frame, y).transform(frame)
    assert output.columns[0] == "a->b|0"


def test_grid_search_and_pipeline():
    X, y = breast(n_columns=5)
    chain = make_pipeline(FunctionTransformer(np.log1p), BayesNetClassifier())
    grid = {"bayesnetclassifier__alpha": [0.1, 0.6]}
    search = GridSearchCV(chain, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8


def test_networks_keep_names_and_labels():
    X, y = breast(n_columns=3)
    frame = pd.DataFrame(X, columns=["r", "t", "p"])
    labels = pd.Series(pd.Categorical(np.where(y, "well", "sick"), categories=["well", "sick"]))
    model = BayesNetClassifier().fit(frame, labels)
    assert list(model.networks_) == ["well", "sick"]
    assert model.networks_["sick"].names == ("r", "t", "p")
    assert model.networks_["sick"].directed
    difference = model.standard_coef_[1, :3] - model.standard_coef_[0, :3]
    np.testing.assert_array_equal(model.graph_.weights, difference)
    assert model.graph_.signed is None
    assert set(model.predict(frame)) == {"well", "sick"}
    assert list(model.start_networks_) == ["well", "sick"]


def test_the_range_over_three_classes_has_no_sign():
    X, y = load_wine(return_X_y=True)
    model = BayesNetClassifier().fit(X[:, :4], y)
    arcs = model.standard_coef_[:, :4]
    np.testing.assert_array_equal(model.graph_.weights, arcs.max(axis=0) - arcs.min(axis=0))
    assert model.graph_.n_edges
    assert not model.graph_.signed[model.graph_.adjacency].any()


def test_explanation_of_the_learning():
    X, y = breast()
    model = BayesNetClassifier().fit(X, y)
    table = model.explain()
    np.testing.assert_allclose(table["after"] - table["before"], table["change"])
    assert table["change"].abs().is_monotonic_decreasing
    first = table.iloc[0]
    change = model.standard_coef_ - model.start_coef_
    assert abs(first["change"]) == pytest.approx(np.abs(change).max())


def test_explanation_of_a_decision():
    X, y = wine()
    model = BayesNetClassifier().fit(X, y)
    table = model.explain(X[0])
    decided = model.predict(X[:1])[0]
    assert decided in set(table["class"])
    assert table["support"].abs().is_monotonic_decreasing
    arc = table[(table["class"] == decided) & (table["source"] != "bias")].iloc[0]
    i, j = int(arc["source"][1:]), int(arc["target"][1:])
    without = model.standard_coef_.copy()
    without[decided, i, j] = 0.0
    standard = (X[:1] - model.location_) / model.scale_

    def likelihood(coefs):
        coef = coefs[decided]
        return -0.5 * float(((standard - standard @ coef[:-1] - coef[-1]) ** 2).sum())

    lost = likelihood(model.standard_coef_) - likelihood(without)
    assert arc["support"] == pytest.approx(lost)
    other = next(k for k in (0, 1, 2) if k != decided and k not in set(table["class"]))
    assert other in set(model.explain(X[0], against=other)["class"])
    with raises(InputError, code="unknown_other_class", others="'1' and '2'", against=0):
        model.explain(X[0], against=decided)
    with pytest.raises(InputError, match="requires a single row"):
        model.explain(X[:2])


def test_calibration_by_held_out_rows_suits_new_rows():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    seen, new = order[:90], order[90:]
    plain = BayesNetClassifier().fit(X[seen], y[seen])
    held_out = CalibratedClassifierCV(plain, method="temperature", ensemble=False)
    held_out.fit(X[seen], y[seen])
    losses = [log_loss(y[new], model.predict_proba(X[new])) for model in (plain, held_out)]
    assert losses[1] < 0.9 * losses[0]


@pytest.mark.parametrize("decide", ["likelihood", "svm"])
def test_saved_and_loaded(tmp_path, decide):
    X, y = breast()
    model = BayesNetClassifier(decide=decide).fit(X, np.where(y, "well", "sick"))
    model.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.fit_error_ratio_ == model.fit_error_ratio_


def test_identical_classes_are_not_told_apart():
    X = np.random.default_rng(5).normal(size=(40, 4))
    both, y = np.vstack([X, X]), np.repeat([0, 1], 40)
    model = BayesNetClassifier().fit(both, y)
    np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=0.02)


def test_fewer_rows_than_columns_and_separable_classes():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(16, 40)), np.repeat([0, 1], 8)
    X[y == 1, 0] += 100.0
    for learning in LEARNINGS:
        model = BayesNetClassifier(learning).fit(X, y)
        assert model.score(X, y) == 1.0
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.predict_proba(X)).all()


def test_a_column_constant_in_one_class():
    X, y = breast(n_columns=5)
    X[y == 0, 2] = 3.0
    for learning in LEARNINGS:
        model = BayesNetClassifier(learning).fit(X, y)
        assert not model.start_networks_[0].adjacency[2].any()
        assert not model.start_networks_[0].adjacency[:, 2].any()
        assert np.isfinite(model.predict_proba(X)).all()


def test_one_column_and_identical_columns():
    X, y = breast(n_columns=5)
    assert BayesNetClassifier().fit(X[:, :1], y).score(X[:, :1], y) > 0.7
    twice = np.column_stack([X, X[:, 0]])
    assert np.isfinite(BayesNetClassifier().fit(twice, y).coef_).all()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(20), "one_class"),
        (np.array(["a", None] * 10, dtype=object), "labels_missing"),
        (np.r_[np.nan, np.zeros(19)], "labels_missing"),
        (np.r_[1, np.zeros(19)], "class_too_small"),
        (np.linspace(0, 1, 20), "continuous_labels"),
        (["a", 1] * 10, "labels_not_sortable"),
        (None, "class_labels_required"),
        (np.zeros(19), "labels_shape"),
    ],
)
def test_bad_labels(labels, message):
    X = np.random.default_rng(7).normal(size=(20, 3))
    with raises(ValueError, code=message):
        BayesNetClassifier().fit(X, labels)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: X.assign(b=np.nan), "missing_values_where"),
        (lambda X: X.assign(b=np.inf), "infinite_values"),
        (lambda X: X.assign(b=1.0), "constant_columns"),
        (lambda X: X.assign(b="text"), "text_columns_in_table"),
    ],
)
def test_bad_columns(spoil, message):
    X = pd.DataFrame(np.random.default_rng(8).normal(size=(20, 3)), columns=list("abc"))
    with raises(InputError, code=message):
        BayesNetClassifier().fit(spoil(X), np.repeat([0, 1], 10))


def test_bad_rows_to_decide_about():
    X, y = breast(n_columns=3)
    model = BayesNetClassifier().fit(X, y)
    for bad, message in ((np.nan, "NaN"), (np.inf, "inf in 'x1'")):
        rows = X[:2].copy()
        rows[0, 1] = bad
        with pytest.raises(InputError, match=message):
            model.predict(rows)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learning": "deep"}, "learning"),
        ({"decide": "vote"}, "decide"),
        ({"bias": "none"}, "bias"),
        ({"method": "pc"}, "method"),
        ({"alpha": 0}, "alpha"),
        ({"slack": 0.0}, "slack"),
        ({"C": -1}, "C"),
        ({"nu": 2}, "nu"),
        ({"n_edges": 0}, "n_edges"),
        ({"tol": 0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = breast(n_columns=3)
    with raises(InputError, code="invalid_value", parameter=message):
        BayesNetClassifier(**parameters).fit(X, y)


def test_too_few_iterations_are_told():
    X, y = breast()
    with pytest.warns(UserWarning, match="Raise max_iter or tol"):
        model = BayesNetClassifier(max_iter=1).fit(X, y)
    assert not model.converged_


def test_wrong_names_for_scores():
    X, y = breast(n_columns=3)
    model = BayesNetClassifier().fit(X, y)
    assert model.get_feature_names_out(["p", "q", "r"])[0] == "p->q|0"
    with raises(InputError, code="input_features_length", n_features_in=3, n_names=1):
        model.get_feature_names_out(["p"])
