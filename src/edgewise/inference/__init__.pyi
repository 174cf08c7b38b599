from .accuracy import ClassAccuracy as ClassAccuracy, class_accuracy as class_accuracy
from .bootstrap import BootstrapGraph as BootstrapGraph, Differences as Differences
from .comparison import (
    NetworkComparison as NetworkComparison,
    compare_networks as compare_networks,
)
from .design import Design as Design
from .edges import (
    EdgeIntervals as EdgeIntervals,
    edge_intervals as edge_intervals,
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
from .windows import WindowChange as WindowChange, window_changes as window_changes
