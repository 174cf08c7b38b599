"""Check the house: what a reader of an estimator pays.

``python tools/house.py`` prints the counts and ends with 1 where one is above its limit. Lines of
code are counted too; what a method needs is for its reviewers to say.
"""

from __future__ import annotations

import ast
import inspect
import io
import sys
import tokenize
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "edgewise"
#: Parameters that say how, and nothing about what is learned.
NUMERICS = {"tol", "max_iter", "n_jobs", "device", "verbose", "random_state"}
LIMITS = {
    "classes of ours in an MRO": 3,
    "positional parameters": 2,
    "parameters that are not numerics": 12,
}


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


def measure() -> dict[str, tuple[int, str]]:
    """Return the largest of each count, and where it is."""
    paths = sorted(SOURCE.rglob("*.py"))
    folders: dict[str, int] = {}
    for path in paths:
        if path.name != "__init__.py":
            folder = str(path.parent.relative_to(SOURCE.parent))
            folders[folder] = folders.get(folder, 0) + 1
    fullest = max(folders, key=folders.__getitem__)
    code = sum(count_code(path.read_text(encoding="utf-8")) for path in paths)
    return {
        "modules": (len(paths), "src/edgewise"),
        "modules in a folder": (folders[fullest], fullest),
        "lines of code": (code, "src/edgewise"),
        **measure_estimators(),
    }


def measure_estimators() -> dict[str, tuple[int, str]]:
    """Return the largest counts over the public estimators."""
    from sklearn.base import BaseEstimator

    import edgewise

    classes = [
        value
        for name in edgewise.__all__
        if inspect.isclass(value := getattr(edgewise, name)) and issubclass(value, BaseEstimator)
    ]
    counts: dict[str, dict[str, int]] = {name: {} for name in LIMITS}
    for cls in classes:
        parameters = list(inspect.signature(cls).parameters.values())
        meaning = [p for p in parameters if p.name not in NUMERICS]
        positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        ours = [base for base in cls.__mro__ if base.__module__.startswith("edgewise")]
        for name, count in zip(counts, (len(ours), len(positional), len(meaning)), strict=True):
            counts[name][cls.__name__] = count
    return {name: max((n, where) for where, n in found.items()) for name, found in counts.items()}


def main() -> int:
    """Print what was counted, and say what is above its limit."""
    found = measure()
    for name, (count, where) in found.items():
        limit = f" of at most {LIMITS[name]}" if name in LIMITS else ""
        mark = "  TOO MANY" if count > LIMITS.get(name, count) else ""
        sys.stdout.write(f"{name}: {count}{limit} ({where}){mark}\n")
    return int(any(count > LIMITS.get(name, count) for name, (count, _) in found.items()))


if __name__ == "__main__":
    sys.exit(main())
