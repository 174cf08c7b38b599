"""
How much of a known network comes back?
=======================================

Samples of a Gaussian whose graph is known: four methods rank the pairs of variables, three rules
choose a penalty, and each is compared with the truth.
"""

# %%
# Four rankings of the pairs
# --------------------------
# The area under precision against recall: 1 would put every true edge before every false one.
import numpy as np

from edgewise import GaussianGraph, NeighborhoodGraph, StabilitySelection
from edgewise.data import make_gaussian_graph
from edgewise.metrics import edge_metrics, precision_recall_curve
from edgewise.plot import plot_precision_recall, save_figure

N_SAMPLES, N_FEATURES = 150, 50

truth = make_gaussian_graph(N_FEATURES, "erdos-renyi", degree=2, rng=1)
X = truth.sample(N_SAMPLES, rng=2)
print(f"{truth.adjacency.sum() // 2} true edges, {N_SAMPLES} rows of {N_FEATURES} variables")

learner = NeighborhoodGraph()
paths = {"graphical lasso": GaussianGraph().path(X), "neighbourhoods": learner.path(X)}
curves = {
    name: precision_recall_curve(truth.adjacency, path.graphs, thresholds=path.alphas)
    for name, path in paths.items()
}
# The sparse half of the path: with all of it, every pair turns up somewhere.
alphas = paths["neighbourhoods"].alphas[:15]
stability = StabilitySelection(learner, n_resamples=50, alphas=alphas, random_state=0)
frequency = stability.fit(X).edge_frequency_
curves["stability"] = precision_recall_curve(truth.adjacency, frequency)
curves["plain correlation"] = precision_recall_curve(truth.adjacency, np.corrcoef(X.T))
for name, curve in curves.items():
    print(f"{name:<18} area {curve.auc:.2f}")

# %%
# Three rules for the penalty
# ---------------------------
# Cross-validation asks for prediction, for which small edges are worth having; EBIC and StARS ask
# for edges that are there.
print("alpha by   edges  precision  recall")
for rule in ("ebic", "cv", "stars"):
    graph = GaussianGraph(alpha=rule, random_state=0).fit(X).graph_
    found = edge_metrics(truth.adjacency, graph.adjacency)
    print(f"{rule:<9}{graph.n_edges:>7}{found.precision:>11.2f}{found.recall:>8.2f}")

# %%
# Precision against recall
# ------------------------
figure = plot_precision_recall(curves).figure
save_figure(figure, "simulated_recovery.png", dpi=110)
figure
