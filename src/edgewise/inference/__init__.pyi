from .accuracy import ClassAccuracy as ClassAccuracy, class_accuracy as class_accuracy
from .bootstrap import BootstrapGraph as BootstrapGraph, Differences as Differences
from .change_test import (
    WindowChange as WindowChange,
    max_change_test as max_change_test,
    window_changes as window_changes,
)
from .design import Design as Design
from .difference import (
    NetworkDifference as NetworkDifference,
    network_difference_test as network_difference_test,
)
from .edges import (
    EdgeIntervals as EdgeIntervals,
    edge_intervals as edge_intervals,
)
from .groups import (
    GroupDifference as GroupDifference,
    group_difference_test as group_difference_test,
)
from .intervals import (
    ChangeIntervals as ChangeIntervals,
    change_intervals as change_intervals,
)
from .permutation import PermutationTest as PermutationTest, permutation_test as permutation_test
from .stability import (
    CaseDropping as CaseDropping,
    StabilitySelection as StabilitySelection,
    case_dropping as case_dropping,
    false_edge_bound as false_edge_bound,
)
