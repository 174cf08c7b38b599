"""Which tests a changed file asks for."""

import pytest

from tools.quick import ALWAYS, ROOT, files_for


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ("src/edgewise/graph/equivalence.py", "tests/graph/test_equivalence.py"),
        ("tests/graph/test_equivalence.py", "tests/graph/test_equivalence.py"),
        ("docs/graph.md", "tests/contract/test_docs.py"),
    ],
)
def test_a_changed_file_is_tested_by_its_mirror(changed, named):
    assert files_for(changed) == [named]


def test_a_file_without_a_mirror_is_tested_by_its_folder(tmp_path):
    (tmp_path / "tests" / "graph").mkdir(parents=True)
    for name in ("test_a.py", "test_b.py", "cases.py"):
        (tmp_path / "tests" / "graph" / name).touch()
    found = files_for("src/edgewise/graph/other.py", tmp_path)
    assert found == ["tests/graph/test_a.py", "tests/graph/test_b.py"]


def test_other_files_ask_for_nothing_more():
    assert files_for("Makefile") == files_for("tests/graph/test_gone.py") == []


def test_what_is_always_run_is_there():
    assert all((ROOT / name).exists() for name in ALWAYS)
