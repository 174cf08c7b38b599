"""Sparse and locally constant Gaussian graphical models: the paper's experiments, and more."""

from __future__ import annotations

from edgewise.reproduce.space import blocks, contour, images, stalls
from edgewise.reproduce.space.contour import report as report_contour
from edgewise.reproduce.space.figures import draw_figures
from edgewise.reproduce.space.reports import (
    report_blocks,
    report_images,
    report_stalls,
)
from edgewise.reproduce.study import Report, Results, Study


def report_all(results: Results) -> Report:
    """Put the reports of the parts together."""
    parts = (
        report_contour(results["contour"]),
        report_blocks(results["blocks"]),
        report_images(results["images"]),
        report_stalls(results["stalls"], results["golden"]),
    )
    return Report(
        text="\n\n".join(part.text for part in parts),
        claims=tuple(claim for part in parts for claim in part.claims),
    )


STUDY = Study(
    name="locally-constant",
    title="Sparse and locally constant Gaussian graphical models",
    reference=(
        "J. Honorio, L. Ortiz, D. Samaras, N. Paragios and R. Goldstein (2009), Sparse and locally "
        "constant Gaussian graphical models, Advances in Neural Information Processing Systems 22, "
        "745-753. https://papers.nips.cc/paper_files/paper/2009"
    ),
    version=1,
    parts=(blocks.PART, images.PART, contour.PART, stalls.PART, stalls.GOLDEN_PART),
    report=report_all,
    figures=draw_figures,
)
