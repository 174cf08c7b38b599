"""Scratch memory that solvers use again and again.

Fresh memory is slow: the operating system hands it over a page at a time and clears each page,
which takes as long as a whole sweep over a sparse problem. Each thread keeps a few buffers instead.
"""

from __future__ import annotations

import threading
from math import prod

import numpy as np

from edgewise._core.typing import FloatArray

#: A larger buffer is given back when its user is done with it, in bytes.
KEPT_BYTES = 16 * 2**20


class _Buffers(threading.local):
    """The buffers of one thread, by name."""

    def __init__(self) -> None:
        self.kept: dict[str, FloatArray] = {}


_BUFFERS = _Buffers()


def scratch(name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return an array with arbitrary contents, valid until the same name is asked for again.

    Parameters
    ----------
    name : str
        One user per name and thread at a time.
    shape : tuple of int
        Shape of the array.

    Examples
    --------
    >>> first = scratch("example", (2, 3))
    >>> again = scratch("example", (3, 1))
    >>> np.shares_memory(first, again)
    True
    """
    size = prod(shape)
    buffer = _BUFFERS.kept.get(name)
    if buffer is None or buffer.size < size:
        buffer = np.empty(size)
        if buffer.nbytes <= KEPT_BYTES:
            _BUFFERS.kept[name] = buffer
    return buffer[:size].reshape(shape)
