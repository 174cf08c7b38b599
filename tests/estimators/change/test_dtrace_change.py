"""The D-trace loss as an estimator of change."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from edgewise import CV, DataWarning, InputError, SolverError
from edgewise.data import make_gaussian_change
from edgewise.estimators.change.density_ratio import NetworkChange
from edgewise.estimators.change.dtrace import DTraceChange
from edgewise.selection import SelectionWarning
from edgewise.solvers.change.dtrace import dtrace, dtrace_alpha_max
from edgewise.stats import (
    kendall_correlation,
    nonparanormal_correlation,
    repair_covariance,
    spearman_correlation,
)
from tests.estimators.change.change_rows import UNITS, moments, odd_groups, spread, standardized
from tests.messages import raises

RANKS = {
    "nonparanormal": nonparanormal_correlation,
    "spearman": spearman_correlation,
    "kendall": kendall_correlation,
}


def loss(Delta, S_q, S_p):
    return np.trace(Delta @ S_p @ Delta @ S_q) / 2 - np.trace(Delta @ (S_q - S_p))


def test_change_is_that_of_the_solver_with_the_sign_turned():
    X, y = odd_groups()
    rows, scale = standardized(X, y), spread(X, y)
    expected = dtrace(*moments(rows), 0.1, ridge=0.1)
    model = DTraceChange(0.1, standardize="pooled").fit(X, y)
    np.testing.assert_allclose(
        model.precision_difference_, expected.value / np.outer(scale, scale), atol=1e-9
    )
    assert model.gap_ == pytest.approx(expected.gap, abs=1e-12)
    assert model.objective_ == pytest.approx(expected.objective)
    assert model.n_iter_ == expected.n_iter
    assert model.converged_
    # The log ratio of the two densities, up to a constant, at any row.
    row = rows[0][0]
    assert np.sum(np.tril(model.change_) * np.outer(row, row)) == pytest.approx(
        -0.5 * row @ expected.value @ row
    )
    assert not np.signbit(model.change_[model.change_ == 0]).any()


def test_without_penalties_the_difference_of_the_precisions():
    X, y = odd_groups()
    inverses = [np.linalg.inv(np.cov(X[y == label].T, bias=True)) for label in "ab"]
    model = DTraceChange(0.0, ridge=0.0, standardize="pooled").fit(X, y)
    np.testing.assert_allclose(
        model.precision_difference_, inverses[1] - inverses[0], rtol=1e-8, atol=1e-8
    )


def test_finds_the_link_that_is_new():
    X, y = odd_groups(sizes=(200, 150))
    model = DTraceChange(0.3, standardize="pooled").fit(X, y)
    assert model.graph_.edges()[["source", "target"]].to_numpy().tolist() == [["x0", "x1"]]
    direct = NetworkChange(alpha=0.3).fit(X, y)
    assert np.sign(model.change_[0, 1]) == np.sign(direct.change_[0, 1]) == 1
    assert model.classes_.tolist() == ["a", "b"]
    assert model.changes()["kind"].tolist() == ["increased"]
    assert model.changes(X, y)["kind"].tolist() == ["gained"]


def test_ranks_changed_pairs_at_least_as_well_as_the_density_ratio():
    found = []
    for seed in range(4):
        data = make_gaussian_change(30, 100, change=0.9, rng=seed)
        above = np.triu_indices(30, 1)
        hits = []
        for model in (DTraceChange(standardize="pooled"), NetworkChange()):
            order = np.argsort(-model.path(data.X, data.y).order[above])
            hits.append(data.changed[above][order[:15]].sum())
        found.append(hits)
    ours, ratio = np.sum(found, axis=0)
    assert ours >= ratio
    assert ours > 0.6 * 60


def test_permuted_columns_rows_and_other_units():
    X, y = odd_groups()
    options = {"alpha": 0.1, "tol": 1e-12, "standardize": "pooled"}
    model = DTraceChange(**options).fit(X, y)
    order = np.random.default_rng(0).permutation(6)
    moved = DTraceChange(**options).fit(X[:, order], y)
    np.testing.assert_allclose(moved.change_, model.change_[np.ix_(order, order)], atol=1e-7)
    shuffled = np.random.default_rng(1).permutation(len(X))
    mixed = DTraceChange(**options).fit(X[shuffled], y[shuffled])
    np.testing.assert_allclose(mixed.change_, model.change_, atol=1e-9)
    units = np.array([1e-3, 1.0, 50.0, 2.0, 1e4, 0.3])
    scaled = DTraceChange(**options).fit(X * units + 5.0, y)
    np.testing.assert_allclose(scaled.change_, model.change_, atol=1e-7)
    back = scaled.precision_difference_ * np.outer(units, units)
    np.testing.assert_allclose(back, model.precision_difference_, rtol=1e-5, atol=1e-9)
    assert model.graph_.n_edges > 1


def test_the_other_way_round_the_change_has_the_other_sign():
    X, y = odd_groups(sizes=(100, 25))
    model = DTraceChange(0.1, tol=1e-12, standardize="pooled").fit(X, y)
    back = DTraceChange(0.1, tol=1e-12, standardize="pooled").fit(X, np.where(y == "a", "z", y))
    np.testing.assert_allclose(back.change_, -model.change_, atol=1e-7)
    assert model.graph_.n_edges > 0


def test_groups_of_very_different_size():
    X, y = odd_groups(sizes=(400, 12))
    model = DTraceChange(CV(3), random_state=0, standardize="pooled").fit(X, y)
    assert model.converged_
    assert model.graph_.adjacency[0, 1]


def test_more_variables_than_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 25)), np.repeat([0, 1], 15)
    X[:, 1] = np.where(y == 1, 1, -1) * X[:, 0] + 0.1 * rng.normal(size=30)
    assert (
        DTraceChange(CV(3, n_alphas=8), random_state=0, standardize="pooled").fit(X, y).converged_
    )
    path = DTraceChange(standardize="pooled").path(X, y)
    assert path.converged.all()
    assert np.unravel_index(np.argmax(np.triu(path.order, 1)), (25, 25)) == (0, 1)
    with raises(SolverError, code="unbounded_at_alpha"):
        DTraceChange(1e-3, ridge=0.0, standardize="pooled").fit(X, y)


def test_search_passes_over_alphas_without_a_solution():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 25)), np.repeat([0, 1], 15)
    model = DTraceChange(
        CV(3, n_alphas=4, alpha_ratio=1e-3), ridge=0.0, random_state=0, standardize="pooled"
    )
    model.fit(X, y)
    assert np.isneginf(model.selection_.values[-1])
    assert model.converged_


def test_path_begins_without_a_change():
    X, y = odd_groups()
    model = DTraceChange(CV(n_alphas=5, alpha_ratio=0.2), standardize="pooled")
    path = model.path(X, y)
    largest = dtrace_alpha_max(*moments(standardized(X, y)), ridge=0.1)
    np.testing.assert_allclose(path.alphas, np.geomspace(largest, 0.2 * largest, 5))
    assert not path.changes[0].any()
    assert path.n_edges[0] == 0 < path.n_edges[2] < path.n_edges[-1]
    assert path.converged.all()
    assert (path.gaps <= 1e-6 * 6).all()
    fine = DTraceChange(tol=1e-11, standardize="pooled").path(X, y, alphas=path.alphas)
    alone = DTraceChange(path.alphas[2], tol=1e-11, standardize="pooled").fit(X, y)
    np.testing.assert_allclose(fine.changes[2], alone.change_, atol=1e-6)
    assert not hasattr(model, "change_")
    np.testing.assert_array_equal(model.path(X, y, alphas=[0.3, 0.1]).alphas, [0.3, 0.1])
    default = DTraceChange(standardize="pooled").path(X, y).alphas
    assert len(default) == 30
    assert default[-1] == pytest.approx(0.1 * default[0])


def test_score_is_minus_the_loss_of_other_rows():
    X, y = odd_groups()
    other, labels = odd_groups(seed=1, sizes=(30, 50))
    model = DTraceChange(0.1, standardize="pooled").fit(X, y)
    rows = [other[labels == label] - X[y == label].mean(axis=0) for label in "ab"]
    expected = loss(model.precision_difference_, *moments(rows))
    assert model.score(other, labels) == pytest.approx(-expected)
    with raises(InputError, code="unknown_groups", classes=["b", "c"], classes2=["a", "b"]):
        model.score(other, np.where(labels == "a", "c", labels))


def test_held_out_rows_choose_alpha():
    X, y = odd_groups(sizes=(60, 50))
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    model = DTraceChange(
        CV(folds, n_alphas=6, alpha_ratio=0.05), tol=1e-11, standardize="pooled"
    ).fit(X, y)
    assert model.alpha_ == model.alphas_[np.argmax(model.selection_.values)]
    scores = [
        [
            DTraceChange(alpha, tol=1e-11, standardize="pooled")
            .fit(X[train], y[train])
            .score(X[test], y[test])
            for train, test in folds
        ]
        for alpha in model.alphas_[[0, 3]]
    ]
    np.testing.assert_allclose(model.selection_.details[[0, 3]], scores, atol=1e-6)
    fixed = DTraceChange(model.alpha_, tol=1e-11, standardize="pooled").fit(X, y)
    np.testing.assert_allclose(model.change_, fixed.change_, atol=1e-6)


def test_grid_search_over_alpha():
    X, y = odd_groups(sizes=(60, 50))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    grid = {"alpha": [0.5, 0.2, 0.02]}
    search = GridSearchCV(DTraceChange(standardize="pooled"), grid, cv=folds).fit(X, y)
    splits = list(folds.split(X, y))
    scores = [
        np.mean(
            [
                DTraceChange(a, standardize="pooled").fit(X[i], y[i]).score(X[j], y[j])
                for i, j in splits
            ]
        )
        for a in grid["alpha"]
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores)
    assert search.best_params_["alpha"] == grid["alpha"][int(np.argmax(scores))]


def test_ridge_shrinks():
    X, y = odd_groups()
    sizes = [
        np.linalg.norm(DTraceChange(0.1, ridge=r, standardize="pooled").fit(X, y).change_)
        for r in (0, 0.1, 1)
    ]
    assert sizes[0] > sizes[1] > sizes[2]


def test_free_diagonal():
    X, y = odd_groups()
    rows = standardized(X, y)
    model = DTraceChange(0.2, penalize_diagonal=False, standardize="pooled").fit(X, y)
    expected = dtrace(*moments(rows), 0.2, ridge=0.1, penalize_diagonal=False)
    np.testing.assert_allclose(model.change_.diagonal(), -expected.value.diagonal() / 2, atol=1e-9)
    assert (model.change_.diagonal() != 0).all()
    assert (DTraceChange(0.2, standardize="pooled").fit(X, y).change_.diagonal() == 0).any()
    grids = [
        DTraceChange(penalize_diagonal=p, standardize="pooled").path(X, y).alphas[0]
        for p in (True, False)
    ]
    assert grids[0] != grids[1]


@pytest.mark.parametrize("covariance", list(RANKS))
def test_ranks_do_not_see_the_scale(covariance):
    X, y = odd_groups()
    model = DTraceChange(0.1, covariance=covariance, standardize="pooled").fit(X, y)
    S = [RANKS[covariance](X[y == label]) for label in "ab"]
    expected = dtrace(*S, 0.1, ridge=0.1)
    np.testing.assert_allclose(model.precision_difference_, expected.value, atol=1e-9)
    bent = np.exp(X / (3 * UNITS))
    same = DTraceChange(0.1, covariance=covariance, standardize="pooled").fit(bent, y)
    np.testing.assert_allclose(same.change_, model.change_, atol=1e-12)
    assert same.score(bent, y) == pytest.approx(model.score(X, y))
    assert model.score(X, y) == pytest.approx(-loss(expected.value, *S))
    plain = DTraceChange(0.1, standardize="pooled").fit(X, y)
    assert (plain.change_ != model.change_).any()


@pytest.mark.parametrize("repair", ["ridge", "clip"])
def test_repair_of_rank_correlations(repair):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(16, 12)), np.repeat([0, 1], 8)
    with raises(
        InputError, code="not_semidefinite_covariance", own="-0.283238", as_correlations=""
    ):
        DTraceChange(0.2, covariance="kendall", standardize="pooled").fit(X, y)
    model = DTraceChange(0.2, covariance="kendall", repair=repair, standardize="pooled").fit(X, y)
    S = [repair_covariance(kendall_correlation(X[y == g]), repair)[0] for g in (0, 1)]
    expected = dtrace(*S, 0.2, ridge=0.1)
    np.testing.assert_allclose(model.precision_difference_, expected.value, atol=1e-9)
    assert len(model.treatment_) == 2
    assert f'repair="{repair}": in the first group' in model.treatment_[0]
    assert DTraceChange(0.2, standardize="pooled").fit(X, y).treatment_ == []


def test_tolerance_and_rounds():
    X, y = odd_groups(sizes=(8, 7))
    rough = DTraceChange(0.02, tol=10.0, standardize="pooled").fit(X, y)
    fine = DTraceChange(0.02, tol=1e-9, standardize="pooled").fit(X, y)
    assert fine.gap_ <= 1e-9 * 6 < rough.gap_
    assert rough.n_iter_ < fine.n_iter_
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        stopped = DTraceChange(0.02, tol=1e-9, max_iter=2, standardize="pooled").fit(X, y)
    assert stopped.n_iter_ == 2
    assert not stopped.converged_


def test_smallest_alpha_of_a_search_is_said():
    X, y = odd_groups(sizes=(2000, 2000))
    with pytest.warns(SelectionWarning, match="alpha_ratio"):
        DTraceChange(CV(3, n_alphas=3, alpha_ratio=0.7), random_state=0, standardize="pooled").fit(
            X, y
        )


def test_a_column_that_is_constant_in_one_group():
    X, y = odd_groups()
    X[y == "a", 4] = 3.0
    with pytest.warns(DataWarning, match="x4"):
        model = DTraceChange(0.3, standardize="pooled").fit(X, y)
    assert model.converged_
    assert np.isfinite(model.change_).all()
    assert not model.graph_.adjacency[4].any()
    with (
        pytest.warns(DataWarning, match="x4"),
        raises(InputError, code="constant_in_group", group="first", labels=["x4"]),
    ):
        DTraceChange(0.3, covariance="nonparanormal", standardize="pooled").fit(X, y)
    X[:, 4] = 1.0
    with pytest.raises(InputError, match="x4"):
        DTraceChange(0.3, standardize="pooled").fit(X, y)


def test_columns_keep_their_names_and_clones_their_parameters():
    X, y = odd_groups()
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    model = clone(DTraceChange(0.2, ridge=0.3, standardize="pooled")).fit(frame, y)
    assert model.get_params() == DTraceChange(0.2, ridge=0.3, standardize="pooled").get_params()
    assert model.graph_.names == tuple("uvwxyz")
    assert model.changes()[["source", "target"]].iloc[0].tolist() == ["u", "v"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1}, "invalid_value"),
        ({"alpha": "ebic"}, "invalid_value"),
        ({"ridge": -0.1}, "invalid_value"),
        ({"ridge": "much"}, "invalid_value"),
        ({"covariance": "precomputed"}, "invalid_value"),
        ({"repair": "hope"}, "invalid_value"),
        ({"negligible": -1}, "invalid_value"),
        ({"tol": 0}, "invalid_value"),
        ({"max_iter": 0}, "invalid_value"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = odd_groups()
    with raises(InputError, code=message):
        DTraceChange(**parameters).fit(X, y)
