"""Problems, plain arithmetic and an oracle for the density-ratio solver."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np

from edgewise.stats.pair_features import exponents_of

#: Interior-point settings; the solver warns where it cannot reach them.
ACCURATE = {
    "tol_gap_abs": 1e-12,
    "tol_gap_rel": 1e-12,
    "tol_feas": 1e-12,
    "max_iter": 500,
}


def two_kernels(a, b):
    """Features of one's own: a bump and a product."""
    return np.column_stack([np.exp(-((a - b) ** 2)), np.tanh(a) * np.tanh(b)])


def one_kernel(a, b):
    return np.exp(-((a - b) ** 2))


#: Basis and degree.
BASES = {
    "gaussian": ("gaussian", 2),
    "power": ("power", 2),
    "polynomial 2": ("polynomial", 2),
    "polynomial 3": ("polynomial", 3),
    "ising": ("ising", 2),
    "one kernel": (one_kernel, 2),
    "two kernels": (two_kernels, 2),
}


def draw(rng, n_p=30, n_q=25, d=5, basis="gaussian", change=0.7):
    """Rows of two groups; the first two variables depend on each other in the first of them."""
    X_p, X_q = rng.normal(size=(n_p, d)), rng.normal(size=(n_q, d))
    if d > 1:
        X_p[:, 1] = change * X_p[:, 0] + np.sqrt(1.0 - change**2) * X_p[:, 1]
    if basis == "ising":
        return np.where(X_p > 0, 1.0, -1.0), np.where(X_q > 0, 1.0, -1.0)
    return X_p, X_q


def explicit(X, basis="gaussian", degree=2):
    """Features of the pairs v <= u, in order, of shape (pairs, b, n)."""
    groups = []
    d = X.shape[1]
    for v in range(d):
        for u in range(v, d):
            x, y = X[:, v], X[:, u]
            if callable(basis):
                group = np.asarray(basis(x, y)).reshape(len(X), -1).T
            elif basis == "polynomial":
                left, right = exponents_of(degree)
                group = np.stack([x**a * y**b for a, b in zip(left, right, strict=True)])
                if v == u:
                    group[degree:] = 0.0
            elif basis == "power":
                group = (np.sign(x) * abs(x) ** degree * np.sign(y) * abs(y) ** degree)[None]
            else:
                group = (0.0 if basis == "ising" and v == u else 1.0) * (x * y)[None]
            groups.append(group)
    return np.array(groups)


def problem(name="gaussian", seed=0, **sizes):
    """Rows of two groups for one of the bases, and the arguments that name it."""
    basis, degree = BASES[name]
    rng = np.random.default_rng([seed, len(name)])
    return *draw(rng, basis=basis, **sizes), {"basis": basis, "degree": degree}


def is_own(d):
    """Which of the pairs are a variable with itself."""
    first, second = np.triu_indices(d)
    return first == second


def listed(value):
    """Coefficients of the pairs v <= u of an array (d, d, b)."""
    return value[np.triu_indices(len(value))]


def thresholds(d, alpha, penalize_diagonal):
    return np.where(is_own(d) & (not penalize_diagonal), 0.0, alpha)


def objective(theta, X_p, X_q, alpha, ridge, *, basis="gaussian", degree=2, offset=None,
              penalize_diagonal=True):  # fmt: skip
    """The objective, from the definition; theta of shape (pairs, b)."""
    w = np.einsum("gb,gbn->n", theta, explicit(X_q, basis, degree))
    w = w if offset is None else w + offset
    mean = np.einsum("gb,gb->", theta, explicit(X_p, basis, degree).mean(axis=2))
    lengths = np.sqrt(np.sum(theta**2, axis=1))
    limit = thresholds(X_q.shape[1], alpha, penalize_diagonal)
    log_mean = np.log(np.mean(np.exp(w - w.max()))) + w.max()
    return log_mean - mean + 0.5 * ridge * np.sum(theta**2) + limit @ lengths


def cvxpy_ratio(X_p, X_q, alpha, ridge, *, basis="gaussian", degree=2, offset=None,
                penalize_diagonal=True):  # fmt: skip
    """Solve on explicit features by an interior-point method; theta of shape (pairs, b)."""
    H, G = explicit(X_q, basis, degree), explicit(X_p, basis, degree).mean(axis=2)
    pairs, size, n = H.shape
    theta = cp.Variable((pairs, size))
    shift = np.zeros(n) if offset is None else offset
    w = H.reshape(-1, n).T @ cp.vec(theta, order="C") + shift
    limit = thresholds(X_q.shape[1], alpha, penalize_diagonal)
    loss = cp.log_sum_exp(w) - np.log(n) - cp.sum(cp.multiply(G, theta))
    loss += limit @ cp.norm(theta, 2, axis=1)
    if ridge > 0:
        loss += 0.5 * ridge * cp.sum_squares(theta)
    program = cp.Problem(cp.Minimize(loss))
    with warnings.catch_warnings():
        # It says so where it stops short of twelve digits.
        warnings.simplefilter("ignore")
        program.solve(solver=cp.CLARABEL, **ACCURATE)
    return theta.value


def cvxpy_smallest_alpha(X_p, X_q, *, basis="gaussian", degree=2, penalize_diagonal=True):
    """Smallest of the largest lengths of the slack over all weights of the rows."""
    H, G = explicit(X_q, basis, degree), explicit(X_p, basis, degree).mean(axis=2)
    pairs, size, n = H.shape
    weights, largest = cp.Variable(n), cp.Variable()
    slack = cp.reshape(G.ravel() - H.reshape(-1, n) @ weights, (pairs, size), order="C")
    own = is_own(X_q.shape[1])
    limits = [weights >= 0, cp.sum(weights) == 1]
    if penalize_diagonal:
        limits.append(cp.norm(slack, 2, axis=1) <= largest)
    else:
        limits += [cp.norm(slack[~own], 2, axis=1) <= largest, slack[own] == 0]
    program = cp.Problem(cp.Minimize(largest), limits)
    program.solve(solver=cp.CLARABEL)
    return float(largest.value) if largest.value is not None else np.inf
