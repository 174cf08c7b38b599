"""``edgewise info`` and ``edgewise --version``."""

import json
import os
import platform

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise._core import jit
from edgewise.data import list_datasets


def test_version(run):
    assert run("--version").stdout == f"edgewise {edgewise.__version__}\n"


def test_json(run):
    found = json.loads(run("info", "--json").stdout)
    assert found["versions"]["edgewise"] == edgewise.__version__
    assert found["versions"]["python"] == platform.python_version()
    assert found["versions"]["numpy"] == np.__version__
    assert found["cpu_count"] == os.cpu_count()
    assert found["blas"]
    names = [dataset["name"] for dataset in found["datasets"]]
    assert names == list(list_datasets())
    licences = {dataset["name"]: dataset["licence"] for dataset in found["datasets"]}
    assert "MIT License" in licences["senate-votes"]
    assert "NREL" in licences["tmy3-daily"]
    assert all(licences.values())


def test_words(run):
    out = run("info").stdout
    assert np.__version__ in out
    for name, description in list_datasets().items():
        assert f"{name} " in out
        assert description in out
    assert "Licence: MIT License" in out


@pytest.mark.parametrize("switch", ["0", "1"])
def test_cache(run, monkeypatch, switch):
    monkeypatch.setenv("EDGEWISE_NUMBA_CACHE", switch)
    cache = json.loads(run("info", "--json").stdout)["numba_cache"]
    assert cache["switched_off"] is (switch == "0")
    if switch == "0":
        assert (cache["works"], cache["location"]) == (False, None)
        assert "switched off" in run("info").stdout
    else:
        assert cache["works"] is True
        assert os.path.isdir(cache["location"])  # noqa: PTH112
        assert cache["location"] in run("info").stdout


def test_cache_in_a_place_that_cannot_be_written(run, monkeypatch):
    monkeypatch.setattr(jit, "kernel_folder", lambda: None)
    assert "no folder can be written" in run("info").stdout


@pytest.fixture
def register(tmp_path):
    """A table as clinics write them: a title above the names, a gap, a date, a group."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "patient": [f"P{k:03}" for k in range(60)],
            "visit": pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d"),
            "arm": ["drug", "placebo"] * 30,
            "weight": rng.normal(70, 9, 60).round(1),
            "stage": rng.integers(1, 5, 60),
        }
    )
    table.loc[:5, "weight"] = np.nan
    file = tmp_path / "register.csv"
    file.write_text("Ward 3\n" + table.to_csv(index=False), encoding="utf-8")
    return file


def test_describes_the_columns_of_a_table(run, register):
    found = json.loads(run("info", register, "--json").stdout)
    columns = {one["name"]: one for one in found["columns"]}
    assert (found["n_rows"], found["n_columns"], found["is_part"]) == (60, 5, False)
    assert found["first_rows"][:2] == [["Ward 3"], ["patient", "visit", "arm", "weight", "stage"]]
    assert [one["left_out"] for one in found["columns"]] == ["labels", "dates", None, None, None]
    assert columns["weight"]["missing"] == 0.1
    assert [name for name, one in columns.items() if one["is_group"]] == ["arm", "stage"]
    assert [name for name, one in columns.items() if one["is_time"]] == ["visit"]
    assert sum(columns["weight"]["bars"]) == 54
    assert len(columns["weight"]["bars"]) == 10
    assert columns["arm"]["bars"] == [30, 30]


def test_describes_a_table_in_words(run, register):
    lines = run("info", register).stdout.splitlines()
    assert lines[0] == f"60 rows and 5 columns in {register}"
    assert "arm      binary: drug, placebo" in lines


def test_describes_a_sheet(run, tmp_path):
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        pd.DataFrame({"about": ["us"]}).to_excel(book, sheet_name="cover", index=False)
        pd.DataFrame({"a": range(30), "b": range(0, 60, 2)}).to_excel(
            book, sheet_name="values", index=False
        )
    found = json.loads(run("info", "book.xlsx", "--read", "sheet=values", "--json").stdout)
    assert found["sheets"] == ["cover", "values"]
    assert found["first_rows"][0] == ["a", "b"]


def test_describes_the_first_rows_of_a_large_table(run, tmp_path, monkeypatch):
    monkeypatch.setattr("edgewise.cli.describe.LARGE", 100)
    monkeypatch.setattr("edgewise.cli.describe.FIRST_ROWS", 25)
    pd.DataFrame({"a": range(90), "b": range(90)}).to_csv(tmp_path / "long.csv", index=False)
    found = json.loads(run("info", "long.csv", "--json").stdout)
    assert (found["n_rows"], found["is_part"]) == (25, True)


def test_a_table_that_is_not_there_is_an_error(run):
    assert run("info", "nowhere.csv", code=2).stderr.startswith("Error: ")
