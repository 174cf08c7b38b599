"""``edgewise export``."""

import json

import numpy as np
import pandas as pd
import pytest

from edgewise import GaussianGraph, Graph

FORMATS = ["graphml", "gexf", "csv", "json"]


@pytest.fixture
def graph():
    weights = np.array([[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0.0]])
    return Graph(weights, names=["ä b", "c", "lonely"])


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_between_all_formats(run, graph, tmp_path, source, target):
    graph.write(tmp_path / f"in.{source}")
    result = run("export", f"in.{source}", f"out.{target}")
    assert Graph.read(tmp_path / f"out.{target}") == graph
    files = "out.csv and out-nodes.csv" if target == "csv" else f"out.{target}"
    assert result.stdout == f"{files}: 3 nodes, 1 edges\n"


@pytest.mark.parametrize("target", FORMATS)
def test_of_a_model(run, frame, tmp_path, target):
    model = GaussianGraph(alpha=0.2).fit(frame)
    model.save(tmp_path / "model.edgewise")
    run("export", "model.edgewise", f"out.{target}")
    written = Graph.read(tmp_path / f"out.{target}")
    # Only JSON holds what is decided of absent pairs.
    assert written.names == model.graph_.names
    pd.testing.assert_frame_equal(written.edges(), model.graph_.edges())
    assert target != "json" or written == model.graph_


def test_what_learn_wrote(learn, run, frame, tmp_path):
    out = learn(frame, "--alpha", "0.2", "--resamples", "3").out
    run("export", out / "model.edgewise", "copy.graphml")
    again, written = Graph.read(tmp_path / "copy.graphml"), Graph.read(out / "graph.graphml")
    assert again == written
    assert again.confidence is not None


def test_bad_requests(run, graph, tmp_path):
    GaussianGraph().save(tmp_path / "unfitted.edgewise")
    graph.write(tmp_path / "graph.csv")
    (tmp_path / "broken.edgewise").write_bytes(b"PK nonsense")
    for source, target, words in [
        ("nowhere.graphml", "out.csv", "nowhere.graphml"),
        ("nowhere.edgewise", "out.csv", "nowhere.edgewise"),
        ("broken.edgewise", "out.csv", "not an edgewise archive"),
        ("unfitted.edgewise", "out.csv", "before it was fitted"),
        ("graph.csv", "out.docx", "'.docx'"),
        ("graph.csv", "nowhere/out.csv", "does not exist"),
    ]:
        result = run("export", source, target, code=2)
        assert words in result.stderr
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out.csv").exists()


def test_json_and_silence(run, graph, tmp_path):
    graph.write(tmp_path / "in.csv")
    document = json.loads(run("export", "in.csv", "out.json", "--json").stdout)
    assert document == {"file": "out.json", "n_nodes": 3, "n_edges": 1}
    assert run("export", "in.csv", "out.json", "--quiet").stdout == ""
