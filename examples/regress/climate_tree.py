"""
Where does the weather hang together in which way?
==================================================

A tree of networks over latitude and longitude, on daily weather at 59 stations of the United
States, which comes with the package, the season taken off and odd weeks held out.
"""

# %%
# A tree with a network in each leaf
# ----------------------------------
# A split is kept where it gains at least 300 of log-likelihood on the weeks held out; with less,
# every station or two would have a leaf of its own.
import numpy as np
import pandas as pd

from edgewise import GraphTree, HeldOut
from edgewise.data import load_climate
from edgewise.plot import plot_leaf_map, plot_tree, save_figure
from edgewise.plot.partition import plot_partition
from edgewise.plot.tree import plot_tree_risk

climate = load_climate()
X, Y = climate.covariates[["lat", "lon"]], climate.responses
held = climate.is_validation
tree = GraphTree(HeldOut(min_gain=300.0)).fit(X[~held], Y[~held], X[held], Y[held])

print(tree.export_text())
print(f"held-out risk {tree.risk_path_[0]:.2f} with one network, {tree.risk_:.2f} with a tree")

figure = plot_tree(tree).figure
save_figure(figure, "climate_tree.png", dpi=80)
figure

# %%
# Where the leaves lie
# --------------------
# The first split runs near the 100th meridian, where the dry west begins, though the tree was told
# nothing of rain.
leaf_map = plot_leaf_map(tree, X).figure
save_figure(leaf_map, "climate_map.png", dpi=90)
leaf_map

# %%
# The same as rectangles
# ----------------------
partition = plot_partition(tree, X=X).figure
save_figure(partition, "climate_partition.png", dpi=90)
partition

# %%
# What one network for the whole country hides
# --------------------------------------------
hidden = sum(leaf.graph.adjacency & ~tree.graph_.adjacency for leaf in tree.leaves_)
pairs = np.argwhere(np.triu(hidden))
common = pairs[np.argsort(-hidden[tuple(pairs.T)], kind="stable")][:6]
names = tree.response_names_
print(f"in most of {len(tree.leaves_)} leaves, but not in the network of all rows:")
for i, j in common:
    print(f"  {names[i]} and {names[j]} in {hidden[i, j]}")

# %%
# From coast to coast
# -------------------
# The leaf of San Francisco beside that of New York.
WEST, EAST = (37.6, -122.4), (40.7, -73.8)

west, east = tree.apply(pd.DataFrame([WEST, EAST], columns=["lat", "lon"])).tolist()
differ = tree.compare_leaves(west, east)
print(f"from leaf {west} in the west to leaf {east} in the east, most changed:")
print(differ.edges.head(5).round(2).to_string(index=False))

# %%
# How far to split
# ----------------
# The risk held out after each split.
risk = plot_tree_risk(tree).figure
save_figure(risk, "climate_risk.png", dpi=90)
risk
