"""Progress as JSON lines: with ``--progress json``, each line of standard error is a JSON object.

A line has one of these:

- ``stage``: what is done now, with ``share`` done (0 to 1) and ``seconds_left``, null where they
  are not known;
- ``warning``: a sentence, with its ``code`` and ``commands``, the arguments of each command that it
  advises;
- ``error``: why the run has ended, with its ``code`` and ``commands``.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

import typer

from edgewise._core.listening import hear_progress


class _Reader:
    """Whether a program reads standard error, or people do."""

    is_program = False


def is_json() -> bool:
    """Whether a program reads the progress of this run."""
    return _Reader.is_program


def write(**fields: Any) -> None:
    """Write one line for the program that reads."""
    # It may have gone; the work goes on.
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{json.dumps(fields)}\n")
        sys.stderr.flush()


def stage(label: str, share: float | None = None, seconds_left: float | None = None) -> None:
    """Say what is done now, and how far it is."""
    write(
        stage=label.removesuffix(" ..."),
        share=None if share is None else round(share, 4),
        seconds_left=None if seconds_left is None else round(seconds_left, 1),
    )


def trouble(
    kind: Literal["warning", "error"],
    sentence: str,
    code: str,
    advised: Mapping[str, Sequence[str]],
) -> None:
    """Pass on a warning or an error, with those of the commands written so far that it holds."""
    found = sorted((sentence.find(text), list(words)) for text, words in advised.items())
    commands = [words for place, words in found if place >= 0]
    write(**{kind: sentence, "code": code, "commands": commands})


def _choose(value: str) -> str:
    _Reader.is_program = value == "json"
    hear_progress(stage if _Reader.is_program else None)
    if _Reader.is_program:
        stage("Starting")
    return value


#: What standard error is written for.
Progress: TypeAlias = Annotated[
    Literal["words", "json"],
    typer.Option(
        "--progress",
        help=("Write progress, warnings and errors to standard error as text or as JSON lines."),
        rich_help_panel="Run",
        callback=_choose,
        is_eager=True,
    ),
]


def tells_progress(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--progress`` to a command."""
    hints = get_type_hints(command, include_extras=True)
    own = [
        one.replace(annotation=hints.get(name, one.annotation))
        for name, one in inspect.signature(command).parameters.items()
    ]
    more = inspect.Parameter(
        "progress", inspect.Parameter.KEYWORD_ONLY, default="words", annotation=Progress
    )

    @wraps(command)
    def run(*, progress: str, **given: Any) -> None:
        try:
            command(**given)
        finally:
            hear_progress(None)

    run.__signature__ = inspect.Signature([*own, more])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in (*own, more)}
    return run
