"""One test of whether networks differ: against enumeration, for its level and its power."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.data.dependence import block_length
from edgewise.inference import compare_networks
from edgewise.inference.design import Units
from tests.messages import raises


def two_tables(
    rng: np.random.Generator, first: FloatArray, second: FloatArray, n: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    rows = [
        rng.multivariate_normal(np.zeros(len(R)), R, size=k)
        for R, k in zip((first, second), n, strict=True)
    ]
    return np.concatenate(rows), np.repeat([0, 1], n)


def equal(p: int, r: float) -> FloatArray:
    return (1 - r) * np.eye(p) + r


def normal_scores(rows: FloatArray) -> FloatArray:
    scores = stats.norm.ppf(stats.rankdata(rows, axis=0) / (len(rows) + 1))
    return (scores - scores.mean(axis=0)) / scores.std(axis=0)


class TestEnumeration:
    """All ways to deal out the labels, one by one, by the plainest code."""

    def statistics(self, first: FloatArray, second: FloatArray, share: float) -> dict[str, Any]:
        upper = np.triu_indices(first.shape[1], 1)
        found = []
        for rows in (first, second):
            R = np.corrcoef(rows, rowvar=False)
            inverse = np.linalg.inv((1 - share) * R + share * np.eye(len(R)))
            root = np.sqrt(np.diag(inverse))
            found.append((R[upper], -(inverse / np.outer(root, root))[upper]))
        return {
            "correlations": found[1][0] - found[0][0],
            "partial correlations": found[1][1] - found[0][1],
        }

    def test_p_values_are_shares_of_all_dealings(self) -> None:
        rng = np.random.default_rng(3)
        X, y = two_tables(rng, np.eye(3), equal(3, 0.8), (5, 6))
        test = compare_networks(X, y, n_permutations=500)
        assert test.n_permutations == 461
        rows = np.concatenate([normal_scores(X[:5]), normal_scores(X[5:])])
        every = []
        for first in combinations(range(11), 5):
            rest = np.setdiff1d(np.arange(11), first)
            every.append(self.statistics(rows[list(first)], rows[rest], test.shrinkage))
        errors = {
            "correlations": test.marginal.observed.weights,
            "partial correlations": test.partial.observed.weights,
        }
        shares, sizes = {}, {}
        for family, weights in errors.items():
            # The weights of the pairs are the same in all dealings.
            differences = np.stack([found[family] for found in every])
            t = differences * (weights[np.triu_indices(3, 1)] / differences[0])
            sizes |= {
                f"{family}, largest": np.abs(t).max(axis=1) ** 2,
                f"{family}, several": np.cbrt((t**6).sum(axis=1)),
                f"{family}, many": (t**2).sum(axis=1),
                f"{family}, together": self.squared_norm(t),
            }
            for name in test.pvalues.keys() & sizes.keys():
                size = sizes[name]
                shares[name] = np.mean(size >= size[:, None] * (1 - 1e-12), axis=1)
            single = np.mean(np.abs(t) >= np.abs(t[0]) * (1 - 1e-12), axis=0)
            pairs = test.marginal if family == "correlations" else test.partial
            np.testing.assert_allclose(pairs.pvalues[np.triu_indices(3, 1)], single)
        assert len(test.pvalues) == 7
        for name, pvalue in test.pvalues.items():
            assert pvalue == pytest.approx(shares[name][0])
        weights = {"correlations, several": 1.0, "correlations, many": 1.0}
        weights |= {"correlations, together": 0.5, "partial correlations, several": 1.0}
        evidence = np.sum(
            [
                weight * np.exp(-self.drawn_out(sizes[name], shares[name]))
                for name, weight in weights.items()
            ],
            axis=0,
        )
        assert test.pvalue == pytest.approx(np.mean(evidence >= evidence[0] * (1 - 1e-9)))
        assert test.evidence == pytest.approx(np.log10(evidence[0] / sum(weights.values())))
        assert len(test.null_evidence) == 461

    def squared_norm(self, t: FloatArray) -> FloatArray:
        """Square of the Schatten norm of order 8 of the symmetric matrices of three pairs."""
        T = np.zeros((len(t), 3, 3))
        T[:, *np.triu_indices(3, 1)] = t
        eigenvalues = np.linalg.eigvalsh(T + T.swapaxes(1, 2))
        return (eigenvalues**8).sum(axis=1) ** 0.25

    def drawn_out(self, size: FloatArray, share: FloatArray) -> FloatArray:
        """Logarithms of shares, on a line beyond the largest 15 %."""
        start, end = np.quantile(size, [0.85, 0.97])
        line = np.log(0.15) + (size - start) / (end - start) * np.log(0.03 / 0.15)
        return np.where(size > start, line, np.log(share))


class TestWhatCounts:
    def test_neither_means_nor_spreads_are_a_network(self) -> None:
        rng = np.random.default_rng(0)
        X, y = two_tables(rng, equal(6, 0.4), equal(6, 0.4), (60, 40))
        plain = compare_networks(X, y, n_permutations=199, random_state=0)
        moved = X.copy()
        moved[60:] = moved[60:] * [1, 1, 9, 1, 0.1, 1] + [4, 0, 0, 0, 0, -3]
        test = compare_networks(moved, y, n_permutations=199, random_state=0)
        assert plain.pvalue > 0.05
        assert test.pvalue == plain.pvalue
        np.testing.assert_allclose(test.networks, plain.networks, atol=1e-12)
        assert (
            test.columns[["mean_pvalue_familywise", "spread_pvalue_familywise"]].min() == 1 / 200
        ).all()
        columns = test.columns.set_index("column")
        assert list(columns.index[columns["mean_pvalue_familywise"] <= 0.05]) == ["x0", "x5"]
        assert list(columns.index[columns["spread_pvalue_familywise"] <= 0.05]) == ["x2", "x4"]
        np.testing.assert_allclose(columns["mean_1"], moved[60:].mean(axis=0))
        np.testing.assert_allclose(columns["spread_0"], moved[:60].std(axis=0, ddof=1))

    @pytest.mark.parametrize("ranks", [True, False])
    def test_one_changed_pair_is_named(self, ranks: bool) -> None:
        R = equal(8, 0.0)
        R[2, 5] = R[5, 2] = 0.8
        X, y = two_tables(np.random.default_rng(1), np.eye(8), R, (60, 60))
        test = compare_networks(X, y, ranks=ranks, n_permutations=199, random_state=0)
        assert test.pvalue == 1 / 200
        assert test.partial.significant(by="familywise").edges()[
            ["source", "target"]
        ].values.tolist() == [["x2", "x5"]]
        top = test.table().iloc[0]
        assert (top["source"], top["target"]) == ("x2", "x5")
        assert top["difference"] == pytest.approx(np.diff(test.networks[:, 2, 5])[0])
        assert abs(top["estimate_first"]) < 0.3 < 0.5 < top["estimate_second"]
        assert len(test.table()) == 28

    def test_a_few_far_rows_do_not_decide(self) -> None:
        X, y = two_tables(np.random.default_rng(2), np.eye(5), np.eye(5), (50, 50))
        X[:2] = 1000.0
        test = compare_networks(X, y, n_permutations=199, random_state=0)
        assert test.pvalue > 0.05
        without = compare_networks(X, y, ranks=False, n_permutations=199, random_state=0)
        assert without.pvalue <= 0.05

    def test_columns_of_one_value_do_not_hide_a_change(self) -> None:
        rng = np.random.default_rng(0)
        X, y = two_tables(rng, np.eye(4), equal(4, 0.5), (60, 60))
        border = np.zeros((120, 4))
        border[[3, 70], 0] = border[[3, 90], 1] = border[70, 2] = border[70, 3] = 1.0
        test = compare_networks(np.column_stack([X, border]), y, n_permutations=199, random_state=0)
        assert test.rare == ("x4", "x5", "x6", "x7")
        assert test.pvalue <= 0.01
        alone = compare_networks(X, y, n_permutations=199, random_state=0)
        assert alone.rare == ()
        assert alone.pvalue == test.pvalue

    def test_dependence_that_no_correlation_shows(self) -> None:
        X, y = two_tables(np.random.default_rng(0), np.eye(5), np.eye(5), (100, 100))
        X[100:, 1] = X[100:, 0] ** 2 + 0.5 * X[100:, 1]
        test = compare_networks(X, y, n_permutations=199, random_state=0)
        assert test.pvalue <= 0.01
        assert test.pvalues["curves, largest"] <= 0.01
        assert test.pvalues["correlations, many"] > 0.05

    def test_more_columns_than_rows(self) -> None:
        rng = np.random.default_rng(0)
        X, y = two_tables(rng, equal(40, 0.0), equal(40, 0.6), (20, 20))
        test = compare_networks(X, y, n_permutations=99, random_state=0)
        assert test.pvalue <= 0.02
        # The small system of rows and the inverse of columns are the same thing.
        scores = normal_scores(X[:20])
        R = scores.T @ scores / 20
        inverse = np.linalg.inv((1 - test.shrinkage) * R + test.shrinkage * np.eye(40))
        root = np.sqrt(np.diag(inverse))
        expected = -inverse / np.outer(root, root)
        np.fill_diagonal(expected, 0)
        np.testing.assert_allclose(test.networks[0], expected, atol=1e-10)


class TestRun:
    def test_does_not_depend_on_jobs(self) -> None:
        X, y = two_tables(np.random.default_rng(0), np.eye(4), equal(4, 0.3), (30, 25))
        one, two = (
            compare_networks(X, y, n_permutations=99, n_jobs=n_jobs, random_state=5)
            for n_jobs in (1, 2)
        )
        assert one.pvalue == two.pvalue
        assert one.pvalues == two.pvalues
        np.testing.assert_array_equal(one.partial.pvalues, two.partial.pvalues)

    def test_order_of_columns_and_rows(self) -> None:
        X, y = two_tables(np.random.default_rng(0), np.eye(4), equal(4, 0.3), (30, 25))
        order = np.array([2, 0, 3, 1])
        test = compare_networks(X, y, n_permutations=99, random_state=5)
        other = compare_networks(X[:, order], y, n_permutations=99, random_state=5)
        assert other.pvalue == test.pvalue
        np.testing.assert_allclose(other.networks, test.networks[:, order][:, :, order], atol=1e-12)

    def test_column_without_spread_in_a_group(self) -> None:
        X, y = two_tables(np.random.default_rng(0), np.eye(4), np.eye(4), (30, 25))
        X[y == 0, 1] = 7.0
        test = compare_networks(X, y, n_permutations=99, random_state=5)
        assert (test.networks[0, 1] == 0).all()
        assert np.isfinite(test.pvalue)

    def test_same_rows_twice_do_not_differ(self) -> None:
        X = np.random.default_rng(0).normal(size=(20, 3))
        test = compare_networks(
            np.concatenate([X, X]), np.repeat(["a", "b"], 20), n_permutations=99, random_state=0
        )
        assert test.pvalue == 1.0

    @pytest.mark.slow
    def test_blocks_keep_the_level_of_rows_in_time(self) -> None:
        rng = np.random.default_rng(4)
        length = block_length(0.9, 300)
        found = {1: 0, length: 0}
        for _ in range(150):
            X = lfilter([1.0], [1.0, -0.9], rng.normal(size=(2, 400, 4)), axis=1)[:, 100:]
            for length in found:
                test = compare_networks(
                    X.reshape(-1, 4),
                    np.repeat([0, 1], 300),
                    n_permutations=99,
                    block_length=length,
                    random_state=0,
                )
                found[length] += test.pvalue <= 0.05
        assert found[1] >= 75
        assert found[length] <= 13

    def test_blocks_stay_together(self) -> None:
        member = np.repeat([0, 1], [10, 7])
        units = Units.of(np.arange(17), member, np.zeros(17, dtype=int))
        (deal,) = units.deals(1, np.random.default_rng(0), block_length=4)
        drawn = [units._draw_in_time(4, np.random.default_rng(k), 1).orders[0] for k in range(20)]
        for order in [*drawn, deal().orders[0]]:
            assert sorted(order) == list(range(17))
            places = np.argsort(order)
            for block in ([0, 1, 2, 3], [4, 5, 6, 7], [8, 9], [10, 11, 12, 13], [14, 15, 16]):
                assert (np.diff(places[block]) == 1).all()

    def test_too_few_blocks(self) -> None:
        X = np.random.default_rng(0).normal(size=(40, 3))
        with raises(InputError, code="too_few_blocks", size=20, fewest_rows=5):
            compare_networks(X, np.repeat([0, 1], 20), block_length=6)
        with raises(InputError, code="block_length_at_least_one", block_length=0):
            compare_networks(X, np.repeat([0, 1], 20), block_length=0)

    @pytest.mark.parametrize(
        ("rows", "columns", "n_permutations", "words"),
        [
            (4, 3, 9, "too_few_rows_to_test"),
            (9, 1, 9, "change_needs_columns"),
            (9, 3, 0, "n_permutations_range"),
        ],
    )
    def test_refuses(self, rows: int, columns: int, n_permutations: int, words: str) -> None:
        X = np.random.default_rng(0).normal(size=(20 + rows, columns))
        with raises(InputError, code=words):
            compare_networks(X, np.repeat([0, 1], [20, rows]), n_permutations=n_permutations)


NULLS = {
    "independent": (equal(8, 0.0), (40, 40), None),
    "correlated": (equal(8, 0.6), (40, 40), None),
    "one to ten": (equal(8, 0.3), (15, 150), None),
    "heavy tails": (equal(8, 0.3), (40, 40), 3),
    "fifteen rows": (equal(8, 0.3), (15, 15), None),
    "fifteen rows, heavy tails": (equal(8, 0.3), (15, 15), 3),
    "six rows": (equal(4, 0.3), (6, 6), None),
}


@pytest.mark.slow
def test_shares_of_two_levels_are_no_difference_of_networks() -> None:
    """The rarer level is the larger magnitude, whichever it is in a group."""
    claims = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = 0.7 * rng.normal(size=(240, 8)) + 0.6 * rng.normal(size=(240, 1))
        rows[:, :3] = rows[:, :3] > 0
        found = compare_networks(rows, np.repeat([0, 1], 120), n_permutations=99, random_state=seed)
        claims += found.pvalue <= 0.05
    assert claims <= 6


@pytest.mark.parametrize("kind", NULLS)
def test_keeps_its_level(kind: str) -> None:
    R, n, df = NULLS[kind]
    pvalues = []
    for seed in range(200):
        rng = np.random.default_rng([seed, 23])
        X, y = two_tables(rng, R, R, n)
        if df is not None:
            X /= np.sqrt(rng.chisquare(df, size=(len(X), 1)) / df)
        X[y == 1] *= np.exp(rng.normal(size=len(R)))
        test = compare_networks(X, y, n_permutations=99, random_state=rng)
        pvalues.append(test.pvalue)
    # 17 of 200 are the 99th percentile at a level of 5 %.
    assert np.sum(np.array(pvalues) <= 0.05) <= 17
