"""Climate tables as anomalies, against sums worked out afresh."""

import numpy as np
import pytest

from edgewise import InputError
from edgewise.data import load_climate, load_table
from tests.messages import raises


@pytest.fixture(scope="module")
def daily():
    return load_climate()


def test_the_season_is_gone(daily):
    day = daily.covariates["doy"].to_numpy()
    rows = daily.site == 7
    anomalies = daily.responses.to_numpy()[rows]
    for wave in (1, 2):
        angle = 2 * np.pi * wave * day[rows] / 365
        np.testing.assert_allclose(np.cos(angle) @ anomalies, 0, atol=1e-8)
        np.testing.assert_allclose(np.sin(angle) @ anomalies, 0, atol=1e-8)
    np.testing.assert_allclose(anomalies.mean(axis=0), 0, atol=1e-10)


def test_variances_are_one_at_each_place_if_asked(daily):
    by_place = daily.responses.groupby(daily.site).std(ddof=0)
    np.testing.assert_allclose(by_place, 1.0)
    plain = load_climate(unit_variance=False)
    by_place = plain.responses.groupby(plain.site).std(ddof=0)
    assert by_place["TMP"].max() > 2 * by_place["TMP"].min()
    ratio = plain.responses["TMP"] / daily.responses["TMP"]
    assert ratio[daily.site == 3].std() < 1e-9


def test_skewed_variables_are_logarithms():
    raw = load_table("tmy3-daily").frame.dropna()
    plain = load_climate(unit_variance=False)
    logs = np.log(raw["WND"].to_numpy())[plain.site == 0]
    day = plain.covariates["doy"].to_numpy()[plain.site == 0]
    angle = 2 * np.pi * day / 365
    design = np.column_stack(
        [np.ones(len(day)), *(f(k * angle) for f in (np.cos, np.sin) for k in (1, 2))]
    )
    expected = logs - design @ np.linalg.solve(design.T @ design, design.T @ logs)
    np.testing.assert_allclose(plain.responses["WND"][plain.site == 0], expected, atol=1e-9)


def test_rows_are_held_out_by_weeks(daily):
    day = daily.covariates["doy"].to_numpy()
    assert daily.is_validation[day <= 7].all()
    assert not daily.is_validation[(day > 7) & (day <= 14)].any()


def test_months_of_the_grid():
    grid = load_climate("nasa-atmos", unit_variance=False)
    raw = load_table("nasa-atmos").frame.dropna().reset_index(drop=True)
    by_month = raw.groupby(["lat", "lon", "month"])["ozone"].transform("mean")
    np.testing.assert_allclose(grid.responses["ozone"], raw["ozone"] - by_month, atol=1e-9)
    assert "pressure" not in grid.responses
    np.testing.assert_array_equal(grid.is_validation, raw["year"] % 2 == 1)


def test_without_anomalies_the_table_is_as_it_came():
    climate = load_climate(anomalies=False)
    raw = load_table("tmy3-daily")
    assert list(climate.responses) == list(raw.responses)
    np.testing.assert_array_equal(climate.responses["VIS"], raw.frame["VIS"].dropna())
    assert len(climate.treatment) == 1
    assert "NREL" in climate.origin
    assert climate.licence


def test_unknown_table():
    with raises(
        InputError, code="unknown_climate_table", name="tmy2", recipes=["tmy3-daily", "nasa-atmos"]
    ):
        load_climate("tmy2")
