"""Input that cannot be used: exit code 2, one sentence on standard error, nothing written."""

import sys

import numpy as np
import pandas as pd
import pytest

GOOD = "a,b\n1.5,2\n2,4.5\n3.25,1\n0,1.5\n"


def complaint(run, tmp_path, *arguments):
    result = run(*arguments, code=2)
    assert result.stdout == ""
    assert not (tmp_path / "edgewise-out").exists()
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["There is no file data.csv"]),
        ("", ["data.csv is empty"]),
        ("\n\n", ["blank lines"]),
        ("a,b\n", ["no rows"]),
        ("a,b\n1.5,2\n", ["1 sample", "at least 2"]),
        ("a,a\n1,2\n3,4\n", ["more than one column called 'a'"]),
        ("a,b,city\n1.5,2,Ulm\n2,4,Bonn\n3,1,Bonn\n", ["'city'", "text", "--drop city"]),
        ("a,b,id\n1,2,x\n3,1,y\n", ["'id'", "text", "--drop id"]),
        (
            "a,my id,k\n1,x,y\n3,y,z\n2,z,x\n",
            ["'my id' and 'k'", "requires two numeric columns"],
        ),
        ("a,c\n1.5,7\n2,7\n3.25,7\n", ["Column 'c' has one value"]),
        ("a,b\n1.5,2\n,4\n3.25,1\n", ["'a' (1)", "`edgewise learn data.csv --missing auto`"]),
        ("a,b\n1.5,2\ninf,4\n3.25,1\n", ["'a'", "infinite"]),
        ("a,b\n1.5,1.5\n2,2\n3.25,3.25\n", ["'a' and 'b' are identical", "--set repair=ridge"]),
        ("a\n1.5\n2.5\n3\n", ["at least 2 columns", "'a'"]),
        ("a,b\n1.5,2\n2\n", ["Line 3", "1 fields"]),
        ("a,b\n2,0.5\n0.5,1\n", ["covariance matrix"]),
    ],
)
def test_tables(run, tmp_path, content, words):
    if content is not None:
        (tmp_path / "data.csv").write_text(content)
    line = complaint(run, tmp_path, "learn", "data.csv")
    assert all(word in line for word in words), line


def test_a_long_list_of_text_columns_is_cut(run, tmp_path):
    texts = {f"t{k}": [f"r{row}" for row in range(30)] for k in range(40)}
    pd.DataFrame({"a": np.arange(30) ** 0.5, **texts}).to_csv("data.csv", index=False)
    line = complaint(run, tmp_path, "learn", "data.csv")
    assert "35 more" in line
    assert len(line) < 300


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--alpha", "lasso"],
            ["alpha must be", "stepwise, ebic, cv, stars or fdr", "lasso"],
        ),
        (["--alpha", "-1"], ["alpha must be", "-1"]),
        (["--alpha", "nan"], ["alpha must be"]),
        (["--drop", "c"], ["--drop", "'c'", "is not a column"]),
        (["--columns", "A"], ["--columns", "'A'", "Did you mean"]),
        (["--drop", "a,b"], ["leave no column"]),
        (["--drop", "a"], ["at least 2 columns", "1 left"]),
        (["--resamples", "1"], ["--resamples must be at least 2"]),
        (["--jobs", "0"], ["--jobs 0"]),
        (["--set", "alpha_ratio=2"], ["--set alpha_ratio must be between 0 and 1"]),
        (["--set", "max_iter=0"], ["--set max_iter must be", "at least 1"]),
        (["--set", "tol=0"], ["--set tol must be positive"]),
        (["--out", "data.csv"], ["it is a file"]),
        (["--out", "data.csv/sub"], ["data.csv"]),
        (["--method", "neighborhood", "--alpha", "0"], ["alpha must be positive"]),
        (["--method", "neighborhood", "--set", "device=cuda"], ["--set device", "graphical lasso"]),
        (
            ["--set", "device=cuda", "--alpha", "0.1"],
            ["--set device=cuda", "pip install edgewise[gpu]"],
        ),
        (
            ["--set", "device=cuda", "--grid=chain", "--alpha", "0.1", "--set", "tau=0.1"],
            ["edgewise[gpu]"],
        ),
    ],
)
def test_options(run, tmp_path, options, words, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "data.csv").write_text(GOOD)
    line = complaint(run, tmp_path, "learn", "data.csv", *options)
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    "options", [["--covariance", "x"], ["--method", "x"], ["--missing", "x"], ["--nonsense"]]
)
def test_unknown_choices_are_usage_errors(run, options):
    result = run("learn", "data.csv", *options, code=2)
    assert "Error" in result.stderr


def levels(n_rows=60, **columns):
    rng = np.random.default_rng(5)
    return pd.DataFrame({name: rng.choice(values, n_rows) for name, values in columns.items()})


def test_text_levels_are_no_numbers(run, tmp_path):
    levels(answer=["yes", "no"], mood=["bad", "fair", "good"]).to_csv("data.csv", index=False)
    line = complaint(run, tmp_path, "learn", "data.csv", "--covariance", "spearman")
    assert "'answer' and 'mood'" in line
    assert "--method discrete" in line


def test_rule_for_discrete_tables(learn):
    """Text of at most max(2, min(20, n / 5)) levels, yes / no or two numbers in every column."""
    rng = np.random.default_rng(0)
    words = np.array([f"place {k}" for k in range(20)])
    at_limit = pd.DataFrame({"a": rng.permuted(np.tile(words, 6)), "b": rng.integers(1, 3, 120)})
    assert learn(at_limit).record["parameters"]["method"] == "discrete"


def test_whole_numbers_have_an_order(learn):
    rng = np.random.default_rng(0)
    at_limit = pd.DataFrame(rng.permuted(np.tile(np.arange(10)[:, None], (6, 2)), axis=0))
    at_limit.columns = ["a", "b"]
    run = learn(at_limit, "--alpha", "0.1")
    assert run.record["parameters"]["covariance"] == "auto"
    note, *_ = run.record["treatment"]
    assert "2 columns of ordered answers (at most 10 different whole numbers)" in note
    assert "--covariance correlation" in note
    assert "--method discrete" in note
    beyond = at_limit.copy()
    beyond.loc[0, "a"] = 10
    assert learn(beyond, "--alpha", "0.1").record["parameters"]["covariance"] == "auto"
    more = at_limit + 7 * rng.permuted(np.tile(np.arange(60)[:, None], (1, 2)), axis=0)
    assert learn(more, "--alpha", "0.1").record["treatment"] == []
    # 15 rows: limit 3
    few = pd.DataFrame(
        {"a": [1, 2, 3, 4, 5] * 3, "b": [1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 2, 4, 1, 3, 5]}
    )
    assert learn(few, "--alpha", "0.1").record["parameters"]["covariance"] == "correlation"


def test_one_fractional_answer_changes_no_model(learn):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(1, 6, (80, 3)) + 0.0, columns=["a", "b", "c"])
    whole = learn(table, "--alpha", "0.1").record["parameters"]
    table.loc[3, "b"] = 2.5
    half = learn(table, "--alpha", "0.1").record
    assert half["parameters"] == whole
    assert "'a' and 'c', and 1 of measurements, 'b'" in half["treatment"][0]


def test_text_beside_ordered_numbers_is_named(run, tmp_path):
    table = levels(mood=["bad", "good"], rating=[1, 2, 3, 4, 5], other=[1, 2, 3])
    table.to_csv("data.csv", index=False)
    line = complaint(run, tmp_path, "learn", "data.csv", "--covariance", "auto")
    for words in ("'mood' is text", "'rating' and 'other'", "--drop mood", "--method discrete"):
        assert words in line


def test_few_rows_of_measurements_are_not_discrete(learn):
    two_rows = pd.DataFrame({"a": [1.5, 3.0], "b": [2.0, 4.5]})
    (note,) = learn(two_rows, "--alpha", "0.1").record["treatment"]
    assert note.startswith("no p-values of edges: There are 2 rows")
    fractions = pd.DataFrame({"a": [0.5, 1.5] * 10, "b": [0.5] * 10 + [2.5] * 10})
    assert learn(fractions, "--alpha", "0.1").record["treatment"] == []


def test_one_continuous_column_makes_the_table_continuous(learn):
    table = levels(a=[0, 1], b=[0, 1]).assign(c=np.random.default_rng(0).normal(size=60))
    record = learn(table, "--alpha", "0.1").record
    assert record["parameters"]["covariance"] == "auto"
    assert "1 of measurements, 'c', by polychoric, polyserial" in record["treatment"][0]
