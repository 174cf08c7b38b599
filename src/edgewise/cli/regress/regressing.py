"""From covariates and responses to a tree of networks: what `regress` and `demo` share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgewise._core.errors import InputError
from edgewise.cli.learn.learning import parameters_of, run_record

if TYPE_CHECKING:
    import pandas as pd

    from edgewise._core.typing import BoolArray
    from edgewise.estimators import GraphTree


@dataclass(frozen=True, kw_only=True)
class TreeSettings:
    """How to grow the tree; None leaves a parameter at its default."""

    criterion: str = "heldout"
    search: str = "greedy"
    grow_risk: str = "l1"
    mean: str = "global"
    scale: str = "range"
    max_depth: int = 10
    min_samples_leaf: int = 10
    lookahead: int | None = None
    gamma: float | None = None
    min_gain: float | None = None
    max_total_depth: int | None = None
    seed: int = 0
    n_jobs: int = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Regressed:
    """What was found.

    Attributes
    ----------
    tree : GraphTree
        The tree.
    X : DataFrame
        Covariates of all rows.
    leaves : DataFrame
        One row per leaf: where it is, how many rows and edges it has.
    edges : DataFrame
        Edges of all leaves.
    hidden : DataFrame
        Edges of leaves that the network of all rows has not.
    seconds : float
        Time that it took.
    """

    tree: GraphTree
    X: pd.DataFrame
    leaves: pd.DataFrame
    edges: pd.DataFrame
    hidden: pd.DataFrame
    seconds: float


def regress_rows(
    X: pd.DataFrame, Y: pd.DataFrame, settings: TreeSettings, held_out: BoolArray | None = None
) -> Regressed:
    """Grow the tree, and list what its leaves are."""
    from edgewise.estimators import GraphTree

    if settings.n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning. Pass 1 or more, or -1 for all cores.")
    given = {
        name: value
        for name in ("lookahead", "gamma", "min_gain", "max_total_depth")
        if (value := getattr(settings, name)) is not None
    }
    tree = GraphTree(
        criterion=settings.criterion,
        search=settings.search,
        grow_risk=settings.grow_risk,
        mean=settings.mean,
        scale=settings.scale,
        max_depth=settings.max_depth,
        min_samples_leaf=settings.min_samples_leaf,
        random_state=settings.seed,
        n_jobs=settings.n_jobs,
        **given,
    )
    start = time.perf_counter()
    if held_out is None:
        tree.fit(X, Y)
    else:
        tree.fit(X[~held_out], Y[~held_out], X[held_out], Y[held_out])
    edges = list_edges(tree)
    return Regressed(
        tree=tree,
        X=X,
        leaves=list_leaves(tree),
        edges=edges,
        hidden=hidden_edges(tree, edges),
        seconds=time.perf_counter() - start,
    )


def list_leaves(tree: GraphTree) -> pd.DataFrame:
    """One row per leaf: where it lies, in words and in numbers, and what it holds."""
    import pandas as pd

    rows = []
    for leaf in tree.leaves_:
        row: dict[str, Any] = {
            "leaf": leaf.leaf,
            "where": where(tree, leaf.box),
            "n_rows": leaf.n,
            "n_judges": leaf.n_validation,
            "n_edges": leaf.graph.n_edges,
            "alpha": leaf.alpha,
            "is_refit": leaf.is_refit,
        }
        for covariate in tree.covariates_:
            inside = leaf.box[covariate.name]
            if covariate.kind == "numeric":
                row[f"{covariate.name}_from"], row[f"{covariate.name}_to"] = inside
            else:
                row[covariate.name] = "|".join(map(str, inside))
        rows.append(row)
    return pd.DataFrame(rows)


def where(tree: GraphTree, box: dict[str, Any]) -> str:
    """Say in words where a leaf lies, leaving out what does not bound it."""
    words = []
    for covariate in tree.covariates_:
        name, inside = covariate.name, box[covariate.name]
        if covariate.kind != "numeric":
            whole = ("False", "True") if covariate.kind == "boolean" else covariate.levels
            if len(inside) < len(whole):
                words.append(f"{name} is {' or '.join(map(str, inside))}")
            continue
        lower, upper = (float(end) for end in inside)
        has_lower, has_upper = lower > covariate.lower, upper < covariate.upper
        if has_lower and has_upper:
            words.append(f"{lower:.5g} < {name} <= {upper:.5g}")
        elif has_lower:
            words.append(f"{name} > {lower:.5g}")
        elif has_upper:
            words.append(f"{name} <= {upper:.5g}")
    return ", ".join(words) or "all rows"


def list_edges(tree: GraphTree) -> pd.DataFrame:
    """Edges of all leaves, with whether the network of all rows has them."""
    import pandas as pd

    pooled = tree.graph_
    place = {name: k for k, name in enumerate(pooled.names)}
    tables = []
    for leaf in tree.leaves_:
        edges = leaf.graph.edges()[["source", "target", "weight"]]
        ends = [[place[name] for name in edges[end]] for end in ("source", "target")]
        found = pooled.adjacency[ends[0], ends[1]]
        tables.append(edges.assign(in_whole=found).assign(leaf=leaf.leaf))
    table = pd.concat(tables, ignore_index=True)
    return table[["leaf", "source", "target", "weight", "in_whole"]]


def hidden_edges(tree: GraphTree, edges: pd.DataFrame) -> pd.DataFrame:
    """Edges that vanish when all rows are taken together, those of most rows first."""
    import numpy as np

    gone = edges[~edges["in_whole"]]
    n_rows = np.array([leaf.n for leaf in tree.leaves_])
    share = n_rows[gone["leaf"]] / n_rows.sum()
    table = gone.assign(share=share, positive=gone["weight"] > 0, size=gone["weight"].abs())
    counted = table.groupby(["source", "target"], sort=False).agg(
        n_leaves=("leaf", "size"),
        n_positive=("positive", "sum"),
        share_of_rows=("share", "sum"),
        mean_size=("size", "mean"),
    )
    order = ["share_of_rows", "mean_size"]
    return counted.sort_values(order, ascending=False, kind="stable").reset_index()


def tree_record(
    regressed: Regressed,
    settings: TreeSettings,
    *,
    command: str,
    data: dict[str, Any],
    treatment: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather what is needed to tell, and to repeat, what a run did."""
    tree = regressed.tree
    splits = tree.split_report()
    found: dict[str, Any] = {
        "covariates": [covariate.name for covariate in tree.covariates_],
        "n_leaves": len(tree.leaves_),
        "risk": float(tree.risk_),
        "risk_of_one_network": float(tree.risk_path_[0]),
        "n_cells": int(tree.n_iter_),
        "leaves": regressed.leaves[["leaf", "where", "n_rows", "n_edges"]].to_dict("records"),
        "splits": splits[["covariate", "condition", "n", "gain"]].to_dict("records"),
    }
    return run_record(
        command=command,
        seed=settings.seed,
        parameters=parameters_of(tree),
        data=data,
        treatment=[*treatment, *tree.treatment_],
        warnings=warnings,
        graph=tree.graph_,
        found=found,
        seconds=regressed.seconds,
    )
