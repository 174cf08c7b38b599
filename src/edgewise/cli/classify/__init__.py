"""``edgewise classify``: whether the networks of classes tell them apart."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from edgewise.cli.classify.fit import ClassSettings
from edgewise.cli.input import rows_of
from edgewise.cli.labels import read_classes
from edgewise.cli.options import (
    Cluster,
    Columns,
    DataFile,
    Drop,
    Jobs,
    Json,
    OutFolder,
    Quiet,
    Seed,
)
from edgewise.cli.shell import is_watched, tell, warnings_told

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


def classify(
    data: DataFile,
    by: ClassBy,
    learning: LearningOption = Learning.MARGIN,
    decide: DecisionOption = Decision.LIKELIHOOD,
    alpha: ClassAlpha = 0.15,
    edges: Edges = 100,
    slack: Slack = 0.01,
    bias: BiasOption = Bias.FREE,
    columns: Columns = None,
    drop: Drop = None,
    out: OutFolder = Path("edgewise-out"),
    json: Json = False,
    quiet: Quiet = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    folds: Folds = 5,
    repeats: Repeats = 2,
) -> None:
    """Learn a network of each class, and whether networks tell the classes apart.

    Compares networks learned together and by themselves with a linear SVM and shrunken LDA.
    Writes accuracies, networks, what the learning changed, the model and a record.
    """
    from edgewise.cli.classify.fit import (
        class_record,
        class_summary,
        classify_rows,
        write_classified,
    )
    from edgewise.cli.run import ALL_FILES, CLASS_FILES, files_in, results_folder
    from edgewise.cli.wording import announce

    settings = ClassSettings(
        learning=learning.value,
        decide=decide.value,
        alpha=alpha,
        n_edges=edges,
        slack=slack,
        bias=bias.value,
        n_folds=folds,
        n_repeats=repeats,
        seed=seed,
        n_jobs=jobs,
    )
    source, y = read_classes(data, by=by, columns=columns or (), drop=drop or ())
    name = source.fingerprint["file"]
    with warnings_told() as told, results_folder(out, outdated=ALL_FILES) as folder:
        tell(f"Learning networks of the classes in {len(source.frame)} rows of {name} ...")
        classified = classify_rows(source.frame, y, settings, verbose=is_watched())
        record = class_record(
            classified,
            settings,
            command="classify",
            data={**source.fingerprint, "by": by},
            treatment=source.notes,
            warnings=told,
        )
        tell("Writing the files ...")
        text = class_summary(classified, settings, name, source.fingerprint)
        write_classified(folder, classified, text, record)
        files = files_in(folder, CLASS_FILES)
    announce(text, record, out, files, as_json=json, changes=rows_of(classified.changes))
