"""Parameters that have to be numbers."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np


def is_number(value: Any, *, least: float) -> bool:
    """Whether a parameter is a finite number of at least ``least``."""
    is_any = isinstance(value, Real) and not isinstance(value, bool)
    return bool(is_any and least <= value < np.inf)
