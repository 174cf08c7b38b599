"""Statistics of dask collections: rows stay where they are, and only summaries travel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgewise._core.errors import InputError
from edgewise.stats._chunks import Chunk, Summary


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
        raise InputError(
            "Of dask collections, arrays and data frames with rows and columns can be streamed; "
            f"this is a {type(collection).__name__}."
        )
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
