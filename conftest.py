"""Set-up for the whole test run."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import settings

SOURCE = Path(__file__).parent / "src" / "edgewise"

# The same examples in every run, so that a green suite stays green; HYPOTHESIS_PROFILE=search
# looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def drop_stale_kernels() -> None:
    """Delete compiled kernels older than the newest source file with kernels.

    numba looks only at the file a kernel stands in, not at the kernels it calls from other files.
    """
    newest = max(
        path.stat().st_mtime
        for path in SOURCE.rglob("*.py")
        if "edgewise._core.jit" in path.read_text(encoding="utf-8")
    )
    for compiled in SOURCE.rglob("__pycache__/*.nb?"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink(missing_ok=True)


def pytest_configure(config) -> None:
    """Run once before collection, in every process."""
    # Only the process that starts the run: its workers would delete what the others compile.
    if not hasattr(config, "workerinput"):
        drop_stale_kernels()
    # Collecting a solver's file for doctests before its package would hide the function of the
    # same name behind the module.
    import edgewise.solvers  # noqa: F401
