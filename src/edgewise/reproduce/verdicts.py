"""How a statement is judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from edgewise._core.typing import FloatArray

#: A mean this many standard errors from zero is not put down to chance.
CLEAR: Final = 2.0


def verdict(cases: Sequence[Sequence[bool]]) -> Literal["yes", "partly", "no"]:
    """Say whether a statement holds in all of its cases, in part or not.

    Parameters
    ----------
    cases : sequence of sequence of bool
        Whether it holds in each case, under each of the settings that the paper leaves open.

    Returns
    -------
    {"yes", "partly", "no"}
        In part, if it holds throughout under one setting or in half of all the cases.

    Examples
    --------
    >>> verdict([[True, True], [False, False], [False, False]])
    'partly'
    >>> verdict([[True, False, False], [True, False, False]])
    'no'
    """
    throughout = [all(setting) for setting in cases]
    if all(throughout):
        return "yes"
    share = np.mean([case for setting in cases for case in setting])
    return "partly" if any(throughout) or share >= 0.5 else "no"


def is_clearly_positive(values: FloatArray) -> bool:
    """Whether the mean lies more than two standard errors above zero.

    Examples
    --------
    >>> import numpy as np
    >>> is_clearly_positive(np.array([1.0, 1.2])), is_clearly_positive(np.array([-1.0, 1.2]))
    (True, False)
    """
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return bool(values.mean() > CLEAR * error)
