"""Sparse and locally constant Gaussian graphical models: the paper's experiments, and more."""

from __future__ import annotations

from studies.space import blocks, contour, images, stalls
from studies.study import Study

STUDY = Study(
    name="locally-constant",
    title="Sparse and locally constant Gaussian graphical models",
    reference=(
        "J. Honorio, L. Ortiz, D. Samaras, N. Paragios and R. Goldstein (2009), Sparse and locally "
        "constant Gaussian graphical models, Advances in Neural Information Processing Systems 22, "
        "745-753. https://papers.nips.cc/paper_files/paper/2009"
    ),
    version=3,
    parts=(blocks.PART, images.PART, contour.PART, stalls.PART),
    order=("contour", "blocks", "images", "stalls"),
)
