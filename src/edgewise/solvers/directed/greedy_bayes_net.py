"""Gaussian Bayesian networks by greedy search for the best extended BIC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.climb_kernels import climb
from edgewise.solvers.directed.partial_correlation import correlations, truth_matrix

#: No node has more parents than this share of the rows: with many, an equation fits anything.
PARENTS_PER_ROW = 1 / 3


@dataclass(frozen=True, kw_only=True, eq=False)
class GreedySolution(Solution):
    """A graph that no single step improves; ``value[i, j]`` says whether there is an arc i -> j.

    ``history`` has the objective after each step. Other graphs may be better: ``gap`` is NaN.
    """


def greedy_bayes_net(
    S: FloatArray,
    n_samples: float,
    *,
    gamma: float = 0.0,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
    max_iter: int = 10_000,
) -> GreedySolution:
    r"""Climb from the empty graph to a Gaussian Bayesian network with a good extended BIC.

    Each step adds, deletes or reverses the arc that lowers

    .. math::

        \sum_j \tfrac n2 \log \hat\sigma_j^2 + k_j \left(\tfrac12 \log n + \gamma \log m\right)

    most and makes no cycle; :math:`\hat\sigma_j^2` is the residual variance of variable j given
    its :math:`k_j` parents, by least squares. The search ends where no step lowers it. With arcs
    allowed between blankets of `lasso_blankets` only this is L1MB [1]_.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance of the rows.
    n_samples : float
        Number of rows, n. No variable has more parents than a third of it.
    gamma : float
        From 0, the ordinary BIC, to 1, which allows fewer false arcs.
    allowed : array-like of bool, shape (m, m), optional
        Whether there may be an arc i -> j; by default all may.
    required : array-like of bool, shape (m, m), optional
        Whether there must be an arc i -> j: the search starts with those. Without a cycle.
    max_iter : int
        Largest number of steps.

    Returns
    -------
    GreedySolution
        ``value`` is the adjacency of a directed acyclic graph, ``objective`` its score for
        variables with a variance of 1.

    References
    ----------
    .. [1] Schmidt, Niculescu-Mizil and Murphy (2007). Learning graphical model structure using
       L1-regularization paths. *AAAI*.
       https://cdn.aaai.org/AAAI/2007/AAAI07-202.pdf

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import greedy_bayes_net
    >>> effects = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> greedy_bayes_net(effects.T @ effects, 1000).value.astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    if not n_samples > 2:
        raise InputError(f"n_samples must be above 2, got {n_samples!r}.")
    if not 0 <= gamma <= 1:
        raise InputError(f"gamma must be between 0 and 1, got {gamma!r}.")
    if max_iter < 1:
        raise InputError(f"max_iter must be at least 1, got {max_iter!r}.")
    R = correlations(S)
    m = len(R)
    may_be = truth_matrix(True if allowed is None else allowed, "allowed", m)
    arcs = truth_matrix(False if required is None else required, "required", m)
    np.fill_diagonal(may_be, False)
    must_be = arcs.copy()
    most = max(int(n_samples * PARENTS_PER_ROW), 1, int(must_be.sum(axis=0).max()))
    scores, history = np.zeros(m), np.zeros(max_iter)
    per_arc = 0.5 * np.log(n_samples) + gamma * np.log(m)
    n_steps = climb(
        R, may_be, must_be, float(n_samples), per_arc, min(most, m), arcs, scores, history
    )
    return GreedySolution(
        value=arcs,
        objective=float(scores.sum()),
        gap=float("nan"),
        n_iter=max(n_steps, 1),
        converged=n_steps < max_iter,
        history=history[:n_steps].copy(),
    )
