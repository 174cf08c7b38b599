"""Climate: how the weather hangs together, from place to place.

Grows a tree of networks over latitude and longitude on daily weather at 59 stations of the United
States, bundled with the package, the season taken off and odd weeks held out. Tells which edges
one network for the whole country would hide, and what differs between the coasts.
Usage: ``python examples/climate_tree.py [FOLDER]``
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from edgewise import GraphTree, HeldOut
from edgewise.data import load_climate
from edgewise.plot import plot_leaf_map, plot_partition, plot_tree, plot_tree_risk, save_figure

#: Log-likelihood that a split must gain; less gives a leaf to every station or two.
MIN_GAIN = 300.0
#: A station on each coast.
WEST, EAST = (37.6, -122.4), (40.7, -73.8)


def main(folder: Path) -> None:
    climate = load_climate()
    X, Y = climate.covariates[["lat", "lon"]], climate.responses
    held = climate.is_validation
    tree = GraphTree(HeldOut(min_gain=MIN_GAIN)).fit(X[~held], Y[~held], X[held], Y[held])

    print(tree.export_text())
    print(f"held-out risk {tree.risk_path_[0]:.2f} with one network, {tree.risk_:.2f} with a tree")

    hidden = sum(leaf.graph.adjacency & ~tree.graph_.adjacency for leaf in tree.leaves_)
    pairs = np.argwhere(np.triu(hidden))
    common = pairs[np.argsort(-hidden[tuple(pairs.T)], kind="stable")][:6]
    names = tree.response_names_
    print(f"in most of {len(tree.leaves_)} leaves, but not in the network of all rows:")
    for i, j in common:
        print(f"  {names[i]} and {names[j]} in {hidden[i, j]}")

    west, east = tree.apply(pd.DataFrame([WEST, EAST], columns=["lat", "lon"])).tolist()
    differ = tree.compare_leaves(west, east)
    print(f"from leaf {west} in the west to leaf {east} in the east, most changed:")
    print(differ.edges.head(5).round(2).to_string(index=False))

    save_figure(plot_tree(tree).figure, folder / "climate_tree.png", dpi=80)
    save_figure(plot_partition(tree, X=X).figure, folder / "climate_partition.png", dpi=90)
    save_figure(plot_leaf_map(tree, X).figure, folder / "climate_map.png", dpi=90)
    save_figure(plot_tree_risk(tree).figure, folder / "climate_risk.png", dpi=90)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
