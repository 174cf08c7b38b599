"""The lists of public names that the site adds to docs/api.md, from signatures and docstrings."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

#: Pages of single names, written from the docstrings; not kept.
REFERENCE = "reference"


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


def summary(value: Any) -> str:
    """Return the first sentence of a docstring, as Markdown."""
    if isinstance(value, tuple):
        return f"{', '.join(value)}."
    text = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return re.sub(r":math:`(.*?)`", r"$\1$", text).replace("``", "`")


def listed_names() -> dict[str, list[str]]:
    """Public names by the module under which they are listed, each once."""
    package = importlib.import_module("edgewise")
    found = {"edgewise": [name for name in package.__all__ if name != "__version__"]}
    for stage in (name for name in dir(package) if name not in package.__all__):
        module = importlib.import_module(f"edgewise.{stage}")
        names = [name for name in module.__all__ if name not in package.__all__]
        if names:
            found[module.__name__] = names
    return found


def lists() -> str:
    """Every public name with its signature and first sentence, a section for each module."""
    sections, pages = [], []
    for module_name, names in listed_names().items():
        module = importlib.import_module(module_name)
        lines = [f"\n## `{module_name}`\n"]
        for name in names:
            value = getattr(module, name)
            text = f"`{signature(name, value)}`"
            if callable(value):
                page = f"{REFERENCE}/{module_name}.{name}"
                pages.append(f"{name} <{page}>")
                text = f"[{text}]({page}.rst)"
            lines.append(f"- {text}: {summary(value)}")
            lines += [f"  - `{text}`: {summary(member)}" for text, member in members(value)]
        sections.append("\n".join(lines))
    return "\n".join(sections) + "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"
