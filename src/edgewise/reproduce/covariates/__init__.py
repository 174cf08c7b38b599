"""Graph-valued regression: the paper's experiments, and what a smoother does beside them."""

from __future__ import annotations

from edgewise.reproduce.covariates import (
    climate,
    climate as climate_report,
    drift,
    drift as drift_report,
    partition,
    partition as partition_report,
)
from edgewise.reproduce.covariates.figures import draw_figures
from edgewise.reproduce.study import Report, Results, Study


def report_all(results: Results) -> Report:
    """Put the reports of the parts together."""
    parts = (
        partition_report.report(results["partition"]),
        drift_report.report(results["drift"]),
        climate_report.report(results["climate"]),
    )
    return Report(
        text="\n\n".join(part.text for part in parts),
        claims=tuple(claim for part in parts for claim in part.claims),
    )


STUDY = Study(
    name="go-cart",
    title="Graph-valued regression",
    reference=(
        "H. Liu, X. Chen, J. Lafferty and L. Wasserman (2010), Graph-valued regression, Advances "
        "in Neural Information Processing Systems 23. https://doi.org/10.48550/arXiv.1006.3972"
    ),
    version=1,
    parts=(partition.PART, drift.PART, climate.PART),
    report=report_all,
    figures=draw_figures,
)
