"""How commands end, and what they say on the way."""

import errno
import json
import pickle
import sys
import warnings

import numba
import pytest
from typer.main import get_command

from edgewise import GaussianGraph, InputError
from edgewise.cli.app import EXAMPLES, app
from edgewise.cli.run import results_folder
from edgewise.cli.shell import (
    _options,
    add_settings,
    compilation_told,
    in_options,
    printable,
    warnings_told,
    worded,
)
from tests.commands import invoke


@pytest.fixture
def data(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def fail_with(monkeypatch, error):
    def fit(*arguments, **options):
        raise error

    monkeypatch.setattr(GaussianGraph, "fit", fit)


def test_interrupt_leaves_what_was_there(run, data, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run("learn", data, "--alpha", "0.1", "--out", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    fail_with(monkeypatch, KeyboardInterrupt())
    result = run("learn", data, "--alpha", "0.3", "--out", out, code=130)
    assert result.stderr == "Interrupted; nothing was written.\n"
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_interrupt_leaves_no_new_folder(run, data, tmp_path, monkeypatch):
    fail_with(monkeypatch, KeyboardInterrupt())
    run("learn", data, "--out", tmp_path / "out", code=130)
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "x.png"), "'x.png': No space left"),
        (OSError("odd"), "odd"),
        (MemoryError(), "not enough memory"),
        (ValueError("array could not be made C-contiguous"), "not enough memory"),
    ],
)
def test_troubles_of_the_machine(run, data, monkeypatch, error, words):
    fail_with(monkeypatch, error)
    result = run("learn", data, code=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert words in line


def test_a_bug_is_not_hidden(run, data, monkeypatch):
    fail_with(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        run("learn", data)


def test_a_reader_that_leaves_early_is_no_error(data, monkeypatch):
    fail_with(monkeypatch, BrokenPipeError(errno.EPIPE, "Broken pipe"))
    result = invoke("learn", data)
    assert "Error" not in result.stderr


def test_messages_name_the_options_of_the_command(run, data):
    # Of the same parameter, in commands that have an option for it under another name.
    said = run("learn", data, "--alpha", "0.1", "--resamples", "1", code=2).stderr
    assert "--resamples must be at least 2" in said
    said = run("regress", data, "--on", "a", "--min-leaf", "0", code=2).stderr
    assert "--min-leaf" in said
    assert "min_samples_leaf" not in said


def test_messages_of_solvers_name_the_options_of_the_command(run, data):
    said = run("learn", data, "--alpha", "-1", code=2).stderr
    assert "Error: --alpha must be" in said
    said = run("learn", data, "--alpha", "0.1", "--set", "tol=0", code=2).stderr
    assert "Error: --set tol must be" in said


def test_the_parameter_that_a_message_is_about(options):
    error = InputError("lasso_alpha_positive", "alpha", alpha=0)
    assert worded(error) == "--alpha must be a positive number, got 0."
    kept = pickle.loads(pickle.dumps(error))
    assert (str(kept), kept.parameter) == (str(error), "alpha")


@pytest.fixture
def options():
    """Options of `learn`."""
    command = get_command(app).commands["learn"]
    token = _options.set({one.name: one.opts[0] for one in command.params})
    add_settings("--set", ["repair"])
    yield
    _options.reset(token)


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ('missing="pairwise" was used', "--missing pairwise was used"),
        ('repair="ridge": it was raised', "--set repair=ridge: it was raised"),
        ("Column 'alpha' is constant.", "Column 'alpha' is constant."),
        ("covariance='spearman' it is", "--covariance spearman it is"),
    ],
)
def test_notes_name_options(options, note, expected):
    assert in_options(note) == expected
    assert in_options(expected) == expected


def test_messages_name_settings_by_their_option(options):
    add_settings("--set", ["repair", "tol"])
    error = InputError("collinear_columns", labels=["a", "b"])
    assert worded(error).endswith("or pass --set repair=ridge.")
    assert worded(InputError("tol_positive", "tol", tol=0)).startswith("--set tol must be")


def test_printable():
    assert printable("ä\x1b[2J\tb\nc\x07") == "ä�[2J�b\nc�"


def test_warnings_are_told_once_and_only_those_for_users(options, capsys):
    with warnings_told() as told:
        for _ in range(2):
            warnings.warn("Raise it.", UserWarning, stacklevel=1)
        warnings.warn("old name", DeprecationWarning, stacklevel=1)
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    assert told == ["Raise it.", "overflow"]
    captured = capsys.readouterr()
    assert captured.err == "Warning: Raise it.\nWarning: overflow\n"
    assert captured.out == ""


def test_files_move_together(tmp_path):
    out = tmp_path / "deep" / "out"
    with results_folder(out) as folder:
        (folder / "a.txt").write_text("new")
        (folder / "b.txt").write_text("new")
        assert [path for path in out.iterdir() if path.suffix] == []
    assert {path.name: path.read_text() for path in out.iterdir()} == {
        "a.txt": "new",
        "b.txt": "new",
    }


def test_a_failed_run_changes_no_file(tmp_path):
    (tmp_path / "a.txt").write_text("old")

    def fail():
        with results_folder(tmp_path) as folder:
            (folder / "a.txt").write_text("new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_warning_does_not_spoil_the_json(run, data):
    result = run(
        "learn", data, "--json", "--alpha", "cv", "--set", "alpha_ratio=0.9", "--resamples=0"
    )
    (warning,) = json.loads(result.stdout)["warnings"]
    assert "--set alpha_ratio=0.09" in warning
    assert result.stderr == f"Warning: {warning}\n"


def test_every_command_has_an_example_that_it_could_run(run):
    for name, command in get_command(app).commands.items():
        text = " ".join(run(name, "--help").stdout.split())
        assert f"Example: {EXAMPLES[name]}" in text
        given = [word for word in EXAMPLES[name].split() if word.startswith("--")]
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(given) <= known


def test_quiet_writes_files_and_no_words(run, data, tmp_path):
    command = ["learn", data, "--alpha", "0.1", "--resamples=0", "--out", tmp_path / "out"]
    result = run(*command, "--quiet")
    assert (result.stdout, result.stderr) == ("", "")
    assert (tmp_path / "out" / "report.html").exists()
    found = run(*command, "--quiet", "--json").stdout
    assert json.loads(found)["command"] == "learn"


@pytest.mark.parametrize("after", ["info", "--version"])
def test_only_the_run_that_was_asked_is_quiet(run, data, after):
    run("learn", data, "--alpha", "0.1", "--resamples=0", "--quiet")
    assert run(after).stdout != ""


def test_shells_can_complete_commands(run):
    assert "--install-completion" in run("--help").stdout


def test_compilation_is_told_once_and_to_whoever_watches(monkeypatch, capsys):
    def compile_two():
        with compilation_told():
            for _ in range(2):
                numba.njit(lambda x: x + 1)(1)

    compile_two()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    compile_two()
    assert capsys.readouterr().err.count("Compiling kernels") == 1
