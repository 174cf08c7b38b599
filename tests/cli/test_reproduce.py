"""``edgewise reproduce``."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from edgewise.reproduce import STUDIES
from tests.reproduce import toy_study

ROOT = Path(__file__).parents[2]
FILES = ["checkpoints", "means.png", "results.csv", "run.json", "tables.md"]


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """The toy study, under its name."""
    monkeypatch.setitem(STUDIES, "toy", "tests.reproduce.toy_study")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def n_bytes(out):
    return sum(file.stat().st_size for file in out.glob("checkpoints/*.tasks"))


def test_folder_record_and_words(run, tmp_path):
    result = run("reproduce", "toy")
    out = tmp_path / "edgewise-reproduce" / "toy"
    assert names(out) == FILES
    record = json.loads((out / "run.json").read_text())
    assert (record["command"], record["seed"]) == ("reproduce", 0)
    parameters = {"study": "toy", "version": 1, "quick": False, "part": None, "table": None}
    assert record["parameters"] == parameters
    assert (record["n_tasks"], record["n_resumed"]) == (9, 0)
    assert record["reference"].startswith("Nobody")
    assert "numpy" in record["versions"]
    assert record["claims"][0]["holds"] == "partly"
    assert "holds in part: The mean is zero." in result.stdout
    assert record["claims"][0]["found"] in result.stdout
    assert "edgewise-reproduce/toy: means.png, results.csv, tables.md, run.json" in result.stdout
    assert result.stderr == ""


def test_json(run, tmp_path):
    result = run("reproduce", "toy", "--json", "--out", "here")
    record = json.loads(result.stdout)
    assert record == json.loads((tmp_path / "here" / "run.json").read_text())
    assert record["files"]["tables.md"] == "here/tables.md"
    assert all((tmp_path / path).is_file() for path in record["files"].values())


def test_quick_is_smaller_and_says_so(run, tmp_path):
    result = run("reproduce", "toy", "--quick")
    assert "a small version, 4 tasks" in result.stdout
    page = (tmp_path / "edgewise-reproduce" / "toy" / "tables.md").read_text(encoding="utf-8")
    assert "small version" in page


def test_seed_and_jobs(run, tmp_path):
    def means(name, *options):
        run("reproduce", "toy", "--out", name, *options)
        return pd.read_csv(tmp_path / name / "results.csv")["mean"].dropna().tolist()

    alone = means("a", "--seed", 3)
    assert means("b", "--seed", 3, "--jobs", 2) == alone
    assert list((tmp_path / "b" / "checkpoints").glob("*.tasks"))
    assert means("c", "--seed", 4) != alone


def test_same_command_goes_on_and_fresh_starts_anew(run):
    def resumed(*options):
        return json.loads(run("reproduce", "toy", "--json", *options).stdout)["n_resumed"]

    assert resumed("--quick") == 0
    assert resumed() == 4
    assert resumed() == 9
    assert resumed("--fresh") == 0
    assert resumed() == 9


def test_damaged_checkpoint_is_told(run, tmp_path):
    run("reproduce", "toy", "--out", "here")
    (victim,) = (tmp_path / "here" / "checkpoints").iterdir()
    content = bytearray(victim.read_bytes())
    content[-10] ^= 1
    victim.write_bytes(content)
    result = run("reproduce", "toy", "--out", "here", "--json")
    assert f"Warning: 'here/checkpoints/{victim.name}' is damaged" in result.stderr
    record = json.loads(result.stdout)
    assert record["n_resumed"] == 8
    assert len(record["warnings"]) == 1


def test_interrupt_leaves_what_was_finished(run, tmp_path, monkeypatch):
    def draw(rng, *, size, wait):
        if size == 4:
            raise KeyboardInterrupt
        return toy_study.draw(rng, size=size, wait=wait)

    part = toy_study.Part(name="draws", tasks=toy_study.list_draws, run=draw)
    monkeypatch.setattr(toy_study, "STUDY", toy_study.study(part, toy_study.PAIRS))
    result = run("reproduce", "toy", "--out", "here", code=130)
    assert result.stderr == (
        "Interrupted; what was finished is kept in 'here/checkpoints'. Run the same command again "
        "to go on from there.\n"
    )
    assert names(tmp_path / "here") == ["checkpoints"]
    monkeypatch.undo()
    monkeypatch.setitem(STUDIES, "toy", "tests.reproduce.toy_study")
    monkeypatch.chdir(tmp_path)
    record = json.loads(run("reproduce", "toy", "--out", "here", "--json").stdout)
    assert record["n_resumed"] == 3


def test_failing_task_leaves_no_half_results(run, tmp_path, monkeypatch):
    def fail(rng, *, size, wait):
        raise OSError("no more room")

    part = toy_study.Part(name="draws", tasks=toy_study.list_draws, run=fail)
    monkeypatch.setattr(toy_study, "STUDY", toy_study.study(part))
    result = run("reproduce", "toy", "--out", "here", code=2)
    assert "no more room" in result.stderr
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["nonsense"],
            "no study called 'nonsense'. Choose from: defaults, locally-constant",
        ),
        (["toy", "--jobs", 0, "--out", "here"], "--jobs 0"),
        (["toy", "--out", "file"], "it is a file"),
        (["toy", "--table", "file"], "The study 'toy' takes no table. Leave --table out."),
    ],
)
def test_bad_requests(run, tmp_path, arguments, words):
    (tmp_path / "file").write_text("")
    result = run("reproduce", *arguments, code=2)
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert names(tmp_path) == ["file"]


def test_table_is_handed_to_the_study(run, monkeypatch):
    def with_table(path):
        assert path == Path("some.csv")
        return toy_study.study(toy_study.DRAWS)

    monkeypatch.setattr(toy_study, "STUDY", replace(toy_study.STUDY, with_table=with_table))
    assert json.loads(run("reproduce", "toy", "--json").stdout)["n_tasks"] == 9
    record = json.loads(run("reproduce", "toy", "--table", "some.csv", "--json").stdout)
    assert (record["n_tasks"], record["parameters"]["table"]) == (8, "some.csv")


def test_help_names_the_studies(run):
    assert "locally-constant" in run("reproduce", "--help").stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_interrupt_of_a_real_process_with_workers(tmp_path):
    code = (
        "import sys\n"
        "from edgewise.cli import main\n"
        "from edgewise.reproduce import STUDIES\n"
        "from tests.reproduce import toy_study\n"
        "toy_study.STUDY = toy_study.SLOW_STUDY\n"
        "STUDIES['toy'] = 'tests.reproduce.toy_study'\n"
        f"sys.argv = ['edgewise', 'reproduce', 'toy', '--jobs', '2', '--out', {str(tmp_path)!r}]\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while n_bytes(tmp_path) < 1000 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Run the same command again to go on" in stderr
    assert names(tmp_path) == ["checkpoints"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "40 tasks" in done.stdout
    record = json.loads((tmp_path / "run.json").read_text())
    assert 3 <= record["n_resumed"] < 40


@pytest.mark.slow
@pytest.mark.drawn
def test_locally_constant_quick(run, tmp_path):
    start = time.monotonic()
    record = json.loads(run("reproduce", "locally-constant", "--quick", "--json").stdout)
    assert time.monotonic() - start < 300
    assert record["n_tasks"] == 41
    assert record["warnings"] == []
    verdicts = {claim["published"][:15]: claim["holds"] for claim in record["claims"]}
    assert verdicts["With 400 sample"] == "partly"
    assert verdicts["The problem has"] == "no"
    out = tmp_path / "edgewise-reproduce" / "locally-constant"
    assert (out / "matrices.png").stat().st_size > 10_000
    table = pd.read_csv(out / "results.csv")
    assert table["unconverged"].fillna(0).sum() == 0
