"""``edgewise classify``: whether the networks of classes tell them apart."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import typer

from edgewise.cli.labels import read_classes
from edgewise.cli.options import (
    Cluster,
    Columns,
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

accuracy_option: Final = partial(typer.Option, rich_help_panel="Accuracy")

#: How the networks of the classes are learned.
Learning: TypeAlias = Literal["margin", "fisher", "generative"]

#: What decides about a row.
Decision: TypeAlias = Literal["likelihood", "svm"]

#: How intercepts are treated.
Bias: TypeAlias = Literal["free", "penalized"]

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
    typer.Option("--edges", help="Arcs, over all networks, that are updated in joint learning."),
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
    accuracy_option("--folds", help="Number of cross-validation folds."),
]
Repeats: TypeAlias = Annotated[
    int,
    accuracy_option("--repeats", help="Repeats of the cross-validation."),
]


def classify(
    data: DataFile,
    by: ClassBy,
    learning: LearningOption = "margin",
    decide: DecisionOption = "likelihood",
    alpha: ClassAlpha = 0.15,
    n_edges: Edges = 100,
    slack: Slack = 0.01,
    bias: BiasOption = "free",
    columns: Columns = None,
    drop: Drop = None,
    out: OutFolder = Path("edgewise-out"),
    formats: Formats = None,
    json: Json = False,
    quiet: Quiet = False,
    random_state: Seed = 0,
    n_jobs: Jobs = 1,
    cluster: Cluster = None,
    n_folds: Folds = 5,
    n_repeats: Repeats = 2,
) -> None:
    """Learn a network of each class, and whether networks tell the classes apart.

    Compares networks learned together and by themselves with a linear SVM and shrunken LDA.
    Writes accuracies, networks, what the learning changed, the model and a record.
    """
    from edgewise.cli.classify.fit import classify_rows
    from edgewise.cli.run import run

    parameters = given(
        learning=learning,
        decide=decide,
        alpha=alpha,
        n_edges=n_edges,
        slack=slack,
        bias=bias,
        random_state=random_state,
    )
    source, y = read_classes(data, by=by, columns=columns or (), drop=drop or ())
    folds = {"n_folds": n_folds, "n_repeats": n_repeats, "n_jobs": n_jobs}
    run(
        "classify",
        source,
        lambda: classify_rows(source, y, parameters, **folds),
        out,
        message=f"Learning networks of the classes in {source.n_samples} rows of {source.name}",
        seed=random_state,
        formats=formats or (),
        as_json=json,
    )
