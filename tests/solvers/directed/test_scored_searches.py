import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import multigammaln

from edgewise import InputError
from edgewise.graph.equivalence import complete_dag, extend_pattern
from edgewise.metrics import cpdag
from edgewise.solvers import boss_bayes_net, exact_bayes_net, ges_bayes_net
from edgewise.solvers.directed import boss, grow_shrink
from edgewise.solvers.directed.equivalence import complete, extend
from edgewise.solvers.directed.scores import Sample, as_arcs, gaussian_score, total_cost
from tests.messages import raises
from tests.solvers.directed.bayes_net_problems import is_acyclic, linear_network
from tests.solvers.directed.blanket_problems import exact_correlations, make_dag, random_weights

SEARCHES = (boss_bayes_net, ges_bayes_net, exact_bayes_net)
SEEDS = st.integers(0, 10**6)
SCORES = st.sampled_from(["bic", "bge"])
few = settings(max_examples=15, deadline=None)


def log_evidence(R, n, nodes):
    """Logarithm of the BGe marginal likelihood of some variables (Kuipers et al. 2014)."""
    size, m = len(nodes), len(R)
    prior_mean, prior_rows = 1.0, m + 2.0
    T0 = prior_mean * (prior_rows - m - 1.0) / (prior_mean + 1.0)
    T = T0 * np.eye(size) + n * R[np.ix_(nodes, nodes)]
    before, after = (prior_rows - m + size) / 2.0, (n + prior_rows - m + size) / 2.0
    return (
        size / 2.0 * np.log(prior_mean / (n + prior_mean))
        - size * n / 2.0 * np.log(np.pi)
        + (multigammaln(after, size) - multigammaln(before, size) if size else 0.0)
        + before * size * np.log(T0)
        - after * np.linalg.slogdet(T)[1]
    )


def plain_cost(R, n, dag, score, discount=2.0):
    """Cost of a graph, straight from the formulas."""
    total = 0.0
    for j in range(len(R)):
        parents = np.flatnonzero(dag[:, j]).tolist()
        if score == "bge":
            total -= log_evidence(R, n, [*parents, j]) - log_evidence(R, n, parents)
        else:
            left = 1.0 - R[j, parents] @ np.linalg.solve(R[np.ix_(parents, parents)], R[parents, j])
            total += n / 2 * np.log(left) + discount / 2 * len(parents) * np.log(n)
    return total


def all_dags(m):
    pairs = list(itertools.combinations(range(m), 2))
    for kinds in itertools.product(range(3), repeat=len(pairs)):
        dag = np.zeros((m, m), dtype=bool)
        for (i, j), kind in zip(pairs, kinds, strict=True):
            dag[i, j], dag[j, i] = kind == 1, kind == 2
        if is_acyclic(dag):
            yield dag


@few
@given(SEEDS, st.integers(2, 4), st.sampled_from([20, 300]), SCORES)
def test_exact_search_against_all_graphs(seed, m, n, score):
    R, _ = linear_network(seed, m, n, n_parents=1.5)
    found = exact_bayes_net(R, n, score=score, penalty_discount=2.0)
    assert found.objective == pytest.approx(plain_cost(R, n, found.value, score))
    most = max(n // 3, 1)
    least = min(plain_cost(R, n, dag, score) for dag in all_dags(m) if dag.sum(0).max() <= most)
    assert found.objective == pytest.approx(least)
    assert found.gap == 0.0


@few
@given(SEEDS, st.integers(1, 8), st.sampled_from([15, 200, 5000]), SCORES)
def test_no_search_is_better_than_the_exact_one(seed, m, n, score):
    R, _ = linear_network(seed, m, n, n_parents=1.5)
    best = exact_bayes_net(R, n, score=score)
    for found in (boss_bayes_net(R, n, score=score), ges_bayes_net(R, n, score=score)):
        assert is_acyclic(found.value)
        assert found.converged
        assert found.objective >= best.objective - 1e-6
        assert found.objective == pytest.approx(found.costs.sum())
        assert (np.diff(found.history) <= 1e-9).all()
        place = np.argsort(found.order)
        assert all(place[i] < place[j] for i, j in np.argwhere(found.value))


def test_the_order_search_finds_most_optima():
    gaps = []
    for seed in range(20):
        R, _ = linear_network(seed, 8, 500, n_parents=1.5)
        gaps.append(boss_bayes_net(R, 500).objective - exact_bayes_net(R, 500).objective)
    assert np.count_nonzero(np.array(gaps) > 1e-6) <= 2


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("score", ["bic", "bge"])
def test_exact_correlations_give_the_class(search, score):
    for seed in range(5):
        dag = make_dag(seed, 7)
        R = exact_correlations(random_weights(dag, seed))
        found = search(R, 1e7, score=score)
        np.testing.assert_array_equal(cpdag(found.value), cpdag(dag))


@few
@given(SEEDS, st.integers(2, 6), SCORES)
def test_equivalent_graphs_have_equal_scores(seed, m, score):
    R, _ = linear_network(seed, m, 100, n_parents=1.5)
    dag = make_dag(seed, m)
    cost = gaussian_score(Sample.observed(R, 100), score, 2.0)
    total = total_cost(cost, dag, np.empty(m))
    assert total == pytest.approx(plain_cost(R, 100, dag, score))
    rng = np.random.default_rng(seed)
    for _ in range(5):
        # Relabelled, the extension picks other graphs of the class.
        order = rng.permutation(m)
        other = np.empty_like(dag)
        other[np.ix_(order, order)] = extend_pattern(cpdag(dag)[np.ix_(order, order)]).dag
        assert total_cost(cost, other, np.empty(m)) == pytest.approx(total, abs=1e-8)


@few
@given(SEEDS, st.integers(2, 9), st.booleans())
def test_compiled_classes_agree_with_plain_ones(seed, m, has_knowledge):
    dag = make_dag(seed, m, n_parents=2.0)
    rng = np.random.default_rng(seed)
    allowed = dag | (rng.uniform(size=(m, m)) < (0.7 if has_knowledge else 2.0))
    pdag, back = np.empty_like(dag), np.empty_like(dag)
    complete(dag, as_arcs(allowed, None, m), pdag)
    np.testing.assert_array_equal(pdag, complete_dag(dag, allowed))
    assert extend(pdag, pdag, True, back)
    np.testing.assert_array_equal(cpdag(back), cpdag(dag))
    assert not (back & ~allowed).any()


def test_contradictions_have_no_extension():
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=bool)
    assert not extend(cycle, cycle, True, np.empty_like(cycle))


@few
@given(SEEDS, st.integers(3, 7), st.sampled_from(SEARCHES), SCORES)
def test_knowledge_is_kept(seed, m, search, score):
    R, _ = linear_network(seed, m, 200, n_parents=1.5)
    rng = np.random.default_rng(seed)
    tiers = rng.integers(0, 3, m)
    required = make_dag(seed, m, n_parents=0.5) & (tiers[:, None] <= tiers)
    allowed = (tiers[:, None] <= tiers) & (rng.uniform(size=(m, m)) < 0.8) & ~required.T
    found = search(R, 200, score=score, allowed=allowed, required=required)
    assert is_acyclic(found.value)
    assert not (found.value & ~(allowed | required)).any()
    assert (found.value | ~required).all()
    best = exact_bayes_net(R, 200, score=score, allowed=allowed, required=required)
    assert found.objective >= best.objective - 1e-6


@few
@given(SEEDS, st.integers(2, 8), st.sampled_from(SEARCHES), SCORES)
def test_positions_and_units_make_no_difference(seed, m, search, score):
    R, _ = linear_network(seed, m, 300, n_parents=1.5)
    rng = np.random.default_rng(seed)
    order, scale = rng.permutation(m), rng.uniform(0.1, 10.0, m)
    found = search(R, 300, score=score)
    moved = np.ix_(order, order)
    other = search((R * np.outer(scale, scale))[moved], 300, score=score)
    np.testing.assert_array_equal(cpdag(other.value), cpdag(found.value)[moved])
    assert other.objective == pytest.approx(found.objective)


def test_any_number_of_jobs_gives_the_same():
    R, _ = linear_network(3, 25, 300, n_parents=2.0)
    options = {"n_starts": 5, "random_state": 1}
    one = boss_bayes_net(R, 300, **options)
    two = boss_bayes_net(R, 300, n_jobs=2, **options)
    np.testing.assert_array_equal(two.value, one.value)
    assert two.objective == one.objective


def test_perturbations_find_what_starts_miss(monkeypatch):
    # 20 variables with eight neighbours on average: most orders settle far from the best one.
    for seed in range(3):
        R, arcs = linear_network(seed, 20, 1000, n_parents=4.0)
        cost = gaussian_score(Sample.observed(R, 1000), "bic", None)
        with monkeypatch.context() as plain:
            plain.setattr(boss, "PATIENCE", 0)
            plain.setattr(boss, "PATIENCE_EACH", 0.0)
            settled = boss_bayes_net(R, 1000, n_starts=1)
        found = boss_bayes_net(R, 1000, n_starts=1)
        assert found.objective < settled.objective - 1.0
        assert found.objective <= total_cost(cost, arcs, np.empty(20)) + 1e-6


def test_more_starts_are_not_worse():
    R, _ = linear_network(5, 30, 100, n_parents=3.0)
    few_starts, more = (boss_bayes_net(R, 100, n_starts=k) for k in (1, 8))
    assert more.objective <= few_starts.objective


def test_little_memory_gives_the_same(monkeypatch):
    R, _ = linear_network(3, 25, 300, n_parents=2.0)
    plenty = boss_bayes_net(R, 300, n_starts=1)
    monkeypatch.setattr(grow_shrink, "CACHE_BYTES", 1)
    little = boss_bayes_net(R, 300, n_starts=1)
    np.testing.assert_array_equal(little.value, plenty.value)


def test_a_larger_discount_gives_fewer_arcs():
    R, _ = linear_network(3, 12, 200, n_parents=2.0)
    for search in SEARCHES:
        sizes = [search(R, 200, penalty_discount=c).value.sum() for c in (0.5, 8.0)]
        assert sizes[0] > sizes[1]


def test_more_variables_than_rows():
    R, _ = linear_network(3, 15, 9, n_parents=2.0)
    for search in (boss_bayes_net, ges_bayes_net):
        found = search(R, 9)
        assert is_acyclic(found.value)
        assert found.value.sum(axis=0).max() <= 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "aic"}, "unknown_score"),
        ({"penalty_discount": 0.0}, "penalty_discount_positive"),
        ({"n_samples": 2}, "n_samples_of_scores"),
        ({"allowed": np.ones((2, 2))}, "square_shape"),
    ],
)
@pytest.mark.parametrize("search", SEARCHES)
def test_arguments_are_checked(search, options, words):
    with raises(InputError, code=words):
        search(np.eye(3), **{"n_samples": 100, **options})


def test_limits_are_checked():
    with raises(InputError, code="n_starts_range", n_starts=0):
        boss_bayes_net(np.eye(3), 100, n_starts=0)
    for search in (boss_bayes_net, ges_bayes_net):
        with raises(InputError, code="max_iter_at_least_one", max_iter=0):
            search(np.eye(3), 100, max_iter=0)
    with raises(InputError, code="exact_search_too_large", most_exact=20, n_variables=21):
        exact_bayes_net(np.eye(21), 100)
