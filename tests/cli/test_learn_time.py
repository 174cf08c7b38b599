"""`edgewise learn --time`: networks of rows in order, from the file to the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import Graph
from tests.commands import invoke

NAMES = ["stress", "mood", "sleep"]


@pytest.fixture
def at(tmp_path, monkeypatch):
    """Run a command on a table; return what it printed and its record."""
    monkeypatch.chdir(tmp_path)

    def run(frame, *options, code=0):
        frame.to_csv("diary.csv", index=False)
        result = invoke("learn", "diary.csv", "--out", "out", *options)
        assert result.exit_code == code, result.output
        record = json.loads(Path("out/run.json").read_text()) if not code else {}
        return result, record, " ".join(record.get("treatment", ()))

    return run


def diary(n_persons=30, n_days=4, n_beeps=8, seed=0):
    rng = np.random.default_rng(seed)
    coef = np.diag([0.3, 0.3, 0.3])
    coef[0, 1] = 0.4
    rows = []
    for person in range(n_persons):
        mean = rng.normal(size=3) * 3
        for day in range(n_days):
            x = rng.normal(size=3)
            for beep in range(1, n_beeps + 1):
                x = x @ coef + rng.normal(size=3)
                rows.append([f"p{person:02d}", day, beep, person % 2, *(mean + x)])
    return pd.DataFrame(rows, columns=["person", "day", "beep", "sex", *NAMES])


def test_a_diary_becomes_three_networks(at):
    frame = diary().drop(index=[3, 100])
    result, record, notes = at(
        frame, "--time", "beep", "--series", "person,day", "--resamples", "5"
    )
    assert result.stdout.startswith(
        "1 arc from one row to the next among the 3 columns of diary.csv (836 pairs of rows)"
    )
    assert "the strongest from stress to mood" in result.stdout
    assert "120 rows begin a series" in notes
    assert "2 rows have a gap in time" in notes
    assert "omitted, since constant within each 'person': 'sex'" in notes
    assert "5 resamples, drawn by whole 'person'" in notes
    assert record["n_edges"] == 1
    edges = pd.read_csv("out/edges.csv")
    assert edges[["source", "target", "lag", "confidence"]].to_numpy().tolist() == [
        ["stress", "mood", 1.0, 1.0]
    ]
    assert Graph.read("out/graph.graphml").directed
    assert not Graph.read("out/between.graphml").directed
    assert Path("out/networks.png").exists()
    nodes = pd.read_csv("out/nodes.csv").set_index("node")
    assert nodes.loc["stress", "out_strength"] == nodes.loc["mood", "in_strength"] > 0
    assert {"temporal", "autoregression", "contemporaneous"} == {
        *pd.read_csv("out/effects.csv")["network"]
    }
    assert edgewise.load("out/model.edgewise").n_pairs_ == 836


def test_persons_are_found_where_nobody_names_them(at):
    _, _, notes = at(diary(n_days=1, n_beeps=20), "--time", "beep", "--resamples", "0")
    assert "rows with the same 'person' are a series" in notes


def test_drifting_columns_are_differenced_and_said(at):
    walks = pd.DataFrame(
        np.cumsum(np.random.default_rng(1).normal(size=(300, 4)), axis=0), columns=list("abcd")
    )
    walks.insert(0, "date", pd.date_range("2020-01-01", periods=300).astype(str))
    _, record, notes = at(walks, "--time", "date", "--resamples", "0")
    assert "first differences of all columns were taken (299 rows)" in notes
    assert record["n_edges"] == 0
    _, _, notes = at(walks, "--time", "date", "--resamples", "0", "--blocks", "1")
    assert "differences" not in notes


def test_differences_are_none_across_nights_and_gaps(at):
    frame = diary().drop(index=[3])
    series = ("--time", "beep", "--series", "person,day", "--resamples", "0")
    _, _, notes = at(frame, *series, "--transform", "difference")
    # 120 days of 8 beeps, less the first of each, the one that is missing and the one after.
    assert "first differences of all columns were taken (838 rows)" in notes
    _, _, notes = at(frame, *series, "--transform", "detrend")
    assert "in each of 30 series" in notes


def test_missing_rows_are_gaps_and_counted(at):
    frame = diary()
    frame.loc[4, "mood"] = np.nan
    _, _, notes = at(frame, "--time", "beep", "--series", "person,day", "--resamples", "0")
    assert "2 more rows lack values" in notes


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--series", "person"), "--time falls within a series"),
        (("--series", "person,day", "--covariance", "kendall"), "not for rows in time"),
        (("--series", "person,day", "--blocks", "5"), "--blocks may be 1 only"),
        (("--series", "person,hour"), "hour"),
        (("--series", "person,day", "--lags", "8"), "at least"),
    ],
)
def test_what_has_no_meaning_is_refused(at, options, said):
    result, _, _ = at(diary(), "--time", "beep", *options, code=2)
    assert said in result.stderr


def test_unequal_steps_are_refused(at):
    frame = diary().assign(hour=lambda rows: rows["beep"] ** 1.7)
    result, _, _ = at(frame, "--time", "hour", "--series", "person,day", code=2)
    assert "steps of unequal length" in result.stderr
