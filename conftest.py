"""Set-up for the whole test run."""

from __future__ import annotations

import os

from hypothesis import settings

# The same examples in every run, so that a green suite stays green; HYPOTHESIS_PROFILE=search
# looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_configure(config) -> None:
    """Run once before collection, in every process."""
    # Collecting a solver's file for doctests before its package would hide the function of the
    # same name behind the module.
    import edgewise.solvers  # noqa: F401
