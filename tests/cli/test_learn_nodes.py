"""What ``learn`` says about the nodes: statistics, groups and stability."""

import json

import numpy as np
import pandas as pd
import pytest

from edgewise import Graph
from edgewise.cli.confidence import PARTS, SIZES
from edgewise.inference import edge_intervals
from edgewise.metrics import communities, node_statistics, predictability

FAST = ["--alpha", "0.1", "--resamples=0"]


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 6))
    rows[:, 1:3] += rows[:, [0]]
    rows[:, 4:] += rows[:, [3]]
    frame = pd.DataFrame(rows, columns=["sad", "tired", "slow", "calm", "glad", "fit"])
    frame.to_csv(tmp_path / "data.csv", index=False)
    return frame


@pytest.mark.drawn
def test_nodes_have_a_table_a_picture_and_a_place_in_the_report(run, data, tmp_path):
    out = run("learn", "data.csv", *FAST, "--nodes").stdout
    folder = tmp_path / "edgewise-out"
    table = pd.read_csv(folder / "nodes.csv")
    graph = Graph.read(folder / "edges.csv")
    order = [graph.names.index(node) for node in data.columns]
    weights = graph.weights[np.ix_(order, order)]
    wanted = node_statistics(weights, communities=communities(weights))
    assert table["node"].tolist() == data.columns.tolist()
    for name in ("strength", "expected_influence", "betweenness", "bridge_strength"):
        np.testing.assert_allclose(table[name], wanted[name], atol=1e-9)
    np.testing.assert_array_equal(table["community"], communities(weights) + 1)
    np.testing.assert_allclose(
        table["predictability"], predictability(weights, data)["predictability"], atol=1e-9
    )
    assert "Most central, by strength:" in out
    assert "communit" in out
    assert (folder / "centrality.png").exists()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h3>Nodes</h3>" in page
    assert "walktrap" in page
    assert "pons2006" in page
    record = json.loads((folder / "run.json").read_text())
    assert {"nodes.csv", "centrality.png"} <= set(record["files"])
    assert record["mean_predictability"] == pytest.approx(table["predictability"].mean(), abs=1e-4)
    assert "haslbeck2018" in page
    assert record["n_communities"] == communities(weights).max() + 1


def test_groups_make_bridges(run, data, tmp_path):
    lines = ["item,scale"] + [f"{name},{'low' if k < 3 else 'high'}" for k, name in enumerate(data)]
    (tmp_path / "groups.csv").write_text("\n".join(lines))
    out = run("learn", "data.csv", *FAST, "--groups", "groups.csv").stdout
    assert "read as a header" in out
    table = pd.read_csv(tmp_path / "edgewise-out" / "nodes.csv")
    assert table["group"].tolist() == ["low"] * 3 + ["high"] * 3
    graph = Graph.read(tmp_path / "edgewise-out" / "edges.csv")
    order = [graph.names.index(node) for node in data.columns]
    weights = graph.weights[np.ix_(order, order)]
    across = np.abs(weights)
    across[:3, :3] = across[3:, 3:] = 0.0
    np.testing.assert_allclose(table["bridge_strength"], across.sum(axis=1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sad,a\ntired,a\nslow,a\ncalm,a\nglad,a\n", "no group for column 'fit'"),
        ("sad,a\nhappy,a\n", "'happy', which is not a column"),
        ("sad,a\nsad,b\n", "second group"),
        ("sad,a\ntired\n", "not a column and its group"),
    ],
)
def test_bad_groups(run, data, tmp_path, content, message):
    (tmp_path / "groups.csv").write_text(content)
    error = run("learn", "data.csv", *FAST, "--groups", "groups.csv", code=2).stderr
    assert message in " ".join(error.split())


@pytest.mark.slow
@pytest.mark.drawn
def test_stability_and_intervals(run, data, tmp_path):
    out = run("learn", "data.csv", "--alpha", "0.1", "--resamples", "20", "--stability").stdout
    assert "CS coefficient: strength" in out
    folder = tmp_path / "edgewise-out"
    record = json.loads((folder / "run.json").read_text())
    assert set(record["cs_coefficient"]) == {"strength", "expected_influence"}
    table = pd.read_csv(folder / "stability.csv")
    assert len(table) == 2 * SIZES
    assert (table["share_above_0.7"] * PARTS % 1 < 1e-9).all()
    nodes = pd.read_csv(folder / "nodes.csv")
    assert (nodes["strength_lower"] <= nodes["strength_upper"]).all()
    assert (folder / "communities.png").exists()
    assert nodes["community_stability"].between(0, 1).all()
    assert "epskamp2018" in (folder / "report.html").read_text(encoding="utf-8")


def test_without_edges_and_with_missing_values(run, data, tmp_path):
    data.mask(np.arange(150)[:, None] == np.arange(6)).to_csv(tmp_path / "gaps.csv", index=False)
    out = run(
        "learn",
        "gaps.csv",
        "--alpha",
        "5",
        "--resamples=0",
        "--stability",
        "--missing",
        "pairwise",
    ).stdout
    assert "no stability, since there is no edge" in out
    assert "predictability from the 144 rows without missing values" in out


def test_what_needs_all_rows_is_refused_with_a_stream(run, data):
    error = run("learn", "data.csv", "--stream", "--nodes", code=2).stderr
    assert "--stream" in error


@pytest.mark.drawn
def test_edges_have_intervals_and_p_values(run, data, tmp_path):
    out = run("learn", "data.csv", *FAST).stdout
    folder = tmp_path / "edgewise-out"
    table = pd.read_csv(folder / "edges.csv").dropna(subset="target").reset_index(drop=True)
    wanted = edge_intervals(data)
    at = table["source_index"].to_numpy(int), table["target_index"].to_numpy(int)
    for column, matrix in {
        "estimate": wanted.estimate,
        "lower": wanted.lower,
        "upper": wanted.upper,
        "pvalue": wanted.pvalues,
        "qvalue": wanted.qvalues,
    }.items():
        np.testing.assert_allclose(table[column], matrix[at])
    n_sure = (table["qvalue"] <= 0.05).sum()
    line = f"{n_sure} of {len(table)} edges have a q-value of at most 0.05, by tests of debiased"
    assert f"{line} partial correlations." in " ".join(out.split())
    record = json.loads((folder / "run.json").read_text())
    assert (record["edge_tests"], record["n_significant"]) == ("formula", n_sure)
    assert record["edge_tests_alpha"] == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert '"more":{"estimate":[' in page
    assert "benjamini1995" in page
    assert "partial correlations by least squares" in page
    data.head(30).to_csv(tmp_path / "few.csv", index=False)
    run("learn", "few.csv", *FAST)
    assert json.loads((folder / "run.json").read_text())["edge_tests_alpha"] > 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "partial correlations freed of the bias of a penalty (Liu 2013)" in page


@pytest.mark.drawn
def test_levels_have_p_values_and_what_has_none_says_why(run, data, tmp_path):
    levels = (data > 0).replace({True: "yes", False: "no"})
    levels.to_csv(tmp_path / "levels.csv", index=False)
    run("learn", "levels.csv", "--resamples=0")
    table = pd.read_csv(tmp_path / "edgewise-out" / "edges.csv").dropna(subset="target")
    graph = Graph.read(tmp_path / "edgewise-out" / "edges.csv")
    wanted = edge_intervals(levels, graph=graph)
    at = table["source_index"].to_numpy(int), table["target_index"].to_numpy(int)
    np.testing.assert_allclose(table["qvalue"], wanted.qvalues[at])
    assert "shah2020" in (tmp_path / "edgewise-out" / "report.html").read_text(encoding="utf-8")
    out = run("learn", "data.csv", *FAST, "--covariance", "kendall").stdout
    assert "no p-values of edges: their standard errors need resamples" in " ".join(out.split())
    out = run("learn", "data.csv", *FAST, "--blocks", "5").stdout
    assert "no p-values of edges, since rows depend" in " ".join(out.split())
