"""Tables without edges: how many have a pair with a q-value of at most 0.05, and what covers 0."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from scipy import special

from edgewise._core.typing import FloatArray
from edgewise.inference import edge_intervals
from studies.study import Claim, Part, Report, Row, Study, combinations
from studies.tables import fill, listed, markdown_table, verdict

#: Rows and columns of normal tables.
SIZES: Final = (
    *((8, 30), (10, 30), (12, 30), (15, 20), (20, 20), (25, 20), (20, 100), (30, 50), (40, 50)),
    *((57, 50), (60, 100), (9, 6), (12, 6), (100, 200), (200, 10)),
)
#: Rows of other kinds, of 200 rows and 10 columns.
KINDS: Final = ("t3", "t5", "t8", "outlying", "lognormal", "independent t3", "rare levels")
N_TABLES, PER_TASK = 300, 25
LEVEL: Final = 0.05
#: Share of tables that may have a discovery where the level is 0.05.
MOST: Final = 0.07


def list_tasks(quick: bool) -> list[Row]:
    """List kinds of rows, sizes and batches of tables."""
    batches = range(1 if quick else N_TABLES // PER_TASK)
    cells = [("normal", n, p) for n, p in SIZES] + [(kind, 200, 10) for kind in KINDS]
    return [
        row
        for kind, n, p in cells
        for row in combinations(kind=(kind,), n_samples=(n,), n_features=(p,), batch=batches)
    ]


def draw(kind: str, n: int, p: int, rng: np.random.Generator) -> FloatArray:
    """Draw rows whose partial correlations are all 0."""
    X: FloatArray = rng.normal(size=(n, p))
    if kind in ("t3", "t5", "t8"):
        X = X / np.sqrt(rng.chisquare(int(kind[1]), size=(n, 1)))
    elif kind == "outlying":
        X[rng.permutation(n)[: round(0.03 * n)]] *= 6
    elif kind == "lognormal":
        X = np.asarray(np.exp(X))
    elif kind == "independent t3":
        X = np.asarray(rng.standard_t(3, size=(n, p)), dtype=np.float64)
    elif kind == "rare levels":
        X = np.digitize(X, special.ndtri([0.84, 0.93, 0.98])).astype(np.float64)
    return X


def run_task(
    rng: np.random.Generator, *, kind: str, n_samples: int, n_features: int, batch: int
) -> list[Row]:
    """Test all pairs of a batch of tables."""
    above = np.triu_indices(n_features, 1)
    rows = []
    for _ in range(PER_TASK):
        found = edge_intervals(draw(kind, n_samples, n_features, rng))
        q = found.qvalues[above]
        is_in = (found.lower[above] <= 0) & (found.upper[above] >= 0)
        covered = float(np.mean(is_in[np.isfinite(q)]))
        rows.append({"discovery": float(np.any(q <= LEVEL)), "covered": covered})
    return rows


def report(frame: pd.DataFrame) -> Report:
    """Lay out shares, and hold them against what is promised."""
    lines, shares, sizes = [], {}, []
    for cell, part in frame.groupby(["kind", "n_samples", "n_features"], sort=False):
        kind, n, p = map(str, cell)
        share, covered = float(part["discovery"].mean()), float(part["covered"].mean())
        lines.append([kind, n, p, f"{share:.3f}", f"{covered:.3f}"])
        shares[f"{kind}, {n} x {p}"] = share
        sizes.append(len(part))
    table = markdown_table(["rows", "n", "p", "with a discovery", "covered"], lines)
    text = fill(__package__, "edge_levels", n=min(sizes), table=table)
    claim = Claim(
        f"At most {MOST:.0%} of tables without edges have a q-value of at most {LEVEL:g}.",
        listed({name: f"{share:.3f}" for name, share in shares.items()}),
        verdict([[share <= MOST for share in shares.values()]]),
    )
    return Report(text, claims=(claim,))


STUDY = Study(
    name="edge_levels",
    title="Tests of edges where there are none",
    reference="none; what `edge_intervals` promises, on tables without edges",
    version=1,
    parts=(Part(name="null", tasks=list_tasks, run=run_task, report=report),),
)
