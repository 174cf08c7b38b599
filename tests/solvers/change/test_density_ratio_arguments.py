"""Arguments of the density-ratio solver: that each of them matters, and which are refused."""

import numpy as np
import pytest

from edgewise import InputError
from edgewise.solvers import density_ratio
from edgewise.solvers.change.density_ratio import (
    density_ratio_path,
    log_density_ratio,
    ratio_alpha_max,
    ratio_alpha_min,
)
from tests.messages import raises
from tests.solvers.change.ratio_problems import problem


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ("ridge", 1.0),
        ("basis", "power"),
        ("degree", 3),
        ("penalize_diagonal", False),
        ("power_scale", np.full((2, 5), 2.0)),
    ],
)
def test_options_matter(changed, value):
    X_p, X_q, _ = problem(seed=33)
    options = {"ridge": 0.1, "basis": "polynomial", "degree": 2}
    plain = density_ratio(X_p, X_q, 0.2, **options).value
    other = density_ratio(X_p, X_q, 0.2, **options | {changed: value}).value
    assert plain.shape != other.shape or np.abs(plain - other).max() > 1e-2


def test_scales_of_powers_are_those_of_the_features():
    X_p, X_q, _ = problem(seed=34)
    scale = np.stack([np.full(5, 2.0), np.full(5, 4.0)])
    options = {"basis": "polynomial", "degree": 2}
    scaled = density_ratio(X_p, X_q, 0.2, power_scale=scale, **options)
    plain = density_ratio(X_p / 2.0, X_q / 2.0, 0.2, **options)
    np.testing.assert_allclose(scaled.value, plain.value, atol=1e-12)
    np.testing.assert_allclose(
        log_density_ratio(X_q, scaled.value, power_scale=scale, **options),
        log_density_ratio(X_q / 2.0, plain.value, **options),
        atol=1e-10,
    )
    for bound in (ratio_alpha_max, ratio_alpha_min):
        assert bound(X_p, X_q, power_scale=scale, **options) == pytest.approx(
            bound(X_p / 2.0, X_q / 2.0, **options)
        )


def test_tol_and_max_iter():
    X_p, X_q, _ = problem(seed=35, d=10)
    options = {"ridge": 0.01, "solver": "dual", "decide": 0.0}
    rough, sharp = (density_ratio(X_p, X_q, 0.1, tol=tol, **options) for tol in (1e-1, 1e-11))
    assert rough.n_iter < sharp.n_iter
    assert sharp.gap <= 1e-10 < rough.gap <= 1.0
    short = density_ratio(X_p, X_q, 0.1, max_iter=2, **options)
    assert short.n_iter == 2
    assert not short.converged
    assert short.gap > 1e-7
    short = density_ratio(X_p, X_q, 0.1, max_iter=1, ridge=0.01, solver="primal")
    assert short.n_iter == 100
    assert not short.converged


def test_solvers_are_what_they_say():
    X_p, X_q, _ = problem(seed=36, d=10)
    options = {"ridge": 0.05, "max_iter": 3}
    dual, auto, primal = (
        density_ratio(X_p, X_q, 0.1, solver=solver, **options)
        for solver in ("dual", "auto", "primal")
    )
    assert not dual.converged
    assert auto.converged
    assert auto.n_iter > 10
    # The primal solver starts anew, the other where the dual one stopped.
    assert primal.n_iter % 10 == 0
    assert (auto.n_iter - dual.n_iter) % 10 == 0
    assert len(auto.history) > len(dual.history)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"alpha": -0.1}, "finite_non_negative"),
        ({"alpha": np.nan}, "finite_non_negative"),
        ({"ridge": -1.0}, "finite_non_negative"),
        ({"ridge": np.nan}, "finite_non_negative"),
        ({"ridge": 0.0, "alpha": 0.0}, "ridge_and_alpha_zero"),
        ({"tol": 0.0}, "tol_positive"),
        ({"max_iter": 0}, "max_iter_range"),
        ({"solver": "newton"}, "ratio_solver"),
        ({"basis": "fourier"}, "unknown_basis"),
        ({"X_p": np.ones(5)}, "rows_table_shape"),
        ({"X_q": np.ones((0, 5))}, "rows_table_shape"),
        ({"X_q": np.ones((3, 4))}, "group_column_count"),
        ({"X_p": np.full((3, 5), np.nan)}, "rows_not_finite_named"),
        ({"X_q": np.full((3, 5), np.inf)}, "rows_not_finite_named"),
        ({"offset": np.ones(3)}, "offset_length"),
        ({"offset": np.full(25, np.nan)}, "offset_length"),
        ({"init": np.ones((5, 4))}, "theta_shape"),
        ({"init": np.full((5, 5), np.nan)}, "theta_shape"),
        ({"basis": lambda a, b: np.ones((len(a), len(a)))}, "basis_feature_count"),
    ],
)
def test_refuses(changed, message):
    X_p, X_q, _ = problem(seed=37)
    arguments = {"X_p": X_p, "X_q": X_q, "alpha": 0.1} | changed
    with raises(InputError, code=message):
        density_ratio(**arguments)


def test_a_path_refuses_before_it_is_walked():
    X_p, X_q, _ = problem(seed=38)
    with raises(InputError, code="finite_non_negative", parameter="alpha", name="alpha"):
        density_ratio_path(X_p, X_q, [0.1, -1.0])
    with raises(InputError, code="theta_shape", name="init", d=5):
        density_ratio_path(X_p, X_q, [0.1], init=np.ones(3))
    assert list(density_ratio_path(X_p, X_q, [], ridge=0.0)) == []


def test_log_density_ratio_refuses():
    with raises(InputError, code="theta_shape", name="theta", d=2):
        log_density_ratio(np.ones((3, 2)), np.ones((3, 3, 1)))
    with raises(InputError, code="table_required", shape=[3]):
        log_density_ratio(np.ones(3), np.ones((3, 3, 1)))
    values = log_density_ratio(np.ones((3, 2)), np.ones((2, 2)))
    np.testing.assert_allclose(values, [3.0, 3.0, 3.0])
