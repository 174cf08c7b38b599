"""Phrases and numbers shared by the summaries of the commands; advice on text columns."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import asdict, is_dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from edgewise.cli.prepare import for_gaps
from edgewise.cli.shell import again, drop_command, in_options, say, say_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from edgewise.cli.run import Result
    from edgewise.data.table import Table
    from edgewise.graph import Graph

#: Parameters of an estimator that say nothing about the result.
ABOUT_THE_RUN: Final = ("n_jobs", "random_state", "verbose")
#: Edges that a summary lists.
STRONGEST: Final = 5
LONGEST_NAME: Final = 36
#: Rules that choose a penalty.
RULES: Final = {
    "stepwise": "the extended BIC",
    "ebic": "the extended BIC",
    "cv": "held-out likelihood",
    "stars": "stability on subsamples (StARS)",
    "fdr": "tests of all pairs at a false discovery rate",
}


def where_to_look(out: Path, files: Sequence[str]) -> str:
    """Tell what was written; the many networks of a tree in one word."""
    leaves = [file for file in files if file.startswith("leaf-")]
    named = [file for file in files if file not in leaves[1:-1]]
    text = ", ".join(named)
    if len(leaves) > 2:
        text = text.replace(f"{leaves[0]}, {leaves[-1]}", f"{leaves[0]} to {leaves[-1]}")
    return f"Written to {out}: {text}"


def announce(result: Result, record: Mapping[str, Any], out: Path, *, as_json: bool) -> None:
    """Say how a run ended: in words with its notes, or as one object with its rows added."""
    files = record["files"]
    if as_json:
        name, rows = result.rows
        listed = [
            {str(key): _plain(value) for key, value in row.items()}
            for row in rows.to_dict("records")
        ]
        say_json({**record, name: listed, "files": {file: str(out / file) for file in files}})
        return
    say(result.text)
    for note in record["treatment"]:
        say(f"Note: {in_options(note).rstrip('.')}.")
    say(where_to_look(out, files))


def count(number: int, noun: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> count(1, "pair"), count(2, "pair")
    ('1 pair', '2 pairs')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def strongest_edge(graph: Graph, words: str = "the strongest joins", *, least: float = 0.0) -> str:
    """Name the strongest edge, for a headline, among those of at least some confidence."""
    edges = graph.edges()
    if least:
        edges = edges[edges["confidence"] >= least]
    if edges.empty:
        return ""
    edge = edges.iloc[0]
    link = "to" if words.endswith("from") else "and"
    ends = f"{short_name(edge['source'])} {link} {short_name(edge['target'])}"
    return f"{words} {ends} ({weight_text(graph, edge, 2)})"


def weight_text(graph: Graph, edge: Any, digits: int) -> str:
    """Write the weight of an edge, with its sign if it has one."""
    source, target = (graph.names.index(edge[end]) for end in ("source", "target"))
    is_signed = graph.signed is None or graph.signed[source, target]
    return f"{edge['weight']:{'+' if is_signed else ' '}.{digits}f}".strip()


def pair_names(edges: pd.DataFrame) -> list[str]:
    """Write the two ends of each edge, all of them equally wide."""
    ends = zip(edges["source"], edges["target"], strict=True)
    pairs = [f"{short_name(a)} -- {short_name(b)}" for a, b in ends]
    width = max((len(pair) for pair in pairs), default=0)
    return [f"{pair:<{width}}" for pair in pairs]


def short_name(name: str) -> str:
    """Put a name on one line; of a long one, beginning and end tell it from others."""
    text = " ".join(name.split())
    if len(text) <= LONGEST_NAME:
        return text
    tail = LONGEST_NAME // 3
    return f"{text[: LONGEST_NAME - tail - 3]}...{text[-tail:]}"


def choice(penalty: Any, n_tried: int | str, rules: Mapping[str, str] = RULES) -> str:
    """Tell how a penalty was chosen."""
    from edgewise.selection.rules import rule_name

    name = rule_name(penalty)
    if name == "fdr":
        return f"of the regressions behind {rules[name]}"
    return "as given" if name is None else f"chosen out of {n_tried} by {rules[name]}"


def short_rows(lines: Sequence[str], most: int, where: str) -> list[str]:
    """Keep the first lines, and say where the others are."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[:most], f"  ... and {len(lines) - most} more in {where}"]


def certificate(fit: Any, method: str = "") -> str:
    """Tell how far a convex fit is from the optimum, at most, and which edges are proven."""
    from edgewise.estimators.base.table import describe_gap
    from edgewise.graph.proven import describe_decided

    is_many = method in ("neighborhood", "mixed")
    what = "The regressions are together" if is_many else "The fit is"
    proven = describe_decided(fit.graph_, is_change=hasattr(fit, "change_"))
    return f"{what} {describe_gap(fit)}." + ("" if proven is None else f"\n{proven}")


def undecided(fit: Any) -> dict[str, int]:
    """Record how many pairs are too close to call; nothing of a fit without proof."""
    if fit.graph_.decided is None:
        return {}
    return {"n_undecided": int((~fit.graph_.decided).sum()) // 2}


def parameters_of(fit: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that a result depends on, for the record."""
    given = {name: value for name, value in fit.get_params().items() if name not in ABOUT_THE_RUN}
    rules = {
        name: {"rule": getattr(value, "name", type(value).__name__), **asdict(value)}
        for name, value in given.items()
        if is_dataclass(value) and not isinstance(value, type)
    }
    return given | rules


def about_fit(fit: Any) -> dict[str, Any]:
    """Record the penalty of a convex fit, the rule that chose it, and the certificate."""
    from edgewise.selection.rules import rule_name

    gamma = getattr(getattr(fit, "selection_", None), "gamma", None)
    # Of a change that is learned with both networks, alpha is the sparsity of these.
    name = getattr(fit, "_strength", "alpha")
    return {
        "alpha": _finite(fit.alpha_),
        **({} if name == "alpha" else {name: float(getattr(fit, f"{name}_"))}),
        f"{name}_rule": rule_name(getattr(fit, name)),
        **({} if gamma is None else {"gamma": gamma}),
        "gap": _finite(fit.gap_),
        "objective": _finite(fit.objective_),
        **undecided(fit),
    }


def _plain(value: Any) -> Any:
    """Return what JSON can carry: a pair without a test has no p-value."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _finite(value: float) -> float | None:
    """JSON has no infinity, the gap of a fit stopped early, and no NaN, the alpha of none."""
    return float(value) if math.isfinite(value) else None


TEXT: Final = "categorical"
#: Above this many text columns, the advice does not spell them out.
NAMES_SHOWN: Final = 20


def text_columns(table: Table) -> list[str]:
    """Names of the columns that hold no numbers."""
    return [name for name, kind in zip(table.names, table.kinds, strict=True) if kind == TEXT]


def _gaps_beside(table: Table, text: Sequence[str]) -> tuple[str, ...]:
    """Return the option for missing values that are left without columns of text."""
    import numpy as np

    beside = [k for k, name in enumerate(table.names) if name not in text]
    return for_gaps(bool(np.isnan(table.values[:, beside]).any()))


def about_levels(path: Path, table: Table, text: Sequence[str], ordered: Sequence[str]) -> str:
    """Advise on text columns in a table of numbers with few levels."""
    from edgewise.io import quote_names

    numerical = ("--covariance", "--alpha", "--set")
    options = ("--method", "discrete", *_gaps_beside(table, ()))
    command = again(*options, without=numerical)
    if not command.startswith("`edgewise learn"):
        command = f"`{shlex.join(['edgewise', 'learn', str(path), *options])}`"
    names = "--drop"
    if len(ordered) > 1 and len(text) <= NAMES_SHOWN:
        names = drop_command(text, *_gaps_beside(table, text))
    also = f", and {quote_names(ordered)} numbers with an order" if ordered else ""
    return (
        f"{path} holds levels, of which {quote_names(text)} {'is' if len(text) == 1 else 'are'} "
        f"text{also}. Convert ordered text to numbers, drop text with "
        f"{names}, or treat all columns as nominal: {command}."
    )


def written_decimals(table: Table, name: str) -> list[str]:
    """List the decimal marks by which all levels of a column of text are written numbers.

    Some may say that a limit of detection was passed, and a few words without digits may stand
    among them, for missing values.
    """
    from edgewise.data.table import is_written_number
    from edgewise.io.text import marks_with_limits, written_number

    levels = table.levels[table.names.index(name)] or ()
    words = _without_digits(levels)
    others = [level for level in levels if level not in words]
    if words and (len(words) > _MOST_WORDS or all(map(is_written_number, others))):
        return []
    if marks := marks_with_limits(others):
        return marks
    return [
        mark
        for mark in (".", ",")
        if others and all(written_number(level, mark) is not None for level in others)
    ]


def _without_digits(levels: Sequence[str]) -> list[str]:
    return [level for level in levels if not re.search(r"\d", level)]


def _about_written(path: Path | str, table: Table, text: Sequence[str]) -> str:
    """Offer to read the written numbers among columns of text, and what else stands in the way."""
    from edgewise.data.table import is_written_number
    from edgewise.io import quote_names
    from edgewise.io.messages import shown
    from edgewise.io.text import LIMIT

    levels = {name: table.levels[table.names.index(name)] or () for name in text}
    marks = {name: written_decimals(table, name) for name in text}
    limits = {name: [one for one in levels[name] if LIMIT.fullmatch(one)] for name in text}
    words = {name: _words_for_missing(table, name) for name in text}
    words |= {name: _without_digits(levels[name]) for name in text if marks[name]}
    beyond = [name for name in text if marks[name] and limits[name]]
    names = [name for name in text if marks[name] and not limits[name]]
    others = [name for name in text if not marks[name] and not words[name]]
    more: list[str] = []
    found = []
    if beyond:
        nouns = ("Column", "holds") if len(beyond) == 1 else ("Columns", "hold")
        found.append(
            f"{nouns[0]} {quote_names(beyond)} of {path} {nouns[1]} values beyond a limit of "
            f"detection, such as {shown(limits[beyond[0]][0])}"
        )
        more += ["--read", "limits=half"]
    if missing := sorted({*chain(*words.values())}):
        more += [word for one in missing for word in ("--read", f"na={one}")]
    if others:
        more += ["--drop", ",".join(others)]
    more += _gaps_beside(table, others) or for_gaps(bool(missing))
    if not names:
        if missing:
            holders = [name for name in text if words[name]]
            stand = "stand" if len(missing) > 1 else "stands"
            found.append(
                f"{quote_names(missing)} in {quote_names(holders)} {stand} for missing values, "
                "it seems"
            )
        if others:
            found.append(f"{quote_names(others)} {'holds' if len(others) == 1 else 'hold'} text")
        return (
            f"{'. '.join(found)}. Use {again(*more)}, which counts half of a lower limit; "
            "--read limits=missing counts such values as missing."
        )
    # A plain number would show nothing.
    plain = [level for level in levels[names[0]] if level not in words[names[0]]]
    example = min(plain, key=lambda level: level.isdecimal() + is_written_number(level))
    both = [mark for mark in (".", ",") if all(mark in marks[name] for name in [*names, *beyond])]
    ways = [again("--read", f"decimal={mark}", *more) for mark in both or marks[names[0]]]
    meaning = "with a decimal comma" if both == [","] else "in groups of digits or with a sign"
    if len(ways) > 1:
        ways = [f"{ways[0]} if the comma groups digits", f"{ways[1]} if it is the decimal mark"]
        meaning = "with a comma"
    nouns = ("Column", "holds") if len(names) == 1 else ("Columns", "hold")
    found.append(
        f"{nouns[0]} {quote_names(names)} of {path} {nouns[1]} numbers that are written "
        f"{meaning}, such as {shown(example)}"
    )
    return f"{'. '.join(found)}. Use {'; '.join(ways)}."


def _what_text(table: Table, name: str) -> str:
    """Say what a column of text holds."""
    from edgewise.data.kinds import guess_kind

    k = table.names.index(name)
    kinds = {"date": "dates", "identifier": "unique text in every row"}
    return kinds.get(guess_kind(table, k)) or count(len(table.levels[k] or ()), "level")


def about_text(path: Path | str, table: Table, learned: Sequence[str] = ()) -> str:
    """Say what to do with columns of text among measurements.

    Those that can be ``learned``, since they have a few levels, may stay.
    """
    from edgewise.io import quote_names
    from edgewise.io.messages import NAMES_SHOWN as FEW, shown

    text = [name for name in text_columns(table) if name not in learned]
    if any(written_decimals(table, name) for name in text):
        return _about_written(path, table, text)
    nouns = ("Column", "holds", "it") if len(text) == 1 else ("Columns", "hold", "them")
    found = f"{nouns[0]} {quote_names(text)} of {path} {nouns[1]} text, not numbers"
    if learned and len(text) <= FEW:
        held = ", ".join(f"'{name}' {_what_text(table, name)}" for name in text)
        found = f"Columns of {path} that cannot be used in a network: {held}"
    if len(text) == 1 and (stray := table.stray_word(text[0])):
        found += f": {shown(stray[1])} in row {stray[0] + 1} below the header"
    words = {name: _words_for_missing(table, name) for name in text}
    if any(words.values()):
        others = [name for name in text if not words[name]]
        return f"{found}. {_about_words(sorted({*chain(*words.values())}), others)}"
    if table.n_features - len(text) < 2:
        return f"{found}. Convert {nouns[2]} to numbers: a network requires two numeric columns."
    if len(text) > NAMES_SHOWN:
        return f"{found}. Drop {nouns[2]} with --drop, or convert {nouns[2]} to numbers."
    command = drop_command(text, *_gaps_beside(table, text))
    return f"{found}. Drop {nouns[2]}: {command}; or convert {nouns[2]} to numbers."


#: So many different words may stand for a missing value in one column of numbers.
_MOST_WORDS: Final = 3


def _words_for_missing(table: Table, name: str) -> list[str]:
    """List the words of a column of numbers, if they are few and may stand for missing values."""
    import numpy as np

    from edgewise.data.table import is_written_number

    k = table.names.index(name)
    levels = table.levels[k] or ()
    words = [level for level in levels if not is_written_number(level)]
    is_word = np.isin(table.values[:, k], [levels.index(word) for word in words])
    # Digits are of a value that is written in another way, such as 12% or 3.5 mg.
    is_plain = all(one.isprintable() and not re.search(r"[\d,]", one) for one in words)
    is_rare = len(words) <= _MOST_WORDS and is_word.sum() < len(is_word) / 2
    return words if words and len(levels) > len(words) and is_plain and is_rare else []


def _about_words(words: Sequence[str], others: Sequence[str]) -> str:
    """Offer to take words for missing values, and to leave other columns of text out."""
    from edgewise.io.messages import quote_names

    rest = f"Leave {quote_names(others)} out. " if others else ""
    more = [word for one in words for word in ("--read", f"na={one}")]
    return (
        f"{rest}Only an empty field, NA and NaN stand for missing values. Name "
        f"{quote_names(words)}, if {'it does' if len(words) == 1 else 'they do'} too: "
        f"{drop_command(others, *more, *for_gaps(True))}."
    )
