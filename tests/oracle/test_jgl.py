"""Networks of several groups, beside the problem that R's JGL solves, written down for CVXPY.

JGL is not kept here as results: neither Debian nor a Python index has it. The objective is that of
Danaher, Wang and Witten (2014), with the package's own reading of its options: lambda2 of a fused
penalty is for the diagonal, too, whatever ``penalize.diagonal`` says of lambda1.
"""

import cvxpy as cp
import numpy as np
import pytest

from edgewise.solvers import joint_graphical_lasso
from edgewise.solvers.change.joint_path import joint_graphical_lasso_path

LAMBDA1, LAMBDA2 = 0.15, 0.1


def groups(n_groups, p=5):
    """Return covariances of groups, divided by n as in JGL, and their numbers of rows."""
    rng = np.random.default_rng(n_groups)
    mixing = np.eye(p) + 0.4 * rng.normal(size=(p, p))
    sizes = 30 + 15 * np.arange(n_groups)
    rows = [rng.normal(size=(n, p)) @ (mixing + 0.2 * rng.normal(size=(p, p))) for n in sizes]
    return np.stack([np.cov(X.T, bias=True) for X in rows]), sizes


def jgl(Theta, S, *, penalty, penalize_diagonal=False, weights):
    """Write JGL's objective, of CVXPY's variables or of numbers."""
    n_groups, p, _ = S.shape
    of_entries = np.ones((p, p)) - (0 if penalize_diagonal else np.eye(p))
    cost = 0
    for k in range(n_groups):
        cost += weights[k] * (cp.trace(S[k] @ Theta[k]) - cp.log_det(Theta[k]))
        cost += LAMBDA1 * cp.sum(cp.multiply(of_entries, cp.abs(Theta[k])))
        for m in range(k if penalty == "fused" else 0):
            cost += LAMBDA2 * cp.sum(cp.abs(Theta[k] - Theta[m]))
    if penalty == "group":
        for i, j in zip(*np.nonzero(of_entries), strict=True):
            cost += LAMBDA2 * cp.norm(cp.hstack([one[i, j] for one in Theta]))
    return cost


def hold_to_jgl(found, S, **options):
    """Hold precisions to the optimum; CVXPY's value is right to 1e-9, its matrices to less."""
    variables = [cp.Variable(one.shape, PSD=True) for one in S]
    problem = cp.Problem(cp.Minimize(jgl(variables, S, **options)))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    at_ours = jgl([cp.Constant(one) for one in found], S, **options).value
    assert at_ours == pytest.approx(problem.value, abs=1e-9)
    theirs = np.stack([one.value for one in variables])
    np.testing.assert_allclose(found, theirs, atol=5e-5)
    np.testing.assert_array_equal(np.abs(theirs) > 1e-4, np.abs(found) > 1e-4)
    assert (found == 0).any()


@pytest.mark.parametrize("weights", ["equal", "sample.size"])
def test_two_fused_groups(weights):
    S, sizes = groups(2)
    chosen = np.ones(2) if weights == "equal" else sizes / sizes.sum()
    options = {"group_weights": chosen, "penalize_diagonal": "coupling", "tol": 5e-12}
    (found,) = joint_graphical_lasso_path(S, LAMBDA1, [LAMBDA2], **options)
    hold_to_jgl(found.value, S, penalty="fused", weights=chosen)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weights", ["equal", "sample.size"])
@pytest.mark.parametrize(
    ("penalty", "penalize_diagonal"), [("fused", True), ("group", True), ("group", False)]
)
def test_any_number_of_groups(penalty, penalize_diagonal, weights, n_groups):
    S, sizes = groups(n_groups)
    options = {"penalty": penalty, "penalize_diagonal": penalize_diagonal}
    chosen = np.ones(n_groups) if weights == "equal" else sizes / sizes.sum()
    found = joint_graphical_lasso(S, LAMBDA1, LAMBDA2, group_weights=chosen, tol=1e-11, **options)
    hold_to_jgl(found.value, S, weights=chosen, **options)
