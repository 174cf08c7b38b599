"""What a classifier refuses: parameters, labels and priors that make no sense."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.estimators.base.numbers import is_number
from edgewise.estimators.directed.gaussian_bayes_net import BIASES, METHODS
from edgewise.io.messages import quote_names
from edgewise.solvers.directed.arc_lassos import SCHEDULES

LEARNINGS: Final = ("generative", "fisher", "margin")
DECISIONS: Final = ("likelihood", "svm")
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "learning": LEARNINGS,
    "decide": DECISIONS,
    "bias": BIASES,
    "method": METHODS,
    "schedule": SCHEDULES,
}
#: Whole numbers and the least each may be.
COUNTS: Final = {"n_edges": 1, "max_iter": 1, "n_components": 1, "calibration": 2}


def check_parameters(model: Any) -> None:
    """Refuse parameters that no data could make sense of."""
    for name, allowed in CHOICES.items():
        value = getattr(model, name)
        if value not in allowed:
            raise InputError(f"{name} must be one of {quote_names(allowed)}, got {value!r}.")
    for name in ("alpha", "slack", "C", "tol"):
        value = getattr(model, name)
        if not is_number(value, least=0) or value == 0:
            raise InputError(f"{name} must be a positive number, got {value!r}.")
    if not is_number(model.nu, least=0) or not 0 < model.nu <= 1:
        raise InputError(f"nu must be above 0 and at most 1, got {model.nu!r}.")
    for name, least in COUNTS.items():
        value = getattr(model, name)
        if value is None and name in ("n_components", "calibration"):
            continue
        if not is_number(value, least=least) or value != int(value):
            raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def check_counts(classes: list[Any], counts: list[int], n_folds: int | None) -> None:
    """Refuse a single class, and classes with too few rows."""
    if len(classes) == 1:
        raise InputError(
            f"All labels in y are of one class, {classes[0]!r}. Pass rows of at least two classes."
        )
    needed = max(2, n_folds or 0)
    few = [label for label, count in zip(classes, counts, strict=True) if count < needed]
    if few:
        reason = "" if n_folds is None or n_folds <= 2 else f" with calibration={n_folds}"
        raise InputError(
            f"Each class needs at least {needed} rows{reason}; {quote_names(few)} "
            f"{'has' if len(few) == 1 else 'have'} fewer. Leave such classes out, or join them."
        )


def refuse_measurements(classes: list[Any]) -> None:
    """Refuse labels that are fractions, as of something measured."""
    fractions = [label for label in classes if isinstance(label, float) and label % 1 != 0]
    if fractions:
        raise InputError(
            f"Unknown label type: continuous. y holds numbers like {fractions[0]:g}, which measure "
            "and name no class. Cut them into classes, or turn them into text."
        )


def class_probabilities(
    priors: ArrayLike | None, class_weight: Any, classes: list[Any]
) -> FloatArray:
    """Probabilities of the classes: those given, or equal but for the weights of the classes.

    Equal ones make up for unequal numbers of rows, so that balanced weights change nothing.
    """
    n_classes = len(classes)
    if priors is None:
        known = class_weight if isinstance(class_weight, dict) else {}
        weights = np.array([known.get(label, 1.0) for label in classes], dtype=np.float64)
        return np.asarray(weights / weights.sum())
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != (n_classes,):
        raise InputError(
            f"priors must hold one probability for each of the {n_classes} classes, got shape "
            f"{given.shape}."
        )
    if not np.isfinite(given).all() or (given <= 0).any() or abs(given.sum() - 1) > 1e-6:
        raise InputError(f"priors must be positive and add up to 1, got {given.tolist()}.")
    return np.asarray(given / given.sum())


def number_of_other(against: Any, decided: int, scores: FloatArray, classes: list[Any]) -> int:
    """Find the class that a decision is compared with: the one named, or the next best."""
    if against is None:
        return int(np.argsort(scores)[-2])
    if against not in classes or classes.index(against) == decided:
        others = quote_names(label for k, label in enumerate(classes) if k != decided)
        raise InputError(
            f"against must be a class other than {classes[decided]!r}, which was decided: one of "
            f"{others}, got {against!r}."
        )
    return classes.index(against)
