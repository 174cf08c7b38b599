"""
Who changed in how they vote together?
======================================

Pairs of senators who voted together more or less in 2006 than in 2005, whether that is beyond
chance, and when it came about. The votes come with the package.
"""

# %%
# The change, learned at once
# ---------------------------
# The ratio of the densities of the two years is learned, and neither year's own network: edges that
# both years share need not be sparse.
from edgewise import NetworkChange, permutation_test
from edgewise.data import load_senate
from edgewise.inference import window_changes
from edgewise.plot import plot_change, save_figure
from edgewise.plot.change import plot_change_strip

senate = load_senate()
votes, years = senate.votes, senate.years

model = NetworkChange(alpha="cv", basis="ising", random_state=0).fit(votes, years)
print(f"{model.graph_.n_edges} pairs changed from {model.classes_[0]} to {model.classes_[1]}")
print(f"alpha {model.alpha_:.3f}, duality gap {model.gap_:.0e}, converged: {model.converged_}")
n_rows = int((years == model.classes_[0]).sum())
print(f"the ratio rests on {model.effective_sample_size_:.0f} of {n_rows} votes")
print(model.check_directions(votes, years))

# %%
# Against chance
# --------------
# The years are shuffled among the votes 40 times, enough to tell one in twenty. Few single pairs
# are beyond chance as a family, though that something changed is: read the picture as a whole.
N_SHUFFLES = 40

fixed = NetworkChange(alpha=model.alpha_, basis="ising")
test = permutation_test(fixed, votes, years, n_permutations=N_SHUFFLES, random_state=0)
sure = test.significant(by="familywise").edges()
print(f"against shuffled years: p = {test.pvalue:.3f}; beyond chance as a family:")
print(sure[["source", "target", "weight"]].round(2).to_string(index=False, header=False))

title = "Pairs of senators who changed in how they vote together, 2005 to 2006"
figure = plot_change(model.graph_, title=title).figure
save_figure(figure, "senate_change.png", dpi=100)
figure

# %%
# When it came about
# ------------------
# The same for windows of a hundred votes, each compared with the first 128. A hundred votes are
# fewer than those of a year, and noise is larger in them: the penalty is too.
windows = window_changes(
    fixed.set_params(alpha=0.4),
    votes,
    window=100,
    step=100,
    reference=128,
    n_permutations=N_SHUFFLES,
    random_state=0,
)
titles = [f"{senate.dates[w.start]} to {senate.dates[w.stop - 1]}" for w in windows]
for words, window in zip(titles, windows, strict=True):
    print(f"{words}: {window.graph.n_edges} of {window.observed.n_edges} changes kept")

strip = plot_change_strip([w.graph for w in windows], titles=titles)
save_figure(strip, "senate_windows.png", dpi=90)
strip
