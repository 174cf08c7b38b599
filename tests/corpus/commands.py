"""Every command that reads a table, with options under which a run is short."""

import re
from pathlib import Path
from typing import Any

from edgewise.io import RawTable
from tests.corpus.verdict import MOST_LINES, about_sentence

COMMANDS = {
    "learn": ["--alpha", "0.1", "--resamples=0", "--drop", "group"],
    "compare": ["--by", "group", "--alpha", "0.3", "--permutations", "20"],
    "regress": ["--on", "age", "--drop", "group"],
    "direct": ["--resamples=0", "--drop", "group"],
    "classify": ["--by", "group", "--folds", "2", "--repeats", "1", "--edges", "4"],
}
#: Words that only numerical libraries use in their warnings.
FROM_INSIDE = ("encountered in", "Traceback", "numpy.", "scipy", "pandas.", "sklearn", "dtype")


def about_refusal(result: Any, says: tuple[str, ...], out: Path) -> str | None:
    """What is wrong with the way a command refuses a file."""
    if result.exit_code != 2:
        return f"exit code {result.exit_code}: {result.exception!r}"
    if result.stdout or out.exists():
        return "something was written"
    lines = result.stderr.splitlines()
    if not 1 <= len(lines) <= MOST_LINES or not lines[-1].startswith("Error: "):
        return f"is no error message: {result.stderr}"
    text = lines[-1].removeprefix("Error: ").replace("numpy.savez", "savez")
    if any(word in text for word in FROM_INSIDE):
        return f"comes from the inside: {result.stderr}"
    if lacking := [word for word in says if word not in text]:
        return f"does not say {lacking}: {text}"
    # The file may stand before the sentence, a question after it.
    return about_sentence(re.sub(r"^\S+: ", "", text).replace("?", "."))


def contents(table: RawTable) -> dict[str, list[Any]]:
    """Columns of a table by their name."""
    columns = zip(table.names, table.columns, strict=True)
    return {name: column.tolist() for name, column in columns}
