"""Level numbers that do not fit: into their type, their number of levels, or the memory."""

import warnings

import numpy as np
import pandas as pd
import pytest

from edgewise import DiscreteMarkovNet, InputError
from tests.corpus.representations import frame_of
from tests.corpus.subjects import levels
from tests.corpus.verdict import about_sentence, about_warnings

TOP, TOP_UNSIGNED = np.iinfo(np.int64).max, np.iinfo(np.uint64).max


def codes_with(entry, dtype):
    codes = levels().astype(dtype)
    codes[3, 1] = entry
    return codes


CODES = {
    "a level too high": codes_with(3, int),
    "a level too high in bytes": codes_with(3, np.uint8),
    "a negative level": codes_with(-1, np.int8),
    "the largest integer": codes_with(TOP, np.int64),
    "the smallest integer": codes_with(-TOP - 1, np.int64),
    "the largest unsigned integer": codes_with(TOP_UNSIGNED, np.uint64),
    "an integer beyond 64 bits": codes_with(2**100, object),
    "an integer beyond floats": codes_with(10**400, object),
    "a float beyond integers": codes_with(2.0**63, float),
    "the largest float": codes_with(np.finfo(float).max, float),
    "an infinite level": codes_with(np.inf, float),
    "half a level": codes_with(0.5, float),
    "a missing level": codes_with(np.nan, float),
    "a level in words": codes_with("two", object),
    "a date": frame_of(levels()).assign(dose=pd.Timestamp("2020-01-01")),
}
CARDINALITIES = {
    "none": 0,
    "negative": -3,
    "more than memory holds": 2**40,
    "the largest integer": TOP,
    "the largest unsigned integer": np.array([3, 3, 3, TOP_UNSIGNED], dtype=np.uint64),
    "beyond 64 bits": 2**100,
    "a fraction": 2.5,
    "text": "3",
    "infinite": np.inf,
    "too few": [3, 3, 3],
    "too many": [3, 3, 3, 3, 3],
    "one for each entry": np.full((40, 4), 3),
    "ragged": [[3], [3, 3], 3, 3],
    "too small": [3, 2, 3, 3],
}


def sentence(model, X):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(InputError) as refusal:
            model.fit(X)
    assert not about_warnings(heard)
    assert not about_sentence(str(refusal.value))
    return str(refusal.value)


@pytest.mark.parametrize("name", CODES)
def test_codes_that_are_no_levels(name):
    said = sentence(DiscreteMarkovNet(cardinalities=3), CODES[name])
    assert "'x1'" in said or "'dose'" in said


@pytest.mark.parametrize("name", CARDINALITIES)
def test_cardinalities_that_make_no_sense(name):
    said = sentence(DiscreteMarkovNet(cardinalities=CARDINALITIES[name]), levels().astype(int))
    assert "cardinalities" in said


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.uint64, float, object, bool])
def test_codes_of_any_type_are_the_same_levels(dtype):
    codes = np.minimum(levels(), 1)
    expected = DiscreteMarkovNet(cardinalities=2).fit(codes.astype(np.uint8)).graph_.weights
    found = DiscreteMarkovNet(cardinalities=2).fit(codes.astype(dtype)).graph_.weights
    np.testing.assert_array_equal(found, expected)


def test_labels_that_floats_cannot_tell_apart():
    table = levels().astype(np.int64)
    table[:, 1] += 2**60
    assert "'x1'" in sentence(DiscreteMarkovNet(), table)
    # As text they are labels like any other.
    text = DiscreteMarkovNet().fit(table.astype(str)).support_
    np.testing.assert_array_equal(text, DiscreteMarkovNet().fit(levels()).support_)
