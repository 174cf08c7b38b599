"""Tests of several networks: against enumeration, in designs of every kind, and bad input."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.inference import Design, compare_networks
from edgewise.inference.comparison import holm
from edgewise.inference.design import Units, is_decided
from edgewise.inference.networks import pose
from tests.messages import raises


def rows(seed: int, n: int, p: int = 3) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(n, p))


def labels_of(shuffles: Any) -> list[tuple[int, ...]]:
    """Group of each row in each shuffle."""
    found = []
    for order, sizes in zip(*shuffles, strict=True):
        label = np.empty(len(order), dtype=int)
        label[order] = np.repeat(np.arange(len(sizes)), sizes)
        found.append(tuple(label.tolist()))
    return found


class TestEnumeration:
    """All ways to deal out the labels of whole clusters, by the plainest code."""

    lengths = (4, 3, 5, 2, 3, 4)
    groups = (0, 0, 1, 1, 2, 2)

    def scores(self, values: FloatArray, cluster: IntArray) -> FloatArray:
        """Centre and scale by moments that are means over clusters of means over their rows."""
        own = [values[cluster == one] for one in np.unique(cluster)]
        centred = values - np.mean([part.mean(axis=0) for part in own], axis=0)
        squares = [np.mean(centred[cluster == one] ** 2, axis=0) for one in np.unique(cluster)]
        return np.asarray(centred / np.sqrt(np.mean(squares, axis=0)))

    def spread(self, scores: FloatArray, label: IntArray) -> FloatArray:
        """Squares between the groups of the correlations of three columns."""
        upper = np.triu_indices(3, 1)
        found = [np.corrcoef(scores[label == k], rowvar=False)[upper] for k in range(3)]
        sizes, square = np.bincount(label), np.zeros(3)
        for k, m in ((0, 1), (0, 2), (1, 2)):
            square += sizes[k] * sizes[m] / sizes.sum() * (found[k] - found[m]) ** 2
        return square

    def test_p_values_are_shares_of_all_dealings(self) -> None:
        y, cluster = (np.repeat(what, self.lengths) for what in (self.groups, range(6)))
        X = rows(1, len(y))
        X[y == 2, 1] += X[y == 2, 0]
        design = Design(clusters=cluster)
        test = compare_networks(X, y, design=design, ranks=False, n_permutations=99)
        assert test.n_permutations == 89
        scores = np.concatenate([self.scores(X[y == k], cluster[y == k]) for k in range(3)])
        # Means of six clusters without those of three groups vary by 3 / 5 of what means do.
        means = np.array([scores[cluster == one].mean(axis=0) for one in range(6)])
        dealt = scores + (np.sqrt(5 / 3) - 1) * means[cluster]
        ways = sorted(set(permutations(self.groups)))
        labels = [np.repeat(way, self.lengths) for way in ways]
        every = np.array(
            [self.spread(scores, labels[0]), *(self.spread(dealt, one) for one in labels[1:])]
        )
        observed = test.marginal.observed.weights[np.triu_indices(3, 1)]
        t = np.sqrt(every) * observed / np.sqrt(every[0])
        upper = np.triu_indices(3, 1)
        single = np.mean(t >= t[0] * (1 - 1e-12), axis=0)
        np.testing.assert_allclose(test.marginal.pvalues[upper], single)
        largest = t.max(axis=1)
        by_family = np.mean(largest[:, None] >= t[0] * (1 - 1e-12), axis=0)
        np.testing.assert_allclose(test.marginal.familywise[upper], by_family)
        many = (t**2).sum(axis=1)
        assert test.pvalues["correlations, many"] == np.mean(many >= many[0] * (1 - 1e-12))
        assert test.pvalues["correlations, largest"] == np.mean(largest >= largest[0] * (1 - 1e-12))

    def test_two_groups_are_the_case_of_two(self) -> None:
        X, y = rows(2, 11), np.repeat(["a", "b"], [5, 6])
        two = compare_networks(X, y, n_permutations=500)
        problem, _ = pose(X, y, None, ranks=True, block_length=1)
        assert two.n_permutations == 461
        # Squares between the groups are those of the difference, over its standard error.
        for size, test in zip(problem.spread, (two.marginal, two.partial), strict=True):
            np.testing.assert_allclose(size, np.abs(test.observed.weights), atol=1e-12)
        assert two.groups["pvalue"].tolist() == [two.pvalue]
        edges, table = two.edges, two.table()
        assert table[["source", "target"]].equals(edges[["source", "target"]])
        np.testing.assert_array_equal(table["difference"], edges["b"] - edges["a"])
        np.testing.assert_array_equal(
            table["correlation_difference"], edges["correlation_b"] - edges["correlation_a"]
        )
        for name in ("pvalue", "qvalue", "pvalue_familywise", "correlation_pvalue_familywise"):
            np.testing.assert_array_equal(table[name], edges[name])

    def test_two_pairs_have_four_ways(self) -> None:
        subject, y = np.repeat([0, 0, 1, 1], 6), np.tile(np.repeat([0, 1], 6), 2)
        test = compare_networks(rows(0, 24), y, design=Design(paired=subject))
        assert test.n_permutations == 3
        # Both labels exchanged give the same difference.
        assert test.pvalue in (0.5, 1.0)
        assert set(test.nodes["strength_pvalue"]) <= {0.5, 1.0}


class TestDesigns:
    def test_pairs_exchange_labels_within_subjects(self) -> None:
        subject, member = np.array([2, 0, 1, 0, 2, 1, 1, 0, 2]), np.repeat([0, 1, 2], 3)
        units = Design(paired=subject).units("abc", member)
        assert units.n_labelings == 6**3
        found = labels_of(units.enumerate())
        in_order = subject[units.order]
        expected = set()
        for ways in product(permutations(range(3)), repeat=3):
            left = [list(way) for way in ways]
            expected.add(tuple(left[s].pop(0) for s in in_order))
        assert {*found, tuple(member.tolist())} == expected
        for label in labels_of(units.draw(np.random.default_rng(0), 20)):
            for s in range(3):
                assert sorted(np.array(label)[in_order == s]) == [0, 1, 2]

    def test_blocks_keep_their_labels(self) -> None:
        block, member = np.tile([0, 0, 1], 8), np.repeat([0, 1], 12)
        units = Design(blocks=block).units("ab", member)
        drawn = units.draw(np.random.default_rng(0), 200)
        sites = block[units.order]
        for label in np.array(labels_of(drawn)):
            for site in (0, 1):
                np.testing.assert_array_equal(
                    np.bincount(label[sites == site]), np.bincount(member[block == site])
                )
        # Every row gets both labels in about half of the shuffles.
        assert np.abs(np.mean(labels_of(drawn), axis=0) - 0.5).max() < 0.2

    @pytest.mark.parametrize("lengths", [(3, 3, 3, 3), (2, 3, 4, 3)])
    def test_clusters_stay_whole(self, lengths: tuple[int, ...]) -> None:
        cluster, member = np.repeat(range(4), lengths), np.repeat([0, 0, 1, 1], lengths)
        units = Design(clusters=cluster).units("ab", member)
        for label in np.array(labels_of(units.draw(np.random.default_rng(0), 20))):
            assert all(len(set(label[cluster == k])) == 1 for k in range(4))
            assert sorted(label[cluster == k][0] for k in range(4)) == [0, 0, 1, 1]

    def test_clusters_change_groups_within_blocks(self) -> None:
        cluster, member = np.repeat(range(8), 2), np.tile(np.repeat([0, 1], 2), 4)
        block = np.repeat([0, 1], 8)
        units = Design(clusters=cluster, blocks=block).units("ab", member)
        assert units.n_labelings == 36
        assert len(units.enumerate().orders) == 35

    def test_clustered_rows_have_larger_p_values(self) -> None:
        rng = np.random.default_rng(0)
        subject = np.repeat(range(12), 15)
        y = subject % 2
        X = rng.normal(size=(12, 4))[subject] * 2 + rng.normal(size=(180, 4))
        free = compare_networks(X, y, n_permutations=99, random_state=0)
        whole = compare_networks(
            X, y, n_permutations=99, design=Design(clusters=subject), random_state=0
        )
        assert free.pvalue == 0.01
        assert whole.pvalue > 0.05

    def test_means_of_blocks_do_not_count(self) -> None:
        rng = np.random.default_rng(0)
        X, site, y = rows(0, 90), np.repeat(range(3), 30), rng.choice(3, p=[0.5, 0.3, 0.2], size=90)
        moved = X + 5 * rng.normal(size=(3, 3))[site]
        options = {"design": Design(blocks=site), "n_permutations": 39, "random_state": 0}
        plain, shifted = (compare_networks(rows, y, **options) for rows in (X, moved))
        assert plain.pvalues == shifted.pvalues
        np.testing.assert_allclose(plain.networks, shifted.networks, atol=1e-10)

    def test_covariates_are_adjusted_for(self) -> None:
        rng = np.random.default_rng(0)
        y = np.repeat(["a", "b", "c"], 40)
        age = np.concatenate([rng.normal(size=40) * spread for spread in (0.1, 1.0, 3.0)])
        X = rng.normal(size=(120, 4)) + age[:, None]
        plain = compare_networks(X, y, n_permutations=99, random_state=0)
        design = Design(covariates=pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 120)}))
        adjusted = compare_networks(X, y, design=design, n_permutations=99, random_state=0)
        assert plain.pvalue == 0.01
        assert adjusted.pvalue > 0.05

    def test_permuted_residuals_are_adjusted_again(self) -> None:
        X, Z, y = rows(0, 40), rows(1, 40, 2), np.repeat([0, 1], [15, 25])
        design = Design(covariates=Z)
        problem, _ = pose(X, y, design, ranks=False, block_length=1)
        # With 40 rows and two covariates there is room for one more term of each: normal scores.
        scores = stats.norm.ppf(stats.rankdata(Z, axis=0) / 41)
        M = np.column_stack([y == 0, y == 1, Z, scores])
        residuals = X - M @ np.linalg.lstsq(M, X, rcond=None)[0]
        scores = np.concatenate([stats.zscore(residuals[y == k]) for k in (0, 1)])
        shuffles = problem.units.draw(np.random.default_rng(0), 3)
        found, _ = problem.networks(shuffles)
        for b, order in enumerate(shuffles.orders):
            drawn = scores[order]
            again = drawn - M @ np.linalg.lstsq(M, drawn, rcond=None)[0]
            for k in (0, 1):
                R = np.corrcoef(again[y == k], rowvar=False)
                np.testing.assert_allclose(found[k, b, :3, :3], R, atol=1e-10)

    def test_one_group_that_differs_does_not_make_others_differ(self) -> None:
        X, y = rows(0, 180, 5), np.repeat(["a", "b", "c"], 60)
        X[y == "c", 1] += 2 * X[y == "c", 0]
        test = compare_networks(X, y, n_permutations=199, random_state=0)
        table = test.groups.set_index(["first", "second"])
        assert test.pvalue == 1 / 200
        assert table.loc[("a", "b"), "pvalue_holm"] > 0.05
        assert (table.loc[[("a", "c"), ("b", "c")], "pvalue_holm"] <= 0.05).all()
        assert table.loc[("a", "c"), ["source", "target"]].tolist() == ["x0", "x1"]
        differences = test.table()
        assert len(differences) == 30
        is_sure = differences["pvalue_familywise"] <= 0.05
        assert differences.loc[is_sure, "second"].tolist() == ["c", "c"]
        own = test.pairwise["a", "b"].table()
        # Among the pairs of columns of two groups, times three pairs of groups.
        np.testing.assert_allclose(
            differences.loc[differences["second"] == "b", "pvalue_familywise"],
            np.minimum(3 * own["pvalue_familywise"], 1.0),
        )
        edges = test.edges
        is_sure = edges["pvalue_familywise"] <= 0.05
        assert edges.loc[is_sure, ["source", "target"]].values.tolist() == [["x0", "x1"]]
        graph = test.significant(by="familywise")
        assert graph.edges()[["source", "target"]].values.tolist() == [["x0", "x1"]]
        assert graph.weights[0, 1] == np.ptp(test.networks[:, 0, 1])
        nodes = test.nodes
        np.testing.assert_allclose(edges.loc[0, ["a", "b", "c"]].tolist(), test.networks[:, 0, 1])
        assert set(nodes.loc[nodes["links_pvalue_familywise"] <= 0.05, "node"]) == {"x0", "x1"}
        assert "x1" in set(nodes.loc[nodes["strength_qvalue"] <= 0.05, "node"])
        assert test.strengths.argmax() == 2
        np.testing.assert_allclose(test.strengths, np.abs(test.networks).sum(axis=(1, 2)) / 2)

    def test_groups_that_no_covariate_tells_apart_are_named_before_the_work(self) -> None:
        rng = np.random.default_rng(0)
        y = np.repeat(["a", "b", "c"], 20)
        batch = np.concatenate([np.tile(["1", "2"], 10), np.repeat("1", 20), np.repeat("2", 20)])
        design = Design(covariates=pd.DataFrame({"batch": batch}))
        test = compare_networks(
            rng.normal(size=(60, 3)), y, design=design, n_permutations=19, random_state=0
        )
        assert list(test.pairwise) == [("a", "b"), ("a", "c")]
        assert "'batch' is collinear" in test.untested["b", "c"]
        assert len(test.groups) == 2


class TestRun:
    def test_does_not_depend_on_jobs(self) -> None:
        X, y = rows(0, 60, 4), np.repeat([0, 1, 2], 20)
        with joblib.parallel_config(backend="threading"):
            one, two = (
                compare_networks(X, y, n_permutations=40, n_jobs=n_jobs, risk=0.01, random_state=1)
                for n_jobs in (1, 2)
            )
        assert (one.pvalue, one.n_permutations) == (two.pvalue, two.n_permutations)
        pd.testing.assert_frame_equal(one.groups, two.groups)

    def test_stops_when_the_decision_is_beyond_doubt(self) -> None:
        X, y = rows(0, 60), np.repeat([0, 1], 30)
        test = compare_networks(X, y, risk=1e-3, random_state=0)
        whole = compare_networks(X, y, random_state=0)
        assert 32 <= test.n_permutations < whole.n_permutations == 999
        assert (test.pvalue > 0.05) == (whole.pvalue > 0.05)

    @pytest.mark.parametrize(("reached", "n"), [(0, 100), (0, 300), (20, 100), (8, 100), (90, 100)])
    def test_decision_by_the_binomial(self, reached: int, n: int) -> None:
        bound = (n + 1) * stats.binom.pmf(reached, n, 0.05)
        assert is_decided(reached, n, 0.01) == (bound <= 0.01)

    def test_holm(self) -> None:
        p = np.array([0.2, 0.01, 0.013, 0.9])
        np.testing.assert_allclose(holm(p), [0.4, 0.04, 0.04, 0.9])

    def test_runs_of_rows_in_time(self) -> None:
        units = Units.of(np.arange(30), np.repeat([0, 1, 2], 10), np.zeros(30, dtype=int))
        (deal,) = units.deals(1, 0, block_length=5)
        places = np.argsort(deal().orders[0])
        assert all((np.diff(places[k : k + 5]) == 1).all() for k in range(0, 30, 5))


PAIRS = np.tile(np.arange(10), 2)
TWO = np.repeat([0, 1], 10)


@pytest.mark.parametrize(
    ("y", "design", "words"),
    [
        ([0] * 19 + [1], None, "group 1 has 1 row; a test of its network requires 5"),
        ([0] * 20, None, "All labels in y are 0. A comparison needs two groups"),
        ([None] + [0] * 10 + [1] * 9, None, "y has 1 missing label"),
        (TWO, Design(paired=[*PAIRS[:-1], 77]), "pair '9' has no row in group '1', and 1 more"),
        (TWO, Design(paired=PAIRS, blocks=PAIRS), "Pass paired by itself"),
        (TWO, Design(blocks=TWO), "nothing to permute: each block has rows of one group only"),
        (TWO, Design(blocks=[1.0, np.nan] * 10), "In blocks of the design: it has 10 missing"),
        (TWO, Design(clusters=PAIRS), "cluster '0' has rows in groups '0' and '1'.*use paired"),
        (TWO, Design(clusters=np.arange(20) // 2, blocks=PAIRS), "cluster '0' has rows in several"),
        (
            TWO,
            Design(covariates={"dose": TWO * 2.0}),
            "covariate 'dose' is collinear",
        ),
        (TWO, Design(covariates={"age": [np.nan] * 20}), "'age' have missing values"),
        (TWO, Design(covariates=rows(3, 20, 17)), "20 rows are too few to adjust for 17"),
        (TWO, Design(covariates=np.ones((7, 1))), "covariates has 7 rows and X has 20"),
    ],
)
def test_refuses(y: Any, design: Design | None, words: str) -> None:
    if design is not None and isinstance(design.covariates, dict):
        design = Design(covariates=pd.DataFrame(design.covariates))
    with pytest.raises(InputError, match=words):
        compare_networks(rows(0, 20), y, design=design)


def test_refuses_options() -> None:
    X, y = rows(0, 40), np.repeat([0, 1], 20)
    with raises(InputError, code="risk_range"):
        compare_networks(X, y, risk=2.0)
    with raises(InputError, code="block_length_with_design"):
        compare_networks(X, y, block_length=2, design=Design(blocks=y))
