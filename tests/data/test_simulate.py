import networkx as nx
import numpy as np
import pytest
from scipy import stats

from edgewise import InputError
from edgewise.data import GaussianModel, make_gaussian_graph, make_graph
from edgewise.data.simulate.gaussian import GRAPH_KINDS
from tests.messages import raises


@pytest.mark.parametrize("kind", GRAPH_KINDS)
@pytest.mark.parametrize("n_features", [2, 7, 36])
def test_structure_is_an_undirected_graph(kind, n_features):
    adjacency = make_graph(n_features, kind, degree=1, rng=0)
    assert adjacency.dtype == bool
    assert adjacency.shape == (n_features, n_features)
    assert not adjacency.diagonal().any()
    assert (adjacency == adjacency.T).all()


def isomorphic(adjacency, graph):
    return nx.is_isomorphic(nx.from_numpy_array(adjacency), graph)


def test_fixed_structures_are_those_of_networkx():
    assert isomorphic(make_graph(9, "chain"), nx.path_graph(9))
    assert isomorphic(make_graph(9, "ring"), nx.cycle_graph(9))
    assert isomorphic(make_graph(12, "grid"), nx.grid_2d_graph(3, 4))
    assert isomorphic(make_graph(12, "grid", shape=(2, 6)), nx.grid_2d_graph(2, 6))
    assert isomorphic(make_graph(24, "grid", shape=(2, 3, 4)), nx.grid_graph((2, 3, 4)))
    stars = nx.disjoint_union(nx.star_graph(4), nx.star_graph(4))
    assert isomorphic(make_graph(10, "hub", n_hubs=2), stars)
    assert isomorphic(make_graph(10, "hub"), nx.star_graph(9))


def test_grid_follows_array_order():
    adjacency = make_graph(6, "grid", shape=(2, 3))
    assert adjacency[0].nonzero()[0].tolist() == [1, 3]


def test_erdos_renyi_degree():
    degrees = make_graph(1000, "erdos-renyi", degree=5, rng=0).sum(axis=0)
    # The number of edges is binomial with standard deviation 50 around 2500.
    assert abs(degrees.mean() - 5) < 0.4
    assert make_graph(30, degree=0, rng=0).sum() == 0
    assert make_graph(30, degree=29, rng=0).sum() == 30 * 29


def test_barabasi_albert_grows_by_preference():
    for degree, n_new in [(1, 1), (4, 2), (6, 3)]:
        adjacency = make_graph(200, "barabasi-albert", degree=degree, rng=0)
        assert adjacency.sum() // 2 == n_new * (200 - n_new)
        assert nx.is_connected(nx.from_numpy_array(adjacency))
    heavy = make_graph(600, "barabasi-albert", degree=4, rng=1).sum(axis=0).max()
    light = make_graph(600, "erdos-renyi", degree=4, rng=1).sum(axis=0).max()
    assert heavy > 2 * light


@pytest.mark.parametrize("kind", GRAPH_KINDS)
@pytest.mark.parametrize("min_eigenvalue", [0.02, 0.3])
def test_model_is_consistent(kind, min_eigenvalue):
    model = make_gaussian_graph(40, kind, signal=(0.3, 0.8), min_eigenvalue=min_eigenvalue, rng=3)
    Theta, Sigma = model.precision, model.covariance
    np.testing.assert_allclose(Theta @ Sigma, np.eye(40), atol=1e-10)
    assert (Theta == Theta.T).all()
    assert (Sigma == Sigma.T).all()
    assert (np.diagonal(Sigma) == 1).all()
    np.testing.assert_array_equal(model.adjacency, (Theta != 0) & ~np.eye(40, dtype=bool))
    spectrum = np.linalg.eigvalsh(Theta)
    assert spectrum[0] >= min_eigenvalue * (1 - 1e-12)
    assert model.smallest_eigenvalue == pytest.approx(spectrum[0])
    assert model.condition == pytest.approx(spectrum[-1] / spectrum[0])


def test_partial_correlations_are_the_signal():
    model = make_gaussian_graph(50, "chain", signal=(0.2, 0.4), rng=0)
    strength = np.abs(model.partial_correlation[model.adjacency])
    # A chain of weights below 1/2 is diagonally dominant by 0.2, so nothing is scaled down.
    assert strength.min() >= 0.2 - 1e-12
    assert strength.max() <= 0.4 + 1e-12
    assert strength.std() > 0.03
    inverse = np.linalg.inv(model.covariance)
    scale = np.sqrt(np.diagonal(inverse))
    expected = -inverse / np.outer(scale, scale)
    np.fill_diagonal(expected, 1)
    np.testing.assert_allclose(model.partial_correlation, expected, atol=1e-12)


def test_signs():
    def share(positive):
        model = make_gaussian_graph(100, "ring", positive=positive, rng=0)
        return (model.partial_correlation[model.adjacency] > 0).mean()

    assert share(0.0) == 0
    assert share(1.0) == 1
    assert 0.3 < share(0.5) < 0.7


def test_seed_decides():
    first, again, other = (make_gaussian_graph(20, rng=seed).precision for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    generator = np.random.default_rng(5)
    np.testing.assert_array_equal(make_gaussian_graph(20, rng=generator).precision, first)
    assert (make_gaussian_graph(20, rng=generator).precision != first).any()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"kind": "tree"}, "unknown_graph_kind"),
        ({"n_features": 1}, "too_few_nodes"),
        ({"degree": 30}, "degree_range"),
        ({"degree": -1}, "degree_range"),
        ({"kind": "barabasi-albert", "degree": 20}, "mean_degree_range"),
        ({"kind": "hub", "n_hubs": 11}, "n_hubs_range"),
        ({"kind": "grid", "shape": (3, 3)}, "grid_node_count"),
        ({"signal": (0.5, 0.2)}, "signal_range"),
        ({"signal": (0.0, 0.2)}, "signal_range"),
        ({"positive": 1.5}, "positive_share_range"),
        ({"min_eigenvalue": 0}, "min_eigenvalue_range"),
    ],
)
def test_bad_options(options, part):
    with raises(InputError, code=part):
        make_gaussian_graph(**{"n_features": 10, **options})


def test_samples_have_the_covariance_and_the_mean():
    model = make_gaussian_graph(4, "ring", rng=0)
    X = model.sample(200_000, rng=1, mean=[1, 2, 3, 4])
    np.testing.assert_allclose(X.mean(axis=0), [1, 2, 3, 4], atol=0.015)
    np.testing.assert_allclose(np.cov(X.T), model.covariance, atol=0.015)


def test_samples_are_normal_along_any_direction():
    model = make_gaussian_graph(6, "hub", n_hubs=1, rng=0)
    direction = np.arange(1.0, 7.0)
    projected = model.sample(5000, rng=2) @ direction
    scale = np.sqrt(direction @ model.covariance @ direction)
    assert stats.kstest(projected / scale, "norm").pvalue > 0.01


def test_a_precision_may_be_symmetric_to_rounding_only():
    Theta = np.array([[1.0, 0.1 + 2e-17], [0.1, 1.0]])
    model = GaussianModel.from_precision(Theta)
    np.testing.assert_array_equal(model.precision, model.precision.T)


def test_bad_samples():
    with raises(InputError, code="precision_indefinite"):
        GaussianModel.from_precision([[1, 2], [2, 1]])
    with raises(InputError, code="precision_asymmetric"):
        GaussianModel.from_precision(np.ones((2, 3)))
    with raises(InputError, code="precision_asymmetric"):
        GaussianModel.from_precision([[1.0, 0.1], [0.1001, 1.0]])
    with raises(InputError, code="n_samples_range", n_samples=0):
        GaussianModel.from_precision(np.eye(2)).sample(0)
    with raises(InputError, code="mean_shape", shape=[3], n_Theta=2):
        GaussianModel.from_precision(np.eye(2)).sample(3, mean=[1, 2, 3])
