"""Words and numbers that the summaries of several commands share."""

from __future__ import annotations

import math
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from edgewise.cli.shell import in_options, say, say_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from edgewise.cli.run import Result
    from edgewise.graph import Graph

#: Parameters of an estimator that say nothing about the result.
ABOUT_THE_RUN: Final = ("n_jobs", "random_state", "verbose")
#: Edges that a summary lists.
STRONGEST: Final = 5
LONGEST_NAME: Final = 36
#: Rules that choose a penalty.
RULES: Final = {
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
            {str(key): value for key, value in row.items()} for row in rows.to_dict("records")
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


def strongest_edge(graph: Graph, words: str = "the strongest joins") -> str:
    """Name the strongest edge, for a headline."""
    if not graph.n_edges:
        return ""
    edge = graph.edges().iloc[0]
    ends = f"{short_name(edge['source'])} and {short_name(edge['target'])}"
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
    """Tell how far a convex fit is from the optimum, at most."""
    from edgewise.estimators.base.table import describe_gap

    is_many = method in ("neighborhood", "mixed")
    what = "The regressions are together" if is_many else "The fit is"
    return f"{what} {describe_gap(fit)}."


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

    selection: Any = getattr(fit, "selection_", None)
    gamma = getattr(selection, "gamma", None)
    return {
        "alpha": float(fit.alpha_),
        "alpha_rule": rule_name(fit.alpha),
        **({} if gamma is None else {"gamma": gamma, "is_refitted": selection.is_refitted}),
        "gap": _finite(fit.gap_),
        "objective": _finite(fit.objective_),
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity, which is the gap of a fit that stopped before it had a certificate."""
    return float(value) if math.isfinite(value) else None
