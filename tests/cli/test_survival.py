"""Censored times and their events: found, said, and replaced by one column."""

import numpy as np
import pandas as pd
import pytest

from edgewise.data import martingale_residuals


@pytest.fixture
def trial():
    """A trial of 300 patients: the event comes earlier where the marker is high."""
    rng = np.random.default_rng(5)
    marker, age = rng.normal(size=300), rng.normal(60, 9, size=300)
    until = rng.exponential(np.exp(-1.2 * marker))
    watched = rng.uniform(0, 2, size=300)
    dead = until <= watched
    return pd.DataFrame(
        {
            "age": age,
            "marker": marker,
            "time": np.minimum(until, watched).round(4),
            "status": np.where(dead, 2, 1),
        }
    )


def test_it_is_found_and_the_advice_works(run, trial):
    trial.to_csv("data.csv", index=False)
    result = run("learn", "data.csv", "--resamples=0")
    assert "'time' looks like a time under observation" in result.stderr
    assert "--drop time,status" in result.stderr
    assert "`edgewise learn data.csv --resamples=0 --survival time=status`" in result.stderr
    result = run("learn", "data.csv", "--resamples=0", "--survival", "time=status")
    assert "under observation" not in result.stderr
    assert "among the 3 columns" in result.stdout
    assert "2 of 'status' counts as the event" in result.stdout
    assert "marker -- status  +" in result.stdout
    assert "age --" not in result.stdout


def test_it_is_the_martingale_residual(run, trial):
    trial.to_csv("data.csv", index=False)
    residual = martingale_residuals(trial["time"], trial["status"] == 2)
    trial.drop(columns="time").assign(status=residual).to_csv("same.csv", index=False)
    found = run("learn", "data.csv", "--resamples=0", "--survival", "time=status").stdout
    same = run("learn", "same.csv", "--resamples=0").stdout
    assert found.splitlines()[1:5] == same.splitlines()[1:5]


@pytest.mark.parametrize(
    ("column", "option", "words"),
    [
        (["alive", "dead"], "time=status", "dead of 'status' counts as the event"),
        (["here", "gone"], "time=status:gone", "gone of 'status' counts as the event"),
        ([0, 1], "time=status:0", "0 of 'status' counts as the event"),
    ],
)
def test_the_level_of_the_event(run, trial, column, option, words):
    levels = np.array(column)[trial["status"] - 1]
    trial.assign(status=levels).to_csv("data.csv", index=False)
    assert words in run("learn", "data.csv", "--resamples=0", "--survival", option).stdout


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("time", "takes TIME=EVENT"),
        ("tim=status", "Did you mean 'time'"),
        ("time=stats", "Did you mean 'status'"),
        ("time=status:3", "one of '1' and '2'"),
    ],
)
def test_what_it_cannot_use_is_named(run, trial, option, words):
    trial.to_csv("data.csv", index=False)
    assert words in run("learn", "data.csv", "--survival", option, code=2).stderr


def test_columns_are_known_before_they_are_centred(run):
    """Of matched patients, neither the event nor the ratio could be told once means are off."""
    rng = np.random.default_rng(4)
    n = 300
    height, weight = rng.normal(1.7, 0.1, n), rng.normal(75, 12, n)
    frame = pd.DataFrame(
        {
            "case.id": np.repeat(np.arange(60), 5),
            "height": height,
            "weight": weight,
            "bmi": weight / height**2,
            "futime": np.round(rng.exponential(900, n)),
            "status": rng.integers(0, 2, n),
        }
    )
    frame.to_csv("data.csv", index=False)
    result = run("learn", "data.csv", "--resamples", "0")
    assert "columns are centred within each 'case.id'" in result.stdout
    assert "--survival futime=status`" in result.stderr
    assert "'bmi' is 'weight' divided by the square of 'height'" in result.stderr
