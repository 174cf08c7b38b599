"""From a table as people have it to an answer, by the defaults and by the advice as printed.

Tables come from R packages where R has them and from scikit-learn, or are drawn to be alike.
"""

import io
import json
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.slow


def from_r(expression):
    """Return what an R expression gives, or None without R or its package."""
    script = f"write.csv({expression}, row.names = FALSE)"
    try:
        told = subprocess.run(
            ["Rscript", "-e", script], capture_output=True, text=True, timeout=60, check=False
        )
    except OSError:
        return None
    return pd.read_csv(io.StringIO(told.stdout)) if told.returncode == 0 else None


def advice(text):
    """Return the first command that a sentence advises, as words of a shell."""
    return shlex.split(re.search(r"`edgewise ([^`]+)`", text)[1])


def latent(rng, loading, n_rows):
    """Rows of columns that share factors: one factor for every five."""
    p = 5 * 5
    factors = rng.normal(size=(n_rows, 5)) + 0.4 * rng.normal(size=(n_rows, 1))
    return loading * np.repeat(factors, 5, axis=1) + rng.normal(size=(n_rows, p))


@pytest.fixture
def at(run, tmp_path):
    """Run a command on a table; return what it said, and where it wrote."""

    def invoke(frame, command, *options, code=0):
        if frame is not None:
            frame.to_csv(tmp_path / "table.csv", index=False)
        return run(command, "table.csv", "--out", "out", *options, code=code)

    return invoke


def record():
    return json.loads(Path("out/run.json").read_text())


def edges():
    return pd.read_csv("out/edges.csv").dropna(subset="target")


def test_survey_with_gaps(at, run):
    """25 answers from 1 to 6 of 2,800 people (psych's bfi): ordered, with missing ones."""
    frame = from_r("psych::bfi[, 1:25]")
    if frame is None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(np.digitize(latent(rng, 0.9, 2800), [-2, -1, 0, 1, 2]) + 1.0)
        frame = frame.mask(rng.random(frame.shape) < 0.007).add_prefix("item")
    refused = at(frame, "learn", code=2)
    assert "values are missing" in refused.stderr
    said = run(*advice(refused.stderr), "--resamples=100").stdout
    assert said.splitlines()[0].endswith("among the 25 columns of table.csv (2800 rows)")
    assert "by partial correlation" in said
    assert "--missing auto takes pairwise" in said
    assert "25 columns of ordered answers" in said
    found = edges()
    strong = found[found["weight"].abs() > 0.2]
    ranks = frame.corr("spearman")
    for row in strong.itertuples():
        assert np.sign(row.weight) == np.sign(ranks.loc[row.source, row.target])
    assert (strong["confidence"] > 0.9).all()


def test_genes_of_two_diseases(at):
    """38 rows of 400 genes (of golub's kind): spreads differ between diseases, networks do not."""
    rng = np.random.default_rng(1)
    blocks = np.repeat(rng.normal(size=(38, 40)), 10, axis=1)
    rows = 1.5 * blocks + rng.normal(size=(38, 400))
    is_second = np.arange(38) >= 27
    rows[is_second] *= np.exp(1.2 * rng.normal(size=400))
    frame = pd.DataFrame(rows).add_prefix("g")
    said = at(frame, "learn").stdout
    assert "among the 400 columns of table.csv (38 rows)" in said.splitlines()[0]
    found = edges()
    assert len(found) > 0
    few = frame.iloc[:, :20].assign(disease=np.where(is_second, "AML", "ALL"))
    said = at(few, "compare", "--by", "disease").stdout
    assert said.startswith("No significant difference between the networks of ALL (27 rows)")
    assert not re.search(r"\d+ pairs? changed", said)
    assert "spreads in 0" not in said


def test_prices(at, run):
    """Closing prices (huge's stockdata): they trend, and splits jump; changes do neither."""
    frame = from_r("setNames(as.data.frame(huge::stockdata$data[, 1:40]), paste0('s', 1:40))")
    if frame is None:
        rng = np.random.default_rng(2)
        steps = 0.01 * (rng.normal(size=(1258, 40)) + 0.6 * rng.normal(size=(1258, 1)))
        frame = pd.DataFrame(50.0 * np.exp(steps.cumsum(axis=0))).add_prefix("s")
    told = at(frame, "learn", "--resamples=0")
    assert "drift along the rows, as prices do" in told.stderr
    run(*advice(told.stderr))
    assert "first differences" in "".join(record()["treatment"])
    assert all(one["kind"] != "trend" for one in record()["findings"])
    returns = np.log(frame).diff().iloc[1:].clip(-0.2, 0.2)
    year = pd.cut(np.arange(len(returns)), 5, labels=range(2003, 2008))
    both = returns.iloc[:, :15].assign(year=year)
    both = both[both["year"].isin([2004, 2007])]
    said = at(both, "compare", "--by", "year").stdout
    first = said.splitlines()[0]
    verdict = record()["test"]["pvalue"] <= 0.05
    assert first.startswith("The networks of" if verdict else "No significant difference")
    assert ("Only a ranking" in said) != verdict


def test_patients(at):
    """Codes, yes / no and measurements of 189 births (MASS), and levels one of which is None."""
    frame = from_r("MASS::birthwt")
    if frame is None:
        rng = np.random.default_rng(3)
        weight = rng.normal(2900, 700, 189).round()
        frame = pd.DataFrame({"low": (weight < 2500).astype(int), "age": rng.integers(15, 40, 189)})
        frame = frame.assign(
            race=rng.integers(1, 4, 189), smoke=rng.integers(0, 2, 189), bwt=weight
        )
    told = at(frame, "compare", "--by", "smoke")
    assert re.search(r"'race'.* different whole numbers, treated as measurements", told.stderr)
    assert told.stdout.startswith(("No significant difference", "The networks of 0"))
    at(frame, "learn")
    found = edges().set_index(["source", "target"])["weight"]
    assert found["low", "bwt"] < 0
    rng = np.random.default_rng(4)
    improved = rng.choice(["None", "Some", "Marked"], p=[0.5, 0.17, 0.33], size=84)
    arthritis = pd.DataFrame({"improved": improved, "sex": rng.choice(["f", "m"], 84)})
    arthritis["treatment"] = np.where(
        (improved == "None") ^ (rng.random(84) < 0.25), "Placebo", "Treated"
    )
    said = at(arthritis, "learn").stdout
    assert "(84 rows)" in said.splitlines()[0]
    assert "improved -- treatment" in said


def test_species(at):
    """Three kinds of wine (scikit-learn): means differ, which is no difference of networks."""
    from sklearn.datasets import load_wine

    wine = load_wine(as_frame=True)
    frame = wine.data.iloc[:, :6].assign(cultivar=[f"c{k}" for k in wine.target])
    said = at(frame, "regress", "--on", "cultivar").stdout
    shares = re.search(r"mean (-?\d+)%, variances (-?\d+)%, graph (-?\d+)%", said)
    assert int(shares[1]) > int(shares[3])
    within = wine.data.groupby(wine.target).corr()
    for row in edges().itertuples():
        signs = {np.sign(within.loc[(k, row.source), row.target]) for k in range(3)}
        assert np.sign(row.weight) in signs
    said = at(frame, "compare", "--by", "cultivar").stdout
    assert "Groups: c0 (59 rows), c1 (71 rows), c2 (48 rows)" in said
    said = at(frame, "classify", "--by", "cultivar", "--repeats", "1").stdout
    assert "clearly more than the 39.9% of the most frequent class" in said.splitlines()[0]


def test_recording(at, run):
    """250 scans of 12 regions (nitime's fMRI is of the kind): rows are like those before them."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(250, 12))
    rows[:, 1::2] += rows[:, ::2]
    for t in range(1, 250):
        rows[t] += 0.7 * rows[t - 1]
    frame = pd.DataFrame(rows).add_prefix("r")
    at(frame, "learn", "--blocks", "1")
    free = len(edges())
    at(frame, "learn")
    notes = " ".join(record()["treatment"])
    assert "rows depend on the rows before them" in notes
    assert "250 rows count as" in notes
    assert 6 <= len(edges()) < free
    said = at(frame, "direct").stdout
    assert "found by both" not in said
    task = frame.assign(task=np.resize(np.repeat(["rest", "look"], 25), 250))
    told = at(task, "classify", "--by", "task", "--repeats", "1")
    assert "beyond noise no more than" in told.stdout.splitlines()[0]
    assert "rows held out in blocks of" in " ".join(record()["treatment"])
