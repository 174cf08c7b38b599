"""Hold what a reader and a user pay: a change may raise a figure only by saying so.

``python tools/house.py`` counts, compares with ``tools/house.json`` and ends with 1 where a figure
is above the one recorded there. ``--record`` writes the figures of now; commit the file with the
change that moved them, so that its diff says what the change costs.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "edgewise"
RECORD = Path(__file__).with_name("house.json")
#: How a problem is solved, not what it is: these parameters are the same everywhere.
NUMERICS = {"tol", "max_iter", "n_jobs", "device", "verbose", "random_state"}
#: The module of all that changes what other code of the process does, and how such lines look.
PROCESS = "_core/process.py"
TRICKS = re.compile(
    r"gc\.(set_threshold|freeze)|set_wakeup_fd|unraisablehook =|__class__ =|kwdoc|_template ="
    r"|vars\(\w+\)\[|sys\.modules\[\w+\] =|(?:settings|SETTINGS|config)\.[A-Z_]+ ="
    r"|setattr\((?:sys,|np|numba)|os\._exit",
)


def count_code(source: str) -> int:
    """Count the lines that hold code: no blank lines, comments or docstrings."""
    idle = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in idle and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            lines.difference_update(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines)


def sources() -> dict[str, str]:
    """Return the text of each module of the package."""
    return {
        str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8")
        for path in sorted(SOURCE.rglob("*.py"))
    }


def packages() -> Iterator[Any]:
    """Import the package and those below it that list public names."""
    yield importlib.import_module("edgewise")
    for path in sorted(SOURCE.rglob("__init__.py")):
        place = ".".join(("edgewise", *path.parent.relative_to(SOURCE).parts))
        if place != "edgewise" and "_core" not in place and ".cli" not in place:
            yield importlib.import_module(place)
    yield importlib.import_module("edgewise.metrics")


def public_names() -> set[str]:
    """Names in all ``__all__`` together."""
    return {name for package in packages() for name in getattr(package, "__all__", ())}


def constructor_parameters() -> dict[str, int]:
    """Parameters of each public estimator, numerics left out."""
    from sklearn.base import BaseEstimator

    import edgewise

    return {
        name: sum(p not in NUMERICS for p in inspect.signature(value).parameters)
        for name in edgewise.__all__
        if inspect.isclass(value := getattr(edgewise, name)) and issubclass(value, BaseEstimator)
    }


def options_of_commands() -> dict[str, int]:
    """Options of each command."""
    import typer

    from edgewise.cli.app import app

    group: Any = typer.main.get_command(app)
    return {
        name: sum(parameter.param_type_name == "option" for parameter in command.params)
        for name, command in group.commands.items()
    }


def count() -> dict[str, int]:
    """Return the figures that are held, by name."""
    from tools.trace_fit import walks

    texts = sources()
    figures = {
        "public names": len(public_names()),
        "raise": sum(
            isinstance(node, ast.Raise)
            for text in texts.values()
            for node in ast.walk(ast.parse(text))
        ),
        "process-wide tricks": len(TRICKS.findall(texts[PROCESS])),
        "process-wide tricks elsewhere": sum(
            len(TRICKS.findall(text)) for name, text in texts.items() if name != PROCESS
        ),
        **{f"parameters of {name}": n for name, n in constructor_parameters().items()},
        **{f"options of {name}": n for name, n in options_of_commands().items()},
    }
    for name, (calls, switches) in walks().items():
        figures[f"calls before the solver of {name}"] = calls
        figures[f"changes of file before the solver of {name}"] = switches
    return figures


def main() -> int:
    """Print the figures, and say which are above what is recorded."""
    figures = count()
    if "--record" in sys.argv[1:]:
        RECORD.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    for name, figure in figures.items():
        mark = f"  ABOVE {recorded.get(name, 0)}" if figure > recorded.get(name, 0) else ""
        sys.stdout.write(f"{figure:6d}  {name}{mark}\n")
    texts = sources()
    sys.stdout.write(f"{len(texts):6d}  modules\n")
    sys.stdout.write(f"{sum(map(count_code, texts.values())):6d}  lines of code\n")
    above = [name for name, figure in figures.items() if figure > recorded.get(name, 0)]
    if above:
        sys.stdout.write(
            "Figures rose. Lower them, or run `python tools/house.py --record` and say in the "
            "commit what is bought.\n"
        )
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
