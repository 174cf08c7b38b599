"""Tables of few levels: recognised, learned as Markov networks, and told about."""

import json

import numpy as np
import pandas as pd
import pytest

import edgewise
from tests.cli.test_bad_input import complaint, levels


@pytest.fixture
def survey():
    """Answers in which smoking and coughing go together, and nothing else does."""
    rng = np.random.default_rng(3)
    smokes = rng.choice(["no", "yes"], 400)
    coughs = np.where(rng.random(400) < 0.8, smokes, "no")
    home = rng.choice(["flat", "house", "ship", "tent"], 400)
    return pd.DataFrame({"smokes": smokes, "coughs": coughs, "home": home})


@pytest.mark.drawn
def test_a_survey_is_learned_as_a_discrete_network(learn, survey):
    run = learn(survey)
    assert run.record["parameters"]["method"] == "discrete"
    assert run.record["parameters"]["criterion"] == "bjp"
    assert any("learned as levels without an order" in n for n in run.record["treatment"])
    reference = edgewise.DiscreteMarkovNet().fit(survey)
    assert run.record["score"] == pytest.approx(reference.criterion_value_)
    assert run.record["n_edges"] == reference.graph_.n_edges == 1
    assert "1 edge among the 3 columns" in run.result.stdout
    assert "smokes -- coughs" in run.result.stdout
    assert "by Cramér's V given the neighbours, and the posterior probability" in run.result.stdout
    assert "blankets joint posterior" in run.result.stdout
    saved = edgewise.load(run.out / "model.edgewise")
    given = saved.conditional("coughs", {"smokes": "yes"})
    assert given == pytest.approx(reference.conditional("coughs", {"smokes": "yes"}))
    for file in ("report.html", "network.png", "matrix.png", "edges.csv", "graph.graphml"):
        assert (run.out / file).stat().st_size > 0


@pytest.mark.parametrize(
    "table",
    [
        levels(a=[0, 1], b=[0, 1], c=[0, 1]),
        levels(a=[1, 2], b=[5, 7]),
        levels(a=[True, False], b=[True, False]),
    ],
    ids=["binary", "coded", "booleans"],
)
def test_numbers_of_two_levels_are_levels_unless_told_otherwise(learn, table):
    assert learn(table).record["parameters"]["method"] == "discrete"
    for options in (["--covariance", "correlation"], ["--method", "gaussian"]):
        forced = learn(table, *options, "--alpha", "0.01")
        assert forced.record["parameters"]["method"] == "gaussian"
        assert any("learned as numbers" in note for note in forced.record["treatment"])


def test_a_table_of_many_levels_can_be_forced(learn):
    table = pd.DataFrame(np.random.default_rng(0).integers(0, 40, (60, 2)), columns=["a", "b"])
    assert learn(table, "--alpha", "0.1").record["parameters"]["method"] == "gaussian"
    assert learn(table, "--method", "discrete").record["parameters"]["method"] == "discrete"


def test_the_criterion_is_used(learn, survey):
    run = learn(survey, "--set", "criterion=mpl")
    reference = edgewise.DiscreteMarkovNet("mpl").fit(survey)
    assert run.record["score"] == pytest.approx(reference.criterion_value_)
    assert "marginal pseudo-likelihood" in run.result.stdout


def test_confidence_of_edges(learn, survey):
    run = learn(survey, "--resamples", "5")
    assert "share of 5 resamples" in run.result.stdout
    assert "confidence" in (run.out / "edges.csv").read_text().splitlines()[0]


def test_rows_with_missing_values(learn, survey, run, tmp_path):
    survey.loc[[3, 8], "smokes"] = None
    survey.to_csv("data.csv", index=False)
    line = complaint(run, tmp_path, "learn", "data.csv")
    assert "2 values are missing" in line
    assert "--missing drop" in line
    dropped = learn(survey, "--missing", "drop")
    assert any("rows have missing values, left out" in n for n in dropped.record["treatment"])
    assert "(398 rows)" in dropped.result.stdout


def test_an_empty_network_is_told(learn):
    run = learn(levels(n_rows=200, a=["x", "y"], b=["u", "v", "w"]))
    assert run.record["n_edges"] == 0
    assert "No edge: no pair of columns passes a Bonferroni test at 5%" in run.result.stdout


def test_as_json(run, survey):
    survey.to_csv("data.csv", index=False)
    document = json.loads(run("learn", "data.csv", "--json").stdout)
    assert document["edges"][0]["source"] == "smokes"
    assert "alpha" not in document


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--alpha", "0.1"], ["--alpha", "discrete network", "--method gaussian"]),
        (["--set", "tol=0.1"], ["--set tol=0.1", "discrete network"]),
        (["--set", "repair=ridge"], ["discrete network"]),
        (["--method", "discrete", "--grid=ring"], ["--grid requires", "--method discrete"]),
        (["--covariance", "spearman", "--set", "criterion=ib"], ["text"]),
    ],
)
def test_options_that_do_not_go_with_levels(run, survey, tmp_path, options, words):
    survey.to_csv("data.csv", index=False)
    line = complaint(run, tmp_path, "learn", "data.csv", *options)
    for word in words:
        assert word in line


def test_a_criterion_is_for_levels(run, tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
    table.to_csv("data.csv", index=False)
    line = complaint(run, tmp_path, "learn", "data.csv", "--set", "criterion=ib")
    assert "--set criterion" in line
    assert "--method discrete" in line


def test_measurements_cannot_be_forced_to_be_levels(run, tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
    table.to_csv("data.csv", index=False)
    line = complaint(run, tmp_path, "learn", "data.csv", "--method", "discrete")
    assert "'a' and 'b' hold measurements, not levels" in line
