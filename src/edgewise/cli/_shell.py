"""What every command says and how it ends: output, progress, warnings, errors, exit codes."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import typer
from typer.core import TyperGroup

from edgewise._core.errors import EdgewiseError
from edgewise.cli._interrupt import exit_code, is_interrupted, tell_stopped

#: Exit code of a run that could not use what it was given.
BAD_INPUT: Final = 2

#: Parameters of the library and the options that stand for them on the command line.
OPTIONS: Final = {
    "alpha": "--alpha",
    "alpha_ratio": "--alpha-ratio",
    "basis": "--basis",
    "constant": "--constant",
    "covariance": "--covariance",
    "degree": "--degree",
    "gamma": "--gamma",
    "lookahead": "--lookahead",
    "max_depth": "--depth",
    "max_iter": "--max-iter",
    "max_total_depth": "--total-depth",
    "method": "--method",
    "min_gain": "--min-gain",
    "min_samples_leaf": "--min-leaf",
    "missing": "--missing",
    "n_edges": "--edges",
    "n_folds": "--folds",
    "n_jobs": "--jobs",
    "n_permutations": "--permutations",
    "n_repeats": "--repeats",
    "n_resamples": "--resamples",
    "negligible": "--negligible",
    "random_state": "--seed",
    "reference": "--reference",
    "repair": "--repair",
    "ridge": "--ridge",
    "search": "--search",
    "significance": "--significance",
    "slack": "--slack",
    "split_on": "--on",
    "step": "--step",
    "tau": "--tau",
    "tol": "--tol",
    "window": "--window",
}
_ASSIGNMENT: Final = re.compile(rf"\b({'|'.join(OPTIONS)})=['\"]?([\w.+-]*\w)['\"]?")
#: Names that are no English words, so that they stand for the parameter also on their own.
_BARE: Final = re.compile(rf"(?<!-)\b({'|'.join(name for name in OPTIONS if '_' in name)})\b")


_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)


class Commands(TyperGroup):
    """The commands; an expected failure ends in one sentence on standard error, no traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, typer.Exit):
            # Whoever read the output has seen enough; typer ends the run quietly.
            raise
        except KeyboardInterrupt as stop:
            tell_stopped(*stop.args)
            raise typer.Exit(exit_code()) from None
        except Exception as error:
            if is_interrupted():
                tell_stopped()
                raise typer.Exit(exit_code()) from None
            if (sentence := _about(error)) is None:
                raise
            typer.echo(f"Error: {printable(in_options(sentence))}", err=True)
            raise typer.Exit(BAD_INPUT) from None
        finally:
            # Not every command could take it back itself: some have no such option.
            _is_quiet.set(False)


def _about(error: Exception) -> str | None:
    """Say what was expected to go wrong; None for an error that nobody foresaw."""
    if isinstance(error, EdgewiseError):
        return str(error)
    if isinstance(error, OSError):
        where = f"'{error.filename}': " if error.filename else ""
        return f"{where}{error.strerror or error}."
    if isinstance(error, MemoryError):
        return "There is not enough memory for a table of this size. Drop columns."
    return None


def be_quiet(value: bool) -> bool:
    """Remember, for one run, whether to leave words and progress out."""
    _is_quiet.set(value)
    return value


def say(text: str) -> None:
    """Write a result to standard output, unless only files are wanted."""
    if not _is_quiet.get():
        typer.echo(printable(text))


def say_json(document: dict[str, Any]) -> None:
    """Write one JSON object to standard output."""
    typer.echo(json.dumps(document, indent=1, allow_nan=False))


def is_watched() -> bool:
    """Whether somebody follows the run at a terminal, so that progress is worth showing."""
    return sys.stderr.isatty() and not _is_quiet.get()


def tell(text: str) -> None:
    """Say what goes on, on standard error, to whoever follows the run."""
    if is_watched():
        typer.echo(printable(text), err=True)


@contextmanager
def warnings_told() -> Iterator[list[str]]:
    """Write each warning once to standard error, in a line of its own; yield the list of them.

    Warnings about the code rather than the data (deprecations and the like) are not for users.
    """
    told: list[str] = []

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = in_options(str(message))
        if issubclass(category, (UserWarning, RuntimeWarning)) and text not in told:
            told.append(text)
            typer.echo(f"Warning: {printable(text)}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield told


def in_options(message: str) -> str:
    """Put advice that names parameters of the library into options of the command line.

    Examples
    --------
    >>> in_options('Fill them, or pass missing="em". Raise max_iter.')
    'Fill them, or pass --missing em. Raise --max-iter.'
    """
    text = _ASSIGNMENT.sub(lambda match: f"{OPTIONS[match[1]]} {match[2]}", message)
    return _BARE.sub(lambda match: OPTIONS[match[1]], text)


def printable(text: str) -> str:
    """Replace what a terminal could obey instead of showing it, such as escape sequences."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )
