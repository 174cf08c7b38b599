"""Options of `regress` alone, with their help."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import typer

GROWTH: Final = "How the tree grows"


class Criterion(StrEnum):
    """What judges a split."""

    HELDOUT = "heldout"
    PENALIZED = "penalized"


class Search(StrEnum):
    """How the tree is found."""

    GREEDY = "greedy"
    OPTIMAL = "optimal"


class GrowRisk(StrEnum):
    """Whose risk counts while growing."""

    L1 = "l1"
    REFIT = "refit"
    BEST = "best"


class Mean(StrEnum):
    """Where the means of the responses come from."""

    GLOBAL = "global"
    LEAF = "leaf"


class Scale(StrEnum):
    """What is halved by a split."""

    RANGE = "range"
    QUANTILE = "quantile"


class MissingRows(StrEnum):
    """What to do with rows that have missing values."""

    ERROR = "error"
    DROP = "drop"


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
            "Column that says by true or 1 which rows judge the tree, for rows that belong "
            "together, such as weeks."
        ),
        metavar="COLUMN",
        show_default="half of the rows, by --seed",
    ),
]
MissingRowsOption: TypeAlias = Annotated[
    MissingRows, typer.Option("--missing", help="Rows with missing values: refuse or drop them.")
]
SearchOption: TypeAlias = Annotated[
    Search,
    typer.Option(
        "--search",
        help=(
            "Take the best split of each part, or find the best of all trees, which refuses where "
            "there are too many."
        ),
        rich_help_panel=GROWTH,
    ),
]
CriterionOption: TypeAlias = Annotated[
    Criterion,
    typer.Option(
        "--criterion",
        help=(
            "Held-out rows judge a split; or the rows themselves, with a price for every part "
            "(--gamma)."
        ),
        rich_help_panel=GROWTH,
    ),
]
Gamma: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Price of parts for --criterion penalized.",
        show_default="0.03",
        rich_help_panel=GROWTH,
    ),
]
Lookahead: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Levels that the greedy search goes on below a split that does not pay off yet.",
        show_default="2",
        rich_help_panel=GROWTH,
    ),
]
GrowRiskOption: TypeAlias = Annotated[
    GrowRisk,
    typer.Option(
        "--grow-risk",
        help="Judge splits by the graphical lasso, by its graph fitted anew, or by the better.",
        rich_help_panel=GROWTH,
    ),
]
MeanOption: TypeAlias = Annotated[
    Mean,
    typer.Option(
        "--mean",
        help="One mean of the responses for all parts, or one for each.",
        rich_help_panel=GROWTH,
    ),
]
ScaleOption: TypeAlias = Annotated[
    Scale,
    typer.Option(
        "--scale", help="Halve the range of a column, or its rows.", rich_help_panel=GROWTH
    ),
]
Depth: TypeAlias = Annotated[
    int, typer.Option(help="How often each column can be halved.", rich_help_panel=GROWTH)
]
TotalDepth: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Largest number of splits above a part.",
        show_default="no limit",
        rich_help_panel=GROWTH,
    ),
]
MinLeaf: TypeAlias = Annotated[
    int,
    typer.Option(help="Fewest rows of a part, to fit to and to judge by.", rich_help_panel=GROWTH),
]
MinGain: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help=(
            "What a split must add to the log-likelihood of the rows that judge it; more gives "
            "fewer and larger parts."
        ),
        show_default="0 to 5, more with few columns",
        rich_help_panel=GROWTH,
    ),
]
