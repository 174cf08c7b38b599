"""``python -m studies``."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from studies import find_studies, load_study
from studies.__main__ import main
from studies.study import UNJUDGED
from tests.studies import toy_study

ROOT = Path(__file__).parents[2]
FILES = ["checkpoints", "means.png", "results.csv", "run.json", "tables.md"]


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """The toy study, under its name."""
    monkeypatch.setitem(find_studies(), "toy", "tests.studies.toy_study")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a study in an empty folder; return what it said."""
    monkeypatch.chdir(tmp_path)

    def run_study(*arguments, code=0):
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == code
        said = capsys.readouterr()
        return SimpleNamespace(stdout=said.out, stderr=said.err)

    return run_study


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def record_of(folder):
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def n_bytes(out):
    return sum(file.stat().st_size for file in out.glob("checkpoints/*.tasks"))


def test_every_study_is_found_by_its_name():
    assert set(find_studies()) > {"defaults", "verdict", "intervals", "change", "bjp", "toy"}
    for name in find_studies():
        assert load_study(name).name == name


def test_folder_record_and_words(run, tmp_path):
    result = run("toy")
    out = tmp_path / "studies-out" / "toy"
    assert names(out) == FILES
    record = record_of(out)
    assert (record["study"], record["version"], record["parameters"]["seed"]) == ("toy", 1, 0)
    assert (record["n_tasks"], record["n_resumed"]) == (9, 0)
    assert record["reference"].startswith("Nobody")
    assert "numpy" in record["versions"]
    assert record["claims"][0]["holds"] == "partly"
    assert "holds in part: The mean is zero." in result.stdout
    assert record["claims"][0]["found"] in result.stdout
    assert "studies-out/toy/tables.md" in result.stdout
    assert result.stderr == "A toy ...\n"


def test_quick_is_smaller_and_judges_nothing(run, tmp_path):
    result = run("toy", "--quick")
    assert "a small version, 4 tasks" in result.stdout
    assert f"{UNJUDGED}: The mean is zero." in result.stdout
    out = tmp_path / "studies-out" / "toy"
    page = (out / "tables.md").read_text(encoding="utf-8")
    assert "small version" in page
    assert f"| {UNJUDGED} |" in page
    assert record_of(out)["claims"][0]["holds"] == UNJUDGED


def test_pages(run, tmp_path):
    run("toy", "--pages", "pages")
    page = (tmp_path / "pages" / "toy.md").read_text(encoding="utf-8")
    assert page == (tmp_path / "studies-out" / "toy" / "tables.md").read_text(encoding="utf-8")


def test_seed_and_jobs(run, tmp_path):
    def means(name, *options):
        run("toy", "--out", name, *options)
        return pd.read_csv(tmp_path / name / "toy" / "results.csv")["mean"].dropna().tolist()

    alone = means("a", "--seed", 3)
    assert means("b", "--seed", 3, "--jobs", 2) == alone
    assert list((tmp_path / "b" / "toy" / "checkpoints").glob("*.tasks"))
    assert means("c", "--seed", 4) != alone


def test_same_command_goes_on_and_fresh_starts_anew(run, tmp_path):
    def resumed(*options):
        run("toy", *options)
        return record_of(tmp_path / "studies-out" / "toy")["n_resumed"]

    assert resumed("--quick") == 0
    assert resumed() == 4
    assert resumed() == 9
    assert resumed("--fresh") == 0
    assert resumed() == 9


def test_damaged_checkpoint_is_said(run, tmp_path):
    run("toy", "--out", "here")
    (victim,) = (tmp_path / "here" / "toy" / "checkpoints").iterdir()
    content = bytearray(victim.read_bytes())
    content[-10] ^= 1
    victim.write_bytes(content)
    result = run("toy", "--out", "here")
    assert f"{victim.name}' is damaged" in result.stderr
    record = record_of(tmp_path / "here" / "toy")
    assert record["n_resumed"] == 8
    assert len(record["warnings"]) == 1


def test_interrupt_leaves_what_was_finished(run, tmp_path, monkeypatch):
    def draw(rng, *, size, wait):
        if size == 4:
            raise KeyboardInterrupt
        return toy_study.draw(rng, size=size, wait=wait)

    part = toy_study.Part(name="draws", tasks=toy_study.list_draws, run=draw)
    with monkeypatch.context() as patched:
        patched.setattr(toy_study, "STUDY", toy_study.study(part, toy_study.PAIRS))
        result = run("toy", "--out", "here", code=130)
    assert "Interrupted. Give the same command again to go on from here." in result.stderr
    assert names(tmp_path / "here" / "toy") == ["checkpoints"]
    run("toy", "--out", "here")
    assert record_of(tmp_path / "here" / "toy")["n_resumed"] == 3


def test_a_study_that_fails_does_not_keep_the_others_from_running(run, tmp_path, monkeypatch):
    def fail(rng, *, size, wait):
        raise OSError("no more room")

    part = toy_study.Part(name="draws", tasks=toy_study.list_draws, run=fail)
    other = SimpleNamespace(STUDY=replace(toy_study.study(part), name="bad"))
    monkeypatch.setitem(sys.modules, "bad_study", other)
    for name in [name for name in find_studies() if name != "toy"]:
        monkeypatch.delitem(find_studies(), name)
    toy = find_studies().pop("toy")
    monkeypatch.setitem(find_studies(), "bad", "bad_study")
    monkeypatch.setitem(find_studies(), "toy", toy)
    result = run("all", code=1)
    assert "no more room" in result.stderr
    assert result.stderr.endswith("Failed: bad\n")
    assert names(tmp_path / "studies-out" / "toy") == FILES
    assert not (tmp_path / "studies-out" / "bad" / "tables.md").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "There is no study 'nonsense'. Choose from: "),
        (["toy", "--jobs", 0], "--jobs 0"),
        (["toy", "--table", "file"], "The study 'toy' takes no table. Leave --table out."),
        (["all", "--part", "draws"], "--part goes with the name of one study."),
    ],
)
def test_bad_requests(run, tmp_path, arguments, words):
    result = run(*arguments, code=2)
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert names(tmp_path) == []


def test_table_goes_to_the_study(run, tmp_path, monkeypatch):
    def with_table(path):
        assert path == Path("some.csv")
        return toy_study.study(toy_study.DRAWS)

    monkeypatch.setattr(toy_study, "STUDY", replace(toy_study.STUDY, with_table=with_table))
    out = tmp_path / "studies-out" / "toy"
    run("toy")
    assert record_of(out)["n_tasks"] == 9
    run("toy", "--table", "some.csv")
    assert (record_of(out)["n_tasks"], record_of(out)["parameters"]["table"]) == (8, "some.csv")


@pytest.mark.slow
def test_help_names_the_studies():
    command = [sys.executable, "-m", "studies", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "locally-constant" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_interrupt_of_a_real_process_with_workers(tmp_path):
    code = (
        "import sys\n"
        "from studies import find_studies\n"
        "from studies.__main__ import main\n"
        "from tests.studies import toy_study\n"
        "toy_study.STUDY = toy_study.SLOW_STUDY\n"
        "find_studies()['toy'] = 'tests.studies.toy_study'\n"
        f"sys.exit(main(['toy', '--jobs', '2', '--out', {str(tmp_path)!r}]))\n"
    )
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while n_bytes(tmp_path / "toy") < 1000 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Give the same command again to go on" in stderr
    assert names(tmp_path / "toy") == ["checkpoints"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "40 tasks" in done.stdout
    assert 3 <= record_of(tmp_path / "toy")["n_resumed"] < 40


@pytest.mark.slow
def test_locally_constant_quick(run, tmp_path):
    start = time.monotonic()
    run("locally-constant", "--quick")
    assert time.monotonic() - start < 300
    out = tmp_path / "studies-out" / "locally-constant"
    record = record_of(out)
    assert record["n_tasks"] == 41
    assert record["warnings"] == []
    assert {claim["holds"] for claim in record["claims"]} == {UNJUDGED}
    assert (out / "matrices.png").stat().st_size > 10_000
    table = pd.read_csv(out / "results.csv")
    assert table["unconverged"].fillna(0).sum() == 0
