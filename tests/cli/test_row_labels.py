"""Columns that label the rows are found, left out, and said."""

import json

import numpy as np
import pandas as pd
import pytest

from edgewise.data.roles import is_called_label

SAID = "Note: column '{}' labels the rows, so it was left out; --columns can ask for it by name."


@pytest.fixture
def labelled(frame, tmp_path):
    """Write the table with a first column of a name and values."""

    def write(name, values, **others):
        table = frame.assign(**others)
        table.insert(0, name, values)
        table.to_csv(tmp_path / "data.csv", index=False)

    return write


@pytest.mark.parametrize("name", ["id", "ID", "subject_id", "Patient Id", "sampleID", "Subject"])
@pytest.mark.parametrize("values", [range(1, 121), [f"s{k}" for k in range(120)]])
def test_labels_are_left_out_and_it_is_said(run, labelled, name, values):
    labelled(name, values)
    said = run("learn", "data.csv", "--alpha", "0.1", "--resamples=0").stdout
    assert "among the 5 columns" in said
    assert SAID.format(name) in said


def test_labels_that_some_rows_share(run, labelled):
    labelled("ID", [*range(1000, 1110), *range(1000, 1010)])
    said = run("learn", "data.csv", "--alpha", "0.1", "--resamples=0").stdout
    assert "among the 5 columns" in said
    assert f"{SAID.format('ID')[:-1]}; --cluster ID takes rows that share a label together." in said
    options = ("--alpha", "0.1", "--resamples=0", "--cluster", "ID")
    assert "rows with the same 'ID' belong together (110 of them)" in (
        run("learn", "data.csv", *options).stdout
    )


def test_numbers_of_persons_begin_anew_in_each_study(run):
    """As in pools of studies: most rows have a person of their own, and a few lack the number."""
    rng = np.random.default_rng(3)
    sizes = [60, 30, 80, 20, 50]
    frame = pd.DataFrame(
        {
            "study": np.repeat([*"abcde"], [2 * size for size in sizes]),
            "id": np.concatenate([np.repeat(np.arange(size), 2) for size in sizes]).astype(float),
        }
    )
    own = np.repeat(rng.normal(size=(sum(sizes), 4)), 2, axis=0)
    frame[[*"wxyz"]] = own + rng.normal(size=own.shape)
    frame.loc[[3, 100], "id"] = np.nan
    frame.to_csv("data.csv", index=False)
    said = run("learn", "data.csv", "--drop", "study", "--missing", "auto", "--resamples=0")
    assert "'id' begins anew within 'study'" in said.stdout
    assert "rows with the same 'id' belong together (241 of them)" in said.stdout
    frame.drop_duplicates(["study", "id"]).to_csv("data.csv", index=False)
    said = run("learn", "data.csv", "--drop", "study", "--missing", "auto", "--resamples=0")
    assert "belong together" not in said.stdout
    assert "share a label" not in said.stdout


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", [1] * 60 + [2] * 60),
        ("id", np.linspace(0, 1, 120)),
        ("age", range(120)),
        ("grid", range(120)),
        ("acid", range(120)),
    ],
)
def test_measurements_stay(run, labelled, name, values):
    labelled(name, values)
    said = run("learn", "data.csv", "--alpha", "0.1", "--resamples=0").stdout
    assert "among the 6 columns" in said


def test_whoever_asks_for_it_gets_it(run, labelled):
    labelled("id", range(120))
    said = run("learn", "data.csv", "--alpha", "0.1", "--resamples=0", "--columns", "a,b,id")
    assert "among the 3 columns" in said.stdout
    said = run("learn", "data.csv", "--alpha", "0.1", "--resamples=0", "--drop", "id").stdout
    assert "left out on request: id" in said
    assert "labels the rows" not in said


def test_every_command_finds_it(run, labelled):
    labelled("id", range(120), group=["x", "y"] * 60, lat=np.linspace(0, 1, 120))
    network = ["--drop", "lat", "--by", "group"]
    commands = [
        ["compare", *network, "--alpha", "0.3", "--permutations", "0"],
        ["classify", *network, "--repeats", "1", "--folds", "2"],
        ["regress", "--on", "lat", "--drop", "group"],
        ["direct", "--drop", "group,lat", "--resamples=0"],
    ]
    for command, *options in commands:
        document = json.loads(run(command, "data.csv", *options, "--json").stdout)
        assert any("'id' labels the rows" in note for note in document["treatment"]), command
        assert document["n_nodes"] == 5


def test_rows_with_names_as_r_and_pandas_write_them(run, frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv")
    said = run("learn", "data.csv", "--alpha", "0.1", "--resamples=0").stdout
    assert "among the 5 columns" in said
    assert "it was read as row labels and left out" in said


def test_names():
    assert not any(map(is_called_label, ["paid", "idea", "indexes", "keys", "monkey", "x"]))
    assert all(map(is_called_label, ["row", "row names", "rownames", "Unnamed: 0", "case"]))


def test_a_table_of_nothing_else_is_refused_by_name(run, tmp_path):
    pd.DataFrame({"id": range(5)}).to_csv(tmp_path / "data.csv", index=False)
    assert "has 1: 'id'" in run("learn", "data.csv", code=2).stderr
