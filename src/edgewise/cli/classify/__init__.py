"""``edgewise classify``: whether the networks of classes tell them apart."""

from __future__ import annotations

from pathlib import Path

from edgewise.cli._cluster import Cluster
from edgewise.cli._labels import read_classes
from edgewise.cli._options import Columns, DataFile, Drop, Jobs, Json, OutFolder, Quiet, Seed
from edgewise.cli._shell import is_watched, tell, warnings_told
from edgewise.cli._tables import rows_of
from edgewise.cli.classify.class_options import (
    Bias,
    BiasOption,
    ClassAlpha,
    ClassBy,
    Decision,
    DecisionOption,
    Edges,
    Folds,
    Learning,
    LearningOption,
    Repeats,
    Slack,
)
from edgewise.cli.classify.classifying import ClassSettings


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
    from edgewise.cli._folder import ALL_FILES, CLASS_FILES, files_in, results_folder
    from edgewise.cli._summary import announce
    from edgewise.cli.classify.class_files import write_classified
    from edgewise.cli.classify.class_words import class_summary
    from edgewise.cli.classify.classifying import class_record, classify_rows

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
