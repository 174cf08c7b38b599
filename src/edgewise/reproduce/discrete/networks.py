"""Larger networks: errors and run time of a heuristic search."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from edgewise._core.typing import AnyArray, BoolArray
from edgewise.data import graph_structure, load_network, markov_model, sample_markov
from edgewise.data.simulate.gaussian import HubLinks
from edgewise.metrics import edge_metrics
from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.discrete.scores import CONSTANT, CRITERIA, PRIORS, SHARED, score_options
from edgewise.solvers import learn_structure
from edgewise.solvers.discrete.search import StructureSolution

#: Nodes, hubs, and how the hubs are joined.
HUBS: Final[dict[str, tuple[int, int, HubLinks]]] = {
    "1 hub": (8, 1, "none"),
    "2 hubs": (16, 2, "chain"),
    "4 hubs": (32, 4, "ring"),
}
#: Nodes, and edges that each new node brings.
SCALE_FREE: Final = {
    "scale-free 20, 1": (20, 1),
    "scale-free 40, 1": (40, 1),
    "scale-free 40, 2": (40, 2),
}
#: Of the scale-free graphs, which stay the same for all data sets.
GRAPH_SEED: Final = 1
REAL: Final = ("karate", "curtis54", "will57", "dolphins")
NETWORKS: Final = (*HUBS, *SCALE_FREE, *REAL)
SAMPLES: Final = (250, 1000, 4000, 16000)
BURN_IN: Final = 100

#: Patience of the walk: our default, and the rule of the paper, which stops at the first step down.
PATIENCE: Final = {"patient": 20, "strict": 1}
BLANKETS: Final = "blankets"


@dataclass(frozen=True, kw_only=True)
class Learner:
    """A score, its prior counts, and how structures are searched."""

    criterion: str
    prior: str
    search: str

    def options(self, n_samples: int) -> dict[str, Any]:
        """Return the options of `learn_structure`.

        Where few prior counts are shared out among many cells, two rows that agree look like
        dependence, and blankets may grow without end; hence the cap.
        """
        options = score_options(self.criterion, self.prior)
        if self.criterion != "mpl":
            options["patience"] = PATIENCE[self.search]
            if self.prior == SHARED:
                options["max_degree"] = round(np.log2(n_samples)) + 2
        return options

    def learn(self, X: AnyArray) -> StructureSolution:
        """Learn the structure of binary data."""
        levels = np.full(X.shape[1], 2)
        return learn_structure(X, self.criterion, cardinalities=levels, **self.options(len(X)))


LEARNERS: Final = tuple(
    Learner(criterion=criterion, prior=prior, search=search)
    for prior in PRIORS
    for criterion in CRITERIA
    for search in ((BLANKETS,) if criterion == "mpl" else PATIENCE)
)
DEFAULT: Final = Learner(criterion="bjp", prior=CONSTANT, search="patient")


def graph_of(network: str) -> BoolArray:
    """Return the true structure."""
    if network in HUBS:
        n, n_hubs, links = HUBS[network]
        return graph_structure(n, "hub", n_hubs=n_hubs, hub_links=links)
    if network in SCALE_FREE:
        n, n_new = SCALE_FREE[network]
        return graph_structure(n, "barabasi-albert", degree=2 * n_new, rng=GRAPH_SEED)
    return load_network(network).adjacency


def list_tasks(quick: bool) -> list[Row]:
    """List the distributions of each network."""
    return [
        {
            "network": network,
            "distribution": distribution,
            "stride": 3 if quick else 1,
        }
        for distribution in range(1 if quick else 10)
        for network in NETWORKS
    ]


def run_task(
    rng: np.random.Generator, *, network: str, distribution: int, stride: int
) -> list[Row]:
    """Draw a distribution and one chain of rows, and learn from its first rows, few and many.

    Of the numbers of rows only every ``stride``-th is used.
    """
    compile_kernels()
    truth = graph_of(network)
    X = draw_rows(truth, SAMPLES[-1], rng)
    rows = []
    for n_samples in SAMPLES[::stride]:
        for learner in LEARNERS:
            start = time.process_time()
            found = learner.learn(X[:n_samples])
            seconds = time.process_time() - start
            errors = edge_metrics(truth, found.value)
            rows.append(
                {
                    "n_samples": n_samples,
                    "criterion": learner.criterion,
                    "prior": learner.prior,
                    "search": learner.search,
                    "hamming": errors.hamming,
                    "missed": errors.fn,
                    "false": errors.fp,
                    "seconds": seconds,
                    "tests": found.n_tests,
                }
            )
    return rows


def draw_rows(
    truth: BoolArray, n_samples: int, rng: np.random.Generator, thin: int = 1
) -> AnyArray:
    """Draw potentials and a chain of rows."""
    of_model, of_rows = rng.spawn(2)
    model = markov_model(truth, rng=of_model)
    return sample_markov(model, n_samples, method="gibbs", burn_in=BURN_IN, thin=thin, rng=of_rows)


@cache
def compile_kernels() -> None:
    """Let every learner run once, so that no compilation is timed."""
    X = np.random.default_rng(0).integers(0, 2, size=(100, 8), dtype=np.uint8)
    for learner in LEARNERS:
        learner.learn(X)


PART = Part(name="networks", tasks=list_tasks, run=run_task)
