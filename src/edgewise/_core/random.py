"""Random numbers: any seed in, independent generators out, one per task."""

from __future__ import annotations

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import RandomState


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn a seed, a generator, a legacy ``RandomState`` or None into a generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is None or isinstance(random_state, (int, np.integer)):
        if random_state is not None and random_state < 0:
            raise InputError(f"random_state must be at least 0, got {random_state}.")
        return np.random.default_rng(random_state)
    raise InputError(
        "random_state must be an integer, a numpy Generator or RandomState, or None; "
        f"got {type(random_state).__name__}."
    )


def spawn(random_state: RandomState, n_children: int) -> list[np.random.Generator]:
    """Give each of ``n_children`` tasks its own stream, so that no result depends on ``n_jobs``."""
    return as_generator(random_state).spawn(n_children)
