"""Tables and verdicts on section 5.2."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from edgewise._core.typing import FloatArray, IntArray
from edgewise.data import load_climate, load_table
from edgewise.estimators import GraphTree
from edgewise.estimators.covariates.tree_nodes import TreeNode
from edgewise.graph import Graph
from edgewise.reproduce.study import Claim, Part, Report, Row
from edgewise.reproduce.tables import CLEAR, markdown_table, mean_and_error, verdict

EARTH: Final = 6371.0
#: The Pacific coast with Puget Sound, and that of the Gulf and the Atlantic: latitude, longitude.
COASTS: Final = (
    (
        (47.1, -122.6), (47.9, -122.4), (48.3, -123.2), (48.4, -124.7), (46.2, -124.0),
        (44.6, -124.1), (42.8, -124.5), (41.7, -124.2), (40.4, -124.4), (39.0, -123.7),
        (38.0, -123.0), (37.5, -122.5), (36.6, -121.9), (34.6, -120.6), (34.1, -119.2),
        (33.9, -118.4), (32.5, -117.1),
    ),
    (
        (26.0, -97.2), (27.8, -97.1), (29.3, -94.8), (29.7, -93.3), (29.2, -90.5),
        (30.3, -88.5), (30.3, -86.5), (29.7, -85.0), (29.9, -83.8), (28.8, -82.7),
        (27.6, -82.7), (26.4, -82.0), (25.2, -81.1), (24.6, -81.8), (25.1, -80.4),
        (25.8, -80.1), (26.7, -80.0), (28.4, -80.6), (30.3, -81.4), (32.0, -80.9),
        (33.8, -78.7), (35.2, -75.6), (36.9, -76.0), (38.5, -75.1), (39.4, -74.4),
        (40.6, -73.8), (41.2, -71.8), (41.7, -70.0), (42.4, -71.0), (43.6, -70.2),
        (44.4, -68.2), (44.8, -67.0),
    ),
)  # fmt: skip
#: Points on each stretch between two of those above.
N_BETWEEN: Final = 20


def kilometers(here: ArrayLike, there: ArrayLike) -> FloatArray:
    """Great-circle distance from one place to others, each a latitude and a longitude.

    Examples
    --------
    >>> kilometers([40.65, -73.8], [[42.37, -71.02]]).round().tolist()
    [300.0]
    """
    a, b = np.radians(np.asarray(here, dtype=np.float64)), np.radians(np.asarray(there))
    half = np.sin((b - a) / 2.0) ** 2
    chord = half[..., 0] + np.cos(a[0]) * np.cos(b[..., 0]) * half[..., 1]
    return np.asarray(2.0 * EARTH * np.arcsin(np.sqrt(chord)))


def kilometers_to_sea(lat: float, lon: float) -> float:
    """Distance of a place from the sea.

    Examples
    --------
    >>> kilometers_to_sea(42.37, -71.02) < 20 < 1000 < kilometers_to_sea(41.15, -104.8)
    True
    """
    nearest = np.inf
    for coast in COASTS:
        ends = np.array(coast)
        shares = np.linspace(0.0, 1.0, N_BETWEEN)[:, None, None]
        points = ends[:-1] + shares * (ends[1:] - ends[:-1])
        nearest = min(nearest, float(kilometers([lat, lon], points.reshape(-1, 2)).min()))
    return nearest


PLACE: Final = ["lat", "lon"]
#: Variables as alike as temperatures want small alphas: a path that goes on where others end.
LONGER: Final[dict[str, Any]] = {"alpha_ratio": 1e-4, "n_alphas": 60}
#: Kinds of rows.
SUMMARY: Final = "summary"
SPLIT: Final = "split"
LEAF: Final = "leaf"
PAIR: Final = "pair"
STATION: Final = "station"


def list_tasks(quick: bool) -> list[Row]:
    """List the one table; the quick version stops at larger regions."""
    return [{"max_total_depth": 4 if quick else None}]


def run_task(rng: np.random.Generator, *, max_total_depth: int | None) -> list[Row]:
    """Split the country by the risk of the weeks held out, and set out what the leaves share."""
    climate = load_climate()
    X, Y, is_held_out = climate.covariates[PLACE], climate.responses, climate.is_validation
    held_out = X[is_held_out], Y[is_held_out]
    tree = GraphTree(max_total_depth=max_total_depth, random_state=rng)
    tree.fit(X[~is_held_out], Y[~is_held_out], *held_out)
    pooled, longer = (
        GraphTree(max_depth=0, **path).fit(X[~is_held_out], Y[~is_held_out], *held_out)
        for path in ({}, LONGER)
    )
    stations = _stations(tree, X)
    summary = {
        "kind": SUMMARY,
        "leaves": len(tree.leaves_),
        "n_stations": len(stations),
        "pooled_edges": tree.graph_.n_edges,
        "longer_edges": longer.graph_.n_edges,
        "leaf_edges": float(np.mean([leaf.graph.n_edges for leaf in tree.leaves_])),
        "score": tree.score(*held_out),
        "pooled_score": pooled.score(*held_out),
        **_likeness(tree.leaves_, stations),
    }
    return [summary, *_splits(tree), *_leaves(tree), *_pairs(tree, longer.graph_), *stations]


def _stations(tree: GraphTree, X: pd.DataFrame) -> list[Row]:
    """One row per station: where it is, its leaf, and how many edges that has."""
    stations = load_table("tmy3-stations").frame
    places = X.drop_duplicates()
    leaf = dict(zip(map(tuple, places.to_numpy()), tree.apply(places).tolist(), strict=True))
    rows = []
    for name, lat, lon in stations[["name", *PLACE]].itertuples(index=False):
        found = tree.leaves_[leaf[lat, lon]]
        rows.append(
            {
                "kind": STATION,
                "name": name,
                "lat": float(lat),
                "lon": float(lon),
                "leaf": found.leaf,
                "edges": found.graph.n_edges,
                "rows": found.n,
                "to_sea": kilometers_to_sea(lat, lon),
            }
        )
    return rows


def _splits(tree: GraphTree) -> list[Row]:
    report = tree.split_report()
    return [
        {"kind": SPLIT, **{str(name): value for name, value in row.items()}}
        for row in report.to_dict("records")
    ]


def _leaves(tree: GraphTree) -> list[Row]:
    """Boxes of the leaves, to be drawn."""
    rows = []
    for leaf in tree.leaves_:
        (south, north), (west, east) = (leaf.box[name] for name in PLACE)
        rows.append(
            {
                "kind": LEAF,
                "leaf": leaf.leaf,
                "south": south,
                "north": north,
                "west": west,
                "east": east,
            }
        )
    return rows


def _pairs(tree: GraphTree, longer: Graph) -> list[Row]:
    """How often two variables are joined in the leaves and with which sign, and in the whole."""
    names = tree.graph_.names
    weights = np.array([leaf.graph.weights for leaf in tree.leaves_])
    rows = []
    for i, j in zip(*np.triu_indices(len(names), 1), strict=True):
        joined = weights[:, i, j][weights[:, i, j] != 0]
        rows.append(
            {
                "kind": PAIR,
                "source": names[i],
                "target": names[j],
                "pooled": float(tree.graph_.weights[i, j]),
                "longer": float(longer.weights[i, j]),
                "share": len(joined) / len(weights),
                "positive": float((joined > 0).mean()) if len(joined) else 0.0,
                "least": float(weights[:, i, j].min()),
                "most": float(weights[:, i, j].max()),
            }
        )
    return rows


def _likeness(leaves: list[TreeNode], stations: list[Row]) -> Row:
    """Say how alike the graphs of neighbouring leaves are, and those of any two leaves."""
    place = np.array([[row["lat"], row["lon"]] for row in stations])
    leaf = np.array([row["leaf"] for row in stations])
    likeness = _jaccard(leaves)
    nearest = []
    for k in range(len(leaf)):
        others = np.flatnonzero(leaf != leaf[k])
        if others.size:
            closest = others[int(np.argmin(kilometers(place[k], place[others])))]
            nearest.append(likeness[leaf[k], leaf[closest]])
    first, second = np.triu_indices(len(leaves), 1)
    return {
        "alike_nearest": float(np.mean(nearest)) if nearest else 1.0,
        "alike_any": float(likeness[first, second].mean()) if first.size else 1.0,
    }


def _jaccard(leaves: list[TreeNode]) -> FloatArray:
    """Edges that two graphs have in common with the same sign, as a share of those in either."""
    signs: IntArray = np.array(
        [np.sign(leaf.graph.weights[np.triu_indices(len(leaf.mean), 1)]) for leaf in leaves]
    ).astype(np.int64)
    both = ((signs[:, None] == signs) & (signs != 0)).sum(axis=2)
    either = ((signs[:, None] != 0) | (signs != 0)).sum(axis=2)
    return np.asarray(both / np.maximum(either, 1))


PART = Part(name="climate", tasks=list_tasks, run=run_task)


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
