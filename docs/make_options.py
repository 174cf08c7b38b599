"""The options of commands that the site adds to docs/command-line.md, from their help texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

#: Options of this panel are the same in all commands, and listed once.
SHARED = "The table"


def commands() -> dict[str, Any]:
    """Every command by its name."""
    from typer.main import get_command

    from edgewise.cli.app import app

    group: Any = get_command(app)
    return dict(group.commands)


def choices(parameter: Any) -> tuple[str, ...]:
    """Words that an option may be, where its values are listed."""
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def entry(parameter: Any) -> str:
    """Return a list item: names of an option, what it takes, its default, its help text."""
    *others, last = (*parameter.opts, *parameter.secondary_opts)
    takes = parameter.metavar or "|".join(choices(parameter))
    names = ", ".join(f"`{name}`" for name in (*others, f"{last} {takes}".strip()))
    default = parameter.show_default
    if default is True:
        default = parameter.default
    known = not callable(default) and default not in (None, False, ())
    shown = f" ({default})" if known else ""
    return f"- {names}{shown}: {parameter.help}"


def options(command: Any, *, shared: bool) -> Iterator[str]:
    """Write the options of a command, or those that all commands with a table share."""
    for parameter in command.params:
        if parameter.param_type_name == "option" and shared == (
            parameter.rich_help_panel == SHARED
        ):
            yield entry(parameter)


def add_options(page: str) -> str:
    """Add the options of every command to the end of its section."""
    found = commands()
    lists = {
        SHARED: "\n".join(
            dict.fromkeys(line for each in found.values() for line in options(each, shared=True))
        )
    } | {name: "\n".join(options(each, shared=False)) for name, each in found.items()}
    parts = re.split(r"^## (.*)\n", page, flags=re.MULTILINE)
    for place in range(1, len(parts), 2):
        if listed := lists.get(parts[place]):
            parts[place + 1] += f"### Options of {parts[place].lower()}\n\n{listed}\n\n"
        parts[place] = f"## {parts[place]}\n"
    return "".join(parts)
