import math
from collections import Counter

import numpy as np
import pytest
from scipy import integrate, stats

from edgewise import InputError
from edgewise.data import (
    make_diamond_change,
    make_gaussian_change,
    make_graph,
    make_lattice_change,
)
from edgewise.data.simulate.diamond import sample_diamond
from tests.messages import raises

SIMULATORS = {
    "gaussian": lambda n_samples, **options: make_gaussian_change(40, n_samples, **options),
    "lattice": lambda n_samples, **options: make_lattice_change(64, n_samples, **options),
    "diamond": lambda n_samples, **options: make_diamond_change(9, n_samples, **options),
}
CHANGES = {"gaussian": 15, "lattice": 4, "diamond": 8}


def count(adjacency):
    return int(adjacency.sum()) // 2


@pytest.mark.parametrize("name", SIMULATORS)
def test_rows_labels_and_changes(name):
    data = SIMULATORS[name]((30, 20), rng=1)
    assert len(data.first) == 30
    assert len(data.second) == 20
    np.testing.assert_array_equal(data.X, np.vstack([data.first, data.second]))
    assert Counter(data.y.tolist()) == {"first": 30, "second": 20}
    assert (data.y[:30] == "first").all()
    assert data.n_features == data.X.shape[1] == len(data.changed)
    assert data.changed.dtype == bool
    assert (data.changed == data.changed.T).all()
    assert not data.changed.diagonal().any()
    assert count(data.changed) == data.n_changed == CHANGES[name]
    both = SIMULATORS[name](25, rng=1)
    assert (len(both.first), len(both.second)) == (25, 25)


@pytest.mark.parametrize("name", SIMULATORS)
def test_equal_seeds_give_equal_data(name):
    data, same, other = (SIMULATORS[name](20, rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(data.X, same.X)
    np.testing.assert_array_equal(data.changed, same.changed)
    assert not (data.X == other.X).any()
    assert (data.changed != other.changed).any()
    more = SIMULATORS[name](21, rng=3)
    np.testing.assert_array_equal(data.changed, more.changed)
    generator = np.random.default_rng(3)
    one, two = SIMULATORS[name](20, rng=generator), SIMULATORS[name](20, rng=generator)
    assert not (one.X == two.X).any()


@pytest.mark.parametrize("name", SIMULATORS)
@pytest.mark.parametrize("n_samples", [0, (5, 0), (5, 5, 5)])
def test_numbers_of_rows_are_checked(name, n_samples):
    with raises(InputError, code="n_samples_two_groups"):
        SIMULATORS[name](n_samples)


# Gaussian


def test_gaussian_models_are_the_published_ones():
    data = make_gaussian_change(rng=0)
    first, second = data.first_model, data.second_model
    assert set(second.precision.ravel()) == {0.0, 0.2, 2.0}
    assert (np.diagonal(first.precision) == 2).all()
    assert count(second.adjacency) == 195  # a quarter of 780 pairs
    np.testing.assert_array_equal(first.precision != second.precision, data.changed)
    np.testing.assert_allclose((second.precision - first.precision)[data.changed], 0.1)
    assert data.first.shape == data.second.shape == (100, 40)
    assert data.power == 1


def test_gaussian_rows_have_the_covariance_of_their_model():
    data = make_gaussian_change(12, 40_000, n_changed=5, change=0.8, rng=2)
    for rows, model in ((data.first, data.first_model), (data.second, data.second_model)):
        Sigma = np.linalg.inv(model.precision)
        # Standard error of a covariance: sqrt((s_ii s_jj + s_ij^2) / n).
        error = np.sqrt((np.outer(np.diag(Sigma), np.diag(Sigma)) + Sigma**2) / len(rows))
        assert np.abs((np.cov(rows, rowvar=False) - Sigma) / error).max() < 4.5
        assert np.abs(rows.mean(axis=0) / np.sqrt(np.diag(Sigma) / len(rows))).max() < 4.5
    # The groups are not one and the same draw.
    assert abs(np.corrcoef(data.first[:, 0], data.second[:, 0])[0, 1]) < 0.03


@pytest.mark.parametrize("change", [0.8, -0.4, 0.2])
def test_change_and_its_number(change):
    data = make_gaussian_change(30, 5, n_changed=7, change=change, rng=0)
    difference = data.second_model.precision - data.first_model.precision
    assert count(difference != 0) == 7
    np.testing.assert_allclose(difference[data.changed], change)


def test_no_change_at_all():
    data = make_gaussian_change(10, 5, n_changed=0, rng=0)
    assert data.n_changed == 0
    np.testing.assert_array_equal(data.first_model.precision, data.second_model.precision)
    assert not (data.first == data.second).any()


def test_density():
    data = make_gaussian_change(20, 5, n_changed=2, density=0.1, rng=0)
    assert count(data.second_model.adjacency) == 19


def test_neighbors_in_place_of_a_density():
    data = make_gaussian_change(200, 5, n_neighbors=10, rng=0)
    assert (data.second_model.adjacency.sum(axis=0) == 10).all()
    assert data.n_changed == 15
    other = make_gaussian_change(200, 5, n_neighbors=10, rng=1)
    assert (data.second_model.adjacency != other.second_model.adjacency).any()
    alone = make_gaussian_change(6, 5, n_neighbors=0, n_changed=0, rng=0)
    assert not alone.second_model.adjacency.any()


def test_drawn_anew_until_positive_definite():
    eigenvalues = []
    for seed in range(12):
        data = make_gaussian_change(40, 2, change=1.0, min_eigenvalue=0.3, rng=seed)
        eigenvalues += [data.first_model.smallest_eigenvalue, data.second_model.smallest_eigenvalue]
    assert min(eigenvalues) >= 0.3
    lower = [
        make_gaussian_change(40, 2, change=1.0, min_eigenvalue=1e-6, rng=seed).first_model
        for seed in range(12)
    ]
    assert min(model.smallest_eigenvalue for model in lower) < 0.3
    with raises(InputError, code="no_stable_pair_drawn", max_draws=100):
        make_gaussian_change(200, 2, rng=0)


def test_power_maps_the_same_rows():
    plain = make_gaussian_change(15, 60, n_changed=3, rng=5)
    for power in (2.0, 3.0):
        mapped = make_gaussian_change(15, 60, n_changed=3, power=power, rng=5)
        assert mapped.power == power
        np.testing.assert_array_equal(mapped.second_model.precision, plain.second_model.precision)
        for rows, gaussian in ((mapped.first, plain.first), (mapped.second, plain.second)):
            np.testing.assert_allclose(np.sign(rows) * np.abs(rows) ** power, gaussian)


def test_nonparanormal_moments():
    """The mean square of the root of a normal variable is its mean size, sqrt(2 / pi) sigma."""
    data = make_gaussian_change(5, 40_000, n_changed=0, density=0.3, power=2, rng=0)
    sigma = np.sqrt(np.diag(np.linalg.inv(data.first_model.precision)))
    np.testing.assert_allclose((data.first**2).mean(axis=0), sigma * math.sqrt(2 / math.pi), 0.02)


def test_shared_noise():
    shared = make_gaussian_change(10, (30, 20), n_changed=3, shared_noise=True, rng=0)
    plain = make_gaussian_change(10, (30, 20), n_changed=3, rng=0)
    np.testing.assert_array_equal(shared.first, plain.first)
    assert not (shared.second == plain.second).any()
    # Undo the factors: what is left is the noise.
    noise = [
        rows @ np.linalg.cholesky(model.precision)
        for rows, model in (
            (shared.first, shared.first_model),
            (shared.second, shared.second_model),
        )
    ]
    np.testing.assert_allclose(noise[0][:20], noise[1], atol=1e-12)


def test_other_rows_of_the_same_models():
    data = make_gaussian_change(10, 20, n_changed=3, power=2, rng=0)
    again = data.sample((40, 30), rng=1)
    assert (len(again.first), len(again.second)) == (40, 30)
    assert again.first_model is data.first_model
    assert again.second_model is data.second_model
    np.testing.assert_array_equal(again.changed, data.changed)
    assert again.power == 2
    np.testing.assert_array_equal(again.X, data.sample((40, 30), rng=1).X)
    assert not (again.X == data.sample((40, 30), rng=2).X).any()
    spread = np.abs(data.sample(20_000, rng=1).first).mean(axis=0)
    np.testing.assert_allclose(spread, np.abs(data.sample(20_000, rng=2).first).mean(axis=0), 0.03)
    shared = data.sample((40, 30), shared_noise=True, rng=1)
    np.testing.assert_array_equal(shared.first, again.first)
    # In both groups the last variable is a multiple of the last noise.
    np.testing.assert_allclose(np.sign(shared.second[:, -1]), np.sign(shared.first[:30, -1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_changed": -1}, "n_changed_range"),
        ({"n_changed": 200}, "too_few_edges_to_draw"),
        ({"change": 0.0}, "change_zero"),
        ({"change": np.inf}, "change_zero"),
        ({"power": 0}, "power_positive"),
        ({"min_eigenvalue": 0.0}, "min_eigenvalue_positive"),
        ({"density": 1.5}, "density_range"),
        ({"density": 0.2, "n_neighbors": 4}, "density_or_neighbors"),
        ({"n_neighbors": 40}, "no_regular_graph"),
        ({"n_features": 41, "n_neighbors": 3}, "no_regular_graph"),
        ({"n_features": 1}, "too_few_nodes"),
    ],
)
def test_bad_gaussian_arguments(options, message):
    with raises(InputError, code=message):
        make_gaussian_change(**options)


# Lattice


@pytest.mark.parametrize("side", [8, 10])
def test_lattice_models_are_the_published_ones(side):
    data = make_lattice_change(side**2, 5, rng=0)
    first, second = data.first_model, data.second_model
    adjacency = np.zeros((side, side, side, side), dtype=bool)
    for i in range(side):
        for j in range(side):
            for k, m in ((i + 1, j), (i, j + 1)):
                if k < side and m < side:
                    adjacency[i, j, k, m] = adjacency[k, m, i, j] = True
    adjacency = adjacency.reshape(side**2, side**2)
    np.testing.assert_array_equal(second.precision, 2 * np.eye(side**2) + 0.4 * adjacency)
    np.testing.assert_array_equal(first.adjacency, adjacency)
    assert (first.precision[data.changed] == -0.4).all()
    assert (second.precision[data.changed] == 0.4).all()
    assert (first.precision == second.precision)[~data.changed].all()
    # Eigenvalues of a path are 2 cos(k pi / (side + 1)), those of a lattice sums of two of them.
    lowest = 2 - 0.4 * 4 * math.cos(math.pi / (side + 1))
    assert second.smallest_eigenvalue == pytest.approx(lowest)
    assert first.smallest_eigenvalue > 0.4


def test_lattice_options():
    data = make_lattice_change(16, 5, n_changed=9, rng=0)
    assert data.n_changed == 9
    assert make_lattice_change(16, 5, n_changed=0, rng=0).n_changed == 0
    rows = make_lattice_change(9, 30_000, rng=0)
    for sample, model in ((rows.first, rows.first_model), (rows.second, rows.second_model)):
        np.testing.assert_allclose(
            np.cov(sample, rowvar=False), np.linalg.inv(model.precision), atol=0.02
        )
    for n_features in (-4, 1, 10):
        with raises(InputError, code="lattice_not_square"):
            make_lattice_change(n_features)
    with pytest.raises(InputError, match="24 edges, fewer than the 25"):
        make_lattice_change(16, n_changed=25)
    with pytest.raises(InputError, match="n_changed must be at least 0"):
        make_lattice_change(16, n_changed=-1)


# Diamond


def centre_moment(n_leaves, coupling, power):
    """Mean of a power of the centre of a star, whose leaves are integrated out by hand."""

    def weight(x):
        return math.exp(-2 * x**2) * (2 + coupling * x**2) ** (-n_leaves / 2)

    total = integrate.quad(weight, 0, np.inf)[0]
    return integrate.quad(lambda x: x**power * weight(x), 0, np.inf)[0] / total


@pytest.mark.parametrize("method", ["rejection", "gibbs"])
@pytest.mark.parametrize(("n_leaves", "coupling"), [(1, 20.0), (4, 20.0), (2, 3.0)])
def test_diamond_moments(method, n_leaves, coupling):
    star = np.zeros((n_leaves + 1, n_leaves + 1), dtype=bool)
    star[0, 1:] = star[1:, 0] = True
    X = sample_diamond(star, 30_000, coupling=coupling, method=method, n_sweeps=40, rng=0)
    for power in (2, 4):
        expected = centre_moment(n_leaves, coupling, power)
        spread = math.sqrt(centre_moment(n_leaves, coupling, 2 * power) - expected**2)
        assert abs((X[:, 0] ** power).mean() - expected) < 4 * spread / math.sqrt(len(X))
    correlation = np.corrcoef(X, rowvar=False)[0, 1:]
    assert np.abs(correlation).max() < 4 / math.sqrt(len(X))
    assert np.corrcoef(X**2, rowvar=False)[0, 1:].max() < -0.05


@pytest.mark.parametrize("coupling", [0.0, 1.0])
def test_diamond_without_coupling_is_normal(coupling):
    """With variance 1/4, for either way to have no interaction."""
    graph = make_graph(3, "ring") if coupling == 0 else np.zeros((3, 3), dtype=bool)
    for method in ("rejection", "gibbs"):
        X = sample_diamond(graph, 5000, coupling=coupling, method=method, n_sweeps=2, rng=1)
        assert stats.kstest(X[:, 0], stats.norm(scale=0.5).cdf).pvalue > 0.01


def test_both_diamond_samplers_agree():
    data = make_diamond_change(7, 4000, densities=(0.2, 0.6), method="rejection", rng=0)
    other = make_diamond_change(7, 4000, densities=(0.2, 0.6), method="gibbs", n_sweeps=50, rng=0)
    np.testing.assert_array_equal(data.second_adjacency, other.second_adjacency)
    for rows, others in ((data.first, other.first), (data.second, other.second)):
        assert not (rows == others).any()
        energy, other_energy = (
            np.einsum("ni,ij,nj->n", X**2, data.second_adjacency, X**2) for X in (rows, others)
        )
        pvalues = [stats.ks_2samp(energy, other_energy).pvalue]
        pvalues += [stats.ks_2samp(a, b).pvalue for a, b in zip(rows.T, others.T, strict=True)]
        assert min(pvalues) > 0.005


def test_short_chains_have_not_forgotten_their_start():
    graph = make_graph(12, "ring") | make_graph(12, "hub", n_hubs=1)
    size = [
        (sample_diamond(graph, 4000, method="gibbs", n_sweeps=n, rng=0)[:, 0] ** 2).mean()
        for n in (1, 200)
    ]
    exact = (sample_diamond(graph, 4000, method="rejection", rng=1)[:, 0] ** 2).mean()
    assert abs(size[1] - exact) < 0.05 * exact
    assert abs(size[0] - exact) > 0.1 * exact


def test_automatic_choice_of_the_diamond_sampler():
    ring, crowded = make_graph(6, "ring"), ~np.eye(20, dtype=bool)
    drawn = sample_diamond(ring, 10, rng=0)
    np.testing.assert_array_equal(drawn, sample_diamond(ring, 10, method="rejection", rng=0))
    assert sample_diamond(crowded, 10, rng=0).shape == (10, 20)
    with raises(InputError, code="rejection_too_slow", graph=190):
        sample_diamond(crowded, 10, method="rejection", rng=0)


def test_diamond_graphs_are_the_published_ones():
    data = make_diamond_change(n_samples=10, rng=0)
    assert (count(data.first_adjacency), count(data.second_adjacency)) == (5, 13)
    np.testing.assert_array_equal(data.first_adjacency | data.changed, data.second_adjacency)
    assert data.coupling == 20
    assert data.changed.shape == (9, 9)


def test_diamond_options():
    other = make_diamond_change(6, 3000, densities=(0.6, 0.2), coupling=2.0, rng=0)
    assert (count(other.first_adjacency), count(other.second_adjacency)) == (9, 3)
    assert (other.first_adjacency >= other.second_adjacency).all()
    assert other.coupling == 2
    stronger = make_diamond_change(6, 3000, densities=(0.6, 0.2), coupling=50.0, rng=0)
    np.testing.assert_array_equal(stronger.changed, other.changed)
    assert (stronger.first**2).mean() < 0.8 * (other.first**2).mean()
    chains = [make_diamond_change(6, 50, method="gibbs", n_sweeps=n, rng=0).first for n in (1, 2)]
    assert not (chains[0] == chains[1]).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"densities": (0.2, 1.2)}, "density_range"),
        ({"densities": (-0.2, 0.2)}, "density_range"),
        ({"coupling": -1.0}, "coupling_range"),
        ({"method": "exact"}, "unknown_sampling_method"),
        ({"n_sweeps": 0}, "samples_and_sweeps_range"),
        ({"n_features": 1}, "too_few_nodes"),
    ],
)
def test_bad_diamond_arguments(options, message):
    with raises(InputError, code=message):
        make_diamond_change(**options)


@pytest.mark.parametrize("graph", [[[0, 1], [0, 0]], [[1, 0], [0, 0]], [0, 1], [[0, 1, 0]]])
def test_bad_diamond_graphs(graph):
    with raises(InputError, code="adjacency_asymmetric_or_loop"):
        sample_diamond(graph, 5)


def test_no_diamond_rows():
    with raises(InputError, code="samples_and_sweeps_range", n_samples=0, n_sweeps=200):
        sample_diamond([[0, 1], [1, 0]], 0)
