"""From rows and their classes to networks and accuracies: what `classify` and `demo` share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.learn.fit import parameters_of, run_record
from edgewise.cli.wording import count, short_name

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise.inference import ClassAccuracy
    from edgewise.report import Report


#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "accuracy.png": "Accuracy on held-out rows, with standard errors",
    "networks.png": "Network of each class, and where they differ",
    "changes.png": "How coefficients changed when the networks were learned together",
}


def write_classified(
    folder: Path, classified: Classified, text: str, record: dict[str, Any]
) -> Report:
    """Write everything that `classify` leaves behind, and return what its page says."""
    from edgewise.cli.run import report_of, write_results, write_table

    figures = pictures(classified)
    model = classified.model
    write_table(classified.accuracy.table(), folder / "accuracy.csv")
    write_table(classified.changes, folder / "changes.csv")
    for k, network in enumerate(model.networks_.values(), start=1):
        network.write(folder / f"network-{k}.graphml")
    report = report_of(
        text,
        graph=model.graph_,
        model=model,
        record=record,
        figures=figures,
        words=ALT,
        tables={
            "Accuracy": classified.accuracy.table(),
            "Changed coefficients": classified.changes,
        },
    )
    write_results(folder, report, model=model, figures=figures)
    return report


def pictures(classified: Classified) -> dict[str, Figure | SubFigure]:
    """Draw accuracies, networks, and what the learning changed."""
    from edgewise.plot import plot_accuracy, plot_arc_changes, plot_class_networks

    model = classified.model
    drawn: dict[str, Figure | SubFigure] = {
        "accuracy.png": plot_accuracy(classified.accuracy).figure,
        "networks.png": plot_class_networks(model.networks_, difference=model.graph_),
    }
    if len(classified.changes):
        drawn["changes.png"] = plot_arc_changes(classified.changes).figure
    return drawn


#: Names of the classifiers that are always compared.
GENERATIVE, FISHER, MARGIN = "generative", "fisher", "margin"
LINEAR_SVM: Final = "linear SVM"
SHRUNKEN_LDA: Final = "shrunken LDA"


@dataclass(frozen=True, kw_only=True)
class ClassSettings:
    """How to learn the networks and to judge them."""

    learning: str = MARGIN
    decide: str = "likelihood"
    alpha: float = 0.15
    n_edges: int = 100
    slack: float = 0.01
    bias: str = "free"
    n_folds: int = 5
    n_repeats: int = 2
    seed: int = 0
    n_jobs: int = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Classified:
    """Networks of classes and how well they tell them apart.

    Attributes
    ----------
    model : BayesNetClassifier
        Fitted to all rows.
    accuracy : ClassAccuracy
        Of all three ways to learn, and of two classifiers without networks.
    changes : DataFrame
        Arcs that the learning changed; none for networks learned by themselves.
    notes : tuple of str
        What was done without being asked for.
    seconds : float
        Time that it took.
    """

    model: Any
    accuracy: ClassAccuracy
    changes: pd.DataFrame
    notes: tuple[str, ...]
    seconds: float


def classify_rows(
    frame: pd.DataFrame, y: pd.Series, settings: ClassSettings, *, verbose: bool = False
) -> Classified:
    """Learn the networks of all classes and compare the accuracy of several classifiers."""
    from edgewise.inference import class_accuracy

    if settings.n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning. Pass 1 or more, or -1 for all cores.")
    start = time.perf_counter()
    model = _network(settings, settings.learning).fit(frame, y)
    smallest = int(y.value_counts().min())
    notes: tuple[str, ...] = ()
    n_folds = min(settings.n_folds, smallest)
    if n_folds < settings.n_folds:
        notes = (f"{n_folds} folds, because the smallest class has {smallest} rows",)
    accuracy = class_accuracy(
        classifiers(settings),
        frame,
        y,
        n_folds=n_folds,
        n_repeats=settings.n_repeats,
        n_jobs=settings.n_jobs,
        random_state=settings.seed,
        verbose=int(verbose),
    )
    return Classified(
        model=model,
        accuracy=accuracy,
        changes=model.explain(),
        notes=notes,
        seconds=time.perf_counter() - start,
    )


def classifiers(settings: ClassSettings) -> dict[str, Any]:
    """All classifiers that are compared, by name."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    shrunken = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    return {
        **{name: _network(settings, name) for name in (GENERATIVE, FISHER, MARGIN)},
        LINEAR_SVM: make_pipeline(StandardScaler(), SVC(kernel="linear")),
        SHRUNKEN_LDA: make_pipeline(StandardScaler(), shrunken),
    }


def _network(settings: ClassSettings, learning: str) -> Any:
    from edgewise.estimators import BayesNetClassifier

    return BayesNetClassifier(
        learning,
        settings.decide,
        alpha=settings.alpha,
        n_edges=settings.n_edges,
        slack=settings.slack,
        bias=settings.bias,
        random_state=settings.seed,
    )


def class_record(
    classified: Classified,
    settings: ClassSettings,
    *,
    command: str,
    data: dict[str, Any],
    treatment: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather what is needed to tell, and to repeat, what a run of `classify` did."""
    model, accuracy = classified.model, classified.accuracy
    gains = {
        name: {"difference": gain.difference, "standard_error": gain.standard_error}
        for name in (FISHER, MARGIN, LINEAR_SVM, SHRUNKEN_LDA)
        for gain in (accuracy.gain(name, GENERATIVE),)
    }
    found = {
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
    return run_record(
        command=command,
        seed=settings.seed,
        parameters=parameters_of(model),
        data=data,
        treatment=[*treatment, *classified.notes],
        warnings=warnings,
        graph=model.graph_,
        found=found,
        seconds=classified.seconds,
    )


#: Changes of coefficients that are written out.
SHOWN = 5
#: What knowing nothing but the classes amounts to.
FREQUENT = "most frequent"


def class_summary(
    classified: Classified, settings: ClassSettings, source: str, data: dict[str, Any]
) -> str:
    """Tell how accurate each classifier is, whether learning together gains, and what it moved."""
    model = classified.model
    arcs = " and ".join(
        f"{short_name(str(label))} {count(graph.n_edges, 'arc')}"
        for label, graph in model.networks_.items()
    )
    rows = f"{data['n_samples']} rows and {data['n_features']} columns of {source}"
    return "\n".join(
        [
            _headline(classified, settings),
            f"{len(model.classes_)} classes in {rows}",
            "",
            *_accuracies(classified),
            "",
            verdict(classified),
            _against_svm(classified),
            "",
            f"Networks ({settings.learning}, alpha {settings.alpha:g}): {arcs}",
            *_changes(classified),
        ]
    )


def _headline(classified: Classified, settings: ClassSettings) -> str:
    """Say how often the networks find the class, learned by themselves and together."""
    accuracy = classified.accuracy
    found = f"Networks put {accuracy.accuracy(GENERATIVE):.1%} of held-out rows into their class"
    if settings.learning == GENERATIVE:
        return found
    together = accuracy.accuracy(settings.learning)
    return f"{found}, {together:.1%} when learned together ({settings.learning})"


def _accuracies(classified: Classified) -> list[str]:
    """Accuracy of each classifier with its standard error, and that of knowing nothing."""
    accuracy = classified.accuracy
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


def verdict(classified: Classified) -> str:
    """Say in one sentence whether learning the networks together gains beyond noise.

    There are two ways to learn together, and the better one is looked at, which favours finding a
    gain a little.
    """
    accuracy = classified.accuracy
    best = max((FISHER, MARGIN), key=accuracy.accuracy)
    gain = accuracy.gain(best, GENERATIVE)
    points = f"{100 * gain.difference:+.1f} points, standard error {100 * gain.standard_error:.1f}"
    if not gain.is_beyond_noise:
        return f"Learning the networks together gains nothing beyond noise ({best}: {points})."
    if gain.difference < 0:
        return f"Learning the networks together loses accuracy ({best}: {points})."
    return f"Learning the networks together gains accuracy beyond noise ({best}: {points})."


def _against_svm(classified: Classified) -> str:
    """Say how the best network compares with a classifier that has none."""
    accuracy = classified.accuracy
    best = max((GENERATIVE, FISHER, MARGIN), key=accuracy.accuracy)
    gain = accuracy.gain(best, LINEAR_SVM)
    points = f"{100 * gain.difference:+.1f} points, standard error {100 * gain.standard_error:.1f}"
    if not gain.is_beyond_noise:
        return f"A linear SVM is as accurate up to noise ({best} over it: {points})."
    which = "less" if gain.difference > 0 else "more"
    return f"A linear SVM is {which} accurate ({best} over it: {points})."


def _changes(classified: Classified) -> list[str]:
    """Show the largest changes that the learning made."""
    changes = classified.changes
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
    worst = max(classified.model.fit_error_ratio_.values()) - 1
    return [
        f"Largest of {count(len(changes), 'changed coefficient')}, standardised columns:",
        *lines,
        f"Fit of each network to its own class: at most {worst:.1%} worse",
    ]
