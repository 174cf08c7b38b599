"""The application: what all commands have in common, and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import typer

from edgewise._version import __version__
from edgewise.cli.classify import classify
from edgewise.cli.compare import compare
from edgewise.cli.demo import demo
from edgewise.cli.direct import direct
from edgewise.cli.export import export
from edgewise.cli.info import info
from edgewise.cli.learn import learn
from edgewise.cli.plan import plan
from edgewise.cli.prepare import reads_table
from edgewise.cli.progress import tells_progress
from edgewise.cli.regress import regress
from edgewise.cli.shell import Command, Commands, say
from edgewise.cli.simulate import simulate

#: Names of the help of a command.
HELP: Final = {"help_option_names": ["-h", "--help", "--help-all"]}

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        say(f"edgewise {__version__}")
        raise typer.Exit


@app.callback()
def edgewise(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Learn the network behind a table of measurements."""


#: One example of each command, for its help.
EXAMPLES: Final = {
    "learn": "edgewise learn survey.csv --drop id",
    "compare": "edgewise compare patients.csv --by group",
    "regress": "edgewise regress stations.csv --on lat,lon",
    "direct": "edgewise direct sensors.csv --tier age,sex",
    "classify": "edgewise classify patients.csv --by diagnosis",
    "demo": "edgewise demo --out try",
    "plan": "edgewise plan learn --features 15 --size 0.3",
    "export": "edgewise export edgewise-out/model.edgewise graph.gexf",
    "simulate": "edgewise simulate --kind hub --features 20 --samples 500 --out data.csv",
    "info": "edgewise info --json",
}

on_tables: list[Callable[..., None]] = [learn, compare, regress, direct, classify]
others: list[Callable[..., None]] = [demo, plan, export, simulate, info]
for command in (*map(reads_table, on_tables), *others):
    epilog = f"Example: {EXAMPLES[command.__name__]}"
    if command in on_tables:
        epilog = f"All options: edgewise {command.__name__} --help-all. {epilog}"
    app.command(epilog=epilog, cls=Command, context_settings=HELP)(tells_progress(command))
