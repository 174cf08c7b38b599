"""Tables and verdicts on section 5.2."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from edgewise.reproduce._files import markdown_table, mean_and_error
from edgewise.reproduce._study import Claim, Report
from edgewise.reproduce.covariates.climate import LEAF, PAIR, SPLIT, STATION, SUMMARY
from edgewise.reproduce.verdicts import CLEAR, verdict

#: Share of the leaves that a frequent edge is found in.
FREQUENT: Final = 0.75
#: The rarer of the two signs must have this share of the leaves for an edge to be of either sign.
MIXED: Final = 0.25
#: Stations this near to the sea lie on the coast.
COAST: Final = 75.0
#: Splits that are listed, from the top of the tree down.
N_SPLITS_SHOWN: Final = 7

INTRODUCTION: Final = """\
## Section 5.2: weather of the United States

The paper's 18 factors at 125 grid points are not public. In their place: daily weather at 59
stations, a typical year each, as deviations from the season at each station with unit variances, so
that stations differ in how 16 variables hang together and in nothing else. Even weeks of the year
train, odd weeks validate. The country is split by latitude and longitude."""


def report(frame: pd.DataFrame) -> Report:
    """Set out the splits, the edges that pooling hides, and coast against inland."""
    (summary,) = (row for _, row in frame[frame["kind"] == SUMMARY].iterrows())
    hidden = hidden_pairs(frame)
    text = "\n\n".join(
        [
            INTRODUCTION,
            _reading(summary, frame),
            "### The first splits",
            _split_rows(frame),
            "### Edges of the leaves that are not in the graph of all rows",
            _hidden(hidden),
            "### Coast and inland",
            _coast(frame),
        ]
    )
    claims = (_vanish(summary, hidden), _cancel(hidden), _alike(summary), _sparser(frame))
    return Report(text=text, claims=claims)


def hidden_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Pairs that are joined in most leaves and not in the graph of all rows."""
    pairs = frame[frame["kind"] == PAIR]
    found = pairs[(pairs["pooled"] == 0) & (pairs["share"] >= FREQUENT)]
    return found.sort_values(["share", "source", "target"], ascending=[False, True, True])


def stations_of(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per station, with whether it lies on the coast."""
    stations = frame[frame["kind"] == STATION]
    return stations.assign(is_coast=stations["to_sea"] <= COAST)


def leaves_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Boxes of the leaves."""
    return frame[frame["kind"] == LEAF]


def _reading(summary: pd.Series, frame: pd.DataFrame) -> str:
    splits = frame[frame["kind"] == SPLIT]
    gain = splits["gain"].sum()
    by_graph = (splits["gain"] * splits["graph"]).sum() / gain
    return (
        f"{summary['leaves']:.0f} leaves for {summary['n_stations']:.0f} stations. A row of the "
        f"weeks held out has a log-likelihood of {summary['score']:.2f} under the tree and of "
        f"{summary['pooled_score']:.2f} under one Gaussian for all; the weeks that chose the tree "
        f"also score it, which flatters it. {by_graph:.0%} of the gain in risk is due to partial "
        "correlations; parts of a gain can be negative, so that others exceed the whole. Leaves "
        f"have {summary['leaf_edges']:.1f} of 120 edges on average, the graph of all rows "
        f"{summary['pooled_edges']:.0f}: nearly everything depends on everything a little. That "
        "graph is chosen at the end of the path of alphas, a hundredth of the first; on a path to "
        f"a ten thousandth it has {summary['longer_edges']:.0f} edges. So which edges pooling "
        "hides depends on where paths end, and the table below should be read with that in mind."
    )


def _split_rows(frame: pd.DataFrame) -> str:
    splits = frame[frame["kind"] == SPLIT].head(N_SPLITS_SHOWN)
    rows = [
        [
            f"{split.node:.0f}",
            str(split.condition),
            f"{split.n:.0f}",
            f"{split.gain:.3f}",
            f"{split.graph:.0%}",
        ]
        for split in splits.itertuples()
    ]
    return markdown_table(["node", "left", "rows", "gain in risk", "due to the graph"], rows)


def _hidden(hidden: pd.DataFrame) -> str:
    rows = [
        [
            f"{pair.source}, {pair.target}",
            f"{pair.share:.0%}",
            f"{pair.positive:.0%}",
            f"{pair.least:+.2f} to {pair.most:+.2f}",
            "yes" if pair.longer else "no",
        ]
        for pair in hidden.itertuples()
    ]
    header = ["variables", "in leaves", "positive", "partial correlation", "on the longer path"]
    return markdown_table(header, rows)


def _coast(frame: pd.DataFrame) -> str:
    stations = stations_of(frame)
    alone = stations[stations.groupby("leaf")["leaf"].transform("size") == 1]
    rows = []
    for name, part in (("all stations", stations), ("alone in their leaf", alone)):
        for is_coast, where in ((True, f"coast, within {COAST:.0f} km"), (False, "inland")):
            found = part.loc[part["is_coast"] == is_coast, "edges"]
            edges = mean_and_error(found, 1) if len(found) else "none"
            rows.append([name, where, str(len(found)), edges])
    return markdown_table(["stations", "where", "number", "edges of their leaf"], rows)


def _vanish(summary: pd.Series, hidden: pd.DataFrame) -> Claim:
    n_left = int((hidden["longer"] == 0).sum())
    return Claim(
        published="The graph of all rows lacks edges that belong there by what is known, and that "
        "the leaves have.",
        found=f"{len(hidden)} pairs are joined in {FREQUENT:.0%} or more of the leaves and not in "
        f"the graph of all rows, which has {summary['pooled_edges']:.0f} edges. With a longer path "
        f"it has {summary['longer_edges']:.0f}, and lacks {n_left} of them.",
        holds=verdict([[len(hidden) > 0], [n_left > 0]]),
    )


def _cancel(hidden: pd.DataFrame) -> Claim:
    rarer = hidden["positive"].clip(upper=1.0 - hidden["positive"])
    mixed = hidden[rarer >= MIXED]
    listed = ", ".join(f"{pair.source}-{pair.target}" for pair in mixed.itertuples())
    others = " The others mostly keep their sign." if len(mixed) < len(hidden) else ""
    return Claim(
        published="Edges may be missing there because positive correlations at some places and "
        "negative ones at others cancel.",
        found=f"{len(mixed)} of those {len(hidden)} pairs have either sign in {MIXED:.0%} or more "
        f"of the leaves that join them: {listed or 'none'}.{others}",
        holds=verdict([[bool(sign >= MIXED)] for sign in rarer] or [[False]]),
    )


def _alike(summary: pd.Series) -> Claim:
    nearest, any_two = summary["alike_nearest"], summary["alike_any"]
    return Claim(
        published="Graphs of adjacent regions are quite similar.",
        found=f"Of the edges in either of two leaves, {nearest:.0%} are in both with the same sign "
        f"for nearest leaves, and {any_two:.0%} for any two.",
        holds=verdict([[bool(nearest > any_two)], [bool(nearest > any_two + 0.1)]]),
    )


def _sparser(frame: pd.DataFrame) -> Claim:
    stations = stations_of(frame)
    coast, inland = (
        stations.loc[stations["is_coast"] == is_coast, "edges"] for is_coast in (True, False)
    )
    lead = inland.mean() - coast.mean()
    error = np.hypot(*(edges.std() / np.sqrt(len(edges)) for edges in (coast, inland)))
    return Claim(
        published="Graphs along the coasts are sparser than those of the mainland.",
        found=f"Leaves of stations on the coast have {mean_and_error(coast, 1)} edges, those of "
        f"inland stations {mean_and_error(inland, 1)}.",
        holds=verdict([[bool(lead > 0)], [bool(lead > CLEAR * error)]]),
    )
