"""Tables, verdicts and files of the studies."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.metrics import edge_metrics
from edgewise.plot import save_figure
from studies.figures import house_style, standard_error
from studies.study import UNJUDGED, Claim, Report, Results, Study

#: A mean this many standard errors from zero is not attributed to chance.
CLEAR: Final = 2.0
#: Whether a statement holds in each case of a setting, and the figures in words.
Case: TypeAlias = tuple[Sequence[bool], str]


def write_results(
    folder: Path, study: Study, results: Results, *, quick: bool, seed: int
) -> Report:
    """Write ``results.csv``, ``tables.md`` and the figures, and return the report behind them."""
    rows = pd.concat(
        [frame.assign(part=name) for name, frame in results.items()], ignore_index=True
    )
    rows.insert(0, "part", rows.pop("part"))
    # Else whole numbers turn into fractions wherever a part lacks the column.
    rows.convert_dtypes().to_csv(folder / "results.csv", index=False)
    report = study.report(results)
    size = "The whole study"
    if quick:
        size = "A small version of the study, to see it run: few data sets and coarse grids"
        claims = tuple(replace(claim, holds=UNJUDGED) for claim in report.claims)
        report = replace(report, claims=claims)
    page = fill(
        __package__,
        "page",
        study=study,
        size=size,
        seed=seed,
        claims=markdown_table(
            ["the paper", "holds", "here"],
            [[claim.published, claim.holds, claim.found] for claim in report.claims],
        ),
        text=report.text,
    )
    (folder / "tables.md").write_text(page.rstrip() + "\n", encoding="utf-8")
    with house_style():
        for name, figure in study.figures(results).items():
            save_figure(figure, folder / f"{name}.png")
    return report


def matthews(true: BoolArray, learned: BoolArray) -> float:
    """Matthews correlation of two graphs; 0 where one of them is empty or complete.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> matthews(chain, chain), matthews(chain, ~chain & ~np.eye(3, dtype=bool))
    (1.0, -1.0)
    """
    counts = edge_metrics(true, learned)
    p = len(true)
    tp, fp, fn = counts.tp, counts.fp, counts.fn
    tn = p * (p - 1) // 2 - tp - fp - fn
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(margins) if margins else 0.0


def fill(package: str, section: str, **values: Any) -> str:
    r"""Fill a section of a package's ``report.md``, which follows ``<!-- section -->``.

    Paragraphs become one line each, so that line ends in the file do not matter.

    Examples
    --------
    >>> fill("studies.change", "genes", chance=0.1, degree=2, table="|")[:25]
    '## Section 5.1: genes\n\n13'
    """
    page = files(package).joinpath("report.md").read_text(encoding="utf-8")
    _, _, after = page.partition(f"<!-- {section} -->\n")
    text = after.partition("\n<!--")[0].strip()
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text).format(**values)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table in Markdown.

    Examples
    --------
    >>> print(markdown_table(["method", "KL"], [["ours", "0.03"]]))
    | method | KL |
    |---|---|
    | ours | 0.03 |
    """
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def rules_table(frame: pd.DataFrame, columns: Mapping[str, str]) -> str:
    """Lay out how well rules find graphs, the best first.

    A further column has a header and a format of the ``mean`` and the ``sum`` of columns.
    """
    columns = {**columns, "seconds": "{median[seconds]:.3f}"}
    cells = []
    for rule, rows in sorted(frame.groupby("rule"), key=lambda group: -group[1]["mcc"].mean()):
        of = {name: getattr(rows, name)(numeric_only=True) for name in ("mean", "median", "sum")}
        figures = [form.format(**of) for form in columns.values()]
        cells.append([str(rule), mean_and_error(rows["mcc"]), *figures])
    return markdown_table(["rule", "Matthews correlation", *columns], cells)


def wide_table(wide: pd.DataFrame, header: Sequence[str]) -> str:
    """Lay out numbers by rule and something else; a cell without one is empty."""
    cells = [
        [str(rule), *("" if np.isnan(value) else f"{value:.2f}" for value in values)]
        for rule, values in zip(wide.index, wide.to_numpy(), strict=True)
    ]
    return markdown_table(["rule", *header], cells)


def records_table(frame: pd.DataFrame, columns: Mapping[str, str]) -> str:
    """Lay out the rows of a frame; a column has a header and a format of the row's values.

    Examples
    --------
    >>> frame = pd.DataFrame({"source": ["a"], "target": ["b"], "weight": [0.25]})
    >>> print(records_table(frame, {"pair": "{source}, {target}", "weight": "{weight:+.1f}"}))
    | pair | weight |
    |---|---|
    | a, b | +0.2 |
    """
    rows: list[Any] = frame.to_dict("records")
    cells = [[form.format(**row) for form in columns.values()] for row in rows]
    return markdown_table(list(columns), cells)


def means_table(
    header: Sequence[str],
    keys: Iterable[tuple[Any, ...]],
    columns: Sequence[tuple[Any, ...]],
    found: Mapping[tuple[Any, ...], ArrayLike],
    digits: int = 3,
) -> str:
    """Lay out means with their standard errors; ``found`` has them by row key and column.

    Examples
    --------
    >>> print(means_table(["rows", "ours"], [(4,)], [("a",)], {(4, "a"): [1.0, 2.0]}, 1))
    | rows | ours |
    |---|---|
    | 4 | 1.5 ± 0.5 |
    """
    return markdown_table(
        header,
        [
            [*map(str, key), *(mean_and_error(found.get((*key, *c), ()), digits) for c in columns)]
            for key in keys
        ],
    )


def mean_and_error(values: ArrayLike, digits: int = 3, *, sign: bool = False) -> str:
    """Write the mean with its standard error, which a single value does not have.

    Examples
    --------
    >>> mean_and_error([1.0, 2.0, 3.0]), mean_and_error([2.0], 1, sign=True), mean_and_error([])
    ('2.000 ± 0.577', '+2.0', '')
    """
    found = np.asarray(values, dtype=np.float64)
    if not found.size:
        return ""
    mean = f"{found.mean():.{digits}f}"
    # A loss that rounds to 0 is written +0.
    written = f"{float(mean) + 0.0:+.{digits}f}" if sign else mean
    return written + (f" ± {standard_error(found):.{digits}f}" if found.size > 1 else "")


def rows_of(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Rows whose columns have the given values.

    Examples
    --------
    >>> rows_of(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), a=2)["b"].tolist()
    [4]
    """
    chosen = np.ones(len(frame), dtype=bool)
    for column, value in values.items():
        chosen &= (frame[column] == value).to_numpy()
    return frame[chosen]


def grouped(
    frame: pd.DataFrame, keys: Sequence[str], value: str, order: str = "task"
) -> dict[Any, FloatArray]:
    """Values of a column by the values of others, each in the order of the tasks."""
    by = list(keys) if len(keys) > 1 else keys[0]
    groups = frame.sort_values(order, kind="stable").groupby(by, sort=False)[value]
    return {key: group.to_numpy(dtype=np.float64) for key, group in groups}


def listed(figures: Mapping[Any, str], separator: str = "; ") -> str:
    """Write figures with what they belong to in parentheses.

    Examples
    --------
    >>> listed({"ours": "0.90", "theirs": "0.80"})
    '0.90 (ours); 0.80 (theirs)'
    """
    return separator.join(f"{figure} ({name})" for name, figure in figures.items())


def judge(published: str, measure: str, cases: Sequence[Case], more: str = "") -> Claim:
    """Judge a statement by its cases under each setting, and list their figures."""
    words = "; ".join(figures for _, figures in cases)
    return Claim(published, f"{measure}: {words}.{more}", verdict([holds for holds, _ in cases]))


def judge_each(published: str, measure: str, cases: Mapping[str, Case]) -> tuple[Claim, ...]:
    """Judge a statement under each setting that the paper leaves open, in a claim of its own.

    Examples
    --------
    >>> cases = {"a": ([True], "1 of 1"), "b": ([False], "0 of 1")}
    >>> [claim.holds for claim in judge_each("It is.", "Count", cases)]
    ['yes', 'no']
    """
    return tuple(
        Claim(f"{published} ({setting})", f"{measure}: {figures}.", verdict([holds]))
        for setting, (holds, figures) in cases.items()
    )


def verdict(cases: Sequence[Sequence[bool]]) -> Literal["yes", "partly", "no"]:
    """Say whether a statement holds in all of its cases, in part or not.

    Parameters
    ----------
    cases : sequence of sequence of bool
        Whether it holds in each case, under each of the settings that the paper leaves open.

    Returns
    -------
    {"yes", "partly", "no"}
        In part, if it holds throughout under one setting or in half of all the cases.

    Examples
    --------
    >>> verdict([[True, True], [False, False], [False, False]])
    'partly'
    >>> verdict([[True, False, False], [True, False, False]])
    'no'
    """
    throughout = [all(setting) for setting in cases]
    if all(throughout):
        return "yes"
    share = np.mean([case for setting in cases for case in setting])
    return "partly" if any(throughout) or share >= 0.5 else "no"


def is_clearly_positive(values: FloatArray) -> bool:
    """Whether the mean lies more than two standard errors above zero.

    Examples
    --------
    >>> import numpy as np
    >>> is_clearly_positive(np.array([1.0, 1.2])), is_clearly_positive(np.array([-1.0, 1.2]))
    (True, False)
    """
    return bool(values.mean() > CLEAR * standard_error(values))
