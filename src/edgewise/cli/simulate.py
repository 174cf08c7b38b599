"""``edgewise simulate``: a table whose network is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgewise._core.errors import InputError
from edgewise.cli._options import Kind, Seed
from edgewise.cli._shell import say


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
) -> None:
    """Draw a table from a Gaussian whose network is known, to try a method on.

    The weights of the true graph are partial correlations. It depends on
    the seed, the kind and the number of columns, not on the number of rows.
    """
    if out.suffix.lower() != ".csv":
        raise InputError(f"{out} does not end in .csv, the one format that simulate writes.")
    import pandas as pd

    from edgewise._core.random import spawn
    from edgewise.data import gaussian_graph, sample_gaussian
    from edgewise.graph import Graph
    from edgewise.io import atomic_path

    of_graph, of_rows = spawn(seed, 2)
    model = gaussian_graph(features, kind.value, rng=of_graph)
    rows = sample_gaussian(model.precision, samples, rng=of_rows)
    graph = Graph.from_precision(model.precision)
    with atomic_path(out) as draft:
        pd.DataFrame(rows, columns=list(graph.names)).to_csv(draft, index=False)
        if truth is not None:
            graph.write(truth)
    say(f"{out}: {samples} rows, {features} columns")
    if truth is not None:
        say(f"{truth}: the true graph, {graph.n_edges} edges")
