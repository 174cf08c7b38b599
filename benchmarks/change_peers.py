"""Other ways to a sparse change: L-BFGS on explicit features, fused graphical lasso, pyanom."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from edgewise.solvers import joint_graphical_lasso
from edgewise.solvers.change.joint_path import joint_coupling_max, joint_graphical_lasso_path

Array = NDArray[Any]
Row = dict[str, Any]

#: Python that has pyanom, if this one has not.
PYANOM_PYTHON = "EDGEWISE_BENCH_PYANOM"
#: Gradients at which L-BFGS stops, and residuals at which ADMM does, one after the other.
GRADIENTS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
RESIDUALS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
#: Sparsity of both precision matrices, which the fused lasso needs and a density ratio has not.
SPARSITY = 0.02
#: What our solver of the fused lasso has to be told to solve the problem of gglasso.
MODEL: dict[str, Any] = {
    "penalize_diagonal": False,
    "max_iter": 50_000,
}
#: The two classes of pyanom.
PRIMAL, DUAL = "DirectLearningSparseChanges", "DirectLearningSparseChangesDual"


@dataclass(frozen=True, kw_only=True, eq=False)
class Explicit:
    """A density-ratio problem with its features written out, one strength for each.

    ``features`` are those of the denominator, of shape (m, n); ``target`` their means in the
    numerator.
    """

    features: Array
    target: Array
    ridge: Array
    alpha: Array

    @classmethod
    def of_rows(cls, first: Array, second: Array, ridge: float, alpha: float) -> Explicit:
        """Products of the variables, as our solver has them."""
        u, v = np.triu_indices(first.shape[1])
        m = len(u)
        return cls(
            features=np.ascontiguousarray((first[:, u] * first[:, v]).T),
            target=(second[:, u] * second[:, v]).mean(axis=0),
            ridge=np.full(m, ridge),
            alpha=np.full(m, alpha),
        )

    def smooth(self, theta: Array) -> tuple[float, Array]:
        """Loss with the ridge, and its gradient."""
        log_ratio = theta @ self.features
        largest = log_ratio.max()
        weights = np.exp(log_ratio - largest)
        total = weights.sum()
        value = largest + np.log(total / len(weights)) - self.target @ theta
        gradient = self.features @ (weights / total) - self.target + self.ridge * theta
        return value + 0.5 * float(self.ridge @ theta**2), gradient

    def objective(self, theta: Array) -> float:
        """Loss with both penalties."""
        return self.smooth(theta)[0] + float(self.alpha @ np.abs(theta))

    def gap(self, theta: Array) -> float:
        """Objective less the dual one at the softmax of the log ratios."""
        log_ratio = theta @ self.features
        log_weights = log_ratio - log_ratio.max()
        log_weights -= np.log(np.sum(np.exp(log_weights)))
        weights = np.exp(log_weights)
        slack = np.maximum(np.abs(self.target - self.features @ weights) - self.alpha, 0.0)
        dual = -weights @ log_weights - np.log(len(weights)) - 0.5 * np.sum(slack**2 / self.ridge)
        return self.objective(theta) - float(dual)

    def by_lbfgs(self, start: Array, gap: float) -> Array:
        """Solve for the positive and the negative part, more sharply until the gap is small."""

        def split(parts: Array) -> tuple[float, Array]:
            plus, minus = np.split(parts, 2)
            value, gradient = self.smooth(plus - minus)
            pull = np.concatenate([gradient + self.alpha, self.alpha - gradient])
            return value + float(self.alpha @ (plus + minus)), pull

        theta = start
        for gradient in GRADIENTS:
            parts = np.concatenate([np.maximum(theta, 0.0), np.maximum(-theta, 0.0)])
            options = {"gtol": gradient, "ftol": 0.0, "maxiter": 10_000, "maxfun": 20_000}
            found = minimize(
                split, parts, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(parts),
                options=options,
            )  # fmt: skip
            plus, minus = np.split(found.x, 2)
            theta = plus - minus
            if self.gap(theta) <= gap:
                break
        return theta


def lbfgs_path(first: Array, second: Array, ridge: float, alphas: Array, gap: float) -> float:
    """Solve at one alpha after the other, each from the one before; return the worst gap."""
    explicit = Explicit.of_rows(first, second, ridge, 0.0)
    theta = np.zeros(len(explicit.target))
    worst = 0.0
    for alpha in alphas:
        problem = Explicit(
            features=explicit.features,
            target=explicit.target,
            ridge=explicit.ridge,
            alpha=np.full(len(theta), alpha),
        )
        theta = problem.by_lbfgs(theta, gap)
        worst = max(worst, problem.gap(theta))
    return worst


@dataclass(frozen=True, kw_only=True, eq=False)
class Fused:
    """Covariances of both groups, and strengths of the fused graphical lasso for a path."""

    S: Array
    alphas: Array

    @classmethod
    def of_rows(cls, first: Array, second: Array, n_alphas: int, ratio: float) -> Fused:
        """Go from the strength that ties all entries down to a share of it."""
        S = np.stack([rows.T @ rows / len(rows) for rows in (first, second)])
        largest = joint_coupling_max(S, SPARSITY)
        return cls(S=S, alphas=largest * np.geomspace(1.0, ratio, n_alphas))

    def ours(self, gap: float) -> list[Any]:
        """Our solver of the same problem."""
        tol = gap / (2 * self.S.shape[1])
        return joint_graphical_lasso_path(self.S, SPARSITY, self.alphas, tol=tol, **MODEL)

    def bounds(self) -> Array:
        """Lower bounds on the optima, from solves that are far sharper than asked for."""
        sharp = [
            joint_graphical_lasso_path(self.S, SPARSITY, [alpha], tol=5e-11, **MODEL)[0]
            for alpha in self.alphas
        ]
        return np.array([solution.objective - solution.gap for solution in sharp])

    def gglasso(self, residual: float) -> list[Array]:
        """ADMM of gglasso along the path, each solve started from the one before."""
        from gglasso.solver.admm_solver import ADMM_MGL

        Omega = np.stack([np.eye(self.S.shape[1])] * 2)
        found = []
        for alpha in self.alphas:
            with contextlib.redirect_stdout(io.StringIO()):
                solution, _ = ADMM_MGL(
                    self.S, SPARSITY, alpha, "FGL", Omega, tol=residual, rtol=residual,
                    max_iter=20_000,
                )  # fmt: skip
            Omega = solution["Omega"]
            found.append(np.stack([solution["Omega"], solution["Theta"]]))
        return found

    def objective(self, Theta: Array, alpha: float) -> float:
        """Objective at two precision matrices; infinite where they are not positive definite."""
        Theta = (Theta + Theta.transpose(0, 2, 1)) / 2
        off = ~np.eye(Theta.shape[1], dtype=bool)
        signs, logdets = np.linalg.slogdet(Theta)
        if (signs <= 0).any() or np.linalg.eigvalsh(Theta).min() <= 0:
            return np.inf
        penalty = SPARSITY * np.abs(Theta[:, off]).sum()
        penalty += alpha * np.abs(Theta[1] - Theta[0])[off].sum()
        return float(np.sum(self.S * Theta) - logdets.sum() + penalty)


def time_gglasso(fused: Fused, gap: float) -> tuple[float, float, float]:
    """CPU seconds of the first setting that reaches the gap all along, the gap, the setting.

    Where none does, those of the last.
    """
    bounds = fused.bounds()
    for residual in RESIDUALS:
        start = time.process_time()
        found = fused.gglasso(residual)
        seconds = time.process_time() - start
        worst = max(
            min(fused.objective(Theta, alpha) for Theta in both) - bound
            for both, alpha, bound in zip(found, fused.alphas, bounds, strict=True)
        )
        if worst <= gap:
            break
    return seconds, worst, residual


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint:
    """Correlations of several groups, and both strengths of a joint graphical lasso.

    gglasso's fused penalty compares groups that follow each other.
    """

    S: Array
    alpha: float
    coupling: float
    penalty: str

    @property
    def model(self) -> dict[str, Any]:
        """Our options for the problem of gglasso."""
        chain = [(k, k + 1) for k in range(len(self.S) - 1)]
        return {"penalty": self.penalty, "pairs": chain if self.penalty == "fused" else None}

    def ours(self, tol: float) -> Any:
        """Our solver."""
        return joint_graphical_lasso(
            self.S, self.alpha, self.coupling, tol=tol, max_iter=50_000, **self.model
        )

    def gglasso(self, residual: float) -> list[Array]:
        """Return both copies of the solution of gglasso's ADMM."""
        from gglasso.solver.admm_solver import ADMM_MGL

        kind = "FGL" if self.penalty == "fused" else "GGL"
        start = np.stack([np.eye(self.S.shape[1])] * len(self.S))
        with contextlib.redirect_stdout(io.StringIO()):
            solution, _ = ADMM_MGL(
                self.S, self.alpha, self.coupling, kind, start, tol=residual, rtol=residual,
                max_iter=20_000,
            )  # fmt: skip
        return [solution["Omega"], solution["Theta"]]

    def objective(self, Theta: Array) -> float:
        """Objective in plain numpy; infinite where a matrix is not positive definite."""
        Theta = (Theta + Theta.transpose(0, 2, 1)) / 2
        off = ~np.eye(Theta.shape[1], dtype=bool)
        if np.linalg.eigvalsh(Theta).min() <= 0:
            return np.inf
        entries = Theta[:, off]
        if self.penalty == "fused":
            coupled = np.abs(np.diff(entries, axis=0)).sum()
        else:
            coupled = np.linalg.norm(entries, axis=0).sum()
        value = np.sum(self.S * Theta) - np.linalg.slogdet(Theta)[1].sum()
        return float(value + self.alpha * np.abs(entries).sum() + self.coupling * coupled)


def time_joint(joint: Joint, gap: float) -> tuple[float, float, float]:
    """CPU seconds of gglasso's first setting that reaches the gap, that gap, and the setting."""
    sharp = joint.ours(1e-9)
    bound = sharp.objective - sharp.gap
    for residual in RESIDUALS:
        start = time.process_time()
        found = joint.gglasso(residual)
        seconds = time.process_time() - start
        reached = min(joint.objective(Theta) for Theta in found) - bound
        if reached <= gap:
            break
    return seconds, reached, residual


def pyanom_rows(first: Array, second: Array, ridge: float, alpha: float) -> list[Row]:
    """Run both classes of pyanom, and solve the problems that they state as well.

    Features are -x_u x_v / 2 of standardised rows, for all entries of a symmetric matrix in the
    primal class and for one triangle of it in the dual one.
    """
    first, second = ((X - X.mean(axis=0)) / X.std(axis=0) for X in (first, second))
    u, v = np.triu_indices(first.shape[1])
    both = np.where(u == v, 1.0, 2.0)
    features = -0.5 * (first[:, u] * first[:, v]).T
    target = -0.5 * np.cov(second, rowvar=False)[u, v]
    stated = {
        PRIMAL: Explicit(
            features=features * both[:, None],
            target=target * both,
            ridge=ridge / 2.0 * both,
            alpha=alpha / 2.0 * both,
        ),
        DUAL: Explicit(
            features=features,
            target=target,
            ridge=np.full(len(u), ridge / 4.0),
            alpha=np.full(len(u), alpha / 2.0),
        ),
    }
    strengths = [[ridge / 2.0, alpha / 2.0], [ridge / 4.0, alpha / 2.0]]
    with tempfile.TemporaryDirectory() as folder:
        rows, out = Path(folder) / "rows.npz", Path(folder) / "out.npz"
        np.savez(rows, first=first, second=second)
        peer = Path(__file__).with_name("pyanom_peer.py")
        python = os.environ.get(PYANOM_PYTHON, sys.executable)
        command = [python, str(peer), str(rows), json.dumps(strengths), str(out)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        theirs = json.loads(answer.splitlines()[-1])
        found = dict(np.load(out).items())
    # Off the diagonal, the dual class returns half of what it has found.
    found[DUAL] = found[DUAL] * np.where(np.eye(first.shape[1]) > 0, 1.0, 2.0)
    table = []
    for (name, problem), seconds in zip(stated.items(), theirs["seconds"], strict=True):
        theta = found[name][u, v]
        start = time.process_time()
        best = problem.by_lbfgs(np.zeros(len(u)), 1e-6)
        table.append(
            {
                "class": name,
                "pyanom CPU": seconds,
                "its objective": problem.objective(theta),
                "objective of no change": problem.objective(np.zeros(len(u))),
                "optimum": problem.objective(best),
                "L-BFGS CPU": time.process_time() - start,
                "pyanom version": theirs["version"],
            }
        )
    return table
