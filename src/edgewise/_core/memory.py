"""Estimates of the memory of a task, compared with what is available, before it begins."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Final

from edgewise._core.errors import NotEnoughMemoryError

PROC: Final = Path("/proc")
CGROUPS: Final = Path("/sys/fs/cgroup")
#: What to do where a table is too large.
MEMORY_ADVICE: Final = (
    "Keep fewer columns, such as those that vary most. A Gaussian network of them all is learned "
    "by edgewise.solvers.screened_graphical_lasso, which holds no covariance."
)
#: Less than this is not worth looking for, in bytes.
SURELY_THERE: Final = 2**28
#: Files that limit a group of processes: the limit, what is used, and the name in ``memory.stat``
#: of what the system gives back when asked to. First version 2 of control groups, then 1.
LIMITS: Final = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


@dataclass(frozen=True)
class Arrays:
    """Arrays of one shape that are held at the same time.

    Attributes
    ----------
    count : float
        How many, as measured; not always a whole number.
    shape : tuple of int
    itemsize : int
        Bytes of an entry.
    """

    count: float
    shape: tuple[int, ...]
    itemsize: int = 8

    @property
    def size(self) -> float:
        """Bytes of one array."""
        return float(prod(self.shape)) * self.itemsize

    @property
    def total(self) -> float:
        """Bytes of all."""
        return self.count * self.size


def require_memory(task: str, held: Sequence[Arrays], *, advice: str, workers: int = 1) -> None:
    """Refuse a task that holds more than there is.

    Parameters
    ----------
    task : str
        What is about to be done, as the beginning of a sentence.
    held : sequence of Arrays
        What it holds at its peak, at least.
    advice : str
        What to do instead, as a sentence.
    workers : int
        Processes of this machine that do the same at once.

    Raises
    ------
    NotEnoughMemoryError
        With the figures and the advice.

    Examples
    --------
    >>> require_memory("A fit to 10 columns", [Arrays(9, (10, 10))], advice="Keep fewer.")
    """
    need = workers * sum(arrays.total for arrays in held)
    if need <= SURELY_THERE:
        return
    free = available_bytes()
    if free is None or need <= free:
        return
    largest = max(held, key=lambda arrays: arrays.total)
    shape = " x ".join(f"{side:,}" for side in largest.shape)
    times = f" in each of {workers} processes" if workers > 1 else ""
    raise NotEnoughMemoryError(
        "memory_estimate_too_large",
        task=task,
        count=largest.count,
        shape=shape,
        each=_in_words(largest.size),
        times=times,
        needed=_in_words(need),
        free=_in_words(free),
        advice=advice,
    )


def local_workers(n_jobs: int | None) -> int:
    """Count the processes here that ``n_jobs`` stands for; work sent to a cluster is not here."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return 1 if "Dask" in type(backend).__name__ else int(effective_n_jobs(n_jobs))


def available_bytes(*, proc: Path = PROC, cgroups: Path = CGROUPS) -> int | None:
    """Memory that this process can still take, in bytes; None if unknown.

    The smaller of what the system has and of what is left to the group of processes that a
    container or a queue has put this one into. What the system keeps of files it has read counts
    as free, as it is given back when asked for.
    """
    sizes = (_system_bytes(proc), *_group_bytes(proc, cgroups))
    known = [size for size in sizes if size is not None]
    return min(known, default=None)


def _system_bytes(proc: Path) -> int | None:
    try:
        for line in (proc / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _group_bytes(proc: Path, cgroups: Path) -> list[int]:
    """Bytes left to each control group around this process, from the innermost outwards."""
    try:
        memberships = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return []
    left = []
    for membership in memberships:
        _, controllers, path = membership.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = cgroups / controllers
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder == root.parent:
                break
            left += [size for files in LIMITS if (size := _left_in(folder, *files)) is not None]
    return left


def _left_in(folder: Path, limit_file: str, usage_file: str, reclaimable: str) -> int | None:
    try:
        limit = int((folder / limit_file).read_text())
        usage = int((folder / usage_file).read_text())
        lines = (folder / "memory.stat").read_text().splitlines()
    # No such file, or the word "max" in it.
    except (OSError, ValueError):
        return None
    kept = dict(line.split() for line in lines).get(reclaimable, "0")
    return max(limit - usage + int(kept), 0)


def _in_words(size: float) -> str:
    """Bytes in the unit that suits them.

    Examples
    --------
    >>> _in_words(1.152e14), _in_words(3e8)
    ('115 TB', '300 MB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= scale or unit == "MB":
            break
    number = size / scale
    return f"{number:,.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"
