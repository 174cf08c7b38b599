"""Six variables: how often the best of all structures is the true one."""

from __future__ import annotations

from typing import Final

import numpy as np

from edgewise.data import markov_model, sample_markov, six_node_graph
from edgewise.metrics import edge_metrics
from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.discrete.scores import CRITERIA, PRIORS, score_options
from edgewise.solvers import learn_structure

STRUCTURES: Final = {
    1: "cycle",
    2: "cycle and chord",
    3: "double star",
    4: "star",
    5: "two hubs, four shared",
    6: "eight edges",
}
SAMPLES: Final = tuple(250 * 2**k for k in range(7))


def list_tasks(quick: bool) -> list[Row]:
    """List the distributions, with how many data sets are drawn of each."""
    return [
        {
            "structure": structure,
            "distribution": distribution,
            "n_data_sets": 3 if quick else 10,
            "stride": 3 if quick else 1,
        }
        for distribution in range(2 if quick else 10)
        for structure in STRUCTURES
    ]


def run_task(
    rng: np.random.Generator,
    *,
    structure: int,
    distribution: int,
    n_data_sets: int,
    stride: int,
) -> list[Row]:
    """Draw a distribution and data sets of it, and learn from their first rows, few and many.

    Of the numbers of rows only every ``stride``-th is used.
    """
    truth = six_node_graph(structure)
    of_model, *of_rows = rng.spawn(1 + n_data_sets)
    model = markov_model(truth, rng=of_model)
    tables = [sample_markov(model, SAMPLES[-1], method="exact", rng=stream) for stream in of_rows]
    rows = []
    for n_samples in SAMPLES[::stride]:
        for criterion in CRITERIA:
            for prior in PRIORS:
                options = score_options(criterion, prior)
                errors = [
                    edge_metrics(
                        truth,
                        learn_structure(
                            X[:n_samples],
                            criterion,
                            search="exhaustive",
                            cardinalities=model.cardinalities,
                            **options,
                        ).value,
                    ).hamming
                    for X in tables
                ]
                rows.append(
                    {
                        "n_samples": n_samples,
                        "criterion": criterion,
                        "prior": prior,
                        "success": float(np.mean(np.equal(errors, 0))),
                        "hamming": float(np.mean(errors)),
                    }
                )
    return rows


PART = Part(name="six-nodes", tasks=list_tasks, run=run_task)
