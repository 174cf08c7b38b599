"""How many threads the linear algebra library may use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

#: Below this many variables a second BLAS thread costs more in waiting than it saves.
ONE_THREAD_BELOW = 1000


@cache
def _controller() -> ThreadpoolController:
    """Find the loaded libraries once; looking for them takes milliseconds."""
    return ThreadpoolController()


def blas_threads_for(n_features: int) -> AbstractContextManager[Any]:
    """Hold BLAS to one thread while a small problem is solved."""
    if n_features >= ONE_THREAD_BELOW:
        return nullcontext()
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited
