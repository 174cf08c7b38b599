import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import edgewise
from tests.cli.test_bad_input import complaint


@pytest.fixture
def clinic():
    rng = np.random.default_rng(0)
    n = 300
    pressure = rng.normal(120, 15, n)
    diagnosis = np.where(pressure + rng.normal(0, 8, n) > 125, "high", "none")
    diagnosis = np.where(rng.random(n) < 0.2, "other", diagnosis)
    ward = rng.choice(["a", "b"], n)
    pain = rng.integers(1, 6, n)
    return pd.DataFrame({"pressure": pressure, "diagnosis": diagnosis, "ward": ward, "pain": pain})


def test_numbers_beside_levels_are_learned_by_their_kinds(learn, clinic):
    run = learn(clinic)
    record = run.record
    assert record["parameters"]["method"] == "mixed"
    kinds = {
        "pressure": "continuous",
        "diagnosis": "nominal",
        "ward=b": "binary",
        "pain": "ordinal",
    }
    assert record["parameters"]["kinds"] == kinds
    assert [*record["data"]["kinds"]] == ["pressure", "diagnosis", "ward", "pain"]
    assert record["alphas"].keys() == kinds.keys()
    assert [(edge.source, edge.target) for edge in run.edges.itertuples()] == [
        ("pressure", "diagnosis")
    ]
    said = run.result.stdout
    for words in (
        "standardised effect, which has no sign",
        "for each column chosen out of",
        "The regressions are together within",
        "Best predicted from the others",
        "nominal 'diagnosis'",
        "--kinds NAME=KIND takes a column for another",
        "--method discrete",
    ):
        assert words in said
    model = edgewise.load(run.out / "model.edgewise")
    assert model.kinds_ == kinds
    columns = pd.read_csv(run.out / "columns.csv")
    assert columns["kind"].tolist() == list(kinds.values())
    assert columns["values"].tolist()[1:] == ["high, none, other", "a, b", "1, 2, 3, 4, 5"]
    np.testing.assert_allclose(columns["predicted"], model.predictability_.value, atol=1e-6)


@pytest.mark.drawn
def test_kinds_are_told_before_the_fit_and_on_the_page(learn, clinic, monkeypatch):
    told = []
    monkeypatch.setattr("edgewise.cli.learn.fit.tell", told.append)
    run = learn(clinic)
    assert told[1].split() == ["diagnosis", "nominal", "high,", "none,", "other"]
    page = (run.out / "report.html").read_text()
    assert "Columns, and what the others tell of them" in page
    assert "each chosen by" in page


def test_kinds_can_be_said(learn, clinic):
    run = learn(clinic, "--kinds", "pain=nominal, ward=nominal")
    assert run.record["data"]["kinds"]["pain"] == "nominal"
    assert run.record["data"]["kinds"]["ward"] == "nominal"
    numbers = learn(clinic[["pressure", "pain"]], "--kinds", "pain=count")
    assert numbers.record["parameters"]["method"] == "mixed"
    asked = learn(clinic[["pressure", "pain"]], "--method", "mixed", "--alpha", "0.1")
    assert "alpha 0.1, as given" in asked.result.stdout
    assert asked.record["data"]["kinds"]["pain"] == "ordinal"


def test_confidence_of_edges(learn, clinic):
    run = learn(clinic, "--resamples", "5")
    assert run.edges["confidence"].tolist()[0] == 1.0
    assert json.loads((run.out / "run.json").read_text())["parameters"]["n_resamples"] == 5


def test_missing_values(learn, clinic, run, tmp_path):
    clinic.loc[[3, 4], "pressure"] = np.nan
    clinic.loc[5, "diagnosis"] = None
    clinic.to_csv("data.csv", index=False)
    assert "--missing drop" in complaint(run, tmp_path, "learn", "data.csv")
    dropped = learn(clinic, "--missing", "auto")
    assert dropped.record["data"]["n_samples"] == 297
    assert any("at most 5% of the rows have gaps" in note for note in dropped.record["treatment"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--kinds", "pain"], "--kinds takes NAME=KIND"),
        (["--kinds", "pian=count"], "Did you mean 'pain'"),
        (["--kinds", "pain=count,pain=nominal"], "column 'pain' as both count and nominal"),
        (["--kinds", "ward=continuous"], "'ward' as continuous, but it holds text"),
        (["--kinds", "pain=number"], "A kind is one of continuous, ordinal"),
        (["--kinds", "pain=count", "--method", "gaussian"], "excludes --method gaussian"),
        (["--kinds", "pain=count", "--covariance", "auto"], "excludes --covariance auto"),
        (["--method", "mixed", "--stream"], "excludes --stream"),
        (["--method", "mixed", "--grid=chain"], "excludes --grid"),
        (["--set", "repair=ridge"], "learned as a mixed network"),
        (["--set", "criterion=ib"], "--set criterion requires categorical columns"),
        (["--alpha", "stars"], "--alpha must be positive"),
        (["--kinds", "pressure=date"], "Column 'pressure' holds dates.*--drop pressure"),
    ],
)
def test_options_that_contradict_are_named(run, tmp_path, clinic, options, words):
    import re

    clinic.to_csv("data.csv", index=False)
    line = complaint(run, tmp_path, "learn", "data.csv", *options)
    assert re.search(words, line)


def test_text_of_many_levels_and_dates_are_named(run, tmp_path, clinic):
    many = clinic.assign(name=[f"n{k // 2}" for k in range(len(clinic))])
    many.to_csv("data.csv", index=False)
    line = complaint(run, tmp_path, "learn", "data.csv")
    assert "'name'" in line
    assert "--drop" in line


def test_columns_that_are_no_variables_are_left_out_and_said(run, clinic):
    table = clinic.assign(
        day=pd.date_range("2024-01-01", periods=len(clinic)).astype(str),
        site="a",
        bag=[f"bag {chr(97 + k % 26)}{k}x" for k in range(len(clinic))],
        case_id=np.maximum(np.arange(len(clinic)), 1),
    )
    first = table.columns[0]
    table["twin"] = table[first]
    table.to_csv("data.csv", index=False)
    said = run("learn", "data.csv", "--resamples=0").stdout
    assert f"among the {clinic.shape[1]} columns" in said
    assert "column 'case_id' labels the rows, so it was left out; --columns can ask" in said
    assert "column 'day' holds dates, so it was left out" in said
    assert "column 'bag' holds another text in every row, so it was left out" in said
    assert "column 'site' has one value in every row, so it was left out." in said
    assert f"column 'twin' says the same as '{first}', so it was left out" in said


def test_labels_of_columns_and_codes_are_listed(run, tmp_path):
    often = pd.CategoricalDtype(["never", "seldom", "often"], ordered=True)
    codes = np.random.default_rng(0).integers(0, 3, (60, 2))
    frame = pd.DataFrame(
        {f"q{k}": pd.Categorical.from_codes(codes[:, k], dtype=often) for k in (0, 1)}
    )
    frame.assign(age=np.linspace(20, 60, 60)[::-1]).to_stata(
        "data.dta", write_index=False, variable_labels={"q0": "How often sad"}
    )
    run("learn", "data.dta", "--resamples=0", "--out", "out")
    columns = pd.read_csv("out/columns.csv").set_index("column")
    assert columns.loc["q0", "label"] == "How often sad"
    assert columns.loc["q0", "values"] == "1 never, 2 seldom, 3 often"
    kinds = json.loads(Path("out/run.json").read_text())["data"]["kinds"]
    assert columns.index.tolist() == ["q0", "q1", "age"]
    assert kinds == {"q0": "ordinal", "q1": "ordinal", "age": "continuous"}
