r"""The lasso on a Gram matrix, one weight per coefficient, with a duality gap."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError, SolverError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._lasso_kernels import descend
from edgewise.solvers._solution import Solution


def weighted_lasso(
    G: FloatArray,
    c: FloatArray,
    weights: FloatArray | float,
    *,
    init: FloatArray | None = None,
    squared_norm: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Solution:
    r"""Minimise a quadratic plus a weighted l1 norm by coordinate descent.

    .. math::

        \min_b \; \tfrac12 b^\top G b - c^\top b + \sum_j w_j |b_j|

    where :math:`G` is positive semidefinite and :math:`c` lies in its range, as for
    :math:`G = X^\top X / n` and :math:`c = X^\top y / n`. Cyclic coordinate descent [1]_ works on
    the support between passes over all coefficients. Exact steps on the support for the signs it
    has [2]_ follow, so that strong correlation does not stall it. It stops on the duality gap at
    the residual scaled into the dual feasible set.

    Parameters
    ----------
    G : ndarray of shape (p, p)
        Symmetric positive semidefinite matrix.
    c : ndarray of shape (p,)
        Linear term.
    weights : ndarray of shape (p,) or float
        Penalty of each coefficient: 0 leaves it free, ``inf`` forbids it.
    init : ndarray of shape (p,), optional
        Warm start.
    squared_norm : float, optional
        An upper bound on :math:`c^\top G^+ c`, such as :math:`y^\top y / n`; it enters the gap
        only. Computed from an eigendecomposition when not given, which costs
        :math:`O(p^3)`.
    tol : float
        Stop once the duality gap is at most ``tol * p``.
    max_iter : int
        Largest number of rounds; one round is a pass over all coefficients with its certificate,
        and the work on the support that follows.

    Returns
    -------
    Solution
        ``value`` has shape (p,) and exact zeros; ``history`` is the gap after each round.

    Raises
    ------
    InputError
        If the shapes do not fit, ``G`` has a negative eigenvalue, or a weight is negative.
    SolverError
        If ``c`` is outside the range of ``G``, so that a minimum need not exist.

    References
    ----------
    .. [1] Friedman, Hastie and Tibshirani (2010). Regularization paths for generalized linear
       models via coordinate descent. *Journal of Statistical Software* 33(1).
       https://doi.org/10.18637/jss.v033.i01
    .. [2] Lee, Battle, Raina and Ng (2006). Efficient sparse coding algorithms. *Advances in
       Neural Information Processing Systems* 19.
       https://proceedings.neurips.cc/paper/2006/hash/2d71b2ae158c7c5912cc0bbde2bb9d95-Abstract.html

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import weighted_lasso
    >>> G = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> weighted_lasso(G, np.array([1.0, 0.2]), 0.4).value
    array([0.6, 0. ])
    """
    G, c, w, start = _checked(G, c, weights, init)
    if tol <= 0 or max_iter < 1:
        raise InputError(f"tol must be positive and max_iter at least 1, got {tol}, {max_iter}.")
    n_variables = len(c)
    penalised = np.flatnonzero((w > 0) & np.isfinite(w))
    free = np.flatnonzero(w == 0)
    sizes = float(np.abs(G).max()), float(linalg.norm(c))
    reduced_G, reduced_c, project, energy_free, solution_free = _eliminate(
        G, c, penalised, free, sizes
    )
    if squared_norm is None and len(penalised):
        values, _, coordinates = _spectrum(reduced_G, reduced_c, *sizes)
        energy = float(np.sum(coordinates**2 / values))
    else:
        energy = max(float(squared_norm or 0.0) - energy_free, 0.0)
    b_penalised = start[penalised].copy()
    history = np.empty(max_iter)
    gap, n_iter = descend(
        reduced_G, reduced_c, w[penalised], b_penalised, energy, tol * n_variables, history
    )
    b = np.zeros(n_variables)
    b[penalised] = b_penalised
    b[free] = solution_free - project @ b_penalised
    active = np.abs(b[penalised]) @ w[penalised]
    return Solution(
        value=b,
        objective=float(0.5 * b @ G @ b - c @ b + active),
        gap=float(gap),
        n_iter=int(n_iter),
        converged=bool(gap <= tol * n_variables),
        history=history[:n_iter].copy(),
    )


def _checked(
    G: FloatArray, c: FloatArray, weights: FloatArray | float, init: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return contiguous arrays of matching shape, or say which one does not fit."""
    G = np.ascontiguousarray(G, dtype=np.float64)
    c = np.ascontiguousarray(c, dtype=np.float64)
    if c.ndim != 1 or len(c) == 0 or G.shape != (len(c), len(c)):
        raise InputError(
            f"G must be (p, p) and c (p,) with p >= 1; got shapes {G.shape} and {c.shape}."
        )
    w = np.ascontiguousarray(np.broadcast_to(np.asarray(weights, dtype=np.float64), c.shape))
    start = np.zeros_like(c) if init is None else np.ascontiguousarray(init, dtype=np.float64)
    if start.shape != c.shape:
        raise InputError(f"init must have shape {c.shape}, got {start.shape}.")
    if not (np.isfinite(G).all() and np.isfinite(c).all() and np.isfinite(start).all()):
        raise InputError("G, c and init must be finite.")
    if np.isnan(w).any() or (w < 0).any():
        raise InputError("Weights must be at least 0 (0 = free, inf = forbidden).")
    scale = np.abs(G).max()
    if np.abs(G - G.T).max() > 1e-10 * scale or G.diagonal().min() < -1e-12 * scale:
        raise InputError("G must be symmetric and positive semidefinite.")
    return G, c, w, start


def _spectrum(
    G: FloatArray, c: FloatArray, size_G: float, size_c: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Give the positive eigenvalues of G, their vectors and c in that basis.

    The sizes are those of the whole problem, against which what is left of it may be rounding.
    """
    values, vectors = linalg.eigh(G)
    cutoff = 10 * len(c) * np.finfo(np.float64).eps * size_G
    if values[0] < -1e3 * cutoff:
        raise InputError(
            f"G must be positive semidefinite; its smallest eigenvalue is {values[0]:.3g}."
        )
    kept = values > cutoff
    basis = vectors[:, kept]
    coordinates = basis.T @ c
    if linalg.norm(c - basis @ coordinates) > 1e-7 * size_c:
        raise SolverError(
            "c is not in the range of G, so the objective may fall without bound. "
            "Add a small ridge to the diagonal of G."
        )
    return values[kept], basis, coordinates


def _eliminate(
    G: FloatArray,
    c: FloatArray,
    penalised: IntArray,
    free: IntArray,
    sizes: tuple[float, float],
) -> tuple[FloatArray, FloatArray, FloatArray, float, FloatArray]:
    """Solve the free coefficients out: what remains is a lasso with positive weights.

    Returns the Schur complement, its linear term, the matrix P and vector q with
    ``b_free = q - P b_penalised``, and the part of the squared norm that the free ones explain.
    """
    inner = np.ascontiguousarray(G[np.ix_(penalised, penalised)])
    if len(free) == 0:
        return inner, c[penalised], np.zeros((0, len(penalised))), 0.0, np.zeros(0)
    values, basis, coordinates = _spectrum(G[np.ix_(free, free)], c[free], *sizes)
    cross = basis.T @ G[np.ix_(free, penalised)]
    project = basis @ (cross / values[:, None])
    solution = basis @ (coordinates / values)
    inner = inner - cross.T @ (cross / values[:, None])
    inner = np.ascontiguousarray((inner + inner.T) / 2)
    return (
        inner,
        c[penalised] - cross.T @ (coordinates / values),
        project,
        float(np.sum(coordinates**2 / values)),
        solution,
    )
