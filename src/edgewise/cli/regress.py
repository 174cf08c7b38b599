"""``edgewise regress``: networks that vary with covariates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import typer

from edgewise._core.errors import InputError
from edgewise.cli.dependence import AS_THEY_ARE, about_order, along, in_days, settled
from edgewise.cli.gaps import COMPLETE_ROWS, treat_missing
from edgewise.cli.input import Source, read_columns
from edgewise.cli.options import (
    Dask,
    DataFile,
    Drop,
    Formats,
    Jobs,
    Json,
    OutFolder,
    Quiet,
    Seed,
    given,
    settings,
    settings_option,
)
from edgewise.cli.run import EDGES, Result
from edgewise.cli.shell import in_options, options_given
from edgewise.cli.wording import (
    about_text,
    count,
    pair_names,
    parameters_of,
    short_name,
    short_rows,
    text_columns,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise._core.typing import BoolArray
    from edgewise.data.dependence import Dependence
    from edgewise.estimators import GraphTree

growth_option: Final = partial(typer.Option, rich_help_panel="Tree")

#: Seconds of a tree on one core by row and pair of columns: 5 for 1,000 x 100.
SECONDS_PER_PRODUCT: Final = 5e-7
#: Which score a split is validated by.
Criterion: TypeAlias = Literal["heldout", "penalized"]

#: How the tree is found.
Search: TypeAlias = Literal["greedy", "halving", "optimal"]

#: What a split must gain by.
SplitFor: TypeAlias = Literal["graph", "all"]

On: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--on",
        help=("Covariates of the network, separated by commas: numbers, dates or categories."),
        metavar="NAMES",
        show_default=False,
    ),
]
Responses: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Responses: the columns of the network, separated by commas.",
        metavar="NAMES",
        show_default="all others",
    ),
]
HeldOut: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help=("Boolean column that marks the validation rows."),
        metavar="COLUMN",
        show_default="half of the rows, by --seed",
    ),
]
SearchOption: TypeAlias = Annotated[
    Search,
    growth_option(
        "--search",
        help=(
            "Split each leaf where its rows differ most (greedy) or at the middle of a range "
            "(halving); or find the best dyadic tree (optimal)."
        ),
    ),
]
CriterionOption: TypeAlias = Annotated[
    Criterion,
    growth_option(
        "--criterion",
        help=("Choose the tree by held-out rows, or by a penalty per leaf (--set gamma)."),
    ),
]
SplitForOption: TypeAlias = Annotated[
    SplitFor,
    growth_option(
        "--split-for",
        help=("Split for changes of the network only, or also of means and variances."),
    ),
]
Depth: TypeAlias = Annotated[
    int,
    growth_option("--depth", help="Largest number of splits along each covariate."),
]
MinLeaf: TypeAlias = Annotated[
    int,
    growth_option("--min-leaf", help="Smallest number of rows of a leaf."),
]

Published: TypeAlias = Annotated[
    bool,
    growth_option(
        "--published",
        help=(
            "Use the published Go-CART rule: halve ranges, no lookahead, split for means, "
            "variances and network."
        ),
    ),
]
#: Options that make up the rule by which a tree grows.
RULE: Final = frozenset({"--search", "--criterion", "--split-for"})
RULE_SETTINGS: Final = frozenset({"gamma", "lookahead", "mean", "min_gain"})
#: Parameters of the estimator that ``--set`` takes.
SETTINGS: Final = (
    *("gamma", "lookahead", "min_gain", "mean", "grow_risk", "scale", "max_total_depth"),
)
Settings: TypeAlias = Annotated[list[str] | None, settings_option(*SETTINGS)]


def regress(
    data: DataFile,
    covariates: On,
    responses: Responses = None,
    drop: Drop = None,
    held_out: HeldOut = None,
    out: OutFolder = Path("edgewise-out"),
    formats: Formats = None,
    json: Json = False,
    quiet: Quiet = False,
    random_state: Seed = 0,
    n_jobs: Jobs = 1,
    dask: Dask = None,
    search: SearchOption = "greedy",
    criterion: CriterionOption = "heldout",
    split_for: SplitForOption = "graph",
    max_depth: Depth = 10,
    min_samples_leaf: MinLeaf = 10,
    published: Published = False,
    chosen_settings: Settings = None,
) -> None:
    """Learn how the network varies with covariates: a tree with a network per leaf (Go-CART).

    Writes the tree, its leaves and their networks, pictures, the model and a record of the run.
    """
    from edgewise.cli.run import run

    more = settings(chosen_settings, *SETTINGS)
    _check_together(search, criterion, more)
    if published and (both := sorted((options_given() & RULE) | (more.keys() & RULE_SETTINGS))):
        raise InputError("published_excludes", listed=", ".join(both))
    parameters = given(
        criterion=criterion,
        search=search,
        split_for=split_for,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        **more,
        random_state=random_state,
        n_jobs=n_jobs,
        published=published or None,
    )
    source, columns, is_validation = read_regression(
        data,
        on=covariates,
        responses=responses or (),
        drop=drop or (),
        held_out=held_out,
    )
    run(
        "regress",
        source,
        lambda: grow_tree(source, columns, parameters, is_validation),
        out,
        message=f"Growing a tree of networks on {source.extent}",
        seed=random_state,
        formats=formats or (),
        as_json=json,
        seconds=SECONDS_PER_PRODUCT * source.n_samples * source.n_features**2,
    )


def _check_together(search: Search, criterion: Criterion, more: Mapping[str, Any]) -> None:
    """Raise where a setting has no effect."""
    for name, option, is_fine in (
        ("lookahead", "--search greedy", search != "optimal"),
        ("gamma", "--criterion penalized", criterion == "penalized"),
        ("min_gain", "--criterion heldout", criterion == "heldout"),
    ):
        if name in more and not is_fine:
            raise InputError("option_for_option", name=name, option=option)


ON: Final = "--on"
HELD_OUT: Final = "--held-out"


def read_regression(
    path: Path,
    *,
    on: Sequence[str],
    responses: Sequence[str] = (),
    drop: Sequence[str] = (),
    held_out: str | None = None,
) -> tuple[Source, pd.DataFrame, BoolArray | None]:
    """Read responses, covariates and which rows validate from a file.

    Parameters
    ----------
    path : path
        The file.
    on, responses, drop : sequence of str
        Covariates; columns of the network (none: all others); columns to leave out.
    held_out : str, optional
        Column that marks the validation rows.
    """
    import pandas as pd

    reading = read_columns(
        path,
        columns=responses,
        drop=drop,
        apart={ON: on, HELD_OUT: [] if held_out is None else [held_out]},
        option="--responses",
    )
    covariates, marks = reading.apart[ON], reading.apart[HELD_OUT]
    if not covariates:
        raise InputError("on_names_nothing", option=ON)
    table = reading.table()
    if text_columns(table):
        raise InputError(about_text(path, table))
    reading, _ = treat_missing(in_days(reading, covariates), COMPLETE_ROWS)
    reading = settled(along(reading, covariates))
    table = reading.table()
    used = [*covariates, *reading.names, *marks]
    frame = pd.DataFrame({name: reading.column(name) for name in used})
    source = reading.source(
        table,
        frame[list(reading.names)].astype(float),
        on=covariates,
        held_out=held_out,
    )
    is_validation = None if held_out is None else _validation(frame[held_out], held_out)
    return source, frame[covariates], is_validation


def _validation(column: pd.Series, name: str) -> BoolArray:
    """Read which rows validate: two values, of which one means yes."""
    import numpy as np

    words = column.astype(str).str.strip().str.lower().str.removesuffix(".0")
    meaning = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if not words.isin(list(meaning)).all() or words.nunique() < 2:
        shown = ", ".join(sorted(words.unique())[:5])
        raise InputError("held_out_not_boolean", name=name, shown=shown)
    is_validation: BoolArray = words.map(meaning).to_numpy(dtype=np.bool_)
    return is_validation


#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "tree.png": "The tree, with the network of every leaf",
    "partition.png": "Where the leaves lie",
    "map.png": "Leaves on the map",
    "risk.png": "What the splits gain",
}
#: A tree with more leaves than this is not drawn.
MOST_DRAWN: Final = 100
#: Lines of a tree, and edges that the pooled network hides, that are written out.
LINES, SHOWN = 60, 5
#: Share of the rows that an edge must be there for, to be worth a word.
COMMON: Final = 0.5


def grow_tree(
    source: Source,
    covariates: pd.DataFrame,
    parameters: dict[str, Any],
    is_validation: BoolArray | None = None,
) -> Result:
    """Grow the tree, and list its leaves and their edges.

    Parameters
    ----------
    source : Source
        The responses: columns of the network.
    covariates : DataFrame
        Columns that it may vary with.
    parameters : dict
        Keywords of `GraphTree`, and ``gamma`` or ``min_gain`` of its criterion.
    is_validation : ndarray of bool, optional
        Rows that validate splits; by default half of them, by the seed.
    """
    from edgewise.estimators import GraphTree, HeldOut, Penalized

    given = dict(parameters)
    if given.pop("published", None):
        given |= {"criterion": HeldOut(min_gain=0, exchange=False), "search": "halving"}
        given |= {"lookahead": 0, "split_for": "all", "mean": "leaf"}
    gamma, min_gain = given.pop("gamma", None), given.pop("min_gain", None)
    if gamma is not None:
        given["criterion"] = Penalized(gamma)
    if min_gain is not None:
        given["criterion"] = HeldOut(min_gain)
    groups, notes = _together(source.dependence, covariates, is_validation)
    if groups is None and notes:
        given["max_depth"] = 0
    X, Y, tree = covariates, source.frame, GraphTree(**given)
    if is_validation is None:
        tree.fit(X, Y, groups=groups)
    else:
        tree.fit(X[~is_validation], Y[~is_validation], X[is_validation], Y[is_validation])
    leaves, edges, splits = list_leaves(tree), list_edges(tree), tree.split_report()
    return Result(
        model=tree,
        graph=tree.graph_,
        subject="The network of all rows",
        text=_summary(tree, edges, source),
        parameters=parameters_of(tree),
        found={
            "covariates": [covariate.name for covariate in tree.covariates_],
            "n_leaves": len(tree.leaves_),
            "n_groups": _n_groups(tree),
            "gain": tree.gain_,
            "risk": float(tree.risk_),
            "risk_of_one_network": float(tree.risk_path_[0]),
            "n_cells": int(tree.n_iter_),
            "leaves": leaves[["leaf", "where", "n_rows", "n_edges"]].to_dict("records"),
            "splits": splits[["covariate", "condition", "n", "gain"]].to_dict("records"),
        },
        notes=[*notes, *tree.treatment_],
        figures=lambda: _draw(tree, X),
        words=ALT,
        tables={
            "tree.txt": tree.export_text(),
            "leaves.csv": leaves,
            "splits.csv": splits,
            "groups.csv": list_groups(tree),
            # In place of the edges of the pooled network, which graph.graphml has.
            EDGES: edges,
        },
        networks={f"leaf-{leaf.leaf}.graphml": leaf.graph for leaf in tree.leaves_},
        shown={"Leaves": leaves},
        finding=_first_split(tree),
        rows=("edges", edges),
    )


def _together(
    found: Dependence | None, covariates: pd.DataFrame, is_validation: BoolArray | None
) -> tuple[Any, list[str]]:
    """Choose which rows are set aside and permuted together; nothing where there are too few."""
    import numpy as np

    n = len(covariates)
    if found is None or found.kind == "independent" or is_validation is not None:
        return None, []
    if found.kind == "clusters":
        each = covariates.groupby(found.member).nunique(dropna=False)
        if (each.to_numpy() == 1).all():
            note = f"whole '{found.cluster}' are held out and permuted"
            return found.member, [note]
        # What varies within clusters is tested within them, centred or not.
        return None, []
    length = found.block_length(n)
    blocks = np.arange(n) // length
    held = f"blocks of {length} rows are held out and permuted"
    if found.length is not None:
        return blocks, [f"{held}, as --blocks asks"]
    if not found.order.has_blocks(n):
        why = f"{about_order(found.order)}, too long for tests of {n} rows"
        return None, [f"{why}, so that the tree has no split; {AS_THEY_ARE}"]
    return blocks, [f"{about_order(found.order)}: {held}; {AS_THEY_ARE}"]


def _draw(tree: GraphTree, X: pd.DataFrame) -> dict[str, Figure | SubFigure]:
    """Draw the tree, what its splits gain and, where there are columns for it, where leaves lie."""
    from edgewise.plot import plot_leaf_map, plot_tree
    from edgewise.plot.partition import has_place, plot_partition
    from edgewise.plot.tree import plot_tree_risk

    drawn: dict[str, Figure | SubFigure] = {}
    if len(tree.leaves_) <= MOST_DRAWN:
        drawn["tree.png"] = plot_tree(tree).figure
    if sum(covariate.kind == "numeric" for covariate in tree.covariates_) >= 2:
        drawn["partition.png"] = plot_partition(tree).figure
    if has_place(tree):
        drawn["map.png"] = plot_leaf_map(tree, X).figure
    return {**drawn, "risk.png": plot_tree_risk(tree).figure}


def _summary(tree: GraphTree, edges: pd.DataFrame, source: Source) -> str:
    """Tell how many networks there are, what they gain, the tree, and what pooling hides."""
    n_leaves = len(tree.leaves_)
    columns = _listed([short_name(covariate.name) for covariate in tree.covariates_])
    head = f"{count(n_leaves, 'network')} of {len(tree.response_names_)} columns by {columns}"
    head = f"{head} in {source.name} ({source.n_samples} rows)"
    if n_leaves == 1:
        return "\n".join([head, "", *_no_split(tree), *_taken_off(tree), *_reason(tree)])
    return "\n".join(
        [
            head,
            "",
            *_taken_off(tree),
            _gain(tree),
            *_reason(tree),
            "",
            *short_rows(tree.export_text().rstrip().splitlines(), LINES, "tree.txt"),
            *_hidden(tree, edges),
            *_unused(tree),
        ]
    )


def _first_split(tree: GraphTree) -> str:
    """Name the covariate that matters first, for a headline."""
    split = tree.nodes_[0].split
    if split is None:
        return ""
    place = f" at {split.cut:.4g}" if split.cut is not None else f", {split.level} or not"
    return f"the first split is by {short_name(split.covariate)}{place}"


def _gain(tree: GraphTree) -> str:
    judged = "training rows" if tree.criterion == "penalized" else "held-out rows"
    return (
        f"Risk of {judged}: {tree.risk_path_[0]:.4g} with one network, {tree.risk_:.4g} with "
        f"{len(tree.leaves_)}"
    )


def _n_groups(tree: GraphTree) -> int:
    """Count the groups that means and variances differ between."""
    return sum(node.split is None for node in tree.groups_)


def _taken_off(tree: GraphTree) -> list[str]:
    """Say what networks are about, where means and variances differ."""
    if tree.split_for != "graph" or (n_groups := _n_groups(tree)) == 1:
        return []
    what = "Means and variances differ" if tree.mean == "leaf" else "Variances differ"
    text = f"{what} between {n_groups} groups (groups.csv); networks are of the rows standardised"
    return [f"{text} within them."]


def _reason(tree: GraphTree) -> list[str]:
    """Say what the covariates gain by: means, variances or networks."""
    total = sum(tree.gain_.values())
    if len(tree.leaves_) == _n_groups(tree) == 1 or total <= 0:
        return []
    shares = ", ".join(f"{name} {round(100 * gain / total)}%" for name, gain in tree.gain_.items())
    return [f"From one mean, variance and network for all, the risk falls by {total:.4g}: {shares}"]


def _no_split(tree: GraphTree) -> list[str]:
    """Say why there is one network only."""
    from edgewise.estimators.covariates.tree import REFUTED

    found = "As far as these rows can tell, the network does not vary: no split is beyond chance."
    if REFUTED in tree.treatment_:
        found = (
            "Rows differ along the covariates beyond chance, but networks of the parts predict "
            "held-out rows no better than one network does: look for outliers, skewed columns and "
            "columns that are constant in a part."
        )
    if not any(covariate.is_tried for covariate in tree.covariates_):
        found = "No split could be tried, so that these rows do not tell how the network varies."
    edges = f"The network of all rows has {count(tree.graph_.n_edges, 'edge')}"
    if tree.criterion != "penalized":
        edges += (
            ", as many as predict held-out rows best; learn takes those that the BIC is sure of"
        )
    return [found, *_untried(tree), f"{edges}."]


def _untried(tree: GraphTree) -> list[str]:
    """Say why covariates were not tried."""
    from edgewise.estimators.covariates.tree import UNTRIED

    notes = [note for note in tree.treatment_ if note.startswith(UNTRIED)]
    return [f"{UNTRIED.capitalize()}{in_options(note.removeprefix(UNTRIED))}." for note in notes]


def _hidden(tree: GraphTree, edges: pd.DataFrame) -> list[str]:
    """List edges of most leaves that the pooled network would not show."""
    hidden = hidden_edges(tree, edges)
    n_leaves = len(tree.leaves_)
    is_common = (hidden["share_of_rows"] >= COMMON) & (2 * hidden["n_leaves"] > n_leaves)
    common = hidden[is_common].head(SHOWN)
    if not len(common):
        return []
    lines = [
        f"  {pair}  in {row.n_leaves} of {n_leaves}: {_signs(row)}"
        for pair, row in zip(pair_names(common), common.itertuples(), strict=True)
    ]
    return ["", "Edges present in most leaves but absent from the pooled network:", *lines]


def _signs(row: Any) -> str:
    """Say in how many leaves an edge is positive, and in how many negative."""
    parts = {"positive": row.n_positive, "negative": row.n_leaves - row.n_positive}
    return ", ".join(f"{number} {sign}" for sign, number in parts.items() if number)


def _unused(tree: GraphTree) -> list[str]:
    used = {node.split.covariate for node in tree.nodes_ if node.split is not None}
    rest = [one for one in tree.covariates_ if one.is_tried and one.name not in used]
    names = [short_name(one.name) for one in rest]
    lines = [f"The network does not vary with {_listed(names, 'or')}."] if names else []
    lines += _untried(tree)
    return ["", *lines] if lines else []


def _listed(names: list[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


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


def list_groups(tree: GraphTree) -> pd.DataFrame:
    """One row per group of equal means and variances: where it lies, and both of each response."""
    import pandas as pd

    rows = []
    for group in tree.groups_:
        if group.split is None:
            row = {"group": group.leaf, "where": where(tree, group.box), "n_rows": group.n}
            for name, mean, deviation in zip(
                tree.response_names_, group.mean.tolist(), group.deviation.tolist(), strict=True
            ):
                row |= {f"{name}_mean": mean, f"{name}_deviation": deviation}
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
    """Edges of all leaves, with whether the pooled network has them."""
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
