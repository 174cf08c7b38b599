"""Changes by density ratios: what is learned, and that every option has its effect."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import edgewise
from edgewise import CV, DataWarning, InputError, NetworkChange, SolverError
from edgewise.solvers import density_ratio
from edgewise.solvers.change.density_ratio import ratio_alpha_max, ratio_alpha_min
from tests.estimators.change.change_rows import signs, standardized, two_groups
from tests.messages import raises


def product_and_square(u, v):
    return np.column_stack([u * v, (u * v) ** 2])


BASES = {
    "gaussian": {"basis": "gaussian"},
    "power": {"basis": "power", "degree": 2},
    "polynomial": {"basis": "polynomial", "degree": 3},
    "ising": {"basis": "ising"},
    "function": {"basis": product_and_square},
}


def rows_for(basis):
    return signs() if basis == "ising" else two_groups()


@pytest.mark.parametrize("basis", BASES)
def test_raw_rows_go_to_the_solver_as_they_are(basis):
    X, y = rows_for(basis)
    first, second = np.unique(y)
    options = {**BASES[basis], "ridge": 1.0, "penalize_diagonal": False}
    model = NetworkChange(0.3, standardize=False, **options).fit(X, y)
    expected = density_ratio(X[y == second], X[y == first], 0.3, **options)
    np.testing.assert_allclose(model.theta_, expected.value, atol=1e-10)
    assert np.count_nonzero(expected.value) > 0
    assert model.objective_ == pytest.approx(expected.objective, abs=1e-12)
    assert model.effective_sample_size_ == pytest.approx(expected.effective_sample_size)
    np.testing.assert_array_equal(model.locations_, 0)
    np.testing.assert_array_equal(model.scale_, 1)
    assert model.power_scale_ is None


def test_columns_scaled_within_groups_have_no_spread_left():
    """Spreads are taken out with the means: only correlations are left to differ."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(90, 4)), np.repeat(["a", "b"], [40, 50])
    X[y == "b", 1] += X[y == "b", 0]
    moved = X.copy()
    moved[y == "b"] = 5 + moved[y == "b"] * [9, 1, 0.1, 1]
    model, other = (NetworkChange(0.2).fit(rows, y) for rows in (X, moved))
    np.testing.assert_allclose(other.change_, model.change_, atol=1e-7)
    np.testing.assert_allclose(model.scale_[1], X[y == "b"].std(axis=0))
    by_hand = X.copy()
    for label in "ab":
        rows = X[y == label]
        by_hand[y == label] = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    raw = NetworkChange(0.2, standardize=False).fit(by_hand, y)
    np.testing.assert_allclose(raw.change_, model.change_, atol=1e-9)
    np.testing.assert_allclose(
        model.density_ratio(X[y == "a"]), raw.density_ratio(by_hand[y == "a"]), rtol=1e-6
    )
    assert model.score(moved, y) != pytest.approx(model.score(X, y))
    pooled = NetworkChange(0.2, standardize="pooled").fit(moved, y)
    assert abs(pooled.change_[2, 2]) > 0.5
    with raises(InputError, code="invalid_value", parameter="standardize"):
        NetworkChange(0.2, standardize=True).fit(X, y)


@pytest.mark.parametrize("basis", ["gaussian", "power", "function"])
def test_standardized_rows_are_centred_in_groups_and_scaled_together(basis):
    X, y = two_groups(60, 90)
    X = 3.0 * X + np.where(y == "a", 5.0, -2.0)[:, None]
    model = NetworkChange(0.2, **BASES[basis], standardize="pooled").fit(X, y)
    before, after = standardized(X, y)
    expected = density_ratio(after, before, 0.2, **BASES[basis])
    np.testing.assert_allclose(model.theta_, expected.value, atol=1e-8)
    np.testing.assert_allclose(model.locations_[0], X[y == "a"].mean(axis=0))
    np.testing.assert_allclose(model.locations_[1], X[y == "b"].mean(axis=0))
    np.testing.assert_allclose((X[y == "b"] - model.locations_[1]) / model.scale_, after)


def test_powers_are_scaled_too():
    X, y = two_groups()
    model = NetworkChange(0.2, basis="polynomial", degree=3, standardize="pooled").fit(X, y)
    before, after = standardized(X, y)
    pooled = np.vstack([before, after])
    scale = np.stack([pooled.std(axis=0), (pooled**2).std(axis=0), (pooled**3).std(axis=0)])
    expected = density_ratio(
        after, before, 0.2, basis="polynomial", degree=3, power_scale=scale, tol=1e-10
    )
    np.testing.assert_allclose(model.power_scale_, scale)
    np.testing.assert_allclose(model.theta_, expected.value, atol=1e-4)
    assert model.theta_.shape == (4, 4, 9)


@pytest.mark.parametrize("basis", ["gaussian", "power", "polynomial"])
def test_units_and_means_matter_only_without_standardizing(basis):
    X, y = two_groups()
    moved = X * [1.0, 20.0, 0.3, 1.0] + np.where(y == "a", 4.0, -1.0)[:, None]
    fits = [NetworkChange(0.3, **BASES[basis]).fit(rows, y) for rows in (X, moved)]
    np.testing.assert_allclose(fits[0].change_, fits[1].change_, atol=1e-6)
    raw = NetworkChange(0.3, standardize=False).fit(X, y)
    shifted = NetworkChange(0.3, standardize=False).fit(X + 0.5 * (y == "b")[:, None], y)
    assert not np.allclose(raw.change_, shifted.change_, atol=1e-2)


def test_attributes_belong_together():
    X, y = two_groups(90, 60)
    model = NetworkChange(0.15).fit(X, y)
    np.testing.assert_array_equal(model.change_, model.theta_[:, :, 0])
    np.testing.assert_array_equal(model.change_, model.change_.T)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_array_equal(model.graph_.weights[off], model.change_[off])
    np.testing.assert_array_equal(model.graph_.adjacency, (model.change_ != 0) & off)
    assert model.change_[0, 1] > 0.3
    assert model.classes_.tolist() == ["a", "b"]
    assert (model.alpha_, model.degree_) == (0.15, 2)
    np.testing.assert_array_equal(model.alphas_, [0.15])
    assert model.selection_ is None
    assert model.converged_
    assert 0.0 <= model.gap_ <= 4e-8
    assert model.n_iter_ > 0
    assert model.n_features_in_ == 4
    assert 1 < model.effective_sample_size_ < 90


def test_change_of_several_features_is_the_length_of_their_vector():
    X, y = two_groups()
    model = NetworkChange(0.2, basis="polynomial", degree=3).fit(X, y)
    np.testing.assert_allclose(model.change_, np.linalg.norm(model.theta_, axis=2), atol=1e-15)
    np.testing.assert_array_equal(model.change_, model.change_.T)
    assert (model.change_ >= 0).all()


def test_swapped_labels_turn_the_ratio_round():
    X, y = two_groups()
    swapped = np.where(y == "a", "b", "a")
    forward, backward = (
        NetworkChange(0.2, standardize="pooled").fit(X, labels) for labels in (y, swapped)
    )
    before, after = standardized(X, y)
    np.testing.assert_allclose(backward.theta_, density_ratio(before, after, 0.2).value, atol=1e-8)
    assert forward.change_[0, 1] > 0 > backward.change_[0, 1]
    assert not np.allclose(forward.change_, -backward.change_, atol=1e-3)


def test_alpha_ridge_and_diagonal_have_their_effect():
    X, y = two_groups()
    model = NetworkChange(0.1, standardize="pooled").fit(X, y)
    assert NetworkChange(0.4, standardize="pooled").fit(X, y).graph_.n_edges < model.graph_.n_edges
    firmer = NetworkChange(0.1, ridge=1.0, standardize="pooled").fit(X, y)
    assert abs(firmer.change_[0, 1]) < 0.8 * abs(model.change_[0, 1])
    free = NetworkChange(2.0, penalize_diagonal=False, standardize="pooled").fit(X, y)
    assert free.graph_.n_edges == 0
    assert (free.change_.diagonal() != 0).all()
    assert not NetworkChange(2.0, standardize="pooled").fit(X, y).change_.any()


def test_solvers_agree_and_are_used():
    X, y = two_groups()
    fits = [NetworkChange(0.1, solver=name, tol=1e-10).fit(X, y) for name in ("dual", "primal")]
    np.testing.assert_allclose(fits[0].change_, fits[1].change_, atol=1e-4)
    assert fits[0].n_iter_ < fits[1].n_iter_


def test_tolerance_and_iterations_are_used():
    X, y = two_groups()
    # A single fit goes on until its graph is decided.
    rough, fine = (
        NetworkChange(0.01, solver="primal", tol=tol, standardize="pooled").path(X, y, [0.01])
        for tol in (1e-3, 1e-11)
    )
    assert fine.gaps[0] <= 4e-11 < rough.gaps[0] <= 4e-3
    with pytest.warns(ConvergenceWarning, match=r"Stopped after 1 iterations.*max_iter"):
        model = NetworkChange(0.01, solver="dual", max_iter=1, standardize="pooled").fit(X, y)
    assert not model.converged_


def test_negligible_changes_are_left_out_of_the_graph_only():
    X, y = two_groups()
    model = NetworkChange(0.02).fit(X, y)
    sizes = np.sort(np.abs(model.graph_.weights[np.triu_indices(4, 1)]))
    limit = float(np.mean(sizes[-2:]))
    kept = NetworkChange(0.02, negligible=limit).fit(X, y)
    assert kept.graph_.n_edges == 1 < model.graph_.n_edges
    assert kept.graph_.weights[0, 1] == model.change_[0, 1]
    np.testing.assert_array_equal(kept.change_, model.change_)


def test_path_is_a_fit_at_each_alpha():
    X, y = two_groups()
    model = NetworkChange(CV(n_alphas=6, alpha_ratio=0.05), tol=1e-10, standardize="pooled")
    path = model.path(X, y)
    with pytest.raises(NotFittedError):
        model.score(X, y)
    before, after = standardized(X, y)
    assert path.alphas[0] == pytest.approx(ratio_alpha_max(after, before))
    assert path.alphas[-1] / path.alphas[0] == pytest.approx(0.05)
    assert len(path.graphs) == len(path.changes) == 6
    assert path.converged.all()
    assert (path.gaps <= 4e-10).all()
    for k in (0, 3, 5):
        fit = NetworkChange(path.alphas[k], tol=1e-10, standardize="pooled").fit(X, y)
        np.testing.assert_allclose(path.changes[k], fit.change_, atol=1e-4)
        np.testing.assert_array_equal(path.graphs[k].adjacency, fit.graph_.adjacency)
    assert path.n_edges[0] == 0
    assert path.entry[0, 1] == path.entry[np.triu_indices(4, 1)].max()
    given = model.path(X, y, alphas=[0.5, 0.2])
    np.testing.assert_array_equal(given.alphas, [0.5, 0.2])
    with raises(InputError, code="alphas_descending"):
        model.path(X, y, alphas=[0.2, 0.5])


def log_ratio(model, rows):
    """The log ratio of standardised rows, pair by pair."""
    d = rows.shape[1]
    return sum(
        model.theta_[u, v, 0] * rows[:, u] * rows[:, v] for u in range(d) for v in range(u, d)
    )


def test_score_is_the_normalised_log_ratio_of_other_rows():
    X, y = two_groups()
    model = NetworkChange(0.2).fit(X, y)
    other, labels = two_groups(50, 30, seed=1)
    before, after = (
        (other[labels == label] - model.locations_[k]) / model.scale_[k]
        for k, label in enumerate("ab")
    )
    expected = log_ratio(model, after).mean() - logsumexp(log_ratio(model, before)) + np.log(50)
    assert model.score(other, labels) == pytest.approx(expected)
    nothing = NetworkChange(9.0).fit(X, y)
    assert nothing.score(other, labels) == pytest.approx(0, abs=1e-12)
    with raises(InputError, code="unknown_groups", classes=["a", "c"], classes2=["a", "b"]):
        model.score(other, np.where(labels == "b", "c", "a"))


@pytest.mark.parametrize("basis", ["gaussian", "polynomial"])
def test_density_ratio_has_mean_one_over_the_first_group(basis):
    X, y = two_groups()
    model = NetworkChange(0.2, **BASES[basis]).fit(X, y)
    ratio = model.density_ratio(X[y == "a"])
    assert ratio.mean() == pytest.approx(1)
    assert 1 / np.sum((ratio / len(ratio)) ** 2) == pytest.approx(model.effective_sample_size_)
    if basis == "gaussian":
        rows = (X[y == "a"] - model.locations_[0]) / model.scale_[0]
        expected = np.exp(log_ratio(model, rows) - model.log_normalizer_)
        np.testing.assert_allclose(ratio, expected)
    assert model.density_ratio(X[:1]).shape == (1,)
    assert model.density_ratio([[2.0, 2.0, 0, 0]])[0] > model.density_ratio([[2.0, -2.0, 0, 0]])[0]


def by_hand(X, y, folds, alphas):
    """Held-out scores of every fold, standardised by its training rows."""
    scores = np.empty((len(alphas), len(folds)))
    for k, (train, test) in enumerate(folds):
        for a, alpha in enumerate(alphas):
            fit = NetworkChange(alpha, tol=1e-12).fit(X[train], y[train])
            scores[a, k] = fit.score(X[test], y[test])
    return scores


def test_cross_validation_is_that_of_the_folds():
    X, y = two_groups(40, 30)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    model = NetworkChange(CV(folds, n_alphas=5), tol=1e-12).fit(X, y)
    scores = by_hand(X, y, folds, model.alphas_)
    # A gap g leaves coefficients uncertain by the root of 2 g / ridge.
    np.testing.assert_allclose(model.selection_.details, scores, atol=1e-4)
    sizes = [len(test) for _, test in folds]
    best = int(np.argmax(np.average(scores, axis=1, weights=sizes)))
    assert model.alpha_ == model.alphas_[best]
    again = NetworkChange(model.alpha_, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.change_, again.change_, atol=1e-4)


def test_search_depends_on_the_seed_but_not_on_the_workers():
    X, y = two_groups(30, 30)
    options = {"alpha": CV(3, n_alphas=4)}
    one, two, other = (
        NetworkChange(random_state=seed, n_jobs=jobs, **options).fit(X, y)
        for seed, jobs in ((0, 1), (0, 2), (1, 1))
    )
    np.testing.assert_array_equal(one.selection_.details, two.selection_.details)
    np.testing.assert_array_equal(one.change_, two.change_)
    assert not np.allclose(one.selection_.details, other.selection_.details)
    assert one.selection_.details.shape == (4, 3)
    assert NetworkChange(CV(4, n_alphas=5), random_state=0).fit(X, y).selection_.details.shape == (
        5,
        4,
    )


def quartic(n=300, seed=0):
    """In the second group the sizes of two variables agree, but neither their signs nor spread."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, size=(2 * n, 3))
    y = np.repeat([0, 1], n)
    X[n:, 1] = rng.choice([-1, 1], size=n) * np.abs(X[n:, 0]) + rng.normal(0, 0.3, size=n)
    return X, y


def test_cross_validation_chooses_the_degree():
    X, y = quartic()
    options = {"alpha": CV(3, n_alphas=5), "basis": "polynomial", "random_state": 0}
    model = NetworkChange(degree=(2, 4), **options).fit(X, y)
    fits = [NetworkChange(degree=degree, **options).fit(X, y) for degree in (2, 4)]
    best = [fit.selection_.values.max() for fit in fits]
    assert best[1] > best[0]
    assert model.degree_ == 4
    np.testing.assert_array_equal(model.theta_, fits[1].theta_)
    np.testing.assert_array_equal(model.selection_.values, fits[1].selection_.values)
    strongest = model.graph_.edges().iloc[0]
    assert (strongest.source, strongest.target) == ("x0", "x1")
    assert model.density_ratio(X).shape == (600,)
    assert np.isfinite(model.score(X, y))
    with raises(InputError, code="path_of_one_degree", degree=[2, 4]):
        model.path(X, y)
    with pytest.raises(InputError, match=r"require alpha=\"cv\""):
        NetworkChange(0.1, basis="polynomial", degree=(2, 3)).fit(X, y)
    with pytest.raises(InputError, match="Several degrees require basis"):
        NetworkChange(degree=(2, 3)).fit(X, y)
    with pytest.raises(InputError, match="got none"):
        NetworkChange(basis="power", degree=()).fit(X, y)


@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
def test_folds_are_shared_between_degrees():
    draws = []

    class Watched(StratifiedShuffleSplit):
        def split(self, X, y=None, groups=None):
            draws.append(len(y))
            return super().split(X, y, groups)

    X, y = quartic(40)
    NetworkChange(CV(Watched(2), n_alphas=2), basis="power", degree=[1, 2]).fit(X, y)
    assert draws == [len(y)]


def test_without_a_ridge():
    X, y = two_groups(40, 40, strength=1.5, seed=3)
    before, after = standardized(X, y)
    smallest = ratio_alpha_min(after, before)
    model = NetworkChange(ridge=0, random_state=0, standardize="pooled").fit(X, y)
    assert model.alphas_[-1] == pytest.approx(1.05 * smallest, rel=1e-3)
    assert model.alpha_ > smallest
    np.testing.assert_allclose(
        model.theta_, density_ratio(after, before, model.alpha_, ridge=0).value, atol=1e-4
    )
    short = NetworkChange(
        CV(n_alphas=3, alpha_ratio=0.9), ridge=0, random_state=0, standardize="pooled"
    )
    assert short.path(X, y).alphas[-1] / model.alphas_[0] == pytest.approx(0.9)
    with raises(SolverError, code="ratio_unbounded"):
        NetworkChange(0.5 * smallest, ridge=0, standardize="pooled").fit(X, y)
    same = np.vstack([X[:40], X[:40]])
    assert NetworkChange(CV(2), ridge=0, standardize="pooled").fit(same, y).graph_.n_edges == 0


def test_identical_rows_and_groups_of_one_distribution():
    X, y = two_groups()
    same = np.vstack([X[:80], X[:80]])
    model = NetworkChange(standardize="pooled").fit(same, y)
    assert not model.change_.any()
    assert model.effective_sample_size_ == pytest.approx(80)
    found = 0
    for seed in range(8):
        null, labels = two_groups(60, 60, n_features=5, strength=0.0, seed=seed)
        fit = NetworkChange(CV(3, n_alphas=8), random_state=0, standardize="pooled").fit(
            null, labels
        )
        found += fit.graph_.n_edges > 0
        before, after = standardized(null, labels)
        largest = ratio_alpha_max(after, before)
        for share, n_changes in ((1.001, 0), (0.999, 1)):
            change = NetworkChange(share * largest, standardize="pooled").fit(null, labels).change_
            assert np.count_nonzero(np.triu(change)) == n_changes
    assert found <= 2


@pytest.mark.parametrize(("n_first", "n_second"), [(20, 200), (200, 20), (8, 9)])
def test_unbalanced_and_small_groups(n_first, n_second):
    X, y = two_groups(n_first, n_second, n_features=25, strength=1.5)
    model = NetworkChange(
        CV(3, n_alphas=6, alpha_ratio=0.4), random_state=0, standardize="pooled"
    ).fit(X, y)
    assert np.isfinite(model.change_).all()
    assert model.converged_
    if n_second == 200:
        assert model.graph_.adjacency[0, 1]


def test_collapse_of_the_ratio_is_said():
    X, y = two_groups(100, 100, strength=0.0)
    X[y == "b", 1] = 5 * X[y == "b", 0] + 0.1 * X[y == "b", 1]
    with pytest.warns(DataWarning, match=r"size of \d\.\d of the 100 rows of group 'a'") as caught:
        model = NetworkChange(0.01, ridge=0.01, standardize="pooled").fit(X, y)
    assert model.effective_sample_size_ < 5
    assert caught[0].filename == __file__
    # Few rows that count alike are no collapse.
    few = np.r_[:4, 100:104]
    assert NetworkChange(9.0, standardize="pooled").fit(
        X[few], y[few]
    ).effective_sample_size_ == pytest.approx(4)
    # A dozen rows are enough by themselves, but not of two thousand.
    large, labels = two_groups(2000, 100, strength=2.0)
    with pytest.warns(DataWarning, match="of the 2000 rows"):
        model = NetworkChange(0.1, standardize="pooled").fit(large, labels)
    assert 5 < model.effective_sample_size_ < 100


def test_both_directions():
    X, y = two_groups(strength=1.0)
    model = NetworkChange(0.4, standardize="pooled").fit(X, y)
    check = model.check_directions(X, y)
    before, after = standardized(X, y)
    back = density_ratio(before, after, 0.4).value[:, :, 0]
    assert check.forward.weights[0, 1] == pytest.approx(model.change_[0, 1], abs=1e-6)
    assert check.backward.weights[0, 1] == pytest.approx(back[0, 1], abs=1e-6)
    assert check.agreement == 1
    assert "Both directions agree: 1 changes one way, 1 the other" in str(check)
    row = check.table().iloc[0]
    assert (row.source, row.target, row.agree) == ("x0", "x1", True)
    assert row.forward > 0 > row.backward
    loose = NetworkChange(0.05, standardize="pooled").fit(X, y).check_directions(X, y)
    assert loose.agreement < 1
    assert "Trust those that both found" in str(loose)
    assert not loose.table().agree.all()
    assert NetworkChange(9.0, standardize="pooled").fit(X, y).check_directions(X, y).agreement == 1


def test_directions_of_lengths_have_no_sign():
    X, y = two_groups(strength=1.0)
    model = NetworkChange(1.0, basis="polynomial", standardize="pooled").fit(X, y)
    check = model.check_directions(X, y)
    assert (check.forward.weights[0, 1] > 0) & (check.backward.weights[0, 1] > 0)
    assert not check.is_signed
    assert check.table().agree[0]


def test_changes_say_what_each_link_did():
    X, y = two_groups(200, 200, strength=1.0)
    X[y == "a", 3] += X[y == "a", 2]
    model = NetworkChange(0.3, standardize="pooled").fit(X, y)
    kinds = model.changes(X, y).set_index(["source", "target"]).kind
    assert kinds["x0", "x1"] == "gained"
    assert kinds["x2", "x3"] == "lost"
    alone = model.changes().set_index(["source", "target"])
    assert alone.kind["x0", "x1"] == "increased"
    assert alone.kind["x2", "x3"] == "decreased"
    assert (alone.before == 0).all()
    lengths = NetworkChange(0.8, basis="polynomial", standardize="pooled").fit(X, y).changes()
    assert set(lengths.kind) == {"changed"}
    with raises(InputError, code="unknown_groups", classes=["b", "c"], classes2=["a", "b"]):
        model.changes(X, np.where(y == "a", "c", "b"))
    with pytest.raises(NotFittedError):
        NetworkChange(standardize="pooled").changes()


@pytest.mark.parametrize("basis", ["gaussian", "polynomial"])
def test_saved_and_loaded(basis, tmp_path):
    X, y = two_groups()
    frame = pd.DataFrame(X, columns=list("wxyz"))
    model = NetworkChange(CV(2, n_alphas=3), random_state=0, **BASES[basis]).fit(frame, y)
    model.save(tmp_path / "m.edgewise")
    again = edgewise.load(tmp_path / "m.edgewise")
    np.testing.assert_array_equal(again.theta_, model.theta_)
    assert again.classes_.tolist() == ["a", "b"]
    assert again.graph_ == model.graph_
    assert again.score(frame, y) == model.score(frame, y)
    np.testing.assert_array_equal(again.density_ratio(frame), model.density_ratio(frame))
    np.testing.assert_array_equal(again.selection_.values, model.selection_.values)
    pd.testing.assert_frame_equal(again.changes(), model.changes())


def test_a_function_cannot_be_saved(tmp_path):
    X, y = two_groups()
    model = NetworkChange(0.3, basis=product_and_square).fit(X, y)
    with raises(InputError, code="needs_pickling", type="function"):
        model.save(tmp_path / "m.edgewise")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_names_of_data_frames(kind):
    X, y = two_groups()
    frame = kind(dict(zip("wxyz", X.T, strict=True)))
    model = NetworkChange(0.3).fit(frame, y)
    assert model.graph_.names == tuple("wxyz")
    assert model.feature_names_in_.tolist() == list("wxyz")
    along = model.path(frame, y, [0.3]).graphs[0]
    assert along.names == model.graph_.names
    np.testing.assert_allclose(along.weights, model.graph_.weights, atol=1e-4)
    assert model.changes(frame, y).source[0] == "w"
    np.testing.assert_array_equal(model.change_, NetworkChange(0.3).fit(X, y).change_)
    with raises(ValueError, code="columns_of_fit"):
        model.score(kind(dict(zip("wxzy", X.T, strict=True))), y)


def test_searches_pipelines_and_clones():
    X, y = two_groups(60, 60)
    alphas = {"alpha": [2.0, 0.3, 0.001]}
    search = GridSearchCV(NetworkChange(), alphas, cv=StratifiedKFold(3)).fit(X, y)
    assert search.best_params_["alpha"] == 0.3
    pipe = make_pipeline(StandardScaler(), NetworkChange(0.3)).fit(X, y)
    np.testing.assert_allclose(pipe[-1].change_, NetworkChange(0.3).fit(X, y).change_, atol=1e-6)
    assert pipe.score(X, y) == pytest.approx(NetworkChange(0.3).fit(X, y).score(X, y))
    model = NetworkChange(
        0.3, 0.2, basis="gaussian", degree=3, solver="dual", standardize=False, negligible=0.1
    )
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model.fit(X, y)), "theta_")


def test_ising():
    X, y = signs()
    model = NetworkChange(0.2, basis="ising").fit(X, y)
    assert model.graph_.n_edges == 1
    assert model.change_[0, 1] > 0
    np.testing.assert_array_equal(model.change_.diagonal(), 0)
    # Entries of -1 and 1 are their own scale.
    np.testing.assert_array_equal(model.scale_, 1)
    np.testing.assert_array_equal(model.locations_, 0)
    raw = NetworkChange(0.2, basis="ising", standardize=False).fit(X, y)
    np.testing.assert_array_equal(model.change_, raw.change_)
    assert model.density_ratio(X[y == 0]).mean() == pytest.approx(1)
    chosen = NetworkChange(CV(3, n_alphas=5), basis="ising", random_state=0).fit(X, y)
    assert chosen.graph_.adjacency[0, 1]
