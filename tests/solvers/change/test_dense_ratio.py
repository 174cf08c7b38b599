"""The density ratio on arrays of other libraries agrees with numpy's to within the gaps."""

import numpy as np
import pytest

from edgewise._core.errors import InputError
from edgewise.solvers import density_ratio
from edgewise.solvers.change import density_ratio as module
from edgewise.solvers.change.density_ratio import (
    density_ratio_path,
    log_density_ratio,
    ratio_alpha_max,
    ratio_alpha_min,
)
from edgewise.solvers.device import density_ratio as on_device
from edgewise.solvers.device.density_ratio import SLAB, MonomialPairs, ProductPairs, _outer
from edgewise.stats import Moments
from tests.messages import raises
from tests.solvers.array_libraries import array_of, host
from tests.solvers.change.ratio_problems import (
    BASES,
    cvxpy_ratio,
    explicit,
    listed,
    objective,
    one_kernel,
    problem,
)

__all__ = ["array_of"]

#: Solved on the device.
OPTIONS = {
    "plain": {},
    "free diagonal": {"penalize_diagonal": False},
    "ising": {"basis": "ising"},
    "ising with a free diagonal": {"basis": "ising", "penalize_diagonal": False},
    "power": {"basis": "power", "degree": 3, "ridge": 1.0},
    "offset": {"ridge": 1.0, "offset": np.linspace(-1.0, 1.0, 50)},
    "polynomial": {"basis": "polynomial", "degree": 2},
    "polynomial 4": {"basis": "polynomial", "degree": 4, "ridge": 1.0},
    "polynomial with all": {
        "basis": "polynomial", "degree": 3, "penalize_diagonal": False, "ridge": 0.5,
        "power_scale": np.linspace(1.0, 4.0, 36).reshape(3, 12),
        "offset": np.linspace(-1.0, 1.0, 50),
    },
}  # fmt: skip
#: Solved on the host.
ELSEWHERE = {
    "without a ridge": {"ridge": 0.0, "tol": 1e-6},
    "function": {"basis": one_kernel},
    "primal": {"solver": "primal"},
}
ON_DEVICE = [name for name in BASES if "kernel" not in name]


def groups(d, *, is_binary=False):
    rng = np.random.default_rng(d)
    before, after = rng.normal(size=(50, d)), rng.normal(size=(60, d))
    after[:, 1] = 0.6 * after[:, 0] + 0.8 * after[:, 1]
    if is_binary:
        return np.sign(after), np.sign(before)
    return after, before


@pytest.fixture
def no_host(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("The problem went to the host.")

    monkeypatch.setattr(module, "_make_problem", refuse)
    # What decides the graph after that is numpy's on purpose.
    monkeypatch.setattr(module, "_finish_on_host", lambda found, *_: found)


def largest_alpha(after, before, options):
    others = {name: one for name, one in options.items() if name not in ("tol", "solver")}
    return ratio_alpha_max(after, before, **others)


def check(found, expected, options, array_of):
    for mine, other in zip(found, expected, strict=True):
        assert type(mine.value) is type(mine.weights) is type(array_of(np.ones(1)))
        assert mine.alpha == other.alpha
        assert mine.converged
        ridge = options.get("ridge", 0.1)
        # Objectives are sums of numbers as large as the logarithm of the number of rows.
        slack = mine.gap + other.gap + max(1e-14, 1e-4 * (ridge == 0))
        assert abs(mine.objective - other.objective) <= slack
        # The objective is strongly convex in the coefficients of the pairs.
        apart = np.linalg.norm(listed(host(mine.value)) - listed(other.value))
        if ridge > 0:
            assert apart <= sum(np.sqrt(2.0 * max(one.gap, 1e-14) / ridge) for one in (mine, other))
        else:
            assert apart <= 1e-3
        assert host(mine.weights).sum() == pytest.approx(1.0)
        assert mine.effective_sample_size == pytest.approx(other.effective_sample_size, rel=1e-3)
        assert mine.log_normalizer == pytest.approx(other.log_normalizer, abs=1e-2)
        assert mine.history[-1] == mine.gap


@pytest.mark.parametrize("name", [*OPTIONS, *ELSEWHERE])
def test_agrees_with_numpy(array_of, name):
    options = (OPTIONS | ELSEWHERE)[name]
    after, before = groups(12, is_binary="ising" in name)
    largest = largest_alpha(after, before, options)
    alphas = [share * largest for share in (0.9, 0.7 if name == "without a ridge" else 0.2)]
    expected = list(density_ratio_path(after, before, alphas, **options))
    foreign = {
        key: array_of(one) if isinstance(one, np.ndarray) else one for key, one in options.items()
    }
    found = list(density_ratio_path(array_of(after), array_of(before), alphas, **foreign))
    check(found, expected, options, array_of)
    if name in OPTIONS:
        assert found[1].n_iter < 60


@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("name", ON_DEVICE)
def test_agrees_with_an_interior_point_method(array_of, no_host, name, penalize_diagonal):
    X_p, X_q, basis = problem(name)
    options = {"penalize_diagonal": penalize_diagonal, **basis}
    here = array_of(X_p), array_of(X_q)
    alpha = 0.3 * ratio_alpha_max(*here, ridge=0.5, **options)
    found = density_ratio(*here, alpha, ridge=0.5, tol=1e-11, **options)
    assert found.converged
    theta = listed(host(found.value))
    reference = cvxpy_ratio(X_p, X_q, alpha, 0.5, **options)
    np.testing.assert_allclose(theta, reference, atol=2e-5)
    assert found.objective == pytest.approx(
        objective(theta, X_p, X_q, alpha, 0.5, **options), abs=1e-10
    )


@pytest.mark.parametrize("name", OPTIONS)
def test_the_same_pair_has_the_same_coefficients_both_ways(array_of, no_host, name):
    after, before = groups(12, is_binary="ising" in name)
    options = OPTIONS[name]
    alpha = 0.2 * largest_alpha(array_of(after), array_of(before), options)
    value = host(density_ratio(array_of(after), array_of(before), alpha, **options).value)
    lengths = np.sort(np.abs(value), axis=2)
    np.testing.assert_array_equal(lengths, lengths.transpose(1, 0, 2))


@pytest.mark.parametrize("name", OPTIONS)
def test_largest_alpha(array_of, no_host, monkeypatch, name):
    after, before = groups(12, is_binary="ising" in name)
    options = OPTIONS[name]
    here = array_of(after), array_of(before)
    largest = largest_alpha(*here, options)
    at, below = density_ratio_path(*here, [largest, 0.98 * largest], **options)
    off = ~np.eye(12, dtype=bool)
    assert not host(at.value)[off].any()
    assert host(at.value).any() == (
        not options.get("penalize_diagonal", True) and options.get("basis") != "ising"
    )
    assert host(below.value).any()
    assert below.converged
    monkeypatch.undo()
    assert largest == pytest.approx(largest_alpha(after, before, options), rel=1e-4)


def test_largest_alpha_where_the_host_is_asked(array_of):
    after, before = groups(4)
    here = array_of(after), array_of(before)
    for options in ({"basis": one_kernel}, {"ridge": 0.0}):
        assert ratio_alpha_max(*here, **options) == pytest.approx(
            ratio_alpha_max(after, before, **options), rel=1e-12
        )
    assert ratio_alpha_min(*here) == ratio_alpha_min(after, before)


@pytest.mark.parametrize("name", OPTIONS)
def test_starts_from_coefficients(array_of, no_host, name):
    after, before = groups(12, is_binary="ising" in name)
    options, here = OPTIONS[name], (array_of(after), array_of(before))
    alpha = 0.2 * largest_alpha(*here, options)
    cold = density_ratio(*here, alpha, **options)
    assert cold.n_iter > 2
    init = host(cold.value).copy()
    # Those below the diagonal are not read.
    init[np.tril_indices(12, -1)] = 7.0
    for start in (cold.value, array_of(init)):
        warm = density_ratio(*here, alpha, init=start, **options)
        assert warm.n_iter <= 1
        assert warm.converged
    with raises(InputError, code="theta_shape", name="init", d=12):
        density_ratio(*here, alpha, init=array_of(np.ones((3, 3, 1))), **options)


@pytest.mark.parametrize("name", [*OPTIONS, "function"])
def test_log_ratio_of_rows(array_of, name):
    after, before = groups(12, is_binary="ising" in name)
    options = (OPTIONS | ELSEWHERE)[name]
    found = density_ratio(after, before, 0.3 * largest_alpha(after, before, options), **options)
    basis = {k: v for k, v in options.items() if k in ("basis", "degree", "power_scale")}
    values = log_density_ratio(array_of(after), array_of(found.value), **basis)
    assert type(values) is type(array_of(after))
    np.testing.assert_allclose(
        host(values), log_density_ratio(after, found.value, **basis), rtol=1e-10, atol=1e-12
    )


def test_moments_single_precision_and_rows_of_numpy(array_of, no_host):
    after, before = groups(12)
    whole = density_ratio(array_of(after), array_of(before), 0.2)
    rough = [one.astype(np.float32) for one in (after, before)]
    for X_p, X_q in [
        (Moments.from_samples(after), array_of(before)),
        (after, array_of(before)),
        (array_of(rough[0]), array_of(rough[1])),
    ]:
        found = density_ratio(X_p, X_q, 0.2)
        assert found.converged
        assert host(found.value).dtype == np.float64
        np.testing.assert_allclose(host(found.value), host(whole.value), atol=1e-3)


def test_most_pairs_active_and_none(array_of, no_host):
    after, before = groups(12)
    after, before = array_of(after), array_of(before)
    largest = ratio_alpha_max(after, before)
    alphas = np.array([1e-3, 0.1, 0.2, 0.15, 1.001, 0.3]) * largest
    found = list(density_ratio_path(after, before, alphas))
    counts = [np.count_nonzero(host(one.value)) for one in found]
    assert counts[0] > 100
    assert counts[4] == 0
    assert all(one.converged for one in found)
    # Going back and forth leaves no trace.
    again = density_ratio(after, before, alphas[-1])
    assert abs(again.objective - found[-1].objective) <= again.gap + found[-1].gap


def test_inner_products_of_active_pairs(array_of, monkeypatch):
    """They are brought up to date from one step to the next, by what changed or anew."""
    monkeypatch.setattr(on_device, "DEVICE_CHUNK", 7 * 50)
    _, before = groups(9)
    rng = np.random.default_rng(0)
    features = explicit(before)[:, 0]
    pairs = ProductPairs(array_of(before))
    for share in (0.0, 0.1, 0.4, 0.45, 0.42, 0.9, 0.95, 0.93, 0.2, 1.0):
        slack = rng.uniform(-1.0, 1.0, size=(9, 9))
        limit = 1.0 - share
        theta = pairs.shrink(array_of(slack + slack.T), 2.0 * limit, 2.0 * limit)
        active = listed(host(theta.parts)) != 0
        np.testing.assert_allclose(
            pairs.gram(theta), features[active].T @ features[active], atol=1e-11
        )
        assert sum(pairs.counts(theta)) == active.sum()


@pytest.mark.parametrize("degree", [2, 3, 4])
@pytest.mark.parametrize("own", [0.0, 0.3, np.inf])
@pytest.mark.parametrize("alpha", [0.0, 0.3, np.inf])
def test_inner_products_of_vectors(array_of, monkeypatch, degree, own, alpha):
    """The derivative of the shrunken slacks stands between the features."""
    monkeypatch.setattr(on_device, "DEVICE_CHUNK", 4 * 50 * 2)
    after, before = groups(6)
    pairs = MonomialPairs([array_of(before**k) for k in range(1, degree + 1)])
    rows = MonomialPairs([array_of(after**k) for k in range(1, degree + 1)])
    slack = pairs.slack(rows.moments(np.full(60, 1 / 60)), np.full(50, 1 / 50))
    theta = pairs.shrink(slack, alpha, own)
    features = explicit(before, "polynomial", degree)
    z = explicit(after, "polynomial", degree).mean(axis=2) - features.mean(axis=2)
    first, second = np.triu_indices(6)
    expected, gram = np.zeros_like(z), np.zeros((50, 50))
    for g, limit in enumerate(np.where(first == second, own, alpha)):
        length = np.linalg.norm(z[g])
        if length > limit:
            unit, share = z[g] / length, 1.0 - limit / length
            expected[g] = share * z[g]
            middle = share * np.eye(len(unit)) + (1.0 - share) * np.outer(unit, unit)
            gram += features[g].T @ middle @ features[g]
    np.testing.assert_allclose(listed(host(pairs.full(theta))), expected, atol=1e-12)
    np.testing.assert_allclose(pairs.gram(theta), gram, rtol=1e-9, atol=1e-9)
    assert theta.squares == pytest.approx(np.sum(expected**2), rel=1e-12)
    np.testing.assert_allclose(
        pairs.values(theta), np.einsum("gb,gbn->n", expected, features), rtol=1e-9, atol=1e-9
    )
    assert sum(pairs.counts(theta)) == np.any(expected != 0, axis=1).sum()


def test_long_products_in_parts(array_of):
    rows = np.random.default_rng(0).normal(size=(2 * SLAB + 5, 3))
    np.testing.assert_allclose(host(_outer(array_of(rows))), rows.T @ rows, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "n_matrices"), [({}, 8), ({"basis": "polynomial", "degree": 3}, 30)]
)
def test_memory_is_asked_for(array_of, monkeypatch, options, n_matrices):
    asked = []
    monkeypatch.setattr(module, "require_device_memory", lambda *given: asked.append(given[1:]))
    after, before = groups(12)
    density_ratio(array_of(after), array_of(before), 0.5, ridge=1.0, **options)
    assert asked == [(n_matrices, 12)]


def test_what_is_wrong_is_said(array_of):
    after, before = groups(4)
    here = array_of(after), array_of(before)
    for match, arguments, options in [
        ("same ones", (array_of(after[:, :3]), here[1]), {}),
        ("X_q contains NaN", (here[0], array_of(before * np.nan)), {}),
        ("X_p contains NaN", (array_of(after * np.inf), here[1]), {}),
        ("X_q must be a table", (here[0], array_of(before[0])), {}),
        ("-1 and 1; column 0", here, {"basis": "ising"}),
        ("basis must be one of", here, {"basis": "bumps"}),
        ("degree must be", here, {"basis": "polynomial", "degree": 1}),
        ("too large", (here[0], array_of(before * 1e200)), {}),
        ("power_scale is for", here, {"power_scale": np.ones((2, 4))}),
        ("power_scale must hold", here, {"basis": "polynomial", "power_scale": np.ones((3, 4))}),
        ("offset must hold", here, {"offset": np.ones(3)}),
        ("ridge", here, {"ridge": -1.0}),
    ]:
        with pytest.raises(InputError, match=match):
            density_ratio(*arguments, 0.1, **options)
