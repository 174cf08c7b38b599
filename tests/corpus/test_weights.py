"""Weights of rows: the same ones in other clothes, and what is no weight."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from edgewise import InputError
from tests.corpus.subjects import N_ROWS, measurements
from tests.corpus.verdict import about_sentence, about_warnings
from tests.roster import ROSTER

MODELS = [entry.plain for entry in ROSTER if entry.takes_weights]
WEIGHTS = 1.0 + np.arange(N_ROWS) % 3
ALIKE = {
    "list": WEIGHTS.tolist(),
    "integers": WEIGHTS.astype(np.uint8),
    "single precision": WEIGHTS.astype(np.float32),
    "objects": np.array([Decimal(weight) for weight in WEIGHTS], dtype=object),
    "pandas": pd.Series(WEIGHTS, index=np.arange(N_ROWS)[::-1]),
    "pandas nullable": pd.Series(WEIGHTS, dtype="Float64"),
    "polars": pl.Series(WEIGHTS),
    "mask with nothing masked": np.ma.masked_array(WEIGHTS, mask=np.zeros(N_ROWS, dtype=bool)),
}


def with_entry(entry, dtype=float):
    weights = WEIGHTS.astype(dtype)
    weights[3] = entry
    return weights


BAD = {
    "too few": WEIGHTS[:-1],
    "too many": np.append(WEIGHTS, 1.0),
    "a number": 2.0,
    "a column": WEIGHTS[:, None],
    "none at all": [],
    "text": WEIGHTS.astype(str),
    "one word": with_entry("heavy", object),
    "one None": with_entry(None, object),
    "one NaN": with_entry(np.nan),
    "one inf": with_entry(np.inf),
    "one negative": with_entry(-1.0),
    "one masked": np.ma.masked_array(WEIGHTS, mask=np.arange(N_ROWS) == 3),
    "complex": WEIGHTS.astype(complex),
    "dates": np.full(N_ROWS, np.datetime64("2020-01-01")),
    "beyond floats": with_entry(10**400, object),
    "ragged": [[1.0], [1.0, 2.0]] * (N_ROWS // 2),
    "zero throughout": np.zeros(N_ROWS),
    "a dict": dict(enumerate(WEIGHTS)),
}


@pytest.mark.parametrize("name", ALIKE)
def test_equal_weights(name):
    for model in MODELS:
        expected = clone(model).fit(measurements(), sample_weight=WEIGHTS).graph_.weights
        found = clone(model).fit(measurements(), sample_weight=ALIKE[name]).graph_.weights
        np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("name", BAD)
def test_bad_weights(name):
    for model in MODELS:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            with pytest.raises(InputError, match="sample_weight") as refusal:
                clone(model).fit(measurements(), sample_weight=BAD[name])
        assert not about_warnings(heard)
        assert not about_sentence(str(refusal.value))
