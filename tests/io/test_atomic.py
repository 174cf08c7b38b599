import pytest

from edgewise import InputError
from edgewise.io import atomic_path
from tests.messages import raises


def test_success_replaces_and_leaves_nothing_behind(tmp_path):
    target = tmp_path / "x.png"
    target.write_text("old")
    with atomic_path(target) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".png"
        assert temporary != target
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_failure_keeps_the_old_file_and_removes_the_new(tmp_path):
    target = tmp_path / "x.csv"
    target.write_text("old")

    def write_half():
        with atomic_path(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="disk on fire"):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_two_writers_use_different_names(tmp_path):
    with atomic_path(tmp_path / "x") as first, atomic_path(tmp_path / "x") as second:
        assert first != second
        first.write_text("1")
        second.write_text("2")
    assert (tmp_path / "x").read_text() == "1"


def test_symbolic_link_is_written_through(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    with atomic_path(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_folder_and_missing_folder_are_refused(tmp_path):
    with raises(InputError, code="cannot_write_folder"), atomic_path(tmp_path):
        pass
    with raises(InputError, code="no_parent_folder"), atomic_path(tmp_path / "no" / "x"):
        pass
