"""The end of a run that is told to stop: cleared up, said, and within two seconds."""

from __future__ import annotations

import atexit
import json
import os
import re
import shlex
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from edgewise._core.errors import EdgewiseError
from edgewise._core.messages import COMMAND_LINE, Audience, Message, in_words, literal
from edgewise.cli import progress

#: Seconds that the run has to end by itself, before it is ended.
PATIENCE: Final = 1.0
#: Seconds for what other packages do at the end of a process.
LAST_WORDS: Final = 0.3


@dataclass
class _Stop:
    """What is known about the signal that ends this process.

    Attributes
    ----------
    number : int
        The signal.
    is_asked : bool
        Whether it has come.
    is_written : bool
        Whether the results were there by then, so that the run ends well if it ends soon.
    is_over : bool
        Whether the run has ended by itself.
    is_told : bool
        Whether the user has been told.
    clear : list of callable
        What takes away what the run has written so far, and returns the folder of finished tasks
        where there is one.
    moving, telling : lock
        Held while results are moved, so that nothing ends the run, and while the user is told.
    """

    number: int = signal.SIGINT
    is_asked: bool = False
    is_written: bool = False
    is_over: bool = False
    is_told: bool = False
    clear: list[Callable[[], str | None]] = field(default_factory=list)
    moving: threading.Lock = field(default_factory=threading.Lock)
    telling: threading.Lock = field(default_factory=threading.Lock)


_stop = _Stop()


def end_on_signals() -> None:
    """Raise `KeyboardInterrupt` on Ctrl-C and on requests to terminate, and see to it that it ends.

    Compiled kernels raise it only when they are done, which may take minutes, and callbacks of
    garbage collection drop it. Whatever became of it, a thread of its own ends the process once
    `PATIENCE` is over.
    """
    _stop.is_over = False
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    # Python's own handlers wait for the main thread; the byte that is sent here does not.
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _interrupt)
    sys.unraisablehook = _unraisable
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # A run that was started to outlive its terminal ignores that it is closed.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()


def finish() -> None:
    """Leave nothing that a run that is over would wait for, or that could still end it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with _stop.moving:
        _stop.is_over = True
    # joblib would ask them to end and wait, for seconds on a busy machine.
    _end_workers()


def is_interrupted() -> bool:
    """Whether the run is to stop: an import that is broken off raises an error of its own."""
    return _stop.is_asked


def exit_code() -> int:
    """Exit code of a run that was stopped, as shells have it."""
    return 128 + _stop.number


@contextmanager
def cleared(clear: Callable[[], str | None]) -> Iterator[None]:
    """Call a function if the process is ended in this block, to take away what it has written.

    It is called in another thread, and returns the folder of finished tasks, if there is one.
    """
    _stop.is_written = False
    _stop.clear.append(clear)
    try:
        yield
    finally:
        _stop.clear.remove(clear)


@contextmanager
def not_stopped() -> Iterator[None]:
    """Write the results to their end, unless the run was stopped before."""
    with _stop.moving:
        if _stop.is_asked:
            raise KeyboardInterrupt
        yield
        _stop.is_written = True


def tell_stopped(kept: str | None = None) -> None:
    """Say that the run was stopped, and where its finished tasks are."""
    with _stop.telling:
        _stop.is_told = True
        _tell(kept)


def _tell(kept: str | None) -> None:
    what = "the results were written." if _stop.is_written else "nothing was written."
    if kept is not None:
        what = (
            f"what was finished is kept in '{kept}'. Run the same command again to go on from "
            "there."
        )
    if progress.is_json():
        progress.trouble("error", f"Interrupted; {what}", "interrupted", {})
        return
    # The terminal may be gone.
    with suppress(OSError):
        # A progress bar may have hidden the cursor.
        show = "\x1b[?25h" if sys.stderr.isatty() else ""
        sys.stderr.write(f"{show}Interrupted; {what}\n")
        sys.stderr.flush()


def end() -> NoReturn:
    """End this process and its workers at once, whichever thread asks for it first."""
    left = [clear() for clear in reversed(_stop.clear)]
    # Never given back: nobody else tells anything, or ends the process a second time.
    _stop.telling.acquire()
    if not _stop.is_told:
        _tell(next(filter(None, left), None))
    _end_workers()
    # Else joblib complains about what its workers leave. The rest of Python's own end takes too
    # long on a busy machine, and no thread could cut it short.
    last = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
    last.start()
    last.join(LAST_WORDS)
    os._exit(exit_code())


def _end_workers() -> None:
    if (module := sys.modules.get("multiprocessing.process")) is not None:
        for worker in module.active_children():
            with suppress(OSError):
                os.kill(worker.pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def _interrupt(number: int, frame: FrameType | None) -> None:
    is_late = _stop.is_written or _stop.moving.locked()
    if not is_late and not _stop.is_asked:
        # Once: what clears up is not to be interrupted itself.
        _stop.is_asked = True
        raise KeyboardInterrupt


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """Say nothing of an interrupt that a callback of a compiler could not pass on."""
    if not isinstance(what.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _terminate(number: int, frame: FrameType | None) -> None:
    _stop.number = number
    # Whoever listens to Ctrl-C hears this, too.
    signal.raise_signal(signal.SIGINT)


def _watch(reader: socket.socket) -> None:
    """Wait for a signal, and end the process if it does not end by itself."""
    _stop.number = reader.recv(1)[0]
    time.sleep(PATIENCE)
    with _stop.moving:
        if not _stop.is_over:
            end()


#: Exit code of a run that could not use what it was given.
BAD_INPUT: Final = 2

_ASSIGNMENT: Final = re.compile(r"(?<![-\w])([a-z]\w*)=['\"]?([\w.+-]*\w)['\"]?")
#: A rule with one parameter, which is an option of its own.
_RULE: Final = re.compile(r"\balpha=\w+\((\w+=[^()]*)\)")
#: Names that are no English words, so that they stand for the parameter also on their own.
_BARE: Final = re.compile(r"(?<![-\w])[a-z]+(?:_[a-z]+)+\b")

#: Options of the command that runs, by the parameter of the library that each is handed to.
_options: ContextVar[Mapping[str, str]] = ContextVar("options", default={})  # noqa: B039
#: The command that runs with its arguments, and its options that may be given several times.
_arguments: ContextVar[tuple[list[str], frozenset[str]]] = ContextVar("arguments")
_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)
#: Commands that messages of this run have written, with their arguments.
_advised: dict[str, list[str]] = {}


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
    without = ("--drop", "--columns") if "--transpose" in changes else ()
    return again(*changes, without=without)


def options_here() -> frozenset[str]:
    """Return the options that the running command has."""
    return frozenset(_options.get().values())


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
    return in_options(str(message), getattr(message, "parameter", None))


def in_options(message: str, parameter: str | None = None) -> str:
    """Name the options of the running command where a message names parameters of the library.

    A command's parameters have the names of the library's, so its own declarations tell which
    option stands for which. ``parameter`` is the one that the message is about: it is renamed
    also where it stands on its own and might be an English word.
    """
    options = _options.get()

    def assigned(match: re.Match[str]) -> str:
        return f"{options[match[1]]} {match[2]}" if match[1] in options else match[0]

    text = _BARE.sub(
        lambda match: options.get(match[0], match[0]),
        _ASSIGNMENT.sub(assigned, _RULE.sub(r"\1", message)),
    )
    if parameter is not None and parameter in options:
        text = re.sub(rf"(?<![-\w'\"]){parameter}(?![\w'\"])", options[parameter], text)
    return text


def printable(text: str) -> str:
    """Replace what a terminal could obey instead of showing it, such as escape sequences."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )
