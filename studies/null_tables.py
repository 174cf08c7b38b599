"""Commands and the advice that they print, on tables without any effect."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray
from studies.figures import standard_error
from studies.study import Claim, Part, Report, Row, Study, combinations
from studies.tables import markdown_table, verdict

#: Tables by the name of their part.
DESIGNS: Final = {
    "likert": "Answers on 3 to 5 levels, most of them low (200 persons, 8 items)",
    "diary": "Diaries (36 persons with a mean of their own, 12 beeps, AR .4)",
    "subjects": "Subjects with a mean of their own (60, 5 rows each)",
    "clinic": "Patients with text, yes / no, age and skewed laboratory values (200 rows)",
    "sorted": "Rows sorted by age (200 rows)",
    "ar5": "Rows like the row before, AR .5 (300 rows, groups are halves)",
    "ar8": "Rows like the row before, AR .8 (300 rows, groups are halves)",
    "t3": "Heavy tails, multivariate t of 3 degrees of freedom (200 rows)",
    "missing": "A fifth of the values missing (200 rows)",
    "register": "Visits of patients, text, skew, gaps (80 patients, 3 rows each)",
}
#: From row to row.
MEMORIES: Final = {"ar5": 0.5, "ar8": 0.8}
#: Commands with options that make them short.
COMMANDS: Final = {
    "learn": ("--drop", "group", "--resamples", "40"),
    "compare": ("--by", "group", "--permutations", "99"),
}
#: Tables of a cell.
N_TABLES: Final = 200
#: How many times advice is followed.
N_STEPS: Final = 3
#: Share of tables in which something may be found at a level of 5 %.
MOST: Final = 0.07
LEVEL: Final = 0.05
_ADVICE: Final = re.compile(r"`edgewise ([^`]*)`")


def list_tasks(design: str, quick: bool) -> list[Row]:
    """List commands, a task for each table."""
    tables = range(1 if quick else N_TABLES)
    return combinations(design=[design], command=COMMANDS, table=tables)


def run_task(rng: np.random.Generator, *, design: str, command: str, table: int) -> list[Row]:
    """Run a command on a table of its own, then commands that it advises, one after the other."""
    with TemporaryDirectory() as folder, _undrawn():
        path, out = Path(folder, "table.csv"), Path(folder, "out")
        draw_table(design, rng).to_csv(path, index=False)
        words = [command, str(path), "--out", str(out), *COMMANDS[command]]
        tried, rows = [words], []
        for step in range(N_STEPS + 1):
            code, said = _run(words)
            rows.append({"step": step, **_added(tried), **_claims(code, out)})
            advised = [shlex.split(found) for found in _ADVICE.findall(said)]
            advised = [one for one in advised if one[0] in COMMANDS and one not in tried]
            if not advised:
                break
            words = advised[int(rng.integers(len(advised)))]
            tried.append(words)
    return rows


def _run(words: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code, and its warnings or its error."""
    from typer.testing import CliRunner

    from edgewise.cli.app import app

    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stderr


def _added(tried: list[list[str]]) -> Row:
    """Say what the last command has that the one before had not."""
    if len(tried) == 1:
        return {"advice": ""}
    before, words = tried[-2:]
    return {"advice": " ".join(word for word in words if word not in before)}


def _claims(code: int, out: Path) -> Row:
    """Read whether a command claims something, and whether it judges at all."""
    if code:
        return {"refused": True, "judged": False, "claims": False, "edges": 0}
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    row: Row = {"refused": False, "edges": int(record["n_edges"])}
    if record["command"] == "learn":
        judged = "n_significant" in record or not record["n_edges"]
        return row | {"judged": judged, "claims": record.get("n_significant", 0) > 0}
    test: dict[str, Any] = record.get("test", {})
    return row | {
        "judged": bool(test),
        "claims": bool(test) and test["pvalue"] <= LEVEL,
        "means": test.get("pvalue_means", 1) <= LEVEL,
        "spreads": test.get("pvalue_spreads", 1) <= LEVEL,
    }


@contextmanager
def _undrawn() -> Iterator[None]:
    """Leave out drawing, which takes most of the time of a command."""
    from matplotlib.backend_bases import FigureCanvasBase

    import edgewise.report

    def print_nothing(_: Any, filename: Any, **__: Any) -> None:
        if not hasattr(filename, "write"):
            Path(filename).touch()

    with (
        patch.object(FigureCanvasBase, "print_figure", print_nothing),
        patch.object(edgewise.report, "render", lambda *_, **__: ""),
    ):
        yield


def draw_table(design: str, rng: np.random.Generator) -> pd.DataFrame:
    """Draw columns that have nothing to do with each other, nor with the column ``group``."""
    if design in ("diary", "subjects", "register"):
        return _subjects(design, rng)
    n, p = (300 if design in MEMORIES else 200), 8
    rows: FloatArray = rng.normal(size=(n, p))
    group = rng.permutation(np.arange(n) % 2)
    if design == "likert":
        return _frame(_answers(rows, rng), "item", group)
    if design in MEMORIES:
        # Which half of the rows, as before and after an event.
        return _frame(_remembering(rows, MEMORIES[design]), "x", np.arange(n) * 2 // n)
    if design == "t3":
        rows = rows / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    if design == "missing":
        rows[rng.random(rows.shape) < 0.2] = np.nan
    if design == "clinic":
        rows = np.exp(rows)
    frame = _frame(np.round(rows, 3), "lab" if design == "clinic" else "x", group)
    if design in ("clinic", "sorted"):
        age = np.round(rng.uniform(18, 85, size=n), 1)
        frame.insert(0, "age", np.sort(age) if design == "sorted" else age)
    if design == "clinic":
        frame.insert(0, "sex", rng.choice(["f", "m"], size=n))
        frame.insert(0, "pain", rng.integers(0, 2, size=n))
        frame.insert(0, "fever", rng.integers(0, 2, size=n))
    return frame


def _frame(rows: Any, name: str, group: Any) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=[f"{name}{k + 1}" for k in range(rows.shape[1])])
    return frame.assign(group=np.array(["a", "b"])[group])


def _answers(rows: FloatArray, rng: np.random.Generator) -> Any:
    """Cut each column into 3 to 5 levels, most answers in the lowest ones."""
    ends = [[0.3, 1.0], [0.2, 0.8, 1.4], [-0.2, 0.4, 0.9, 1.5]]
    cut = [np.digitize(column, ends[rng.integers(3)]) + 1 for column in rows.T]
    return np.column_stack(cut)


def _remembering(rows: FloatArray, memory: float, axis: int = 0) -> FloatArray:
    """Let each row hold a share of the row before it, at the same variance."""
    rows = np.moveaxis(rows.copy(), axis, 0)
    for t in range(1, len(rows)):
        rows[t] = memory * rows[t - 1] + np.sqrt(1 - memory**2) * rows[t]
    return np.moveaxis(rows, 0, axis)


def _subjects(design: str, rng: np.random.Generator) -> pd.DataFrame:
    """Draw several rows of each person about a mean of their own; groups are of persons."""
    n, each = {"diary": (36, 12), "subjects": (60, 5), "register": (80, 3)}[design]
    noise = rng.normal(size=(n, each, 5))
    if design == "diary":
        noise = _remembering(noise, 0.4, axis=1)
    rows = (rng.normal(size=(n, 1, 5)) + noise).reshape(n * each, 5)
    person = np.repeat(np.arange(n), each)
    group = rng.permutation(np.arange(n) % 2)[person]
    if design == "register":
        rows = np.where(rng.random(rows.shape) < 0.1, np.nan, np.exp(rows))
        frame = _frame(np.round(rows, 2), "lab", group)
        frame.insert(0, "age", rng.integers(18, 85, size=n)[person])
        frame.insert(0, "sex", rng.choice(["f", "m"], size=n)[person])
        frame.insert(0, "patient", [f"P{k + 1:03d}" for k in person])
        return frame
    frame = _frame(np.round(rows, 3), "mood" if design == "diary" else "x", group)
    if design == "diary":
        frame.insert(0, "beep", np.tile(np.arange(each), n) + 1)
        frame.insert(0, "participant", person + 1)
    else:
        frame.insert(0, "subject", [f"s{k + 1:02d}" for k in person])
    return frame


def report(frame: pd.DataFrame) -> Report:
    """Tabulate the share of tables with a claim, by step and by the advice that was followed."""
    frame = frame.assign(advice=frame["advice"].fillna(""))
    cells, holds, found = [], [], []
    for (command, step), part in frame.groupby(["command", "step"], sort=False):
        cells.append([str(command), str(step), "all", *_shares(part)])
        if step:
            cells += [
                [str(command), str(step), f"`{advice}`", *_shares(own)]
                for advice, own in part.groupby("advice")
            ]
        share = float(part["claims"].mean())
        holds.append(share <= MOST + 2 * np.sqrt(MOST * (1 - MOST) / len(part)))
        found.append(f"`{command}` at step {step} {share:.1%} of {len(part)}")
    title = DESIGNS[str(frame["design"].iloc[0])]
    header = [
        "command",
        "step",
        "advice",
        "tables",
        "refused",
        "judged",
        "with edges",
        "false claims",
    ]
    claim = Claim(
        f"{title}: at most {MOST:.0%} of the tables, within two standard errors, have an edge "
        f"with a q-value of at most {LEVEL:g} or a difference, at every step.",
        "; ".join(found),
        verdict([holds]),
    )
    return Report(f"## {title}\n\n{markdown_table(header, cells)}", claims=(claim,))


def _shares(part: pd.DataFrame) -> list[str]:
    """Count tables, and those refused, judged, with any edge and with a claim.

    What `compare` lists without a test is a ranking, no network.
    """
    claims = part["claims"].astype(float)
    share = f"{claims.mean():.1%} ± {standard_error(claims):.1%}"
    is_network = (part["command"] == "learn").all()
    drawn = f"{(part['edges'] > 0).mean():.1%}" if is_network else ""
    return [str(len(part)), str(part["refused"].sum()), str(part["judged"].sum()), drawn, share]


STUDY = Study(
    name="null-tables",
    title="Commands and their advice on tables without effects",
    reference="none; false claims of `learn` and `compare`, and of the commands that they advise",
    version=1,
    parts=tuple(
        Part(name=design, tasks=partial(list_tasks, design), run=run_task, report=report)
        for design in DESIGNS
    ),
)
