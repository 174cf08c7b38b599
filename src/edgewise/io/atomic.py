"""Writing a file so that a reader sees the old one or the new one, never half of either."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgewise._core.errors import InputError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; rename it to ``path`` once the block has ended well.

    Whoever writes the file creates it, so it gets the usual permissions, and the temporary name
    keeps the suffix, for writers that choose the format by it. When the block raises, the
    temporary file is removed and ``path`` is left as it was. A symbolic link is written through.

    Parameters
    ----------
    path : str or path
        The file to write. Its folder must exist.

    Yields
    ------
    pathlib.Path
        Name of a file, not yet there, in the same folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "edges.csv"
    ...     with atomic_path(target) as temporary:
    ...         _ = temporary.write_text("source,target")
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['edges.csv']
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"Cannot write {path}: it is a folder. Give the name of a file.")
    if not target.parent.is_dir():
        raise InputError(
            f"Cannot write {path}: the folder {target.parent} does not exist. Create it first."
        )
    temporary = target.with_name(f".{target.stem}-{secrets.token_hex(8)}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)  # noqa: PTH105, atomic by contract on every platform
    finally:
        temporary.unlink(missing_ok=True)
