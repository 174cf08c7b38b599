"""Clustered and autocorrelated rows: detection, and the default treatment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.prepare import along_rows, named_columns, preparation
from edgewise.cli.shell import options_given, options_here

if TYPE_CHECKING:
    from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
    from edgewise.cli.input import Reading
    from edgewise.data.dependence import Dependence, RowOrder
    from edgewise.io import RawTable

#: The option that names the column of clusters, and its word for none.
CLUSTER: Final = "--cluster"
NONE: Final = "none"
#: Options that say by themselves which rows belong together.
DESIGNED: Final = ("--paired", "--window")
#: Rows of which one may be kept, where windows are compared.
MOST_THINNED: Final = 5
#: How to go back.
AS_THEY_ARE: Final = "--blocks 1 takes the rows as they are"


def chosen_cluster(
    raw: RawTable, given: Mapping[str, Sequence[str]], columns: Sequence[str]
) -> tuple[RawTable, str | None]:
    """Return the column that says which rows belong together, asked for or found, and its table.

    Labels that begin anew within another column are joined with it.
    """
    from edgewise.data.dependence import find_clusters

    asked = preparation()
    if asked.cluster == NONE and NONE not in raw.names:
        return raw, None
    if asked.cluster is not None:
        names = named_columns([asked.cluster], raw.names, CLUSTER, raw.source)
        if len(names) != 1:
            raise InputError("one_cluster_column", option=CLUSTER, cluster=asked.cluster)
        return _with_nests(raw, names[0])[0], names[0]
    if asked.transpose or not options_given().isdisjoint(DESIGNED):
        return raw, None
    named = {part.strip() for text in columns for part in (text, *text.split(","))}
    for texts in given.values():
        named |= {part.strip() for text in texts for part in (text, *text.split(","))}
    free = {name: column for name, column in _columns(raw) if name not in named}
    found = find_clusters(free)
    if found is None:
        return raw, None
    raw, is_shared = _with_nests(raw, found)
    return raw, found if is_shared else None


def _with_nests(raw: RawTable, name: str) -> tuple[RawTable, bool]:
    """Join labels that begin anew within another column with it; say whether rows share them."""
    import numpy as np

    from edgewise.data.dependence import ROWS_PER_CLUSTER, find_nests

    columns = dict(_columns(raw))
    if (nest := find_nests(columns, name)) is None:
        return raw, True
    pairs = zip(columns[nest].tolist(), columns[name].tolist(), strict=True)
    joined = [f"{outer}/{inner}" for outer, inner in pairs]
    columns[name] = np.array(joined, dtype=object)
    is_shared = len({*joined}) * ROWS_PER_CLUSTER <= len(joined)
    note = f"'{name}' begins anew within '{nest}', so that both together say which rows it labels"
    raw = replace(raw, columns=tuple(columns.values()), notes=(*raw.notes, note))
    return raw, is_shared


def _columns(raw: RawTable) -> list[tuple[str, AnyArray]]:
    return list(zip(raw.names, raw.columns, strict=True))


def settled(reading: Reading, *, is_numbers: bool = True) -> Reading:
    """Find out how rows depend on each other; centre or difference columns where that is due.

    Parameters
    ----------
    reading : Reading
        With the rows that will be used.
    is_numbers : bool
        Whether columns are numbers, which have means and changes.
    """
    from edgewise.data.dependence import Dependence

    asked = preparation()
    found = Dependence(length=asked.blocks)
    names = reading.apart.get(CLUSTER, ())
    if asked.within not in (None, "none") and not names:
        raise InputError("within_without_clusters", option=CLUSTER)
    if names:
        reading, found = _clustered(reading, found, names[0], is_numbers=is_numbers)
    if found.kind != "clusters" and asked.blocks is None:
        reading, found = _ordered(reading, found, is_numbers=is_numbers)
    return replace(reading, dependence=found)


def codes_of(column: AnyArray) -> IntArray:
    """Give numbers to the labels of a column."""
    import numpy as np

    return np.asarray(np.unique(column.astype(str), return_inverse=True)[1])


def _clustered(
    reading: Reading, found: Dependence, name: str, *, is_numbers: bool
) -> tuple[Reading, Dependence]:
    """Say which rows belong together, and take their means off."""
    import numpy as np

    from edgewise.data.dependence import centred_within

    asked, member = preparation(), codes_of(reading.column(name))
    n_clusters = len(np.unique(member))
    if n_clusters < 2 or n_clusters == len(member):
        said = "has one value" if n_clusters < 2 else "has another value in every row"
        raise InputError("unusable_cluster", option=CLUSTER, name=name, said=said)
    how = (
        f"as {CLUSTER} asks"
        if asked.cluster is not None
        else f"{CLUSTER} {NONE} takes rows as independent"
    )
    note = f"rows with the same '{name}' belong together ({n_clusters} of them); {how}"
    reading = replace(reading, notes=(*reading.notes, note))
    found = replace(found, cluster=name, member=member)
    within, why = _within(len(member) / n_clusters, is_numbers=is_numbers)
    if within == "none":
        kept = replace(reading, notes=(*reading.notes, *([why] if why else [])))
        return kept, found
    values = reading.table().values
    values, is_kept = centred_within(values, member, is_scaled=within == "scale")
    size = np.nanmax(np.abs(reading.table().values), axis=0)
    varies = np.nanmax(np.abs(values[is_kept]), axis=0, initial=0.0) > 1e-10 * (size + 1e-300)
    flat = [one for one, does in zip(reading.names, varies, strict=True) if not does]
    if len(flat) > len(reading.names) - 2:
        why = f"columns are not centred within '{name}', since fewer than two vary there"
        return replace(reading, notes=(*reading.notes, why)), found
    what = "centred and scaled" if within == "scale" else "centred"
    back = ", as --within asks" if asked.within else "; --within none leaves them as they are"
    notes = [f"columns are {what} within each '{name}'{back}"]
    if flat:
        notes.append(f"left out, since constant within each '{name}': {', '.join(flat)}")
    if n_single := int((~is_kept).sum()):
        notes.append(f"{n_single} rows left out, each the only one of its '{name}'")
    reading = with_values(reading, values, is_kept, [k for k in reading.names if k not in flat])
    member = codes_of(reading.column(name))
    found = replace(found, member=member, is_centred=True)
    return replace(reading, notes=(*reading.notes, *notes)), found


def _within(rows_of_each: float, *, is_numbers: bool) -> tuple[str, str]:
    """Choose what is taken off within clusters, or say why nothing is."""
    from edgewise.data.dependence import ROWS_TO_CENTRE

    asked = preparation().within
    if not is_numbers:
        return "none", "columns of levels cannot be centred within them"
    if asked is not None:
        return asked, ""
    if "--by" in options_here():
        # Means of subjects tell groups apart, and are tested by themselves.
        return "none", ""
    if rows_of_each < ROWS_TO_CENTRE:
        return "none", f"columns are not centred within them, with {rows_of_each:.1f} rows each"
    return "centre", ""


def with_values(
    reading: Reading, values: FloatArray, is_kept: BoolArray, names: Sequence[str]
) -> Reading:
    """Put new values into the columns of the network, and keep some rows and columns."""
    columns = dict(_columns(reading.raw))
    columns |= dict(zip(reading.names, values.T, strict=True))
    raw = replace(reading.raw, columns=tuple(columns[name] for name in reading.raw.names))
    origin = reading.raw if reading.origin is None else reading.origin
    return replace(reading, raw=raw, names=tuple(names), origin=origin).with_rows(is_kept)


def series_of(reading: Reading) -> IntArray | None:
    """Give numbers to the series that rows follow each other in: those of a label and a cluster."""
    import numpy as np

    codes = [
        codes_of(reading.column(name))
        for option in ("--by", CLUSTER)
        for name in reading.apart.get(option, ())
    ]
    if not codes:
        return None
    return np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel()


def _ordered(
    reading: Reading, found: Dependence, *, is_numbers: bool
) -> tuple[Reading, Dependence]:
    """Look at the order of the rows; take changes where columns of numbers drift."""
    import numpy as np

    from edgewise.data.dependence import row_order

    table, asked = reading.table(), preparation()
    if np.isinf(table.values).any():
        return reading, found
    beside = {n: c for n, c in _columns(reading.raw) if n not in reading.names}
    is_in_windows = "--window" in options_given()
    can_change = is_numbers and not (asked.difference or "--on" in reading.apart)
    can_change = can_change and "--grid" not in options_given()
    order = row_order(
        table.values,
        table.names,
        series=series_of(reading),
        sorters=beside,
        has_trends=can_change,
    )
    notes: list[str] = []
    if order.kind == "trend":
        reading, order = _changes(reading, order)
    elif order.kind == "sorted":
        notes = [f"rows are sorted by '{order.columns[0]}'; they are alike for that reason only"]
    if "--on" in reading.apart and order.kind == "order" and not order.in_spread:
        order = _beyond_covariates(reading, order)
    if is_in_windows and order.kind == "order":
        said = f"{about_order(order)}, so that windows look more different than they are"
        step = int(np.ceil((1.0 + order.decay) / (1.0 - order.decay)))
        # Few rows are left where memory is long.
        can_thin = step <= MOST_THINNED and asked.every == 1
        notes.append(f"{said}; --every {step} keeps one row in {step}" if can_thin else said)
    reading = replace(reading, notes=(*reading.notes, *notes))
    if found.member is not None:
        found = replace(found, member=codes_of(reading.column(found.cluster)))
    return reading, replace(found, order=order)


def _changes(reading: Reading, order: RowOrder) -> tuple[Reading, RowOrder]:
    """First-difference the columns, and drop those that do not change."""
    import numpy as np

    from edgewise.data.dependence import is_in_time, is_season, row_order

    table = reading.table()
    values, is_kept, _ = differenced(reading, table.values)
    left = values[is_kept]
    with np.errstate(invalid="ignore"):
        spread = np.nanstd(left, axis=0)
    size = np.nanmax(np.abs(left), axis=0, initial=0.0)
    flat = [
        name
        for name, one, most, column in zip(table.names, spread, size, table.values.T, strict=True)
        if one <= 1e-10 * most or most == 0 or is_in_time(name, column) or is_season(name, column)
    ]
    if len(flat) > len(table.names) - 2:
        return reading, order
    note = f"{drifting(order)} along the rows, as prices do, and whatever drifts seems linked"
    changes = f"first differences of all columns, {int(is_kept.sum())} rows"
    notes = [f"{note}: {changes}; {AS_THEY_ARE}"]
    if flat:
        notes.append(f"left out, since they count time: {', '.join(flat)}")
    kept = [name for name in table.names if name not in flat]
    reading = with_values(reading, values, is_kept, kept)
    reading = replace(reading, notes=(*reading.notes, *notes))
    table = reading.table()
    again = row_order(table.values, table.names, series=series_of(reading), has_trends=False)
    return reading, again


def differenced(
    reading: Reading, values: FloatArray, *, is_detrended: bool = False, has_changes: bool = True
) -> tuple[FloatArray, BoolArray, list[str]]:
    """Take changes, or lines, within series whose rows need not follow each other.

    A cluster is a series, and a label begins a series anew wherever it changes.
    """
    import numpy as np

    n = len(values)
    order = np.arange(n)
    is_new = np.zeros(n, dtype=bool)
    # Of rows in time, a line is that of a unit, the first of their series.
    for name in (*reading.apart.get(CLUSTER, ()), *reading.apart.get("--series", ()))[:1]:
        member = codes_of(reading.column(name))
        order = np.argsort(member, kind="stable")
        is_new[1:] |= np.diff(member[order]) != 0
    for name in reading.apart.get("--by", ()):
        labels = reading.column(name)[order]
        is_new[1:] |= labels[1:] != labels[:-1]
    asked = replace(preparation(), difference=has_changes, detrend=is_detrended)
    moved, is_kept, notes = along_rows(values[order], asked, is_new)
    back = np.argsort(order, kind="stable")
    return moved[back], is_kept[back], notes


def in_days(reading: Reading, covariates: Sequence[str]) -> Reading:
    """Count dates among the covariates in days, and say since when."""
    import numpy as np

    from edgewise.data.roles import days_of, is_dates

    columns, notes = list(reading.raw.columns), list(reading.notes)
    for name in covariates:
        column = reading.column(name)
        if is_dates(column):
            try:
                days = days_of(column)
            except ValueError as error:
                raise InputError("invalid_dates", name=name, error=error) from None
            first = column[int(np.nanargmin(days))]
            columns[reading.raw.names.index(name)] = days
            notes.append(f"'{name}' holds dates: days since {first}")
    return replace(reading, raw=replace(reading.raw, columns=tuple(columns)), notes=tuple(notes))


def along(reading: Reading, covariates: Sequence[str]) -> Reading:
    """Put rows into the order of a covariate of numbers, if it is the only one."""
    import numpy as np

    column = reading.column(covariates[0])
    if len(covariates) > 1 or column.dtype.kind not in "iuf" or reading.apart.get(CLUSTER):
        return reading
    order = np.argsort(column, kind="stable")
    raw, names = reading.raw, reading.raw.row_names
    return replace(
        reading,
        raw=replace(
            raw,
            columns=tuple(one[order] for one in raw.columns),
            row_names=None if names is None else tuple(names[k] for k in order.tolist()),
        ),
    )


def _beyond_covariates(reading: Reading, order: RowOrder) -> RowOrder:
    """Say what is left of an order once columns lose what follows the covariates of a tree."""
    import numpy as np

    from edgewise.data.dependence import off_curve, row_order

    table = reading.table()
    for name in reading.apart["--on"]:
        column = reading.column(name)
        if column.dtype.kind not in "iuf":
            continue
        steps = np.diff(np.asarray(column, dtype=np.float64))
        if (steps >= 0).all() or (steps <= 0).all():
            left, parts = off_curve(table.values, np.asarray(column, dtype=np.float64))
            return row_order(left, table.names, series=parts, has_trends=False)
    return order


def listed(order: RowOrder) -> str:
    """Name columns, the first of them."""
    first, more = order.columns[0], len(order.columns) - 1
    return f"'{first}'" + (f" and {more} more column{'s'[: more - 1]}" if more else "")


def drifting(order: RowOrder) -> str:
    """Say which columns drift."""
    return f"{listed(order)} {'drift' if len(order.columns) > 1 else 'drifts'}"


def about_order(order: RowOrder) -> str:
    """Say how rows depend on those before them."""
    figure = f"autocorrelation {order.autocorrelation:.2f} in {listed(order)}"
    if order.in_spread:
        return f"large values follow large ones ({figure}, of sizes)"
    return f"rows depend on the rows before them ({figure})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """Rows as resamples and criteria have them.

    Attributes
    ----------
    weights : ndarray or None
        Of the rows, where they count for less than one each.
    draws : dict
        Keywords of a bootstrap: its blocks, or the cluster of each row.
    parts : tuple of str
        What was found and done; of resamples, in the second of three parts; and the way back.
    """

    weights: FloatArray | None = None
    draws: dict[str, Any] = field(default_factory=dict)
    parts: tuple[str, ...] = ()

    def notes(self, *, has_resamples: bool) -> list[str]:
        """Say what was done; nothing of resamples where there are none."""
        if not self.parts:
            return []
        count, drawn, back = self.parts
        said = f"{count}{drawn if has_resamples else ''}"
        return [f"{said}{back}"] if said else []


def counted_rows(dependence: Dependence, frame: Any) -> Counted:
    """Weigh rows by what they say, and choose how they are drawn."""
    import numpy as np

    n = len(frame)
    if dependence.kind == "independent" and not dependence.is_centred:
        return Counted()
    codes = frame.apply(lambda column: column.cat.codes if hasattr(column, "cat") else column)
    values = codes.to_numpy(dtype=np.float64)
    length = dependence.block_length(n)
    asked = dependence.length is not None
    if asked and 2 * length > n:
        from edgewise.cli.shell import again

        raise InputError(
            "blocks_too_long", length=length, n=n, again=again("--blocks", str(max(n // 10, 1)))
        )
    # Two rows are the fewest that a criterion takes.
    n_rows = max(_n_independent(dependence, values), 2.5)
    if n_rows > 0.999 * n:
        n_rows = n
    weights = np.full(n, n_rows / n)
    count = f"{n} rows count as {n_rows:.0f} independent ones"
    if dependence.kind == "clusters":
        drawn = f", and resamples are of whole '{dependence.cluster}'"
        whole = {"clusters": dependence.member}
        return Counted(weights=weights, draws=whole, parts=(count, drawn, ""))
    if dependence.kind == "independent":
        return Counted(weights=weights, parts=(count, "", ", since columns were centred"))
    drawn, draws = f", and resamples are drawn in blocks of {length}", {"block_length": length}
    if asked:
        count = f"{n} rows in order count as {n_rows:.0f} independent ones"
        return Counted(weights=weights, draws=draws, parts=(count, drawn, ", as --blocks asks"))
    back = f"; {_without_drift(dependence.order, frame.shape[1])}{AS_THEY_ARE}"
    found = about_order(dependence.order)
    said = found if n_rows == n else f"{found}: {count}"
    return Counted(weights=weights, draws=draws, parts=(said, drawn, back))


def _without_drift(order: RowOrder, n_columns: int) -> str:
    """Say what can be done about a few columns that drift, for which all rows count as fewer."""
    drifts = order.drifts
    if not 0 < len(drifts) < n_columns - 1 or preparation().difference:
        return ""
    import shlex

    which = shlex.quote(",".join(drifts))
    verb = "drifts" if len(drifts) == 1 else "drift"
    names = ", ".join(f"'{name}'" for name in drifts)
    return (
        f"--drop {which} drops what drifts ({names} {verb}), --transform difference takes first "
        "differences; "
    )


def _n_independent(dependence: Dependence, values: FloatArray) -> float:
    """Count independent rows; blocks that were asked for say how far dependence goes."""
    from edgewise.data.dependence import row_order
    from edgewise.selection.criteria import independent_rows

    found = dependence.n_independent(values)
    if dependence.kind == "blocks" and dependence.length is not None:
        order = row_order(values, [str(k) for k in range(values.shape[1])], has_trends=False)
        by_pairs = independent_rows(values, dependence.length)
        return float(min(found, by_pairs, len(values) / max(order.inflation, 1.0)))
    return found


def why_untested(dependence: Dependence, n_fewest: int) -> str:
    """Say why there are no tests of rows in blocks, or of few clusters; empty where there are."""
    from edgewise.data.dependence import FEWEST_BLOCKS

    if dependence.kind != "blocks":
        return ""
    length, order = dependence.block_length(n_fewest), dependence.order
    if dependence.length is not None:
        if n_fewest // length >= FEWEST_BLOCKS:
            return ""
        return (
            f"{n_fewest} rows of a group are fewer than {FEWEST_BLOCKS} blocks of {length}, too "
            "few for a p-value"
        )
    if order.has_blocks(n_fewest):
        return ""
    return (
        f"{about_order(order)}, so that the {n_fewest} rows of a group are fewer than "
        f"{FEWEST_BLOCKS} independent blocks, too few for a p-value; {AS_THEY_ARE}"
    )
