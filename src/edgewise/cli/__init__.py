"""The command line; each command has a file of its own and imports what it needs when it runs."""

from __future__ import annotations

import gc
import io
import os
import sys
from pathlib import Path

#: New objects between two collections of garbage. Imports make many that stay, and each collection
#: looks at all of them: with Python's own number, a sixth of a short run goes into that.
BETWEEN_COLLECTIONS = 500_000


def main() -> None:
    """Run the command that the arguments of the process name, and exit."""
    gc.set_threshold(BETWEEN_COLLECTIONS)
    from edgewise.cli.shell import end, end_on_signals, finish, is_interrupted

    end_on_signals()
    try:
        _run()
    finally:
        if is_interrupted():
            end()
        finish()
        # Else Python looks at every object again on its way out, for a fifth of a short run.
        gc.freeze()


def _run() -> None:
    for name in ("stdout", "stderr"):
        # Python has none where it was closed, as by 2>&-.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    from edgewise.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # Column names may hold letters that the terminal cannot show; that must not end a run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="edgewise")
