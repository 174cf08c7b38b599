"""What keeps the default learner from the true karate network at 16,000 rows."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from edgewise._core.typing import AnyArray, BoolArray
from edgewise.data import load_network
from edgewise.metrics import edge_metrics
from edgewise.reproduce.discrete.networks import DEFAULT, draw_rows
from edgewise.reproduce.discrete.scores import score_options
from edgewise.reproduce.study import Part, Report, Row, combinations
from edgewise.reproduce.tables import fill, means_table, rows_of
from edgewise.solvers import independence_logposterior, learn_structure, log_score

N_SAMPLES: Final = 16_000
#: Sweeps of the sampler from row to row: the paper's, and enough for rows nearly independent.
THINNING: Final = (1, 10)
#: Ten times the default.
MORE_PATIENCE: Final = 200


def list_tasks(quick: bool) -> list[Row]:
    """List the distributions."""
    return combinations(distribution=range(2 if quick else 10))


def run_task(
    rng: np.random.Generator, *, distribution: int, n_samples: int = N_SAMPLES
) -> list[Row]:
    """Learn with the default, and ask of each error what the data say with the true blankets."""
    truth = load_network("karate").adjacency
    criterion, options = DEFAULT.criterion, score_options(DEFAULT.criterion, DEFAULT.prior)
    rows = []
    # The same distribution for each: the streams of a copy are those of the original.
    seed = int(rng.integers(2**32))
    for thin in THINNING:
        X = draw_rows(truth, n_samples, np.random.default_rng(seed), thin)
        found = DEFAULT.learn(X)
        errors = edge_metrics(truth, found.value)
        longer = learn_structure(X, criterion, patience=MORE_PATIENCE, **options)
        missed, false = truth & ~found.value, found.value & ~truth
        rows.append(
            {
                "thin": thin,
                "hamming": errors.hamming,
                "missed": errors.fn,
                "false": errors.fp,
                "missed_without_evidence": errors.fn - count_supported(X, truth, missed),
                "false_with_evidence": count_supported(X, truth, false),
                "score": found.objective,
                "true_score": log_score(X, truth, criterion, **options),
                "patient_score": longer.objective,
                "patient_hamming": edge_metrics(truth, longer.value).hamming,
            }
        )
    return rows


def count_supported(X: AnyArray, truth: BoolArray, pairs: BoolArray) -> int:
    """Count pairs whose dependence is likelier than not, given the smaller of the true blankets."""
    n_supported = 0
    degree = truth.sum(axis=0)
    for pair in np.argwhere(np.triu(pairs)).tolist():
        i, j = sorted(pair, key=lambda node: (degree[node], node))
        others = np.setdiff1d(np.flatnonzero(truth[i]), [j]).tolist()
        independent, dependent = independence_logposterior(X, i, j, others)
        n_supported += dependent > independent
    return n_supported


#: Mean Hamming distance that the default should keep below.
BAR: Final = 8


def report(frame: pd.DataFrame) -> Report:
    """Set out the errors, and say whether score, search or data are to blame."""
    columns = ("hamming", "missed", "false", "patient_hamming")
    found = {(thin, name): rows_of(frame, thin=thin)[name] for thin in THINNING for name in columns}
    header = ["sweeps per row", "Hamming", "missed", "false", f"Hamming, patience {MORE_PATIENCE}"]
    keys, names = [(thin,) for thin in THINNING], [(name,) for name in columns]
    paper = rows_of(frame, thin=THINNING[0])
    excess, mean = paper["score"] - paper["true_score"], paper["hamming"].mean()
    text = fill(
        __package__,
        "karate",
        n_samples=N_SAMPLES,
        table=means_table(header, keys, names, found, 1),
        mean=mean,
        bar=BAR,
        is_met="met" if mean <= BAR else "missed",
        n_above=int((excess > 0).sum()),
        n=len(paper),
        excess=excess.mean(),
        n_better=int((paper["patient_score"] > paper["score"] + 1e-9).sum()),
        n_independent=int(paper["missed_without_evidence"].sum()),
        missed=paper["missed"].sum(),
        n_dependent=int(paper["false_with_evidence"].sum()),
        false=paper["false"].sum(),
        thin=THINNING[1],
        thinned=found[THINNING[1], "hamming"].mean(),
    )
    return Report(text)


PART = Part(name="karate", tasks=list_tasks, run=run_task, report=report)
