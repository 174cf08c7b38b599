"""The table that `regress` takes: covariates, responses and validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from edgewise._core.errors import InputError
from edgewise.cli.input import (
    Source,
    about_text,
    read_columns,
    text_columns,
)
from edgewise.cli.prepare import COMPLETE_ROWS, treat_missing

if TYPE_CHECKING:
    import pandas as pd

    from edgewise._core.typing import BoolArray

ON: Final = "--on"
HELD_OUT: Final = "--held-out"


def read_regression(
    path: Path,
    *,
    on: Sequence[str],
    responses: Sequence[str] = (),
    drop: Sequence[str] = (),
    held_out: str | None = None,
) -> tuple[Source, pd.DataFrame, BoolArray | None]:
    """Read responses, covariates and which rows validate from a file.

    Parameters
    ----------
    path : path
        The file.
    on, responses, drop : sequence of str
        Covariates; columns of the network (none: all others); columns to leave out.
    held_out : str, optional
        Column that marks the validation rows.
    """
    import pandas as pd

    reading = read_columns(
        path,
        columns=responses,
        drop=drop,
        apart={ON: on, HELD_OUT: [] if held_out is None else [held_out]},
        option="--responses",
    )
    covariates, marks = reading.apart[ON], reading.apart[HELD_OUT]
    if not covariates:
        raise InputError(f"{ON} names no column. Name those that the network may vary with.")
    table = reading.table()
    if text_columns(table):
        raise InputError(about_text(path, table))
    reading, _ = treat_missing(reading, COMPLETE_ROWS)
    table = reading.table()
    used = [*covariates, *reading.names, *marks]
    frame = pd.DataFrame({name: reading.column(name) for name in used})
    source = reading.source(
        table,
        frame[list(reading.names)].astype(float),
        on=covariates,
        held_out=held_out,
    )
    is_validation = None if held_out is None else _validation(frame[held_out], held_out)
    return source, frame[covariates], is_validation


def _validation(column: pd.Series, name: str) -> BoolArray:
    """Read which rows validate: two values, of which one means yes."""
    import numpy as np

    words = column.astype(str).str.strip().str.lower().str.removesuffix(".0")
    meaning = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if not words.isin(list(meaning)).all() or words.nunique() < 2:
        shown = ", ".join(sorted(words.unique())[:5])
        raise InputError(
            f"--held-out takes a column of 0 and 1, or false and true, with some of both; "
            f"'{name}' has {shown}."
        )
    is_validation: BoolArray = words.map(meaning).to_numpy(dtype=np.bool_)
    return is_validation
