"""Whether counts of chunks are those of all rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError
from edgewise.io import read_chunks
from edgewise.stats import stream_counts
from edgewise.stats.counts import Counts
from tests.messages import raises


def survey(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "city": rng.choice(["Ulm", "Bonn", "Aachen"], n),
            "smokes": rng.random(n) < 0.3,
            "children": rng.choice([0, 1, 2, 5], n),
        }
    )


def assert_counts_of(found, frame):
    """Compare with pandas, cell by cell."""
    expected = frame.value_counts()
    assert found.n_samples == len(frame)
    assert len(found.states) == len(expected)
    for state, count in zip(found.states.tolist(), found.counts.tolist(), strict=True):
        key = tuple(levels[code] for levels, code in zip(found.levels, state, strict=True))
        assert expected[key] == count
    for first in frame.columns:
        for second in frame.columns.drop(first):
            np.testing.assert_array_equal(
                found.table(first, second), pd.crosstab(frame[first], frame[second])
            )


@pytest.mark.slow
@settings(max_examples=15)
@given(sizes=st.lists(st.integers(0, 90), min_size=1, max_size=40), seed=st.integers(0, 99))
def test_any_chunking_and_order(sizes, seed):
    frame = survey(sum(sizes) + 60, seed)
    parts = np.split(np.arange(len(frame)), np.cumsum(sizes))
    found = stream_counts(frame.iloc[rows] for rows in parts)
    assert_counts_of(found, frame)
    backwards = stream_counts(frame.iloc[rows] for rows in reversed(parts))
    whole = Counts.from_samples(frame)
    for other in (backwards, whole):
        assert other.levels == found.levels
        np.testing.assert_array_equal(other.states, found.states)
        np.testing.assert_array_equal(other.counts, found.counts)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files(tmp_path, suffix):
    frame, path = survey(), tmp_path / f"survey{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    assert_counts_of(stream_counts(read_chunks(path, rows=13)), frame)
    few = stream_counts(read_chunks(path, rows=13, columns=["city"]))
    assert few.table("city").tolist() == frame["city"].value_counts().sort_index().tolist()


def test_levels_of_all_chunks():
    parts = [pd.DataFrame({"a": [3, 3]}), pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1.5]})]
    found = stream_counts(parts)
    assert found.levels == ((1.0, 1.5, 2.0, 3.0),)
    assert found.table("a").tolist() == [1, 1, 1, 2]
    declared = [
        pd.DataFrame({"a": pd.Categorical([level], categories=["low", "mid", "high"])})
        for level in ("high", "low")
    ]
    found = stream_counts(declared)
    assert found.levels == (("low", "mid", "high"),)
    assert found.table("a").tolist() == [1, 0, 1]
    other = pd.DataFrame({"a": pd.Categorical(["mid"], categories=["mid", "high"])})
    with raises(InputError, code="chunk_categories_differ"):
        stream_counts([*declared, other])
    with raises(InputError, code="chunk_text_and_numbers"):
        stream_counts([parts[0], pd.DataFrame({"a": ["x"]})])


def test_more_states_than_integers_can_number():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(40, 60))
    rows = X[rng.integers(0, 40, size=500)]
    found = stream_counts([rows[:100], rows[100:]])
    expected, times = np.unique(rows, axis=0, return_counts=True)
    np.testing.assert_array_equal(found.states, expected)
    np.testing.assert_array_equal(found.counts, times)
    assert found.names is None
    assert found.table(0, "x59").sum() == 500
    with raises(
        InputError, code="contingency_too_large", n_places=60, n_sites=42391158275216203514294433201
    ):
        found.table(*range(60))


def test_limits():
    labelled = pd.DataFrame({"smokes": [0, 1] * 2**15, "label": np.arange(2**16)})
    assert stream_counts([labelled]).table("smokes").tolist() == [2**15] * 2
    one_more = pd.DataFrame({"smokes": [1], "label": [-1]})
    with raises(InputError, code="too_many_levels", many=["label"], most_levels=65536):
        stream_counts([labelled, one_more])
    found = stream_counts([survey()])
    parts = found.states, found.counts, found.levels, found.names
    assert Counts._distinct(*parts).names == found.names
    with raises(InputError, code="too_many_distinct_rows", n_states=24):
        Counts._distinct(*parts, most_bytes=20)


def test_bad_input():
    frame = survey()
    gap = frame.assign(city=frame["city"].where(frame.index != 150))
    with raises(InputError, code="chunk_value_not_finite", name="city"):
        stream_counts([gap[:100], gap[100:]])
    with raises(InputError, code="chunk_value_not_finite", name="children"):
        stream_counts([frame.assign(children=np.inf)])
    found = Counts.from_samples(frame)
    with raises(InputError, code="counts_do_not_merge"):
        found.merge(Counts.from_samples(frame[["smokes"]]))
    with raises(
        InputError, code="unknown_column", column="town", labels=["city", "smokes", "children"]
    ):
        found.table("town")
    with raises(InputError, code="contingency_too_large", n_places=0, n_sites=1):
        found.table()
