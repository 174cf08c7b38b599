"""Options of `direct` alone, with their help."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import typer

from edgewise.cli._options import CONFIDENCE

KNOWN: Final = "What is known in advance"


class BlanketMethod(StrEnum):
    """How Markov blankets are found."""

    IAMB = "iamb"
    INTER_IAMB = "inter-iamb"
    FAST_IAMB = "fast-iamb"
    IAMB_NPC = "iamb-npc"
    INTER_IAMB_NPC = "inter-iamb-npc"
    GS = "gs"
    TC = "tc"
    TC_BW = "tc-bw"
    L1MB = "l1mb"


class MissingRows(StrEnum):
    """What to do with missing values of measurements."""

    ERROR = "error"
    PAIRWISE = "pairwise"
    EM = "em"


BlanketMethodOption: TypeAlias = Annotated[
    BlanketMethod,
    typer.Option(
        "--method",
        help=(
            "How the columns that shield each one from all others are found: by tests one at a "
            "time (iamb and its kin, gs), by tests given all other columns (tc, tc-bw; more rows "
            "than columns plus 3), or by lasso paths (l1mb)."
        ),
    ),
]
Significance: TypeAlias = Annotated[
    float,
    typer.Option(help="Level of each test of independence; larger ones find more arcs."),
]
DirectAlpha: TypeAlias = Annotated[
    str,
    typer.Option(
        "--alpha",
        help=(
            "Penalty of the second network, in units of correlation: a number, or the rule that "
            "picks it."
        ),
        metavar="NUMBER|ebic|cv|stars",
    ),
]
Standardize: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--standardize/--no-standardize",
        help=(
            "Whether the second network sees standardised columns. In their units, columns of "
            "small variance tend to come out as causes. The first never depends on units."
        ),
    ),
]
MissingRowsOption: TypeAlias = Annotated[
    MissingRows,
    typer.Option(
        "--missing",
        help="Missing values: refuse them, use the rows that have both columns, or fit by EM.",
    ),
]
Forbid: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="An arc that cannot be; give the option once for each.",
        metavar="FROM,TO",
        show_default=False,
        rich_help_panel=KNOWN,
    ),
]
Require: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="An arc that must be; give the option once for each.",
        metavar="FROM,TO",
        show_default=False,
        rich_help_panel=KNOWN,
    ),
]
Tier: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help=(
            "Columns that come before those of the next --tier, such as in time: no arc leads "
            "back. Columns that none names may stand anywhere."
        ),
        metavar="NAMES",
        show_default=False,
        rich_help_panel=KNOWN,
    ),
]
ArcResamples: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--resamples",
        "--bootstrap",
        help="Number of resamples; asks for them whatever they take.",
        show_default="100",
        rich_help_panel=CONFIDENCE,
    ),
]
