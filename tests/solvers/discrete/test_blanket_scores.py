import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError
from edgewise.solvers import independence_logposterior, log_score
from edgewise.solvers.discrete.counts import CodedTable, _scatter, count_groups, number_codes
from edgewise.solvers.discrete.scores import IndependenceRows, ScoreSettings, code_table
from tests.messages import raises
from tests.oracle import slow_blankets

EXACT = {"rel": 1e-11, "abs": 1e-11}
MIXED = (2, 3, 2, 4)
ANY_CODE = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5)


def draw(levels, n_rows, seed=0, unused=()):
    """Rows in which each column leans on the one before; the last level of some never occurs."""
    rng = np.random.default_rng(seed)
    top = [r - (k in unused) for k, r in enumerate(levels)]
    X = np.column_stack([rng.integers(0, r, n_rows) for r in top])
    for k in range(1, len(levels)):
        follows = rng.random(n_rows) < 0.4
        X[follows, k] = X[follows, k - 1] % top[k]
    return X


def adjacency_of(blankets):
    adjacency = np.zeros((len(blankets), len(blankets)), dtype=bool)
    for i, blanket in enumerate(blankets):
        adjacency[i, sorted(blanket)] = True
    return adjacency


def rows_of(X):
    return [tuple(row) for row in np.asarray(X).tolist()]


def row(X, i, members, cardinalities=None, **options):
    """-log P(independent) of i with every other, by the row kernel."""
    return row_of(code_table(X, cardinalities), i, members, **options)


def row_of(data, i, members, **options):
    return IndependenceRows(data, ScoreSettings.checked(**options)).row(i, np.array(members, int))


def counted(counts):
    """Rows of every group with its table, slice by slice, whatever the groups are numbered by."""
    found = {}
    for first, last, total in zip(
        counts.starts[:-1], counts.starts[1:], counts.slice_totals, strict=True
    ):
        groups = {
            tuple(counts.levels[g]): (counts.totals[g], tuple(counts.tables[counts.places[g]]))
            for g in range(first, last)
        }
        (given,) = {levels[1:] for levels in groups}
        assert given not in found
        found[given] = total, groups
    return found


def slow_row(X, i, members, levels, **options):
    rows = rows_of(X)
    against = np.zeros(len(levels))
    for k in set(range(len(levels))) - {i}:
        given = [m for m in members if m != k]
        against[k] = -slow_blankets.independence(rows, levels, i, k, given, **options)[0]
    return against


class TestAgainstSlowScores:
    @pytest.mark.parametrize(
        ("levels", "unused"), [((2, 2, 2, 2), ()), (MIXED, ()), ((3, 2, 4, 1), (0, 2))]
    )
    @pytest.mark.parametrize(
        ("criterion", "options"),
        [
            ("bjp", {}),
            ("bjp", {"pseudocount": 0.5, "prior": 0.2}),
            ("bjp", {"pseudocount": "bdeu"}),
            ("bjp", {"pseudocount": "bdeu", "ess": 5.0, "prior": 0.2, "ties": "mean"}),
            ("bjp", {"ties": "mean"}),
            ("ib", {}),
            ("ib", {"pseudocount": 0.5, "prior": 0.2}),
            ("ib", {"pseudocount": "bdeu", "ess": 5.0}),
            ("mpl", {}),
            ("mpl", {"ess": 5.0}),
            ("mpl", {"cell": 0.5}),
        ],
    )
    def test_all_graphs_on_four_nodes(self, levels, unused, criterion, options):
        X = draw(levels, 40, unused=unused)
        rows = rows_of(X)
        for blankets in slow_blankets.all_graphs(4):
            expected = slow_blankets.SCORES[criterion](rows, levels, blankets, **options)
            ours = log_score(X, adjacency_of(blankets), criterion, cardinalities=levels, **options)
            assert ours == pytest.approx(expected, **EXACT)

    @pytest.mark.parametrize("levels", [(2,) * 16, (2, 3, 2, 4, 2, 2, 3, 2, 2, 5, 2, 3, 2, 2)])
    def test_rows_for_blankets_of_any_size(self, levels):
        # From some size on there is no place for every group that could occur.
        X = draw(levels, 150, seed=1)
        for size in range(len(levels)):
            members = [k for k in range(len(levels)) if k != 4][:size]
            for options in ({}, {"pseudocount": "bdeu", "ess": 2.0}):
                ours = row(X, 4, members, **options)
                expected = slow_row(X, 4, members, levels, **options)
                ours[4] = 0.0
                np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-10)

    def test_many_rows(self):
        X = draw((2, 2, 3), 30_000, seed=2)
        for members in ([], [1], [1, 2]):
            for pseudocount in (1.0, "bdeu"):
                ours = row(X, 0, members, pseudocount=pseudocount)
                expected = slow_row(X, 0, members, (2, 2, 3), pseudocount=pseudocount)
                np.testing.assert_allclose(ours[1:], expected[1:], rtol=1e-9, atol=1e-8)

    @settings(max_examples=25, deadline=None)
    @given(
        st.lists(st.integers(1, 5), min_size=3, max_size=6),
        st.integers(0, 60),
        st.integers(0, 10**6),
        st.sampled_from([0.3, 1.0, 7.0, "bdeu"]),
        st.floats(0.01, 0.99),
    )
    def test_independence_of_any_two(self, levels, n_rows, seed, pseudocount, prior):
        X = draw(levels, n_rows, seed=seed)
        order = np.random.default_rng(seed).permutation(len(levels)).tolist()
        i, j, *others = order
        options = {"pseudocount": pseudocount, "prior": prior}
        ours = independence_logposterior(X, i, j, others, cardinalities=levels, **options)
        expected = slow_blankets.independence(rows_of(X), levels, i, j, others, **options)
        assert ours == pytest.approx(expected, rel=1e-9, abs=1e-10)
        turned = independence_logposterior(X, j, i, others[::-1], cardinalities=levels, **options)
        assert turned == pytest.approx(ours, rel=1e-9, abs=1e-10)
        assert np.exp(ours).sum() == pytest.approx(1.0)


class TestStructureOfTheScores:
    def test_hub_term_by_term(self):
        X = draw((2, 2, 2, 2), 100, seed=3)
        hub = adjacency_of([{1, 2, 3}, {0}, {0}, {0}])
        expected = (
            independence_logposterior(X, 1, 2, [0])[0]
            + independence_logposterior(X, 1, 3, [0])[0]
            + independence_logposterior(X, 2, 3, [0])[0]
            + independence_logposterior(X, 1, 0)[1]
            + independence_logposterior(X, 2, 0)[1]
            + independence_logposterior(X, 3, 0)[1]
        )
        assert log_score(X, hub) == pytest.approx(expected, **EXACT)

    def test_hub_takes_each_pair_twice_in_ib(self):
        X = draw((2, 2, 2, 2), 100, seed=3)
        hub = adjacency_of([{1, 2, 3}, {0}, {0}, {0}])
        from_the_hub = sum(
            independence_logposterior(X, 0, k, [m for m in (1, 2, 3) if m != k])[1]
            for k in (1, 2, 3)
        )
        between_leaves = sum(
            independence_logposterior(X, j, k, [0])[0] for j, k in ((1, 2), (1, 3), (2, 3))
        )
        assert log_score(X, hub, "ib") == pytest.approx(
            log_score(X, hub) + from_the_hub + between_leaves, **EXACT
        )

    def test_flipped_pair_turns_into_its_complement(self):
        X = draw((2, 3, 2), 50, seed=4)
        settings_ = ScoreSettings()
        rows = IndependenceRows(code_table(X, None), settings_)
        apart = adjacency_of([{1}, {0}, set()])
        joined = adjacency_of([{1, 2}, {0}, {0}])
        parts = [rows.assertions(graph, 0)[2] for graph in (apart, joined)]
        assert np.exp(parts).sum() == pytest.approx(1.0, abs=1e-14)

    def test_mean_of_ties_does_not_depend_on_the_order(self):
        X = draw((2, 2, 3, 2), 80, seed=5)
        ring = adjacency_of([{1, 3}, {0, 2}, {1, 3}, {0, 2}])
        turned = X[:, ::-1]
        assert log_score(turned, ring, ties="mean") == pytest.approx(
            log_score(X, ring, ties="mean"), **EXACT
        )
        assert log_score(turned, ring) != pytest.approx(log_score(X, ring), abs=1e-3)

    @pytest.mark.parametrize(
        ("criterion", "option", "acts"),
        [
            ("bjp", {"pseudocount": 2.0}, True),
            ("bjp", {"pseudocount": "bdeu"}, True),
            ("bjp", {"prior": 0.3}, True),
            ("bjp", {"ties": "mean"}, True),
            ("bjp", {"ess": 3.0}, False),
            ("bjp", {"cell": 3.0}, False),
            ("ib", {"pseudocount": 2.0}, True),
            ("ib", {"prior": 0.3}, True),
            ("ib", {"ties": "mean"}, False),
            ("mpl", {"ess": 3.0}, True),
            ("mpl", {"cell": 3.0}, True),
            ("mpl", {"pseudocount": 2.0}, False),
            ("mpl", {"prior": 0.3}, False),
            ("mpl", {"ties": "mean"}, False),
            ("bjp", {"cardinalities": [2, 2, 4, 2]}, True),
            ("mpl", {"cardinalities": [2, 2, 4, 2]}, True),
        ],
    )
    def test_options_act_where_they_are_for(self, criterion, option, acts):
        X = draw((2, 2, 3, 2), 80, seed=5)
        path = adjacency_of([{1}, {0, 2}, {1, 3}, {2}])
        default = log_score(X, path, criterion)
        assert (abs(log_score(X, path, criterion, **option) - default) > 1e-6) == acts


class TestExtremes:
    @pytest.mark.parametrize("prior", [0.5, 0.2])
    @pytest.mark.parametrize("pseudocount", [1.0, "bdeu"])
    @pytest.mark.parametrize(
        "X",
        [
            np.empty((0, 3), dtype=np.uint8),
            np.array([[1, 0, 1]]),
            np.array([[1, 0, 0], [0, 1, 1], [1, 1, 2]]),
        ],
        ids=["no rows", "one row", "one row in every slice"],
    )
    def test_no_information_leaves_the_prior(self, X, pseudocount, prior):
        found = independence_logposterior(
            X, 0, 1, [2], cardinalities=[2, 2, 3], pseudocount=pseudocount, prior=prior
        )
        assert found == pytest.approx((np.log(prior), np.log(1 - prior)), abs=1e-14)

    @pytest.mark.parametrize("criterion", ["bjp", "ib", "mpl"])
    def test_no_rows_have_a_score(self, criterion):
        X = np.empty((0, 3), dtype=np.uint8)
        n_assertions = {"bjp": 3, "ib": 6, "mpl": 0}[criterion]
        for graph in (np.zeros((3, 3), dtype=bool), ~np.eye(3, dtype=bool)):
            score = log_score(X, graph, criterion, cardinalities=2)
            assert score == pytest.approx(n_assertions * np.log(0.5))

    def test_certain_dependence(self):
        X = np.repeat([[0, 0], [1, 1]], 50_000, axis=0)
        independent, dependent = independence_logposterior(X, 0, 1)
        assert -np.inf < independent < -60_000
        assert dependent == 0.0

    def test_strong_independence_keeps_its_logarithm(self):
        X = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (20_000, 1))
        prior = 1 - 1e-9
        independent, dependent = independence_logposterior(X, 0, 1, prior=prior)
        expected = slow_blankets.independence(rows_of(X), (2, 2), 0, 1, prior=prior)
        assert dependent == pytest.approx(expected[1], rel=1e-8)
        assert -1e-10 < independent < 0.0

    def test_a_constant_column_says_nothing(self):
        X = np.column_stack([draw((2, 2), 50), np.zeros(50, dtype=int)])
        assert independence_logposterior(X, 0, 2, [1]) == pytest.approx((np.log(0.5),) * 2)

    def test_thousand_levels_take_memory_for_those_that_occur(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.integers(0, 1000, (2000, 3)), rng.integers(0, 2, (2000, 4))])
        levels = [1000] * 3 + [2] * 4
        tracemalloc.start()
        against = row(X, 0, [1, 2, 3, 4], levels)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100e6
        expected = slow_row(X, 0, [1, 2, 3, 4], levels)
        np.testing.assert_allclose(against[1:], expected[1:], rtol=1e-9)


class TestCounting:
    @pytest.mark.parametrize("members", [[], [1], [1, 2, 3]])
    def test_pieces_add_up_to_the_whole(self, members):
        whole = code_table(draw((2, 3, 2, 4, 2), 1000, seed=6), None)
        pieces = replace(whole, chunk_bytes=32 * 7)
        np.testing.assert_array_equal(row_of(pieces, 0, members), row_of(whole, 0, members))
        chosen = np.array(members, int)
        expected = counted(count_groups(whole, 0, chosen))
        for data in (whole, pieces):
            # Groups that are looked up are those that have a place of their own.
            assert counted(count_groups(data, 0, chosen, direct_bytes=0)) == expected

    def test_equal_rows_are_counted_once(self):
        X = draw((2, 3, 2), 1000, seed=7).astype(np.uint8)
        levels = np.array([2, 3, 2])
        collapsed = CodedTable.from_codes(X, levels)
        assert len(collapsed.X) <= 12 < collapsed.n_samples == 1000
        pieces = CodedTable.from_codes(X, levels, chunk_bytes=32 * 7)
        np.testing.assert_array_equal(pieces.weight, collapsed.weight)
        plain = CodedTable(X=X, cardinalities=levels, offsets=collapsed.offsets)
        for members in ([], [0], [0, 2]):
            ours, theirs = (row_of(data, 1, members) for data in (collapsed, plain))
            np.testing.assert_array_equal(ours, theirs)

    def test_file_larger_than_the_memory_in_use(self, tmp_path):
        n_rows, n_columns = 100_000, 300
        mapped = np.memmap(tmp_path / "x", dtype=np.uint8, mode="w+", shape=(n_rows, n_columns))
        mapped[:] = np.random.default_rng(0).integers(0, 2, (n_rows, 1))
        mapped[::7, 1] = 0
        mapped.flush()
        mapped = np.memmap(tmp_path / "x", dtype=np.uint8, mode="r", shape=(n_rows, n_columns))
        data = replace(code_table(mapped, None), chunk_bytes=2**20)
        assert np.shares_memory(data.X, mapped)
        tracemalloc.start()
        found = row_of(data, 0, [2])[1]
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < mapped.nbytes / 2
        assert found == row(np.array(mapped[:, :3]), 0, [2])[1]

    @pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.int32, bool, object])
    def test_type_of_the_codes_makes_no_difference(self, dtype):
        X = draw((2, 2, 2), 60, seed=8)
        expected = independence_logposterior(X.astype(np.uint8), 0, 1, [2])
        codes = X.tolist() if dtype is object else X.astype(dtype)
        assert independence_logposterior(codes, 0, 1, [2]) == expected
        if dtype is not object:
            assert independence_logposterior(np.asfortranarray(codes), 0, 1, [2]) == expected

    def test_read_only_data(self):
        X = draw((2, 2, 2), 60, seed=8).astype(np.uint8)
        expected = independence_logposterior(X, 0, 1, [2])
        X.flags.writeable = False
        assert independence_logposterior(X, 0, 1, [2]) == expected

    def test_levels_up_to_the_largest_seen_by_default(self):
        X = draw((2, 3, 2), 60, seed=9)
        expected = independence_logposterior(X, 0, 1, cardinalities=[2, 3, 2])
        assert independence_logposterior(X, 0, 1) == expected
        assert independence_logposterior(X, 0, 1, cardinalities=3) != expected

    @pytest.mark.parametrize("pseudocount", [1.0, "bdeu"])
    def test_more_configurations_than_integers(self, pseudocount):
        rng = np.random.default_rng(0)
        hub = rng.integers(0, 2, (80, 1))
        X = np.where(rng.random((80, 72)) < 0.97, hub, 1 - hub)
        levels = (2,) * 72
        for data in (code_table(X, None), replace(code_table(X, None), chunk_bytes=96 * 7)):
            for size in (61, 62, 70):
                members = list(range(1, 1 + size))
                ours = row_of(data, 0, members, pseudocount=pseudocount)
                expected = slow_row(X, 0, members, levels, pseudocount=pseudocount)
                np.testing.assert_allclose(ours[1:], expected[1:], rtol=1e-9)

    @pytest.mark.parametrize("criterion", ["bjp", "ib", "mpl"])
    def test_scores_of_a_hub_with_more_configurations_than_integers(self, criterion):
        X = draw((2, 3) * 25, 60, seed=6)
        star = [set(range(1, 50)), *[{0}] * 49]
        expected = slow_blankets.SCORES[criterion](rows_of(X), (2, 3) * 25, star)
        assert log_score(X, adjacency_of(star), criterion) == pytest.approx(expected, rel=1e-10)

    def test_more_configurations_than_floats(self):
        X = np.repeat(np.random.default_rng(0).integers(0, 2, (9, 1)), 1100, axis=1)
        star = adjacency_of([set(range(1, 1100)), *[{0}] * 1099])
        assert np.isfinite(log_score(X, star, "mpl"))
        assert np.isfinite(row(X, 0, range(1, 1099), pseudocount="bdeu")).all()

    def test_counts_are_those_of_numpy(self):
        X = draw((2, 3, 4, 2), 500, seed=10).astype(np.uint8)
        counts = count_groups(code_table(X, None), 1, np.array([0, 3]))
        group = X[:, 1] + 3 * X[:, 0] + 6 * X[:, 3]
        codes, totals = np.unique(group, return_counts=True)
        np.testing.assert_array_equal(counts.codes, codes)
        np.testing.assert_array_equal(counts.levels, np.unique(X[:, [3, 0, 1]], axis=0)[:, ::-1])
        np.testing.assert_array_equal(counts.totals, totals)
        first = np.flatnonzero(np.diff(codes // 3, prepend=-1))
        np.testing.assert_array_equal(counts.starts, [*first, len(codes)])
        np.testing.assert_array_equal(counts.slice_totals, np.add.reduceat(totals, first))
        table = counts.tables[counts.places[2]]
        seen = np.bincount(X[group == codes[2], 2], minlength=4)
        np.testing.assert_array_equal(table[3:6], seen[1:])

    @pytest.mark.parametrize("shift", [0, 13, 20, 31, 40, 50])
    def test_codes_that_differ_in_few_bits_are_found_quickly(self, shift):
        codes = np.arange(4096) << shift
        places = np.array([_scatter(code) & 8191 for code in codes.tolist()])
        assert len(np.unique(places)) > 2500

    @settings(max_examples=20, deadline=None)
    @given(st.lists(ANY_CODE, max_size=40), st.sets(ANY_CODE, max_size=9))
    def test_numbers_of_codes(self, codes, known):
        old = np.array(sorted(known), dtype=np.int64)
        numbers = np.array(codes, dtype=np.int64)
        names, met = number_codes(numbers, old)
        np.testing.assert_array_equal(names[: len(old)], old)
        assert names[numbers].tolist() == codes
        assert len(names) == len(known | set(codes))
        assert names[len(old) :].tolist() == [codes[q] for q in met.tolist()]
        assert met.tolist() == [codes.index(name) for name in names[len(old) :].tolist()]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros(4, dtype=int)}, "codes_two_dimensional"),
        ({"X": np.zeros((4, 0), dtype=int)}, "codes_two_dimensional"),
        ({"X": np.zeros((4, 3))}, "codes_not_integers"),
        ({"X": np.array([[0, 1, -1]])}, "codes_out_of_range"),
        ({"X": np.array([[0, 1, 2]]), "cardinalities": 2}, "codes_out_of_range"),
        ({"cardinalities": [2, 2]}, "cardinalities_type"),
        ({"cardinalities": [2.0, 2.0, 2.0]}, "cardinalities_type"),
        ({"pseudocount": 0.0}, "pseudocount_range"),
        ({"pseudocount": "uniform"}, "pseudocount_range"),
        ({"pseudocount": np.nan}, "pseudocount_range"),
        ({"prior": 0.0}, "discrete_prior_range"),
        ({"prior": 1.0}, "discrete_prior_range"),
        ({"ess": 0.0}, "above_zero"),
        ({"ess": np.inf}, "above_zero"),
        ({"i": 1}, "score_indices"),
        ({"given": [2, 2]}, "score_indices"),
        ({"given": [0]}, "score_indices"),
        ({"j": 3}, "score_indices"),
        ({"i": -1}, "score_indices"),
    ],
)
def test_bad_tests_are_named(change, message):
    arguments = {"X": np.zeros((4, 3), dtype=int), "i": 0, "j": 1} | change
    with raises(InputError, code=message):
        independence_logposterior(**arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"adjacency": np.zeros((2, 2))}, "joined_column_count"),
        ({"adjacency": np.eye(3)}, "adjacency_self_loop"),
        ({"adjacency": np.tri(3, k=-1)}, "adjacency_asymmetric"),
        ({"adjacency": np.zeros((3, 2))}, "adjacency_not_square"),
        ({"criterion": "bic"}, "discrete_criterion"),
        ({"ties": "first"}, "ties_choice"),
        ({"criterion": "mpl", "cell": 0.0}, "above_zero"),
    ],
)
def test_bad_structures_are_named(change, message):
    arguments = {"X": np.zeros((4, 3), dtype=int), "adjacency": np.zeros((3, 3))} | change
    with raises(InputError, code=message):
        log_score(**arguments)
