"""
Which pixels of a handwritten 3 go together?
============================================

A graph of scikit-learn's digits that is sparse and, knowing which pixels are neighbours, locally
constant; compared with the graphical lasso on images held out.
"""

# %%
# Images as a table
# -----------------
# Every pixel is a column. Pixels that never change have nothing to tell; the mask says where the
# others are. Shades are counts from 0 to 16: even noise on [0, 1) makes measurements of them.
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold, cross_val_score

from edgewise import LocallyConstantGraph
from edgewise.plot import save_figure
from edgewise.plot.seed_maps import plot_seed_maps

images, digit = load_digits(return_X_y=True)
shades = images[digit == 3]
mask = (np.ptp(shades, axis=0) > 0).reshape(8, 8)
noisy = shades + np.random.default_rng(0).uniform(size=shades.shape)
names = [f"row {row}, column {column}" for row, column in np.argwhere(mask)]
X = pd.DataFrame(noisy[:, mask.ravel()], columns=names)
print(f"{len(X)} images, {mask.sum()} of {mask.size} pixels")

# %%
# What the neighbours are worth
# -----------------------------
# The penalties of a search by held-out likelihood, without differences between neighbours
# (``tau`` of zero, the graphical lasso) and with them. Held out, local constancy gains where all
# pixels share their units, and next to nothing where each is scaled for itself.
FOUND = {
    "global": [(0.0097, 0.0), (0.0031, 0.0077)],
    "variable": [(0.0340, 0.0), (0.0193, 0.0039)],
}

print("units     graphical lasso  locally constant  better on")
folds = KFold(5, shuffle=True, random_state=0)
for scale, strengths in FOUND.items():
    plain, fused = (
        cross_val_score(
            LocallyConstantGraph(alpha, tau, neighbors=mask, scale=scale),
            X,
            cv=folds,
        )
        for alpha, tau in strengths
    )
    print(
        f"{scale:<10}{plain.mean():>15.2f}{fused.mean():>18.2f}"
        f"{(fused > plain).sum():>6} of {len(plain)}"
    )

# %%
# Seed maps
# ---------
# A network of 936 edges among 54 pixels is a hairball. One map per pixel can be read: the seed is
# framed, and the colour of each other pixel is its partial correlation with the seed.
model = LocallyConstantGraph(*FOUND["global"][1], neighbors=mask).fit(X)
graph = model.graph_
print(f"{graph.n_edges} edges in {model.groups_.max() + 1} fused groups")
print(f"duality gap {model.gap_:.0e}, converged: {model.converged_}")
print(graph.edges()[["source", "target", "weight"]].head(6).round(2).to_string(index=False))

figure = plot_seed_maps(graph, shape=(8, 8), mask=mask)
save_figure(figure, "digits_in_space.png", dpi=110)
figure
