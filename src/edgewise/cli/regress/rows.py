"""The table that `regress` takes: covariates, responses and validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from edgewise._core.errors import InputError
from edgewise.cli.input import (
    Source,
    about_text,
    as_table,
    did_you_mean,
    fingerprint_of,
    named_columns,
    read_without_row_labels,
    text_columns,
)

if TYPE_CHECKING:
    import pandas as pd

    from edgewise._core.typing import BoolArray
    from edgewise.io import RawTable


def read_regression(
    path: Path,
    *,
    on: Sequence[str],
    responses: Sequence[str] = (),
    drop: Sequence[str] = (),
    held_out: str | None = None,
    drop_missing: bool = False,
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
    drop_missing : bool
        Whether to drop rows with missing values instead of refusing them.
    """
    import pandas as pd

    from edgewise.io import quote_names

    raw = read_without_row_labels(path, on, responses, drop, held_out)
    covariates = named_columns(on, raw.names, "--on")
    if not covariates:
        raise InputError("--on names no column. Name those that the network may vary with.")
    if held_out is not None and held_out not in raw.names:
        raise InputError(
            f"--held-out names '{held_out}', which is no column of {raw.source}. "
            f"{did_you_mean(held_out, raw.names)}"
        )
    taken = {*covariates, held_out}
    wanted = named_columns(responses, raw.names, "--responses")
    if both := [name for name in wanted if name in taken]:
        raise InputError(
            f"{quote_names(both)} cannot be of the network and say where it applies as well. "
            "Leave them out of --responses."
        )
    left_out = {*named_columns(drop, raw.names, "--drop")}
    network = [
        name
        for name in raw.names
        if name not in taken and name not in left_out and (not wanted or name in wanted)
    ]
    if len(network) < 2:
        raise InputError(
            f"A network needs at least 2 columns; besides {quote_names(covariates)}, {raw.source} "
            f"has {len(network)} left."
        )
    notes = raw.notes
    if unused := [name for name in raw.names if name not in taken and name not in network]:
        notes += (f"left out on request: {', '.join(unused)}",)
    frame = pd.DataFrame(dict(zip(raw.names, raw.columns, strict=True)))
    used = [*covariates, *network, *([held_out] if held_out is not None else [])]
    if drop_missing:
        kept = frame[used].notna().all(axis=1)
        if n_gone := int((~kept).sum()):
            notes += (f"{n_gone} rows with missing values dropped",)
        frame = frame[kept].reset_index(drop=True)
    _refuse_missing(path, frame[used])
    _refuse_text(path, raw, network)
    table = as_table(_part(raw, network), was_wider=True)
    source = Source(
        name=str(path),
        frame=frame[network].astype(float),
        fingerprint={
            **fingerprint_of(path, table),
            "n_samples": len(frame),
            "on": covariates,
            "held_out": held_out,
        },
        notes=notes,
    )
    is_validation = None if held_out is None else _validation(frame[held_out], held_out)
    return source, frame[covariates], is_validation


def _part(raw: RawTable, names: Sequence[str]) -> RawTable:
    kept = [raw.names.index(name) for name in names]
    return replace(raw, names=tuple(names), columns=tuple(raw.columns[k] for k in kept))


def _refuse_missing(path: Path, frame: pd.DataFrame) -> None:
    from edgewise.io import quote_names

    counts = frame.isna().sum()
    if gaps := [str(name) for name in counts.index[counts > 0]]:
        n_rows = int(frame.isna().any(axis=1).sum())
        raise InputError(
            f"Columns {quote_names(gaps)} of {path} have missing values, in {n_rows} of "
            f"{len(frame)} rows. Fill them in, or leave those rows out with --missing drop."
        )


def _refuse_text(path: Path, raw: RawTable, network: Sequence[str]) -> None:
    """Responses are numbers; covariates may be text."""
    table = as_table(_part(raw, network), was_wider=True)
    if text_columns(table):
        raise InputError(about_text(path, table))


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
