"""Solvers on a CUDA GPU beside the same solvers on the CPU, at equal duality gap.

``python -m benchmarks.gpu`` prints all tables in five minutes, with names behind it some of them
(ratios, lassos, grids, joints, small); it takes PyTorch and a GPU. ``--no-cpu`` leaves the CPU out.
Seconds are those of a whole solve, the copies of the input to the device and of the result back
included, second solve of a process. CPU solves are left out where they would take too long.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from edgewise._core.arrays import to_numpy
from edgewise.data import neighbor_pairs
from edgewise.data.simulate.space import _draw_blocks, joined_boxes
from edgewise.solvers import (
    density_ratio,
    graphical_lasso,
    joint_graphical_lasso,
    locally_constant,
)
from edgewise.solvers.change.density_ratio import density_ratio_path, ratio_alpha_max

#: Whether the CPU is timed too.
HAS_CPU = "--no-cpu" not in sys.argv


@dataclass(frozen=True)
class Row:
    """A problem: its name, variables, and whether the CPU solves it in reasonable time."""

    kind: str
    p: int
    has_cpu: bool = False


LASSOS = (
    Row("ar1 0.2", 1000, True),
    Row("ar1 0.2", 2000, True),
    Row("ar1 0.05", 2000),
    Row("equal 0.3", 1000, True),
    Row("equal 0.3", 2000),
    Row("equal 0.3", 5000),
    Row("wide 0.05", 1000, True),
    Row("wide 0.05", 2000, True),
    Row("wide 0.05", 5000),
    Row("wide 0.05", 10000),
    Row("dense", 1000, True),
    Row("dense", 2000, True),
    Row("dense", 5000),
    Row("dense", 10000),
    Row("sparse", 1000, True),
    Row("sparse", 2000, True),
    Row("sparse", 5000, True),
    Row("sparse", 10000),
    Row("dense", 20000),
)


def covariance(torch: Any, row: Row) -> tuple[Any, float]:
    """Correlations of samples on the device, and the penalty."""
    p = row.p
    kind, _, number = row.kind.partition(" ")
    normal: Callable[..., Any] = torch.Generator(device="cuda").manual_seed(p)

    def draw(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda", dtype=torch.float64, generator=normal)

    n = {"ar1": 1.7, "equal": 2.0, "wide": 0.5, "dense": 3.3, "sparse": 0.5}[kind] * p
    n = int(n)
    if kind == "ar1":
        X = draw(p, n)
        X[1:] *= (1 - 0.95**2) ** 0.5
        for i in range(1, p):
            X[i] += 0.95 * X[i - 1]
    elif kind == "equal":
        X = draw(p, n) + draw(1, n)
    else:
        precision = _random_precision(torch, p, 50 if kind == "dense" else 3, normal)
        factor = torch.linalg.cholesky(precision)
        X = torch.linalg.solve_triangular(factor.T, draw(p, n), upper=True)
    X = X - X.mean(1, keepdim=True)
    X /= X.norm(dim=1, keepdim=True)
    S = X @ X.T
    S = (S + S.T) / 2
    S.fill_diagonal_(1.0)
    if kind == "wide":
        return S, float(number) * float(torch.triu(S, 1).abs().max())
    if kind in ("dense", "sparse"):
        return S, (0.55 if kind == "dense" else 1.2) * float(np.sqrt(np.log(p) / n))
    return S, float(number)


def _random_precision(torch: Any, p: int, degree: int, generator: Any) -> Any:
    """Diagonally dominant, with ``degree`` neighbours per variable on average."""
    ends = torch.randint(p, (2, p * degree // 2), device="cuda", generator=generator)
    ends = ends[:, ends[0] != ends[1]]
    weight = torch.rand(ends.shape[1], device="cuda", dtype=torch.float64, generator=generator)
    sign = torch.randint(2, (ends.shape[1],), device="cuda", generator=generator) * 2 - 1
    K = torch.zeros(p, p, device="cuda", dtype=torch.float64)
    K[ends[0], ends[1]] = (0.3 + 0.7 * weight) * sign
    K = K + K.T
    K.diagonal().copy_(K.abs().sum(0) + 0.3)
    return K


def timed(solve: Callable[[], Any]) -> tuple[float, Any]:
    """Run once; return seconds and result."""
    begin = time.perf_counter()
    result = solve()
    return time.perf_counter() - begin, result


#: Basis, columns and rows of the density ratios, and whether the CPU solves them.
RATIOS = (
    ("gaussian", 500, 150, True),
    ("gaussian", 1000, 150, True),
    ("gaussian", 5000, 150, False),
    ("gaussian", 10000, 150, False),
    ("gaussian", 20000, 150, False),
    ("polynomial", 500, 150, True),
    ("polynomial", 1000, 150, False),
    ("polynomial", 5000, 150, False),
)


def change(torch: Any, d: int, n: int) -> tuple[Any, Any]:
    """Rows after and before 15 edges changed, with unit variances."""
    generator = torch.Generator(device="cuda").manual_seed(d)
    before = _random_precision(torch, d, 10, generator)
    after = before.clone()
    for i in range(0, 30, 2):
        after[i, i + 1] = after[i + 1, i] = 0.5 * float(after[i, i] * after[i + 1, i + 1]) ** 0.5
    groups = []
    for K in (after, before):
        noise = torch.randn(d, n, device="cuda", dtype=torch.float64, generator=generator)
        factor = torch.linalg.cholesky(K)
        X = torch.linalg.solve_triangular(factor.T, noise, upper=True).T
        groups.append(to_numpy(X / X.std(0)).copy())
    return groups[0], groups[1]


def walk(after: Any, before: Any, alphas: Any, basis: str) -> tuple[int, float, Any]:
    """Solve a path of density ratios; return its steps, worst gap and last coefficients."""
    steps, gap = 0, 0.0
    for one in density_ratio_path(after, before, alphas, basis=basis, tol=1e-6 / after.shape[1]):
        steps, gap, value = steps + one.n_iter, max(gap, one.gap), one.value
    return steps, gap, value


def count_pairs(torch: Any, value: Any) -> int:
    """Count the pairs that changed, where they are: on the host it would take seconds."""
    is_active = torch.asarray(value)[:, :, 0] != 0
    return int(torch.count_nonzero(is_active) + torch.count_nonzero(is_active.diagonal())) // 2


def print_ratios(torch: Any) -> None:
    """Print the paths of 20 alphas down to a fifth of the largest."""
    print("| density ratio, basis | d | n | GPU, s | steps | worst gap | active | CPU, s | apart |")
    print("|---|---|---|---|---|---|---|---|---|")
    for basis, d, n, has_cpu in (RATIOS[0], *RATIOS):
        groups = change(torch, d, n)
        begin = time.perf_counter()
        here = [torch.asarray(X, device="cuda") for X in groups]
        alphas = np.geomspace(1.0, 0.2, 20) * ratio_alpha_max(*here, basis=basis)
        steps, gap, value = walk(*here, alphas, basis)
        host = to_numpy(value)
        seconds, cpu, apart = time.perf_counter() - begin, "", ""
        n_active = count_pairs(torch, value)
        if has_cpu and HAS_CPU:
            begin = time.perf_counter()
            other = walk(*groups, alphas, basis)[2]
            cpu = f"{time.perf_counter() - begin:.2f}"
            apart = f"{np.abs(host - other).max():.0e}"
        print(
            f"| {basis} | {d} | {n} | {seconds:.2f} | {steps} | {gap:.0e} | {n_active} | {cpu} "
            f"| {apart} |",
            flush=True,
        )
        del here, value, host
        torch.cuda.empty_cache()


#: Sides of square grids, and how many of the strengths the CPU solves; the first is a warm-up.
GRIDS = ((10, 4), (10, 4), (16, 4), (20, 4), (32, 4), (48, 1), (64, 0), (100, 0))
#: Strengths alpha and tau of `benchmarks.space`.
STRENGTHS = ((0.1, 0.02), (0.1, 0.1), (0.03, 0.03), (0.01, 0.1))


def boxes(torch: Any, side: int) -> Any:
    """Correlations of 200 rows on a grid where boxes of 9 sites are joined, one per 50 sites."""
    p, rng = side * side, np.random.default_rng(zlib.crc32(f"grid {side}x{side}".encode()))
    # `edgewise.data.make_block_model`, but for the eigenvalues, which take too long on the host.
    _, blocks = _draw_blocks((side, side), max(2, p // 50), 3, (0.15, 0.4), rng)
    K = torch.asarray(joined_boxes(blocks, p), device="cuda")
    K.fill_diagonal_(max(1.0, 0.2 - float(torch.linalg.eigvalsh(K)[0])))
    torch.manual_seed(side)
    noise = torch.randn(p, 200, device="cuda", dtype=torch.float64)
    X = torch.linalg.solve_triangular(torch.linalg.cholesky(K).T, noise, upper=True)
    return to_numpy(torch.corrcoef(X)).copy()


def print_grids(torch: Any) -> None:
    """Print locally constant models on grids, for four pairs of strengths each."""
    print(
        "| locally constant, grid | alpha, tau | GPU, s | iterations | gap / p | CPU, s | apart |"
    )
    print("|---|---|---|---|---|---|---|")
    for side, n_cpu in GRIDS:
        S, pairs = boxes(torch, side), neighbor_pairs((side, side), side * side)
        np.fill_diagonal(S, 1.0)
        for k, (alpha, tau) in enumerate(STRENGTHS):

            def on_device(S: Any = S, pairs: Any = pairs, a: float = alpha, t: float = tau) -> Any:
                found = locally_constant(torch.asarray(S, device="cuda"), a, t, pairs)
                return found, to_numpy(found.value)

            seconds, (found, _) = timed(on_device)
            words, apart = "", ""
            if k < n_cpu and HAS_CPU:
                begin = time.perf_counter()
                other = locally_constant(S, alpha, tau, pairs)
                words = f"{time.perf_counter() - begin:.2f}"
                apart = f"{abs(found.objective - other.objective) / len(S):.0e}"
            print(
                f"| {side} x {side} | {alpha:g}, {tau:g} | {seconds:.2f} | {found.n_iter} "
                f"| {found.gap / len(S):.0e} | {words} | {apart} |",
                flush=True,
            )
            del found
            torch.cuda.empty_cache()


#: Variables of three groups, and whether the CPU solves them.
JOINTS = ((1000, True), (2000, True), (5000, False))


def print_joints(torch: Any) -> None:
    """Print three groups that share most of 3 edges per variable, for both penalties."""
    print("| joint, penalty | p | alpha | GPU, s | iterations | gap / 3 p | CPU, s | apart |")
    print("|---|---|---|---|---|---|---|---|")
    tasks = [
        (p, has_cpu, penalty, share)
        for p, has_cpu in JOINTS
        for penalty in ("fused", "group")
        for share in (0.6, 0.2)
    ]
    data: dict[int, Any] = {}
    for p, has_cpu, penalty, share in (tasks[0], *tasks):
        if p not in data:
            data = {p: np.stack([to_numpy(_group(torch, p, k)) for k in range(3)])}
        S = data[p]
        alpha = share * float(np.abs(S[0] - np.eye(p)).max())

        def on_device(S: Any = S, alpha: float = alpha, penalty: Any = penalty) -> Any:
            here = torch.asarray(S, device="cuda")
            found = joint_graphical_lasso(here, alpha, 0.5 * alpha, penalty=penalty)
            return found, to_numpy(found.value)

        seconds, (found, _) = timed(on_device)
        words, apart = "", ""
        if has_cpu and HAS_CPU:
            begin = time.perf_counter()
            other = joint_graphical_lasso(S, alpha, 0.5 * alpha, penalty=penalty)
            words = f"{time.perf_counter() - begin:.2f}"
            apart = f"{abs(found.objective - other.objective) / (3 * p):.0e}"
        print(
            f"| {penalty} | {p} | {alpha:.2f} | {seconds:.2f} | {found.n_iter} "
            f"| {found.gap / (3 * p):.0e} | {words} | {apart} |",
            flush=True,
        )
        del found
        torch.cuda.empty_cache()


def _group(torch: Any, p: int, group: int) -> Any:
    """Correlations of half as many rows as variables; a tenth of the edges is the group's own."""
    common = torch.Generator(device="cuda").manual_seed(p)
    own = torch.Generator(device="cuda").manual_seed(p + 1 + group)
    K = _random_precision(torch, p, 3, common)
    extra = _random_precision(torch, p // 5, 3, own)
    K[: p // 5, : p // 5] += extra
    noise = torch.randn(p, p // 2, device="cuda", dtype=torch.float64, generator=own)
    X = torch.linalg.solve_triangular(torch.linalg.cholesky(K).T, noise, upper=True)
    S = torch.corrcoef(X)
    return (S + S.T) / 2


def print_lassos(torch: Any) -> None:
    """Print graphical lassos."""
    print("| graphical lasso | p | GPU, s | iterations | gap / p | CPU, s | apart |")
    print("|---|---|---|---|---|---|---|")
    if HAS_CPU:
        # Compiles descent and ascent.
        for kind in ("ar1 0.2", "equal 0.3"):
            S, alpha = covariance(torch, Row(kind, 300))
            graphical_lasso(to_numpy(S), alpha)
    # To warm up: one with small components, whose kernels are compiled for the host.
    for row in (Row("sparse", 2000), *LASSOS):
        S, alpha = covariance(torch, row)
        host = to_numpy(S)

        def on_device(host: Any = host, alpha: float = alpha) -> Any:
            found = graphical_lasso(torch.asarray(host, device="cuda"), alpha)
            return found, to_numpy(found.value)

        seconds, (found, _) = timed(on_device)
        words, apart = "", ""
        if row.has_cpu and HAS_CPU:
            cpu, other = timed(lambda host=host, alpha=alpha: graphical_lasso(host, alpha))
            words = f"{cpu:.2f}"
            apart = f"{abs(found.objective - other.objective) / row.p:.0e}"
        print(
            f"| {row.kind} | {row.p} | {seconds:.2f} | {found.n_iter} | {found.gap / row.p:.0e} "
            f"| {words} | {apart} |",
            flush=True,
        )
        del S, host, found
        torch.cuda.empty_cache()


def print_small(torch: Any) -> None:
    """Print a thousand small problems, which all cores of the CPU share and a GPU is not given."""
    print("| small problems | columns | rows | CPU, s |")
    print("|---|---|---|---|")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 50))
    orders = [rng.permutation(300) for _ in range(1000)]
    halves = [(X[order[:150]], X[order[150:]]) for order in orders]
    alpha = 0.5 * ratio_alpha_max(*halves[0])
    S = [np.corrcoef(after.T) for after, _ in halves]
    solves: dict[str, Callable[[int], Any]] = {
        "1,000 density ratios": lambda k: density_ratio(*halves[k], alpha, tol=1e-6 / 50),
        "1,000 graphical lassos": lambda k: graphical_lasso(S[k], 0.1),
    }
    for name, solve in solves.items():
        solve(0)
        # Threads of BLAS beside these would wait for each other.
        with threadpool_limits(1), Parallel(n_jobs=-1, backend="threading") as parallel:
            parallel(delayed(solve)(k) for k in range(16))
            seconds, _ = timed(
                lambda go=parallel, solve=solve: go(map(delayed(solve), range(1000)))
            )
        print(f"| {name} | 50 | 150 | {seconds:.2f} |", flush=True)


def main() -> None:
    """Print the tables that are asked for."""
    import torch

    print(torch.cuda.get_device_name(0))
    tables = {
        "ratios": print_ratios,
        "lassos": print_lassos,
        "grids": print_grids,
        "joints": print_joints,
        "small": print_small,
    }
    for name in [name for name in sys.argv[1:] if name in tables] or tables:
        tables[name](torch)


if __name__ == "__main__":
    main()
