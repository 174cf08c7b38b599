"""Reading and checking the table of a command."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from edgewise._core.errors import InputError
from edgewise._core.memory import MEMORY_ADVICE, Arrays, require_memory
from edgewise._core.process import postpone
from edgewise.cli.dependence import (
    CLUSTER,
    chosen_cluster,
    differenced,
    settled,
)
from edgewise.cli.gaps import COMPLETE_ROWS, treat_missing
from edgewise.cli.levels import with_orders
from edgewise.cli.prepare import (
    WRITTEN,
    Preparation,
    named_columns,
    preparation,
    prepared,
    with_codes,
    with_rows,
)
from edgewise.cli.shell import again, drop_command, options_given, options_here
from edgewise.cli.wording import about_levels, about_text, text_columns, written_decimals

if TYPE_CHECKING:
    import pandas as pd

    from edgewise._core.typing import AnyArray
    from edgewise.data.dependence import Dependence
    from edgewise.data.table import Table
    from edgewise.data.unusual import Finding
    from edgewise.io import RawTable


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """A table as it was read, with its columns sorted out.

    Attributes
    ----------
    raw : RawTable
        All columns but those that label the rows.
    names : tuple of str
        Columns of the network.
    apart : mapping of str to list of str
        Columns that an option sets apart from it, such as labels or covariates.
    notes : tuple of str
        What was assumed or left out on the way.
    set_by : str
        The column that names what was set in each row, if there is one.
    dependence : Dependence or None
        How rows depend on each other, once that is settled.
    ordered : tuple of str
        Columns of text whose levels have an order, and are numbered.
    origin : RawTable or None
        The table before columns were centred or changes taken.
    """

    raw: RawTable
    names: tuple[str, ...]
    apart: Mapping[str, list[str]]
    notes: tuple[str, ...]
    set_by: str = ""
    dependence: Dependence | None = None
    ordered: tuple[str, ...] = ()
    origin: RawTable | None = None
    #: The last table that was made of a reading and its copies, with what it was made of.
    _made: list[tuple[RawTable, tuple[str, ...], Table]] = field(default_factory=list, repr=False)

    def column(self, name: str) -> AnyArray:
        """Return a column as it was read."""
        return self.raw.columns[self.raw.names.index(name)]

    def with_rows(self, is_kept: AnyArray, *notes: str) -> Reading:
        """Keep some of the rows."""
        return replace(self, raw=with_rows(self.raw, is_kept), notes=(*self.notes, *notes))

    def chosen(self) -> RawTable:
        """Return the columns of the network, of which there are two at least."""
        return _chosen(self.raw, self.names)

    def table(self) -> Table:
        """Return the columns of the network as numbers."""
        from edgewise.data.table import Table

        for raw, names, table in self._made:
            if raw is self.raw and names == self.names:
                return table
        made = Table.from_input(self.chosen())
        self._made[:] = [(self.raw, self.names, made)]
        return made

    def described(self, table: Table, kinds: Sequence[str]) -> tuple[dict[str, str], ...]:
        """Say what each column holds, with the labels that the file has."""
        from edgewise.data.kinds import describe_columns

        return tuple(describe_columns(table, kinds, self.raw.labels, self.raw.value_labels))

    def source(
        self,
        table: Table,
        frame: pd.DataFrame,
        *notes: str,
        is_ranks: bool = False,
        is_discrete: bool = False,
        **more: Any,
    ) -> Source:
        """Describe the table that a network is learned from; ``more`` goes into the record."""
        path, asked = Path(self.raw.source), preparation()
        is_ranks = is_ranks or asked.scale != "empirical"
        kinds = more.get("kinds", {}) if is_discrete else {}
        findings = () if is_discrete and not kinds else self._unusual(table, kinds, is_ranks)
        if asked.scale != "empirical" and not is_discrete:
            frame, note = _scores(frame, asked.scale)
            notes = (*notes, note)
        elif asked.scale == "nonparanormal" and kinds:
            numbers = [name for name, kind in kinds.items() if kind in ("continuous", "count")]
            frame = frame.copy()
            frame[numbers], note = _scores(frame[numbers], asked.scale)
            notes = (*notes, note)
        return Source(
            name=path_text(path),
            frame=frame,
            fingerprint={
                **fingerprint([path], path, table.n_samples, table.names, self.raw.sha256),
                **more,
            },
            notes=(*self.notes, *notes),
            is_discrete=is_discrete,
            findings=findings,
            dependence=self.dependence,
            labels={name: self.raw.labels[name] for name in self.names if name in self.raw.labels},
            interventions=self.column(self.set_by) if self.set_by else None,
        )

    def _unusual(
        self, table: Table, kinds: Mapping[str, str], is_ranks: bool
    ) -> tuple[Finding, ...]:
        """Look for what misleads a fit, before it; of columns of several kinds, in the numbers."""
        import numpy as np

        from edgewise.data.table import Table
        from edgewise.data.unusual import SHAPES, about_survival, find_transposed, find_unusual

        numbers = [
            k
            for k, name in enumerate(table.names)
            if table.levels[k] is None and kinds.get(name) not in ("binary", "nominal")
        ]
        if table.n_samples < 2 or np.isinf(table.values).any() or not numbers:
            # It will be refused for that, which is the first thing to know.
            return ()
        # What columns are shows before they are centred, or changes are taken.
        origin = self.raw if self.origin is None else self.origin
        chosen = _chosen(origin, table.names)
        survival = about_survival(dict(zip(chosen.names, chosen.columns, strict=True)))
        beside = [name for name in self.raw.names if name not in self.names]
        columns = {name: self.column(name) for name in beside}
        labels = self.raw.row_names
        for column in columns.values():
            n_levels = len(np.unique([str(value) for value in column]))
            if labels is None and column.dtype.kind == "O" and n_levels == len(column):
                labels = tuple(str(value) for value in column)
        is_changed = self.origin is not None and not getattr(self.dependence, "is_centred", False)
        before = table.values if self.origin is None else Table.from_input(chosen).values
        found: tuple[Finding, ...] = ()
        # Outliers and skewness of changes are those of the changes.
        looks = ((before, False), (table.values, True)) if is_changed else ((before, None),)
        for values, of_shapes in looks:
            every = find_unusual(
                values[:, numbers],
                [table.names[k] for k in numbers],
                is_ranks=is_ranks,
                in_space="--grid" in options_given(),
            )
            found += tuple(one for one in every if of_shapes in (None, one.kind in SHAPES))
        # Kinds of columns are guessed and said where they are of several.
        found = tuple(one for one in found if not (kinds and one.kind == "categories"))
        found = (*(() if survival is None else (survival,)), *found)
        turned = None if labels is None else find_transposed(table.values, table.names, labels)
        return found if turned is None else (turned,)


def _scores(frame: pd.DataFrame, scale: str) -> tuple[pd.DataFrame, str]:
    """Turn all columns, or those of ordered answers, into normal scores of their ranks."""
    import numpy as np
    import pandas as pd

    from edgewise.estimators.base.row_statistics import normal_scores
    from edgewise.io import quote_names
    from edgewise.stats.polychoric import ordinal_columns

    values = frame.to_numpy(dtype=float)
    scores = pd.DataFrame(normal_scores(values), columns=frame.columns)
    if scale == "nonparanormal":
        return scores, "columns are normal scores of their ranks, as --covariance asks"
    is_answers = ordinal_columns(values)
    answers = quote_names(frame.columns[is_answers]) or "none"
    note = (
        f"ordered answers ({answers}) count by normal scores, as --covariance auto asks: "
        "polychoric correlations are of columns, and this command is about rows"
    )
    return scores.where(np.broadcast_to(is_answers, values.shape), frame), note


def read_columns(
    path: Path,
    *,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    apart: Mapping[str, Sequence[str]] | None = None,
    option: str = "--columns",
    keep: Literal["", "identical", "constant"] = "",
) -> Reading:
    """Read a table, choose the columns of the network, and leave out what is no variable.

    Parameters
    ----------
    path : path
        The file.
    columns, drop : sequence of str
        Columns of the network as ``option`` names them (none: all), and those to leave out.
    apart : mapping of str to sequence of str
        Columns that are not of the network, by the option that names them.
    option : str
        What the option for columns of the network is called.
    keep : {"", "identical", "constant"}
        Keep copies of columns; or those, dates and columns of one value, as of sites in space.
    """
    from edgewise.io import read_table
    from edgewise.io.tables import count_columns, has_tables

    # numba, joblib and scipy import them first thing, and nothing here uses them.
    postpone("asyncio", "numpy.f2py", "pycparser", "yaml")
    if path.is_dir() and "--stream" in options_here() and has_tables(path):
        raise InputError("folder_given", path=path, again=again("--stream", ""))
    given, asked = {} if apart is None else apart, preparation()
    if not (columns or drop or asked.transpose):
        # Before minutes of reading: no network is smaller than its matrix of weights.
        n_columns = count_columns(path)
        require_memory(
            f"A network of the {n_columns:,} columns of {path}",
            [Arrays(2.0, (n_columns, n_columns))],
            advice=MEMORY_ADVICE,
        )
    written = {name: getattr(asked, name) for name in WRITTEN}
    raw = prepared(read_table(path, **written), asked)
    raw, cluster = chosen_cluster(raw, given, columns)
    if cluster is not None:
        given = {**given, CLUSTER: [cluster]}
    beside = {key: named_columns(texts, raw.names, key, raw.source) for key, texts in given.items()}
    names, notes = _network(raw, columns, drop, [*chain(*beside.values())], option)
    named_columns([*asked.orders], raw.names, "--kinds")
    n_before = len(raw.notes)
    raw, ordered = with_orders(raw, names, asked.orders, asked.kept)
    notes = (*notes, *raw.notes[n_before:])
    reading = Reading(raw=raw, names=names, apart=beside, notes=notes, ordered=ordered)
    reading = _only_variables(reading, named_columns(columns, raw.names, option), keep)
    # Differences of rows in time are none across gaps, which are not known yet.
    asked = replace(asked, difference=asked.difference and "--time" not in given)
    return _along_rows(reading, asked) if asked.difference or asked.detrend else reading


def _along_rows(reading: Reading, asked: Preparation) -> Reading:
    """Difference the columns of the network, or take a line off, within series."""
    table = reading.table()
    if text_columns(table):
        raise InputError(about_text(reading.raw.source, table))
    values, is_kept, notes = differenced(
        reading, table.values, is_detrended=asked.detrend, has_changes=asked.difference
    )
    columns = dict(zip(reading.raw.names, reading.raw.columns, strict=True))
    columns |= dict(zip(table.names, values.T, strict=True))
    raw = replace(reading.raw, columns=tuple(columns[name] for name in reading.raw.names))
    return replace(reading, raw=raw, origin=reading.raw).with_rows(is_kept, *notes)


def _only_variables(reading: Reading, asked: Sequence[str], keep: str) -> Reading:
    """Drop and note columns that cannot be used in a network, unless they were requested."""
    from edgewise.data.roles import set_apart

    columns = {name: reading.column(name) for name in reading.names if name not in asked}
    found = set_apart(columns, first=reading.raw.names[0])
    if keep:
        kept = ("labels",) if keep == "constant" else ("labels", "dates", "constant")
        found = [one for one in found if one.kind in kept]
    names, notes = reading.names, []
    for one in found:
        left = tuple(name for name in names if name not in one.columns)
        if len(left) < 2:
            # Two columns are the least of a network, and what else is wrong is said of them.
            continue
        names = left
        it, them = ("it was", "it") if len(one.columns) == 1 else ("they were", "them")
        note = f"{one.text}, so {it} left out"
        if one.kind != "constant":
            note += f"; --columns can ask for {them} by name"
        shared = [n for n in one.columns if one.kind == "labels" and _recurs(reading.column(n))]
        if shared and CLUSTER in options_here():
            note += f"; {CLUSTER} {shlex.quote(shared[0])} takes rows that share a label together"
        notes.append(note)
    return replace(reading, names=names, notes=(*reading.notes, *notes))


def _recurs(column: AnyArray) -> bool:
    """Whether more than a few rows share a label."""
    seen = [value for value in column.tolist() if value is not None and value == value]
    return len({*seen}) <= 0.95 * len(seen)


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A table read from a file, ready to be learned from.

    Attributes
    ----------
    name : str
        What the summary calls it: the file.
    frame : DataFrame, Moments or Counts
        Numbers only; of a discrete table, categories. Or the sums of a streamed table.
    fingerprint : dict
        Which file this was, for the record of the run.
    notes : tuple of str
        What was assumed or left out on the way.
    is_discrete : bool
        Whether the columns are levels.
    has_answers : bool
        Whether some columns of numbers are ordered answers, see
        `edgewise.stats.polychoric.ordinal_columns`.
    missing : str
        What an estimator is to do with missing values.
    findings : tuple of Finding
        What misleads a fit, as `edgewise.data.unusual.find_unusual` has it.
    kinds : mapping of str to str
        Kind of each column of a table that is learned by them; empty for others.
    columns : tuple of dict
        What the columns hold, in words, where they are of several kinds or have labels.
    labels : mapping of str to str
        What columns are about, where the file says it.
    interventions : ndarray, optional
        The column that was set in each row, where a column of the table says it.
    dependence : Dependence or None
        How rows depend on each other; None of rows that were read piece by piece.
    dates : tuple of str
        Of the rows, where `compare --window` names windows by them; empty for others.
    """

    name: str
    frame: Any
    fingerprint: dict[str, Any]
    notes: tuple[str, ...]
    is_discrete: bool = False
    has_answers: bool = False
    missing: str = "error"
    findings: tuple[Finding, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[dict[str, str], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    interventions: Any = None
    dependence: Dependence | None = None
    dates: tuple[str, ...] = ()

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.fingerprint["n_samples"])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.fingerprint["n_features"])

    @property
    def extent(self) -> str:
        """Say how large the table is, and which one it is."""
        return f"{self.n_samples} rows and {self.n_features} columns of {self.name}"


def read_source(
    path: Path,
    *,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    allow_constant: bool = False,
    allow_identical: bool = False,
    is_discrete: bool | None = None,
    covariance: str | None = "correlation",
    kinds: Sequence[str] = (),
    is_mixed: bool = False,
    set_by: str | None = None,
    is_directed: bool = False,
) -> Source:
    """Read a table and refuse what no graph can be learned from.

    Parameters
    ----------
    path : path
        The file.
    columns, drop : sequence of str
        Columns to keep (none: all) and to leave out.
    allow_constant, allow_identical : bool
        As in `edgewise.data.checks.check_columns`.
    is_discrete : bool, optional
        Whether to take the columns for levels or for numbers, whatever they look like; by default
        for levels where every column is text or has two of them, since the order of more numbers
        means something. The user says so by choosing a method or a covariance, or where the
        columns sit, as those of images of few shades do.
    covariance : str or None
        What a network of numbers is learned from, which decides what can be done with missing
        values; None where that depends on whether columns are ordered answers.
    kinds : sequence of str
        Kinds of columns as ``--kinds`` has them.
    is_mixed : bool
        Whether to learn by the kinds of columns, whatever they are; by default where text with a
        few levels stands beside numbers.
    set_by : str, optional
        The column that names what was set from outside in each row; empty where nothing was.
    is_directed : bool
        Whether directions are learned, which are scored and not regressed.
    """
    apart = {} if set_by is None else {"--interventions": [set_by]}
    keep: Any = "constant" if allow_constant else "identical" if allow_identical else ""
    reading = read_columns(path, columns=columns, drop=drop, apart=apart, keep=keep)
    if set_by is not None:
        # An empty label means that nothing was set, and is no missing value.
        apart = dict(reading.apart)
        reading = replace(reading, set_by=apart.pop("--interventions")[0], apart=apart)
    table = reading.table()
    text, n_levels = text_columns(table), most_levels(table)
    ordered = _with_order(table)
    is_ranks = covariance == "nonparanormal"
    if is_mixed:
        return _mixed_source(reading, kinds, is_directed=is_directed, is_ranks=is_ranks)
    is_levels = (
        n_levels is not None
        and not ordered
        and not any(written_decimals(table, name) for name in text)
    )
    if is_discrete or (is_discrete is None and is_levels and not is_ranks):
        kinds = "is text, is yes / no or has two values" if text else "has two values"
        note = f"every column {kinds}: learned as levels without an order"
        otherwise = "" if text else "; --covariance auto takes them for ordered answers"
        if is_directed:
            otherwise = "; --kinds NAME=continuous takes one for numbers"
        notes = [f"{note}{otherwise}"] if is_discrete is None else []
        reading, _ = treat_missing(reading, COMPLETE_ROWS, "counts need complete rows")
        reading = settled(reading, is_numbers=False)
        table = reading.table()
        return reading.source(table, _categories(table), *notes, is_discrete=True)
    if text and is_discrete is None and all(_has_levels(table, name) for name in text):
        return _mixed_source(reading, kinds, is_directed=is_directed, is_ranks=is_ranks)
    written = [name for name in text if written_decimals(table, name)]
    if text and n_levels is not None and not written:
        raise InputError(about_levels(path, table, text, ordered))
    if text:
        has_kinds = is_discrete is None and "--kinds" in options_here()
        levels = [name for name in text if has_kinds and _has_levels(table, name)]
        raise InputError(about_text(path, table, levels))
    notes = []
    if is_discrete is False and n_levels is not None:
        notes.append(f"no column has more than {n_levels} levels; learned as numbers")
    allowed = {"allow_constant": allow_constant, "allow_identical": allow_identical}
    return _number_source(reading, covariance, *notes, **allowed)


def _number_source(
    reading: Reading, covariance: str | None, *notes: str, **allowed: bool
) -> Source:
    """Return a table of numbers, with the kinds of its columns where they make a difference."""
    import pandas as pd

    from edgewise.stats.polychoric import ordinal_columns

    has_answers = bool(ordinal_columns(reading.table()).any())
    is_by_pairs = has_answers if covariance is None else covariance in _BY_PAIRS
    reading, missing = treat_missing(reading, *_NUMBERS_TAKE[is_by_pairs])
    reading = settled(reading)
    table = reading.table()
    # Without the means of clusters they are measurements.
    is_answers = ordinal_columns(table)
    has_answers = bool(is_answers.any())
    check_table(table, allow_missing=missing != "error", **allowed)
    refuse_covariance_file(reading.raw.source, table)
    frame = pd.DataFrame(table.values, columns=list(table.names))
    kinds: dict[str, str] = {}
    if has_answers and covariance in (None, "auto"):
        names = zip(table.names, is_answers, frame.nunique(), strict=True)
        answers = {name: "binary" if n == 2 else "ordinal" for name, own, n in names if own}
        kinds = {name: answers.get(name, "continuous") for name in table.names}
    more: dict[str, Any] = {"kinds": kinds} if kinds else {}
    is_ranks = covariance in (*_BY_PAIRS, "nonparanormal")
    source = reading.source(table, frame, *notes, is_ranks=is_ranks, **more)
    if kinds or source.labels:
        known = [kinds.get(name, "continuous") for name in table.names]
        source = replace(source, columns=reading.described(table, known))
    if covariance is None:
        # Treated as ordinal, with a note.
        kept = tuple(one for one in source.findings if one.kind != "categories")
        source = replace(source, findings=kept)
    return replace(source, has_answers=has_answers, missing=missing)


def _has_levels(table: Table, name: str) -> bool:
    """Whether a column of text has a few levels, none of them a number or a word for missing."""
    import numpy as np

    k = table.names.index(name)
    codes = table.values[~table.missing[:, k], k]
    n_levels = len(np.unique(codes))
    is_few = n_levels <= min(_few_levels(table.n_samples), table.n_samples // 5)
    return is_few and table.stray_word(name) is None and not written_decimals(table, name)


def _mixed_source(
    reading: Reading, given: Sequence[str], *, is_directed: bool, is_ranks: bool
) -> Source:
    """Return a table that is learned by the kinds of its columns, and say which these are."""
    from edgewise.data.kinds import column_kinds
    from edgewise.io import quote_names

    said = dict.fromkeys(reading.ordered, "ordinal") | _as_kinds(given)
    reading = replace(reading, raw=with_codes(reading.raw, said))
    table = reading.table()
    found = column_kinds(table, said)
    kinds = dict(zip(table.names, found, strict=True))
    if labels := [name for name, kind in kinds.items() if kind in ("identifier", "date")]:
        what = "labels the rows" if kinds[labels[0]] == "identifier" else "holds dates"
        raise InputError(
            "unusable_column", label=labels[0], what=what, drop_command=drop_command(labels)
        )
    what = "scores of levels" if is_directed else "regressions"
    why = f"{what} need complete rows"
    reading, missing = treat_missing(reading, COMPLETE_ROWS, why, by_fit=not is_directed)
    reading = settled(reading, is_numbers=False)
    table = reading.table()
    check_table(
        table, allow_constant=False, allow_identical=False, allow_missing=missing != "error"
    )
    which = {kind: [name for name in kinds if kinds[name] == kind] for kind in sorted({*found})}
    listed = ", ".join(f"{kind} {quote_names(names)}" for kind, names in which.items())
    note = (
        f"each column was regressed on the others by its kind, {listed}; --kinds NAME=KIND takes "
        "a column for another, --method discrete all of them for levels without an order"
    )
    if is_directed:
        note = (
            f"binary, ordinal and nominal columns count as levels without an order, the others as "
            f"numbers: {listed}; --kinds NAME=KIND takes a column for another"
        )
    source = reading.source(
        table, _categories(table), note, is_discrete=True, is_ranks=is_ranks, kinds=kinds
    )
    columns = reading.described(table, found)
    source = replace(source, is_discrete=False, kinds=kinds, columns=columns, missing=missing)
    return source if is_directed else _with_signs(source, table)


def _with_signs(source: Source, table: Table) -> Source:
    """Name columns of two words by the one that counts as more, as in 'sex=m'."""
    import numpy as np

    from edgewise.data.kinds import YES

    new: dict[str, str] = {}
    for k, (name, levels) in enumerate(zip(table.names, table.levels, strict=True)):
        if levels is None or source.kinds[name] != "binary":
            continue
        seen = np.unique(table.values[~table.missing[:, k], k]).astype(int).tolist()
        less, more = (levels[code] for code in seen)
        if (less.strip().lower(), more.strip().lower()) not in YES:
            new[name] = f"{name}={more}"
    if not new or not {*new.values()}.isdisjoint(table.names):
        return source
    first = next(iter(new.values()))
    note = f"columns of two words are named by the second: + at '{first}' means more of it there"
    return replace(
        source,
        frame=source.frame.rename(columns=new),
        kinds={new.get(name, name): kind for name, kind in source.kinds.items()},
        labels={new.get(name, name): text for name, text in source.labels.items()},
        columns=tuple(
            {**row, "column": new.get(row["column"], row["column"])} for row in source.columns
        ),
        notes=(*source.notes, note),
    )


def _as_kinds(given: Sequence[str]) -> dict[str, str]:
    """Read kinds as the option has them: NAME=KIND, separated by commas."""
    kinds: dict[str, str] = {}
    for part in (part.strip() for text in given for part in text.split(",")):
        name, sign, kind = (piece.strip() for piece in part.rpartition("="))
        if not (name and sign and kind):
            raise InputError("kinds_syntax", part=part)
        if kinds.get(name, kind) != kind:
            raise InputError("kinds_conflict", kind=kinds[name], kind2=kind, name=name)
        kinds[name] = kind
    return kinds


#: Correlations of ranks and of ordered answers, which EM has no model for.
_BY_PAIRS: Final = ("spearman", "kendall", "polychoric", "auto")
#: What can be done with missing values of numbers, and why: without and with such correlations.
_NUMBERS_TAKE: Final = (
    (("em", "pairwise", "drop"), "Gaussian rows have a likelihood, missing values or not"),
    (("pairwise", "drop"), "such correlations are computed pair by pair"),
)


def check_table(
    table: Table, *, allow_constant: bool, allow_identical: bool, allow_missing: bool = False
) -> None:
    """Refuse columns that no network can be learned from, with the command that leaves them out."""
    from edgewise.data.checks import check_columns, inspect_columns

    report = inspect_columns(table.values)
    flat = [] if allow_constant else [table.names[k] for k in report.constant]
    copies = [] if allow_identical else list(report.identical)
    names = flat or sorted({table.names[k] for _, k in copies}, key=table.names.index)
    if (
        table.n_samples > 1
        and not report.n_infinite.any()
        and 0 < len(names) < table.n_features - 1
    ):
        if flat:
            raise InputError("constant_columns_in_file", columns=flat, command=drop_command(flat))
        pair = [table.names[k] for k in copies[0]]
        raise InputError(
            "identical_columns_in_file",
            pair=pair,
            more=len(copies) - 1,
            columns=names,
            command=drop_command(names),
        )
    check_columns(
        table.values,
        table.names,
        allow_missing=allow_missing,
        allow_constant=allow_constant,
        allow_identical=allow_identical,
        report=report,
    )


def path_text(path: Path) -> str:
    """Write the name of a file, which may hold bytes that are no text."""
    return os.fsencode(path).decode(errors="replace")


def refuse_covariance_file(path: Path | str, table: Table) -> None:
    """Refuse a covariance matrix in place of rows."""
    from edgewise.data.checks import looks_like_covariance

    if looks_like_covariance(table.values):
        raise InputError("covariance_matrix_given", path=path)


def fingerprint(
    files: Sequence[Path],
    path: Path,
    n_samples: int,
    names: Sequence[str],
    sha256: str | None = None,
) -> dict[str, Any]:
    """Say which files a table was in, and what of it was used; their digest may be known."""
    digest = hashlib.sha256()
    for file in files if sha256 is None else ():
        with file.open("rb") as handle:
            hashlib.file_digest(handle, lambda: digest)
    return {
        "file": path_text(path),
        "sha256": sha256 or digest.hexdigest(),
        "n_samples": n_samples,
        "n_features": len(names),
        "names": list(names),
    }


def _categories(table: Table) -> pd.DataFrame:
    """Return the columns with their levels by name; two rows are the least to learn from."""
    import numpy as np
    import pandas as pd

    if table.n_samples < 2:
        raise InputError("one_row_in_table", n_samples=table.n_samples)
    columns: dict[str, Any] = {}
    for k, name in enumerate(table.names):
        values, levels = table.values[:, k], table.levels[k]
        is_missing = np.isnan(values)
        if levels is not None:
            codes = np.where(is_missing, -1, values).astype(np.int64)
            columns[name] = pd.Categorical.from_codes(codes, categories=pd.Index(levels))
        elif table.kinds[k] == "boolean" and not is_missing.any():
            columns[name] = values.astype(bool)
        else:
            columns[name] = values
    return pd.DataFrame(columns)


def _network(
    raw: RawTable,
    columns: Sequence[str],
    drop: Sequence[str],
    apart: Sequence[str] = (),
    option: str = "--columns",
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose the columns of the network; also return what to note."""
    wanted = named_columns(columns, raw.names, option)
    if both := [name for name in wanted if name in apart and option == "--responses"]:
        raise InputError("network_and_covariates", both=both, option=option)
    kept = {*(wanted or raw.names)} - {*apart, *named_columns(drop, raw.names, "--drop")}
    if not kept:
        raise InputError("no_columns_left", option=option)
    left_out = [name for name in raw.names if name not in kept and name not in apart]
    notes = (f"left out on request: {', '.join(left_out)}",) if left_out else ()
    return tuple(name for name in raw.names if name in kept), (*raw.notes, *notes)


def _chosen(raw: RawTable, names: Sequence[str]) -> RawTable:
    """Take some columns, of which a network needs two at least."""
    if len(names) < 2:
        raise InputError(
            "one_column_left", source=raw.source, n_names=len(raw.names), name=names[0]
        )
    columns = tuple(raw.columns[raw.names.index(name)] for name in names)
    return replace(raw, names=tuple(names), columns=columns)


def _few_levels(n_samples: int) -> int:
    """Most levels of a column that is none of measurements or row labels."""
    return max(2, min(20, n_samples // 5))


def most_levels(table: Table) -> int | None:
    """Count the levels of a discrete table, at most in any column; None where it is not discrete.

    Every column of a discrete table has few levels, and none looks like measurements or row
    labels. Of few rows, measurements have few levels too: a column of fractions, or one in which
    every row differs, is therefore never treated as discrete.
    """
    import numpy as np

    limit = _few_levels(table.n_samples)
    most = 0
    for k, kind in enumerate(table.kinds):
        seen = table.values[~np.isnan(table.values[:, k]), k]
        n_levels = len(np.unique(seen))
        if n_levels > limit or n_levels == len(seen):
            return None
        if kind == "numeric" and (seen != np.round(seen)).any():
            return None
        most = max(most, n_levels)
    return most


def _with_order(table: Table) -> list[str]:
    """Names of the columns with more than two different numbers, whose order means something."""
    import numpy as np

    return [
        name
        for name, kind, column in zip(table.names, table.kinds, table.values.T, strict=True)
        if kind == "numeric" and len(np.unique(column[~np.isnan(column)])) > 2
    ]


def stream_source(
    path: Path, *, columns: Sequence[str], drop: Sequence[str], is_discrete: bool
) -> Source:
    """Sum up the rows of a file, or of all files of a folder."""
    from edgewise.io.tables import read_chunks, table_files
    from edgewise.stats import stream_counts, stream_covariance

    chunks = read_chunks(
        path, **{name: getattr(preparation(), name) for name in WRITTEN if name != "sheet"}
    )
    first = next(chunks)
    names, notes = _network(first, columns, drop)
    kept = (_chosen(chunk, names) for chunk in chain([_chosen(first, names)], chunks))
    found = stream_counts(kept) if is_discrete else stream_covariance(kept)
    if found.n_samples < 2:
        raise InputError("one_row_in_file", path=path)
    return Source(
        name=path_text(path),
        frame=found,
        fingerprint=fingerprint(table_files(path), path, found.n_samples, names),
        notes=(*notes, "summed up piece by piece, as --stream asks"),
        is_discrete=is_discrete,
    )
