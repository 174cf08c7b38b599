"""Tables and verdicts on larger networks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import pandas as pd

from edgewise._core.typing import AnyArray, BoolArray, FloatArray
from edgewise.data import graph_structure, load_network, markov_model, sample_markov
from edgewise.data.simulate.gaussian import HubLinks
from edgewise.metrics import edge_metrics, irregularity
from edgewise.reproduce.discrete.scores import CONSTANT, CRITERIA, PRIORS, SHARED, score_options
from edgewise.reproduce.study import Claim, Part, Report, Row
from edgewise.reproduce.tables import is_clearly_positive, markdown_table, mean_and_error, verdict
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


#: Two run times whose ratio is less than this are comparable.
COMPARABLE: Final = 2.0
#: What the paper calls an order of magnitude.
ORDER: Final = 10.0

INTRODUCTION: Final = """\
## Larger networks

Ten distributions per network in the whole study, potentials uniform between 0 and 1, one chain of a
Gibbs sampler each with a burn-in of 100 sweeps; smaller data sets are its first rows. The Hamming
distance is the number of missed and of false edges. BJP and IB flip the least supported pair again
and again: *strict* stops at the first step that does not improve, as the paper says; *patient*, our
default, 20 steps after the last improvement. MPL lets every variable find its blanket, and agrees
on a graph afterwards. Sizes of the hub and scale-free graphs are ours. With prior counts shared
out, two rows that agree in a nearly empty slice pass for dependence, and blankets can grow without
end; there the number of neighbours is capped at two more than the binary logarithm of the rows."""


def report(frame: pd.DataFrame) -> Report:
    """Set out errors and run times, and judge what the paper says of them."""
    text = "\n\n".join(
        [
            INTRODUCTION,
            _graphs_table(),
            "### Hamming distance, constant prior counts",
            _table(frame, CONSTANT, "hamming"),
            "### Hamming distance, prior counts shared out",
            _table(frame, SHARED, "hamming"),
            "### Run time",
            (
                "CPU milliseconds of the search, on one thread after compilation, constant prior "
                "counts; they differ from run to run."
            ),
            _table(frame.assign(seconds=1000 * frame["seconds"]), CONSTANT, "seconds"),
        ]
    )
    smallest, largest = min(frame["n_samples"]), max(frame["n_samples"])
    smaller = [n for n in SAMPLES if n < largest]
    claims = (
        _fewest(frame, "On hub graphs BJP makes the fewest errors in all cases.", list(HUBS)),
        _fewest(
            frame,
            "On the two most complex scale-free graphs BJP makes the fewest errors in all cases.",
            list(SCALE_FREE)[-2:],
        ),
        _fewest(
            frame,
            "On real networks BJP makes the fewest errors with fewer rows than the most.",
            REAL,
            smaller,
        ),
        _largest_sample(frame, largest),
        _fewest(
            frame, "BJP always outperforms the competitors when data are scarce.", NETWORKS,
            [smallest],
        ),
        _comparable_times(frame),
        _orders_slower(frame, largest),
    )  # fmt: skip
    return Report(text=text, claims=claims)


def select(frame: pd.DataFrame, prior: str, search: str) -> pd.DataFrame:
    """Rows of the three scores with one choice of prior counts and of patience."""
    return frame[(frame["prior"] == prior) & frame["search"].isin([search, BLANKETS])]


def means(frame: pd.DataFrame, prior: str, search: str, value: str) -> pd.DataFrame:
    """Means by network and number of rows, a column per score."""
    return select(frame, prior, search).pivot_table(
        index=["network", "n_samples"], columns="criterion", values=value, sort=False
    )


def has_fewest(errors: pd.DataFrame) -> BoolArray:
    """Tell where BJP has no more errors than each of the others."""
    found: BoolArray = (errors["bjp"] <= errors.drop(columns="bjp").min(axis=1)).to_numpy()
    return found


def _settings() -> Iterator[tuple[str, str]]:
    for prior in PRIORS:
        for search in PATIENCE:
            yield prior, search


def _graphs_table() -> str:
    rows = []
    for network in NETWORKS:
        graph = graph_of(network)
        figures = (len(graph), graph.sum() // 2, graph.sum(axis=0).max(), irregularity(graph))
        rows.append([network, *(str(int(figure)) for figure in figures)])
    return markdown_table(["network", "nodes", "edges", "largest degree", "irregularity"], rows)


def _table(frame: pd.DataFrame, prior: str, value: str) -> str:
    learners = [learner for learner in LEARNERS if learner.prior == prior]
    by = ["network", "n_samples", "criterion", "search"]
    found = dict(iter(frame[frame["prior"] == prior].groupby(by)[value]))
    rows = []
    for network in NETWORKS:
        for n_samples in sorted(frame["n_samples"].unique()):
            cells = [
                mean_and_error(found[network, n_samples, learner.criterion, learner.search], 1)
                for learner in learners
            ]
            rows.append([network, str(n_samples), *cells])
    titles = [
        CRITERIA[learner.criterion] + ("" if learner.search == BLANKETS else f", {learner.search}")
        for learner in learners
    ]
    return markdown_table(["network", "rows", *titles], rows)


def _fewest(
    frame: pd.DataFrame,
    published: str,
    networks: Sequence[str],
    samples: Sequence[int] = SAMPLES,
) -> Claim:
    part = frame[frame["network"].isin(networks) & frame["n_samples"].isin(samples)]
    flags, counts = [], []
    for prior, search in _settings():
        found = has_fewest(means(part, prior, search, "hamming"))
        flags.append(found.tolist())
        counts.append(f"{found.sum()} of {len(found)} ({prior}, {search})")
    return Claim(
        published=published,
        found=f"As few errors as any, by prior counts and search: {'; '.join(counts)}.",
        holds=verdict(flags),
    )


def _largest_sample(frame: pd.DataFrame, n_samples: int) -> Claim:
    part = frame[frame["network"].isin(REAL) & (frame["n_samples"] == n_samples)]
    flags, parts = [], []
    for prior, search in _settings():
        wide = select(part, prior, search).pivot_table(
            index=["network", "distribution"], columns="criterion", values="hamming"
        )
        lead: FloatArray = (wide["bjp"] - wide["ib"]).to_numpy(dtype=np.float64)
        flags.append([bool(lead.mean() > 0) and not is_clearly_positive(lead)])
        parts.append(f"{mean_and_error(lead, 1)} ({prior}, {search})")
    return Claim(
        published="On real networks with the most rows IB makes the fewest errors, but not "
        "significantly fewer than BJP.",
        found=f"Errors of BJP less those of IB at {n_samples} rows, by prior counts and search: "
        f"{'; '.join(parts)}.",
        holds=verdict(flags),
    )


def time_ratio(frame: pd.DataFrame, prior: str, search: str, rival: str) -> float:
    """Geometric mean of the run times of a rival in units of those of BJP."""
    seconds = means(frame, prior, search, "seconds")
    return float(np.exp(np.log(seconds[rival] / seconds["bjp"]).mean()))


def _comparable_times(frame: pd.DataFrame) -> Claim:
    flags, parts = [], []
    for prior, search in _settings():
        ratios = {rival: time_ratio(frame, prior, search, rival) for rival in ("ib", "mpl")}
        flags.append([ratio > 1 / COMPARABLE for ratio in ratios.values()])
        listed = " and ".join(f"{CRITERIA[rival]} {ratio:.2g}" for rival, ratio in ratios.items())
        parts.append(f"{listed} ({prior}, {search})")
    return Claim(
        published="The run time of BJP is comparable to or better than those of IB and MPL.",
        found="In units of the time of BJP, geometric means over all networks and sizes: "
        f"{'; '.join(parts)}.",
        holds=verdict(flags),
    )


def _orders_slower(frame: pd.DataFrame, n_samples: int) -> Claim:
    part = frame[frame["network"].isin(REAL) & (frame["n_samples"] == n_samples)]
    ratios = {setting: time_ratio(part, *setting, "ib") for setting in _settings()}
    listed = "; ".join(f"{ratio:.2g} ({', '.join(of)})" for of, ratio in ratios.items())
    return Claim(
        published="On real networks with the most rows IB is one or two orders of magnitude "
        "slower than BJP.",
        found=f"In units of the time of BJP at {n_samples} rows: {listed}.",
        holds=verdict([[ratio >= ORDER] for ratio in ratios.values()]),
    )
