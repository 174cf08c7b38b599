import time

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

import edgewise
from edgewise import BlanketBayesNet, BootstrapGraph, GaussianBayesNet, InputError
from edgewise.data import load_network
from edgewise.metrics import cpdag
from edgewise.solvers.directed.separation import separating_sets
from tests.estimators.directed.bayes_net_rows import network_rows, pair_and_others
from tests.messages import raises
from tests.solvers.directed.blanket_problems import EXACT, moral_graph, random_weights, shuffled

METHODS = [
    "iamb", "inter-iamb", "fast-iamb", "iamb-npc", "inter-iamb-npc", "gs", "tc", "tc-bw", "l1mb",
]  # fmt: skip
VARIANTS = [
    *({"method": method} for method in METHODS),
    {"method": "l1mb", "search": "greedy"},
    {"method": "iamb", "search": "greedy"},
]
NETWORKS = [
    "factors", "alarm", "barley", "carpo", "chain", "hailfinder", "insurance", "mildew", "water",
]  # fmt: skip


def exact_rows(weights, seed):
    """Rows whose covariance is that of x = x weights + noise, without sampling error."""
    m = len(weights)
    noise = np.random.default_rng(seed).normal(size=(m + 20, m))
    noise = np.linalg.qr(noise - noise.mean(axis=0))[0] * np.sqrt(m + 20)
    return noise @ np.linalg.inv(np.eye(m) - weights)


def simulated_rows(weights, n_rows, seed):
    noise = np.random.default_rng(seed).normal(size=(n_rows, len(weights)))
    return noise @ np.linalg.inv(np.eye(len(weights)) - weights)


def is_acyclic(arcs):
    return nx.is_directed_acyclic_graph(nx.DiGraph(arcs))


@pytest.mark.parametrize("name", NETWORKS)
def test_exact_correlations_give_the_network(name):
    arcs = shuffled(load_network(name).adjacency, 1)
    X = exact_rows(random_weights(arcs, 2), 3)
    as_many = np.full(len(X), EXACT / len(X))
    truth = cpdag(arcs)
    for method in METHODS:
        model = BlanketBayesNet(method).fit(X, sample_weight=as_many)
        np.testing.assert_array_equal(model.cpdag_.adjacency, truth, err_msg=method)
        np.testing.assert_array_equal(cpdag(model.graph_.adjacency), truth)
        assert model.is_consistent_
        if method != "l1mb":
            # Blankets along lasso paths may be too large; none is too small.
            np.testing.assert_array_equal(model.blankets_, moral_graph(arcs))


def test_errors_on_alarm():
    arcs = load_network("alarm").adjacency
    errors = {"iamb": [], "tc": [], "order": []}
    for seed in range(10):
        truth = shuffled(arcs, seed)
        X = simulated_rows(random_weights(truth, seed), 1000, seed)
        for method in ("iamb", "tc"):
            found = BlanketBayesNet(method).fit(X).graph_.adjacency
            errors[method].append(np.count_nonzero(found != truth))
        order = GaussianBayesNet(0.25, schedule="literal").fit(X).graph_.adjacency
        errors["order"].append(np.count_nonzero(order != truth))
    assert np.mean(errors["iamb"]) < 15
    assert np.mean(errors["tc"]) < 15
    assert np.mean(errors["order"]) > 2 * np.mean(errors["iamb"])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_rows", [40, 300])
def test_what_is_learned_agrees_with_itself(variant, n_rows):
    X = network_rows(1, n_rows, 15)
    model = BlanketBayesNet(**variant).fit(X)
    dag = model.graph_.adjacency
    assert dag.any()
    assert is_acyclic(dag)
    np.testing.assert_array_equal(model.coef_ != 0, dag)
    np.testing.assert_array_equal(model.cpdag_.adjacency, cpdag(dag))
    np.testing.assert_array_equal(model.cpdag_.adjacency | model.cpdag_.adjacency.T, dag | dag.T)
    np.testing.assert_array_equal(model.blankets_, model.blankets_.T)
    assert not (dag & ~model.blankets_).any()
    tails, heads = np.nonzero(dag)
    assert (model.order_[tails] < model.order_[heads]).all()
    assert model.converged_
    assert model.n_iter_ >= 1


def test_tests_that_contradict_each_other_are_told():
    """Every common child that was found is one in the graph, or the contradiction is told."""
    n_contradictions = 0
    for seed in range(20):
        X = network_rows(seed, 60, 15, 3.0)
        model = BlanketBayesNet(significance=0.05).fit(X)
        R = np.corrcoef(X.T)
        found = separating_sets(R, len(X), model.blankets_, significance=0.05)
        dag = model.graph_.adjacency
        are_kept = [dag[x, z] and dag[y, z] for x, z, y in found.colliders]
        assert all(are_kept) or not model.is_consistent_
        n_contradictions += not all(are_kept)
    assert n_contradictions > 2


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_order_of_columns_and_rows_does_not_matter(variant):
    for X in (network_rows(2, 100, 20, 2.5), pair_and_others(0)):
        model = BlanketBayesNet(**variant).fit(X)
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(X.shape[1])
            moved = BlanketBayesNet(**variant).fit(X[:, order])
            index = np.ix_(order, order)
            np.testing.assert_array_equal(moved.cpdag_.adjacency, model.cpdag_.adjacency[index])
            np.testing.assert_array_equal(moved.blankets_, model.blankets_[index])
            np.testing.assert_array_equal(moved.order_, model.order_[order])
            np.testing.assert_allclose(moved.coef_, model.coef_[index], rtol=0, atol=1e-9)
            np.testing.assert_allclose(moved.intercept_, model.intercept_[order], atol=1e-9)
        turned = BlanketBayesNet(**variant).fit(X[::-1])
        np.testing.assert_array_equal(turned.cpdag_.adjacency, model.cpdag_.adjacency)
        np.testing.assert_allclose(turned.coef_, model.coef_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_units_do_not_matter(variant):
    X = network_rows(3, 200, 10)
    scale = np.geomspace(0.01, 100, 10)
    model = BlanketBayesNet(**variant).fit(X)
    other = BlanketBayesNet(**variant).fit(X * scale - 3.0)
    np.testing.assert_array_equal(other.cpdag_.adjacency, model.cpdag_.adjacency)
    np.testing.assert_allclose(other.coef_, model.coef_ * scale / scale[:, None], atol=1e-8)
    np.testing.assert_allclose(other.graph_.weights, model.graph_.weights, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("seed", "n_rows"), [(2, 80), (3, 100), (14, 80)])
def test_signs_do_not_matter(variant, seed, n_rows):
    X = network_rows(seed, n_rows, 7)
    model = BlanketBayesNet(**variant).fit(X)
    # A change of sign is exact, in the columns and in everything that is made of them.
    for sign in 1.0 - 2.0 * np.eye(7):
        turned = BlanketBayesNet(**variant).fit(X * sign)
        np.testing.assert_array_equal(turned.cpdag_.adjacency, model.cpdag_.adjacency)
        np.testing.assert_array_equal(turned.coef_, model.coef_ * np.outer(sign, sign))


def test_equations_are_least_squares():
    X = network_rows(4, 150, 8)
    model = BlanketBayesNet().fit(X)
    for j in range(8):
        parents = np.flatnonzero(model.graph_.adjacency[:, j])
        design = np.column_stack([np.ones(len(X)), X[:, parents]])
        expected = np.linalg.lstsq(design, X[:, j])[0]
        assert model.intercept_[j] == pytest.approx(expected[0])
        np.testing.assert_allclose(model.coef_[parents, j], expected[1:], atol=1e-9)
        left = np.mean((X[:, j] - design @ expected) ** 2)
        assert model.noise_variance_[j] == pytest.approx(left)
    scale = X.std(axis=0)
    expected = model.coef_ / scale * scale[:, None]
    np.testing.assert_allclose(model.graph_.weights, expected, atol=1e-10)
    np.testing.assert_allclose(model.location_, X.mean(axis=0))


def test_methods_differ():
    found = {}
    for number, variant in enumerate(VARIANTS):
        models = [BlanketBayesNet(**variant).fit(network_rows(k, 60, 15, 3.0)) for k in range(8)]
        found[number] = b"".join(
            m.blankets_.tobytes() + m.cpdag_.adjacency.tobytes() for m in models
        )
    assert len(set(found.values())) == len(VARIANTS)


def test_significance():
    X = network_rows(5, 80, 15)
    strict = BlanketBayesNet(significance=1e-8).fit(X)
    loose = BlanketBayesNet(significance=0.2).fit(X)
    assert 0 < strict.blankets_.sum() < loose.blankets_.sum()
    assert strict.graph_.n_edges < loose.graph_.n_edges


def test_largest_separating_set():
    X = network_rows(6, 300, 15, 3.0)
    models = [BlanketBayesNet(max_condition=size).fit(X) for size in (0, 1, None)]
    edges = [model.graph_.n_edges for model in models]
    assert edges[0] > edges[1] > edges[2]
    assert models[0].n_tests_ < models[1].n_tests_ < models[2].n_tests_
    np.testing.assert_array_equal(models[0].blankets_, models[2].blankets_)


def test_gamma_leaves_more_out():
    X = network_rows(7, 60, 20)
    for search in ("tests", "greedy"):
        sizes = [
            BlanketBayesNet("l1mb", search=search, gamma=gamma).fit(X).blankets_.sum()
            for gamma in (0.0, 1.0)
        ]
        assert sizes[0] > sizes[1]
    arcs = [
        BlanketBayesNet("tc", search="greedy", gamma=gamma, significance=0.5).fit(X).graph_.n_edges
        for gamma in (0.0, 1.0)
    ]
    assert arcs[0] > arcs[1]


def test_greedy_search_says_how_it_went():
    model = BlanketBayesNet("l1mb", search="greedy").fit(network_rows(8, 200, 12))
    assert model.n_tests_ == 0
    assert model.n_iter_ >= model.graph_.n_edges
    assert model.is_consistent_


def test_weights_of_rows_count_like_rows():
    X = network_rows(9, 60)
    counts = np.random.default_rng(0).integers(0, 4, 60)
    weighted = BlanketBayesNet().fit(X, sample_weight=counts)
    repeated = BlanketBayesNet().fit(np.repeat(X, counts, axis=0))
    np.testing.assert_array_equal(weighted.cpdag_.adjacency, repeated.cpdag_.adjacency)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    assert weighted.score(X, sample_weight=counts) == pytest.approx(
        repeated.score(np.repeat(X, counts, axis=0))
    )


def test_missing_values_are_treated_on_request():
    X = network_rows(10, 400)
    whole = BlanketBayesNet().fit(X)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    for missing in ("pairwise", "em"):
        model = BlanketBayesNet(missing=missing).fit(X)
        assert f'missing="{missing}"' in model.treatment_[0]
        assert np.isfinite(model.score(X))
        # Fewer rows, so that no more is significant.
        assert model.blankets_.sum() <= whole.blankets_.sum()
    with pytest.raises(InputError, match="values are missing"):
        BlanketBayesNet().fit(X)


def test_tests_count_the_rows_that_two_columns_share():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    X[:, 1] += 0.1 * X[:, 0]
    assert BlanketBayesNet().fit(X).graph_.n_edges == 1
    X[:500, 2] = np.nan
    X[500:980, 0] = np.nan
    assert BlanketBayesNet(missing="em").fit(X).graph_.n_edges == 0


def test_repair_lets_exact_relations_pass():
    X = network_rows(11)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    for method in METHODS:
        model = BlanketBayesNet(method, repair="ridge").fit(X)
        assert "repair" in model.treatment_[0]
        assert is_acyclic(model.graph_.adjacency)


def test_names_and_types_of_what_is_learned():
    frame = pd.DataFrame(network_rows(12, 200, 4), columns=list("abcd"))
    model = BlanketBayesNet().fit(frame)
    assert model.graph_.names == ("a", "b", "c", "d")
    assert model.graph_.directed
    assert model.cpdag_.adjacency.dtype == model.blankets_.dtype == bool
    assert model.cpdag_.adjacency.shape == model.coef_.shape == (4, 4)
    assert model.treatment_ == []


def test_score_is_the_joint_likelihood():
    X, other = network_rows(13), network_rows(14)
    model = BlanketBayesNet().fit(X)
    mix = np.linalg.inv(np.eye(8) - model.coef_)
    joint = stats.multivariate_normal(
        model.intercept_ @ mix, mix.T @ np.diag(model.noise_variance_) @ mix
    )
    assert model.score(other) == pytest.approx(joint.logpdf(other).mean())
    holes = other.copy()
    holes[0, 2] = np.nan
    with raises(InputError, code="values_not_finite", which="'x2'"):
        model.score(holes)


def test_the_network_can_be_used():
    X = network_rows(15, 500, 6)
    model = BlanketBayesNet(random_state=0).fit(X)
    np.testing.assert_allclose(model.do({}), X.mean(axis=0), atol=1e-8)
    assert model.sample(5).shape == (5, 6)
    child = int(np.flatnonzero(model.coef_.any(axis=0))[0])
    predicted = model.predict_node(child, X)
    assert np.var(X[:, child] - predicted) == pytest.approx(model.noise_variance_[child])
    rise = model.do({0: 1.0}) - model.do({0: 0.0})
    paths = np.linalg.inv(np.eye(len(model.coef_)) - model.coef_)
    np.testing.assert_allclose(rise, paths[0], atol=1e-12)


def test_bootstrap_of_arcs():
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[:, 2] += X[:, 0] + X[:, 1]
    boot = BootstrapGraph(BlanketBayesNet(), n_resamples=20, random_state=0).fit(X)
    assert boot.edge_frequency_[0, 2] > 0.9
    assert boot.edge_frequency_[2, 0] < 0.1
    assert boot.edge_frequency_[0, 1] < 0.3


def test_saved_and_loaded(tmp_path):
    frame = pd.DataFrame(network_rows(16, 200, 4), columns=list("abcd"))
    known = {"forbidden": [("a", "b")], "required": [("c", "d")], "tiers": {"c": 0, "d": 1}}
    model = BlanketBayesNet("gs", 0.05, **known, max_condition=2).fit(frame)
    model.save(tmp_path / "model.edgewise")
    loaded = edgewise.load(tmp_path / "model.edgewise")
    np.testing.assert_array_equal(loaded.cpdag_.adjacency, model.cpdag_.adjacency)
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.graph_ == model.graph_
    again = clone(loaded).fit(frame)
    np.testing.assert_array_equal(again.cpdag_.adjacency, model.cpdag_.adjacency)


def test_one_column():
    X = np.arange(6.0)[:, None]
    for variant in VARIANTS:
        model = BlanketBayesNet(**variant).fit(X)
        assert model.coef_ == [[0.0]]
        assert not model.cpdag_.adjacency.any()
        assert model.order_ == [0]
        assert model.intercept_ == pytest.approx([2.5])


@pytest.mark.parametrize("method", [m for m in METHODS if not m.startswith("tc")])
def test_fewer_rows_than_columns(method):
    X = network_rows(17, 15, 30)
    model = BlanketBayesNet(method).fit(X)
    assert is_acyclic(model.graph_.adjacency)
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("method", ["tc", "tc-bw"])
def test_too_few_rows_to_condition_on_everything(method):
    frame = pd.DataFrame(network_rows(18, 11, 8))
    with raises(InputError, code="too_few_rows_for_method", m=11, m2=8):
        BlanketBayesNet(method).fit(frame.to_numpy())
    BlanketBayesNet(method).fit(network_rows(18, 12, 8))


def test_many_columns():
    X = network_rows(19, 1000, 500)
    BlanketBayesNet("tc").fit(X[:, :10])
    start = time.process_time()
    model = BlanketBayesNet("tc").fit(X)
    seconds = time.process_time() - start
    assert is_acyclic(model.graph_.adjacency)
    assert model.graph_.n_edges > 500
    # One second on a quiet machine.
    assert seconds < 3


@pytest.mark.parametrize("method", METHODS)
def test_collinear_columns_are_named(method):
    frame = pd.DataFrame(network_rows(20, 100, 4), columns=list("abcd"))
    frame["sum"] = frame["b"] - 2 * frame["d"]
    with raises(InputError, code="collinear_columns", labels=["d", "b", "sum"]):
        BlanketBayesNet(method).fit(frame)
    with pytest.raises(InputError, match="'a' and 'copy' are identical"):
        BlanketBayesNet(method).fit(frame[["a", "b"]].assign(copy=frame["a"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.assign(flat=1.0), "constant_columns"),
        (lambda frame: frame.assign(name="text"), "text_columns_in_table"),
        (lambda frame: frame.assign(a=np.nan), "empty_columns"),
        (lambda frame: frame.assign(b=np.inf), "infinite_values"),
        (lambda frame: frame.head(3), "tests_need_rows"),
        (lambda frame: frame.head(1), "too_few_rows_in_table"),
        (lambda frame: frame.cov().to_numpy(), "covariance_given_as_rows"),
    ],
)
def test_bad_tables_are_refused(change, message):
    frame = pd.DataFrame(network_rows(21, 50, 3), columns=list("abc"))
    with raises(InputError, code=message):
        BlanketBayesNet().fit(change(frame))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "pc"}, "invalid_value"),
        ({"search": "tabu"}, "invalid_value"),
        ({"significance": 0}, "significance_range"),
        ({"significance": 5}, "significance_range"),
        ({"max_condition": -2}, "max_condition_range"),
        ({"gamma": 1.5}, "invalid_value"),
        ({"missing": "drop"}, "invalid_value"),
        ({"repair": "drop"}, "invalid_value"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with raises(InputError, code=message):
        BlanketBayesNet(**options).fit(network_rows(22))
