"""Text files as pandas reads them from 3.1 on, for the versions before."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def is_old() -> bool:
    """Whether pandas is older than 3.1."""
    import pandas as pd

    return tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)


def number_options() -> dict[str, Any]:
    """Options by which a decimal becomes the nearest binary number."""
    return {"float_precision": "round_trip"} if is_old() else {}


@contextmanager
def readable(file: Path, encoding: str) -> Iterator[Any]:
    """Yield what pandas is to read; old versions take a NUL for the end of a field."""
    if not is_old():
        yield file
        return
    with _WithoutNul(file.open("rb"), encoding=encoding, newline="") as handle:
        yield handle


class _WithoutNul(io.TextIOWrapper):
    """Text in which NULs can be seen."""

    def read(self, size: int | None = -1, /) -> str:
        return super().read(size).replace("\0", "\N{REPLACEMENT CHARACTER}")


def with_large_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame where numbers beyond all floats are infinite, as they are in new versions."""
    from pandas.api import types

    if not is_old():
        return frame
    for name in frame.columns:
        if types.is_object_dtype(frame[name].dtype):
            values = _as_floats(frame[name].tolist())
            if values is not None:
                frame = frame.assign(**{name: values})
    return frame


def _as_floats(values: list[Any]) -> list[float] | None:
    """Floats of texts that are all numbers, with gaps; None where one is something else."""
    if any(isinstance(value, bool) or "_" in str(value) for value in values):
        return None
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        return None
