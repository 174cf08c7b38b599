"""Martingale residuals of censored times: ``--survival TIME=EVENT``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError

if TYPE_CHECKING:
    from edgewise._core.typing import FloatArray
    from edgewise.io import RawTable

#: Words for an event that came.
CAME: Final = ("dead", "died", "deceased", "death", "event", "yes", "true", "relapse", "relapsed")


def with_survival(raw: RawTable, given: Sequence[str]) -> RawTable:
    """Replace each event by the martingale residual of its time, and leave the time out.

    Parameters
    ----------
    raw : RawTable
    given : sequence of str
        TIME=EVENT, or TIME=EVENT:LEVEL where a level of the event is to be named; several are
        separated by commas.
    """
    from edgewise.data.roles import martingale_residuals

    columns = dict(zip(raw.names, raw.columns, strict=True))
    notes = list(raw.notes)
    gone = []
    for part in [part.strip() for text in given for part in text.split(",") if part.strip()]:
        time, event, level = _split(part, raw.names)
        if columns[time].dtype.kind not in "iuf":
            raise InputError("survival_time_is_text", time=time)
        came, what = _came(columns[event], event, level)
        columns[event] = martingale_residuals(columns[time], came)
        gone.append(time)
        notes.append(
            f"'{time}' and '{event}' were replaced by the martingale residual '{event}', as "
            f"--survival asks: {what} counts as the event; above 0 where it came earlier than in "
            "other rows, below 0 where it came late or not"
        )
    names = [name for name in raw.names if name not in gone]
    return replace(
        raw,
        names=tuple(names),
        columns=tuple(columns[name] for name in names),
        notes=tuple(notes),
        value_labels={name: own for name, own in raw.value_labels.items() if name in names},
    )


def _split(part: str, names: Sequence[str]) -> tuple[str, str, str]:
    """Take TIME=EVENT:LEVEL apart; names may hold these signs themselves."""
    from edgewise.cli.prepare import named_columns

    for k, sign in enumerate(part):
        if sign == "=" and part[:k].strip() in names:
            rest = part[k + 1 :].strip()
            if rest in names:
                return part[:k].strip(), rest, ""
            event, _, level = rest.rpartition(":")
            if event in names:
                return part[:k].strip(), event, level.strip()
            named_columns([event or rest], names, "--survival")
    time, sign, _ = part.partition("=")
    if not sign:
        raise InputError("survival_needs_event", part=part)
    named_columns([time.strip()], names, "--survival")
    raise InputError("survival_syntax", part=part)


def _came(column: Any, name: str, level: str) -> tuple[FloatArray, str]:
    """Tell for each row whether the event came, NaN where nobody knows; and what it was."""
    import numpy as np
    import pandas as pd

    is_there = ~pd.isna(pd.Series(column)).to_numpy()
    texts = [_written(value) for value in column.tolist()]
    levels = sorted({text for text, there in zip(texts, is_there, strict=True) if there})
    if len(levels) < 2:
        raise InputError("survival_event_constant", name=name)
    if not level and column.dtype.kind in "iufb":
        level = _written(max(column[is_there].tolist()))
    if not level:
        found = [text for text in levels if text.strip().lower() in CAME]
        level = found[0] if len(found) == 1 else ""
    if level not in levels:
        raise InputError("survival_needs_level", name=name, levels=levels, level=levels[-1])
    came = np.array([float(text == level) for text in texts])
    return np.where(is_there, came, np.nan), f"{level} of '{name}'"


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
