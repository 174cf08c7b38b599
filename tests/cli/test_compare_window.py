"""``edgewise compare --window``: ordered rows, a reference period against a sliding one."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import Graph, NetworkChange
from edgewise.inference import window_changes
from tests.cli.files import WINDOW_FILES

QUICK = ("--alpha", "0.7", "--permutations", "20")


@pytest.fixture(scope="module")
def rows():
    """From row 120 on, b follows a."""
    values = np.random.default_rng(3).normal(size=(200, 4))
    values[120:, 1] += 1.5 * values[120:, 0]
    return pd.DataFrame(values, columns=list("abcd"))


@pytest.fixture
def slide(run, tmp_path):
    """Compare windows of a frame; return what the folder holds."""

    def invoke(data, *options):
        data.to_csv(tmp_path / "data.csv", index=False)
        out = tmp_path / "out"
        result = run("compare", tmp_path / "data.csv", "--out", out, *options)
        return SimpleNamespace(
            result=result,
            out=out,
            record=json.loads(Path(out, "run.json").read_text()),
            changes=pd.read_csv(out / "windows.csv"),
        )

    return invoke


def complaint(run, *arguments):
    result = run("compare", *arguments, code=2)
    assert result.stdout == ""
    assert not Path("edgewise-out").exists()
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.drawn
def test_everything_is_written_and_agrees(slide, rows):
    run = slide(rows, "--window", "40", "--reference", "80", "--step", "40", *QUICK)
    assert sorted(path.name for path in run.out.iterdir()) == sorted(WINDOW_FILES)
    expected = window_changes(
        NetworkChange(alpha=0.7, random_state=0),
        rows,
        window=40,
        step=40,
        reference=80,
        n_permutations=20,
        random_state=0,
    )
    assert [(w.start, w.stop) for w in expected] == [(80, 120), (120, 160), (160, 200)]
    found = [(w["start"], w["stop"], w["n_edges"]) for w in run.record["windows"]]
    assert found == [(w.start, w.stop, w.graph.n_edges) for w in expected]
    heads = ["start", "stop", "source", "target", "change", "pvalue_familywise"]
    assert list(run.changes.columns) == heads
    assert run.changes.pvalue_familywise.max() <= 0.05
    later = run.changes[run.changes.start >= 120]
    assert (later.source + later.target).tolist() == ["ab", "ab"]
    for window in expected:
        kept = run.changes[run.changes.start == window.start]
        edges = window.graph.edges()
        np.testing.assert_allclose(kept.change, edges.weight)
        np.testing.assert_allclose(kept.pvalue_familywise, 1 - edges.confidence, atol=1e-12)
        assert window.observed.n_edges >= window.graph.n_edges
    assert (run.out / "windows.png").read_bytes().startswith(b"\x89PNG")
    assert "data:image/webp" in (run.out / "report.html").read_text()


def test_graph_is_the_union_and_model_that_of_the_last_window(slide, rows):
    run = slide(rows, "--window", "40", "--reference", "80", "--step", "40", *QUICK)
    graph = Graph.read(run.out / "graph.graphml")
    pair = run.changes[(run.changes.source == "a") & (run.changes.target == "b")]
    assert graph.weights[0, 1] == pytest.approx(pair.change.max())
    assert graph.confidence[0, 1] == pytest.approx(2 / 3)
    model = edgewise.load(run.out / "model.edgewise")
    last = pd.concat([rows[:80], rows[160:]])
    y = np.repeat(["reference", "window"], [80, 40])
    expected = NetworkChange(alpha=0.7).fit(last, y)
    np.testing.assert_array_equal(model.change_, expected.change_)
    assert model.classes_.tolist() == ["reference", "window"]


def test_summary_in_words(slide, rows):
    run = slide(rows, "--window", "40", "--reference", "80", "--step", "40", *QUICK)
    out = run.result.stdout
    assert f"{run.record['n_edges']} pair" in out
    assert "in 3 windows of 40 rows, against the first 80 rows" in out
    change = run.changes[run.changes.start == 120].change.iloc[0]
    assert f"rows 121 to 160  1 change, the largest a -- b {change:+.3f} (p 0.048)" in out
    assert "the largest of all windows in 95% of 20 permutations of the rows are kept" in out
    assert "alpha 0.7, as given" in out
    assert "The fit of the last window is" in out


@pytest.mark.slow
def test_defaults(slide, rows):
    """Half a window from one to the next, a reference of one window, 100 permutations, a search."""
    run = slide(rows[["a", "b"]], "--window", "60")
    starts = [window["start"] for window in run.record["windows"]]
    assert starts == [60, 90, 120]
    assert run.record["parameters"]["reference"] == 60
    assert run.record["parameters"]["n_permutations"] == 100
    assert run.record["alpha_rule"] == "cv"
    assert "chosen out of 30 by held-out rows" in run.result.stdout
    model = edgewise.load(run.out / "model.edgewise")
    assert model.alpha_ == pytest.approx(run.record["windows"][-1]["alpha"], rel=1e-9)


@pytest.mark.drawn
def test_no_change_in_any_window(slide, rows):
    run = slide(rows[["c", "d"]], "--window", "50", "--alpha", "5", "--permutations", "2")
    assert run.changes.empty
    assert "0 pairs" in run.result.stdout
    # No empty frames.
    assert not (run.out / "windows.png").exists()
    assert Graph.read(run.out / "graph.graphml").n_edges == 0


def test_windows_are_named_by_dates(slide, rows):
    days = pd.date_range("2024-01-01", periods=200).strftime("%Y-%m-%d")
    run = slide(
        rows.assign(day=days), "--window", "40", "--reference", "80", "--step", "40", *QUICK
    )
    out = run.result.stdout
    assert "against the first 80 rows (2024-01-01 to 2024-03-20)" in out
    assert "2024-04-30 to 2024-06-08  1 change, the largest a -- b" in out
    assert run.changes.loc[0, ["first_date", "last_date"]].tolist() == ["2024-04-30", "2024-06-08"]


def test_many_windows_are_cut_in_the_summary_only(slide, rows):
    run = slide(rows, "--window", "20", "--step", "10", "--alpha", "2", "--permutations", "1")
    n_windows = len(run.record["windows"])
    assert n_windows > 12
    assert f"... and {n_windows - 12} more in windows.csv" in run.result.stdout


def test_columns_of_two_values(slide, rows):
    run = slide((rows > 0).astype(int), "--window", "60", *QUICK)
    assert run.record["parameters"]["basis"] == "ising"
    assert "-1 and 1" in run.result.stdout


def test_seed(slide, rows):
    options = ("--window", "40", "--step", "20", "--alpha", "0.1", "--permutations", "40")
    one, same, other = (
        [window["pvalue"] for window in slide(rows, *options, "--seed", seed).record["windows"]]
        for seed in ("0", "0", "1")
    )
    assert one == same
    assert one != other


def test_json(run, rows):
    rows.to_csv("data.csv", index=False)
    options = ("--window", "40", "--reference", "80", "--step", "40", *QUICK)
    document = json.loads(run("compare", "data.csv", *options, "--json").stdout)
    assert len(document["changes"]) == sum(w["n_edges"] for w in document["windows"])
    assert sorted(document["files"]) == sorted(WINDOW_FILES)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--window", "150"], ["150", "there are 200"]),
        (["--window", "1"], ["at least 2"]),
        (["--window", "40", "--reference", "1"], ["at least 2"]),
        (["--window", "2"], ["2 rows", "--alpha"]),
        (["--window", "40", "--step", "0"], ["step must be at least 1"]),
        (["--window", "40", "--permutations", "0"], ["--permutations must be at least 1"]),
        (["--window", "40", "--pair", "a,b"], ["--pair requires --by"]),
        (["--window", "40", "--basis", "power", "--set", "degree=2,3"], ["a single degree"]),
        (["--window", "40", "--drop", "a,b,c"], ["at least 2 columns"]),
    ],
)
def test_options_that_cannot_be_used(run, rows, options, words):
    rows.to_csv("data.csv", index=False)
    line = complaint(run, "data.csv", *options)
    assert all(word in line for word in words), line


def test_too_few_rows(run, rows):
    rows[:1].to_csv("data.csv", index=False)
    assert "at least 2" in complaint(run, "data.csv", "--window", "40", "--alpha", "0.4")
