"""
Who votes alike beyond what all others explain?
===============================================

A Markov network of yea and nay in the Senate of 2005, which comes with the package, judged by the
votes of 2006.
"""

# %%
# A network of votes
# ------------------
# An edge joins two senators whose votes go together even where the votes of all others are known.
import numpy as np

from edgewise import DiscreteMarkovNet, Graph
from edgewise.data import load_senate
from edgewise.plot import plot_network, save_figure

senate = load_senate()
before, after = (senate.votes[senate.years == year] for year in (2005, 2006))

model = DiscreteMarkovNet().fit(before)
print(f"{model.graph_.n_edges} pairs linked, by {model.n_tests_} tests of {len(before)} votes")
print(model.graph_.edges().head(5)[["source", "target", "weight"]].round(2).to_string())

# %%
# Does it hold in the next year?
# ------------------------------
# A vote of 2006 is guessed from those of a senator's neighbours, and compared with a guess that
# knows only how often the senator voted yea.
alone = DiscreteMarkovNet(max_degree=0).fit(before)
for words, network in (("neighbours", model), ("each alone", alone)):
    print(f"{words}: {network.score(after) / before.shape[1]:.3f} nats per vote of 2006")

ASKED = "Obama"
names = model.graph_.names
near = [names[k] for k in np.flatnonzero(model.graph_.adjacency[names.index(ASKED)])]
yea = model.conditional(ASKED, dict.fromkeys(near, 1))[1]
print(f"{ASKED} votes yea with probability {yea:.2f} where {' and '.join(near)} do")

# %%
# The surest links
# ----------------
# Those whose posterior odds are above 20 to 1. Four of the five strongest join the two senators of
# one state, though nobody named the states.
sure = np.where(model.support_ > np.log(20), model.graph_.weights, 0.0)
figure = plot_network(Graph(sure, names=names)).figure
save_figure(figure, "senate_votes.png", dpi=100)
figure
