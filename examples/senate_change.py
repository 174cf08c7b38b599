"""Senate: who changed, from 2005 to 2006, in how they vote together.

Learns which pairs of senators changed between two years of votes, bundled with the package, tests
that against votes with shuffled years, and goes on to windows of votes. Draws both.
Usage: ``python examples/senate_change.py [FOLDER]``
"""

from __future__ import annotations

import sys
from pathlib import Path

from edgewise import NetworkChange, permutation_test
from edgewise.data import load_senate
from edgewise.inference import window_changes
from edgewise.plot import plot_change, plot_change_strip, save_figure

#: Enough to tell one in twenty from chance.
N_SHUFFLES = 40


def main(folder: Path) -> None:
    senate = load_senate()
    votes, years = senate.votes, senate.years

    model = NetworkChange(alpha="cv", basis="ising", random_state=0).fit(votes, years)
    print(f"{model.graph_.n_edges} pairs changed from {model.classes_[0]} to {model.classes_[1]}")
    print(f"alpha {model.alpha_:.3f}, duality gap {model.gap_:.0e}, converged: {model.converged_}")
    n_rows = int((years == model.classes_[0]).sum())
    print(f"the ratio rests on {model.effective_sample_size_:.0f} of {n_rows} votes")
    print(model.check_directions(votes, years))

    fixed = NetworkChange(alpha=model.alpha_, basis="ising")
    test = permutation_test(fixed, votes, years, n_permutations=N_SHUFFLES, random_state=0)
    sure = test.significant(by="familywise").edges()
    print(f"against shuffled years: p = {test.pvalue:.3f}; beyond chance as a family:")
    print(sure[["source", "target", "weight"]].round(2).to_string(index=False, header=False))

    title = "Pairs of senators who changed in how they vote together, 2005 to 2006"
    save_figure(
        plot_change(model.graph_, title=title).figure, folder / "senate_change.png", dpi=100
    )

    # A hundred votes are fewer than those of a year, and noise is larger in them.
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
    strip = plot_change_strip([w.graph for w in windows], titles=titles)
    save_figure(strip, folder / "senate_windows.png", dpi=90)
    for words, window in zip(titles, windows, strict=True):
        print(f"{words}: {window.graph.n_edges} of {window.observed.n_edges} changes kept")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
