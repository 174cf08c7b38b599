"""The authors' later experiment: how many rows it takes to find what changed in a lattice."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise.data import make_lattice_change
from edgewise.metrics import edge_metrics
from edgewise.solvers import density_ratio
from studies.figures import COLORS, panels, percent
from studies.study import Claim, Part, Report, Row, combinations
from studies.tables import CLEAR, fill, markdown_table, rows_of, verdict

SIZES: Final = (64, 100)
#: Rows of each group in units of the logarithm of the number of variables.
RATIOS: Final = (40, 60, 80, 100, 125, 150)
#: alpha in units of the square root of log(number of variables) / rows.
FACTORS: Final = (2.0, 2.5)
#: Largest duality gap per variable; what is zero does not change below it.
TOL: Final = 1e-6


def list_tasks(quick: bool) -> list[Row]:
    """List sizes of lattices and of data sets, with how many of these are drawn."""
    ratios = RATIOS[1::2] if quick else RATIOS
    return combinations(n_features=SIZES, ratio=ratios, n_runs=[20 if quick else 200])


def run_task(rng: np.random.Generator, *, n_features: int, ratio: float, n_runs: int) -> list[Row]:
    """Draw data sets, and count on how many the edges found are those that changed."""
    n_samples = round(ratio * np.log(n_features))
    errors = np.empty((n_runs, len(FACTORS), 2))
    for run, stream in enumerate(rng.spawn(n_runs)):
        data = make_lattice_change(n_features, n_samples, rng=stream)
        for column, factor in enumerate(FACTORS):
            alpha = factor * np.sqrt(np.log(n_features) / n_samples)
            found = density_ratio(data.second, data.first, alpha, ridge=0.0, tol=TOL)
            edges = edge_metrics(data.changed, found.value[:, :, 0])
            errors[run, column] = edges.fn, edges.fp
    return [
        {
            "n_samples": n_samples,
            "factor": factor,
            "success": float(np.mean(errors[:, column].sum(axis=1) == 0)),
            "missed": float(errors[:, column, 0].mean()),
            "false": float(errors[:, column, 1].mean()),
        }
        for column, factor in enumerate(FACTORS)
    ]


#: Success rates of two sizes that differ by less are as good as equal.
CLOSE: Final = 0.1


def report(frame: pd.DataFrame) -> Report:
    """Set out the success rates, and judge whether they line up over sizes."""
    found = {(row.ratio, row.factor, row.n_features): row for row in frame.itertuples()}
    ratios = sorted(frame["ratio"].unique())
    columns = [(factor, size) for factor in FACTORS for size in SIZES]
    rows = [[str(ratio), *(_rate(found[ratio, *column]) for column in columns)] for ratio in ratios]
    header = ["n / log m", *(f"c = {factor:g}, m = {size}" for factor, size in columns)]
    failed = frame[(frame["factor"] == FACTORS[1]) & (frame["success"] < 1)]
    means = {name: failed[name].mean() for name in ("missed", "false")}
    table = markdown_table(header, rows)
    text = fill(__package__, "lattice", table=table, factor=FACTORS[1], **means)
    pairs = [[[found[r, f, size] for size in SIZES] for r in ratios] for f in FACTORS]
    return Report(text, (_aligned(pairs),))


def _rate(row: Any) -> str:
    return f"{row.success:.3f} ± {_error(row):.3f}"


def _error(row: Any) -> float:
    return standard_error(row.success, row.n_runs)


def standard_error(success: float, n_runs: int) -> float:
    """Of a share of successes, never quite 0.

    Examples
    --------
    >>> standard_error(0.5, 100), round(standard_error(1.0, 100), 4)
    (0.05, 0.0099)
    """
    # The share after one more success and one more failure: no finite number of runs proves 1.
    share = (success * n_runs + 1) / (n_runs + 2)
    error = success * (1 - success) / n_runs if 0 < success < 1 else share * (1 - share) / n_runs
    return float(np.sqrt(error))


def _aligned(pairs: list[list[Any]]) -> Claim:
    """Judge rows of both sizes, by factor and ratio."""
    gaps = [[abs(first.success - second.success) for first, second in of] for of in pairs]
    errors = [[np.linalg.norm([_error(row) for row in pair]) for pair in of] for of in pairs]
    cases = [
        [bool(gap <= max(CLOSE, CLEAR * error)) for gap, error in zip(*of, strict=True)]
        for of in zip(gaps, errors, strict=True)
    ]
    return Claim(
        "The rows needed grow like the logarithm of the number of variables: success against "
        "n / log m is the same for all sizes.",
        f"Success rates with {SIZES[0]} and {SIZES[1]} variables differ by {np.mean(gaps):.2f} on "
        f"average over n / log m and c, and by {np.max(gaps):.2f} at most.",
        verdict(cases),
    )


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Success against rows over the logarithm of the number of variables."""
    figure, (axes,) = panels(1, len(FACTORS), (9, 3.8), sharey=True)
    for ax, factor in zip(axes, FACTORS, strict=True):
        for size, color, marker in zip(SIZES, COLORS, "os", strict=False):
            part = rows_of(frame, factor=factor, n_features=size).sort_values("ratio")
            look: dict[str, Any] = {"color": color, "marker": marker, "markersize": 5}
            look |= {"linewidth": 1.4, "label": f"{size} variables"}
            errors = list(map(_error, part.itertuples()))
            ax.errorbar(part["ratio"], part["success"], yerr=errors, **look)
        title = f"alpha = {factor:g} sqrt(log m / n)"
        ax.set(title=title, xlabel="n / log m", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("exactly the changed edges found")
    percent(axes[0].yaxis)
    axes[0].legend(loc="lower right")
    return {"lattice": figure}


PART = Part(name="lattice", tasks=list_tasks, run=run_task, report=report, figures=draw)
