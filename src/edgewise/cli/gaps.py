"""Missing values of a table: default treatment and advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from edgewise._core.errors import InputError
from edgewise.cli.prepare import for_gaps, preparation
from edgewise.cli.shell import again, drop_command

if TYPE_CHECKING:
    from edgewise._core.typing import BoolArray
    from edgewise.cli.input import Reading

#: What methods of whole rows can do with missing values.
COMPLETE_ROWS: Final = ("impute", "drop")
COMPLETE: Final = "this command scores whole rows"
#: Share of the rows that are left out without a word of other ways.
FEW: Final = 0.05
#: Columns are left out on advice if that brings back so many of the rows that are lost, for so
#: many of the columns.
REGAINED: Final = 0.5
MOST_COLUMNS: Final = 1 / 3
#: More than this share of the rows is never left out on advice.
MOST_LOST: Final = 0.5


def treat_missing(
    reading: Reading, takes: Sequence[str], why: str = COMPLETE, *, by_fit: bool = False
) -> tuple[Reading, str]:
    """Do what ``--missing`` says; also return what is left for an estimator to do.

    Parameters
    ----------
    reading : Reading
        The table.
    takes : sequence of str
        What the method can do with missing values, the best first.
    why : str
        Why it can do nothing else.
    by_fit : bool
        Whether the estimator fills in missing values by itself, several times.
    """
    import numpy as np
    import pandas as pd

    asked = preparation().missing
    used = [*reading.names, *chain(*reading.apart.values())]
    gaps = {name: np.asarray(pd.isna(reading.column(name))) for name in used}
    counts = {name: int(own.sum()) for name, own in gaps.items()}
    if not any(counts.values()):
        return reading, "error"
    _refuse_empty(reading, counts)
    is_whole = ~np.any([*gaps.values()], axis=0)
    lost = 1.0 - float(is_whole.mean())
    if asked == "error":
        raise InputError(_about_missing(reading, gaps, takes))
    chosen: str = asked
    notes: list[str] = []
    if asked == "auto":
        chosen = "drop" if takes[0] == "impute" and lost <= FEW else takes[0]
        few = f"at most {FEW:.0%} of the rows have gaps"
        notes = [f"--missing auto takes {chosen}, since {few if chosen == 'drop' else why}"]
    if chosen not in takes:
        raise InputError(
            "missing_not_possible", chosen=chosen, why=why, again=again("--missing", takes[0])
        )
    if chosen == "impute":
        reading = _with_design(reading, gaps)
        if not by_fit:
            return _filled(reading, *notes), "error"
    if chosen == "pairwise":
        _refuse_apart(reading)
    if chosen != "drop":
        return replace(reading, notes=(*reading.notes, *notes)), chosen
    if is_whole.sum() < 2:
        raise InputError(
            "too_few_complete_rows",
            n_complete=int(is_whole.sum()),
            n_rows=len(is_whole),
            source=reading.raw.source,
            fullest=_fullest(reading, counts),
        )
    notes.append(f"{int((~is_whole).sum())} of {len(is_whole)} rows have missing values, left out")
    return reading.with_rows(is_whole, *notes), "error"


def _refuse_empty(reading: Reading, counts: Mapping[str, int]) -> None:
    """Refuse columns with at most one value."""
    if empty := [name for name in reading.names if counts[name] >= reading.raw.n_rows - 1]:
        raise InputError(
            "empty_columns_in_file",
            columns=empty,
            has_values=any(counts[name] < reading.raw.n_rows for name in empty),
            command=drop_command(empty, *for_gaps(len(empty) < sum(map(bool, counts.values())))),
        )


def _refuse_apart(reading: Reading) -> None:
    """Refuse columns that have no two values in the rows that another one has."""
    import numpy as np

    values = reading.table().values
    names, is_seen = list(reading.names), ~np.isnan(values)
    apart = np.zeros((len(names), len(names)), dtype=bool)
    for k in range(len(names)):
        rows = values[is_seen[:, k]]
        low = np.min(rows, axis=0, initial=np.inf, where=~np.isnan(rows))
        high = np.max(rows, axis=0, initial=-np.inf, where=~np.isnan(rows))
        apart[k] = low >= high
    apart |= apart.T
    np.fill_diagonal(apart, False)
    if not apart.any():
        return
    first = np.argwhere(apart)[0].tolist()
    out: list[str] = []
    while apart.any():
        worst = int(np.lexsort((is_seen.sum(axis=0), -apart.sum(axis=0)))[0])
        apart[worst] = apart[:, worst] = False
        out.append(names[worst])
    raise InputError(
        "columns_apart",
        pair=[names[k] for k in first],
        out=out,
        command=drop_command(out, "--missing", "auto"),
    )


def _with_design(reading: Reading, gaps: Mapping[str, BoolArray]) -> Reading:
    """Leave out rows without a label, a covariate or the like: these are not filled in."""
    import numpy as np

    apart = [*chain(*reading.apart.values())]
    if not apart or not (is_gap := np.any([gaps[name] for name in apart], axis=0)).any():
        return reading
    note = f"{int(is_gap.sum())} of {len(is_gap)} rows lack what options ask for, left out"
    return reading.with_rows(~is_gap, note)


def _filled(reading: Reading, *notes: str) -> Reading:
    """Fill the gaps of the columns of the network once, from these columns alone."""
    import numpy as np
    import pandas as pd

    from edgewise.data import impute

    raw = reading.raw
    frame = pd.DataFrame({name: reading.column(name) for name in reading.names})
    is_gap = frame.isna().to_numpy()
    (filled,) = impute(frame, n_fillings=1, random_state=0)
    columns = dict(zip(raw.names, raw.columns, strict=True))
    for name in reading.names:
        own = filled[name]
        is_text = columns[name].dtype.kind == "O"
        columns[name] = np.array(own.tolist(), dtype=object) if is_text else own.to_numpy()
    note = (
        f"{int(is_gap.sum())} missing values in {int(is_gap.any(axis=1).sum())} of {len(frame)} "
        "rows were filled in once, from the other columns of the network alone (chained "
        "equations), and count as if they had been measured"
    )
    raw = replace(raw, columns=tuple(columns[name] for name in raw.names))
    return replace(reading, raw=raw, notes=(*reading.notes, *notes, note))


def _fullest(reading: Reading, counts: Mapping[str, int]) -> str:
    """Advise to leave out columns, those with most gaps first, until two whole rows are left."""
    import numpy as np
    import pandas as pd

    from edgewise.io import quote_names

    kept, out = [*counts], []
    n_whole = 0
    while n_whole < 2 and len(others := [name for name in reading.names if name in kept]) > 2:
        out.append(max(others, key=lambda one: counts[one]))
        kept.remove(out[-1])
        n_whole = int((~np.any([pd.isna(reading.column(name)) for name in kept], axis=0)).sum())
    if n_whole < 2:
        return "Leave out the columns that have most of them."
    lacks = f"lacks {counts[out[0]]}" if len(out) == 1 else "lack most"
    has_gaps = n_whole < reading.raw.n_rows
    return f"Leave out {quote_names(out)}, which {lacks}: {drop_command(out, *for_gaps(has_gaps))}."


def _about_missing(reading: Reading, gaps: Mapping[str, BoolArray], takes: Sequence[str]) -> str:
    """Say which columns have gaps, what they cost, and the commands that go on with them."""
    import numpy as np

    from edgewise.io.messages import NAMES_SHOWN

    counts = {name: int(own.sum()) for name, own in gaps.items()}
    listed = [f"'{name}' ({count})" for name, count in counts.items() if count]
    more = f" and {len(listed) - NAMES_SHOWN} more" if len(listed) > NAMES_SHOWN else ""
    total, n_rows = sum(counts.values()), reading.raw.n_rows
    n_lost = int(np.any([*gaps.values()], axis=0).sum())
    values, columns = "value is" if total == 1 else "values are", f"column{'s'[: len(listed) - 1]}"
    rows = "1 row has one" if n_lost == 1 else f"{n_lost} rows have any"
    found = (
        f"{total} {values} missing (an empty field, NA or NaN), in {columns} "
        f"{', '.join(listed[:NAMES_SHOWN])}{more}; of {n_rows} rows, {rows}."
    )
    found += f" Use what is there: {again('--missing', 'auto')}."
    if n_rows - n_lost < 2:
        return f"{found} {_fullest(reading, counts)}"
    if n_lost > FEW * n_rows and (ways := _costly(reading, gaps)) is not None:
        names, n_left = ways
        cost = "costs" if len(names) == 1 else "cost"
        option = ("--missing", "drop") if n_left else ()
        return (
            f"{found} Or leave out {_quoted(names)}, which {cost} {n_lost - n_left} of these rows: "
            f"{drop_command(names, *option)}."
        )
    if n_lost > MOST_LOST * n_rows:
        return found
    them = "it" if n_lost == 1 else "them"
    return f"{found} Or leave {them} out: {again('--missing', 'drop')}."


def _quoted(names: Sequence[str]) -> str:
    from edgewise.io import quote_names

    return quote_names(names)


def _costly(reading: Reading, gaps: Mapping[str, BoolArray]) -> tuple[list[str], int] | None:
    """Find the few columns that cost most of the rows; also count the rows still lost then.

    Only columns that lack more than a few of their own values are worth leaving out.
    """
    import numpy as np

    kept = dict(gaps)
    n_lost = int(np.any([*kept.values()], axis=0).sum())
    names = sorted(reading.names, key=lambda one: -int(gaps[one].sum()))
    costly = [name for name in names if gaps[name].mean() > FEW]
    for k, name in enumerate(costly[: int(MOST_COLUMNS * len(names))]):
        del kept[name]
        n_left = int(np.any([*kept.values()], axis=0).sum())
        if n_left <= (1.0 - REGAINED) * n_lost and n_left <= 0.1 * reading.raw.n_rows:
            return costly[: k + 1], n_left
    return None
