"""Options of `compare` alone, with their help."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import typer

from edgewise.cli._options import CONFIDENCE, NUMERICS

ORDER: Final = "Rows in order"


class ChangeMethod(StrEnum):
    """How a change between two groups is learned."""

    RATIO = "ratio"
    DTRACE = "dtrace"
    FUSED = "fused"
    SEPARATE = "separate"


class Basis(StrEnum):
    """What a change is a change of."""

    GAUSSIAN = "gaussian"
    POWER = "power"
    POLYNOMIAL = "polynomial"
    ISING = "ising"


By: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Column that holds the label of each row; it is left out of the network.",
        metavar="COLUMN",
        show_default=False,
    ),
]
Pair: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Labels to compare, the one before and the one after, where there are more than two.",
        metavar="BEFORE,AFTER",
        show_default="both, sorted",
    ),
]
ChangeMethodOption: TypeAlias = Annotated[
    ChangeMethod,
    typer.Option(
        "--method",
        help=(
            "Ratio of the densities; the difference of two precision matrices by D-trace, the "
            "strongest simple method for Gaussian columns; regressions with a sparse difference; "
            "or two graphical lassos."
        ),
    ),
]
BasisOption: TypeAlias = Annotated[
    Basis | None,
    typer.Option(
        help=(
            "What the ratio is of: products of two columns; of their signed powers; all products "
            "of powers up to a degree; or products of values -1 and 1, which a table of two values "
            "in every column gets by itself."
        ),
        show_default="gaussian; ising where every column has two values",
    ),
]
Degree: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Degree of power or polynomial; of several, held-out rows choose.",
        metavar="K[,K...]",
        show_default="2",
    ),
]
ChangeAlpha: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--alpha",
        help="Strength of the penalty on changes: a number, or the rule that picks it.",
        metavar="NUMBER|cv",
        show_default="cv; separate ebic",
    ),
]
Ridge: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Curvature that keeps the ratio finite; with 0, alpha must not be too small.",
        show_default="0.1",
    ),
]
Sparsity: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Penalty of --method fused on both networks themselves; needed where rows are few.",
        show_default="0",
    ),
]
Permutations: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Shuffles of the labels to test the changes against; 0 for none.",
        show_default="200; in each window 100",
        rich_help_panel=CONFIDENCE,
    ),
]
Negligible: TypeAlias = Annotated[
    float, typer.Option(help="Leave out changes up to this size.", show_default="0")
]
WindowOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--window",
        help="Compare the first rows with windows of this many rows that follow them.",
        metavar="ROWS",
        show_default=False,
        rich_help_panel=ORDER,
    ),
]
Step: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Rows from one window to the next.",
        metavar="ROWS",
        show_default="half a window",
        rich_help_panel=ORDER,
    ),
]
Reference: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many of the first rows are the reference.",
        metavar="ROWS",
        show_default="as many as a window",
        rich_help_panel=ORDER,
    ),
]
ChangeAlphaRatio: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--alpha-ratio",
        help="Smallest alpha that a rule tries, as a share of the largest.",
        show_default="0.1",
        rich_help_panel=NUMERICS,
    ),
]
ChangeTolerance: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--tol",
        help="Duality gap per column at which the fit stops.",
        show_default="1e-8; other methods 1e-6",
        rich_help_panel=NUMERICS,
    ),
]
