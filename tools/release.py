"""Check that a release can be tagged, and tag it.

``python tools/release.py check`` lists what stands in the way; ``python tools/release.py tag``
checks once more and writes an annotated tag whose message is the section of the changelog.
Nothing is pushed or published.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What stands for the address of the repository until there is one.
PLACEHOLDER = "https://example.org/"


def version_of(root: Path) -> str:
    """Return the version, from the one place where the package has it."""
    text = (root / "src" / "edgewise" / "_version.py").read_text(encoding="utf-8")
    return re.search(r'__version__ = "(.+)"', text)[1]


def changes_of(root: Path) -> tuple[str, str]:
    """Return the date of this version in the changelog and its section; empty without one."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## \[{re.escape(version_of(root))}\] - (\S+)\n(.*?)(?=^## \[|\Z)"
    found = re.search(heading, text, flags=re.MULTILINE | re.DOTALL)
    return (found[1], found[2].strip()) if found else ("", "")


def problems_of(root: Path) -> list[str]:
    """List what the files of the repository lack for a release."""
    problems = []
    version, (date, section) = version_of(root), changes_of(root)
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        date = "YYYY-MM-DD"
        problems.append(f"CHANGELOG.md has no heading '## [{version}] - {date}'.")
    if not section:
        problems.append(f"CHANGELOG.md says nothing of {version}.")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    problems += [
        f"CITATION.cff has no line '{line}'."
        for line in (f"version: {version}", f"date-released: {date}")
        if line not in citation
    ]
    recipe = (root / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    if f'  version: "{version}"\n' not in recipe:
        problems.append(f"recipe/recipe.yaml is not of version {version}.")
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if (address := project["urls"]["Repository"]).startswith(PLACEHOLDER):
        problems.append(f"{address} in pyproject.toml is a placeholder; write the real address.")
    return problems


def git(*arguments: str) -> str:
    """Return what git prints."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    """Check, and tag where that is asked for."""
    problems = problems_of(ROOT)
    tag = f"v{version_of(ROOT)}"
    if git("status", "--porcelain"):
        problems.append("The working tree has changes that are not committed.")
    if git("tag", "--list", tag):
        problems.append(f"The tag {tag} is there already.")
    if problems:
        raise SystemExit("\n".join(["No release yet:", *(f"- {line}" for line in problems)]))
    if sys.argv[1:] == ["tag"]:
        _, section = changes_of(ROOT)
        # Headings of the changelog begin as git's comments do.
        message = f"edgewise {version_of(ROOT)}\n\n{section}"
        git("tag", "--annotate", "--cleanup=verbatim", "--message", message, tag)
        sys.stdout.write(f"Tagged {tag}. Publish as RELEASING.md says.\n")


if __name__ == "__main__":
    main()
