"""Description of the columns of a table, for ``edgewise info TABLE``."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from edgewise._core.typing import AnyArray, FloatArray
    from edgewise.data.table import Table
    from edgewise.io import RawTable

#: A larger file is described by its first rows, if it can be read by parts.
LARGE: Final = 2**26
FIRST_ROWS: Final = 20_000
#: Formats that are read by parts.
CHUNKED: Final = (".csv", ".tsv", ".txt", ".parquet")
#: Bars of a histogram, and levels that have one each.
BARS: Final = 10
#: Most groups that a column can divide rows into, and the fewest rows of each.
MOST_GROUPS, FEWEST_ROWS = 12, 5


def describe_table(path: Path, **options: Any) -> dict[str, Any]:
    """Describe a table as JSON can carry it.

    Parameters
    ----------
    path : path
    **options
        How it is written, as `edgewise.io.read_table` takes it.

    Returns
    -------
    dict
        ``n_rows``, ``n_columns``, ``is_part``, ``notes``, ``sheets``, ``first_rows`` as they stand
        in the file, ``cluster`` (the column that says which rows belong together, or None),
        ``survival`` (the event of each time under observation) and ``columns``, each with ``name``,
        ``kind``, ``holds``, ``missing`` (share), ``bars``,
        ``left_out`` (why it is no variable, or None), ``is_group``, ``is_time`` and ``is_number``.
    """
    from edgewise.data.dependence import find_clusters, is_time
    from edgewise.data.kinds import describe_columns, guess_kind
    from edgewise.data.roles import find_survival, is_dates, set_apart
    from edgewise.data.table import Table
    from edgewise.io.preview import preview_table

    raw, is_part = _read(path, options)
    preview = preview_table(path, sheet=options.get("sheet"), encoding=options.get("encoding"))
    columns = dict(zip(raw.names, raw.columns, strict=True))
    table = Table.from_input(raw)
    kinds = [guess_kind(table, k) for k in range(table.n_features)]
    apart = set_apart(columns, first=raw.names[0])
    left_out = {name: one.kind for one in apart for name in one.columns}
    described = describe_columns(table, kinds, raw.labels, raw.value_labels)
    return {
        "table": str(path),
        "n_rows": raw.n_rows,
        "n_columns": len(raw.names),
        "is_part": is_part,
        "notes": list(raw.notes),
        "sheets": list(preview.sheets),
        "first_rows": preview.rows,
        "cluster": find_clusters(columns),
        "survival": find_survival(columns),
        "columns": [
            {
                "name": one["column"],
                "kind": one["kind"],
                "holds": one["values"],
                "label": one.get("label", ""),
                "missing": round(float(table.missing[:, k].mean()), 4),
                "bars": _bars(table, k),
                "left_out": left_out.get(one["column"]),
                "is_group": _is_group(table.values[:, k]),
                "is_time": is_dates(raw.columns[k]) or is_time(one["column"], raw.columns[k]),
                "is_number": table.levels[k] is None,
            }
            for k, one in enumerate(described)
        ],
    }


def _read(path: Path, options: Mapping[str, Any]) -> tuple[RawTable, bool]:
    """Read a table, or the first rows of a large one; tell which."""
    from edgewise.io import read_chunks, read_table

    can_be_parted = path.is_file() and path.suffix.lower() in CHUNKED
    if not can_be_parted or path.stat().st_size <= LARGE:
        return read_table(path, **options), False
    written = {name: value for name, value in options.items() if name != "sheet"}
    chunks = read_chunks(path, rows=FIRST_ROWS, **written)
    first = next(chunks)
    return first, next(chunks, None) is not None


def _is_group(values: FloatArray) -> bool:
    """Whether a column divides the rows into a few groups of some rows each."""
    import numpy as np

    _, sizes = np.unique(values[~np.isnan(values)], return_counts=True)
    return 2 <= len(sizes) <= MOST_GROUPS and int(np.sort(sizes)[-2]) >= FEWEST_ROWS


def _bars(table: Table, k: int) -> list[int]:
    """Count the rows of each level, the most frequent ones first for text, or of ten bins."""
    import numpy as np

    values: AnyArray = table.values[:, k]
    seen = values[np.isfinite(values)]
    if not len(seen):
        return []
    found, sizes = np.unique(seen, return_counts=True)
    if table.levels[k] is not None:
        sizes = np.sort(sizes)[::-1]
    elif len(found) > BARS:
        sizes = np.histogram(seen, bins=BARS)[0]
    return [int(size) for size in sizes[:BARS]]


def in_words(found: Mapping[str, Any]) -> str:
    """Write a description for people."""
    part = "the first " if found["is_part"] else ""
    lines = [f"{part}{found['n_rows']:,} rows and {found['n_columns']} columns in {found['table']}"]
    lines += [textwrap.fill(f"Note: {note}", 100) for note in found["notes"]]
    width = max(len(one["name"]) for one in found["columns"])
    lines.append("")
    for one in found["columns"]:
        missing = f", {max(one['missing'], 0.01):.0%} missing" if one["missing"] else ""
        out = f"; left out: {one['left_out']}" if one["left_out"] else ""
        lines.append(f"{one['name']:<{width}}  {one['kind']}: {one['holds']}{missing}{out}")
    if found["cluster"] is not None:
        lines += ["", f"Rows that share a value of '{found['cluster']}' belong together."]
    return "\n".join(lines)
