"""``edgewise info``: versions and caches, or a description of the columns of a table."""

from __future__ import annotations

import os
import platform
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from edgewise.cli.describe import describe_table, in_words
from edgewise.cli.options import Json
from edgewise.cli.prepare import Read, read_settings
from edgewise.cli.shell import say, say_json


def info(
    table: Annotated[
        Path | None,
        typer.Argument(
            help="Table whose columns to describe: kind, missing values, range.",
            metavar="[TABLE]",
            show_default=False,
        ),
    ] = None,
    read: Read = None,
    json: Json = False,
) -> None:
    """Show versions, caches and bundled data; or describe the columns of a table."""
    if table is not None:
        described = describe_table(table, **read_settings(read))
        if json:
            say_json(described)
        else:
            say(in_words(described))
        return
    found = _gather()
    if json:
        say_json(found)
        return
    lines = [f"{name:<14}{version}" for name, version in found["versions"].items()]
    lines += [
        "",
        f"{'platform':<14}{found['platform']}",
        f"{'cores':<14}{found['cpu_count']}",
        f"{'BLAS':<14}{'; '.join(found['blas']) or 'not known'}",
        f"{'kernel cache':<14}{_cache_in_words(found['numba_cache'])}",
        "",
        "Data that come with the package (edgewise.data.load_network, load_table):",
    ]
    lines += _by_licence(found["datasets"])
    say("\n".join(lines))


def _by_licence(datasets: list[dict[str, str]]) -> list[str]:
    """List the data sets, and below those that share a licence how it begins."""
    shared: dict[str, list[str]] = {}
    for dataset in datasets:
        line = f"  {dataset['name']:<15}{dataset['description']}"
        shared.setdefault(dataset["licence"], []).append(line)
    lines = []
    for licence, names in shared.items():
        beginning = " ".join(licence.strip("# \n").split("\n\n")[0].split())
        margin = " " * 17
        lines += names + textwrap.wrap(
            f"Licence: {beginning}", width=96, initial_indent=margin, subsequent_indent=margin
        )
    return lines


def _cache_in_words(cache: dict[str, Any]) -> str:
    if cache["works"]:
        return str(cache["location"])
    reason = "switched off" if cache["switched_off"] else "no folder can be written"
    return f"{reason}; kernels are compiled afresh in each process"


def _gather() -> dict[str, Any]:
    from edgewise.cli.run import versions

    return {
        "versions": versions(),
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        "blas": _blas(),
        "numba_cache": _numba_cache(),
        "datasets": _datasets(),
    }


def _blas() -> list[str]:
    """Linear algebra libraries that numpy and scipy bring, with their threads."""
    import numpy as np  # noqa: F401, loads its library
    from scipy import linalg  # noqa: F401, loads its library
    from threadpoolctl import threadpool_info

    return sorted(
        {
            f"{library['internal_api']} {library['version']}, {library['num_threads']} threads"
            for library in threadpool_info()
            if library["user_api"] == "blas"
        }
    )


def _numba_cache() -> dict[str, Any]:
    """Where compiled kernels are kept."""
    from edgewise._core.jit import CACHE_SWITCH, kernel_folder

    switched_off = os.environ.get(CACHE_SWITCH, "1") == "0"
    folder = None if switched_off else kernel_folder()
    return {
        "works": folder is not None,
        "location": None if folder is None else str(folder),
        "switched_off": switched_off,
    }


def _datasets() -> list[dict[str, str]]:
    from edgewise.data import list_datasets

    return [
        {"name": name, "description": description, "licence": _licence(name)}
        for name, description in list_datasets().items()
    ]


def _licence(name: str) -> str:
    from edgewise._core.errors import InputError
    from edgewise.data import load_network, load_table

    try:
        return load_network(name).licence
    except InputError:
        return load_table(name).licence
