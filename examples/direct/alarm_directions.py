"""
Which way do influences run in a network that is known?
=======================================================

Rows are drawn from linear equations along the Alarm network of patient monitoring, and the network
is learned back: by blankets, by a penalised order and by sorting the columns.
"""

# %%
# Rows from a known network
# -------------------------
# The nodes come in random order: many methods break ties by position, and Alarm's would help them.
# Simulated columns often grow in variance along the arcs, so that sorting them by variance gives
# the order away. Varsortability says how much: here it is high, and 0.50 for standardised columns.
import numpy as np
import pandas as pd

from edgewise import BlanketBayesNet, BootstrapGraph, DirectedGraph, GaussianBayesNet
from edgewise.data import load_dag, make_linear_sem
from edgewise.metrics import cpdag, edge_metrics, pdag_errors, r2_sortability, varsortability
from edgewise.plot import plot_dag, save_figure
from edgewise.plot.directed import plot_arc_confidence

N_ROWS = 1000

alarm = load_dag("alarm")
model = make_linear_sem(alarm.adjacency, permute=True, rng=0)
names = [alarm.names[k] for k in model.columns]
rows = pd.DataFrame(model.sample(N_ROWS, rng=1), columns=names)
standardised = (rows - rows.mean()) / rows.std()

print(f"{alarm.n_edges} true arcs among {len(names)} columns, {N_ROWS} rows")
print(f"varsortability {varsortability(rows, model.adjacency):.2f}, standardised 0.50;", end=" ")
print(f"R2-sortability {r2_sortability(rows, model.adjacency):.2f} in any units")

# %%
# Three methods, in two kinds of units
# ------------------------------------
# Blankets do not depend on units, and sorting depends on nothing else.


def blankets(table: pd.DataFrame) -> np.ndarray:
    """Learn Markov blankets, then orient."""
    return BlanketBayesNet("iamb").fit(table).graph_.adjacency


def penalised_order(table: pd.DataFrame) -> np.ndarray:
    """Search the order of the columns with a penalty on the arcs."""
    return GaussianBayesNet(alpha=0.25, standardize=False).fit(table).graph_.adjacency


def sorting(table: pd.DataFrame) -> np.ndarray:
    """Sort the columns by variance, then regress each on those before it."""
    order = table.var().to_numpy().round(9).argsort(kind="stable")
    return DirectedGraph(tiers=order.argsort()).fit(table).graph_.adjacency


print("wrong entries of the adjacency, standardised and in raw units")
for name, learn in {
    "blankets": blankets,
    "penalised order": penalised_order,
    "sort and regress": sorting,
}.items():
    wrong = [edge_metrics(model.adjacency, learn(table)).hamming for table in (standardised, rows)]
    print(f"{name:<18} {wrong[0]:>5} {wrong[1]:>5}")

# %%
# What was found
# --------------
# Dashed arcs would fit as well the other way round: several networks have the same distribution,
# and no number of rows tells them apart.


def n_undirected(pattern: np.ndarray) -> int:
    """Count the arcs that the pattern leaves open."""
    return int((pattern & pattern.T).sum()) // 2


found = BootstrapGraph(BlanketBayesNet(), n_resamples=30, random_state=0).fit(rows)
pattern = found.estimator_.cpdag_.adjacency
n_arcs = found.graph_.n_edges
print(f"blankets: {n_arcs} arcs, the data do not tell the direction of {n_undirected(pattern)}")
print(f"no data could tell {n_undirected(cpdag(model.adjacency))} of the true ones")
print(f"up to equivalence: {pdag_errors(model.adjacency, pattern)}")

figure = plot_dag(found.graph_, tiers=found.estimator_.order_, pattern=pattern).figure
save_figure(figure, "alarm_directions.png", dpi=100)
figure

# %%
# How sure each direction is
# --------------------------
# The share of 30 resamples that tell the arc as it is drawn, that turn it round, and that have an
# edge whose direction the data do not tell.
confidence = plot_arc_confidence(found.graph_, found.direction_frequency_, most=50).figure
save_figure(confidence, "alarm_confidence.png", dpi=80)
confidence
