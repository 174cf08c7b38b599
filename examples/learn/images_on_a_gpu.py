"""
Which parts of an image of 64 x 64 pixels go together?
======================================================

Images of 4,096 pixels in which a few patches are joined to patches far away, by links that are too
weak to be found one by one. A GPU learns the network in seconds; without one, as for the figures
below, the same program takes smaller images. With one it draws this:

.. image:: /images/images_on_a_gpu.png
   :alt: What one of 4,096 pixels is joined to: in truth, by the graphical lasso, and by the locally
         constant model, which finds the patches
"""

# %%
# Images with a known truth
# -------------------------
# Every pixel is a column and every image a row. Each of eight pairs of patches is joined: all
# pixels of one to all pixels of the other, with one strength.
import numpy as np
from matplotlib.figure import Figure

from edgewise import Graph, LocallyConstantGraph
from edgewise.data import make_block_model
from edgewise.plot import plot_seed_map, save_figure

try:
    import torch

    HAS_GPU = torch.cuda.is_available()
except ImportError:
    HAS_GPU = False

SIDE, PATCH, N_IMAGES = (64, 6, 500) if HAS_GPU else (16, 3, 120)

shape = (SIDE, SIDE)
truth = make_block_model(shape, n_blocks=8, size=PATCH, rng=5)
known = Graph.from_precision(truth.precision)
X = truth.sample(N_IMAGES, rng=0)
new = truth.sample(200, rng=1)
strongest = np.abs(known.weights).max()
print(f"{N_IMAGES} images of {SIDE} x {SIDE} pixels")
print(f"{known.n_edges} true links among {known.n_nodes} pixels, all below {strongest:.2f}")

# %%
# Two networks
# ------------
# Without differences of neighbours (``tau`` of zero) this is the graphical lasso. Penalties are
# the best of a few for 200 images that no fit has seen. ``device="auto"`` solves on the GPU where
# there is one and the images are large enough.
tries = {
    "graphical lasso": [(0.15, 0.0), (0.2, 0.0)],
    "locally constant": [(0.02, 0.06), (0.05, 0.06), (0.02, 0.1)],
}
found = {}
print("method            alpha   tau  log-likelihood    links   true ones  duality gap")
for name, strengths in tries.items():
    best, likelihood = None, -np.inf
    for alpha, tau in strengths:
        fit = LocallyConstantGraph(alpha, tau, neighbors=shape, device="auto").fit(X)
        if (score := fit.score(new)) > likelihood:
            best, likelihood = fit, score
    graph = found[name] = best.graph_
    share = (graph.adjacency & known.adjacency).sum() / known.adjacency.sum()
    print(
        f"{name:<18}{best.alpha:>5.2f}{best.tau:>6.2f}{likelihood:>16.1f}"
        f"{graph.n_edges:>9,}{share:>12.0%}{best.gap_:>13.0e}"
    )

# %%
# What one pixel is joined to
# ---------------------------
# The pixel with most links, framed in black; the colour of each other one is its partial
# correlation with it. Single links drown in noise. That neighbours are joined to the same pixels
# is what brings them out.
seed = int(known.adjacency.sum(axis=1).argmax())
figure = Figure(figsize=(11, 4.2), layout="constrained")
for ax, (name, graph) in zip(
    figure.subplots(1, 3), [("truth", known), *found.items()], strict=True
):
    plot_seed_map(graph, seed, shape, ax, limit=strongest, colorbar=name == "locally constant")
    ax.set_title(name)
save_figure(figure, "images_on_a_gpu.png", dpi=110)
figure
