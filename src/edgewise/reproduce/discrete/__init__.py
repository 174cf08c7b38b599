"""Blankets joint posterior: the paper's experiments with discrete Markov networks."""

from __future__ import annotations

from edgewise.reproduce.discrete import (
    karate,
    karate as karate_report,
    networks,
    networks as networks_report,
    six_nodes,
    six_nodes as six_report,
)
from edgewise.reproduce.discrete.figures import draw_figures
from edgewise.reproduce.study import Report, Results, Study


def report_all(results: Results) -> Report:
    """Put the reports of the parts together."""
    parts = (
        six_report.report(results["six-nodes"]),
        networks_report.report(results["networks"]),
        karate_report.report(results["karate"]),
    )
    return Report(
        text="\n\n".join(part.text for part in parts),
        claims=tuple(claim for part in parts for claim in part.claims),
    )


STUDY = Study(
    name="bjp",
    title="Blankets joint posterior score for Markov network structures",
    reference=(
        "F. Schlüter, Y. Strappa, D. H. Milone and F. Bromberg (2018), Blankets joint posterior "
        "score for learning Markov network structures, International Journal of Approximate "
        "Reasoning 92. https://doi.org/10.48550/arXiv.1608.02315"
    ),
    version=1,
    parts=(six_nodes.PART, networks.PART, karate.PART),
    report=report_all,
    figures=draw_figures,
)
