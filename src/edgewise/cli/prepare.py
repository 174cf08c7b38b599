"""Options of all commands about the table: how to read it, which rows, transformations."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    get_args,
    get_type_hints,
)

import typer

from edgewise._core.errors import InputError
from edgewise.cli.levels import split_orders, with_one_spelling

if TYPE_CHECKING:
    from edgewise._core.typing import AnyArray, BoolArray, FloatArray
    from edgewise.io import RawTable

table_option: Final = partial(typer.Option, rich_help_panel="Table")

#: What to do with missing values.
Missing: TypeAlias = Literal["error", "drop", "pairwise", "em", "impute", "auto"]

#: What a command sees of measurements and of ordered answers.
Scale: TypeAlias = Literal["empirical", "nonparanormal", "auto"]
#: What is taken off columns within clusters.
Within: TypeAlias = Literal["centre", "scale", "none"]
#: The decimal mark of written numbers.
Decimal: TypeAlias = Literal[".", ","]
#: What values beyond a limit of detection count as.
Limits: TypeAlias = Literal["half", "limit", "missing"]

#: How a file is written.
WRITTEN: Final = ("na", "decimal", "limits", "header", "encoding", "sheet")
Read: TypeAlias = Annotated[
    list[str] | None,
    table_option(
        "--read",
        help=(
            "How to read the file, repeat for several: na=WORD for a missing value, decimal=, or "
            "decimal=. for numbers written as text, limits=half, limit or missing for values like "
            "<0.5, header=LINE (0 for none), encoding=NAME, sheet=NAME."
        ),
        metavar="NAME=VALUE",
        show_default=False,
    ),
]
Orders: TypeAlias = Annotated[
    list[str] | None,
    table_option(
        "--kinds",
        help="Declare the order of the levels of a text column, as in 'stage=I<II<III'.",
        metavar="NAME=LEVELS",
        show_default=False,
    ),
]
MissingOption: TypeAlias = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help=(
            "Missing values: refuse, drop rows, pairwise deletion, EM, multiple imputation, or the "
            "best that the method supports."
        ),
    ),
]
Where: TypeAlias = Annotated[
    str | None,
    table_option(
        help="Keep rows that meet a condition, as in 'age > 18 and sex == f'.",
        metavar="CONDITION",
        show_default=False,
    ),
]
Survival: TypeAlias = Annotated[
    list[str] | None,
    table_option(
        help=(
            "Replace a censored time and its event indicator by the martingale residual; "
            "EVENT:LEVEL names the level of an event. Separate several by commas."
        ),
        metavar="TIME=EVENT",
        show_default=False,
    ),
]
Every: TypeAlias = Annotated[
    int,
    table_option(
        "--every",
        help="Keep every N-th row (thin autocorrelated rows).",
        metavar="N",
        min=1,
    ),
]
Blocks: TypeAlias = Annotated[
    int | None,
    table_option(
        "--blocks",
        help=(
            "Block length for resampling, permutation and cross-validation of autocorrelated "
            "rows; 1 for independent rows."
        ),
        metavar="N",
        min=1,
        show_default="from the autocorrelation",
    ),
]
Cluster: TypeAlias = Annotated[
    str | None,
    table_option(
        "--cluster",
        help=(
            "Column with the cluster of each row, such as the subject: clusters are resampled, "
            "permuted and held out as a whole. none: rows are independent."
        ),
        metavar="COLUMN",
        show_default="detected",
    ),
]
WithinOption: TypeAlias = Annotated[
    Within | None,
    table_option(
        "--within",
        help=("Within clusters, subtract the mean (centre), standardise (scale), or neither."),
        show_default="centre; compare none",
    ),
]
#: Changes of the table before anything is learned.
Change: TypeAlias = Literal["transpose", "detrend", "difference"]
Transform: TypeAlias = Annotated[
    list[str] | None,
    table_option(
        "--transform",
        help=(
            "Transform the table: transpose it, remove a linear trend from every column "
            "(detrend), or first-difference every column; separate several by commas."
        ),
        metavar="transpose|detrend|difference",
        show_default=False,
    ),
]
ScaleOption: TypeAlias = Annotated[
    Scale,
    table_option(
        "--covariance",
        help=(
            "Use columns as they are (empirical), normal scores (nonparanormal), or normal scores "
            "of ordinal columns only (auto)."
        ),
    ),
]
#: Options and defaults, by parameter.
_OPTIONS: Final[dict[str, tuple[Any, Any]]] = {
    "missing": (MissingOption, "error"),
    "read": (Read, None),
    "kinds": (Orders, None),
    "where": (Where, None),
    "survival": (Survival, None),
    "every": (Every, 1),
    "blocks": (Blocks, None),
    "cluster": (Cluster, None),
    "within": (WithinOption, None),
    "transform": (Transform, None),
    "covariance": (ScaleOption, "empirical"),
}


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """How to read and transform a table.

    Attributes
    ----------
    missing : Missing
        What to do with missing values.
    na : tuple of str
        Words that stand for missing values.
    decimal : str or None
        The decimal mark of written numbers; None where text is left as it is.
    limits : Limits or None
        What values beyond a limit of detection count as; None where they are left as text.
    header : int or None
        Line of the names of columns.
    encoding, sheet : str or None
        Encoding of a text file; sheet of a spreadsheet.
    orders : mapping of str to tuple of str
        Levels of text columns in their order.
    kept : tuple of str
        Columns whose levels are taken as they are, since their kind is named.
    where : str or None
        Condition for the rows to keep.
    survival : tuple of str
        Times under observation with their events.
    every : int
        Rows from one that is kept to the next.
    blocks : int or None
        Consecutive rows that are resampled, permuted or held out together; None where that is
        found out.
    cluster : str or None
        Column that says which rows belong together, "none" for none; None where it is looked for.
    within : Within or None
        What is taken off columns within clusters.
    transpose, difference, detrend : bool
        Whether rows are columns; whether columns are differenced, or lose a straight line.
    scale : Scale
        Which columns are turned into normal scores.
    """

    missing: Missing = "error"
    na: tuple[str, ...] = ()
    decimal: Decimal | None = None
    limits: Limits | None = None
    header: int | None = None
    encoding: str | None = None
    sheet: str | None = None
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    where: str | None = None
    survival: tuple[str, ...] = ()
    every: int = 1
    blocks: int | None = None
    cluster: str | None = None
    within: Within | None = None
    transpose: bool = False
    difference: bool = False
    detrend: bool = False
    scale: Scale = "empirical"

    @property
    def options(self) -> list[str]:
        """Options that were given and need all rows."""
        asked = {"--where": self.where, "--every": self.every > 1}
        asked |= {
            "--survival": bool(self.survival),
            "--kinds": bool(self.orders),
            "--blocks": (self.blocks or 1) > 1,
            "--cluster": self.cluster is not None,
            "--within": self.within is not None,
            "--transform": self.transpose or self.difference or self.detrend,
        }
        return [option for option, value in asked.items() if value]


_asked: ContextVar[Preparation] = ContextVar("preparation", default=Preparation())  # noqa: B039


def preparation() -> Preparation:
    """Return what the running command was asked to do to its table."""
    return _asked.get()


def read_settings(words: Sequence[str] | None) -> dict[str, Any]:
    """Read the values of ``--read`` as keywords of `edgewise.io.ReadOptions`."""
    from edgewise.cli.options import setting
    from edgewise.cli.shell import add_settings

    add_settings("--read", WRITTEN)
    found: dict[str, Any] = {"na": ()}
    for word in words or ():
        name, text = setting(word, WRITTEN, "--read")
        allowed = {"decimal": (".", ","), "limits": ("half", "limit", "missing")}.get(name)
        if (allowed and text not in allowed) or (name == "header" and not text.isdecimal()):
            raise InputError("invalid_read_setting", name=name, text=text, allowed=allowed)
        value: Any = (*found["na"], text) if name == "na" else text
        found[name] = int(text) if name == "header" else value
    return found


def _transforms(words: Sequence[str] | None) -> list[Change]:
    """Read the values of ``--transform``."""
    known = get_args(Change)
    asked = [part.strip() for word in words or () for part in word.split(",")]
    if unknown := [one for one in asked if one not in known]:
        raise InputError("unknown_transform", text=unknown[0], known=known)
    return [one for one in known if one in asked]


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of this module to a command, for the reader of its table.

    One of its own, such as ``--covariance`` of ``learn``, keeps its meaning.
    """
    own = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    added = {name: option for name, option in _OPTIONS.items() if name not in own.parameters}

    def with_options(**given: Any) -> None:
        options = {name: given.pop(name) for name in added}
        scale = options.pop("covariance", "empirical")
        # Orders of levels are for the reader of the table, other kinds for the command.
        orders, kinds = split_orders(options.pop("kinds", given.get("kinds")) or ())
        if "kinds" in given:
            given["kinds"] = kinds or None
        elif kinds:
            raise InputError("kinds_order_syntax", kind=kinds[0])
        kept = tuple(kind.rpartition("=")[0].strip() for kind in kinds)
        options |= {"orders": orders, "kept": kept}
        options["survival"] = tuple(options["survival"] or ())
        options |= read_settings(options.pop("read"))
        options |= dict.fromkeys(_transforms(options.pop("transform")), True)
        token = _asked.set(Preparation(**options, scale=scale))
        try:
            command(**given)
        finally:
            _asked.reset(token)

    parameters = [one.replace(annotation=hints[name]) for name, one in own.parameters.items()]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in added.items()
    ]
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    with_options.__name__, with_options.__doc__ = command.__name__, command.__doc__
    return with_options


def transposed(raw: RawTable) -> RawTable:
    """Take the rows of a table as columns, named by its row names or its first column of text."""
    import numpy as np

    from edgewise.io.messages import repeated

    is_text = [column.dtype.kind == "O" for column in raw.columns]
    names = raw.row_names
    if names is None and is_text[0]:
        names = tuple(str(value) for value in raw.columns[0])
    if names is None:
        names = tuple(f"row{k + 1}" for k in range(raw.n_rows))
    if twice := repeated(names):
        raise InputError("transpose_repeated_names", source=raw.source, twice=twice)
    kept = [k for k, text in enumerate(is_text) if not text]
    if not kept:
        raise InputError("transpose_needs_numbers", source=raw.source)
    left_out = [raw.names[k] for k in range(len(raw.names)) if k not in kept and k > 0]
    notes = [f"{len(names)} rows became columns, (--transform transpose)"]
    notes += [f"columns of text left out before: {', '.join(left_out)}"] if left_out else []
    values = np.array([raw.columns[k] for k in kept], dtype=np.float64)
    return replace(
        raw,
        names=names,
        columns=tuple(values.T),
        n_rows=len(kept),
        row_names=tuple(raw.names[k] for k in kept),
        notes=tuple(notes),
    )


def along_rows(
    values: FloatArray, asked: Preparation, is_new: BoolArray
) -> tuple[FloatArray, BoolArray, list[str]]:
    """Difference columns, or take a line off; also return the rows that are left, and notes.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        NaN where a value is missing.
    asked : Preparation
    is_new : ndarray of bool, shape (n_samples,)
        Where another series begins, which has nothing to do with the row before.
    """
    import numpy as np

    notes = []
    is_kept: BoolArray = np.ones(len(values), dtype=bool)
    if asked.detrend:
        values = values.copy()
        starts = np.flatnonzero(is_new[1:]) + 1
        for rows in np.split(np.arange(len(values)), starts):
            time = np.arange(len(rows), dtype=np.float64)
            for k, column in enumerate(values[rows].T):
                seen = ~np.isnan(column)
                if seen.sum() > 2:
                    line = np.polyval(np.polyfit(time[seen], column[seen], 1), time)
                    values[rows, k] = column - line
        each = f", in each of {len(starts) + 1} series" if len(starts) else ""
        notes.append(f"a linear trend was removed from every column{each}")
    if asked.difference:
        is_kept = ~is_new
        is_kept[0] = False
        values = np.diff(values, axis=0, prepend=np.nan)
        n_series = int(np.count_nonzero(~is_kept))
        within = f" within {n_series} series" if n_series > 1 else ""
        notes.append(f"first differences were taken{within}, {int(is_kept.sum())} rows")
    return values, is_kept, notes


#: What a condition is made of: quoted text, comparisons, brackets, and words without blanks.
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<quoted>'[^']*'|"[^"]*"|`[^`]*`)|(?P<sign><=|>=|==|!=|=|<|>)"""
    r"""|(?P<bracket>[()])|(?P<word>[^\s()<>=!'"`]+))"""
)
_SIGNS: Final = ("==", "=", "!=", "<", "<=", ">", ">=")


def rows_where(raw: RawTable, text: str) -> BoolArray:
    """Tell for which rows a condition holds: comparisons joined by 'and' and 'or', with brackets.

    A comparison with a missing value never holds.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.io import RawTable
    >>> table = RawTable(names=("age",), columns=(np.array([9, 30]),), n_rows=2, source="a.csv")
    >>> rows_where(table, "age > 18")
    array([False,  True])
    """
    tokens: list[tuple[str, str]] = []
    place = 0
    while text[place:].strip():
        found = _TOKEN.match(text, place)
        if found is None:
            raise _bad_condition(text, f"'{text[place:].strip()}' cannot be read")
        kind = str(found.lastgroup)
        word = found[kind]
        tokens.append((kind, word[1:-1] if kind == "quoted" else word))
        place = found.end()
    parser = _Condition(raw, text, tokens)
    result = parser.either()
    if parser.tokens:
        raise _bad_condition(text, f"'{parser.tokens[0][1]}' is unexpected")
    return result


def _bad_condition(text: str, why: str) -> InputError:
    return InputError("condition_invalid", text=text, why=why)


class _Condition:
    """A condition that is read from left to right."""

    def __init__(self, raw: RawTable, text: str, tokens: list[tuple[str, str]]) -> None:
        self.raw, self.text, self.tokens = raw, text, tokens

    def either(self) -> BoolArray:
        holds = self.both()
        while self._next_is("word", "or"):
            holds = holds | self.both()
        return holds

    def both(self) -> BoolArray:
        holds = self.single()
        while self._next_is("word", "and"):
            holds = holds & self.single()
        return holds

    def single(self) -> BoolArray:
        if self._next_is("bracket", "("):
            holds = self.either()
            if not self._next_is("bracket", ")"):
                raise _bad_condition(self.text, "a bracket is not closed")
            return holds
        name = self._operand("the name of a column")
        kind, sign = self.tokens.pop(0) if self.tokens else ("", "")
        if kind != "sign":
            raise _bad_condition(self.text, f"after '{name}' comes one of {', '.join(_SIGNS)}")
        return self._compare(name, sign, self._operand(f"a value after {sign}"))

    def _next_is(self, kind: str, word: str) -> bool:
        if self.tokens and self.tokens[0][0] == kind and self.tokens[0][1].lower() == word:
            del self.tokens[0]
            return True
        return False

    def _operand(self, what: str) -> str:
        """Take words up to the next sign, bracket or joining word, or one piece of quoted text."""
        if self.tokens and self.tokens[0][0] == "quoted":
            return self.tokens.pop(0)[1]
        words = []
        while self.tokens and self.tokens[0][0] == "word":
            if self.tokens[0][1].lower() in ("and", "or"):
                break
            words.append(self.tokens.pop(0)[1])
        if not words:
            raise _bad_condition(self.text, f"{what} is missing")
        return " ".join(words)

    def _compare(self, name: str, sign: str, value: str) -> BoolArray:
        # Quoted, since a name may hold a comma.
        column = self.raw.columns[self.raw.names.index(name)] if name in self.raw.names else None
        if column is None:
            named_columns([name], self.raw.names, "--where")
            raise _bad_condition(self.text, f"'{name}' names more than one column")
        if column.dtype.kind in "iuf":
            return self._numbers(column, name, sign, value)
        return self._texts(column, name, sign, value)

    def _numbers(self, column: AnyArray, name: str, sign: str, value: str) -> BoolArray:
        import operator

        import numpy as np

        try:
            number = float(value)
        except ValueError:
            raise _bad_condition(
                self.text, f"column '{name}' holds numbers, and '{value}' is none"
            ) from None
        compare = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
        compare |= {"==": operator.eq, "=": operator.eq, "!=": operator.ne}
        holds: BoolArray = compare[sign](column, number) & ~np.isnan(column.astype(np.float64))
        return holds

    def _texts(self, column: AnyArray, name: str, sign: str, value: str) -> BoolArray:
        import numpy as np

        if sign not in ("==", "=", "!="):
            raise _bad_condition(
                self.text, f"column '{name}' holds text, which is compared by == or !="
            )
        is_same = np.array([str(entry) == value for entry in column.tolist()])
        if not is_same.any():
            is_same = np.array([str(entry).lower() == value.lower() for entry in column.tolist()])
        is_there = np.array([entry is not None for entry in column.tolist()])
        holds: BoolArray = is_there & (is_same if sign != "!=" else ~is_same)
        return holds


def kept_rows(raw: RawTable, text: str) -> RawTable:
    """Keep the rows for which a condition holds, on record."""
    is_kept = rows_where(raw, text)
    n_kept = int(is_kept.sum())
    if not n_kept:
        raise InputError(
            "condition_selects_nothing", text=text, n_rows=raw.n_rows, source=raw.source
        )
    return with_rows(raw, is_kept, f"--where '{text}' keeps {n_kept} of {raw.n_rows} rows")


def with_rows(raw: RawTable, is_kept: BoolArray, *notes: str) -> RawTable:
    """Keep some of the rows."""
    import numpy as np

    names = raw.row_names
    kept = None if names is None else tuple(names[k] for k in np.flatnonzero(is_kept).tolist())
    return replace(
        raw,
        columns=tuple(values[is_kept] for values in raw.columns),
        n_rows=int(is_kept.sum()),
        row_names=kept,
        notes=(*raw.notes, *notes),
    )


def with_codes(raw: RawTable, kinds: Mapping[str, str]) -> RawTable:
    """Take the codes behind labels of the columns that are said to have an order."""
    import numpy as np

    columns = list(raw.columns)
    for k, name in enumerate(raw.names):
        codes = {label: code for code, label in raw.value_labels.get(name, {}).items()}
        words = {word for word in columns[k].tolist() if isinstance(word, str)}
        if kinds.get(name) == "ordinal" and words and words <= codes.keys():
            values = [codes.get(word, np.nan) for word in columns[k].tolist()]
            columns[k] = np.array(values, dtype=np.float64)
    return replace(raw, columns=tuple(columns))


def prepared(raw: RawTable, asked: Preparation) -> RawTable:
    """Take rows as columns and choose rows, where that was asked for."""
    if asked.transpose:
        raw = transposed(raw)
    raw = with_one_spelling(raw, (*asked.kept, *asked.orders))
    if asked.where is not None:
        raw = kept_rows(raw, asked.where)
    if asked.survival:
        from edgewise.cli.survival import with_survival

        raw = with_survival(raw, asked.survival)
    if asked.every > 1:
        import numpy as np

        is_kept = np.arange(raw.n_rows) % asked.every == 0
        raw = with_rows(
            raw, is_kept, f"one row in {asked.every} was taken, {is_kept.sum()} of {raw.n_rows}"
        )
    return raw


def for_gaps(has_gaps: bool) -> tuple[str, ...]:
    """Return the option that a command needs to go on with a table that has missing values."""
    is_open = has_gaps and preparation().missing == "error"
    return ("--missing", "auto") if is_open else ()


def named_columns(
    given: Sequence[str], names: Sequence[str], option: str, where: str = "the table"
) -> list[str]:
    """Split what was given at commas, except where a column is called just that."""
    found: list[str] = []
    for text in given:
        parts = [text] if text in names else [part.strip() for part in text.split(",")]
        found += [part for part in parts if part]
    for name in found:
        if name not in names:
            raise InputError(
                "option_names_unknown_column",
                option=option,
                name=name,
                where=where,
                did_you_mean=did_you_mean(name, names),
            )
    return found


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Suggest the columns that a name comes close to."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or names[:5]
    return f"Did you mean {' or '.join(repr(other) for other in near)}?"
