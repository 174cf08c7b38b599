"""Two graphical lassos as an estimator of change."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.covariance import graphical_lasso as sklearn_graphical_lasso
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from edgewise import CV, EBIC, DataWarning, GaussianGraph, InputError
from edgewise.estimators.change.separate import SeparateNetworkChange
from edgewise.selection import SelectionWarning
from edgewise.selection.criteria import ebic, gaussian_log_likelihood
from edgewise.stats import (
    kendall_correlation,
    nonparanormal_correlation,
    repair_covariance,
    spearman_correlation,
)
from tests.estimators.change.change_rows import UNITS, odd_groups, spread, standardized
from tests.messages import raises

RANKS = {
    "nonparanormal": nonparanormal_correlation,
    "spearman": spearman_correlation,
    "kendall": kendall_correlation,
}


def lassos(moments, alpha):
    """Both precision matrices by scikit-learn."""
    return np.stack(
        [sklearn_graphical_lasso(S, alpha, tol=1e-9, enet_tol=1e-9)[1] for S in moments]
    )


def test_agrees_with_two_graphical_lassos_of_scikit_learn():
    X, y = odd_groups()
    rows, scale = standardized(X, y), spread(X, y)
    expected = lassos([one.T @ one / len(one) for one in rows], 0.1)
    model = SeparateNetworkChange(0.1, tol=1e-10, standardize="pooled").fit(X, y)
    np.testing.assert_allclose(model.precisions_ * np.outer(scale, scale), expected, atol=1e-4)
    difference = expected[1] - expected[0]
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(model.change_[off], -difference[off], atol=1e-4)
    np.testing.assert_allclose(model.change_.diagonal(), -difference.diagonal() / 2, atol=1e-4)
    assert model.gap_ <= 1e-10 * 6
    assert model.converged_
    assert not np.signbit(model.change_[model.change_ == 0]).any()


def test_certificates_add_up():
    X, y = odd_groups()
    rows = standardized(X, y)
    model = SeparateNetworkChange(0.1, standardize="pooled").fit(X, y)
    single = [
        GaussianGraph(0.1, covariance="empirical", assume_centered=True, tol=5e-7).fit(one)
        for one in rows
    ]
    assert model.objective_ == pytest.approx(sum(graph.objective_ for graph in single))
    assert model.gap_ == pytest.approx(sum(graph.gap_ for graph in single), abs=1e-12)
    assert model.n_iter_ == max(graph.n_iter_ for graph in single)


def test_finds_the_link_that_is_new_and_both_networks():
    X, y = odd_groups(sizes=(300, 250))
    model = SeparateNetworkChange(negligible=0.3, standardize="pooled").fit(X, y)
    assert model.graph_.edges()[["source", "target"]].to_numpy().tolist() == [["x0", "x1"]]
    assert model.change_[0, 1] > 0
    assert model.classes_.tolist() == ["a", "b"]
    before, after = model.networks_
    assert not before.adjacency[0, 1]
    assert after.adjacency[0, 1]
    assert before.adjacency[2, 3]
    assert after.adjacency[2, 3]
    # Weights are partial correlations, which have no unit.
    expected = [-Theta[0, 1] / np.sqrt(Theta[0, 0] * Theta[1, 1]) for Theta in model.precisions_]
    assert [g.weights[0, 1] for g in model.networks_] == pytest.approx(expected)
    table = model.changes()
    assert table["kind"].tolist() == ["gained"]
    assert table["after"].tolist() == pytest.approx(expected[1:])
    # With rows, the networks are learned from them.
    learned = GaussianGraph().fit(X[y == "b"]).graph_.weights[0, 1]
    assert model.changes(X, y)["after"].tolist() == pytest.approx([learned])


def test_extended_bic_is_that_of_both_groups():
    X, y = odd_groups()
    rows = standardized(X, y)
    moments = [one.T @ one / len(one) for one in rows]
    model = SeparateNetworkChange(EBIC(n_alphas=6), standardize="pooled").fit(X, y)
    assert model.selection_.rule == "ebic"
    expected = []
    for alpha in model.alphas_:
        fit = SeparateNetworkChange(alpha, standardize="pooled").fit(X, y)
        scaled = fit.precisions_ * np.outer(fit.scale_, fit.scale_)
        expected.append(
            sum(
                ebic(
                    len(one) * gaussian_log_likelihood(Theta, S),
                    np.count_nonzero(np.triu(Theta, 1)),
                    len(one),
                    6,
                )
                for one, Theta, S in zip(rows, scaled, moments, strict=True)
            )
        )
    np.testing.assert_allclose(model.selection_.values, expected, atol=1e-3)
    assert model.alpha_ == model.alphas_[np.argmin(expected)]
    np.testing.assert_allclose(
        model.change_,
        SeparateNetworkChange(model.alpha_, standardize="pooled").fit(X, y).change_,
        atol=1e-4,
    )


def test_gamma_makes_the_networks_sparser():
    X, y = odd_groups(change=0.35)
    edges = [
        sum(
            graph.n_edges
            for graph in SeparateNetworkChange(EBIC(gamma=gamma), standardize="pooled")
            .fit(X, y)
            .networks_
        )
        for gamma in (0.0, 1.0)
    ]
    assert edges[0] > edges[1]


def test_permuted_columns_rows_and_other_units():
    X, y = odd_groups()
    options = {"alpha": 0.1, "tol": 1e-12}
    model = SeparateNetworkChange(**options).fit(X, y)
    order = np.random.default_rng(0).permutation(6)
    moved = SeparateNetworkChange(**options).fit(X[:, order], y)
    np.testing.assert_allclose(moved.change_, model.change_[np.ix_(order, order)], atol=1e-6)
    shuffled = np.random.default_rng(1).permutation(len(X))
    mixed = SeparateNetworkChange(**options).fit(X[shuffled], y[shuffled])
    np.testing.assert_allclose(mixed.change_, model.change_, atol=1e-9)
    units = np.array([1e-3, 1.0, 50.0, 2.0, 1e4, 0.3])
    scaled = SeparateNetworkChange(**options).fit(X * units + 5.0, y)
    np.testing.assert_allclose(scaled.change_, model.change_, atol=1e-6)
    np.testing.assert_allclose(
        scaled.precisions_ * np.outer(units, units), model.precisions_, rtol=1e-4, atol=1e-9
    )


def test_the_other_way_round_the_change_has_the_other_sign():
    X, y = odd_groups(sizes=(100, 25))
    model = SeparateNetworkChange(0.1, standardize="pooled").fit(X, y)
    back = SeparateNetworkChange(0.1, standardize="pooled").fit(X, np.where(y == "a", "z", y))
    np.testing.assert_allclose(back.change_, -model.change_, atol=1e-9)
    np.testing.assert_allclose(back.precisions_, model.precisions_[::-1])


def test_groups_of_very_different_size_and_few_rows():
    X, y = odd_groups(sizes=(400, 12))
    assert SeparateNetworkChange(standardize="pooled").fit(X, y).graph_.adjacency[0, 1]
    rng = np.random.default_rng(0)
    wide, labels = rng.normal(size=(60, 40)), np.repeat([0, 1], 30)
    wide[:, 1] = np.where(labels == 1, 1, -1) * wide[:, 0] + 0.1 * rng.normal(size=60)
    for alpha in ("ebic", "cv"):
        model = SeparateNetworkChange(alpha, random_state=0, standardize="pooled").fit(wide, labels)
        assert model.converged_
        assert model.graph_.adjacency[0, 1]
        assert model.change_[0, 1] > 0


def test_path_begins_with_empty_networks():
    X, y = odd_groups()
    model = SeparateNetworkChange(EBIC(n_alphas=5, alpha_ratio=0.2), standardize="pooled")
    path = model.path(X, y)
    rows = standardized(X, y)
    largest = max(np.abs(np.triu(one.T @ one / len(one), 1)).max() for one in rows)
    np.testing.assert_allclose(path.alphas, np.geomspace(largest, 0.2 * largest, 5))
    assert path.n_edges[0] == 0 < path.n_edges[1] < path.n_edges[-1]
    assert path.converged.all()
    assert (path.gaps <= 1e-6 * 6).all()
    alone = SeparateNetworkChange(path.alphas[2], standardize="pooled").fit(X, y)
    np.testing.assert_allclose(path.changes[2], alone.change_, atol=5e-3)
    assert not hasattr(model, "change_")
    default = SeparateNetworkChange(standardize="pooled").path(X, y).alphas
    assert len(default) == 30
    assert default[-1] == pytest.approx(0.1 * default[0])


def test_score_is_the_mean_log_likelihood():
    X, y = odd_groups()
    other, labels = odd_groups(seed=1, sizes=(30, 50))
    model = SeparateNetworkChange(0.1, standardize="pooled").fit(X, y)
    total = 0.0
    for g, label in enumerate("ab"):
        mean = X[y == label].mean(axis=0)
        normal = multivariate_normal(mean, np.linalg.inv(model.precisions_[g]))
        total += normal.logpdf(other[labels == label]).sum()
    # The rows are standardised, which adds the logarithms of their scales.
    expected = total / len(other) + np.log(model.scale_).sum()
    assert model.score(other, labels) == pytest.approx(expected)


def test_held_out_rows_choose_alpha():
    X, y = odd_groups(sizes=(60, 50))
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    model = SeparateNetworkChange(
        CV(folds, n_alphas=6, alpha_ratio=0.05), standardize="pooled"
    ).fit(X, y)
    assert model.selection_.rule == "cv"
    assert model.alpha_ == model.alphas_[np.argmax(model.selection_.values)]
    scores = [
        [
            SeparateNetworkChange(alpha, standardize="pooled")
            .fit(X[train], y[train])
            .score(X[test], y[test])
            for train, test in folds
        ]
        for alpha in model.alphas_[[0, 3]]
    ]
    np.testing.assert_allclose(model.selection_.details[[0, 3]], scores, atol=1e-3)


def test_grid_search_over_alpha():
    X, y = odd_groups(sizes=(60, 50))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    grid = {"alpha": [0.5, 0.2, 0.02]}
    search = GridSearchCV(SeparateNetworkChange(standardize="pooled"), grid, cv=folds).fit(X, y)
    splits = list(folds.split(X, y))
    scores = [
        np.mean(
            [
                SeparateNetworkChange(a, standardize="pooled").fit(X[i], y[i]).score(X[j], y[j])
                for i, j in splits
            ]
        )
        for a in grid["alpha"]
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores)


@pytest.mark.parametrize("covariance", list(RANKS))
def test_ranks_do_not_see_the_scale(covariance):
    X, y = odd_groups()
    model = SeparateNetworkChange(0.1, covariance=covariance, tol=1e-10, standardize="pooled").fit(
        X, y
    )
    S = [RANKS[covariance](X[y == label]) for label in "ab"]
    np.testing.assert_allclose(model.precisions_, lassos(S, 0.1), atol=1e-4)
    bent = np.exp(X / (3 * UNITS))
    same = SeparateNetworkChange(0.1, covariance=covariance, tol=1e-10, standardize="pooled").fit(
        bent, y
    )
    np.testing.assert_allclose(same.change_, model.change_, atol=1e-9)
    assert same.score(bent, y) == pytest.approx(model.score(X, y))
    plain = SeparateNetworkChange(0.1, standardize="pooled").fit(X, y)
    assert (plain.change_ != model.change_).any()


@pytest.mark.parametrize("repair", ["ridge", "clip"])
def test_repair_of_rank_correlations(repair):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(16, 12)), np.repeat([0, 1], 8)
    with raises(
        InputError, code="not_semidefinite_covariance", own="-0.0401468", as_correlations=""
    ):
        SeparateNetworkChange(0.3, covariance="spearman", standardize="pooled").fit(X, y)
    model = SeparateNetworkChange(
        0.3, covariance="spearman", repair=repair, tol=1e-9, standardize="pooled"
    ).fit(X, y)
    S = [repair_covariance(spearman_correlation(X[y == g]), repair)[0] for g in (0, 1)]
    np.testing.assert_allclose(model.precisions_, lassos(S, 0.3), atol=1e-3)
    assert f'repair="{repair}": in the second group' in model.treatment_[1]
    assert SeparateNetworkChange(0.3, standardize="pooled").fit(X, y).treatment_ == []


def test_tolerance_and_iterations():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20)) + rng.normal(size=(60, 1))
    y = np.repeat([0, 1], 30)
    rough = SeparateNetworkChange(0.02, tol=0.1, standardize="pooled").fit(X, y)
    fine = SeparateNetworkChange(0.02, tol=1e-9, standardize="pooled").fit(X, y)
    assert fine.gap_ <= 1e-9 * 20 < rough.gap_
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        stopped = SeparateNetworkChange(0.02, tol=1e-9, max_iter=1, standardize="pooled").fit(X, y)
    assert not stopped.converged_


def test_smallest_alpha_of_a_search_is_said():
    X, y = odd_groups(sizes=(2000, 2000))
    with pytest.warns(SelectionWarning, match='alpha="ebic" chose .*alpha_ratio'):
        SeparateNetworkChange(EBIC(n_alphas=3, alpha_ratio=0.7), standardize="pooled").fit(X, y)


def test_a_column_that_is_constant_in_one_group():
    X, y = odd_groups()
    X[y == "b", 4] = 3.0
    for alpha in (0.1, "ebic"):
        with (
            pytest.warns(DataWarning, match="x4"),
            raises(InputError, code="constant_in_group", group="second", labels=["x4"]),
        ):
            SeparateNetworkChange(alpha, standardize="pooled").fit(X, y)
    X[:, 4] = 1.0
    with pytest.raises(InputError, match="x4"):
        SeparateNetworkChange(0.3, standardize="pooled").fit(X, y)


def test_columns_keep_their_names():
    X, y = odd_groups()
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    model = SeparateNetworkChange(0.2, standardize="pooled").fit(frame, y)
    assert model.graph_.names == model.networks_[0].names == tuple("uvwxyz")
    assert model.changes()[["source", "target"]].iloc[0].tolist() == ["u", "v"]


def test_clone_and_parameters():
    model = SeparateNetworkChange(0.2, covariance="kendall", repair="clip", standardize="pooled")
    assert clone(model).get_params() == model.get_params()
    assert SeparateNetworkChange(standardize="pooled").get_params()["alpha"] == "ebic"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1}, "invalid_value"),
        ({"alpha": "stars"}, "invalid_value"),
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
        SeparateNetworkChange(**parameters).fit(X, y)
