import itertools
import math

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize

from edgewise import InputError
from edgewise.data import make_graph, make_markov_model
from edgewise.data.levels import check_codes
from edgewise.data.markov import CliqueLayout, MarkovModel
from edgewise.solvers.discrete.potentials import _Problem, fit_potentials
from tests.messages import raises

LEVELS = [2, 3, 2, 4, 2]
#: Members of one clique out of order, and one clique inside another.
CLIQUES = [(1, 0), (0, 4), (3, 1, 2), (3, 4), (4,)]


def random_rows(seed, n_rows=40, levels=LEVELS):
    return np.random.default_rng(seed).integers(levels, size=(n_rows, len(levels)))


def shapes(cliques, levels):
    return [tuple(levels[v] for v in clique) for clique in cliques]


def log_conditional(tables, cliques, levels, row, variable):
    """Sums of potentials over the cliques of a variable, one for each of its levels."""
    sums = []
    for level in range(levels[variable]):
        changed = [*row[:variable], level, *row[variable + 1 :]]
        sums.append(
            sum(
                table[tuple(changed[v] for v in clique)]
                for clique, table in zip(cliques, tables, strict=True)
                if variable in clique
            )
        )
    return sums


def slow_objective(value, X, cliques, levels, ridge, weights=None):
    """The definition, row by row and variable by variable."""
    sizes = shapes(cliques, levels)
    ends = np.cumsum([math.prod(shape) for shape in sizes])
    tables = [part.reshape(s) for part, s in zip(np.split(value, ends[:-1]), sizes, strict=True)]
    weights = np.ones(len(X)) if weights is None else weights
    loss = 0.0
    for row, weight in zip(X.tolist(), weights, strict=True):
        for v in range(len(levels)):
            sums = np.array(log_conditional(tables, cliques, levels, row, v))
            loss += weight * (np.log(np.exp(sums).sum()) - sums[row[v]])
    return (loss + ridge / 2 * value @ value) / weights.sum()


@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 3), min_size=2, max_size=5),
    st.floats(0.05, 5.0),
)
def test_agrees_with_cvxpy(seed, levels, ridge):
    rng = np.random.default_rng(seed)
    X = random_rows(seed, n_rows=12, levels=levels)
    n = len(levels)
    upper = np.triu(rng.random((n, n)) < 0.5, k=1)
    cliques = make_markov_model(upper | upper.T, rng=0).cliques
    ours = fit_potentials(X, cliques, levels, ridge=ridge, tol=1e-10)
    tables = [
        np.array([cvxpy.Variable() for _ in range(math.prod(s))], dtype=object).reshape(s)
        for s in shapes(cliques, levels)
    ]
    terms = []
    for row, v in itertools.product(X.tolist(), range(n)):
        sums = log_conditional(tables, cliques, levels, row, v)
        terms.append(cvxpy.log_sum_exp(cvxpy.hstack(sums)) - sums[row[v]])
    cells = cvxpy.hstack([cell for table in tables for cell in table.ravel()])
    cost = (cvxpy.sum(cvxpy.hstack(terms)) + ridge / 2 * cvxpy.sum_squares(cells)) / len(X)
    problem = cvxpy.Problem(cvxpy.Minimize(cost))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert ours.converged
    assert ours.objective == pytest.approx(problem.value, abs=1e-7)
    np.testing.assert_allclose(ours.value, cells.value, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_gradient_of_the_definition_vanishes(seed, ridge):
    X = random_rows(seed)
    weights = np.random.default_rng(seed).uniform(0.1, 2.0, size=len(X))
    fit = fit_potentials(X, CLIQUES, LEVELS, ridge=ridge, sample_weight=weights, tol=1e-14)
    assert fit.converged
    wanted = slow_objective(fit.value, X, CLIQUES, LEVELS, ridge, weights)
    assert fit.objective == pytest.approx(wanted, rel=1e-12)
    slope = optimize.approx_fprime(
        fit.value, slow_objective, 1e-6, X, CLIQUES, LEVELS, ridge, weights
    )
    # One-sided differences are off by half the step times the curvature, which is below 4.
    np.testing.assert_allclose(slope, 0, atol=2e-6)


@pytest.mark.parametrize("is_crowded", [False, True])
def test_derivatives_by_differences(is_crowded):
    X = random_rows(0)
    layout = CliqueLayout.from_cliques(CLIQUES, LEVELS)
    # Too little memory for all slices, and few rows at a time.
    room = {"room": 0, "chunk": 7} if is_crowded else {}
    problem = _Problem.from_rows(
        check_codes(X, layout.cardinalities), np.ones(len(X)), layout, 0.5, **room
    )
    assert bool(problem.by_row) == is_crowded
    rng = np.random.default_rng(1)
    value = rng.normal(size=problem.layout.n_cells)
    objective, gradient = problem.gradient(value)
    assert objective == pytest.approx(slow_objective(value, X, CLIQUES, LEVELS, 0.5), rel=1e-12)
    slope = optimize.approx_fprime(value, slow_objective, 1e-7, X, CLIQUES, LEVELS, 0.5)
    np.testing.assert_allclose(gradient, slope, atol=1e-6)
    direction = rng.normal(size=len(value))
    ahead, behind = (problem.gradient(value + t * direction)[1] for t in (1e-5, -1e-5))
    product = problem.curvature(value)(direction)
    np.testing.assert_allclose(product, (ahead - behind) / 2e-5, atol=1e-8)


def test_more_configurations_of_neighbours_than_integers():
    levels = [2, 3] * 25
    X = random_rows(2, n_rows=20, levels=levels)
    X[10:] = X[:10]
    star = [(0, leaf) for leaf in range(1, 50)]
    fit = fit_potentials(X, star, levels, tol=1e-10)
    assert fit.converged
    wanted = slow_objective(fit.value, X, star, levels, ridge=1.0)
    assert fit.objective == pytest.approx(wanted, rel=1e-12)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 3.0))
def test_gap_bounds_the_distance_to_the_minimum(seed, ridge):
    X = random_rows(seed)
    exact = fit_potentials(X, CLIQUES, LEVELS, ridge=ridge, tol=1e-13)
    assert exact.converged
    for max_iter in (1, 2, 3):
        rough = fit_potentials(X, CLIQUES, LEVELS, ridge=ridge, tol=1e-13, max_iter=max_iter)
        assert rough.n_iter == max_iter
        assert rough.gap >= rough.objective - exact.objective - 1e-13
        assert not rough.converged
        assert len(rough.history) == max_iter + 1
        assert rough.history[-1] == rough.gap


def test_tol_decides_the_gap():
    X = random_rows(4)
    for tol in (1e-2, 1e-6, 1e-10):
        fit = fit_potentials(X, CLIQUES, LEVELS, tol=tol)
        assert fit.converged
        assert fit.gap <= 5 * tol
        assert (fit.history[:-1] > 5 * tol).all()


def test_a_tolerance_beyond_rounding_is_not_claimed():
    fit = fit_potentials(random_rows(4), CLIQUES, LEVELS, tol=1e-40)
    assert not fit.converged
    assert fit.gap < 1e-20
    assert fit.n_iter < 30


def test_one_binary_variable_in_closed_form():
    X = np.repeat([[0], [1]], [30, 10], axis=0)
    fit = fit_potentials(X, [(0,)], 2, ridge=2.0, tol=1e-14)
    first, second = fit.value
    assert first == pytest.approx(-second, abs=1e-8)
    expected = 40 / (1 + math.exp(first - second))
    assert expected - 10 + 2.0 * second == pytest.approx(0, abs=1e-6)


def test_order_of_rows_does_not_matter():
    X = random_rows(5)
    shuffled = np.random.default_rng(0).permutation(X)
    first, second = (fit_potentials(rows, CLIQUES, LEVELS, tol=1e-12) for rows in (X, shuffled))
    np.testing.assert_allclose(first.value, second.value, atol=1e-12)


def test_weights_are_repeated_rows():
    X = random_rows(6)
    weights = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = fit_potentials(X, CLIQUES, LEVELS, sample_weight=weights, tol=1e-12)
    repeated = fit_potentials(np.repeat(X, weights, axis=0), CLIQUES, LEVELS, tol=1e-12)
    np.testing.assert_allclose(weighted.value, repeated.value, atol=1e-10)
    plain = fit_potentials(X, CLIQUES, LEVELS, tol=1e-12)
    assert np.abs(weighted.value - plain.value).max() > 0.1


def test_names_of_variables_and_levels_do_not_matter():
    X = random_rows(7)
    plain = fit_potentials(X, CLIQUES, LEVELS, tol=1e-13)
    order = np.array([3, 0, 4, 1, 2])
    place = np.argsort(order)
    renamed = X[:, order]
    renamed[:, 0] = 3 - renamed[:, 0]
    cliques = [tuple(int(place[v]) for v in clique) for clique in CLIQUES]
    other = fit_potentials(renamed, cliques, np.array(LEVELS)[order], tol=1e-13)
    for clique, first, second in zip(CLIQUES, plain.potentials, other.potentials, strict=True):
        flipped = np.flip(second, axis=clique.index(3)) if 3 in clique else second
        np.testing.assert_allclose(first, flipped, atol=1e-6)


def test_tables_are_views_of_the_value_in_the_order_given():
    fit = fit_potentials(random_rows(8), CLIQUES, LEVELS)
    assert fit.cliques == tuple(CLIQUES)
    assert [table.shape for table in fit.potentials] == shapes(CLIQUES, LEVELS)
    np.testing.assert_array_equal(np.concatenate([t.ravel() for t in fit.potentials]), fit.value)


def test_objective_is_the_score_of_the_model():
    X = random_rows(9)
    fit = fit_potentials(X, CLIQUES, LEVELS, ridge=2.0)
    model = MarkovModel.from_potentials(fit.cliques, fit.potentials)
    penalty = 2.0 * fit.value @ fit.value / (2 * len(X))
    assert fit.objective == pytest.approx(penalty - model.log_pseudo_likelihood(X).mean())


@pytest.mark.slow
def test_true_conditionals_are_recovered():
    adjacency = make_graph(5, "ring")
    adjacency[1, 3] = adjacency[3, 1] = True
    truth = make_markov_model(adjacency, cardinalities=LEVELS, rng=0)
    X = truth.sample(200_000, rng=1)
    fit = fit_potentials(X, truth.cliques, LEVELS)
    learned = MarkovModel.from_potentials(fit.cliques, fit.potentials)
    for v in range(5):
        wanted, found = (model.conditional(v, X) for model in (truth, learned))
        _, group, count = np.unique(
            X[:, truth.adjacency[v]], axis=0, return_inverse=True, return_counts=True
        )
        # Frequencies among the rows that agree on the neighbours would be off by this much.
        error = np.sqrt(wanted * (1 - wanted) / count[group.ravel(), None])
        assert (np.abs(found - wanted) < 4 * error).all()


def test_more_ridge_shrinks():
    X = random_rows(10)
    sizes = [np.abs(fit_potentials(X, CLIQUES, LEVELS, ridge=r).value).max() for r in (0.1, 1, 10)]
    assert sizes[0] > sizes[1] > sizes[2] > 0
    assert np.abs(fit_potentials(X, CLIQUES, LEVELS, ridge=1e9).value).max() < 1e-6


def test_levels_that_never_occur_become_unlikely():
    X = random_rows(11, n_rows=300, levels=[2, 2, 2])
    X[:, 1] = 0
    fit = fit_potentials(X, [(0, 1), (1, 2)], [2, 3, 2], tol=1e-10)
    assert fit.converged
    assert np.isfinite(fit.value).all()
    model = MarkovModel.from_potentials(fit.cliques, fit.potentials)
    assert (model.conditional(1, X)[:, 1:] < 0.02).all()
    # Nothing tells the two missing levels apart.
    np.testing.assert_allclose(fit.potentials[0][:, 1], fit.potentials[0][:, 2], atol=1e-6)


def test_a_level_next_to_impossible_neighbours_stays_at_zero():
    X = np.zeros((20, 2), dtype=int)
    fit = fit_potentials(X, [(0, 1)], 3, tol=1e-10)
    assert (fit.potentials[0][1:, 1:] == 0).all()


def test_variables_with_one_level():
    fit = fit_potentials(np.zeros((5, 2), dtype=int), [(0, 1)], 1)
    assert fit.converged
    assert fit.objective == fit.gap == fit.n_iter == 0


def test_many_levels_and_one_row():
    fit = fit_potentials([[999, 3]], [(0, 1)], [1000, 5])
    assert fit.converged
    assert np.unravel_index(fit.value.argmax(), (1000, 5)) == (999, 3)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"X": [[0, 1, 2]]}, "codes_out_of_range"),
        ({"X": [[0, -1, 1]]}, "codes_out_of_range"),
        ({"X": [[0.0, 1.0, 1.0]]}, "codes_not_integers"),
        ({"X": [0, 1, 1]}, "codes_need_rows"),
        ({"X": np.empty((0, 3), dtype=int)}, "codes_need_rows"),
        ({"cliques": [(0, 1)]}, "variable_in_no_clique"),
        ({"cliques": [(0, 1), (1, 3)]}, "clique_out_of_range"),
        ({"cliques": [(0, 1, 1), (2,)]}, "invalid_clique"),
        ({"cliques": [(0, 1, 2), (2, 0, 1)]}, "clique_repeated"),
        ({"cardinalities": [2, 2]}, "cardinalities_type"),
        ({"cardinalities": [2, 0, 2]}, "cardinalities_too_small"),
        ({"ridge": 0.0}, "potentials_ridge"),
        ({"ridge": np.nan}, "potentials_ridge"),
        ({"tol": 0.0}, "tol_positive"),
        ({"max_iter": 0}, "max_iter_range"),
        ({"sample_weight": [1.0, 1.0]}, "sample_weight_shape"),
        ({"sample_weight": [0.0]}, "sample_weight_range"),
    ],
)
def test_bad_input(changes, part):
    good = {"X": [[0, 1, 1]], "cliques": [(0, 1), (1, 2)], "cardinalities": 2}
    with raises(InputError, code=part):
        fit_potentials(**(good | changes))
