"""What keeps the default learner from the true karate network at 16,000 rows."""

from __future__ import annotations

from typing import Final

import numpy as np

from edgewise._core.typing import AnyArray, BoolArray
from edgewise.data import load_network
from edgewise.metrics import edge_metrics
from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.discrete.networks import DEFAULT, draw_rows
from edgewise.reproduce.discrete.scores import score_options
from edgewise.solvers import independence_logposterior, learn_structure, log_score

N_SAMPLES: Final = 16_000
#: Sweeps of the sampler from row to row: the paper's, and enough for rows nearly independent.
THINNING: Final = (1, 10)
#: Ten times the default.
MORE_PATIENCE: Final = 200


def list_tasks(quick: bool) -> list[Row]:
    """List the distributions."""
    return [{"distribution": distribution} for distribution in range(2 if quick else 10)]


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


PART = Part(name="karate", tasks=list_tasks, run=run_task)
