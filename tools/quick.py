"""Name the test files of ``make quick``: those of changed sources, and those that bind the whole.

``python tools/quick.py`` prints them. Changed is what differs from the branch ``main``, or from the
last commit where there is none; ``tests`` mirrors ``src``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
#: Run whatever has changed: a minute of one core together.
ALWAYS = (
    *("tests/data", "tests/graph", "tests/selection", "tests/stats", "tests/words"),
    *(f"tests/contract/test_{name}.py" for name in ("house", "public_names", "release")),
    *(f"tests/contract/test_{name}.py" for name in ("import_time", "pins", "workflows")),
)


def files_for(changed: str, root: Path = ROOT) -> list[str]:
    """Test files of one changed file: its mirror, else all of the mirrored folder, or itself."""
    path = PurePosixPath(changed)
    if path.suffix == ".md":
        return ["tests/contract/test_docs.py"]
    if path.parts[0] == "tests" and path.name.startswith("test_"):
        return [changed] if (root / changed).exists() else []
    if path.parts[:2] != ("src", "edgewise"):
        return []
    folder = Path("tests", *path.parts[2:-1])
    mirror = folder / f"test_{path.stem}.py"
    found = [mirror] if (root / mirror).exists() else sorted((root / folder).glob("test_*.py"))
    return [(root / file).relative_to(root).as_posix() for file in found]


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints, none where it fails."""
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def main() -> None:
    """Print the files in one line."""
    base = (git("merge-base", "main", "HEAD") or ["HEAD"])[0]
    changed = [
        *git("diff", "--name-only", base),
        *git("ls-files", "--others", "--exclude-standard"),
    ]
    files = [*ALWAYS, *(file for path in changed for file in files_for(path))]
    inside = [f for f in files if not any(f.startswith(f"{folder}/") for folder in ALWAYS)]
    sys.stdout.write(" ".join(dict.fromkeys(inside)) + "\n")


if __name__ == "__main__":
    main()
