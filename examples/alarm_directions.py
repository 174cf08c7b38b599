"""Alarm: which way influences run in a network that is known.

Draws rows from linear equations along the Alarm network of patient monitoring, learns it back by
blankets, by a penalised order and by sorting the columns, on standardised columns and in units that
give the order away, and draws what was found, with how sure each direction is.
Usage: ``python examples/alarm_directions.py [FOLDER]``
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from edgewise import BlanketBayesNet, BootstrapGraph, GaussianBayesNet
from edgewise.data import linear_sem, load_dag, sample_linear_sem
from edgewise.metrics import cpdag, edge_metrics, pdag_errors, r2_sortability, varsortability
from edgewise.plot import plot_arc_confidence, plot_dag, save_figure
from edgewise.reproduce.directed.sort_and_regress import sort_and_regress

N_ROWS = 1000


def main(folder: Path) -> None:
    alarm = load_dag("alarm")
    # Nodes in random order: many methods break ties by position, and Alarm's would help them.
    model = linear_sem(alarm.adjacency, permute=True, rng=0)
    names = [alarm.names[k] for k in model.columns]
    rows = pd.DataFrame(sample_linear_sem(model, N_ROWS, rng=1), columns=names)
    standardised = (rows - rows.mean()) / rows.std()

    print(f"{alarm.n_edges} true arcs among {len(names)} columns, {N_ROWS} rows")
    print(
        f"varsortability {varsortability(rows, model.adjacency):.2f}, standardised 0.50;", end=" "
    )
    print(f"R2-sortability {r2_sortability(rows, model.adjacency):.2f} in any units")
    print("wrong entries of the adjacency, standardised and in raw units")
    for name, learn in METHODS.items():
        wrong = [
            edge_metrics(model.adjacency, learn(table)).hamming for table in (standardised, rows)
        ]
        print(f"{name:<18} {wrong[0]:>5} {wrong[1]:>5}")

    found = BootstrapGraph(BlanketBayesNet(), n_resamples=30, random_state=0).fit(rows)
    pattern = found.estimator_.cpdag_.adjacency
    n_arcs = found.graph_.n_edges
    print(f"blankets: {n_arcs} arcs, the data do not tell the direction of {n_undirected(pattern)}")
    print(f"no data could tell {n_undirected(cpdag(model.adjacency))} of the true ones")
    print(f"up to equivalence: {pdag_errors(model.adjacency, pattern)}")

    order = found.estimator_.order_
    figure = plot_dag(found.graph_, tiers=order, pattern=pattern).figure
    save_figure(figure, folder / "alarm_directions.png", dpi=100)
    figure = plot_arc_confidence(found.graph_, most=50).figure
    save_figure(figure, folder / "alarm_confidence.png", dpi=80)


def n_undirected(pattern: np.ndarray) -> int:
    return int((pattern & pattern.T).sum()) // 2


def blankets(table: pd.DataFrame) -> np.ndarray:
    return BlanketBayesNet("iamb").fit(table).graph_.adjacency


def penalised_order(table: pd.DataFrame) -> np.ndarray:
    return GaussianBayesNet(alpha=0.25, standardize=False).fit(table).graph_.adjacency


def sorting(table: pd.DataFrame) -> np.ndarray:
    return sort_and_regress(table.cov().to_numpy(), len(table)).value != 0


METHODS = {"blankets": blankets, "penalised order": penalised_order, "sort and regress": sorting}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
