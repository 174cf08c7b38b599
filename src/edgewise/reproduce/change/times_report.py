"""Tables and verdicts on CPU times."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from edgewise.reproduce._files import markdown_table
from edgewise.reproduce._study import Claim, Report
from edgewise.reproduce.change.times import (
    GAP,
    N_ALPHAS,
    N_SAMPLES,
    PUBLISHED,
    PUBLISHED_SIZES,
    RIDGE,
    SPARSE,
)
from edgewise.reproduce.verdicts import verdict

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
