"""Whether dask collections are summed up where they are, on two workers in other processes."""

import gc
import os

import numpy as np
import pandas as pd
import pytest

from edgewise import GaussianGraph, InputError
from edgewise.stats import covariance, stream_counts, stream_covariance, stream_group_covariance

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


# Sockets that distributed has not closed by then are collected before the next test.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        ) as workers,
        distributed.Client(workers) as client,
    ):
        yield client
    gc.collect()


def table(n=1000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 5)) + 1e6
    return pd.DataFrame(X, columns=list("abcde"))


def assert_same(moments, X):
    location, S = covariance(X)
    spread = np.sqrt(S.diagonal())
    assert moments.n_samples == len(X)
    np.testing.assert_allclose(moments.mean, location, rtol=1e-14)
    assert (np.abs(moments.covariance() - S) <= 1e-12 * np.outer(spread, spread)).all()


def generate(client_pid, block_info=None):
    """Rows that only other processes can make; the last column says where."""
    assert os.getpid() != client_pid
    (first, _), *_ = block_info[None]["array-location"]
    rows = np.random.default_rng(first).normal(size=(200, 3))
    return np.column_stack([rows, np.full(200, float(os.getpid()))])


@pytest.mark.parametrize("chunks", [(100, 5), (1000, 5), (77, 2)])
def test_arrays(cluster, chunks):
    X = table().to_numpy()
    moments = stream_covariance(da.from_array(X, chunks=chunks))
    assert moments.names is None
    assert_same(moments, X)


def test_rows_are_made_and_summed_up_elsewhere(cluster):
    X = da.map_blocks(
        generate, os.getpid(), dtype=float, chunks=((200,) * 20, (4,)), meta=np.empty((0, 0))
    )
    moments = stream_covariance(X)
    rows = np.concatenate([np.random.default_rng(200 * k).normal(size=(200, 3)) for k in range(20)])
    _, S = covariance(rows)
    np.testing.assert_allclose(moments.covariance()[:3, :3], S, rtol=1e-12, atol=1e-13)
    assert moments.n_samples == 4000


@pytest.mark.slow
def test_frames_groups_and_counts(cluster):
    rng = np.random.default_rng(1)
    frame = table().assign(sex=rng.choice(["f", "m"], 1000), n=rng.integers(0, 4, 1000))
    lazy = dd.from_pandas(frame, npartitions=7)
    moments = stream_covariance(lazy[list("abcde")])
    assert moments.names == tuple("abcde")
    assert_same(moments, frame[list("abcde")].to_numpy())
    # A filter leaves some partitions empty.
    early = stream_covariance(lazy[list("abcde")].loc[:200])
    assert_same(early, frame[list("abcde")][:201].to_numpy())
    groups = stream_group_covariance(lazy.drop(columns="n"), by="sex")
    assert list(groups) == ["f", "m"]
    for sex, group in groups.items():
        assert_same(group, frame.loc[frame["sex"] == sex, list("abcde")].to_numpy())
    counts = stream_counts(lazy[["sex", "n"]])
    np.testing.assert_array_equal(counts.table("sex", "n"), pd.crosstab(frame["sex"], frame["n"]))


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_parquet_on_workers_to_a_graph(cluster, tmp_path):
    frame = table()
    dd.from_pandas(frame, npartitions=4).to_parquet(tmp_path / "parts")
    there = stream_covariance(dd.read_parquet(tmp_path / "parts"))
    here = stream_covariance(tmp_path / "parts")
    assert_same(there, frame.to_numpy())
    assert_same(here, frame.to_numpy())
    model, expected = GaussianGraph().fit(there), GaussianGraph().fit(frame)
    np.testing.assert_array_equal(model.graph_.adjacency, expected.graph_.adjacency)
    np.testing.assert_allclose(model.precision_, expected.precision_, rtol=1e-6, atol=1e-9)


def test_bad_values_come_back_by_name(cluster):
    frame = table()
    frame.loc[700, "c"] = np.nan
    with pytest.raises(InputError, match=r"Partition 3: column 'c' is missing \(NaN\) in row 200"):
        stream_covariance(dd.from_pandas(frame, npartitions=4))


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler:UserWarning")
def test_without_a_cluster():
    X = table().to_numpy()
    with dask.config.set(scheduler="synchronous"):
        assert_same(stream_covariance(da.from_array(X, chunks=(300, 5))), X)
        with pytest.raises(InputError, match="no rows"):
            stream_covariance(da.from_array(X, chunks=(300, 5))[:0])
    with pytest.raises(InputError, match="this is a Series"):
        stream_covariance(dd.from_pandas(table(), npartitions=2)["a"])
