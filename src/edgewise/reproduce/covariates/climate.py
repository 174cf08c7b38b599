"""Section 5.2: how the weather of the United States hangs together, from place to place."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray, IntArray
from edgewise.data import load_climate, load_table
from edgewise.estimators import GraphTree
from edgewise.estimators.covariates.tree_nodes import TreeNode
from edgewise.graph import Graph
from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.covariates.coast import kilometers, kilometers_to_sea

PLACE: Final = ["lat", "lon"]
#: Variables as alike as temperatures want small alphas: a path that goes on where others end.
LONGER: Final[dict[str, Any]] = {"alpha_ratio": 1e-4, "n_alphas": 60}
#: Kinds of rows.
SUMMARY: Final = "summary"
SPLIT: Final = "split"
LEAF: Final = "leaf"
PAIR: Final = "pair"
STATION: Final = "station"


def list_tasks(quick: bool) -> list[Row]:
    """List the one table; the quick version stops at larger regions."""
    return [{"max_total_depth": 4 if quick else None}]


def run_task(rng: np.random.Generator, *, max_total_depth: int | None) -> list[Row]:
    """Split the country by the risk of the weeks held out, and set out what the leaves share."""
    climate = load_climate()
    X, Y, is_held_out = climate.covariates[PLACE], climate.responses, climate.is_validation
    held_out = X[is_held_out], Y[is_held_out]
    tree = GraphTree(max_total_depth=max_total_depth, random_state=rng)
    tree.fit(X[~is_held_out], Y[~is_held_out], *held_out)
    pooled, longer = (
        GraphTree(max_depth=0, **path).fit(X[~is_held_out], Y[~is_held_out], *held_out)
        for path in ({}, LONGER)
    )
    stations = _stations(tree, X)
    summary = {
        "kind": SUMMARY,
        "leaves": len(tree.leaves_),
        "n_stations": len(stations),
        "pooled_edges": tree.graph_.n_edges,
        "longer_edges": longer.graph_.n_edges,
        "leaf_edges": float(np.mean([leaf.graph.n_edges for leaf in tree.leaves_])),
        "score": tree.score(*held_out),
        "pooled_score": pooled.score(*held_out),
        **_likeness(tree.leaves_, stations),
    }
    return [summary, *_splits(tree), *_leaves(tree), *_pairs(tree, longer.graph_), *stations]


def _stations(tree: GraphTree, X: pd.DataFrame) -> list[Row]:
    """One row per station: where it is, its leaf, and how many edges that has."""
    stations = load_table("tmy3-stations").frame
    places = X.drop_duplicates()
    leaf = dict(zip(map(tuple, places.to_numpy()), tree.apply(places).tolist(), strict=True))
    rows = []
    for name, lat, lon in stations[["name", *PLACE]].itertuples(index=False):
        found = tree.leaves_[leaf[lat, lon]]
        rows.append(
            {
                "kind": STATION,
                "name": name,
                "lat": float(lat),
                "lon": float(lon),
                "leaf": found.leaf,
                "edges": found.graph.n_edges,
                "rows": found.n,
                "to_sea": kilometers_to_sea(lat, lon),
            }
        )
    return rows


def _splits(tree: GraphTree) -> list[Row]:
    report = tree.split_report()
    return [
        {"kind": SPLIT, **{str(name): value for name, value in row.items()}}
        for row in report.to_dict("records")
    ]


def _leaves(tree: GraphTree) -> list[Row]:
    """Boxes of the leaves, to be drawn."""
    rows = []
    for leaf in tree.leaves_:
        (south, north), (west, east) = (leaf.box[name] for name in PLACE)
        rows.append(
            {
                "kind": LEAF,
                "leaf": leaf.leaf,
                "south": south,
                "north": north,
                "west": west,
                "east": east,
            }
        )
    return rows


def _pairs(tree: GraphTree, longer: Graph) -> list[Row]:
    """How often two variables are joined in the leaves and with which sign, and in the whole."""
    names = tree.graph_.names
    weights = np.array([leaf.graph.weights for leaf in tree.leaves_])
    rows = []
    for i, j in zip(*np.triu_indices(len(names), 1), strict=True):
        joined = weights[:, i, j][weights[:, i, j] != 0]
        rows.append(
            {
                "kind": PAIR,
                "source": names[i],
                "target": names[j],
                "pooled": float(tree.graph_.weights[i, j]),
                "longer": float(longer.weights[i, j]),
                "share": len(joined) / len(weights),
                "positive": float((joined > 0).mean()) if len(joined) else 0.0,
                "least": float(weights[:, i, j].min()),
                "most": float(weights[:, i, j].max()),
            }
        )
    return rows


def _likeness(leaves: list[TreeNode], stations: list[Row]) -> Row:
    """Say how alike the graphs of neighbouring leaves are, and those of any two leaves."""
    place = np.array([[row["lat"], row["lon"]] for row in stations])
    leaf = np.array([row["leaf"] for row in stations])
    likeness = _jaccard(leaves)
    nearest = []
    for k in range(len(leaf)):
        others = np.flatnonzero(leaf != leaf[k])
        if others.size:
            closest = others[int(np.argmin(kilometers(place[k], place[others])))]
            nearest.append(likeness[leaf[k], leaf[closest]])
    first, second = np.triu_indices(len(leaves), 1)
    return {
        "alike_nearest": float(np.mean(nearest)) if nearest else 1.0,
        "alike_any": float(likeness[first, second].mean()) if first.size else 1.0,
    }


def _jaccard(leaves: list[TreeNode]) -> FloatArray:
    """Edges that two graphs have in common with the same sign, as a share of those in either."""
    signs: IntArray = np.array(
        [np.sign(leaf.graph.weights[np.triu_indices(len(leaf.mean), 1)]) for leaf in leaves]
    ).astype(np.int64)
    both = ((signs[:, None] == signs) & (signs != 0)).sum(axis=2)
    either = ((signs[:, None] != 0) | (signs != 0)).sum(axis=2)
    return np.asarray(both / np.maximum(either, 1))


PART = Part(name="climate", tasks=list_tasks, run=run_task)
