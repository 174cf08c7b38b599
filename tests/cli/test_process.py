"""The command line as a real process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

HEAVY = ("numba", "sklearn", "pandas", "matplotlib", "scipy", "numpy", "networkx", "igraph")


def start(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "edgewise", *map(str, arguments)],
        capture_output=True,
        encoding=options.get("env", {}).get("PYTHONIOENCODING", "utf-8"),
        timeout=120,
        check=False,
        **options,
    )


def test_help_needs_nothing_heavy():
    code = f"""
import sys
from edgewise.cli import main
for arguments in (["--help"], ["learn", "--help"], ["--version"], ["learn", "--nonsense"]):
    sys.argv = ["edgewise", *arguments]
    try:
        main()
    except SystemExit:
        pass
loaded = [name for name in {HEAVY!r} if name in sys.modules]
sys.exit(f"loaded {{loaded}}" if loaded else 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "simulate" in done.stdout


def test_module_and_script_are_one(tmp_path):
    script = os.path.join(os.path.dirname(sys.executable), "edgewise")  # noqa: PTH118, PTH120
    by_module = start("--version")
    by_script = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert by_module.stdout == by_script.stdout


def test_learn(tmp_path, frame):
    frame.to_csv(tmp_path / "data.csv", index=False)
    done = start("learn", "data.csv", "--alpha", "0.1", "--out", "here", "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["n_nodes"] == 5
    assert (tmp_path / "here" / "graph.graphml").is_file()


@pytest.mark.skipif(sys.platform != "linux", reason="names are text on other systems")
def test_a_file_name_that_is_no_text_and_a_closed_stream(tmp_path, frame):
    name = os.fsencode(tmp_path) + b"/d\xe9.csv"
    frame.to_csv(os.fsdecode(name), index=False)
    line = f"exec {sys.executable} -m edgewise learn --alpha 0.1 --resamples 0 d?.csv 2>&-"
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    record = json.loads((tmp_path / "edgewise-out" / "run.json").read_text())
    assert record["data"]["file"] == "d\ufffd.csv"
    assert "d\ufffd.csv" in done.stdout
    assert "d\ufffd.csv" in (tmp_path / "edgewise-out" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, marks=pytest.mark.slow),
        pytest.param("", marks=pytest.mark.slow),
        "a,b\n1,x\n2,y\n3,z\n",
    ],
)
def test_bad_input(tmp_path, content):
    if content is not None:
        (tmp_path / "data.csv").write_text(content)
    done = start("learn", "data.csv", "--alpha", "0.1", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_terminal_without_all_letters(tmp_path):
    (tmp_path / "graph.csv").write_text("source,target,weight\na,b,1\n")
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    done = start("export", "graph.csv", "größe ő.graphml", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert r"größe \u0151.graphml: 2 nodes" in done.stdout


def begin(tmp_path, *command):
    """Start a command in a group of its own, as a terminal does."""
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(path):
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def stop(process, number, *, in_group=False):
    """Send a signal; return what the process says, and the seconds that it took to end."""
    start = time.monotonic()
    if in_group:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    return stderr, time.monotonic() - start


def assert_group_is_gone(process):
    """No worker outlives the run: its group has no process left to receive a signal."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("A worker was left behind.")


NOTHING = "Interrupted; nothing was written.\n"
KEPT = (
    "Interrupted; what was finished is kept in 'edgewise-out/.unfinished'. Run the same command "
    "again to go on from there.\n"
)
#: Two are promised, of a machine that has nothing else to do.
SECONDS = 10
slow = pytest.mark.slow


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize(
    ("jobs", "number"),
    [
        (1, signal.SIGINT),
        (2, signal.SIGTERM),
        pytest.param(2, signal.SIGINT, marks=slow),
        pytest.param(1, signal.SIGTERM, marks=slow),
    ],
)
def test_signals_end_a_run(tmp_path, frame, jobs, number):
    frame.to_csv(tmp_path / "data.csv", index=False)
    command = ["learn", "data.csv", "--resamples", "100000", "--jobs", jobs]
    process = begin(tmp_path, "-m", "edgewise", *command)
    # The draft folder shows that the work has begun.
    wait_for(tmp_path / "edgewise-out")
    time.sleep(0.5)
    stderr, seconds = stop(process, number)
    assert stderr in {NOTHING, KEPT}
    assert process.returncode == 128 + number
    assert seconds < SECONDS
    # Nothing half-written: at most what a second run goes on from.
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()} - {"data.csv"}
    assert {Path(name).suffix for name in left} <= {".tasks"}
    assert (stderr == NOTHING) == (not left)
    assert (tmp_path / "edgewise-out").exists() == (stderr == KEPT)
    assert_group_is_gone(process)


DEAF_RUN = """
import hashlib, sys, time
from edgewise import GaussianGraph
from edgewise.cli import main
from edgewise.cli import wording as _summary

def count():
    # As long as a compiled kernel of a large table, which hears nothing until it is done.
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)

def swallow():
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass

def work(*arguments, **options):
    open("begun", "w").close()
    {work}()

{place} = work
sys.argv = ["edgewise", "learn", "data.csv", "--alpha", "0.1", "--resamples=0"]
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("work", ["count", pytest.param("swallow", marks=slow)])
def test_a_run_that_does_not_hear_is_ended(tmp_path, frame, work):
    frame.to_csv(tmp_path / "data.csv", index=False)
    process = begin(tmp_path, "-c", DEAF_RUN.format(work=work, place="GaussianGraph.fit"))
    wait_for(tmp_path / "begun")
    stderr, seconds = stop(process, signal.SIGINT)
    assert (process.returncode, stderr) == (130, NOTHING)
    assert seconds < SECONDS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "data.csv"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_results_that_are_written_stay(tmp_path, frame):
    frame.to_csv(tmp_path / "data.csv", index=False)
    process = begin(tmp_path, "-c", DEAF_RUN.format(work="count", place="_summary.announce"))
    wait_for(tmp_path / "begun")
    stderr, seconds = stop(process, signal.SIGINT)
    assert (process.returncode, stderr) == (130, "Interrupted; the results were written.\n")
    assert seconds < SECONDS
    names = {path.name for path in (tmp_path / "edgewise-out").iterdir()}
    assert {"run.json", "edges.csv"} <= names
    assert not [name for name in names if name.startswith(".")]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupts_at_any_moment_change_no_number(tmp_path, frame, jobs):
    frame.to_csv(tmp_path / "data.csv", index=False)
    command = ["learn", "data.csv", "--resamples", "150", "--alpha", "cv", "--jobs", jobs, "--json"]
    start_of_run = time.monotonic()
    whole = json.loads(start(*command, "--out", "whole", cwd=tmp_path).stdout)
    length = time.monotonic() - start_of_run
    took = []
    for k, share in enumerate(np.random.default_rng(0).uniform(size=20)):
        process = begin(tmp_path, "-m", "edgewise", *command, "--out", f"out-{k}")
        time.sleep(share * length)
        if process.poll() is None:
            took.append(stop(process, signal.SIGINT, in_group=True)[1])
        else:
            process.communicate()
        # In the first moments the interpreter has no handler yet, and dies of the signal, or of an
        # interrupt among its own imports.
        is_early = share * length < 1
        assert process.returncode in {0, 130, *((-signal.SIGINT, 1) if is_early else ())}
        again = start(*command, "--quiet", "--out", f"out-{k}", cwd=tmp_path)
        assert again.stderr == ""
        assert json.loads(again.stdout)["edges"] == whole["edges"]
        assert_group_is_gone(process)
    assert np.quantile(took, 0.9) < 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_two_runs_at_once_both_killed(tmp_path, frame):
    frame.to_csv(tmp_path / "data.csv", index=False)
    command = ["learn", "data.csv", "--resamples", "300", "--alpha", "0.1", "--json"]
    first = begin(tmp_path, "-m", "edgewise", *command)
    wait_for(tmp_path / "edgewise-out" / ".lock")
    second = start(*command, cwd=tmp_path)
    assert second.returncode == 2
    assert "Another run is using 'edgewise-out'" in second.stderr
    time.sleep(1)
    first.kill()
    first.communicate()
    again = start(*command, cwd=tmp_path)
    whole = start(*command, "--out", "whole", cwd=tmp_path)
    assert json.loads(again.stdout)["edges"] == json.loads(whole.stdout)["edges"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_killed_and_run_again(run, tmp_path, frame):
    frame.to_csv(tmp_path / "data.csv", index=False)
    command = ["learn", "data.csv", "--resamples", "150", "--json"]

    def n_kept(out):
        return sum(file.stat().st_size for file in out.glob(".unfinished/*.tasks"))

    process = subprocess.Popen(
        [sys.executable, "-m", "edgewise", *command, "--out", "killed"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while n_kept(tmp_path / "killed") < 1000 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert n_kept(tmp_path / "killed") >= 1000
    assert not (tmp_path / "killed" / "report.html").exists()
    again = run(*command, "--out", "killed")
    whole = run(*command, "--out", "whole")
    assert json.loads(again.stdout)["edges"] == json.loads(whole.stdout)["edges"]
    # Neither the draft nor the finished parts of the run that was killed are left.
    names = {path.name for path in (tmp_path / "killed").iterdir()}
    assert names == {path.name for path in (tmp_path / "whole").iterdir()}
