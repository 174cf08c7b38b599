"""``edgewise simulate``: a table whose network is known, or two groups whose change is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgewise._core.errors import InputError
from edgewise.cli._options import Kind, Seed
from edgewise.cli._shell import say

if TYPE_CHECKING:
    import pandas as pd

    from edgewise.graph import Graph

#: Column that holds the labels of two groups.
GROUP: Final = "group"


def simulate(
    out: Annotated[
        Path,
        typer.Option(help="Table to write (.csv).", metavar="FILE", show_default=False),
    ],
    kind: Annotated[Kind, typer.Option(help="Family of graphs.")] = Kind.ERDOS_RENYI,
    features: Annotated[int, typer.Option(help="Number of columns.")] = 20,
    samples: Annotated[int, typer.Option(help="Number of rows.")] = 500,
    seed: Seed = 0,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the true graph (.graphml, .gexf, .csv or .json).",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    changed: Annotated[
        int | None,
        typer.Option(
            help=(
                "Draw a second group in which this many edges turn their sign, and a column "
                f"'{GROUP}'; for --kind grid, with a square number of columns. The true graph is "
                "then that of the changes."
            ),
            metavar="EDGES",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Draw a table from a Gaussian whose network is known, to try a method on.

    The weights of the true graph are partial correlations. It depends on
    the seed, the kind and the number of columns, not on the number of rows.
    """
    if out.suffix.lower() != ".csv":
        raise InputError(f"{out} does not end in .csv, the one format that simulate writes.")
    from edgewise.io import atomic_path

    if changed is None:
        table, graph = _draw(kind, features, samples, seed)
        words = f"{samples} rows, {features} columns"
        about = "the true graph"
    else:
        table, graph = _draw_change(kind, features, samples, changed, seed)
        words = f"{samples} rows of each of two groups, {features} columns and '{GROUP}'"
        about = "the true changes"
    with atomic_path(out) as draft:
        table.to_csv(draft, index=False)
        if truth is not None:
            graph.write(truth)
    say(f"{out}: {words}")
    if truth is not None:
        say(f"{truth}: {about}, {graph.n_edges} edges")


def _draw(kind: Kind, features: int, samples: int, seed: int) -> tuple[pd.DataFrame, Graph]:
    """Draw rows, and return them with the graph behind them."""
    import pandas as pd

    from edgewise._core.random import spawn
    from edgewise.data import gaussian_graph, sample_gaussian
    from edgewise.graph import Graph

    of_graph, of_rows = spawn(seed, 2)
    model = gaussian_graph(features, kind.value, rng=of_graph)
    rows = sample_gaussian(model.precision, samples, rng=of_rows)
    graph = Graph.from_precision(model.precision)
    return pd.DataFrame(rows, columns=list(graph.names)), graph


def _draw_change(
    kind: Kind, features: int, samples: int, changed: int, seed: int
) -> tuple[pd.DataFrame, Graph]:
    """Draw rows of two groups, and return them with the graph of what changed."""
    import pandas as pd

    from edgewise.data import lattice_change
    from edgewise.graph import Graph

    if kind is not Kind.GRID:
        raise InputError(
            f"--changed is for --kind {Kind.GRID.value}, and the kind is {kind.value}. Leave one "
            "of the two out."
        )
    data = lattice_change(features, samples, n_changed=changed, rng=seed)
    graph = Graph(data.first_model.precision - data.second_model.precision)
    table = pd.DataFrame(data.X, columns=list(graph.names)).assign(**{GROUP: data.y})
    return table, graph
