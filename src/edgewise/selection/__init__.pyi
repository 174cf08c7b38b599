from .choose import (
    PairSelection as PairSelection,
    Selection as Selection,
    SelectionWarning as SelectionWarning,
    alpha_grid as alpha_grid,
    choose_by_cv as choose_by_cv,
    choose_by_ebic as choose_by_ebic,
    choose_by_stars as choose_by_stars,
    choose_pair_by_cv as choose_pair_by_cv,
)
from .criteria import (
    ebic as ebic,
    gaussian_log_likelihood as gaussian_log_likelihood,
    instability as instability,
    row_log_likelihood as row_log_likelihood,
    stars_subsample_size as stars_subsample_size,
)
from .rules import (
    CV as CV,
    EBIC as EBIC,
    FDR as FDR,
    StARS as StARS,
    Stepwise as Stepwise,
)
