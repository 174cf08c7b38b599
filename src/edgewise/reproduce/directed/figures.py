"""Pictures of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from edgewise._core.typing import FloatArray
from edgewise.reproduce.directed.invariance import parse_coefficients
from edgewise.reproduce.directed.methods import (
    COLUMNWISE,
    FALSE,
    GREEDY,
    HOMOTOPY,
    LITERAL,
    MEASURES,
    NETWORKS,
    PDAG,
    SORT_VARIANCE,
    TOTAL,
    TRUE_ORDER,
    published,
)
from edgewise.reproduce.directed.networks import PUBLISHED_AS, Errors
from edgewise.reproduce.directed.scales import SCALES
from edgewise.reproduce.study import Results
from edgewise.solvers.directed.bcd import UPDATES

BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
GREY: Final = "#777777"
#: Methods that are drawn: other variants of IAMB hide each other, and orders that are far off would
#: leave no room for the rest.
SHOWN: Final = (
    LITERAL, HOMOTOPY, COLUMNWISE, "L1MB", "GS", "TC-bw", "TC", "IAMB", "IAMBnPC",
    "L1MB" + GREEDY, "GS" + GREEDY, "TC-bw" + GREEDY, "TC" + GREEDY, "IAMB" + GREEDY,
    "IAMBnPC" + GREEDY, SORT_VARIANCE, TRUE_ORDER,
)  # fmt: skip
MEASURE_NAMES: Final = {TOTAL: "total errors", FALSE: "false arcs", PDAG: "errors of the CPDAG"}
MARKERS: Final = ("o", "D")


def draw_figures(results: Results) -> Mapping[str, Figure]:
    """Draw everything, by file name."""
    errors = Errors(results["networks"])
    return {
        **{f"errors-{measure}": draw_errors(errors, measure) for measure in MEASURES},
        "scales": draw_scales(results["scales"]),
        "invariance": draw_invariance(results["invariance"]),
        "oscillation": draw_oscillation(results["oscillation"]),
    }


def draw_errors(errors: Errors, measure: str) -> Figure:
    """Errors of every method on every network, with what was published."""
    figure = Figure(figsize=(12, 11), layout="constrained")
    grid = figure.subplots(3, 3, sharey=True)
    for ax, network in zip(grid.flat, NETWORKS, strict=True):
        found = {method: errors.of(network, method, measure) for method in SHOWN}
        _points(ax, SHOWN, found, 0.0, color=BLUE, marker="o", label="here")
        printed = {
            place: published(measure, network, PUBLISHED_AS[method])
            for place, method in enumerate(reversed(SHOWN))
            if method in PUBLISHED_AS
        }
        right = [place for place, value in printed.items() if not value.is_misprint]
        ax.plot(
            [printed[place].value for place in right], right, linestyle="none", marker="D",
            markersize=5, color=VERMILION, markerfacecolor="white", label="published",
        )  # fmt: skip
        ax.set_title(network.capitalize(), fontsize=10)
        ax.set_xlim(left=0)
        _finish(ax, SHOWN, MEASURE_NAMES[measure])
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return figure


def draw_scales(frame: pd.DataFrame) -> Figure:
    """Total errors on either scale."""
    methods = list(frame["method"].unique())
    figure = Figure(figsize=(7.5, 0.3 * len(methods) + 1.4), layout="constrained")
    ax = figure.subplots()
    looks = zip(SCALES, (BLUE, VERMILION), MARKERS, (0.1, -0.1), strict=True)
    for scale, color, marker, shift in looks:
        part = frame[frame["scale"] == scale]
        found = {
            str(name): group[TOTAL].to_numpy(np.float64)
            for name, group in part.groupby("method", sort=False)
        }
        _points(ax, methods, found, shift, color=color, marker=marker, label=f"{scale} columns")
    ax.set_xlim(left=0)
    _finish(ax, methods, "total errors on Alarm")
    ax.legend(frameon=False, fontsize=9)
    return figure


def draw_invariance(frame: pd.DataFrame) -> Figure:
    """Mean coefficients over orders of the columns against those of the first order."""
    sizes = frame["n_rows"].unique()
    methods = (LITERAL, COLUMNWISE)
    figure = Figure(figsize=(9.5, 6.4), layout="constrained")
    grid = figure.subplots(len(methods), len(sizes), sharex=True, sharey=True, squeeze=False)
    for axes, method in zip(grid, methods, strict=True):
        for ax, n_rows in zip(axes, sizes, strict=True):
            row = frame[(frame["method"] == method) & (frame["n_rows"] == n_rows)].iloc[0]
            ax.axline((0, 0), slope=1, color=GREY, linewidth=0.8)
            ax.plot(
                parse_coefficients(row["original"]), parse_coefficients(row["average"]),
                linestyle="none", marker="o", markersize=4, color=BLUE, alpha=0.6,
            )  # fmt: skip
            ax.set_title(f"{n_rows} rows, distance {row['distance']:.2f}", fontsize=10)
            _tidy(ax, "both")
        axes[0].set_ylabel(method, fontsize=10)
    figure.supxlabel("coefficient, columns as they come", fontsize=10)
    figure.supylabel("mean coefficient over other orders", fontsize=10)
    return figure


def draw_oscillation(frame: pd.DataFrame) -> Figure:
    """Arcs of one simulation of each network, round by round."""
    figure = Figure(figsize=(11, 6.6), layout="constrained")
    grid = figure.subplots(3, 3, sharex=True)
    part = frame[(frame["repetition"] == 0) & (frame["schedule"] == "homotopy")]
    names = {"columns": "one column after the other", "whole": "all columns at once"}
    for ax, network in zip(grid.flat, NETWORKS, strict=True):
        for update, color, marker in zip(UPDATES, (BLUE, VERMILION), MARKERS, strict=True):
            row = part[(part["network"] == network) & (part["update"] == update)].iloc[0]
            arcs = [int(count) for count in row["arcs"].split()]
            ax.plot(
                range(1, len(arcs) + 1), arcs, color=color, marker=marker, markersize=4,
                linewidth=1.2, label=names[update],
            )  # fmt: skip
        ax.set_title(network.capitalize(), fontsize=10)
        ax.set_ylim(0, 1.08 * ax.dataLim.y1)
        ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        _tidy(ax, "y")
    for ax in grid[-1]:
        ax.set_xlabel("round at the largest strength")
    for ax in grid[:, 0]:
        ax.set_ylabel("arcs")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return figure


def _points(
    ax: Axes, methods: Sequence[str], found: Mapping[str, FloatArray], shift: float, **look: Any
) -> None:
    """Draw means with their standard errors, a row per method, the first on top."""
    ax.errorbar(
        [values.mean() for values in found.values()],
        [len(methods) - 1 - methods.index(method) + shift for method in found],
        xerr=[
            values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            for values in found.values()
        ],
        linestyle="none",
        markersize=5,
        **look,
    )


def _finish(ax: Axes, methods: Sequence[str], label: str) -> None:
    ax.set_yticks(range(len(methods)), labels=list(reversed(methods)), fontsize=8)
    ax.set_ylim(-0.6, len(methods) - 0.4)
    ax.set_xlabel(label, fontsize=9)
    _tidy(ax, "x")


def _tidy(ax: Axes, which: Any) -> None:
    ax.grid(axis=which, color="#E5E5E5", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
