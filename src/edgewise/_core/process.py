"""All that changes the whole process or the inside of another package, with what it gains.

Nothing else in the package does so. CPU times are those of ``edgewise learn`` on 150 rows, with and
without.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

#: New objects between two collections of garbage: imports make many that stay, and each collection
#: looks at all of them.
BETWEEN_COLLECTIONS = 500_000


def collect_rarely() -> None:
    """Collect garbage more rarely than Python does by itself: 1.8 s in place of 2.3 s."""
    gc.set_threshold(BETWEEN_COLLECTIONS)


def leave_objects() -> None:
    """Keep Python from looking at every object on its way out: 1.8 s in place of 2.5 s."""
    gc.freeze()


def postpone(*names: str) -> None:
    """Run modules when one of their attributes is first used: 1.8 s in place of 2.4 s.

    For modules that a dependency imports at the top of a file and hardly ever uses.
    `importlib.util.LazyLoader` does not serve: before Python 3.12, ``import`` itself looks at an
    attribute, which makes it load.
    """
    for name in names:
        spec = importlib.util.find_spec(name)
        if name not in sys.modules and spec is not None:
            module = importlib.util.module_from_spec(spec)
            module.__class__ = _Postponed
            sys.modules[name] = module
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)


class _Postponed(ModuleType):
    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment]
        if self.__spec__ is not None and self.__spec__.loader is not None:
            self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def draw_without_docstrings() -> None:
    """Keep matplotlib from writing a docstring for each of its classes: 1.8 s in place of 1.9 s."""
    from matplotlib import artist

    artist.kwdoc = lambda artist: ""


def open_streams() -> None:
    """Replace streams that were closed, as by ``2>&-``: Python has none then, and writing fails."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


def send_signals_to(descriptor: int) -> None:
    """Write a byte for each signal: Python's own handlers wait until a kernel returns."""
    signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)


def pass_over_interrupts() -> None:
    """Say nothing of an interrupt that a callback of a compiler could not pass on."""

    def told(what: sys.UnraisableHookArgs) -> None:
        if not isinstance(what.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(what)

    sys.unraisablehook = told


def end_now(code: int) -> NoReturn:
    """End the process from any thread: its own end takes longer than a user who stops it waits."""
    os._exit(code)


@contextmanager
def kernels_kept_in(folder: Path) -> Iterator[None]:
    """Let numba keep the kernels that are decorated here in a folder of ours.

    It reads its setting while it decorates; kernels of other packages keep their own place.
    """
    import numba

    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def compiled_for_any_value(compiled: Any) -> Any:
    """Let kernels that pass a constant share what is compiled for variables of its type.

    numba compiles a kernel, and all that it calls, once more for each constant that another kernel
    passes to it, and keeps both: a first run takes twice as long then.
    """
    import numba

    if (resolve := getattr(compiled, "get_call_template", None)) is None:
        return compiled  # run uncompiled

    def plain(kind: Any) -> Any:
        return kind.literal_type if isinstance(kind, numba.types.Literal) else kind

    def resolve_plain(args: Iterable[Any], kws: Mapping[str, Any]) -> Any:
        return resolve([plain(one) for one in args], {name: plain(kws[name]) for name in kws})

    compiled.get_call_template = resolve_plain
    return compiled


def restore_row_stack() -> None:
    """Give numpy a name back that numba-cuda asks for; without it there are no kernels on a GPU."""
    import numpy as np

    if not hasattr(np, "row_stack"):
        vars(np)["row_stack"] = np.vstack
