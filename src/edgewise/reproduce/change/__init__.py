"""Direct learning of changes between two networks: the paper's experiments, and more."""

from __future__ import annotations

from edgewise.reproduce.change import (
    diamond,
    gaussian,
    gaussian as gaussian_report,
    genes,
    lattice,
    lattice as lattice_report,
    senate,
    senate as senate_report,
    times,
    times as times_report,
)
from edgewise.reproduce.change.figures import draw_figures
from edgewise.reproduce.change.rankings import report_diamond, report_genes
from edgewise.reproduce.study import Report, Results, Study


def report_all(results: Results) -> Report:
    """Put the reports of the parts together."""
    parts = (
        gaussian_report.report(results["gaussian"]),
        lattice_report.report(results["lattice"]),
        report_diamond(results["diamond"]),
        times_report.report(results["times"]),
        report_genes(results["genes"]),
        senate_report.report(results["senate"]),
    )
    return Report(
        text="\n\n".join(part.text for part in parts),
        claims=tuple(claim for part in parts for claim in part.claims),
    )


STUDY = Study(
    name="change",
    title="Direct learning of sparse changes in Markov networks",
    reference=(
        "S. Liu, J. A. Quinn, M. U. Gutmann, T. Suzuki and M. Sugiyama (2014), Direct learning of "
        "sparse changes in Markov networks by density ratio estimation, Neural Computation 26, "
        "1169-1197. https://doi.org/10.1162/NECO_a_00589"
    ),
    version=1,
    parts=(
        gaussian.PART,
        lattice.PART,
        diamond.PART,
        times.PART,
        genes.PART,
        senate.PART,
    ),
    report=report_all,
    figures=draw_figures,
)
