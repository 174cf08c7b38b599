import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import edgewise
from edgewise import CV, EBIC, BootstrapGraph, GaussianBayesNet, InputError, StARS
from tests.estimators.directed.bayes_net_rows import network_rows, pair_and_others
from tests.messages import raises


@pytest.fixture(scope="module")
def chain():
    """A network learned from a -> b -> c with a known scale, and its rows."""
    rng = np.random.default_rng(0)
    a = rng.normal(3.0, 2.0, 4000)
    b = 1.0 - 0.5 * a + rng.normal(0, 1.0, 4000)
    c = 2.0 * b + rng.normal(0, 0.5, 4000)
    frame = pd.DataFrame({"a": a, "b": b, "c": c})
    # All other arcs are forbidden, so that there is something to compare with.
    weights = np.where(np.eye(3, k=1) > 0, 1.0, np.inf)
    return GaussianBayesNet(alpha=1e-4, weights=weights, random_state=0).fit(frame), frame


def density(model, X):
    """The joint distribution that the equations imply."""
    mix = np.linalg.inv(np.eye(len(model.coef_)) - model.coef_)
    covariance = mix.T @ np.diag(model.noise_variance_) @ mix
    return stats.multivariate_normal(model.intercept_ @ mix, covariance).logpdf(X)


@pytest.mark.parametrize("bias", ["free", "penalized"])
def test_score_is_the_joint_likelihood(bias):
    X, other = network_rows(1), network_rows(2)
    model = GaussianBayesNet(alpha=0.1, bias=bias).fit(X)
    assert model.score(other) == pytest.approx(density(model, other).mean())
    weights = np.random.default_rng(0).uniform(size=len(other))
    expected = np.average(density(model, other), weights=weights)
    assert model.score(other, sample_weight=weights) == pytest.approx(expected)


def test_score_leaves_incomplete_rows_out_on_request():
    X = network_rows(3)
    model = GaussianBayesNet(alpha=0.1, missing="em").fit(X)
    holes = X.copy()
    holes[:5, 0] = np.nan
    assert model.score(holes) == pytest.approx(model.score(X[5:]))
    with raises(InputError, code="no_complete_row"):
        model.score(np.full((2, 8), np.nan))
    with raises(InputError, code="values_not_finite", which="'x0'"):
        GaussianBayesNet(alpha=0.1).fit(X).score(holes)


def test_equations_of_a_chain(chain):
    model, _ = chain
    np.testing.assert_array_equal(model.order_, [0, 1, 2])
    expected = [[0, -0.5, 0], [0, 0, 2.0], [0, 0, 0]]
    np.testing.assert_allclose(model.coef_, expected, atol=0.05)
    np.testing.assert_allclose(model.intercept_, [3.0, 1.0, 0.0], atol=0.15)
    np.testing.assert_allclose(model.noise_variance_, [4.0, 1.0, 0.25], rtol=0.1)


def test_setting_a_column_moves_others_by_sums_over_paths():
    model = GaussianBayesNet(alpha=0.05).fit(network_rows(4))
    graph = nx.DiGraph(model.coef_)
    rise = [model.do({i: 1.0}) - model.do({i: 0.0}) for i in range(len(model.coef_))]
    for i, j in np.ndindex(model.coef_.shape):
        if i == j:
            continue
        paths = nx.all_simple_paths(graph, i, j)
        expected = sum(np.prod([model.coef_[e] for e in nx.utils.pairwise(path)]) for path in paths)
        assert rise[i][j] == pytest.approx(expected, abs=1e-12)


def test_setting_a_column_moves_what_comes_after(chain):
    model, frame = chain
    np.testing.assert_allclose(model.do({}), frame.mean(), atol=1e-8)
    moved = model.do({"b": 5.0})
    assert moved[0] == pytest.approx(frame["a"].mean())
    assert moved[1] == 5.0
    assert moved[2] == pytest.approx(model.intercept_[2] + 5.0 * model.coef_[1, 2])
    both = model.do({0: 1.0, "b": 5.0})
    np.testing.assert_allclose(both, [1.0, 5.0, moved[2]])
    rise = model.do({"a": 2.0}) - model.do({"a": 1.0})
    slopes = model.coef_[0, 1], model.coef_[0, 1] * model.coef_[1, 2]
    np.testing.assert_allclose(rise, [1.0, *slopes], atol=1e-12)


def test_prediction_from_parents(chain):
    model, frame = chain
    rows = frame.assign(c=np.nan).head(10)
    expected = model.intercept_[2] + rows["b"] * model.coef_[1, 2]
    np.testing.assert_allclose(model.predict_node("c", rows), expected)
    np.testing.assert_allclose(model.predict_node(2, rows), expected)
    np.testing.assert_allclose(model.predict_node("a", rows), np.full(10, model.intercept_[0]))
    with raises(InputError, code="predictors_not_finite", name="c", bad=["b"]):
        model.predict_node("c", frame.assign(b=np.nan))


def test_samples_have_the_joint_distribution(chain):
    model, frame = chain
    drawn = model.sample(20000)
    assert list(drawn.columns) == ["a", "b", "c"]
    np.testing.assert_allclose(drawn.mean(), frame.mean(), atol=0.15)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(frame.T), rtol=0.1, atol=0.1)
    pd.testing.assert_frame_equal(model.sample(3), model.sample(3))
    model = GaussianBayesNet(alpha=0.1, random_state=1).fit(network_rows(5))
    rows = model.sample(2)
    assert isinstance(rows, np.ndarray)
    assert rows.shape == (2, 8)
    assert (model.set_params(random_state=2).sample(2) != rows).all()


def test_arrows_that_the_data_cannot_tell(chain):
    model, _ = chain
    # A chain could be turned round.
    expected = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    np.testing.assert_array_equal(model.cpdag_.adjacency, expected)
    assert model.cpdag_.names == ("a", "b", "c")
    # Two parents that are not joined could not.
    X = np.random.default_rng(0).normal(size=(500, 3))
    X[:, 1] += X[:, 0] + X[:, 2]
    weights = np.full((3, 3), np.inf)
    weights[[0, 2], 1] = 1.0
    collider = GaussianBayesNet(alpha=0.05, weights=weights).fit(X)
    np.testing.assert_array_equal(collider.cpdag_.adjacency, weights == 1.0)


def test_ebic_takes_the_arcs_with_the_best_refit():
    X = network_rows(6, 400, 6)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = GaussianBayesNet().fit(X)
    values = []
    for alpha in model.alphas_:
        arcs = GaussianBayesNet(alpha).fit(X).coef_ != 0
        left = 0.0
        for j in range(6):
            parents = np.column_stack([np.ones(len(X)), X[:, arcs[:, j]]])
            residual = X[:, j] - parents @ np.linalg.lstsq(parents, X[:, j])[0]
            left += len(X) * (np.log(2 * np.pi * np.mean(residual**2)) + 1)
        values.append(left + arcs.sum() * (np.log(len(X)) + np.log(6)))
    np.testing.assert_allclose(model.selection_.values, values, rtol=1e-9)
    best = np.flatnonzero(np.isclose(values, np.min(values), rtol=1e-10)).max()
    assert model.alpha_ == model.alphas_[best]
    assert model.selection_.rule == "ebic"
    np.testing.assert_array_equal(model.coef_, GaussianBayesNet(model.alpha_).fit(X).coef_)
    sparse = GaussianBayesNet(alpha=EBIC(gamma=1.0)).fit(X)
    dense = GaussianBayesNet(alpha=EBIC(gamma=0.0)).fit(X)
    assert sparse.graph_.n_edges <= model.graph_.n_edges <= dense.graph_.n_edges
    assert sparse.selection_.values[-1] > dense.selection_.values[-1]


def test_cv_takes_the_largest_held_out_likelihood():
    X = network_rows(7, 60, 6)
    half = np.arange(60) < 30
    folds = [(np.flatnonzero(half), np.flatnonzero(~half))]
    model = GaussianBayesNet(CV(folds, n_alphas=6, alpha_ratio=0.001)).fit(X)
    assert len(model.alphas_) == 6
    assert model.alphas_[-1] == pytest.approx(0.001 * model.alphas_[0])
    held_out = [GaussianBayesNet(alpha).fit(X[half]).score(X[~half]) for alpha in model.alphas_]
    np.testing.assert_allclose(model.selection_.values, held_out, rtol=1e-9)
    assert model.alpha_ == model.alphas_[np.argmax(held_out)]


def test_folds_follow_the_seed_and_not_the_workers():
    X = network_rows(8, 60, 5)
    rule = CV(3, n_alphas=5, alpha_ratio=0.001)
    one = GaussianBayesNet(rule, random_state=0).fit(X)
    with joblib.parallel_config(backend="threading"):
        two = GaussianBayesNet(rule, random_state=0, n_jobs=2).fit(X)
    other = GaussianBayesNet(rule, random_state=1).fit(X)
    np.testing.assert_array_equal(two.selection_.values, one.selection_.values)
    np.testing.assert_array_equal(two.coef_, one.coef_)
    assert (other.selection_.values != one.selection_.values).any()


def test_stability_counts_pairs_whatever_their_direction():
    X = pair_and_others(4, 400)
    model = GaussianBayesNet(StARS(instability=0.1, n_subsamples=6, n_alphas=8), random_state=0)
    model.fit(X)
    assert model.graph_.n_edges == 1
    assert model.graph_.adjacency[1, 3] | model.graph_.adjacency[3, 1]


def test_few_rows_do_not_lure_ebic_into_fitting_everything():
    X = network_rows(9, 12, 30)
    model = GaussianBayesNet().fit(X)
    assert (model.coef_ != 0).sum(axis=0).max() <= 4
    assert np.isinf(model.selection_.values).any()


def test_path_leaves_the_estimator_alone():
    X = pd.DataFrame(network_rows(10), columns=list("abcdefgh"))
    model = GaussianBayesNet(method="bcd")
    path = model.path(X, [0.4, 0.2, 0.1])
    assert not hasattr(model, "coef_")
    for alpha, graph, coef in zip(path.alphas, path.graphs, path.coefs, strict=True):
        alone = GaussianBayesNet(alpha, method="bcd").fit(X)
        np.testing.assert_array_equal(coef, alone.coef_)
        assert graph == alone.graph_
    assert path.converged.all()


@pytest.mark.parametrize("alpha", [0.1, EBIC(n_alphas=5)])
def test_saved_and_loaded(alpha, tmp_path):
    X = pd.DataFrame(network_rows(11), columns=list("abcdefgh"))
    weights = np.ones((8, 8))
    model = GaussianBayesNet(alpha, weights=weights, random_state=3).fit(X)
    model.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    for name in ("coef_", "intercept_", "noise_variance_", "order_", "history_", "weights"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    assert again.graph_ == model.graph_
    assert again.cpdag_ == model.cpdag_
    assert again.score(X) == model.score(X)
    np.testing.assert_array_equal(again.do({"a": 1.0}), model.do({"a": 1.0}))
    pd.testing.assert_frame_equal(again.sample(2), model.sample(2))


def test_bootstrap_tells_arcs_from_their_reverses():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:, 1] += X[:, 0]
    weights = np.ones((3, 3))
    weights[1, 0] = np.inf
    model = BootstrapGraph(
        GaussianBayesNet(alpha=0.2, weights=weights), n_resamples=8, random_state=0
    ).fit(X)
    assert model.graph_.directed
    assert model.edge_frequency_[0, 1] == 1.0
    assert model.edge_frequency_[1, 0] == 0.0


def test_names_are_kept():
    X = pd.DataFrame(network_rows(12), columns=[f"gene{k}" for k in range(8)])
    model = GaussianBayesNet(alpha=0.1).fit(X)
    assert model.graph_.names == tuple(X.columns)
    assert GaussianBayesNet(alpha=0.1).fit(X.to_numpy()).graph_.names[0] == "x0"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "invalid_value"),
        ({"alpha": -0.1}, "invalid_value"),
        ({"alpha": "best"}, "invalid_value"),
        ({"method": "magic"}, "invalid_value"),
        ({"schedule": "slow"}, "invalid_value"),
        ({"bias": "none"}, "invalid_value"),
        ({"init": "zeros"}, "invalid_value"),
        ({"init": np.zeros((2, 2))}, "arc_matrix_shape"),
        ({"init": np.eye(8)}, "init_diagonal_or_nan"),
        ({"init": np.full((8, 8), np.inf)}, "init_diagonal_or_nan"),
        ({"weights": np.ones((2, 2))}, "arc_matrix_shape"),
        ({"weights": np.zeros((8, 8))}, "arc_weights_positive"),
        ({"missing": "guess"}, "invalid_value"),
        ({"repair": "pray"}, "invalid_value"),
        ({"tol": 0}, "invalid_value"),
        ({"max_iter": 0}, "invalid_value"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with raises(InputError, code=message):
        GaussianBayesNet(**{"alpha": 0.1} | parameters).fit(network_rows(13))


def test_bad_columns_are_named():
    X = pd.DataFrame(network_rows(14), columns=list("abcdefgh"))
    model = GaussianBayesNet(alpha=0.1)
    with raises(InputError, code="constant_columns", columns=["c"]):
        model.fit(X.assign(c=1.0))
    with raises(InputError, code="identical_columns_in_table", unpenalised=False):
        model.fit(X.assign(h=X["b"]))
    with raises(InputError, code="text_columns_in_table", columns=["d"]):
        model.fit(X.assign(d="text"))
    with raises(InputError, code="empty_columns", columns=["e"]):
        model.fit(X.assign(e=np.nan))
    with raises(InputError, code="infinite_values", columns=["f"], total=200):
        model.fit(X.assign(f=np.inf))
    with raises(InputError, code="covariance_given_as_rows", size=8):
        model.fit(X.corr().to_numpy())


def test_exact_relations_are_named():
    X = pd.DataFrame(network_rows(15), columns=list("abcdefgh"))
    model = GaussianBayesNet(alpha=0.1)
    with pytest.raises(InputError) as error:
        model.fit(X.assign(g=X["b"] - 2 * X["e"] + 3))
    assert all(f"'{name}'" in str(error.value) for name in "beg")
    assert not any(f"'{name}'" in str(error.value) for name in "acdfh")
    assert 'repair="ridge"' in str(error.value)
    with raises(InputError, code="collinear_columns", labels=["b", "g"]):
        model.fit(X.assign(g=-3 * X["b"]))
    # With few rows every column follows from others, and only pairs are looked at.
    few = pd.DataFrame(network_rows(16, 6, 8), columns=list("abcdefgh"))
    assert model.fit(few).converged_
    with raises(InputError, code="collinear_columns", labels=["b", "g"]):
        model.fit(few.assign(g=-3 * few["b"]))
    with pytest.raises(InputError, match="x1"):
        model.fit(np.column_stack([X, 2 * X["b"] + 1]))


def test_least_squares_needs_rows():
    model = GaussianBayesNet(alpha=0.3, init="least-squares")
    X = network_rows(17, 8, 8)
    # The same row twice is no more than once.
    for rows, weights in ((X, None), (np.repeat(X, 2, axis=0), None), (X, np.full(8, 2.0))):
        with raises(InputError, code="least_squares_start"):
            model.fit(rows, sample_weight=weights)


def test_unknown_columns_and_values_are_named(chain):
    model, _ = chain
    with raises(InputError, code="unknown_columns_listed", names=["a", "b", "c"], n_names=2):
        model.do({"z": 1.0})
    with raises(InputError, code="unknown_columns_listed", names=["a", "b", "c"], n_names=2):
        model.do({3: 1.0})
    with raises(InputError, code="set_to_not_finite", bad=["b"]):
        model.do({"b": np.nan})
    with raises(InputError, code="n_samples_at_least_one", n_samples=0):
        model.sample(0)
