import datetime
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from edgewise import BootstrapGraph, GaussianGraph, InputError
from edgewise.data.table import Table
from edgewise.io import RawTable
from edgewise.stats import stream_covariance
from tests.messages import raises


def refusal(X, **kwargs):
    with pytest.raises(InputError) as caught:
        Table.from_input(X, **kwargs)
    return str(caught.value)


COLUMNS = {
    "height": [1.5, None, 2.0],
    "count": [1, 2, None],
    "flag": [True, False, True],
    "maybe": [True, None, False],
    "city": ["Ulm", "Bonn", None],
    "day": [datetime.date(2020, 1, 2), datetime.date(2019, 1, 2), datetime.date(2020, 1, 2)],
}
VALUES = [
    [1.5, 1, 1, 1, 1, 1],
    [np.nan, 2, 0, np.nan, 0, 0],
    [2.0, np.nan, 1, 0, np.nan, 1],
]
KINDS = ("numeric", "numeric", "boolean", "boolean", "categorical", "categorical")


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_data_frames(make):
    table = Table.from_input(make(COLUMNS))
    assert table.names == tuple(COLUMNS)
    assert table.kinds == KINDS
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.levels[4] == ("Bonn", "Ulm")
    assert table.levels[:4] == (None,) * 4
    assert table.levels[5][0].startswith("2019-01-02")
    np.testing.assert_array_equal(table.missing, np.isnan(VALUES))
    assert (table.n_samples, table.n_features) == (3, 6)
    assert table.weights is None


def test_nullable_pandas_columns():
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None], dtype="Int64"),
            "b": pd.array([None, True], dtype="boolean"),
            "d": pd.to_datetime(["2020-01-01", None]),
        }
    )
    table = Table.from_input(frame)
    np.testing.assert_array_equal(table.values, [[1, np.nan, 0], [np.nan, 1, np.nan]])
    assert table.kinds == ("numeric", "boolean", "categorical")


def test_declared_categories_keep_their_order():
    levels = ["low", "mid", "high"]
    values = ["high", "low", None]
    for frame in (
        pd.DataFrame({"a": pd.Categorical(values, categories=levels, ordered=True)}),
        pl.DataFrame({"a": pl.Series(values, dtype=pl.Enum(levels))}),
    ):
        table = Table.from_input(frame)
        assert table.levels == (("low", "mid", "high"),)
        np.testing.assert_array_equal(table.values[:, 0], [2, 0, np.nan])


def test_categories_of_numbers_stay_categories():
    table = Table.from_input(pd.DataFrame({"a": pd.Categorical([30, 4])}))
    assert table.kinds == ("categorical",)
    assert table.levels == (("4", "30"),)


def test_names_that_are_not_text():
    assert Table.from_input(pd.DataFrame([[1, 2]], columns=[7, "7b"])).names == ("7", "7b")
    two_rows = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    table = Table.from_input(pd.DataFrame([[1, 2]], columns=two_rows))
    assert table.names == ("a_1", "a_2")
    np.testing.assert_array_equal(table.values, [[1, 2]])


def test_arrays_and_lists():
    X = np.arange(6.0).reshape(3, 2)
    table = Table.from_input(X)
    assert table.values is X
    assert table.names == ("x0", "x1")
    np.testing.assert_array_equal(Table.from_input(X.tolist()).values, X)
    assert Table.from_input(X > 2).kinds == ("boolean", "boolean")
    assert Table.from_input(X.astype(np.int8)).values.dtype == np.float64


def test_masked_array_loses_no_mask():
    X = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(Table.from_input(X).values, [[1, np.nan], [3, 4]])


def test_object_and_text_arrays():
    table = Table.from_input(np.array([[1, "a", True, None], [np.nan, "b", None, None]], object))
    assert table.kinds == ("numeric", "categorical", "boolean", "numeric")
    np.testing.assert_array_equal(table.values, [[1, 0, 1, np.nan], [np.nan, 1, np.nan, np.nan]])
    assert Table.from_input(np.array([["1", "2"]])).kinds == ("categorical", "categorical")
    dates = np.array([["2020-01-01"], ["NaT"]], dtype="M8[D]")
    np.testing.assert_array_equal(Table.from_input(dates).values, [[0], [np.nan]])


def test_raw_table():
    raw = RawTable(
        names=("a", "b"),
        columns=(np.array([1, 2]), np.array(["x", None], dtype=object)),
        n_rows=2,
        source="f.csv",
    )
    table = Table.from_input(raw)
    assert table.names == ("a", "b")
    np.testing.assert_array_equal(table.values, [[1, 0], [2, np.nan]])


def test_given_names_replace_those_of_the_frame():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert Table.from_input(frame, names=["u", "v"]).names == ("u", "v")
    assert "3 names were given for 2 columns" in refusal(frame, names=["u", "v", "w"])
    assert "called 'u'" in refusal(frame, names=["u", "u"])


def test_weights():
    X = np.eye(3)
    np.testing.assert_array_equal(Table.from_input(X, sample_weight=[0, 1, 2]).weights, [0, 1, 2])
    assert "3 rows" in refusal(X, sample_weight=[1, 2])
    for bad in ([1, -1, 1], [0, 0, 0], [1, np.nan, 1]):
        assert "sample_weight must be" in refusal(X, sample_weight=bad)


@pytest.mark.parametrize(
    ("X", "part"),
    [
        (np.ones(3), "it has 1"),
        (np.ones((2, 2, 2)), "it has 3"),
        (3.0, "it has 0"),
        ([[1, 2], [3]], "differ in length"),
        (np.ones((0, 3)), "0 rows and 3 columns"),
        (pd.DataFrame(index=[0, 1]), "0 columns"),
        (np.ones((2, 2), dtype=complex), "complex"),
        (sparse.csr_array(np.eye(2)), "toarray"),
        (pl.LazyFrame({"a": [1]}), "collect"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a'"),
    ],
)
def test_refusals(X, part):
    assert part in refusal(X)


class Annotated:
    """What an AnnData has: observations by variables, dense or sparse, with their names."""

    def __init__(self, X, names):
        self.X, self.var_names, self.obs_names = X, names, range(X.shape[0])
        self.shape = X.shape

    def __getitem__(self, rows):
        return Annotated(self.X[rows], self.var_names)

    def copy(self):
        return self


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_annotated_data_is_a_table_with_names(kind):
    X = np.random.default_rng(0).normal(size=(60, 3))
    data = Annotated(kind(X), ["g1", "g2", "g3"])
    table = Table.from_input(data)
    assert table.names == ("g1", "g2", "g3")
    np.testing.assert_array_equal(table.values, X)
    fit = BootstrapGraph(GaussianGraph(0.1), n_resamples=3, random_state=0).fit(data)
    expected = BootstrapGraph(GaussianGraph(0.1), n_resamples=3, random_state=0).fit(X)
    assert fit.graph_.names == ("g1", "g2", "g3")
    np.testing.assert_array_equal(fit.graph_.confidence, expected.graph_.confidence)


def test_names_of_several_parts_are_joined():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    names = pd.MultiIndex.from_tuples([("lab", "CRP"), ("lab", "Hb"), ("age", "")])
    frame = pd.DataFrame(rows, columns=names)
    assert Table.from_input(frame).names == ("lab_CRP", "lab_Hb", "age")
    assert GaussianGraph().fit(frame).graph_.names == ("lab_CRP", "lab_Hb", "age")


def test_a_collection_that_is_not_in_memory_is_refused():
    dask = pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=list("abc"))
    frame = dask.from_pandas(rows, npartitions=2)
    for collection in (frame, frame.to_dask_array(lengths=True)):
        with raises(InputError, code="dask_not_table"):
            GaussianGraph().fit(collection)
    assert GaussianGraph().fit(stream_covariance(frame)).graph_.n_nodes == 3


def test_a_damaged_sparse_matrix_is_refused():
    damaged = sparse.csr_matrix(np.eye(4))
    damaged.indices[2] = -1000
    names = [f"g{k}" for k in range(4)]
    with raises(InputError, code="sparse_matrix_damaged", error="indices must be >= 0"):
        Table.from_input(SimpleNamespace(X=damaged, obs_names=names, var_names=names))
