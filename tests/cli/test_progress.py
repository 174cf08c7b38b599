"""``--progress json``: what a program that runs a command reads on standard error."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from edgewise.cli.app import app
from tests.commands import invoke


@pytest.fixture
def table(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame.assign(group=np.arange(len(frame)) % 2).to_csv("data.csv", index=False)
    return "data.csv"


def lines_of(result):
    return [json.loads(line) for line in result.stderr.splitlines()]


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("learn", ["--drop", "group"]),
        ("compare", ["--by", "group", "--permutations", "19"]),
        ("regress", ["--on", "group"]),
        ("direct", ["--drop", "group", "--resamples", "10"]),
        ("classify", ["--by", "group"]),
    ],
)
def test_every_line_is_an_object(command, options, table):
    result = invoke(command, table, *options, "--progress", "json", "--out", "out")
    assert result.exit_code == 0, result.stderr
    lines = lines_of(result)
    assert lines[0] == {"stage": "Starting", "share": None, "seconds_left": None}
    stages = [line for line in lines if "stage" in line]
    assert all({*line} == {"stage", "share", "seconds_left"} for line in stages)
    assert len(stages) >= 3
    assert all(0 <= line["share"] <= 1 for line in stages if line["share"] is not None)


def test_shares_rise_and_time_left_falls_to_nothing(table):
    result = invoke("learn", table, "--resamples", "20", "--progress", "json", "--out", "out")
    told = [line for line in lines_of(result) if line.get("stage") == "Bootstrap"]
    shares = [line["share"] for line in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1], told[-1]["seconds_left"]) == (0, 1, 0)


def test_errors_carry_their_code_and_the_commands_they_advise(table, frame):
    frame.iloc[3, 0] = np.nan
    frame.to_csv("gaps.csv", index=False)
    result = invoke("learn", "gaps.csv", "--progress", "json", "--out", "out")
    assert result.exit_code == 2
    last = lines_of(result)[-1]
    assert {*last} == {"error", "code", "commands"}
    assert last["commands"][0][:2] == ["learn", "gaps.csv"]
    assert invoke(*last["commands"][0]).exit_code == 0


def test_options_that_cannot_be_read_are_errors_too(table):
    result = invoke("learn", table, "--progress", "json", "--seed", "x")
    assert result.exit_code == 2
    assert lines_of(result)[-1]["code"] == "bad_parameter"


def test_warnings_are_objects(table, frame):
    frame.iloc[0, 0] = 1e6
    frame.to_csv("far.csv", index=False)
    result = invoke("learn", "far.csv", "--progress", "json", "--resamples=0", "--out", "out")
    told = [line for line in lines_of(result) if "warning" in line]
    assert told
    assert all({*line} == {"warning", "code", "commands"} for line in told)


def test_words_come_back_after_a_run_for_a_program(table):
    invoke("learn", table, "--progress", "json", "--out", "out")
    result = invoke("learn", "nowhere.csv", "--out", "out")
    assert result.stderr.startswith("Error: ")


def test_the_first_line_comes_before_the_work(table):
    start = time.process_time()
    with subprocess.Popen(
        [sys.executable, "-m", "edgewise", "learn", table, "--progress", "json", "--out", "out"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert json.loads(process.stderr.readline())["stage"] == "Starting"
        process.kill()
    assert time.process_time() - start < 1


def test_every_command_has_the_option():
    from typer.main import get_command

    for command in get_command(app).commands.values():
        assert any("--progress" in one.opts for one in command.params)
