"""Confidence intervals of changes."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from scipy.special import logsumexp

from edgewise import CV, DataWarning, GaussianGraph, InputError, NetworkChange, SolverError
from edgewise.data import make_gaussian_change
from edgewise.inference import change_intervals
from edgewise.inference.intervals import ChangeIntervals, RatioFeatures, one_step, refit_some
from tests.estimators.change.change_rows import signs, standardized, two_groups
from tests.messages import raises


def features(X):
    first, second = np.triu_indices(X.shape[1])
    return (X[:, first] * X[:, second]).T


def ratio_of(before, after):
    first, second = np.triu_indices(before.shape[1])
    return RatioFeatures(first=first, second=second, before=features(before), after=features(after))


def unpenalised(before, after, kept):
    """Minimise the loss over some coefficients with a general solver."""
    F, target = features(before)[kept], features(after)[kept].mean(axis=1)

    def loss(theta):
        return logsumexp(theta @ F) - theta @ target

    return optimize.minimize(loss, np.zeros(len(kept)), method="BFGS", options={"gtol": 1e-9}).x


def test_one_step_with_the_whole_inverse_is_newton_with_a_sandwich():
    X, y = two_groups(300, 200, n_features=3, strength=0.4)
    before, after = X[y == "a"], X[y == "b"]
    theta = np.array([0.0, 0.3, 0.0, -0.1, 0.0, 0.0])
    step = one_step(ratio_of(before, after), theta, 1e-9)
    F, G = features(before), features(after)
    weights = np.exp(theta @ F)
    weights /= weights.sum()
    mean = F @ weights
    inverse = np.linalg.inv((F * weights) @ F.T - np.outer(mean, mean))
    np.testing.assert_allclose(
        step.estimate, theta + inverse @ (G.mean(axis=1) - mean), rtol=1e-4, atol=1e-5
    )
    for k in range(6):
        pulled = inverse[k] @ (F - mean[:, None])
        share = weights * pulled**2 / np.sum(weights * pulled**2)
        first = np.mean((300 * weights * pulled / (1 - share)) ** 2) / 300
        second = np.var(inverse[k] @ G, ddof=1) / 200
        assert step.standard_error[k] == pytest.approx(np.sqrt(first + second), rel=1e-4)
    assert step.alpha_hessian == 1e-9


def test_one_step_with_a_heavy_penalty_looks_at_each_feature_alone():
    X, y = two_groups(300, 200, n_features=3, strength=0.4)
    before, after = X[y == "a"], X[y == "b"]
    step = one_step(ratio_of(before, after), np.zeros(6), 5.0)
    F, G = features(before), features(after)
    np.testing.assert_allclose(
        step.estimate, (G.mean(axis=1) - F.mean(axis=1)) / F.var(axis=1), atol=1e-10
    )


def test_refit_is_the_unpenalised_optimum():
    X, y = two_groups(300, 200, n_features=3, strength=0.6)
    before, after = X[y == "a"], X[y == "b"]
    ratio, kept = ratio_of(before, after), np.array([1, 3])
    theta = refit_some(ratio, kept, np.zeros(6))
    np.testing.assert_allclose(theta[kept], unpenalised(before, after, kept), atol=1e-5)
    assert not theta[[0, 2, 4, 5]].any()
    np.testing.assert_array_equal(refit_some(ratio, kept[:0], np.ones(6)), 0)


def test_estimates_come_near_the_optimum_without_a_penalty():
    X, y = two_groups(2000, 2000, n_features=3, strength=0.4)
    model = NetworkChange(0.1, standardize=False)
    found = change_intervals(model, X, y, alpha_hessian=1e-6)
    everything = unpenalised(X[y == "a"], X[y == "b"], np.arange(6))
    expected = np.zeros((3, 3))
    expected[np.triu_indices(3)] = everything
    upper = np.triu_indices(3, 1)
    np.testing.assert_allclose(found.estimate[upper], expected[upper], atol=0.01)
    penalised = model.fit(X, y).change_
    assert abs(found.estimate[0, 1]) > abs(penalised[0, 1]) + 0.05
    default = change_intervals(model, X, y)
    assert default.alpha_hessian == pytest.approx(2 * np.sqrt(np.log(6) / 2000), rel=0.2)
    assert not np.allclose(default.estimate[upper], found.estimate[upper], atol=1e-4)


def test_signs_and_units_are_those_of_the_model():
    data = make_gaussian_change(4, 6000, n_changed=2, change=0.5, density=0.5, rng=0)
    truth = -(data.second_model.precision - data.first_model.precision)
    assert np.count_nonzero(np.triu(truth, 1)) == 2
    raw = change_intervals(NetworkChange(0.05, standardize=False), data.X, data.y)
    upper = np.triu_indices(4, 1)
    np.testing.assert_allclose(raw.estimate[upper], truth[upper], atol=0.12)
    scaled = change_intervals(NetworkChange(0.1, standardize="pooled"), data.X, data.y)
    unit = np.outer(scaled.model.scale_, scaled.model.scale_)
    np.testing.assert_allclose((scaled.estimate / unit)[upper], truth[upper], atol=0.12)
    moved = 7.0 * data.X + 3.0
    again = change_intervals(NetworkChange(0.1, standardize="pooled"), moved, data.y)
    np.testing.assert_allclose(again.estimate[upper], scaled.estimate[upper], atol=1e-5)


def test_everything_belongs_together():
    X, y = two_groups(300, 300, n_features=5, strength=0.5)
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    found = change_intervals(NetworkChange(0.2), frame, y, level=0.9)
    assert isinstance(found, ChangeIntervals)
    upper = np.triu_indices(5, 1)
    for name in ("estimate", "standard_error", "lower", "upper", "pvalues", "qvalues"):
        values = getattr(found, name)
        assert values.shape == (5, 5)
        np.testing.assert_array_equal(values, values.T)
        assert np.isnan(values.diagonal()).all()
        assert np.isfinite(values[upper]).all()
    reach = stats.norm.ppf(0.95) * found.standard_error
    np.testing.assert_allclose(found.upper - found.estimate, reach)
    np.testing.assert_allclose(found.estimate - found.lower, reach)
    z = np.abs(found.estimate / found.standard_error)[upper]
    np.testing.assert_allclose(found.pvalues[upper], 2 * stats.norm.sf(z))
    expected = stats.false_discovery_control(found.pvalues[upper])
    np.testing.assert_allclose(found.qvalues[upper], expected)
    wider = change_intervals(NetworkChange(0.2), frame, y, level=0.99)
    assert (wider.upper > found.upper)[upper].all()
    np.testing.assert_array_equal(wider.estimate, found.estimate)

    table = found.table()
    assert list(table)[:4] == ["source", "target", "change", "standard_error"]
    assert list(table)[4:] == ["lower", "upper", "pvalue", "qvalue"]
    assert len(table) == 10
    assert table.iloc[0][["source", "target"]].tolist() == ["v", "w"]
    assert table.pvalue.is_monotonic_increasing
    assert table.change[0] == found.estimate[0, 1]

    graph = found.significant()
    assert graph.names == tuple("vwxyz")
    assert np.argwhere(np.triu(graph.adjacency)).tolist() == [[0, 1]]
    assert graph.weights[0, 1] == found.estimate[0, 1]
    assert graph.confidence[0, 1] == 1 - found.qvalues[0, 1]
    np.testing.assert_array_equal(
        found.significant(0.5, "p").adjacency[upper], found.pvalues[upper] <= 0.5
    )
    with raises(InputError, code="by_q_or_p", by="familywise"):
        found.significant(by="familywise")
    with raises(InputError, code="level_range", level=5):
        found.significant(5)


def test_a_copy_of_the_estimator_is_fitted():
    X, y = two_groups(200, 200)
    model = NetworkChange(0.2, ridge=0.3)
    found = change_intervals(model, X, y)
    assert not hasattr(model, "theta_")
    np.testing.assert_array_equal(found.model.change_, model.fit(X, y).change_)
    searched = change_intervals(NetworkChange(CV(3, n_alphas=5), random_state=0), X, y)
    assert searched.model.selection_ is not None
    # What the penalty did to the start is taken away, so that the choice hardly matters.
    assert searched.estimate[0, 1] == pytest.approx(found.estimate[0, 1], abs=0.02)


def test_some_pairs_alone():
    X, y = two_groups(200, 200, n_features=5, strength=0.4)
    everything = change_intervals(NetworkChange(0.2), X, y)
    some = change_intervals(NetworkChange(0.2), X, y, pairs=[(3, 1), (0, 1), (1, 3)])
    assert np.argwhere(np.triu(np.isfinite(some.estimate))).tolist() == [[0, 1], [1, 3]]
    for u, v in ((0, 1), (1, 3)):
        assert some.estimate[u, v] == everything.estimate[u, v]
        assert some.lower[v, u] == everything.lower[u, v]
    expected = stats.false_discovery_control([some.pvalues[0, 1], some.pvalues[1, 3]])
    np.testing.assert_allclose([some.qvalues[0, 1], some.qvalues[1, 3]], expected)
    assert len(some.table()) == 2
    assert some.significant(0.99).n_edges <= 2


def test_other_bases_of_one_feature():
    X, y = two_groups(400, 400, strength=0.5)
    named = change_intervals(NetworkChange(0.2), X, y)
    given = change_intervals(NetworkChange(0.2, basis=lambda u, v: u * v), X, y)
    np.testing.assert_allclose(given.estimate, named.estimate, atol=1e-6)
    rooted = np.sign(X) * np.abs(X) ** 0.5
    before, after = standardized(rooted, y)
    squares = change_intervals(NetworkChange(0.2, basis="power"), np.vstack([before, after]), y)
    assert squares.pvalues[0, 1] == np.nanmin(squares.pvalues) < 1e-3


def test_signs():
    X, y = signs(400, n_features=3)
    found = change_intervals(NetworkChange(0.1, basis="ising"), X, y)
    # Two signs that agree with probability (1 + t) / 2 have the log odds atanh t.
    agree = np.mean(X[y == 1, 0] * X[y == 1, 1]), np.mean(X[y == 0, 0] * X[y == 0, 1])
    expected = np.arctanh(agree[0]) - np.arctanh(agree[1])
    assert found.estimate[0, 1] == pytest.approx(expected, abs=0.05)
    error = np.sqrt(sum(1 / ((1 - share**2) * 400) for share in agree))
    assert found.standard_error[0, 1] == pytest.approx(error, rel=0.1)
    two = change_intervals(NetworkChange(0.1, basis="ising"), X[:, :2], y)
    assert two.estimate[0, 1] == pytest.approx(expected, abs=0.01)
    X[y == 0, 1] = X[y == 0, 0]
    with raises(InputError, code="no_varying_product"):
        change_intervals(NetworkChange(0.1, basis="ising"), X[:, :2], y)


def test_a_column_that_is_constant_in_the_first_group_has_no_intervals():
    X, y = two_groups(200, 200)
    X[y == "a", 3] = 1.0
    with pytest.warns(DataWarning, match="'x3' is constant"):
        found = change_intervals(NetworkChange(0.2), X, y)
    for values in (found.estimate, found.standard_error, found.pvalues, found.qvalues):
        assert np.isnan(values[3]).all()
        assert np.isfinite(values[np.triu_indices(3, 1)]).all()
    assert len(found.table()) == 3
    assert not found.significant(0.99, "p").adjacency[3].any()


BAD = {
    "estimator": ({"estimator": GaussianGraph()}, "must be a NetworkChange, got a GaussianGraph"),
    "level": ({"level": 95}, "level must lie between 0 and 1"),
    "alpha_hessian": ({"alpha_hessian": 0}, "alpha_hessian must be above 0"),
    "features": ({"estimator": NetworkChange(0.5, basis="polynomial")}, '"polynomial" has 5'),
    "pairs": ({"pairs": [0, 1]}, r"pairs must hold two numbers of columns, from 0 to 3.*\(2,\)"),
    "numbers": ({"pairs": [(0, 4)]}, "from 0 to 3"),
    "names": ({"pairs": [("a", "b")]}, "pairs must hold"),
    "none": ({"pairs": np.empty((0, 2), dtype=int)}, "pairs must hold"),
    "loop": ({"pairs": [(1, 1)]}, "two different columns"),
    "column": ({"X": np.random.default_rng(0).normal(size=(160, 1))}, "X has one column"),
    "columns": (
        {"X": np.random.default_rng(0).normal(size=(160, 101)), "estimator": NetworkChange(5.0)},
        "101 variables have 5151 pairs",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_named(kind):
    X, y = two_groups()
    change, message = BAD[kind]
    arguments = {"estimator": NetworkChange(0.5), "X": X, "y": y, **change}
    with pytest.raises(InputError, match=message):
        change_intervals(**arguments)


def test_groups_that_hardly_overlap_are_named():
    X, y = two_groups(200, 200, strength=1.5)
    with pytest.warns(DataWarning, match=r"of the 200 rows of group 'a'\. Intervals") as caught:
        found = change_intervals(NetworkChange(0.3, standardize="pooled"), X, y)
    assert caught[0].filename == __file__
    assert found.effective_sample_size < 200 / 3
    calm = change_intervals(
        NetworkChange(0.3, standardize="pooled"), *two_groups(200, 200, strength=0.3)
    )
    assert 150 < calm.effective_sample_size <= 200


def test_groups_that_do_not_overlap_are_done_with_the_penalty():
    X, y = two_groups(60, 60, strength=0.0)
    X[y == "b", 1] = 3 * X[y == "b", 0] + 0.001 * X[y == "b", 1]
    X[y == "b", 0] *= 4
    model = NetworkChange(0.5, ridge=1.0, standardize=False)
    with pytest.warns(DataWarning) as caught:
        found = change_intervals(model, X, y)
    messages = " ".join(str(item.message) for item in caught)
    assert "no finite estimate" in messages
    assert "use the penalised fit" in messages
    assert np.isfinite(found.estimate[0, 1])
    ratio = ratio_of(X[y == "a"], X[y == "b"])
    with pytest.raises(SolverError, match="the 10 selected changes have no finite estimate"):
        refit_some(ratio, np.arange(10), np.zeros(10))


def coverage(n_repeats, *, estimator, change):
    """Shares of the intervals of unchanged and of changed pairs that hold the truth."""
    data = make_gaussian_change(10, 2, n_changed=3, change=change, rng=5)
    upper = np.triu_indices(10, 1)
    truth = -(data.second_model.precision - data.first_model.precision)[upper]
    covered = np.empty((n_repeats, len(truth)), dtype=bool)
    for seed in range(n_repeats):
        drawn = data.sample(500, rng=seed)
        found = change_intervals(estimator, drawn.X, drawn.y)
        unit = np.outer(found.model.scale_, found.model.scale_)[upper]
        low, high = found.lower[upper], found.upper[upper]
        covered[seed] = (low <= truth * unit) & (truth * unit <= high)
    return covered[:, truth == 0].mean(), covered[:, truth != 0].mean()


def test_coverage_in_a_few_tables():
    unchanged, changed = coverage(12, estimator=NetworkChange(0.1, standardize=False), change=0.6)
    # Of 12 times 42 intervals and of 12 times 3.
    assert 0.91 <= unchanged <= 0.985
    assert changed >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("change", [0.3, 0.6])
@pytest.mark.parametrize(
    "estimator",
    [NetworkChange(0.1, standardize=False), NetworkChange(0.3, standardize="pooled")],
    ids=["raw", "standardized"],
)
def test_coverage_is_near_nominal(estimator, change):
    unchanged, changed = coverage(200, estimator=estimator, change=change)
    assert 0.93 <= unchanged <= 0.97
    assert 0.90 <= changed <= 0.98
