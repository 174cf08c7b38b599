"""Changes that are solved on another device are those of the CPU, in numpy."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from edgewise import CV, InputError, NetworkChange
from edgewise.estimators.change import density_ratio
from tests.estimators.change.change_rows import signs, two_groups
from tests.messages import raises

FEATURES = {
    "gaussian": {},
    "power": {"basis": "power", "degree": 2, "ridge": 1.0, "solver": "dual"},
    "polynomial": {"basis": "polynomial", "degree": 3, "penalize_diagonal": False},
    "ising": {"basis": "ising"},
    "function": {"basis": lambda u, v: np.tanh(u * v)},
}


@pytest.fixture
def placed(monkeypatch):
    """Tensors of torch on the CPU in place of those on a GPU; what was asked for."""
    torch = pytest.importorskip("torch")
    asked = []

    def to_device(array, device, crossover):
        asked.append((device, crossover))
        return array if device == "cpu" else torch.asarray(array)

    monkeypatch.setattr(density_ratio, "to_device", to_device)
    return asked


def assert_same(model, other):
    for name, value in vars(other).items():
        assert type(getattr(model, name)) is type(value), name
    assert model.alpha_ == pytest.approx(other.alpha_, rel=1e-9)
    apart = np.sqrt(2.0 * max(model.gap_, other.gap_) / other.ridge)
    assert_allclose(model.theta_, other.theta_, atol=2.0 * apart + 1e-9)
    assert_allclose(model.change_, other.change_, atol=4.0 * apart + 1e-9)
    assert model.objective_ == pytest.approx(other.objective_, abs=model.gap_ + other.gap_ + 1e-13)
    assert model.converged_
    assert np.isfinite(model.effective_sample_size_)


@pytest.mark.parametrize("name", FEATURES)
def test_is_the_same_in_numpy(placed, name):
    X, y = signs() if name == "ising" else two_groups()
    model = NetworkChange(0.1, device="cuda", tol=1e-10, **FEATURES[name]).fit(X, y)
    assert set(placed) == {("cuda", 500)}
    assert_same(model, NetworkChange(0.1, tol=1e-10, **FEATURES[name]).fit(X, y))
    assert model.graph_.n_edges > 0


def test_chooses_alpha_and_degree_there(placed):
    X, y = two_groups()
    options = {"alpha": CV(3, n_alphas=6), "basis": "polynomial", "degree": (2, 3)}
    model = NetworkChange(device="auto", random_state=0, **options).fit(X, y)
    assert set(placed) == {("auto", 500)}
    other = NetworkChange(random_state=0, **options).fit(X, y)
    assert model.degree_ == other.degree_
    assert_same(model, other)
    assert_allclose(model.selection_.values, other.selection_.values, atol=1e-4)


def test_the_other_direction_is_solved_there(placed):
    X, y = two_groups()
    model = NetworkChange(0.3, device="cuda").fit(X, y)
    placed.clear()
    assert model.check_directions(X, y).agreement == 1.0
    assert set(placed) == {("cuda", 500)}


def test_says_what_is_missing(monkeypatch):
    X, y = two_groups()
    with raises(InputError, code="invalid_value", parameter="device"):
        NetworkChange(0.1, device="tpu").fit(X, y)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "torch", None)
        with raises(InputError, code="device_needs_pytorch", parameter="device", device="cuda"):
            NetworkChange(0.1, device="cuda").fit(X, y)
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="no CUDA GPU"):
        NetworkChange(0.1, device="cuda").fit(X, y)
    # Few columns, or no GPU: the CPU.
    model = NetworkChange(0.1, device="auto").fit(X, y)
    np.testing.assert_array_equal(model.theta_, NetworkChange(0.1).fit(X, y).theta_)


@pytest.mark.cuda
def test_on_a_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA GPU")
    X, y = two_groups()
    for name, features in FEATURES.items():
        rows, labels = (X, y) if name != "ising" else signs()
        model = NetworkChange(0.1, device="cuda", tol=1e-10, **features).fit(rows, labels)
        assert_same(model, NetworkChange(0.1, tol=1e-10, **features).fit(rows, labels))
