"""Gaussians of many cells from the sums of their rows, in one compiled call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.solvers.covariates.cell_general import best_by_general_solver
from edgewise.solvers.covariates.cell_path import PathRules, best_on_path, room_for_paths
from edgewise.solvers.gaussian.standard_form import writable


class CellFits(NamedTuple):
    """One Gaussian per cell.

    Attributes
    ----------
    risk : ndarray of shape (n_cells,)
        Mean risk of the rows that a cell is judged by.
    alpha : ndarray of shape (n_cells,)
        Strength of the graphical lasso that the estimate comes from.
    is_refit : ndarray of bool, shape (n_cells,)
        Whether the estimate is maximum likelihood on the graph.
    mean : ndarray of shape (n_cells, p)
        Location of the Gaussian.
    precision : ndarray of shape (n_cells, p, p)
        Its precision matrix.
    is_floored : ndarray of bool, shape (n_cells, p)
        Which variances were raised to the floor.
    """

    risk: FloatArray
    alpha: FloatArray
    is_refit: BoolArray
    mean: FloatArray
    precision: FloatArray
    is_floored: BoolArray


def n_sums(p: int) -> int:
    """Length of the sums over rows of ``p`` variables: count, sum, and sum of products."""
    return 1 + p + p * (p + 1) // 2


def fit_cells(
    train: FloatArray,
    validation: FloatArray,
    rules: PathRules,
    *,
    own_mean: bool,
    floor: FloatArray,
) -> CellFits:
    """Fit a Gaussian to each cell.

    Parameters
    ----------
    train, validation : ndarray of shape (n_cells, n_sums)
        Sums over the rows to fit to and over those to judge by: the count, the variables, and the
        upper triangle of their products row by row.
    rules : PathRules
        Which estimate to take.
    own_mean : bool
        Whether each cell has the mean of its rows, instead of 0.
    floor : ndarray of shape (p,)
        Smallest variance of each variable.
    """
    n_cells, p = len(train), len(floor)
    fits = CellFits(
        risk=np.empty(n_cells),
        alpha=np.empty(n_cells),
        is_refit=np.empty(n_cells, np.bool_),
        mean=np.empty((n_cells, p)),
        precision=np.empty((n_cells, p, p)),
        is_floored=np.empty((n_cells, p), np.bool_),
    )
    S, S_val = np.empty((p, p)), np.empty((p, p))
    room = room_for_paths(p)
    for c in range(n_cells):
        sums = writable(train[c]), writable(validation[c])
        _moments(*sums, own_mean, floor, S, S_val, fits.mean[c], fits.is_floored[c])
        choice = best_on_path(S, S_val, sums[0][0], rules, room, fits.precision[c])
        if not choice.is_solved:
            choice = best_by_general_solver(S, S_val, sums[0][0], rules, fits.precision[c])
        fits.risk[c], fits.alpha[c], fits.is_refit[c] = choice.risk, choice.alpha, choice.is_refit
    return fits


@kernel
def _moments(
    train: FloatArray,
    validation: FloatArray,
    own_mean: bool,
    floor: FloatArray,
    S: FloatArray,
    S_val: FloatArray,
    mean: FloatArray,
    is_floored: BoolArray,
) -> None:
    r"""Write the moments of both kinds of rows about the same mean :math:`\mu`.

    .. math:: S = \frac{1}{n} \sum_i (y_i - \mu)(y_i - \mu)^\top
    """
    p = mean.size
    for i in range(p):
        mean[i] = train[1 + i] / train[0] if own_mean else 0.0
    k = 1 + p
    for i in range(p):
        for j in range(i, p):
            S[i, j] = train[k] / train[0] - mean[i] * mean[j]
            cross = mean[i] * validation[1 + j] + validation[1 + i] * mean[j]
            S_val[i, j] = (validation[k] - cross) / validation[0] + mean[i] * mean[j]
            S[j, i] = S[i, j]
            S_val[j, i] = S_val[i, j]
            k += 1
        is_floored[i] = S[i, i] < floor[i]
        if is_floored[i]:
            S[i, i] = floor[i]
