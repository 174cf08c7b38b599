"""``edgewise plan``."""

import json

import numpy as np
import pandas as pd
import pytest

from edgewise.data import make_gaussian_graph

FEW = ("--features", 6, "--tables", 2, "--rows", "60,600", "--size", 0.4)


def test_folder_and_answer(run, tmp_path):
    result = run("plan", "learn", *FEW, "--out", "p")
    listed = pd.read_csv(tmp_path / "p/plan.csv")
    record = json.loads((tmp_path / "p/run.json").read_text())
    assert [*listed["rows"]] == [60, 600]
    assert listed["found"].iloc[-1] > 0.8
    assert record["rows_needed"] <= 600
    assert str(record["rows_needed"]) in result.stdout
    assert {path.name for path in (tmp_path / "p").iterdir()} == {*record["files"]}


@pytest.mark.parametrize("question", ["compare", "direct"])
def test_questions(run, question):
    record = json.loads(run("plan", question, *FEW, "--json").stdout)
    assert record["question"] == question
    assert ("power" in record["table"][0]) == (question == "compare")


def test_share_and_size_count(run):
    def needed(*options):
        # Enough tables for a curve that is not chance alone.
        options = ("--features", 6, "--tables", 6, "--rows", "30,100,300,1000,3000", *options)
        return json.loads(run("plan", "learn", *options, "--json").stdout)["rows_needed"]

    assert needed("--size", 0.4) < needed("--size", 0.2)
    assert needed("--size", 0.3, "--share", 0.3) < needed("--size", 0.3, "--share", 0.9)


def test_a_pilot_table(run, tmp_path):
    model = make_gaussian_graph(5, "chain", signal=(0.4, 0.4), rng=0)
    table = pd.DataFrame(model.sample(400, rng=0), columns=list("abcde"))
    table.loc[3, "a"] = np.nan
    table.assign(group=np.repeat(["x", "y"], 200)).to_csv(tmp_path / "pilot.csv", index=False)
    found = json.loads(run("plan", "learn", "--pilot", "pilot.csv", *FEW[2:6], "--json").stdout)
    assert found["pilot"] == "pilot.csv"
    assert "network" not in found
    both = ("plan", "compare", "--pilot", "pilot.csv", "--by", "group", *FEW[2:6], "--json")
    # Both halves are of one network.
    assert json.loads(run(*both).stdout)["table"][-1]["power"] < 1


@pytest.mark.parametrize(
    "options",
    [
        ("learn", "--by", "group"),
        ("compare", "--pilot", "t.csv"),
        ("compare", "--pilot", "t.csv", "--by", "nothing"),
        ("compare", "--pilot", "t.csv", "--by", "a"),
        ("learn", "--pilot", "t.csv", "--by", "group"),
        ("learn", "--rows", "many"),
        ("learn", "--rows", "100"),
        ("learn", "--rows", "2,100"),
    ],
)
def test_bad_input_ends_in_a_sentence(run, tmp_path, options):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    table = pd.DataFrame(rows, columns=["a", "b"]).assign(group=["x", "y"] * 10)
    table.to_csv(tmp_path / "t.csv", index=False)
    run("plan", *options, code=2)
    assert not (tmp_path / "edgewise-plan").exists()
