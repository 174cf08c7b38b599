"""Set-up for the whole test run."""

from __future__ import annotations

from pathlib import Path

SOURCE = Path(__file__).parent / "src" / "edgewise"


def drop_stale_kernels() -> None:
    """Delete compiled kernels older than the newest source file.

    numba looks only at the file a kernel stands in, not at the kernels it calls from other files.
    """
    newest = max(path.stat().st_mtime for path in SOURCE.rglob("*.py"))
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
