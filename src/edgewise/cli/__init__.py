"""The command line; each command has a file of its own and imports what it needs when it runs."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command that the arguments of the process name, and exit."""
    from edgewise._core.process import collect_rarely, leave_objects

    collect_rarely()
    from edgewise.cli.interrupts import end, end_on_signals, finish, is_interrupted

    end_on_signals()
    try:
        _run()
    finally:
        if is_interrupted():
            end()
        finish()
        leave_objects()


def _run() -> None:
    from edgewise._core.process import open_streams

    open_streams()
    from edgewise.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # Column names may hold letters that the terminal cannot show; that must not end a run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="edgewise")
