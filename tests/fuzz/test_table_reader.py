"""Whatever bytes a table is read from, it is read right or refused in a sentence."""

import csv
import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

from edgewise.io import read_table
from tests.fuzz.mutation import TOKENS, examples, mutated, outcome

TEXTS = (
    b"a,b,c\n1,2.5,x\n3,,y\n-1e-3,4,\n",
    b"a;b\n1,5;2,25\n3,0;-4,5\n",
    b"a\tb\n1\t2\n3\t4\n",
    b'\xef\xbb\xbf"a,1","b ""q"""\r\n1,"two\r\nlines"\r\n2,z\r\n',
    b"x\n1\n2\n\n3\n",
    "höhe,ü\n1,ä\n2,ß\n".encode(),
    b"b,m\nTrue,NA\nFalse,True\n",
)


def npz(compressed=False, **arrays):
    stream = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(stream, **arrays)
    return stream.getvalue()


def parquet(**options):
    stream = io.BytesIO()
    frame = pd.DataFrame(
        {"f": [1.5, None, 2.0] * 5, "i": range(15), "t": ["u", "v", None] * 5, "b": [True] * 15}
    )
    frame.to_parquet(stream, **options)
    return stream.getvalue()


X = np.arange(12.0).reshape(4, 3)
NPZ = (
    npz(X=X, names=np.array(["a", "b", "c"])),
    npz(True, X=X, other=np.arange(3)),
    npz(values=np.asfortranarray(X)),
)
PARQUET = (parquet(), parquet(compression=None), parquet(compression="gzip"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def assert_safe(folder, name, content):
    """Read a file; return the table if there is one, having looked at what it promises."""
    path = folder / name
    path.write_bytes(content)
    try:
        table = outcome(read_table, path)
        assert [file.name for file in folder.iterdir()] == [name]
    finally:
        path.unlink()
    if table is not None:
        assert len(set(table.names)) == len(table.names) == len(table.columns) > 0
        assert all(isinstance(label, str) and label for label in table.names)
        for column in table.columns:
            assert column.shape == (table.n_rows,)
            assert column.dtype.kind in "biuf" or all(
                value is None or isinstance(value, (str, bool)) for value in column
            )
    return table


def records(content, delimiter):
    """Rows of delimited text by Python's own reader, blank lines left out."""
    text = content.decode("utf-8-sig")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return [
        row
        for row in rows
        if row and (len(row) > 1 or row[0].strip(" \t") or f'"{row[0]}"' in text)
    ]


def is_utf8(content):
    """Whether Python's own reader can read the text; ours tries other encodings, too."""
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return True


def assert_safe_text(folder, name, content):
    table = assert_safe(folder, name, content)
    if table is not None and is_utf8(content):
        note = " ".join(table.notes)
        other = {"split at the comma": ",", "split at the semicolon": ";", "split at the tab": "\t"}
        found = [delimiter for words, delimiter in other.items() if words in note]
        delimiter = found[0] if found else {"csv": ",", "tsv": "\t"}[name.split(".")[-1]]
        header, *rows = records(content, delimiter)
        names = tuple(label.strip() for label in header)
        assert table.names == (names[1:] if "row labels" in note else names)
        assert table.n_rows == len(rows)


@examples(80)
@given(content=mutated(TEXTS), suffix=st.sampled_from(["csv", "tsv"]))
def test_altered_text(folder, content, suffix):
    assert_safe_text(folder, f"t.{suffix}", content)


@examples(40)
@given(parts=st.lists(st.one_of(st.sampled_from(TOKENS), st.binary(max_size=5)), max_size=30))
def test_text_made_of_what_breaks_parsers(folder, parts):
    assert_safe_text(folder, "t.csv", b"a,b\n" + b"".join(parts))


@examples(30)
@given(content=st.binary(max_size=300), suffix=st.sampled_from(["csv", "tsv", "npz", "parquet"]))
def test_noise(folder, content, suffix):
    assert_safe(folder, f"t.{suffix}", content)


CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**6), 10**6).map(str),
)


@examples(25)
@given(data=st.data())
def test_valid_text_is_read_exactly(folder, data):
    n_rows, n_columns = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 4))
    names = data.draw(
        st.lists(
            st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1),
            min_size=n_columns,
            max_size=n_columns,
            unique=True,
        )
    )
    assume(not all(_is_number(name) for name in names))
    cells = [data.draw(st.lists(CELLS, min_size=n_columns, max_size=n_columns))] * n_rows
    text = io.StringIO(newline="")
    csv.writer(text).writerows([names, *cells])
    table = assert_safe(folder, "t.csv", text.getvalue().encode())
    assert table is not None
    assert table.names == tuple(names)
    values = np.array([[float(cell) for cell in row] for row in cells])
    np.testing.assert_array_equal(np.column_stack(table.columns), values)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@examples(80)
@given(content=mutated(NPZ))
def test_altered_npz(folder, content):
    assert_safe(folder, "t.npz", content)


@examples(40)
@given(content=mutated(PARQUET))
def test_altered_parquet(folder, content):
    assert_safe(folder, "t.parquet", content)


HEADERS = st.one_of(
    st.text(max_size=60),
    st.builds(
        "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}".format,
        st.sampled_from(
            ["'<f8'", "'|O'", "'<U0'", "'<U3'", "'>i2'", "'|V8'", "'<M8[D]'", "''", "'<f8,<f8'",
             "[('a', '<f8')]", "('<f8', (3,))", "'|S0'", "'<f16'", "None", "3", "'<c16'"]
        ),
        st.sampled_from(["True", "False", "0", "None"]),
        st.sampled_from(
            ["(4, 3)", "(3,)", "()", "(-4, -3)", "(4, 3L)", f"({10**18}, {10**18})", "(2**9,)",
             f"({10**30},)", "(True, 12)", "'x'", "(1.0,)", "(0, 5)", "(" * 300, "-" * 5000 + "1"]
        ),
    ),
)  # fmt: skip


@examples(60)
@given(header=HEADERS, version=st.sampled_from([1, 2, 3]), payload=st.sampled_from([0, 96, 12]))
def test_arrays_with_lying_headers(folder, header, version, payload):
    text = header.encode()
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    entry = b"\x93NUMPY" + bytes([version, 0]) + size + text + bytes(payload)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("X.npy", entry)
    assert_safe(folder, "t.npz", stream.getvalue())


@pytest.mark.parametrize(
    "names",
    [["../X.npy"], ["/tmp/X.npy"], ["X.npy", "X.npy"], ["X.txt"], ["X.npy/"], ["a/../../X.npy"]],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_of_members_lead_nowhere(folder, names):
    stream = io.BytesIO()
    entry = io.BytesIO()
    np.save(entry, X)
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, entry.getvalue())
    assert_safe(folder, "t.npz", stream.getvalue())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "npz", "parquet"])
def test_many_altered_files(folder, kind):
    seeds = {"text": TEXTS, "npz": NPZ, "parquet": PARQUET}[kind]

    @examples(2000)
    @given(content=mutated(seeds))
    def search(content):
        (assert_safe_text if kind == "text" else assert_safe)(
            folder, "t.csv" if kind == "text" else f"t.{kind}", content
        )

    search()
