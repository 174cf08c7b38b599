"""Running a study: nothing finished is lost, and numbers depend on the seed alone."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgewise import DataWarning, InputError
from edgewise._core.parallel import spawn
from edgewise._core.resume import KeptTasks
from studies import load_study
from studies.study import Part, run_study
from studies.tables import markdown_table, mean_and_error, write_results
from tests.messages import raises
from tests.studies.toy_study import (
    DRAWS,
    PAIRS,
    SLOW_STUDY,
    STUDY,
    record_and_draw,
    study,
)

ROOT = Path(__file__).parents[2]


def assert_same(one, other):
    assert one.results.keys() == other.results.keys()
    for name, frame in one.results.items():
        pd.testing.assert_frame_equal(frame, other.results[name], check_exact=True)


def kept_bytes(folder):
    return sum(file.stat().st_size for file in folder.glob("*.tasks"))


def counted(log, n_tasks=4):
    """A study that leaves a line in ``log`` for every task that runs."""

    def tasks(quick):
        return [{"file": str(log), "size": size} for size in range(1, n_tasks + 1)]

    return study(Part(name="draws", tasks=tasks, run=record_and_draw))


def test_one_part_has_the_numbers_that_it_has_among_all(tmp_path):
    whole = run_study(STUDY, tmp_path / "whole", seed=5).results
    alone = run_study(STUDY, tmp_path / "alone", seed=5, only="pairs").results
    assert list(alone) == ["pairs"]
    pd.testing.assert_frame_equal(alone["pairs"], whole["pairs"])
    with pytest.raises(InputError, match=r"no part 'trios'. Choose from: draws, pairs"):
        run_study(STUDY, tmp_path, only="trios")


def test_rows_are_those_of_streams_spawned_from_the_seed(tmp_path):
    outcome = run_study(STUDY, tmp_path, seed=5)
    assert (outcome.n_tasks, outcome.n_resumed) == (9, 0)
    of_draws, of_pairs = spawn(5, 2)
    expected = [rng.normal(size=size).mean() for size, rng in enumerate(of_draws.spawn(8), start=1)]
    frame = outcome.results["draws"]
    assert frame["mean"].tolist() == expected
    assert frame["size"].tolist() == list(range(1, 9))
    assert frame["task"].tolist() == list(range(8))
    assert set(frame["label"]) == {"ä"}
    (stream,) = of_pairs.spawn(1)
    assert outcome.results["pairs"]["value"].tolist() == [stream.random(), stream.random()]


def test_seed_and_size(tmp_path):
    whole = run_study(STUDY, tmp_path / "a", seed=1).results["draws"]
    other = run_study(STUDY, tmp_path / "b", seed=2).results["draws"]
    assert (whole["mean"] != other["mean"]).all()
    quick = run_study(STUDY, tmp_path / "c", seed=1, quick=True).results["draws"]
    pd.testing.assert_frame_equal(quick, whole[:3])


def test_jobs_do_not_matter(tmp_path):
    alone = run_study(STUDY, tmp_path / "a", seed=3, n_jobs=1)
    assert_same(alone, run_study(STUDY, tmp_path / "b", seed=3, n_jobs=2))
    with raises(InputError, code="zero_jobs"):
        run_study(STUDY, tmp_path, n_jobs=0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_killed_run_goes_on_and_ends_with_the_same_numbers(tmp_path):
    code = (
        "from pathlib import Path\n"
        "from studies.study import run_study\n"
        "from tests.studies.toy_study import SLOW_STUDY\n"
        f"run_study(SLOW_STUDY, Path({str(tmp_path / 'killed')!r}), seed=7)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    deadline = time.monotonic() + 60
    while kept_bytes(tmp_path / "killed") < 600 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    n_kept = len(list(KeptTasks(*(tmp_path / "killed").glob("*.tasks")).read()))
    assert 2 <= n_kept < 40
    resumed = run_study(SLOW_STUDY, tmp_path / "killed", seed=7, n_jobs=2)
    assert (resumed.n_tasks, resumed.n_resumed) == (40, n_kept)
    assert_same(resumed, run_study(SLOW_STUDY, tmp_path / "whole", seed=7, n_jobs=2))


def test_finished_tasks_do_not_run_again(tmp_path):
    log = tmp_path / "log"
    first = run_study(counted(log), tmp_path / "kept")
    again = run_study(counted(log), tmp_path / "kept")
    assert log.read_text().split() == ["1", "2", "3", "4"]
    assert again.n_resumed == 4
    assert_same(first, again)
    # Only what is new of a longer list is run.
    run_study(counted(log, n_tasks=6), tmp_path / "kept")
    assert log.read_text().split()[4:] == ["5", "6"]


def test_nothing_of_another_run_is_taken(tmp_path):
    run_study(STUDY, tmp_path, seed=1)
    assert run_study(STUDY, tmp_path, seed=1).n_resumed == 9
    assert run_study(STUDY, tmp_path, seed=2).n_resumed == 0
    assert run_study(study(DRAWS, PAIRS, version=2), tmp_path, seed=1).n_resumed == 0
    renamed = Part(name="other", tasks=DRAWS.tasks, run=DRAWS.run)
    assert run_study(study(renamed, PAIRS), tmp_path, seed=1).n_resumed == 1


def test_damage_is_said_and_run_again(tmp_path):
    before = run_study(STUDY, tmp_path, seed=1)
    (file,) = tmp_path.glob("*.tasks")
    content = bytearray(file.read_bytes())
    content[content.index(b'"position\\": 3')] ^= 1
    file.write_bytes(content)
    with pytest.warns(DataWarning, match="damaged"):
        after = run_study(STUDY, tmp_path, seed=1)
    assert after.n_resumed == 3
    assert_same(before, after)
    assert run_study(STUDY, tmp_path, seed=1).n_resumed == 9


def test_rows_that_cannot_be_kept_are_refused(tmp_path):
    part = Part(name="draws", tasks=lambda quick: [{}], run=lambda rng: [{"value": rng}])
    with raises(InputError, code="needs_pickling", type="Generator"):
        run_study(study(part), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_workers_write_nothing_themselves(tmp_path, monkeypatch):
    # Workers are used again and stay where they were started.
    run_study(STUDY, tmp_path / "other", n_jobs=2)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    run_study(STUDY, Path("b"), n_jobs=2)
    assert kept_bytes(tmp_path / "here" / "b") > 0
    assert run_study(STUDY, Path("b"), n_jobs=2).n_resumed == 9


def test_files(tmp_path):
    outcome = run_study(STUDY, tmp_path / "kept", quick=True)
    folder = tmp_path / "out"
    folder.mkdir()
    report = write_results(folder, STUDY, outcome.results, quick=True, seed=0)
    assert sorted(path.name for path in folder.iterdir()) == [
        "means.png",
        "results.csv",
        "tables.md",
    ]
    table = pd.read_csv(folder / "results.csv")
    assert table["part"].tolist() == ["draws"] * 3 + ["pairs"] * 2
    assert table["mean"][:3].tolist() == outcome.results["draws"]["mean"].tolist()
    page = (folder / "tables.md").read_text(encoding="utf-8")
    for words in ("# A toy", "example.org", "small version", "The mean is zero.", "## Draws"):
        assert words in page
    assert f"| {report.claims[0].found} |" in page


def test_markdown():
    assert markdown_table(["a", "b"], [["1", "2"]]) == "| a | b |\n|---|---|\n| 1 | 2 |"
    values = np.array([1.0, 2.0, 4.0, 4.0])
    error = values.std(ddof=1) / 2
    assert mean_and_error(values, digits=4) == f"2.7500 ± {error:.4f}"


def test_an_unknown_name_is_an_error_that_lists_the_others():
    with pytest.raises(InputError, match="locally-constant"):
        load_study("nonsense")
