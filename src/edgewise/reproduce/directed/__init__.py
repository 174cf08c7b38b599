"""Sparse Gaussian Bayesian networks and their competitors: the paper's experiments, and more."""

from __future__ import annotations

from edgewise.reproduce.directed import (
    invariance,
    networks,
    networks as networks_report,
    oscillation,
    others as others_report,
    scales,
)
from edgewise.reproduce.directed.figures import draw_figures
from edgewise.reproduce.study import Report, Results, Study


def report_all(results: Results) -> Report:
    """Put the reports of the parts together."""
    parts = (
        networks_report.report(results["networks"]),
        others_report.report_scales(results["scales"]),
        others_report.report_invariance(results["invariance"]),
        others_report.report_oscillation(results["oscillation"]),
    )
    return Report(
        text="\n\n".join(part.text for part in parts),
        claims=tuple(claim for part in parts for claim in part.claims),
    )


STUDY = Study(
    name="bayes-net",
    title="Sparse Gaussian Bayesian networks and their competitors",
    reference=(
        "L. Zhou, L. Wang, L. Liu, P. Ogunbona and D. Shen (2016), Learning discriminative "
        "Bayesian networks from high-dimensional continuous neuroimaging data, IEEE Transactions "
        "on Pattern Analysis and Machine Intelligence 38, 2269-2283. "
        "https://doi.org/10.1109/TPAMI.2015.2511754"
    ),
    version=1,
    parts=(networks.PART, scales.PART, invariance.PART, oscillation.PART),
    report=report_all,
    figures=draw_figures,
)
