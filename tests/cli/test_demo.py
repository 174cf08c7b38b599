"""``edgewise demo``."""

import dataclasses
import json
import os
import re

import joblib
import numpy as np
import pandas as pd
import pytest

from edgewise import GaussianGraph, Graph, InputError
from edgewise.cli import demo as demo_module
from edgewise.cli.run import Result
from edgewise.data import load_senate, load_table, neighbor_pairs
from tests.cli.files import CHANGE_FILES, DIRECT_FILES, FILES, IN_SPACE, SPACE_FILES

INDIRECT = "Temperature and water in air go together (correlation +0.46), but only by"


@pytest.fixture(scope="module")
def weather():
    return demo_module.weather_anomalies().frame


@pytest.mark.slow
@pytest.mark.drawn
def test_demo_answers_into_a_folder(run, tmp_path):
    result = run("demo")
    out = tmp_path / "edgewise-demo"
    assert sorted(path.name for path in out.iterdir()) == sorted(
        (*FILES, "climate", "diagnosis", "digits", "senate", "tumours", "votes")
    )
    graph = Graph.read(out / "graph.graphml")
    assert graph.n_nodes == 16
    # Few enough edges to read, and what is known of the weather is among them.
    assert 16 <= graph.n_edges <= 50
    place = {name: k for k, name in enumerate(graph.names)}
    for one, other, sign in [
        ("temperature", "warmest hour", 1),
        ("cloud", "opaque cloud", 1),
        ("dew point", "humidity", 1),
        ("direct sun", "opaque cloud", -1),
    ]:
        assert np.sign(graph.weights[place[one], place[other]]) == sign
    record = json.loads((out / "run.json").read_text())
    assert (record["command"], record["data"]["bundled"]) == ("demo", "tmy3-daily")
    assert record["alpha_rule"] == "stars"
    assert record["converged"] is True
    assert len(record["treatment"]) == 3
    assert_digits(out / "digits")
    assert_senate(out / "senate")
    assert_votes(out / "votes")
    assert_climate(out / "climate")
    assert_tumours(out / "tumours")
    assert_diagnosis(out / "diagnosis")
    assert all(question.text in result.stdout for question in demo_module.QUESTIONS)
    assert result.stdout.count(" optimum") == 3
    # Each answer begins with a finding, which is said again at the end with its picture.
    for finding, picture in [
        (INDIRECT, "network.png"),
        ("45 join pixels that touch; the longest, r0c2 to r7c2,", "digits/seeds.png"),
        ("most of all, though not beyond chance by themselves", "senate/change.png"),
        ("9 of the 10 pairs that vote most alike whatever", "votes/network.png"),
        ("west of longitude -102, near the 100th", "climate/map.png"),
        ("comes before symmetry", "tumours/dag.png"),
        ("name the kind of 94% of tumours", "diagnosis/networks.png"),
    ]:
        assert result.stdout.count(finding) == 2
        assert re.search(
            f"{re.escape(finding)}.*: edgewise-demo/{picture}$", result.stdout, re.MULTILINE
        )
    assert f"Written to edgewise-demo/digits: {', '.join(IN_SPACE)}" in result.stdout
    assert str(tmp_path / "edgewise-demo") not in result.stdout  # said as it was given
    assert "edgewise-demo/report.html" in result.stdout
    # Nothing but how far it is, on a slow machine.
    assert all(" done" in line for line in result.stderr.splitlines())
    page = (out / "report.html").read_text(encoding="utf-8")
    assert all(question.text in page for question in demo_module.QUESTIONS)
    assert all(path.stat().st_size > 10_000 for path in out.rglob("*.png"))


def assert_votes(out):
    """Senators of one state vote alike, whatever the others do."""
    edges = pd.read_csv(out / "edges.csv").head(5)
    pairs = {frozenset(pair) for pair in edges[["source", "target"]].to_numpy().tolist()}
    assert {frozenset(("Collins", "Snowe")), frozenset(("Thomas", "Enzi"))} <= pairs
    assert json.loads((out / "run.json").read_text())["parameters"]["method"] == "discrete"


def assert_diagnosis(out):
    """Networks tell the tumours apart well, and no gain is claimed that is noise."""
    record = json.loads((out / "run.json").read_text())
    assert record["classes"] == ["benign", "malignant"]
    assert all(found["mean"] > 0.88 for found in record["accuracy"].values())
    assert max(record["fit_error_ratio"].values()) <= 1.01 + 1e-9


def assert_climate(out):
    """East and west differ most, and one network for all hides what most places have."""
    record = json.loads((out / "run.json").read_text())
    assert record["data"]["bundled"] == "tmy3-daily"
    assert record["covariates"] == ["lat", "lon"]
    assert record["splits"][0]["condition"].startswith("lon <= -101")
    assert 5 <= record["n_leaves"] <= 20
    assert record["risk"] < record["risk_of_one_network"] - 1
    leaves = pd.read_csv(out / "leaves.csv")
    written = {path.name for path in out.iterdir()}
    assert {"tree.png", "partition.png", "map.png", "risk.png", "tree.txt"} <= written
    assert {f"leaf-{k}.graphml" for k in leaves["leaf"]} <= written
    edges = pd.read_csv(out / "edges.csv")
    assert not edges["in_whole"].all()


def assert_digits(out):
    """What is known of a written 3: neighbouring pixels of its stroke go together."""
    assert sorted(path.name for path in out.iterdir()) == sorted((*FILES, *SPACE_FILES))
    graph = Graph.read(out / "graph.graphml")
    record = json.loads((out / "run.json").read_text())
    assert record["converged"] is True
    assert record["n_groups"] < record["n_edges"] == graph.n_edges
    assert any("10 constant columns left out" in note for note in record["treatment"])
    assert (graph.adjacency.sum(axis=0) == 0).sum() >= 10
    beside = neighbor_pairs((8, 8), 64)
    strongest = graph.edges().head(20)
    place = {name: k for k, name in enumerate(graph.names)}
    found = {(place[a], place[b]) for a, b in zip(strongest.source, strongest.target, strict=True)}
    assert len(found & {tuple(pair) for pair in beside.tolist()}) >= 10


def assert_senate(out):
    """Some senators changed sides from one year to the next, and that is more than chance."""
    assert sorted(path.name for path in out.iterdir()) == sorted(CHANGE_FILES)
    graph = Graph.read(out / "graph.graphml")
    record = json.loads((out / "run.json").read_text())
    assert record["data"]["bundled"] == "senate-votes"
    assert record["labels"] == {"before": "2005", "after": "2006"}
    assert record["n_rows"] == {"before": 251, "after": 177}
    assert record["parameters"]["basis"] == "ising"
    assert record["test"]["pvalue"] <= 0.05
    assert record["converged"] is True
    assert record["warnings"] == []
    assert 10 <= graph.n_edges <= 100
    assert pd.read_csv(out / "coefficients.csv").kind.isin(["gained", "increased"]).any()


def assert_tumours(out):
    """A nucleus of a given radius has a longer outline the more uneven it is."""
    assert sorted(path.name for path in out.iterdir()) == sorted(DIRECT_FILES)
    record = json.loads((out / "run.json").read_text())
    assert record["data"]["bundled"] == "breast cancer of scikit-learn"
    assert record["parameters"]["n_resamples"] == demo_module.NUCLEI_RESAMPLES
    assert record["warnings"] == []
    arcs = pd.read_csv(out / "arcs.csv").set_index(["source", "target"])
    for cause in ("radius", "compactness"):
        both_ways = arcs.loc[(cause, "perimeter"), ["confidence", "confidence_reversed"]]
        assert both_ways.iloc[0] > 2 * both_ways.iloc[1]
    assert 0 <= record["n_untold"] < record["n_edges"] <= 30


def test_columns_that_go_together_by_way_of_others_do_so_only(weather):
    """Not those that a penalty leaves without an edge: given the rest, nothing is left of them."""
    names = [*weather.columns]
    graph = Graph(np.zeros((16, 16)), names=names)
    weights = graph.weights.copy()
    weights[0, 1] = weights[1, 0] = 0.5
    source = demo_module.weather_anomalies()
    found = dataclasses.replace(answer()[1](), graph=Graph(weights, names=names))
    pair = re.match("(.*) and (.*) go together", demo_module.tell_indirect(source, found)).groups()
    pair = [pair[0].lower(), pair[1]]
    rest = weather.drop(columns=pair).to_numpy()
    rest = np.column_stack([np.ones(len(rest)), rest])
    left = weather[pair] - rest @ np.linalg.lstsq(rest, weather[pair], rcond=None)[0]
    assert abs(np.corrcoef(left, rowvar=False)[0, 1]) < 2 / np.sqrt(len(left))
    assert abs(weather[pair].corr().iloc[0, 1]) > 0.4


def test_every_senator_has_a_state():
    pairs = [pair.split(maxsplit=1) for pair in demo_module.STATES.split("; ")]
    assert len(pairs) == 50
    assert sorted(name for pair in pairs for name in pair) == sorted(load_senate().votes.columns)


def test_digits_are_measurements():
    from sklearn.datasets import load_digits

    source = demo_module.digit_images()
    frame, data = source.frame, source.fingerprint
    images, digit = load_digits(return_X_y=True)
    shades = images[digit == 3]
    assert frame.shape == shades.shape == (data["n_samples"], data["n_features"])
    noise = frame.to_numpy() - shades
    varies = np.ptp(shades, axis=0) > 0
    assert (noise[:, ~varies] == 0).all()
    assert 0 <= noise.min() < noise.max() < 1
    assert noise[:, varies].mean() == pytest.approx(0.5, abs=0.01)
    assert list(frame.columns[[0, 8, 63]]) == ["r0c0", "r1c0", "r7c7"]


def answer():
    """Answer any question."""
    graph = Graph([[0, 0.5], [0.5, 0]])
    found = Result(
        model=GaussianGraph(),
        graph=graph,
        text="forty-two",
        parameters={},
        found={},
        figures=dict,
        words={},
        tables={"other.txt": "42"},
        rows=("edges", graph.edges()),
    )
    return demo_module.bundled(graph.edges(), "none", "", []), lambda: found


@pytest.fixture(params=[1, 2])
def cores(request, monkeypatch):
    """Have the machine look as if it had so many."""
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda n_jobs: request.param)
    return request.param


def tell_process(source, result):
    """Say where the answer was found."""
    return f"found by {os.getpid()}"


def test_every_question_is_asked(run, tmp_path, monkeypatch, cores):
    questions = [
        demo_module.Question(
            text=text, ask=answer, folder=folder, seconds=seconds, story=tell_process
        )
        for text, folder, seconds in [("First?", "", 1.0), ("And the rest?", "rest", 2.0)]
    ]
    monkeypatch.setattr(demo_module, "QUESTIONS", questions)
    result = run("demo", "--out", "elsewhere")
    # In the order of the questions, also where the second is begun first.
    answers = re.findall(r"(.*)\n\nfound by (\d+)\nforty-two", result.stdout)
    assert [text for text, _ in answers] == ["First?", "And the rest?"]
    assert all((int(found_by) == os.getpid()) == (cores == 1) for _, found_by in answers)
    assert (tmp_path / "elsewhere" / "other.txt").read_text() == "42"
    assert (tmp_path / "elsewhere" / "rest" / "other.txt").read_text() == "42"
    document = json.loads(run("demo", "--out", "elsewhere", "--json").stdout)
    assert [found["question"] for found in document["questions"]] == ["First?", "And the rest?"]
    assert document["questions"][0]["folder"] == "elsewhere"


def test_a_question_that_fails_leaves_nothing(run, tmp_path, monkeypatch, cores):
    def fail():
        raise InputError("No answer.")

    questions = (
        demo_module.Question(text="One?", ask=answer),
        demo_module.Question(text="Two?", ask=fail, folder="two"),
    )
    monkeypatch.setattr(demo_module, "QUESTIONS", questions)
    assert run("demo", code=2).stderr == "Error: No answer.\n"
    assert list(tmp_path.iterdir()) == []


def test_season_is_gone_from_the_weather(weather):
    frame = weather
    table = load_table("tmy3-daily").frame.dropna()
    assert frame.shape == (59 * 52, 16)
    assert not frame.isna().any().any()
    # A least-squares fit leaves no mean; a sample of the days leaves little of it.
    assert (frame.mean().abs() < 0.1 * frame.std()).all()
    days = table[table.doy % 7 == 0]
    angle = 2 * np.pi * days.doy.to_numpy() / 365
    raw = abs(np.corrcoef(days.TMP, np.cos(angle))[0, 1])
    left = abs(np.corrcoef(frame["temperature"], np.cos(angle))[0, 1])
    assert raw > 0.5
    assert left < 0.02


def test_days_and_logarithms(weather):
    """One station by hand, with harmonics by numpy's own least squares on all its days."""
    frame = weather
    table = load_table("tmy3-daily").frame
    station = table[table.wmo == table.wmo[0]]
    angle = 2 * np.pi * station.doy.to_numpy() / 365
    basis = np.array([angle**0, np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)])
    for code, log in [("WND", True), ("PRS", False)]:
        values = np.log(station[code]) if log else station[code]
        season = basis.T @ np.linalg.pinv(basis.T) @ values
        expected = (values - season)[station.doy % 7 == 0]
        found = frame[demo_module.WEATHER[code]][: len(expected)]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_directions_of_the_demo_have_a_second_opinion(monkeypatch):
    monkeypatch.setattr(demo_module, "NUCLEI_RESAMPLES", 2)
    _, fit = demo_module.ask_tumours()
    assert "second.graphml" in fit().networks
