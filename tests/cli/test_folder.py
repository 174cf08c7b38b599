"""The folder of a run: all of its files or none, and one run at a time."""

import json
import os

import pytest

from edgewise import GaussianGraph
from edgewise._core.resume import LOCK, locked
from edgewise.cli.run import results_folder


@pytest.fixture
def data(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


@pytest.fixture
def out(run, data, tmp_path):
    """Results of an earlier run."""
    run("learn", data, "--alpha", "0.1", "--out", tmp_path / "out")
    return tmp_path / "out"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def no_work(monkeypatch):
    """Nothing is learned."""

    def fit(*arguments, **options):
        pytest.fail("The work has begun.")

    monkeypatch.setattr(GaussianGraph, "fit", fit)


@pytest.mark.slow
def test_a_folder_in_the_place_of_a_file_is_found_before_the_work(run, data, out, no_work):
    (out / "report.html").unlink()
    (out / "report.html").mkdir()
    before = contents(out)
    result = run("learn", data, "--alpha", "0.3", "--out", out, code=2)
    assert f"Cannot write '{out / 'report.html'}': it is a folder." in result.stderr
    assert contents(out) == before
    assert sorted(path.name for path in out.iterdir()) == sorted([*before, "report.html"])


@pytest.mark.parametrize("busy", ["edges.csv", "sites.png"])
def test_a_file_that_cannot_be_replaced_leaves_all_as_they_were(run, data, out, monkeypatch, busy):
    # An earlier run wrote it, and this one does not.
    (out / "sites.png").write_text("of columns in space")
    record = json.loads((out / "run.json").read_text())
    record["files"].append("sites.png")
    (out / "run.json").write_text(json.dumps(record))
    before = contents(out)
    replace = os.replace

    def refuse(source, target):
        if busy in (source.name, target.name) and source.parent == out:
            raise PermissionError(13, "The file is in use", str(source))
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    options = ("--alpha", "0.3", "--resamples", "4", "--out", out)
    result = run("learn", data, *options, code=2)
    assert result.stderr == f"Error: '{out / busy}': The file is in use.\n"
    assert contents(out) == before
    # The work is not lost: the same command goes on from the resamples.
    assert [path.name for path in out.iterdir() if path.is_dir()] == [".unfinished"]
    monkeypatch.undo()
    run("learn", data, *options)
    assert contents(out).keys() == before.keys() - {"sites.png"}
    assert contents(out)["edges.csv"] != before["edges.csv"]
    assert [path for path in out.iterdir() if path.is_dir()] == []


def write(out, text, names):
    with results_folder(out) as draft:
        for name in names:
            (draft / name).write_text(text)


def test_moving_back_what_has_moved(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write(out, "old", ["a", "run.json"])
    replace = os.replace
    order = []

    def refuse(source, target):
        order.append(source.name)
        if source.name == "run.json" and target.parent == out and "new" in source.read_text():
            raise OSError("no more room")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no more room"):
        write(out, "new", ["a", "b", "run.json"])
    assert contents(out) == {"a": b"old", "run.json": b"old"}
    # A folder with the record of a run is complete at any moment.
    assert order[0] == "run.json"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_one_run_at_a_time(run, data, out, no_work):
    before = contents(out)
    with locked(out):
        result = run("learn", data, "--alpha", "0.3", "--out", out, code=2)
    assert result.stderr == (
        f"Error: Another run is using '{out}'. Wait until it has ended, or choose another folder.\n"
    )
    assert contents(out) == before


@pytest.mark.slow
def test_what_killed_runs_left_blocks_nobody(run, data, out):
    (out / LOCK).touch()
    (out / ".edgewise-1-x").mkdir()
    (out / ".unfinished").mkdir()
    (out / ".unfinished" / LOCK).touch()
    run("learn", data, "--alpha", "0.3", "--out", out)
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []


def test_files_of_an_earlier_command_go_and_others_stay(run, data, out):
    (out / "notes.txt").write_text("mine")
    # A record that was altered reaches no other folder.
    record = json.loads((out / "run.json").read_text())
    record["files"].append("../data.csv")
    (out / "run.json").write_text(json.dumps(record))
    run("direct", data, "--alpha", "0.1", "--resamples=0", "--out", out)
    names = contents(out).keys()
    assert {"matrix.png", "network.png"}.isdisjoint(names)
    assert {"notes.txt", "dag.png"} <= names
    assert set(json.loads((out / "run.json").read_text())["files"]) == names - {"notes.txt"}
    assert data.exists()


def test_files_of_a_run_that_was_killed_while_it_moved_go(run, data, out):
    # It had taken the record away, and some of the files.
    earlier = out / ".edgewise-1-x" / "earlier"
    earlier.mkdir(parents=True)
    record = json.loads((out / "run.json").read_text())
    record["files"].append("old.csv")
    (out / "run.json").unlink()
    (earlier / "run.json").write_text(json.dumps(record))
    (out / "old.csv").write_text("a")
    run("learn", data, "--alpha", "0.1", "--resamples=0", "--out", out)
    assert not (out / "old.csv").exists()
    assert not earlier.exists()
