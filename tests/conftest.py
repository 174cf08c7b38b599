"""What tests of several stages share."""

import pytest

from edgewise._core import memory


@pytest.fixture
def small_machine(monkeypatch):
    """A machine that has a megabyte of memory left."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**6)
