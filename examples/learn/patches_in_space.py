"""
What does knowing the neighbours gain?
======================================

Patches of sites on a grid are joined to patches. How much of that comes back from 100 rows, with
and without knowing who is whose neighbour.
"""

# %%
# A known truth, and two fits
# ---------------------------
# Both choose their penalties by held-out likelihood. KL is the divergence from the true
# distribution: less is better.
from matplotlib.figure import Figure

from edgewise import CV, GaussianGraph, Graph, LocallyConstantGraph
from edgewise.data import make_block_model
from edgewise.metrics import gaussian_kl
from edgewise.plot import plot_sites, save_figure

SHAPE = (6, 8)
N_SAMPLES = 100

truth = make_block_model(SHAPE, n_blocks=4, size=2, rng=2)
X = truth.sample(N_SAMPLES, rng=0)
fits = {
    "graphical lasso": GaussianGraph(alpha="cv", penalize_diagonal=True, random_state=0),
    "locally constant": LocallyConstantGraph(
        alpha=CV(n_alphas=6), tau=CV(n_alphas=4), neighbors=SHAPE, random_state=0
    ),
}
print(f"{truth.adjacency.sum() // 2} true edges, {N_SAMPLES} rows of {len(X.T)} sites")
print("method            alpha    tau  edges    KL")
for name, model in fits.items():
    model.fit(X)
    divergence = gaussian_kl(truth.precision, model.precision_)
    print(
        f"{name:<17}{model.alpha_:>6.3f}{getattr(model, 'tau_', 0.0):>7.3f}"
        f"{model.graph_.n_edges:>7}{divergence:>6.2f}"
    )
print(f"the latter in {model.groups_.max() + 1} fused groups, duality gap {model.gap_:.0e}")

# %%
# Truth and estimate over the sites
# ---------------------------------
# As many of the strongest edges as there are true ones. Penalties chosen by prediction keep small
# edges besides: the whole graph is for predicting, the strongest edges are for reading.
figure = Figure(figsize=(11, 5), layout="constrained")
left, right = figure.subplots(1, 2)
known = Graph.from_precision(truth.precision)
plot_sites(known, SHAPE, left, labels="none").set_title("truth")
plot_sites(
    model.graph_, SHAPE, right, groups=model.groups_, top=known.n_edges, labels="none"
).set_title(f"estimate from {N_SAMPLES} rows")
save_figure(figure, "patches_in_space.png", dpi=110)
figure
