"""``edgewise simulate``: samples from a known network, or from two groups with a known change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from edgewise._core.errors import InputError
from edgewise.cli.options import Json, Kind, Quiet, Seed, Varying
from edgewise.cli.shell import say, say_json

if TYPE_CHECKING:
    import pandas as pd

    from edgewise.graph import Graph

#: Column that holds the labels of two groups.
GROUP: Final = "group"
#: Column that marks the rows to judge by.
HELD_OUT: Final = "held_out"
#: Columns that are drawn unless told otherwise.
FEATURES: Final = 20


def simulate(
    out: Annotated[
        Path,
        typer.Option(help="Table to write (.csv).", metavar="FILE", show_default=False),
    ],
    kind: Annotated[Kind, typer.Option(help="Family of graphs.")] = "erdos-renyi",
    features: Annotated[
        int | None, typer.Option(help="Number of columns.", show_default="20")
    ] = None,
    samples: Annotated[int, typer.Option(help="Number of rows.")] = 500,
    random_state: Seed = 0,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the true graph (.graphml, .gexf, .csv or .json).",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    directed: Annotated[
        bool,
        typer.Option(
            "--directed",
            help=(
                "Draw from linear equations along a directed graph: the kind in a random order. "
                "The weights of the true graph are then their coefficients."
            ),
        ),
    ] = False,
    dag: Annotated[
        str | None,
        typer.Option(
            help=(
                "Draw from linear equations along a network that comes with the package, such as "
                "alarm, in place of a random one."
            ),
            metavar="NAME",
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
    varying: Annotated[
        Varying | None,
        typer.Option(
            help=(
                "Draw rows whose network varies with covariates: another one in each of 22 cells "
                "of two out of ten; or drifting along a line, or over a square. Half of the rows "
                f"are marked in a column '{HELD_OUT}'. --samples counts the other half."
            ),
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw a table from a Gaussian whose network is known, to try a method on.

    The weights of the true graph are partial correlations. It depends on
    the seed, the kind and the number of columns, not on the number of rows.
    """
    if out.suffix.lower() != ".csv":
        raise InputError("simulate_writes_csv", out=out)
    if truth is not None and out.resolve() == truth.resolve():
        raise InputError("out_and_truth_same", out=out)
    from edgewise.io import atomic_path

    _check_directed(dag, features, changed, is_directed=directed)
    n_columns = FEATURES if features is None else features
    if varying is not None:
        is_alone = changed is None and dag is None and truth is None and not directed
        drawn = _draw_varying(varying, n_columns, samples, random_state, is_alone=is_alone)
    elif changed is not None:
        drawn = _draw_change(kind, n_columns, samples, changed, random_state)
    elif directed or dag is not None:
        drawn = _draw_directed(dag, kind, n_columns, samples, random_state)
    else:
        drawn = _draw(kind, n_columns, samples, random_state)
    with atomic_path(out) as draft:
        drawn.table.to_csv(draft, index=False)
        if truth is not None and drawn.graph is not None:
            drawn.graph.write(truth)
    _announce(drawn, out, truth, as_json=json)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Drawn:
    """Rows, the one graph behind them if there is one, and what to say of both."""

    table: pd.DataFrame
    graph: Graph | None
    words: str
    about: str = "the true graph"


def _announce(drawn: _Drawn, out: Path, truth: Path | None, *, as_json: bool) -> None:
    graph = drawn.graph
    if as_json:
        n_rows, n_columns = drawn.table.shape
        document: dict[str, Any] = {"file": str(out), "n_rows": n_rows, "n_columns": n_columns}
        if graph is not None:
            document["n_edges"] = graph.n_edges
        if truth is not None:
            document["truth"] = str(truth)
        say_json(document)
        return
    say(f"{out}: {drawn.words}")
    if graph is not None and graph.directed:
        say(_about_order(drawn.table, graph))
    if graph is not None and truth is not None:
        say(f"{truth}: {drawn.about}, {graph.n_edges} edges")


def _draw(kind: Kind, features: int, samples: int, seed: int) -> _Drawn:
    """Draw rows of one network."""
    import pandas as pd

    from edgewise._core.parallel import spawn
    from edgewise.data import make_gaussian_graph
    from edgewise.graph import Graph

    of_graph, of_rows = spawn(seed, 2)
    model = make_gaussian_graph(features, kind, rng=of_graph)
    rows = model.sample(samples, rng=of_rows)
    graph = Graph.from_precision(model.precision)
    table = pd.DataFrame(rows, columns=list(graph.names))
    return _Drawn(table=table, graph=graph, words=_size(table))


def _size(table: pd.DataFrame) -> str:
    return f"{len(table)} rows, {len(table.columns)} columns"


def _draw_varying(
    varying: Varying, n_features: int, samples: int, seed: int, *, is_alone: bool
) -> _Drawn:
    """Draw covariates, responses whose network varies with them, and which rows to hold out."""
    import math

    import numpy as np
    import pandas as pd

    from edgewise.data import make_drifting_chain, make_drifting_grid, make_tree_partition

    if not is_alone:
        raise InputError("varying_excludes")
    # A graph that drifts has between 5 and 15 edges.
    n_edges = n_features // 2 if varying == "cells" else min(max(n_features // 2, 5), 15)
    how: dict[str, Any] = {"n_features": n_features, "n_edges": n_edges, "rng": seed}
    if varying == "cells":
        data: Any = make_tree_partition(samples, **how)
    elif varying == "line":
        data = make_drifting_chain(samples, **how)
    else:
        side = math.isqrt(samples)
        if side * side != samples:
            raise InputError("varying_needs_square", side=side * side, samples=samples)
        data = make_drifting_grid(side, **how)
    X, Y = np.vstack([data.X, data.X_val]), np.vstack([data.Y, data.Y_val])
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    table = table.join(pd.DataFrame(Y, columns=[f"y{k}" for k in range(Y.shape[1])]))
    table[HELD_OUT] = np.repeat([0, 1], [len(data.X), len(data.X_val)])
    words = f"{len(table)} rows, half of them marked in '{HELD_OUT}'"
    return _Drawn(table=table, graph=None, words=words)


def _check_directed(
    dag: str | None, features: int | None, changed: int | None, *, is_directed: bool
) -> None:
    """Refuse options that do not go together."""
    if changed is not None and (dag is not None or is_directed):
        option = "--directed" if dag is None else "--dag"
        raise InputError("changed_is_undirected", option=option)
    if dag is not None and features is not None:
        raise InputError("dag_excludes_features")


def _draw_directed(dag: str | None, kind: Kind, features: int, samples: int, seed: int) -> _Drawn:
    """Draw rows from linear equations, in columns that do not stand in the order of causes."""
    import pandas as pd

    from edgewise._core.parallel import spawn
    from edgewise.data import load_dag, make_dag, make_linear_sem
    from edgewise.graph import Graph

    of_graph, of_rows = spawn(seed, 2)
    if dag is None:
        adjacency = make_dag(features, kind, rng=of_graph)
        nodes: Sequence[str] = [f"x{k}" for k in range(features)]
        model = make_linear_sem(adjacency, rng=of_graph)
    else:
        network = load_dag(dag)
        model = make_linear_sem(network.adjacency, permute=True, rng=of_graph)
        nodes = network.names
    names = [nodes[k] for k in model.columns]
    table = pd.DataFrame(model.sample(samples, rng=of_rows), columns=names)
    graph = Graph(model.coef, names=names, directed=True)
    return _Drawn(table=table, graph=graph, words=_size(table))


def _about_order(table: pd.DataFrame, graph: Graph) -> str:
    """Say how far the columns give away the order of their causes."""
    from edgewise.metrics import r2_sortability, varsortability

    by_variance = f"varsortability {varsortability(table, graph):.2f}"
    if len(table) <= len(table.columns):
        return f"{by_variance}: 1 would give the order away by scale; standardise the columns"
    by_r2 = f"R2-sortability {r2_sortability(table, graph):.2f}"
    return f"{by_variance}, {by_r2}: 1 would give the order away, the first by scale alone"


def _draw_change(kind: Kind, features: int, samples: int, changed: int, seed: int) -> _Drawn:
    """Draw rows of two groups, and the graph of what changed."""
    import pandas as pd

    from edgewise.data import make_lattice_change
    from edgewise.graph import Graph

    if kind != "grid":
        raise InputError("changed_needs_grid", kind=kind)
    data = make_lattice_change(features, samples, n_changed=changed, rng=seed)
    graph = Graph(data.first_model.precision - data.second_model.precision)
    table = pd.DataFrame(data.X, columns=list(graph.names)).assign(**{GROUP: data.y})
    words = f"{samples} rows of each of two groups, {features} columns and '{GROUP}'"
    return _Drawn(table=table, graph=graph, words=words, about="the true changes")
