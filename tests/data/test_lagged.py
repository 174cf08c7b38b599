"""Rows that follow each other: never across series or gaps, and never in disorder."""

import numpy as np
import pandas as pd
import pytest

from edgewise import InputError
from edgewise.data.lagged import lagged_rows, times


def test_pairs_stay_within_person_and_day():
    series = pd.DataFrame({"person": list("aaaabbbb"), "day": [1, 1, 2, 2, 1, 1, 1, 2]})
    found = lagged_rows(8, 1, series=series)
    assert found.now.tolist() == [1, 3, 5, 6]
    assert found.past[0].tolist() == [0, 2, 4, 5]
    assert (found.n_units, found.n_series, found.n_starts) == (2, 4, 4)


def test_rows_of_series_may_be_interleaved():
    found = lagged_rows(6, 1, series=list("ababab"))
    assert sorted(zip(found.now.tolist(), found.past[0].tolist(), strict=True)) == [
        (2, 0), (3, 1), (4, 2), (5, 3),
    ]  # fmt: skip


def test_pairs_stay_off_gaps_and_missing_rows():
    is_complete = np.array([True, True, True, True, True, False, True, True])
    found = lagged_rows(8, 2, time=[1, 2, 3, 5, 6, 7, 8, 9], is_complete=is_complete)
    assert found.now.tolist() == [2]
    assert found.past[:, 0].tolist() == [1, 0]
    assert (found.n_starts, found.n_gaps, found.n_incomplete) == (2, 2, 3)
    assert found.further.tolist() == [-1]


@pytest.mark.parametrize(
    "time",
    [
        pd.date_range("2020-01-31", periods=30, freq="ME"),
        pd.Series(pd.period_range("2000Q1", periods=30, freq="Q")),
        [f"{2000 + k // 4}Q{k % 4 + 1}" for k in range(30)],
        [f"{1990 + k}" for k in range(30)],
        1991.496 + np.arange(30) / 260,
        pd.date_range("2024-03-30", periods=30, freq="h", tz="Europe/Berlin"),
    ],
)
def test_months_quarters_years_and_time_zones_are_steps(time):
    assert lagged_rows(30, 1, time=time).n_pairs == 29


def test_offsets_of_time_zones_are_taken_into_one():
    found = times(["2024-03-31T01:30:00+01:00", "2024-03-31T03:30:00+02:00"], 2)
    assert found[1] * 24 == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("time_repeated", {"time": [1, 2, 2, 3]}),
        ("time_unsorted", {"time": [1, 2, 1, 2]}),
        ("time_missing", {"time": [1, 2, np.nan, 3]}),
        ("time_missing", {"time": [1, 2, np.inf, 3]}),
        ("not_a_time", {"time": ["morning", "noon", "evening", "night"]}),
        ("time_shape", {"time": [1, 2, 3]}),
        ("unequal_steps", {"time": [0.0, 1.0, 1.7, 3.2]}),
        ("series_missing", {"series": ["a", None, "a", "b"]}),
        ("series_shape", {"series": ["a", "b"]}),
    ],
)
def test_what_has_no_order_is_refused(code, options):
    with pytest.raises(InputError) as caught:
        lagged_rows(4, 1, **options)
    assert caught.value.code == code


def test_rows_are_named():
    with pytest.raises(InputError, match=r"rows 3 and 5"):
        lagged_rows(5, 1, time=[1, 2, 2, 3, 3])
