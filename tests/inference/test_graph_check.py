"""Tests of the independences that a directed graph implies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from edgewise import BootstrapGraph, DirectedGraph, GaussianGraph, Graph
from edgewise._core.errors import InputError
from edgewise.data import make_dag, make_linear_sem, make_markov_model
from edgewise.inference import check_graph
from tests.messages import raises


def chain(n: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.normal(size=(4, n))
    b += a
    c += b
    d += c
    return pd.DataFrame({"d": d, "b": b, "a": a, "c": c})


def chain_graph() -> Graph:
    weights = np.zeros((4, 4))
    weights[0, 1] = weights[1, 2] = weights[2, 3] = 1.0
    return Graph(weights, names=list("abcd"), directed=True)


def test_tests_are_those_of_regressions() -> None:
    rows = chain(60)
    found = check_graph(chain_graph(), rows, random_state=0).table().set_index(["source", "target"])
    assert {*found.index} == {("a", "c"), ("a", "d"), ("b", "d")}
    assert found.loc[("a", "d"), "given"] == "c"
    design = np.c_[np.ones(60), rows[["c", "a"]]]
    coefficients, rss, *_ = np.linalg.lstsq(design, rows["d"], rcond=None)
    error = np.sqrt(rss[0] / 57 * np.linalg.inv(design.T @ design)[2, 2])
    expected = 2 * stats.t.sf(abs(coefficients[2]) / error, 57)
    assert found.loc[("a", "d"), "pvalue"] == pytest.approx(expected, rel=1e-9)


def test_level_holds_where_the_graph_is_the_truth() -> None:
    pvalues, shares = [], []
    for seed in range(300):
        model = make_linear_sem(make_dag(8, degree=2.5, rng=seed), rng=seed)
        rows = model.sample(100, np.random.default_rng([1, seed]))
        graph = Graph(model.coef, directed=True)
        found = check_graph(graph, rows, n_permutations=0)
        pvalues.append(found.pvalue)
        shares.append(found.contradicted)
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.075
    assert np.nanmean(shares) == pytest.approx(0.05, abs=0.012)


def test_wrong_graphs_are_contradicted() -> None:
    rows = chain()
    wrong = Graph(chain_graph().weights, names=list("acbd"), directed=True)
    found = check_graph(wrong, rows, random_state=0)
    assert found.pvalue < 1e-6
    assert found.n_contradicted > 0
    assert check_graph(chain_graph(), rows, random_state=0).pvalue > 0.05


def test_a_class_implies_what_its_graphs_imply() -> None:
    rows = chain()
    model = DirectedGraph().fit(rows)
    by_class = check_graph(model.cpdag_, rows, n_permutations=0)
    assert by_class.n_tests == check_graph(model.graph_, rows, n_permutations=0).n_tests == 3


def test_learners_are_judged_by_rows_that_they_did_not_see() -> None:
    rows = chain(600)
    found = check_graph(DirectedGraph(), rows, random_state=1)
    again = check_graph(DirectedGraph().fit(rows), rows, random_state=1, n_jobs=2)
    assert found.table().equals(again.table())
    assert found.n_tests == 6
    assert len(found.tests) == 2
    assert found.permuted.mean() > 0.4 > found.contradicted
    assert check_graph(BootstrapGraph(DirectedGraph()), rows, random_state=1).n_tests == 6


def test_clusters_stay_in_one_fold() -> None:
    # Every subject has two equal rows: dealt out by row, each half would know the other.
    rows = chain(40)
    twice = pd.concat([rows, rows], ignore_index=True)
    subject = np.tile(np.arange(40), 2)
    whole = check_graph(DirectedGraph(), twice, clusters=subject, random_state=0)
    assert whole.n_tests > 0
    with pytest.raises(InputError):
        check_graph(DirectedGraph(), twice, clusters=subject[:-1], random_state=0)


def test_levels_are_tested_by_likelihood_ratios() -> None:
    graph = np.zeros((3, 3), dtype=bool)
    graph[0, 1] = graph[1, 0] = graph[1, 2] = graph[2, 1] = True
    codes = make_markov_model(graph, rng=0).sample(800, np.random.default_rng(0))
    rows = pd.DataFrame(np.asarray(codes), columns=list("abc")).astype("category")
    line = Graph(np.triu(graph).astype(float), names=list("abc"), directed=True)
    fork = check_graph(line, rows, random_state=0)
    assert fork.n_tests == 1
    assert fork.pvalue > 0.01
    assert np.isnan(fork.table()["estimate"]).all()
    empty = Graph(np.zeros((3, 3)), names=list("abc"), directed=True)
    assert check_graph(empty, rows, random_state=0).pvalue < 0.01


def test_incomplete_rows_do_not_count() -> None:
    rows = chain(200)
    rows.loc[::10, "a"] = np.nan
    found = check_graph(chain_graph(), rows, n_permutations=0)
    complete = check_graph(chain_graph(), rows.dropna(), n_permutations=0)
    assert found.table().equals(complete.table())


def test_a_complete_graph_implies_nothing() -> None:
    graph = Graph(np.triu(np.ones((4, 4)), 1), names=list("abcd"), directed=True)
    found = check_graph(graph, chain(), n_permutations=3)
    assert found.n_tests == 0
    assert np.isnan(found.pvalue)
    assert found.table().empty


def test_other_graphs_and_columns_are_refused() -> None:
    undirected = GaussianGraph(0.2).fit(chain())
    with raises(InputError, code="needs_directed_graph"):
        check_graph(undirected.graph_, chain())
    with raises(InputError, code="no_directed_graph"):
        check_graph(undirected, chain())
    with raises(InputError, code="columns_not_of_graph", columns=["b"]):
        check_graph(chain_graph(), chain()[["a", "c", "d"]])
    cyclic = Graph(np.roll(np.eye(3), 1, axis=1), directed=True)
    with raises(InputError, code="cyclic_graph"):
        check_graph(cyclic, chain()[["a", "c", "d"]].to_numpy())
    with raises(InputError, code="invalid_value"):
        check_graph(DirectedGraph(), chain(), n_folds=1)
