"""Pictures of the study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgewise.data import six_node_graph
from edgewise.metrics import irregularity
from edgewise.reproduce.discrete.networks import BLANKETS, LEARNERS, NETWORKS
from edgewise.reproduce.discrete.scores import CONSTANT, CRITERIA, PRIORS, SHARED, column_title
from edgewise.reproduce.discrete.six_nodes import STRUCTURES
from edgewise.reproduce.study import Results

LOOK: Final[dict[str, dict[str, Any]]] = {
    "bjp": {"color": "#0072B2", "marker": "o"},
    "ib": {"color": "#D55E00", "marker": "s"},
    "mpl": {"color": "#009E73", "marker": "^"},
}
STRICT: Final[dict[str, Any]] = {"linestyle": (0, (4, 2)), "markerfacecolor": "white"}
#: Curves are set apart by this factor, so that error bars do not hide each other.
APART: Final = 1.07
LABELS: Final = {"hamming": "Hamming distance", "seconds": "CPU milliseconds"}


def draw_figures(results: Results) -> Mapping[str, Figure]:
    """Draw everything, by file name."""
    networks = results["networks"]
    return {
        "six-nodes": draw_six_nodes(results["six-nodes"]),
        "hamming": draw_networks(networks, CONSTANT, "hamming"),
        "hamming-shared": draw_networks(networks, SHARED, "hamming"),
        "run-time": draw_networks(networks, CONSTANT, "seconds"),
    }


def draw_six_nodes(frame: pd.DataFrame) -> Figure:
    """Success rate against the number of rows, by structure and prior counts."""
    figure = Figure(figsize=(13, 5.6), layout="constrained")
    axes = figure.subplots(len(PRIORS), len(STRUCTURES), sharex=True, sharey=True)
    for row, prior in zip(axes, PRIORS, strict=True):
        row[0].set_ylabel(f"success rate,\nprior counts {prior}")
        for ax, number in zip(row, STRUCTURES, strict=True):
            part = frame[(frame["structure"] == number) & (frame["prior"] == prior)]
            for place, criterion in enumerate(CRITERIA):
                of_score = part[part["criterion"] == criterion]
                _curve(
                    ax, of_score, "success", place - 1, label=column_title(criterion, prior),
                    **LOOK[criterion],
                )  # fmt: skip
            _sizes(ax, frame)
        row[0].legend(frameon=False, fontsize=8, loc="upper left")
    for ax, (number, name) in zip(axes[0], STRUCTURES.items(), strict=True):
        irregular = irregularity(six_node_graph(number))
        ax.set_title(f"M{number}: {name}\nirregularity {irregular}", fontsize=10)
    for ax in axes[-1]:
        ax.set_xlabel("rows")
    axes[0, 0].set_ylim(-0.03, 1.03)
    axes[0, 0].yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return figure


def draw_networks(frame: pd.DataFrame, prior: str, value: str) -> Figure:
    """Draw errors or run time against the number of rows, a panel per network."""
    figure = Figure(figsize=(13, 6), layout="constrained")
    is_time = value == "seconds"
    axes = figure.subplots(2, len(NETWORKS) // 2, sharex=True, sharey=is_time)
    learners = [learner for learner in LEARNERS if learner.prior == prior]
    for ax, network in zip(axes.flat, NETWORKS, strict=True):
        part = frame[(frame["network"] == network) & (frame["prior"] == prior)]
        for place, learner in enumerate(learners):
            chosen = (part["criterion"] == learner.criterion) & (part["search"] == learner.search)
            label = CRITERIA[learner.criterion]
            label += "" if learner.search == BLANKETS else f", {learner.search}"
            look = LOOK[learner.criterion] | (STRICT if learner.search == "strict" else {})
            _curve(ax, part[chosen], value, (place - 2) / 2, label=label, **look)
        _sizes(ax, frame)
        ax.set_title(network, fontsize=10)
        if is_time:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda seconds, _: f"{1000 * seconds:g}")
        else:
            ax.set_ylim(bottom=0)
    for ax in axes[-1]:
        ax.set_xlabel("rows")
    for ax in axes[:, 0]:
        ax.set_ylabel(LABELS[value])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper right", ncols=len(labels), frameon=False, fontsize=9
    )
    return figure


def _curve(ax: Axes, frame: pd.DataFrame, value: str, shift: float, **look: Any) -> None:
    """Draw means with their standard errors, a little to the side."""
    by_size = frame.groupby("n_samples")[value]
    mean, error = by_size.mean(), by_size.sem().fillna(0)
    ax.errorbar(mean.index * APART**shift, mean, yerr=error, markersize=4.5, linewidth=1.2, **look)


def _sizes(ax: Axes, frame: pd.DataFrame) -> None:
    """Write numbers of rows, every other where there are many."""
    sizes = np.sort(frame["n_samples"].unique())
    ax.set_xscale("log")
    shown = sizes[:: 2 if len(sizes) > 4 else 1]
    ax.set_xticks(shown, labels=[f"{n:g}" for n in shown])
    ax.minorticks_off()
    ax.grid(color="#E5E5E5", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
