"""Appendix B: networks that drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data import make_drifting_chain, make_drifting_grid
from edgewise.data.simulate.covariates import VaryingGraphs
from edgewise.estimators import GraphTree, KernelGraph
from edgewise.metrics import edge_metrics
from edgewise.solvers import graphical_lasso_path
from edgewise.solvers.gaussian.graphical_lasso import alpha_max
from studies import figures, tables
from studies.covariates.partition import RECIPE
from studies.study import Claim, Part, Report, Row, combinations

CHAIN: Final = "chain"
GRID: Final = "grid"
#: Points at which graphs are judged: along the chain, and along either side of the grid.
N_POINTS: Final = {CHAIN: 200, GRID: 20}

TREE: Final = "Go-CART"
POOLED: Final = "pooled glasso"
POOLED_REFIT: Final = "pooled, refitted"
KERNEL: Final = "kernel"
METHODS: Final = (TREE, KERNEL, POOLED_REFIT, POOLED)
#: Path of the pooled graphical lasso, as in the cells of a tree.
N_ALPHAS: Final = 40
ALPHA_RATIO: Final = 0.01
#: Kinds of rows: one per method, and one per point and method.
SUMMARY: Final = "summary"
POINT: Final = "point"


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    sizes, repetitions = ([2500], range(1)) if quick else ([10_000], range(5))
    return combinations(structure=(CHAIN, GRID), n_samples=sizes, repetition=repetitions)


def run_task(
    rng: np.random.Generator,
    *,
    structure: str,
    n_samples: int,
    repetition: int,
    n_points: Mapping[str, int] = N_POINTS,
) -> list[Row]:
    """Draw the rows, learn by every method, and compare with the true graph at every point."""
    if structure == CHAIN:
        data = make_drifting_chain(n_samples, rng=rng)
        points = np.linspace(0, n_samples - 1, n_points[CHAIN]).round().astype(np.int64)
    else:
        side = round(np.sqrt(n_samples))
        data = make_drifting_grid(side, rng=rng)
        line = np.linspace(0, side - 1, n_points[GRID]).round().astype(np.int64)
        points = (side * line[:, None] + line).ravel()
    tree = GraphTree(scale=(0, 1), **RECIPE).fit(data.X, data.Y, data.X_val, data.Y_val)
    rows: list[Row] = []
    for method, graphs in _learn(tree, data, data.X[points]).items():
        scores = _score(data, points, graphs)
        means: Row = {name: float(values.mean()) for name, values in scores.items()}
        edges = float(np.mean([graph.sum() / 2 for graph in graphs]))
        about = {"kind": SUMMARY, "method": method}
        rows.append({**about, **means, "edges": edges, "n_leaves": len(tree.leaves_)})
        for k, row in enumerate(points.tolist()):
            here = {name: float(values[k]) for name, values in scores.items()}
            place = {"x": float(data.X[row, 0]), "x2": float(data.X[row, -1])}
            rows.append({"kind": POINT, "method": method, **place, **here})
    return rows


def _learn(tree: GraphTree, data: VaryingGraphs, X: FloatArray) -> dict[str, list[BoolArray]]:
    """Graphs at ``X`` by method; the kernel finds its own folds among all rows."""
    kernel = KernelGraph(mean="global", random_state=0).fit(
        np.vstack([data.X, data.X_val]), np.vstack([data.Y, data.Y_val])
    )
    return {
        TREE: [graph.adjacency for graph in tree.predict_graphs(X)],
        KERNEL: [graph.adjacency for graph in kernel.predict_graphs(X)],
        POOLED_REFIT: [tree.graph_.adjacency] * len(X),
        POOLED: [pooled_glasso(data)] * len(X),
    }


def _score(
    data: VaryingGraphs, points: IntArray, graphs: Sequence[BoolArray]
) -> dict[str, FloatArray]:
    """Precision, recall and F1 at each point."""
    found = [
        edge_metrics(data.adjacencies[data.graph[row]], graph)
        for row, graph in zip(points.tolist(), graphs, strict=True)
    ]
    return {
        name: np.array([getattr(metrics, name) for metrics in found])
        for name in ("precision", "recall", "f1")
    }


def pooled_glasso(data: VaryingGraphs) -> BoolArray:
    """Graph of the graphical lasso of all rows whose risk on the validation rows is least."""
    mean = data.Y.mean(axis=0)
    S, S_val = ((Y - mean).T @ (Y - mean) / len(Y) for Y in (data.Y, data.Y_val))
    alphas = alpha_max(S) * np.geomspace(1.0, ALPHA_RATIO, N_ALPHAS)
    path = graphical_lasso_path(S, alphas, penalize_diagonal=True)
    risks = [np.vdot(S_val, step.value) - np.linalg.slogdet(step.value)[1] for step in path]
    found: BoolArray = path[int(np.argmin(risks))].value != 0
    np.fill_diagonal(found, False)
    return found


MEASURES: Final = {"precision": "precision", "recall": "recall", "f1": "F1"}
#: A recall that is better by no more than this is slightly better.
SLIGHT: Final = 0.1
#: How near to the diagonal from corner [0, 1] to corner [1, 0] its middle part is.
BAND: Final = 0.15


def report(frame: pd.DataFrame) -> Report:
    """Set out precision, recall and F1, and judge what the paper says of them."""
    summary = tables.rows_of(frame, kind=SUMMARY)
    columns = [*MEASURES, "edges", "n_leaves"]
    found = {
        (*key, name): part[name].to_numpy(dtype=np.float64)
        for key, part in summary.groupby(["structure", "method"])
        for name in columns
    }
    rows = [
        [
            *key,
            *(tables.mean_and_error(found[*key, name], 2) for name in MEASURES),
            tables.mean_and_error(found[*key, "edges"], 1),
        ]
        for key in product((CHAIN, GRID), METHODS)
    ]
    means = {key: float(values.mean()) for key, values in found.items()}
    text = tables.fill(
        __package__,
        "drift",
        pooled=POOLED,
        pooled_refit=POOLED_REFIT,
        kernel=KERNEL,
        table=tables.markdown_table(["design", "method", *MEASURES, "edges"], rows),
        chain_leaves=means[CHAIN, TREE, "n_leaves"],
        grid_leaves=means[GRID, TREE, "n_leaves"],
        kernel_f1=means[CHAIN, KERNEL, "f1"],
        tree_f1=means[CHAIN, TREE, "f1"],
    )
    return Report(text, (*_against_pooled(means), *_on_the_grid(frame)))


def _against_pooled(means: dict[Any, float]) -> list[Claim]:
    cases = []
    for structure, name in product((CHAIN, GRID), ("precision", "f1")):
        ours, theirs = (means[structure, method, name] for method in (TREE, POOLED))
        words = f"{name} {ours:.2f} against {theirs:.2f} on the {structure}"
        cases.append(([ours > 1.5 * theirs], words))
    ours, theirs = (means[CHAIN, method, "recall"] for method in (TREE, POOLED))
    return [
        tables.judge(
            "Go-CART has much higher precision and F1 than the graphical lasso of all rows.",
            "Go-CART against the pooled glasso",
            cases,
        ),
        Claim(
            "Recall of the pooled graphical lasso is slightly better on the chain, because its "
            "graph is very dense.",
            f"Recall {theirs:.2f} of the pooled glasso, with {means[CHAIN, POOLED, 'edges']:.0f} "
            f"edges, and {ours:.2f} of Go-CART.",
            tables.verdict([[theirs > ours], [ours < theirs <= ours + SLIGHT]]),
        ),
    ]


def _on_the_grid(frame: pd.DataFrame) -> list[Claim]:
    points = {method: points_of(frame, GRID, method) for method in (TREE, POOLED)}
    tree, pooled = (of_method["f1"].to_numpy() for of_method in points.values())
    share = float((tree > pooled).mean())
    cases = []
    for method, part in points.items():
        is_middle = (part["x"] + part["x2"] - 1.0).abs() <= BAND
        middle, rest = part.loc[is_middle, "f1"].mean(), part.loc[~is_middle, "f1"].mean()
        words = f"{middle:.2f} there and {rest:.2f} elsewhere ({method})"
        cases.append(([bool(middle < rest)], words))
    return [
        Claim(
            "On the grid, F1 of Go-CART is significantly higher for most x.",
            f"It is higher at {share:.0%} of the points, by {(tree - pooled).mean():.2f} on "
            "average over all.",
            tables.verdict([[share > 0.5]]),
        ),
        tables.judge(
            "On the grid, F1 is low for both methods around the diagonal from [0, 1] to [1, 0], "
            "where graphs vary most.",
            "F1",
            cases,
        ),
    ]


def points_of(frame: pd.DataFrame, structure: str, method: str) -> pd.DataFrame:
    """Rows of the points, in the order of tasks and points."""
    return tables.rows_of(frame, kind=POINT, structure=structure, method=method)


LOOKS: Final[dict[str, dict[str, Any]]] = {
    TREE: {"color": figures.BLUE},
    KERNEL: {"color": figures.GREEN},
    POOLED_REFIT: {"color": figures.VERMILION},
    POOLED: {"color": figures.GREY, "linestyle": "--"},
}
#: Points of the chain that a curve is averaged over, to be read at all.
WINDOW: Final = 9


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Draw the scores along the chain, and F1 over the grid."""
    return {"chain": draw_chain(frame), "grid": draw_grid(frame)}


def draw_chain(frame: pd.DataFrame) -> Figure:
    """Precision, recall and F1 along the chain, a running mean over the points of all runs."""
    figure, (axes,) = figures.panels(1, len(MEASURES), (11, 3.6), sharey=True)
    for ax, (name, label) in zip(axes, MEASURES.items(), strict=True):
        for method, look in LOOKS.items():
            mean = points_of(frame, CHAIN, method).groupby("x")[name].mean()
            smooth = mean.rolling(WINDOW, center=True, min_periods=1).mean()
            ax.plot(smooth.index, smooth, label=method, linewidth=1.5, **look)
        ax.set(title=label, xlabel="x", ylim=(-0.02, 1.02))
    figures.legend_above(figure, axes[0], "center")
    return figure


def draw_grid(frame: pd.DataFrame) -> Figure:
    """F1 over the square by method, in the first run."""
    figure, axes = figures.panels(1, len(LOOKS), (12, 3.4), grid=None, sharex=True, sharey=True)
    grid = tables.rows_of(frame, structure=GRID)
    for ax, method in zip(axes[0], (POOLED, POOLED_REFIT, TREE, KERNEL), strict=True):
        first = points_of(grid[grid["task"] == grid["task"].min()], GRID, method)
        table = first.pivot_table(index="x2", columns="x", values="f1").to_numpy()
        shown = {"extent": (0, 1, 0, 1), "vmin": 0, "vmax": 1, "cmap": "viridis"}
        image = ax.imshow(table, origin="lower", **shown)
        ax.set_title(f"{method}, mean {table.mean():.2f}")
    figures.name_outer(axes, "first covariate", "second covariate")
    figure.colorbar(image, ax=axes[0], label="F1", shrink=0.9)
    return figure


PART = Part(name="drift", tasks=list_tasks, run=run_task, report=report, figures=draw)
