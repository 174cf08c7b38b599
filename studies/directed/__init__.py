"""Sparse Gaussian Bayesian networks and their competitors: the paper's experiments, and more."""

from __future__ import annotations

from studies.directed import invariance, networks, optimum, oscillation, scales, shares
from studies.study import Study

STUDY = Study(
    name="bayes-net",
    title="Sparse Gaussian Bayesian networks and their competitors",
    reference=(
        "L. Zhou, L. Wang, L. Liu, P. Ogunbona and D. Shen (2016), Learning discriminative "
        "Bayesian networks from high-dimensional continuous neuroimaging data, IEEE Transactions "
        "on Pattern Analysis and Machine Intelligence 38, 2269-2283. "
        "https://doi.org/10.1109/TPAMI.2015.2511754"
    ),
    version=3,
    parts=(
        networks.PART,
        scales.PART,
        invariance.PART,
        oscillation.PART,
        shares.PART,
        optimum.PART,
    ),
)
