"""``edgewise simulate``."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from edgewise import Graph
from edgewise.data import make_drifting_chain, make_drifting_grid, make_tree_partition
from edgewise.data.simulate.gaussian import GRAPH_KINDS


def test_shape_and_truth(run, tmp_path):
    result = run(
        "simulate", "--kind", "chain", "--features", 6, "--samples", 50, "--seed", 4,
        "--out", "data.csv", "--truth", "truth.graphml",
    )  # fmt: skip
    table = pd.read_csv(tmp_path / "data.csv")
    truth = Graph.read(tmp_path / "truth.graphml")
    assert table.shape == (50, 6)
    assert tuple(table.columns) == truth.names
    expected = np.eye(6, k=1, dtype=bool) | np.eye(6, k=-1, dtype=bool)
    np.testing.assert_array_equal(truth.adjacency, expected)
    assert "50 rows, 6 columns" in result.stdout
    assert "5 edges" in result.stdout


def test_truth_is_what_the_rows_show(run, tmp_path):
    run("simulate", "--features", 5, "--samples", 20000, "--out", "d.csv", "--truth", "t.json")
    precision = np.linalg.inv(pd.read_csv(tmp_path / "d.csv").corr().to_numpy())
    scale = np.sqrt(np.diag(precision))
    partial = -precision / np.outer(scale, scale)
    np.fill_diagonal(partial, 0)
    np.testing.assert_allclose(partial, Graph.read(tmp_path / "t.json").weights, atol=0.03)


def test_seed_and_rows(run, tmp_path):
    def draw(name, *options):
        run("simulate", "--out", f"{name}.csv", "--truth", f"{name}.json", *options)
        return pd.read_csv(tmp_path / f"{name}.csv"), Graph.read(tmp_path / f"{name}.json")

    rows, truth = draw("a", "--seed", 1)
    again, same = draw("b", "--seed", 1)
    pd.testing.assert_frame_equal(rows, again)
    assert truth == same
    assert draw("c", "--seed", 2)[1] != truth
    assert draw("d", "--seed", 1, "--samples", 7)[1] == truth


@pytest.mark.parametrize("kind", GRAPH_KINDS)
def test_kinds(run, tmp_path, kind):
    run("simulate", "--kind", kind, "--features", 12, "--samples", 3,
        "--out", "data.csv", "--truth", "t.json")  # fmt: skip
    truth = Graph.read(tmp_path / "t.json")
    expected = {"hub": 11, "chain": 11, "ring": 12, "grid": 17}
    assert truth.n_edges == expected.get(kind, truth.n_edges)
    assert truth.n_edges > 0


def test_two_groups_that_differ(run, tmp_path):
    options = ["--kind", "grid", "--features", 9, "--changed", 2, "--seed", 3, "--samples", 5000]
    result = run("simulate", *options, "--out", "d.csv", "--truth", "t.json")
    assert "5000 rows of each of two groups, 9 columns and 'group'" in result.stdout
    assert "the true changes, 2 edges" in result.stdout
    table, truth = pd.read_csv(tmp_path / "d.csv"), Graph.read(tmp_path / "t.json")
    assert table.group.value_counts().to_dict() == {"first": 5000, "second": 5000}
    before, after = (
        np.linalg.inv(table[table.group == label].drop(columns="group").cov())
        for label in ("first", "second")
    )
    np.testing.assert_allclose(before - after, truth.weights, atol=0.3)
    assert truth.n_edges == 2


@pytest.mark.parametrize("options", [["--directed", "--features", 6], ["--dag", "asia"]])
def test_directed_truth_is_what_the_rows_show(run, tmp_path, options):
    result = run("simulate", *options, "--samples", 20000, "--out", "d.csv", "--truth", "t.json")
    table, truth = pd.read_csv(tmp_path / "d.csv"), Graph.read(tmp_path / "t.json")
    assert truth.directed
    assert tuple(table.columns) == truth.names
    # What the equations leave over is noise of variance 1, not correlated with any other.
    noise = table.to_numpy() @ (np.eye(truth.n_nodes) - truth.weights)
    np.testing.assert_allclose(np.cov(noise.T), np.eye(truth.n_nodes), atol=0.05)
    assert "varsortability" in result.stdout
    assert "R2-sortability" in result.stdout


def test_bundled_network_comes_in_another_order(run, tmp_path):
    run("simulate", "--dag", "chain", "--samples", 3, "--out", "d.csv", "--truth", "t.json")
    truth = Graph.read(tmp_path / "t.json")
    assert sorted(truth.names) == [f"N{k}" for k in range(1, 8)]
    assert list(truth.names) != sorted(truth.names)
    for arc in truth.edges().itertuples():
        assert int(arc.target[1:]) - int(arc.source[1:]) == 1


def test_directed_kind_is_heeded(run, tmp_path):
    for kind, n_arcs in (("chain", 9), ("ring", 10)):
        run("simulate", "--directed", "--kind", kind, "--features", 10, "--samples", 3,
            "--out", "d.csv", "--truth", "t.json")  # fmt: skip
        assert Graph.read(tmp_path / "t.json").n_edges == n_arcs


@pytest.mark.parametrize(
    ("varying", "samples", "n_covariates"),
    [("cells", 400, 10), ("line", 300, 1), ("square", 400, 2)],
)
def test_rows_whose_network_varies(run, tmp_path, varying, samples, n_covariates):
    options = ("--samples", samples, "--features", 8, "--seed", 3, "--out", "v.csv")
    result = run("simulate", "--varying", varying, *options)
    assert f"{2 * samples} rows, half of them marked in 'held_out'" in result.stdout
    table = pd.read_csv(tmp_path / "v.csv")
    assert list(table.columns) == [
        *(f"x{k}" for k in range(n_covariates)),
        *(f"y{k}" for k in range(8)),
        "held_out",
    ]
    assert table["held_out"].value_counts().tolist() == [samples, samples]
    draw = {
        "cells": make_tree_partition,
        "line": make_drifting_chain,
        "square": make_drifting_grid,
    }[varying]
    size = 20 if varying == "square" else samples
    data = draw(size, n_features=8, n_edges=4 if varying == "cells" else 5, rng=3)
    np.testing.assert_allclose(table.filter(like="y")[:samples], data.Y)


def test_kinds_are_those_of_the_library(run):
    said = run("simulate", "--kind", "tree", "--out", "data.csv", code=2).stderr
    assert sorted(re.findall(r"'([a-z-]+)'", said)[-len(GRAPH_KINDS) :]) == sorted(GRAPH_KINDS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "data.xlsx"], ".csv"),
        (["--out", "nowhere/data.csv"], "does not exist"),
        (["--out", "data.csv", "--features", 1], "at least 2"),
        (["--out", "data.csv", "--samples", 0], "at least 1"),
        (["--out", "data.csv", "--truth", "truth.txt"], "'.txt'"),
        (["--out", "data.csv", "--truth", "./data.csv"], "--truth are the same file, data.csv"),
        (["--out", "data.csv", "--changed", 2], "--changed requires --kind grid"),
        (["--out", "data.csv", "--changed", 2, "--kind", "grid"], "square lattice"),
        (["--out", "data.csv", "--changed", 2, "--dag", "asia"], "Omit it or --dag"),
        (["--out", "data.csv", "--changed", 2, "--directed"], "Omit it or --directed"),
        (["--out", "data.csv", "--features", 8, "--dag", "asia"], "Omit --features"),
        (["--out", "data.csv", "--dag", "karate"], "is undirected"),
        (["--out", "data.csv", "--varying", "line", "--truth", "t.json"], "Omit --changed"),
        (["--out", "data.csv", "--varying", "square", "--samples", 120], "such as 100"),
    ],
)
def test_bad_requests(run, tmp_path, options, words):
    result = run("simulate", *options, code=2)
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_learning_finds_the_truth(run, tmp_path):
    run("simulate", "--kind", "chain", "--features", 8, "--samples", 3000, "--out", "d.csv",
        "--truth", "t.json")  # fmt: skip
    run("learn", "d.csv", "--alpha", "stars", "--resamples=0")
    found = Graph.read(tmp_path / "edgewise-out" / "graph.graphml").adjacency
    truth = Graph.read(tmp_path / "t.json").adjacency
    assert found[truth].all()


def test_json_and_silence(run, tmp_path):
    document = json.loads(run("simulate", "--out", "d.csv", "--features", "6", "--json").stdout)
    assert (document["file"], document["n_rows"], document["n_columns"]) == ("d.csv", 500, 6)
    assert document["n_edges"] >= 0
    assert "truth" not in document
    changed = ["--kind", "grid", "--features", "16", "--changed", "2", "--truth", "t.csv"]
    document = json.loads(run("simulate", "--out", "d.csv", *changed, "--json").stdout)
    assert (document["truth"], document["n_edges"]) == ("t.csv", 2)
    document = json.loads(run("simulate", "--out", "d.csv", "--varying", "line", "--json").stdout)
    assert "n_edges" not in document
    assert run("simulate", "--out", "d.csv", "--quiet").stdout == ""
