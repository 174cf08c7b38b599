"""Direct learning of changes between two networks: the paper's experiments, and more."""

from __future__ import annotations

from studies.change import diamond, gaussian, genes, lattice, senate, times
from studies.study import Study

STUDY = Study(
    name="change",
    title="Direct learning of sparse changes in Markov networks",
    reference=(
        "S. Liu, J. A. Quinn, M. U. Gutmann, T. Suzuki and M. Sugiyama (2014), Direct learning of "
        "sparse changes in Markov networks by density ratio estimation, Neural Computation 26, "
        "1169-1197. https://doi.org/10.1162/NECO_a_00589"
    ),
    version=1,
    parts=tuple(module.PART for module in (gaussian, lattice, diamond, times, genes, senate)),
)
