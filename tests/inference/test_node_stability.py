"""Statistics of nodes in resamples: intervals, differences, and parts of the rows."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator

import edgewise
from edgewise import BootstrapGraph, GaussianGraph, Graph, InputError
from edgewise.inference import case_dropping
from edgewise.inference.stability import CaseDropping
from edgewise.metrics import communities, node_statistics
from tests.messages import raises


class Correlations(BaseEstimator):
    """Joins all pairs by their correlations."""

    def fit(self, X, y=None):
        R = np.corrcoef(np.asarray(X).T)
        np.fill_diagonal(R, 0.0)
        self.graph_ = Graph(R)
        return self


class Failing(Correlations):
    """Fails where a part lacks the first row."""

    def fit(self, X, y=None):
        if not (np.asarray(X)[:, 0] == 7.0).any():
            raise ValueError("the first row is gone")
        return super().fit(X)


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 5))
    rows[:, 1:3] += rows[:, [0]]
    rows[:, 3] += 0.5 * rows[:, 0]
    return rows


@pytest.fixture(scope="module")
def bootstrap(X):
    return BootstrapGraph(Correlations(), n_resamples=60, random_state=0).fit(X)


def test_resampled_statistics_are_those_of_their_graphs(bootstrap):
    edges = bootstrap.resampled("edges")
    assert edges.shape == (60, 10)
    W = np.zeros((5, 5))
    W[np.triu_indices(5, 1)] = edges[7]
    wanted = node_statistics(W + W.T)
    for name in ("strength", "expected_influence", "betweenness", "closeness"):
        np.testing.assert_allclose(bootstrap.resampled(name)[7], wanted[name])
    labels = bootstrap.resampled(communities)
    assert labels.shape == (60, 5)


def test_intervals_of_nodes_are_percentiles(bootstrap):
    table = bootstrap.node_intervals(["strength", "betweenness"])
    assert table.shape == (10, 5)
    strength = table[table["statistic"] == "strength"]
    lower, upper = np.quantile(bootstrap.resampled("strength"), [0.025, 0.975], axis=0)
    np.testing.assert_allclose(strength["lower"], lower)
    np.testing.assert_allclose(strength["upper"], upper)
    np.testing.assert_allclose(strength["estimate"], np.abs(bootstrap.graph_.weights).sum(axis=1))


def test_differences_by_brute_force(bootstrap):
    found = bootstrap.difference_test()
    assert found.of == "edges"
    assert found.labels[0] == "x0 - x1"
    drawn = bootstrap.resampled("edges")
    for i, j in ((0, 1), (2, 9)):
        d = drawn[:, i] - drawn[:, j]
        p = min(1.0, 2 * (1 + min(np.sum(d <= 0), np.sum(d >= 0))) / 61)
        assert found.pvalues[i, j] == found.pvalues[j, i] == pytest.approx(p)
        assert found.lower[i, j] == pytest.approx(np.quantile(d, 0.025)) == -found.upper[j, i]
    assert (found.qvalues >= found.pvalues - 1e-12)[~np.eye(10, dtype=bool)].all()
    by = bootstrap.difference_test(fdr="by")
    assert (by.qvalues >= found.qvalues - 1e-12)[~np.eye(10, dtype=bool)].all()
    assert by.is_different().sum() < found.is_different().sum() <= found.is_different(by="p").sum()
    table = found.table()
    assert len(table) == 45
    assert table["pvalue"].is_monotonic_increasing


def test_nodes_that_differ(bootstrap):
    found = bootstrap.difference_test("strength")
    assert found.labels == bootstrap.graph_.names
    assert found.is_different()[0, 4], "the hub is stronger than a node by itself"
    drawn = bootstrap.resampled("strength")
    spread = np.std(drawn[:, 0] - drawn[:, 4], ddof=1)
    z = abs(found.estimate[0] - found.estimate[4]) / spread
    normal = bootstrap.difference_test("strength", method="normal")
    assert normal.pvalues[0, 4] == pytest.approx(2 * stats.norm.sf(z))
    np.testing.assert_array_equal(normal.lower, found.lower)
    with raises(InputError, code="fdr_and_method", fdr="holm", method="percentile"):
        bootstrap.difference_test(fdr="holm")
    with raises(InputError, code="by_and_level", by="q"):
        found.is_different(0.0)


def test_coefficient_is_that_of_bootnet():
    """The largest share dropped at which more than 95 % of the correlations exceed 0.7."""
    rng = np.random.default_rng(0)
    correlations = np.clip(rng.normal([[[0.95], [0.85], [0.78], [0.6]]], 0.06, (1, 4, 200)), -1, 1)
    dropped = np.array([0.1, 0.3, 0.5, 0.7])
    found = CaseDropping(statistics=("a",), dropped=dropped, correlations=correlations)
    passing = [d for d, c in zip(dropped, correlations[0], strict=True) if np.mean(c > 0.7) > 0.95]
    assert passing == [0.1, 0.3]
    assert found.coefficient()["a"] == 0.3
    assert found.coefficient(0.4)["a"] == 0.7
    assert found.coefficient(probability=0.9)["a"] == 0.5
    assert found.coefficient(0.99)["a"] == 0.0


def test_parts_are_correlated_with_all_rows(X):
    found = case_dropping(
        Correlations(), X, statistics=["strength", "edges"], dropped=[0.25, 0.9], random_state=3
    )
    assert found.correlations.shape == (2, 2, 100)
    np.testing.assert_allclose(found.dropped, [0.25, 0.9])
    near, far = found.correlations.mean(axis=2).T
    assert (near > far).all()
    assert found.coefficient()["edges"] == 0.25
    table = found.table()
    assert table.columns.tolist()[:3] == ["statistic", "dropped", "mean"]
    assert len(table) == 4


def test_the_same_for_any_number_of_workers_and_after_a_stop(X, tmp_path):
    options = {"n_resamples": 4, "dropped": [0.2, 0.5], "random_state": 1}
    wanted = case_dropping(GaussianGraph(0.1), X, **options).correlations
    both = case_dropping(GaussianGraph(0.1), X, n_jobs=2, **options).correlations
    np.testing.assert_array_equal(wanted, both)
    with edgewise.resumable(tmp_path):
        for _ in range(2):
            kept = case_dropping(GaussianGraph(0.1), X, **options).correlations
            np.testing.assert_array_equal(wanted, kept)
    fitted = GaussianGraph(0.1).fit(X)
    again = case_dropping(fitted, X, prefit=True, **options).correlations
    np.testing.assert_array_equal(wanted, again)


def test_failures_and_empty_graphs(X):
    rows = X.copy()
    rows[0, 0] = 7.0
    with pytest.warns(edgewise.DataWarning, match="failed"):
        found = case_dropping(Failing(), rows, dropped=[0.3, 0.7], n_resamples=20, random_state=0)
    is_gone = np.isnan(found.correlations).any(axis=0)
    assert is_gone[0].sum() < is_gone[1].sum(), "more parts lack the row the smaller they are"
    empty = case_dropping(GaussianGraph(5.0), X, n_resamples=2, random_state=0)
    assert (empty.coefficient() == 0).all()


def test_bad_input(X, bootstrap, tmp_path):
    with raises(InputError, code="dropped_shares", n_resamples=100):
        case_dropping(Correlations(), X, dropped=[0.0])
    with raises(InputError, code="unknown_statistic", statistic="fame"):
        case_dropping(Correlations(), X, statistics=["fame"])
    with raises(InputError, code="statistic_shape", name_of="<lambda>", shape=[5, 5]):
        bootstrap.resampled(lambda graph: graph.weights)
    path = tmp_path / "model.edgewise"
    BootstrapGraph(GaussianGraph(0.1), n_resamples=2, random_state=0).fit(X).save(path)
    with raises(InputError, code="no_resamples_kept"):
        edgewise.load(path).resampled()
