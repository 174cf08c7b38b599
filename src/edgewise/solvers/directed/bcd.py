"""Sparse Gaussian Bayesian networks by block coordinate descent, one variable after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.io.messages import quote_names
from edgewise.solvers.directed.arc_lassos import (
    MAX_ROUNDS,
    ArcLassos,
    BayesNetSolution,
    arc_lassos,
    descend_columns,
    penalize_paths,
)

UPDATES: Final = ("columns", "whole")
#: Coefficients that change by less, in units of correlation, have settled.
SETTLED = 1e-8


@dataclass(frozen=True, kw_only=True, eq=False)
class PathSolution(BayesNetSolution):
    """Coefficients found under a penalty on paths.

    Attributes
    ----------
    period : int
        After how many rounds at the largest strength the same arcs come back: 1 where they have
        settled, 0 where ``max_iter`` rounds were not enough to tell.
    """

    period: int


def bcd_bayes_net(
    S: FloatArray,
    alpha: float,
    *,
    schedule: str = "homotopy",
    update: str = "columns",
    init: FloatArray | None = None,
    weights: FloatArray | None = None,
    location: FloatArray | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> PathSolution:
    r"""Learn coefficients without cycles by penalising arcs that a path leads back over.

    .. math::

        \min_{\Theta} \; \sum_j \tfrac12 \Big( S_{jj} - 2 S_j^\top \theta_j
        + \theta_j^\top S \theta_j \Big) + \sum_{i \ne j} \big( \alpha w_{ij}
        + \lambda P_{ji} \big) |\Theta_{ij}|

    where :math:`\theta_j` is column j of :math:`\Theta` and :math:`P_{ji} = 1` if the arcs of
    :math:`\Theta` lead from j to i, else 0 [1]_. Columns are solved in turn as lassos, with the
    paths of the moment, until a sweep changes nothing; :math:`\lambda` grows from sweep to sweep
    to the bound of `order_bayes_net`, from which on a sweep leaves no cycle. Because :math:`P`
    jumps when an arc comes or goes, the objective may rise, and the result depends on the order
    of the columns.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance; a correlation matrix to treat all variables alike.
    alpha : float
        Strength of the penalty, above 0.
    schedule : {"homotopy", "literal"}
        Let :math:`\lambda` grow in twelve steps, which forgets the start, or begin with the
        largest.
    update : {"columns", "whole"}
        Solve one column at a time, or all with the paths of the round before. The latter does not
        settle: it goes to and fro between few arcs and many, most often with cycles in both.
    init, weights, location, tol
        As in `order_bayes_net`.
    max_iter : int
        Largest number of sweeps for each strength.

    Returns
    -------
    PathSolution
        ``value[i, j]`` is the coefficient of i -> j; ``history`` the objective of each sweep, at
        the strength of the same position in ``strengths``.

    References
    ----------
    .. [1] Huang, Li, Ye, Fleisher, Chen, Wu and Reiman (2013). A sparse structure learning
       algorithm for Gaussian Bayesian network identification from high-dimensional data. *IEEE
       Transactions on Pattern Analysis and Machine Intelligence* 35(6).
       https://doi.org/10.1109/TPAMI.2012.129

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import bcd_bayes_net
    >>> S = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> bcd_bayes_net(S, 0.1).value.round(2)
    array([[0. , 0.4, 0. ],
           [0. , 0. , 0.4],
           [0. , 0. , 0. ]])
    >>> whole = bcd_bayes_net(S, 0.1, update="whole")
    >>> whole.period, whole.is_acyclic
    (2, False)
    """
    if update not in UPDATES:
        raise InputError(f"update must be one of {quote_names(UPDATES)}, got {update!r}.")
    lassos = arc_lassos(
        S, alpha, schedule=schedule, weights=weights, location=location, init=init, tol=tol,
        max_iter=max_iter, n_jobs=None,
    )  # fmt: skip
    rows = lassos.start(init)
    settle = _settle_columns if update == "columns" else _settle_whole
    for strength in lassos.strengths(schedule):
        period = settle(lassos, rows, strength, max_iter)
    found = lassos.solution(rows, converged=period == 1)
    return PathSolution(**vars(found), period=period)


def _settle_columns(lassos: ArcLassos, rows: FloatArray, strength: float, max_iter: int) -> int:
    """Sweep over the columns until nothing changes; return the period, 1 or 0."""
    for _ in range(max_iter):
        change = descend_columns(
            lassos.G, lassos.scale, lassos.base, strength, rows, lassos.n_nodes, lassos.tol,
            MAX_ROUNDS, lassos.report,
        )  # fmt: skip
        lassos.note(strength)
        if change <= SETTLED:
            return 1
    return 0


def _settle_whole(lassos: ArcLassos, rows: FloatArray, strength: float, max_iter: int) -> int:
    """Solve all columns at once until the same arcs come back; return after how many rounds.

    The paths follow from the arcs, and the arcs from the paths, so that whatever comes back goes
    on in circles for ever.
    """
    seen = {(rows != 0).tobytes(): 0}
    for k in range(1, max_iter + 1):
        penalize_paths(lassos.base, strength, rows, lassos.n_nodes, lassos.penalties)
        lassos.regress(rows, lassos.penalties)
        lassos.note(strength)
        first = seen.setdefault((rows != 0).tobytes(), k)
        if first != k:
            return k - first
    return 0
