"""Write the lists of docs/api.md anew from the code: python docs/make_api.py."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")
SECTION = re.compile(r"^## .*?(?=^## |\Z)", flags=re.MULTILINE | re.DOTALL)
LIST = re.compile(r"^- .*\Z", flags=re.MULTILINE | re.DOTALL)


def signature(name: str, value: Any) -> str:
    """How the page writes a public name: a call without annotations, or the fields of a result."""
    if not callable(value) or (isinstance(value, type) and issubclass(value, Exception)):
        return name
    if dataclasses.is_dataclass(value) and value.__dataclass_params__.init:
        return f"{name}: {', '.join(field.name for field in dataclasses.fields(value))}"
    plain = inspect.signature(value)
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in plain.parameters.values()
        if parameter.name != "self"
    ]
    return name + str(plain.replace(parameters=parameters, return_annotation=plain.empty))


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of a class that are our own."""
    for name, member in inspect.getmembers(value) if isinstance(value, type) else ():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f".{name}", member
        elif callable(member) and getattr(member, "__module__", "").startswith("edgewise"):
            yield signature(f".{name}", member), member


def line(text: str, value: Any) -> str:
    """One line of the page: the name and the first sentence of its docstring, as Markdown."""
    if isinstance(value, tuple):
        return f"- `{text}`: {', '.join(value)}."
    summary = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    summary = re.sub(r":math:`(.*?)`", r"$\1$", summary).replace("``", "`")
    return f"- `{text}`: {summary}"


def lines_of(module_name: str, skip: set[str]) -> list[str]:
    """Lines of all public names of a module, with their members indented."""
    module = importlib.import_module(module_name)
    lines = []
    for name in module.__all__:
        if name not in skip:
            value = getattr(module, name)
            lines.append(line(signature(name, value), value))
            lines += ["  " + line(text, member) for text, member in members(value)]
    return lines


def renew(section: str, top_level: set[str]) -> str:
    """Replace the list at the end of a section that names its module."""
    if section.startswith("## The top level"):
        lines = lines_of("edgewise", {"__version__"})
    else:
        module = re.search(r"^Module `([\w.]+)`", section, flags=re.MULTILINE)
        if module is None:
            return section
        lines = lines_of(module[1], top_level)
    return LIST.sub(lambda _: "\n".join(lines) + "\n\n", section)


def main() -> None:
    """Rewrite the page in place."""
    top_level = set(importlib.import_module("edgewise").__all__)
    page = SECTION.sub(lambda found: renew(found[0], top_level), PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
