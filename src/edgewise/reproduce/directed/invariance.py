"""The same table with its columns in other orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.estimators import GaussianBayesNet
from edgewise.reproduce.directed.methods import (
    ALPHA,
    COLUMNWISE,
    HOMOTOPY,
    LITERAL,
    SimulatedNetwork,
    simulate,
)
from edgewise.reproduce.study import Part, Row
from edgewise.solvers import bcd_bayes_net, order_bayes_net

#: Tables with about as many rows as columns, and a long one.
NETWORK: Final = "alarm"
ROWS: Final = (36, 43, 1000)
#: The estimator puts columns into an order of their own before it descends.
ARRANGED: Final = "H-SGBN, columns arranged"

#: From a table to coefficients.
Fit: TypeAlias = Callable[[SimulatedNetwork], FloatArray]
FITS: Final[dict[str, Fit]] = {
    LITERAL: lambda data: order_bayes_net(data.correlations, ALPHA, schedule="literal").value,
    HOMOTOPY: lambda data: order_bayes_net(data.correlations, ALPHA).value,
    COLUMNWISE: lambda data: bcd_bayes_net(data.correlations, ALPHA).value,
    ARRANGED: lambda data: GaussianBayesNet(ALPHA, "bcd").fit(data.standardized).coef_,
}


def list_tasks(quick: bool) -> list[Row]:
    """List the tables."""
    return [{"n_rows": n_rows, "n_orders": 10 if quick else 100} for n_rows in ROWS]


def run_task(rng: np.random.Generator, *, n_rows: int, n_orders: int) -> list[Row]:
    """Fit the table as it is, and with its columns in other orders."""
    data = simulate(NETWORK, rng, n_rows)
    orders = [rng.permutation(len(data.arcs)) for _ in range(n_orders)]
    return [{"method": name, **compare_orders(fit, data, orders)} for name, fit in FITS.items()]


def compare_orders(fit: Fit, data: SimulatedNetwork, orders: list[np.ndarray]) -> Row:
    """Compare the coefficients with those that other orders of the columns give."""
    original = fit(data)
    found = np.array([_in_order(fit, data, order) for order in orders])
    average = found.mean(axis=0)
    is_there = (original != 0) | (average != 0)
    return {
        "distance": float(np.linalg.norm(average - original)),
        "correlation": float(np.corrcoef(average.ravel(), original.ravel())[0, 1]),
        "furthest": float(np.abs(found - original).max()),
        "n_arcs": int(np.count_nonzero(original)),
        "n_graphs": len({(coef != 0).tobytes() for coef in found}),
        "original": _as_text(original[is_there]),
        "average": _as_text(average[is_there]),
    }


def parse_coefficients(text: str) -> FloatArray:
    """Numbers from the text in the rows."""
    return np.array([float(value) for value in text.split()])


def _as_text(values: FloatArray) -> str:
    return " ".join(f"{value:.4g}" for value in values)


def _in_order(fit: Fit, data: SimulatedNetwork, order: np.ndarray) -> FloatArray:
    """Fit with the columns in another order, and put the coefficients back."""
    moved = SimulatedNetwork(
        arcs=data.arcs[np.ix_(order, order)],
        raw=data.raw[:, order],
        standardized=data.standardized[:, order],
    )
    coef = np.empty(data.arcs.shape)
    coef[np.ix_(order, order)] = fit(moved)
    return coef


PART = Part(name="invariance", tasks=list_tasks, run=run_task)
