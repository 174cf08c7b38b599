"""Things that are no table, or whose columns cannot be told apart."""

import numpy as np
import polars as pl
import pyarrow as pa
from scipy import sparse

from tests.corpus.case import SAME, Collection, refused
from tests.corpus.representations import NAMES, frame_of

NOT_TABLES = Collection()


@NOT_TABLES.add(refused("two dimensions"))
def one_dimension(values):
    return values[:, 0]


@NOT_TABLES.add(refused("two dimensions"))
def pandas_series(values):
    return frame_of(values)["age"]


@NOT_TABLES.add(refused("two dimensions"))
def polars_series(values):
    return pl.Series(values[:, 0])


@NOT_TABLES.add(refused("two dimensions"))
def three_dimensions(values):
    return values[:, :, None] * np.ones(3)


@NOT_TABLES.add(refused("two dimensions"))
def a_single_number(values):
    return np.array(3.5)


@NOT_TABLES.add(refused("two dimensions"))
def records(values):
    return frame_of(values).to_records(index=False)


@NOT_TABLES.add(refused("sparse", ".toarray()"))
def sparse_by_rows(values):
    return sparse.csr_matrix(values)


@NOT_TABLES.add(refused("sparse", ".toarray()"))
def sparse_by_columns(values):
    return sparse.csc_array(values)


@NOT_TABLES.add(refused("sparse", ".toarray()"))
def sparse_by_coordinates(values):
    return sparse.coo_matrix(values)


@NOT_TABLES.add(refused("differ in length"))
def ragged_lists(values):
    rows = values.tolist()
    rows[5].append(1.0)
    return rows


@NOT_TABLES.add(refused("NoneType"))
def nothing(values):
    return None


@NOT_TABLES.add(refused("str", "read_table"))
def a_file_name(values):
    return "data.csv"


@NOT_TABLES.add(refused("dict", "data frame"))
def a_dict(values):
    return {name: values[:, k] for k, name in enumerate(NAMES)}


@NOT_TABLES.add(refused("generator"))
def a_generator(values):
    return (row for row in values)


@NOT_TABLES.add(refused("set"))
def a_set(values):
    return set(values[:, 0].tolist())


@NOT_TABLES.add(refused("not a table"))
def a_function(values):
    return np.mean


@NOT_TABLES.add(refused(".collect()"))
def lazy_frame(values):
    return pl.DataFrame(values, schema=NAMES).lazy()


@NOT_TABLES.add(refused("'age'", "same name"))
def two_columns_of_one_name(values):
    return frame_of(values, ["age", "age", "dose", "gene7"])


@NOT_TABLES.add(refused("'age'", "same name"))
def two_columns_of_one_name_in_arrow(values):
    return pa.table(list(values.T), names=["age", "age", "dose", "gene7"])


@NOT_TABLES.add(refused("called '1'"))
def names_that_look_the_same(values):
    return frame_of(values, ["1", 1, "dose", "gene7"])


@NOT_TABLES.add(refused("column names"), responses=SAME)
def pandas_with_mixed_names(values):
    return frame_of(values, ["age", 2, None, ("a", 1)])


@NOT_TABLES.add(refused("position 1", "no name"))
def pandas_with_an_empty_name(values):
    return frame_of(values, ["age", "", " ", "gene7"])
