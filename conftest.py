"""Set-up for the whole test run."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.working_tree import files_below

ROOT = Path(__file__).parent
BEFORE = pytest.StashKey[set[Path]]()
LEFT = pytest.StashKey[list[Path]]()

# The same examples in every run, so that a green suite stays green; HYPOTHESIS_PROFILE=search
# looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_configure(config) -> None:
    """Run once before collection, in every process."""
    # A shell starts what runs in the background deaf to Ctrl-C, and so all that tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Collecting a solver's file for doctests before its package would hide the function of the
    # same name behind the module.
    import edgewise.solvers  # noqa: F401


def pytest_collection_finish(session) -> None:
    """Leave what was collected out of garbage collections, a seventh of the run otherwise."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_sessionstart(session) -> None:
    """Remember what is in the working tree, in the process that starts the workers."""
    if not hasattr(session.config, "workerinput"):
        session.config.stash[BEFORE] = files_below(ROOT)


# First, since others may write their reports into the tree.
@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session) -> None:
    """Fail a run whose tests have left files behind: they write to ``tmp_path`` only."""
    if BEFORE in session.config.stash:
        left = sorted(files_below(ROOT) - session.config.stash[BEFORE])
        session.config.stash[LEFT] = left
        if left and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter) -> None:
    """Name the files."""
    for path in terminalreporter.config.stash.get(LEFT, []):
        terminalreporter.write_line(f"FAILED a test has left {path.relative_to(ROOT)}", red=True)
