"""Certainty about edges: resampling and shuffling of any estimator, and intervals of changes."""

from edgewise.inference.bootstrap import BootstrapGraph
from edgewise.inference.change_test import max_change_test
from edgewise.inference.class_accuracy import ClassAccuracy, class_accuracy
from edgewise.inference.intervals import ChangeIntervals, change_intervals
from edgewise.inference.permutation import PermutationTest, permutation_test
from edgewise.inference.stability import StabilitySelection, false_edge_bound
from edgewise.inference.windows import WindowChange, window_changes

__all__ = [
    "BootstrapGraph",
    "ChangeIntervals",
    "ClassAccuracy",
    "PermutationTest",
    "StabilitySelection",
    "WindowChange",
    "change_intervals",
    "class_accuracy",
    "false_edge_bound",
    "max_change_test",
    "permutation_test",
    "window_changes",
]
