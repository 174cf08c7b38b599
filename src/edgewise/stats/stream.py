"""Statistics of tables larger than memory, from chunks, files and clusters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Final, TypeVar

import numpy as np

from edgewise._core.arrays import (
    array_namespace,
    is_foreign,
    require_device_memory,
    to_device,
    to_numpy,
)
from edgewise._core.errors import InputError
from edgewise._core.memory import Arrays, require_memory
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data.checks import TEXT
from edgewise.data.levels import Level, code_column, code_levels
from edgewise.data.table import Table
from edgewise.io.messages import describe_mismatch
from edgewise.io.tables import RawTable, read_chunks
from edgewise.stats.counts import Counts
from edgewise.stats.moments import Moments

Summary = TypeVar("Summary")


@dataclass(frozen=True, kw_only=True, eq=False)
class Chunk:
    """Some rows of a stream.

    Attributes
    ----------
    table : Table
    label : str
        What messages call the chunk.
    first_row : int or None
        Rows of the stream before it; None where nobody knows.
    has_names : bool
        Whether the columns came with names.
    """

    table: Table
    label: str
    first_row: int | None
    has_names: bool

    @classmethod
    def from_input(cls, rows: Any, label: str, first_row: int | None) -> Chunk | None:
        """Take rows of any kind; None where there are none."""
        if isinstance(rows, RawTable):
            label = f"{label} ({rows.source})"
        if _is_empty(rows):
            return None
        try:
            table = Table.from_input(rows)
        except InputError as error:
            raise InputError("in_chunk", label=label, error=error) from error
        has_names = isinstance(rows, RawTable) or hasattr(rows, "columns")
        return cls(table=table, label=label, first_row=first_row, has_names=has_names)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, where they came with any."""
        return self.table.names if self.has_names else None

    def column(self, name: str, parameter: str) -> int:
        """Place of the column that a parameter names."""
        if name not in self.table.names:
            raise InputError(
                "option_no_column",
                name=parameter,
                name2=name,
                label=self.label,
                names=self.table.names,
            )
        return self.table.names.index(name)

    def check(self, *, allow_text: Sequence[int] = ()) -> None:
        """Refuse text, unless in some columns, and values that are missing or infinite."""
        for k, kind in enumerate(self.table.kinds):
            if kind == TEXT and k not in allow_text:
                self._refuse_text(k)
        is_finite = np.isfinite(self.table.values)
        if is_finite.all():
            return
        row, k = (int(place) for place in np.argwhere(~is_finite)[0])
        what = "missing (NaN)" if np.isnan(self.table.values[row, k]) else "infinite (inf)"
        raise InputError(
            "chunk_value_not_finite",
            label=self.label,
            name=self.table.names[k],
            what=what,
            row=self._row(row),
        )

    def _refuse_text(self, k: int) -> None:
        """Name the first value of a column that is no number."""
        levels = self.table.levels[k] or ()
        is_other = np.array([not _is_number(level) for level in levels])
        codes = self.table.values[:, k]
        present = np.flatnonzero(~np.isnan(codes))
        suspects = present[is_other[codes[present].astype(np.int64)]]
        row = int((suspects if len(suspects) else present)[0])
        raise InputError(
            "chunk_text",
            label=self.label,
            name=self.table.names[k],
            level=levels[int(codes[row])],
            row=self._row(row),
        )

    def _row(self, row: int) -> str:
        of_all = "" if self.first_row is None else f" ({self.first_row + row} of all)"
        return f"row {row}{of_all}, counted from 0"

    def take(self, columns: Sequence[int], rows: BoolArray | None) -> FloatArray:
        """Return the values of some columns and rows, without a copy of all of them."""
        values = self.table.values
        if len(columns) < values.shape[1]:
            values = values[:, list(columns)]
        return values if rows is None or rows.all() else values[rows]


def summarize(
    chunks: Any,
    summary: Callable[[Chunk], Summary | None],
    merge: Callable[[list[Summary]], Summary],
    *,
    fan_in: int,
) -> Summary:
    """Summarise every chunk and merge the summaries, ``fan_in`` at a time.

    ``summary`` returns None for a chunk in which no row counts. The partitions of a dask
    collection are summarised, and the summaries merged, where they are.
    """
    if type(chunks).__module__.partition(".")[0] == "dask":
        from edgewise.stats.stream import reduce_partitions

        merged = reduce_partitions(chunks, summary, merge, fan_in=fan_in)
    else:
        waiting: list[Summary] = []
        for chunk in _checked(_sequence(chunks)):
            part = summary(chunk)
            if part is not None:
                waiting.append(part)
            # Or it would be in memory while the next chunk is summed up.
            del part
            if len(waiting) == fan_in:
                waiting = [merge(waiting)]
        merged = merge(waiting) if waiting else None
    if merged is None:
        raise InputError("no_rows_streamed")
    return merged


def _sequence(chunks: Any) -> Iterable[Any]:
    """Take a file, a folder, or one table for all of its chunks."""
    if isinstance(chunks, (str, os.PathLike)):
        return read_chunks(chunks)
    if isinstance(chunks, (np.ndarray, RawTable)) or hasattr(chunks, "columns"):
        return [chunks]
    if not isinstance(chunks, Iterable):
        raise InputError("chunks_type", type=type(chunks).__name__)
    return chunks


def _checked(chunks: Iterable[Any]) -> Iterator[Chunk]:
    """Yield the chunks that have rows, all with the columns of the first."""
    first: Chunk | None = None
    n_rows = 0
    for number, rows in enumerate(chunks, 1):
        chunk = Chunk.from_input(rows, f"Chunk {number}", n_rows)
        if chunk is None:
            continue
        first = first or chunk
        if chunk.table.names != first.table.names:
            mismatch = describe_mismatch(first.table.names, chunk.table.names)
            raise InputError("chunk_columns_differ", label=chunk.label, mismatch=mismatch)
        n_rows += chunk.table.n_samples
        yield chunk


def _is_empty(rows: Any) -> bool:
    if isinstance(rows, RawTable):
        return rows.n_rows == 0
    shape: tuple[int, ...] = getattr(rows, "shape", ())
    return len(shape) == 2 and shape[0] == 0


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def reduce_partitions(
    collection: Any,
    summary: Callable[[Chunk], Summary | None],
    merge: Callable[[list[Summary]], Summary],
    *,
    fan_in: int,
) -> Summary | None:
    """Summarise each partition of a dask array or data frame, and merge in a tree.

    One task per partition and one per merge, on whatever scheduler or cluster is active. The tree
    is the same wherever it runs, and so are the sums.
    """
    from dask.delayed import delayed

    parts = [
        delayed(_summarize)(block, f"Partition {number}", summary)
        for number, block in enumerate(_blocks(collection), 1)
    ]
    while len(parts) > 1:
        parts = [
            delayed(_merge)(parts[first : first + fan_in], merge)
            for first in range(0, len(parts), fan_in)
        ]
    found: Summary | None = parts[0].compute()
    return found


def _blocks(collection: Any) -> list[Any]:
    """Rows of a collection, as tasks."""
    if getattr(collection, "ndim", None) != 2:
        raise InputError("dask_type", type=type(collection).__name__)
    if hasattr(collection, "columns"):
        return list(collection.to_delayed())
    if collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    return list(collection.to_delayed()[:, 0])


def _summarize(rows: Any, label: str, summary: Callable[[Chunk], Summary | None]) -> Summary | None:
    chunk = Chunk.from_input(rows, label, None)
    return None if chunk is None else summary(chunk)


def _merge(
    parts: list[Summary | None], merge: Callable[[list[Summary]], Summary]
) -> Summary | None:
    known = [part for part in parts if part is not None]
    return merge(known) if known else None


#: Matrices are merged two at a time, so that no more than two and their sum are in memory.
MATRICES_AT_A_TIME: Final = 2
#: Tables of counts have to be sorted for a merge, which is worth the while for several.
COUNTS_AT_A_TIME: Final = 16


def stream_covariance(chunks: Any, *, weight: str | None = None, device: str = "cpu") -> Moments:
    """Mean and covariance of a table that comes in chunks.

    The rows of a chunk are summarised and forgotten, so that memory holds a chunk and three
    covariances. The result is that of all rows at once up to rounding, whatever the chunks and
    however large the mean; for that of several machines, `Moments.merge` theirs.

    Parameters
    ----------
    chunks : iterable, path, table or dask collection
        - an iterable of arrays, data frames or what `edgewise.io.read_chunks` yields, all with the
          same columns, without missing values; chunks without rows do not matter;
        - the name of a csv, tsv or parquet file or of a folder of them, for all of its columns;
        - one array or data frame;
        - a dask array or data frame: each partition is summarised where it is, and the summaries
          are merged there in a tree. Only the result comes back.
    weight : str, optional
        Column of weights: 2 counts a row twice. Columns of arrays are called ``x0``, ``x1``, ...
        Rows of weight 0 are left out.
    device : {"cpu", "cuda"}
        Where chunks are summed up: on ``"cuda"``, a GPU by way of PyTorch, the sums of the result
        are tensors there, and so is its ``covariance()``.

    Returns
    -------
    Moments
        With the names of the columns. ``GaussianGraph().fit`` takes it in place of rows.

    Raises
    ------
    InputError
        For text, missing and infinite values, with the chunk, row and column; and for chunks with
        other columns than those before.

    See Also
    --------
    stream_group_covariance : The same for every group of rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> moments = stream_covariance(rng.normal(size=(1000, 3)) for _ in range(50))
    >>> moments.n_samples, moments.covariance().diagonal().round(1)
    (50000, array([1., 1., 1.]))
    """
    summary = partial(_moments_of, weight=weight, device=device)
    return summarize(chunks, summary, _merge_moments, fan_in=MATRICES_AT_A_TIME)


def stream_group_covariance(
    chunks: Any, by: str, *, weight: str | None = None
) -> dict[Level, Moments]:
    """Mean and covariance of every group of rows of a table that comes in chunks.

    These are all that the Gaussian comparisons of two groups need to know of the rows:
    `edgewise.solvers.dtrace` takes two covariances, and so does `joint_graphical_lasso_path`.

    Parameters
    ----------
    chunks : iterable, path, table or dask collection
        As in `stream_covariance`.
    by : str
        Column of labels: text, booleans or numbers.
    weight : str, optional
        Column of weights, as in `stream_covariance`.

    Returns
    -------
    dict
        From each label, in order, to the `Moments` of the other columns.

    Examples
    --------
    >>> import pandas as pd
    >>> chunk = pd.DataFrame({"a": [1.0, 3.0, 5.0], "b": [2.0, 2.0, 8.0], "sick": [0, 0, 1]})
    >>> groups = stream_group_covariance([chunk, chunk], by="sick")
    >>> {label: (moments.n_samples, moments.mean.tolist()) for label, moments in groups.items()}
    {0: (4, [2.0, 2.0]), 1: (2, [5.0, 8.0])}
    """
    summary = partial(_group_moments_of, by=by, weight=weight)
    groups = summarize(chunks, summary, _merge_groups, fan_in=MATRICES_AT_A_TIME)
    if len({isinstance(label, str) for label in groups}) > 1:
        raise InputError("chunk_label_types", by=by, group=list(groups)[:5])
    return {label: groups[label] for label in sorted(groups)}


def stream_counts(chunks: Any) -> Counts:
    """Contingency counts of a table of discrete columns that comes in chunks.

    Different rows are kept once, with how often they stand, so that memory follows their number.
    Where that is too large, count fewer columns at a time, as in
    ``stream_counts(read_chunks(path, columns=["smokes", "coughs"]))``.

    Parameters
    ----------
    chunks : iterable, path, table or dask collection
        As in `stream_covariance`, with columns of text, booleans or whole numbers. Levels are
        those that occur in any chunk, sorted, unless all chunks declare the same categories.

    Returns
    -------
    Counts
        ``DiscreteMarkovNet().fit`` takes it in place of rows.

    Raises
    ------
    InputError
        For missing and infinite values, with the chunk, row and column; for columns that change
        between numbers and text; and where there are too many levels or different rows.

    Examples
    --------
    >>> import pandas as pd
    >>> chunk = pd.DataFrame({"smokes": ["no", "yes", "no"], "coughs": [True, True, False]})
    >>> counts = stream_counts([chunk, chunk])
    >>> counts.table("smokes", "coughs")
    array([[2, 2],
           [0, 2]])
    """
    return summarize(chunks, _counts_of, Counts.merge_all, fan_in=COUNTS_AT_A_TIME)


def _moments_of(chunk: Chunk, *, weight: str | None, device: str) -> Moments | None:
    chunk.check()
    weights = _weights(chunk, weight)
    return _summarized(chunk, weights, leave_out={weight}, rows=weights > 0, device=device)


def _merge_moments(parts: list[Moments]) -> Moments:
    return reduce(Moments.merge, parts)


def _group_moments_of(chunk: Chunk, *, by: str, weight: str | None) -> dict[Level, Moments] | None:
    place = chunk.column(by, "by")
    chunk.check(allow_text=[place])
    weights = _weights(chunk, weight)
    table = chunk.table
    labels, member = code_column(table.values[:, place], table.kinds[place], table.levels[place])
    groups = {}
    for code, label in enumerate(labels):
        rows = (member == code) & (weights > 0)
        if (found := _summarized(chunk, weights, leave_out={by, weight}, rows=rows)) is not None:
            groups[label] = found
    return groups or None


def _merge_groups(parts: list[dict[Level, Moments]]) -> dict[Level, Moments]:
    merged: dict[Level, Moments] = {}
    for part in parts:
        for label, moments in part.items():
            merged[label] = merged[label].merge(moments) if label in merged else moments
    return merged


def _weights(chunk: Chunk, weight: str | None) -> FloatArray:
    """Weights of the rows, checked to be at least 0."""
    if weight is None:
        return np.ones(chunk.table.n_samples)
    weights = chunk.table.values[:, chunk.column(weight, "weight")]
    if (weights < 0).any():
        raise InputError("chunk_weights", label=chunk.label, weight=weight, weights=weights.min())
    return weights


def _summarized(
    chunk: Chunk,
    weights: FloatArray,
    *,
    leave_out: set[str | None],
    rows: BoolArray,
    device: str = "cpu",
) -> Moments | None:
    """Moments of some rows of all columns but those left out; None where there are no rows."""
    names = chunk.table.names
    kept = [k for k, name in enumerate(names) if name not in leave_out]
    if not kept:
        raise InputError("chunk_without_columns", label=chunk.label, listed=", ".join(names))
    if not rows.any():
        return None
    values = to_device(chunk.take(kept, rows), device)
    if not chunk.first_row and is_foreign(values):
        require_device_memory(values, 3, len(kept))
    elif not chunk.first_row:
        require_memory(
            f"The covariance of {len(kept)} columns",
            [Arrays(3.0, (len(kept), len(kept)))],
            advice="Take fewer columns at a time.",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        moments = Moments.from_samples(
            values,
            sample_weight=weights[rows],
            names=[names[k] for k in kept] if chunk.has_names else None,
        )
    variances = to_numpy(array_namespace(moments.scatter).linalg.diagonal(moments.scatter))
    if len(huge := np.flatnonzero(~np.isfinite(variances))):
        raise InputError("squares_overflow", label=chunk.label, name=names[kept[huge[0]]])
    return moments


def _counts_of(chunk: Chunk) -> Counts:
    chunk.check(allow_text=range(chunk.table.n_features))
    return Counts.from_table(code_levels(chunk.table), chunk.names)
