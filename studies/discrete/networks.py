"""Larger networks: errors and run times, and what limits the score on one of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgewise._core.typing import AnyArray, BoolArray, FloatArray
from edgewise.data import load_network, make_graph, make_markov_model
from edgewise.data.simulate.gaussian import HubLinks
from edgewise.metrics import edge_metrics, irregularity
from edgewise.solvers import independence_logposterior, learn_structure, log_score
from edgewise.solvers.discrete.search import StructureSolution
from studies import tables
from studies.figures import (
    BLUE,
    GREEN,
    VERMILION,
    legend_above,
    name_outer,
    numbered_log,
    panels,
)
from studies.study import Claim, Part, Report, Row, combinations

CRITERIA: Final = {"bjp": "BJP", "ib": "IB", "mpl": "MPL"}
CONSTANT: Final = "constant"
SHARED: Final = "shared"
PRIORS: Final = (CONSTANT, SHARED)
LOOK: Final[dict[str, dict[str, Any]]] = {
    "bjp": {"color": BLUE, "marker": "o"},
    "ib": {"color": VERMILION, "marker": "s"},
    "mpl": {"color": GREEN, "marker": "^"},
}
#: Curves are set apart by this factor, so that error bars do not hide each other.
APART: Final = 1.07


def score_options(criterion: str, prior: str) -> dict[str, Any]:
    """Return the options of a score under which its prior counts are as the name says.

    A ``"constant"`` prior has 1 in every cell of a test and 0.5 in every cell of the marginal
    pseudo-likelihood; a ``"shared"`` one has a total of 1, in equal parts for all cells.

    Examples
    --------
    >>> score_options("ib", "shared")
    {'pseudocount': 'bdeu', 'ess': 1.0}
    """
    if criterion == "mpl":
        return {"cell": 0.5} if prior == CONSTANT else {"ess": 1.0}
    return {"pseudocount": 1.0} if prior == CONSTANT else {"pseudocount": "bdeu", "ess": 1.0}


def column_title(criterion: str, prior: str) -> str:
    """Name a score and its prior counts in a table.

    Examples
    --------
    >>> column_title("mpl", "constant")
    'MPL, 0.5 a cell'
    """
    if prior == SHARED:
        return f"{CRITERIA[criterion]}, 1 shared out"
    return f"{CRITERIA[criterion]}, {0.5 if criterion == 'mpl' else 1} a cell"


def draw_curve(ax: Axes, frame: pd.DataFrame, value: str, shift: float, **look: Any) -> None:
    """Draw means with their standard errors against the number of rows, a little to the side."""
    by_size = frame.groupby("n_samples")[value]
    mean, error = by_size.mean(), by_size.sem().fillna(0)
    ax.errorbar(mean.index * APART**shift, mean, yerr=error, markersize=4.5, linewidth=1.2, **look)


def number_rows(ax: Axes, frame: pd.DataFrame) -> None:
    """Write numbers of rows, every other where there are many."""
    sizes = sorted(frame["n_samples"].unique())
    numbered_log(ax, sizes[:: 2 if len(sizes) > 4 else 1])


#: Nodes, hubs, and how the hubs are joined.
HUBS: Final[dict[str, tuple[int, int, HubLinks]]] = {
    "1 hub": (8, 1, "none"),
    "2 hubs": (16, 2, "chain"),
    "3 hubs": (24, 3, "ring"),
    "4 hubs": (32, 4, "ring"),
}
#: Nodes, and edges that each new node brings.
SCALE_FREE: Final = {
    "scale-free 20, 1": (20, 1),
    "scale-free 20, 2": (20, 2),
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

    @property
    def title(self) -> str:
        """Name in tables and figures."""
        return CRITERIA[self.criterion] + (f", {self.search}" if self.search != BLANKETS else "")

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
#: The published score with our patience.
PATIENT: Final = Learner(criterion="bjp", prior=CONSTANT, search="patient")


def graph_of(network: str) -> BoolArray:
    """Return the true structure."""
    if network in HUBS:
        n, n_hubs, links = HUBS[network]
        return make_graph(n, "hub", n_hubs=n_hubs, hub_links=links)
    if network in SCALE_FREE:
        n, n_new = SCALE_FREE[network]
        return make_graph(n, "barabasi-albert", degree=2 * n_new, rng=GRAPH_SEED)
    return load_network(network).adjacency


def list_tasks(quick: bool) -> list[Row]:
    """List the distributions of each network, with how many data sets are drawn of each."""
    n_distributions, n_data_sets, stride = (1, 1, 3) if quick else (10, 10, 1)
    return combinations(
        network=NETWORKS,
        distribution=range(n_distributions),
        n_data_sets=[n_data_sets],
        stride=[stride],
    )


def run_task(
    rng: np.random.Generator, *, network: str, distribution: int, n_data_sets: int, stride: int
) -> list[Row]:
    """Draw a distribution and chains of rows, and learn from their first rows, few and many.

    Of the numbers of rows only every ``stride``-th is used; figures are means over the chains.
    """
    compile_kernels()
    truth = graph_of(network)
    of_model, *of_rows = rng.spawn(1 + n_data_sets)
    model = make_markov_model(truth, rng=of_model)
    sections = [
        model.sample(SAMPLES[-1], method="gibbs", burn_in=BURN_IN, rng=stream) for stream in of_rows
    ]
    rows = []
    for n_samples, learner in product(SAMPLES[::stride], LEARNERS):
        start = time.process_time()
        found = [learner.learn(X[:n_samples]) for X in sections]
        seconds = (time.process_time() - start) / n_data_sets
        errors = [edge_metrics(truth, one.value) for one in found]
        figures = {
            "hamming": [one.hamming for one in errors],
            "missed": [one.fn for one in errors],
            "false": [one.fp for one in errors],
            "tests": [one.n_tests for one in found],
        }
        means = {name: float(np.mean(values)) for name, values in figures.items()}
        about = {"n_samples": n_samples, **asdict(learner)}
        rows.append({**about, **means, "seconds": seconds})
    return rows


def draw_rows(
    truth: BoolArray, n_samples: int, rng: np.random.Generator, thin: int = 1
) -> AnyArray:
    """Draw potentials and a chain of rows."""
    of_model, of_rows = rng.spawn(2)
    model = make_markov_model(truth, rng=of_model)
    return model.sample(n_samples, method="gibbs", burn_in=BURN_IN, thin=thin, rng=of_rows)


@cache
def compile_kernels() -> None:
    """Let every learner run once, so that no compilation is timed."""
    X = np.random.default_rng(0).integers(0, 2, size=(100, 8), dtype=np.uint8)
    for learner in LEARNERS:
        learner.learn(X)


#: Two run times whose ratio is less than this are comparable.
COMPARABLE: Final = 2.0
#: What the paper calls an order of magnitude.
ORDER: Final = 10.0

#: What the paper leaves open: its prior counts. Its search stops at the first step down.
SETTINGS: Final = {CONSTANT: "1 in every cell", SHARED: "BDeu counts"}
SEARCH: Final = "strict"


def report(frame: pd.DataFrame) -> Report:
    """Set out errors and run times, and judge what the paper says of them."""
    milliseconds = frame.assign(seconds=1000 * frame["seconds"])
    text = tables.fill(
        __package__,
        "networks",
        graphs=_graphs_table(),
        constant=_table(frame, CONSTANT, "hamming"),
        shared=_table(frame, SHARED, "hamming"),
        times=_table(milliseconds, CONSTANT, "seconds"),
    )
    smallest, largest = min(frame["n_samples"]), max(frame["n_samples"])
    fewer = [n for n in SAMPLES if n < largest]
    at_most = frame[frame["network"].isin(REAL) & (frame["n_samples"] == largest)]
    on = "BJP makes the fewest errors"
    claims = (
        *_fewest(frame, f"On hub graphs {on} in all cases.", HUBS),
        *_fewest(
            frame,
            f"On the two most complex scale-free graphs {on} in all cases.",
            list(SCALE_FREE)[-2:],
        ),
        *_fewest(frame, f"On real networks {on} with fewer rows than the most.", REAL, fewer),
        *tables.judge_each(
            "On real networks with the most rows IB makes the fewest errors, but not significantly "
            "fewer than BJP.",
            f"Errors of BJP less those of IB at {largest} rows",
            {words: _lead(at_most, prior, SEARCH) for prior, words in SETTINGS.items()},
        ),
        *_fewest(
            frame,
            "BJP always outperforms the competitors when data are scarce.",
            NETWORKS,
            [smallest],
        ),
        *tables.judge_each(
            "The run time of BJP is comparable to or better than those of IB and MPL.",
            "In units of the time of BJP, geometric means over all networks and sizes",
            {words: _times(frame, prior, SEARCH) for prior, words in SETTINGS.items()},
        ),
        *tables.judge_each(
            "On real networks with the most rows IB is one or two orders of magnitude slower than "
            "BJP.",
            f"In units of the time of BJP at {largest} rows",
            {
                words: ([ratio >= ORDER], f"{ratio:.2g}")
                for prior, words in SETTINGS.items()
                for ratio in (time_ratio(at_most, prior, SEARCH, "ib"),)
            },
        ),
    )
    return Report(text, claims)


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


def _graphs_table() -> str:
    rows = []
    for network in NETWORKS:
        graph = graph_of(network)
        figures = (len(graph), graph.sum() // 2, graph.sum(axis=0).max(), irregularity(graph))
        rows.append([network, *(str(int(figure)) for figure in figures)])
    return tables.markdown_table(
        ["network", "nodes", "edges", "largest degree", "irregularity"], rows
    )


def _table(frame: pd.DataFrame, prior: str, value: str) -> str:
    learners = [learner for learner in LEARNERS if learner.prior == prior]
    by = ["network", "n_samples", "criterion", "search"]
    found = tables.grouped(tables.rows_of(frame, prior=prior), by, value, "distribution")
    return tables.means_table(
        ["network", "rows", *(learner.title for learner in learners)],
        list(product(NETWORKS, sorted(frame["n_samples"].unique()))),
        [(learner.criterion, learner.search) for learner in learners],
        found,
        1,
    )


def _fewest(
    frame: pd.DataFrame, published: str, networks: Iterable[str], samples: Sequence[int] = SAMPLES
) -> tuple[Claim, ...]:
    part = frame[frame["network"].isin(list(networks)) & frame["n_samples"].isin(samples)]
    cases = {}
    for prior, words in SETTINGS.items():
        found = has_fewest(means(part, prior, SEARCH, "hamming"))
        cases[words] = found.tolist(), f"{found.sum()} of {len(found)}"
    return tables.judge_each(published, "As few errors as any", cases)


def _lead(frame: pd.DataFrame, prior: str, search: str) -> tables.Case:
    wide = select(frame, prior, search).pivot_table(
        index=["network", "distribution"], columns="criterion", values="hamming"
    )
    lead: FloatArray = (wide["bjp"] - wide["ib"]).to_numpy(dtype=np.float64)
    is_behind = bool(lead.mean() > 0) and not tables.is_clearly_positive(lead)
    return [is_behind], tables.mean_and_error(lead, 1)


def time_ratio(frame: pd.DataFrame, prior: str, search: str, rival: str) -> float:
    """Geometric mean of the run times of a rival in units of those of BJP."""
    seconds = means(frame, prior, search, "seconds")
    return float(np.exp(np.log(seconds[rival] / seconds["bjp"]).mean()))


def _times(frame: pd.DataFrame, prior: str, search: str) -> tables.Case:
    ratios = {rival: time_ratio(frame, prior, search, rival) for rival in ("ib", "mpl")}
    words = " and ".join(f"{CRITERIA[rival]} {ratio:.2g}" for rival, ratio in ratios.items())
    return [ratio > 1 / COMPARABLE for ratio in ratios.values()], words


STRICT: Final[dict[str, Any]] = {"linestyle": (0, (4, 2)), "markerfacecolor": "white"}


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Draw errors and run times."""
    return {
        "hamming": draw_networks(frame, CONSTANT, "hamming"),
        "hamming-shared": draw_networks(frame, SHARED, "hamming"),
        "run-time": draw_networks(frame, CONSTANT, "seconds"),
    }


def draw_networks(frame: pd.DataFrame, prior: str, value: str) -> Figure:
    """Draw errors or run time against the number of rows, a panel per network."""
    is_time = value == "seconds"
    figure, axes = panels(2, len(NETWORKS) // 2, (15, 6), sharex=True, sharey=is_time)
    learners = [learner for learner in LEARNERS if learner.prior == prior]
    for ax, network in zip(axes.flat, NETWORKS, strict=True):
        for place, learner in enumerate(learners):
            look = LOOK[learner.criterion] | (STRICT if learner.search == "strict" else {})
            part = tables.rows_of(frame, network=network, **asdict(learner))
            draw_curve(ax, part, value, (place - 2) / 2, label=learner.title, **look)
        number_rows(ax, frame)
        ax.set_title(network)
        if is_time:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda seconds, _: f"{1000 * seconds:g}")
        else:
            ax.set_ylim(bottom=0)
    name_outer(axes, "rows", "CPU milliseconds" if is_time else "Hamming distance")
    legend_above(figure, axes[0, 0])
    return figure


PART = Part(name="networks", tasks=list_tasks, run=run_task, report=report, figures=draw)


#: Rows of the karate network, and sweeps of the sampler from row to row: the paper's, and enough
#: for rows nearly independent.
KARATE_SAMPLES: Final = 16_000
THINNING: Final = (1, 10)
#: Ten times the default.
MORE_PATIENCE: Final = 200


def list_karate(quick: bool) -> list[Row]:
    """List the distributions."""
    return combinations(distribution=range(2 if quick else 10))


def run_karate(
    rng: np.random.Generator, *, distribution: int, n_samples: int = KARATE_SAMPLES
) -> list[Row]:
    """Learn with patience, and ask of each error what the data say with the true blankets."""
    truth = load_network("karate").adjacency
    criterion, options = PATIENT.criterion, score_options(PATIENT.criterion, PATIENT.prior)
    rows = []
    # The same distribution for each: the streams of a copy are those of the original.
    seed = int(rng.integers(2**32))
    for thin in THINNING:
        X = draw_rows(truth, n_samples, np.random.default_rng(seed), thin)
        found = PATIENT.learn(X)
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


def report_karate(frame: pd.DataFrame) -> Report:
    """Set out the errors, and say whether score, search or data are to blame."""
    columns = ("hamming", "missed", "false", "patient_hamming")
    found = {
        (thin, name): tables.rows_of(frame, thin=thin)[name]
        for thin in THINNING
        for name in columns
    }
    header = ["sweeps per row", "Hamming", "missed", "false", f"Hamming, patience {MORE_PATIENCE}"]
    keys, names = [(thin,) for thin in THINNING], [(name,) for name in columns]
    paper = tables.rows_of(frame, thin=THINNING[0])
    excess, mean = paper["score"] - paper["true_score"], paper["hamming"].mean()
    text = tables.fill(
        __package__,
        "karate",
        n_samples=KARATE_SAMPLES,
        table=tables.means_table(header, keys, names, found, 1),
        mean=mean,
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


KARATE = Part(name="karate", tasks=list_karate, run=run_karate, report=report_karate)
