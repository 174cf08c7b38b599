"""What files there are in the working tree, so that a test that leaves one is found out."""

import os
from fnmatch import fnmatch
from pathlib import Path

#: Folders and files that Python and its tools keep, and the environments of `make`.
KEPT = (
    "__pycache__", ".git", ".venv*", ".*_cache", ".hypothesis", "*.egg-info", ".coverage*",
)  # fmt: skip


def files_below(root):
    """List the files below a folder, apart from those that tools keep."""
    found = set()
    for folder, inner, files in os.walk(root):
        inner[:] = [name for name in inner if not _is_kept(name)]
        found |= {Path(folder, name) for name in files if not _is_kept(name)}
    return found


def _is_kept(name):
    return any(fnmatch(name, pattern) for pattern in KEPT)
