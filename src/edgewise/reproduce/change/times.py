"""Tables and verdicts on CPU times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import Final

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray
from edgewise.data import GaussianChange, gaussian_change
from edgewise.reproduce.study import Claim, Part, Report, Row
from edgewise.reproduce.tables import markdown_table, verdict
from edgewise.solvers import density_ratio_path, ratio_alpha_max

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
    return [
        {"n_features": n_features, "repetition": repetition}
        for repetition in range(1 if quick else 3)
        for n_features in ((*PUBLISHED_SIZES[::2], 200) if quick else SIZES)
    ]


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
    data = gaussian_change(n_features, n_samples, n_neighbors=10 if many else None, rng=rng)
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
    data = gaussian_change(20, 50, n_changed=2, rng=0)
    for alphas in ranges(data).values():
        for solver in SOLVERS:
            solve(data, alphas, solver)


PART = Part(name="times", tasks=list_tasks, run=run_task)


#: From this ratio on the dual is several times as fast, and from the first on somewhat.
SOMEWHAT: Final = 1.5
SEVERAL: Final = 5.0

INTRODUCTION: Final = f"""\
## Section 4.4: primal and dual

CPU seconds of a path of {N_ALPHAS} alphas with {N_SAMPLES} rows in each group, ridge {RIDGE:g}, one
thread, every fit down to a duality gap of {GAP:g}. *Published*: alphas from 1 down to 0.0001, at
most of which nearly every pair changes. *Sparse*: from the first alpha at which anything changes to
a fifth of it. Up to 80 variables a quarter of all pairs are joined, as printed; beyond, where such
a precision matrix would not be positive definite, every variable has 10 neighbours. Geometric means
over the data sets; exponents are slopes of log time against log size."""


def report(frame: pd.DataFrame) -> Report:
    """Set out the times, and judge what the paper says of them."""
    text = "\n\n".join(
        [
            INTRODUCTION,
            _table(frame),
            (
                "The times belong to two programs as much as to two problems: the dual is solved "
                "by Newton steps in as many unknowns as there are rows, the primal by accelerated "
                "gradients that keep lists of the pairs which are not 0."
            ),
        ]
    )
    return Report(text=text, claims=(_faster(frame), _growth(frame)))


def mean_times(frame: pd.DataFrame, name: str, solver: str) -> pd.Series:
    """Geometric mean of the seconds by number of variables."""
    part = frame[(frame["range"] == name) & (frame["solver"] == solver)]
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


def _table(frame: pd.DataFrame) -> str:
    columns = [(name, solver) for name in (PUBLISHED, SPARSE) for solver in ("dual", "primal")]
    times = {column: mean_times(frame, *column) for column in columns}
    rows = [
        [str(size), *(f"{times[c][size]:.3g}" if size in times[c] else "" for c in columns)]
        for size in sorted(frame["n_features"].unique())
    ]
    rows.append(["exponent", *(f"{exponent(times[column]):.1f}" for column in columns)])
    return markdown_table(["variables", *(f"{name}, {solver}" for name, solver in columns)], rows)


def _faster(frame: pd.DataFrame) -> Claim:
    size = PUBLISHED_SIZES[-1]
    ratios = {
        name: float(mean_times(frame, name, "primal")[size] / mean_times(frame, name, "dual")[size])
        for name in (PUBLISHED, SPARSE)
    }
    ratio = ratios[PUBLISHED]
    return Claim(
        published=f"At {size} variables the primal takes almost 10 times as long as the dual.",
        found=f"{ratio:.1f} times as long over the published alphas, {ratios[SPARSE]:.1f} times "
        "over the sparse range.",
        holds="yes" if ratio >= SEVERAL else "partly" if ratio >= SOMEWHAT else "no",
    )


def _growth(frame: pd.DataFrame) -> Claim:
    exponents, cases = [], []
    for name in (PUBLISHED, SPARSE):
        times = [mean_times(frame, name, solver) for solver in ("primal", "dual")]
        shared = [size for size in times[1].index if size in times[0]]
        primal, dual = (exponent(of_solver[shared]) for of_solver in times)
        cases.append([primal > dual])
        exponents.append(f"{primal:.1f} and {dual:.1f} ({name}, up to {max(shared)} variables)")
    return Claim(
        published="The time of the primal rises sharply with the number of variables, that of the "
        "dual only moderately.",
        found=f"Exponents of primal and dual: {'; '.join(exponents)}.",
        holds=verdict(cases),
    )
