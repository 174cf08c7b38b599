"""Columns that are no variables: found by name and content, and censored times made into one."""

import numpy as np
import pytest

from edgewise._core.errors import InputError
from edgewise.data.roles import days_of, find_survival, is_label, martingale_residuals, set_apart
from tests.messages import raises


def text(values):
    return np.array(list(values), dtype=object)


@pytest.mark.parametrize("name", ["id", "case.id", "PatientID", "subject", "participant"])
def test_labels_that_several_rows_share(name):
    assert is_label(name, np.repeat(np.arange(40), 2))
    assert is_label(name, np.append(np.repeat(np.arange(40.0), 2), np.nan))
    assert is_label(name, text(f"p{k // 3}" for k in range(90)))
    assert not is_label(name, np.arange(80) % 4)
    assert not is_label(name, np.linspace(0, 1, 80))


def test_what_is_called_otherwise_is_no_label():
    for name in ("age", "acid", "paid", "grid", "sample", "record"):
        assert not is_label(name, np.arange(80))


def found_in(**columns):
    return {one.kind: one.columns for one in set_apart(columns)}


@pytest.mark.parametrize("name", ["Pat-Nr", "Fallnummer", "lfd. Nr.", "Case No", "MRN", "nr"])
def test_numbers_of_patients(name):
    numbers = np.random.default_rng(0).permutation(np.arange(1000, 1900, 10))
    values = np.random.default_rng(1).normal(size=90)
    (found,) = set_apart({name: numbers, "a": values}, first=name)
    assert found.columns == (name,)


def test_a_first_column_that_counts_rows_is_no_variable_unless_it_is_time():
    values = np.random.default_rng(1).normal(size=90)
    for name, column, n_found in (
        ("Pat", np.arange(1, 91), 1),
        ("week", np.arange(1, 91), 0),
        ("year", np.arange(1901, 1991), 0),
        ("age", np.arange(90) ** 2, 0),
    ):
        assert len(set_apart({name: column, "a": values}, first=name)) == n_found
        assert not set_apart({name: column, "a": values}, first="b")


def test_numbers_and_texts_stay():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 3, 60)
    assert not found_in(
        a=rng.normal(size=60),
        b=np.arange(60),
        c=text(np.array(["x", "y", "z"])[levels]),
        d=(levels + rng.integers(0, 2, 60)) % 3,
        e=text(f"{k},5" for k in range(60)),
        f=np.where(rng.random(60) < 0.1, np.nan, rng.normal(size=60)),
    )


def test_constants_and_copies():
    rng = np.random.default_rng(0)
    a, sex = rng.normal(size=60), rng.integers(0, 2, 60)
    assert found_in(
        a=a,
        pounds=2.2046 * a + 3,
        sex=text(np.array(["f", "m"])[sex]),
        male=sex,
        one=np.ones(60),
        none=np.full(60, np.nan),
        other=rng.normal(size=60),
    ) == {"constant": ("none",), "copies": ("pounds", "male")} | {"constant": ("none",)}
    assert "constant" in found_in(one=np.ones(60), a=a)


def test_dates_become_days():
    assert found_in(day=text(["2024-01-05", "2024-02-01"] * 10)) == {"dates": ("day",)}
    np.testing.assert_array_equal(
        days_of(text(["05.01.2024", None, "01.02.2024"])), [0, np.nan, 27]
    )
    np.testing.assert_array_equal(days_of(text(["1/25/2024", "2/1/2024"])), [0, 7])


def test_survival_pairs_are_by_the_first_letter_else_plain_times():
    rng = np.random.default_rng(0)
    time, event = rng.exponential(size=90), rng.integers(0, 2, 90)
    pairs = find_survival(
        {"ptime": time, "pstat": event, "futime": time + 1, "death": 1 - event, "age": time + 30}
    )
    assert pairs == {"ptime": "pstat", "futime": "death"}
    assert find_survival({"pctime": time, "futime": time, "death": event}) == {"futime": "death"}
    assert not find_survival({"time": time, "smoking status": event})
    assert not find_survival({"reaction": time, "status": event})


def test_martingale_residuals_of_a_table_of_risk():
    # Of five rows: deaths at 2 (of 5), at 4 (two of 3) and at 9 (of 1); censored at 3.
    time, event = [4.0, 2.0, 3.0, 9.0, 4.0], [1, 1, 0, 1, 1]
    at_2, at_4, at_9 = 1 / 5, 1 / 5 + 2 / 3, 1 / 5 + 2 / 3 + 1
    expected = [1 - at_4, 1 - at_2, 0 - at_2, 1 - at_9, 1 - at_4]
    found = martingale_residuals(time, event)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.sum() == pytest.approx(0.0)
    gaps = martingale_residuals([*time, np.nan], [*event, 1])
    np.testing.assert_allclose(gaps[:5], expected)
    assert np.isnan(gaps[5])


def test_martingale_residuals_refuse_what_they_cannot_use():
    with raises(InputError, code="event_not_binary"):
        martingale_residuals([1.0, 2.0], [1, 2])
    with raises(InputError, code="negative_time"):
        martingale_residuals([-1.0, 2.0], [1, 0])
    with raises(InputError, code="survival_shapes", shape=[2], shape2=[1]):
        martingale_residuals([1.0, 2.0], [1])
