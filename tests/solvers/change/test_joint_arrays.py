"""Networks of several groups on arrays of other libraries agree with numpy's to within the gaps."""

import numpy as np
import pytest

from edgewise._core.errors import InputError, SolverError
from edgewise.solvers import joint_graphical_lasso
from edgewise.solvers.change import joint_graphical_lasso as front
from edgewise.solvers.change.group_penalties import ALL_PAIRS, GROUP, PATHS, KernelPlaces, Layers
from edgewise.solvers.change.joint_graphical_lasso import joint_alpha_max
from edgewise.solvers.device.group_penalties import ArrayPlaces
from tests.messages import raises
from tests.solvers.array_libraries import array_of, host

__all__ = ["array_of"]


def covariances(n_groups, p, n=60, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for k in range(n_groups):
        X = rng.normal(size=(n, p))
        X[:, 1:] += (0.6 + 0.2 * k) * X[:, :-1]
        found.append(np.cov(X.T))
    return np.stack(found)


def places_of(kind, n_groups, p, rng):
    """Strengths, and layers of which that of paths holds pairs."""
    sparsity, coupling = (np.triu(rng.uniform(0, 0.4, (p, p))) for _ in range(2))
    paths, is_linked = np.arange(n_groups)[None], np.zeros((1, n_groups), dtype=bool)
    if kind == PATHS:
        is_linked[0, 1::2] = True
    layers = Layers(kind=kind, paths=paths, is_linked=is_linked)
    return layers, sparsity + sparsity.T, coupling + coupling.T


@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.parametrize("kind", [ALL_PAIRS, PATHS, GROUP])
def test_maps_are_those_of_the_kernels(array_of, kind, n_groups):
    rng = np.random.default_rng(n_groups)
    p, mu = 7, 1.3
    layers, *strengths = places_of(kind, n_groups, p, rng)
    Omega, copies, multipliers = (rng.normal(size=(1, n_groups, p, p)) for _ in range(3))
    Omega, copies, multipliers = (A + A.transpose(0, 1, 3, 2) for A in (Omega, copies, multipliers))
    kernels = KernelPlaces(layers=layers, sparsity=strengths[0], coupling=strengths[1])
    here = [array_of(one) for one in strengths]
    arrays = ArrayPlaces(layers=layers, sparsity=here[0], coupling=here[1])
    Z, U = copies.copy(), multipliers.copy()
    expected = kernels.shrink(Omega[0], mu, Z, U)
    mine = array_of(copies.copy()), array_of(multipliers.copy())
    found = arrays.shrink(array_of(Omega[0]), mu, *mine)
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(host(mine[0]), Z, atol=1e-13)
    np.testing.assert_allclose(host(mine[1]), U, atol=1e-13)
    assert (host(mine[0]) == 0).sum() == (Z == 0).sum() > 0
    assert arrays.penalty(mine[0][0, ...]) == pytest.approx(kernels.penalty(Z[0]), rel=1e-12)
    np.testing.assert_array_equal(
        host(arrays.exceeds(array_of(0.3 * Omega[0]))), kernels.exceeds(0.3 * Omega[0])
    )
    # From the same copies, so that ties are the same to the last digit.
    np.testing.assert_allclose(
        host(arrays.structured(array_of(Omega[0]), array_of(Z))),
        kernels.structured(Omega[0], Z),
        atol=1e-13,
    )


@pytest.mark.parametrize(
    ("n_groups", "options"),
    [
        (2, {}),
        (3, {}),
        (3, {"penalty": "group"}),
        (4, {"pairs": [(0, 1), (1, 2), (2, 3)]}),
        (3, {"pairs": [(0, 2)]}),
        (3, {"group_weights": [0.5, 1.0, 2.0]}),
        (2, {"penalize_diagonal": True, "penalty": "group"}),
        (3, {"penalize_diagonal": True}),
    ],
)
def test_agrees_with_numpy(array_of, monkeypatch, n_groups, options):
    S = covariances(n_groups, 24)
    expected = joint_graphical_lasso(S, 0.15, 0.05, tol=1e-9, **options)
    monkeypatch.setattr(front, "HOST_BELOW", 2)
    found = joint_graphical_lasso(array_of(S), 0.15, 0.05, tol=1e-9, **options)
    assert type(found.value) is type(found.covariance) is type(array_of(S))
    assert found.converged
    assert 0 <= found.gap <= 1e-9 * 24 * n_groups
    assert abs(found.objective - expected.objective) <= found.gap + expected.gap + 1e-12
    value = host(found.value)
    np.testing.assert_array_equal(value, value.transpose(0, 2, 1))
    # The likelihood bends at least as much as its largest precision says.
    steepest = (
        1.1 * np.linalg.eigvalsh(value).max() / np.sqrt(min(options.get("group_weights", [1])))
    )
    reach = 2.0 * steepest * np.sqrt(found.gap + expected.gap)
    assert reach < 0.01
    np.testing.assert_allclose(value, expected.value, atol=reach)
    np.testing.assert_allclose(
        value @ host(found.covariance), np.stack([np.eye(24)] * n_groups), atol=1e-9
    )
    assert (value[0] == 0).sum() > 0


def test_alternating_directions_alone_agree(array_of, monkeypatch):
    # Fewer rows than columns and a small strength: gradient steps give up at once.
    S = covariances(3, 30, n=12)
    monkeypatch.setattr(front, "HOST_BELOW", 2)
    for options in ({}, {"penalty": "group"}):
        expected = joint_graphical_lasso(S, 0.02, 0.01, **options)
        found = joint_graphical_lasso(array_of(S), 0.02, 0.01, **options)
        assert found.converged
        assert abs(found.objective - expected.objective) <= found.gap + expected.gap


def test_blocks_are_put_together_again(array_of):
    # A large block for the device, a small one for the host, and single variables, in no order.
    p = 240
    S = np.stack([np.eye(p)] * 2)
    S[:, :210, :210] = covariances(2, 210, n=300)
    S[:, 210:225, 210:225] = covariances(2, 15, seed=1)
    order = np.random.default_rng(0).permutation(p)
    S = S[:, order][:, :, order]
    expected = joint_graphical_lasso(S, 0.3, 0.1)
    found = joint_graphical_lasso(array_of(S), 0.3, 0.1)
    assert found.converged
    assert abs(found.objective - expected.objective) <= found.gap + expected.gap
    np.testing.assert_allclose(host(found.value), expected.value, atol=5e-3)
    again = joint_graphical_lasso(array_of(S), 0.3, 0.1, init=found.value)
    assert again.n_iter < found.n_iter
    assert joint_alpha_max(array_of(S), 0.1) == joint_alpha_max(S, 0.1)


def test_what_is_wrong_is_said(array_of):
    S = covariances(2, 4)
    with raises(InputError, code="covariances_shape", expected="(K, d, d)", shape=[4, 4]):
        joint_graphical_lasso(array_of(S[0]), 0.1, 0.1)
    with raises(InputError, code="covariances_not_finite"):
        joint_graphical_lasso(array_of(S * np.nan), 0.1, 0.1)
    with raises(InputError, code="covariances_asymmetric"):
        joint_graphical_lasso(array_of(np.triu(S)), 0.1, 0.1)
    with raises(InputError, code="inits_shape", shape=[2, 4, 4], shape2=[1, 4, 4]):
        joint_graphical_lasso(array_of(S), 0.1, 0.1, init=array_of(S[:1]))
    with raises(SolverError, code="free_edges_singular"):
        joint_graphical_lasso(array_of(S * 0.0), 0.1, 0.1)
