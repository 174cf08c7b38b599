import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from edgewise import BIC, BDeu, BlanketBayesNet, DirectedGraph, InputError, load
from edgewise.data import load_dag, make_linear_sem
from edgewise.metrics import cpdag, pdag_errors
from edgewise.solvers import boss_bayes_net, ges_bayes_net
from edgewise.solvers.directed.separation import stable_skeleton
from tests.messages import raises
from tests.solvers.directed.bayes_net_problems import linear_network

METHODS = ("boss", "ges", "exact", "pc", "blankets")


def lawn(n_rows=1000, seed=0):
    rain, sprinkler, wet, slip = np.random.default_rng(seed).normal(size=(4, n_rows))
    wet += rain + sprinkler
    slip += wet
    return pd.DataFrame({"slip": slip, "rain": rain, "sprinkler": sprinkler, "wet": 5.0 * wet})


def arcs(graph):
    return set(zip(graph.edges()["source"], graph.edges()["target"], strict=True))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_network(method):
    model = DirectedGraph(method).fit(lawn())
    true = {("rain", "wet"), ("sprinkler", "wet"), ("wet", "slip")}
    assert arcs(model.cpdag_) == true
    assert arcs(model.graph_) == true
    assert model.order_.tolist() == [2, 0, 0, 1]
    np.testing.assert_allclose(model.coef_[3, 0], 0.2, atol=0.02)
    assert model.converged_
    assert model.is_consistent_
    effects = model.do({"wet": 10.0})
    np.testing.assert_allclose(effects[[0, 3]], [2.0, 10.0], atol=0.2)
    assert list(model.sample(3).columns) == ["slip", "rain", "sprinkler", "wet"]
    assert model.score(lawn(seed=1)) == pytest.approx(
        BlanketBayesNet().fit(lawn()).score(lawn(seed=1))
    )


@pytest.mark.parametrize("score", ["bic", "bge"])
def test_scores_of_methods_can_be_compared(score):
    model = make_linear_sem(load_dag("asia").adjacency, permute=True, rng=0)
    X = model.sample(300, rng=1)
    fits = {method: DirectedGraph(method, criterion=score).fit(X) for method in METHODS}
    best = fits["exact"].criterion_value_
    assert all(fit.criterion_value_ <= best + 1e-6 for fit in fits.values())
    assert fits["boss"].criterion_value_ == pytest.approx(best)
    for fit in fits.values():
        np.testing.assert_array_equal(fit.cpdag_.adjacency, cpdag(fit.graph_).adjacency)


def rows_with(R, n_rows, seed=0):
    """Rows whose correlations are R but for rounding."""
    X = np.random.default_rng(seed).normal(size=(n_rows, len(R)))
    X, _ = np.linalg.qr(X - X.mean(axis=0))
    return np.sqrt(n_rows) * X @ np.linalg.cholesky(R).T


@pytest.mark.parametrize(("seed", "m", "n"), [(27, 10, 300), (72, 8, 100), (5, 12, 200)])
def test_the_better_of_two_searches_counts(seed, m, n):
    # In the first two, that among classes finds a better score than that among orders.
    R, _ = linear_network(seed, m, n, n_parents=2.0 if m < 10 else 2.5)
    alone = [-search(R, n).objective for search in (boss_bayes_net, ges_bayes_net)]
    assert DirectedGraph().fit(rows_with(R, n)).criterion_value_ >= max(alone) - 1e-6


def test_scores_by_hand():
    data = lawn(200)
    model = DirectedGraph(criterion=BIC(1.0)).fit(data)
    rows = ((data - data.mean()) / data.std(ddof=0)).to_numpy()
    total = 0.0
    for j in range(4):
        parents = np.flatnonzero(model.coef_[:, j])
        coef = np.linalg.lstsq(rows[:, parents], rows[:, j], rcond=None)[0]
        variance = np.mean((rows[:, j] - rows[:, parents] @ coef) ** 2)
        total -= 100.0 * np.log(variance) + 0.5 * len(parents) * np.log(200)
    assert model.criterion_value_ == pytest.approx(total)


@pytest.mark.parametrize("name", ["alarm", "water", "mildew"])
def test_fewer_errors_than_by_tests(name):
    model = make_linear_sem(load_dag(name).adjacency, permute=True, rng=1)
    X = model.sample(1000, rng=2)
    errors = [
        pdag_errors(model.adjacency, DirectedGraph(method).fit(X).graph_.adjacency).total
        for method in ("boss", "pc", "blankets")
    ]
    assert errors[0] <= 5
    assert errors[0] < min(errors[1:])


@pytest.mark.parametrize("method", METHODS)
def test_knowledge_by_name(method):
    model = DirectedGraph(
        method,
        tiers={"slip": 0, "wet": 1},
        forbidden=[("rain", "sprinkler")],
        required=[("sprinkler", "rain")],
    ).fit(lawn())
    assert ("slip", "wet") in arcs(model.graph_)
    assert ("sprinkler", "rain") in arcs(model.cpdag_)


@pytest.mark.parametrize("method", METHODS)
def test_columns_in_any_order_and_unit(method):
    model = make_linear_sem(load_dag("asia").adjacency, permute=True, rng=3)
    X = model.sample(400, rng=4)
    rng = np.random.default_rng(5)
    order, unit = rng.permutation(8), rng.uniform(0.1, 10.0, 8)
    one = DirectedGraph(method).fit(X)
    other = DirectedGraph(method).fit((X * unit + 3.0)[:, order])
    moved = np.ix_(order, order)
    np.testing.assert_array_equal(other.cpdag_.adjacency, one.cpdag_.adjacency[moved])
    assert other.criterion_value_ == pytest.approx(one.criterion_value_)
    scaled = (one.coef_ * unit / unit[:, None])[moved]
    np.testing.assert_allclose(other.coef_, scaled, atol=1e-8)


def test_positions_make_no_difference_to_a_dense_network():
    R, _ = linear_network(4, 24, 500, n_parents=3.0)
    X, order = rows_with(R, 500), np.random.default_rng(1).permutation(24)
    one, moved = DirectedGraph().fit(X), DirectedGraph().fit(X[:, order])
    expected = one.cpdag_.adjacency[np.ix_(order, order)]
    np.testing.assert_array_equal(moved.cpdag_.adjacency, expected)
    assert moved.criterion_value_ == pytest.approx(one.criterion_value_)


def test_options_reach_the_search():
    X = lawn(60)
    sizes = [DirectedGraph(criterion=BIC(c)).fit(X).graph_.n_edges for c in (0.01, 100.0)]
    assert sizes[0] > 3
    assert sizes[1] == 0
    for method in ("pc", "blankets"):
        levels = [DirectedGraph(method, significance=s).fit(X) for s in (1e-12, 0.2)]
        assert levels[0].graph_.n_edges < levels[1].graph_.n_edges
    model = make_linear_sem(load_dag("insurance").adjacency, permute=True, rng=0)
    rows = model.sample(40, rng=1)
    # Which starts end where depends on rounding; of six seeds, some end elsewhere.
    fits = [DirectedGraph(random_state=seed).fit(rows) for seed in range(6)]
    assert len({round(one.criterion_value_, 6) for one in fits}) > 1
    again = DirectedGraph(random_state=5, n_jobs=2).fit(rows)
    np.testing.assert_array_equal(again.coef_, fits[5].coef_)


def test_weights_missing_values_and_files(tmp_path):
    data = lawn(300)
    doubled = DirectedGraph().fit(pd.concat([data, data]))
    weighted = DirectedGraph().fit(data, sample_weight=np.full(300, 2.0))
    assert weighted.criterion_value_ == pytest.approx(doubled.criterion_value_)
    np.testing.assert_allclose(weighted.coef_, doubled.coef_)
    gaps = data.mask(np.random.default_rng(0).uniform(size=data.shape) < 0.05)
    with pytest.raises(InputError, match="missing"):
        DirectedGraph().fit(gaps)
    assert arcs(DirectedGraph(missing="em").fit(gaps).graph_) == arcs(doubled.graph_)
    doubled.save(tmp_path / "model.edgewise")
    np.testing.assert_array_equal(load(tmp_path / "model.edgewise").coef_, doubled.coef_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "tabu"}, "invalid_value"),
        ({"criterion": "aic"}, "invalid_value"),
        ({"method": "pc", "significance": 2.0}, "significance_range"),
    ],
)
def test_parameters_are_checked(options, words):
    with raises(InputError, code=words):
        DirectedGraph(**options).fit(lawn(50))


@pytest.mark.parametrize(("score", "parameter"), [(BIC, "penalty_discount"), (BDeu, "ess")])
def test_criteria_are_checked(score, parameter):
    with pytest.raises(InputError) as caught:
        score(0.0)
    assert caught.value.parameter == parameter


def test_criteria_are_kept_in_files(tmp_path):
    DirectedGraph(criterion=BIC(3.0)).fit(lawn(50)).save(tmp_path / "model.edgewise")
    assert load(tmp_path / "model.edgewise").criterion == BIC(3.0)


def test_tables_are_checked():
    with raises(InputError, code="too_many_columns_for_exact", most_exact=20, m=21):
        DirectedGraph("exact").fit(np.random.default_rng(0).normal(size=(50, 21)))
    with raises(InputError, code="too_few_rows_for_directions"):
        DirectedGraph().fit(np.random.default_rng(0).normal(size=(3, 2)))
    X = lawn(50).assign(sum=lambda data: data["rain"] + data["wet"])
    with raises(InputError, code="collinear_columns", labels=["rain", "wet", "sum"]):
        DirectedGraph().fit(X)
    assert DirectedGraph(repair="ridge").fit(X).treatment_


@pytest.mark.parametrize("method", METHODS)
def test_poor_tables(method):
    data, model = lawn(60), DirectedGraph(method)
    with raises(InputError, code="constant_columns", columns=["still"]):
        model.fit(data.assign(still=3.0))
    with raises(InputError, code="collinear_columns", labels=["rain", "twice"]):
        model.fit(data.assign(twice=2.0 * data["rain"]))
    with raises(InputError, code="too_few_rows_in_table", n_samples=1):
        model.fit(data[:1])
    few = np.random.default_rng(0).normal(size=(8, 12))
    for bound, code in (
        (2.0 * few[:, [0]], "collinear_columns"),
        (few[:, [0]] * [1.0, -1.0], "identical_columns_in_table"),
    ):
        with raises(InputError, code=code):
            model.fit(np.hstack([few, bound]))
    fitted = model.fit(few)
    assert np.isfinite(fitted.criterion_value_)
    assert fitted.graph_.adjacency.sum(axis=0).max() < 8


def test_skeletons_do_not_need_small_separators_first():
    # 0 -> 1 -> 3 <- 2 <- 0: 0 and 3 are separated by 1 and 2 together only.
    mix = np.eye(4)
    mix[0, [1, 2]] = mix[[1, 2], 3] = 0.8
    effects = np.linalg.inv(2.0 * np.eye(4) - mix)
    found = stable_skeleton(effects.T @ effects, 1e6)
    np.testing.assert_array_equal(found.value, (mix + mix.T - 2 * np.eye(4)) > 0)
    assert found.colliders.tolist() == [[1, 3, 2]]


def test_score_is_the_mean_log_likelihood_and_is_cross_validated():
    rows = lawn(300)
    model = DirectedGraph().fit(rows)
    system = np.eye(4) - model.coef_
    covariance = np.linalg.inv(system @ np.diag(1 / model.noise_variance_) @ system.T)
    normal = stats.multivariate_normal(model.location_, covariance)
    assert model.score(rows) == pytest.approx(normal.logpdf(rows.to_numpy()).mean())
    by_hand = [
        DirectedGraph().fit(rows.iloc[train]).score(rows.iloc[test])
        for train, test in KFold(3).split(rows)
    ]
    np.testing.assert_allclose(cross_val_score(DirectedGraph(), rows, cv=3), by_hand)
    grid = GridSearchCV(DirectedGraph(), {"method": ["boss", "pc"]}, cv=3).fit(rows)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()


def test_rows_have_log_densities():
    X = make_linear_sem(np.triu(np.ones((4, 4)), 1), rng=0).sample(200, rng=1)
    model = DirectedGraph().fit(X)
    by_row = model.score_samples(X)
    assert model.score(X) == pytest.approx(by_row.mean())
    inner = np.linalg.inv(np.eye(4) - model.coef_)
    normal = stats.multivariate_normal(
        model.intercept_ @ inner, inner.T @ np.diag(model.noise_variance_) @ inner
    )
    np.testing.assert_allclose(by_row, normal.logpdf(X))
    gappy = X.copy()
    gappy[0, 1] = np.nan
    assert np.isnan(DirectedGraph(missing="em").fit(gappy).score_samples(gappy)).tolist()[:2] == [
        True,
        False,
    ]
