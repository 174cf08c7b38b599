"""Imports on first use: public names of a package, and modules of others."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable
from types import ModuleType
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


def postpone(*names: str) -> None:
    """Run modules when one of their attributes is first used, not when they are imported.

    For modules that a dependency imports at the top of a file and hardly ever uses.
    `importlib.util.LazyLoader` does not serve: before Python 3.12, ``import`` itself looks at an
    attribute, which makes it load.
    """
    for name in names:
        spec = importlib.util.find_spec(name)
        if name not in sys.modules and spec is not None:
            module = importlib.util.module_from_spec(spec)
            module.__class__ = _Postponed
            sys.modules[name] = module
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)


class _Postponed(ModuleType):
    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment]
        if self.__spec__ is not None and self.__spec__.loader is not None:
            self.__spec__.loader.exec_module(self)
        return getattr(self, name)
