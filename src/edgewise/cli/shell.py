"""Output of a run: results, progress, warnings and errors in words, advice to paste."""

from __future__ import annotations

import json
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from edgewise._core.errors import EdgewiseError
from edgewise._core.messages import COMMAND_LINE, Audience, Message, in_words, literal
from edgewise.cli import progress
from edgewise.cli.interrupts import exit_code, is_interrupted, tell_stopped

#: Exit code of a run that could not use what it was given.
BAD_INPUT: Final = 2

#: A setting in a note, as in Python; not one that is an option already.
_ASSIGNMENT: Final = re.compile(r"(?<![-\w])(?<!--set )([a-z]\w*)=['\"]?([\w.+-]*\w)['\"]?")

#: Options of the command that runs, by the parameter of the library that each is handed to.
_options: ContextVar[Mapping[str, str]] = ContextVar("options", default={})  # noqa: B039
#: The command that runs with its arguments, and its options that may be given several times.
_arguments: ContextVar[tuple[list[str], frozenset[str]]] = ContextVar("arguments")
_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)
#: Commands that messages of this run have written, with their arguments.
_advised: dict[str, list[str]] = {}


class Command(TyperCommand):
    """A command whose ``--help`` shows the options without a panel, ``--help-all`` all of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, and remember which help was asked for."""
        ctx.meta[EVERYTHING] = "--help-all" in args
        return list(super().parse_args(ctx, args))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with all options where these were asked for."""
        params: list[Any] = list(self.params)
        inner = [one for one in params if getattr(one, "rich_help_panel", None)]
        inner = inner if len(self.params) > OVERSEEABLE else []
        for one in inner:
            one.hidden = not ctx.meta[EVERYTHING]
        try:
            super().format_help(ctx, formatter)
        finally:
            for one in inner:
                one.hidden = False


#: A command with more options shows some of them only.
OVERSEEABLE: Final = 15
#: Where a context remembers that all options are wanted.
EVERYTHING: Final = "edgewise.help_all"


class Commands(TyperGroup):
    """The commands; an expected failure ends in one sentence on standard error, no traceback."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, and remember its options for messages."""
        found = super().resolve_command(ctx, args)
        parameters = found[1].params if found[1] is not None else ()
        _options.set({str(one.name): one.opts[0] for one in parameters if "--" in one.opts[0]})
        many = frozenset(one.opts[0] for one in parameters if getattr(one, "multiple", False))
        _arguments.set((list(args), many))
        return found

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
            if progress.is_json():
                progress.trouble("error", sentence, _code(error), _advised)
            else:
                typer.echo(f"Error: {printable(sentence)}", err=True)
            raise typer.Exit(BAD_INPUT) from None
        finally:
            # Not every command could take it back itself: some have no such option.
            _is_quiet.set(False)


#: What packages say, in errors of their own, where memory runs out.
_NO_MEMORY: Final = ("could not be made C-contiguous", "bad allocation", "std::bad_alloc")


def _about(error: Exception) -> str | None:
    """Say what was expected to go wrong; None for an error that nobody foresaw."""
    if isinstance(error, EdgewiseError):
        return worded(error)
    if isinstance(error, OSError):
        where = f"'{error.filename}': " if error.filename else ""
        return f"{where}{error.strerror or error}."
    if progress.is_json() and (usage := getattr(error, "format_message", None)) is not None:
        # Of options that cannot be read, which typer else writes in a box.
        return str(usage())
    if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY):
        return "There is not enough memory for a table of this size. Drop columns."
    return None


def _code(error: Exception | Warning | str) -> str:
    """Return the code of a message; of others, the kind of error in snake case."""
    if isinstance(error, Message) and " " not in error.code:
        return error.code
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()


def be_quiet(value: bool) -> bool:
    """Remember, for one run, whether to leave words and progress out."""
    _is_quiet.set(value)
    return value


@contextmanager
def progress_hidden() -> Iterator[None]:
    """Leave words and progress out in this block, as those of several workers would mix."""
    before = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(before)


def say(text: str) -> None:
    """Write a result to standard output, unless only files are wanted."""
    if not _is_quiet.get():
        typer.echo(printable(text))


def say_json(document: dict[str, Any]) -> None:
    """Write one JSON object to standard output."""
    typer.echo(json.dumps(document, indent=1, allow_nan=False))


def is_watched() -> bool:
    """Whether somebody follows the run at a terminal, so that progress is worth showing."""
    return (sys.stderr.isatty() or progress.is_json()) and not _is_quiet.get()


def shows_progress() -> bool:
    """Whether to show progress of long work: a bar at a terminal, else a line now and then."""
    return not _is_quiet.get()


def tell(text: str) -> None:
    """Say what goes on, on standard error, to whoever follows the run."""
    if is_watched():
        tell_all(text)


def tell_all(text: str) -> None:
    """Say what goes on, on standard error, also where that is a file."""
    if not shows_progress():
        return
    if progress.is_json():
        progress.stage(text)
    else:
        typer.echo(printable(text), err=True)


@contextmanager
def compilation_told() -> Iterator[None]:
    """Say once, to whoever follows the run, that kernels are compiled, and only this time."""
    if not (is_watched() and shows_progress()):
        yield
        return
    from numba.core.event import Event, Listener, install_listener

    class Told(Listener):
        is_told = False

        def on_start(self, event: Event) -> None:
            if not self.is_told:
                self.is_told = True
                tell("Compiling kernels, which takes up to a minute and is done once ...")

        def on_end(self, event: Event) -> None:
            pass

    with install_listener("numba:compile", Told()):
        yield


@contextmanager
def warnings_told() -> Iterator[list[str]]:
    """Write each warning once to standard error, in a line of its own; yield the list of them.

    Warnings about the code rather than the data (deprecations and the like) are not for users.
    """
    told: list[str] = []

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = worded(message)
        if issubclass(category, (UserWarning, RuntimeWarning)) and text not in told:
            told.append(text)
            if progress.is_json():
                progress.trouble("warning", text, _code(message), _advised)
            else:
                typer.echo(f"Warning: {printable(text)}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield told


def again(*changes: str, without: Sequence[str] = ()) -> str:
    """Write the running command with options added or changed, to be run as it stands.

    Parameters
    ----------
    *changes : str
        Options and their values, in turn; the value of a switch is empty.
    without : sequence of str
        Options to leave out, which have one value each.
    """
    words, many = _arguments.get(([], frozenset()))
    options, values = changes[::2], changes[1::2]
    gone = {option for option, value in zip(options, values, strict=True) if value} - many
    gone |= {*without}
    places = {k for k, word in enumerate(words) if word in gone}
    places |= {k + 1 for k in places}
    kept = [
        word
        for k, word in enumerate(words)
        if k not in places and word.partition("=")[0] not in gone
    ]
    # A value that looks like an option has to be tied to its own.
    more = [
        word
        for option, value in zip(options, values, strict=True)
        for word in ([f"{option}={value}"] if value.startswith("-") else [option, value])
        if word
    ]
    text = f"`{' '.join(map(_quoted, ['edgewise', *kept, *more]))}`"
    _advised[text] = [*kept, *more]
    return text


def _quoted(word: str) -> str:
    """Quote a word for a shell; where it has quotes itself, by the other kind, to be read."""
    # An exclamation mark before = is one for shells as well.
    is_plain = "'" in word and not re.search(r'["$`\\]|!(?!=)', word)
    return f'"{word}"' if is_plain else shlex.quote(word)


def advised(options: str) -> str | None:
    """Write the running command with options as a shell reads them; None if it has not got them."""
    changes: list[str] = []
    for word in shlex.split(options):
        if word.startswith("--"):
            changes += word.partition("=")[::2]
        else:
            changes[-1] = word
    if not options_here().issuperset(changes[::2]):
        return None
    # Names of columns are others then.
    without = ("--drop", "--columns") if "transpose" in changes else ()
    return again(*changes, without=without)


def options_here() -> frozenset[str]:
    """Return the options that the running command has."""
    return frozenset(option.partition(" ")[0] for option in _options.get().values())


def add_settings(option: str, names: Sequence[str]) -> None:
    """Let messages name parameters by an option that takes ``NAME=VALUE``."""
    _options.set({name: f"{option} {name}" for name in names} | dict(_options.get()))


def options_given() -> frozenset[str]:
    """Return the options that it was given."""
    words, _ = _arguments.get(([], frozenset()))
    return frozenset(word.partition("=")[0] for word in words if word.startswith("--"))


def drop_command(names: Sequence[str], *more: str) -> str:
    """Write the running command without some columns, and with further options."""
    has_comma = any("," in name for name in names)
    texts = names if has_comma else [",".join(names)]
    return again(*(word for text in texts if text for word in ("--drop", text)), *more)


def command_line(option: Callable[[str], str | None]) -> Audience:
    """Return the audience that types options, given what stands for a parameter, if anything."""

    def setting(name: str, value: str) -> str:
        found = option(name)
        if found is None:
            return f"{name}={value}"
        if " " in found:
            return f"{found}={value.strip(QUOTES)}"
        return found if value == "True" else f"{found} {value.strip(QUOTES)}"

    return Audience(
        name=COMMAND_LINE,
        parameter=lambda name: option(name) or name,
        setting=setting,
        literal=lambda value: value if isinstance(value, str) else literal(value),
        command=lambda options: advised(options) or f"`{options}`",
    )


#: Around text in Python, and not around the value of an option.
QUOTES: Final = "\"'"
AT_THE_SHELL: Final = command_line(lambda name: _options.get().get(name))


def worded(message: Warning | Exception | str) -> str:
    """Put a message into the words of the command line."""
    if isinstance(message, Message) and " " not in message.code:
        return in_words(message, AT_THE_SHELL)
    return str(message)


def in_options(note: str) -> str:
    """Write the settings of a note, such as ``covariance="auto"``, as options."""
    options = _options.get()
    return _ASSIGNMENT.sub(
        lambda found: AT_THE_SHELL.setting(found[1], found[2]) if found[1] in options else found[0],
        note,
    )


def printable(text: str) -> str:
    """Replace what a terminal could obey instead of showing it, such as escape sequences."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )
