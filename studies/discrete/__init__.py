"""Blankets joint posterior: the paper's experiments with discrete Markov networks."""

from __future__ import annotations

from studies.discrete import networks, six_nodes
from studies.study import Study

STUDY = Study(
    name="bjp",
    title="Blankets joint posterior score for Markov network structures",
    reference=(
        "F. Schlüter, Y. Strappa, D. H. Milone and F. Bromberg (2018), Blankets joint posterior "
        "score for learning Markov network structures, International Journal of Approximate "
        "Reasoning 92. https://doi.org/10.48550/arXiv.1608.02315"
    ),
    version=3,
    parts=(six_nodes.PART, networks.PART, networks.KARATE),
)
