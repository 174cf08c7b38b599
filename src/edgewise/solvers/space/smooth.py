"""Sparse precision matrices whose rows are close to the mean of their neighbours' rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.linalg.dense import inverse_and_log_determinant
from edgewise.solvers.space.difference_penalty import difference_penalized
from edgewise.solvers.space.locally_constant import LocallyConstantSolution

#: Share of the tolerance that the solver leaves; the rest is for entries that are set to 0.
SOLVED: Final = 0.1


def smooth_precision(
    S: FloatArray,
    alpha: float,
    tau: float,
    pairs: IntArray,
    *,
    penalize_diagonal: bool = True,
    tol: float = 1e-6,
    max_iter: int = 5000,
) -> LocallyConstantSolution:
    r"""Estimate a sparse precision matrix that varies smoothly over neighbouring variables.

    .. math::

        \min_{\Theta \succ 0} \; \mathrm{tr}(S \Theta) - \log\det\Theta
        + \alpha \sum_{ij} |\Theta_{ij}|
        + \tau \sum_a \; \sum_{n \ne a, \; n \notin N(a)}
        \Big| \Theta_{an} - \frac{1}{|N(a)|} \sum_{b \in N(a)} \Theta_{bn} \Big|

    where :math:`N(a)` are the neighbours of :math:`a`. `difference_penalized` solves it to a tenth
    of the tolerance. Its small entries are then set to 0, as many as the rest of the tolerance
    allows by the duality gap.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance.
    alpha, tau : float
        Strengths of sparsity, above 0, and of smoothness.
    pairs : ndarray of int, shape (n_pairs, 2)
        Neighbours.
    penalize_diagonal, tol, max_iter
        As in `locally_constant`.

    Returns
    -------
    LocallyConstantSolution
        Every edge is a group of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.space.smooth import smooth_precision
    >>> S = np.array([[1.0, 0.3, 0.3], [0.3, 1.0, 0.1], [0.3, 0.1, 1.0]])
    >>> smooth_precision(S, 0.2, 0.05, np.array([[1, 2]])).value.round(2)
    array([[ 0.84, -0.07, -0.07],
           [-0.07,  0.84,  0.  ],
           [-0.07,  0.  ,  0.84]])
    """
    D = mean_differences(pairs, len(S))
    found = difference_penalized(
        S, alpha, tau, D, penalize_diagonal=penalize_diagonal, tol=SOLVED * tol, max_iter=max_iter
    )
    problem = _Problem(S=S, alpha=alpha, tau=tau, D=D, penalize_diagonal=penalize_diagonal)
    allowed = tol * len(S)
    bound = found.objective - found.gap
    Theta = best = found.value
    Sigma, objective = found.covariance, found.objective
    sizes = np.unique(np.abs(Theta[np.triu_indices(len(S), 1)]))
    low, high = 0, len(sizes)
    # The more entries are set to 0, the higher the objective: halve the choices.
    while low < high:
        middle = (low + high) // 2
        trial = np.where(np.abs(Theta) <= sizes[middle], 0.0, Theta)
        np.fill_diagonal(trial, np.diagonal(Theta))
        inverse, log_determinant = inverse_and_log_determinant(trial)
        reached = np.inf if inverse is None else problem.objective(trial, log_determinant)
        if inverse is not None and reached - bound <= allowed:
            Sigma, objective, best = inverse, reached, trial
            low = middle + 1
        else:
            high = middle
    gap = objective - bound
    edges = np.triu(best != 0, 1)
    groups = np.full(best.shape, -1, dtype=np.int64)
    groups[edges] = np.arange(np.count_nonzero(edges))
    return LocallyConstantSolution(
        value=best,
        covariance=Sigma,
        objective=objective,
        gap=gap,
        n_iter=found.n_iter,
        converged=gap <= allowed,
        history=found.history,
        alpha=float(alpha),
        tau=float(tau),
        groups=np.maximum(groups, groups.T),
    )


def mean_differences(pairs: IntArray, n_variables: int) -> sparse.csr_array:
    """Rows of a graph Laplacian, each divided by the number of neighbours; none without any."""
    first, second = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
    joined = sparse.lil_array((n_variables, n_variables))
    joined[first, second] = joined[second, first] = 1.0
    degree: FloatArray = joined.sum(axis=1)
    mean = sparse.diags_array(1.0 / np.maximum(degree, 1.0)) @ sparse.csr_array(joined)
    D = sparse.csr_array(sparse.eye_array(n_variables) - mean)
    return sparse.csr_array(D[np.flatnonzero(degree)])


@dataclass(frozen=True, kw_only=True, eq=False)
class _Problem:
    """What is minimised."""

    S: FloatArray
    alpha: float
    tau: float
    D: sparse.csr_array
    penalize_diagonal: bool

    def objective(self, Theta: FloatArray, log_determinant: float) -> float:
        """Objective at a positive definite matrix."""
        size = np.abs(Theta).sum() - (0.0 if self.penalize_diagonal else np.trace(Theta))
        differences = np.abs(self.D @ Theta)
        differences[self.D.nonzero()] = 0.0
        value = np.vdot(self.S, Theta) - log_determinant + self.alpha * size
        return float(value + self.tau * differences.sum())
