"""``edgewise regress``: how the network of some columns varies with others."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import typer

from edgewise._core.errors import InputError
from edgewise.cli.options import (
    Cluster,
    DataFile,
    Drop,
    Formats,
    Jobs,
    Json,
    OutFolder,
    Quiet,
    Seed,
    given,
)

growth_option: Final = partial(typer.Option, rich_help_panel="How the tree grows")

#: Which score a split is validated by.
Criterion: TypeAlias = Literal["heldout", "penalized"]

#: How the tree is found.
Search: TypeAlias = Literal["greedy", "halving", "optimal"]

#: Which fit gives the risk while growing.
GrowRisk: TypeAlias = Literal["l1", "refit", "best"]

#: Where the means of the responses come from.
Mean: TypeAlias = Literal["leaf", "global"]

#: What a split must gain by.
SplitFor: TypeAlias = Literal["graph", "all"]

#: Which coordinates a split halves.
Scale: TypeAlias = Literal["range", "quantile"]

On: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--on",
        help=(
            "Columns that the network may vary with, separated by commas: numbers, or text that "
            "names groups."
        ),
        metavar="NAMES",
        show_default=False,
    ),
]
Responses: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of the network, separated by commas.",
        metavar="NAMES",
        show_default="all others",
    ),
]
HeldOut: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help=(
            "Column that marks by true or 1 the validation rows of the tree, for rows that belong "
            "together, such as weeks."
        ),
        metavar="COLUMN",
        show_default="half of the rows, by --seed",
    ),
]
SearchOption: TypeAlias = Annotated[
    Search,
    growth_option(
        "--search",
        help=(
            "Cut each leaf where its rows differ most, or at the middle of a range; or find the "
            "best of all trees of such halves, which stops where there are too many."
        ),
    ),
]
CriterionOption: TypeAlias = Annotated[
    Criterion,
    growth_option(
        "--criterion",
        help=(
            "Validate a split on held-out rows; or on the rows themselves, with a penalty per leaf "
            "(--gamma)."
        ),
    ),
]
Gamma: TypeAlias = Annotated[
    float | None,
    growth_option(help="Penalty per leaf for --criterion penalized.", show_default="0.03"),
]
Lookahead: TypeAlias = Annotated[
    int | None,
    growth_option(
        help="Levels that the greedy search goes on below a split that does not pay off yet.",
        show_default="2",
    ),
]
GrowRiskOption: TypeAlias = Annotated[
    GrowRisk,
    growth_option(
        "--grow-risk",
        help="Score splits by the graphical lasso, by its graph fitted anew, or by the better.",
    ),
]
MeanOption: TypeAlias = Annotated[
    Mean,
    growth_option(
        "--mean", help="A mean of the responses for each group of rows that differ, or one for all."
    ),
]
SplitForOption: TypeAlias = Annotated[
    SplitFor,
    growth_option(
        "--split-for",
        help=(
            "Split where the network changes, whatever means and variances do; or where any of "
            "the three does."
        ),
    ),
]
ScaleOption: TypeAlias = Annotated[
    Scale,
    growth_option("--scale", help="Halve the range of a column, or its rows."),
]
Depth: TypeAlias = Annotated[
    int,
    growth_option("--depth", help="How often each column can be halved."),
]
TotalDepth: TypeAlias = Annotated[
    int | None,
    growth_option(
        "--total-depth", help="Largest number of splits above a leaf.", show_default="no limit"
    ),
]
MinLeaf: TypeAlias = Annotated[
    int,
    growth_option("--min-leaf", help="Fewest rows of a leaf, for fitting and for validation."),
]
MinGain: TypeAlias = Annotated[
    float | None,
    growth_option(
        help=(
            "What a split must add to the log-likelihood of its validation rows; more gives fewer "
            "and larger leaves."
        ),
        show_default="0 to 5, more with few columns",
    ),
]


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
    cluster: Cluster = None,
    search: SearchOption = "greedy",
    criterion: CriterionOption = "heldout",
    gamma: Gamma = None,
    lookahead: Lookahead = None,
    grow_risk: GrowRiskOption = "l1",
    mean: MeanOption = "leaf",
    split_for: SplitForOption = "graph",
    scale: ScaleOption = "range",
    max_depth: Depth = 10,
    max_total_depth: TotalDepth = None,
    min_samples_leaf: MinLeaf = 10,
    min_gain: MinGain = None,
) -> None:
    """Learn how the network of some columns varies with others: a tree with a network per leaf.

    Writes the tree, its leaves and their networks, pictures, the model and a record of the run.
    """
    from edgewise.cli.regress.fit import grow_tree, read_regression
    from edgewise.cli.run import run

    _check_together(search, criterion, lookahead=lookahead, gamma=gamma, min_gain=min_gain)
    parameters = given(
        criterion=criterion,
        search=search,
        grow_risk=grow_risk,
        mean=mean,
        split_for=split_for,
        scale=scale,
        max_depth=max_depth,
        max_total_depth=max_total_depth,
        min_samples_leaf=min_samples_leaf,
        lookahead=lookahead,
        gamma=gamma,
        min_gain=min_gain,
        random_state=random_state,
        n_jobs=n_jobs,
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
        message=f"Growing a tree of networks on {source.n_samples} rows of {source.name}",
        seed=random_state,
        formats=formats or (),
        as_json=json,
    )


def _check_together(search: Search, criterion: Criterion, **options: Any) -> None:
    """Raise where an option would mean nothing."""
    for name, value, option, is_fine in (
        ("--lookahead", options["lookahead"], "--search greedy", search != "optimal"),
        ("--gamma", options["gamma"], "--criterion penalized", criterion == "penalized"),
        ("--min-gain", options["min_gain"], "--criterion heldout", criterion == "heldout"),
    ):
        if value is not None and not is_fine:
            raise InputError(f"{name} is for {option}. Leave one of the two out.")
