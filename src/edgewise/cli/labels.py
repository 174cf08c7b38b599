"""Groups of rows: the label of each row, and the order of the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.dependence import CLUSTER, settled
from edgewise.cli.gaps import COMPLETE_ROWS, treat_missing
from edgewise.cli.input import (
    Reading,
    Source,
    check_table,
    most_levels,
    read_columns,
    refuse_covariance_file,
)
from edgewise.cli.prepare import did_you_mean, preparation
from edgewise.cli.shell import again
from edgewise.cli.wording import about_text, text_columns

if TYPE_CHECKING:
    import pandas as pd

    from edgewise._core.typing import AnyArray
    from edgewise.data.table import Table
    from edgewise.inference import Design

#: The option that names the column of labels.
BY: Final = "--by"
#: The basis for columns of two values.
TWO_VALUES: Final = "ising"
#: A basis that takes columns as they are.
MEASUREMENTS: Final = "gaussian"
#: A column of labels with more of them is something else.
MOST_CLASSES: Final = 20
MOST_GROUPS: Final = 50
#: Options that name columns of the design of a comparison, and what a design calls them.
DESIGN: Final = {
    "--paired": "paired",
    "--block": "blocks",
    "--cluster": "clusters",
    "--adjust": "covariates",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Which rows belong to which label.

    Attributes
    ----------
    y : Series
        One label per row, categorical: of two, the category that comes first is before.
    names : tuple of str
        The labels as text; of two, before and after.
    counts : tuple of int
        Rows of each.
    design : Design or None
        Pairs, blocks, clusters and covariates, where options name them or they were found.
    untested : str
        Why nothing is tested; empty where it is.
    """

    y: pd.Series
    names: tuple[str, ...]
    counts: tuple[int, ...]
    design: Design | None = None
    untested: str = ""


def read_rows(
    path: Path,
    *,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    by: str | None = None,
    pair: str | None = None,
    basis: str | None = None,
    design: Mapping[str, str] | None = None,
) -> tuple[Source, Groups | None]:
    """Read the rows to compare and, where a column holds them, their labels.

    Parameters
    ----------
    path : path
        The file.
    columns, drop : sequence of str
        Columns to keep (none: all) and to leave out.
    by : str, optional
        The column that holds the labels.
    pair : str, optional
        The label before and the one after, separated by a comma; or more labels in their order.
    design : mapping of str to str, optional
        Columns of the design of the comparison by the option that names them.
    basis : str, optional
        What the user asked for; columns of two values are recoded unless it is for numbers.
    """
    apart = {} if by is None else {BY: [by]}
    apart |= {option: [text] for option, text in (design or {}).items()}
    reading = read_columns(path, columns=columns, drop=drop, apart=apart)
    groups = None
    if by is not None:
        reading, groups = _split(_with_labels(reading), pair)
    _is_two_valued(reading, basis)
    whole, _ = treat_missing(reading, COMPLETE_ROWS)
    whole = settled(whole, is_numbers=not _is_two_valued(whole, basis))
    if groups is not None:
        whole, groups = _split(whole, pair)
    source = _source(whole, basis)
    if groups is None:
        return replace(source, dates=_dates(whole)), None
    groups = _designed(groups, whole)
    if pair is None and len(groups.names) == 2 and isinstance(groups.y.cat.categories[0], str):
        before, after = groups.names
        note = f"groups are compared in alphabetical order; use --pair {after},{before} to reverse"
        source = replace(source, notes=(*source.notes, note))
    return source, groups


def _dates(reading: Reading) -> tuple[str, ...]:
    """Return the dates of the rows, if a column holds one for each."""
    from edgewise.data.roles import is_dates

    for column in reading.raw.columns:
        if is_dates(column) and all(column.tolist()):
            return tuple(str(value) for value in column)
    return ()


def read_classes(
    path: Path, *, by: str, columns: Sequence[str] = (), drop: Sequence[str] = ()
) -> tuple[Source, pd.Series]:
    """Read rows of numbers and the label of each, of which there may be more than two.

    Parameters
    ----------
    path : path
        The file.
    by : str
        The column that holds the labels.
    columns, drop : sequence of str
        Columns to keep (none: all) and to leave out.
    """
    import numpy as np
    import pandas as pd

    reading = read_columns(path, columns=columns, drop=drop, apart={BY: [by]})
    reading = _with_labels(reading)
    _is_two_valued(reading, MEASUREMENTS)
    reading, _ = treat_missing(reading, COMPLETE_ROWS)
    reading = settled(reading)
    by, labels = _labels_of(reading)
    texts = [label_text(label) for label in labels.tolist()]
    classes, counts = np.unique(texts, return_counts=True)
    if len(classes) == 1:
        raise InputError("one_class_in_column", path=path, label=classes[0], by=by)
    if len(classes) > MOST_CLASSES:
        raise InputError(
            "too_many_classes", by=by, path=path, n_classes=len(classes), classes=classes.tolist()
        )
    few = [f"{label}" for label, count in zip(classes, counts, strict=True) if count < 2]
    if few:
        raise InputError(
            "class_with_one_row", path=path, few=few, by=by, without_labels=_without_labels(by, few)
        )
    return _source(reading, MEASUREMENTS), pd.Series(texts, name=by)


def _without_labels(by: str, labels: Sequence[str]) -> str:
    """Write the running command for the rows of all labels but some."""
    mark = '"' if any("'" in text for text in (by, *labels)) else "'"
    conditions = [f"{mark}{by}{mark} != {mark}{label}{mark}" for label in labels]
    if (where := preparation().where) is not None:
        conditions.insert(0, f"({where})")
    return again("--where", " and ".join(conditions))


def _source(reading: Reading, basis: str | None) -> Source:
    """Take the columns of the network out of what was read, as numbers."""
    table = reading.table()
    frame, coding = _as_numbers(table, is_two=_is_two_valued(reading, basis))
    refuse_covariance_file(reading.raw.source, table)
    labels: dict[str, Any] = {"by": reading.apart[BY][0]} if BY in reading.apart else {}
    return reading.source(table, frame, *coding, is_discrete=bool(coding), **labels)


def _split(reading: Reading, pair: str | None) -> tuple[Reading, Groups]:
    """Take the labels out of a column, and the rows that are not of the pair away."""
    import numpy as np
    import pandas as pd

    by, column = _labels_of(reading)
    labels, source = np.unique(column).tolist(), reading.raw.source
    chosen = _several(labels, by, source) if pair is None else _chosen(labels, by, pair)
    is_kept = pd.Series(column).isin(chosen).to_numpy()
    kept = pd.Categorical(column[is_kept].tolist(), categories=chosen)
    groups = groups_of(pd.Series(kept, name=by))
    for label, count in zip(groups.names, groups.counts, strict=True):
        if count < 2:
            advice = f" Leave it out: {_without_labels(by, [label])}." if len(chosen) > 2 else ""
            raise InputError("label_with_few_rows", count=count, label=label, by=by, advice=advice)
    return reading.with_rows(is_kept), groups


def groups_of(y: pd.Series) -> Groups:
    """Describe the groups of a categorical column of labels, in the order of its categories."""
    names = tuple(label_text(label) for label in y.cat.categories.tolist())
    counts = y.cat.codes.value_counts()
    return Groups(y=y, names=names, counts=tuple(int(counts[k]) for k in range(len(names))))


def _designed(groups: Groups, reading: Reading) -> Groups:
    """Add the design, with the clusters that were found as far as groups allow for them.

    Where some clusters have rows in one group and some in several, labels are permuted within each.
    """
    import numpy as np

    from edgewise.data.dependence import FEWEST_BLOCKS

    if CLUSTER not in reading.apart or preparation().cluster is not None:
        return replace(groups, design=_design(reading))
    (name,) = reading.apart[CLUSTER]
    others = {option: names for option, names in reading.apart.items() if option != CLUSTER}
    design = _design(replace(reading, apart=others))
    cluster = np.unique(reading.column(name).astype(str), return_inverse=True)[1]
    member: Any = groups.y.cat.codes.to_numpy()
    has_row = np.zeros((cluster.max() + 1, len(groups.names)), dtype=bool)
    has_row[cluster, member] = True
    if (has_row.sum(axis=1) == 1).all():
        return replace(groups, design=_with(design, clusters=reading.column(name)))
    if has_row.all() and (design is None or design.blocks is None):
        return replace(groups, design=_with(design, paired=reading.column(name)))
    n_several = int((has_row.sum(axis=1) > 1).sum())
    if n_several >= FEWEST_BLOCKS and (design is None or design.blocks is None):
        return replace(groups, design=_with(design, blocks=reading.column(name)))
    why = (
        f"some '{name}' have rows in one group and {n_several} in several, which are too few; "
        f"compare groups of which every '{name}' has rows, or of which each has one (--where)"
    )
    return replace(groups, design=design, untested=why)


def _with(design: Design | None, **parts: Any) -> Design:
    """Add to a design."""
    from edgewise.inference import Design

    return Design(**parts) if design is None else replace(design, **parts)


def _design(reading: Reading) -> Design | None:
    """Take the columns of the design out of what was read."""
    import pandas as pd

    from edgewise.inference import Design

    named = {option: reading.apart[option] for option in DESIGN if option in reading.apart}
    if not named:
        return None
    fields: dict[str, Any] = {}
    for option, names in named.items():
        columns = {name: reading.column(name) for name in names}
        if option != "--adjust" and len(names) != 1:
            raise InputError("option_takes_one_column", option=option, listed=",".join(names))
        fields[DESIGN[option]] = (
            pd.DataFrame(columns) if option == "--adjust" else next(iter(columns.values()))
        )
    return Design(**fields)


def _labels_of(reading: Reading) -> tuple[str, AnyArray]:
    """Return the name and the entries of the column of labels."""
    by = ",".join(reading.apart[BY])
    if len(reading.apart[BY]) != 1:
        raise InputError("one_label_column", option=BY, by=by)
    return by, reading.column(by)


def _with_labels(reading: Reading) -> Reading:
    """Leave out rows without a label, if that was asked for."""
    import numpy as np
    import pandas as pd

    by, column = _labels_of(reading)
    is_missing = pd.isna(column)
    n_missing = int(is_missing.sum())
    if not n_missing:
        return reading
    if preparation().missing in ("drop", "auto"):
        note = f"{n_missing} of {len(column)} rows have no label in '{by}', left out"
        return reading.with_rows(~is_missing, note)
    raise InputError(
        "missing_labels_in_column",
        by=by,
        source=reading.raw.source,
        n_missing=n_missing,
        columns=int(np.flatnonzero(is_missing)[0]) + 1,
        again=again("--missing", "drop"),
    )


def _several(labels: list[Any], by: str, source: str) -> list[Any]:
    """Return the labels, in order, unless there are not enough or too many."""
    from edgewise.io import quote_names

    if len(labels) == 1:
        raise InputError("one_group_in_column", source=source, label=label_text(labels[0]), by=by)
    if len(labels) > MOST_GROUPS:
        names = quote_names([label_text(label) for label in labels])
        pair = ",".join(label_text(label) for label in labels[:2])
        raise InputError(
            "too_many_groups",
            by=by,
            source=source,
            n_labels=len(labels),
            names=names,
            again=again("--pair", pair),
        )
    return labels


def _chosen(labels: list[Any], by: str, pair: str) -> list[Any]:
    """Find the labels that were named; one that holds a comma may be among two."""
    cuts = [k for k, letter in enumerate(pair) if letter == ","]
    if not cuts:
        raise InputError("pair_syntax", pair=pair)
    found = [[_find(labels, half) for half in (pair[:k], pair[k + 1 :])] for k in cuts]
    for before, after in found:
        if before and after:
            return _each_once([before[0], after[0]], pair)
    parts = [part.strip() for part in pair.split(",")]
    hits = [_find(labels, part) for part in parts]
    if all(hits):
        return _each_once([hit[0] for hit in hits], pair)
    unknown = next(part for part, hit in zip(parts, hits, strict=True) if not hit)
    raise InputError(
        "unknown_label",
        unknown=unknown,
        by=by,
        did_you_mean=did_you_mean(unknown, [label_text(label) for label in labels]),
    )


def _each_once(chosen: list[Any], pair: str) -> list[Any]:
    if len(set(chosen)) < len(chosen):
        raise InputError("pair_repeated", pair=pair)
    return chosen


def _find(labels: list[Any], text: str) -> list[Any]:
    """Return the label that a text stands for, alone in a list, or an empty list."""
    for same in (_same_text, _same_value):
        for label in labels:
            if same(label, text.strip()):
                return [label]
    return []


def _same_text(label: Any, text: str) -> bool:
    return text in (str(label).strip(), label_text(label))


def _same_value(label: Any, text: str) -> bool:
    """Whether a number, or a truth value in any spelling, is meant."""
    if isinstance(label, str):
        return False
    if isinstance(label, bool):
        return text.lower() == str(label).lower()
    try:
        return float(text) == float(label)
    except ValueError:
        return False


def label_text(label: Any) -> str:
    """Write a label; numbers without an empty fraction.

    Examples
    --------
    >>> label_text(2005.0), label_text(True), label_text("control")
    ('2005', 'True', 'control')
    """
    is_whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if is_whole else str(label)


def _is_two_valued(reading: Reading, basis: str | None) -> bool:
    """Whether every column has two values to be recoded; refuses other columns of text."""
    path, table = reading.raw.source, reading.table()
    n_levels = most_levels(table)
    is_two = basis in (None, TWO_VALUES) and n_levels is not None and n_levels <= 2
    if basis == TWO_VALUES and not is_two:
        raise InputError(_about_more_values(path, table))
    if not is_two and (text := text_columns(table)):
        advice = about_text(path, table)
        levels = dict(zip(table.names, table.levels, strict=True))
        few = [name for name in text if len(levels[name] or ()) <= MOST_CLASSES]
        if BY in reading.apart and few == text and "--adjust" not in reading.apart:
            what = "it is a batch" if len(text) == 1 else "they are batches"
            advice += f" If {what} or the like, adjust: {again('--adjust', ','.join(text))}."
        raise InputError(advice)
    return is_two


def _as_numbers(table: Table, *, is_two: bool) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return columns of numbers, those of two values as -1 and 1, with a note if so."""
    import numpy as np
    import pandas as pd

    check_table(table, allow_constant=False, allow_identical=True)
    names = list(table.names)
    if not is_two:
        return pd.DataFrame(table.values, columns=names), ()
    is_high = table.values == table.values.max(axis=0)
    note = f"every column has two values, taken as -1 and 1 ({_example(table)})"
    return pd.DataFrame(np.where(is_high, 1.0, -1.0), columns=names), (note,)


def _example(table: Table) -> str:
    """Say which value of the first column became 1."""
    levels = table.levels[0]
    low, high = float(table.values[:, 0].min()), float(table.values[:, 0].max())
    if levels is not None:
        texts = [levels[int(low)], levels[int(high)]]
    else:
        is_boolean = table.kinds[0] == "boolean"
        texts = [label_text(bool(value) if is_boolean else value) for value in (low, high)]
    return f"in '{table.names[0]}', {texts[0]} is -1 and {texts[1]} is 1"


def _about_more_values(path: str, table: Table) -> str:
    import numpy as np

    from edgewise.io import quote_names

    others = [
        name
        for name, column in zip(table.names, table.values.T, strict=True)
        if len(np.unique(column[~np.isnan(column)])) > 2
    ]
    if not others:
        return f"The columns of {path} hold measurements. Leave --basis {TWO_VALUES} out."
    return (
        f"--basis {TWO_VALUES} is for columns of two values, and {quote_names(others)} of {path} "
        "hold more. Leave them out with --drop, or choose another basis."
    )
