"""How a statement is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from edgewise._core.typing import FloatArray
from edgewise.plot import save_figure
from edgewise.reproduce.study import Claim, Report, Results, Study


def write_results(
    folder: Path, study: Study, results: Results, *, quick: bool, seed: int
) -> Report:
    """Write ``results.csv``, ``tables.md`` and the figures, and return the report behind them."""
    rows = pd.concat(
        [frame.assign(part=name) for name, frame in results.items()], ignore_index=True
    )
    rows.insert(0, "part", rows.pop("part"))
    # Else whole numbers turn into fractions wherever a part lacks the column.
    rows = rows.convert_dtypes()
    rows.to_csv(folder / "results.csv", index=False)
    report = study.report(results)
    size = "The whole study"
    if quick:
        size = "A small version of the study, for a first look: few data sets and coarse grids"
    page = "\n\n".join(
        [
            f"# {study.title}",
            f"Paper: {study.reference}",
            (
                f"{size}, seed {seed}. Figures after ± are standard errors. Every number behind "
                "these tables is in `results.csv`."
            ),
            "## What the paper says, and what we find",
            _claims_table(report.claims),
            report.text,
        ]
    )
    (folder / "tables.md").write_text(page.rstrip() + "\n", encoding="utf-8")
    for name, figure in study.figures(results).items():
        save_figure(figure, folder / f"{name}.png")
    return report


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table in Markdown.

    Examples
    --------
    >>> print(markdown_table(["method", "KL"], [["ours", "0.03"]]))
    | method | KL |
    |---|---|
    | ours | 0.03 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "|" + "|".join(cells) + "|" if cells[0] == "---" else f"| {' | '.join(cells)} |"
        for cells in lines
    )


def mean_and_error(values: ArrayLike, digits: int = 3) -> str:
    """Write the mean with its standard error, which a single value does not have.

    Examples
    --------
    >>> mean_and_error([1.0, 2.0, 3.0]), mean_and_error([2.0], digits=1)
    ('2.000 ± 0.577', '2.0')
    """
    found = np.asarray(values, dtype=np.float64)
    mean = f"{found.mean():.{digits}f}"
    if found.size < 2:
        return mean
    return f"{mean} ± {found.std(ddof=1) / np.sqrt(found.size):.{digits}f}"


def _claims_table(claims: Sequence[Claim]) -> str:
    return markdown_table(
        ["the paper", "holds", "here"],
        [[claim.published, claim.holds, claim.found] for claim in claims],
    )


#: A mean this many standard errors from zero is not put down to chance.
CLEAR: Final = 2.0


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
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return bool(values.mean() > CLEAR * error)
