"""The graphical lasso on arrays of other libraries agrees with numpy's to within the gaps."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from edgewise import GaussianGraph, LocallyConstantGraph
from edgewise._core import arrays
from edgewise._core.errors import InputError
from edgewise.solvers import graphical_lasso, graphical_lasso_path
from edgewise.solvers.device.graphical_lasso import DenseProblem, split_dense
from edgewise.solvers.gaussian.graphical_lasso import alpha_max
from tests.messages import raises
from tests.solvers.array_libraries import array_of, host, torch_on

__all__ = ["array_of"]


def covariance_of(p, n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 1:] += 0.7 * X[:, :-1]
    return np.cov(X.T)


def some_weights(p):
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2.0, (p, p))
    weights = (weights + weights.T) / 2
    weights[0, 1] = weights[1, 0] = np.inf
    weights[0, 3] = weights[3, 0] = 0.0
    return weights


@pytest.mark.parametrize("options", ["plain", "weights", "diagonal"])
def test_agrees_with_numpy(array_of, options):
    S = covariance_of(220, 110)
    given = {}
    if options == "weights":
        given = {"weights": some_weights(220)}
    elif options == "diagonal":
        given = {"penalize_diagonal": True}
    alpha = 0.25 * alpha_max(S)
    expected = graphical_lasso(S, alpha, **given)
    found = graphical_lasso(array_of(S), alpha, **given)
    assert type(found.value) is type(found.covariance) is type(array_of(S))
    assert found.converged
    assert 0 <= found.gap <= 1e-6 * 220
    assert abs(found.objective - expected.objective) <= found.gap + expected.gap
    value = host(found.value)
    np.testing.assert_array_equal(value, value.T)
    np.testing.assert_allclose(value @ host(found.covariance), np.eye(220), atol=1e-9)
    assert 220 < np.count_nonzero(value) < 220**2
    if options == "weights":
        assert value[0, 1] == 0


@pytest.mark.parametrize("p", [2, 7, 30])
def test_the_gap_holds_for_any_size(array_of, p):
    S = covariance_of(p, 3 * p, seed=p)
    alpha = 0.3 * alpha_max(S)
    problem, _ = DenseProblem.scaled(array_of(S), alpha, None, penalize_diagonal=False)
    best, _ = split_dense(problem, 1e-7 * p, 1000)
    expected = graphical_lasso(S, alpha, tol=1e-9)
    logdet = np.linalg.slogdet(host(best.Theta))[1]
    assert problem.objective(best.Theta, logdet) == pytest.approx(best.objective, abs=1e-10)
    assert best.gap <= 1e-7 * p
    shift = np.log(np.diag(S)).sum()
    assert best.objective + shift == pytest.approx(expected.objective, abs=2e-7 * p)


# Below 0.9 of all, a large component is cut out; above, all are solved as one.
@pytest.mark.parametrize("p", [250, 232])
def test_components_and_paths(array_of, p):
    # A large component for the device, a small one for the host, and single variables.
    S = np.eye(p)
    S[:210, :210] = covariance_of(210, 400)
    S[210:230, 210:230] = covariance_of(20, 60)
    alphas = [0.3, 0.8, 0.2]
    found = graphical_lasso_path(array_of(S), alphas)
    expected = graphical_lasso_path(S, alphas)
    for mine, other, alpha in zip(found, expected, alphas, strict=True):
        assert mine.alpha == alpha
        assert mine.converged
        assert abs(mine.objective - other.objective) <= mine.gap + other.gap + 1e-9
        np.testing.assert_array_equal(host(mine.value)[230:], np.eye(p)[230:])
        assert not host(mine.value)[:210, 210:230].any()
    start = host(found[2].value)
    again = graphical_lasso(array_of(S), 0.2, init=array_of(start))
    assert again.n_iter <= found[2].n_iter
    assert alpha_max(array_of(S)) == alpha_max(S)


def test_what_is_wrong_is_said(array_of):
    S = covariance_of(4, 20)
    with raises(InputError, code="covariance_not_square", shape=[3, 4]):
        graphical_lasso(array_of(S[:3]), 0.1)
    with raises(InputError, code="covariance_asymmetric_by"):
        graphical_lasso(array_of(S + np.triu(S, 1)), 0.1)
    with raises(InputError, code="covariances_not_finite"):
        graphical_lasso(array_of(S * np.nan), 0.1)
    with raises(InputError, code="variance_not_positive"):
        graphical_lasso(array_of(S * 0.0), 0.1)
    with raises(InputError, code="weights_symmetric_positive"):
        graphical_lasso(array_of(S), 0.1, weights=array_of(-S))
    with raises(InputError, code="finite_non_negative", parameter="alpha", name="alpha"):
        graphical_lasso(array_of(S), -0.1)


def test_without_a_gpu_a_sentence_says_so():
    try:
        import torch
    except ImportError:
        expected = "edgewise\\[gpu\\]"
    else:
        if torch.cuda.is_available():
            pytest.skip("there is a GPU")
        expected = "no CUDA GPU"
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(InputError, match=expected):
        GaussianGraph(0.1, device="cuda").fit(X)
    with pytest.raises(InputError, match=expected):
        LocallyConstantGraph(0.1, 0.1, device="cuda").fit(X)
    with raises(InputError, code="invalid_value", parameter="device"):
        GaussianGraph(0.1, device="tpu").fit(X)


def test_small_problems_are_left_to_the_cpu_by_auto():
    X = np.random.default_rng(0).normal(size=(30, 3))
    for chosen, plain in (
        (GaussianGraph(0.1, device="auto"), GaussianGraph(0.1)),
        (LocallyConstantGraph(0.1, 0.1, device="auto"), LocallyConstantGraph(0.1, 0.1)),
    ):
        np.testing.assert_array_equal(chosen.fit(X).precision_, plain.fit(X).precision_)


def test_auto_takes_a_gpu_for_large_problems(monkeypatch):
    made = []
    gpu = SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: True),
        asarray=lambda array, device: made.append(device) or array,
    )
    monkeypatch.setitem(sys.modules, "torch", gpu)
    monkeypatch.setattr(arrays, "_has_gpu", lambda: True)
    for p, expected in ((9, []), (10, ["cuda"])):
        arrays.to_device(np.eye(p), "auto", 10)
        assert made == expected


@pytest.mark.cuda
def test_estimators_on_the_gpu():
    torch_on("cuda")
    X = np.random.default_rng(0).normal(size=(150, 250))
    X[:, 1:] += 0.5 * X[:, :-1]
    cpu = GaussianGraph(0.2).fit(X)
    gpu = GaussianGraph(0.2, device="cuda").fit(X)
    assert type(gpu.precision_) is np.ndarray
    assert abs(cpu.objective_ - gpu.objective_) <= cpu.gap_ + gpu.gap_
    cpu = LocallyConstantGraph(0.1, 0.05).fit(X)
    gpu = LocallyConstantGraph(0.1, 0.05, device="cuda").fit(X)
    assert type(gpu.precision_) is type(gpu.groups_) is np.ndarray
    assert abs(cpu.objective_ - gpu.objective_) <= cpu.gap_ + gpu.gap_
