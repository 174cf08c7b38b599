"""The locally constant model on arrays of other libraries agrees with that on numpy's."""

import os
import subprocess
import sys
from itertools import chain

import numpy as np
import pytest

from edgewise._core.errors import InputError
from edgewise.solvers import locally_constant, locally_constant_path
from edgewise.solvers.device import fused_rows
from edgewise.solvers.device.fused_rows import DenseFused
from tests.messages import raises
from tests.solvers.array_libraries import array_of, host, torch_on
from tests.solvers.space.locally_constant_problems import (
    cvxpy_locally_constant,
    elementwise,
    golden_problem,
    objective,
    pairs_of,
    random_problem,
)

__all__ = ["array_of"]


@pytest.fixture(autouse=True)
def blocks_of_any_size(monkeypatch):
    """Solve small problems on the device, too."""
    monkeypatch.setattr(fused_rows, "HOST_BELOW", 0)


def assert_agree(found, expected, S):
    assert found.converged
    assert 0 <= found.gap <= 1e-6 * len(S)
    assert abs(found.objective - expected.objective) <= found.gap + expected.gap
    value = host(found.value)
    np.testing.assert_array_equal(value, value.T)
    np.testing.assert_allclose(value @ host(found.covariance), np.eye(len(S)), atol=1e-9)
    np.testing.assert_array_equal(host(found.groups) < 0, (value == 0) | np.eye(len(S), dtype=bool))
    for group in range(found.n_groups):
        assert np.unique(value[host(found.groups) == group]).size == 1


@pytest.mark.parametrize("kind", [("grid", 4, 3), ("ring", 7), ("star", 6), ("grid", 2, 2, 2)])
def test_agrees_with_numpy(array_of, kind):
    pairs = pairs_of(*kind)
    p = int(np.prod(kind[1:]))
    S = random_problem(np.random.default_rng(p), pairs, p, 3 * p)
    expected = locally_constant(S, 0.1, 0.1, pairs)
    found = locally_constant(array_of(S), 0.1, 0.1, pairs)
    assert type(found.value) is type(found.covariance) is type(found.groups) is type(array_of(S))
    assert_agree(found, expected, S)
    edges = host(found.value)[~np.eye(p, dtype=bool)]
    assert 0 < np.count_nonzero(edges) < edges.size
    assert found.n_groups < np.count_nonzero(edges) // 2


def test_weights_and_a_free_diagonal(array_of):
    pairs = pairs_of("grid", 3, 3)
    S = random_problem(np.random.default_rng(2), pairs, 9, 30)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, (9, 9))
    weights = (weights + weights.T) / 2
    weights[0, 4] = weights[4, 0] = np.inf
    weights[0, 1] = weights[1, 0] = 0.0
    given = {"weights": weights, "penalize_diagonal": False}
    found = locally_constant(array_of(S), 0.08, 0.05, pairs, **given)
    assert_agree(found, locally_constant(S, 0.08, 0.05, pairs, **given), S)
    assert host(found.value)[0, 4] == 0
    thresholds = elementwise(9, 0.08, weights, penalize_diagonal=False)
    pytest.importorskip("cvxpy")
    optimum, _ = cvxpy_locally_constant(S, thresholds, 0.05, pairs)
    mine = objective(host(found.value), S, thresholds, 0.05, pairs)
    assert mine == pytest.approx(found.objective, abs=1e-10)
    assert optimum - 1e-6 <= mine <= optimum + found.gap + 1e-6


def test_paths_blocks_and_starts(array_of):
    # Two blocks and a single variable, of which one is left without pairs.
    pairs = np.array([*pairs_of("chain", 6), (7, 8)])
    S = np.eye(10)
    S[:6, :6] = random_problem(np.random.default_rng(4), pairs_of("chain", 6), 6, 40)
    S[7, 9] = S[9, 7] = 0.6
    found = locally_constant_path(array_of(S), [0.1, 0.3], [0.1, 0.0], pairs)
    expected = locally_constant_path(S, [0.1, 0.3], [0.1, 0.0], pairs)
    for mine, other in zip(chain(*found), chain(*expected), strict=True):
        assert (mine.alpha, mine.tau) == (other.alpha, other.tau)
        assert_agree(mine, other, S)
        assert not host(mine.value)[6, :6].any()
    init = found[0][0].value
    again = locally_constant(array_of(S), 0.1, 0.1, pairs, init=init, decide=0.0)
    assert again.n_iter <= found[0][0].n_iter
    assert_agree(again, expected[0][0], S)


def test_a_closed_form(array_of):
    S, alpha, tau, pairs = golden_problem()
    found = locally_constant(array_of(S), alpha, tau, pairs)
    assert found.objective == pytest.approx(14.6333678568, abs=1e-6 * 14)
    np.testing.assert_allclose(host(found.value)[2:5, 8:11], -0.0699557962, atol=1e-3)


def test_other_solvers_are_those_of_the_host(array_of):
    S, alpha, tau, pairs = golden_problem()
    found = locally_constant(
        array_of(S), alpha, tau, pairs, solver="dual", weights=np.ones((14, 14))
    )
    expected = locally_constant(S, alpha, tau, pairs, solver="dual")
    assert type(found.groups) is type(found.value) is type(array_of(S))
    np.testing.assert_array_equal(host(found.value), expected.value)


def test_what_is_wrong_is_said(array_of):
    S = array_of(np.eye(4))
    with raises(InputError, code="covariance_not_square", shape=[3, 4]):
        locally_constant(S[:3, :], 0.1, 0.1, [(0, 1)])
    with raises(InputError, code="space_alpha_positive", parameter="alpha"):
        locally_constant(S, 0.0, 0.1, [(0, 1)])
    with raises(InputError, code="init_indefinite"):
        locally_constant(S, 0.1, 0.1, [(0, 1)], init=-S)


def test_large_blocks_stay_and_small_ones_go_to_the_host(array_of, monkeypatch):
    monkeypatch.setattr(fused_rows, "HOST_BELOW", 5)
    problem = DenseFused(
        S=array_of(np.eye(8)), thresholds=array_of(np.ones((8, 8))), tau=0.1,
        pairs=pairs_of("chain", 8),
    )  # fmt: skip
    assert type(problem.restrict(np.arange(4)).S) is np.ndarray
    part = problem.restrict(np.arange(6))
    assert type(part.S) is type(problem.S)
    # The last one has a neighbour outside.
    np.testing.assert_allclose(host(part.thresholds)[5], [1.05] * 5 + [1.0])


SIMULATED = """
import numpy as np
from edgewise.solvers.device import fused_rows
from edgewise.solvers.space import path_layers
from edgewise.solvers.space.fused_rows import FusedProblem, shrink_layers
from edgewise.data import neighbor_pairs

fused_rows.THREADS, fused_rows.BLOCKS, fused_rows.MOST_THREADS = 4, 2, 8
shrink = fused_rows.compile_for_device()
rng = np.random.default_rng(0)
for place, p in (((2, 3), 6), ("ring", 5), ((2, 2, 2), 8)):
    pairs = neighbor_pairs(place, p)
    for is_plain in (True, False):
        thresholds = np.full((p, p), 0.1)
        if not is_plain:
            thresholds[0, 2] = thresholds[2, 0] = np.inf
            thresholds[1, 2] = thresholds[2, 1] = 0.3
        problem = FusedProblem(np.eye(p), thresholds, 0.2, pairs)
        rows = fused_rows.PathsOnDevice(fused_rows.DenseFused(**problem._asdict()), shrink)
        layers = path_layers.cover_by_paths(pairs, p)
        Omega, mean = rng.normal(size=(2, p, p))
        Omega = Omega + Omega.T
        Z, U = rng.normal(size=(2, rows.n_layers, p, p))
        # On the device, rows are columns.
        there = [np.ascontiguousarray(one.swapaxes(-1, -2)) for one in (Z, U, mean)]
        expected = shrink_layers(Omega, problem, 1.3, path_layers.RELAXATION, layers, Z, U, mean)
        np.testing.assert_allclose(rows.shrink(Omega, 1.3, *there), expected)
        for mine, other in zip(there, (Z, U, mean)):
            np.testing.assert_allclose(mine.swapaxes(-1, -2), other, atol=1e-14)
print("equal")
"""


def test_the_kernel_for_a_gpu_does_what_the_one_of_the_host_does():
    # The simulator runs kernels in Python, and wants what they call in Python as well.
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SIMULATED],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "equal", done.stderr


@pytest.mark.cuda
def test_threads_and_matrix_operations_agree_on_a_gpu(monkeypatch):
    torch = torch_on("cuda")
    pairs = pairs_of("grid", 6, 5)
    S = random_problem(np.random.default_rng(5), pairs, 30, 60)
    assert fused_rows.compile_for_device() is not None
    by_threads = locally_constant(torch(S), 0.05, 0.1, pairs)
    monkeypatch.setattr(fused_rows, "compile_for_device", lambda: None)
    by_matrices = locally_constant(torch(S), 0.05, 0.1, pairs)
    for found in (by_threads, by_matrices):
        assert_agree(found, locally_constant(S, 0.05, 0.1, pairs), S)
