"""Tables as hospitals export them: titles, groups, units, sums, limits, encodings and sheets."""

import numpy as np
import pandas as pd
import pytest

from edgewise import InputError
from edgewise.io import read_chunks, read_table
from tests.io.clinic import CLINIC, NAMES, clinic_csv, clinic_sheet
from tests.messages import raises


def values(table):
    return {name: column.tolist() for name, column in zip(table.names, table.columns, strict=True)}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("above", ["", "Laborexport, Klinik Bonn;;;;;;;\n;;;;;;;\n", "Titel\n\n"])
@pytest.mark.parametrize("below", ["", "Mittelwert;52,1;;;3,1;13,2;;\n", ";;;;;;;\n* nüchtern\n"])
def test_a_csv_export(tmp_path, encoding, above, below):
    file = tmp_path / "labor.csv"
    file.write_bytes((above + clinic_csv() + below).encode(encoding))
    table = read_table(file, limits="half")
    assert table.names == NAMES
    assert table.n_rows == len(CLINIC)
    found = values(table)
    expected = CLINIC.assign(CRP=[0.25 if str(v)[0] == "<" else v for v in CLINIC["CRP"]])
    for name in ("Alter", "CRP", "Hb", "Größe"):
        np.testing.assert_allclose(found[name], expected[name].astype(float))
    assert found["Stadium"] == CLINIC["Stadium"].tolist()
    notes = " ".join(table.notes)
    assert (f"was read as {encoding}" in notes) == (encoding in ("cp1252", "utf-16"))
    assert ("read from line 3" in notes) == bool(above)
    assert ("left out: 'Mittelwert'" in notes) == ("Mittelwert" in below)
    assert ("left out: '* nüchtern'" in notes) == ("nüchtern" in below)
    chunks = list(read_chunks(file, rows=7, limits="half", columns=["Hb", "CRP"]))
    together = np.concatenate([chunk.columns[1] for chunk in chunks])
    np.testing.assert_allclose(together, expected["CRP"].astype(float))


@pytest.mark.parametrize(
    ("above", "names"),
    [
        ("ID;Blutdruck;;Labor;\n;sys;dia;CRP;Hb\n", ("ID", "sys", "dia", "CRP", "Hb")),
        (";Blutdruck;;Labor;\nID;sys;dia;CRP;Hb\n", ("ID", "sys", "dia", "CRP", "Hb")),
        ("ID;sys;dia;CRP;Hb\n;mmHg;mmHg;mg/l;g/dl\n", ("ID", "sys", "dia", "CRP", "Hb")),
        (
            "ID;Tag 1;;Tag 2;\n;CRP;Hb;CRP;Hb\n",
            ("ID", "Tag 1 CRP", "Tag 1 Hb", "Tag 2 CRP", "Tag 2 Hb"),
        ),
        (
            "Studie 7\n\nID;Tag 1;;Tag 2;\n;CRP;Hb;CRP;Hb\n;mg/l;g/dl;mg/l;g/dl\n",
            ("ID", "Tag 1 CRP", "Tag 1 Hb", "Tag 2 CRP", "Tag 2 Hb"),
        ),
        (";sys;dia;CRP;Hb\n", ("sys", "dia", "CRP", "Hb")),
    ],
)
def test_groups_and_units_around_the_names(tmp_path, above, names):
    rows = "".join(f"P{k};{k};{k + 1};{k},5;{10 + k}\n" for k in range(12))
    (tmp_path / "a.csv").write_text(above + rows)
    table = read_table(tmp_path / "a.csv")
    assert table.names == names
    assert table.n_rows == 12
    assert table.columns[-1].tolist() == list(range(10, 22))


def test_what_looks_like_a_title_or_a_sum_and_is_none(tmp_path):
    for content in (
        # A column of text may hold such words.
        "kind,n,m\nmean,1,2\nsum,3,4\nx,5,6\n",
        # Levels below names are no units, and rows may miss all their values.
        "a,b\nx,y\nz,y\n",
        "id,a,b\nP1,,\nP2,1,2\nP3,2,3\n",
        "id,a,b\nP1,1,2\nP2,,\n",
    ):
        (tmp_path / "a.csv").write_text(content)
        table = read_table(tmp_path / "a.csv")
        lines = content.splitlines()
        assert ",".join(table.names) == lines[0]
        assert table.n_rows == len(lines) - 1


def test_sums_without_a_label(tmp_path):
    rows = "".join(f"P{k},{k * k},{k + 0.5}\n" for k in range(9))
    (tmp_path / "a.csv").write_text(f"id,a,b\n{rows},204,40.5\n")
    table = read_table(tmp_path / "a.csv")
    assert table.n_rows == 9
    assert "holds sums or means of the others" in table.notes[0]
    (tmp_path / "a.csv").write_text(f"id,a,b\n{rows},204,41.5\n")
    assert read_table(tmp_path / "a.csv").n_rows == 10


@pytest.mark.parametrize("label", ["Total n=9", "Mean (n = 9):", "Mean \u00b1 SD", "Summe:"])
def test_sums_that_say_of_how_many_rows(tmp_path, label):
    rows = "".join(f"P{k},{k * k},{k + 0.5}\n" for k in range(9))
    (tmp_path / "a.csv").write_text(f"id,a,b\n{rows}{label},,4.5\n", encoding="utf-8")
    assert read_table(tmp_path / "a.csv").n_rows == 9


def test_text_as_spreadsheets_save_it(tmp_path):
    (tmp_path / "a.txt").write_text("x\ty\n1\t2,5\n3\t4\n", encoding="utf-16")
    table = read_table(tmp_path / "a.txt")
    assert values(table) == {"x": [1, 3], "y": [2.5, 4]}
    assert "read as utf-16" in " ".join(table.notes)
    (tmp_path / "a.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    with raises(InputError, code="old_spreadsheet"):
        read_table(tmp_path / "a.xls")


def test_the_line_of_the_names_may_be_named(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\nu,v\n1,2\n3,4\n")
    assert read_table(tmp_path / "a.csv", header=2).names == ("u", "v")
    assert read_table(tmp_path / "a.csv", header=2).columns[0].tolist() == [1, 3]
    (tmp_path / "b.csv").write_text("1.5,2\n3,4\n")
    with raises(InputError, code="header_is_numbers"):
        read_table(tmp_path / "b.csv")
    table = read_table(tmp_path / "b.csv", header=0)
    assert values(table) == {"column1": [1.5, 3], "column2": [2, 4]}
    with pytest.raises(InputError, match="Line 9 has no column names"):
        read_table(tmp_path / "b.csv", header=9)


def test_an_encoding_may_be_named(tmp_path):
    (tmp_path / "a.csv").write_bytes("größe,b\n1,2\n3,4\n".encode("mac-roman"))
    assert read_table(tmp_path / "a.csv", encoding="mac-roman").names[0] == "größe"
    for encoding, words in (
        ("utf-8", "is not utf-8 text"),
        ("klingon", "Unknown encoding 'klingon'"),
    ):
        with pytest.raises(InputError, match=words):
            read_table(tmp_path / "a.csv", encoding=encoding)


@pytest.mark.parametrize(
    ("way", "expected"), [("half", [0.25, 2.0, 100.0]), ("limit", [0.5, 2.0, 100.0])]
)
def test_limits_of_detection(tmp_path, way, expected):
    (tmp_path / "a.csv").write_text("crp,b\n<0.5,1\n2,2\n>100,3\n")
    assert read_table(tmp_path / "a.csv").columns[0].tolist() == ["<0.5", "2", ">100"]
    table = read_table(tmp_path / "a.csv", limits=way)
    assert table.columns[0].tolist() == expected
    assert "crp (2)" in table.notes[0]
    missing = read_table(tmp_path / "a.csv", limits="missing").columns[0]
    assert np.isnan(missing).tolist() == [True, False, True]


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_a_sheet_with_all_of_it(tmp_path, suffix):
    pytest.importorskip("openpyxl" if suffix == ".xlsx" else "odf")
    file = tmp_path / f"labor{suffix}"
    clinic_sheet(file)
    table = read_table(file, limits="half")
    assert table.names == (*NAMES, "Station")
    assert table.n_rows == len(CLINIC)
    found = values(table)
    np.testing.assert_allclose(found["Hb"], CLINIC["Hb"])
    np.testing.assert_allclose(found["Größe"], CLINIC["Größe"])
    assert min(found["CRP"]) == 0.25
    notes = " ".join(table.notes)
    assert "The sheet 'Werte' was read, since 'Deckblatt', the first, has no table" in notes
    assert "read from row 5" in notes
    assert "'Mittelwert' and '* nüchtern entnommen'" in notes
    if suffix == ".xlsx":
        # Merged over the rows of a ward.
        assert found["Station"] == ["A"] * 15 + ["B"] * 15
    assert read_table(file, limits="half", sheet="Werte", header=5).names[:8] == NAMES


def test_sheets_without_a_table_are_named(tmp_path):
    pytest.importorskip("openpyxl")
    file = tmp_path / "a.xlsx"
    with pd.ExcelWriter(file) as writer:
        for name in ("one", "two"):
            notes = pd.DataFrame([["Words"], [None], ["More words"]])
            notes.to_excel(writer, sheet_name=name, header=False, index=False)
    with raises(InputError, code="no_table_in_sheets", names=["one", "two"]):
        read_table(file)
