"""Sparse Gaussian Bayesian networks by a penalty, and an order of the variables or of descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse.csgraph import connected_components

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.directed.arc_lassos import (
    MAX_ROUNDS,
    ArcLassos,
    BayesNetSolution,
    arc_lassos,
    descend_columns,
    penalize_paths,
)

#: A smaller relative fall of the objective is rounding.
STALL = 1e-9
#: Sums of coefficients that differ by less, relative or in decimals, are equal.
TIE = 1e-9
DECIMALS = 9
UPDATES: Final = ("columns", "whole")
#: Coefficients that change by less, in units of correlation, have settled.
SETTLED = 1e-8


def order_bayes_net(
    S: FloatArray,
    alpha: float,
    *,
    schedule: str = "homotopy",
    init: FloatArray | None = None,
    weights: FloatArray | None = None,
    location: FloatArray | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
    n_jobs: int | None = None,
) -> BayesNetSolution:
    r"""Learn coefficients without cycles together with the tiers they go up in.

    .. math::

        \min_{\Theta, u} \; \sum_j \tfrac12 \Big( S_{jj} - 2 S_j^\top \theta_j
        + \theta_j^\top S \theta_j \Big) + \sum_{i \ne j} \big( \alpha w_{ij}
        + \lambda \max(0, 1 - (u_j - u_i)) \big) |\Theta_{ij}|

    where :math:`\theta_j` is column j of :math:`\Theta`, the smooth part is half the residual
    variance of variable j, and :math:`u` are tiers [1]_. Given the coefficients, the tiers are
    those of `order_given_weights`; given the tiers, the columns are lassos. The two steps
    alternate, so that the objective never rises while the strength :math:`\lambda` stays. From
    :math:`\lambda = \max_{ij} \sqrt{S_{ii} S_{jj}} - \alpha w_{ij}` on, every arc that does not go
    up is exactly 0, because tiers are whole numbers.

    The problem is not convex: what is found depends on the start and on how :math:`\lambda` grows.
    Last, ties are broken. Where the coefficients of the start sum up to as much for leaving as for
    entering each variable of a tier, no order of them is better than another, so that they stay
    together and lose all arcs between them: a pair that nothing else is joined to always does.
    Such variables are put in a row, those first that have more to leave them in all, and then by
    position; arcs along that row are allowed, and the alternation goes on.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance; a correlation matrix to treat all variables alike.
    alpha : float
        Strength of the penalty, above 0: an arc is 0 if the covariance of its tail with the
        residual of its head, given the other parents, is below.
    schedule : {"homotopy", "literal"}
        Let :math:`\lambda` grow in twelve steps, alternating at each; or begin with the largest,
        so that the order of the start decides nearly everything.
    init : ndarray of shape (m, m), optional
        Coefficients to start from, which may have cycles. By default the lassos without an order,
        :math:`\lambda = 0`.
    weights : ndarray of shape (m, m), optional
        Multiplies alpha for each arc i -> j; ``inf`` forbids it.
    location : ndarray of shape (m,), optional
        Means of the variables, to penalise the intercepts too, by alpha; by default they are free.
    tol : float
        Largest violation of an optimality condition of the lassos, in units of correlation.
    max_iter : int
        Largest number of alternations for each strength.
    n_jobs : int, optional
        Threads that solve columns at the same time. The result does not depend on it.

    Returns
    -------
    BayesNetSolution
        ``value[i, j]`` is the coefficient of i -> j; ``history`` the objective after each
        alternation, at the strength of the same position in ``strengths``.

    References
    ----------
    .. [1] Zhou, Wang, Liu, Ogunbona and Shen (2016). Learning discriminative Bayesian networks
       from high-dimensional continuous neuroimaging data. *IEEE Transactions on Pattern Analysis
       and Machine Intelligence* 38(11). https://doi.org/10.1109/TPAMI.2015.2511754

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.directed.order import order_bayes_net
    >>> S = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> found = order_bayes_net(S, 0.1)
    >>> found.value.round(2)
    array([[0. , 0. , 0. ],
           [0.4, 0. , 0.4],
           [0. , 0. , 0. ]])
    >>> found.tiers
    array([1, 0, 1])
    """
    lassos = arc_lassos(
        S, alpha, schedule=schedule, weights=weights, location=location, init=init, tol=tol,
        max_iter=max_iter, n_jobs=n_jobs,
    )  # fmt: skip
    rows = lassos.start(init)
    start = lassos.sizes(rows)
    strengths = lassos.strengths(schedule)
    has_settled = [_alternate(lassos, rows, strength, max_iter) for strength in strengths]
    if _break_ties(lassos, rows, start):
        has_settled.append(_alternate(lassos, rows, lassos.bound, max_iter))
    return lassos.solution(rows, converged=all(has_settled))


def _alternate(lassos: ArcLassos, rows: FloatArray, strength: float, max_iter: int) -> bool:
    """Improve tiers and coefficients in turn until the objective stalls; say whether it did."""
    last = np.inf
    previous: IntArray | None = None
    for _ in range(max_iter):
        tiers = lassos.tiers(rows)
        if previous is not None and np.array_equal(tiers, previous):
            return True
        previous = tiers
        objective = lassos.regress_in_order(rows, tiers, strength)
        if last - objective <= STALL * abs(objective):
            return True
        last = objective
    return False


def _break_ties(lassos: ArcLassos, rows: FloatArray, start: FloatArray) -> bool:
    """Allow arcs between variables that share a tier only for want of a reason to part them.

    Those are the parts of a tier in which the start leaves as much at every variable as it takes
    to it. Along an order inside such a part the objective can only fall.
    """
    tiers = lassos.tiers(rows)
    inside = np.where(tiers[:, None] == tiers, start, 0.0)
    leaving, entering = inside.sum(axis=1), inside.sum(axis=0)
    is_even = np.abs(leaving - entering) <= TIE * (leaving + entering)
    n_parts, part = connected_components(inside != 0, directed=False)
    is_tied = np.bincount(part, weights=~is_even, minlength=n_parts) == 0
    is_tied &= np.bincount(part, minlength=n_parts) > 1
    if not is_tied.any():
        return False
    # Rounded, so that what differs by rounding alone is left to the position.
    excess = np.round(start.sum(axis=1) - start.sum(axis=0), DECIMALS)
    place = np.empty_like(tiers)
    place[np.lexsort((-excess, tiers))] = np.arange(len(tiers))
    tied = is_tied[part]
    free = (part[:, None] == part) & tied & (place[:, None] < place)
    lassos.regress_in_order(rows, tiers, np.inf, free=free)
    return True


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
    >>> from edgewise.solvers.directed.order import bcd_bayes_net
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
        raise InputError("unknown_update", updates=UPDATES, update=update)
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
