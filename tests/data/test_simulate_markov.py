import itertools
import math

import networkx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from edgewise import InputError
from edgewise.data import load_network, make_graph, make_markov_model
from edgewise.data.markov import MarkovModel, maximal_cliques
from edgewise.metrics import irregularity
from tests.messages import raises

LEVELS = (2, 3, 2, 4, 2)


def house(cardinalities=LEVELS, rng=3):
    """Five variables: a square with a roof, so cliques of two and of three."""
    adjacency = make_graph(5, "ring")
    adjacency[1, 3] = adjacency[3, 1] = True
    return make_markov_model(adjacency, cardinalities=cardinalities, rng=rng)


def joint(model):
    """Probability of every state, by the definition and without any of our code."""
    states = list(itertools.product(*(range(r) for r in model.cardinalities)))
    weight = [
        math.exp(
            sum(
                table[tuple(state[v] for v in clique)]
                for clique, table in zip(model.cliques, model.potentials, strict=True)
            )
        )
        for state in states
    ]
    return np.array(states), np.array(weight) / sum(weight)


def brute_conditional(model, variable, state):
    states, probability = joint(model)
    others = np.delete(np.arange(len(state)), variable)
    agrees = (states[:, others] == np.asarray(state)[others]).all(axis=1)
    total = probability[agrees]
    return total / total.sum()


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 7), st.floats(0, 1), st.integers(0, 10**6))
def test_maximal_cliques_by_enumeration(n_features, density, seed):
    drawn = np.triu(np.random.default_rng(seed).random((n_features, n_features)) < density, k=1)
    adjacency = drawn | drawn.T
    complete = [
        set(subset)
        for size in range(1, n_features + 1)
        for subset in itertools.combinations(range(n_features), size)
        if all(adjacency[i, j] for i, j in itertools.combinations(subset, 2))
    ]
    wanted = sorted(tuple(sorted(c)) for c in complete if not any(c < other for other in complete))
    assert maximal_cliques(adjacency) == tuple(wanted)


def test_model_has_a_table_per_maximal_clique():
    model = house()
    assert model.cliques == ((0, 1), (0, 4), (1, 2, 3), (3, 4))
    assert [table.shape for table in model.potentials] == [(2, 3), (2, 2), (3, 2, 4), (4, 2)]
    assert model.cardinalities.tolist() == list(LEVELS)
    assert model.n_features == 5
    assert model.n_states == 96
    assert model.adjacency.sum() == 12
    np.testing.assert_array_equal(model.adjacency, model.adjacency.T)


def test_isolated_variables_are_cliques_of_one():
    model = make_markov_model(np.zeros((3, 3)), rng=0)
    assert model.cliques == ((0,), (1,), (2,))
    assert not model.adjacency.any()


def test_potentials_are_even_between_the_bounds():
    adjacency = np.ones((12, 12)) - np.eye(12)
    potentials = np.exp(make_markov_model(adjacency, rng=0).potentials[0]).ravel()
    assert stats.kstest(potentials, "uniform").pvalue > 0.01
    narrow = np.exp(make_markov_model(adjacency, low=2.0, high=2.5, rng=0).potentials[0])
    assert stats.kstest(narrow.ravel(), "uniform", args=(2.0, 0.5)).pvalue > 0.01
    assert np.ptp(make_markov_model(adjacency, low=0.3, high=0.3, rng=0).potentials[0]) == 0


def test_model_is_decided_by_the_seed():
    first, again, other = (house(rng=seed).cells for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def test_tables_as_they_stand_are_put_in_order():
    table = np.arange(6.0).reshape(3, 2)
    model = MarkovModel.from_potentials([(2, 0), (1,)], [table, [5.0, 7.0]])
    assert model.cliques == ((0, 2), (1,))
    assert model.cardinalities.tolist() == [2, 2, 3]
    np.testing.assert_array_equal(model.potentials[0], table.T)
    np.testing.assert_array_equal(model.potentials[1], [5.0, 7.0])
    np.testing.assert_array_equal(model.adjacency, [[0, 0, 1], [0, 0, 0], [1, 0, 0]])


def test_pairs_alone_are_a_model_on_a_triangle():
    rng = np.random.default_rng(0)
    pairs = [(0, 1), (0, 2), (1, 2)]
    model = MarkovModel.from_potentials(pairs, rng.normal(size=(3, 2, 2)))
    assert model.cliques == tuple(pairs)
    assert model.adjacency.sum() == 6
    for state in itertools.product(range(2), repeat=3):
        wanted = brute_conditional(model, 1, state)
        np.testing.assert_allclose(model.conditional(1, [state])[0], wanted, rtol=1e-12)


@pytest.mark.parametrize("variable", range(5))
def test_conditional_is_that_of_the_joint(variable):
    model = house()
    states, _ = joint(model)
    wanted = [brute_conditional(model, variable, state) for state in states]
    np.testing.assert_allclose(model.conditional(variable, states), wanted, rtol=1e-12)


def test_conditional_reads_the_neighbours_alone():
    model = house()
    wanted = model.conditional(0, [[0, 2, 0, 0, 1]])
    np.testing.assert_array_equal(model.conditional(0, [[99, 2, -7, 5, 1]]), wanted)
    with raises(InputError, code="codes_out_of_range", column="1 of X", wrong=3):
        model.conditional(0, [[0, 3, 0, 0, 1]])


def test_pseudo_likelihood_adds_the_conditionals():
    model = house()
    states, _ = joint(model)
    wanted = [
        sum(math.log(brute_conditional(model, v, state)[state[v]]) for v in range(5))
        for state in states
    ]
    np.testing.assert_allclose(model.log_pseudo_likelihood(states), wanted, rtol=1e-12)


def test_extreme_potentials_do_not_overflow():
    model = MarkovModel.from_potentials([(0, 1)], [[[2000.0, -2000.0], [-2000.0, 1000.0]]])
    np.testing.assert_array_equal(model.conditional(0, [[0, 0], [0, 1]]), np.eye(2))
    assert model.log_pseudo_likelihood([[0, 0]])[0] == 0
    assert model.log_pseudo_likelihood([[0, 1]])[0] == -4000 - 3000
    for method in ("gibbs", "exact"):
        assert set(map(tuple, model.sample(50, method=method, rng=0))) <= {(0, 0), (1, 1)}


def test_exact_samples_have_the_probabilities():
    model = house()
    states, probability = joint(model)
    X = model.sample(20_000, method="exact", rng=1)
    codes = np.ravel_multi_index(X.T, LEVELS)
    np.testing.assert_array_equal(np.ravel_multi_index(states.T, LEVELS), np.arange(len(states)))
    observed = np.bincount(codes, minlength=len(states))
    assert stats.chisquare(observed, 20_000 * probability).pvalue > 0.01


def test_gibbs_agrees_with_the_joint():
    model = house()
    states, probability = joint(model)
    X = model.sample(60_000, method="gibbs", rng=2)
    for first, second in itertools.combinations(range(5), 2):
        for levels in itertools.product(range(LEVELS[first]), range(LEVELS[second])):
            wanted = probability[(states[:, [first, second]] == levels).all(axis=1)].sum()
            # Means of long batches are as good as independent, whatever the rows are.
            batches = (X[:, [first, second]] == levels).all(axis=1).reshape(60, 1000).mean(axis=1)
            error = batches.std(ddof=1) / math.sqrt(60)
            assert abs(batches.mean() - wanted) < 4 * error, (first, second, levels)


def test_gibbs_on_a_real_network_has_the_conditionals():
    model = make_markov_model(load_network("karate").adjacency, rng=0)
    X = model.sample(20_000, rng=1)
    for variable in (0, 11, 33):
        expected = model.conditional(variable, X)[:, 1]
        score = (X[:, variable] - expected) / np.sqrt(expected * (1 - expected)).clip(1e-9)
        assert abs(score.mean()) < 4 / math.sqrt(20_000)


def test_seed_decides_the_samples():
    model = house()
    for method in ("gibbs", "exact"):
        first, again, other = (model.sample(200, method=method, rng=seed) for seed in (5, 5, 6))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
        generator = np.random.default_rng(5)
        np.testing.assert_array_equal(model.sample(200, method=method, rng=generator), first)
        assert (model.sample(200, method=method, rng=generator) != first).any()


def test_burn_in_and_thin_choose_among_the_sweeps():
    model = house()
    every = model.sample(60, method="gibbs", burn_in=0, rng=0)
    burnt = model.sample(50, method="gibbs", burn_in=10, rng=0)
    thinned = model.sample(10, method="gibbs", burn_in=10, thin=5, rng=0)
    np.testing.assert_array_equal(burnt, every[10:])
    np.testing.assert_array_equal(thinned, burnt[4::5])
    default = model.sample(10, method="gibbs", rng=0)
    longer = model.sample(110, method="gibbs", burn_in=0, rng=0)
    np.testing.assert_array_equal(default, longer[100:])


def test_auto_is_exact_where_that_is_possible():
    small, large = (make_markov_model(make_graph(n, "chain"), rng=0) for n in (20, 21))
    assert small.n_states == 2**20
    for model, method in ((small, "exact"), (large, "gibbs")):
        np.testing.assert_array_equal(model.sample(5, rng=0), model.sample(5, method=method, rng=0))
    with raises(InputError, code="too_many_states", n_features=21, n_states=2097152):
        large.sample(5, method="exact")


@pytest.mark.parametrize(("n_levels", "kind"), [(256, "uint8"), (257, "uint16"), (70_000, "int32")])
@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_codes_have_the_smallest_type(n_levels, kind, method):
    model = make_markov_model([[0, 1], [1, 0]], cardinalities=[n_levels, 2], rng=0)
    X = model.sample(50, method=method, burn_in=2, rng=0)
    assert X.dtype == kind
    assert X.shape == (50, 2)
    assert X[:, 0].max() > n_levels // 2


@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_variables_with_one_level_are_constant(method):
    levels = np.ones(70, dtype=int)
    levels[[3, 69]] = 2
    model = make_markov_model(make_graph(70, "chain"), cardinalities=levels, rng=0)
    X = model.sample(100, method=method, rng=0)
    np.testing.assert_array_equal(np.flatnonzero(X.any(axis=0)), [3, 69])
    np.testing.assert_array_equal(model.conditional(5, X), np.ones((100, 1)))


@pytest.mark.parametrize(
    ("adjacency", "options", "part"),
    [
        ([[0, 1], [0, 0]], {}, "adjacency_asymmetric"),
        ([[1, 1], [1, 0]], {}, "adjacency_self_loop"),
        ([[0, 2], [2, 0]], {}, "adjacency_not_binary"),
        ([[0, np.nan], [np.nan, 0]], {}, "adjacency_not_binary"),
        ([[0, 1]], {}, "adjacency_not_square"),
        (np.empty((0, 0)), {}, "adjacency_not_square"),
        ([[0, 1], [1, 0]], {"cardinalities": 0}, "cardinalities_too_small"),
        ([[0, 1], [1, 0]], {"cardinalities": [2, 2, 2]}, "cardinalities_type"),
        ([[0, 1], [1, 0]], {"cardinalities": 2.0}, "cardinalities_type"),
        ([[0, 1], [1, 0]], {"low": 2.0}, "potentials_range"),
        ([[0, 1], [1, 0]], {"low": -0.1}, "potentials_range"),
        ([[0, 1], [1, 0]], {"high": 0.0}, "potentials_range"),
        ([[0, 1], [1, 0]], {"high": np.inf}, "potentials_range"),
        (1 - np.eye(28), {}, "tables_too_large"),
    ],
)
def test_bad_models(adjacency, options, part):
    with raises(InputError, code=part):
        make_markov_model(adjacency, **options)


@pytest.mark.parametrize(
    ("cliques", "potentials", "part"),
    [
        ([(0, 1)], [], "cliques_and_tables"),
        ([], [], "no_cliques"),
        ([(0, 1)], [[0.0, 1.0]], "clique_table_axes"),
        ([(0,)], [[0.0, np.inf]], "potentials_not_finite"),
        ([(0,), (0, 1)], [[0.0, 0.0], np.zeros((3, 2))], "clique_levels_differ"),
        ([(0, 0)], [np.zeros((2, 2))], "invalid_clique"),
        ([(0, 1), (1, 0)], [np.zeros((2, 2))] * 2, "clique_repeated"),
        ([(0, 2)], [np.zeros((2, 2))], "variable_in_no_clique"),
        ([(-1,), (0,)], [np.zeros(2)] * 2, "clique_out_of_range"),
        ([(0,)], [np.zeros(0)], "cardinalities_too_small"),
    ],
)
def test_bad_tables(cliques, potentials, part):
    with raises(InputError, code=part):
        MarkovModel.from_potentials(cliques, potentials)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"n_samples": 0}, "n_samples_range"),
        ({"method": "metropolis"}, "unknown_sampling_method"),
        ({"burn_in": -1}, "burn_in_range"),
        ({"thin": 0}, "burn_in_range"),
        ({"rng": "seed"}, "random_state_type"),
    ],
)
def test_bad_samples(options, part):
    with raises(InputError, code=part):
        house().sample(**{"n_samples": 3, **options})


def test_bad_states():
    model = house()
    with raises(InputError, code="variable_out_of_range", n_features=4, variable=5):
        model.conditional(5, [[0] * 5])
    with raises(InputError, code="codes_shape", n_cardinalities=5, shape=[5]):
        model.conditional(0, [0] * 5)
    with raises(InputError, code="codes_shape", n_cardinalities=5, shape=[1, 4]):
        model.log_pseudo_likelihood([[0] * 4])
    with raises(InputError, code="codes_out_of_range", column="4 of X", wrong=-1):
        model.log_pseudo_likelihood([[0, 0, 0, 0, -1]])
    with raises(InputError, code="codes_not_integers", dtype="float64"):
        model.log_pseudo_likelihood([[0.5] * 5])


def test_no_rows_have_no_likelihood():
    model = house()
    empty = np.empty((0, 5), dtype=int)
    assert model.log_pseudo_likelihood(empty).shape == (0,)
    assert model.conditional(3, empty).shape == (0, 4)


@pytest.mark.parametrize(
    ("n_hubs", "hub_links", "n_edges", "unevenness"),
    [
        (1, "none", 7, 42),
        (1, "ring", 7, 42),
        (2, "chain", 15, 98),
        (2, "ring", 15, 98),
        (3, "none", 21, 126),
        (3, "chain", 23, 7 * (7 + 8 + 7) + 2),
        (4, "ring", 32, 224),
    ],
)
def test_joined_hubs(n_hubs, hub_links, n_edges, unevenness):
    adjacency = make_graph(8 * n_hubs, "hub", n_hubs=n_hubs, hub_links=hub_links)
    assert adjacency.sum() == 2 * n_edges
    assert not adjacency.diagonal().any()
    assert irregularity(adjacency) == unevenness
    with raises(InputError, code="unknown_hub_links", hub_links="star", listed="none, chain, ring"):
        make_graph(16, "hub", hub_links="star")


@pytest.mark.parametrize(("degree", "n_edges"), [(2, 39), (4, 76)])
def test_scale_free_graphs_with_one_and_with_two_edges_per_node(degree, n_edges):
    adjacency = make_graph(40, "barabasi-albert", degree=degree, rng=0)
    assert adjacency.sum() == 2 * n_edges
    assert networkx.is_connected(networkx.from_numpy_array(adjacency))
