"""Tables that hold something else than numbers; levels and covariates may be anything."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from tests.corpus.case import FITS, Collection, refused
from tests.corpus.faults import with_entry
from tests.corpus.representations import NAMES, frame_of

OTHER_TYPES = Collection()
#: A level of its own for every row leaves nothing to a regression.
TOO_MANY = refused("exactly")


@OTHER_TYPES.add(refused("omplex"))
def complex_numbers(values):
    return values + 1j * values


@OTHER_TYPES.add(
    refused("'dose'", "text"),
    covariates=FITS,
    ConditionalGraph_X=TOO_MANY,
    levels=FITS,
)
def column_of_dates(values):
    return frame_of(values).assign(dose=pd.date_range("2020-01-01", periods=len(values)))


@OTHER_TYPES.add(
    refused("'dose'", "text"),
    covariates=FITS,
    ConditionalGraph_X=TOO_MANY,
    levels=FITS,
)
def column_of_durations(values):
    return frame_of(values).assign(dose=pd.to_timedelta(values[:, 1], unit="h"))


@OTHER_TYPES.add(refused("'x0'", "text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS)
def array_of_dates(values):
    return (values * 64).astype("datetime64[D]")


@OTHER_TYPES.add(refused("'x0'", "text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS)
def array_of_durations(values):
    return (values * 64).astype("timedelta64[s]")


@OTHER_TYPES.add(refused("'x1'", "text"), covariates=FITS, levels=FITS)
def python_dates_among_objects(values):
    return with_entry(values.astype(object), datetime.date(2020, 1, 1), slice(None))


@OTHER_TYPES.add(refused("'x1'", "text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS)
def one_word_among_numbers(values):
    return with_entry(values.astype(object), "n/a")


@OTHER_TYPES.add(
    refused("'dose'", "text"),
    covariates=FITS,
    ConditionalGraph_X=TOO_MANY,
    levels=FITS,
)
def one_word_in_a_frame(values):
    return frame_of(with_entry(values.astype(object), "n/a"))


@OTHER_TYPES.add(refused("text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS)
def numbers_written_as_text(values):
    return np.array([[f"{x:g}" for x in row] for row in values.tolist()])


@OTHER_TYPES.add(refused("text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS)
def numbers_written_as_text_in_a_frame(values):
    return frame_of(np.array([[f"{x:g}" for x in row] for row in values.tolist()], dtype=object))


@OTHER_TYPES.add(refused("text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS)
def pandas_strings(values):
    return frame_of(values).map("{:g}".format).astype("string")


@OTHER_TYPES.add(refused("text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS)
def bytes_for_numbers(values):
    return np.array([[f"{x:g}".encode() for x in row] for row in values.tolist()])


@OTHER_TYPES.add(refused("text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS)
def pandas_categories(values):
    return frame_of(values).astype("category")


@OTHER_TYPES.add(refused("text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS)
def pandas_ordered_categories(values):
    return frame_of(values).apply(lambda column: pd.Categorical(column, ordered=True))


@OTHER_TYPES.add(refused("text"), covariates=FITS, levels=FITS)
def pandas_intervals(values):
    # Each level of the clean table lies in an interval of its own.
    return frame_of(values).apply(lambda column: pd.cut(column, [-9.0, 0.5, 1.5, 9.0]))


@OTHER_TYPES.add(refused("text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS)
def pandas_dictionary_of_arrow(values):
    text = frame_of(values).map("{:g}".format)
    return text.astype(pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))


@OTHER_TYPES.add(
    refused("'dose'", "text"), covariates=FITS, ConditionalGraph_X=TOO_MANY, levels=FITS
)
def pandas_periods(values):
    return frame_of(values).assign(dose=pd.period_range("2020", periods=len(values), freq="D"))


@OTHER_TYPES.add(refused("'dose'", "list"))
def polars_lists(values):
    return pl.DataFrame(values, schema=NAMES).with_columns(dose=pl.concat_list("age", "gene3"))


@OTHER_TYPES.add(refused("'dose'", "dict"))
def polars_structs(values):
    return pl.DataFrame(values, schema=NAMES).with_columns(dose=pl.struct("age", "gene3"))


@OTHER_TYPES.add(
    refused("'x3'", "text"),
    covariates=refused("'x3'", "missing"),
    levels=refused("'x3'", "missing"),
)
def all_kinds_of_objects(values):
    kinds = [1, 2.5, "three", None, True, datetime.date(2020, 1, 1), b"six", (7,)]
    return np.array([[*row[:3], kinds[k % 8]] for k, row in enumerate(values)], dtype=object)


@OTHER_TYPES.add(refused("'x1'", "list"))
def lists_in_the_cells(values):
    table = values.astype(object)
    for k in range(len(table)):
        table[k, 1] = [1, 2]
    return table


@OTHER_TYPES.add(refused("'x0'", "dict"))
def dicts_in_the_cells(values):
    return with_entry(values.astype(object), {"foo": "bar"}, 0, 0)


#: A table of several kinds has a place for text, though not for one level per row.
WITH_KINDS = {
    **dict.fromkeys(
        ["column_of_dates", "array_of_dates", "python_dates_among_objects", "pandas_periods"],
        refused("dates"),
    ),
    **dict.fromkeys(["pandas_ordered_categories", "pandas_intervals"], FITS),
    "all_kinds_of_objects": refused("missing"),
}
for case in OTHER_TYPES:
    if "text" in case.outcome.says:
        for name in ("MixedGraph", "DirectedGraph"):
            case.but[name] = WITH_KINDS.get(case.name, refused("levels in 40 rows"))
