"""Pytest plugin for `make coverage`: cuts tests short whose kernels run uncompiled, and so slowly.

Of each test function the first cases are run, each for some seconds of processor time. A test that
is cut short is skipped, and what it reached counts: that it passes is for the compiled run to say.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis.errors import Flaky

CASES = 2
SECONDS = 2.0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first cases of each test function."""
    seen: Counter[str] = Counter()
    kept, left = [], []
    for item in items:
        # Digests of rows wrap around, of which only the interpreter warns.
        item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered in scalar"))
        name = item.nodeid.partition("[")[0]
        seen[name] += 1
        (kept if seen[name] <= CASES else left).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skip the rest of a test that takes long."""
    is_stopped = False

    def stop(*_: Any) -> None:
        nonlocal is_stopped
        is_stopped = True
        pytest.skip(f"more than {SECONDS} s")

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return (yield)
    except Flaky:
        # Hypothesis runs an example that was stopped once more, which then ends elsewhere.
        if is_stopped:
            pytest.skip(f"more than {SECONDS} s")
        raise
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
