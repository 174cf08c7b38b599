"""Which software a run used."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Final

from edgewise._version import __version__

#: Dependencies whose version can change a result or a picture.
DEPENDENCIES: Final = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "pandas",
    "joblib",
    "networkx",
    "igraph",
    "matplotlib",
)


def versions() -> dict[str, str]:
    """Versions of edgewise, of Python and of the main dependencies."""
    return {
        "edgewise": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in DEPENDENCIES},
    }
