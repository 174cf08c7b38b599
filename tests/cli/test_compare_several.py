"""``edgewise compare --by`` with three groups or more, and the designs of a comparison."""

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise.cli import options
from edgewise.inference import Design, compare_networks

QUICK = ("--permutations", "59", "--alpha", "0.2")


@pytest.fixture(scope="module")
def doses():
    """Three doses; at the highest, a - b comes. Two rows per subject, and an age."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(120, 4))
    dose = np.repeat(["low", "mid", "top"], 40)
    values[dose == "top", 1] += 2 * values[dose == "top", 0]
    values[:, 3] += values[:, 2]
    return pd.DataFrame(values, columns=list("abcd")).assign(
        dose=dose, subject=np.repeat(range(60), 2), age=rng.normal(size=120).round(2)
    )


@pytest.fixture
def compare(run, tmp_path):
    def invoke(data, *options):
        data.to_csv(tmp_path / "data.csv", index=False)
        out = tmp_path / "out"
        result = run("compare", tmp_path / "data.csv", "--by", "dose", "--out", out, *options)
        return SimpleNamespace(
            text=result.stdout,
            out=out,
            record=json.loads(Path(out, "run.json").read_text()),
            model=edgewise.load(out / "model.edgewise"),
        )

    return invoke


def test_three_groups(compare, doses):
    run = compare(doses.drop(columns=["subject", "age"]), *QUICK)
    lines = run.text.splitlines()
    assert lines[0].startswith("The networks of 3 groups of dose differ: p = 0.017")
    assert "Groups: low (40 rows), mid (40 rows), top (40 rows)" in lines
    # The smallest p-value of a pair of three is 3 / 60.
    assert "(Holm): 2 of 3 differ" in run.text
    assert "permutations are too few" not in run.text
    record = run.record
    assert record["labels"] == ["low", "mid", "top"]
    assert record["test"]["pvalue"] == pytest.approx(1 / 60)
    assert set(record["files"]) >= {
        *("networks.png", "pairs.png", "edges.png", "strength.png", "permutation.png"),
        *("changes.csv", "pairs.csv", "nodes.csv", "columns.csv", "report.html"),
        "differences.csv",
        *("network-low.graphml", "network-mid.graphml", "network-top.graphml"),
    }
    assert all((run.out / name).exists() for name in record["files"])
    changes = pd.read_csv(run.out / "changes.csv")
    assert changes.loc[0, ["source", "target"]].tolist() == ["a", "b"]
    assert changes.loc[0, "network_top"] == pytest.approx(run.model.graphs_[2].weights[0, 1])
    pairs = pd.read_csv(run.out / "pairs.csv")
    assert pairs["pvalue_holm"].tolist()[:2] == pytest.approx([0.05, 0.05])
    columns = pd.read_csv(run.out / "columns.csv")
    mean = doses.loc[doses.dose == "mid", "a"].mean()
    assert columns.loc[0, "mean_mid"] == pytest.approx(mean)


def test_too_few_permutations_for_the_pairs_are_told(compare, doses):
    run = compare(doses.drop(columns=["subject", "age"]), "--permutations", "39", "--alpha", "0.2")
    assert "39 permutations are too few for so many: use --permutations 59." in run.text
    assert "(Holm): none differs" in run.text


def test_pair_takes_several_labels_in_their_order(compare, doses):
    other = doses.assign(dose=doses["dose"].replace({"low": "z"})).drop(columns=["subject", "age"])
    run = compare(
        other, "--pair", "z,mid,top", "--ordered", "--permutations", "0", "--alpha", "0.2"
    )
    assert run.record["labels"] == ["z", "mid", "top"]
    assert run.model.order == "chain"
    assert "not tested" in run.text.splitlines()[0]
    assert "in this order: z, mid, top" in run.text


def test_ratios_against_a_reference(compare, doses):
    run = compare(
        doses.drop(columns=["subject", "age"]),
        *("--method", "ratio", "--against", "low", "--alpha", "0.3", "--permutations", "0"),
        *("--set", "device=auto"),
    )
    table = pd.read_csv(run.out / "ratios.csv")
    assert set(table["first"]) == {"low"}
    assert table.loc[table["second"] == "top", "source"].tolist()[0] == "a"


def test_designs_of_two_groups(compare, doses):
    """Every option reaches the test."""
    two = (
        doses[doses.dose != "mid"]
        .assign(subject=np.tile(range(40), 2))
        .sample(frac=1, random_state=0)
    )
    y, X = two["dose"], two[list("abcd")]
    for option, column, design, said in (
        ("--paired", "subject", Design(paired=two["subject"]), "permuted within subjects"),
        ("--block", "subject", Design(blocks=two["subject"]), "permuted within blocks"),
        (
            "--adjust",
            "age",
            Design(covariates=two[["age"]]),
            "on the covariates permuted",
        ),
    ):
        used = two[[*"abcd", "dose", column]]
        run = compare(used, option, column, "--permutations", "59", "--alpha", "0.3")
        expected = compare_networks(X, y, design=design, n_permutations=59, random_state=0)
        assert run.record["test"]["pvalues"] == pytest.approx(expected.pvalues)
        assert said in run.text
        assert said in " ".join(run.record["test"]["design"])


def test_groups_without_a_common_batch_are_named(compare, doses):
    batch = np.where(doses.dose == "low", np.tile(["p", "q"], 60), "p")
    batch = np.where(doses.dose == "top", "q", batch)
    run = compare(
        doses[[*"abcd", "dose"]].assign(batch=batch),
        *("--adjust", "batch", "--permutations", "59", "--alpha", "0.3"),
    )
    assert (
        "Note: mid and top were not compared with each other: the covariate 'batch' is collinear "
        "with the groups: their effects are not identified." in run.text
    )
    assert run.record["test"]["untested"] == [["mid", "top"]]
    assert len(pd.read_csv(run.out / "pairs.csv")) == 2


@pytest.mark.drawn
def test_the_methods_paragraph_says_the_design(compare, doses):
    two = doses[doses.dose != "mid"].assign(subject=np.tile(range(40), 2))
    run = compare(
        two[[*"abcd", "dose", "subject", "age"]],
        *("--paired", "subject", "--where", "age > -9", "--permutations", "59", "--alpha", "0.3"),
        *("--drop", "age"),
    )
    page = (run.out / "report.html").read_text()
    paragraph = page[page.index("Networks were learned with") :].partition("<")[0]
    assert "Rows where age &gt; -9 were taken (80 of 80)." in paragraph
    assert "Labels permuted within subjects." in paragraph
    assert "There were 59 permutations." in paragraph
    assert "--" not in paragraph


def test_clusters_are_a_column_and_dask_an_address(compare, doses, monkeypatch):
    asked = []

    @contextmanager
    def on_cluster(where):
        asked.append(where)
        yield

    monkeypatch.setattr(options, "on_cluster", on_cluster)
    two = doses[doses.dose != "mid"].drop(columns="age")
    design = Design(clusters=two["subject"])
    given = ["--cluster", "subject", "--dask", "tcp://10.0.0.1:8786"]
    run = compare(two, *given, "--permutations", "59", "--alpha", "0.3")
    assert asked == ["tcp://10.0.0.1:8786"]
    assert "whole clusters" in run.text
    expected = compare_networks(
        two[list("abcd")], two["dose"], design=design, n_permutations=59, random_state=0
    )
    assert run.record["test"]["pvalues"] == pytest.approx(expected.pvalues)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--method", "dtrace"], ["--method dtrace compares two groups", "--pair low,mid"]),
        (["--set", "device=cuda"], ["--set device is for --method ratio", "joint"]),
        (["--method", "ratio", "--set", "device=cuda", "--alpha", "0.3"], ["edgewise[gpu]"]),
        (["--paired", "subject"], ["The pair '0' has no row in group 'mid'"]),
        (["--block", "dose"], ["nothing to permute"]),
        (["--adjust", "nobody"], ["--adjust names 'nobody'"]),
        (["--cluster", "subject,age"], ["--cluster must name one column"]),
        (
            ["--set", "standardize=pooled"],
            ["--set standardize is for methods of two groups"],
        ),
        (["--pair", "low,top", "--ordered"], ["--ordered requires three groups or more"]),
        (["--pair", "low,top", "--against", "low"], ["--against requires --method ratio"]),
        (["--pair", "low,other,top"], ["'other'", "not a label in column 'dose'"]),
        (["--block", "subject", "--blocks", "4"], ["--blocks is for time series"]),
        (["--risk", "2", "--alpha", "0.3"], ["risk must lie between 0 and 1"]),
        (["--method", "ratio", "--against", "x", "--alpha", "0.3"], ["against must be 'rest'"]),
    ],
)
def test_refuses(run, tmp_path, doses, given, words, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    doses.to_csv(tmp_path / "data.csv", index=False)
    result = run("compare", tmp_path / "data.csv", "--by", "dose", *given, code=2)
    (line,) = result.stderr.splitlines()
    assert all(word in line for word in words), line


def test_columns_that_are_flat_in_a_group_are_named_all_at_once(run, tmp_path, doses):
    flat = doses.assign(
        a=doses["a"].where(doses.dose != "low", 1), c=doses["c"].where(doses.dose != "top", 2)
    )
    flat.to_csv(tmp_path / "data.csv", index=False)
    result = run("compare", tmp_path / "data.csv", "--by", "dose", code=2)
    (line,) = result.stderr.splitlines()
    assert "'a' and 'c' have a single value in some groups, 'a' in group 'low'" in line
    assert "--drop a,c`" in line


def test_one_group_is_not_compared(run, tmp_path, doses):
    doses.assign(dose="low").to_csv(tmp_path / "data.csv", index=False)
    result = run("compare", tmp_path / "data.csv", "--by", "dose", code=2)
    assert "Every row of" in result.stderr


def test_too_many_groups(run, tmp_path, doses):
    doses.to_csv(tmp_path / "data.csv", index=False)
    result = run("compare", tmp_path / "data.csv", "--by", "subject", code=2)
    assert "60 different values, too many for groups" in result.stderr
