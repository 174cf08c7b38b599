"""Pictures of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgewise.data import load_senate
from edgewise.graph import Graph
from edgewise.plot import plot_change, plot_precision_recall
from edgewise.reproduce.change import diamond, gaussian, genes
from edgewise.reproduce.change.gaussian import CHANCE, METHODS, SAMPLES, SETTINGS
from edgewise.reproduce.change.lattice import FACTORS, SIZES, standard_error
from edgewise.reproduce.change.methods import (
    DTRACE,
    ENTRY,
    FLASSO,
    GLASSO,
    MAGNITUDE,
    RANKINGS,
    SAMPLED_FLASSO,
    SAMPLED_GLASSO,
    areas,
    parse_curve,
)
from edgewise.reproduce.change.rankings import BAR, DIAMOND_CHANCE, GENES_CHANCE
from edgewise.reproduce.change.senate import ENDS, kept_edges
from edgewise.reproduce.change.times import PUBLISHED, SOLVERS, SPARSE, exponent, mean_times
from edgewise.reproduce.study import Results

BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
GREY: Final = "#777777"
#: Marker and filling of a ranking; a colour stands for a number of rows, a size or a solver.
RANKING_LOOK: Final[dict[str, dict[str, Any]]] = {
    ENTRY: {"marker": "o"},
    MAGNITUDE: {"marker": "D", "markerfacecolor": "white"},
}
COLORS: Final = (BLUE, VERMILION)
#: Methods whose curves are drawn: more would hide each other.
DIAMOND_CURVES: Final = (
    diamond.POLYNOMIAL, diamond.RAW, diamond.QUADRATIC, SAMPLED_FLASSO, SAMPLED_GLASSO,
    diamond.GAUSSIAN, FLASSO,
)  # fmt: skip
GENES_CURVES: Final = (
    genes.GAUSSIAN,
    *map(genes.polynomial, genes.DEGREES[:2]),
    SAMPLED_FLASSO,
    FLASSO,
    GLASSO,
    DTRACE,
)
CHANCE_LINE: Final[dict[str, Any]] = {"color": GREY, "linestyle": ":", "linewidth": 1.2}


def draw_figures(results: Results) -> Mapping[str, Figure]:
    """Draw everything, by file name."""
    frame = results["gaussian"]
    return {
        **{f"{scale}-areas": draw_areas(frame, scale) for scale in gaussian.SCALES},
        **{f"{scale}-curves": draw_curves(frame, scale) for scale in gaussian.SCALES},
        "lattice": draw_lattice(results["lattice"]),
        "diamond": draw_rankings(
            results["diamond"],
            list(diamond.list_methods()),
            DIAMOND_CURVES,
            MAGNITUDE,
            chance=DIAMOND_CHANCE,
            bar=BAR,
        ),
        "times": draw_times(results["times"]),
        "genes": draw_rankings(
            results["genes"], list(genes.list_methods()), GENES_CURVES, ENTRY, chance=GENES_CHANCE
        ),
        "senate": draw_senate(results["senate"]),
    }


def draw_areas(frame: pd.DataFrame, scale: str) -> Figure:
    """Area of every method, by setting, number of rows and ranking."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    axes = figure.subplots(1, len(SETTINGS), sharex=True, sharey=True)
    for ax, setting in zip(axes, SETTINGS, strict=True):
        part = frame[(frame["scale"] == scale) & (frame["setting"] == setting)]
        for color, n_samples, shift in zip(COLORS, SAMPLES, (0.18, -0.18), strict=True):
            of_size = part[part["n_samples"] == n_samples]
            _points(ax, of_size, METHODS, shift, color, f"{n_samples} rows")
        ax.axvline(CHANCE, label="random order", **CHANCE_LINE)
        ax.set_title(setting, fontsize=10)
        _finish_points(ax, METHODS)
    axes[0].set_xlim(-0.03, 1.03)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper right", ncols=len(labels), frameon=False, fontsize=9
    )
    return figure


def draw_curves(frame: pd.DataFrame, scale: str) -> Figure:
    """Precision against recall by setting and number of rows, the pairs ranked by entry."""
    figure = Figure(figsize=(12, 7), layout="constrained")
    axes = figure.subplots(len(SAMPLES), len(SETTINGS))
    for row, n_samples in zip(axes, SAMPLES, strict=True):
        for ax, setting in zip(row, SETTINGS, strict=True):
            part = frame[
                (frame["scale"] == scale)
                & (frame["setting"] == setting)
                & (frame["n_samples"] == n_samples)
            ]
            plot_precision_recall(curves_of(part, METHODS[:-1], ENTRY), ax)
            lines = ax.get_legend().legend_handles
            ax.get_legend().remove()
            ax.set_title(f"{setting}, {n_samples} rows", fontsize=10)
    figure.legend(
        lines, METHODS[:-1], loc="outside upper right", ncols=len(METHODS) - 1, frameon=False,
        fontsize=9,
    )  # fmt: skip
    return figure


def curves_of(
    frame: pd.DataFrame, methods: Sequence[str], ranking: str
) -> dict[str, list[tuple[Any, Any]]]:
    """Curves of all data sets, by method."""
    return {
        method: [
            parse_curve(text)
            for text in frame[(frame["method"] == method) & (frame["ranking"] == ranking)][
                "precisions"
            ]
        ]
        for method in methods
    }


def draw_rankings(
    frame: pd.DataFrame,
    methods: Sequence[str],
    shown: Sequence[str],
    ranking: str,
    *,
    chance: float,
    bar: float | None = None,
) -> Figure:
    """Areas of all methods by either ranking, and the curves of those ``shown`` by one."""
    figure = Figure(figsize=(13, 0.26 * len(methods) + 2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 0.9))
    _points(left, frame, methods, 0.0, BLUE, "")
    left.axvline(chance, label="random order", **CHANCE_LINE)
    if bar is not None:
        left.axvline(bar, color=GREY, linewidth=0.9, label=f"bar, {bar:g}")
    _finish_points(left, methods)
    left.set_xlim(-0.03, 1.03)
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside upper left", ncols=4, frameon=False,
        fontsize=9,
    )  # fmt: skip
    plot_precision_recall(curves_of(frame, shown, ranking), right)
    right.get_legend().set_loc("upper left")
    right.get_legend().set_bbox_to_anchor((1.0, 1.0), right.transAxes)
    right.set_title(f"by {ranking}", fontsize=10)
    return figure


def draw_lattice(frame: pd.DataFrame) -> Figure:
    """Success against rows over the logarithm of the number of variables."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots(1, len(FACTORS), sharey=True)
    for ax, factor in zip(axes, FACTORS, strict=True):
        for size, color, marker in zip(SIZES, COLORS, "os", strict=True):
            part = frame[(frame["factor"] == factor) & (frame["n_features"] == size)]
            part = part.sort_values("ratio")
            errors = [
                standard_error(success, n_runs)
                for success, n_runs in zip(part["success"], part["n_runs"], strict=True)
            ]
            ax.errorbar(
                part["ratio"], part["success"], yerr=errors, color=color, marker=marker,
                markersize=5, linewidth=1.4, label=f"{size} variables",
            )  # fmt: skip
        ax.set_title(f"alpha = {factor:g} sqrt(log m / n)", fontsize=10)
        ax.set_xlabel("n / log m")
        ax.set_ylim(-0.03, 1.03)
        _tidy(ax, "both")
    axes[0].set_ylabel("exactly the changed edges found")
    axes[0].yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes[0].legend(frameon=False, fontsize=9, loc="lower right")
    return figure


def draw_times(frame: pd.DataFrame) -> Figure:
    """CPU seconds against the number of variables, with the slope of each line."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True, sharex=True)
    for ax, name in zip(axes, (PUBLISHED, SPARSE), strict=True):
        for solver, color, marker in zip(SOLVERS, COLORS, "os", strict=True):
            times = mean_times(frame, name, solver)
            label = f"{solver}, exponent {exponent(times):.1f}"
            ax.plot(times.index, times, color=color, marker=marker, markersize=5, label=label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        sizes = [size for size in (40, 80, 200, 500, 1000) if size <= frame["n_features"].max()]
        ax.set_xticks(sizes, labels=[str(size) for size in sizes])
        ax.minorticks_off()
        ax.yaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
        ax.set_title(f"{name} range of alpha", fontsize=10)
        ax.set_xlabel("variables")
        ax.legend(frameon=False, fontsize=9, loc="lower right")
        _tidy(ax, "both")
    axes[0].set_ylabel("CPU seconds of a path of 20 alphas")
    return figure


def draw_senate(frame: pd.DataFrame) -> Figure:
    """Draw the edges that the shuffles leave."""
    names = list(load_senate().votes.columns)
    edges = kept_edges(frame)
    first, second = (edges[column].map(names.index).to_numpy(int) for column in ENDS)
    weights = np.zeros((len(names), len(names)))
    weights[first, second] = weights[second, first] = edges["change"]
    figure = Figure(figsize=(9, 7))
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    plot_change(Graph(weights, names=names), ax, title="United States Senate, from 2005 to 2006")
    return figure


def _points(
    ax: Axes, frame: pd.DataFrame, methods: Sequence[str], shift: float, color: str, label: str
) -> None:
    """Draw means with their standard errors, a row per method, the first on top."""
    for ranking, apart in zip(RANKINGS, (0.06, -0.06), strict=True):
        found = {
            place + shift + apart: values
            for place, method in enumerate(reversed(methods))
            if len(values := areas(frame, method, ranking))
        }
        errors = [
            values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            for values in found.values()
        ]
        ax.errorbar(
            [values.mean() for values in found.values()],
            list(found),
            xerr=errors,
            linestyle="none",
            color=color,
            markersize=5,
            label=", ".join(part for part in (label, f"by {ranking}") if part),
            **RANKING_LOOK[ranking],
        )


def _finish_points(ax: Axes, methods: Sequence[str]) -> None:
    ax.set_yticks(range(len(methods)), labels=list(reversed(methods)))
    ax.set_ylim(-0.6, len(methods) - 0.4)
    ax.set_xlabel("area under precision-recall curve")
    _tidy(ax, "x")


def _tidy(ax: Axes, which: Any) -> None:
    ax.grid(axis=which, color="#E5E5E5", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
