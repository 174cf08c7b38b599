"""Networks of ordered answers on known graphs: weights, false edges, intervals and tests."""

from __future__ import annotations

import warnings
from typing import Final

import numpy as np
import pandas as pd
from scipy import special

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.estimators import GaussianGraph
from edgewise.inference import edge_intervals
from edgewise.selection import EBIC
from studies.gaussian import draw_model
from studies.study import Claim, Part, Report, Row, Study, combinations
from studies.tables import fill, listed, markdown_table, verdict

#: Shares of the answers, from the lowest to the highest level.
ANSWERS: Final = {
    "3 skewed": (0.6, 0.28, 0.12),
    "4 skewed": (0.5, 0.28, 0.15, 0.07),
    "5 even": (0.2, 0.2, 0.2, 0.2, 0.2),
    "7 skewed": (0.3, 0.22, 0.16, 0.12, 0.09, 0.07, 0.04),
}
KINDS: Final = ("random", "factor")
ROWS: Final = (150, 300, 600, 1200)
N_FEATURES: Final = 20
#: Tables of a cell.
N_TABLES: Final = 20
DEFAULT: Final = '`covariance="auto"`'
WAYS: Final = {
    DEFAULT: GaussianGraph(covariance="auto"),
    "EBICglasso of polychorics": GaussianGraph(EBIC(0.5), covariance="polychoric", repair="clip"),
    "normal scores": GaussianGraph(covariance="nonparanormal"),
    "Pearson": GaussianGraph(covariance="correlation"),
}
#: A root mean squared error may be larger than the smallest by so much, and so many edges false.
NEAR: Final = 1.1
LEVEL: Final = 0.05
#: How far coverage and level may be off, beside two Monte Carlo errors.
OFF: Final = 0.02


def list_tasks(quick: bool) -> list[Row]:
    """List graphs, answers, numbers of rows and tables."""
    return combinations(
        kind=KINDS,
        answers=("4 skewed",) if quick else tuple(ANSWERS),
        n_samples=(300,) if quick else ROWS,
        table=range(1 if quick else N_TABLES),
    )


def draw_answers(
    kind: str, answers: str, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw answers, and the partial correlations of the normal variables behind them.

    A third of skewed items is worded the other way round.
    """
    model = draw_model(kind, N_FEATURES, rng)
    deviation = np.sqrt(np.linalg.inv(model.precision).diagonal())
    latent = model.sample(n, rng) / deviation
    rows = np.empty_like(latent)
    for k, column in enumerate(latent.T):
        shares = ANSWERS[answers][:: -1 if rng.random() < 1 / 3 else 1]
        rows[:, k] = np.searchsorted(special.ndtri(np.cumsum(shares)[:-1]), column)
    return rows, partial_correlations(model.precision)


def partial_correlations(Theta: FloatArray) -> FloatArray:
    """Partial correlations of the pairs above the diagonal."""
    scale = np.sqrt(Theta.diagonal())
    found: FloatArray = -(Theta / np.outer(scale, scale))[np.triu_indices(len(Theta), 1)]
    return found


def run_task(
    rng: np.random.Generator, *, kind: str, answers: str, n_samples: int, table: int
) -> list[Row]:
    """Learn the network of a table each way, and test its edges by default."""
    X, truth = draw_answers(kind, answers, n_samples, rng)
    is_edge = np.abs(truth) > 1e-9
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for way, estimator in WAYS.items():
            found = partial_correlations(estimator.fit(X).precision_)
            rows.append({"way": way, **_weights(found, truth, is_edge)})
        tested = edge_intervals(X, covariance="auto", random_state=0)
    above = np.triu_indices(N_FEATURES, 1)
    is_covered = (tested.lower[above] <= truth) & (truth <= tested.upper[above])
    is_kept = tested.qvalues[above] <= LEVEL
    return [
        *rows,
        {
            "way": "tests",
            "covered_no_edge": float(is_covered[~is_edge].mean()),
            "covered_edge": float(is_covered[is_edge].mean()),
            "false_share": float((is_kept & ~is_edge).sum() / max(is_kept.sum(), 1)),
            "found": float((is_kept & is_edge).sum() / is_edge.sum()),
        },
    ]


def _weights(found: FloatArray, truth: FloatArray, is_edge: BoolArray) -> Row:
    is_kept = np.abs(found) > 1e-9
    return {
        "square": float(np.mean((found - truth) ** 2)),
        "edges": int(is_kept.sum()),
        "false": int((is_kept & ~is_edge).sum()),
        "wrong": int((found * truth < 0).sum()),
    }


CELL: Final = ["kind", "answers", "n_samples"]
HEADER: Final = ("graph", "answers", "n")


def report(frame: pd.DataFrame) -> Report:
    """Lay out errors of each way and of the tests, and hold the default against what it is for."""
    learned, tested = frame[frame["way"] != "tests"], frame[frame["way"] == "tests"]
    means = learned.groupby([*CELL, "way"], sort=False)[
        ["square", "edges", "false", "wrong"]
    ].mean()
    lines, near, fewer = [], {}, {}
    for cell, part in means.groupby(level=CELL, sort=False):
        part = part.droplevel([0, 1, 2])
        rmse = np.sqrt(part["square"])
        name = ", ".join(map(str, cell)) + " rows"
        figures = [f"{rmse[way]:.3f} / {part['edges'][way]:.0f} / {part['false'][way]:.1f} / "
                   f"{part['wrong'][way]:.1f}" for way in WAYS]  # fmt: skip
        lines.append([*map(str, cell), *figures])
        near[name] = float(rmse[DEFAULT] / rmse.min())
        fewer[name] = float(part["false"][DEFAULT] - part["false"].min())
    measures = ["covered_no_edge", "covered_edge", "false_share", "found"]
    groups = tested.groupby(CELL, sort=False)[measures]
    mean, error = groups.mean(), groups.sem().fillna(0.0)
    shown = [
        [*map(str, cell), *(f"{mean[m].iloc[k]:.3f} ± {error[m].iloc[k]:.3f}" for m in measures)]
        for k, cell in enumerate(mean.index.to_list())
    ]
    text = fill(
        __package__,
        "answers",
        n=len(tested) // len(mean),
        learned=markdown_table([*HEADER, *WAYS], lines),
        tested=markdown_table([*HEADER, *(m.replace("_", " ") for m in measures)], shown),
    )
    low, slack = 1 - LEVEL - OFF, 2 * error
    covers = {
        measure: (mean[measure] >= low - slack[measure]).tolist()
        for measure in ("covered_no_edge", "covered_edge")
    }
    holds = (mean["false_share"] <= LEVEL + OFF + slack["false_share"]).tolist()
    claims = (
        Claim(
            "The error of weights is within a tenth of the best of four ways.",
            listed({name: f"{ratio:.2f}" for name, ratio in near.items() if ratio > NEAR}) or "all",
            verdict([[ratio <= NEAR for ratio in near.values()]]),
        ),
        Claim(
            "At most one false edge more than the way with the fewest.",
            listed({name: f"{more:.1f}" for name, more in fewer.items() if more > 1.0}) or "all",
            verdict([[more <= 1.0 for more in fewer.values()]]),
        ),
        *(
            Claim(
                f"95 % intervals of pairs with{'' if measure == 'covered_edge' else 'out'} an edge "
                "cover 93 % or more, up to two Monte Carlo errors.",
                f"{mean[measure].min():.3f} to {mean[measure].max():.3f}",
                verdict([kept]),
            )
            for measure, kept in covers.items()
        ),
        Claim(
            "At most 7 % of the edges with q-values of at most 5 % are false, up to two Monte "
            "Carlo errors.",
            f"{mean['false_share'].min():.3f} to {mean['false_share'].max():.3f}",
            verdict([holds]),
        ),
    )
    return Report(text, claims=claims)


STUDY = Study(
    name="answers",
    title="Networks of ordered answers",
    reference="none; what the default does with Likert items, on known graphs",
    version=1,
    parts=(Part(name="answers", tasks=list_tasks, run=run_task, report=report),),
)
