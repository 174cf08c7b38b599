"""Section 4.4: CPU times of the primal and the dual problem."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise._core.typing import FloatArray
from edgewise.data import make_gaussian_change
from edgewise.data.simulate.change import GaussianChange
from edgewise.solvers.change.density_ratio import density_ratio_path, ratio_alpha_max
from studies.figures import COLORS, numbered_log, panels
from studies.study import Claim, Part, Report, Row, combinations
from studies.tables import Case, fill, judge, markdown_table, rows_of

N_SAMPLES: Final = 150
N_ALPHAS: Final = 20
RIDGE: Final = 0.1
#: Largest duality gap, the same for all sizes.
GAP: Final = 1e-6
PUBLISHED_SIZES: Final = (40, 50, 60, 70, 80)
SIZES: Final = (*PUBLISHED_SIZES, 120, 200, 500, 1000)
#: Variables from which on a quarter of all pairs leaves no positive definite precision.
MANY: Final = 100
#: Alphas: those of the paper, at most of which nearly every pair changes, and a sparse range.
PUBLISHED: Final = "published"
SPARSE: Final = "sparse"
#: The most variables for which the primal is solved.
LARGEST_PRIMAL: Final = {PUBLISHED: 80, SPARSE: 200}
SOLVERS: Final = ("dual", "primal")


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    sizes = (*PUBLISHED_SIZES[::2], 200) if quick else SIZES
    return combinations(n_features=sizes, repetition=range(1 if quick else 3))


def run_task(
    rng: np.random.Generator,
    *,
    n_features: int,
    repetition: int,
    n_samples: int = N_SAMPLES,
    largest_primal: Mapping[str, int] = LARGEST_PRIMAL,
) -> list[Row]:
    """Time both problems along both ranges of alpha."""
    compile_kernels()
    many = n_features >= MANY
    data = make_gaussian_change(n_features, n_samples, n_neighbors=10 if many else None, rng=rng)
    rows = []
    for name, alphas in ranges(data).items():
        for solver in SOLVERS:
            if solver == "primal" and n_features > largest_primal[name]:
                continue
            start = time.process_time()
            pairs = solve(data, alphas, solver)
            seconds = time.process_time() - start
            rows.append({"range": name, "solver": solver, "seconds": seconds, "pairs": pairs})
    return rows


def ranges(data: GaussianChange) -> dict[str, FloatArray]:
    """Alphas of both ranges, from large to small."""
    largest = ratio_alpha_max(data.second, data.first, ridge=RIDGE)
    return {
        PUBLISHED: np.logspace(0, -4, N_ALPHAS),
        SPARSE: np.geomspace(largest, largest / 5, N_ALPHAS),
    }


def solve(data: GaussianChange, alphas: FloatArray, solver: str) -> int:
    """Solve along the alphas, and count the pairs that change at the last one."""
    *_, last = density_ratio_path(
        data.second, data.first, alphas, ridge=RIDGE, solver=solver, tol=GAP / data.n_features
    )
    return int(np.count_nonzero(np.triu(last.value[:, :, 0], 1)))


@cache
def compile_kernels() -> None:
    """Let both solvers run once, so that no compilation is timed."""
    data = make_gaussian_change(20, 50, n_changed=2, rng=0)
    for alphas in ranges(data).values():
        for solver in SOLVERS:
            solve(data, alphas, solver)


#: From this ratio on the dual is several times as fast, and from the first on somewhat.
SOMEWHAT: Final = 1.5
SEVERAL: Final = 5.0


def report(frame: pd.DataFrame) -> Report:
    """Set out the times, and judge what the paper says of them."""
    times = {
        (name, solver): mean_times(frame, name, solver)
        for name in (PUBLISHED, SPARSE)
        for solver in SOLVERS
    }
    rows = [
        [str(size), *(f"{of[size]:.3g}" if size in of else "" for of in times.values())]
        for size in sorted(frame["n_features"].unique())
    ]
    rows.append(["exponent", *(f"{exponent(of):.1f}" for of in times.values())])
    text = fill(
        __package__,
        "times",
        n_alphas=N_ALPHAS,
        n_samples=N_SAMPLES,
        ridge=RIDGE,
        gap=GAP,
        table=markdown_table(["variables", *(", ".join(column) for column in times)], rows),
    )
    size = PUBLISHED_SIZES[-1]
    published, sparse = (
        times[name, "primal"][size] / times[name, "dual"][size] for name in (PUBLISHED, SPARSE)
    )
    faster = Claim(
        f"At {size} variables the primal takes almost 10 times as long as the dual.",
        f"{published:.1f} times as long over the published alphas, {sparse:.1f} times over the "
        "sparse range.",
        "yes" if published >= SEVERAL else "partly" if published >= SOMEWHAT else "no",
    )
    growth = judge(
        "The time of the primal rises sharply with the number of variables, that of the dual only "
        "moderately.",
        "Exponents of primal and dual",
        [_growth(times[name, "primal"], times[name, "dual"], name) for name in (PUBLISHED, SPARSE)],
    )
    return Report(text, (faster, growth))


def _growth(primal: pd.Series, dual: pd.Series, name: str) -> Case:
    shared = [size for size in dual.index if size in primal]
    slow, fast = exponent(primal[shared]), exponent(dual[shared])
    words = f"{slow:.1f} and {fast:.1f} ({name}, up to {max(shared)} variables)"
    return [slow > fast], words


def mean_times(frame: pd.DataFrame, name: str, solver: str) -> pd.Series:
    """Geometric mean of the seconds by number of variables."""
    part = rows_of(frame, range=name, solver=solver)
    means: pd.Series = np.exp(np.log(part["seconds"]).groupby(part["n_features"]).mean())
    return means


def exponent(times: pd.Series) -> float:
    """Slope of log time against log size.

    Examples
    --------
    >>> import pandas as pd
    >>> round(exponent(pd.Series({10: 1.0, 100: 100.0})), 6)
    2.0
    """
    return float(np.polyfit(np.log(times.index.to_numpy(dtype=float)), np.log(times), 1)[0])


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """CPU seconds against the number of variables, with the slope of each line."""
    figure, (axes,) = panels(1, 2, (9, 4), sharey=True, sharex=True)
    for ax, name in zip(axes, (PUBLISHED, SPARSE), strict=True):
        for solver, color, marker in zip(SOLVERS, COLORS, "os", strict=False):
            times = mean_times(frame, name, solver)
            label = f"{solver}, exponent {exponent(times):.1f}"
            ax.plot(times.index, times, color=color, marker=marker, markersize=5, label=label)
        ax.set(yscale="log", title=f"{name} range of alpha", xlabel="variables")
        largest = frame["n_features"].max()
        numbered_log(ax, [size for size in (40, 80, 200, 500, 1000) if size <= largest])
        ax.yaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
        ax.legend(loc="lower right")
    axes[0].set_ylabel("CPU seconds of a path of 20 alphas")
    return {"times": figure}


PART = Part(name="times", tasks=list_tasks, run=run_task, report=report, figures=draw)
