"""Accelerated proximal gradients on the primal density-ratio problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.solvers.change.ratio_certificate import log_softmax
from edgewise.solvers.change.ratio_problem import Certificate, Coefficients, RatioProblem

#: Steps between two looks at the gap.
CHECK = 10
#: Share by which the curvature is lowered at every step, so that steps can grow again.
EASE = 0.97


@dataclass(frozen=True, kw_only=True, eq=False)
class PrimalResult:
    """Where the gradient steps stopped."""

    theta: Coefficients
    log_ratio: FloatArray
    certificate: Certificate
    n_iter: int
    history: list[float]


def accelerated_gradients(
    problem: RatioProblem,
    alpha: float,
    start: Coefficients,
    *,
    gap: float,
    slightly: float,
    max_iter: int,
    spread: float,
) -> PrimalResult:
    """Step until the gap is small, with an excess of at most ``slightly``.

    Momentum starts anew whenever it points uphill. Steps end when the log ratios of two rows are
    ``spread`` apart: without a ridge the objective then has no minimum.
    """
    theta, ratio = start, problem.log_ratio(start)
    ahead, ratio_ahead = theta, ratio
    momentum, curvature = 1.0, problem.feature_variance() + problem.ridge
    history: list[float] = []
    for n_iter in range(max_iter + 1):
        if n_iter % CHECK == 0 or n_iter == max_iter:
            found = problem.certify(theta, ratio, log_softmax(ratio), alpha)
            history.append(found.gap)
            if found.gap <= gap and found.excess <= slightly:
                break
            if n_iter == max_iter or np.ptp(ratio) > spread:
                break
        moved, moved_ratio, curvature = _step(problem, alpha, ahead, ratio_ahead, curvature)
        forward = moved.plus(theta, -1.0)
        if ahead.dot(forward) > moved.dot(forward):
            momentum, ahead, ratio_ahead = 1.0, moved, moved_ratio
        else:
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            share = (momentum - 1.0) / following
            ahead = moved.plus(forward, share)
            ratio_ahead = moved_ratio + share * (moved_ratio - ratio)
            momentum = following
        theta, ratio = moved, moved_ratio
        curvature *= EASE
    return PrimalResult(
        theta=theta, log_ratio=ratio, certificate=found, n_iter=n_iter, history=history
    )


def _step(
    problem: RatioProblem,
    alpha: float,
    ahead: Coefficients,
    ratio_ahead: FloatArray,
    curvature: float,
) -> tuple[Coefficients, FloatArray, float]:
    """One proximal step, with the curvature doubled until it bounds the loss from above."""
    loss = problem.loss(ahead, ratio_ahead)
    moments = problem.features.moments(np.exp(log_softmax(ratio_ahead)))
    while True:
        shift = ahead.scaled(curvature - problem.ridge)
        moved = problem.shrink(moments, alpha, curvature, shift)
        ratio = problem.log_ratio(moved)
        step = moved.plus(ahead, -1.0)
        squares = float(np.sum(step.values**2))
        slope = problem.ridge * ahead.dot(step) - float(
            np.sum(problem.slack(moments, step.pairs) * step.values)
        )
        bound = loss + slope + 0.5 * curvature * squares
        if problem.loss(moved, ratio) <= bound + 1e-13 * max(1.0, abs(loss)):
            return moved, ratio, curvature
        curvature *= 2.0
