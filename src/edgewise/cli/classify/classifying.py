"""From rows and their classes to networks and accuracies: what `classify` and `demo` share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.learn.learning import parameters_of, run_record

if TYPE_CHECKING:
    import pandas as pd

    from edgewise.inference import ClassAccuracy

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
