"""Tables and verdicts on six variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray
from edgewise.data import markov_model, sample_markov, six_node_graph
from edgewise.metrics import edge_metrics, irregularity
from edgewise.reproduce.discrete.scores import CRITERIA, PRIORS, column_title, score_options
from edgewise.reproduce.study import Claim, Part, Report, Row
from edgewise.reproduce.tables import is_clearly_positive, markdown_table, mean_and_error, verdict
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


#: Largest lead of BJP in success rate that the paper names, by rival.
PUBLISHED_LEAD: Final = {"ib": 0.084, "mpl": 0.59}
EVEN: Final = (1, 2)
UNEVEN: Final = (3, 4, 5, 6)

INTRODUCTION: Final = """\
## Six variables, all structures

Success rate: the share of data sets on which the best of all 32,768 structures is the true one. Ten
distributions in the whole study, with ten data sets each; potentials of the maximal cliques are
uniform between 0 and 1, rows are independent draws, and smaller data sets are the first rows of
larger ones. Data sets of one distribution share its strong and weak edges, so the standard errors
are those of the means of ten distributions and not of a hundred independent trials.

Of the paper's figure of its six targets and its table of rates we have the words only. The targets
here are ours, and the only published figures to compare with are the largest leads below. Nor does
the paper say what prior counts its tests and its marginal pseudo-likelihood use. Both usual choices
are run: *constant*, 1 in every cell of a test and 0.5 in every cell of MPL, and *shared*, a total
of 1 in equal parts for all cells (BDeu)."""


def report(frame: pd.DataFrame) -> Report:
    """Set out the success rates of all scores, and judge what the paper says of them."""
    tables = [
        f"### M{number}: {name}, irregularity {irregularity(six_node_graph(number))}\n\n"
        + _rates_table(frame[frame["structure"] == number])
        for number, name in STRUCTURES.items()
    ]
    text = "\n\n".join(
        [
            INTRODUCTION,
            *tables,
            "### Lead of BJP",
            (
                "Success rate of BJP less that of the other score on the same data sets, in "
                "points: the mean over all numbers of rows, and the largest at any of them."
            ),
            _leads_table(frame),
        ]
    )
    claims = (
        _behind(frame),
        _ahead(frame),
        *(_largest(frame, rival) for rival in PUBLISHED_LEAD),
        _slower(frame),
    )
    return Report(text=text, claims=claims)


def leads(frame: pd.DataFrame, structure: int, prior: str, rival: str, over: str) -> FloatArray:
    """Success rate of one score less that of another, by distribution, mean over all sizes."""
    part = frame[(frame["structure"] == structure) & (frame["prior"] == prior)]
    wide = part.pivot_table(index="task", columns="criterion", values="success")
    found: FloatArray = (wide[over] - wide[rival]).to_numpy(dtype=np.float64)
    return found


def largest_lead(
    frame: pd.DataFrame, prior: str, rival: str, structures: Sequence[int]
) -> tuple[float, str]:
    """Return the largest lead of BJP at any structure and number of rows, and where it is."""
    part = frame[frame["structure"].isin(structures) & (frame["prior"] == prior)]
    wide = part.pivot_table(index=["structure", "n_samples"], columns="criterion", values="success")
    lead = wide["bjp"] - wide[rival]
    structure, n_samples = lead.index[int(lead.to_numpy().argmax())]
    return float(lead.max()), f"M{structure}, {n_samples} rows"


def _rates_table(frame: pd.DataFrame) -> str:
    columns = [(criterion, prior) for prior in PRIORS for criterion in CRITERIA]
    found = dict(iter(frame.groupby(["n_samples", "criterion", "prior"])["success"]))
    rows = [
        [str(n_samples), *(mean_and_error(found[n_samples, *column], 2) for column in columns)]
        for n_samples in sorted(frame["n_samples"].unique())
    ]
    return markdown_table(["rows", *(column_title(*column) for column in columns)], rows)


def _leads_table(frame: pd.DataFrame) -> str:
    rows = []
    for prior in PRIORS:
        for structure in STRUCTURES:
            cells = [f"M{structure}", prior]
            for rival in PUBLISHED_LEAD:
                found = 100 * leads(frame, structure, prior, rival, "bjp")
                top, _ = largest_lead(frame, prior, rival, [structure])
                cells += [_signed(found), f"{100 * top:+.0f}"]
            rows.append(cells)
    header = ["structure", "prior counts"]
    for rival in PUBLISHED_LEAD:
        header += [f"over {CRITERIA[rival]}", "at most"]
    return markdown_table(header, rows)


def _signed(found: FloatArray) -> str:
    return f"{'+' if found.mean() >= 0 else ''}{mean_and_error(found, 1)}"


def _details(
    frame: pd.DataFrame, structures: Sequence[int], rival: str, over: str
) -> tuple[list[list[bool]], str]:
    """Tell on which structures, and with which prior counts, one score leads clearly."""
    clear, parts = [], []
    for prior in PRIORS:
        found = [leads(frame, structure, prior, rival, over) for structure in structures]
        clear.append([is_clearly_positive(lead) for lead in found])
        listed = ", ".join(
            f"M{structure} {_signed(100 * lead)}"
            for structure, lead in zip(structures, found, strict=True)
        )
        parts.append(f"prior counts {prior}: {listed}")
    return clear, "; ".join(parts)


def _behind(frame: pd.DataFrame) -> Claim:
    clear, listed = _details(frame, EVEN, "bjp", "ib")
    return Claim(
        published="On structures 1 and 2 the IB score has a better success rate than BJP.",
        found=f"Lead of IB in points, mean over all sizes: {listed}. Clear (two standard errors) "
        f"in {_count(clear)} cases.",
        holds=verdict(clear),
    )


def _ahead(frame: pd.DataFrame) -> Claim:
    over_ib, listed = _details(frame, UNEVEN, "ib", "bjp")
    over_mpl, _ = _details(frame, UNEVEN, "mpl", "bjp")
    return Claim(
        published="On structures 3 to 6 BJP in general has the best success rate.",
        found=f"Lead of BJP over IB in points, mean over all sizes: {listed}. Clear in "
        f"{_count(over_ib)} cases, and over MPL in {_count(over_mpl)}.",
        holds=verdict([first + second for first, second in zip(over_ib, over_mpl, strict=True)]),
    )


def _largest(frame: pd.DataFrame, rival: str) -> Claim:
    published = PUBLISHED_LEAD[rival]
    found = {prior: largest_lead(frame, prior, rival, list(STRUCTURES)) for prior in PRIORS}
    listed = "; ".join(
        f"{100 * lead:.0f} points with prior counts {prior} ({where})"
        for prior, (lead, where) in found.items()
    )
    return Claim(
        published=f"BJP gains up to {100 * published:g} % in success rate over {CRITERIA[rival]}.",
        found=f"At most {listed}.",
        holds=verdict([[lead >= published] for lead, _ in found.values()]),
    )


def _slower(frame: pd.DataFrame) -> Claim:
    clear, lower = [], []
    for prior in PRIORS:
        found = [
            leads(frame, structure, prior, "mpl", over)
            for structure in STRUCTURES
            for over in ("bjp", "ib")
        ]
        clear.append([is_clearly_positive(lead) for lead in found])
        lower.append([bool(lead.mean() >= 0) for lead in found])
    return Claim(
        published="On all structures MPL converges more slowly than IB and BJP.",
        found=f"Its mean rate over all sizes is the lower in {_count(lower)} comparisons "
        f"(structure, prior counts, rival), clearly in {_count(clear)}.",
        holds=verdict(lower),
    )


def _count(cases: Sequence[Sequence[bool]]) -> str:
    flat = [case for setting in cases for case in setting]
    return f"{sum(flat)} of {len(flat)}"
