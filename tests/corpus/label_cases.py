"""Labels of rows: the same two groups in other clothes, and labels that make no two groups."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

from tests.corpus.case import FITS, SAME, Collection, refused

LABELS = Collection()
TWO = np.array(["after", "before"])


def numbers(labels):
    return (np.asarray(labels) == "before").astype(int)


@LABELS.add(SAME)
def list_of_text(table, labels):
    return table, labels.tolist()


@LABELS.add(SAME)
def tuple_of_text(table, labels):
    return table, tuple(labels.tolist())


@LABELS.add(SAME)
def objects(table, labels):
    return table, labels.astype(object)


@LABELS.add(SAME)
def read_only_labels(table, labels):
    labels.setflags(write=False)
    return table, labels


@LABELS.add(SAME)
def every_other_label(table, labels):
    return table, np.repeat(labels, 2)[::2]


@LABELS.add(SAME)
def pandas_series_with_an_index_of_its_own(table, labels):
    return table, pd.Series(labels, index=np.arange(len(labels))[::-1] + 7)


@LABELS.add(SAME)
def pandas_strings(table, labels):
    return table, pd.Series(labels, dtype="string")


@LABELS.add(SAME)
def pandas_categories(table, labels):
    return table, pd.Series(labels, dtype="category")


@LABELS.add(SAME)
def pandas_categories_with_one_unused(table, labels):
    return table, pd.Categorical(labels, categories=["after", "never", "before"])


@LABELS.add(SAME)
def polars_series(table, labels):
    return table, pl.Series(labels)


@LABELS.add(SAME)
def polars_categories(table, labels):
    return table, pl.Series(labels).cast(pl.Categorical)


@LABELS.add(SAME)
def polars_enumeration(table, labels):
    return table, pl.Series(labels).cast(pl.Enum(TWO.tolist()))


@LABELS.add(SAME)
def arrow_array(table, labels):
    return table, pa.array(labels.tolist())


@LABELS.add(SAME)
def masked_labels_with_nothing_masked(table, labels):
    return table, np.ma.masked_array(labels, mask=np.zeros(len(labels), dtype=bool))


@LABELS.add(SAME)
def integers(table, labels):
    return table, numbers(labels)


@LABELS.add(SAME)
def minus_one_and_one(table, labels):
    return table, 2 * numbers(labels) - 1


@LABELS.add(SAME)
def small_unsigned_integers(table, labels):
    return table, numbers(labels).astype(np.uint8)


@LABELS.add(SAME)
def whole_floats(table, labels):
    return table, numbers(labels).astype(float)


@LABELS.add(SAME)
def single_precision(table, labels):
    return table, numbers(labels).astype(np.float32)


@LABELS.add(SAME)
def booleans(table, labels):
    return table, labels == "before"


@LABELS.add(SAME)
def pandas_nullable_integers(table, labels):
    return table, pd.Series(numbers(labels), dtype="Int64")


@LABELS.add(SAME)
def pandas_nullable_booleans(table, labels):
    return table, pd.Series(labels == "before", dtype="boolean")


@LABELS.add(SAME)
def integers_beyond_64_bits(table, labels):
    return table, np.array([10**30 + k for k in numbers(labels).tolist()], dtype=object)


@LABELS.add(SAME)
def dates(table, labels):
    days = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]
    return table, [days[k] for k in numbers(labels)]


@LABELS.add(SAME)
def long_and_strange_text(table, labels):
    return table, np.array(["<b>&" * 75, "\n\t{0}%s"])[1 - numbers(labels)]


@LABELS.add(SAME, groups=refused("its shape is (40, 1)"), BootstrapGraph=refused("(40, 1)"))
def a_column_of_labels(table, labels):
    return table, labels[:, None]


@LABELS.add(refused("one label for each of the 40 rows", "(40, 2)"))
def two_columns_of_labels(table, labels):
    return table, np.stack([labels, labels], axis=1)


@LABELS.add(refused("y", "None"))
def no_labels(table, labels):
    return table, None


@LABELS.add(refused("shape is (0,)"))
def an_empty_list(table, labels):
    return table, []


@LABELS.add(refused("shape is (39,)"))
def one_label_too_few(table, labels):
    return table, labels[:-1]


@LABELS.add(refused("shape is (41,)"))
def one_label_too_many(table, labels):
    return table, np.append(labels, "after")


@LABELS.add(refused("shape is ()"))
def one_label_for_all(table, labels):
    return table, "after"


@LABELS.add(refused("shape is ()"))
def a_dict_of_labels(table, labels):
    return table, dict(enumerate(labels))


@LABELS.add(refused("y"))
def sparse_labels(table, labels):
    return table, sparse.csr_matrix(numbers(labels))


@LABELS.add(refused("'after'"))
def one_group(table, labels):
    return table, np.full(len(labels), "after")


@LABELS.add(refused("3 groups", "'after'"), classes=FITS, JointGraphs=FITS)
def three_groups(table, labels):
    labels = labels.astype(object)
    labels[:10] = "between"
    return table, labels


@LABELS.add(refused("4 groups", "' after'"), classes=FITS, JointGraphs=FITS)
def labels_that_differ_by_blanks(table, labels):
    labels = labels.astype(object)
    labels[:10] = [f" {label}" for label in labels[:10]]
    return table, labels


@LABELS.add(refused("40 groups"), classes=refused("at least 2 rows"))
def a_label_of_its_own_for_every_row(table, labels):
    return table, [f"row {k}" for k in range(len(labels))]


@LABELS.add(refused("40 groups"), classes=refused("continuous"))
def measurements_as_labels(table, labels):
    return table, table[:, 0] + np.linspace(0.0, 0.1, len(table))


@LABELS.add(refused("missing label", "row 3"))
def one_nan_label(table, labels):
    codes = numbers(labels).astype(float)
    codes[3] = np.nan
    return table, codes


@LABELS.add(refused("missing label", "row 3"))
def one_none_label(table, labels):
    labels = labels.astype(object)
    labels[3] = None
    return table, labels


@LABELS.add(refused("missing label", "row 3"))
def one_none_label_in_a_list(table, labels):
    given = labels.tolist()
    given[3] = None
    return table, given


@LABELS.add(refused("missing label", "row 3"))
def one_missing_label_in_pandas(table, labels):
    series = pd.Series(numbers(labels), dtype="Int64")
    series[3] = pd.NA
    return table, series


@LABELS.add(refused("missing label", "row 3"))
def one_missing_label_in_polars(table, labels):
    given = labels.tolist()
    given[3] = None
    return table, pl.Series(given)


@LABELS.add(refused("missing label", "row 3"))
def one_masked_label(table, labels):
    return table, np.ma.masked_array(labels, mask=np.arange(len(labels)) == 3)


@LABELS.add(refused("missing label", "row 3"))
def one_missing_category(table, labels):
    labels = labels.astype(object)
    labels[3] = None
    return table, pd.Series(labels, dtype="category")


@LABELS.add(refused("missing labels", "row 0"))
def nothing_but_missing_labels(table, labels):
    return table, np.full(len(labels), np.nan)


@LABELS.add(refused("infinite"))
def an_infinite_label(table, labels):
    codes = numbers(labels).astype(float)
    codes[3] = np.inf
    return table, codes


@LABELS.add(refused("'int' and 'str'"))
def text_and_numbers(table, labels):
    labels = labels.astype(object)
    labels[:10] = 1
    return table, labels


@LABELS.add(refused("y"))
def lists_for_labels(table, labels):
    return table, [[label] * (1 + k % 2) for k, label in enumerate(labels)]


@LABELS.add(refused("'after'", "1 row"), classes=refused("'after' has fewer"))
def one_row_in_a_group(table, labels):
    return table, np.where(np.arange(len(labels)) == 0, "after", "before")


@LABELS.add(FITS)
def two_rows_in_a_group(table, labels):
    return table, np.where(np.arange(len(labels)) < 2, "after", "before")


@LABELS.add(FITS)
def a_thousand_rows_against_two(table, labels):
    rng = np.random.default_rng(5)
    wide = table[rng.integers(0, len(table), 1002)] + rng.normal(size=(1002, table.shape[1]))
    return wide, np.where(np.arange(1002) < 2, "after", "before")


@LABELS.add(refused("'x1'", "constant"), classes=FITS)
def a_column_that_only_tells_the_groups_apart(table, labels):
    table[:, 1] = numbers(labels)
    return table, labels


@LABELS.add(refused("'x1'", "constant"), classes=FITS)
def a_column_that_varies_by_rounding_within_groups(table, labels):
    noise = np.where(np.arange(len(table)) % 4 < 2, 0.3, 0.1 + 0.2)
    table[:, 1] = np.where(labels == "before", noise, 1 + noise)
    return table, labels
