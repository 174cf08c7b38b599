"""Locally constant graphs: what is learned, and that every option has its effect."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from edgewise import (
    GaussianGraph,
    LocallyConstantGraph,
)
from edgewise.solvers import locally_constant
from edgewise.stats import Moments
from tests.estimators.space.locally_constant_rows import NUMBERS, SMALL_SEARCH, covariance, patches
from tests.solvers.space.locally_constant_problems import (
    cvxpy_locally_constant,
    elementwise,
    golden_problem,
    objective,
    pairs_of,
)


def units(S, scale):
    """Standard deviations that ``scale`` takes as one."""
    if scale == "variable":
        return np.sqrt(np.diag(S))
    return np.full(len(S), 1.0 if scale is None else np.sqrt(np.mean(np.diag(S))))


@pytest.mark.parametrize("scale", ["global", "variable", None])
@pytest.mark.parametrize("penalize_diagonal", [True, False])
def test_precision_is_the_optimum_on_its_scale_in_units_of_the_data(scale, penalize_diagonal):
    X = patches(n_columns=5)
    model = LocallyConstantGraph(
        0.1, 0.05, neighbors="chain", penalize_diagonal=penalize_diagonal, scale=scale, tol=1e-9
    ).fit(X)
    S = covariance(X)
    unit = np.outer(units(S, scale), units(S, scale))
    thresholds = elementwise(5, 0.1, penalize_diagonal=penalize_diagonal)
    problem = (S / unit, thresholds, 0.05, pairs_of("chain", 5))
    value, _ = cvxpy_locally_constant(*problem)
    assert objective(model.precision_ * unit, *problem) == pytest.approx(value, abs=1e-7)
    assert model.objective_ == pytest.approx(value, abs=1e-7)
    np.testing.assert_allclose(model.precision_ @ model.covariance_, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(model.location_, X.mean(axis=0))


MASK = np.array([[True, True, False], [True, True, True], [True, True, True]])
NEIGHBORS = {
    "chain": ("chain", pairs_of("chain", 8)),
    "ring": ("ring", pairs_of("ring", 8)),
    "plane": ((2, 4), pairs_of("grid", 2, 4)),
    "upright plane": ([4, 2], pairs_of("grid", 4, 2)),
    "volume": ((2, 2, 2), pairs_of("grid", 2, 2, 2)),
    "pairs": ([(5, 0), (1, 4), (2, 3)], np.array([[0, 5], [1, 4], [2, 3]])),
    "grid with a hole": (
        MASK,
        np.array([[0, 1], [2, 3], [3, 4], [5, 6], [6, 7], [0, 2], [1, 3], [2, 5], [3, 6], [4, 7]]),
    ),
}


def as_set(pairs):
    return {tuple(pair) for pair in np.asarray(pairs).tolist()}


@pytest.mark.parametrize("name", NEIGHBORS)
def test_neighbours_are_those_asked_for(name):
    X = patches()
    neighbors, pairs = NEIGHBORS[name]
    model = LocallyConstantGraph(neighbors=neighbors, tol=1e-9, **NUMBERS).fit(X)
    assert as_set(model.pairs_) == as_set(pairs)
    S = covariance(X)
    unit = np.mean(np.diag(S))
    expected = locally_constant(S / unit, 0.1, 0.05, pairs, tol=1e-9)
    np.testing.assert_allclose(model.precision_ * unit, expected.value, atol=1e-5)
    np.testing.assert_array_equal(model.groups_ >= 0, expected.groups >= 0)


def test_every_arrangement_gives_another_graph():
    found = [
        LocallyConstantGraph(neighbors=neighbors, **NUMBERS).fit(patches())
        for neighbors, _ in NEIGHBORS.values()
    ]
    for k, model in enumerate(found):
        for other in found[:k]:
            assert not np.allclose(model.precision_, other.precision_, atol=1e-4)


@pytest.mark.parametrize("scale", ["global", "variable", None])
def test_without_local_constancy_it_is_the_graphical_lasso(scale):
    X = patches()
    model = LocallyConstantGraph(0.1, 0, scale=scale, tol=1e-9).fit(X)
    alpha = 0.1 * (np.mean(X.var(axis=0)) if scale == "global" else 1.0)
    kind = "correlation" if scale == "variable" else "empirical"
    expected = GaussianGraph(alpha, covariance=kind, penalize_diagonal=True, tol=1e-9).fit(X)
    np.testing.assert_allclose(model.precision_, expected.precision_, atol=1e-5)
    assert not np.allclose(
        LocallyConstantGraph(0.1, 0.2, scale=scale).fit(X).precision_, model.precision_, atol=1e-3
    )


def test_strengths_are_used():
    X = patches()
    sparse, dense = (LocallyConstantGraph(alpha, 0.0).fit(X) for alpha in (0.3, 0.02))
    assert 0 < sparse.graph_.n_edges < dense.graph_.n_edges
    rough, even = (LocallyConstantGraph(0.02, tau).fit(X) for tau in (0.0, 0.3))
    assert rough.groups_.max() > even.groups_.max()
    assert (sparse.alpha_, even.tau_) == (0.3, 0.3)
    assert even.selection_ is None
    np.testing.assert_array_equal(even.alphas_, [0.02])
    np.testing.assert_array_equal(even.taus_, [0.3])


def test_attributes_belong_together():
    model = LocallyConstantGraph(0.05, 0.1).fit(patches())
    Theta = model.precision_
    off = ~np.eye(8, dtype=bool)
    np.testing.assert_array_equal(Theta, Theta.T)
    assert np.linalg.eigvalsh(Theta)[0] > 0
    deviation = np.sqrt(np.diag(Theta))
    partial = -Theta / np.outer(deviation, deviation)
    np.testing.assert_allclose(model.partial_correlation_[off], partial[off])
    np.testing.assert_array_equal(np.diag(model.partial_correlation_), 1.0)
    np.testing.assert_allclose(model.graph_.weights[off], partial[off])
    np.testing.assert_array_equal(model.graph_.adjacency, (Theta != 0) & off)
    np.testing.assert_array_equal(model.kept_, np.arange(8))
    assert model.n_features_in_ == 8
    assert model.converged_
    assert 0.0 <= model.gap_ <= 8e-6
    assert model.n_iter_ > 0
    assert model.treatment_ == []


def test_groups_are_equal_entries_of_neighbours():
    model = LocallyConstantGraph(0.05, 0.2).fit(patches())
    groups = model.groups_
    np.testing.assert_array_equal(groups, groups.T)
    np.testing.assert_array_equal(groups >= 0, model.graph_.adjacency)
    numbers = np.unique(groups[groups >= 0])
    np.testing.assert_array_equal(numbers, np.arange(len(numbers)))
    for number in numbers:
        assert np.ptp(model.precision_[groups == number]) < 1e-12
    assert len(set(groups[:3, 7].tolist())) == 1


@pytest.mark.parametrize("scale", ["global", "variable"])
def test_units_of_the_data_do_not_matter(scale):
    X = patches()
    one = LocallyConstantGraph(scale=scale, **NUMBERS).fit(X)
    thousand = LocallyConstantGraph(scale=scale, **NUMBERS).fit(1000 * X)
    np.testing.assert_allclose(thousand.precision_ * 1e6, one.precision_, atol=1e-6)
    np.testing.assert_allclose(thousand.covariance_ / 1e6, one.covariance_, atol=1e-5)
    np.testing.assert_allclose(thousand.location_ / 1000, one.location_)
    np.testing.assert_array_equal(thousand.groups_, one.groups_)
    assert thousand.score(1000 * X) == pytest.approx(one.score(X) - 8 * np.log(1000))


def test_units_of_the_data_matter_where_they_are_kept():
    X = patches()
    one = LocallyConstantGraph(scale=None, **NUMBERS).fit(X)
    thousand = LocallyConstantGraph(scale=None, alpha=0.1e6, tau=0.05e6).fit(1000 * X)
    np.testing.assert_allclose(thousand.precision_ * 1e6, one.precision_, atol=1e-6)
    nearly_free = LocallyConstantGraph(scale=None, **NUMBERS).fit(1000 * X)
    assert nearly_free.graph_.n_edges > one.graph_.n_edges


def test_columns_and_pairs_in_another_order():
    X = patches()
    order = np.random.default_rng(0).permutation(8)
    place = np.argsort(order)
    pairs = pairs_of("grid", 2, 4)
    options = {"tol": 1e-10, **NUMBERS}
    plain = LocallyConstantGraph(neighbors=(2, 4), **options).fit(X)
    mixed = LocallyConstantGraph(neighbors=place[pairs], **options).fit(X[:, order])
    expected = plain.precision_[np.ix_(order, order)]
    np.testing.assert_allclose(mixed.precision_, expected, atol=1e-5)


def test_score_is_the_mean_log_density():
    model = LocallyConstantGraph(**NUMBERS)
    with pytest.raises(NotFittedError):
        model.score(patches())
    model.fit(patches())
    new = patches(seed=1)
    density = multivariate_normal(model.location_, model.covariance_).logpdf(new)
    assert model.score(new) == pytest.approx(density.mean())
    weights = np.linspace(0, 1, len(new))
    assert model.score(new, sample_weight=weights) == pytest.approx(
        np.average(density, weights=weights)
    )


def test_a_stalled_descent_is_said_with_its_remedy():
    S, alpha, tau, pairs = golden_problem()
    moments = Moments.from_covariance(S, 50)
    options = {"neighbors": pairs, "scale": None}
    model = LocallyConstantGraph(alpha, tau, solver="descent", **options)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(moments)
    (warning,) = caught
    assert warning.message.code == "descent_stalled"
    assert warning.message.values["gap"] == pytest.approx(0.05, rel=0.1)
    assert warning.filename == __file__
    assert not model.converged_
    assert model.graph_.n_edges == 0
    assert LocallyConstantGraph(alpha, tau, **options).fit(moments).graph_.n_edges == 9


def test_solvers_agree_by_different_means():
    X = patches()
    options = {"tol": 1e-8, **NUMBERS}
    best = LocallyConstantGraph(**options).fit(X)
    dual = LocallyConstantGraph(solver="dual", **options).fit(X)
    np.testing.assert_allclose(dual.precision_, best.precision_, atol=1e-3)
    assert dual.objective_ == pytest.approx(best.objective_, abs=2e-7)
    assert np.count_nonzero(dual.precision_) > np.count_nonzero(best.precision_)
    # Little fusion leaves the descent nothing to stall at.
    near = LocallyConstantGraph(0.1, 1e-5, tol=1e-4).fit(X)
    descent = LocallyConstantGraph(0.1, 1e-5, tol=1e-4, solver="descent").fit(X)
    assert descent.converged_
    assert descent.objective_ == pytest.approx(near.objective_, abs=1e-3)


def test_precomputed_is_the_same_as_rows():
    X = patches()
    rows = LocallyConstantGraph(**NUMBERS).fit(X)
    given = LocallyConstantGraph(**NUMBERS).fit(Moments.from_covariance(covariance(X), len(X)))
    np.testing.assert_allclose(given.precision_, rows.precision_, atol=1e-9)
    np.testing.assert_array_equal(given.location_, 0)
    assert given.score(X - X.mean(axis=0)) == pytest.approx(rows.score(X))


def test_tolerance_bounds_the_gap():
    X = patches()
    loose, tight = (LocallyConstantGraph(0.02, 0.05, tol=tol).fit(X) for tol in (1e-2, 1e-10))
    assert tight.gap_ <= 8e-10 < loose.gap_ <= 8e-2
    assert tight.n_iter_ > loose.n_iter_


def test_stopping_early_is_said():
    X = patches()
    model = LocallyConstantGraph(0.01, 0.05, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"after 2 iterations.*Raise max_iter") as caught:
        model.fit(X)
    assert caught[0].filename == __file__
    assert not model.converged_
    assert model.n_iter_ == 2
    searching = LocallyConstantGraph(max_iter=1, tol=1e-12, **SMALL_SEARCH)
    with (
        pytest.warns(ConvergenceWarning, match=r"fits of the search.*Raise max_iter"),
        pytest.warns(ConvergenceWarning, match="after 1 iterations"),
    ):
        searching.fit(X)
    assert searching.selection_.n_unconverged > 0


def test_integer_weights_are_repeated_rows():
    X = patches(n_rows=50)
    weights = np.random.default_rng(1).integers(0, 4, size=50)
    weighted = LocallyConstantGraph(**NUMBERS).fit(X, sample_weight=weights)
    repeated = LocallyConstantGraph(**NUMBERS).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.precision_, repeated.precision_, atol=1e-9)
    np.testing.assert_allclose(weighted.location_, repeated.location_)
    plain = LocallyConstantGraph(**NUMBERS).fit(X)
    assert not np.allclose(weighted.precision_, plain.precision_, atol=1e-3)


@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
@pytest.mark.parametrize("options", [NUMBERS, SMALL_SEARCH], ids=["numbers", "search"])
def test_rows_of_weight_zero_do_not_count(options):
    X = patches(n_rows=40, n_columns=5)
    junk = np.vstack([X, np.full((3, 5), 1e18), np.full((1, 5), np.nan)])
    weights = np.r_[np.ones(40), np.zeros(4)]
    with_junk = LocallyConstantGraph(**options).fit(junk, sample_weight=weights)
    without = LocallyConstantGraph(**options).fit(X)
    np.testing.assert_allclose(with_junk.precision_, without.precision_, atol=1e-8)
    assert with_junk.treatment_ == []


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_data_frames_are_kept(frame):
    names = ["left", "middle", "right", "top"]
    X = patches(n_columns=4)
    model = LocallyConstantGraph(**NUMBERS).fit(frame(dict(zip(names, X.T, strict=True))))
    assert model.feature_names_in_.tolist() == names
    assert model.graph_.names == tuple(names)
    plain = LocallyConstantGraph(**NUMBERS).fit(X)
    np.testing.assert_allclose(model.precision_, plain.precision_)
    assert plain.graph_.names == ("x0", "x1", "x2", "x3")


def test_clone_and_refit():
    model = LocallyConstantGraph(neighbors=pairs_of("ring", 8), **NUMBERS)
    again = clone(model).fit(patches())
    np.testing.assert_array_equal(again.fit(patches()).precision_, model.fit(patches()).precision_)


def test_rows_have_densities_and_distances():
    X = np.random.default_rng(0).normal(size=(80, 5)).cumsum(axis=1)
    model = LocallyConstantGraph(0.05, 0.02).fit(X)
    normal = stats.multivariate_normal(model.location_, model.covariance_)
    np.testing.assert_allclose(model.score_samples(X), normal.logpdf(X))
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    gone = X - model.location_
    distances = np.einsum("ni,ij,nj->n", gone, model.precision_, gone)
    np.testing.assert_allclose(model.mahalanobis(X), distances)
