"""The command line as a real process."""

import json
import os
import signal
import subprocess
import sys
import time

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


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_from_the_keyboard(tmp_path, frame, jobs):
    frame.to_csv(tmp_path / "data.csv", index=False)
    command = ["learn", "data.csv", "--resamples", "100000", "--jobs", jobs]
    process = subprocess.Popen(
        [sys.executable, "-m", "edgewise", *command],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # The draft folder shows that the work has begun.
    deadline = time.monotonic() + 60
    while not (tmp_path / "edgewise-out").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert stderr in {
        "Interrupted; nothing was written.\n",
        (
            "Interrupted; what was finished is kept in 'edgewise-out/.unfinished'. Run the same "
            "command again to go on from there.\n"
        ),
    }
    # Python ends itself by the signal, which shells show as 130 too, where the exception passed
    # through code that was compiled from text (while a data class is made, say).
    assert process.returncode in {130, -signal.SIGINT}
    # Nothing half-written: at most what a second run goes on from.
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "data.csv"]
    assert all(path.parent.name == ".unfinished" for path in left)
    # No worker outlives the run: its group has no process left to receive a signal.
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("A worker was left behind.")


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
