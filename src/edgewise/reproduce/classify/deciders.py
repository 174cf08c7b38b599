"""Ways to tell the class of a row from the networks of both classes, and two that need none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from edgewise._core.typing import FloatArray
from edgewise.estimators.classify.machines import FisherMachines, hard_machine
from edgewise.reproduce.classify.tables import Split
from edgewise.solvers.classify.fisher_scores import (
    fisher_vectors,
    network_residuals,
    score_correlations,
    select_arcs,
)

LIKELIHOOD: Final = "likelihood"
MACHINE: Final = "SVM"
SELECTED: Final = "SVM, 100 components"
N_COMPONENTS: Final = 100
#: Cost of squared slack in the machines on Fisher scores.
COST: Final = 1.0
LINEAR: Final = "linear SVM"
SHRUNKEN: Final = "shrunken LDA"
#: Costs among which the linear machine chooses by cross-validation in the training part.
COSTS: Final = tuple(np.logspace(-3, 1, 9).tolist())

#: From a split and coefficients of both networks to scores of the test rows, above 0 for class 1.
Decider = Callable[[Split, FloatArray], FloatArray]


def by_likelihood(split: Split, coefs: FloatArray) -> FloatArray:
    """Log-likelihood in the second network less that in the first."""
    squares = (network_residuals(split.test, coefs) ** 2).sum(axis=2)
    return np.asarray(0.5 * (squares[0] - squares[1]))


def by_machine(split: Split, coefs: FloatArray) -> FloatArray:
    """Distance in a support vector machine on all Fisher scores."""
    cost = np.full(len(split.train), COST)
    machines = FisherMachines.of(split.train, split.train_labels, coefs, cost)
    return machines.decide(split.test, coefs)[:, 0]


def by_selected(split: Split, coefs: FloatArray) -> FloatArray:
    """Distance in a machine on the scores that correlate most with the class, standardised."""
    correlations = score_correlations(split.train, split.train_labels, coefs)
    allowed = np.ones(coefs.shape, dtype=bool)
    loops = np.arange(coefs.shape[2])
    allowed[:, loops, loops] = False
    arcs = select_arcs(correlations, allowed, N_COMPONENTS)
    own, other = (fisher_vectors(rows, coefs)[:, *arcs.T] for rows in (split.train, split.test))
    scale = own.std(axis=0)
    own, other = own / scale, other / scale
    kernel = own @ own.T + np.eye(len(own)) / COST
    sign = np.where(split.train_labels == 1, 1.0, -1.0)
    dual = hard_machine(kernel, sign)
    # Rows that count lie on the margin.
    intercept = (sign - kernel @ dual)[dual != 0].mean()
    return np.asarray(other @ own.T @ dual + intercept)


DECIDERS: Final[dict[str, Decider]] = {
    LIKELIHOOD: by_likelihood,
    MACHINE: by_machine,
    SELECTED: by_selected,
}


def accuracy(split: Split, scores: FloatArray) -> float:
    """Share of the test rows whose class the scores tell."""
    return float(np.mean((scores > 0) == (split.test_labels == 1)))


def rival_accuracies(split: Split) -> dict[str, float]:
    """Accuracies of classifiers without networks."""
    rivals: dict[str, Any] = {
        LINEAR: GridSearchCV(SVC(kernel="linear"), {"C": COSTS}, cv=StratifiedKFold(5)),
        SHRUNKEN: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    }
    return {
        name: float(model.fit(split.train, split.train_labels).score(split.test, split.test_labels))
        for name, model in rivals.items()
    }
