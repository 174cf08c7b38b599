"""Graph-valued regression: the paper's experiments, and what a smoother does beside them."""

from __future__ import annotations

from studies.covariates import climate, drift, partition
from studies.study import Study

STUDY = Study(
    name="go-cart",
    title="Graph-valued regression",
    reference=(
        "H. Liu, X. Chen, J. Lafferty and L. Wasserman (2010), Graph-valued regression, Advances "
        "in Neural Information Processing Systems 23. https://doi.org/10.48550/arXiv.1006.3972"
    ),
    version=3,
    parts=(partition.PART, drift.PART, climate.PART),
)
