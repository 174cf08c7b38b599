"""Pictures of the study."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from edgewise._core.typing import FloatArray, IntArray
from edgewise.data import block_model, contour_model, neighbor_pairs, sample_gaussian
from edgewise.graph import Graph
from edgewise.plot import plot_matrix
from edgewise.reproduce.space.blocks import PROBLEMS
from edgewise.reproduce.space.contour import (
    GRAPHICAL_LASSO,
    LOCALLY_CONSTANT,
    METHODS,
    SAMPLES,
    TRUTHS,
)
from edgewise.reproduce.space.images import SCALINGS
from edgewise.reproduce.space.methods import (
    TUNING_TOL,
    best,
    divergences,
    fit_graphical_lasso,
    fit_locally_constant,
    grid_for,
    second_moments,
)
from edgewise.reproduce.space.stalls import LEVELS, RATIOS
from edgewise.reproduce.study import Results
from edgewise.solvers import locally_constant

BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
GREEN: Final = "#009E73"
LOOK: Final = {
    "oracle": {"color": BLUE, "marker": "o"},
    "cv": {"color": VERMILION, "marker": "s"},
    LOCALLY_CONSTANT: {"color": BLUE, "marker": "o"},
    GRAPHICAL_LASSO: {"color": VERMILION, "marker": "s"},
    SCALINGS[0]: {"color": VERMILION, "marker": "s"},
    SCALINGS[1]: {"color": BLUE, "marker": "o"},
}
TUNED_BY: Final = {"oracle": "oracle tuning", "cv": "cross-validated"}
#: Up to so many variables names are written and fused blocks outlined; more would hide the colours.
SMALL: Final = 20
#: Seed of the data sets that are shown as matrices.
EXAMPLE_SEED: Final = 1


def draw_figures(results: Results) -> Mapping[str, Figure]:
    """Draw everything, by file name."""
    return {
        "contour-kl": draw_contour(results["contour"]),
        "matrices": draw_matrices(),
        "blocks-kl": draw_blocks(results["blocks"]),
        "images-gain": draw_images(results["images"]),
        "stalls": draw_stalls(results["stalls"]),
    }


def draw_contour(frame: pd.DataFrame) -> Figure:
    """KL of every method, tuned both ways, by truth and number of rows."""
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    axes = figure.subplots(len(TRUTHS), len(SAMPLES), sharex="col", sharey=True, squeeze=False)
    methods = METHODS[::-1]
    for row, truth in enumerate(TRUTHS):
        for column, n_samples in enumerate(SAMPLES):
            ax = axes[row, column]
            part = frame[(frame["truth"] == truth) & (frame["n_samples"] == n_samples)]
            for shift, tuning in ((0.14, "oracle"), (-0.14, "cv")):
                kl = part[part["tuning"] == tuning].groupby("method")["kl"]
                mean, error = kl.mean().loc[list(methods)], kl.sem().fillna(0).loc[list(methods)]
                places = np.arange(len(methods)) + shift
                ax.errorbar(
                    mean, places, xerr=error, linestyle="none", label=TUNED_BY[tuning],
                    **LOOK[tuning],
                )  # fmt: skip
            ax.set_xscale("log")
            _plain_log(ax.xaxis)
            ax.set_title(f"{truth}, {n_samples} rows", fontsize=10)
            _tidy(ax, "x")
    axes[0, 0].set_yticks(range(len(methods)), labels=methods)
    for ax in axes[-1]:
        ax.set_xlabel("Kullback-Leibler divergence from the truth (nats)")
    axes[0, 1].legend(frameon=False, fontsize=9)
    return figure


def draw_matrices() -> Figure:
    """Show the truth, the locally constant fit with its fused groups, and the graphical lasso."""
    figure = Figure(figsize=(10, 6.9), layout="constrained")
    axes = figure.subplots(2, 3)
    shape, size = PROBLEMS["path 60"]
    examples = (
        (contour_model("two-blocks").precision, (9,), 400),
        (block_model(shape, n_blocks=6, size=size, rng=EXAMPLE_SEED).precision, shape, 100),
    )
    for row, (truth, sites, n_samples) in zip(axes, examples, strict=True):
        matrices = example(truth, sites, n_samples)
        limit = float(np.abs(truth - np.diag(truth.diagonal())).max())
        for ax, (title, (precision, groups)) in zip(row, matrices.items(), strict=True):
            weights = precision - np.diag(precision.diagonal())
            is_small = len(weights) <= SMALL
            labels: Literal["none", "all"] = "all" if is_small else "none"
            names = [str(site + 1) for site in range(len(weights))]
            graph = Graph(weights, names=names)
            plot_matrix(
                graph, ax, labels=labels, colorbar=False, groups=groups if is_small else None
            )
            ax.images[0].set_clim(-limit, limit)
            ax.set_title(title, fontsize=10)
        figure.colorbar(row[-1].images[0], ax=list(row), label="entry of the precision", pad=0.01)
    return figure


def example(
    truth: FloatArray, sites: tuple[int, ...], n_samples: int
) -> dict[str, tuple[FloatArray, IntArray | None]]:
    """Precisions by title, at their best KL, with the fused groups of the locally constant one."""
    S = second_moments(sample_gaussian(truth, n_samples, EXAMPLE_SEED))
    pairs = neighbor_pairs(sites, prod(sites))
    grid = grid_for(S, per_decade=2)
    lasso_fits = fit_graphical_lasso(S, grid, tol=TUNING_TOL)
    lasso = best(lasso_fits, -divergences(lasso_fits, truth))
    fits = fit_locally_constant(S, grid, pairs, tol=TUNING_TOL)
    chosen = best(fits, -divergences(fits, truth)).settings
    ours = locally_constant(S, chosen["alpha"], chosen["tau"], pairs)
    return {
        f"truth, {len(truth)} variables": (truth, None),
        f"{LOCALLY_CONSTANT}, {n_samples} rows, {ours.n_groups} groups": (ours.value, ours.groups),
        f"{GRAPHICAL_LASSO}, {n_samples} rows": (lasso.precision, None),
    }


def draw_blocks(frame: pd.DataFrame) -> Figure:
    """KL against the number of rows, both methods, one panel per problem."""
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    axes = figure.subplots(1, len(PROBLEMS), squeeze=False)[0]
    for ax, problem in zip(axes, PROBLEMS, strict=True):
        part = frame[frame["problem"] == problem]
        for method in (GRAPHICAL_LASSO, LOCALLY_CONSTANT):
            kl = part[part["method"] == method].groupby("n_samples")["kl"]
            mean, error = kl.mean(), kl.sem().fillna(0)
            ax.errorbar(mean.index, mean, yerr=error, label=method, **LOOK[method])
        ax.set_xscale("log")
        ax.set_yscale("log")
        rows = sorted(part["n_samples"].unique())
        ax.set_xticks(rows, labels=[str(n) for n in rows])
        ax.minorticks_off()
        _plain_log(ax.yaxis)
        ax.set_title(problem, fontsize=10)
        ax.set_xlabel("rows")
        _tidy(ax, "both")
    axes[0].set_ylabel("KL from the truth (nats), oracle tuning")
    axes[0].legend(frameon=False, fontsize=9)
    return figure


def draw_images(frame: pd.DataFrame) -> Figure:
    """Gain over the graphical lasso on each table, by scaling, every fold a dot."""
    wide = frame.pivot_table(
        index=["table", "scaling", "fold"], columns="method", values="log_likelihood", sort=False
    )
    gains = wide[LOCALLY_CONSTANT] - wide[GRAPHICAL_LASSO]
    tables = list(frame["table"].unique())[::-1]
    figure = Figure(figsize=(8, 1.6 + 0.55 * len(tables)), layout="constrained")
    ax = figure.add_subplot()
    for shift, scaling in ((0.15, SCALINGS[1]), (-0.15, SCALINGS[0])):
        look: dict[str, Any] = LOOK[scaling]
        for place, table in enumerate(tables):
            folds = gains.loc[table, scaling]
            at = np.full(len(folds), place + shift)
            ax.plot(folds, at, linestyle="none", markersize=4, alpha=0.35, **look)
            label = scaling if place == 0 else None
            ax.plot(
                [folds.mean()], [place + shift], linestyle="none", markersize=8, label=label, **look
            )
    ax.axvline(0, color="#222222", linewidth=0.8)
    ax.set_yticks(range(len(tables)), labels=tables)
    ax.set_ylim(-0.5, len(tables) - 0.5)
    ax.set_xlabel("gain over the graphical lasso (nats per held-out row)")
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    _tidy(ax, "x")
    return figure


def draw_stalls(frame: pd.DataFrame) -> Figure:
    """Share of problems on which the descent ends above the optimum."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.add_subplot()
    for level, color, marker in zip(LEVELS, (BLUE, GREEN, VERMILION), "os^", strict=True):
        shares = [np.mean(frame[frame["ratio"] == ratio]["excess"] > level) for ratio in RATIOS]
        ax.plot(RATIOS, shares, color=color, marker=marker, label=f"by more than {level:g} nats")
    ax.set_xscale("log")
    ax.set_xticks(RATIOS, labels=[f"{ratio:g}" for ratio in RATIOS])
    ax.minorticks_off()
    ax.set_ylim(-0.02, 1.02)
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_xlabel("tau / alpha")
    ax.set_ylabel("problems on which descent misses the optimum")
    ax.legend(frameon=False, fontsize=9)
    _tidy(ax, "both")
    return figure


def _plain_log(axis: Axis) -> None:
    """Write ticks of a logarithmic axis as plain numbers, also where it spans no whole decade."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_locator(NullLocator())


def _tidy(ax: Axes, which: Any) -> None:
    ax.grid(axis=which, color="#E5E5E5", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
