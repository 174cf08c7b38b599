"""``edgewise classify``: classification by a network of each class."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import typer

from edgewise._core.errors import DataWarning, InputError
from edgewise.cli.dependence import AS_THEY_ARE, about_order
from edgewise.cli.labels import read_classes
from edgewise.cli.options import (
    Columns,
    Dask,
    DataFile,
    Drop,
    Formats,
    Jobs,
    Json,
    OutFolder,
    Quiet,
    Seed,
    estimator_option,
    given,
    settings,
    settings_option,
)
from edgewise.cli.run import Result
from edgewise.cli.shell import again, drop_command, shows_progress
from edgewise.cli.wording import count, parameters_of, short_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise.cli.input import Source
    from edgewise.inference.accuracy import ClassAccuracy

accuracy_option: Final = partial(typer.Option, rich_help_panel="Accuracy")

#: How the networks of the classes are learned.
Learning: TypeAlias = Literal["margin", "fisher", "generative"]

#: What decides about a row.
Decision: TypeAlias = Literal["likelihood", "svm"]

#: How the network of each class is learned: OR-SGBN or H-SGBN.
ClassMethod: TypeAlias = Literal["order", "bcd"]

#: How intercepts are treated.
Bias: TypeAlias = Literal["free", "penalized"]

ClassBy: TypeAlias = Annotated[
    str,
    typer.Option(
        "--by",
        help="Column with the class of each row; excluded from the networks.",
        metavar="COLUMN",
        show_default=False,
    ),
]
LearningOption: TypeAlias = Annotated[
    Learning,
    typer.Option(
        "--learning",
        help=(
            "Learn the networks jointly, for large margins or for separable Fisher vectors; or "
            "each class by itself (generative). The accuracies of all three are reported."
        ),
    ),
]
DecisionOption: TypeAlias = Annotated[
    Decision,
    typer.Option(
        "--decide",
        help="Classify by likelihoods, or by a support vector machine on Fisher vectors.",
    ),
]
ClassAlpha: TypeAlias = Annotated[
    float,
    typer.Option("--alpha", help="Penalty of the networks, on the correlation scale."),
]
Edges: TypeAlias = Annotated[
    int,
    estimator_option("--edges", help="Number of arcs updated by joint learning."),
]
Folds: TypeAlias = Annotated[
    int,
    accuracy_option("--folds", help="Number of cross-validation folds."),
]
Repeats: TypeAlias = Annotated[
    int,
    accuracy_option("--repeats", help="Repeats of the cross-validation."),
]

#: Parameters of the estimator that ``--set`` takes.
SETTINGS: Final = ("method", "slack", "C", "nu", "bias")
Settings: TypeAlias = Annotated[list[str] | None, settings_option(*SETTINGS)]


def classify(
    data: DataFile,
    by: ClassBy,
    learning: LearningOption = "margin",
    decide: DecisionOption = "likelihood",
    alpha: ClassAlpha = 0.15,
    n_edges: Edges = 100,
    columns: Columns = None,
    drop: Drop = None,
    out: OutFolder = Path("edgewise-out"),
    formats: Formats = None,
    json: Json = False,
    quiet: Quiet = False,
    random_state: Seed = 0,
    n_jobs: Jobs = 1,
    dask: Dask = None,
    n_folds: Folds = 5,
    n_repeats: Repeats = 2,
    chosen_settings: Settings = None,
) -> None:
    """Classify rows by a Bayesian network of each class.

    Compares jointly and separately learned networks with a linear SVM and shrunken LDA.
    Writes accuracies, networks, their changes, the model and a record of the run.
    """
    from edgewise.cli.run import run

    parameters = given(
        learning=learning,
        decide=decide,
        alpha=alpha,
        n_edges=n_edges,
        **settings(chosen_settings, *SETTINGS),
    )
    source, y = read_classes(data, by=by, columns=columns or (), drop=drop or ())
    folds = {
        "n_folds": n_folds,
        "n_repeats": n_repeats,
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    run(
        "classify",
        source,
        lambda: classify_rows(source, y, parameters, **folds),
        out,
        message=f"Learning networks of the classes in {source.extent}",
        seed=random_state,
        formats=formats or (),
        as_json=json,
        seconds=(n_folds * n_repeats + 1) * seconds_of_fit(0.8 * source.n_samples),
    )


def seconds_of_fit(n_samples: float) -> float:
    """Estimate the time of all classifiers: 3 s for 800 rows, 10 s for 1,600 on one core."""
    return 3e-3 * n_samples + 2e-6 * n_samples**2


#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "accuracy.png": "Accuracy on held-out rows, with standard errors",
    "networks.png": "Network of each class, and where they differ",
    "changes.png": "How coefficients changed when the networks were learned together",
}
#: Names of the classifiers that are always compared.
GENERATIVE, FISHER, MARGIN = "generative", "fisher", "margin"
LINEAR_SVM: Final = "linear SVM"
SHRUNKEN_LDA: Final = "shrunken LDA"
#: Changes of coefficients that are written out.
SHOWN: Final = 5
#: The classifier that knows the frequencies of the classes only.
FREQUENT: Final = "most frequent"


def classify_rows(
    source: Source,
    y: pd.Series,
    parameters: dict[str, Any],
    *,
    n_folds: int = 5,
    n_repeats: int = 2,
    random_state: int = 0,
    n_jobs: int = 1,
) -> Result:
    """Learn the networks of all classes and compare the accuracy of several classifiers."""
    from edgewise.estimators import BayesNetClassifier
    from edgewise.inference import class_accuracy

    smallest = int(y.value_counts().min())
    notes = []
    if smallest < n_folds:
        n_folds = smallest
        notes = [f"{n_folds} folds, because the smallest class has {smallest} rows"]
    held_out, told = _held_out(source, smallest, n_folds)
    notes += told
    _warn_of_telling(source.frame, y)
    model = BayesNetClassifier(**parameters).fit(source.frame, y)
    accuracy = class_accuracy(
        classifiers(parameters),
        source.frame,
        y,
        n_folds=n_folds,
        n_repeats=n_repeats,
        **held_out,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=int(shows_progress()),
    )
    changes, table = model.explain(), accuracy.table()
    confused = accuracy.confusions(str(model.learning))
    return Result(
        model=model,
        graph=model.graph_,
        subject="Where the networks of the classes differ",
        text=_summary(model, accuracy, changes, source),
        parameters=parameters_of(model),
        found=_found(model, accuracy),
        notes=notes,
        figures=lambda: _draw(model, accuracy, changes),
        words=ALT,
        tables={"accuracy.csv": table, "confusion.csv": confused, "changes.csv": changes},
        networks={
            f"network-{k}.graphml": network
            for k, network in enumerate(model.networks_.values(), start=1)
        },
        shown={
            "Accuracy": table,
            f"Classes of held-out rows ({model.learning})": confused,
            "Changed coefficients": changes,
        },
        rows=("changes", changes),
    )


def _held_out(source: Source, smallest: int, n_folds: int) -> tuple[dict[str, Any], list[str]]:
    """Choose which rows are held out together, and say so."""
    found = source.dependence
    if found is None or found.kind == "independent":
        return {}, []
    if found.kind == "clusters":
        note = f"rows held out by whole '{found.cluster}', each in one fold"
        return {"clusters": found.member}, [note]
    length, longest = found.block_length(smallest), smallest // n_folds
    if found.length is not None and length > longest:
        raise InputError(
            "blocks_leave_few_folds",
            length=length,
            n_folds=n_folds,
            smallest=smallest,
            again=again("--blocks", str(longest)),
        )
    length = min(length, longest)
    held = f"rows held out in blocks of {length} of a class"
    if found.length is not None:
        return {"block_length": length}, [f"{held}, as --blocks asks"]
    note = f"{about_order(found.order)}: {held}; {AS_THEY_ARE}"
    return {"block_length": length}, [note]


def _warn_of_telling(frame: pd.DataFrame, y: pd.Series) -> None:
    """Warn of columns that tell the classes apart alone, as one does that they were made from."""
    labels = y.to_numpy()
    telling = []
    for name in frame.columns:
        ranges = frame[name].groupby(labels).agg(["min", "max"]).sort_values("min")
        if (ranges["max"].to_numpy()[:-1] < ranges["min"].to_numpy()[1:]).all():
            telling.append(str(name))
    if telling and frame.shape[1] - len(telling) > 1:
        warnings.warn(
            DataWarning("classes_separated", columns=telling, command=drop_command(telling)),
            stacklevel=2,
        )


def classifiers(parameters: dict[str, Any]) -> dict[str, Any]:
    """All classifiers that are compared, by name."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    from edgewise.estimators import BayesNetClassifier

    shrunken = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    return {
        **{
            learning: BayesNetClassifier(**{**parameters, "learning": learning})
            for learning in (GENERATIVE, FISHER, MARGIN)
        },
        LINEAR_SVM: make_pipeline(StandardScaler(), SVC(kernel="linear")),
        SHRUNKEN_LDA: make_pipeline(StandardScaler(), shrunken),
    }


def _draw(
    model: Any, accuracy: ClassAccuracy, changes: pd.DataFrame
) -> dict[str, Figure | SubFigure]:
    """Draw accuracies, networks, and what the learning changed."""
    from edgewise.plot.classify import plot_accuracy, plot_arc_changes, plot_class_networks

    drawn: dict[str, Figure | SubFigure] = {
        "accuracy.png": plot_accuracy(accuracy).figure,
        "networks.png": plot_class_networks(model.networks_, difference=model.graph_),
    }
    if len(changes):
        drawn["changes.png"] = plot_arc_changes(changes).figure
    return drawn


def _found(model: Any, accuracy: ClassAccuracy) -> dict[str, Any]:
    gains = {
        name: {"difference": gain.difference, "standard_error": gain.standard_error}
        for name in (FISHER, MARGIN, LINEAR_SVM, SHRUNKEN_LDA)
        for gain in (accuracy.gain(name, GENERATIVE),)
    }
    return {
        "classes": [str(label) for label in model.classes_],
        "n_arcs": {str(label): graph.n_edges for label, graph in model.networks_.items()},
        "accuracy": {
            name: {
                "mean": accuracy.accuracy(name),
                "standard_error": accuracy.standard_error(name),
            }
            for name in accuracy.names
        },
        "gain_over_generative": gains,
        "most_frequent_class": accuracy.chance,
        "n_folds": int(accuracy.scores.shape[1]),
        "fit_error_ratio": {str(k): float(v) for k, v in model.fit_error_ratio_.items()},
        "objective": float(model.objective_),
        "start_objective": float(model.start_objective_),
        "converged": bool(model.converged_),
        "n_iter": int(model.n_iter_),
    }


def _summary(model: Any, accuracy: ClassAccuracy, changes: pd.DataFrame, source: Source) -> str:
    """Tell how accurate each classifier is, whether learning together gains, and what it moved."""
    from edgewise.inference.accuracy import NOISE

    # Labels may be numbers themselves.
    arcs = ", ".join(
        f"{short_name(str(label))} with {count(graph.n_edges, 'arc')}"
        for label, graph in model.networks_.items()
    )
    return "\n".join(
        [
            _headline(accuracy, model.learning),
            f"{len(model.classes_)} classes in {source.extent}",
            "",
            *_accuracies(accuracy),
            "",
            f"Compared on the same folds, where up to {NOISE:g} standard errors are noise:",
            verdict(accuracy),
            _against_svm(accuracy),
            *_confused(accuracy, model.learning),
            "",
            f"Networks ({model.learning}, alpha {model.alpha:g}): {arcs}",
            *_changes(model, changes),
        ]
    )


def _headline(accuracy: ClassAccuracy, learning: str) -> str:
    """Say how often the networks find the class, and whether that is more than a constant does."""
    found = f"Networks put {accuracy.accuracy(GENERATIVE):.1%} of held-out rows into their class"
    if learning != GENERATIVE:
        found += f", {accuracy.accuracy(learning):.1%} when learned together ({learning})"
    best = max((GENERATIVE, FISHER, MARGIN), key=accuracy.accuracy)
    gain = accuracy.gain_over_chance(best)
    constant = f"{accuracy.chance:.1%} of the most frequent class"
    if gain.is_beyond_noise and gain.difference > 0:
        return f"{found}; clearly more than the {constant}"
    return f"{found}: beyond noise no more than the {constant}"


def _confused(accuracy: ClassAccuracy, learning: str) -> list[str]:
    """Of more than two classes, say how many rows of each are found and what others are taken for.

    For two, the accuracy says it.
    """
    if len(accuracy.classes) < 3:
        return []
    table = accuracy.confusions(learning)
    shares = table[[f"as_{label}" for label in accuracy.classes]].to_numpy(copy=True)
    lines = [f"By class ({learning}), and what the others are mostly taken for:"]
    width = max(len(short_name(str(label))) for label in accuracy.classes)
    for k, label in enumerate(accuracy.classes):
        found, shares[k, k] = shares[k, k], -1.0
        other = int(shares[k].argmax())
        name = short_name(str(accuracy.classes[other]))
        rest = f", {shares[k, other]:.0%} taken for {name}" if shares[k, other] > 0 else ""
        lines.append(f"  {short_name(str(label)):<{width}}  {found:.0%} found{rest}")
    return lines


def _accuracies(accuracy: ClassAccuracy) -> list[str]:
    """Accuracy of each classifier with its standard error, and that of knowing nothing."""
    n_folds = accuracy.scores.shape[1]
    width = max(map(len, (*accuracy.names, FREQUENT)))
    lines = [
        f"  {name:<{width}}  {accuracy.accuracy(name):.3f} +- {accuracy.standard_error(name):.3f}"
        for name in accuracy.names
    ]
    return [
        f"Share of held-out rows put into their class ({n_folds} folds, standard error):",
        *lines,
        f"  {FREQUENT:<{width}}  {accuracy.chance:.3f}",
    ]


def verdict(accuracy: ClassAccuracy) -> str:
    """Say in one sentence whether learning the networks together gains beyond noise.

    There are two ways to learn together, and the better one is looked at, which favours finding a
    gain a little.
    """
    best = max((FISHER, MARGIN), key=accuracy.accuracy)
    gain = accuracy.gain(best, GENERATIVE)
    points = _points(gain)
    if not gain.is_beyond_noise:
        return f"Learning the networks together gains nothing beyond noise ({best}: {points})."
    if gain.difference < 0:
        return f"Learning the networks together loses accuracy ({best}: {points})."
    return f"Learning the networks together gains accuracy beyond noise ({best}: {points})."


def _points(gain: Any) -> str:
    """Write a gain of accuracy in points and in standard errors, by which noise is told.

    There is no sign where it rounds to nothing, and more digits where one would not tell.
    """
    from edgewise.inference.accuracy import NOISE

    points = round(100 * float(gain.difference), 1) + 0.0
    sign = "+" if points else ""
    text = f"{points:{sign}.1f} points"
    if not gain.standard_error:
        return f"{text} in every fold"
    ratio = abs(gain.difference) / gain.standard_error
    n_digits = next((k for k in range(1, 6) if round(ratio, k) != NOISE), 6)
    return f"{text}, {ratio:.{n_digits}f} standard errors"


def _against_svm(accuracy: ClassAccuracy) -> str:
    """Say how the best network compares with a classifier that has none."""
    best = max((GENERATIVE, FISHER, MARGIN), key=accuracy.accuracy)
    gain = accuracy.gain(best, LINEAR_SVM)
    points = _points(gain)
    if not gain.is_beyond_noise:
        return f"A linear SVM is as accurate up to noise ({best} over it: {points})."
    which = "less" if gain.difference > 0 else "more"
    return f"A linear SVM is {which} accurate ({best} over it: {points})."


def _changes(model: Any, changes: pd.DataFrame) -> list[str]:
    """Show the largest changes that the learning made."""
    if not len(changes):
        return []
    top = changes.head(SHOWN)
    names = [
        f"{short_name(a)} -> {short_name(b)} | {short_name(str(c))}"
        for a, b, c in zip(top["source"], top["target"], top["class"], strict=True)
    ]
    width = max(map(len, names))
    lines = [
        f"  {name:<{width}}  {before:+.3f} to {after:+.3f}"
        for name, before, after in zip(names, top["before"], top["after"], strict=True)
    ]
    worst = max(model.fit_error_ratio_.values()) - 1
    return [
        f"Largest of {count(len(changes), 'coefficient')} moved by learning together:",
        *lines,
        f"Fit of each network to its own class: at most {worst:.1%} worse",
    ]
