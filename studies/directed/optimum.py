"""How far the penalised networks are from the best of all orders, and what that is worth."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from edgewise.data import make_dag, make_linear_sem
from edgewise.estimators import GaussianBayesNet
from studies.directed import methods
from studies.study import Claim, Part, Report, Row, combinations
from studies.tables import fill, grouped, is_clearly_positive, markdown_table, mean_and_error

SIZES: Final = (8, 12, 16)
DEGREE: Final = 3.0
ALPHAS: Final = (0.05, 0.1, methods.ALPHA)
BEST: Final = "best of all orders"
ADAPTIVE: Final = "best of all orders, adaptive weights"
FITS: Final[dict[str, dict[str, Any]]] = {
    BEST: {"method": "exact"},
    methods.LITERAL: {"schedule": "literal"},
    methods.FROM_L1MB: {"schedule": "literal", "init": "l1mb"},
    methods.HOMOTOPY: {},
    methods.COLUMNWISE: {"method": "bcd"},
    ADAPTIVE: {"method": "exact", "weights": "adaptive"},
}


def list_tasks(quick: bool) -> list[Row]:
    """List the simulations."""
    return combinations(
        n_columns=SIZES[:1] if quick else SIZES, repetition=range(2 if quick else 8)
    )


def run_task(rng: np.random.Generator, *, n_columns: int, repetition: int) -> list[Row]:
    """Learn one table by every method for each alpha."""
    graph = make_dag(n_columns, degree=DEGREE, rng=rng)
    truth = make_linear_sem(graph, permute=True, rng=rng)
    X = truth.sample(methods.N_ROWS, rng=rng, standardize=True)
    rows = []
    for alpha in ALPHAS:
        found = {name: GaussianBayesNet(alpha, **fit).fit(X) for name, fit in FITS.items()}
        least = found[BEST].objective_
        for name, model in found.items():
            # Adaptive weights make another objective.
            excess = np.nan if name == ADAPTIVE else 100.0 * (model.objective_ / least - 1.0)
            errors = methods.count_errors(truth.adjacency, model.graph_.adjacency)
            rows.append({"alpha": alpha, "method": name, "excess": excess, **errors})
    return rows


def report(frame: pd.DataFrame) -> Report:
    """Set out objectives above the least, and errors, and judge whether an optimiser would help."""
    rows = []
    for (alpha, method), part in frame.groupby(["alpha", "method"], sort=False):
        excess = part["excess"]
        written = "" if excess.isna().all() else f"{excess.mean():.2f} and {excess.max():.2f}"
        figures = (mean_and_error(part[name], 1) for name in (methods.TOTAL, methods.PDAG))
        rows.append([f"{alpha:g}", str(method), written, *figures])
    header = ["alpha", "method", "above the least, mean and most, %", "total errors", "PDAG errors"]
    text = fill(
        __package__,
        "optimum",
        n=frame["task"].nunique(),
        smallest=frame["n_columns"].min(),
        largest=frame["n_columns"].max(),
        table=markdown_table(header, rows),
    )
    return Report(text, (_helps(frame),))


def _helps(frame: pd.DataFrame) -> Claim:
    errors = grouped(frame, ["alpha", "method"], methods.PDAG)
    gains = {alpha: errors[alpha, methods.LITERAL] - errors[alpha, BEST] for alpha in ALPHAS}
    words = "; ".join(
        f"{mean_and_error(gain, 1, sign=True)} at alpha = {alpha:g}"
        for alpha, gain in gains.items()
    )
    helps = [is_clearly_positive(gain) for gain in gains.values()]
    return Claim(
        "(Not in the paper.) Errors of OR-SGBN up to equivalence are those of its penalty, and no "
        "better optimiser helps.",
        f"Its errors less those of the best of all orders: {words}.",
        "yes" if not any(helps) else "no" if all(helps) else "partly",
    )


PART = Part(name="optimum", tasks=list_tasks, run=run_task, report=report)
