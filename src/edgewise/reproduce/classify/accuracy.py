"""Accuracies on random splits of a table, against sparsity and the number of arcs that move."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from edgewise._core.typing import FloatArray
from edgewise.estimators import BayesNetClassifier
from edgewise.estimators.classify.machines import FisherMachines, hard_machine
from edgewise.reproduce.classify.data import Loader, Split, split_table
from edgewise.reproduce.study import Part, Row
from edgewise.reproduce.tables import mean_and_error
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


#: The networks before they are learned together, by order and column by column; and after.
OR: Final = "OR-SGBN"
H: Final = "H-SGBN"
KL: Final = "KL-SGBN"
MM: Final = "MM-SGBN"
METHODS: Final = (OR, H, KL, MM)
LEARNINGS: Final = {KL: "fisher", MM: "margin"}
BIASES: Final = ("free", "penalized")
#: By what share the squared residuals of a class may grow.
SLACK: Final = 0.01
N_SPLITS: Final = 30
#: Arcs that move while alpha varies.
N_EDGES: Final = 100


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Values of alpha; and numbers of arcs, at some of the alphas."""

    alphas: tuple[float, ...]
    edges: tuple[int, ...]
    edge_alphas: tuple[float, ...]


WHOLE: Final = "whole"
COARSE: Final = "coarse"
GRIDS: Final = {
    WHOLE: Grid(
        alphas=(0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6),
        edges=(30, 60, 100, 150, 200),
        edge_alphas=(0.15, 0.4),
    ),
    COARSE: Grid(alphas=(0.15, 0.4), edges=(30, 100), edge_alphas=(0.4,)),
}


def list_tasks(quick: bool, **columns: Any) -> list[Row]:
    """List the splits; ``columns`` are part of every task."""
    grid, n_splits = (COARSE, 4) if quick else (WHOLE, N_SPLITS)
    return [{**columns, "split": split, "grid": grid} for split in range(n_splits)]


def run_task(
    rng: np.random.Generator, *, load: Loader, split: int, grid: str, **columns: Any
) -> list[Row]:
    """Split the table, and measure every method on the same split."""
    rows = split_table(load(), rng)
    measured = [
        {"method": name, "accuracy": value} for name, value in rival_accuracies(rows).items()
    ]
    for bias in BIASES:
        for alpha, n_edges in _settings(GRIDS[grid]):
            found = learn_all(rows, bias, alpha, n_edges)
            measured += [{"bias": bias, "alpha": alpha, "n_edges": n_edges, **row} for row in found]
    return measured


def learn_all(split: Split, bias: str, alpha: float, n_edges: int) -> list[Row]:
    """Learn the networks in all ways, and let every decider use them."""
    models = {
        method: fit(split, learning, alpha=alpha, bias=bias, n_edges=n_edges)
        for method, learning in LEARNINGS.items()
    }
    rows = _decided(split, OR, models[MM].start_coef_, {})
    if n_edges == N_EDGES:
        alone = fit(split, "generative", alpha=alpha, bias=bias, method="bcd")
        rows += _decided(split, H, alone.standard_coef_, {})
    for method, model in models.items():
        about = {
            "fit_error": float(model.fit_error_ratios_.max()),
            "converged": bool(model.converged_),
        }
        rows += _decided(split, method, model.standard_coef_, about)
    return rows


def fit(split: Split, learning: str, **options: Any) -> BayesNetClassifier:
    """Fit the training part; that a fit stopped early is in its attributes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BayesNetClassifier(learning, slack=SLACK, **options)
        return model.fit(split.train, split.train_labels)


def _settings(grid: Grid) -> list[tuple[float, int]]:
    along = [(alpha, N_EDGES) for alpha in grid.alphas]
    across = [(alpha, n_edges) for alpha in grid.edge_alphas for n_edges in grid.edges]
    return [*along, *(setting for setting in across if setting not in along)]


def _decided(split: Split, method: str, coefs: FloatArray, about: Row) -> list[Row]:
    n_arcs = int(np.count_nonzero(coefs[:, :-1]))
    return [
        {
            "method": method,
            "decider": name,
            "accuracy": accuracy(split, decide(split, coefs)),
            "n_arcs": n_arcs,
            **about,
        }
        for name, decide in DECIDERS.items()
    ]


def part_of(name: str, load: Loader, **columns: Any) -> Part:
    """Make the part of a table; ``columns`` tell it from others with the same name."""
    return Part(name=name, tasks=partial(list_tasks, **columns), run=partial(run_task, load=load))


#: What an accuracy is looked up by.
KEY = ["method", "decider", "bias", "alpha", "n_edges"]


class Accuracies:
    """Accuracies in per cent on all splits of a table, in their order."""

    def __init__(self, frame: pd.DataFrame) -> None:
        ordered = frame.sort_values("split", kind="stable")
        with_networks = ordered[ordered["decider"].notna()]
        self._found = {
            key: 100 * group.to_numpy(dtype=np.float64)
            for key, group in with_networks.groupby(KEY)["accuracy"]
        }
        rivals = ordered[ordered["decider"].isna()]
        self.rivals: dict[str, FloatArray] = {
            str(name): 100 * group.to_numpy(dtype=np.float64)
            for name, group in rivals.groupby("method", sort=False)["accuracy"]
        }
        settings = with_networks[["alpha", "n_edges"]].drop_duplicates()
        usual = settings["n_edges"] == N_EDGES
        self.alphas = sorted(settings["alpha"][usual].tolist())
        self.edge_alphas = sorted(settings["alpha"][~usual].unique().tolist())
        self.edges = sorted(settings["n_edges"].astype(int).unique().tolist())
        self.n_splits = int(frame["split"].nunique())

    def of(
        self,
        method: str,
        bias: str,
        alpha: float,
        *,
        decider: str = LIKELIHOOD,
        n_edges: int = N_EDGES,
    ) -> FloatArray:
        """Accuracies of one method."""
        return self._found[method, decider, bias, alpha, n_edges]

    def gain(
        self, method: str, bias: str, alpha: float, *, over: str = OR, decider: str = LIKELIHOOD
    ) -> FloatArray:
        """Accuracies of one method less those of another on the same splits."""
        ours, theirs = (self.of(name, bias, alpha, decider=decider) for name in (method, over))
        return np.asarray(ours - theirs)


def written_gain(values: FloatArray) -> str:
    """Write a gain in points, with its sign.

    Examples
    --------
    >>> import numpy as np
    >>> written_gain(np.array([1.0, 3.0])), written_gain(np.array([-1.0]))
    ('+2.0 ± 1.0', '-1.0')
    """
    text = mean_and_error(values, digits=1).removeprefix("-")
    is_loss = round(float(values.mean()), 1) < 0
    return f"{'-' if is_loss else '+'}{text}"


def standard_error(values: FloatArray) -> float:
    """Give the standard error of a mean, 0 for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
