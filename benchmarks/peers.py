"""Every solver behind one face: settings from loose to tight, and a timed call."""

# The methods are described once, in Peer.
# ruff: noqa: D102

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
import time
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Setting = dict[str, Any]
Ladders = dict[str, list[Setting]]

#: Folder that holds the compiled ``pyquic`` module; see README.md for how to build it.
QUIC_FOLDER = "EDGEWISE_BENCH_QUIC"


class PeerMissingError(RuntimeError):
    """The peer is not installed here; the message says what was looked for."""


def half_decades(first: float, last: float) -> list[float]:
    """Powers of ten from ``10 ** -first`` down to ``10 ** -last`` in half decades."""
    return [10.0 ** (-k / 2) for k in range(round(2 * first), round(2 * last) + 1)]


class Peer:
    """One solver of ``tr(S Omega) - logdet Omega + alpha * sum_{i != j} |Omega_ij|``."""

    name: ClassVar[str]
    #: The certificate the solver reports itself, per variable, where it has one.
    own_gap: float | None = None

    def version(self) -> str:
        """Name and version of the package behind the solver."""
        raise NotImplementedError

    def ladders(self, p: int) -> Ladders:
        """Variants of the solver, each a list of settings from loose to tight."""
        raise NotImplementedError

    def path_ladders(self, p: int) -> Ladders:
        """Variants for a sequence of penalties; none where the peer is not run on those."""
        return {}

    def prepare(self, S: FloatArray, alpha: float) -> None:
        """Take the problem in; not timed."""
        self.S = S
        self.alpha = alpha

    def solve(self, setting: Setting) -> FloatArray:
        """Solve the prepared problem from a cold start: the call that is timed."""
        raise NotImplementedError

    def solve_path(self, S: FloatArray, alphas: FloatArray, setting: Setting) -> list[FloatArray]:
        """Solve for decreasing penalties, each from the solution before: timed too."""
        raise NotImplementedError

    def measure(self, setting: Setting, number: int) -> tuple[float, FloatArray]:
        """Wall seconds of one of ``number`` calls in a row, and the estimate."""
        start = time.perf_counter()
        for _ in range(number):
            omega = self.solve(setting)
        return (time.perf_counter() - start) / number, omega

    def measure_paths(
        self, stack: FloatArray, alphas: FloatArray, setting: Setting
    ) -> tuple[float, FloatArray]:
        """Wall seconds for the paths of all matrices in ``stack``, and the estimates."""
        start = time.perf_counter()
        paths = [self.solve_path(S, alphas, setting) for S in stack]
        return time.perf_counter() - start, np.array(paths)


def require(module: str) -> Any:
    """Import ``module``, or say that the peer is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PeerMissingError(f"{module} cannot be imported ({error})") from error


class Ours(Peer):
    """Edgewise, with its certificate and the covariance counted."""

    name = "ours"

    def __init__(self) -> None:
        self.solvers = require("edgewise.solvers")

    def version(self) -> str:
        return f"edgewise {importlib.metadata.version('edgewise')}"

    def ladders(self, p: int) -> Ladders:
        return {"": [{"tol": 1e-6}]}

    path_ladders = ladders

    def solve(self, setting: Setting) -> FloatArray:
        solution = self.solvers.graphical_lasso(self.S, self.alpha, **setting)
        self.own_gap = solution.gap / len(self.S)
        omega: FloatArray = solution.value
        return omega

    def solve_path(self, S: FloatArray, alphas: FloatArray, setting: Setting) -> list[FloatArray]:
        path = self.solvers.graphical_lasso_path(S, alphas, **setting)
        return [solution.value for solution in path]


class Quic(Peer):
    """QUIC, the C++ core of skggm, called as skggm does but without skggm's checks."""

    name = "QUIC"

    def __init__(self) -> None:
        folder = os.environ.get(QUIC_FOLDER)
        if folder:
            sys.path.insert(0, folder)
        self.quic = require("pyquic").quic

    def version(self) -> str:
        return "QUIC 1.2 (core of skggm 0.2.8)"

    def ladders(self, p: int) -> Ladders:
        return {"": [{"tol": tol} for tol in half_decades(0, 10)]}

    path_ladders = ladders

    def prepare(self, S: FloatArray, alpha: float) -> None:
        super().prepare(S, alpha)
        self.penalty = np.full_like(S, alpha)
        np.fill_diagonal(self.penalty, 0.0)

    def solve(self, setting: Setting) -> FloatArray:
        p = len(self.S)
        omega, covariance = np.eye(p), np.eye(p)
        self._call(b"default", self.S, self.penalty, np.ones(1), setting["tol"], omega, covariance)
        return omega

    def solve_path(self, S: FloatArray, alphas: FloatArray, setting: Setting) -> list[FloatArray]:
        p = len(S)
        shape = (len(alphas), p * p)
        omega, covariance = np.empty(shape), np.empty(shape)
        omega[0] = covariance[0] = np.eye(p).ravel()
        penalty = 1.0 - np.eye(p)
        self._call(b"path", S, penalty, alphas, setting["tol"], omega, covariance)
        return list(omega.reshape(-1, p, p))

    def _call(
        self,
        mode: bytes,
        S: FloatArray,
        penalty: FloatArray,
        path: FloatArray,
        tol: float,
        omega: FloatArray,
        covariance: FloatArray,
    ) -> None:
        length = len(path)
        report = [np.zeros(length) for _ in range(3)]
        iterations = np.zeros(length, dtype=np.uint32)
        self.quic(
            mode, len(S), S, penalty, length, path, tol, 0, 10_000,
            omega, covariance, report[0], report[1], iterations, report[2],
        )  # fmt: skip


class Sklearn(Peer):
    """scikit-learn's function with its two tolerances tied together three ways."""

    name = "sklearn"

    def __init__(self) -> None:
        self.module = require("sklearn.covariance._graph_lasso")

    def version(self) -> str:
        return f"scikit-learn {importlib.metadata.version('scikit-learn')}"

    def ladders(self, p: int) -> Ladders:
        # The defaults stall: the inner tolerance must follow the outer one. Which tie is best
        # depends on the problem, so the quickest of three is reported.
        ties = {"enet = tol/p": 1.0, "enet = 10 tol/p": 10.0, "enet 1e-6": 0.0}
        return {
            label: [
                {"tol": rung * p, "enet_tol": rung * factor if factor else 1e-6}
                for rung in half_decades(4, 9)
            ]
            for label, factor in ties.items()
        }

    path_ladders = ladders

    def solve(self, setting: Setting) -> FloatArray:
        omega: FloatArray
        _, omega = self.module.graphical_lasso(self.S, self.alpha, max_iter=500, **setting)
        return omega

    def solve_path(self, S: FloatArray, alphas: FloatArray, setting: Setting) -> list[FloatArray]:
        # Warm starts have no public argument; the private function is given its due.
        omegas = []
        covariance = None
        for alpha in alphas:
            covariance, omega, _, _ = self.module._graphical_lasso(
                S, alpha, cov_init=covariance, max_iter=100, **setting
            )
            omegas.append(omega)
        return omegas


class Skglm(Peer):
    """skglm's estimator; its primal algorithm is the one that takes warm starts."""

    name = "skglm"

    def __init__(self) -> None:
        self.estimator = require("skglm.covariance").GraphicalLasso

    def version(self) -> str:
        return f"skglm {importlib.metadata.version('skglm')}"

    def ladders(self, p: int) -> Ladders:
        # From p = 100 on the primal algorithm takes several times as long as the dual one.
        return self._ladders(("dual", "primal") if p < 100 else ("dual",))

    def path_ladders(self, p: int) -> Ladders:
        return self._ladders(("dual", "primal"))

    def _ladders(self, algorithms: tuple[str, ...]) -> Ladders:
        rungs = half_decades(0, 8)
        ladders: Ladders = {}
        for algo in algorithms:
            ladders[f"{algo}, inner 1e-4"] = [
                {"algo": algo, "tol": tol, "inner_tol": 1e-4} for tol in rungs
            ]
            ladders[f"{algo}, inner = tol/100"] = [
                {"algo": algo, "tol": tol, "inner_tol": tol / 100} for tol in rungs
            ]
        return ladders

    def solve(self, setting: Setting) -> FloatArray:
        model = self.estimator(alpha=self.alpha, max_iter=1000, **setting)
        omega: FloatArray = model.fit(self.S, mode="precomputed").precision_
        return omega

    def solve_path(self, S: FloatArray, alphas: FloatArray, setting: Setting) -> list[FloatArray]:
        is_warm = setting["algo"] == "primal"
        model = self.estimator(max_iter=1000, warm_start=is_warm, **setting)
        omegas = []
        for alpha in alphas:
            model.alpha = alpha
            # The estimator goes on writing into the arrays of the fit before.
            omegas.append(model.fit(S, mode="precomputed").precision_.copy())
        return omegas


class GglassoAdmm(Peer):
    """GGLasso's ADMM for one graph."""

    name = "gglasso ADMM"

    def __init__(self) -> None:
        self.module = require("gglasso.solver.single_admm_solver")

    def version(self) -> str:
        return f"gglasso {importlib.metadata.version('gglasso')}"

    def ladders(self, p: int) -> Ladders:
        rungs = half_decades(2, 8)
        return {"": [{"rtol": rtol, "tol": 1e-4 * rtol, "max_iter": 10_000} for rtol in rungs]}

    path_ladders = ladders

    def solve(self, setting: Setting) -> FloatArray:
        result, _ = self.module.ADMM_SGL(self.S, self.alpha, np.eye(len(self.S)), **setting)
        omega: FloatArray = result["Theta"]
        return omega

    def solve_path(self, S: FloatArray, alphas: FloatArray, setting: Setting) -> list[FloatArray]:
        omegas = []
        start = {"Omega_0": np.eye(len(S))}
        for alpha in alphas:
            result, _ = self.module.ADMM_SGL(S, alpha, **start, **setting)
            start = {f"{key}_0": result[key] for key in ("Omega", "Theta", "X")}
            omegas.append(result["Theta"])
        return omegas


class GglassoBlock(GglassoAdmm):
    """The same after a split into connected components."""

    name = "gglasso block"

    def path_ladders(self, p: int) -> Ladders:
        return {}

    def solve(self, setting: Setting) -> FloatArray:
        result = self.module.block_SGL(self.S, self.alpha, np.eye(len(self.S)), **setting)
        omega: FloatArray = result["Theta"]
        return omega
