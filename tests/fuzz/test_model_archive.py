"""Whatever bytes a model is loaded from, one of ours comes out or a sentence; no code is run."""

import copy
import io
import json
import os
import pickle
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import edgewise
from edgewise import (
    BootstrapGraph,
    ConditionalGraph,
    GaussianGraph,
    GraphTree,
    HeldOut,
    InputError,
)
from edgewise.io import read_archive
from tests.fuzz.mutation import examples, mutated, outcome
from tests.messages import raises
from tests.roster import public_estimators

SOURCE = Path(edgewise.__file__).parent
RNG = np.random.default_rng(0)
ROWS, COVARIATE = RNG.normal(size=(60, 3)), RNG.normal(size=(60, 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Saved models of several kinds."""
    place = tmp_path_factory.mktemp("seeds") / "m"
    models = (
        GaussianGraph(alpha=0.1).fit(ROWS),
        BootstrapGraph(GaussianGraph(alpha=0.1), n_resamples=2, random_state=0).fit(ROWS),
        ConditionalGraph(alpha=0.1).fit(COVARIATE, ROWS),
        GraphTree(HeldOut(n_alphas=3), max_depth=1, random_state=0).fit(COVARIATE, ROWS),
    )
    contents = []
    for model in models:
        model.save(place)
        contents.append(place.read_bytes())
    return contents


@pytest.fixture(scope="module")
def parts(seeds):
    """Document and entries of every saved model."""
    found = []
    for content in seeds:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        found.append((json.loads(entries.pop("document.json")), entries))
    return found


def zipped(document, entries):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("document.json", document)
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def assert_safe(folder, content):
    """Load a file; what comes out is an estimator of ours, and nothing was written beside it."""
    path = folder / "m.edgewise"
    path.write_bytes(content)
    try:
        model = outcome(edgewise.load, path)
        assert [file.name for file in folder.iterdir()] == [path.name]
    finally:
        path.unlink()
    assert model is None or type(model) in public_estimators()
    return model


def assert_refused(folder, content):
    found = assert_safe(folder, content)
    assert found is None


def test_altered_archives(folder, seeds):
    @examples(80)
    @given(content=mutated(seeds))
    def search(content):
        assert_safe(folder, content)

    search()


@examples(20)
@given(content=st.binary(max_size=200))
def test_noise(folder, content):
    assert_safe(folder, b"PK\x03\x04" + content)


def test_altered_entries_with_checksums_that_agree(folder, parts):
    """The faults behind the checks of the zip format: in the document and in the arrays."""
    documents = [json.dumps(document).encode() for document, _ in parts]
    arrays = [content for _, entries in parts for content in entries.values()]

    @examples(60)
    @given(data=st.data())
    def search(data):
        document, entries = data.draw(st.sampled_from(parts))
        entries = dict(entries)
        text = json.dumps(document).encode()
        if data.draw(st.booleans()):
            text = data.draw(mutated(documents))
        else:
            entries[data.draw(st.sampled_from(sorted(entries)))] = data.draw(mutated(arrays))
        assert_safe(folder, zipped(text, entries))

    search()


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 2),
    st.floats(),
    st.sampled_from(["", "a0", "array", "estimator", "GaussianGraph", "os", "__class__", "fit"]),
    st.builds(list),
    st.sampled_from(
        [
            {},
            {"edgewise type": "array", "name": "a0"},
            {"edgewise type": "estimator"},
            {"edgewise type": "estimator", "class": "GaussianGraph", "parameters": 3, "fitted": {}},
            {"edgewise type": "Graph", "fields": {"weights": [[0, 1], [2, 0]]}},
            {"edgewise type": "tuple", "items": None},
            {"edgewise type": "names", "items": [[1], [2, 3]]},
            {"edgewise type": ["list"]},
            {"edgewise type": "dict", "items": [1]},
            {"edgewise type": "TreeNode", "fields": {"node": 1}},
        ]
    ),
)


def test_altered_documents(folder, parts):
    """One value of the document is another, or is gone."""
    places = [list(_walk(document)) for document, _ in parts]

    @examples(80)
    @given(data=st.data())
    def search(data):
        number = data.draw(st.integers(0, len(parts) - 1))
        document, entries = copy.deepcopy(parts[number])
        *above, last = data.draw(st.sampled_from(places[number]))
        target = document
        for key in above:
            target = target[key]
        if data.draw(st.booleans()):
            target[last] = data.draw(JUNK)
        else:
            del target[last]
        assert_safe(folder, zipped(json.dumps(document), entries))

    search()


def _walk(value, above=()):
    """Places of all values inside a document."""
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))[:3]
    else:
        return
    for key, item in inner:
        yield (*above, key)
        yield from _walk(item, (*above, key))


@pytest.mark.parametrize("depth", [100, 450, 900])
@pytest.mark.parametrize("kind", ["list", "tuple"])
def test_depth(depth, kind, folder, parts):
    document, entries = copy.deepcopy(parts[0])
    left, right = ("[", "]") if kind == "list" else ('{"edgewise type": "tuple", "items": [', "]}")
    text = json.dumps(document).replace('"alpha": 0.1', '"alpha": ' + left * depth + right * depth)
    assert text != json.dumps(document)
    assert_safe(folder, zipped(text, entries))


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_pickled_code_is_not_run(folder, parts, tmp_path):
    mark = tmp_path / "was here"
    stream = io.BytesIO()
    np.save(stream, np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    document, entries = parts[0]
    for content in (stream.getvalue(), pickle.dumps(Bomb(mark))):
        altered = {**entries, "arrays/a0.npy": content}
        assert_refused(folder, zipped(json.dumps(document), altered))
    assert_refused(folder, pickle.dumps(Bomb(mark)))
    assert not mark.exists()
    # The bomb itself is a real one.
    pickle.loads(pickle.dumps(Bomb(mark)))
    assert mark.exists()


@pytest.mark.parametrize(
    "name",
    ["../outside.npy", "/tmp/outside.npy", "arrays/../../outside.npy", "arrays\\..\\x.npy", "C:x"],
)
def test_members_lead_nowhere(name, folder, parts):
    document, entries = parts[0]
    assert_refused(folder, zipped(json.dumps(document), {**entries, name: b"x"}))
    assert not (folder.parent / "outside.npy").exists()


def test_links_are_not_followed(folder, parts):
    document, entries = parts[0]
    info = zipfile.ZipInfo("arrays/a0.npy")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("document.json", json.dumps(document))
        for entry, content in entries.items():
            archive.writestr(info if entry == info.filename else entry, content)
    # A link here is only bytes, the name of what it points to.
    with zipfile.ZipFile(io.BytesIO(stream.getvalue()), "a") as archive:
        assert stat.S_ISLNK(archive.getinfo("arrays/a0.npy").external_attr >> 16)
    loaded = assert_safe(folder, stream.getvalue())
    assert loaded is not None
    linked = zipped(json.dumps(document), {**entries, "arrays/a0.npy": b"/etc/passwd"})
    assert_refused(folder, linked)


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings_are_refused(packing, tmp_path):
    path = tmp_path / "m"
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("document.json", "{}")
    with raises(InputError, code="archive_foreign_packing", foreign=["document.json"]):
        read_archive(path)


BOMBS = """
import io, json, resource, sys, zipfile
import numpy as np
import edgewise
from edgewise.io import read_archive, read_table

folder = sys.argv[1]


def refuse(reader, name):
    try:
        reader(f"{folder}/{name}")
    except edgewise.EdgewiseError as error:
        return str(error)
    return "was read"


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


answers = [refuse(read_archive, "small.edgewise"), refuse(read_table, "small.npz")]
before = peak()
for name in json.loads(sys.argv[2]):
    answers.append(refuse(read_archive if name.endswith("edgewise") else read_table, name))
print(json.dumps({"answers": answers, "growth": peak() - before}))
"""


def test_bombs_take_no_memory(tmp_path):
    """Small files that claim, or unpack to, very much end early, in a process that is measured."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (2**20, 2**15)}
    )
    (tmp_path / "small.edgewise").write_bytes(zipped("{}", {}))
    np.savez(tmp_path / "small.npz", X=ROWS)
    lie = header.getvalue() + bytes(100)
    (tmp_path / "header.npz").write_bytes(zipped("", {"X.npy": lie}))
    (tmp_path / "header.edgewise").write_bytes(zipped("{}", {"arrays/a0.npy": lie}))
    # The table of contents of a zip file says that half a terabyte follows a few bytes.
    for name, entry in (("size.npz", "X.npy"), ("size.edgewise", "arrays/a0.npy")):
        raw = bytearray(zipped("{}", {entry: bytes(200)}))
        at = raw.rfind(b"PK\x01\x02") + 24
        raw[at : at + 4] = (2**31).to_bytes(4, "little")
        (tmp_path / name).write_bytes(bytes(raw))
    # 300 MB of spaces in 300 KB: refused as a document of that size, not unpacked and parsed.
    with (
        zipfile.ZipFile(tmp_path / "spaces.edgewise", "w", 8, compresslevel=1) as archive,
        archive.open("document.json", "w") as handle,
    ):
        for _ in range(300):
            handle.write(b" " * 2**20)
    names = [path.name for path in sorted(tmp_path.iterdir()) if path.stem != "small"]
    run = subprocess.run(
        [sys.executable, "-c", BOMBS, str(tmp_path), json.dumps(names)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(run.stdout)
    assert "was read" not in found["answers"][2:]
    assert found["growth"] < 100


#: Calls that run what a file says, and the one way in which each may stand in the sources.
FORBIDDEN = (
    r"\bimport (?:pickle|cPickle|dill|cloudpickle|marshal|shelve)\b",
    r"\bfrom (?:pickle|dill|cloudpickle|marshal|shelve)\b",
    r"\bpickle\.",
    r"\bjoblib\.load\b",
    r"\byaml\.(?:load|unsafe_load|full_load)\b",
    r"(?<![\w.])eval\(",
    r"(?<![\w.])exec\(",
    r"\bread_pickle\b",
    r"allow_pickle\s*=\s*True",
    r"\bos\.system\(",
    r"shell\s*=\s*True",
    r"\bextractall\(",
)


def test_no_source_runs_what_a_file_says():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 200
    for file in files:
        text = file.read_text(encoding="utf-8")
        found = re.search("|".join(FORBIDDEN), text)
        assert found is None, f"{file} has {found[0]}"
        for call in re.findall(r"np\.load\([^)]*\)|read_array\([^)]*\)", text):
            assert "allow_pickle=False" in call, f"{file} has {call}"


@pytest.mark.slow
def test_many_altered_archives(folder, seeds):
    @examples(2000)
    @given(content=mutated(seeds))
    def search(content):
        assert_safe(folder, content)

    search()
