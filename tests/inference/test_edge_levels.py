"""Tables without edges: q-values, and the rule that goes by them, find none in at least 93 %."""

import numpy as np
import pytest
from scipy import stats

from edgewise import DataWarning, GaussianGraph, InputError
from edgewise.inference import edge_intervals
from tests.messages import raises

ABOVE = {p: np.triu_indices(p, 1) for p in (6, 10, 20, 30, 50, 100, 200)}


def noise(kind, rng, n, p):
    """Rows whose partial correlations are all 0."""
    X = rng.normal(size=(n, p))
    if kind in ("t3", "t5", "t8"):
        X /= np.sqrt(rng.chisquare(int(kind[1]), size=(n, 1)))
    elif kind == "outlying":
        X[rng.permutation(n)[: round(0.03 * n)]] *= 6
    elif kind == "lognormal":
        X = np.exp(X)
    elif kind == "independent t3":
        X = rng.standard_t(3, size=(n, p))
    elif kind == "rare levels":
        X = np.digitize(X, stats.norm.ppf([0.84, 0.93, 0.98])) * 1.0
    elif kind == "two levels":
        X = np.digitize(X, [1.0]) * 1.0
    return X


def share_with_a_discovery(kind, n, p, n_tables, **options):
    """Share of tables with an edge by either door, and share of intervals that hold 0."""
    discoveries, covered = [], []
    for seed in range(n_tables):
        X = noise(kind, np.random.default_rng([n, p, seed]), n, p)
        found = edge_intervals(X, **options)
        q, lower, upper = (x[ABOVE[p]] for x in (found.qvalues, found.lower, found.upper))
        graph = GaussianGraph(alpha="fdr", **{"covariance": "correlation"} | options).fit(X).graph_
        assert graph.n_edges == np.count_nonzero(q <= 0.05)
        discoveries.append((q <= 0.05).any())
        covered.append(np.mean(((lower <= 0) & (upper >= 0))[~np.isnan(q)]))
    return np.mean(discoveries), np.mean(covered)


FEW = [(8, 30), (12, 30), (15, 20), (25, 20), (9, 6), (12, 6)]
MORE_FEW = [(10, 30), (20, 20), (20, 100), (30, 50), (40, 50), (57, 50), (60, 100), (100, 200)]


@pytest.mark.parametrize(
    ("n", "p"), FEW + [pytest.param(*size, marks=pytest.mark.slow) for size in MORE_FEW]
)
def test_few_rows(n, p):
    share, covered = share_with_a_discovery("normal", n, p, 150 if p < 100 else 60)
    assert share <= 0.07
    assert covered > 0.93


@pytest.mark.parametrize(
    "kind",
    [
        *("normal", "t3", "t5", "t8", "outlying"),
        *("lognormal", "independent t3", "rare levels", "two levels"),
    ],
)
def test_tails(kind):
    share, covered = share_with_a_discovery(kind, 200, 10, 100)
    assert share <= 0.07
    assert 0.93 < covered < 0.97


def in_order(rng, rho, degrees=None):
    """Rows of an autoregression, whose tails columns may share."""
    X = rng.normal(size=(200, 10))
    for t in range(1, len(X)):
        X[t] = rho * X[t - 1] + np.sqrt(1 - rho**2) * X[t]
    return X if degrees is None else X / np.sqrt(rng.chisquare(degrees, size=(200, 1)))


@pytest.mark.filterwarnings("ignore:Rows are autocorrelated")
@pytest.mark.parametrize(("rho", "degrees"), [(0.3, None), (0.6, None), (0.9, None), (0.6, 4)])
def test_rows_in_order(rho, degrees):
    discoveries, covered = [], []
    for seed in range(150):
        found = edge_intervals(in_order(np.random.default_rng([7, seed]), rho, degrees))
        q, lower, upper = (x[ABOVE[10]] for x in (found.qvalues, found.lower, found.upper))
        discoveries.append((q <= 0.05).any())
        covered.append(np.mean((lower <= 0) & (upper >= 0)))
    assert np.mean(discoveries) <= 0.07
    assert np.mean(covered) > 0.93


def test_rows_in_order_count_as_fewer_with_a_warning():
    X = in_order(np.random.default_rng(0), 0.4)
    with pytest.warns(DataWarning, match="200 rows have an effective sample size of"):
        fewer = edge_intervals(X)
    in_full, shuffled = edge_intervals(X, n_samples=200), edge_intervals(X[::-1], n_samples=200)
    assert fewer.n_samples == in_full.n_samples == in_full.n_effective == 200
    assert 85 < fewer.n_effective < 180
    np.testing.assert_allclose(fewer.estimate, in_full.estimate)
    np.testing.assert_allclose(shuffled.pvalues, in_full.pvalues)
    assert (fewer.pvalues >= in_full.pvalues)[ABOVE[10]].all()
    ratio = (np.arctanh(fewer.upper) - np.arctanh(fewer.lower))[ABOVE[10]]
    ratio /= (np.arctanh(in_full.upper) - np.arctanh(in_full.lower))[ABOVE[10]]
    # Degrees of freedom fall by more than the rows' share.
    assert (ratio >= np.sqrt(200 / fewer.n_effective)).all()


@pytest.mark.parametrize("kind", ["t3", "outlying", "lognormal"])
def test_tails_that_normal_scores_do_not_take_away(kind):
    share, covered = share_with_a_discovery(kind, 200, 10, 60, covariance="nonparanormal")
    assert share <= 0.07
    assert 0.93 < covered < 0.97


@pytest.mark.parametrize(("n", "p"), [(12, 20), (15, 30), (20, 20), (20, 50)])
def test_false_share_of_chains_with_few_rows(n, p):
    is_edge = np.eye(p, k=1, dtype=bool)[ABOVE[p]]
    link = -0.45 * (np.eye(p, k=1) + np.eye(p, k=-1))
    covariance = np.linalg.inv(np.eye(p) + link)
    false, true = [], []
    for seed in range(100):
        rng = np.random.default_rng([n, p, seed])
        X = rng.multivariate_normal(np.zeros(p), covariance, size=n)
        found = edge_intervals(X)
        kept = found.qvalues[ABOVE[p]] <= 0.05
        false.append((kept & ~is_edge).sum())
        true.append((kept & is_edge).sum())
    share = np.array(false) / np.maximum(np.add(false, true), 1)
    assert np.mean(share) <= 0.07
    assert np.sum(true) > 0.2 * len(true)


def test_an_estimate_beyond_1_is_no_estimate():
    rng = np.random.default_rng([5, 3])
    n_without = 0
    for _ in range(10):
        found = edge_intervals(rng.normal(size=(8, 30)))
        values = [
            x[ABOVE[30]]
            for x in (found.estimate, found.lower, found.upper, found.pvalues, found.qvalues)
        ]
        is_without = np.isnan(values)
        assert (is_without.all(axis=0) == is_without.any(axis=0)).all()
        assert len(found.table()) == 30 * 29 / 2
        assert (np.abs(values[0][~is_without[0]]) < 1).all()
        n_without += is_without[0].sum()
    assert n_without > 0


def residuals_of_pair(X, i, j):
    """Standardised residuals of two columns given the others, and the leverage of each row."""
    n = len(X)
    others = np.column_stack([np.ones(n), np.delete(X, [i, j], axis=1)])
    left = X[:, [i, j]] - others @ np.linalg.lstsq(others, X[:, [i, j]])[0]
    return left / np.sqrt(np.mean(left**2, axis=0)), others


def test_robust_tests_follow_their_definition():
    rng = np.random.default_rng(0)
    n, p = 150, 6
    X = noise("t3", rng, n, p)
    X[:, 1] += X[:, 0]
    found = edge_intervals(X, level=0.9)
    assert found.errors == "robust"
    z = stats.norm.isf(0.05)
    for i, j in zip(*ABOVE[p], strict=True):
        left, others = residuals_of_pair(X, i, j)
        w, v = left[:, 0] * left[:, 1], np.mean(left**2, axis=1)
        assert found.estimate[i, j] == pytest.approx(np.mean(w), abs=1e-9)
        room = []
        for other in (j, i):
            used = np.column_stack([others, X[:, other]])
            room.append(1 - np.sum(np.linalg.qr(used)[0] ** 2, axis=1))
        scale = np.sqrt(room[0] * room[1])
        score = w.sum() / np.sqrt(np.sum(w**2 / scale))
        r, df = np.mean(w), n - p
        by_formula = 2 * stats.t.sf(abs(r) * np.sqrt(df / (1 - r**2)), df)
        expected = max(2 * stats.norm.sf(abs(score)), min(by_formula, 0.01))
        assert found.pvalues[i, j] == pytest.approx(expected, rel=1e-6)
        for end in (found.lower[i, j], found.upper[i, j]):
            moved = w - end * v
            at_end = moved.sum() / np.sqrt(np.sum(moved**2 / scale))
            assert abs(at_end) == pytest.approx(z, rel=1e-6)
        around = (w - np.mean(w) * v) ** 2 / scale
        assert found.standard_error[i, j] == pytest.approx(np.sqrt(around.sum()) / n, rel=1e-6)


@pytest.mark.parametrize(("n", "p"), [(200, 10), (200, 40)])
@pytest.mark.parametrize("kind", ["t5", "outlying"])
def test_robust_intervals_cover_edges(kind, n, p):
    link = 0.4 * (np.eye(p, k=1) + np.eye(p, k=-1))
    root = np.linalg.cholesky(np.linalg.inv(np.eye(p) + link))
    truth, covered = -link[ABOVE.get(p, np.triu_indices(p, 1))], []
    for seed in range(60):
        X = noise(kind, np.random.default_rng([n, p, seed]), n, p) @ root.T
        found = edge_intervals(X)
        lower, upper = (x[np.triu_indices(p, 1)] for x in (found.lower, found.upper))
        covered.append((lower <= truth) & (truth <= upper))
    is_edge = truth != 0
    assert np.mean(np.array(covered)[:, is_edge]) > 0.93
    assert np.mean(np.array(covered)[:, ~is_edge]) > 0.93


@pytest.mark.parametrize("level", [0.9, 0.999])
def test_small_p_values_of_heavy_columns_are_confirmed(level):
    rng = np.random.default_rng(0)
    n, p = 120, 6
    X = noise("lognormal", rng, n, p)
    X[:, 1] += X[:, 0]
    X[:, 3] += 0.3 * X[:, 0]
    found = edge_intervals(X, level=level)
    assert found.errors == "confirmed"
    n_small = 0
    for i, j in zip(*ABOVE[p], strict=True):
        left, _ = residuals_of_pair(X, i, j)
        r, df = np.mean(left[:, 0] * left[:, 1]), n - p
        by_formula = 2 * stats.t.sf(abs(r) * np.sqrt(df / (1 - r**2)), df)
        assert found.estimate[i, j] == pytest.approx(r, abs=1e-9)
        assert found.pvalues[i, j] >= by_formula * (1 - 1e-9)
        if by_formula >= 0.01:
            assert found.pvalues[i, j] == pytest.approx(by_formula)
        n_small += by_formula < 0.01
        is_out = not found.lower[i, j] <= 0 <= found.upper[i, j]
        assert is_out == (found.pvalues[i, j] < 1 - level)
    assert n_small > 0


def test_normal_rows_keep_the_formula():
    errors = [edge_intervals(np.random.default_rng(s).normal(size=(100, 8))).errors
              for s in range(100)]  # fmt: skip
    assert errors.count("formula") >= 96


@pytest.mark.parametrize("missing", ["pairwise", "em"])
def test_the_rule_refuses_missing_values(missing):
    """It counted all rows, and found edges in half of the tables of noise with a fifth missing."""
    X = np.random.default_rng(0).normal(size=(100, 5))
    X[:20, 0] = np.nan
    with raises(InputError, code="fdr_with_missing"):
        GaussianGraph(alpha="fdr", missing=missing).fit(X)
