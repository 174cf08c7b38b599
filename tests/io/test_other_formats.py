import io
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from edgewise import InputError
from edgewise.io import read_table
from tests.messages import raises


@pytest.fixture
def frame():
    return pd.DataFrame(
        {"age": [31.5, 40.0, np.nan, 28.0], "sex": ["f", "m", "f", None], "n": [1, 2, 3, 999]}
    )


def check(table):
    assert table.names == ("age", "sex", "n")
    np.testing.assert_array_equal(table.columns[0], [31.5, 40.0, np.nan, 28.0])
    assert table.columns[1].tolist()[:3] == ["f", "m", "f"]
    assert table.columns[2].tolist() == [1, 2, 3, 999]


def test_json_lines(frame, tmp_path):
    frame.to_json(tmp_path / "data.jsonl", orient="records", lines=True)
    check(read_table(tmp_path / "data.jsonl"))


def test_stata(frame, tmp_path):
    frame.fillna({"sex": ""}).to_stata(tmp_path / "data.dta", write_index=False)
    check(read_table(tmp_path / "data.dta"))


def test_feather(frame, tmp_path):
    pytest.importorskip("pyarrow")
    frame.to_feather(tmp_path / "data.feather")
    check(read_table(tmp_path / "data.feather"))


@pytest.mark.parametrize(("suffix", "package"), [(".xlsx", "openpyxl"), (".ods", "odf")])
def test_spreadsheets(frame, tmp_path, suffix, package):
    pytest.importorskip(package)
    file = tmp_path / f"data{suffix}"
    with pd.ExcelWriter(file) as book:
        frame.to_excel(book, sheet_name="people", index=False)
        frame.head(2).to_excel(book, sheet_name="few", index=False)
    table = read_table(file)
    check(table)
    assert "first of 2 sheets was read, 'people'" in table.notes[0]
    assert read_table(file, sheet="few").n_rows == 2
    with raises(
        InputError, code="no_such_sheet", parameter="sheet", sheet="none", names=["people", "few"]
    ):
        read_table(file, sheet="none")


def test_labels_of_spss_stand_for_the_codes_of_nominal_columns(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"sex": [1.0, 2.0, 3.0, np.nan], "mood": [1.0, 2.0, 2.0, 1.0]})
    pyreadstat.write_sav(
        frame,
        tmp_path / "data.sav",
        variable_value_labels={"sex": {1: "f", 2: "m"}, "mood": {1: "bad", 2: "good"}},
        variable_measure={"sex": "nominal", "mood": "ordinal"},
    )
    table = read_table(tmp_path / "data.sav")
    assert table.columns[0].tolist() == ["f", "m", "3.0", None]
    assert table.columns[1].tolist() == [1, 2, 2, 1]


def test_words_for_missing_values_count_in_every_format(frame, tmp_path):
    frame.to_json(tmp_path / "data.jsonl", orient="records", lines=True)
    table = read_table(tmp_path / "data.jsonl", na=["999", "m"])
    assert np.isnan(table.columns[2][3])
    assert table.columns[1].tolist() == ["f", None, "f", None]


@pytest.mark.parametrize("suffix", [".jsonl", ".dta", ".sas7bdat", ".feather"])
def test_a_damaged_file_is_named(tmp_path, suffix):
    file = tmp_path / f"data{suffix}"
    file.write_bytes(b"{nothing of the kind" * 40)
    with raises(InputError, code="cannot_read_format"):
        read_table(file)


def test_a_package_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "data.xlsx").write_bytes(b"PK")
    with raises(InputError, code="needs_package", package="openpyxl"):
        read_table(tmp_path / "data.xlsx")


def test_a_sheet_of_what_is_no_spreadsheet_is_refused(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    with raises(InputError, code="option_for_format", parameter="sheet", value="first"):
        read_table(tmp_path / "data.csv", sheet="first")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1,5;2\n2;3\n")))
    table = read_table("-")
    assert table.columns[0].tolist() == [1.5, 2.0]
    assert table.source == "standard input"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with raises(InputError, code="empty_standard_input"):
        read_table("-")


def labelled_frame():
    often = pd.CategoricalDtype(["never", "seldom", "often"], ordered=True)
    city = pd.CategoricalDtype(["Ulm", "Bonn"])
    return pd.DataFrame(
        {
            "mood": pd.Series(["often", "never", None, "seldom"], dtype=often),
            "city": pd.Series(["Ulm", "Bonn", "Ulm", "Ulm"], dtype=city),
        }
    )


@pytest.mark.parametrize("suffix", ["feather", "parquet"])
def test_ordered_categories_are_numbers_with_labels(tmp_path, suffix):
    pytest.importorskip("pyarrow")
    file = tmp_path / f"data.{suffix}"
    getattr(labelled_frame(), f"to_{suffix}")(file)
    table = read_table(file, na=["Bonn"])
    np.testing.assert_array_equal(table.columns[0], [3, 1, np.nan, 2])
    assert table.value_labels == {"mood": {1: "never", 2: "seldom", 3: "often"}}
    assert table.columns[1].tolist() == ["Ulm", None, "Ulm", "Ulm"]


def test_stata_keeps_labels_of_columns_and_of_codes(tmp_path):
    file = tmp_path / "data.dta"
    labelled_frame()[["mood"]].to_stata(
        file, write_index=False, variable_labels={"mood": "How often sad"}
    )
    table = read_table(file)
    np.testing.assert_array_equal(table.columns[0], [3, 1, np.nan, 2])
    assert table.labels == {"mood": "How often sad"}
    assert table.value_labels["mood"][3] == "often"
    assert "'mood' were read as numbers in the order of their codes" in table.notes[0]


def test_spss_keeps_labels_of_columns_and_of_codes(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    file = tmp_path / "data.zsav"
    pyreadstat.write_sav(
        pd.DataFrame({"mood": [1.0, 2.0, 2.0], "age": [30.5, 41.0, 22.0]}),
        file,
        compress=True,
        column_labels={"mood": "How often  sad", "age": "age"},
        variable_value_labels={"mood": {1: "never", 2: "often"}},
    )
    table = read_table(file)
    assert table.labels == {"mood": "How often sad"}
    assert table.value_labels == {"mood": {1: "never", 2: "often"}}
    assert table.columns[0].tolist() == [1, 2, 2]


def test_written_numbers_of_other_formats_are_read_when_asked(tmp_path):
    file = tmp_path / "data.jsonl"
    pd.DataFrame({"share": ["12,5 %", "3 %"], "n": [1, 2]}).to_json(
        file, orient="records", lines=True
    )
    assert read_table(file).columns[0].tolist() == ["12,5 %", "3 %"]
    table = read_table(file, decimal=",")
    assert table.columns[0].tolist() == [12.5, 3.0]
    assert "the percent sign of 'share' was dropped" in table.notes[0]


@pytest.mark.parametrize(
    ("part", "number"), [("indices", 10**6), ("indices", -1000), ("indptr", 10**6)]
)
def test_damaged_sparse_anndata_is_refused(tmp_path, monkeypatch, part, number):
    sparse = csr_matrix(np.eye(4))
    getattr(sparse, part)[2] = number
    table = SimpleNamespace(X=sparse, to_df=lambda: pytest.fail("read"))
    monkeypatch.setitem(sys.modules, "anndata", SimpleNamespace(read_h5ad=lambda _: table))
    (tmp_path / "data.h5ad").write_bytes(b"\x89HDF")
    with raises(InputError, code="cannot_read_format", suffix=".h5ad"):
        read_table(tmp_path / "data.h5ad")


def test_anndata_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    (tmp_path / "data.h5ad").write_bytes(b"\x89HDF")
    with raises(InputError, code="needs_package", package="anndata"):
        read_table(tmp_path / "data.h5ad")
