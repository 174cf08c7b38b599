"""Cases of a test, some of them among the slow ones."""

from collections.abc import Iterable
from typing import Any

import pytest


def by_default(n: int, values: Iterable[Any]) -> list[Any]:
    """Run the first cases by default, and those that go the same way among the slow tests."""
    return [
        value if k < n else pytest.param(value, marks=pytest.mark.slow)
        for k, value in enumerate(values)
    ]
