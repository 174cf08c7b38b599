"""Nine variables on an open contour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise._core.typing import FloatArray, IntArray
from edgewise.data import GaussianModel, make_block_model, neighbor_pairs
from edgewise.graph import Graph
from edgewise.plot import plot_matrix
from edgewise.solvers import locally_constant
from edgewise.solvers.space.difference_penalty import difference_penalized
from studies import tables
from studies.figures import name_outer, panels, plain_log, points
from studies.space import methods
from studies.space.blocks import PROBLEMS
from studies.space.contour_model import ContourKind, make_contour_model
from studies.study import Claim, Part, Report, Row

COVARIANCE_SELECTION = "covariance selection"
REFITTED = "Meinshausen-Bühlmann, refitted"
REGRESSIONS = "Meinshausen-Bühlmann, raw"
FULL = "full, with a ridge"
INDEPENDENT = "independent, with a ridge"
#: In the order of the tables.
METHODS = (
    methods.LOCALLY_CONSTANT,
    methods.GRAPHICAL_LASSO,
    COVARIANCE_SELECTION,
    REFITTED,
    REGRESSIONS,
    FULL,
    INDEPENDENT,
)
N_VARIABLES = 9
SAMPLES = (4, 400)
TRUTHS: Final[tuple[ContourKind, ...]] = ("two-blocks", "one-block")
#: Partial correlations below this are zeros that the dual solver reached only approximately.
ZERO = 1e-4


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets, and how fine their grids are."""
    return [
        {"truth": truth, "n_samples": n_samples, "repetition": repetition, "per_decade": per_decade}
        for per_decade, n_repetitions in [(1, 6) if quick else (4, 50)]
        for repetition in range(n_repetitions)
        for truth in TRUTHS
        for n_samples in SAMPLES
    ]


def run_task(
    rng: np.random.Generator,
    *,
    truth: ContourKind,
    n_samples: int,
    repetition: int,
    per_decade: int,
) -> list[Row]:
    """Draw one data set and tune every method on it, as an oracle would and by held-out rows."""
    model = make_contour_model(truth)
    X = model.sample(n_samples, rng)
    # Of four rows, one at a time is left out.
    folds = methods.split(n_samples, min(n_samples, 5), rng)
    S = methods.second_moments(X)
    grid = methods.grid_for(S, per_decade=per_decade)
    rows = []
    for name, method in _methods():
        tuned = methods.tune(method, X, model.precision, grid, folds)
        for tuning, fit in (("oracle", tuned.oracle), ("cv", tuned.cross_validated)):
            about = {"tuning": tuning, "unconverged": tuned.n_unconverged}
            rows.append({"method": name, **about, **methods.measures(fit, model.precision)})
            if name == methods.GRAPHICAL_LASSO:
                rows.append(about | covariance_selection(S, fit, model.precision))
    return rows


def covariance_selection(S: FloatArray, lasso: methods.Fit, truth: FloatArray) -> Row:
    """Solve the problem of a graphical lasso fit by the other route, and tell how far apart.

    Covariance selection looks for the covariance of largest determinant in a box around S. That
    is the dual of the graphical lasso: one optimum, two solvers. Its tuning is therefore that of
    the graphical lasso.
    """
    no_differences = np.zeros((1, len(S)))
    solution = difference_penalized(S, lasso.settings["alpha"], 0.0, no_differences, tol=1e-9)
    scale = np.sqrt(solution.value.diagonal())
    adjacency = np.abs(solution.value) > ZERO * np.outer(scale, scale)
    np.fill_diagonal(adjacency, False)
    fit = methods.Fit(precision=solution.value, adjacency=adjacency, settings=lasso.settings)
    return {
        "method": COVARIANCE_SELECTION,
        "unconverged": int(not solution.converged),
        **methods.measures(fit, truth),
        "difference": float(np.abs(solution.value - lasso.precision).max()),
    }


def _methods() -> Iterator[tuple[str, methods.Method]]:
    pairs = neighbor_pairs("chain", N_VARIABLES)
    yield methods.LOCALLY_CONSTANT, partial(methods.fit_locally_constant, pairs=pairs, tol=1e-6)
    yield methods.GRAPHICAL_LASSO, partial(methods.fit_graphical_lasso, tol=1e-6)
    yield REFITTED, methods.fit_regressions_refitted
    yield REGRESSIONS, methods.fit_regressions
    yield FULL, methods.fit_full
    yield INDEPENDENT, methods.fit_independent


TUNINGS: Final = {"oracle": "oracle tuning", "cv": "cross-validated"}
MEASURES: Final = {
    "kl": "KL",
    "precision": "precision",
    "recall": "recall",
    "frobenius": "Frobenius",
}
#: The techniques that the paper compares with, as it describes them.
RIVALS: Final = (methods.GRAPHICAL_LASSO, REGRESSIONS)


def report(frame: pd.DataFrame) -> Report:
    """Set out all methods by all measures, and judge what the paper says of them."""
    sections = [
        f"### {truth}, {n} rows\n\n{_table(tables.rows_of(frame, truth=truth, n_samples=n))}"
        for truth, n in product(TRUTHS, SAMPLES)
    ]
    refits = tables.rows_of(frame, n_samples=SAMPLES[-1]).pivot_table(
        index=["truth", "tuning", "task"], columns="method", values="kl"
    )
    text = tables.fill(
        __package__,
        "contour",
        tables="\n\n".join(sections),
        paired=_paired_table(frame),
        difference=tables.rows_of(frame, method=COVARIANCE_SELECTION)["difference"].max(),
        n_samples=SAMPLES[-1],
        share=float((refits[REFITTED] < refits[methods.LOCALLY_CONSTANT]).mean()),
        n_unconverged=int(frame["unconverged"].sum()),
    )
    outperforms = [_outperforms(frame, n_samples) for n_samples in SAMPLES]
    return Report(text, (*outperforms, _recall(frame), _recovered(frame)))


def differences(frame: pd.DataFrame, rival: str) -> FloatArray:
    """KL of the locally constant fits less that of a rival on the same data sets."""
    wide = frame.pivot_table(index="task", columns="method", values="kl")
    found: FloatArray = (wide[methods.LOCALLY_CONSTANT] - wide[rival]).to_numpy(dtype=np.float64)
    return found


def _settings(frame: pd.DataFrame, n_samples: int) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for truth, tuning in product(TRUTHS, TUNINGS):
        yield truth, tuning, tables.rows_of(frame, truth=truth, n_samples=n_samples, tuning=tuning)


def _table(frame: pd.DataFrame) -> str:
    found = {
        (*key, measure): part[measure]
        for key, part in frame.groupby(["method", "tuning"])
        for measure in MEASURES
    }
    columns = [(tuning, measure) for measure in MEASURES for tuning in TUNINGS]
    header = [f"{MEASURES[measure]}, {tuning}" for tuning, measure in columns]
    return tables.means_table(
        ["method", *header], [(method,) for method in METHODS], columns, found
    )


def _paired_table(frame: pd.DataFrame) -> str:
    rows = []
    for n_samples in SAMPLES:
        for truth, tuning, part in _settings(frame, n_samples):
            found = differences(part, methods.GRAPHICAL_LASSO)
            share = f"{np.mean(found < 0):.0%}"
            rows.append([truth, str(n_samples), tuning, tables.mean_and_error(found, 4), share])
    return tables.markdown_table(
        ["truth", "rows", "tuning", "KL, locally constant less graphical lasso", "lower on"], rows
    )


def _outperforms(frame: pd.DataFrame, n_samples: int) -> Claim:
    clear, lowest, details = [], Counter[str](), []
    for truth, tuning, part in _settings(frame, n_samples):
        means = part.groupby("method")["kl"].mean()
        lowest[str(means.idxmin())] += 1
        clear.append([tables.is_clearly_positive(-differences(part, rival)) for rival in RIVALS])
        ours, lasso = means[methods.LOCALLY_CONSTANT], means[methods.GRAPHICAL_LASSO]
        details.append(f"{truth}, {tuning} {ours:.3f} against {lasso:.3f}")
    over_lasso, over_regressions = np.sum(clear, axis=0)
    is_best = np.all(clear) and REFITTED not in lowest
    return Claim(
        f"With {n_samples} samples the method is closer to the truth than covariance selection, "
        "graphical lasso and Meinshausen-Bühlmann.",
        f"Mean KL against that of the graphical lasso: {'; '.join(details)}. Clearly lower (by two "
        f"standard errors) than {methods.GRAPHICAL_LASSO} in {over_lasso}, {REGRESSIONS} in "
        f"{over_regressions} of {len(clear)} settings. Lowest of all: "
        f"{', '.join(f'{name} ({n})' for name, n in lowest.items())}.",
        "yes" if is_best else "partly" if over_lasso else "no",
    )


def _recall(frame: pd.DataFrame) -> Claim:
    n_samples = SAMPLES[0]
    higher = []
    for _, _, part in _settings(frame, n_samples):
        means = part.groupby("method")["recall"].mean()
        higher.append(bool(means[list(RIVALS)].max() > means[methods.LOCALLY_CONSTANT]))
    recalls = tables.rows_of(frame, n_samples=n_samples).groupby("method")["recall"].mean()
    figures = ", ".join(
        f"{method} {recalls[method]:.2f}" for method in (methods.LOCALLY_CONSTANT, *RIVALS)
    )
    return Claim(
        "With few samples other methods may have a higher recall.",
        f"Mean recall at {n_samples} rows: {figures}; a rival is ahead in {sum(higher)} of "
        f"{len(higher)} settings.",
        tables.verdict([[is_higher] for is_higher in higher]),
    )


def _recovered(frame: pd.DataFrame) -> Claim:
    part = tables.rows_of(
        frame, n_samples=SAMPLES[-1], method=methods.LOCALLY_CONSTANT, tuning="oracle"
    )
    kl, edges, precision = (part[name].mean() for name in ("kl", "edges", "precision"))
    pairs = N_VARIABLES * (N_VARIABLES - 1) // 2
    return Claim(
        "There is very little difference between the truth and the model recovered from "
        f"{SAMPLES[-1]} samples.",
        f"As a distribution, yes: KL {kl:.3f}. As a graph, no: at its best KL the fit keeps "
        f"{edges:.0f} of {pairs} possible edges, and {precision:.0%} of them are true.",
        "partly" if precision < 0.8 else "yes",
    )


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Draw the KL of all methods, and matrices of examples."""
    return {"contour-kl": draw_contour(frame), "matrices": draw_matrices()}


def draw_contour(frame: pd.DataFrame) -> Figure:
    """KL of every method, tuned both ways, by truth and number of rows."""
    shape = len(TRUTHS), len(SAMPLES)
    figure, axes = panels(*shape, (10, 6.4), grid="x", sharex="col", sharey=True)
    for ax, (truth, n_samples) in zip(axes.flat, product(TRUTHS, SAMPLES), strict=True):
        looks = zip(TUNINGS.items(), (0.14, -0.14), methods.LOOK.values(), strict=True)
        for (tuning, label), shift, look in looks:
            part = tables.rows_of(frame, truth=truth, n_samples=n_samples, tuning=tuning)
            kl = tables.grouped(part, ["method"], "kl")
            found = {method: kl[method] for method in reversed(METHODS)}
            points(ax, METHODS, found, shift, label=label, markersize=6, **look)
        ax.set(xscale="log", title=f"{truth}, {n_samples} rows")
        plain_log(ax.xaxis)
    axes[0, 0].set_yticks(range(len(METHODS)), labels=METHODS[::-1])
    name_outer(axes, "Kullback-Leibler divergence from the truth (nats)", "")
    axes[0, 1].legend()
    return figure


#: Up to so many variables names are written and fused blocks outlined; more would hide the colours.
SMALL: Final = 20
#: Seed of the data sets that are shown as matrices.
EXAMPLE_SEED: Final = 1


def draw_matrices() -> Figure:
    """Show the truth, the locally constant fit with its fused groups, and the graphical lasso."""
    figure, axes = panels(2, 3, (10, 6.9), grid=None)
    shape, size = PROBLEMS["path 60"]
    examples = (
        (make_contour_model("two-blocks").precision, (9,), 400),
        (make_block_model(shape, n_blocks=6, size=size, rng=EXAMPLE_SEED).precision, shape, 100),
    )
    for row, (truth, sites, n_samples) in zip(axes, examples, strict=True):
        matrices = example(truth, sites, n_samples)
        limit = float(np.abs(truth - np.diag(truth.diagonal())).max())
        for ax, (title, (precision, groups)) in zip(row, matrices.items(), strict=True):
            weights = precision - np.diag(precision.diagonal())
            graph = Graph(weights, names=[str(site + 1) for site in range(len(weights))])
            shown: dict[str, Any] = {"labels": "none"}
            if len(weights) <= SMALL:
                shown = {"labels": "all", "groups": groups}
            plot_matrix(graph, ax, colorbar=False, **shown)
            ax.images[0].set_clim(-limit, limit)
            ax.set_title(title)
        figure.colorbar(row[-1].images[0], ax=list(row), label="entry of the precision", pad=0.01)
    return figure


def example(
    truth: FloatArray, sites: tuple[int, ...], n_samples: int
) -> dict[str, tuple[FloatArray, IntArray | None]]:
    """Precisions by title, at their best KL, with the fused groups of the locally constant one."""
    S = methods.second_moments(GaussianModel.from_precision(truth).sample(n_samples, EXAMPLE_SEED))
    pairs = neighbor_pairs(sites, prod(sites))
    fits = methods.fit_both(S, methods.grid_for(S, per_decade=2), pairs)
    chosen = {
        name: methods.best(found, -methods.divergences(found, truth))
        for name, found in fits.items()
    }
    at = chosen[methods.LOCALLY_CONSTANT].settings
    ours = locally_constant(S, at["alpha"], at["tau"], pairs)
    return {
        f"truth, {len(truth)} variables": (truth, None),
        f"{methods.LOCALLY_CONSTANT}, {n_samples} rows, {ours.n_groups} groups": (
            ours.value,
            ours.groups,
        ),
        f"{methods.GRAPHICAL_LASSO}, {n_samples} rows": (
            chosen[methods.GRAPHICAL_LASSO].precision,
            None,
        ),
    }


PART = Part(name="contour", tasks=list_tasks, run=run_task, report=report, figures=draw)
