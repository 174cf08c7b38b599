"""The one joblib call."""

import time

import numpy as np
import pytest

from edgewise._core.parallel import (
    counted,
    parallel_map,
    progress,
    spawn,
    step_counter,
    time_told,
)


def slow_first(position, delay):
    time.sleep(delay)
    return position


def draw(generator):
    return float(generator.standard_normal())


def fail(number):
    raise KeyError(number)


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_task_order(n_jobs):
    tasks = [(k, 0.2 if k == 0 else 0.0) for k in range(6)]
    assert parallel_map(slow_first, tasks, n_jobs=n_jobs) == list(range(6))


def test_same_random_results_for_any_number_of_workers():
    results = [
        parallel_map(draw, [(child,) for child in spawn(0, 8)], n_jobs=n_jobs) for n_jobs in (1, 2)
    ]
    assert results[0] == results[1]


def test_no_tasks():
    assert parallel_map(draw, []) == []


def test_tasks_may_be_a_generator():
    assert parallel_map(abs, ((-k,) for k in range(4)), verbose=1) == [0, 1, 2, 3]


def test_errors_reach_the_caller():
    with pytest.raises(KeyError):
        parallel_map(fail, [(1,)])


def test_the_bar_is_on_standard_error_only(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    parallel_map(abs, [(k,) for k in range(3)], description="counting", verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "counting" in captured.err


def test_a_pipe_has_plain_lines_now_and_then(capsys, monkeypatch):
    clock = iter(np.arange(0.0, 1000.0, 4.0))
    monkeypatch.setattr("edgewise._core.parallel.time.monotonic", lambda: next(clock))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with progress("counting", 9, 1) as advance:
        for _ in range(9):
            advance()
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == ""
    assert 2 <= len(lines) <= 6
    assert all(line.startswith("counting: ") and "about" in line for line in lines)
    assert captured.err.replace("\n", "").isprintable()


def test_no_time_is_told_of_tasks_that_differ(capsys, monkeypatch):
    clock = iter(np.arange(0.0, 1000.0, 4.0))
    monkeypatch.setattr("edgewise._core.parallel.time.monotonic", lambda: next(clock))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    parallel_map(abs, [(k,) for k in range(9)], description="tasks", verbose=1, is_even=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("tasks: ") and line.endswith(" of 9 done") for line in lines)


def test_short_work_writes_nothing_to_a_pipe(capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    parallel_map(abs, [(k,) for k in range(3)], description="counting", verbose=1)
    assert list(counted(iter("abc"), "path", 3, 1)) == ["a", "b", "c"]
    with step_counter(1) as watch:
        watch(1, 2.0)
    assert capsys.readouterr().err == ""


def test_silence_is_the_default(capsys):
    parallel_map(abs, [(k,) for k in range(3)], description="counting")
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_work_that_tells_nothing_of_its_steps_is_told_of(monkeypatch, capsys):
    monkeypatch.setattr("edgewise._core.parallel.LINE_EVERY", 0.1)
    with time_told():
        time.sleep(0.35)
    lines = capsys.readouterr().err.splitlines()
    assert set(lines) == {"Still at work, after 1 second"}
    assert 1 <= len(lines) <= 3
    time.sleep(0.15)
    assert capsys.readouterr().err == ""
