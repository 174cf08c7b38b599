import networkx as nx
import numpy as np
import pytest

from edgewise import InputError
from edgewise.data import load_dag, load_network, make_dag, make_linear_sem
from edgewise.data.datasets import DAG_NAMES
from tests.messages import raises

FORK = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])


def test_every_named_network_is_acyclic():
    assert len(DAG_NAMES) == 15
    for name in DAG_NAMES:
        network = load_dag(name)
        arcs = nx.from_numpy_array(network.adjacency, create_using=nx.DiGraph)
        assert nx.is_directed_acyclic_graph(arcs)
        np.testing.assert_array_equal(network.adjacency, load_network(name).adjacency)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("karate", "dataset_undirected"),
        ("alram", "unknown_dataset"),
        ("senate-votes", "dataset_of_other_loader"),
    ],
)
def test_other_names_are_refused(name, words):
    with raises(InputError, code=words):
        load_dag(name)


def test_coefficients_stand_on_the_arcs_within_their_bounds():
    arcs = load_dag("hepar2").adjacency
    model = make_linear_sem(arcs, low=0.7, high=0.9, rng=3)
    np.testing.assert_array_equal(model.adjacency, arcs)
    size = np.abs(model.coef[arcs])
    assert 0.7 <= size.min() < 0.72
    assert 0.88 < size.max() <= 0.9
    assert 0.3 < np.mean(model.coef[arcs] > 0) < 0.7
    default = np.abs(make_linear_sem(arcs, rng=3).coef[arcs])
    assert 0.5 <= default.min() < 0.52
    assert 0.98 < default.max() <= 1.0


def test_covariance_sums_over_all_paths():
    arcs = make_dag(9, degree=4, rng=4)
    model = make_linear_sem(arcs, noise_variance=np.linspace(0.5, 2.0, 9), rng=5)
    effects = sum(np.linalg.matrix_power(model.coef, k) for k in range(9))
    expected = effects.T @ np.diag(np.linspace(0.5, 2.0, 9)) @ effects
    np.testing.assert_allclose(model.covariance, expected, atol=1e-12)


def test_samples_have_the_covariance_of_the_model():
    model = make_linear_sem(make_dag(6, rng=0), noise_variance=2.0, permute=True, rng=1)
    X = model.sample(200_000, rng=2)
    np.testing.assert_allclose(np.cov(X.T), model.covariance, atol=0.15)
    # The noise of each equation is what its parents leave over.
    np.testing.assert_allclose((X - X @ model.coef).var(axis=0), 2.0, rtol=0.02)


def test_columns_say_where_each_node_went():
    arcs = load_dag("alarm").adjacency
    model = make_linear_sem(arcs, noise_variance=np.arange(1.0, 38.0), permute=True, rng=0)
    assert sorted(model.columns.tolist()) == list(range(37))
    assert (model.columns != np.arange(37)).any()
    np.testing.assert_array_equal(model.adjacency, arcs[np.ix_(model.columns, model.columns)])
    np.testing.assert_array_equal(model.noise_variance, model.columns + 1.0)
    np.testing.assert_array_equal(make_linear_sem(arcs, rng=0).columns, np.arange(37))


def test_standardised_rows():
    model = make_linear_sem(FORK, rng=0)
    raw, scaled = (model.sample(50, rng=1, standardize=flag) for flag in (False, True))
    np.testing.assert_allclose(scaled, (raw - raw.mean(axis=0)) / raw.std(axis=0))


def test_a_seed_repeats_everything():
    first, again = (make_linear_sem(FORK, permute=True, rng=8) for _ in range(2))
    np.testing.assert_array_equal(first.coef, again.coef)
    rows = [first.sample(5, rng=8) for _ in range(2)]
    np.testing.assert_array_equal(*rows)


@pytest.mark.parametrize(("kind", "n_arcs"), [("chain", 11), ("ring", 12), ("hub", 11)])
def test_random_graphs_keep_the_edges_of_their_family(kind, n_arcs):
    arcs = make_dag(12, kind, rng=0)
    assert arcs.sum() == n_arcs
    assert nx.is_directed_acyclic_graph(nx.from_numpy_array(arcs, create_using=nx.DiGraph))
    assert (arcs != make_dag(12, kind, rng=1)).any()


def test_degree_is_heeded():
    sparse, dense = (make_dag(60, degree=degree, rng=0).sum() for degree in (1.0, 8.0))
    assert dense > 5 * sparse


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ([[0, 1], [1, 0]], {}, "cycle_among_nodes"),
        ([[0, 1, 0]], {}, "adjacency_not_square"),
        (FORK, {"low": 0.0}, "low_high_range"),
        (FORK, {"low": 2.0}, "low_high_range"),
        (FORK, {"noise_variance": 0.0}, "noise_variance_positive"),
    ],
)
def test_bad_models_are_refused(arguments, options, words):
    with raises(InputError, code=words):
        make_linear_sem(arguments, **options)


@pytest.mark.parametrize(("n_samples", "standardize"), [(0, False), (1, True)])
def test_too_few_rows_are_refused(n_samples, standardize):
    with raises(InputError, code="n_samples_at_least"):
        make_linear_sem(FORK, rng=0).sample(n_samples, rng=0, standardize=standardize)
