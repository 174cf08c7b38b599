"""Intervals and tests of edges on known graphs: coverage, false discoveries and power."""

from __future__ import annotations

from functools import cache, partial
from math import nan
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn import datasets

from edgewise._core.typing import FloatArray
from edgewise.data import GaussianModel
from edgewise.estimators import GaussianGraph
from edgewise.inference import edge_intervals
from studies.figures import standard_error
from studies.study import Claim, Part, Report, Row, Study, combinations
from studies.tables import fill, listed, markdown_table, verdict

KINDS: Final = ("chain", "hubs of 10", "random, 3 per node", "blocks of 5", "hubs of huge")
#: Columns that nearly determine each other, with their numbers and those of the rows: tables of
#: scikit-learn as if their sample covariance, or the network learned from them, were the truth.
CLOSE: Final = {
    "diabetes": (11, 442),
    "network of diabetes": (11, 442),
    "wine": (14, 178),
    "network of wine": (14, 178),
    "fours of 0.98": (40, 200),
    "series of 0.98": (40, 200),
}
#: Tables of each kind and size, and of a task.
N_TABLES, PER_TASK = 500, 25
LEVEL: Final = 0.05
#: Where the coverage of 95 % intervals is to lie.
COVERAGE: Final = (0.93, 0.97)
#: What SILGGM has on the hub graphs of huge: false discoveries and power.
PEER_FALSE, PEER_FOUND = 0.06, 0.49


def list_tasks(quick: bool, *, n_features: int) -> list[Row]:
    """List kinds of graphs, numbers of rows, methods and batches of tables."""
    methods = ("nodewise", "graphical-lasso") if n_features == 50 else ("nodewise",)
    return combinations(
        kind=KINDS,
        n_samples=(200,) if quick else (200, 400),
        method=methods,
        n_features=(n_features,),
        batch=range(1 if quick else N_TABLES // PER_TASK),
    )


def list_close_tasks(quick: bool) -> list[Row]:
    """List columns that nearly determine each other, with all their rows and with a hundred."""
    return [
        row
        for kind, (p, n) in CLOSE.items()
        for row in combinations(
            kind=(kind,),
            n_samples=(100,) if quick else (100, n),
            method=("nodewise",),
            n_features=(p,),
            batch=range(1 if quick else N_TABLES // PER_TASK),
        )
    ]


@cache
def measured_precision(name: str, is_learned: bool) -> FloatArray:
    """Precision matrix of a table, of all pairs or of the network learned from it."""
    rows = getattr(datasets, f"load_{name}")(as_frame=True).frame.to_numpy(float)
    if is_learned:
        return np.asarray(GaussianGraph(covariance="correlation").fit(rows).precision_)
    return np.asarray(np.linalg.inv(np.corrcoef(rows.T)))


def draw_precision(kind: str, p: int, rng: np.random.Generator) -> FloatArray:
    """Draw a precision matrix of a kind."""
    Theta = np.zeros((p, p))
    if kind.endswith(("diabetes", "wine")):
        return measured_precision(kind.split()[-1], kind.startswith("network"))
    if kind == "fours of 0.98":
        return np.asarray(np.kron(np.eye(p // 4), np.linalg.inv(0.02 * np.eye(4) + 0.98)))
    if kind == "series of 0.98":
        return np.asarray(np.linalg.inv(0.98 ** np.abs(np.subtract.outer(range(p), range(p)))))
    if kind == "chain":
        return np.eye(p) + 0.3 * (np.eye(p, k=1) + np.eye(p, k=-1))
    if kind == "blocks of 5":
        return np.asarray(np.kron(np.eye(p // 5), 0.7 * np.eye(5) + 0.3))
    if kind == "random, 3 per node":
        Theta = np.triu(rng.random((p, p)) < 3 / p, 1) * rng.choice([-0.25, 0.25], (p, p))
        Theta += Theta.T
        return np.asarray(Theta + np.diag(np.abs(Theta).sum(axis=0) + 0.4))
    size, link = (10, 0.25) if kind == "hubs of 10" else (20 if p >= 40 else p // 2, 0.3)
    for k in range(0, p, size):
        Theta[k, k + 1 : k + size] = link
    Theta += Theta.T
    if kind == "hubs of 10":
        return Theta + np.eye(p)
    # As huge.generator with its defaults; units of the columns make no difference.
    return Theta + np.eye(p) * (0.2 - float(np.linalg.eigvalsh(Theta)[0]))


def run_task(
    rng: np.random.Generator,
    *,
    kind: str,
    n_samples: int,
    n_features: int,
    method: str,
    batch: int,
) -> list[Row]:
    """Count what the intervals of a batch of tables cover, and what the tests find."""
    above = np.triu_indices(n_features, 1)
    rows = []
    for _ in range(PER_TASK):
        Theta = draw_precision(kind, n_features, rng)
        scale = np.sqrt(Theta.diagonal())
        truth = -(Theta / np.outer(scale, scale))[above]
        X = GaussianModel.from_precision(Theta).sample(n_samples, rng)
        found = edge_intervals(X, method=method)  # type: ignore[arg-type]
        is_covered = (found.lower[above] <= truth) & (truth <= found.upper[above])
        is_kept, is_edge = found.qvalues[above] <= LEVEL, np.abs(truth) > 1e-9
        rows.append(
            {
                "covered_no_edge": float(is_covered[~is_edge].mean()) if not is_edge.all() else nan,
                "covered_edge": float(is_covered[is_edge].mean()),
                "false": float((is_kept & ~is_edge).sum() / max(is_kept.sum(), 1)),
                "found": float((is_kept & is_edge).sum() / is_edge.sum()),
            }
        )
    return rows


HUBS: Final = 'The hubs of huge are those of `huge.generator(graph = "hub")` in R.'
MEASURED: Final = (
    "Rows are normal, with the sample covariance of scikit-learn's tables, in which every pair has "
    "an edge, or with the network that `GaussianGraph` learns from them; with groups of four "
    "columns whose correlations are 0.98; or of an autoregression with 0.98 from column to column."
)
MEASURES: Final = ("covered_no_edge", "covered_edge", "false", "found")


def report(frame: pd.DataFrame) -> Report:
    """Lay out means with standard errors, and hold them against what is promised."""
    keys = ["method", "kind", "n_samples", "n_features"]
    groups = frame.groupby(keys, sort=False)[list(MEASURES)]
    lines = [[*map(str, key), *(_shown(part[m]) for m in MEASURES)] for key, part in groups]
    table = markdown_table(["method", "graph", "n", "p", *(m.replace("_", " ") for m in MEASURES)],
                           lines)  # fmt: skip
    ours = {key[1:]: part for key, part in groups if key[0] == "nodewise"}
    n_tables = min(len(part) for part in ours.values())
    sizes = frame["n_features"].unique()
    title, about = f"{sizes[0]} columns", HUBS
    if len(sizes) > 1:
        title, about = "Columns that nearly determine each other", MEASURED
    text = fill(__package__, "intervals", title=title, about=about, n=n_tables, table=table)
    return Report(text, claims=_claims(ours))


def _shown(values: pd.Series) -> str:
    """Mean with its error; a measure of pairs that there are none of is left open."""
    if values.isna().any():
        return ""
    return f"{values.mean():.3f} ± {_error(values):.3f}"


def _error(values: pd.Series) -> float:
    return standard_error(values.to_numpy(dtype=np.float64))


def _claims(cells: dict[Any, pd.DataFrame]) -> tuple[Claim, ...]:
    low, high = COVERAGE
    names = {key: f"{key[0]}, n={key[1]}, p={key[2]}" for key in cells}
    claims = []
    for words, measure in (("without", "covered_no_edge"), ("with", "covered_edge")):
        means = {key: part[measure].mean() for key, part in cells.items()
                 if part[measure].notna().all()}  # fmt: skip
        claims.append(
            Claim(
                f"95 % intervals of pairs {words} an edge cover 93 to 97 %.",
                listed({names[key]: f"{mean:.3f}" for key, mean in means.items()}),
                verdict([[low <= mean <= high for mean in means.values()]]),
            )
        )
    limits = {key: LEVEL + 2 * _error(part["false"]) for key, part in cells.items()}
    false = {key: part["false"].mean() for key, part in cells.items()}
    claims.append(
        Claim(
            "The share of false edges is at most 5 %, up to two Monte Carlo errors.",
            listed({names[key]: f"{share:.3f}" for key, share in false.items()}),
            verdict([[share <= limits[key] for key, share in false.items()]]),
        )
    )
    hubs = {key: part for key, part in cells.items() if key[0] == "hubs of huge"}
    if not hubs:
        return tuple(claims)
    found = {key: part["found"].mean() for key, part in hubs.items()}
    claims.append(
        Claim(
            f"On hubs of huge, SILGGM finds {PEER_FOUND:.0%} at a false discovery rate of "
            f"{PEER_FALSE:.0%}: not less here.",
            listed(
                {names[key]: f"{share:.2f} at {false[key]:.3f}" for key, share in found.items()}
            ),
            verdict([[found[key] >= PEER_FOUND and false[key] <= PEER_FALSE for key in found]]),
        )
    )
    return tuple(claims)


STUDY = Study(
    name="intervals",
    title="Intervals and tests of the edges of a Gaussian network",
    reference="none; what `edge_intervals` promises, on known graphs",
    version=2,
    parts=(
        *(
            Part(
                name=f"p{p}",
                tasks=partial(list_tasks, n_features=p),
                run=run_task,
                report=report,
            )
            for p in (50, 100, 200)
        ),
        Part(name="close", tasks=list_close_tasks, run=run_task, report=report),
    ),
)
