"""Random problems whose optimum is known, near-ties included, to hold what solvers call decided to.

Of most kinds the optimum is chosen first, and a subgradient of the penalty there; the covariance or
the response that makes it the optimum follows. The others are solved once more, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgewise.solvers import (
    density_ratio,
    dtrace,
    generalized_lasso,
    graphical_lasso,
    joint_graphical_lasso,
    locally_constant,
)
from edgewise.solvers.change.decided import TieProof
from edgewise.solvers.change.density_ratio import ratio_alpha_max
from edgewise.solvers.change.dtrace import dtrace_alpha_max
from edgewise.solvers.change.joint_path import joint_graphical_lasso_path
from edgewise.solvers.lasso.gram import neighborhood_lasso

#: Below this, an entry of a solution to rounding says nothing.
UNCLEAR = 1e-6


@dataclass(frozen=True)
class Problem:
    """A problem: how to solve it, and the signs of its optimum, NaN where they are not known."""

    solve: Callable[..., Any]
    truth: Any
    tied: Any = None


def almost(rng, size):
    """Draw sizes below 1, of which some are very close to it."""
    close = 1.0 - 10.0 ** -rng.uniform(1, 12, size)
    return np.where(rng.random(size) < 0.25, close, rng.random(size))


def within(rng, size):
    """Draw numbers between -1 and 1, some of them close to the ends."""
    return rng.choice([-1.0, 1.0], size) * almost(rng, size)


def entries(rng, size):
    """Draw entries: many are 0, some are hardly there."""
    value = rng.normal(size=size) * np.where(rng.random(size) < 0.3, 10.0 ** -rng.uniform(2, 12), 1)
    return np.where(rng.random(size) < 0.5, 0.0, value)


def definite(x, p, rng):
    """Return a precision with the given entries above the diagonal."""
    Theta = np.zeros((p, p))
    Theta[np.triu_indices(p, 1)] = x
    Theta += Theta.T
    Theta += np.diag(np.abs(Theta).sum(axis=1) + 10.0 ** rng.uniform(-1.5, 0.5, p))
    return Theta


def full(values, p, diagonal=0.0):
    """Return a symmetric matrix with values above the diagonal."""
    A = np.zeros((p, p))
    A[np.triu_indices(p, 1)] = values
    return A + A.T + diagonal * np.eye(p)


def lasso_slope(x, weights, rng):
    """Choose a subgradient of a weighted l1 norm."""
    return weights * np.where(x == 0.0, within(rng, x.shape), np.sign(x))


def glasso(rng):
    """Return a graphical lasso with free and forbidden edges and either diagonal."""
    p = int(rng.integers(2, 14))
    m = p * (p - 1) // 2
    alpha, x = 10.0 ** rng.uniform(-2, 0), entries(rng, m)
    w = np.ones(m) if rng.random() < 0.5 else rng.choice([0.0, 0.5, 1.0, 2.0, np.inf], m)
    x[np.isinf(w)] = 0.0
    Theta = definite(x, p, rng)
    diagonal = bool(rng.random() < 0.3)
    slope = lasso_slope(x, np.where(np.isinf(w), 1.0, alpha * w), rng)
    S = np.linalg.inv(Theta)
    S = 0.5 * (S + S.T) - full(slope, p, alpha if diagonal else 0.0)
    if np.diag(S).min() <= 0.0:
        return glasso(rng)
    unit = 10.0 ** rng.uniform(-1, 1, p)
    weights = full(w, p, 1.0)
    # Units change the penalty of each entry, which weights can carry.
    weights *= np.outer(unit, unit)
    S *= np.outer(unit, unit)

    def solve(**options):
        return graphical_lasso(S, alpha, weights=weights, penalize_diagonal=diagonal, **options)

    return Problem(solve, full(np.sign(x), p, 1.0))


def joint(rng):
    """Return a joint graphical lasso of up to five groups with any of its penalties."""
    K, p = int(rng.integers(2, 6)), int(rng.integers(2, 8))
    m = p * (p - 1) // 2
    kind = rng.choice(["fused", "group", "chain", "ring"])
    pairs = {"chain": [(k, k + 1) for k in range(K - 1)]}.get(kind)
    if kind == "ring":
        pairs = [(min(k, (k + 1) % K), max(k, (k + 1) % K)) for k in range(K if K > 2 else 1)]
    alpha, coupling = 10.0 ** rng.uniform(-2, 0, 2)
    x = entries(rng, (K, m))
    for k in range(1, K):
        # Groups that are alike, or hardly apart.
        alike = rng.random(m) < 0.5
        x[k, alike] = x[rng.integers(k), alike]
    y = lasso_slope(x, alpha, rng)
    if kind == "group":
        norm = np.sqrt(np.sum(x**2, axis=0))
        inside = rng.normal(size=(K, m))
        inside *= almost(rng, m) / np.sqrt(np.sum(inside**2, axis=0))
        y += coupling * np.where(norm == 0.0, inside, x / np.where(norm == 0.0, 1.0, norm))
    else:
        compared = [(k, n) for k in range(K) for n in range(k)] if pairs is None else pairs
        for k, n in compared:
            flow = coupling * np.where(x[k] == x[n], within(rng, m), np.sign(x[k] - x[n]))
            y[k] += flow
            y[n] -= flow
    weights = rng.uniform(0.5, 2.0, K)
    Sigma = np.stack([np.linalg.inv(definite(one, p, rng)) for one in x])
    S = np.stack([A - full(one, p) / w for A, one, w in zip(Sigma, y, weights, strict=True)])
    S = 0.5 * (S + S.transpose(0, 2, 1))
    penalty = "group" if kind == "group" else "fused"

    def solve(**options):
        return joint_graphical_lasso(
            S, alpha, coupling, penalty=penalty, pairs=pairs, group_weights=weights, **options
        )

    return Problem(solve, np.stack([full(np.sign(one), p, 1.0) for one in x]))


def space(rng):
    """Return a locally constant model on a chain, a ring or a grid."""
    shape = rng.choice(["chain", "ring", "grid"])
    p = int(rng.integers(3, 13))
    pairs = [(i, i + 1) for i in range(p - 1)]
    if shape == "ring":
        pairs.append((0, p - 1))
    if shape == "grid":
        high, wide = int(rng.integers(2, 4)), int(rng.integers(2, 5))
        p = high * wide
        pairs = [(i, i + 1) for i in range(p) if (i + 1) % wide]
        pairs += [(i, i + wide) for i in range(p - wide)]
    pairs = np.array(pairs)
    m = p * (p - 1) // 2
    alpha, tau = 10.0 ** rng.uniform(-2, 0, 2)
    # Entries of a few levels, so that neighbours agree.
    x = full(rng.choice(np.append(0.0, entries(rng, 2)), m, p=[0.5, 0.25, 0.25]), p)
    for a, b in pairs[rng.random(len(pairs)) < 0.5]:
        for n in range(p):
            if n not in (a, b):
                x[b, n] = x[n, b] = x[a, n]
    slope = full(lasso_slope(x[np.triu_indices(p, 1)], 2.0 * alpha, rng), p)
    tied = np.zeros((len(pairs), p), dtype=bool)
    for k, (a, b) in enumerate(pairs):
        for n in range(p):
            if n in (a, b):
                continue
            tied[k, n] = x[a, n] == x[b, n]
            flow = tau * (within(rng, 1)[0] if tied[k, n] else np.sign(x[a, n] - x[b, n]))
            for i, sign in ((a, 1.0), (b, -1.0)):
                slope[i, n] += sign * flow
                slope[n, i] += sign * flow
    Theta = definite(x[np.triu_indices(p, 1)], p, rng)
    Sigma = np.linalg.inv(Theta)
    S = 0.5 * (Sigma + Sigma.T) - 0.5 * slope

    def solve(**options):
        return locally_constant(S, alpha, tau, pairs, penalize_diagonal=False, **options)

    return Problem(solve, np.sign(x) + np.eye(p), tied)


def group_lasso(rng):
    """Return a Gaussian regression on groups of columns."""
    d = int(rng.integers(2, 12))
    n = int(rng.integers(d + 2, 6 * d + 5))
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X -= X.mean(axis=0)
    groups = np.cumsum(np.append(0, rng.random(d - 1) < 0.6))
    alpha, n_groups = 10.0 ** rng.uniform(-3, 0), groups[-1] + 1
    b, z = np.zeros(d), np.zeros(d)
    weights = rng.uniform(0.5, 2.0, n_groups)
    for g in range(n_groups):
        own = groups == g
        direction = rng.normal(size=own.sum())
        direction /= np.linalg.norm(direction)
        size = entries(rng, 1)[0]
        b[own] = size * direction
        z[own] = direction * (np.sign(size) if size else almost(rng, 1)[0]) * weights[g]
    residual = X @ np.linalg.solve(X.T @ X, n * alpha * z)
    free = rng.normal(size=n)
    free -= free.mean()
    free -= X @ np.linalg.lstsq(X, free, rcond=None)[0]
    y = X @ b + residual + free
    sizes = np.array([np.abs(b[groups == g]).max() for g in range(n_groups)])

    def solve(**options):
        return generalized_lasso(X, y, alpha, groups=groups, group_weights=weights, **options)

    def by_group(value):
        return np.array([np.abs(value[groups == g]).max() for g in range(n_groups)])

    return Problem(_mapped(solve, by_group), np.sign(sizes))


class _Mapped:
    """A solution whose value is seen through a function."""

    def __init__(self, solution, function):
        self.value, self.decided = function(solution.value), solution.decided
        self.gap = solution.gap


def _mapped(solve, function):
    return lambda **options: _Mapped(solve(**options), function)


def to_rounding(solve, alpha, rng, largest):
    """Solve once more at an alpha where an entry may be about to leave."""
    if rng.random() < 0.5:
        value = solve(alpha)(decide=0.0, tol=1e-10).value
        there = np.argwhere(value != 0.0)
        off = [k for k in map(tuple, there) if len(k) == 1 or k[0] != k[1]]
        if off:
            place = off[rng.integers(len(off))]
            low, high = alpha, 1.5 * largest
            for _ in range(25):
                middle = 0.5 * (low + high)
                is_there = solve(middle)(decide=0.0, tol=1e-10).value[place] != 0.0
                low, high = (middle, high) if is_there else (low, middle)
            alpha = low * (1.0 + rng.choice([-1e-3, -1e-5, -1e-7, 1e-7, 1e-5, 1e-3]))
    exact = solve(alpha)(decide=0.0, tol=1e-14)
    value = exact.value
    is_clear = (np.abs(value) > UNCLEAR * max(1.0, np.abs(value).max())) | (value == 0.0)
    # What is 0 at rounding may be larger than that at the optimum, but not by much.
    return Problem(solve(alpha), np.where(is_clear | exact.decided, np.sign(value), np.nan))


def _table(rng, n, p):
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] += rng.normal() * X[:, rng.integers(j)] * (rng.random() < 0.7)
    return X


def neighborhood(rng):
    """Return the lassos of all columns, of more or fewer rows than columns."""
    p = int(rng.integers(2, 13))
    S = np.corrcoef(_table(rng, int(rng.integers(p // 2 + 2, 5 * p + 3)), p).T)
    largest = np.abs(S - np.eye(p)).max()

    def solve(alpha):
        return lambda **options: neighborhood_lasso(S, alpha, **options)

    return to_rounding(solve, largest * rng.uniform(0.02, 0.9), rng, largest)


def change(rng):
    """Return a D-trace problem."""
    p = int(rng.integers(2, 10))
    n = int(rng.integers(p + 2, 6 * p + 3))
    A, B = (np.corrcoef(_table(rng, n, p).T) for _ in range(2))
    ridge = float(rng.choice([0.0, 0.01, 0.1]))
    options = {"ridge": ridge, "penalize_diagonal": bool(rng.random() < 0.7)}
    largest = dtrace_alpha_max(A, B, **options)

    def solve(alpha):
        return lambda **more: dtrace(A, B, alpha, **options, **more)

    return to_rounding(solve, largest * rng.uniform(0.02, 0.9), rng, largest)


def ratio(rng):
    """Return a density ratio."""
    p, n = int(rng.integers(2, 7)), int(rng.integers(10, 120))
    before, after = _table(rng, n, p), _table(rng, n, p)
    options = {
        "ridge": float(rng.choice([0.01, 0.1, 1.0])),
        "basis": str(rng.choice(["gaussian", "polynomial"])),
        "penalize_diagonal": bool(rng.random() < 0.7),
    }
    largest = ratio_alpha_max(after, before, **options)

    def solve(alpha):
        def length(value):
            return value[:, :, 0] if value.shape[2] == 1 else np.linalg.norm(value, axis=2)

        return _mapped(
            lambda **more: density_ratio(after, before, alpha, **options, **more), length
        )

    return to_rounding(solve, largest * rng.uniform(0.02, 0.9), rng, largest)


def generalized(rng):
    """Return a regression of a binary response, a count, or one of several levels."""
    d, n = int(rng.integers(2, 9)), int(rng.integers(30, 150))
    X = _table(rng, n, d)
    X /= X.std(axis=0)
    family = str(rng.choice(["binary", "poisson", "multinomial"]))
    eta = X @ (entries(rng, d) * 0.7)
    if family == "binary":
        y = (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
        y[:2] = 0.0, 1.0
    elif family == "poisson":
        y = rng.poisson(np.exp(np.clip(eta, -3, 2))).astype(float)
        y[0] += 1.0
    else:
        y = np.digitize(eta + rng.normal(size=n), [-0.5, 0.5]).astype(float)
        y[:3] = 0.0, 1.0, 2.0
    groups = np.cumsum(np.append(0, rng.random(d - 1) < 0.7))
    is_single = np.bincount(groups) == 1

    def lengths(value):
        found = np.array([np.linalg.norm(value[groups == g]) for g in range(groups[-1] + 1)])
        if value.shape[1] == 1:
            sign = np.array([np.sign(value[groups == g].sum()) for g in range(groups[-1] + 1)])
            found = np.where(is_single, sign * found, found)
        return found

    def solve(alpha):
        return _mapped(
            lambda **more: generalized_lasso(X, y, alpha, family=family, groups=groups, **more),
            lengths,
        )

    return to_rounding(solve, 10.0 ** rng.uniform(-2.5, -0.7), rng, 0.7)


def fused(rng):
    """Return the changes of two groups, with or without sparsity, on either kind of diagonal."""
    p = int(rng.integers(2, 10))
    m = p * (p - 1) // 2
    alpha = 0.0 if rng.random() < 0.5 else 10.0 ** rng.uniform(-2, 0)
    coupling, x = 10.0 ** rng.uniform(-2, 0), entries(rng, (2, m))
    alike = rng.random(m) < 0.5
    x[1, alike] = x[0, alike]
    flow = coupling * np.where(x[0] == x[1], within(rng, m), np.sign(x[0] - x[1]))
    y = lasso_slope(x, alpha, rng) + np.stack([flow, -flow])
    Theta = np.stack([definite(one, p, rng) for one in x])
    S = np.stack([np.linalg.inv(A) - full(one, p) for A, one in zip(Theta, y, strict=True)])
    diagonal = bool(rng.random() < 0.5)
    if diagonal:
        # What the optimum's diagonals differ by, their penalty holds.
        sign = np.sign(Theta[0] - Theta[1]).diagonal()
        S -= np.stack([np.diag(coupling * sign), np.diag(-coupling * sign)])
        if min(A.diagonal().min() for A in S) <= 0.0:
            return fused(rng)
    S = 0.5 * (S + S.transpose(0, 2, 1))

    def solve(tol, **_):
        kind = "coupling" if diagonal else False
        found = joint_graphical_lasso_path(S, alpha, [coupling], penalize_diagonal=kind, tol=tol)[0]
        proven = replace(found, proof=TieProof(S=S)).decided
        return Change(value=found.value[0] - found.value[1], decided=proven)

    return Problem(solve, np.sign(full(x[0] - x[1], p)))


@dataclass(frozen=True)
class Change:
    """Differences of two groups, and which of them are proven."""

    value: Any
    decided: Any


KINDS: dict[str, Callable[..., Problem]] = {
    "graphical lasso": glasso,
    "joint graphical lasso": joint,
    "locally constant": space,
    "D-trace": change,
    "density ratio": ratio,
    "neighbourhood lassos": neighborhood,
    "group lasso": group_lasso,
    "generalised lassos": generalized,
    "fused change": fused,
}


@dataclass(frozen=True)
class Verdict:
    """Pairs that were looked at and decided, and of these those that are wrong."""

    known: int
    decided: int
    wrong: int


def judge(kind, seed):
    """Solve a problem of a kind to some tolerance, and count what is decided wrongly."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    problem = KINDS[kind](rng)
    decide = float(rng.choice([0.0, 1.5]))
    found = problem.solve(tol=10.0 ** rng.uniform(-12, -2), decide=decide)
    if found.decided is None:
        return Verdict(0, 0, 0)
    known = ~np.isnan(problem.truth)
    if problem.truth.ndim > 1:
        known &= ~np.eye(problem.truth.shape[-1], dtype=bool)
    wrong = found.decided & known & (np.sign(found.value) != problem.truth)
    n_wrong = int(wrong.sum())
    if problem.tied is not None and found.tied is not None:
        n_wrong += int((found.tied & ~problem.tied & _compared(found, problem)).sum())
    return Verdict(int(known.sum()), int((found.decided & known).sum()), n_wrong)


def _compared(found, problem):
    """Which differences the penalty has: not those of the two neighbours themselves."""
    pairs = found.proof.pairs
    n = np.arange(problem.tied.shape[1])
    return (n != pairs[:, :1]) & (n != pairs[:, 1:])
