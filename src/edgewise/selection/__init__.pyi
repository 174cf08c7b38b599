from .choose import (
    SelectionWarning as SelectionWarning,
)
from .criteria import (
    ebic as ebic,
)
from .rules import (
    CV as CV,
    EBIC as EBIC,
    FDR as FDR,
    StARS as StARS,
    Stepwise as Stepwise,
)
