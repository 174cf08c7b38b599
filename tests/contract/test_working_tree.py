"""A test that leaves a file in the working tree fails the run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.working_tree import files_below

ROOT = Path(__file__).parents[2]

TESTS = """
from pathlib import Path

HERE = Path(__file__).parent

def test_tidy(tmp_path):
    (tmp_path / "file").touch()
    (HERE / ".some_cache").mkdir()
    (HERE / ".some_cache" / "file").touch()

def test_untidy():
    (HERE / "b" / "checkpoints").mkdir(parents=True)
    (HERE / "b" / "checkpoints" / "task.json").touch()
"""


@pytest.mark.parametrize("options", [[], pytest.param(["-n", "1"], marks=pytest.mark.slow)])
@pytest.mark.parametrize(("chosen", "code"), [("test_tidy", 0), ("test_untidy", 1)])
def test_a_file_left_behind_fails_the_run(tmp_path, options, chosen, code):
    (tmp_path / "tests").mkdir()
    for name in ("conftest.py", "tests/working_tree.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", *options, f"test_some.py::{chosen}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    said = f"a test has left {Path('b', 'checkpoints', 'task.json')}"
    assert (said in done.stdout) == bool(code)
    assert "1 passed" in done.stdout


def test_what_is_listed(tmp_path):
    for name in (".edgewise-1/file", "out/__pycache__/x.pyc", ".venv-min/lib", "out/.unfinished/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = {path.relative_to(tmp_path).as_posix() for path in files_below(tmp_path)}
    assert found == {".edgewise-1/file", "out/.unfinished/x"}
