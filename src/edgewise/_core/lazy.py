"""Imports of public names on first use."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from collections.abc import Callable
from typing import Any


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for the names in the stub of a package.

    The stub ``__init__.pyi`` is the one list of public names: type checkers read it, and here
    its imports say where each name lives. It is read as package data, also from inside a zip.

    Parameters
    ----------
    package : str
        Name of the package, whose ``__init__.pyi`` holds ``from .module import name as name``,
        or ``from . import module as module`` for packages below it.
    """
    stub = pkgutil.get_data(package, "__init__.pyi")
    homes = {
        alias.name: node.module
        for node in ast.parse(stub or b"").body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = importlib.import_module(f"{package}.{homes[name] or name}")
        value = getattr(home, name) if homes[name] else home
        # A function and the module it lives in may have one name; the function is meant.
        setattr(sys.modules[package], name, value)
        return value

    listed = sorted((name for name, home in homes.items() if home), key=_constants_first)
    return load, lambda: sorted(homes), listed


def _constants_first(name: str) -> tuple[bool, str]:
    return not name.isupper(), name
