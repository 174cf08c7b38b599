"""``edgewise export``: a graph from one format into another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgewise._core.errors import InputError
from edgewise.cli.options import Json, Quiet
from edgewise.cli.shell import say, say_json

if TYPE_CHECKING:
    from edgewise.graph import Graph


def export(
    source: Annotated[
        Path,
        typer.Argument(
            help="A model (.edgewise) or a graph (.graphml, .gexf, .csv, .json).",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            help="File to write; its suffix sets the format: .graphml, .gexf, .csv or .json.",
            show_default=False,
        ),
    ],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Convert the graph of a model, or a graph file, into another format."""
    from edgewise.graph.files import nodes_beside

    graph = _read(source)
    graph.write(out)
    files = [out, nodes_beside(out)] if out.suffix.lower() == ".csv" else [out]
    if json:
        say_json({"file": str(out), "n_nodes": graph.n_nodes, "n_edges": graph.n_edges})
        return
    say(f"{' and '.join(map(str, files))}: {graph.n_nodes} nodes, {graph.n_edges} edges")


def _read(source: Path) -> Graph:
    if source.suffix.lower() != ".edgewise":
        from edgewise.graph import Graph

        return Graph.read(source)
    from edgewise.estimators import load

    graph: Graph | None = getattr(load(source), "graph_", None)
    if graph is None:
        raise InputError("model_not_fitted", source=source)
    return graph
