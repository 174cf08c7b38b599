"""The path of one cell by the general solver, for the few problems that small descent gives up."""

from __future__ import annotations

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.solvers.covariates.cell_path import BEST, LASSO, LASSO_TOL, REFIT, Choice, PathRules
from edgewise.solvers.gaussian.graphical_lasso import PrecisionSolution, alpha_max, graphical_lasso
from edgewise.solvers.gaussian.refit_precision import refit_precision


def best_by_general_solver(
    S: FloatArray, S_val: FloatArray, n: float, rules: PathRules, precision: FloatArray
) -> Choice:
    """Do what `edgewise.solvers.covariates.cell_path.best_on_path` does, at a hundred times the cost."""
    p = len(S)
    if rules.rate > 0.0:
        alphas = np.array([rules.rate * np.sqrt(np.log(p) / n)])
    else:
        alphas = alpha_max(S) * np.geomspace(1.0, rules.ratio, rules.n_alphas)
    price = (np.log(n) + 2.0 * np.log(p)) / n if rules.price_edges else 0.0
    best = Choice(np.inf, float(alphas[0]), False, True)
    start: FloatArray | None = None
    estimate = rules.estimate
    n_worse = 0
    for alpha in alphas:
        solution = graphical_lasso(
            S,
            float(alpha),
            penalize_diagonal=rules.penalize_diagonal,
            init=start,
            tol=LASSO_TOL,
        )
        start = solution.value
        risk, is_refit, value = _judge(S, S_val, solution, estimate)
        if estimate == REFIT and not is_refit:
            estimate = LASSO
        risk += price * (np.count_nonzero(start) - p) / 2
        if risk < best.risk:
            best = Choice(risk, float(alpha), is_refit, True)
            precision[:] = value
            n_worse = 0
        else:
            n_worse += 1
            if n_worse >= rules.patience:
                break
    return best


def _judge(
    S: FloatArray, S_val: FloatArray, solution: PrecisionSolution, estimate: int
) -> tuple[float, bool, FloatArray]:
    """Risk of the estimate that the rules ask for, whether it is a refit, and itself."""
    lasso = _risk(solution.value, S_val)
    if estimate != LASSO:
        refit = refit_precision(S, solution.value != 0.0)
        risk = _risk(refit.value, S_val) if refit.exists else np.inf
        if refit.exists and (estimate != BEST or risk < lasso):
            return risk, True, refit.value
    return lasso, False, solution.value


def _risk(Theta: FloatArray, S: FloatArray) -> float:
    return float(np.vdot(Theta, S)) - float(np.linalg.slogdet(Theta)[1])
