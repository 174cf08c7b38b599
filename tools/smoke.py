"""Whether an installed edgewise works, away from its sources: run by ``make smoke``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What `edgewise learn` promises to write.
WRITTEN = {"report.html", "graph.graphml", "edges.csv", "model.edgewise", "run.json"}

FIT = """
import edgewise, numpy
from edgewise.data import load_senate, load_table

assert load_senate().votes.shape[1] == 100
weather = load_table("tmy3-daily").frame[["TMP", "DEW", "RH", "PRS"]]
graph = edgewise.GaussianGraph(covariance="correlation").fit(weather).graph_
assert graph.names == ("TMP", "DEW", "RH", "PRS")
model = edgewise.load("out/model.edgewise")
assert numpy.all(numpy.linalg.eigvalsh(model.precision_) > 0)
"""


def run(*command: str, folder: Path) -> str:
    """Run a command in ``folder``; what it prints, or stop with what it said."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Go through what a first user does."""
    edgewise = str(Path(sys.executable).with_name("edgewise"))
    python = (sys.executable, "-I", "-W", "error", "-c")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        where = run(*python, "import edgewise; print(edgewise.__file__)", folder=folder).strip()
        if Path(where).is_relative_to(ROOT / "src"):
            raise SystemExit(f"{where} is the source, not what was installed.")
        run(edgewise, "--version", folder=folder)
        run(edgewise, "info", folder=folder)
        simulate = ("simulate", "--kind", "chain", "--features", "8", "--samples", "200")
        run(edgewise, *simulate, "--out", "data.csv", folder=folder)
        learned = run(edgewise, "learn", "data.csv", "--out", "out", "--json", folder=folder)
        missing = WRITTEN - {path.name for path in (folder / "out").iterdir()}
        if missing or not json.loads(learned):
            raise SystemExit("edgewise learn did not write " + ", ".join(sorted(missing)))
        run(*python, FIT, folder=folder)
    sys.stdout.write(f"{where}: installed and working\n")


if __name__ == "__main__":
    main()
