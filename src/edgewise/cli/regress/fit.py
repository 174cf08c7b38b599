"""From covariates and responses to a tree of networks: what `regress` and `demo` share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.compare.groups import short_rows
from edgewise.cli.learn.fit import parameters_of, run_record
from edgewise.cli.shell import in_options
from edgewise.cli.wording import count, pair_names, short_name

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise._core.typing import BoolArray
    from edgewise.estimators import GraphTree
    from edgewise.report import Report


#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "tree.png": "The tree, with the network of every leaf",
    "partition.png": "Where the leaves lie",
    "map.png": "Leaves on the map",
    "risk.png": "What the splits gain",
}
#: A tree with more leaves than this is not drawn.
MOST_DRAWN: Final = 100


def write_regressed(
    folder: Path, regressed: Regressed, text: str, record: dict[str, Any]
) -> Report:
    """Write everything that `regress` leaves behind, and return what its page says."""
    from edgewise.cli.run import report_of, write_results, write_table

    tree, figures = regressed.tree, pictures(regressed)
    report = report_of(
        text,
        graph=tree.graph_,
        model=tree,
        record=record,
        figures=figures,
        words=ALT,
        tables={"Leaves": regressed.leaves},
        finding=first_split(regressed),
    )
    write_results(folder, report, model=tree, figures=figures)
    write_table(regressed.leaves, folder / "leaves.csv")
    # In place of the edges of the one network for all rows, which graph.graphml has.
    write_table(regressed.edges, folder / "edges.csv")
    write_table(tree.split_report(), folder / "splits.csv")
    (folder / "tree.txt").write_text(tree.export_text(), encoding="utf-8")
    for leaf in tree.leaves_:
        leaf.graph.write(folder / f"leaf-{leaf.leaf}.graphml")
    return report


def pictures(regressed: Regressed) -> dict[str, Figure | SubFigure]:
    """Draw the tree, what its splits gain and, where there are columns for it, where leaves lie."""
    from edgewise.plot import plot_leaf_map, plot_partition, plot_tree, plot_tree_risk
    from edgewise.plot.partition import has_place

    tree = regressed.tree
    drawn: dict[str, Figure | SubFigure] = {"risk.png": plot_tree_risk(tree).figure}
    if len(tree.leaves_) <= MOST_DRAWN:
        drawn["tree.png"] = plot_tree(tree).figure
    if sum(covariate.kind == "numeric" for covariate in tree.covariates_) >= 2:
        drawn["partition.png"] = plot_partition(tree).figure
    if has_place(tree):
        drawn["map.png"] = plot_leaf_map(tree, regressed.X).figure
    return drawn


#: Lines of a tree, and edges hidden in the whole, that are written out.
LINES, SHOWN = 60, 5
#: Share of the rows that an edge must be there for, to be worth a word.
COMMON: Final = 0.5


def tree_summary(regressed: Regressed, source: str, data: dict[str, Any]) -> str:
    """Tell how many networks there are, what they gain, the tree, and what one network hides."""
    tree = regressed.tree
    n_leaves = len(tree.leaves_)
    columns = _listed([short_name(covariate.name) for covariate in tree.covariates_])
    head = f"{count(n_leaves, 'network')} of {len(tree.response_names_)} columns by {columns}"
    head = f"{head} in {source} ({data['n_samples']} rows)"
    if n_leaves == 1:
        return "\n".join([head, "", *_no_split(regressed)])
    return "\n".join(
        [
            head,
            "",
            _gain(regressed),
            *_reason(regressed),
            "",
            *short_rows(tree.export_text().rstrip().splitlines(), LINES, "tree.txt"),
            *_hidden(regressed),
            *_unused(regressed),
        ]
    )


def first_split(regressed: Regressed) -> str:
    """Name the covariate that matters first, for a headline."""
    split = regressed.tree.nodes_[0].split
    if split is None:
        return ""
    place = f" at {split.cut:.4g}" if split.cut is not None else f", {split.level} or not"
    return f"the first split is by {short_name(split.covariate)}{place}"


def _gain(regressed: Regressed) -> str:
    tree = regressed.tree
    judged = "training rows" if tree.criterion == "penalized" else "held-out rows"
    return (
        f"Risk of {judged}: {tree.risk_path_[0]:.4g} with one network, {tree.risk_:.4g} with "
        f"{len(tree.leaves_)}"
    )


def _reason(regressed: Regressed) -> list[str]:
    """Say which part of the responses the splits live on."""
    splits = regressed.tree.split_report()
    gain = splits["gain"].clip(lower=0.0)
    if not gain.sum() > 0:
        return []
    parts = {
        name: float((splits[name].fillna(0.0) * gain).sum() / gain.sum())
        for name in ("mean", "variances", "graph")
    }
    shares = ", ".join(f"{name} {share:.0%}" for name, share in parts.items())
    return [f"Where that comes from: {shares}"]


def _no_split(regressed: Regressed) -> list[str]:
    tree = regressed.tree
    found = "As far as these rows can tell, the network does not vary: no split lowers the risk."
    if not any(covariate.is_tried for covariate in tree.covariates_):
        found = "No split could be tried, so that these rows do not tell how the network varies."
    edges = f"The network of all rows has {count(tree.graph_.n_edges, 'edge')}."
    return [found, *_untried(regressed), edges]


def _untried(regressed: Regressed) -> list[str]:
    """Say why covariates were not tried."""
    from edgewise.estimators.covariates.tree_fit import UNTRIED

    notes = [note for note in regressed.tree.treatment_ if note.startswith(UNTRIED)]
    return [f"{UNTRIED.capitalize()}{in_options(note.removeprefix(UNTRIED))}." for note in notes]


def _hidden(regressed: Regressed) -> list[str]:
    """List edges of most leaves that one network for all rows would not show."""
    hidden = regressed.hidden
    common = hidden[hidden["share_of_rows"] >= COMMON].head(SHOWN)
    if not len(common):
        return []
    n_leaves = len(regressed.tree.leaves_)
    lines = [
        f"  {pair}  in {row.n_leaves} of {n_leaves}, {row.n_positive} times positive"
        for pair, row in zip(pair_names(common), common.itertuples(), strict=True)
    ]
    return ["", "Edges of most parts that vanish in one network for all rows:", *lines]


def _unused(regressed: Regressed) -> list[str]:
    tree = regressed.tree
    used = {node.split.covariate for node in tree.nodes_ if node.split is not None}
    rest = [one for one in tree.covariates_ if one.is_tried and one.name not in used]
    names = [short_name(one.name) for one in rest]
    lines = [f"The network does not vary with {_listed(names, 'or')}."] if names else []
    lines += _untried(regressed)
    return ["", *lines] if lines else []


def _listed(names: list[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


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
