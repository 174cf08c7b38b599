"""Whether statistics of chunks are those of all rows, wherever the chunks come from."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError, NotEnoughMemoryError
from edgewise.io import read_chunks
from edgewise.stats import Moments, stream_covariance, stream_group_covariance
from tests.messages import raises

NAMES = ("a", "b", "c", "d")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(203, 4)) @ rng.normal(size=(4, 4)) + [0, 1, -20, 300]
    return pd.DataFrame(X, columns=list(NAMES))


def assert_same(moments, X, weights=None):
    """Compare with numpy on all rows, relative to the spread of the columns."""
    w = np.ones(len(X)) if weights is None else weights
    assert moments.n_samples == np.count_nonzero(w)
    assert moments.weight == pytest.approx(w.sum(), rel=1e-14)
    spread = X.std(axis=0)
    mean = np.average(X, axis=0, weights=w)
    assert (np.abs(moments.mean - mean) <= 1e-12 * (spread + np.abs(mean))).all()
    S = np.cov(X.T, aweights=w, bias=True)
    assert (np.abs(moments.covariance() - S) <= 1e-12 * np.outer(spread, spread)).all()


def cut(X, sizes):
    return np.split(X, np.cumsum(sizes)[:-1])


@settings(max_examples=25)
@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=12), seed=st.integers(0, 2**16))
def test_any_chunking(sizes, seed):
    sizes = [*sizes, 2]
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(sizes), 3)) * [1, 1e-3, 1e3] + [0, 1, 1e3]
    w = rng.integers(0, 3, size=len(X)).astype(float)
    w[-2:] = 1
    assert_same(stream_covariance(cut(X, sizes)), X)
    weighted = np.column_stack([X[:, :1], w, X[:, 1:]])
    moments = stream_covariance(iter(cut(weighted, sizes)), weight="x1")
    assert_same(moments, X, w)


@settings(max_examples=25)
@given(order=st.permutations(range(6)), rest=st.randoms(use_true_random=False))
def test_workers_may_merge_in_any_order(order, rest):
    X = np.random.default_rng(1).normal(size=(60, 3)) + 50
    parts = [stream_covariance([X[10 * k : 10 * k + 10]]) for k in order]
    while len(parts) > 1:
        first = parts.pop(rest.randrange(len(parts)))
        place = rest.randrange(len(parts))
        parts[place] = parts[place].merge(first)
    assert_same(parts[0], X)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("rows", [1, 50, None])
def test_files(frame, tmp_path, suffix, rows):
    path = tmp_path / f"data{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path, row_group_size=64)
    else:
        separator = "\t" if suffix == ".tsv" else ","
        frame.to_csv(path, index=False, sep=separator, float_format="%.17g")
    moments = stream_covariance(read_chunks(path, rows=rows))
    assert_same(moments, frame.to_numpy())
    assert moments.names == NAMES
    assert_same(stream_covariance(path), frame.to_numpy())
    picked = stream_covariance(read_chunks(path, rows=rows, columns=["c", "a"]))
    assert picked.names == ("c", "a")
    assert_same(picked, frame[["c", "a"]].to_numpy())


def test_frames_and_single_tables(frame):
    parts = [frame[:100], frame[100:100], frame[100:]]
    for chunks in (parts, [pl.from_pandas(part) for part in parts], frame, pl.from_pandas(frame)):
        moments = stream_covariance(chunks)
        assert moments.names == NAMES
        assert_same(moments, frame.to_numpy())
    assert stream_covariance(frame.to_numpy()).names is None
    assert_same(stream_covariance(np.asfortranarray(frame)), frame.to_numpy())
    single = frame.to_numpy(np.float32)
    assert_same(stream_covariance([single[:9], single[9:]]), single.astype(float))


def test_batches_of_arrow(frame):
    batches = pa.Table.from_pandas(frame).to_batches(max_chunksize=50)
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    for chunks in (batches, reader, batches[0]):
        moments = stream_covariance(chunks)
        assert moments.names == NAMES
        rows = frame[:50] if chunks is batches[0] else frame
        assert_same(moments, rows.to_numpy())


def test_too_many_columns_for_memory(small_machine):
    with raises(
        NotEnoughMemoryError, code="memory_estimate_too_large", shape="4,000 x 4,000", each="128 MB"
    ):
        stream_covariance([np.zeros((2, 4000))])


def test_large_means_keep_their_digits():
    """Means of 1e8 and more with unit variance, against rational arithmetic."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2)) + np.array([1e8, -3e8])
    exact = [[Fraction(value) for value in column] for column in X.T.tolist()]
    mean = [sum(column) / 300 for column in exact]
    S = [
        [
            float(sum((x - mx) * (y - my) for x, y in zip(a, b, strict=True)) / 300)
            for b, my in zip(exact, mean, strict=True)
        ]
        for a, mx in zip(exact, mean, strict=True)
    ]
    for size in (1, 7, 100, 300):
        moments = stream_covariance(X[k : k + size] for k in range(0, 300, size))
        np.testing.assert_allclose(moments.covariance(), S, rtol=1e-11)
        np.testing.assert_allclose(moments.mean, [float(m) for m in mean], rtol=1e-15)


def test_groups(frame):
    rng = np.random.default_rng(3)
    w = rng.integers(0, 3, size=len(frame))
    for labels in (rng.choice(["sick", "well"], len(frame)), rng.integers(0, 3, len(frame))):
        table = frame.assign(group=labels, count=w)
        for sizes in ([203], [3, 100, 100]):
            chunks = cut(np.arange(203), sizes)
            groups = stream_group_covariance(
                (table.iloc[rows] for rows in chunks), by="group", weight="count"
            )
            assert list(groups) == sorted(set(labels.tolist()))
            for label, moments in groups.items():
                is_member = labels == label
                assert moments.names == NAMES
                assert_same(
                    moments,
                    frame[is_member & (w > 0)].to_numpy(),
                    w[is_member & (w > 0)].astype(float),
                )


def test_group_labels_of_two_types(frame):
    parts = [frame.assign(by=1), frame.assign(by="one")]
    with raises(InputError, code="chunk_label_types", by="by", group=[1, "one"]):
        stream_group_covariance(parts, by="by")


def bad_value(frame, value):
    other = frame.astype({"c": object}) if isinstance(value, str) else frame.copy()
    other.loc[other.index[7], "c"] = value
    return other


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (np.nan, "chunk_value_not_finite"),
        (np.inf, "chunk_value_not_finite"),
        ("n.a.", "chunk_text"),
        (1e200, "squares_overflow"),
    ],
)
def test_bad_values_have_a_place(frame, value, part):
    with raises(InputError, code=part):
        stream_covariance([frame[:100], bad_value(frame[100:], value)])


def test_bad_text_in_a_file_has_a_place(frame, tmp_path):
    path = tmp_path / "data.csv"
    bad_value(frame, "?").to_csv(path, index=False)
    with raises(InputError, code="chunk_text", name="c", level="?"):
        stream_covariance(read_chunks(path, rows=5))


def test_chunks_of_other_columns(frame):
    def stream(other):
        return stream_covariance([frame, other])

    with raises(InputError, code="chunk_columns_differ", mismatch="'c' is missing in one"):
        stream(frame.drop(columns="c"))
    with raises(InputError, code="chunk_columns_differ", mismatch="'e' is in one only"):
        stream(frame.assign(e=1))
    with raises(InputError, code="chunk_columns_differ"):
        stream(frame[["b", "a", "c", "d"]])
    with raises(InputError, code="chunk_columns_differ"):
        stream(frame.to_numpy())
    with raises(InputError, code="in_chunk"):
        stream_covariance([[[1.0, 2.0], [3.0]]])
    with raises(InputError, code="in_chunk"):
        stream_covariance([1.0, 2.0])
    named = Moments.from_samples(frame, names=NAMES)
    with raises(InputError, code="moments_names_mismatch"):
        named.merge(Moments.from_samples(frame))
    with raises(
        InputError, code="moments_names_mismatch", describe_mismatch="'a' is missing in one"
    ):
        named.merge(Moments.from_samples(frame, names=["x", "b", "c", "d"]))
    with raises(InputError, code="moment_names_count", n_names=3, n_columns=4):
        Moments.from_samples(frame, names=["x", "b", "c"])


def test_nothing_to_summarise(frame):
    for chunks in ([], [frame[:0]]):
        with raises(InputError, code="no_rows_streamed"):
            stream_covariance(chunks)
    weighted = frame.assign(w=0)
    with raises(InputError, code="no_rows_streamed"):
        stream_covariance([weighted], weight="w")
    with raises(InputError, code="no_rows_streamed"):
        stream_group_covariance([weighted], by="a", weight="w")
    with raises(InputError, code="chunks_type", type="int"):
        stream_covariance(3)


def test_bad_weights_and_labels(frame):
    with raises(InputError, code="chunk_weights", weight="w"):
        stream_covariance([frame.assign(w=-1)], weight="w")
    with raises(InputError, code="option_no_column", name="weight", name2="z"):
        stream_covariance([frame], weight="z")
    with raises(InputError, code="option_no_column", name="by", name2="z"):
        stream_group_covariance([frame], by="z")
    with raises(InputError, code="chunk_without_columns", listed="a"):
        stream_group_covariance([frame[["a"]]], by="a")


MEMORY = """
import resource
import numpy as np
from edgewise.stats import stream_covariance

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

rng = np.random.default_rng(0)
stream_covariance(rng.normal(size=(50_000, 40)) for _ in range(2))
before = peak()
print(stream_covariance(rng.normal(size=(50_000, 40)) for _ in range(100)).n_samples)
print(peak() - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_rows():
    """1.6 GB pass through, in chunks of 16 MB, once two of them have."""
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    n_rows, growth = run.stdout.split()
    assert int(n_rows) == 5_000_000
    assert float(growth) < 20
