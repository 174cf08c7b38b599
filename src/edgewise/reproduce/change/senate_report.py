"""Table of the changes in the Senate, and how sure they are."""

from __future__ import annotations

from typing import Final

import pandas as pd

from edgewise.reproduce._files import markdown_table
from edgewise.reproduce._study import Report
from edgewise.reproduce.change.senate import EDGE, LEVEL, SUMMARY

#: Share of the halves that a stable edge is found in.
STABLE: Final = 0.75

INTRODUCTION: Final = """\
## Section 5.2: a story in real data

The paper's counts of words on Twitter are not public. In their place: 428 votes of 100 United
States senators, 2005 against 2006, as products of entries 1 and -1 (the Ising model). As in the
paper, alpha is chosen by cross-validation, and edges that shuffles of the rows find more than 5
times in 100 are left out. Shuffles are fitted at the alpha that was chosen: chosen anew it would
leave most of them empty, and the rule would ask for nothing."""


def report(frame: pd.DataFrame) -> Report:
    """Set out the edges that changed, the largest change first."""
    (summary,) = (row for _, row in frame[frame["kind"] == SUMMARY].iterrows())
    edges = kept_edges(frame)
    rows = [
        [
            f"{edge.source}, {edge.target}",
            f"{edge.change:+.3f}",
            f"{edge.in_shuffles:.0%}",
            f"{edge.familywise:.3f}",
            f"{edge.in_halves:.0%}",
        ]
        for edge in edges.itertuples()
    ]
    header = ["senators", "change", "in shuffles", "family-wise p", "in halves of the rows"]
    text = "\n\n".join([INTRODUCTION, _reading(summary, edges), markdown_table(header, rows)])
    return Report(text=text, claims=())


def kept_edges(frame: pd.DataFrame) -> pd.DataFrame:
    """Edges that the shuffles leave."""
    edges = frame[frame["kind"] == EDGE]
    return edges[edges["in_shuffles"] <= LEVEL]


def _reading(summary: pd.Series, edges: pd.DataFrame) -> str:
    n_sure = int((edges["familywise"] <= LEVEL).sum())
    n_stable = int((edges["in_halves"] >= STABLE).sum())
    return (
        f"At alpha = {summary['alpha']:.3f} {summary['edges']:.0f} of 4950 pairs change, of which "
        f"{summary['kept']:.0f} remain; a shuffle has {summary['shuffled_edges']:.1f} on average. "
        "That rule is mild: with so many pairs hardly any one is found in 5 of 100 shuffles. By "
        f"the largest change in each of {summary['n_permutations']:.0f} other shuffles the years "
        f"differ (p = {summary['pvalue']:.3g}), and {n_sure} of the edges hold for all pairs "
        f"together (family-wise p of at most {LEVEL:g}). {n_stable} are found in {STABLE:.0%} or "
        f"more of {summary['n_resamples']:.0f} random halves of the rows. Learned the other way "
        f"round, from 2006 to 2005, {summary['agreement']:.0%} of the edges found either way are "
        f"the same. The ratio rests on {summary['effective_sample_size']:.0f} of the 251 votes of "
        "2005. Votes on one bill follow each other and are not independent, so that shuffles make "
        "changes look more certain than they are."
    )
