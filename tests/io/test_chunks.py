import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgewise import InputError
from edgewise.io import RawTable, read_chunks, read_table
from edgewise.io.tables import rows_of
from tests.messages import raises


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "height": rng.normal(size=25),
            "city": rng.choice(["Ulm", "Bonn"], size=25),
            "n": rng.integers(0, 9, size=25),
        }
    )


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=10)
    else:
        frame.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",", index=False)
    return path


def joined(parts):
    parts = list(parts)
    assert all(isinstance(part, RawTable) for part in parts)
    assert len({part.names for part in parts}) == 1
    columns = [np.concatenate(column) for column in zip(*(p.columns for p in parts), strict=True)]
    return parts[0].names, columns


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("rows", [1, 7, 10, 25, 1000, None])
def test_chunks_are_the_table(frame, tmp_path, suffix, rows):
    path = write(frame, tmp_path / f"data{suffix}")
    whole = read_table(path)
    names, columns = joined(read_chunks(path, rows=rows))
    assert names == whole.names
    for ours, theirs in zip(columns, whole.columns, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_number_of_rows_and_order_of_columns(frame, tmp_path, suffix):
    path = write(frame, tmp_path / f"data{suffix}")
    parts = list(read_chunks(path, rows=10, columns=["n", "height"]))
    assert [part.n_rows for part in parts] == [10, 10, 5]
    assert parts[0].names == ("n", "height")
    np.testing.assert_array_equal(parts[2].columns[0], frame["n"][20:])
    with raises(
        InputError,
        code="unknown_columns_in_file",
        unknown=["weight"],
        names=["height", "city", "n"],
    ):
        list(read_chunks(path, columns=["weight"]))


def test_default_rows_follow_the_number_of_columns(tmp_path):
    narrow = pd.DataFrame(np.zeros((600_000, 4), dtype=np.int8), columns=list("abcd"))
    narrow.to_parquet(tmp_path / "a.parquet")
    assert [part.n_rows for part in read_chunks(tmp_path / "a.parquet")] == [2**19, 600_000 - 2**19]
    assert rows_of(None, 2**9) == 2**12
    assert rows_of(None, 5000) == 5000


def test_folder_in_the_order_of_names(frame, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for k in (2, 0, 1):
        write(frame[10 * k : 10 * k + 10], folder / f"part{k}.parquet")
    write(frame[:0], folder / "part3.parquet")
    (folder / "_SUCCESS").touch()
    parts = list(read_chunks(folder, rows=6))
    assert [Path(part.source).name for part in parts] == [
        f"part{k}.parquet" for k in (0, 0, 1, 1, 2)
    ]
    np.testing.assert_array_equal(joined(parts)[1][0], frame["height"])


def test_a_row_group_is_not_read_whole(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "large.parquet"
    X = np.random.default_rng(0).normal(size=(1_000_000, 4))
    pd.DataFrame(X, columns=list("abcd")).to_parquet(path)
    before = pa.total_allocated_bytes()
    used = [pa.total_allocated_bytes() - before for _ in read_chunks(path, rows=10_000)]
    assert len(used) == 100
    assert max(used) < X.nbytes // 2


def test_row_labels_of_pandas_are_no_column(frame, tmp_path):
    path = tmp_path / "labelled.parquet"
    frame.set_index("city").to_parquet(path)
    assert next(read_chunks(path)).names == ("height", "n")


def test_decimal_commas_and_notes(tmp_path):
    path = tmp_path / "german.csv"
    path.write_text("a;b\n1,5;x\n2;y\n3,25;z\n")
    parts = list(read_chunks(path, rows=2))
    assert [part.columns[0].tolist() for part in parts] == [[1.5, 2.0], [3.25]]
    assert "semicolon" in parts[1].notes[0]
    assert "decimal point" in parts[1].notes[1]
    path = tmp_path / "german.tsv"
    path.write_text("a\tb\n1,5\tx\n2\ty\n3,25\tz\n")
    parts = list(read_chunks(path, rows=2))
    assert [part.columns[0].tolist() for part in parts] == [[1.5, 2.0], [3.25]]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a,b\n1,2\n3\n", "fields_differ"),
        ("a,b\n1,2\n3,4,5\n", "fields_differ"),
        ("a,a\n1,2\n", "repeated_columns_in_file"),
        ("a,b\n", "header_without_rows"),
        ("", "file_empty"),
        ("a,b\n1,\x81\n", "not_utf8"),
        ('a,b\n1,"2\n', "cannot_split"),
    ],
)
def test_bad_text_is_refused(tmp_path, text, part):
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode("latin-1"))
    with raises(InputError, code=part):
        list(read_chunks(path, rows=1))


def test_bad_parquet_and_folders(frame, tmp_path):
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1 nothing PAR1")
    with raises(InputError, code="not_parquet"):
        list(read_chunks(damaged))
    whole = write(frame, tmp_path / "whole.parquet").read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole[:4] + bytes([255] * 600) + whole[604:])
    with raises(InputError, code="not_parquet"):
        list(read_chunks(cut))
    empty = tmp_path / "empty"
    empty.mkdir()
    with raises(InputError, code="no_tables_in_folder"):
        read_chunks(empty)
    write(frame, empty / "a.csv")
    write(frame, empty / "b.parquet")
    with pytest.raises(InputError, match=r"several formats: '\.csv' and '\.parquet'"):
        read_chunks(empty)
    with pytest.raises(InputError, match="There is no file"):
        read_chunks(tmp_path / "nowhere.csv")
    (tmp_path / "a.npz").touch()
    with pytest.raises(InputError, match=re.escape("suffix '.npz'; supported are .csv")):
        read_chunks(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "options", [{"rows": 0}, {"rows": 2.5}, {"columns": "ab"}, {"columns": []}]
)
def test_bad_options(frame, tmp_path, options):
    path = write(frame, tmp_path / "data.csv")
    with pytest.raises(InputError, match=next(iter(options))):
        read_chunks(path, **options)
