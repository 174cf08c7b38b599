import builtins
import datetime
import decimal
import hashlib
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from edgewise import InputError, NotEnoughMemoryError
from edgewise.io import read_chunks, read_table
from tests.messages import raises


def write(tmp_path, content, name="data.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def failure(path):
    with pytest.raises(InputError) as caught:
        read_table(path)
    return str(caught.value)


def test_csv_kinds_of_columns(tmp_path):
    path = write(tmp_path, "i,f,t,b,m\n1,0.1,x,True,True\n2,,,False,\n3,1e-3,NA,True,False\n")
    table = read_table(path)
    assert table.names == ("i", "f", "t", "b", "m")
    assert table.n_rows == 3
    assert table.source == str(path)
    assert table.notes == ()
    np.testing.assert_array_equal(table.columns[0], [1, 2, 3])
    np.testing.assert_array_equal(table.columns[1], [0.1, np.nan, 1e-3])
    assert table.columns[2].tolist() == ["x", None, None]
    assert table.columns[3].dtype == bool
    assert table.columns[4].tolist() == [True, None, False]


def test_csv_decimals_are_read_exactly(tmp_path):
    values = np.random.default_rng(0).normal(size=200) * 10.0 ** np.arange(-100, 100)
    path = write(tmp_path, "x\n" + "\n".join(map(repr, values.tolist())))
    np.testing.assert_array_equal(read_table(path).columns[0], values)


def test_mixed_column_is_text_throughout(tmp_path):
    rows = "\n".join(["1"] * 300_000 + ["oops"])
    column = read_table(write(tmp_path, "x\n" + rows)).columns[0]
    assert {type(value) for value in column} == {str}


def test_words_that_may_be_levels_are_not_missing(tmp_path):
    """Of the Arthritis trial, whose patients improved not at all: "None"."""
    words = ["None", "null", "n/a", "N/A", "Some", "#N/A", "-"]
    file = tmp_path / "a.csv"
    file.write_text("improved,age\n" + "".join(f"{word},1\n" for word in words) + "NA,\n,NaN\n")
    improved, age = read_table(file).columns
    assert improved.tolist() == [*words, None, None]
    assert np.isnan(age).tolist() == [False] * len(words) + [True, True]


def test_words_that_are_said_to_be_missing(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n1.5,None\n-99,Some\n-99.0,None\n99,-\n")
    x, y = read_table(file, na=["-99", "None"]).columns
    np.testing.assert_array_equal(x, [1.5, np.nan, np.nan, 99.0])
    assert y.tolist() == [None, "Some", None, "-"]
    (chunk,) = read_chunks(file, na=["-99", "None"])
    np.testing.assert_array_equal(chunk.columns[0], x)
    assert chunk.columns[1].tolist() == y.tolist()


def test_byte_order_mark_quotes_spaces_and_blank_lines(tmp_path):
    path = write(tmp_path, '\n"a,1" , b\r\n\n1, 2\r\n3,4\n\n', encoding="utf-8-sig")
    table = read_table(path)
    assert table.names == ("a,1", "b")
    np.testing.assert_array_equal(table.columns[1], [2, 4])


def test_line_break_inside_quotes(tmp_path):
    table = read_table(write(tmp_path, 'a,b\n"two\nlines",1\nx,2\n'))
    assert table.columns[0].tolist() == ["two\nlines", "x"]
    message = failure(write(tmp_path, 'a,b\n"two\nlines",1\nx\n'))
    assert message.startswith("Line 4 ")


@pytest.mark.parametrize(
    ("name", "delimiter", "word"),
    [
        ("d.csv", ";", "semicolon"),
        ("d.csv", "\t", "tab"),
        ("d.tsv", ",", "comma"),
        ("d.tsv", ";", "semicolon"),
    ],
)
def test_other_delimiters_are_found_and_stated(tmp_path, name, delimiter, word):
    path = write(tmp_path, f"a{delimiter}b\n1{delimiter}2\n", name)
    table = read_table(path)
    assert table.names == ("a", "b")
    assert f"split at the {word}" in table.notes[0]


def test_expected_delimiter_wins(tmp_path):
    table = read_table(write(tmp_path, "a;b,c\n1,2\n"))
    assert table.names == ("a;b", "c")
    assert table.notes == ()
    assert read_table(write(tmp_path, "a\tb,c\n1\t2\n", "x.tsv")).names == ("a", "b,c")


def test_single_column(tmp_path):
    assert read_table(write(tmp_path, "a\n1\n2\n")).names == ("a",)


def test_decimal_comma(tmp_path):
    table = read_table(write(tmp_path, "a;b;c\n1,5;x,y;2\n-2,25e1;z;\n;u;3\n"))
    np.testing.assert_array_equal(table.columns[0], [1.5, -22.5, np.nan])
    assert table.columns[1].tolist() == ["x,y", "z", "u"]
    assert "decimal point in 1 column" in table.notes[1]


def test_decimal_comma_between_tabs(tmp_path):
    table = read_table(write(tmp_path, "a\tb\tc\n1,5\tx,y\t2\n-2,25e1\tz\t\n\tu\t3\n", "x.tsv"))
    np.testing.assert_array_equal(table.columns[0], [1.5, -22.5, np.nan])
    assert table.columns[1].tolist() == ["x,y", "z", "u"]
    assert table.notes == ("The comma was read as the decimal point in 1 column.",)
    # A file has commas of one kind, and those of the second column can only be decimal.
    table = read_table(write(tmp_path, "a\tb\n1,500\t0,250\n2,125\t7\n", "x.tsv"))
    np.testing.assert_array_equal(table.columns[0], [1.5, 2.125])


def test_commas_between_tabs_that_could_be_of_thousands_are_text(tmp_path):
    table = read_table(write(tmp_path, "a\tb\n1,500\t1\n-12,125\t2\n", "x.tsv"))
    assert table.columns[0].tolist() == ["1,500", "-12,125"]
    assert table.notes == ()


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["is empty"]),
        ("\n  \n", ["is empty"]),
        ("a,b\n", ["2 column names", "no rows"]),
        ("a,b\n1,2\n3\n", ["Line 3", "1 fields", "header has 2"]),
        ("a,b\n1,2\n3,4,5\n", ["Line 3", "3 fields"]),
        ("a,b\n1,2,3\n4,5,6\n", ["Line 2", "3 fields"]),
        ("a,b,a,c,b\n1,2,3,4,5\n", ["'a' and 'b'", "Rename"]),
        ("a, a\n1,2\n", ["called 'a'"]),
        (",a,b\n1,2,3\n1,4,4\n", ["Column 1", "no name", "row labels"]),
        ("a,,b, \n1,2,3,4\n", ["Columns 2, 4"]),
        ("0.5,1\n0.7,2\n", ["holds numbers", "line of names"]),
        ('a,b\n1,"2\n' + "3,4\n" * 40_000, ["Line 2", "not closed"]),
        ('a,b\n1,2\n3,"4\n5,6\n', ["not closed"]),
    ],
)
def test_bad_text(tmp_path, content, parts):
    message = failure(write(tmp_path, content))
    assert "data.csv" in message
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_columns_called_by_integers_are_names(tmp_path):
    assert read_table(write(tmp_path, "0,1\n0.5,2\n")).names == ("0", "1")


def test_other_encodings_are_found_and_stated(tmp_path):
    table = read_table(write(tmp_path, "a,b\n1,2\ncafé,3\n", encoding="latin-1"))
    assert table.columns[0].tolist() == ["1", "café"]
    assert (
        "was read as cp1252 ('café' is a word of it); pass encoding for another" in table.notes[0]
    )
    table = read_table(write(tmp_path, "a,b\n1,2\n", encoding="utf-16"))
    assert table.names == ("a", "b")
    assert "was read as utf-16" in table.notes[0]
    late = failure(write(tmp_path, b"a\n" + b"x\n" * 100_000 + b"\x81\n"))
    assert "not UTF-8" in late
    assert "0x81 in line 100002" in late


def test_missing_folder_and_unknown_suffix(tmp_path):
    assert "There is no file" in failure(tmp_path / "no.csv")
    assert "is a folder" in failure(tmp_path)
    message = failure(write(tmp_path, "x", "data.docx"))
    assert "'.docx'" in message
    for suffix in (".csv", ".tsv", ".parquet", ".npz"):
        assert suffix in message
    assert "no suffix" in failure(write(tmp_path, "x", "data"))


def test_suffix_in_capitals(tmp_path):
    assert read_table(write(tmp_path, "a\n1\n", "DATA.CSV")).n_rows == 1


def test_a_text_file_is_read_once_unless_it_is_large(tmp_path, monkeypatch):
    file = tmp_path / "data.csv"
    file.write_text("a;b\n1,5;x\n2,5;\n", encoding="utf-8")
    whole = read_table(file)
    assert whole.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    monkeypatch.setattr("edgewise.io.tables.AT_ONCE", 0)
    in_passes = read_table(file)
    assert in_passes.sha256 is None
    assert (in_passes.names, in_passes.notes) == (whole.names, whole.notes)
    for one, other in zip(whole.columns, in_passes.columns, strict=True):
        np.testing.assert_array_equal(one, other)


def test_unreadable_file(tmp_path, monkeypatch):
    path = write(tmp_path, "a\n1\n")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    assert "permissions" in failure(path)


def test_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "f": [1.5, None, 2.0],
            "i": pd.array([1, None, 3], dtype="Int64"),
            "b": pd.array([True, None, False], dtype="boolean"),
            "c": pd.Categorical(["u", "v", None]),
            "d": [decimal.Decimal("1.25"), None, decimal.Decimal(2)],
            "day": [datetime.date(2020, 1, 2), datetime.date(2020, 1, 3), None],
        },
        index=["r1", "r2", "r3"],
    )
    frame.to_parquet(tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet")
    assert table.names == ("f", "i", "b", "c", "d", "day")
    np.testing.assert_array_equal(table.columns[0], [1.5, np.nan, 2.0])
    np.testing.assert_array_equal(table.columns[1], [1, np.nan, 3])
    assert table.columns[2].tolist() == [True, None, False]
    assert table.columns[3].tolist() == ["u", "v", None]
    np.testing.assert_array_equal(table.columns[4], [1.25, np.nan, 2])
    assert table.columns[5].tolist() == ["2020-01-02", "2020-01-03", None]


def test_parquet_faults(tmp_path, monkeypatch):
    path = write(tmp_path, "not parquet", "x.parquet")
    assert "damaged" in failure(path)
    real_import = builtins.__import__

    def without_pyarrow(name, *args, **kwargs):
        if name.split(".")[0] == "pyarrow":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "pyarrow", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    assert 'pip install "edgewise[parquet]"' in failure(path)


def test_npz(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "a.npz", values=X, note=np.array(1))
    table = read_table(tmp_path / "a.npz")
    assert table.names == ("x0", "x1")
    np.testing.assert_array_equal(np.column_stack(table.columns), X)
    for key in ("names", "columns", "feature_names"):
        np.savez_compressed(tmp_path / "b.npz", **{key: np.array(["u", "v"]), "X": X, "Z": X + 1})
        table = read_table(tmp_path / "b.npz")
        assert table.names == ("u", "v")
        np.testing.assert_array_equal(table.columns[0], X[:, 0])


def test_npz_faults(tmp_path):
    path = tmp_path / "a.npz"

    def saved(**arrays):
        np.savez(path, **arrays)
        return failure(path)

    assert "no two-dimensional array of numbers (found: x (3,))" in saved(x=np.ones(3))
    assert "no two-dimensional" in saved(x=np.array([["a"]]))
    assert "never loaded" in saved(x=np.array([[{}]], dtype=object))
    assert "several tables: 'a' and 'b'" in saved(a=np.eye(2), b=np.eye(2))
    assert "'names' has shape (3,)" in saved(a=np.eye(2), names=np.array(["a", "b", "c"]))
    assert "called 'a'" in saved(a=np.eye(2), names=np.array(["a", "a"]))
    assert "no rows" in saved(a=np.empty((0, 2)))
    assert "no columns" in saved(a=np.empty((2, 0)))
    np.savez(path, a=np.random.default_rng(0).normal(size=(50, 4)))
    path.write_bytes(path.read_bytes()[:500])
    assert "damaged" in failure(path)
    np.savez(path, a=np.random.default_rng(0).normal(size=(50, 4)))
    raw = bytearray(path.read_bytes())
    raw[700] ^= 0xFF
    path.write_bytes(bytes(raw))
    assert "damaged" in failure(path)


def test_whole_numbers_beyond_all_floats_are_infinite(tmp_path):
    table = read_table(write(tmp_path, f"x\n{'9' * 400}\n-{'9' * 400}\n1\n"))
    assert table.columns[0].tolist() == [np.inf, -np.inf, 1.0]


def test_a_quoted_nothing_is_no_blank_line(tmp_path):
    assert "1 fields" in failure(write(tmp_path, 'a,b\n1,2\n""\n'))
    assert np.isnan(read_table(write(tmp_path, 'a\n1\n""\n')).columns[0][1])
    assert read_table(write(tmp_path, "a,b\n1,2\n \t \n3,4\n")).n_rows == 2


def test_decimal_commas_of_other_digits_or_with_control_characters_are_text(tmp_path):
    table = read_table(write(tmp_path, "a;b;c\n1,5;٣,٢;2,5\x1e\n 2,5 ;٤,٢;1,5\n"))
    np.testing.assert_array_equal(table.columns[0], [1.5, 2.5])
    assert table.columns[1].tolist() == ["٣,٢", "٤,٢"]
    assert table.columns[2].tolist() == ["2,5\x1e", "1,5"]


def test_names_with_underscores_between_digits_are_names(tmp_path):
    assert read_table(write(tmp_path, "1_1,1_2\n0.5,2\n")).names == ("1_1", "1_2")


def test_npz_members_that_are_no_arrays_or_stand_twice(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.txt", "1")
    assert "'X.txt', which are not arrays" in failure(path)


def test_parquet_with_more_rows_than_memory_is_refused(tmp_path, small_machine):
    for n_rows in (50, 2 * 10**7):
        pd.DataFrame({"a": np.zeros(n_rows, dtype=np.int8)}).to_parquet(tmp_path / "a.parquet")
        if n_rows == 50:
            assert read_table(tmp_path / "a.parquet").n_rows == 50
    with raises(
        NotEnoughMemoryError,
        code="memory_estimate_too_large",
        shape="20,000,000 x 1",
        each="160 MB",
    ):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("decimal", "text", "expected"),
    [
        (".", '"1,234.5"\n-7%\n', [1234.5, -7]),
        (",", '"1.234,5"\n"-,5 %"\n', [1234.5, -0.5]),
        (",", "0.125\n2.5\n", [0.125, 2.5]),
        (",", "1.500\n2.000\n", [1500, 2000]),
        (".", "1'000\n2 500\n", [1000, 2500]),
    ],
)
def test_written_numbers_are_read_when_asked(tmp_path, decimal, text, expected):
    file = write(tmp_path, f"a\n{text}")
    table = read_table(file, decimal=decimal)
    np.testing.assert_array_equal(table.columns[0], expected)
    assert "with a decimal" in table.notes[0]
    chunk = next(iter(read_chunks(file, decimal=decimal)))
    np.testing.assert_array_equal(chunk.columns[0], expected)


@pytest.mark.parametrize("text", ['"1,23.5"', "n/a", "12 mg", "%", "1-2"])
def test_what_is_no_written_number_stays_text(tmp_path, text):
    column = read_table(write(tmp_path, f"a\n1\n{text}\n"), decimal=".").columns[0]
    assert column.tolist() == ["1", text.strip('"')]
