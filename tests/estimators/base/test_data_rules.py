"""What the estimators say about data they cannot take, and what they do when told to go on."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from edgewise import CV, EBIC, GaussianGraph, InputError, NeighborhoodGraph, StARS
from edgewise.stats import em_covariance, pairwise_covariance
from edgewise.stats.positive import correlation_from_covariance
from tests.guarantees import assert_guarantees
from tests.messages import raises

BOTH = pytest.mark.parametrize("estimator", [GaussianGraph, NeighborhoodGraph])
NAMES = ["age", "dose", "gene3", "gene7"]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:, 1] += X[:, 0]
    X[:, 3] += X[:, 2]
    return pd.DataFrame(X, columns=NAMES)


@pytest.fixture
def gappy(frame):
    frame.iloc[[1, 5, 9], 1] = np.nan
    frame.iloc[[2, 5], 3] = np.nan
    return frame


@BOTH
def test_missing_values_are_named_counted_and_given_a_remedy(estimator, gappy):
    pattern = r"5 values.*NaN.*'dose' \(3\) and 'gene7' \(2\).*missing=\"pairwise\""
    with pytest.raises(InputError, match=pattern):
        estimator(alpha=0.1).fit(gappy)


@BOTH
def test_pairwise_covariance_is_used_and_stated(estimator, gappy):
    model = estimator(alpha=0.1, missing="pairwise").fit(gappy)
    (statement,) = model.treatment_
    assert statement.startswith('missing="pairwise": 5 missing values in 2 columns')
    assert "56 at least" in statement
    S = correlation_from_covariance(pairwise_covariance(gappy.to_numpy()).covariance)
    expected = estimator(alpha=0.1, covariance="precomputed").fit(S)
    np.testing.assert_allclose(model.graph_.weights, expected.graph_.weights, atol=1e-6)
    np.testing.assert_allclose(model.location_, gappy.mean())


@BOTH
def test_maximum_likelihood_is_used_and_stated(estimator, gappy):
    model = estimator(alpha=0.1, missing="em").fit(gappy)
    (statement,) = model.treatment_
    assert statement.startswith('missing="em": 5 missing values in 2 columns')
    result = em_covariance(gappy.to_numpy())
    S = correlation_from_covariance(result.covariance)
    expected = estimator(alpha=0.1, covariance="precomputed").fit(S)
    np.testing.assert_allclose(model.graph_.weights, expected.graph_.weights, atol=1e-6)
    np.testing.assert_allclose(model.location_, result.location)


@BOTH
@pytest.mark.parametrize("missing", ["pairwise", "em"])
def test_a_policy_without_missing_values_changes_nothing(estimator, missing, frame):
    model = estimator(alpha=0.1, missing=missing).fit(frame)
    assert model.treatment_ == []
    expected = estimator(alpha=0.1).fit(frame).graph_.weights
    np.testing.assert_array_equal(model.graph_.weights, expected)


@BOTH
@pytest.mark.parametrize(
    "alpha", [EBIC(n_alphas=5), CV(n_alphas=5), StARS(0.3, n_alphas=5)], ids=str
)
def test_rules_and_scores_with_missing_values(estimator, alpha, gappy):
    model = estimator(alpha=alpha, missing="em", random_state=0)
    model.fit(gappy)
    assert model.graph_.adjacency[0, 1]
    assert np.isfinite(model.score(gappy))


def test_missing_values_with_ranks(gappy):
    model = GaussianGraph(alpha=0.1, covariance="nonparanormal", missing="pairwise").fit(gappy)
    bent = GaussianGraph(alpha=0.1, covariance="nonparanormal", missing="pairwise")
    np.testing.assert_allclose(bent.fit(np.exp(gappy)).precision_, model.precision_)
    assert model.treatment_
    for kind in ("spearman", "kendall"):
        pairs = GaussianGraph(alpha=0.1, covariance=kind, missing="pairwise").fit(gappy)
        bent = GaussianGraph(alpha=0.1, covariance=kind, missing="pairwise").fit(np.exp(gappy))
        np.testing.assert_array_equal(bent.precision_, pairs.precision_)
        assert pairs.treatment_
        with raises(InputError, code="correlation_without_em"):
            GaussianGraph(alpha=0.1, covariance=kind, missing="em").fit(gappy)


def test_missing_values_and_a_known_mean_do_not_mix(gappy):
    with raises(InputError, code="centered_with_missing"):
        GaussianGraph(alpha=0.1, missing="em", assume_centered=True).fit(gappy)


def test_only_complete_rows_count_in_the_score_of_neighborhoods(gappy):
    model = NeighborhoodGraph(alpha=0.1, missing="em").fit(gappy)
    assert model.score(gappy) == pytest.approx(model.score(gappy.dropna()))
    with raises(InputError, code="no_complete_row"):
        model.score(gappy.iloc[[5]])


@BOTH
def test_infinite_values_are_named(estimator, frame):
    frame.loc[4, "gene3"] = np.inf
    with raises(InputError, code="infinite_values", columns=["gene3"], total=1):
        estimator(alpha=0.1, missing="em").fit(frame)


@BOTH
def test_constant_columns_are_named(estimator, frame):
    frame["dose"] = 3.0
    with raises(InputError, code="constant_columns", columns=["dose"]):
        estimator(alpha=0.1).fit(frame)


def test_columns_that_vary_by_rounding_only_are_constant(frame):
    frame["dose"] = 1e8 + 1e-8 * (np.arange(60) % 2)
    frame.loc[0, "dose"] += np.spacing(1e8)
    with raises(InputError, code="columns_constant_to_rounding", columns=["dose"]):
        GaussianGraph(alpha=0.1).fit(frame)


@BOTH
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_text_columns_are_named(estimator, kind, frame):
    table = kind({"age": frame["age"].tolist(), "city": ["Ulm", "Bonn"] * 30})
    with raises(InputError, code="text_columns_in_table", columns=["city"]):
        estimator(alpha=0.1).fit(table)
    with raises(InputError, code="text_columns_in_table", columns=["x1"]):
        estimator(alpha=0.1).fit([[1.0, "a"], [2.0, "b"], [3.0, "c"]])


@BOTH
def test_repeated_column_names_are_refused(estimator, frame):
    frame.columns = ["age", "age", "dose", "gene"]
    with raises(InputError, code="repeated_names_in_table", twice=["age"]):
        estimator(alpha=0.1).fit(frame)


@BOTH
def test_one_row_is_refused(estimator, frame):
    with raises(InputError, code="too_few_rows_in_table", n_samples=1):
        estimator(alpha=0.1).fit(frame.iloc[:1])


@BOTH
def test_a_covariance_given_as_rows_is_refused(estimator, frame):
    with raises(InputError, code="covariance_given_as_rows", size=4):
        estimator(alpha=0.1).fit(frame.cov())


@BOTH
def test_identical_columns_are_named_and_can_be_repaired(estimator, frame):
    frame["gene7"] = frame["gene3"]
    with raises(InputError, code="identical_columns_in_table", unpenalised=False):
        estimator(alpha=0.1).fit(frame)
    repaired = estimator(alpha=0.1, repair="ridge").fit(frame)
    assert_guarantees(repaired)
    assert repaired.treatment_
    assert repaired.graph_.adjacency[2, 3]


def test_proportional_columns_are_fine_with_a_penalty(frame):
    frame["gene7"] = 2 * frame["gene3"]
    model = GaussianGraph(alpha=0.1).fit(frame)
    assert_guarantees(model)
    assert model.graph_.adjacency[2, 3]


@pytest.mark.parametrize("parameters", [{"alpha": 0.0}, {"alpha": 0.1, "weights": "free pair"}])
def test_identical_columns_without_a_penalty_are_named(frame, parameters):
    frame["gene7"] = -2 * frame["gene3"]
    if "weights" in parameters:
        weights = np.ones((4, 4))
        weights[2, 3] = weights[3, 2] = 0.0
        parameters = parameters | {"weights": weights}
    with raises(InputError, code="infinite_weight", names="'gene3' and 'gene7'"):
        GaussianGraph(**parameters).fit(frame)
    repaired = GaussianGraph(repair="ridge", **parameters).fit(frame)
    assert_guarantees(repaired)
    assert repaired.treatment_[0].startswith('repair="ridge"')
    assert repaired.graph_.adjacency[2, 3]


def test_proportional_columns_with_another_pair_free_are_fine(frame):
    frame["gene7"] = 2 * frame["gene3"]
    weights = np.ones((4, 4))
    weights[0, 1] = weights[1, 0] = 0.0
    assert GaussianGraph(alpha=0.1, weights=weights).fit(frame).converged_


def test_neighborhoods_refuse_proportional_columns(frame):
    frame["gene7"] = 2 * frame["gene3"]
    with raises(InputError, code="neighborhood_identical_columns", labels=["gene3", "gene7"]):
        NeighborhoodGraph(alpha=0.1).fit(frame)
    model = NeighborhoodGraph(alpha=0.1, repair="ridge").fit(frame)
    assert model.graph_.adjacency[2, 3]
    assert model.treatment_


def test_no_penalty_needs_full_rank(frame):
    frame["gene7"] = frame["gene3"] + frame["dose"]
    with raises(InputError, code="rank_deficient", rank=3, n_features=4):
        GaussianGraph(alpha=0).fit(frame)
    model = GaussianGraph(alpha=0, repair="ridge").fit(frame)
    assert_guarantees(model)
    assert model.converged_


def test_no_penalty_is_maximum_likelihood(frame):
    model = GaussianGraph(alpha=0, tol=1e-10).fit(frame)
    expected = np.linalg.inv(np.cov(frame.T, bias=True))
    np.testing.assert_allclose(model.precision_, expected, rtol=1e-4)


INDEFINITE = np.array([[1.0, 0.9, -0.5], [0.9, 1.0, 0.7], [-0.5, 0.7, 1.0]])


@BOTH
@pytest.mark.parametrize("repair", ["ridge", "clip"])
def test_indefinite_covariance_is_refused_or_repaired_on_record(estimator, repair):
    smallest = np.linalg.eigvalsh(INDEFINITE)[0]
    with raises(
        InputError, code="not_semidefinite_covariance", own="-0.412774", as_correlations=""
    ):
        estimator(alpha=0.1, covariance="precomputed").fit(INDEFINITE)
    model = estimator(alpha=0.1, covariance="precomputed", repair=repair).fit(INDEFINITE)
    assert_guarantees(model)
    assert f'repair="{repair}"' in model.treatment_[0]
    assert f"{smallest:.3g}" in model.treatment_[0]
    other = {"ridge": "clip", "clip": "ridge"}[repair]
    different = estimator(alpha=0.1, covariance="precomputed", repair=other).fit(INDEFINITE)
    assert not np.allclose(model.graph_.weights, different.graph_.weights)


@BOTH
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": "aic"}, "invalid_value"),
        ({"alpha": -0.1}, "invalid_value"),
        ({"alpha": True}, "invalid_value"),
        ({"alpha": np.inf}, "invalid_value"),
        ({"covariance": "pearson"}, "invalid_value"),
        ({"covariance": None}, "invalid_value"),
        ({"missing": "drop"}, "invalid_value"),
        ({"missing": None}, "invalid_value"),
        ({"repair": "magic"}, "invalid_value"),
        ({"tol": 0.0}, "invalid_value"),
        ({"max_iter": 0}, "invalid_value"),
        ({"alpha": EBIC(n_alphas=1)}, "too_few_alphas"),
        ({"alpha": CV(1)}, "cv_range"),
    ],
)
def test_impossible_parameters_are_named(estimator, parameters, message, frame):
    with raises(InputError, code=message):
        estimator(**parameters).fit(frame)


def test_parameters_of_one_estimator(frame):
    with raises(InputError, code="invalid_value", parameter="rule"):
        NeighborhoodGraph(alpha=0.1, rule="xor").fit(frame)
    with raises(InputError, code="invalid_value", parameter="alpha"):
        NeighborhoodGraph(alpha=0).fit(frame)
    with raises(InputError, code="penalty_weights_shape", n_features=4, shape=[3, 3]):
        GaussianGraph(alpha=0.1, weights=np.ones((3, 3))).fit(frame)


@BOTH
@pytest.mark.parametrize(
    "weights", [np.ones(7), np.r_[-1.0, np.ones(59)], np.full(60, np.nan), np.zeros(60)]
)
def test_bad_sample_weights_are_refused(estimator, weights, frame):
    with pytest.raises(InputError, match="sample_weight"):
        estimator(alpha=0.1).fit(frame, sample_weight=weights)


def test_weights_that_sum_to_one_are_no_row_count(frame):
    with raises(InputError, code="ebic_rows"):
        GaussianGraph().fit(frame, sample_weight=np.full(60, 1 / 60))
