from itertools import combinations

import numpy as np
import pytest

import edgewise.solvers.discrete.search as blanket_search
from edgewise import InputError
from edgewise.data import load_network, make_graph, make_markov_model
from edgewise.data.markov import MarkovModel
from edgewise.solvers import independence_logposterior, learn_structure, log_score
from edgewise.solvers.discrete.scores import IndependenceRows, ScoreSettings, code_table
from tests.messages import raises
from tests.oracle import slow_blankets

CRITERIA = ("bjp", "ib", "mpl")


def network(n, seed=0, n_rows=400, levels=2, density=0.4):
    """Rows drawn from a random Markov network."""
    rng = np.random.default_rng(seed)
    adjacency = np.triu(rng.random((n, n)) < density, 1)
    adjacency |= adjacency.T
    model = make_markov_model(adjacency, cardinalities=levels, rng=rng)
    return model.sample(n_rows, method="gibbs", rng=rng), adjacency


def chain(n, strength=1.2):
    """A chain whose neighbours clearly agree."""
    table = [[strength, 0.0], [0.0, strength]]
    pairs = [(k, k + 1) for k in range(n - 1)]
    return MarkovModel.from_potentials(pairs, [table] * (n - 1))


def graphs_along(solution):
    """The graph after each step."""
    graph = np.zeros_like(solution.value)
    for i, j in solution.flips:
        graph[i, j] = graph[j, i] = not graph[i, j]
        yield graph.copy()


class TestWalk:
    @pytest.mark.parametrize("criterion", ["bjp", "ib"])
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"ties": "mean"},
            {"pseudocount": "bdeu", "ess": 2.0},
            {"prior": 0.3, "max_degree": 2},
        ],
    )
    def test_history_is_the_score_of_every_graph_on_the_way(self, criterion, options):
        X, _ = network(8, levels=[2, 3, 2, 2, 4, 2, 2, 3])
        found = learn_structure(X, criterion, **options)
        scoring = {key: value for key, value in options.items() if key != "max_degree"}
        scores = [log_score(X, graph, criterion, **scoring) for graph in graphs_along(found)]
        np.testing.assert_allclose(found.history, scores, rtol=1e-12)
        assert found.n_iter == len(found.history) == len(found.flips) > 5
        assert found.objective == max(scores)
        assert found.objective == log_score(X, found.value, criterion, **scoring)

    @pytest.mark.parametrize("criterion", ["bjp", "ib"])
    def test_flips_the_least_supported_pair_and_never_comes_back(self, criterion):
        X, _ = network(6, n_rows=300, density=0.7)
        found = learn_structure(X, criterion, patience=30)
        graph = np.zeros((6, 6), dtype=bool)
        seen = {graph.tobytes()}
        for (i, j), after in zip(found.flips, graphs_along(found), strict=True):
            supports = {}
            for u, v in combinations(range(6), 2):
                other = graph.copy()
                other[u, v] = other[v, u] = not other[u, v]
                if other.tobytes() not in seen:
                    supports[u, v] = support(X, graph, u, v, criterion)
            assert supports[i, j] == pytest.approx(min(supports.values()))
            assert after.tobytes() not in seen
            seen.add(after.tobytes())
            graph = after

    def test_patience_of_one_is_the_published_rule(self):
        X, _ = network(9, seed=3, n_rows=800, density=0.5)
        strict = learn_structure(X, patience=1)
        steps = np.diff(np.append(log_score(X, np.zeros((9, 9))), strict.history))
        assert (steps[:-1] > 0).all()
        assert steps[-1] <= 0
        patient = learn_structure(X, patience=20)
        assert patient.objective > strict.objective
        assert strict.n_iter < patient.n_iter
        np.testing.assert_array_equal(strict.flips, patient.flips[: strict.n_iter])

    def test_ends_patience_steps_after_the_best(self):
        X, _ = network(8)
        for patience in (1, 4, 9):
            found = learn_structure(X, patience=patience)
            best = int(np.argmax(found.history)) if found.value.any() else -1
            assert found.n_iter == best + 1 + patience

    @pytest.mark.parametrize("criterion", ["bjp", "ib"])
    def test_support_is_log_odds_of_dependence(self, criterion):
        X, _ = network(6)
        found = learn_structure(X, criterion)
        for i, j in combinations(range(6), 2):
            odds = []
            for u, v in ((i, j), (j, i)):
                given = [k for k in np.flatnonzero(found.value[u]) if k != v]
                independent, dependent = independence_logposterior(X, u, v, given)
                odds.append(dependent - independent)
            degree = found.value.sum(axis=1)
            expected = sum(odds) if criterion == "ib" else odds[int(degree[j] < degree[i])]
            assert found.support[i, j] == pytest.approx(expected, rel=1e-9)
        np.testing.assert_array_equal(found.support, found.support.T)

    def test_support_of_ties_can_be_the_mean(self):
        X, _ = network(4)
        ring = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], dtype=bool)
        first, mean = (
            IndependenceRows(code_table(X, None), ScoreSettings(ties=ties)).evidence(ring)
            for ties in ("index", "mean")
        )
        one = np.subtract(*independence_logposterior(X, 0, 1, [3])[::-1])
        other = np.subtract(*independence_logposterior(X, 1, 0, [2])[::-1])
        assert first[0, 1] == pytest.approx(one)
        assert mean[0, 1] == pytest.approx((one + other) / 2)

    def test_says_what_it_does(self):
        X, _ = network(6)
        steps = []
        found = learn_structure(X, watch=lambda step, score: steps.append((step, score)))
        assert [step for step, _ in steps] == list(range(1, found.n_iter + 1))
        np.testing.assert_array_equal([score for _, score in steps], found.history)

    def test_counts_the_tests(self):
        X, _ = network(6)
        assert learn_structure(X, max_degree=0).n_tests == 6 * 5
        found = learn_structure(X)
        assert 30 < found.n_tests <= 30 + 2 * 5 * found.n_iter

    def test_a_hub_asserts_nothing_that_its_leaves_assert(self):
        X = np.random.default_rng(0).integers(0, 2, size=(300, 40))
        star = make_graph(40, "hub", n_hubs=1)
        rows = IndependenceRows(code_table(X, None), ScoreSettings())
        used = rows.used(star.sum(axis=1))
        for i in range(40):
            rows.assertions(star, i, used[i])
        assert rows.n_tests == 40 * 39 / 2
        assert not used[0].any()
        both = IndependenceRows(code_table(X, None), ScoreSettings(criterion="ib"))
        assert both.used(star.sum(axis=1)).sum() == 40 * 39

    @pytest.mark.parametrize("ties", ["index", "mean"])
    def test_scores_on_the_way_are_those_of_the_graphs(self, ties):
        # A hub, whose assertions are not computed until they are used.
        X = make_markov_model(make_graph(12, "hub", n_hubs=1), rng=3).sample(1500, rng=4)
        found = learn_structure(X, ties=ties, patience=10)
        graph = np.zeros((12, 12), dtype=bool)
        for (i, j), score in zip(found.flips, found.history, strict=True):
            graph[i, j] = graph[j, i] = not graph[i, j]
            assert log_score(X, graph, ties=ties) == pytest.approx(score, rel=1e-9)


def support(X, graph, i, j, criterion):
    """A pair's part of the score, test by test."""
    parts = []
    for u, v in ((i, j), (j, i)):
        given = [k for k in np.flatnonzero(graph[u]) if k != v]
        parts.append(independence_logposterior(X, u, v, given)[int(graph[i, j])])
    degree = graph.sum(axis=1)
    return sum(parts) if criterion == "ib" else parts[int(degree[j] < degree[i])]


class TestExhaustive:
    @pytest.mark.parametrize(
        ("criterion", "options"),
        [
            ("bjp", {}),
            ("bjp", {"ties": "mean", "pseudocount": "bdeu"}),
            ("ib", {"prior": 0.4}),
            ("mpl", {"ess": 2.0}),
            ("mpl", {"cell": 0.5}),
        ],
    )
    @pytest.mark.parametrize("levels", [(2, 2, 2), (2, 3, 2, 2), (2, 2, 2, 2, 3)])
    def test_is_the_best_of_all(self, criterion, options, levels):
        X, _ = network(len(levels), n_rows=60, levels=list(levels))
        rows = [tuple(row) for row in X.tolist()]
        slow = CachedScores(rows, levels, criterion, options)
        scores = [slow(blankets) for blankets in slow_blankets.all_graphs(len(levels))]
        found = learn_structure(X, criterion, search="exhaustive", cardinalities=levels, **options)
        assert found.objective == pytest.approx(max(scores), rel=1e-11)
        blankets = [set(np.flatnonzero(row).tolist()) for row in found.value]
        assert slow(blankets) == pytest.approx(max(scores), rel=1e-11)
        assert found.gap == 0.0

    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("seed", range(4))
    def test_is_never_beaten_by_hill(self, criterion, seed):
        X, _ = network(5, seed=seed, n_rows=200, density=0.6)
        best = learn_structure(X, criterion, search="exhaustive")
        found = learn_structure(X, criterion)
        assert found.objective <= best.objective + 1e-9
        assert np.isnan(found.gap)

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_keeps_to_the_largest_degree(self, criterion):
        X = make_markov_model(make_graph(5, "hub", n_hubs=1), rng=1).sample(20_000, rng=0)
        free = learn_structure(X, criterion, search="exhaustive")
        held = learn_structure(X, criterion, search="exhaustive", max_degree=2)
        assert free.value.sum(axis=0).max() > 2
        assert held.value.sum(axis=0).max() == 2
        paths = [np.eye(5, k=1, dtype=bool) | np.eye(5, k=-1, dtype=bool)]
        paths += [paths[0][np.ix_(order, order)] for order in ([1, 0, 2, 3, 4], [1, 0, 4, 2, 3])]
        assert held.objective >= max(log_score(X, path, criterion) for path in paths) - 1e-9
        assert held.objective == pytest.approx(log_score(X, held.value, criterion))

    def test_support_goes_with_the_best_structure(self):
        X, _ = network(5)
        found = learn_structure(X, search="exhaustive")
        for i, j in combinations(range(5), 2):
            share = support(X, found.value, i, j, "bjp")
            sign = 1 if found.value[i, j] else -1
            assert share == pytest.approx(-np.log1p(np.exp(-sign * found.support[i, j])), rel=1e-9)

    def test_too_many_variables(self):
        with raises(InputError, code="too_many_structures", n=8, n_structures=268435456):
            learn_structure(np.zeros((3, 8), dtype=int), search="exhaustive")


class CachedScores:
    """Slow scores that remember tests shared by many structures."""

    def __init__(self, rows, levels, criterion, options):
        self.criterion, self.options, self.known = criterion, options, {}
        self.rows, self.levels = rows, levels

    def __call__(self, blankets):
        n, options = len(self.levels), dict(self.options)
        if self.criterion == "mpl":
            return sum(self._family(j, blankets[j]) for j in range(n))
        ties = options.pop("ties", "index")
        degree = [len(blanket) for blanket in blankets]
        total = 0.0
        for i, j in combinations(range(n), 2):
            parts = [self._assertion(blankets, u, v, options) for u, v in ((i, j), (j, i))]
            if self.criterion == "ib":
                total += sum(parts)
            elif ties == "mean" and degree[i] == degree[j]:
                total += sum(parts) / 2
            else:
                total += parts[int(degree[j] < degree[i])]
        return total

    def _assertion(self, blankets, i, j, options):
        key = i, j, frozenset(blankets[i])
        if key not in self.known:
            self.known[key] = slow_blankets.assertion(
                self.rows, self.levels, blankets, i, j, **options
            )
        return self.known[key]

    def _family(self, j, blanket):
        key = j, frozenset(blanket)
        if key not in self.known:
            alone = [set() for _ in self.levels]
            changed = [set() for _ in self.levels]
            changed[j] = blanket
            self.known[key] = slow_blankets.mpl(
                self.rows, self.levels, changed, **self.options
            ) - slow_blankets.mpl(self.rows, self.levels, alone, **self.options)
            self.known[key] += slow_blankets.mpl(
                [(row[j],) for row in self.rows], (self.levels[j],), [set()], **self.options
            )
        return self.known[key]


class TestMarginalPseudoLikelihood:
    def test_global_climb_gains_with_every_flip(self):
        X, _ = network(8, n_rows=600, levels=[2, 3, 2, 2, 4, 2, 2, 3])
        found = learn_structure(X, "mpl")
        scores = [log_score(X, graph, "mpl") for graph in graphs_along(found)]
        np.testing.assert_allclose(found.history, scores, rtol=1e-12)
        assert (np.diff(found.history) > 0).all()
        np.testing.assert_array_equal(list(graphs_along(found))[-1], found.value)
        assert found.objective == pytest.approx(found.history[-1], rel=1e-12)

    def test_support_is_what_the_score_gains_by_the_edge(self):
        X, _ = network(6, n_rows=300)
        found = learn_structure(X, "mpl")
        for i, j in combinations(range(6), 2):
            scores = []
            for is_joined in (False, True):
                graph = found.value.copy()
                graph[i, j] = graph[j, i] = is_joined
                scores.append(log_score(X, graph, "mpl"))
            assert found.support[i, j] == pytest.approx(scores[1] - scores[0], abs=1e-9)

    def test_combinations_of_the_blankets(self):
        X, _ = network(9, seed=2, n_rows=150, density=0.5)
        chosen = np.stack([greedy_blanket(X, i) for i in range(9)])
        both, either, climbed = (
            learn_structure(X, "mpl", search=search).value for search in ("and", "or", "hill")
        )
        np.testing.assert_array_equal(both, chosen & chosen.T)
        np.testing.assert_array_equal(either, chosen | chosen.T)
        assert both.sum() < either.sum()
        assert not (climbed & ~either).any()
        assert (climbed != both).any() or (climbed != either).any()

    def test_options_change_the_search(self):
        X, _ = network(9, seed=2, n_rows=150, density=0.5)
        found = [
            learn_structure(X, "mpl", **options).value.tobytes()
            for options in ({}, {"ess": 100.0}, {"cell": 0.5}, {"max_degree": 1})
        ]
        assert len(set(found)) == 4


def greedy_blanket(X, i):
    """Pensar's search for one blanket, family by family."""

    def score(blanket):
        rows = [tuple(row) for row in X[:, [i, *sorted(blanket)]].tolist()]
        levels = (2,) * (1 + len(blanket))
        blankets = [set(range(1, 1 + len(blanket))), *[set() for _ in blanket]]
        others = [set() for _ in levels]
        own = [tuple(row[:1]) for row in rows]
        return (
            slow_blankets.mpl(rows, levels, blankets)
            - slow_blankets.mpl(rows, levels, others)
            + slow_blankets.mpl(own, (2,), [set()])
        )

    blanket = frozenset()
    while True:
        larger = [blanket | {k} for k in range(X.shape[1]) if k != i and k not in blanket]
        best = max(larger, key=score)
        if score(best) <= score(blanket):
            is_member = np.zeros(X.shape[1], dtype=bool)
            is_member[sorted(blanket)] = True
            return is_member
        blanket = best
        while len(blanket) > 2:
            best = max((blanket - {k} for k in sorted(blanket)), key=score)
            if score(best) <= score(blanket):
                break
            blanket = best


class TestResults:
    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("search", ["hill", "exhaustive"])
    def test_true_graph_wins_with_many_rows(self, criterion, search):
        model = MarkovModel.from_potentials(
            [(0, 1, 2), (2, 3)],
            [np.log([[[4.0, 1], [1, 2]], [[1, 3], [2, 1]]]), np.log([[3.0, 1], [1, 2]])],
        )
        for seed in (1, 2, 3):
            X = model.sample(200_000, rng=seed)
            found = learn_structure(X, criterion, search=search)
            np.testing.assert_array_equal(found.value, model.adjacency)

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_chain_of_many_variables(self, criterion):
        model = chain(15)
        found = learn_structure(model.sample(3000, rng=0), criterion).value
        assert found[model.adjacency].all()
        assert found[~model.adjacency].sum() / 2 <= 2

    def test_hub_with_more_leaves_than_bits(self):
        rng = np.random.default_rng(0)
        hub = rng.integers(0, 2, (2000, 1))
        X = np.hstack([hub, np.where(rng.random((2000, 70)) < 0.75, hub, 1 - hub)])
        found = learn_structure(X).value
        assert found[0].sum() == 70
        assert found[1:, 1:].sum() / 2 < 70

    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("max_degree", [0, 1, 2])
    def test_largest_degree_is_kept(self, criterion, max_degree):
        X = chain(8).sample(1000, rng=0)
        found = learn_structure(X, criterion, max_degree=max_degree)
        assert found.value.sum(axis=1).max() == max_degree

    def test_blankets_do_not_run_away_with_shared_out_pseudocounts(self):
        model = make_markov_model(load_network("karate").adjacency, rng=1)
        X = model.sample(100, rng=2)
        degree, free, even = (
            learn_structure(X, **options).value.sum(axis=1).max()
            for options in (
                {"pseudocount": "bdeu"},
                {"pseudocount": "bdeu", "max_degree": 33},
                {},
            )
        )
        assert even < degree == 2 + 7 < free

    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("n_rows", [0, 1])
    def test_nothing_to_learn_from(self, criterion, n_rows):
        X = np.zeros((n_rows, 4), dtype=int)
        for search in ("hill", "exhaustive"):
            found = learn_structure(X, criterion, search=search, cardinalities=2)
            assert not found.value.any()

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_one_variable(self, criterion):
        X = np.array([[0], [1], [1]])
        for search in ("hill", "exhaustive"):
            found = learn_structure(X, criterion, search=search)
            assert found.value.shape == (1, 1)
            assert not found.value.any()

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_constant_column_does_no_harm(self, criterion):
        model = chain(5)
        X = model.sample(1000, rng=0)
        X = np.insert(X, 2, 0, axis=1)
        others = [0, 1, 3, 4, 5]
        alone = learn_structure(X[:, others], criterion)
        for cardinalities in (None, 2):
            found = learn_structure(X, criterion, cardinalities=cardinalities)
            np.testing.assert_array_equal(found.value[np.ix_(others, others)], alone.value)
            assert not found.value[2].any()

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_identical_columns_are_joined_and_the_rest_is_learned(self, criterion):
        model = chain(5)
        X = model.sample(2000, rng=0)
        found = learn_structure(np.column_stack([X, X[:, 0]]), criterion)
        assert found.value[0, 5]
        np.testing.assert_array_equal(found.value[2:5, 2:5], model.adjacency[2:, 2:])
        assert np.isfinite(found.support).all()

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_order_of_columns_and_rows(self, criterion):
        X, _ = network(7, seed=5, n_rows=500)
        found = learn_structure(X, criterion, ties="mean")
        order = np.random.default_rng(1).permutation(7)
        permuted = learn_structure(X[:, order], criterion, ties="mean")
        np.testing.assert_array_equal(permuted.value, found.value[np.ix_(order, order)])
        assert permuted.objective == pytest.approx(found.objective, rel=1e-12)
        shuffled = learn_structure(np.random.default_rng(2).permutation(X), criterion, ties="mean")
        np.testing.assert_array_equal(shuffled.value, found.value)
        np.testing.assert_array_equal(shuffled.history, found.history)

    @pytest.mark.parametrize(
        ("criterion", "search"),
        [("bjp", "hill"), ("ib", "hill"), ("mpl", "hill"), ("bjp", "exhaustive")],
    )
    def test_pairs_that_tie_are_told_apart_by_the_data(self, criterion, search):
        # In small tables pairs often have the same counts, and then the same support.
        options = {"criterion": criterion, "search": search, "ties": "mean"}
        for seed in (16, 18, 21, 115) if search == "hill" else (16,):
            rng = np.random.default_rng(seed)
            X = rng.integers(0, 2, (60, 6))
            X[:, 1:] = np.where(rng.random((60, 5)) < 0.7, X[:, :-1], X[:, 1:])
            X = X if search == "hill" else X[:, :5]
            found = learn_structure(X, **options)
            for order in (np.arange(X.shape[1])[::-1], rng.permutation(X.shape[1])):
                turned = learn_structure(X[::-1, order], **options)
                np.testing.assert_array_equal(turned.value, found.value[np.ix_(order, order)])
                np.testing.assert_array_equal(
                    np.sort(order[turned.flips], axis=1), np.sort(found.flips, axis=1)
                )

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_same_every_time(self, criterion):
        X, _ = network(7)
        one, two = learn_structure(X, criterion), learn_structure(X, criterion)
        np.testing.assert_array_equal(one.value, two.value)
        np.testing.assert_array_equal(one.history, two.history)
        np.testing.assert_array_equal(one.support, two.support)

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_levels_that_never_occur_count(self, criterion):
        X, _ = network(5)
        seen = learn_structure(X, criterion)
        declared = learn_structure(X, criterion, cardinalities=4)
        assert declared.objective != pytest.approx(seen.objective, abs=1e-3)
        assert declared.objective == log_score(X, declared.value, criterion, cardinalities=4)


def test_ways_back_are_flips_to_graphs_seen():
    rng = np.random.default_rng(0)
    pairs = list(combinations(range(4), 2))
    flips, graph, seen = [], frozenset(), [frozenset()]
    for _ in range(40):
        back = set(blanket_search._ways_back(flips))
        assert back == {pair for pair in pairs if graph ^ {pair} in seen}
        free = [pair for pair in pairs if pair not in back]
        if not free:
            break
        flips.append(free[rng.integers(len(free))])
        graph ^= {flips[-1]}
        seen.append(graph)
    assert len(flips) > 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"search": "greedy"}, "invalid_value"),
        ({"criterion": "bic"}, "discrete_criterion"),
        ({"criterion": "mpl", "search": "xor"}, "invalid_value"),
        ({"search": "or"}, "invalid_value"),
        ({"patience": 0}, "patience_range"),
        ({"max_degree": -1}, "max_degree_range"),
        ({"criterion": "mpl", "search": "or", "max_degree": 2}, "combine_or_max_degree"),
        ({"X": np.array([[0.5, 1.0]])}, "codes_not_integers"),
        ({"ties": "random"}, "ties_choice"),
    ],
)
def test_bad_input_is_named(change, message):
    with raises(InputError, code=message):
        learn_structure(**({"X": np.zeros((4, 3), dtype=int)} | change))
