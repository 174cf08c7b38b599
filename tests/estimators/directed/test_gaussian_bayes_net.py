import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from edgewise import EBIC, GaussianBayesNet, InputError
from edgewise.solvers.directed.best_order import best_order_bayes_net
from edgewise.solvers.directed.blankets import lasso_blankets
from edgewise.solvers.directed.order import bcd_bayes_net, order_bayes_net
from tests.estimators.directed.bayes_net_rows import network_rows, pair_and_others

VARIANTS = [
    {},
    {"schedule": "literal"},
    {"method": "bcd"},
    {"method": "bcd", "schedule": "literal"},
    {"init": "least-squares", "schedule": "literal"},
    {"init": "l1mb", "schedule": "literal"},
    {"bias": "penalized"},
    {"standardize": False},
    {"method": "exact"},
    {"weights": "adaptive"},
]


def correlations(X):
    return np.corrcoef(X.T)


def standardized(coef, X):
    """Coefficients for columns of unit variance."""
    scale = X.std(axis=0)
    return coef * scale[:, None] / scale


def optimality_violation(model, X, alpha):
    """Largest miss of the conditions of the lassos on lower tiers, from the rows themselves."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    coef = standardized(model.coef_, X)
    pull = Z.T @ (Z - Z @ coef) / len(X)
    active = coef != 0
    lower = np.less.outer(model.order_, model.order_)
    on = pull[active] - alpha * np.sign(coef[active])
    inside = np.abs(pull[lower & ~active]) - alpha
    return max(np.abs(on).max(initial=0), inside.max(initial=0))


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([6, 30, 300]),
    st.integers(1, 12),
    st.floats(0.02, 0.7),
    st.sampled_from(VARIANTS[:4] + VARIANTS[6:9]),
)
def test_never_a_cycle(seed, n_rows, n_columns, alpha, variant):
    X = network_rows(seed, n_rows, n_columns)
    model = GaussianBayesNet(alpha=alpha, **variant).fit(X)
    assert nx.is_directed_acyclic_graph(nx.DiGraph(model.coef_ != 0))
    tails, heads = np.nonzero(model.coef_)
    assert (model.order_[tails] < model.order_[heads]).all()
    assert model.order_.min() == 0
    assert (model.noise_variance_ > 0).all()


@pytest.mark.parametrize("schedule", ["homotopy", "literal"])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(300, 10), (15, 25)])
def test_alpha_is_the_partial_covariance_below_which_an_arc_dies(schedule, n_rows, n_columns):
    X = network_rows(1, n_rows, n_columns)
    model = GaussianBayesNet(alpha=0.15, schedule=schedule).fit(X)
    assert np.count_nonzero(model.coef_) > 5
    assert optimality_violation(model, X, 0.15) < 1e-9


def test_alpha_means_the_same_for_any_number_of_rows():
    X = network_rows(2)
    once = GaussianBayesNet(alpha=0.1).fit(X)
    often = GaussianBayesNet(alpha=0.1).fit(np.tile(X, (7, 1)))
    np.testing.assert_allclose(often.coef_, once.coef_, atol=1e-10)
    np.testing.assert_array_equal(often.order_, once.order_)


def test_empty_from_the_largest_correlation_on_and_not_below():
    X = network_rows(3)
    R = correlations(X)
    largest = np.abs(R - np.diag(R.diagonal())).max()
    assert GaussianBayesNet(alpha=1.0001 * largest).fit(X).graph_.n_edges == 0
    assert GaussianBayesNet(alpha=0.999 * largest).fit(X).graph_.n_edges > 0
    shifted = GaussianBayesNet(alpha=EBIC(n_alphas=5), bias="penalized").fit(X)
    assert GaussianBayesNet(shifted.alphas_[0], bias="penalized").fit(X).graph_.n_edges == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_order_of_the_columns_does_not_matter(variant):
    for X in (network_rows(4, 300, 12), pair_and_others(0)):
        model = GaussianBayesNet(alpha=0.12, **variant).fit(X)
        assert model.coef_.any()
        for seed in range(4):
            order = np.random.default_rng(seed).permutation(X.shape[1])
            moved = GaussianBayesNet(alpha=0.12, **variant).fit(X[:, order])
            np.testing.assert_array_equal(moved.order_, model.order_[order])
            np.testing.assert_allclose(
                moved.coef_, model.coef_[np.ix_(order, order)], rtol=0, atol=1e-9
            )
            np.testing.assert_allclose(moved.intercept_, model.intercept_[order], atol=1e-9)
            np.testing.assert_allclose(moved.noise_variance_, model.noise_variance_[order])


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_order_of_the_rows_does_not_matter(variant):
    for X in (network_rows(5, 300, 12), pair_and_others(1)):
        model = GaussianBayesNet(alpha=0.12, **variant).fit(X)
        moved = GaussianBayesNet(alpha=0.12, **variant).fit(X[::-1].copy())
        np.testing.assert_array_equal(moved.order_, model.order_)
        np.testing.assert_allclose(moved.coef_, model.coef_, rtol=0, atol=1e-10)


@pytest.mark.parametrize("variant", VARIANTS[:6])
def test_units_do_not_matter(variant):
    for X in (network_rows(6, 300, 10), pair_and_others(2)):
        scale = np.geomspace(0.01, 100, X.shape[1])
        model = GaussianBayesNet(alpha=0.12, **variant).fit(X)
        other = GaussianBayesNet(alpha=0.12, **variant).fit(X * scale - 3.0)
        np.testing.assert_array_equal(other.order_, model.order_)
        expected = model.coef_ * scale / scale[:, None]
        np.testing.assert_allclose(other.coef_, expected, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(other.graph_.weights, model.graph_.weights, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", [0, 7])
def test_signs_do_not_matter(variant, seed):
    X = network_rows(seed, 100, 7)
    model = GaussianBayesNet(alpha=0.2, **variant).fit(X)
    for sign in 1.0 - 2.0 * np.eye(7):
        turned = GaussianBayesNet(alpha=0.2, **variant).fit(X * sign)
        np.testing.assert_array_equal(turned.order_, model.order_)
        np.testing.assert_array_equal(turned.coef_, model.coef_ * np.outer(sign, sign))


def test_a_pair_alone_keeps_its_arc():
    X = pair_and_others(3)
    for variant in VARIANTS[:3]:
        model = GaussianBayesNet(alpha=0.2, **variant).fit(X)
        assert model.graph_.n_edges == 1
        assert model.coef_[1, 3] + model.coef_[3, 1] > 0
        # Its direction is arbitrary, but goes with the columns and not with their places.
        mirrored = GaussianBayesNet(alpha=0.2, **variant).fit(X[:, ::-1])
        np.testing.assert_array_equal(mirrored.coef_, model.coef_[::-1, ::-1])


@pytest.mark.parametrize("schedule", ["homotopy", "literal"])
def test_methods_and_schedules_are_those_of_the_solvers(schedule):
    X = network_rows(7, 300, 12)
    R = correlations(X)
    model = GaussianBayesNet(alpha=0.1, schedule=schedule).fit(X)
    solution = order_bayes_net(R, 0.1, schedule=schedule)
    np.testing.assert_allclose(standardized(model.coef_, X), solution.value, atol=1e-9)
    np.testing.assert_array_equal(model.order_, solution.tiers)
    assert model.objective_ == pytest.approx(solution.objective)
    assert model.n_iter_ == solution.n_iter == len(model.history_)
    np.testing.assert_allclose(model.history_[:, 0], solution.history)
    np.testing.assert_allclose(model.history_[:, 1], solution.strengths)


def test_bcd_sweeps_over_columns_in_an_order_of_the_data():
    X = network_rows(8, 100, 15)
    model = GaussianBayesNet(alpha=0.1, method="bcd").fit(X)
    objectives = []
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(15)
        objectives.append(bcd_bayes_net(correlations(X[:, order]), 0.1).objective)
    assert np.ptp(objectives) > 1e-6
    assert model.objective_ == pytest.approx(np.mean(objectives), rel=0.05)
    assert model.objective_ != pytest.approx(GaussianBayesNet(alpha=0.1).fit(X).objective_)


def test_starts():
    X = network_rows(9, 300, 12)
    R = correlations(X)
    precision = np.linalg.inv(R)
    least_squares = -precision / precision.diagonal()
    np.fill_diagonal(least_squares, 0)
    starts = {
        "lasso": None,
        "least-squares": least_squares,
        "l1mb": lasso_blankets(R, 300).value,
    }
    found = {}
    for name, start in starts.items():
        model = GaussianBayesNet(alpha=0.1, schedule="literal", init=name).fit(X)
        expected = order_bayes_net(R, 0.1, schedule="literal", init=start)
        np.testing.assert_allclose(standardized(model.coef_, X), expected.value, atol=1e-9)
        found[name] = model.objective_
    assert len(set(found.values())) == 3
    scale = X.std(axis=0)
    given_start = least_squares * scale / scale[:, None]
    model = GaussianBayesNet(alpha=0.1, schedule="literal", init=given_start).fit(X)
    assert model.objective_ == pytest.approx(found["least-squares"])


def test_free_intercepts_leave_no_mean_residual():
    X = network_rows(10) + 5.0
    model = GaussianBayesNet(alpha=0.1).fit(X)
    residual = X - X @ model.coef_ - model.intercept_
    np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(residual.var(axis=0), model.noise_variance_)


def test_penalised_intercepts_are_drawn_to_zero():
    X = network_rows(11) + 0.5
    model = GaussianBayesNet(alpha=0.2, bias="penalized").fit(X)
    residual = X - X @ model.coef_ - model.intercept_
    np.testing.assert_allclose((residual**2).mean(axis=0), model.noise_variance_)
    # The condition of a penalised coefficient, whose variable is constant.
    pull = residual.mean(axis=0) / X.std(axis=0)
    used = model.intercept_ != 0
    assert used.any()
    np.testing.assert_allclose(pull[used], 0.2 * np.sign(model.intercept_[used]), atol=1e-9)
    assert (np.abs(pull[~used]) <= 0.2 + 1e-9).all()


def test_without_standardising_the_covariance_counts():
    X = network_rows(12)
    raw = GaussianBayesNet(alpha=0.3, standardize=False).fit(X)
    expected = order_bayes_net(np.cov(X.T, bias=True), 0.3)
    np.testing.assert_allclose(raw.coef_, expected.value, atol=1e-9)
    assert (raw.order_ != GaussianBayesNet(alpha=0.3).fit(X).order_).any()


def test_forbidden_and_dear_arcs():
    X = network_rows(13)
    model = GaussianBayesNet(alpha=0.1).fit(X)
    tail, head = np.unravel_index(np.argmax(np.abs(model.graph_.weights)), model.coef_.shape)
    weights = np.ones_like(model.coef_)
    weights[tail, head] = np.inf
    other = GaussianBayesNet(alpha=0.1, weights=weights).fit(X)
    assert other.coef_[tail, head] == 0 != model.coef_[tail, head]
    assert other.coef_.any()
    double = GaussianBayesNet(alpha=0.1, weights=np.full_like(weights, 2.0)).fit(X)
    np.testing.assert_allclose(double.coef_, GaussianBayesNet(alpha=0.2).fit(X).coef_, atol=1e-10)


def test_adaptive_weights_are_those_of_least_squares():
    X = network_rows(14) * np.array([1.0, 10.0, 0.1] + [1.0] * (network_rows(14).shape[1] - 3))
    precision = np.linalg.inv(correlations(X))
    size = np.abs(precision / precision.diagonal())
    np.fill_diagonal(size, 1.0)
    given_weights = GaussianBayesNet(alpha=0.05, weights=1 / size).fit(X)
    model = GaussianBayesNet(alpha=0.05, weights="adaptive").fit(X)
    np.testing.assert_allclose(model.coef_, given_weights.coef_, atol=1e-9)
    raw = GaussianBayesNet(alpha=0.05, weights="adaptive", standardize=False)
    assert raw.fit(X / X.std(axis=0)).objective_ == pytest.approx(model.objective_)
    assert (model.coef_ != GaussianBayesNet(alpha=0.05).fit(X).coef_).any()
    with pytest.raises(InputError, match='weights="adaptive" requires more distinct rows'):
        model.fit(X[: X.shape[1]])


def test_exact_is_the_best_of_all_orders():
    X = network_rows(15)
    best = GaussianBayesNet(alpha=0.05, method="exact").fit(X)
    assert best.converged_
    assert best.objective_ == pytest.approx(best_order_bayes_net(correlations(X), 0.05).objective)
    assert best.objective_ < GaussianBayesNet(alpha=0.05).fit(X).objective_
    assert GaussianBayesNet(method="exact").fit(X).selection_ is not None


def test_graph_is_directed_with_standardised_weights():
    X = network_rows(14)
    model = GaussianBayesNet(alpha=0.1).fit(X)
    assert model.graph_.directed
    np.testing.assert_array_equal(model.graph_.adjacency, model.coef_ != 0)
    np.testing.assert_allclose(model.graph_.weights, standardized(model.coef_, X), atol=1e-12)
    raw = GaussianBayesNet(alpha=0.1, standardize=False).fit(X)
    np.testing.assert_allclose(raw.graph_.weights, standardized(raw.coef_, X), atol=1e-12)


def test_history_never_rises_while_the_strength_stays():
    model = GaussianBayesNet(alpha=0.05).fit(network_rows(15, 40, 15))
    objective, strength = model.history_.T
    same = np.diff(strength) == 0
    assert (np.diff(objective)[same] <= 1e-12).all()
    assert objective[-1] == model.objective_
    assert 0 <= model.gap_ < 1e-9


def test_weights_of_rows_count_like_rows():
    X = network_rows(16, 60)
    counts = np.random.default_rng(0).integers(0, 4, 60)
    weighted = GaussianBayesNet(alpha=0.1).fit(X, sample_weight=counts)
    repeated = GaussianBayesNet(alpha=0.1).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-9)
    assert weighted.score(X, sample_weight=counts) == pytest.approx(
        repeated.score(np.repeat(X, counts, axis=0))
    )


def test_missing_values_are_treated_on_request():
    X = network_rows(17, 300)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    found = [GaussianBayesNet(alpha=0.1, missing=how).fit(X) for how in ("pairwise", "em")]
    assert found[0].objective_ != found[1].objective_
    for model in found:
        assert "missing values" in model.treatment_[0]
        assert np.isfinite(model.score(X))


def test_repair_lets_exact_relations_pass():
    X = network_rows(18)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    model = GaussianBayesNet(alpha=0.1, repair="ridge").fit(X)
    assert "repair" in model.treatment_[0]
    assert nx.is_directed_acyclic_graph(nx.DiGraph(model.coef_ != 0))


def test_running_out_of_iterations_is_warned_of():
    X = network_rows(19, 60, 12)
    start = np.random.default_rng(0).normal(size=(12, 12))
    np.fill_diagonal(start, 0)
    model = GaussianBayesNet(alpha=0.05, schedule="literal", init=start, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or alpha"):
        model.fit(X)
    assert not model.converged_
    assert model.set_params(max_iter=100).fit(X).converged_


def test_tolerance_is_obeyed():
    X = network_rows(20, 30, 20)
    rough = GaussianBayesNet(alpha=0.05, tol=1e-2).fit(X)
    fine = GaussianBayesNet(alpha=0.05).fit(X)
    assert optimality_violation(fine, X, 0.05) < 1e-9 < optimality_violation(rough, X, 0.05)


def test_threads_change_nothing():
    X = network_rows(21, 200, 20)
    one = GaussianBayesNet(alpha=0.05).fit(X)
    two = GaussianBayesNet(alpha=0.05, n_jobs=2).fit(X)
    np.testing.assert_array_equal(two.coef_, one.coef_)


def test_fewer_rows_than_columns():
    X = network_rows(22, 12, 30)
    model = GaussianBayesNet(alpha=0.3).fit(X)
    assert model.graph_.n_edges > 0
    assert np.isfinite(model.score(X))
    assert np.isfinite(GaussianBayesNet().fit(X).score(X))


def test_one_column():
    X = np.arange(5.0)[:, None]
    for alpha in (0.1, "ebic", "cv"):
        model = GaussianBayesNet(alpha=alpha, random_state=0).fit(X)
        assert model.coef_ == [[0.0]]
        assert model.order_ == [0]
        assert model.intercept_ == pytest.approx([2.0])
        assert model.noise_variance_ == pytest.approx([2.0])


def test_many_columns():
    X = network_rows(23, 300, 500)
    model = GaussianBayesNet(alpha=0.3).fit(X)
    assert model.converged_
    assert nx.is_directed_acyclic_graph(nx.DiGraph(model.coef_ != 0))
    assert optimality_violation(model, X, 0.3) < 1e-9


def test_clone_keeps_parameters():
    model = GaussianBayesNet(alpha=0.2, method="bcd", weights=np.ones((3, 3)))
    assert clone(model).get_params()["method"] == "bcd"
