"""Section 5.2: weather of the United States."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from edgewise._core.typing import FloatArray, IntArray
from edgewise.data import load_climate, load_table
from edgewise.estimators import GraphTree
from edgewise.estimators.covariates.tree_nodes import TreeNode
from edgewise.graph import Graph
from studies import figures, tables
from studies.covariates.partition import RECIPE
from studies.study import Claim, Part, Report, Row, load_rows

EARTH: Final = 6371.0
#: The Pacific coast with Puget Sound, and that of the Gulf and the Atlantic: latitude, longitude.
COASTS: Final = tuple(
    coast[["lat", "lon"]].to_numpy()
    for _, coast in load_rows(__package__, "coasts.csv").groupby("coast", sort=False)
)
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
        shares = np.linspace(0.0, 1.0, N_BETWEEN)[:, None, None]
        points = coast[:-1] + shares * (coast[1:] - coast[:-1])
        nearest = min(nearest, float(kilometers([lat, lon], points.reshape(-1, 2)).min()))
    return nearest


PLACE: Final = ["lat", "lon"]
#: Variables as alike as temperatures want small alphas: a path that goes on where others end.
LONGER: Final = replace(RECIPE["criterion"], alpha_ratio=1e-4, n_alphas=60)
#: Kinds of rows.
SUMMARY: Final = "summary"
SPLIT: Final = "split"
LEAF: Final = "leaf"
PAIR: Final = "pair"
STATION: Final = "station"
#: Sides of the box of a leaf.
BOX: Final = ("south", "north", "west", "east")


def list_tasks(quick: bool) -> list[Row]:
    """List the one table; the quick version stops at larger regions."""
    return [{"max_total_depth": 4 if quick else None}]


def run_task(rng: np.random.Generator, *, max_total_depth: int | None) -> list[Row]:
    """Split the country by the risk of the weeks held out, and set out what the leaves share."""
    climate = load_climate()
    X, Y, is_held_out = climate.covariates[PLACE], climate.responses, climate.is_validation
    held_out = X[is_held_out], Y[is_held_out]
    tree = GraphTree(max_total_depth=max_total_depth, random_state=rng, **RECIPE)
    tree.fit(X[~is_held_out], Y[~is_held_out], *held_out)
    pooled, longer = (
        GraphTree(**{**RECIPE, "criterion": criterion}, max_depth=0).fit(
            X[~is_held_out], Y[~is_held_out], *held_out
        )
        for criterion in (RECIPE["criterion"], LONGER)
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
        where = {"kind": STATION, "name": name, "lat": float(lat), "lon": float(lon)}
        about = {"leaf": found.leaf, "edges": found.graph.n_edges, "rows": found.n}
        rows.append({**where, **about, "to_sea": kilometers_to_sea(lat, lon)})
    return rows


def _splits(tree: GraphTree) -> list[Row]:
    report = tree.split_report().drop(columns="p_value")
    return [
        {"kind": SPLIT, **{str(name): value for name, value in row.items()}}
        for row in report.to_dict("records")
    ]


def _leaves(tree: GraphTree) -> list[Row]:
    """Boxes of the leaves, to be drawn."""
    return [
        {"kind": LEAF, "leaf": leaf.leaf, **dict(zip(BOX, sum(sides, ()), strict=True))}
        for leaf in tree.leaves_
        for sides in ([leaf.box[name] for name in PLACE],)
    ]


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


#: Share of the leaves that a frequent edge is found in.
FREQUENT: Final = 0.75
#: The rarer of the two signs must have this share of the leaves for an edge to be of either sign.
MIXED: Final = 0.25
#: Stations this near to the sea lie on the coast.
COAST: Final = 75.0
#: Splits that are listed, from the top of the tree down.
N_SPLITS_SHOWN: Final = 7

SPLIT_COLUMNS: Final = {
    "node": "{node:.0f}",
    "left": "{condition}",
    "rows": "{n:.0f}",
    "gain in risk": "{gain:.3f}",
    "due to the graph": "{graph:.0%}",
}
PAIR_COLUMNS: Final = {
    "variables": "{source}, {target}",
    "in leaves": "{share:.0%}",
    "positive": "{positive:.0%}",
    "partial correlation": "{least:+.2f} to {most:+.2f}",
    "on the longer path": "{is_there}",
}


def report(frame: pd.DataFrame) -> Report:
    """Set out the splits, the edges that pooling hides, and coast against inland."""
    summary = tables.rows_of(frame, kind=SUMMARY).iloc[0]
    splits, hidden, stations = (
        tables.rows_of(frame, kind=SPLIT),
        hidden_pairs(frame),
        stations_of(frame),
    )
    is_there = np.where(hidden["longer"] == 0, "no", "yes")
    text = tables.fill(
        __package__,
        "climate",
        **summary,
        by_graph=(splits["gain"] * splits["graph"]).sum() / splits["gain"].sum(),
        splits=tables.records_table(splits.head(N_SPLITS_SHOWN), SPLIT_COLUMNS),
        hidden=tables.records_table(hidden.assign(is_there=is_there), PAIR_COLUMNS),
        coast=_coast(stations),
    )
    claims = (_vanish(summary, hidden), _cancel(hidden), _alike(summary), _sparser(stations))
    return Report(text, claims)


def hidden_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Pairs that are joined in most leaves and not in the graph of all rows."""
    pairs = tables.rows_of(frame, kind=PAIR, pooled=0)
    found = pairs[pairs["share"] >= FREQUENT]
    return found.sort_values(["share", "source", "target"], ascending=[False, True, True])


def stations_of(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per station, with whether it lies on the coast."""
    stations = tables.rows_of(frame, kind=STATION)
    return stations.assign(is_coast=stations["to_sea"] <= COAST)


def _coast(stations: pd.DataFrame) -> str:
    alone = stations[stations.groupby("leaf")["leaf"].transform("size") == 1]
    rows = []
    for name, part in (("all stations", stations), ("alone in their leaf", alone)):
        for is_coast, where in ((True, f"coast, within {COAST:.0f} km"), (False, "inland")):
            edges = part.loc[part["is_coast"] == is_coast, "edges"]
            rows.append([name, where, str(len(edges)), tables.mean_and_error(edges, 1) or "none"])
    return tables.markdown_table(["stations", "where", "number", "edges of their leaf"], rows)


def _vanish(summary: pd.Series, hidden: pd.DataFrame) -> Claim:
    n_left = int((hidden["longer"] == 0).sum())
    return Claim(
        "The graph of all rows lacks edges that belong there by what is known, and that "
        "the leaves have.",
        f"{len(hidden)} pairs are joined in {FREQUENT:.0%} or more of the leaves and not in "
        f"the graph of all rows, which has {summary['pooled_edges']:.0f} edges. With a longer path "
        f"it has {summary['longer_edges']:.0f}, and lacks {n_left} of them.",
        tables.verdict([[len(hidden) > 0], [n_left > 0]]),
    )


def _cancel(hidden: pd.DataFrame) -> Claim:
    rarer = hidden["positive"].clip(upper=1.0 - hidden["positive"])
    mixed = hidden[rarer >= MIXED]
    listed = ", ".join(f"{pair.source}-{pair.target}" for pair in mixed.itertuples())
    others = " The others mostly keep their sign." if len(mixed) < len(hidden) else ""
    return Claim(
        "Edges may be missing there because positive correlations at some places and "
        "negative ones at others cancel.",
        f"{len(mixed)} of those {len(hidden)} pairs have either sign in {MIXED:.0%} or more "
        f"of the leaves that join them: {listed or 'none'}.{others}",
        tables.verdict([[bool(sign >= MIXED)] for sign in rarer] or [[False]]),
    )


def _alike(summary: pd.Series) -> Claim:
    nearest, any_two = summary["alike_nearest"], summary["alike_any"]
    return Claim(
        "Graphs of adjacent regions are quite similar.",
        f"Of the edges in either of two leaves, {nearest:.0%} are in both with the same sign "
        f"for nearest leaves, and {any_two:.0%} for any two.",
        tables.verdict([[bool(nearest > any_two)], [bool(nearest > any_two + 0.1)]]),
    )


def _sparser(stations: pd.DataFrame) -> Claim:
    coast, inland = (
        stations.loc[stations["is_coast"] == is_coast, "edges"] for is_coast in (True, False)
    )
    lead = inland.mean() - coast.mean()
    error = np.hypot(figures.standard_error(coast), figures.standard_error(inland))
    return Claim(
        "Graphs along the coasts are sparser than those of the mainland.",
        f"Leaves of stations on the coast have {tables.mean_and_error(coast, 1)} edges, those of "
        f"inland stations {tables.mean_and_error(inland, 1)}.",
        tables.verdict([[bool(lead > 0)], [bool(lead > tables.CLEAR * error)]]),
    )


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Draw the map of the leaves, and the edges that pooling hides."""
    return {"climate-map": draw_map(frame), "climate-edges": draw_edges(hidden_pairs(frame)[::-1])}


def draw_map(frame: pd.DataFrame) -> Figure:
    """Stations by leaf, the borders of the leaves, and the coast."""
    figure, ((ax,),) = figures.panels(1, 1, (10, 5))
    leaves, stations = tables.rows_of(frame, kind=LEAF), stations_of(frame)
    for south, north, west, east in leaves[list(BOX)].astype(float).to_numpy():
        box = Rectangle((west, south), east - west, north - south, linewidth=0.8)
        box.set(facecolor="none", edgecolor="#BBBBBB")
        ax.add_patch(box)
    for coast in COASTS:
        ax.plot(*coast.T[::-1], color="#86B6D9", linewidth=2.5, zorder=1)
    dots: dict[str, Any] = {"s": 60, "zorder": 3, "edgecolor": "white", "linewidth": 0.6}
    edges = stations["edges"]
    points = ax.scatter(stations["lon"], stations["lat"], c=edges, cmap="viridis", **dots)
    above: dict[str, Any] = {"xytext": (4, 4), "textcoords": "offset points"}
    for lon, lat, leaf in stations[["lon", "lat", "leaf"]].astype(float).to_numpy():
        ax.annotate(f"{leaf:.0f}", (lon, lat), fontsize=7, color=figures.GREY, **above)
    figure.colorbar(points, ax=ax, label="edges of the leaf", shrink=0.8)
    title = f"{len(leaves)} leaves of {len(stations)} stations; numbers are those of leaves"
    ax.set(xlabel="longitude", ylabel="latitude", aspect=1.25, title=title)
    return figure


def draw_edges(hidden: pd.DataFrame) -> Figure:
    """Edges that most leaves have and pooling hides: how often, and with which sign."""
    figure, ((ax,),) = figures.panels(1, 1, (7, 0.28 * len(hidden) + 1.6), grid="x")
    labels = [f"{pair.source} - {pair.target}" for pair in hidden.itertuples()]
    positive = (hidden["share"] * hidden["positive"]).to_numpy(dtype=np.float64)
    negative = hidden["share"].to_numpy(dtype=np.float64) - positive
    ax.barh(labels, positive, color=figures.BLUE, label="positive")
    ax.barh(labels, -negative, color=figures.VERMILION, label="negative")
    ax.axvline(0, color="black", linewidth=0.8)
    ax.margins(y=0.01)
    ax.xaxis.set_major_formatter(lambda share, _: f"{abs(share):.0%}")
    ax.set(xlim=(-1, 1), xlabel="share of the leaves, by sign of the partial correlation")
    figures.legend_above(figure, ax)
    return figure


PART = Part(name="climate", tasks=list_tasks, run=run_task, report=report, figures=draw)
