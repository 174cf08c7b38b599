"""Problems, plain arithmetic and an oracle for the locally constant solvers."""

from __future__ import annotations

import warnings

import numpy as np


def pairs_of(kind, *shape):
    """Neighbour pairs of a small arrangement: ``("chain", 7)``, ``("ring", 7)``,
    ``("grid", 3, 3)``, ``("grid", 2, 2, 2)``, or ``("star", 7)``, which no grid has."""
    p = int(np.prod(shape))
    if kind == "chain":
        pairs = [(k, k + 1) for k in range(p - 1)]
    elif kind == "ring":
        pairs = [(k, k + 1) for k in range(p - 1)] + [(0, p - 1)]
    elif kind == "star":
        pairs = [(0, k) for k in range(1, p)]
    else:
        sites = list(np.ndindex(*shape))
        pairs = [
            (a, b)
            for a, first in enumerate(sites)
            for b, second in enumerate(sites)
            if a < b and np.abs(np.subtract(first, second)).sum() == 1
        ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def random_pairs(rng, p, n_pairs):
    """Different pairs of variables in no arrangement; some variables may have none."""
    all_pairs = np.column_stack(np.triu_indices(p, 1))
    chosen = rng.permutation(len(all_pairs))[:n_pairs]
    return all_pairs[np.sort(chosen)].astype(np.int64)


def difference_matrix(pairs, p):
    """Operator D with one row per pair, +1 at its first and -1 at its second variable."""
    D = np.zeros((len(pairs), p))
    for row, (a, b) in enumerate(pairs):
        D[row, a] = 1.0
        D[row, b] = -1.0
    return D


def blocky_precision(rng, pairs, p, n_blocks=2):
    """Precision whose entries are constant between connected patches of variables."""
    neighbors = [set() for _ in range(p)]
    for a, b in pairs:
        neighbors[a].add(b)
        neighbors[b].add(a)
    Theta = np.zeros((p, p))
    for _ in range(n_blocks):
        patches = []
        free = set(range(p))
        for _ in range(2):
            patch = {int(rng.choice(sorted(free)))}
            for _ in range(int(rng.integers(1, 4))):
                near = sorted(set().union(*(neighbors[v] for v in patch)) & free - patch)
                if near:
                    patch.add(int(rng.choice(near)))
            patches.append(sorted(patch))
            free -= patch
            if not free:
                break
        if len(patches) == 2:
            value = rng.choice([-1.0, 1.0]) * rng.uniform(0.2, 0.5)
            Theta[np.ix_(*patches)] = value
            Theta[np.ix_(*patches[::-1])] = value
    smallest = np.linalg.eigvalsh(Theta)[0]
    return Theta + (max(1.0, 0.15 - smallest)) * np.eye(p)


def random_problem(rng, pairs, p, n_samples):
    """Covariance of zero-mean samples from a blocky model; singular if they are few."""
    Sigma = np.linalg.inv(blocky_precision(rng, pairs, p))
    X = rng.standard_normal((int(n_samples), p)) @ np.linalg.cholesky(Sigma).T
    S = X.T @ X / len(X)
    return (S + S.T) / 2


def sample_sizes(p):
    """Fewer samples than variables, about as many, and many."""
    return [max(p // 2, 2), 2 * p, 20 * p]


def golden_problem():
    """Covariance of 14 variables in a chain, alpha = 0.05, tau = 0.1, whose optimum has a closed
    form: -0.0699557962 between variables 2-4 and 8-10, diagonal 0.9680377258 there, 1 / 1.05
    elsewhere, objective 14.6333678568. The diagonal of 1 / 1.05 has objective 14.6830622984."""
    S = np.eye(14)
    S[2:5, 8:11] = S[8:11, 2:5] = 0.195
    return S, 0.05, 0.1, pairs_of("chain", 14)


def elementwise(p, alpha, weights=None, penalize_diagonal=True):
    """Thresholds alpha * w_ij, with inf where the weight is, and 0 on a free diagonal."""
    weights = np.ones((p, p)) if weights is None else np.asarray(weights, dtype=float)
    thresholds = np.full((p, p), np.inf)
    thresholds[np.isfinite(weights)] = alpha * weights[np.isfinite(weights)]
    if not penalize_diagonal:
        np.fill_diagonal(thresholds, 0.0)
    return thresholds


def operator_objective(Theta, S, thresholds, tau, D):
    """Objective for any difference operator; inf outside the domain."""
    if np.linalg.eigvalsh(Theta)[0] <= 0 or np.any(Theta[np.isinf(thresholds)] != 0):
        return np.inf
    finite = np.where(np.isinf(thresholds), 0.0, thresholds)
    differences = np.abs(D @ Theta)[D == 0].sum()
    return (
        np.sum(S * Theta)
        - np.linalg.slogdet(Theta)[1]
        + np.sum(finite * np.abs(Theta))
        + tau * differences
    )


def objective(Theta, S, thresholds, tau, pairs):
    """Objective of the locally constant model at any matrix; inf outside the domain."""
    return operator_objective(Theta, S, thresholds, tau, difference_matrix(pairs, len(S)))


def cvxpy_difference_penalized(S, thresholds, tau, D):
    """Optimal objective and precision for any difference operator, by an interior point method.

    Compare objectives: a matrix whose objective is 1e-8 above the optimum is 1e-4 away from it, so
    that the precision is right to half the digits only. The objective is strongly convex: who has
    the optimal one has the optimal matrix, to what the certificate says.
    """
    import cvxpy as cp

    p = len(S)
    Theta = cp.Variable((p, p), symmetric=True)
    # The diagonal is positive, each edge stands for two entries, and only what counts is named:
    # with idle terms in it the interior point method loses digits.
    cost = cp.trace((S + np.diag(np.diagonal(thresholds))) @ Theta) - cp.log_det(Theta)
    rows, columns = np.nonzero(np.triu((thresholds > 0) & np.isfinite(thresholds), 1))
    if len(rows):
        cost += 2 * thresholds[rows, columns] @ cp.abs(Theta[rows, columns])
    rows, columns = np.nonzero((D == 0) & (D != 0).any(axis=1, keepdims=True))
    if tau > 0 and len(rows):
        cost += tau * cp.norm1((D @ Theta)[rows, columns])
    rows, columns = np.nonzero(np.triu(np.isinf(thresholds)))
    constraints = [Theta[rows, columns] == 0] if len(rows) else []
    problem = cp.Problem(cp.Minimize(cost), constraints)
    _solve(problem)
    return float(problem.value), (Theta.value + Theta.value.T) / 2


def _solve(problem, tol=1e-9):
    """Solve to ``tol``; once in a few hundred times Clarabel gets there only in other steps."""
    import cvxpy as cp

    for settings in ({}, {"equilibrate_enable": False}, {"max_step_fraction": 0.9}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                problem.solve(
                    solver=cp.CLARABEL,
                    tol_gap_abs=tol,
                    tol_gap_rel=tol,
                    tol_feas=tol,
                    **settings,
                )
            except cp.SolverError:
                continue
        if problem.status == cp.OPTIMAL:
            return
    raise RuntimeError("The oracle found no accurate solution.")


def cvxpy_locally_constant(S, thresholds, tau, pairs):
    """Optimal objective and precision of the locally constant model, with thresholds (diagonal
    included) that may be inf where an entry is forbidden."""
    return cvxpy_difference_penalized(S, thresholds, tau, difference_matrix(pairs, len(S)))
