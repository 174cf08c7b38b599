"""Pictures of the study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from edgewise.data.simulate import PARTITION_LAYOUTS
from edgewise.reproduce.covariates.climate import COASTS, hidden_pairs, leaves_of, stations_of
from edgewise.reproduce.covariates.drift import (
    CHAIN,
    GRID,
    KERNEL,
    POOLED,
    POOLED_REFIT,
    TREE,
    points_of,
)
from edgewise.reproduce.covariates.partition import LEAF, RULES, fits_of, risk_paths
from edgewise.reproduce.study import Results

BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
GREEN: Final = "#009E73"
GREY: Final = "#777777"
LOOKS: Final[dict[str, dict[str, Any]]] = {
    TREE: {"color": BLUE},
    KERNEL: {"color": GREEN},
    POOLED_REFIT: {"color": VERMILION},
    POOLED: {"color": GREY, "linestyle": "--"},
}
MEASURES: Final = {"precision": "precision", "recall": "recall", "f1": "F1"}
LEAF_COLUMNS: Final = ["left", "right", "lower", "upper", "edges"]
BOX_COLUMNS: Final = ["west", "south", "east", "north"]
#: Points of the chain that a curve is averaged over, to be read at all.
WINDOW: Final = 9


def draw_figures(results: Results) -> Mapping[str, Figure]:
    """Draw everything, by file name."""
    return {
        "partitions": draw_partitions(results["partition"]),
        "risk": draw_risk(results["partition"]),
        "chain": draw_chain(results["drift"]),
        "grid": draw_grid(results["drift"]),
        "climate-map": draw_map(results["climate"]),
        "climate-edges": draw_edges(results["climate"]),
    }


def draw_partitions(frame: pd.DataFrame) -> Figure:
    """Leaves of the first trees in the plane of the two covariates that matter."""
    figure = Figure(figsize=(8, 8), layout="constrained")
    axes = figure.subplots(len(PARTITION_LAYOUTS), len(RULES), sharex=True, sharey=True)
    leaves = frame[frame["kind"] == LEAF]
    for row, layout in zip(axes, PARTITION_LAYOUTS, strict=True):
        for ax, rule in zip(row, RULES, strict=True):
            part = leaves[(leaves["layout"] == layout) & (leaves["rule"] == rule)]
            for left, right, lower, upper, edges in _numbers(part, LEAF_COLUMNS):
                width, height = right - left, upper - lower
                ax.add_patch(
                    Rectangle((left, lower), width, height, facecolor="#EAF2F8", edgecolor=BLUE,
                              linewidth=1.2)
                )  # fmt: skip
                center = (left + width / 2, lower + height / 2)
                ax.annotate(f"{edges:.0f}", center, ha="center", va="center", fontsize=8)
            ax.set_title(f"{layout}, {rule}: {len(part)} leaves", fontsize=10)
            ax.set_aspect("equal")
            ax.set_xlim(0, 1)
            ax.set_ylim(0, 1)
    for ax in axes[-1]:
        ax.set_xlabel("first covariate")
    for ax in axes[:, 0]:
        ax.set_ylabel("second covariate")
    figure.suptitle("Leaves and the edges of their graphs; the truth has 22 cells, 10 edges each")
    return figure


def draw_risk(frame: pd.DataFrame) -> Figure:
    """Held-out risk against the number of splits, best first, one line per run."""
    figure = Figure(figsize=(6.5, 4), layout="constrained")
    ax = figure.subplots()
    for layout, color in zip(PARTITION_LAYOUTS, (BLUE, VERMILION), strict=True):
        fits = fits_of(frame)
        for k, risks in enumerate(risk_paths(fits[fits["layout"] == layout])):
            ax.plot(risks - risks[0], color=color, alpha=0.35, linewidth=0.9,
                    label=layout if k == 0 else None)  # fmt: skip
    ax.set_xlabel("splits, the most valuable first")
    ax.set_ylabel("risk, less that of no split")
    ax.legend(frameon=False)
    _tidy(ax, "both")
    return figure


def draw_chain(frame: pd.DataFrame) -> Figure:
    """Precision, recall and F1 along the chain, a running mean over the points of all runs."""
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    axes = figure.subplots(1, len(MEASURES), sharey=True)
    for ax, (name, label) in zip(axes, MEASURES.items(), strict=True):
        for method, look in LOOKS.items():
            mean = points_of(frame, CHAIN, method).groupby("x")[name].mean()
            smooth = mean.rolling(WINDOW, center=True, min_periods=1).mean()
            ax.plot(smooth.index, smooth, label=method, linewidth=1.5, **look)
        ax.set_title(label, fontsize=10)
        ax.set_xlabel("x")
        ax.set_ylim(-0.02, 1.02)
        _tidy(ax, "both")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center",
                  ncols=len(LOOKS), frameon=False, fontsize=9)  # fmt: skip
    return figure


def draw_grid(frame: pd.DataFrame) -> Figure:
    """F1 over the square by method, in the first run."""
    figure = Figure(figsize=(12, 3.4), layout="constrained")
    axes = figure.subplots(1, len(LOOKS), sharex=True, sharey=True)
    grid = frame[frame["structure"] == GRID]
    for ax, method in zip(axes, (POOLED, POOLED_REFIT, TREE, KERNEL), strict=True):
        first = points_of(grid[grid["task"] == grid["task"].min()], GRID, method)
        table = first.pivot_table(index="x2", columns="x", values="f1")
        image = ax.imshow(
            table.to_numpy(), origin="lower", extent=(0, 1, 0, 1), vmin=0, vmax=1, cmap="viridis"
        )
        ax.set_title(f"{method}, mean {table.to_numpy().mean():.2f}", fontsize=10)
        ax.set_xlabel("first covariate")
    axes[0].set_ylabel("second covariate")
    figure.colorbar(image, ax=axes, label="F1", shrink=0.9)
    return figure


def draw_map(frame: pd.DataFrame) -> Figure:
    """Stations by leaf, the borders of the leaves, and the coast."""
    figure = Figure(figsize=(10, 5), layout="constrained")
    ax = figure.subplots()
    for west, south, east, north in _numbers(leaves_of(frame), BOX_COLUMNS):
        ax.add_patch(
            Rectangle((west, south), east - west, north - south, facecolor="none",
                      edgecolor="#BBBBBB", linewidth=0.8)
        )  # fmt: skip
    for coast in COASTS:
        north, east = np.array(coast).T
        ax.plot(east, north, color="#86B6D9", linewidth=2.5, zorder=1)
    stations = stations_of(frame)
    points = ax.scatter(
        stations["lon"], stations["lat"], c=stations["edges"], cmap="viridis", s=60, zorder=3,
        edgecolor="white", linewidth=0.6,
    )  # fmt: skip
    for lon, lat, leaf in _numbers(stations, ["lon", "lat", "leaf"]):
        ax.annotate(
            f"{leaf:.0f}", (lon, lat), xytext=(4, 4), textcoords="offset points", fontsize=7,
            color=GREY,
        )  # fmt: skip
    figure.colorbar(points, ax=ax, label="edges of the leaf", shrink=0.8)
    ax.set_xlabel("longitude")
    ax.set_ylabel("latitude")
    ax.set_aspect(1.25)
    ax.set_title(
        f"{len(leaves_of(frame))} leaves of {len(stations)} stations; numbers are those of leaves",
        fontsize=10,
    )
    _tidy(ax, "both")
    return figure


def draw_edges(frame: pd.DataFrame) -> Figure:
    """Edges that most leaves have and pooling hides: how often, and with which sign."""
    hidden = hidden_pairs(frame)[::-1]
    figure = Figure(figsize=(7, 0.28 * len(hidden) + 1.6), layout="constrained")
    ax = figure.subplots()
    labels = [f"{pair.source} - {pair.target}" for pair in hidden.itertuples()]
    positive = (hidden["share"] * hidden["positive"]).to_numpy(dtype=np.float64)
    negative = hidden["share"].to_numpy(dtype=np.float64) - positive
    ax.barh(labels, positive, color=BLUE, label="positive")
    ax.barh(labels, -negative, color=VERMILION, label="negative")
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_xlim(-1, 1)
    ax.margins(y=0.01)
    ax.xaxis.set_major_formatter(lambda share, _: f"{abs(share):.0%}")
    ax.set_xlabel("share of the leaves, by sign of the partial correlation")
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    _tidy(ax, "x")
    return figure


def _numbers(frame: pd.DataFrame, columns: list[str]) -> list[list[float]]:
    """Rows of some columns as plain numbers."""
    rows: list[list[float]] = frame[columns].to_numpy(dtype=np.float64).tolist()
    return rows


def _tidy(ax: Axes, which: Any) -> None:
    ax.grid(axis=which, color="#E5E5E5", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
