"""Section 5.1: 22 cells of two covariates, a network in each, eight covariates of no account."""

from __future__ import annotations

import json
import time
from typing import Any, Final

import numpy as np

from edgewise.data import PartitionedGraphs, tree_partition
from edgewise.data.simulate import PARTITION_LAYOUTS
from edgewise.estimators import GraphTree
from edgewise.estimators.covariates.tree_nodes import TreeNode
from edgewise.metrics import edge_metrics
from edgewise.reproduce._study import Part, Row

N_SAMPLES: Final = 10_000
#: Covariates that the network depends on.
N_RELEVANT: Final = 2
#: The published rule, which stops at once and splits for any gain; and our defaults.
PUBLISHED: Final = "published rule"
DEFAULT: Final = "default"
RULES: Final[dict[str, dict[str, Any]]] = {
    PUBLISHED: {"lookahead": 0, "exchange": False, "min_gain": 0},
    DEFAULT: {},
}
SIZES: Final = {1 / 64: "small", 1 / 16: "middle", 1 / 4: "large"}
#: Kinds of rows: one per fit, one per true cell of a fit, one per leaf of the fits to be drawn.
FIT: Final = "fit"
CELL: Final = "cell"
LEAF: Final = "leaf"


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets; half of them have either layout."""
    return [
        {"layout": layout, "repetition": repetition}
        for repetition in range(1 if quick else 50)
        for layout in PARTITION_LAYOUTS
    ]


def run_task(
    rng: np.random.Generator, *, layout: str, repetition: int, n_samples: int = N_SAMPLES
) -> list[Row]:
    """Draw the rows and grow a tree by each rule."""
    data = tree_partition(n_samples, layout=layout, rng=rng)  # type: ignore[arg-type]
    rows = []
    for rule, options in RULES.items():
        start = time.process_time()
        tree = GraphTree(bounds=(0, 1), **options).fit(data.X, data.Y, data.X_val, data.Y_val)
        seconds = time.process_time() - start
        cells = _score_cells(tree, data)
        rows.append({"kind": FIT, "rule": rule, "seconds": seconds, **_describe(tree, cells, data)})
        rows += [{"kind": CELL, "rule": rule, **cell} for cell in cells]
        if repetition == 0:
            rows += [{"kind": LEAF, "rule": rule, **leaf} for leaf in _leaf_boxes(tree)]
    return rows


def _describe(tree: GraphTree, cells: list[Row], data: PartitionedGraphs) -> Row:
    """Say how a tree compares with the partition, and how many edges its nodes have."""
    is_leaf = [node.split is None for node in tree.nodes_]
    parents = [
        node
        for node in tree.nodes_
        if node.split is not None and is_leaf[node.split.left] and is_leaf[node.split.right]
    ]
    n_irrelevant = sum(
        node.split is not None and node.split.column >= N_RELEVANT for node in tree.nodes_
    )
    return {
        "is_exact": len(cells) == len(data.boxes) == len(tree.leaves_),
        "n_irrelevant": n_irrelevant,
        "n_leaves": len(tree.leaves_),
        "n_cells": tree.n_iter_,
        "root_edges": tree.graph_.n_edges,
        "parent_edges": _mean_edges(parents),
        "leaf_edges": _mean_edges(tree.leaves_),
        "risks": json.dumps(np.round(tree.risk_path_, 5).tolist()),
    }


def _mean_edges(nodes: list[TreeNode]) -> float:
    return float(np.mean([node.graph.n_edges for node in nodes])) if nodes else 0.0


def _score_cells(tree: GraphTree, data: PartitionedGraphs) -> list[Row]:
    """Score the graph of each true cell that is a leaf of the tree."""
    known = {tuple(box.ravel().tolist()): k for k, box in enumerate(data.boxes)}
    rows = []
    for leaf in tree.leaves_:
        ends = [float(end) for inside in leaf.box.values() for end in inside]
        is_whole = ends[2 * N_RELEVANT :] == [0.0, 1.0] * (len(leaf.box) - N_RELEVANT)
        cell = known.get(tuple(ends[: 2 * N_RELEVANT]))
        if cell is not None and is_whole:
            found = edge_metrics(data.adjacencies[cell], leaf.graph.adjacency)
            rows.append(
                {
                    "cell": cell,
                    "size": SIZES[float(data.areas[cell])],
                    "precision": found.precision,
                    "recall": found.recall,
                    "f1": found.f1,
                }
            )
    return rows


def _leaf_boxes(tree: GraphTree) -> list[Row]:
    """Leaves as rectangles of the first two covariates."""
    rows = []
    for leaf in tree.leaves_:
        left, right = leaf.box["x0"]
        lower, upper = leaf.box["x1"]
        rows.append(
            {"left": left, "right": right, "lower": lower, "upper": upper,
             "edges": leaf.graph.n_edges}
        )  # fmt: skip
    return rows


PART = Part(name="partition", tasks=list_tasks, run=run_task)
