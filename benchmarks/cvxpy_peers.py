"""The locally constant problem through CVXPY."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.measure import THRESHOLD
from benchmarks.peers import Setting, half_decades
from benchmarks.report import say
from benchmarks.space_problems import Problem

#: Settings of each solver, from loose to tight.
LADDERS: dict[str, list[Setting]] = {
    "SCS": [{"eps_abs": eps, "eps_rel": eps, "max_iters": 100_000} for eps in half_decades(3, 8)],
    "Clarabel": [{}],
}


def time_cvxpy(
    solver: str, problem: Problem, alpha: float, tau: float, bound: float
) -> tuple[float, float]:
    """CPU seconds and gap per variable of the first setting that is accurate enough, or the last.

    The program is compiled beforehand, as our kernels are.
    """
    program, Theta = _program(problem, alpha, tau)
    program.get_problem_data(solver)
    for setting in LADDERS[solver]:
        start = time.process_time()
        program.solve(solver=solver, warm_start=False, **setting)
        seconds = time.process_time() - start
        gap = problem.excess(Theta.value, alpha, tau, bound) / problem.p
        say(f"  {solver}: {seconds:.3g} s, gap/p {gap:.1e}")
        if gap <= THRESHOLD:
            break
    return seconds, gap


def _program(problem: Problem, alpha: float, tau: float) -> tuple[Any, Any]:
    """State the problem with every entry and every difference once."""
    import cvxpy

    p, pairs = problem.p, problem.pairs
    Theta = cvxpy.Variable((p, p), symmetric=True)
    ends = np.repeat(pairs, p, axis=0)
    others = np.tile(np.arange(p), len(pairs))
    is_counted = (ends != others[:, None]).all(axis=1)
    ends, others = ends[is_counted], others[is_counted]
    each = np.arange(len(others))
    first, second = (
        sparse.csr_array((np.ones(len(each)), (each, end * p + others)), shape=(len(each), p * p))
        for end in ends.T
    )
    objective = (
        cvxpy.trace(problem.S @ Theta)
        - cvxpy.log_det(Theta)
        + alpha * cvxpy.trace(Theta)
        + 2 * alpha * cvxpy.norm1(cvxpy.upper_tri(Theta))
        + tau * cvxpy.norm1((first - second) @ cvxpy.vec(Theta, order="C"))
    )
    return cvxpy.Problem(cvxpy.Minimize(objective)), Theta
