"""How wrong sums of floating-point numbers can be."""

from __future__ import annotations

from typing import Final

import numpy as np

#: Standard deviations of a sum of rounding errors that are allowed for.
DEVIATIONS: Final = 8.0


def sum_error(n_terms: int) -> float:
    """Bound the error of a sum of products, as a share of the sum of their sizes.

    The bound that always holds grows with the number of terms; errors that do not all go the same
    way add up to the root of it, and exceed eight times that less than once in 10^13 times [1]_.

    References
    ----------
    .. [1] Higham and Mary (2019). A new approach to probabilistic rounding error analysis. *SIAM
       Journal on Scientific Computing* 41(5). https://doi.org/10.1137/18M1226312
    """
    return DEVIATIONS * 0.5 * float(np.finfo(np.float64).eps) * float(np.sqrt(n_terms + 2.0))
