"""The density ratio on arrays of other libraries agrees with numpy's to within the gaps."""

import numpy as np
import pytest

from edgewise._core.errors import InputError
from edgewise.solvers import density_ratio, density_ratio_path, ratio_alpha_max
from tests.solvers.array_libraries import array_of, host

__all__ = ["array_of"]

OPTIONS = {
    "plain": {},
    "free diagonal": {"penalize_diagonal": False},
    "ising": {"basis": "ising"},
    "offset": {"ridge": 1.0, "offset": np.linspace(-1.0, 1.0, 50)},
    "polynomial": {"basis": "polynomial", "degree": 2},
    "without a ridge": {"ridge": 0.0, "tol": 1e-6},
}


def groups(d, *, is_binary=False):
    rng = np.random.default_rng(d)
    before, after = rng.normal(size=(50, d)), rng.normal(size=(60, d))
    after[:, 1] = 0.6 * after[:, 0] + 0.8 * after[:, 1]
    if is_binary:
        return np.sign(after), np.sign(before)
    return after, before


@pytest.mark.parametrize("name", OPTIONS)
def test_agrees_with_numpy(array_of, name):
    options = OPTIONS[name]
    after, before = groups(12, is_binary=name == "ising")
    largest = ratio_alpha_max(after, before, **{k: v for k, v in options.items() if k != "tol"})
    alphas = [share * largest for share in (0.9, 0.7 if name == "without a ridge" else 0.2)]
    expected = list(density_ratio_path(after, before, alphas, **options))
    found = list(density_ratio_path(array_of(after), array_of(before), alphas, **options))
    for mine, other, alpha in zip(found, expected, alphas, strict=True):
        assert type(mine.value) is type(mine.weights) is type(array_of(after))
        assert mine.alpha == alpha
        assert mine.converged
        slack = mine.gap + other.gap + 1e-4 * (name == "without a ridge")
        assert abs(mine.objective - other.objective) <= slack
        value = host(mine.value)
        np.testing.assert_array_equal(value[:, :, 0], value[:, :, 0].T) if value.shape[
            2
        ] == 1 else None
        np.testing.assert_allclose(value, other.value, atol=1e-3)
        assert host(mine.weights).sum() == pytest.approx(1.0)
        assert mine.effective_sample_size == pytest.approx(other.effective_sample_size, rel=1e-3)
    assert found[1].n_iter < 100


def test_most_pairs_active_and_none(array_of):
    after, before = groups(12)
    after, before = array_of(after), array_of(before)
    largest = ratio_alpha_max(after, before)
    crowded, empty = density_ratio_path(after, before, [1e-3 * largest, 1.001 * largest])
    assert np.count_nonzero(host(crowded.value)) > 100
    assert crowded.converged
    assert not host(empty.value).any()


def test_what_is_wrong_is_said(array_of):
    after, before = groups(4)
    with pytest.raises(InputError, match="same ones"):
        density_ratio(array_of(after[:, :3]), array_of(before), 0.1)
    with pytest.raises(InputError, match="X_q contains NaN"):
        density_ratio(array_of(after), array_of(before * np.nan), 0.1)
    with pytest.raises(InputError, match="-1 and 1"):
        density_ratio(array_of(after), array_of(before), 0.1, basis="ising")
