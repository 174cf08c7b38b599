"""The certificate of the D-trace solver where rounding matters, against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from edgewise.solvers.change.dtrace import dtrace, dtrace_alpha_max

#: Powers of a half by which two columns differ.
CLOSENESS = (2, 10, 13, 15)


def exact_covariance(rng, d, closeness):
    """Second moments of whole numbers and a near copy of one column, without any rounding."""
    X = rng.integers(-8, 9, size=(16, d)).astype(float)
    X[:, -1] = X[:, 0] + 0.5**closeness * rng.integers(-2, 3, size=16)
    return X.T @ X / 16.0


def exact_objective(S_q, S_p, alpha, Delta, *, ridge, penalize_diagonal):
    A, B, D = (np.vectorize(Fraction)(M) for M in (S_p, S_q, Delta))
    size = np.abs(D).sum() - (0 if penalize_diagonal else np.abs(D.diagonal()).sum())
    quadratic = ((A @ D @ B) * D).sum() / 2 + Fraction(ridge) * (D * D).sum() / 2
    return quadratic - ((B - A) * D).sum() + Fraction(alpha) * size


@pytest.mark.slow
@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.5**27])
@pytest.mark.parametrize("closeness", CLOSENESS)
def test_nothing_lies_further_below_than_the_gap(closeness, ridge, penalize_diagonal):
    rng = np.random.default_rng(closeness)
    options = {"ridge": ridge, "penalize_diagonal": penalize_diagonal}
    for _ in range(6):
        d = int(rng.integers(2, 6))
        S_p, S_q = exact_covariance(rng, d, closeness), exact_covariance(rng, d, 1)
        if rng.random() < 0.5:
            S_p, S_q = S_q, S_p
        alpha = 10.0 ** rng.uniform(-4, 0) * dtrace_alpha_max(S_q, S_p, **options)
        start = rng.normal(size=(d, d))
        found = [
            dtrace(S_q, S_p, alpha, max_iter=max_iter, init=init, **options)
            for max_iter in (1, 2, 3, 5, 200)
            for init in (None, start)
        ]
        values = [exact_objective(S_q, S_p, alpha, one.value, **options) for one in found]
        for one, value in zip(found, values, strict=True):
            assert float(value - min(values)) <= one.gap
        if closeness == CLOSENESS[0] and ridge == 0.0:
            assert found[-1].converged


def test_factors_that_leave_something_out_are_not_used():
    """A column of tiny variance, which the factors drop as rounding of the others."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, 4, 12))
    rows[:, :, -1] *= 1e-9
    S_q, S_p = (X.T @ X for X in rows)
    alpha = 0.5 * dtrace_alpha_max(S_q, S_p)
    found = dtrace(S_q, S_p, alpha, ridge=1e-3)
    value = 0.5 * np.sum(S_p @ found.value @ S_q * found.value)
    value += 0.5e-3 * np.sum(found.value**2) + alpha * np.abs(found.value).sum()
    value -= np.sum((S_q - S_p) * found.value)
    assert found.objective == pytest.approx(value, rel=1e-12)
