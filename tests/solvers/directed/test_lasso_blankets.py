import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.linear_model import lars_path_gram

from edgewise import InputError
from edgewise.solvers.directed.blankets import lasso_blankets
from tests.messages import raises
from tests.solvers.directed.bayes_net_problems import linear_network


def criterion(S, n_samples, j, support, gamma):
    inner = S[np.ix_(support, support)]
    left = S[j, j] - S[support, j] @ np.linalg.solve(inner, S[support, j])
    per_member = 0.5 * np.log(n_samples) + gamma * np.log(len(S))
    return 0.5 * n_samples * np.log(left) + per_member * len(support)


def best_along_path(S, n_samples, j, gamma):
    """Smallest criterion along the path of scikit-learn, and the coefficients that have it."""
    others = np.delete(np.arange(len(S)), j)
    _, _, path = lars_path_gram(
        S[others, j] * n_samples, S[np.ix_(others, others)] * n_samples, n_samples=n_samples,
        method="lasso",
    )  # fmt: skip
    # A coefficient is 0 where it enters or leaves, and is not half way to the next change.
    halfway = [*(path.T[1:] + path.T[:-1]) / 2, path.T[0], path.T[-1]]
    supports = [others[np.abs(coefficients) > 1e-9] for coefficients in halfway]
    best = min(supports, key=lambda support: criterion(S, n_samples, j, support, gamma))
    coefficients = np.zeros(len(S))
    coefficients[best] = np.linalg.solve(S[np.ix_(best, best)], S[best, j])
    return criterion(S, n_samples, j, best, gamma), coefficients


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 15), st.sampled_from([60, 1000]), st.floats(0, 1))
def test_agrees_with_the_path_of_scikit_learn(seed, n_nodes, n_rows, gamma):
    S, _ = linear_network(seed, n_nodes, n_rows, n_parents=2.5)
    found = lasso_blankets(S, n_rows, gamma=gamma)
    expected = [best_along_path(S, n_rows, j, gamma) for j in range(n_nodes)]
    np.testing.assert_allclose(found.value, np.column_stack([c for _, c in expected]), atol=1e-8)
    assert found.objective == pytest.approx(sum(score for score, _ in expected), rel=1e-9)


def test_blankets_are_parents_children_and_spouses_of_children():
    # 0 -> 2 <- 1, 2 -> 3, in the population.
    coef = np.zeros((4, 4))
    coef[0, 2] = coef[1, 2] = coef[2, 3] = 0.8
    mix = np.linalg.inv(np.eye(4) - coef)
    expected = [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]
    found = lasso_blankets(mix.T @ mix, 10**6)
    np.testing.assert_array_equal(found.blankets, np.array(expected, dtype=bool))


def test_units_do_not_matter():
    S, _ = linear_network(3, 8)
    scale = np.linspace(0.1, 10, 8)
    plain = lasso_blankets(S, 300).value
    scaled = lasso_blankets(S * np.outer(scale, scale), 300).value
    np.testing.assert_allclose(scaled, plain * scale / scale[:, None], atol=1e-10)


def test_gamma_allows_fewer_members():
    S, _ = linear_network(4, 25, 100)
    sizes = [lasso_blankets(S, 100, gamma=gamma).blankets.sum() for gamma in (0.0, 0.5, 1.0)]
    assert sizes[0] > sizes[1] > sizes[2]


def test_only_what_is_allowed():
    S, _ = linear_network(5, 8)
    allowed = np.triu(np.ones((8, 8), dtype=bool), 1)
    found = lasso_blankets(S, 300, allowed=allowed)
    assert found.value.any()
    assert not found.value[~allowed].any()


def test_more_variables_than_rows():
    S, _ = linear_network(6, 30, 12)
    found = lasso_blankets(S, 12)
    assert np.isfinite(found.value).all()
    assert found.blankets.sum(axis=0).max() <= 6


def test_a_variable_that_follows_from_others_is_no_member_twice():
    S, _ = linear_network(7, 5)
    twins = np.r_[np.arange(5), 0]
    found = lasso_blankets(S[np.ix_(twins, twins)], 300)
    assert np.isfinite(found.value).all()
    assert not (found.blankets[0] & found.blankets[5]).any()


def test_one_variable():
    assert lasso_blankets(np.array([[2.0]]), 10).value == [[0.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 2}, "n_samples_above_two"),
        ({"gamma": 1.5}, "gamma_between"),
        ({"allowed": np.ones((3, 3), dtype=bool)}, "allowed_shape"),
        ({"S": np.ones((2, 3))}, "covariance_not_square"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"S": np.eye(2), "n_samples": 10} | change
    with raises(InputError, code=message):
        lasso_blankets(arguments.pop("S"), arguments.pop("n_samples"), **arguments)
