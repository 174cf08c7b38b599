"""Statistics of tables larger than memory: rows per second, and memory, from every source.

Run from the root of the repository::

    python -m benchmarks.streaming --markdown table.md --json results.json
    python -m benchmarks.streaming --quick

The files are written to the temporary folder first, 10 GB in all. Progress goes to standard error,
the tables to standard output. README.md beside this file says how it measures.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.discrete import alone
from benchmarks.report import duration, say
from benchmarks.tables import Benchmark
from benchmarks.worker import peak_memory
from edgewise.io import read_chunks
from edgewise.stats import Moments, stream_counts, stream_covariance

Row = dict[str, Any]
Array = NDArray[Any]

#: Columns of numbers, and of levels.
N_COLUMNS, N_DISCRETE = 50, 10
#: Rows of a generated chunk, 16 MiB of numbers, and of a row group of parquet.
CHUNK_ROWS = 2**24 // (8 * N_COLUMNS)
GROUP_ROWS = 10 * CHUNK_ROWS
#: Mean of the columns, far from 0 in units of their spread.
OFFSET = 1e4
NAMES = [f"c{k}" for k in range(N_COLUMNS)]
PARQUET, CSV, DASK = "parquet", "csv", "dask"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Rows of each source."""

    generated: int
    parquet: int
    csv: int
    counts: int
    in_memory: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """Room that the files take at most."""
        return N_COLUMNS * (9 * self.parquet + 20 * self.csv)


FULL = Plan(
    generated=20_000_000,
    parquet=20_000_000,
    csv=2_000_000,
    counts=20_000_000,
    in_memory=(250_000, 1_000_000, 4_000_000),
)
QUICK = Plan(
    generated=500_000, parquet=500_000, csv=50_000, counts=500_000, in_memory=(50_000, 250_000)
)


def generate(n_rows: int, size: int = CHUNK_ROWS) -> Iterator[Array]:
    """Yield rows of correlated columns, the same for any size of the chunks."""
    rng = np.random.Generator(np.random.SFC64(0))
    mix = rng.standard_normal(N_COLUMNS)
    for first in range(0, n_rows, size):
        rows = rng.standard_normal((min(size, n_rows - first), N_COLUMNS))
        # Each column leans on the one before it.
        rows[:, 1:] += mix[1:] * rows[:, :-1]
        rows += OFFSET
        yield rows


def levels(n_rows: int) -> Iterator[Array]:
    """Yield rows of columns with three levels, each often that of the column before."""
    rng = np.random.Generator(np.random.SFC64(1))
    for first in range(0, n_rows, CHUNK_ROWS):
        shape = (min(CHUNK_ROWS, n_rows - first), N_DISCRETE)
        rows = rng.integers(0, 3, shape, dtype=np.uint8)
        keeps = rng.random((shape[0], N_DISCRETE - 1), dtype=np.float32) < 0.6
        for k in range(1, N_DISCRETE):
            rows[keeps[:, k - 1], k] = rows[keeps[:, k - 1], k - 1]
        yield rows


def write_files(folder: Path, plan: Plan) -> None:
    """Write the same rows as parquet and as csv."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    def tables(n_rows: int) -> Iterator[pa.Table]:
        for rows in generate(n_rows, GROUP_ROWS):
            yield pa.table(list(rows.T), names=NAMES)

    schema = pa.schema([(name, pa.float64()) for name in NAMES])
    say(f"writing {plan.parquet} rows of parquet")
    # Measurements hardly repeat, so that a dictionary would only take time.
    with parquet.ParquetWriter(folder / "rows.parquet", schema, use_dictionary=False) as writer:
        for table in tables(plan.parquet):
            writer.write_table(table)
    say(f"writing {plan.csv} rows of csv")
    with csv.CSVWriter(folder / "rows.csv", schema) as writer:
        for table in tables(plan.csv):
            writer.write_table(table)


def measured(
    source: str, n_rows: int, run: Callable[[], Any], read: Callable[[], Iterable[Any]]
) -> tuple[Row, Any]:
    """Time a stream, and the reading or making of its chunks alone."""
    with threadpool_limits(1):
        start = time.perf_counter()
        for _ in read():
            pass
        reading = time.perf_counter() - start
        before = peak_memory()
        start, start_cpu = time.perf_counter(), time.process_time()
        found = run()
        wall, used = time.perf_counter() - start, time.process_time() - start_cpu
    row = {
        "source": source,
        "rows": n_rows,
        "wall": wall,
        "CPU": used,
        "chunks alone wall": reading,
        "rows per CPU second": n_rows / used,
        "peak memory": peak_memory(),
        "memory of the chunks alone": before,
    }
    return row, found


def _stream(source: str, n_rows: int, folder: str) -> tuple[Row, Moments]:
    file = Path(folder, f"rows.{source}")
    if source == "generated":
        return measured(
            source,
            n_rows,
            lambda: stream_covariance(generate(n_rows)),
            lambda: generate(n_rows),
        )
    row, moments = measured(
        source, n_rows, lambda: stream_covariance(read_chunks(file)), lambda: read_chunks(file)
    )
    return row | {"file": file.stat().st_size}, moments


def _counts(n_rows: int) -> Row:
    row, counts = measured(
        f"counts of {N_DISCRETE} columns, generated",
        n_rows,
        lambda: stream_counts(levels(n_rows)),
        lambda: levels(n_rows),
    )
    return row | {"states": len(counts.states)}


def _dask(n_rows: int, folder: str) -> tuple[Row, Moments]:
    """Stream the parquet file through two workers, each with one thread."""
    import dask.dataframe as dd
    from dask import config
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    file = Path(folder, "rows.parquet")
    with (
        config.set({"distributed.worker.multiprocessing-method": "spawn"}),
        LocalCluster(host="127.0.0.1", **options) as cluster,
        Client(cluster) as client,
    ):
        client.run(_prepare)
        frame = dd.read_parquet(file, split_row_groups=1)
        idle = sum(client.run(time.process_time).values())
        start = time.perf_counter()
        moments = stream_covariance(frame)
        wall = time.perf_counter() - start
        used = sum(client.run(time.process_time).values()) - idle
        memory = max(client.run(peak_memory).values())
    row = {
        "source": "parquet, two dask workers",
        "rows": n_rows,
        "wall": wall,
        "CPU": used,
        "rows per CPU second": n_rows / used,
        "peak memory": memory,
        "file": file.stat().st_size,
    }
    return row, moments


def _prepare() -> None:
    """Import what a worker needs, and hold its products to one thread."""
    threadpool_limits(1)
    stream_covariance(np.eye(3))


def source_rows(plan: Plan) -> list[Row]:
    """Sum up more rows than fit into memory."""
    rows: list[Row] = []
    found: dict[str, Moments] = {}
    has_dask = importlib.util.find_spec("distributed") is not None
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), plan)
        for source, n_rows in (
            ("generated", plan.generated),
            (PARQUET, plan.parquet),
            (CSV, plan.csv),
        ):
            row, found[source] = alone(_stream, source, n_rows, folder)  # type: ignore[misc]
            rows.append(row)
        if has_dask:
            row, found[DASK] = alone(_dask, plan.parquet, folder)  # type: ignore[misc]
            rows.append(row)
    rows.append(alone(_counts, plan.counts))
    for row, source in zip(rows[1:], (PARQUET, CSV, DASK)[: len(found) - 1], strict=False):
        if row["rows"] == plan.generated:
            row["difference"] = _difference(
                found[source].covariance(), found["generated"].covariance()
            )
    titles = {title: None for row in rows for title in row}
    return [titles | row for row in rows]


def _difference(first: Array, second: Array) -> float:
    """Largest difference of two covariances, relative to the spread of the columns."""
    scale = np.sqrt(np.outer(second.diagonal(), second.diagonal()))
    return float((np.abs(first - second) / scale).max())


def _in_memory(n_rows: int, *, streams: bool) -> Row:
    X = np.empty((n_rows, N_COLUMNS))
    for k, rows in enumerate(generate(n_rows)):
        X[k * CHUNK_ROWS : k * CHUNK_ROWS + len(rows)] = rows
    before = peak_memory()
    with threadpool_limits(1):
        start = time.process_time()
        if streams:
            chunks = (X[k : k + CHUNK_ROWS] for k in range(0, n_rows, CHUNK_ROWS))
            S = stream_covariance(chunks).covariance()
        else:
            S = np.cov(X, rowvar=False, bias=True)
        used = time.process_time() - start
    return {"CPU": used, "memory added": peak_memory() - before, "S": S}


def memory_rows(plan: Plan) -> list[Row]:
    """Compare with numpy on rows that fit into memory."""
    rows = []
    for n_rows in plan.in_memory:
        ours = alone(_in_memory_streamed, n_rows)
        numpy = alone(_in_memory_whole, n_rows)
        rows.append(
            {
                "rows": n_rows,
                "table memory": 8 * N_COLUMNS * n_rows,
                "ours CPU": ours["CPU"],
                "ours memory added": ours["memory added"],
                "numpy.cov CPU": numpy["CPU"],
                "numpy.cov memory added": numpy["memory added"],
                "numpy / ours": numpy["CPU"] / ours["CPU"],
                "difference": _difference(ours["S"], numpy["S"]),
            }
        )
    return rows


def _in_memory_streamed(n_rows: int) -> Row:
    return _in_memory(n_rows, streams=True)


def _in_memory_whole(n_rows: int) -> Row:
    return _in_memory(n_rows, streams=False)


TABLES: dict[str, tuple[str, Callable[[Plan], list[Row]]]] = {
    "memory": ("Beside numpy.cov, rows in memory", memory_rows),
    "sources": ("From every source", source_rows),
}


def written(title: str, value: Any) -> str:
    """One cell of a table."""
    if value is None:
        return "-"
    if title.endswith(("CPU", "wall")):
        return duration(value)
    if "memory" in title or title == "file":
        return f"{value / 10**6:.0f} MB"
    if title == "rows per CPU second":
        return f"{value / 10**6:.2f} million"
    if " / " in title:
        return f"{value:.3g}x"
    return f"{value:.0e}" if isinstance(value, float) else str(value)


def _missing() -> dict[str, str]:
    """Tables that cannot be made here, and why."""
    if importlib.util.find_spec("pyarrow") is None:
        return {"sources": "pyarrow is not installed"}
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < 2 * FULL.n_bytes:
        return {"sources": f"{free / 10**9:.0f} GB are free in the temporary folder"}
    return {}


BENCHMARK = Benchmark(
    "streaming",
    (__doc__ or "").splitlines()[0],
    (FULL, QUICK),
    TABLES,
    written,
    [
        f"Tables of {N_COLUMNS} columns with means of {OFFSET:g} standard deviations, in chunks of",
        f"{CHUNK_ROWS} rows; one BLAS thread, processes of their own.",
    ],
    lambda tables: None,
    _missing,
)

if __name__ == "__main__":
    BENCHMARK.main()
