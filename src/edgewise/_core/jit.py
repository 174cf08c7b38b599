"""The one numba decorator."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

#: Set to 0 to compile afresh in each process and write nothing to disk.
CACHE_SWITCH = "EDGEWISE_NUMBA_CACHE"


def kernel(function: Function) -> Function:
    """Compile ``function`` without the interpreter lock, kept on disk where that is possible.

    numba first tries ``__pycache__`` beside the source and then a folder of the user's. Where
    neither can be written (a read-only container) it raises on decoration; the kernel is then
    compiled once per process instead of failing the import.
    """
    if os.environ.get(CACHE_SWITCH, "1") != "0":
        try:
            return cast("Function", numba.njit(cache=True, nogil=True)(function))
        except RuntimeError:
            pass
    return cast("Function", numba.njit(nogil=True)(function))
