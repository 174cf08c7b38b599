"""Sentences of each code with values of an example, one file per audience.

``python -m tests.words.examples --record`` writes the files anew; review their diff.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from edgewise._core.messages import PYTHON, Note, in_words
from edgewise.cli.shell import command_line

HERE = Path(__file__).parent
#: Parameter and values of one message of each code, as tests have met it.
EXAMPLES: dict[str, Any] = json.loads((HERE / "examples.json").read_text(encoding="utf-8"))
SHELL = command_line(lambda name: f"--{name.replace('_', '-')}")
AUDIENCES = {one.name: one for one in (PYTHON, SHELL)}


def snapshot(audience: str) -> str:
    """Return the sentence of every example, in the order of the codes."""
    lines = [
        f"{code}: {in_words(example(code, found), AUDIENCES[audience])}\n"
        for code, found in sorted(EXAMPLES.items())
    ]
    return "".join(lines)


def example(code: str, found: dict[str, Any]) -> Note:
    """Build the message of an example."""
    values = {name: _value(value) for name, value in found["values"].items()}
    return Note(code, found.get("parameter"), **values)


def _value(value: Any) -> Any:
    if isinstance(value, dict) and "code" in value:
        return example(value["code"], value)
    return [_value(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__" and "--record" in sys.argv[1:]:
    for name in AUDIENCES:
        (HERE / f"{name}.txt").write_text(snapshot(name), encoding="utf-8")
