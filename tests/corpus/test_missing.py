"""Missing values in every form there is: whoever takes them must treat all forms alike."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from edgewise import (
    BlanketBayesNet,
    BootstrapGraph,
    DiscreteMarkovNet,
    GaussianBayesNet,
    GaussianGraph,
    LocallyConstantGraph,
    NeighborhoodGraph,
)
from tests.corpus.representations import NAMES, frame_of
from tests.corpus.roster import Subject, of_rows
from tests.corpus.verdict import quietly, signature

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
SUBJECTS = [
    of_rows(lambda: GaussianGraph(0.1, missing="pairwise")),
    of_rows(lambda: GaussianGraph(0.1, missing="em")),
    of_rows(lambda: GaussianGraph(0.1, covariance="nonparanormal", missing="pairwise")),
    of_rows(lambda: NeighborhoodGraph(0.1, missing="em")),
    of_rows(lambda: LocallyConstantGraph(0.1, 0.05, missing="pairwise")),
    of_rows(lambda: GaussianBayesNet(0.1, missing="em")),
    of_rows(lambda: BlanketBayesNet(missing="em")),
    of_rows(
        lambda: BootstrapGraph(
            GaussianGraph(0.1, missing="pairwise"), n_resamples=3, random_state=0
        )
    ),
    Subject(
        "DiscreteMarkovNet", "levels", lambda table: DiscreteMarkovNet(missing="drop").fit(table)
    ),
]


def learned(subject, table):
    return quietly(lambda: signature(subject.fit(table), subject, table))


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
