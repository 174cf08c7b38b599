"""Missing values filled in by chained equations."""

import numpy as np
import pandas as pd
import pytest

from edgewise import MixedGraph
from edgewise._core.errors import InputError
from edgewise.data import impute
from edgewise.data.imputation import impute_rows, pair_shares
from edgewise.inference import edge_intervals
from tests.messages import raises


def test_what_is_there_stays_and_what_is_filled_in_occurs():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=80), rng.integers(0, 3, 80)])
    gappy = np.where(rng.random((80, 2)) < 0.3, np.nan, values)
    filled = impute_rows(gappy, np.array([False, True]), random_state=1)
    seen = ~np.isnan(gappy)
    np.testing.assert_array_equal(filled[seen], gappy[seen])
    for k in range(2):
        assert np.isin(filled[:, k], gappy[seen[:, k], k]).all()
    np.testing.assert_array_equal(
        filled, impute_rows(gappy, np.array([False, True]), random_state=1)
    )


def test_a_filled_in_slope_is_that_of_all_rows():
    """Gaps at random, two in five: the slope of a regression is found again."""
    slopes = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=300)
        rows = np.column_stack([x, 0.6 * x + 0.8 * rng.normal(size=300), rng.normal(size=300)])
        rows[rng.random(300) < 0.4, 1] = np.nan
        filled = impute_rows(rows, np.zeros(3, bool), random_state=seed)
        slopes.append(np.polyfit(filled[:, 0], filled[:, 1], 1)[0])
    assert np.mean(slopes) == pytest.approx(0.6, abs=0.04)


def test_levels_follow_the_numbers_that_tell_them():
    rng = np.random.default_rng(3)
    x = rng.normal(size=400)
    frame = pd.DataFrame(
        {"x": x, "group": np.where(x > 0.5, "high", np.where(x < -0.5, "low", "mid"))}
    )
    gappy = frame.copy()
    gappy.loc[rng.random(400) < 0.3, "group"] = None
    for filled in impute(gappy, n_fillings=3, random_state=0):
        assert (filled["group"] == frame["group"]).mean() > 0.9
        assert filled["x"].equals(frame["x"])


def test_types_stay_as_they_are():
    frame = pd.DataFrame(
        {
            "a": [1.0, None, 3.0, 4.0] * 10,
            "b": pd.Categorical(["x", "y", None, "y"] * 10),
            "c": pd.array([True, None, False, True] * 10, dtype="boolean"),
            "d": [f"2024-01-{k + 1:02d}" for k in range(20)] * 2,
        }
    )
    (filled,) = impute(frame, n_fillings=1, random_state=0)
    assert not filled.isna().any(axis=None)
    assert filled["b"].dtype == frame["b"].dtype
    assert filled["c"].tolist()[0] is True
    assert filled["d"].equals(frame["d"])


def test_a_column_with_one_value_is_refused():
    with raises(InputError, code="imputation_impossible"):
        impute_rows(np.array([[1.0, 2.0], [np.nan, 3.0]]), np.zeros(2, bool))


def test_a_row_is_worth_its_pairs():
    gaps = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]], dtype=bool)
    np.testing.assert_allclose(pair_shares(gaps), [1, 3 / 6, 1 / 6, 0])


def noise(seed, n_rows=150):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    frame["e"] = rng.choice(["f", "m"], n_rows)
    frame["g"] = rng.choice(["x", "y", "z"], n_rows)
    return frame.mask(rng.random(frame.shape) < 0.3)


@pytest.mark.slow
def test_noise_has_no_edges_and_pooled_tests_keep_their_level():
    n_found, pvalues = 0, []
    for seed in range(40):
        frame = noise(seed)
        n_found += MixedGraph(missing="impute", random_state=0).fit(frame).graph_.n_edges > 0
        tests = edge_intervals(impute(frame, n_fillings=5, random_state=0), graph=np.zeros((6, 6)))
        pvalues.append(tests.pvalues[np.triu_indices(6, 1)])
    assert n_found <= 4
    assert np.mean(np.concatenate(pvalues) < 0.05) <= 0.07


def test_pooled_tests_of_equal_fillings_are_the_test_itself():
    frame = noise(0).dropna()
    one, pooled = (edge_intervals(X, graph=np.zeros((6, 6))) for X in (frame, [frame] * 4))
    np.testing.assert_allclose(pooled.pvalues, one.pvalues, atol=1e-6)
    np.testing.assert_allclose(pooled.estimate, one.estimate)


def test_without_gaps_nothing_is_filled_in():
    frame = noise(1, n_rows=900).dropna()
    plain, filled = (MixedGraph(missing=m).fit(frame) for m in ("error", "impute"))
    np.testing.assert_array_equal(plain.graph_.weights, filled.graph_.weights)
    assert filled.treatment_ == []


def test_normal_scores_do_not_see_units_and_predict_in_them():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(300, 2))
    z[:, 1] += z[:, 0]
    frame = pd.DataFrame({"a": z[:, 0], "b": z[:, 1], "s": rng.choice(["f", "m"], 300)})
    skewed = frame.assign(b=np.exp(frame["b"]))
    one, other = (MixedGraph(covariance="nonparanormal").fit(f) for f in (frame, skewed))
    np.testing.assert_allclose(one.graph_.weights, other.graph_.weights, atol=1e-12)
    predicted = other.predict(skewed)["b"]
    np.testing.assert_allclose(predicted, np.exp(one.predict(frame)["b"]), rtol=0.2)
    assert other.score(skewed) == pytest.approx(one.score(frame))
