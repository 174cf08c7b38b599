"""Pictures of the study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgewise._core.typing import FloatArray
from edgewise.plot import plot_class_networks, plot_matrix
from edgewise.reproduce.classify import connectivity
from edgewise.reproduce.classify.accuracy import (
    BIASES,
    DECIDERS,
    KL,
    LIKELIHOOD,
    LINEAR,
    METHODS,
    MM,
    OR,
    SHRUNKEN,
    Accuracies,
    H,
    standard_error,
)
from edgewise.reproduce.classify.accuracy_report import TITLES
from edgewise.reproduce.classify.connectivity import Connectivity, moved_alike
from edgewise.reproduce.classify.data import GROUPS
from edgewise.reproduce.study import Results

LOOKS: Final[dict[str, dict[str, Any]]] = {
    OR: {"color": "#0072B2", "marker": "o"},
    H: {"color": "#222222", "marker": "s"},
    KL: {"color": "#009E73", "marker": "^"},
    MM: {"color": "#D55E00", "marker": "D"},
}
RIVAL_LOOKS: Final[dict[str, dict[str, Any]]] = {
    LINEAR: {"color": "#777777", "linestyle": "--"},
    SHRUNKEN: {"color": "#777777", "linestyle": ":"},
}
#: Alpha at which the number of arcs varies in the figure.
EDGE_ALPHA: Final = 0.4
INTERCEPTS: Final = {"free": "free intercepts", "penalized": "penalised intercepts"}


def draw_figures(results: Results) -> Mapping[str, Figure]:
    """Draw everything, by file name."""
    drawn = {name: draw_accuracies(Accuracies(results[name])) for name in TITLES if name in results}
    if connectivity.NAME in results:
        found = Connectivity(results[connectivity.NAME])
        networks = {group: found.graph(OR, group) for group in reversed(GROUPS)}
        drawn |= {
            "matrices": draw_matrices(found),
            "lobes": plot_class_networks(networks, groups=found.lobes),
            "changes": draw_changes(found),
        }
    return drawn


def draw_accuracies(accuracies: Accuracies) -> Figure:
    """Figure 3: accuracy by likelihood and by SVM, with free and with penalised intercepts."""
    figure = Figure(figsize=(9.5, 11.5), layout="constrained")
    axes = figure.subplots(4, 2, sharey="col")
    others = [decider for decider in DECIDERS if decider != LIKELIHOOD]
    for column, bias in enumerate(BIASES):
        _along_alpha(axes[0, column], accuracies, bias, LIKELIHOOD)
        _along_edges(axes[1, column], accuracies, bias)
        for row, decider in enumerate(others, start=2):
            _along_alpha(axes[row, column], accuracies, bias, decider)
    for ax in axes.flat:
        for name, look in RIVAL_LOOKS.items():
            ax.axhline(accuracies.rivals[name].mean(), label=name, linewidth=1.2, **look)
        ax.grid(color="#E5E5E5", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes.flat:
        ax.set_ylabel("test rows in their class, %")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=9
    )
    return figure


def _along_alpha(ax: Axes, accuracies: Accuracies, bias: str, decider: str) -> None:
    for method in METHODS:
        values = [accuracies.of(method, bias, a, decider=decider) for a in accuracies.alphas]
        _line(ax, accuracies.alphas, values, method)
    ax.set_title(f"{decider}, {INTERCEPTS[bias]}", fontsize=10)
    ax.set_xlabel("alpha")


def _along_edges(ax: Axes, accuracies: Accuracies, bias: str) -> None:
    start = accuracies.of(OR, bias, EDGE_ALPHA)
    ax.axhline(start.mean(), color=LOOKS[OR]["color"], linewidth=1.4)
    for method in (KL, MM):
        values = [accuracies.of(method, bias, EDGE_ALPHA, n_edges=n) for n in accuracies.edges]
        _line(ax, accuracies.edges, values, method)
    ax.set_title(f"{LIKELIHOOD}, {INTERCEPTS[bias]}, alpha = {EDGE_ALPHA:g}", fontsize=10)
    ax.set_xlabel("arcs that move")


def _line(ax: Axes, x: Any, values: list[FloatArray], method: str) -> None:
    ax.errorbar(
        x,
        [value.mean() for value in values],
        yerr=[standard_error(value) for value in values],
        markersize=4.5,
        linewidth=1.4,
        label=method,
        **LOOKS[method],
    )


def draw_matrices(found: Connectivity) -> Figure:
    """Figure 4: arcs of both groups as matrices, lobes outlined."""
    figure = Figure(figsize=(10, 10.4), layout="constrained")
    axes = figure.subplots(2, 2)
    lobes = np.unique(found.lobes, return_inverse=True)[1]
    blocks = np.where(lobes[:, None] == lobes, lobes, -1)
    for row, method in zip(axes, (H, OR), strict=True):
        for ax, group in zip(row, reversed(GROUPS), strict=True):
            graph = found.graph(method, group)
            plot_matrix(graph, ax, labels="none", colorbar=False, groups=blocks)
            ax.set_title(f"{method}, {group.lower()}: {graph.n_edges} arcs", fontsize=10)
            names, middles = _middles(found.lobes)
            ax.set_yticks(middles, names, fontsize=8)
            ax.set_xticks(
                middles, names, fontsize=8, rotation=45, ha="right", rotation_mode="anchor"
            )
            ax.tick_params(length=0)
    return figure


def _middles(lobes: list[str]) -> tuple[list[str], list[float]]:
    """Names of the lobes, and the middle of each."""
    names = list(dict.fromkeys(lobes))
    return names, [float(np.mean([k for k, lobe in enumerate(lobes) if lobe == n])) for n in names]


def draw_changes(found: Connectivity) -> Figure:
    """Figure 5: how both methods move each coefficient."""
    figure = Figure(figsize=(13, 7.5), layout="constrained")
    for ax, bias in zip(figure.subplots(1, len(BIASES)), BIASES, strict=True):
        moved = moved_alike(found, bias)
        moved = moved.reindex(moved[MM].abs().sort_values().index)
        height = np.arange(len(moved))
        for method in (KL, MM):
            ax.plot(moved[method], height, linestyle="none", markersize=6, label=method,
                    **LOOKS[method])  # fmt: skip
        ax.axvline(0.0, color="#777777", linewidth=0.8)
        ax.set_yticks(
            height,
            [f"{source} → {target} | {group.lower()}" for group, source, target in moved.index],
            fontsize=7,
        )
        ax.set_xlabel("change of the coefficient")
        ax.set_title(INTERCEPTS[bias], fontsize=10)
        ax.grid(axis="x", color="#E5E5E5", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9, loc="lower right")
    return figure
