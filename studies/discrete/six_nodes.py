"""Six variables, all structures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise._core.typing import FloatArray
from edgewise.data import make_markov_model
from edgewise.metrics import edge_metrics, irregularity
from edgewise.solvers import learn_structure
from studies import tables
from studies.discrete import networks
from studies.discrete.six_graphs import six_node_graph
from studies.figures import name_outer, panels, percent, standard_error
from studies.study import Claim, Part, Report, Row, combinations

STRUCTURES: Final = {
    1: "cycle",
    2: "cycle and chord",
    3: "double star",
    4: "star",
    5: "two hubs, four shared",
    6: "the same, hubs first",
}
SAMPLES: Final = tuple(250 * 2**k for k in range(7))


def list_tasks(quick: bool) -> list[Row]:
    """List the distributions, with how many data sets are drawn of each."""
    n_distributions, n_data_sets, stride = (2, 3, 3) if quick else (10, 10, 1)
    return combinations(
        structure=STRUCTURES,
        distribution=range(n_distributions),
        n_data_sets=[n_data_sets],
        stride=[stride],
    )


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
    model = make_markov_model(truth, rng=of_model)
    sections = [model.sample(SAMPLES[-1], method="exact", rng=stream) for stream in of_rows]
    rows = []
    for n_samples, criterion, prior in product(
        SAMPLES[::stride], networks.CRITERIA, networks.PRIORS
    ):
        options = networks.score_options(criterion, prior) | {"cardinalities": model.cardinalities}
        options["search"] = "exhaustive"
        found = [learn_structure(X[:n_samples], criterion, **options).value for X in sections]
        errors = [edge_metrics(truth, structure).hamming for structure in found]
        about = {"n_samples": n_samples, "criterion": criterion, "prior": prior}
        success = float(np.mean(np.equal(errors, 0)))
        rows.append({**about, "success": success, "hamming": float(np.mean(errors))})
    return rows


#: Largest lead of BJP in success rate that the paper names, by rival.
PUBLISHED_LEAD: Final = {"ib": 0.084, "mpl": 0.59}
EVEN: Final = (1, 2)
UNEVEN: Final = (3, 4, 5, 6)


def report(frame: pd.DataFrame) -> Report:
    """Set out the success rates of all scores, and judge what the paper says of them."""
    columns = [(criterion, prior) for prior in networks.PRIORS for criterion in networks.CRITERIA]
    header = ["rows", *(networks.column_title(*column) for column in columns)]
    keys = [(n_samples,) for n_samples in sorted(frame["n_samples"].unique())]
    sections = []
    for number, name in STRUCTURES.items():
        part = tables.rows_of(frame, structure=number)
        found = tables.grouped(part, ["n_samples", "criterion", "prior"], "success")
        title = f"### M{number}: {name}, irregularity {irregularity(six_node_graph(number))}"
        sections.append(f"{title}\n\n{tables.means_table(header, keys, columns, found, 2)}")
    table = _leads_table(frame)
    text = tables.fill(__package__, "six-nodes", tables="\n\n".join(sections), leads=table)
    largest = [claim for rival in PUBLISHED_LEAD for claim in _largest(frame, rival)]
    return Report(text, (*_leaders(frame), *largest, *_slower(frame)))


def leads(frame: pd.DataFrame, structure: int, prior: str, rival: str, over: str) -> FloatArray:
    """Success rate of one score less that of another, by distribution, mean over all sizes."""
    part = tables.rows_of(frame, structure=structure, prior=prior)
    wide = part.pivot_table(index="task", columns="criterion", values="success")
    found: FloatArray = (wide[over] - wide[rival]).to_numpy(dtype=np.float64)
    return found


def largest_lead(
    frame: pd.DataFrame, prior: str, rival: str, structures: Sequence[int]
) -> tuple[float, float, str]:
    """Return the largest lead of BJP at any structure and number of rows, its error, and where."""
    part = frame[frame["structure"].isin(structures) & (frame["prior"] == prior)]
    wide = part.pivot_table(index=["structure", "n_samples"], columns="criterion", values="success")
    lead = wide["bjp"] - wide[rival]
    structure, n_samples = lead.index[int(lead.to_numpy().argmax())]
    there = tables.rows_of(part, structure=structure, n_samples=n_samples)
    each = there.pivot_table(index="task", columns="criterion", values="success")
    error = standard_error(each["bjp"] - each[rival])
    return float(lead.max()), error, f"M{structure}, {n_samples} rows"


def _leads_table(frame: pd.DataFrame) -> str:
    rows = []
    for prior, structure in product(networks.PRIORS, STRUCTURES):
        cells = [f"M{structure}", prior]
        for rival in PUBLISHED_LEAD:
            found = 100 * leads(frame, structure, prior, rival, "bjp")
            top, *_ = largest_lead(frame, prior, rival, [structure])
            cells += [tables.mean_and_error(found, 1, sign=True), f"{100 * top:+.0f}"]
        rows.append(cells)
    header = ["structure", "prior counts"]
    for rival in PUBLISHED_LEAD:
        header += [f"over {networks.CRITERIA[rival]}", "at most"]
    return tables.markdown_table(header, rows)


def _details(
    frame: pd.DataFrame, prior: str, structures: Sequence[int], rival: str, over: str
) -> tuple[list[bool], str]:
    """Tell on which structures one score leads clearly."""
    found = {structure: leads(frame, structure, prior, rival, over) for structure in structures}
    clear = [tables.is_clearly_positive(lead) for lead in found.values()]
    words = [f"M{s} {tables.mean_and_error(100 * lead, 1, sign=True)}" for s, lead in found.items()]
    return clear, ", ".join(words)


def _leaders(frame: pd.DataFrame) -> list[Claim]:
    behind, ahead = {}, {}
    for prior, words in networks.SETTINGS.items():
        clear, of_ib = _details(frame, prior, EVEN, "bjp", "ib")
        behind[words] = clear, f"{of_ib}; clear (two standard errors) in {_count(clear)}"
        over_ib, of_bjp = _details(frame, prior, UNEVEN, "ib", "bjp")
        over_mpl, _ = _details(frame, prior, UNEVEN, "mpl", "bjp")
        figures = f"{of_bjp}; clear in {_count(over_ib)}, and over MPL in {_count(over_mpl)}"
        ahead[words] = over_ib + over_mpl, figures
    return [
        *tables.judge_each(
            "On structures 1 and 2 the IB score has a better success rate than BJP.",
            "Lead of IB in points, mean over all sizes",
            behind,
        ),
        *tables.judge_each(
            "On structures 3 to 6 BJP in general has the best success rate.",
            "Lead of BJP over IB in points, mean over all sizes",
            ahead,
        ),
    ]


def _largest(frame: pd.DataFrame, rival: str) -> tuple[Claim, ...]:
    """Judge a largest lead: chance makes it larger or smaller, so that its error counts."""
    published = PUBLISHED_LEAD[rival]
    cases = {}
    for prior, words in networks.SETTINGS.items():
        lead, error, where = largest_lead(frame, prior, rival, list(STRUCTURES))
        figures = f"{100 * lead:.0f} ± {100 * error:.0f} points ({where})"
        cases[words] = [lead + tables.CLEAR * error >= published], figures
    return tables.judge_each(
        f"BJP gains up to {100 * published:g} % in success rate over {networks.CRITERIA[rival]}.",
        "At most",
        cases,
    )


def _slower(frame: pd.DataFrame) -> tuple[Claim, ...]:
    cases = {}
    for prior, words in networks.SETTINGS.items():
        pairs = product(STRUCTURES, ("bjp", "ib"))
        found = [leads(frame, structure, prior, "mpl", over) for structure, over in pairs]
        lower = [bool(lead.mean() >= 0) for lead in found]
        clear = [tables.is_clearly_positive(lead) for lead in found]
        cases[words] = lower, f"{_count(lower)} comparisons, clearly in {_count(clear)}"
    return tables.judge_each(
        "On all structures MPL converges more slowly than IB and BJP.",
        "Its mean rate over all sizes is the lower in",
        cases,
    )


def _count(cases: Sequence[bool]) -> str:
    return f"{sum(cases)} of {len(cases)}"


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Success rate against the number of rows, by structure and prior counts."""
    shape = len(networks.PRIORS), len(STRUCTURES)
    figure, axes = panels(*shape, (13, 5.6), sharex=True, sharey=True)
    for ax, (prior, number) in zip(axes.flat, product(networks.PRIORS, STRUCTURES), strict=True):
        part = tables.rows_of(frame, structure=number, prior=prior)
        for place, criterion in enumerate(networks.CRITERIA):
            look = {"label": networks.column_title(criterion, prior), **networks.LOOK[criterion]}
            networks.draw_curve(
                ax, tables.rows_of(part, criterion=criterion), "success", place - 1, **look
            )
        networks.number_rows(ax, frame)
    name_outer(axes, "rows", "")
    for ax, prior in zip(axes[:, 0], networks.PRIORS, strict=True):
        ax.set_ylabel(f"success rate,\nprior counts {prior}")
        ax.legend(fontsize=8, loc="upper left")
    for ax, (number, name) in zip(axes[0], STRUCTURES.items(), strict=True):
        ax.set_title(f"M{number}: {name}\nirregularity {irregularity(six_node_graph(number))}")
    axes[0, 0].set_ylim(-0.03, 1.03)
    percent(axes[0, 0].yaxis)
    return {"six-nodes": figure}


PART = Part(name="six-nodes", tasks=list_tasks, run=run_task, report=report, figures=draw)
