"""Section 5.1: a known partition of 22 cells; and where to cut by default, on known cuts."""

from __future__ import annotations

import json
import math
import time
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from edgewise._core.typing import FloatArray
from edgewise.data import make_tree_partition
from edgewise.data.simulate.covariates import PARTITION_LAYOUTS, PartitionedGraphs
from edgewise.estimators import GraphTree, HeldOut, Penalized
from edgewise.estimators.covariates.tree_nodes import TreeNode
from edgewise.metrics import edge_metrics
from studies import tables
from studies.figures import BLUE, COLORS, name_outer, panels
from studies.study import Claim, Part, Report, Row, combinations

N_SAMPLES: Final = 10_000
#: Covariates that the network depends on.
N_RELEVANT: Final = 2
#: Section 3.3: halves, a mean in every cell, any gain will do, and the first that is none ends it.
RECIPE: Final[dict[str, Any]] = {
    "criterion": HeldOut(min_gain=0, exchange=False),
    "search": "halving",
    "lookahead": 0,
    "split_for": "all",
    "mean": "leaf",
}
PUBLISHED: Final = "published rule"
COMMON: Final = "the same, one mean for all"
PENALIZED: Final = "the same, penalised"
AHEAD: Final = "one mean, looking ahead"
SHIPPED: Final = "`GraphTree()`"
RULES: Final[dict[str, dict[str, Any]]] = {
    PUBLISHED: RECIPE,
    COMMON: {**RECIPE, "mean": "global"},
    PENALIZED: {**RECIPE, "criterion": Penalized()},
    AHEAD: {"search": "halving", "mean": "global", "split_for": "all"},
    SHIPPED: {},
}
#: Data sets of either layout that the default, ten times as dear as the others, is fitted to.
N_SHIPPED: Final = 15
#: The rule of Table 1 and of the figures: of those that stop at once, the one that finds most.
SHOWN: Final = COMMON
#: What the paper may have done: it estimates a mean in every cell, and knows that they are 0.
SETTINGS: Final = {PUBLISHED: "a mean in every cell", COMMON: "means known to be the same"}
DRAWN: Final = (PUBLISHED, COMMON, SHIPPED)
SIZES: Final = {1 / 64: "small", 1 / 16: "middle", 1 / 4: "large"}
#: Kinds of rows: one per fit, one per true cell of a fit, one per leaf of the fits to be drawn.
FIT: Final = "fit"
CELL: Final = "cell"
LEAF: Final = "leaf"
LEAF_COLUMNS: Final = ["left", "right", "lower", "upper", "edges"]
MEASURES: Final = ("precision", "recall", "f1")


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets; half of them have either layout."""
    return combinations(layout=PARTITION_LAYOUTS, repetition=range(1 if quick else 50))


def run_task(
    rng: np.random.Generator, *, layout: str, repetition: int, n_samples: int = N_SAMPLES
) -> list[Row]:
    """Draw the rows and grow a tree by each rule."""
    data = make_tree_partition(n_samples, layout=layout, rng=rng)  # type: ignore[arg-type]
    # Permutations of the rules that have some.
    seed = int(rng.integers(2**31))
    rows = []
    for rule, options in RULES.items():
        if rule == SHIPPED and repetition >= N_SHIPPED:
            continue
        start = time.process_time()
        tree = GraphTree(scale=(0, 1), random_state=seed, **options)
        tree.fit(data.X, data.Y, data.X_val, data.Y_val)
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
        "f1": _f1_of_rows(tree, data),
        "n_cells": tree.n_iter_,
        "root_edges": tree.graph_.n_edges,
        "parent_edges": _mean_edges(parents),
        "leaf_edges": _mean_edges(tree.leaves_),
        "risks": json.dumps(np.round(tree.risk_path_, 5).tolist()),
    }


def _f1_of_rows(tree: GraphTree, data: PartitionedGraphs) -> float:
    """F1 of the graph of a row's leaf against that of its cell, the mean over validation rows."""
    pairs, counts = np.unique(
        np.column_stack([data.graph_val, tree.apply(data.X_val)]), axis=0, return_counts=True
    )
    f1 = [
        edge_metrics(data.adjacencies[cell], tree.leaves_[leaf].graph.adjacency).f1
        for cell, leaf in pairs.tolist()
    ]
    return float(np.average(f1, weights=counts))


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
            about = {"cell": cell, "size": SIZES[float(data.areas[cell])]}
            rows.append(about | {name: getattr(found, name) for name in MEASURES})
    return rows


def _leaf_boxes(tree: GraphTree) -> list[Row]:
    """Leaves as rectangles of the first two covariates."""
    return [
        dict(zip(LEAF_COLUMNS, (*leaf.box["x0"], *leaf.box["x1"], leaf.graph.n_edges), strict=True))
        for leaf in tree.leaves_
    ]


#: Table 1 of the paper, the mean of two cells of each size.
PUBLISHED_SCORES: Final = {
    "small": (0.838, 0.794, 0.790),
    "middle": (0.984, 1.000, 0.991),
    "large": (0.990, 1.000, 0.993),
}
PUBLISHED_EXACT: Final = 82
#: What a share of exact partitions, and F1 by size, should at least be.
EXACT_BAR: Final = 0.75
F1_BARS: Final = {"small": 0.76, "middle": 0.98, "large": 0.98}
#: Share of the splits, the most valuable ones, that count as the first few.
FIRST_SPLITS: Final = 1 / 3

EDGES: Final = ["root_edges", "parent_edges", "leaf_edges"]


def report(frame: pd.DataFrame) -> Report:
    """Set out partitions and graphs, and judge what the paper says of them."""
    fits = tables.rows_of(frame, kind=FIT)
    exact = exact_cells(fits, tables.rows_of(frame, kind=CELL))
    layouts = fits[fits["rule"] == SHOWN].groupby("layout", sort=False)[EDGES]
    edges = {(layout, name): part[name] for layout, part in layouts for name in EDGES}
    header = ["layout", "all rows", "parents of two leaves", "leaves"]
    keys = [(layout,) for layout in PARTITION_LAYOUTS if (layout, EDGES[0]) in edges]
    text = tables.fill(
        __package__,
        "partition",
        n_samples=N_SAMPLES,
        partitions=_partitions(fits),
        table_1=_table_1(exact),
        edges=tables.means_table(header, keys, [(name,) for name in EDGES], edges, 1),
    )
    return Report(text, (*_tree_claims(fits), _graphs(exact), *_edge_claims(fits)))


def fits_of(fits: pd.DataFrame, rule: str) -> pd.DataFrame:
    """Rows of the fits by one rule."""
    return tables.rows_of(fits, kind=FIT, rule=rule)


def exact_cells(fits: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Cells of the trees that are shown whose partition is exact."""
    shown = fits_of(fits, SHOWN)
    tasks = shown.loc[shown["is_exact"].astype(bool), "task"]
    return cells[(cells["rule"] == SHOWN) & cells["task"].isin(tasks)]


def _partitions(fits: pd.DataFrame) -> str:
    rows = []
    for rule, layout in product(RULES, PARTITION_LAYOUTS):
        part = tables.rows_of(fits, rule=rule, layout=layout)
        counts = [int(part["is_exact"].sum()), int((part["n_irrelevant"] > 0).sum())]
        cells = [f"{count} of {len(part)}" for count in counts]
        cells += [tables.mean_and_error(part["f1"])]
        cells += [tables.mean_and_error(part["n_leaves"], 1), f"{part['n_cells'].mean():.0f}"]
        rows.append([rule, layout, *cells, f"{part['seconds'].median():.2f}"])
    header = [
        "rule", "layout", "exact", "irrelevant split", "F1 per row", "leaves", "cells",
        "CPU s, median",
    ]  # fmt: skip
    return tables.markdown_table(header, rows)


def _table_1(exact: pd.DataFrame) -> str:
    rows = []
    for size, published in PUBLISHED_SCORES.items():
        part = exact[exact["size"] == size]
        for name, figure in zip(MEASURES, published, strict=True):
            ours = f"{part[name].mean():.3f} ({part[name].std():.2f})"
            rows.append([size, name, ours if len(part) > 1 else "no exact run", f"{figure:.3f}"])
    return tables.markdown_table(["cells", "measure", "here", "published"], rows)


def _tree_claims(fits: pd.DataFrame) -> list[Claim]:
    exact = {rule: fits_of(fits, rule)["is_exact"].astype(bool) for rule in SETTINGS}
    wrong = {rule: fits_of(fits, rule)["n_irrelevant"] > 0 for rule in SETTINGS}
    f1 = {rule: fits_of(fits, rule)["f1"].to_numpy() for rule in (PUBLISHED, PENALIZED)}
    lead = f1[PUBLISHED] - f1[PENALIZED]
    return [
        *(
            Claim(
                f"The partition is recovered exactly in {PUBLISHED_EXACT} of 100 runs ({setting}).",
                f"Exact partitions: {_count(exact[rule], rule)}.",
                tables.verdict([[bool(exact[rule].mean() >= EXACT_BAR)]]),
            )
            for rule, setting in SETTINGS.items()
        ),
        *(
            Claim(
                f"The tree never splits on a covariate that does not matter ({setting}).",
                f"Runs with such a split: {_count(wrong[rule], rule)}.",
                tables.verdict([[not wrong[rule].any()]]),
            )
            for rule, setting in SETTINGS.items()
        ),
        Claim(
            "The held-out form is empirically superior to the penalised one.",
            "F1 per row: "
            + tables.listed({rule: tables.mean_and_error(found) for rule, found in f1.items()})
            + f"; exact partitions: {_count(exact[PUBLISHED], PUBLISHED)}, "
            + _count(fits_of(fits, PENALIZED)["is_exact"].astype(bool), PENALIZED)
            + ".",
            tables.verdict([[tables.is_clearly_positive(lead)]]),
        ),
    ]


def _count(found: pd.Series, rule: str) -> str:
    return f"{int(found.sum())} of {len(found)} ({rule})"


def _graphs(exact: pd.DataFrame) -> Claim:
    cases = []
    for size, bar in F1_BARS.items():
        mean = exact.loc[exact["size"] == size, "f1"].sum() / max(1, (exact["size"] == size).sum())
        published = PUBLISHED_SCORES[size][2]
        words = f"{mean:.3f} in {size} cells (published {published:.3f})"
        cases.append(([bool(mean >= bar)], words))
    return tables.judge(
        "Graphs of large and middle cells are recovered almost perfectly, those of small cells "
        "fairly well (Table 1).",
        "F1 where the partition is exact",
        cases,
    )


def _edge_claims(fits: pd.DataFrame) -> list[Claim]:
    shown = fits_of(fits, SHOWN)
    root, parent, leaf = shown[EDGES].mean()
    denser = float((shown["parent_edges"] > shown["leaf_edges"]).mean())
    shares = [share_of_first(risks) for risks in risk_paths(fits) if len(risks) > 1]
    first = float(np.mean(shares)) if shares else 0.0
    return [
        Claim(
            "The graph of all rows is highly dense; graphs get sparser down the tree, but the "
            "parents of the true cells have denser ones again.",
            f"Edges: {root:.1f} of all rows, {parent:.1f} in parents of two leaves, {leaf:.1f} in "
            f"leaves. Parents have more than leaves in {denser:.0%} of the runs.",
            tables.verdict([[bool(root > 2 * leaf)], [denser >= 0.5]]),
        ),
        Claim(
            "The first few splits lead to the most significant decrease in held-out risk.",
            f"The first third of the splits, best first, brings {first:.0%} of the decrease.",
            tables.verdict([[first > 0.5]]),
        ),
    ]


def risk_paths(fits: pd.DataFrame) -> list[FloatArray]:
    """Risk by number of leaves, one array per tree that is shown."""
    return [np.array(json.loads(text)) for text in fits_of(fits, SHOWN)["risks"]]


def share_of_first(risks: FloatArray) -> float:
    """Share of the decrease in risk that the first third of the splits brings."""
    n_first = max(1, round(FIRST_SPLITS * (len(risks) - 1)))
    return float((risks[0] - risks[n_first]) / (risks[0] - risks[-1]))


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Draw the leaves of the first trees, and the risk along all of them."""
    return {
        "partitions": draw_partitions(tables.rows_of(frame, kind=LEAF)),
        "risk": draw_risk(frame),
    }


def draw_partitions(leaves: pd.DataFrame) -> Figure:
    """Leaves of the first trees in the plane of the two covariates that matter."""
    shape = len(PARTITION_LAYOUTS), len(DRAWN)
    figure, axes = panels(*shape, (12, 8), grid=None, sharex=True, sharey=True)
    for ax, (layout, rule) in zip(axes.flat, product(PARTITION_LAYOUTS, DRAWN), strict=True):
        part = tables.rows_of(leaves, layout=layout, rule=rule)
        for left, right, lower, upper, edges in part[LEAF_COLUMNS].astype(float).to_numpy():
            box = Rectangle((left, lower), right - left, upper - lower, linewidth=1.2)
            box.set(facecolor="#EAF2F8", edgecolor=BLUE)
            ax.add_patch(box)
            center = (left + right) / 2, (lower + upper) / 2
            ax.annotate(f"{edges:.0f}", center, ha="center", va="center", fontsize=8)
        title = f"{layout}, {rule}: {len(part)} leaves"
        ax.set(title=title, aspect="equal", xlim=(0, 1), ylim=(0, 1))
    name_outer(axes, "first covariate", "second covariate")
    figure.suptitle("Leaves and the edges of their graphs; the truth has 22 cells, 10 edges each")
    return figure


def draw_risk(frame: pd.DataFrame) -> Figure:
    """Held-out risk against the number of splits, best first, one line per run."""
    figure, ((ax,),) = panels(1, 1, (6.5, 4))
    for layout, color in zip(PARTITION_LAYOUTS, COLORS, strict=False):
        for k, risks in enumerate(risk_paths(tables.rows_of(frame, layout=layout))):
            label = layout if k == 0 else None
            ax.plot(risks - risks[0], color=color, alpha=0.35, linewidth=0.9, label=label)
    ax.set(xlabel="splits, the most valuable first", ylabel="risk, less that of no split")
    ax.legend(fontsize=10)
    return figure


PART = Part(name="partition", tasks=list_tasks, run=run_task, report=report, figures=draw)


#: What changes with the first covariate, and where; a shift of means is no change of the network.
NOTHING: Final = "nothing"
MEANS: Final = "means only"
HALF: Final = "network at the middle"
ELSEWHERE: Final = "network elsewhere"
TRUTHS: Final = (NOTHING, MEANS, HALF, ELSEWHERE)
SAMPLES: Final = (150, 400, 1000)
N_NEW: Final = 1000
N_COVARIATES: Final = 3
N_RESPONSES: Final = 6
PEER: Final = "scikit-learn's tree on moments"
CUT_RULES: Final[dict[str, dict[str, Any]]] = {
    "`GraphTree()`": {},
    '`search="halving"`': {"search": "halving"},
    "one network": {"max_depth": 0},
}


def list_cuts(quick: bool) -> list[Row]:
    """List truths, numbers of rows and draws."""
    samples = SAMPLES[:2] if quick else SAMPLES
    return combinations(truth=TRUTHS, n_samples=samples, draw=range(5 if quick else 20))


def run_cuts(rng: np.random.Generator, *, truth: str, n_samples: int, draw: int) -> list[Row]:
    """Grow a tree by each rule, and judge it by new rows."""
    cut = {HALF: 0.5, ELSEWHERE: float(rng.choice([0.2, 0.3, 0.7, 0.8]))}.get(truth, math.nan)
    X, Y = draw_rows(truth, 0.5 if math.isnan(cut) else cut, n_samples + N_NEW, rng)
    new = X[n_samples:], Y[n_samples:]
    X, Y = X[:n_samples], Y[:n_samples]
    rows = []
    for rule, options in CUT_RULES.items():
        began = time.process_time()
        tree = GraphTree(scale=(0, 1), random_state=draw, **options).fit(X, Y)
        seconds = time.process_time() - began
        first = tree.nodes_[0].split
        at = math.nan
        if first is not None and first.column == 0 and first.cut is not None:
            at = first.cut
        found = {
            "is_split": first is not None,
            "error": abs(at - cut),
            "score": tree.score(*new),
            "seconds": seconds,
        }
        rows.append({"rule": rule, **found})
    began = time.process_time()
    found = peer(X, Y, *new, cut)
    rows.append({"rule": PEER, **found, "seconds": time.process_time() - began})
    return rows


def draw_rows(
    truth: str, cut: float, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw rows; beyond the cut, two links of a chain change their sign, or means shift."""
    X = rng.uniform(size=(n, N_COVARIATES))
    Y = rng.normal(size=(n, N_RESPONSES))
    is_beyond = X[:, 0] > cut
    sign = np.where(is_beyond & (truth in (HALF, ELSEWHERE)), -1.0, 1.0)
    for k in (1, 2):
        Y[:, k] += 0.6 * sign * Y[:, k - 1]
    if truth == MEANS:
        Y += np.outer(is_beyond, np.linspace(-1.0, 1.0, N_RESPONSES))
    return X, Y


def peer(X: FloatArray, Y: FloatArray, X_new: FloatArray, Y_new: FloatArray, cut: float) -> Row:
    """Grow a regression tree of all products, with the leaves that validation rows like best.

    Each leaf has the mean and the covariance of its rows, which all rows have a say in.
    """
    from sklearn.tree import DecisionTreeRegressor

    half = len(Y) // 2
    Z = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    above = np.triu_indices(Y.shape[1])
    moments = np.hstack([Z, Z[:, above[0]] * Z[:, above[1]]])
    best: tuple[float, Any] = (-math.inf, None)
    for n_leaves in range(2, 9):
        tree = DecisionTreeRegressor(max_leaf_nodes=n_leaves, min_samples_leaf=10, random_state=0)
        tree.fit(X[:half], moments[:half])
        score = leaf_score(tree.apply, (X[:half], Y[:half]), (X[half:], Y[half:]))
        if score > best[0]:
            best = score, tree
    alone = leaf_score(lambda rows: np.zeros(len(rows)), (X[:half], Y[:half]), (X[half:], Y[half:]))
    is_split = best[0] > alone
    apply = best[1].apply if is_split else lambda rows: np.zeros(len(rows))
    root = best[1].tree_
    is_right = is_split and root.feature[0] == 0
    return {
        "is_split": is_split,
        "error": abs(float(root.threshold[0]) - cut) if is_right else math.nan,
        "score": leaf_score(apply, (X, Y), (X_new, Y_new)),
    }


def leaf_score(apply: Any, fitted: tuple[FloatArray, ...], new: tuple[FloatArray, ...]) -> float:
    """Mean log-likelihood of new rows under the Gaussian of the rows in their leaf."""
    (X, Y), (X_new, Y_new) = fitted, new
    leaf, new_leaf = apply(X), apply(X_new)
    p = Y.shape[1]
    whole = np.cov(Y.T, bias=True)
    total = 0.0
    for number in np.unique(new_leaf):
        rows, others = Y[leaf == number], Y_new[new_leaf == number]
        scatter = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
        S = (scatter + p * whole) / (len(rows) + p)
        deviation = others - rows.mean(axis=0)
        distance = np.einsum("ij,jk,ik->", deviation, np.linalg.inv(S), deviation)
        logdet = np.linalg.slogdet(S)[1] + p * math.log(2.0 * math.pi)
        total -= 0.5 * float(len(others) * logdet + distance)
    return total / len(Y_new)


def report_cuts(frame: pd.DataFrame) -> Report:
    """Set out how often each rule splits, how far the first cut is off, and the likelihood."""
    rows = []
    for (truth, n, rule), part in frame.groupby(["truth", "n_samples", "rule"], sort=False):
        error = part["error"].astype(float).median()
        rows.append(
            [
                str(truth),
                str(n),
                str(rule),
                f"{part['is_split'].astype(bool).mean():.0%}",
                "" if math.isnan(error) else f"{error:.3f}",
                tables.mean_and_error(part["score"]),
                f"{part['seconds'].median():.2f}",
            ]
        )
    header = ["what changes", "rows", "rule", "splits", "cut off by", "log-likelihood", "CPU s"]
    table = tables.markdown_table(header, rows)
    return Report(tables.fill(__package__, "cuts", n=frame["task"].nunique(), table=table))


CUTS = Part(name="cuts", tasks=list_cuts, run=run_cuts, report=report_cuts)
