"""The methods paragraph of each command holds what its record says."""

import json

import numpy as np
import pandas as pd
import pytest

from edgewise import EBIC, GaussianGraph, Stepwise
from edgewise.cli.wording import about_fit
from edgewise.report.page import details


@pytest.fixture
def methods(run, tmp_path, monkeypatch):
    """Run a command; return its record, the paragraph and the references."""

    def invoke(frame, command, *options):
        frame.to_csv(tmp_path / "data.csv", index=False)
        pages = []
        monkeypatch.setattr("edgewise.cli.run.page", lambda report: pages.append(report) or "")
        said = run(command, "data.csv", *options, "--json")
        told = details(pages[0])
        return json.loads(said.stdout), told["paragraph"], told["bibtex"]

    return invoke


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    values = generator.normal(size=(80, 4))
    values[:, 1] += values[:, 0]
    frame = pd.DataFrame(values, columns=list("abcd"))
    return frame.assign(group=np.where(generator.random(80) < 0.5, "x", "y"))


COMMANDS = {
    "learn": ["--drop", "group", "--resamples", "5"],
    "direct": ["--drop", "group", "--resamples", "5"],
    "compare": ["--by", "group", "--permutations", "9"],
    "regress": ["--on", "d", "--drop", "group"],
    "classify": ["--by", "group"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_done_is_there_and_true(methods, table, command):
    record, paragraph, references = methods(table, command, *COMMANDS[command])
    data = record["data"]
    assert f"from {data['n_samples']} rows and {data['n_features']} columns" in paragraph
    assert "There were no missing values." in paragraph
    for name, version in record["versions"].items():
        assert f"{name} {version}" in paragraph
    assert f"The seed of random numbers was {record['seed']}." in paragraph
    assert "@article{numpy" in references
    if record.get("alpha") is not None:
        assert f"alpha = {record['alpha']:.3g}" in paragraph
    for name in ("n_resamples", "n_permutations"):
        if number := record["parameters"].get(name):
            assert f"There were {number} " in paragraph


#: What is to be in the paragraph of each command besides, and among the references.
TOLD = {
    "learn": (
        ["rest on Pearson correlations", "Gamma of the extended BIC was 0.25", "5 bootstrap"],
        ["friedman2008", "efron1979", "foygel2010"],
    ),
    "direct": (
        ["rest on Pearson correlations", "best order score search", "criterion (Schwarz 1978)"],
        ["andrews2023", "schwarz1978", "efron1979"],
    ),
    "compare": (
        ["standardised within each group", "harmonic mean", "chosen by cross-validation"],
        ["liu2014", "wilson2019", "westfall1993"],
    ),
    "regress": (
        ["rest on Pearson correlations", "smallest risk on held-out rows"],
        ["liu2010", "friedman2008"],
    ),
    "classify": (
        ["standardised columns within each class", "The penalty was alpha = ", "folds"],
        ["zhou2016", "nadeau2003"],
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_correlations_penalty_criterion_and_references(methods, table, command):
    _, paragraph, references = methods(table, command, *COMMANDS[command])
    words, keys = TOLD[command]
    assert not [word for word in words if word not in paragraph]
    assert not [key for key in [*keys, "numpy", "scipy"] if f"{{{key}," not in references]


@pytest.mark.parametrize(
    ("method", "words", "key"),
    [
        ("ges", "greedy equivalence search (Chickering 2002)", "chickering2002"),
        ("exact", "the best score of all directed graphs", "silander2006"),
        ("pc", "PC-stable (Colombo and Maathuis 2014)", "colombo2014"),
        ("iamb", "IAMB (Tsamardinos et al. 2003)", "tsamardinos2003"),
        ("gs", "grow-shrink (Margaritis and Thrun 1999)", "margaritis1999"),
    ],
)
def test_direct_names_its_method(methods, table, method, words, key):
    options = ["--drop", "group", "--resamples=0", "--method", method]
    _, paragraph, references = methods(table, "direct", *options)
    assert words in paragraph
    assert key in references
    assert "Andrews" not in paragraph + references
    is_scored = method in ("ges", "exact")
    assert ("Graphs were scored by the Bayesian information criterion" in paragraph) == is_scored
    assert ("Each test had a level of " in paragraph) != is_scored


def test_blocks_are_told(methods, table):
    options = ["--drop", "group", "--resamples", "3", "--blocks", "4"]
    _, paragraph, references = methods(table, "learn", *options)
    assert "drawn in blocks of 4" in paragraph
    assert "kunsch1989" in references
    assert "bartlett1946" in references


def test_criterion_with_gamma(methods, table):
    record, paragraph, references = methods(table, "learn", "--drop", "group", "--resamples=0")
    assert record["gamma"] == 0.25
    assert record["alpha"] is None
    assert "chosen by the extended BIC of Gaussian graphs" in paragraph
    assert "Gamma of the extended BIC was 0.25." in paragraph
    assert "The networks rest on Pearson correlations." in paragraph
    assert "@inproceedings{foygel2010" in references
    assert "resamples" not in paragraph


def test_fits_that_kept_their_penalty_are_described_as_such(methods, table):
    same = table.assign(d=-2 * table["a"])
    options = ["--columns", "a,b,c,d", "--resamples=0"]
    record, paragraph, _ = methods(same, "learn", *options)
    assert record["gamma"] == 0.5
    assert record["alpha"] > 0
    assert "with gamma = 0.5 (Foygel and Drton 2010)" in paragraph
    assert "estimated by the graphical lasso" in paragraph
    assert "maximum likelihood" not in paragraph


def test_rules_with_and_without_a_penalty_are_recorded_as_such(table):
    X = table[list("abcd")]
    kept, free = (about_fit(GaussianGraph(rule).fit(X)) for rule in (EBIC(), Stepwise()))
    assert (kept["gamma"], free["gamma"]) == (0.5, 0.25)
    assert kept["alpha"] > 0
    assert free["alpha"] is None


@pytest.mark.parametrize(
    ("covariance", "words", "key"),
    [
        ("spearman", "Spearman's rank correlations", "liu2012"),
        ("nonparanormal", "normal", "liu2009"),
    ],
)
def test_correlations_are_cited(methods, table, covariance, words, key):
    options = ["--drop", "group", "--resamples=0", "--covariance", covariance, "--alpha", "0.2"]
    _, paragraph, references = methods(table, "learn", *options)
    assert words in paragraph
    assert key in references
    assert "alpha = 0.2, as given" in paragraph


def test_missing_values_are_told(methods, table):
    gaps = table.copy()
    gaps.loc[:6, "a"] = np.nan
    options = ["--drop", "group", "--resamples=0", "--alpha", "0.2", "--missing", "drop"]
    _, paragraph, _ = methods(gaps, "learn", *options)
    assert "7 of 80 rows have missing values, left out." in paragraph
    assert "There were no missing values" not in paragraph
