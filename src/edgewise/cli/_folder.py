"""The folder that a run leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise._core.errors import InputError

if TYPE_CHECKING:
    from edgewise.cli._learning import Learned

#: What `write_results` leaves in the folder.
FILES = (
    "report.html",
    "network.png",
    "matrix.png",
    "edges.csv",
    "graph.graphml",
    "model.edgewise",
    "run.json",
)


@contextmanager
def results_folder(out: Path) -> Iterator[Path]:
    """Yield a draft folder whose files move to ``out`` once the block has ended well.

    A run that fails or is interrupted leaves what was there before, so that the files of two
    runs never mix. The folder is made on entry: where that is not allowed, the user learns it
    before the work and not after.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"Cannot write into '{out}': it is a file. Give the name of a folder.")
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".edgewise-", dir=out))
    try:
        yield draft
        for file in sorted(draft.iterdir()):
            os.replace(file, out / file.name)  # noqa: PTH105, atomic by contract
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if is_new:
            # Goes only while it is empty, that is, when nothing was moved.
            with suppress(OSError):
                out.rmdir()


def write_results(folder: Path, learned: Learned, record: dict[str, Any]) -> None:
    """Write the graph, its pictures, the model and the record of the run."""
    from edgewise.plot import plot_matrix, plot_network, save_figure

    graph = learned.graph
    graph.write(folder / "graph.graphml")
    graph.write(folder / "edges.csv")
    save_figure(plot_network(graph).figure, folder / "network.png")
    save_figure(plot_matrix(graph).figure, folder / "matrix.png")
    learned.model.save(folder / "model.edgewise")
    (folder / "report.html").write_text(graph.to_html(), encoding="utf-8")
    text = json.dumps(record, indent=1, allow_nan=False)
    (folder / "run.json").write_text(text + "\n", encoding="utf-8")
