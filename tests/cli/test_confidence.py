"""How sure each edge is: by default where that is quick."""

import json
import sys
import time
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numba.core.event import trigger_event

import edgewise
from edgewise import BootstrapGraph, GaussianGraph
from edgewise._core.parallel import duration
from edgewise.cli.confidence import (
    RESAMPLES,
    Confidence,
    _forecast,
    bootstrap_edges,
    draw_intervals,
    timed_fit,
)
from tests.messages import raises

FAST = ["--alpha", "0.1", "--json"]


@pytest.fixture
def data(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return frame


def result(run, *options):
    return json.loads(run(*options).stdout)


@pytest.mark.parametrize("command", ["learn", "direct"])
def test_quick_resamples_are_the_default(run, data, command):
    document = result(run, command, "data.csv", *FAST)
    assert document["parameters"]["n_resamples"] == RESAMPLES
    edges = pd.read_csv("edgewise-out/edges.csv").dropna(subset="target")
    assert edges.confidence.between(0, 1).all()
    assert not document["treatment"]


def test_the_numbers_are_those_of_the_bootstrap(run, data):
    result(run, "learn", "data.csv", *FAST, "--seed", "4")
    learner = GaussianGraph(0.1, covariance="correlation", random_state=4)
    expected = BootstrapGraph(learner, n_resamples=RESAMPLES, random_state=4).fit(data)
    model = edgewise.load("edgewise-out/model.edgewise")
    assert isinstance(model, BootstrapGraph)
    np.testing.assert_array_equal(model.graph_.confidence, expected.edge_frequency_)
    np.testing.assert_array_equal(model.interval_, expected.interval_)
    np.testing.assert_array_equal(model.estimator_.precision_, expected.estimator_.precision_)


@pytest.mark.parametrize("command", ["learn", "direct"])
def test_intervals_are_listed_drawn_and_saved(run, data, command):
    document = result(run, command, "data.csv", *FAST, "--resamples", "20")
    table = pd.read_csv(document["files"]["intervals.csv"])
    model = edgewise.load(document["files"]["model.edgewise"])
    place = {name: k for k, name in enumerate(model.graph_.names)}
    assert len(table) == model.graph_.n_edges > 0
    assert table["weight"].is_monotonic_decreasing
    for row in table.itertuples():
        pair = place[row.source], place[row.target]
        assert row.weight == model.graph_.weights[pair]
        ends = row.resampled_lower, row.resampled_upper
        assert ends == tuple(model.interval_[(slice(None), *pair)])
        assert ends[0] <= ends[1]
        assert row.confidence == model.edge_frequency_[pair]
    assert Path(document["files"]["intervals.png"]).read_bytes().startswith(b"\x89PNG")
    (picture,) = draw_intervals(model).values()
    assert picture.axes[0].get_title() == "Where 95 % of the resampled weights lie"


def test_resampled_weights_are_told_from_the_tests(run, data):
    said = run("learn", "data.csv", *FAST[:2], "--resamples", "20").stdout
    assert "intervals.png and intervals.csv show resampled weights instead." in said
    said = run("learn", "data.csv", *FAST[:2], "--resamples=0", "--out", "alone").stdout
    assert "q-value" in said
    assert "intervals.png" not in said


@pytest.mark.parametrize("command", ["learn", "direct"])
def test_nothing_is_resampled_for_an_empty_graph(run, tmp_path, command, monkeypatch):
    monkeypatch.setattr(BootstrapGraph, "fit", None)
    noise = np.random.default_rng(0).normal(size=(60, 4))
    pd.DataFrame(noise, columns=list("abcd")).to_csv(tmp_path / "data.csv", index=False)
    options = ["--alpha", "0.9"] if command == "learn" else []
    document = result(run, command, "data.csv", "--resamples", "20", "--json", *options)
    assert document["n_edges"] == 0
    assert document["parameters"]["n_resamples"] is None
    assert any("no resamples, since there is no edge" in note for note in document["treatment"])
    assert "intervals.csv" not in document["files"]


@pytest.mark.parametrize("options", [["--resamples", "3"], ["--resamples", "3", "--grid=chain"]])
def test_all_rows_are_fitted_once(run, data, monkeypatch, options):
    n_rows = []
    for learner in (GaussianGraph, edgewise.LocallyConstantGraph):
        fit = learner.fit

        def counted(self, X, *rest, fit=fit, **others):
            n_rows.append(len(set(np.asarray(X)[:, 0])))
            return fit(self, X, *rest, **others)

        monkeypatch.setattr(learner, "fit", counted)
    run(
        "learn",
        "data.csv",
        "--alpha",
        "0.1",
        *options,
        *(["--set", "tau=0.1"] * ("--grid=chain" in options)),
    )
    assert n_rows[0] == len(data)
    assert max(n_rows[1:]) < len(data)
    assert len(n_rows) == 4
    model = edgewise.load("edgewise-out/model.edgewise")
    assert (model.prefit, hasattr(model.estimator, "graph_")) == (False, False)


@pytest.fixture
def slow_machine(monkeypatch):
    """A machine on which every fit takes longer than a minute, by its clock."""
    ticks = count(step=66.0)
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))


@pytest.mark.parametrize("command", ["learn", "direct"])
def test_long_resamples_are_left_out_and_it_is_said(run, data, command, slow_machine):
    document = result(run, command, "data.csv", *FAST)
    assert document["parameters"]["n_resamples"] is None
    note = (
        "no confidence of the edges, since 100 resamples would take about 2 hours; --resamples 100 "
        "requests it"
    )
    assert document["treatment"] == [note]
    said = run(command, "data.csv", "--alpha", "0.1").stdout
    assert f"Note: {note}." in said


@pytest.mark.parametrize("option", [["--resamples=100"], ["--resamples", "5"]])
def test_whoever_asks_gets_them_whatever_they_take(run, data, slow_machine, option):
    document = result(run, "learn", "data.csv", *FAST, *option)
    assert document["parameters"]["n_resamples"] in {5, RESAMPLES}
    assert isinstance(edgewise.load("edgewise-out/model.edgewise"), BootstrapGraph)


def test_cost_is_told_before_to_whoever_watches(frame, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fit = GaussianGraph(0.1).fit(frame)
    asked = Confidence.asked(None)
    options = {"seconds": 0.01, "seed": 0, "n_jobs": 1}
    resampled, _ = bootstrap_edges(fit, frame, asked, **options)
    assert resampled.graph_.confidence is not None
    assert capsys.readouterr().err.startswith(
        "100 resamples for the confidence of each edge, about 1 second (--resamples 0 skips "
        "them) ...\n"
    )


def test_a_resample_is_fitted_before_the_time_of_many_is_told(frame):
    calls = []

    class Counted(GaussianGraph):
        def fit(self, X, y=None, sample_weight=None):
            calls.append(X)
            if X.duplicated().any():
                time.sleep(0.2)
            return super().fit(X, sample_weight=sample_weight)

    assert _forecast(Counted(0.1), frame, 0.04, 100, 1) == pytest.approx(4)
    assert _forecast(Counted(0.1), frame, 0.08, 100, 2) == pytest.approx(4)
    assert not calls
    # Rows that come several times can take longer, and the first fit may have compiled.
    assert 20 < _forecast(Counted(0.1), frame, 0.06, 100, 1) < 60
    assert 20 < _forecast(Counted(0.1), frame, 20.0, 100, 1) < 60
    assert [len(rows) for rows in calls] == [120, 120]
    assert calls[0].duplicated().any()
    # Beyond a minute each, it is clear.
    assert _forecast(Counted(0.1), frame, 61.0, 100, 1) == pytest.approx(6100)


def test_the_time_of_a_fit_is_without_that_of_compiling(frame):
    class Compiles:
        def fit(self, X):
            with trigger_event("numba:compile"):
                time.sleep(0.5)
            return len(X)

    fit, seconds = timed_fit(Compiles(), frame)
    assert fit == len(frame)
    assert 0 <= seconds < 0.25


def test_options():
    assert Confidence.asked(None) == Confidence(n_resamples=100, only_if_quick=True)
    assert Confidence.asked(7) == Confidence(n_resamples=7)
    assert Confidence.asked(0) == Confidence()
    with raises(edgewise.InputError, code="too_few_resamples_asked", n_resamples=1):
        Confidence.asked(1)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "1 second"), (89.0, "89 seconds"), (91.0, "2 minutes"), (5000.0, "83 minutes")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words
