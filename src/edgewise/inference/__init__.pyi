from .accuracy import (
    class_accuracy as class_accuracy,
)
from .bootstrap import (
    BootstrapGraph as BootstrapGraph,
)
from .comparison import (
    compare_networks as compare_networks,
)
from .design import (
    Design as Design,
)
from .edges import (
    edge_intervals as edge_intervals,
)
from .effects import (
    causal_effects as causal_effects,
)
from .graph_check import (
    check_graph as check_graph,
)
from .intervals import (
    change_intervals as change_intervals,
)
from .permutation import (
    permutation_test as permutation_test,
)
from .stability import (
    StabilitySelection as StabilitySelection,
    case_dropping as case_dropping,
)
from .windows import (
    window_changes as window_changes,
)
