import io
import json
import math
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from edgewise import InputError
from edgewise.io import read_archive, write_archive
from tests.messages import raises

DOCUMENT = {"format": 1, "names": ["a", "ü"], "alpha": 0.1, "nested": {"none": None, "yes": True}}


def npy(array, **kwargs):
    stream = io.BytesIO()
    np.save(stream, array, **kwargs)
    return stream.getvalue()


def write_zip(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return path


def test_round_trip(tmp_path):
    arrays = {
        "float": np.linspace(0, 1, 6).reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "int": np.arange(4),
        "bool": np.eye(2, dtype=bool),
        "text": np.array(["a", "ßé"]),
        "empty": np.empty((0, 3)),
        "scalar": np.array(3.5),
        "with.dot-and_line": np.array([np.nan, np.inf]),
    }
    write_archive(tmp_path / "m.edgewise", DOCUMENT, arrays)
    document, back = read_archive(tmp_path / "m.edgewise")
    assert document == DOCUMENT
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype
        assert back[name].flags.writeable


@settings(max_examples=25, deadline=None)
@given(
    array=hnp.arrays(
        dtype=st.one_of(hnp.floating_dtypes(), hnp.integer_dtypes(), hnp.boolean_dtypes()),
        shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_any_plain_array_survives(array, tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "m"
    write_archive(path, {}, {"a": array})
    np.testing.assert_array_equal(read_archive(path)[1]["a"], array)


def test_numpy_scalars_and_non_finite_numbers_in_the_document(tmp_path):
    write_archive(
        tmp_path / "m",
        {"n": np.int64(3), "yes": np.bool_(True), "x": np.float32(0.5), "gap": math.nan},
        {},
    )
    document, _ = read_archive(tmp_path / "m")
    assert document["n"] == 3
    assert document["yes"] is True
    assert document["x"] == 0.5
    assert math.isnan(document["gap"])


def test_equal_content_gives_equal_bytes(tmp_path):
    for name in ("a", "b"):
        write_archive(tmp_path / name, DOCUMENT, {"x": np.ones(3)})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_sparse_matrix_is_stored_small_and_read_back(tmp_path):
    matrix = np.eye(2000)
    write_archive(tmp_path / "m", {}, {"x": matrix})
    assert (tmp_path / "m").stat().st_size < matrix.nbytes / 100
    np.testing.assert_array_equal(read_archive(tmp_path / "m")[1]["x"], matrix)


@pytest.mark.parametrize(
    ("document", "arrays", "message"),
    [
        ({"x": object()}, {}, "document_not_json"),
        ({}, {"x": np.array([{}])}, "array_types"),
        ({}, {"x": np.array(["2020-01-01"], dtype="M8[D]")}, "array_types"),
        ({}, {"../x": np.ones(1)}, "array_names"),
        ({}, {"": np.ones(1)}, "array_names"),
    ],
)
def test_write_refuses_and_leaves_no_file(tmp_path, document, arrays, message):
    with raises(InputError, code=message):
        write_archive(tmp_path / "m", document, arrays)
    assert list(tmp_path.iterdir()) == []


def test_failed_write_keeps_the_old_archive(tmp_path, monkeypatch):
    path = tmp_path / "m"
    write_archive(path, {"old": 1}, {})

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="disk full"):
        write_archive(path, {"new": 1}, {"x": np.ones(3)})
    assert read_archive(path)[0] == {"old": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../x.npy", "arrays/../x.npy", "arrays/sub/x.npy", "x.npy", "arrays/x.pkl"],
)
def test_read_refuses_foreign_entries(tmp_path, name):
    path = write_zip(tmp_path / "m", [("document.json", "{}"), (name, npy(np.ones(2)))])
    with raises(InputError, code="archive_entries"):
        read_archive(path)


def test_read_refuses_pickled_arrays(tmp_path):
    content = npy(np.array([{"a": 1}], dtype=object), allow_pickle=True)
    path = write_zip(tmp_path / "m", [("document.json", "{}"), ("arrays/x.npy", content)])
    with raises(InputError, code="array_pickled"):
        read_archive(path)


def test_read_refuses_an_array_larger_than_its_entry(tmp_path):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (3_000_000_000,)}
    )
    lie = stream.getvalue() + bytes(24)
    path = write_zip(tmp_path / "m", [("document.json", "{}"), ("arrays/x.npy", lie)])
    with raises(InputError, code="array_header"):
        read_archive(path)


def test_read_refuses_an_unknown_format_version(tmp_path):
    content = bytearray(npy(np.ones(3)))
    content[6] = 3
    path = write_zip(tmp_path / "m", [("document.json", "{}"), ("arrays/x.npy", bytes(content))])
    with raises(InputError, code="array_format_version", version=[3, 0]):
        read_archive(path)


def test_second_format_version_is_read(tmp_path):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.arange(3.0), version=(2, 0), allow_pickle=False)
    path = write_zip(tmp_path / "m", [("document.json", "{}"), ("arrays/x.npy", stream.getvalue())])
    np.testing.assert_array_equal(read_archive(path)[1]["x"], np.arange(3.0))


def test_read_refuses_too_much(tmp_path):
    path = tmp_path / "m"
    write_archive(path, {}, {"x": np.zeros(10_000)})
    with raises(InputError, code="archive_too_large"):
        read_archive(path, max_bytes=79_999)
    read_archive(path, max_bytes=100_000)


def test_read_refuses_a_large_document(tmp_path):
    path = tmp_path / "m"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("document.json", "w") as document,
    ):
        for _ in range(257):
            document.write(bytes(2**20))
    with raises(InputError, code="archive_too_large"):
        read_archive(path)


def test_read_refuses_declared_sizes_beyond_what_deflate_can_do(tmp_path):
    path = tmp_path / "m"
    write_archive(path, {}, {"x": np.zeros(10)})
    raw = bytearray(path.read_bytes())
    # The uncompressed size of the last entry, in the central directory of the zip file.
    at = raw.rfind(b"PK\x01\x02") + 24
    raw[at : at + 4] = (2**30).to_bytes(4, "little")
    path.write_bytes(bytes(raw))
    with raises(InputError, code="archive_bomb"):
        read_archive(path)


def test_read_refuses_duplicates(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = write_zip(tmp_path / "m", [("document.json", "{}"), ("document.json", "{}")])
    with raises(InputError, code="archive_repeated", twice=["document.json"]):
        read_archive(path)


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.6, 0.95])
def test_read_refuses_truncated_files(tmp_path, keep):
    path = tmp_path / "m"
    write_archive(path, DOCUMENT, {"x": np.random.default_rng(0).normal(size=500)})
    raw = path.read_bytes()
    path.write_bytes(raw[: int(keep * len(raw))])
    with raises(InputError, code="archive_damaged", error="File is not a zip file"):
        read_archive(path)


def test_read_refuses_altered_bytes(tmp_path):
    path = tmp_path / "m"
    write_archive(path, DOCUMENT, {"x": np.random.default_rng(0).normal(size=500)})
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    path.write_bytes(bytes(raw))
    with raises(InputError, code="archive_damaged"):
        read_archive(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "archive_damaged"),
        ("[1]", "archive_document"),
        (b"\xff\xfe{", "archive_damaged"),
        ("[" * 200_000, "archive_damaged"),
    ],
)
def test_read_refuses_documents_that_are_no_object(tmp_path, content, message):
    path = write_zip(tmp_path / "m", [("document.json", content)])
    with raises(InputError, code=message):
        read_archive(path)


def test_read_without_document_or_file(tmp_path):
    path = write_zip(tmp_path / "m", [("arrays/x.npy", npy(np.ones(2)))])
    with raises(InputError, code="archive_without_document", document_entry="document.json"):
        read_archive(path)
    with pytest.raises(InputError, match="There is no file"):
        read_archive(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is a folder"):
        read_archive(tmp_path)
    (tmp_path / "text").write_text(json.dumps({}))
    with raises(InputError, code="archive_damaged", error="File is not a zip file"):
        read_archive(tmp_path / "text")
