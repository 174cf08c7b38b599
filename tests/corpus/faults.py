"""Tables of numbers that nothing can be learned from, and what must be said about them."""

import numpy as np
import polars as pl

from tests.corpus.case import FITS, SAME, Collection, refused
from tests.corpus.representations import NAMES, frame_of

FAULTS = Collection()


def with_entry(values, entry, row=3, column=1):
    values[row, column] = entry
    return values


@FAULTS.add(refused("'x1'"))
def one_nan(values):
    return with_entry(values, np.nan)


@FAULTS.add(refused("'dose'"))
def one_nan_in_a_frame(values):
    return frame_of(with_entry(values, np.nan))


@FAULTS.add(refused("'x1'"))
def a_column_of_nan(values):
    return with_entry(values, np.nan, slice(None))


@FAULTS.add(refused("NaN"), responses=refused("missing"), covariates=refused("missing"))
def nothing_but_nan(values):
    return np.full_like(values, np.nan)


@FAULTS.add(refused("'x1'", "infinite"))
def one_inf(values):
    return with_entry(values, np.inf)


@FAULTS.add(refused("'x1'", "infinite"))
def one_minus_inf(values):
    return with_entry(values, -np.inf)


@FAULTS.add(refused("'x1'"))
def none_among_objects(values):
    return with_entry(values.astype(object), None)


@FAULTS.add(refused("'dose'"))
def none_in_a_pandas_column(values):
    return frame_of(with_entry(values.astype(object), None))


@FAULTS.add(refused("'dose'"))
def missing_in_pandas_nullable_floats(values):
    return frame_of(with_entry(values, np.nan)).astype("Float64")


@FAULTS.add(refused("'dose'"))
def missing_in_pandas_of_arrow(values):
    return frame_of(with_entry(values, np.nan)).astype("double[pyarrow]")


@FAULTS.add(refused("'dose'"))
def missing_in_polars(values):
    frame = pl.DataFrame(values, schema=NAMES)
    return frame.with_columns(pl.when(pl.col("age") != pl.lit(values[0, 0])).then(pl.col("dose")))


@FAULTS.add(refused("'x1'"))
def masked_entry(values):
    mask = np.zeros(values.shape, dtype=bool)
    mask[3, 1] = True
    return np.ma.masked_array(values, mask=mask)


@FAULTS.add(refused("0 rows"))
def nothing_at_all(values):
    return np.empty((0, 0))


@FAULTS.add(refused("two dimensions"))
def empty_list(values):
    return []


@FAULTS.add(refused("0 rows"))
def no_rows(values):
    return values[:0]


@FAULTS.add(refused("0 rows"))
def a_frame_without_rows(values):
    return frame_of(values[:0])


@FAULTS.add(refused("40 rows and 0 columns"))
def no_columns(values):
    return values[:, :0]


@FAULTS.add(refused("40 rows and 0 columns"))
def a_frame_without_columns(values):
    return frame_of(values)[[]]


@FAULTS.add(refused("1 sample"), levels=FITS)
def one_row(values):
    return values[:1]


@FAULTS.add(refused("'x1'", "one value"), covariates=FITS, levels=FITS)
def constant_column(values):
    return with_entry(values, 7.0, slice(None))


@FAULTS.add(refused("one value"), covariates=FITS, levels=FITS)
def all_columns_constant(values):
    return np.full_like(values, 2.0)


@FAULTS.add(refused("'x1'"), covariates=FITS, levels=FITS)
def constant_up_to_rounding(values):
    values[:, 1] = 1e9 * (1 + np.finfo(float).eps * (np.arange(len(values)) % 2))
    return values


@FAULTS.add(
    refused("'x0' and 'x2' are identical"),
    covariates=FITS,
    levels=FITS,
    classes=FITS,
    groups=FITS,
    FusedNetworkChange=refused("'x0' and 'x2' are identical", "alpha"),
)
def a_column_twice(values):
    values[:, 2] = values[:, 0]
    return values


@FAULTS.add(
    refused("'age' and 'gene3' are identical"),
    covariates=FITS,
    levels=FITS,
    classes=FITS,
    groups=FITS,
    FusedNetworkChange=refused("'age' and 'gene3' are identical", "alpha"),
)
def a_column_twice_in_a_frame(values):
    values[:, 2] = values[:, 0]
    return frame_of(values)


@FAULTS.add(refused("'x1'", "squares overflow"), levels=SAME)
def beyond_squares(values):
    values[:, 1] *= 1e300
    return values


@FAULTS.add(refused("squares overflow"), levels=FITS)
def largest_floats(values):
    return np.where(values > 0, 1.0, -1.0) * np.finfo(float).max * (1 - np.abs(values) / 64)


@FAULTS.add(
    refused("looks like a covariance matrix"),
    responses=FITS,
    KernelGraph=refused("min_samples"),
    covariates=FITS,
    KernelGraph_X=refused("min_samples"),
    ConditionalGraph_X=refused("exactly"),
    levels=refused("measurements"),
)
def a_covariance_matrix(values):
    return np.cov(values.T)
