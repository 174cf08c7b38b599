"""Commands act by themselves on rows that depend on each other, and say so in true sentences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.commands import invoke

QUICK = ("--alpha", "0.3")
#: Options by which each command takes half a second.
COMMANDS = {
    "learn": (),
    "direct": ("--resamples=0",),
    "compare": ("--by", "group", "--permutations", "99", *QUICK),
    "classify": ("--by", "group", "--folds", "3", "--repeats", "1"),
    "regress": ("--on", "t"),
}


@pytest.fixture
def at(tmp_path, monkeypatch):
    """Run a command on a table; return what it printed and its record."""
    monkeypatch.chdir(tmp_path)

    def run(frame, command, *options, code=0):
        frame.to_csv("data.csv", index=False)
        result = invoke(command, "data.csv", "--out", "out", *options)
        assert result.exit_code == code, result.output
        record = json.loads(Path("out/run.json").read_text()) if not code else {}
        return result, record, " ".join(record.get("treatment", ()))

    return run


def autoregression(n_samples, rho, seed, n_features=5):
    noise = np.random.default_rng(seed).normal(size=(n_samples + 100, n_features))
    rows = np.zeros_like(noise)
    for t in range(1, len(noise)):
        rows[t] = rho * rows[t - 1] + noise[t]
    return pd.DataFrame(rows[100:]).add_prefix("x")


def persons(n_persons=40, n_rows=10, seed=1, spread=2.0):
    """Rows of persons with levels of their own and no link within."""
    rng = np.random.default_rng(seed)
    offsets = np.repeat(rng.normal(size=(n_persons, 8)) * spread, n_rows, axis=0)
    frame = pd.DataFrame(offsets + rng.normal(size=offsets.shape)).add_prefix("q")
    frame.insert(0, "participant", [f"p{k:02d}" for k in np.repeat(np.arange(n_persons), n_rows)])
    return frame


@pytest.mark.parametrize("command", COMMANDS)
def test_rows_in_order_are_found_said_and_taken_back(at, command):
    frame = autoregression(240, 0.6, 0).assign(group=np.repeat(["u", "v"], 120))
    if command == "regress":
        frame["t"] = np.arange(240)
    if command in ("learn", "direct", "regress"):
        frame = frame.drop(columns="group")
    _, _, notes = at(frame, command, *COMMANDS[command])
    assert "rows depend on the rows before them (autocorrelation 0." in notes
    assert "240 rows count as" in notes or "blocks of" in notes
    assert "--blocks 1 takes the rows as they are" in notes
    result, _, notes = at(frame, command, *COMMANDS[command], "--blocks", "1")
    assert "blocks" not in notes
    assert "depend on the rows" not in result.output
    shuffled = frame.sample(frac=1, random_state=0)
    if command == "regress":
        shuffled["t"] = np.arange(240)
    _, _, notes = at(shuffled, command, *COMMANDS[command])
    assert "depend on the rows" not in notes


def test_regress_splits_few_tables_of_rows_in_order(at):
    """Along the time of rows whose network stays the same, few trees have a split."""
    n_split = 0
    for seed in range(12):
        frame = autoregression(200, 0.7, [7, seed]).assign(t=np.arange(200))
        _, record, _ = at(frame, "regress", *COMMANDS["regress"])
        n_split += record["n_leaves"] > 1
    # More than 2 of 12 come by chance in one of 50 runs, at 5 %; without blocks 84 % split.
    assert n_split <= 2


def test_too_few_rows_in_order_for_a_p_value(at):
    frame = autoregression(80, 0.6, 1).assign(group=np.repeat(["u", "v"], 40))
    result, record, _ = at(frame, "compare", *COMMANDS["compare"])
    assert "test" not in record
    assert "too few for a p-value" in record["untested"]
    first, second = result.stdout.splitlines()[:2]
    assert "was not tested" in first
    assert "too few for a p-value" in second


def test_prices_are_differenced_in_groups_and_all(at):
    walks = np.random.default_rng(2).normal(size=(200, 5)).cumsum(axis=0)
    frame = pd.DataFrame(walks).add_prefix("x").assign(year=1900 + np.arange(200))
    _, record, notes = at(frame, "learn")
    assert record["data"]["n_samples"] == 199
    assert "along the rows, as prices do" in notes
    assert "left out, since they count time: year" in notes
    assert record["n_edges"] == 0
    frame["group"] = np.repeat(["u", "v"], 100)
    _, record, notes = at(frame, "compare", *COMMANDS["compare"])
    assert record["n_rows"] == {"before": 99, "after": 99}
    assert record["test"]["pvalue"] > 0.05


def test_a_sorted_table_counts_in_full(at):
    rng = np.random.default_rng(3)
    age = np.sort(rng.uniform(0, 20, 300))
    frame = pd.DataFrame({"age": age, "height": 50 + 6 * age + 3 * rng.normal(size=300)})
    frame["weight"] = 0.5 * frame["height"] + 3 * rng.normal(size=300)
    _, _, notes = at(frame, "learn")
    assert "rows are sorted by 'age'; they are alike for that reason only" in notes
    assert "count as" not in notes


def test_subjects_are_centred_and_resampled_as_a_whole(at):
    frame = persons()
    result, record, notes = at(frame, "learn")
    assert record["n_edges"] <= 1
    assert "rows with the same 'participant' belong together (40 of them)" in notes
    assert "columns are centred within each 'participant'" in notes
    assert "--drop" not in result.output
    _, record, notes = at(frame, "learn", "--cluster", "none", "--drop", "participant")
    assert record["n_edges"] >= 5
    assert "belong together" not in notes
    # To leave the column out is no reason to forget whose rows they are.
    _, record, notes = at(frame, "learn", "--drop", "participant")
    assert record["n_edges"] <= 1
    _, record, notes = at(frame, "learn", "--within", "none")
    assert "centred" not in notes
    assert "400 rows count as" in notes
    _, _, notes = at(frame, "learn", "--within", "scale")
    assert "columns are centred and scaled within each 'participant', as --within asks" in notes


def test_links_within_subjects_are_found_and_tested_by_subjects(at):
    frame = persons(seed=4)
    frame["q1"] += 1.5 * np.random.default_rng(5).normal(size=len(frame))
    shared = np.random.default_rng(6).normal(size=len(frame))
    frame["q2"] += shared
    frame["q3"] += shared
    frame["sex"] = np.repeat(np.arange(40) % 2, 10)
    _, record, notes = at(frame, "learn")
    edges = pd.read_csv("out/edges.csv")
    assert edges.iloc[0][["source", "target"]].tolist() == ["q2", "q3"]
    assert edges.iloc[0]["confidence"] > 0.9
    assert edges.iloc[0]["qvalue"] < 0.001
    assert record["edge_tests"] == "bootstrap"
    assert "left out, since constant within each 'participant': sex" in notes
    assert record["n_nodes"] == 8
    _, _, notes = at(frame.iloc[:200], "learn")
    assert "no p-values of edges, since rows of one 'participant' of fewer than 30 depend" in notes


def test_whole_subjects_change_groups(at):
    frame = persons().assign(group=np.repeat(["u", "v"], 200))
    result, record, notes = at(frame, "compare", *COMMANDS["compare"])
    assert "whole 'participant' change groups in permutations" in notes
    assert record["test"]["pvalue"] > 0.05
    assert "--blocks" not in result.output
    asked = at(frame, "compare", *COMMANDS["compare"], "--cluster", "participant")
    assert asked[1]["test"]["pvalues"] == record["test"]["pvalues"]
    crossed = frame.assign(group=np.tile(["u", "v"], 200))
    _, record, notes = at(crossed, "compare", *COMMANDS["compare"])
    assert "labels permuted within 'participant', which have rows in every group" in notes
    mixed = frame.assign(group=np.r_[np.repeat("u", 200), np.tile(["u", "v"], 100)])
    result, record, notes = at(mixed, "compare", *COMMANDS["compare"])
    assert "labels permuted within 'participant', some of which have rows in several" in notes
    assert record["test"]["pvalue"] > 0.05
    few = frame.assign(group=np.r_[np.repeat(["u", "v"], 180), np.tile(["u", "v"], 20)])
    result, record, notes = at(few, "compare", *COMMANDS["compare"])
    assert (
        "some 'participant' have rows in one group and 4 in several, which are too few"
        in record["untested"]
    )
    assert "test" not in record


def test_whole_subjects_are_held_out(at):
    """Subjects can be told by their levels, and groups of subjects then only seem to be."""
    frame = persons(30, 8, spread=3.0).assign(group=np.repeat(["u", "v"], 120))
    _, record, notes = at(frame, "classify", *COMMANDS["classify"])
    assert "rows held out by whole 'participant', each in one fold" in notes
    one = pd.concat([frame[["participant"]], frame.filter(like="q")], axis=1)
    one["dose"] = np.repeat(np.random.default_rng(0).normal(size=30), 8)
    _, record, notes = at(one, "regress", "--on", "dose")
    assert "whole 'participant' are held out and permuted" in notes
    assert record["n_leaves"] == record["n_groups"] == 1


@pytest.mark.parametrize("option", ["--transform=difference", "--transform=detrend"])
def test_series_never_run_into_each_other(at, option):
    """Also where the rows of series take turns."""
    frame = persons(5, 30, spread=100.0)
    _, record, notes = at(frame, "learn", option, "--alpha", "0.05", "--resamples=0")
    n_lost = 5 if option == "--transform=difference" else 0
    assert record["data"]["n_samples"] == 150 - n_lost
    assert f"{'within 5' if n_lost else 'in each of 5'} series" in notes
    edges = pd.read_csv("out/edges.csv")
    turns = frame.iloc[np.argsort(np.tile(np.arange(30), 5), kind="stable")]
    at(turns, "learn", option, "--alpha", "0.05", "--resamples=0")
    again = pd.read_csv("out/edges.csv")
    assert edges["weight"].tolist() == pytest.approx(again["weight"].tolist())


def test_what_is_asked_for_and_cannot_be(at):
    frame = persons()
    numbers = frame.drop(columns="participant")
    assert (
        "--within requires clusters" in at(numbers, "learn", "--within", "centre", code=2)[0].stderr
    )
    assert (
        "has another value in every row"
        in at(numbers.assign(k=np.arange(400)), "learn", "--cluster", "k", code=2)[0].stderr
    )
    assert "--cluster names 'nobody'" in at(frame, "learn", "--cluster", "nobody", code=2)[0].stderr
