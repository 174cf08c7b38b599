"""The alphas a search tries, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray


class SelectionWarning(UserWarning):
    """The best alpha sits at the end of the grid, so a better one may lie beyond it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """Outcome of a search for alpha.

    Attributes
    ----------
    rule : str
        ``"ebic"``, ``"cv"`` or ``"stars"``.
    alphas : ndarray of shape (n_alphas,)
        The grid, from large to small.
    values : ndarray of shape (n_alphas,)
        Criterion at each alpha: EBIC (smaller is better), mean held-out log-likelihood per row
        (larger is better), or instability made monotone from sparse to dense (the least sparse
        below the threshold wins).
    index : int
        Position of the choice.
    alpha : float
        The choice, ``alphas[index]``.
    end : str
        ``"largest"`` or ``"smallest"`` when the choice sits at that end of the grid, ``""`` else.
    n_unconverged : int
        Fits of the search that stopped above their tolerance.
    details : ndarray
        Held-out log-likelihood of every fold (n_alphas, n_folds) for ``"cv"``; number of edges
        for ``"ebic"``; instability before it is made monotone for ``"stars"``.
    """

    rule: str
    alphas: FloatArray
    values: FloatArray
    index: int
    alpha: float
    end: Literal["", "largest", "smallest"]
    n_unconverged: int = 0
    details: FloatArray = field(default_factory=lambda: np.empty(0))


def alpha_grid(largest: float, n_alphas: int = 30, ratio: float = 0.01) -> FloatArray:
    """Log-spaced alphas from ``largest`` down to ``ratio * largest``.

    Parameters
    ----------
    largest : float
        Usually the smallest alpha with an empty graph. Where it is 0, nothing is correlated and
        every alpha gives the empty graph: the grid is then the single value 1.
    n_alphas : int
        Number of alphas, at least 2.
    ratio : float
        Smallest alpha as a share of the largest, between 0 and 1.

    Returns
    -------
    ndarray of shape (n_alphas,)

    Examples
    --------
    >>> alpha_grid(1.0, n_alphas=3, ratio=0.01)
    array([1.  , 0.1 , 0.01])
    """
    if n_alphas < 2:
        raise InputError(f"A search needs at least 2 alphas, got {n_alphas}.")
    if not 0 < ratio < 1:
        raise InputError(f"alpha_ratio must be between 0 and 1, got {ratio}.")
    if not (np.isfinite(largest) and largest >= 0):
        raise InputError(f"The largest alpha must be finite and at least 0, got {largest}.")
    if largest == 0:
        return np.ones(1)
    return np.geomspace(largest, ratio * largest, n_alphas)


def make_selection(
    rule: str,
    alphas: FloatArray,
    values: FloatArray,
    index: int,
    n_unconverged: int,
    details: FloatArray,
) -> Selection:
    """Build the outcome from the position of the choice, noting an end of the grid."""
    if len(values) != len(alphas):
        raise InputError(f"The path gave {len(values)} fits for {len(alphas)} alphas.")
    end: Literal["", "largest", "smallest"] = ""
    if len(alphas) > 1 and index == 0:
        end = "largest"
    elif len(alphas) > 1 and index == len(alphas) - 1:
        end = "smallest"
    return Selection(
        rule=rule,
        alphas=alphas,
        values=values,
        index=index,
        alpha=float(alphas[index]),
        end=end,
        n_unconverged=int(n_unconverged),
        details=np.asarray(details, dtype=np.float64),
    )


def decreasing(alphas: FloatArray) -> FloatArray:
    """Return the alphas as an array, or refuse them where they do not run from large to small."""
    alphas = np.asarray(alphas, dtype=np.float64)
    if alphas.ndim != 1 or len(alphas) == 0 or not (np.diff(alphas) < 0).all():
        raise InputError("alphas must be a non-empty list of numbers from large to small.")
    return alphas
