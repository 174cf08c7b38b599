"""Certainty about edges: bootstrap, stability selection and permutation tests of any estimator."""

from edgewise.inference.bootstrap import BootstrapGraph
from edgewise.inference.permutation import PermutationTest, permutation_test
from edgewise.inference.stability import StabilitySelection, false_edge_bound
from edgewise.inference.windows import WindowChange, window_changes

__all__ = [
    "BootstrapGraph",
    "PermutationTest",
    "StabilitySelection",
    "WindowChange",
    "false_edge_bound",
    "permutation_test",
    "window_changes",
]
