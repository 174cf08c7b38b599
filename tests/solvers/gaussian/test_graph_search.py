"""The search for a graph, held to refits that start anew and to all single steps."""

import numpy as np
import pytest

from edgewise.estimators import GaussianGraph
from edgewise.selection.criteria import default_gamma
from edgewise.solvers import refit_precision
from edgewise.solvers.gaussian.graph_search import fit_graph, search_graph
from edgewise.solvers.gaussian.refit import allocate_regressions, fit_by_neighbors


def blocks(n, p, size, seed):
    """Rows of columns that share a factor in groups."""
    rng = np.random.default_rng(seed)
    factors = np.repeat(rng.normal(size=(n, -(-p // size))), size, axis=1)[:, :p]
    return rng.normal(size=(n, p)) + rng.uniform(0.5, 1.5, p) * factors


def correlation(n, p, size, seed):
    return np.corrcoef(blocks(n, p, size, seed).T)


def flipped(adjacency, *pairs):
    graph = adjacency.copy()
    for i, j in pairs:
        graph[i, j] = graph[j, i] = not graph[i, j]
    return graph


def empty(p):
    return np.zeros((p, p), dtype=bool)


@pytest.mark.parametrize("n", [15, 60])
def test_fits_that_start_from_another_graph_are_those_that_start_anew(n):
    R = correlation(n, 12, 4, seed=1)
    start = flipped(empty(12), (0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (8, 9))
    changes = [[(0, 2)], [(1, 2)], [(3, 4)], [(3, 4), (5, 8), (0, 1)], [(10, 11), (4, 5)]]
    for pairs in changes:
        graph = flipped(start, *pairs)
        fit, exact = fit_graph(R, graph, fit_graph(R, start)), refit_precision(R, graph)
        assert fit.objective == pytest.approx(exact.objective, abs=1e-5)
        for part in fit.parts:
            block = np.ix_(part.index, part.index)
            np.testing.assert_allclose(part.Sigma, exact.covariance[block], atol=1e-3)


@pytest.mark.parametrize(("seed", "p"), [(68, 6), (298, 6), (100, 10)])
def test_variables_that_nearly_determine_each_other_are_fitted(seed, p):
    """Sweeps leave nothing that a gap could be told of, and yet there is a maximum."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(p, p - 2))
    S = factors @ factors.T + 1e-6 * np.eye(p)
    S /= np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    graph = flipped(empty(p), *zip(*np.triu_indices(p, 1), strict=True))
    for _ in range(2):
        i, j = rng.choice(p, 2, replace=False)
        graph[i, j] = graph[j, i] = False
    assert fit_by_neighbors(S, graph, allocate_regressions(p), 1e-7 * p, 200) == np.inf
    exact, fit = refit_precision(S, graph), fit_graph(S, graph)
    assert exact.exists
    assert fit.objective == pytest.approx(exact.objective, abs=1e-5)


@pytest.mark.parametrize(("n", "seed"), [(30, 0), (30, 1), (200, 2)])
def test_no_single_edge_improves_what_was_found(n, seed):
    p, price = 9, np.log(n) / n
    R = correlation(n, p, 3, seed)
    found = search_graph(R, empty(p), price, least=1)
    best = refit_precision(R, found.adjacency).objective + price * found.n_edges
    assert found.cost(price) == pytest.approx(best, abs=1e-5)
    for pair in zip(*np.triu_indices(p, 1), strict=True):
        other = flipped(found.adjacency, pair)
        cost = refit_precision(R, other).objective + price * (np.count_nonzero(other) // 2)
        assert cost > best - 1e-5


def test_components_are_searched_as_if_alone():
    price = 0.15
    first, second = correlation(40, 8, 4, seed=3), correlation(40, 9, 3, seed=4)
    R = np.block([[first, np.zeros((8, 9))], [np.zeros((9, 8)), second]])
    together = search_graph(R, empty(17), price).adjacency
    assert np.array_equal(together[:8, :8], search_graph(first, empty(8), price).adjacency)
    assert np.array_equal(together[8:, 8:], search_graph(second, empty(9), price).adjacency)
    assert not together[:8, 8:].any()


def test_edges_are_kept_where_so_many_are_asked_for():
    R = correlation(40, 8, 4, seed=5)
    start = flipped(empty(8), (0, 7), (1, 6))
    assert search_graph(R, start, price=50.0).n_edges == 0
    assert search_graph(R, start, price=50.0, least=1).n_edges == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_rest_of_a_path_of_a_wide_table_would_not_have_been_chosen(seed):
    X = blocks(20, 90, 6, seed)
    model = GaussianGraph(covariance="correlation").fit(X)
    R, price = np.corrcoef(X.T), (np.log(20) + 4 * model.selection_.gamma * np.log(90)) / 20
    graphs = model.path(X).graphs
    fits = [fit_graph(R, graph.adjacency) for graph in graphs]
    costs = [np.inf if fit is None else fit.cost(price) for fit in fits]
    assert len(model.alphas_) < len(graphs)
    assert int(np.argmin(costs)) == model.selection_.index


def test_gamma_grows_where_chance_would_pay_for_edges():
    assert default_gamma(500, 50) == default_gamma(50, 50) == 0.25
    assert 0.25 < default_gamma(25, 50) < default_gamma(10, 50) < 1.0
    noise = np.random.default_rng(0).normal(size=(20, 120))
    noise[:, 1] = noise[:, 0] + 0.1 * noise[:, 1]
    assert GaussianGraph().fit(noise).graph_.n_edges < 0.5 * 120


def test_steps_of_several_alphas_find_the_graph_that_single_ones_do():
    X = blocks(120, 260, 5, 0)
    model = GaussianGraph(covariance="correlation").fit(X)
    R, price = np.corrcoef(X.T), (np.log(120) + 4 * model.selection_.gamma * np.log(260)) / 120
    path = model.path(X)
    fits = [fit_graph(R, graph.adjacency) for graph in path.graphs]
    costs = [np.inf if fit is None else fit.cost(price) for fit in fits]
    assert len(model.alphas_) < len(path.graphs)
    best = int(np.argmin(costs))
    assert path.alphas[best] == pytest.approx(
        model.alphas_[int(np.argmin(model.selection_.values))]
    )
