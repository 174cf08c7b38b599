"""Votes of the United States Senate in 2005 and in 2006: what changed, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.base import clone

from edgewise.data import load_senate
from edgewise.estimators import NetworkChange
from edgewise.graph import Graph
from edgewise.inference import StabilitySelection, permutation_test, window_changes
from edgewise.plot import plot_change
from studies.study import Part, Report, Row
from studies.tables import fill, records_table, rows_of

FIRST_YEAR: Final = 2005
#: Largest share of the shuffles that may find an edge which is kept.
LEVEL: Final = 0.05
SUMMARY: Final = "summary"
EDGE: Final = "edge"
ENDS: Final = ("source", "target")


def list_tasks(quick: bool) -> list[Row]:
    """List the one comparison, with how often labels are shuffled and rows resampled."""
    few, many = (20, 39) if quick else (100, 999)
    return [{"n_shuffles": few, "n_permutations": many, "n_resamples": few}]


def run_task(
    rng: np.random.Generator,
    *,
    n_shuffles: int,
    n_permutations: int,
    n_resamples: int,
    senators: Sequence[str] | None = None,
) -> list[Row]:
    """Choose alpha by cross-validation, and ask of each edge how sure it is."""
    senate = load_senate()
    if senators is not None:
        senate = replace(senate, votes=senate.votes[list(senators)])
    votes, is_first = senate.votes, senate.years == FIRST_YEAR
    seeds = rng.integers(2**31 - 1, size=3).tolist()
    # Votes are in the order of time, so that the years are a reference and one window after it.
    (found,) = window_changes(
        NetworkChange(basis="ising"), votes, reference=int(is_first.sum()),
        window=int((~is_first).sum()), n_permutations=n_shuffles, level=LEVEL,
        random_state=seeds[0],
    )  # fmt: skip
    model = NetworkChange(basis="ising", alpha=found.alpha)
    test = permutation_test(
        model, votes, senate.years, n_permutations=n_permutations, random_state=seeds[1]
    )
    stable = StabilitySelection(model, n_resamples=n_resamples, random_state=seeds[2])
    stable.fit(votes, senate.years)
    fitted = clone(model).fit(votes, senate.years)
    summary = {
        "kind": SUMMARY,
        "alpha": found.alpha,
        "edges": found.observed.n_edges,
        "kept": found.graph.n_edges,
        "shuffled_edges": float(np.triu(found.frequency).sum()),
        "pvalue": test.pvalue,
        "pvalue_sum": test.pvalue_sum,
        "effective_sample_size": fitted.effective_sample_size_,
        "agreement": fitted.check_directions(votes, senate.years).agreement,
    }
    names, weights = found.observed.names, found.observed.weights
    pairs = np.argwhere(np.triu(found.observed.adjacency)).tolist()
    edges = [
        {
            "kind": EDGE,
            **dict(zip(ENDS, (names[i], names[j]), strict=True)),
            "change": float(weights[i, j]),
            "in_shuffles": float(found.frequency[i, j]),
            "familywise": float(test.familywise[i, j]),
            "in_halves": float(stable.edge_frequency_[i, j]),
        }
        for i, j in sorted(pairs, key=lambda pair: -abs(weights[tuple(pair)]))
    ]
    return [summary, *edges]


#: Share of the halves that a stable edge is found in.
STABLE: Final = 0.75
COLUMNS: Final = {
    "senators": "{source}, {target}",
    "change": "{change:+.3f}",
    "in shuffles": "{in_shuffles:.0%}",
    "family-wise p": "{familywise:.3f}",
    "in halves of the rows": "{in_halves:.0%}",
}


def report(frame: pd.DataFrame) -> Report:
    """Set out the edges that changed, the largest change first."""
    edges = kept_edges(frame)
    text = fill(
        __package__,
        "senate",
        **rows_of(frame, kind=SUMMARY).iloc[0],
        level=LEVEL,
        stable=STABLE,
        n_sure=int((edges["familywise"] <= LEVEL).sum()),
        n_stable=int((edges["in_halves"] >= STABLE).sum()),
        table=records_table(edges, COLUMNS),
    )
    return Report(text)


def kept_edges(frame: pd.DataFrame) -> pd.DataFrame:
    """Edges that at most `LEVEL` of the shuffles find."""
    edges = rows_of(frame, kind=EDGE)
    return edges[edges["in_shuffles"] <= LEVEL]


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Draw the edges that the shuffles leave."""
    names = list(load_senate().votes.columns)
    edges = kept_edges(frame)
    first, second = (edges[column].map(names.index).to_numpy(int) for column in ENDS)
    weights = np.zeros((len(names), len(names)))
    weights[first, second] = weights[second, first] = edges["change"]
    figure = Figure(figsize=(9, 7))
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    plot_change(Graph(weights, names=names), ax, title="United States Senate, from 2005 to 2006")
    return {"senate": figure}


PART = Part(name="senate", tasks=list_tasks, run=run_task, report=report, figures=draw)
