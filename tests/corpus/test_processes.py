"""A sample of the corpus through real processes: exit codes and streams as a shell sees them."""

import subprocess
import sys

import pytest

from tests.corpus.binary_files import BAD_BINARY
from tests.corpus.commands import COMMANDS, FROM_INSIDE
from tests.corpus.sound_files import SOUND_FILES
from tests.corpus.text_files import BAD_TEXT

pytestmark = pytest.mark.slow
BAD = {case.name: case for case in [*BAD_TEXT, *BAD_BINARY]}
SOUND = {case.name: case for case in SOUND_FILES}
SAMPLE = [
    ("learn", "a_name_twice"),
    ("learn", "a_field_of_a_megabyte"),
    ("learn", "a_pipe"),
    ("compare", "a_question_mark_for_a_missing_value"),
    ("compare", "a_label_missing"),
    ("regress", "a_quotation_mark_never_closed"),
    ("direct", "pickled_objects"),
    ("direct", "half_a_parquet_file"),
    ("classify", "a_row_too_short"),
]


def run(command, file, folder):
    arguments = [command, str(file), "--out", str(folder / "out"), *COMMANDS[command]]
    return subprocess.run(
        [sys.executable, "-m", "edgewise", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(("command", "name"), SAMPLE)
def test_refusals(command, name, tmp_path):
    done = run(command, BAD[name].build(tmp_path), tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert not any(word in done.stderr for word in FROM_INSIDE)
    assert all(word in done.stderr for word in BAD[name].outcome.says)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["byte_order_mark", "semicolons_and_decimal_commas", "parquet"])
def test_sound_files(name, tmp_path):
    done = run("learn", SOUND[name].build(tmp_path), tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "edges.csv").exists()
