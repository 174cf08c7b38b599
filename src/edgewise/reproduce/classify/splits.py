"""Accuracies on random splits of a table, against sparsity and the number of arcs that move."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from edgewise._core.typing import FloatArray
from edgewise.estimators import BayesNetClassifier
from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.classify.deciders import DECIDERS, accuracy, rival_accuracies
from edgewise.reproduce.classify.tables import Loader, Split, split_table

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
