"""Options of `classify` alone, with their help."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import typer

ACCURACY: Final = "Accuracy"


class Learning(StrEnum):
    """How the networks of the classes are learned."""

    MARGIN = "margin"
    FISHER = "fisher"
    GENERATIVE = "generative"


class Decision(StrEnum):
    """What decides about a row."""

    LIKELIHOOD = "likelihood"
    SVM = "svm"


class Bias(StrEnum):
    """What becomes of the intercepts."""

    FREE = "free"
    PENALIZED = "penalized"


ClassBy: TypeAlias = Annotated[
    str,
    typer.Option(
        "--by",
        help="Column that holds the class of each row; it is left out of the networks.",
        metavar="COLUMN",
        show_default=False,
    ),
]
LearningOption: TypeAlias = Annotated[
    Learning,
    typer.Option(
        "--learning",
        help=(
            "Learn the networks together, for wide margins between likelihoods or for Fisher "
            "scores that separate; or each by itself. Decides which networks are shown; the "
            "accuracy of all three is always compared."
        ),
    ),
]
DecisionOption: TypeAlias = Annotated[
    Decision,
    typer.Option(
        "--decide",
        help="Decide by the likelihoods, or by support vector machines on the Fisher scores.",
    ),
]
ClassAlpha: TypeAlias = Annotated[
    float,
    typer.Option(
        "--alpha", help="Sparsity of the networks, in units of correlation; larger is sparser."
    ),
]
Edges: TypeAlias = Annotated[
    int,
    typer.Option("--edges", help="Arcs, over all networks, that may move when learned together."),
]
Slack: TypeAlias = Annotated[
    float, typer.Option(help="Share by which a network may then fit its own class worse.")
]
BiasOption: TypeAlias = Annotated[
    Bias,
    typer.Option(
        "--bias",
        help=(
            "Free intercepts, or penalised ones as published: that spoils the networks learned by "
            "themselves, so that learning them together seems to gain much."
        ),
    ),
]
Folds: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Parts that rows are dealt out to; each is held out once.", rich_help_panel=ACCURACY
    ),
]
Repeats: TypeAlias = Annotated[
    int, typer.Option(help="How many times they are dealt out.", rich_help_panel=ACCURACY)
]
