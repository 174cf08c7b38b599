"""Appendix B: networks that drift along a chain and over a grid, an edge at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data import VaryingGraphs, drifting_chain, drifting_grid
from edgewise.estimators import GraphTree, KernelGraph
from edgewise.metrics import edge_metrics
from edgewise.reproduce._study import Part, Row
from edgewise.solvers import alpha_max, graphical_lasso_path

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
    return [
        {"structure": structure, "n_samples": 2500 if quick else 10_000, "repetition": repetition}
        for repetition in range(1 if quick else 5)
        for structure in (CHAIN, GRID)
    ]


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
        data = drifting_chain(n_samples, rng=rng)
        points = np.linspace(0, n_samples - 1, n_points[CHAIN]).round().astype(np.int64)
    else:
        side = round(np.sqrt(n_samples))
        data = drifting_grid(side, rng=rng)
        line = np.linspace(0, side - 1, n_points[GRID]).round().astype(np.int64)
        points = (side * line[:, None] + line).ravel()
    tree = GraphTree(bounds=(0, 1)).fit(data.X, data.Y, data.X_val, data.Y_val)
    rows: list[Row] = []
    for method, graphs in _learn(tree, data, data.X[points]).items():
        scores = _score(data, points, graphs)
        rows.append(
            {
                "kind": SUMMARY,
                "method": method,
                **{name: float(values.mean()) for name, values in scores.items()},
                "edges": float(np.mean([graph.sum() / 2 for graph in graphs])),
                "n_leaves": len(tree.leaves_),
            }
        )
        rows += [
            {
                "kind": POINT,
                "method": method,
                "x": float(data.X[row, 0]),
                "x2": float(data.X[row, -1]),
                **{name: float(values[k]) for name, values in scores.items()},
            }
            for k, row in enumerate(points.tolist())
        ]
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


PART = Part(name="drift", tasks=list_tasks, run=run_task)
