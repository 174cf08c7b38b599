"""Certainty about edges: bootstrap, stability selection and permutation tests of any estimator."""

from edgewise.inference.bootstrap import BootstrapGraph
from edgewise.inference.permutation import PermutationTest, permutation_test
from edgewise.inference.stability import StabilitySelection, false_edge_bound

__all__ = [
    "BootstrapGraph",
    "PermutationTest",
    "StabilitySelection",
    "false_edge_bound",
    "permutation_test",
]
