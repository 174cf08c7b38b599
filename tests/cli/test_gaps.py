"""Missing values: what they cost is said, and every command can fill them in."""

import json

import numpy as np
import pandas as pd
import pytest


def clinic(n_rows=300, seed=0):
    """Height, weight, sex and two columns that most rows lack, always together."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n_rows)
    height = 165 + 12 * sex + rng.normal(0, 7, n_rows)
    table = pd.DataFrame(
        {
            "height": height.round(1),
            "weight": (0.9 * height - 85 + rng.normal(0, 8, n_rows)).round(1),
            "sex": np.array(["women", "men"])[sex],
            "pulse": rng.normal(70, 8, n_rows).round(),
            "stage": np.array(["a", "b", "c"])[rng.integers(0, 3, n_rows)],
            "volume": rng.normal(10, 2, n_rows).round(1),
            "region": np.array(["north", "south"])[rng.integers(0, 2, n_rows)],
        }
    )
    table.loc[rng.random(n_rows) < 0.65, ["stage", "volume"]] = None
    table.loc[rng.random(n_rows) < 0.06, "weight"] = None
    return table


def test_what_costs_the_rows_is_said_and_half_of_them_never_left_out(run):
    clinic().to_csv("data.csv", index=False)
    said = run("learn", "data.csv", code=2).stderr
    assert "Use what is there: `edgewise learn data.csv --missing auto`." in said
    assert "Or leave out 'stage' and 'volume', which cost" in said
    assert "`edgewise learn data.csv --drop stage,volume --missing drop`" in said
    assert "data.csv --missing drop`" not in said
    rng = np.random.default_rng(1)
    everywhere = clinic().mask(rng.random((300, 7)) < 0.25)
    everywhere.to_csv("data.csv", index=False)
    said = run("learn", "data.csv", code=2).stderr
    assert "--missing auto" in said
    assert "drop" not in said


def test_columns_that_lack_little_are_not_to_be_left_out(run):
    """Of a questionnaire, every item lacks a few answers, and many rows lack one."""
    rng = np.random.default_rng(2)
    items = pd.DataFrame(rng.integers(1, 7, size=(300, 12))).add_prefix("item")
    items.mask(rng.random((300, 12)) < 0.015).to_csv("data.csv", index=False)
    said = run("learn", "data.csv", code=2).stderr
    assert "--drop" not in said
    assert "data.csv --missing drop`" in said


def test_columns_that_no_row_has_both_of_are_named_with_the_command(run):
    rng = np.random.default_rng(6)
    items = pd.DataFrame(rng.integers(1, 6, size=(200, 6))).add_prefix("item").astype(float)
    items.loc[:99, "item1"] = None
    items.loc[100:, ["item4", "item5"]] = None
    items.to_csv("data.csv", index=False)
    said = run("learn", "data.csv", "--missing", "auto", code=2).stderr
    assert "'item1' and 'item4'" in said
    assert "`edgewise learn data.csv --drop item1 --missing auto`" in said
    run("learn", "data.csv", "--drop", "item1", "--missing", "auto", "--resamples", "0")


def test_few_rows_are_left_out(run):
    table = clinic().drop(columns=["stage", "volume"])
    table.loc[table["weight"].isna(), "weight"] = 60.0
    table.loc[:5, "pulse"] = None
    table.to_csv("data.csv", index=False)
    assert "Or leave them out: `edgewise learn data.csv --missing drop`" in (
        run("learn", "data.csv", code=2).stderr
    )
    said = run("learn", "data.csv", "--missing", "auto", "--resamples=0").stdout
    assert "--missing auto takes drop, since at most 5% of the rows have gaps" in said


def test_a_mixed_network_is_learned_from_several_fillings(run):
    clinic().to_csv("data.csv", index=False)
    said = run("learn", "data.csv", "--missing", "auto", "--resamples=0").stdout
    assert "among the 7 columns of data.csv (300 rows)" in said
    assert "filled in 10 times by chained equations; 300 rows count as" in said
    assert "p-values of edges are pooled over 10 fillings" in said
    # More weight in women would be wrong: men are taller.
    assert "height -- sex=women  -" in said
    edges = pd.read_csv("edgewise-out/edges.csv")
    assert "sex=women" in {*edges["source"], *edges["target"]}


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("compare", ["--by", "region", "--drop", "stage,sex", "--permutations", "19"]),
        ("regress", ["--on", "height", "--drop", "stage,sex,region"]),
        ("direct", ["--drop", "region", "--resamples=0"]),
        ("classify", ["--by", "region", "--drop", "stage,sex", "--repeats", "1", "--folds", "2"]),
    ],
)
def test_every_command_fills_them_in(run, command, options):
    clinic().to_csv("data.csv", index=False)
    said = run(command, "data.csv", *options, "--missing", "auto", "--json").stdout
    document = json.loads(said)
    assert document["data"]["n_samples"] == 300
    assert any("were filled in once" in note for note in document["treatment"]), command


def test_skewed_numbers_beside_text_are_said_and_the_advice_works(run):
    rng = np.random.default_rng(2)
    table = clinic().drop(columns=["stage", "volume", "weight"])
    table["bili"] = np.exp(1.3 * rng.normal(size=300))
    table["copper"] = np.exp(1.3 * rng.normal(size=300)) * table["bili"] ** 0.5
    table.to_csv("data.csv", index=False)
    found = run("learn", "data.csv", "--resamples=0")
    assert "are skewed" in found.stderr
    assert "--covariance nonparanormal" in found.stderr
    better = run("learn", "data.csv", "--resamples=0", "--covariance", "nonparanormal")
    assert "skewed" not in better.stderr
    assert "bili -- copper" in better.stdout
    assert "'bili' and 'copper' count by the normal scores" in better.stdout
