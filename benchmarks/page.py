"""Run the benchmarks one after the other and write docs/benchmarks.md, all of one commit.

``python -m benchmarks.page [SUBJECT ...] [--quick] [--out FILE]``: all subjects unless some are
named. What is not installed is skipped, and the page says what was.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Modules of this folder and what they are about, in the order of the page; the tables that it
#: shows follow, all where none is named. The others time our own ways alone.
SUBJECTS = {
    "gaussian": ("Graphical lasso",),
    "space": ("Locally constant graphs", "cvxpy"),
    "discrete": ("Discrete Markov networks", "mixed", "answers", "pgmpy"),
    "change": ("Change between two networks", "lbfgs", "fused", "joint", "test", "pyanom"),
    "covariates": ("Networks that vary with covariates", "peer"),
    "directed": ("Directed networks", "order", "peers"),
    "classify": ("Class networks", "slsqp"),
    "streaming": ("Tables larger than memory",),
    "decided": ("Proven edges",),
    "scaling": ("Scaling", "scaling", "wide"),
}


def commit() -> str:
    """Name the commit that is timed, and say whether files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks")
    return git("rev-parse", "--short=12", "HEAD") + (" with changes" if changed else "")


def tables_of(subject: str, is_quick: bool) -> str:
    """Run one subject in a process of its own; give its tables and what it skipped."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tables.md")
        _, *shown = SUBJECTS[subject]
        command = [sys.executable, "-m", f"benchmarks.{subject}", "--markdown", str(file)]
        command += ["--quick"] if is_quick else []
        command += ["--tables", *shown] if shown else []
        done = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        told = []
        assert done.stderr is not None
        for line in done.stderr:
            sys.stderr.write(line)
            told.append(line.strip())
        done.wait()
        text = file.read_text().strip() if file.exists() else ""
        # Where the tables passed through on their way is of no use to a reader.
        parts = [text.replace(f" --markdown {file}", "")] if text else []
    skipped = [line for line in told if "skip" in line.lower()]
    if skipped:
        parts.append("Skipped:\n\n" + "\n".join(f"- {line}" for line in skipped))
    if done.returncode:
        parts.append(f"Ended before its time: {told[-1] if told else 'without a word'}")
    return "\n\n".join(parts)


def main() -> None:
    """Write the page anew after each subject, so that a run cut short leaves what it has."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--quick", action="store_true", help="small problems")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks.md")
    options = parser.parse_args()
    if unknown := set(options.subjects) - set(SUBJECTS):
        parser.error(f"no subject {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")
    small = ", small problems only" if options.quick else ""
    page = [
        Path(__file__).with_name("page.md").read_text(encoding="utf-8").strip(),
        f"Written by `make bench`, of commit {commit()}{small}.",
    ]
    machine = "\0"
    for subject in options.subjects or SUBJECTS:
        tables = tables_of(subject, options.quick).replace(machine, "")
        if found := re.search(r"^.*; one BLAS thread;\n", tables, flags=re.MULTILINE):
            machine = found[0]  # named once, by the first subject
        page += [f"## {SUBJECTS[subject][0]}", tables.replace(" --- ", "---")]
        options.out.write_text("\n\n".join(page) + "\n", encoding="utf-8")
    print(options.out)


if __name__ == "__main__":
    main()
