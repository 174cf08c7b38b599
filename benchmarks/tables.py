"""The command line of a benchmark that makes tables one after the other."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

from benchmarks.report import machine, markdown_table, say

Row = dict[str, Any]
Plan = TypeVar("Plan")


class Benchmark(Generic[Plan]):
    """Tables of one subject.

    Parameters
    ----------
    name, about : str
        The module under ``benchmarks``, and what it is about.
    plans : tuple
        Sizes of the problems: all of them, and those of ``--quick``.
    tables : dict
        Title of each table, and the function that makes its rows from a plan.
    written : callable
        From the title of a column and a value to a cell.
    note : sequence of str
        Lines above the tables.
    prepare : callable
        Called with the names of the tables before the first is made, to compile what is timed.
    missing : callable
        Returns the names of tables that cannot be made here, with the reason.
    """

    def __init__(
        self,
        name: str,
        about: str,
        plans: tuple[Plan, Plan],
        tables: Mapping[str, tuple[str, Callable[[Plan], list[Row]]]],
        written: Callable[[str, Any], str],
        note: Sequence[str],
        prepare: Callable[[Sequence[str]], None],
        missing: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.program = f"python -m benchmarks.{name}"
        self.about = about
        self.plans = plans
        self.tables = tables
        self.written = written
        self.note = note
        self.prepare = prepare
        self.missing = missing

    def main(self, arguments: list[str] | None = None) -> None:
        """Make the tables, and write what there is after each."""
        arguments = sys.argv[1:] if arguments is None else arguments
        options = self._parse(arguments)
        run: Row = {
            "command": f"{self.program} {shlex.join(arguments)}".strip(),
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "machine": machine(),
            "tables": {},
        }
        with threadpool_limits(1):
            self.prepare(options.tables)
            missing = self.missing()
            for name in options.tables:
                if name in missing:
                    say(f"skipping {name}: {missing[name]}")
                    continue
                run["tables"][name] = self.tables[name][1](self.plans[options.quick])
                run["machine"]["load_at_end"] = round(os.getloadavg()[0], 2)
                if options.markdown:
                    options.markdown.write_text(self._markdown(run))
                if options.json:
                    options.json.write_text(json.dumps(run, indent=1) + "\n")
        print(self._markdown(run))

    def _parse(self, arguments: list[str]) -> argparse.Namespace:
        parser = argparse.ArgumentParser(prog=self.program, description=self.about)
        parser.add_argument(
            "--tables",
            nargs="+",
            choices=list(self.tables),
            default=list(self.tables),
            help="tables to make; all by default",
        )
        parser.add_argument("--quick", action="store_true", help="small problems, under a minute")
        parser.add_argument("--json", type=Path, help="file for all figures")
        parser.add_argument("--markdown", type=Path, help="file for the tables")
        return parser.parse_args(arguments)

    def _markdown(self, run: Row) -> str:
        about = run["machine"]
        lines = [
            f"Command: `{run['command']}`, {run['date']}.",
            f"{about['cpu']}; Python {about['python']}, {about['libraries']}; one BLAS thread;",
            f"load {about['load_at_start']} at the start, {about['load_at_end']} at the end.",
            "",
            *self.note,
            "",
        ]
        for name, rows in run["tables"].items():
            header = list(rows[0])
            cells = [[self.written(title, row[title]) for title in header] for row in rows]
            lines += [f"### {self.tables[name][0]}", "", *markdown_table(header, cells), ""]
        return "\n".join(lines)
