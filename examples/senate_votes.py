"""Senate: which senators vote alike beyond what the votes of all others explain.

Learns a Markov network of yea and nay from votes of one year that are bundled with the package,
judges it by the votes of the next, asks it for a vote, and draws the surest links.
Usage: ``python examples/senate_votes.py [FOLDER]``
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from edgewise import DiscreteMarkovNet, Graph
from edgewise.data import load_senate
from edgewise.plot import plot_network, save_figure

ASKED = "Obama"
#: Log posterior odds of 20 to 1.
SURE = np.log(20)


def main(folder: Path) -> None:
    senate = load_senate()
    before, after = (senate.votes[senate.years == year] for year in (2005, 2006))

    model = DiscreteMarkovNet().fit(before)
    print(f"{model.graph_.n_edges} pairs linked, by {model.n_tests_} tests of {len(before)} votes")
    print(model.graph_.edges().head(5)[["source", "target", "weight"]].round(2).to_string())

    # A vote of the next year is guessed from those of a senator's neighbours.
    alone = DiscreteMarkovNet(max_degree=0).fit(before)
    for words, network in (("neighbours", model), ("each alone", alone)):
        print(f"{words}: {network.score(after) / before.shape[1]:.3f} nats per vote of 2006")

    names = model.graph_.names
    near = [names[k] for k in np.flatnonzero(model.graph_.adjacency[names.index(ASKED)])]
    yea = model.conditional(ASKED, dict.fromkeys(near, 1))[1]
    print(f"{ASKED} votes yea with probability {yea:.2f} where {' and '.join(near)} do")

    sure = np.where(model.support_ > SURE, model.graph_.weights, 0.0)
    picture = plot_network(Graph(sure, names=names)).figure
    save_figure(picture, folder / "senate_votes.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
