"""Fused networks of two groups as an estimator."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from edgewise import CV, DataWarning, InputError, SolverError
from edgewise.estimators.change.density_ratio import NetworkChange
from edgewise.estimators.change.fused import FusedNetworkChange
from edgewise.solvers.change.fused_neighborhood import fused_neighborhood
from edgewise.solvers.change.joint_path import joint_graphical_lasso_path
from edgewise.stats import nonparanormal_correlation
from tests.estimators.change.change_rows import UNITS, moments, odd_groups, spread, standardized
from tests.messages import raises

METHODS = ["neighborhood", "joint"]
OFF = ~np.eye(6, dtype=bool)


def test_regressions_are_those_of_the_solver():
    X, y = odd_groups()
    rows, scale = standardized(X, y), spread(X, y)
    expected = fused_neighborhood(moments(rows), 0.1, sparsity=0.03)
    model = FusedNetworkChange(0.03, coupling=0.1, standardize="pooled").fit(X, y)
    np.testing.assert_allclose(model.change_, expected.change("or"), atol=1e-10)
    np.testing.assert_allclose(
        model.coefs_, expected.value * scale / scale[:, None], rtol=1e-9, atol=1e-12
    )
    # In the units of X, the coefficients predict the columns of X.
    residual = (X[y == "b"] - X[y == "b"].mean(axis=0)) @ (np.eye(6) - model.coefs_[1])
    np.testing.assert_allclose(residual / scale, rows[1] - rows[1] @ expected.value[1], atol=1e-9)
    assert model.gap_ == pytest.approx(expected.gap, abs=1e-12)
    assert model.objective_ == pytest.approx(expected.objective)
    assert model.converged_
    assert not hasattr(model, "precisions_")


def fused(S, coupling, sparsity=0.0):
    """Solve the joint problem of two groups, whose diagonal is coupled."""
    options = {"penalize_diagonal": "coupling", "tol": 5e-7}
    return joint_graphical_lasso_path(S, sparsity, [coupling], **options)[0]


def test_precisions_are_those_of_the_solver():
    X, y = odd_groups()
    rows, scale = standardized(X, y), spread(X, y)
    expected = fused(moments(rows), 0.1, sparsity=0.03)
    model = FusedNetworkChange(0.03, coupling=0.1, method="joint", standardize="pooled").fit(X, y)
    np.testing.assert_allclose(
        model.precisions_, expected.value / np.outer(scale, scale), rtol=1e-6, atol=1e-12
    )
    difference = expected.value[1] - expected.value[0]
    np.testing.assert_allclose(model.change_[OFF], -difference[OFF], atol=1e-8)
    # The log ratio of the two densities, up to a constant, at any row.
    row = rows[0][0]
    log_ratio = -0.5 * row @ difference @ row
    assert np.sum(np.tril(model.change_) * np.outer(row, row)) == pytest.approx(log_ratio)
    assert model.gap_ <= 1e-6 * 6
    assert not hasattr(model, "coefs_")


@pytest.mark.parametrize("method", METHODS)
def test_finds_the_link_that_is_new(method):
    X, y = odd_groups(sizes=(200, 150))
    model = FusedNetworkChange(coupling=0.2, method=method, standardize="pooled").fit(X, y)
    assert model.graph_.edges()[["source", "target"]].to_numpy().tolist() == [["x0", "x1"]]
    direct = NetworkChange(alpha=0.3).fit(X, y)
    assert np.sign(model.change_[0, 1]) == np.sign(direct.change_[0, 1]) == 1
    assert model.classes_.tolist() == ["a", "b"]
    table = model.changes()
    assert table["kind"].isin(["gained", "stronger", "flipped"]).all()
    assert table["after"][0] > table["before"][0]
    # Learned from the rows, the link was not there before.
    assert model.changes(X, y)["kind"].tolist() == ["gained"]


@pytest.mark.parametrize("method", METHODS)
def test_the_other_way_round_the_change_has_the_other_sign(method):
    X, y = odd_groups()
    options = {"alpha": 0.02, "coupling": 0.1, "method": method, "tol": 1e-10}
    model = FusedNetworkChange(**options).fit(X, y)
    back = FusedNetworkChange(**options).fit(X, np.where(y == "a", "z", y))
    np.testing.assert_allclose(back.change_, -model.change_, atol=1e-5)
    order = np.random.default_rng(0).permutation(6)
    moved = FusedNetworkChange(**options).fit(X[:, order], y)
    np.testing.assert_allclose(moved.change_, model.change_[np.ix_(order, order)], atol=1e-5)
    shuffled = np.random.default_rng(1).permutation(len(X))
    mixed = FusedNetworkChange(**options).fit(X[shuffled], y[shuffled])
    np.testing.assert_allclose(mixed.change_, model.change_, atol=1e-6)
    assert model.graph_.n_edges > 1


@pytest.mark.parametrize("method", METHODS)
def test_path_begins_without_a_change(method):
    X, y = odd_groups()
    model = FusedNetworkChange(
        coupling=CV(n_alphas=5, alpha_ratio=0.2), method=method, standardize="pooled"
    )
    path = model.path(X, y)
    assert len(path.alphas) == 5
    assert path.alphas[-1] == pytest.approx(0.2 * path.alphas[0])
    assert path.n_edges[0] == 0 < path.n_edges[1] < path.n_edges[-1]
    assert path.converged.all()
    assert (path.gaps <= 1e-6 * 6).all()
    alone = FusedNetworkChange(
        coupling=path.alphas[2], method=method, tol=1e-9, standardize="pooled"
    ).fit(X, y)
    np.testing.assert_allclose(path.changes[2], alone.change_, atol=5e-3)
    assert not hasattr(model, "change_")
    given = model.path(X, y, alphas=[0.3, 0.1])
    np.testing.assert_array_equal(given.alphas, [0.3, 0.1])
    default = FusedNetworkChange(method=method, standardize="pooled").path(X, y).alphas
    assert len(default) == 30
    assert default[-1] == pytest.approx(0.1 * default[0])


def test_score_of_regressions_is_minus_the_mean_squared_residual():
    X, y = odd_groups()
    other, labels = odd_groups(seed=1, sizes=(30, 50))
    model = FusedNetworkChange(coupling=0.1, standardize="pooled").fit(X, y)
    expected = []
    for g, label in enumerate("ab"):
        rows = other[labels == label] - X[y == label].mean(axis=0)
        expected.append(np.mean(((rows @ (np.eye(6) - model.coefs_[g])) / model.scale_) ** 2))
    assert model.score(other, labels) == pytest.approx(-np.mean(expected))


def test_score_of_precisions_is_the_mean_log_likelihood():
    X, y = odd_groups()
    other, labels = odd_groups(seed=1, sizes=(30, 50))
    model = FusedNetworkChange(coupling=0.1, method="joint", standardize="pooled").fit(X, y)
    expected = []
    for g, label in enumerate("ab"):
        mean = X[y == label].mean(axis=0)
        normal = multivariate_normal(mean, np.linalg.inv(model.precisions_[g]))
        expected.append(np.mean(normal.logpdf(other[labels == label])))
    # The rows are standardised, which adds the logarithms of their scales.
    shift = np.log(model.scale_).sum()
    assert model.score(other, labels) == pytest.approx(np.mean(expected) + shift)


@pytest.mark.parametrize("method", METHODS)
def test_held_out_rows_choose_alpha(method):
    X, y = odd_groups(sizes=(60, 50))
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    options = {"method": method, "alpha": 0.01}
    model = FusedNetworkChange(coupling=CV(folds, n_alphas=6, alpha_ratio=0.05), **options).fit(
        X, y
    )
    assert model.coupling_ == model.couplings_[np.argmax(model.selection_.values)]
    scores = [
        [
            FusedNetworkChange(coupling=coupling, **options)
            .fit(X[train], y[train])
            .score(X[test], y[test])
            for train, test in folds
        ]
        for coupling in model.couplings_[[0, 3]]
    ]
    np.testing.assert_allclose(model.selection_.details[[0, 3]], scores, atol=2e-4)
    fixed = FusedNetworkChange(coupling=model.coupling_, **options).fit(X, y)
    np.testing.assert_allclose(model.change_, fixed.change_, atol=5e-3)


def test_sparsity_thins_the_networks():
    X, y = odd_groups()
    free = FusedNetworkChange(coupling=0.05, standardize="pooled").fit(X, y)
    sparse = FusedNetworkChange(0.2, coupling=0.05, standardize="pooled").fit(X, y)
    assert np.count_nonzero(free.coefs_) == 2 * 30
    assert np.count_nonzero(sparse.coefs_) < 30


def test_rules():
    X, y = odd_groups(seed=3)
    either = FusedNetworkChange(coupling=0.05, rule="or", standardize="pooled").fit(X, y)
    both = FusedNetworkChange(coupling=0.05, rule="and", standardize="pooled").fit(X, y)
    np.testing.assert_array_equal(either.coefs_, both.coefs_)
    assert both.graph_.n_edges < either.graph_.n_edges
    assert (either.graph_.adjacency | ~both.graph_.adjacency).all()
    np.testing.assert_array_equal(either.change_, either.change_.T)


@pytest.mark.parametrize("method", METHODS)
def test_ranks_do_not_see_the_scale(method):
    X, y = odd_groups()
    options = {"coupling": 0.1, "method": method, "covariance": "nonparanormal"}
    model = FusedNetworkChange(**options).fit(X, y)
    S = np.stack([nonparanormal_correlation(X[y == label]) for label in "ab"])
    solve = fused if method == "joint" else fused_neighborhood
    values = model.precisions_ if method == "joint" else model.coefs_
    np.testing.assert_allclose(values, solve(S, 0.1).value, atol=1e-10)
    bent = np.exp(X / (3 * UNITS))
    same = FusedNetworkChange(**options).fit(bent, y)
    np.testing.assert_array_equal(same.change_, model.change_)
    assert same.score(bent, y) == pytest.approx(model.score(X, y))
    plain = FusedNetworkChange(**{**options, "covariance": "empirical"}).fit(X, y)
    assert (plain.change_ != model.change_).any()


@pytest.mark.parametrize("method", METHODS)
def test_tolerance_and_iterations(method):
    X, y = odd_groups(sizes=(8, 7))
    options = {"alpha": 0.01, "coupling": 0.02, "method": method}
    rough = FusedNetworkChange(**options, tol=10.0).fit(X, y)
    fine = FusedNetworkChange(**options, tol=1e-9).fit(X, y)
    assert fine.gap_ <= 1e-9 * 6 < rough.gap_
    assert rough.n_iter_ < fine.n_iter_
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        stopped = FusedNetworkChange(**options, tol=1e-9, max_iter=1).fit(X, y)
    assert stopped.n_iter_ == 1
    assert not stopped.converged_


@pytest.mark.parametrize("method", METHODS)
def test_more_variables_than_rows(method):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(16, 10)), np.repeat([0, 1], 8)
    assert (
        FusedNetworkChange(coupling=0.1, method=method, standardize="pooled").fit(X, y).converged_
    )
    wide = rng.normal(size=(16, 30))
    with pytest.raises(SolverError, match="Pass sparsity above 0"):
        FusedNetworkChange(coupling=0.1, method=method, standardize="pooled").fit(wide, y)
    assert (
        FusedNetworkChange(0.2, coupling=0.1, method=method, standardize="pooled")
        .fit(wide, y)
        .converged_
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_column_that_is_constant_in_one_group(method):
    X, y = odd_groups()
    X[y == "a", 4] = 3.0
    with pytest.warns(DataWarning, match="x4"):
        model = FusedNetworkChange(0.02, coupling=0.1, method=method, standardize="pooled").fit(
            X, y
        )
    assert model.converged_
    # Its coefficient in the group where it says nothing costs least where it is that of the other.
    assert not model.graph_.adjacency[4].any()


def test_columns_keep_their_names():
    X, y = odd_groups()
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    model = FusedNetworkChange(coupling=0.2, standardize="pooled").fit(frame, y)
    assert model.graph_.names == tuple("uvwxyz")
    assert model.changes()[["source", "target"]].iloc[0].tolist() == ["u", "v"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1}, "invalid_value"),
        ({"coupling": "ebic"}, "invalid_value"),
        ({"coupling": 0}, "nothing_penalised"),
        ({"coupling": -0.1}, "invalid_value"),
        ({"alpha": "cv"}, "invalid_value"),
        ({"method": "both"}, "unknown_fused_method"),
        ({"covariance": "kendall"}, "invalid_value"),
        ({"rule": "xor"}, "invalid_value"),
        ({"negligible": -1}, "invalid_value"),
        ({"tol": 0}, "invalid_value"),
        ({"max_iter": 0}, "invalid_value"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = odd_groups()
    with raises(InputError, code=message):
        FusedNetworkChange(**parameters).fit(X, y)
