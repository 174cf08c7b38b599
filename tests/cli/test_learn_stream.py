"""Tables that are read piece by piece give the networks that they give as a whole."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from edgewise import GaussianGraph
from tests.cli.test_bad_input import complaint


def assert_same(streamed, whole):
    assert streamed.record["n_edges"] == whole.record["n_edges"] > 0
    assert streamed.record["alpha"] == pytest.approx(whole.record["alpha"], rel=1e-10)
    assert streamed.record["data"] == whole.record["data"]
    # Rows that are gone have no p-values.
    whole_edges = whole.edges[streamed.edges.columns]
    pd.testing.assert_frame_equal(streamed.edges, whole_edges, rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--method", "neighborhood", "--drop", "e"],
        ["--grid=chain", "--alpha", "0.1", "--set", "tau=0.1"],
    ],
)
@pytest.mark.slow
def test_streamed_is_whole(learn, frame, options):
    whole, streamed = learn(frame, *options), learn(frame, *options, "--stream")
    assert_same(streamed, whole)
    assert "summed up piece by piece, as --stream asks" in streamed.record["treatment"]


def test_folder_of_parquet_without_resamples(run, frame, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame[:50].to_parquet(folder / "a.parquet")
    frame[50:].to_parquet(folder / "b.parquet")
    shown = run("learn", folder, "--stream", "--json", "--alpha", "0.1", "--drop", "e").stdout
    record = json.loads(shown)
    assert record["data"]["n_samples"] == 120
    both = (folder / "a.parquet").read_bytes() + (folder / "b.parquet").read_bytes()
    assert record["data"]["sha256"] == hashlib.sha256(both).hexdigest()
    expected = (
        GaussianGraph(0.1, covariance="correlation").fit(frame.drop(columns="e")).graph_.edges()
    )
    assert [edge["weight"] for edge in record["edges"]] == pytest.approx(expected["weight"])
    assert "confidence" not in record["edges"][0]


@pytest.mark.slow
def test_discrete(learn):
    rng = np.random.default_rng(0)
    a = rng.choice(["no", "yes"], 300)
    b = np.where(rng.random(300) < 0.8, a, "no")
    survey = pd.DataFrame({"a": a, "b": b, "c": rng.integers(0, 3, 300)})
    whole = learn(survey, "--method", "discrete")
    streamed = learn(survey, "--method", "discrete", "--stream")
    assert streamed.record["score"] == pytest.approx(whole.record["score"], rel=1e-12)
    # Rows that are gone have no p-values.
    whole_edges = whole.edges[streamed.edges.columns]
    pd.testing.assert_frame_equal(streamed.edges, whole_edges, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (
            ["--resamples=100"],
            "--resamples requires all rows in memory, and --stream reads them in",
        ),
        (["--resamples", "10"], "--resamples requires all rows"),
        (["--alpha", "cv"], "--alpha cv requires all rows"),
        (["--alpha", "stars"], "--alpha stars requires all rows"),
        (["--missing", "em"], "--missing em requires all rows"),
        (["--covariance", "spearman"], "--covariance spearman requires all rows"),
        (["--grid=chain", "--alpha", "0.1"], "--set tau=cv requires all rows"),
        (
            ["--grid=chain", "--alpha", "1", "--set", "tau=1", "--set", "constant=drop"],
            "--set constant=drop requires",
        ),
        (["--columns", "a"], "A network needs at least 2 columns; data.csv has 1 left: 'a'"),
        (["--set", "criterion=bjp"], "--set criterion requires categorical columns"),
        (["--columns", "a,z"], "--columns names 'z', which is not a column"),
    ],
)
def test_what_needs_all_rows_is_refused(run, tmp_path, frame, options, part):
    frame.to_csv("data.csv", index=False)
    assert part in complaint(run, tmp_path, "learn", "data.csv", "--stream", *options)


def test_bad_tables_are_refused(run, tmp_path, frame):
    frame.loc[60, "c"] = np.nan
    frame.to_csv("data.csv", index=False)
    said = complaint(run, tmp_path, "learn", "data.csv", "--stream")
    assert "column 'c' is missing (NaN) in row 60 (60 of all)" in said
    frame[:1].to_csv("data.csv", index=False)
    assert "Found 1 sample" in complaint(run, tmp_path, "learn", "data.csv", "--stream")
