from .choose import (
    SelectionWarning as SelectionWarning,
)
from .rules import (
    CV as CV,
    EBIC as EBIC,
    FDR as FDR,
    StARS as StARS,
    Stepwise as Stepwise,
)
