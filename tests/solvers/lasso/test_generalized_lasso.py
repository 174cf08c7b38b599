import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from edgewise import InputError
from edgewise.solvers import generalized_lasso
from edgewise.solvers.lasso.generalized import FAMILIES, Regression
from edgewise.solvers.lasso.gram import neighborhood_lasso
from tests.messages import raises

GROUPS = np.array([0, 1, 1, 2, 3, 3, 3, 4])
N_GROUPS = 5


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, len(GROUPS)))


def draw(family, X, seed=1):
    """Draw a response of a family that depends on the rows."""
    rng = np.random.default_rng(seed)
    eta = X @ rng.normal(size=X.shape[1]) / 2
    if family == "gaussian":
        return eta + rng.normal(size=len(X))
    if family == "binary":
        return (eta + rng.logistic(size=len(X)) > 0.5).astype(float)
    if family == "poisson":
        return rng.poisson(np.exp(0.7 * eta)).astype(float)
    return np.argmax(np.column_stack([eta, -eta, 0 * eta]) + rng.gumbel(size=(len(X), 3)), axis=1)


def oracle(X, y, alpha, family, weights):
    """Solve the same problem by CVXPY."""
    n, d = X.shape
    n_responses = int(y.max()) + 1 if family == "multinomial" else 1
    B, b = cp.Variable((d, n_responses)), cp.Variable((1, n_responses))
    eta = X @ B + np.ones((n, 1)) @ b
    if family == "gaussian":
        loss = cp.square(y - eta[:, 0]) / 2
    elif family == "binary":
        loss = cp.logistic(eta[:, 0]) - cp.multiply(y, eta[:, 0])
    elif family == "poisson":
        loss = cp.exp(eta[:, 0]) - cp.multiply(y, eta[:, 0])
    else:
        own = cp.sum(cp.multiply(np.eye(n_responses)[y], eta), axis=1)
        loss = cp.log_sum_exp(eta, axis=1) - own
    lengths = [cp.norm(cp.vec(B[g == GROUPS, :], order="C"), 2) for g in range(N_GROUPS)]
    penalty = alpha * sum(np.sqrt((g == GROUPS).sum()) * lengths[g] for g in range(N_GROUPS))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(weights, loss)) + penalty))
    problem.solve(solver=cp.CLARABEL)
    return problem.value, B.value


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_the_optimum_is_that_of_cvxpy(rows, family, alpha):
    y = draw(family, rows)
    weights = np.random.default_rng(2).random(len(rows)) + 0.2
    found = generalized_lasso(
        rows, y, alpha, family=family, groups=GROUPS, sample_weight=weights, tol=1e-11
    )
    best, B = oracle(rows, y, alpha, family, weights / weights.sum())
    assert found.converged
    assert 0 <= found.gap <= 1e-11
    # The certificate bounds the distance to the optimum, which the oracle knows to 1e-9.
    assert found.objective <= best + 1e-9
    assert found.objective - found.gap <= best + 1e-9
    assert found.objective == pytest.approx(best, abs=1e-8)
    np.testing.assert_allclose(found.value, B, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_gap_bounds_the_distance_at_every_step(rows, family):
    y = draw(family, rows)
    best = generalized_lasso(rows, y, 0.02, family=family, groups=GROUPS, tol=1e-13)
    for max_iter in (1, 2, 3):
        early = generalized_lasso(
            rows, y, 0.02, family=family, groups=GROUPS, tol=1e-13, max_iter=max_iter
        )
        assert (early.history >= 0).all()
        assert early.objective - early.gap <= best.objective + 1e-13
        assert best.objective <= early.objective + 1e-13
    assert not early.converged


def test_one_column_per_group_is_scikit_learns_logistic_lasso(rows):
    y = draw("binary", rows)
    alpha = 0.05
    found = generalized_lasso(rows, y, alpha, family="binary", tol=1e-12)
    # liblinear penalises the intercept, saga does not.
    peer = LogisticRegression(
        l1_ratio=1.0, C=1 / (alpha * len(y)), solver="saga", tol=1e-10, max_iter=10**5
    ).fit(rows, y)
    np.testing.assert_allclose(found.value[:, 0], peer.coef_[0], atol=1e-6)
    assert found.intercept[0] == pytest.approx(peer.intercept_[0], abs=1e-6)


def test_without_much_penalty_counts_are_scikit_learns_poisson_regression(rows):
    y = draw("poisson", rows)
    found = generalized_lasso(rows, y, 1e-9, family="poisson", tol=1e-12)
    peer = PoissonRegressor(alpha=0, tol=1e-12, max_iter=10**4).fit(rows, y)
    np.testing.assert_allclose(found.value[:, 0], peer.coef_, atol=1e-5)


def test_gaussian_regressions_are_those_of_the_gram_matrix(rows):
    Z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    expected = neighborhood_lasso(Z.T @ Z / len(Z), 0.1, tol=1e-13).value
    for j in range(Z.shape[1]):
        weights = np.ones(Z.shape[1])
        weights[j] = np.inf
        found = generalized_lasso(Z, Z[:, j], 0.1, group_weights=weights, tol=1e-13)
        np.testing.assert_allclose(found.value[:, 0], expected[:, j], atol=1e-9)


def test_two_levels_are_a_binary_response(rows):
    y = draw("binary", rows)
    binary = generalized_lasso(rows, y, 0.05, family="binary", groups=GROUPS, tol=1e-13)
    # Coefficients of two levels that add up to 0 are half the difference each, so that their
    # length is that of the difference over the root of 2.
    levels = generalized_lasso(
        rows,
        y,
        0.05,
        family="multinomial",
        groups=GROUPS,
        group_weights=np.sqrt(2 * np.bincount(GROUPS)),
        tol=1e-13,
    )
    difference = levels.value[:, 1] - levels.value[:, 0]
    np.testing.assert_allclose(difference, binary.value[:, 0], atol=1e-7)
    assert levels.objective == pytest.approx(binary.objective, abs=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_everything_is_0_from_the_largest_alpha_on(rows, family):
    y = draw(family, rows)
    options = {"groups": GROUPS, "group_weights": None, "sample_weight": None}
    problem = Regression.of(rows, y, family, **options, tol=1e-12, max_iter=100)
    largest = problem.largest_alpha()
    none, some = problem.solve_path(np.array([largest * (1 + 1e-9), 0.99 * largest]))
    assert not none.value.any()
    assert none.n_iter == 0
    assert len(np.unique(GROUPS[some.value.any(axis=1)])) == 1


def test_permuted_levels_permute_the_coefficients(rows):
    y = draw("multinomial", rows)
    found = generalized_lasso(rows, y, 0.02, family="multinomial", groups=GROUPS, tol=1e-13)
    permutation = np.array([2, 0, 1])
    other = generalized_lasso(
        rows, permutation[y], 0.02, family="multinomial", groups=GROUPS, tol=1e-13
    )
    np.testing.assert_allclose(other.value[:, permutation], found.value, atol=1e-8)
    np.testing.assert_allclose(found.value.sum(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_group_may_be_turned(rows, family):
    y = draw(family, rows)
    turn, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    turned = rows.copy()
    turned[:, GROUPS == 3] = rows[:, GROUPS == 3] @ turn
    options = {"family": family, "groups": GROUPS, "tol": 1e-13}
    found = generalized_lasso(rows, y, 0.02, **options)
    other = generalized_lasso(turned, y, 0.02, **options)
    np.testing.assert_allclose(turn @ other.value[GROUPS == 3], found.value[GROUPS == 3], atol=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_weight_of_2_is_a_row_twice(rows, family):
    y = draw(family, rows)
    weights = np.where(np.arange(len(y)) < 30, 2.0, 1.0)
    options = {"family": family, "groups": GROUPS, "tol": 1e-13}
    found = generalized_lasso(rows, y, 0.02, sample_weight=weights, **options)
    twice = np.repeat(np.arange(len(y)), weights.astype(int))
    other = generalized_lasso(rows[twice], y[twice], 0.02, **options)
    np.testing.assert_allclose(other.value, found.value, atol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_start_at_the_solution_is_recognised(rows, family):
    y = draw(family, rows)
    found = generalized_lasso(rows, y, 0.02, family=family, tol=1e-10)
    again = generalized_lasso(rows, y, 0.02, family=family, init=found, tol=1e-10)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.value, found.value)


def test_separated_classes_are_solved(rows):
    y = (rows[:, 0] > 0).astype(float)
    found = generalized_lasso(rows, y, 1e-5, family="binary", tol=1e-8)
    assert found.converged
    assert found.loss < 0.01


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0.0}, "lasso_alpha_positive"),
        ({"family": "gamma"}, "unknown_family"),
        ({"groups": [0, 2, 2, 2, 2, 2, 2, 2]}, "group_numbers"),
        ({"group_weights": [1.0, 0.0]}, "group_weights_length"),
        ({"sample_weight": [-1.0]}, "row_weights_range"),
        ({"y": np.full(90, 0.5), "family": "binary"}, "count_response"),
        ({"y": np.full(90, 2.0), "family": "binary"}, "binary_response"),
        ({"y": np.ones(90), "family": "binary"}, "binary_response_constant"),
        ({"y": np.zeros(90), "family": "poisson"}, "count_response_empty"),
        ({"y": np.full(90, 1), "family": "multinomial"}, "count_response_empty"),
        ({"y": [1.0]}, "response_shape"),
        ({"X": np.full((90, 8), np.nan)}, "design_matrix_shape"),
        ({"tol": 0.0}, "tol_positive"),
    ],
)
def test_bad_arguments_are_named(rows, change, message):
    arguments = {"X": rows, "y": rows[:, 0], "alpha": 0.1, **change}
    with raises(InputError, code=message):
        generalized_lasso(**arguments)


@pytest.mark.parametrize("family", ["gaussian", "binary", "poisson", "multinomial"])
def test_columns_need_not_be_centred(rows, family):
    y = draw(family, rows)
    plain = generalized_lasso(rows, y, 0.05, family=family, tol=1e-12)
    shift = 1e4 * np.arange(rows.shape[1])
    moved = generalized_lasso(rows + shift, y, 0.05, family=family, tol=1e-12)
    assert moved.converged
    assert moved.n_iter <= plain.n_iter + 1
    np.testing.assert_allclose(moved.value, plain.value, atol=1e-6)
    np.testing.assert_allclose(moved.intercept + shift @ moved.value, plain.intercept, atol=1e-2)
    again = generalized_lasso(rows + shift, y, 0.05, family=family, tol=1e-10, init=moved)
    assert again.n_iter == 0


def test_a_constant_column_has_no_coefficient(rows):
    wide = np.c_[rows, np.full(len(rows), 0.1)]
    found = generalized_lasso(wide, draw("gaussian", rows), 1e-6)
    assert found.converged
    assert not found.value[-1].any()
