"""``edgewise plan``: how many rows a question needs."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import typer

from edgewise._core.errors import InputError
from edgewise.cli.options import Jobs, Json, OutFolder, Quiet, Seed
from edgewise.cli.shell import say, say_json, shows_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from edgewise.inference.planning import Plan, Truth

#: Commands that rows are planned for; the stage below is imported when it is used.
Question: TypeAlias = Literal["learn", "compare", "direct"]
#: Files of the folder.
TABLE, PICTURE, RECORD = "plan.csv", "plan.png", "run.json"
#: What is asked for unless told otherwise.
SHARE: Final = 0.8
ROWS: Final = "50,100,200,400,800,1600"
#: What has to reach the share, and what else is drawn, by question.
REACHED: Final = {
    "learn": "share of the edges found",
    "compare": "power of the test that the networks differ",
    "direct": "share of the identified arrows found",
}
FALSE: Final = "share of what is reported that is false"


def plan(
    question: Annotated[
        Question, typer.Argument(help="The command that the rows are for.", show_default=False)
    ],
    pilot: Annotated[
        Path | None,
        typer.Option(
            help="Take the network learned from this table for the truth.",
            metavar="FILE",
            show_default="simulated networks",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Column of the pilot table with the two groups of compare.",
            metavar="COLUMN",
            show_default=False,
        ),
    ] = None,
    features: Annotated[int, typer.Option(help="Columns of a simulated network.", min=2)] = 20,
    degree: Annotated[float, typer.Option(help="Its mean number of edges per column.")] = 2.0,
    size: Annotated[
        float,
        typer.Option(
            help=(
                "Partial correlation of its edges; for compare the change of each changed edge, "
                "for direct the coefficient of each arc."
            )
        ),
    ] = 0.2,
    changed: Annotated[int, typer.Option(help="Edges that differ, for compare.", min=1)] = 3,
    rows: Annotated[
        str,
        typer.Option(help="Numbers of rows to try; for compare, of both groups.", metavar="LIST"),
    ] = ROWS,
    tables: Annotated[int, typer.Option(help="Simulated tables of each size.", min=2)] = 20,
    share: Annotated[
        float, typer.Option(help="Power, or share of edges, that is enough.", min=0.0, max=1.0)
    ] = SHARE,
    out: OutFolder = Path("edgewise-plan"),
    json: Json = False,
    quiet: Quiet = False,
    random_state: Seed = 0,
    n_jobs: Jobs = 1,
) -> None:
    """Simulate how many rows learn, compare or direct need.

    Draws tables of several sizes from a known network, runs the command's method on each, and
    reports power, false discoveries and the width of intervals by number of rows.
    """
    from edgewise.cli.run import results_folder, versions, write_table
    from edgewise.inference.planning import Truth, plan_rows
    from edgewise.plot import save_figure

    sizes = _sizes(rows)
    if pilot is None:
        if by is not None:
            raise InputError("by_needs_pilot")
        truth = Truth(question, features, degree, size, changed)
    else:
        truth = _learned(question, pilot, by)
    with results_folder(out) as folder:
        found = plan_rows(
            truth,
            sizes,
            n_tables=tables,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=int(shows_progress()),
        )
        needed = found.needed(share)
        record: dict[str, Any] = {
            "command": "plan",
            "versions": versions(),
            "seed": random_state,
            "question": question,
            "pilot": None if pilot is None else str(pilot),
            "share": share,
            "rows_needed": needed,
            "n_tables": tables,
            "table": found.table().to_dict("records"),
            "files": [PICTURE, TABLE, RECORD],
        }
        if pilot is None:
            record["network"] = dict(zip(truth._fields[1:5], truth[1:5], strict=True))
        write_table(found.table(), folder / TABLE)
        save_figure(_picture(found, share, needed), folder / PICTURE)
        text = json_format.dumps(record, indent=1, allow_nan=False)
        (folder / RECORD).write_text(text + "\n", encoding="utf-8")
    if json:
        say_json(record)
        return
    say(_answer(found, truth, share, needed))
    say(f"\n{_listing(found)}\n\nWritten to {out}: {', '.join(record['files'])}")


def _sizes(text: str) -> list[int]:
    """Read a list of numbers of rows."""
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError("rows_syntax", text=text) from None
    if len({*sizes}) < 2 or min(sizes) < 10:
        raise InputError("rows_syntax", text=text)
    return sizes


def _learned(question: Question, pilot: Path, by: str | None) -> Truth:
    """Learn the truth from complete rows of the numbers of a table."""
    import numpy as np

    from edgewise.data.labels import label_codes
    from edgewise.data.table import Table
    from edgewise.inference.planning import pilot_truth
    from edgewise.io import read_table

    table = Table.from_input(read_table(pilot))
    if (question == "compare") != (by is not None):
        raise InputError("pilot_by", question=question, by_needed=by is None)
    if by is not None and by not in table.names:
        raise InputError("by_not_in_table", column=by, path=str(pilot), columns=list(table.names))
    numbers = [k for k, own in enumerate(table.levels) if own is None and table.names[k] != by]
    if len(numbers) < 2:
        raise InputError("pilot_needs_numbers", path=str(pilot))
    place = [] if by is None else [table.names.index(by)]
    complete = ~table.missing[:, [*numbers, *place]].any(axis=1)
    groups = None
    if by is not None:
        classes, groups = label_codes(table.values[complete, place[0]], int(complete.sum()))
        if len(classes) != 2 or np.bincount(groups).min() < 5:
            raise InputError("pilot_groups", column=by, n=len(classes))
    return pilot_truth(question, table.values[complete][:, numbers], groups)


def _answer(plan: Plan, truth: Truth, share: float, needed: int | None) -> str:
    """Say how many rows are enough."""
    what = {
        "learn": f"find {share:.0%} of the edges",
        "compare": f"find a difference with a power of {share:.0%}",
        "direct": f"find {share:.0%} of the identified arrows",
    }[plan.question]
    if truth.models:
        where = f"of the network learned from the pilot ({truth.n_features} columns)"
    else:
        kind = {
            "learn": f"partial correlations of {truth.size:g}",
            "compare": f"{truth.n_changed} edges changed by {truth.size:g}",
            "direct": f"coefficients of {truth.size:g}",
        }[plan.question]
        where = f"among {truth.n_features} columns, with {truth.degree:g} edges each and {kind}"
    both = " in both groups together" if plan.question == "compare" else ""
    if needed is None:
        most = f"{plan.reached.max():.0%}"
        return (
            f"More than {plan.rows[-1]} rows{both} are needed to {what}, {where}; "
            f"{plan.rows[-1]} reach {most}. Try larger ones by --rows."
        )
    at_least = " or fewer" if needed <= plan.rows[0] else ""
    return f"About {needed} rows{both}{at_least} {what}, {where}."


def _listing(plan: Plan) -> str:
    """Write the table."""
    listed = plan.table().drop(columns="standard_error")
    heads = {
        "rows": "rows",
        "found": "found",
        "false_discoveries": "false",
        "power": "power",
        "interval_width": "width of intervals",
    }
    lines = ["  " + "  ".join(f"{heads[str(name)]:>6}" for name in listed)]
    for row in listed.to_dict("records"):
        cells = [
            f"{value:>{max(6, len(heads[str(name)]))}{'.0f' if name == 'rows' else '.2f'}}"
            for name, value in row.items()
        ]
        lines.append("  " + "  ".join(cells))
    return "\n".join(lines)


def _picture(plan: Plan, share: float, needed: int | None) -> Figure:
    """Draw what is found, and what of it is false, by number of rows."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

    from edgewise.plot._canvas import NEGATIVE, POSITIVE

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.add_subplot()
    bars = 2.0 * plan.errors
    ax.errorbar(
        plan.rows,
        plan.reached,
        bars,
        color=POSITIVE,
        marker="o",
        capsize=3,
        label=REACHED[plan.question],
    )
    ax.plot(plan.rows, plan.false, color=NEGATIVE, marker="s", linestyle="--", label=FALSE)
    ax.axhline(share, color="0.6", linewidth=0.8)
    if needed is not None:
        ax.axvline(needed, color="0.6", linewidth=0.8)
        ax.annotate(
            f"{needed} rows", (needed, 0.4), xytext=(5, 0), textcoords="offset points", color="0.3"
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(plan.rows.tolist()))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([str(n) for n in plan.rows])
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set(xlabel="rows", ylim=(-0.02, 1.05))
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=1, frameon=False)
    return figure
