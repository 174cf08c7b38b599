"""Versions of packages, as constraints for pip.

``python tools/pins.py minimum`` writes the lowest version that ``pyproject.toml`` allows of each
package edgewise runs on. ``python tools/pins.py lock`` reads pip's report of an installation from
standard input and writes the version of every package in it.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"(?P<name>[\w.-]+)(\[[^]]*\])?\s*>=\s*(?P<version>[\w.]+)")


def minimum(project: dict[str, Any]) -> list[str]:
    """Pin every dependency, also those of extras, to its lower bound."""
    extras = project.get("optional-dependencies", {}).values()
    pins = set()
    for requirement in [*project["dependencies"], *(line for extra in extras for line in extra)]:
        bound = BOUND.match(requirement)
        if bound is None:
            raise SystemExit(f"{PROJECT.name}: {requirement!r} has no lower bound; write name>=x.y")
        pins.add(f"{bound['name']}=={bound['version']}")
    return sorted(pins)


def lock(report: dict[str, Any], own_name: str) -> list[str]:
    """Pin every package of an installation report, edgewise itself aside."""
    packages = [package["metadata"] for package in report["install"]]
    return sorted(
        f"{package['name'].lower()}=={package['version']}"
        for package in packages
        if package["name"] != own_name
    )


def main() -> None:
    """Write the constraints that the one argument asks for."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    if sys.argv[1:] == ["minimum"]:
        lines = minimum(project)
    elif sys.argv[1:] == ["lock"]:
        about = (
            f"# What `make test` installs. Made by `make lock`, Python {platform.python_version()}."
        )
        lines = [about, *lock(json.load(sys.stdin), project["name"])]
    else:
        raise SystemExit(__doc__)
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
