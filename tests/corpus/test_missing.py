"""Missing values in every form there is: whoever takes them must treat all forms alike."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.corpus.representations import NAMES, frame_of
from tests.corpus.subjects import subjects_of
from tests.corpus.verdict import quietly, signature
from tests.guarantees import assert_guarantees
from tests.roster import cases

GAPS = (np.array([1, 5, 9, 2, 5]), np.array([1, 1, 1, 3, 3]))


def with_gaps(values, gap=np.nan, dtype=float):
    values = values.astype(dtype)
    values[GAPS] = gap
    return values


def masked(values):
    # What lies below a mask is no value, whatever it is.
    return np.ma.masked_array(with_gaps(values, 1e6), mask=np.isnan(with_gaps(values)))


def polars_nulls(values):
    return pl.DataFrame(with_gaps(values, None, object).tolist(), schema=NAMES, orient="row")


FORMS = {
    "masked": masked,
    "None": lambda values: with_gaps(values, None, object),
    "None in lists": lambda values: with_gaps(values, None, object).tolist(),
    "pandas.NA among objects": lambda values: with_gaps(values, pd.NA, object),
    "pandas.NaT among objects": lambda values: with_gaps(values, pd.NaT, object),
    "single precision": lambda values: with_gaps(values).astype(np.float32),
    "pandas": lambda values: frame_of(with_gaps(values)),
    "pandas objects": lambda values: frame_of(with_gaps(values, None, object)),
    "pandas nullable": lambda values: frame_of(with_gaps(values)).astype("Float64"),
    "pandas of arrow": lambda values: frame_of(with_gaps(values)).astype("double[pyarrow]"),
    "polars NaN": lambda values: pl.DataFrame(with_gaps(values), schema=NAMES),
    "polars nulls": polars_nulls,
    "arrow nulls": lambda values: pa.Table.from_pandas(frame_of(with_gaps(values))),
}
SUBJECTS = [subject for entry, model in cases("gaps") for subject in subjects_of(entry, model)]


def learned(subject, table):
    model = quietly(lambda: subject.fit(table))
    assert_guarantees(model)
    return quietly(lambda: signature(model, subject, table))


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_missing_values(form):
    for subject in SUBJECTS:
        expected = learned(subject, with_gaps(subject.clean()))
        found = learned(subject, FORMS[form](subject.clean()))
        for name, value in expected.items():
            message = f"{subject.name}: {name}"
            np.testing.assert_allclose(found[name], value, rtol=1e-8, atol=1e-8, err_msg=message)


def test_missing_values_do_matter():
    for subject in SUBJECTS:
        complete = learned(subject, subject.clean())
        gappy = learned(subject, with_gaps(subject.clean()))
        assert not all(np.allclose(gappy[name], complete[name]) for name in complete), subject.name
