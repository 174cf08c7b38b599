"""The clean table in other clothes: whoever takes it must learn the very same from it."""

import tempfile
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from tests.corpus.case import ALIKE, SAME, Collection

REPRESENTATIONS = Collection()
NAMES = ["age", "dose", "gene3", "gene7"]


def frame_of(values, names=NAMES):
    return pd.DataFrame(values, columns=list(names[: values.shape[1]]))


@REPRESENTATIONS.add(SAME)
def fortran_order(values):
    return np.asfortranarray(values)


@REPRESENTATIONS.add(SAME)
def read_only(values):
    values.setflags(write=False)
    return values


@REPRESENTATIONS.add(SAME)
def every_other_row_and_column(values):
    wide = np.full((2 * len(values), 2 * values.shape[1]), np.nan)
    wide[::2, ::2] = values
    return wide[::2, ::2]


@REPRESENTATIONS.add(SAME)
def negative_strides(values):
    return values[::-1, ::-1].copy()[::-1, ::-1]


@REPRESENTATIONS.add(SAME)
def big_endian(values):
    return values.astype(">f8")


@REPRESENTATIONS.add(SAME)
def float32(values):
    return values.astype(np.float32)


@REPRESENTATIONS.add(SAME)
def float16(values):
    return values.astype(np.float16)


@REPRESENTATIONS.add(SAME)
def long_double(values):
    return values.astype(np.longdouble)


@REPRESENTATIONS.add(SAME)
def numbers_as_objects(values):
    return values.astype(object)


@REPRESENTATIONS.add(SAME)
def decimals(values):
    return np.array([[Decimal(x) for x in row] for row in values.tolist()], dtype=object)


@REPRESENTATIONS.add(SAME)
def fractions(values):
    return np.array([[Fraction(x) for x in row] for row in values.tolist()], dtype=object)


@REPRESENTATIONS.add(SAME)
def masked_array_without_a_mask(values):
    return np.ma.masked_array(values)


@REPRESENTATIONS.add(SAME)
def masked_array_with_nothing_masked(values):
    return np.ma.masked_array(values, mask=np.zeros(values.shape, dtype=bool))


@REPRESENTATIONS.add(SAME)
def numpy_matrix(values):
    return values.view(np.matrix)


@REPRESENTATIONS.add(SAME)
def memory_map(values):
    with tempfile.TemporaryFile() as file:
        file.write(values.tobytes())
        return np.memmap(file, values.dtype, "r", shape=values.shape)


@REPRESENTATIONS.add(SAME)
def list_of_lists(values):
    return values.tolist()


@REPRESENTATIONS.add(SAME)
def tuple_of_tuples(values):
    return tuple(tuple(row) for row in values.tolist())


@REPRESENTATIONS.add(SAME)
def list_of_arrays(values):
    return list(values)


@REPRESENTATIONS.add(SAME)
def something_with_an_array_inside(values):
    class Wrapped:
        shape = values.shape

        def __len__(self):
            return len(values)

        def __array__(self, dtype=None, copy=None):
            return values if dtype is None else values.astype(dtype)

    return Wrapped()


@REPRESENTATIONS.add(SAME)
def pandas_frame(values):
    return frame_of(values)


@REPRESENTATIONS.add(SAME)
def pandas_with_repeated_row_labels(values):
    return frame_of(values).set_axis(["same"] * len(values), axis=0)


@REPRESENTATIONS.add(SAME)
def pandas_with_numbers_for_names(values):
    return pd.DataFrame(values)


@REPRESENTATIONS.add(SAME)
def pandas_with_names_of_two_levels(values):
    pairs = [("blood", "iron"), ("blood", "zinc"), ("hair", "iron"), ("hair", "zinc")]
    columns = pd.MultiIndex.from_tuples(pairs[: values.shape[1]])
    return pd.DataFrame(values, columns=columns)


@REPRESENTATIONS.add(SAME)
def pandas_with_names_that_are_markup(values):
    return frame_of(values, ["<b>x</b>", "a\nb", '"; DROP', "{0}%s\\"])


@REPRESENTATIONS.add(SAME)
def pandas_with_very_long_names(values):
    return frame_of(values, [letter * 300 for letter in "abcd"])


@REPRESENTATIONS.add(SAME)
def pandas_with_names_in_other_scripts(values):
    return frame_of(values, ["größe", "体重", "العمر", "\N{DNA DOUBLE HELIX}"])


@REPRESENTATIONS.add(SAME)
def pandas_nullable_floats(values):
    return frame_of(values).astype("Float64")


@REPRESENTATIONS.add(SAME)
def pandas_nullable_single_precision(values):
    return frame_of(values).astype("Float32")


@REPRESENTATIONS.add(SAME)
def pandas_of_arrow(values):
    return frame_of(values).astype("double[pyarrow]")


@REPRESENTATIONS.add(SAME)
def pandas_half_precision(values):
    return frame_of(values).astype("float16")


@REPRESENTATIONS.add(SAME)
def pandas_long_doubles(values):
    return frame_of(values).astype(np.longdouble)


@REPRESENTATIONS.add(SAME)
def pandas_decimals_of_arrow(values):
    return frame_of(values).astype(pd.ArrowDtype(pa.decimal128(20, 8)))


@REPRESENTATIONS.add(SAME)
def pandas_of_objects(values):
    return frame_of(values).astype(object)


@REPRESENTATIONS.add(SAME)
def pandas_sparse_columns(values):
    return frame_of(values).astype(pd.SparseDtype("float64", 0.0))


@REPRESENTATIONS.add(SAME)
def pandas_columns_of_several_types(values):
    frame = frame_of(values)
    types = ["float32", "Float64", "object", "double[pyarrow]"]
    return frame.astype(dict(zip(frame.columns, types, strict=False)))


@REPRESENTATIONS.add(SAME)
def polars_frame(values):
    return pl.DataFrame(values, schema=NAMES[: values.shape[1]])


@REPRESENTATIONS.add(SAME)
def polars_single_precision(values):
    return pl.DataFrame(values, schema=NAMES[: values.shape[1]]).cast(pl.Float32)


@REPRESENTATIONS.add(SAME)
def polars_decimals(values):
    frame = pl.DataFrame(values, schema=NAMES[: values.shape[1]])
    return frame.cast(pl.Decimal(20, 8))


@REPRESENTATIONS.add(SAME)
def polars_objects(values):
    columns = zip(NAMES, values.T.tolist(), strict=False)
    return pl.DataFrame({name: pl.Series(column, dtype=pl.Object) for name, column in columns})


@REPRESENTATIONS.add(SAME)
def arrow_table_in_pieces(values):
    return pa.concat_tables([arrow_table(values[:15]), arrow_table(values[15:])])


@REPRESENTATIONS.add(SAME)
def arrow_table(values):
    return pa.table({name: values[:, k] for k, name in enumerate(NAMES[: values.shape[1]])})


@REPRESENTATIONS.add(ALIKE)
def small_integers(values):
    return (values * 64).astype(np.int16)


@REPRESENTATIONS.add(ALIKE)
def pandas_nullable_integers(values):
    return frame_of(values * 64).astype("Int64")


@REPRESENTATIONS.add(ALIKE)
def polars_integers(values):
    frame = pl.DataFrame(values * 64, schema=NAMES[: values.shape[1]])
    return frame.cast(pl.Int32)


@REPRESENTATIONS.add(ALIKE)
def polars_integers_of_128_bits(values):
    frame = pl.DataFrame(values * 64, schema=NAMES[: values.shape[1]])
    return frame.cast(pl.Int128)


@REPRESENTATIONS.add(ALIKE)
def whole_numbers_as_objects(values):
    return np.array([[int(x * 64) for x in row] for row in values.tolist()], dtype=object)


@REPRESENTATIONS.add(ALIKE)
def pandas_of_arrow_integers(values):
    return frame_of(values * 64).astype("int64[pyarrow]")
