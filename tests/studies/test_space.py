"""The study of locally constant graphs: scores, tuning, competitors and verdicts."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits
from sklearn.linear_model import Lasso

from edgewise.data import GaussianModel, load_table, neighbor_pairs
from edgewise.metrics import gaussian_kl
from studies.space import (
    STUDY,
    blocks,
    contour,
    images,
    methods,
    stalls,
)
from studies.space.contour_model import make_contour_model
from studies.space.methods import (
    FINER,
    Fit,
    Grid,
    best,
    count_unconverged,
    divergences,
    fit_full,
    fit_graphical_lasso,
    fit_independent,
    fit_locally_constant,
    fit_regressions,
    fit_regressions_refitted,
    grid_for,
    held_out,
    log_likelihood,
    measures,
    refine,
    refit,
    second_moments,
    split,
    tune,
)

CHAIN_9 = neighbor_pairs("chain", 9)


@pytest.fixture
def rows():
    return make_contour_model().sample(60, 0)


def grid_of(*alphas, taus=(0.1,), ridges=(0.1,)):
    return Grid(
        alphas=np.array(alphas),
        coarse_alphas=np.array(alphas),
        taus=np.array(taus),
        ridges=np.array(ridges),
    )


# Scores and tuning


def test_log_likelihood_is_that_of_the_gaussian(rows):
    precision = make_contour_model("one-block").precision
    expected = multivariate_normal(np.zeros(9), np.linalg.inv(precision)).logpdf(rows).mean()
    assert log_likelihood(precision, second_moments(rows)) == pytest.approx(expected, rel=1e-12)


def test_folds_hold_every_row_once():
    folds = split(23, 5, np.random.default_rng(0))
    assert sorted(np.concatenate(folds)) == list(range(23))
    assert {len(fold) for fold in folds} == {4, 5}
    assert [len(fold) for fold in split(4, 4, np.random.default_rng(0))] == [1, 1, 1, 1]


def test_tuning_agrees_with_doing_it_by_hand(rows):
    truth = make_contour_model().precision
    grid = grid_of(0.1, ridges=[1.0, 0.1, 0.01])
    folds = split(60, 4, np.random.default_rng(1))
    estimates = [np.linalg.inv(rows.T @ rows / 60 + ridge * np.eye(9)) for ridge in grid.ridges]
    by_truth = np.argmin([gaussian_kl(truth, estimate) for estimate in estimates])
    totals = []
    for ridge in grid.ridges:
        total = 0.0
        for test in folds:
            train = rows[np.setdiff1d(np.arange(60), test)]
            covariance = train.T @ train / len(train) + ridge * np.eye(9)
            total += multivariate_normal(np.zeros(9), covariance).logpdf(rows[test]).sum()
        totals.append(total)
    np.testing.assert_allclose(held_out(fit_full, rows, grid, folds), np.array(totals) / 60)
    tuned = tune(fit_full, rows, truth, grid, folds)
    assert tuned.oracle.settings == {"ridge": grid.ridges[by_truth]}
    assert tuned.cross_validated.settings == {"ridge": grid.ridges[np.argmax(totals)]}
    assert tuned.n_unconverged == 0


def test_a_point_without_fit_is_never_chosen(rows):
    truth = np.eye(9)

    def method(S, grid):
        # The second point exists for all rows but not for every fold.
        fit = Fit(precision=np.eye(9), adjacency=truth != 0, settings={"point": 0.0})
        other = Fit(precision=2 * np.eye(9), adjacency=truth != 0, settings={"point": 1.0})
        is_whole = np.allclose(S, second_moments(rows))
        return [None, other if is_whole else None, fit]

    folds = split(60, 3, np.random.default_rng(0))
    assert held_out(method, rows, grid_of(1.0), folds)[:2].tolist() == [-np.inf, -np.inf]
    tuned = tune(method, rows, 2 * truth, grid_of(1.0), folds)
    assert tuned.oracle.settings == {"point": 1.0}
    assert tuned.cross_validated.settings == {"point": 0.0}
    assert divergences([None], truth).tolist() == [np.inf]


def test_best_takes_the_first_of_equals_and_counting():
    fits = [
        Fit(precision=np.eye(2), adjacency=np.zeros((2, 2), bool), settings={}, converged=done)
        for done in (True, False, False)
    ]
    assert best([None, *fits], np.array([9.0, 1.0, 2.0, 2.0])) is fits[1]
    assert count_unconverged([None, *fits]) == 2


def test_measures(rows):
    truth = make_contour_model().precision
    fit = fit_independent(second_moments(rows), grid_of(1.0, ridges=[0.5]))[0]
    found = measures(fit, truth)
    assert found["kl"] == gaussian_kl(truth, fit.precision)
    assert (found["precision"], found["recall"], found["edges"]) == (1.0, 0.0, 0)
    assert found["frobenius"] == pytest.approx(np.sqrt(((fit.precision - truth) ** 2).sum()))
    assert found["ridge"] == 0.5


# Competitors


def test_grid_is_wide_and_nested(rows):
    S = second_moments(rows)
    grid = grid_for(S, per_decade=2)
    largest = np.abs(S[~np.eye(9, dtype=bool)]).max()
    assert grid.alphas[1] == pytest.approx(largest)
    assert grid.alphas[-1] == pytest.approx(largest / 1000)
    assert (np.diff(grid.alphas) < 0).all()
    assert len(grid.alphas) == 2 + 3 * 2 * FINER
    assert len(grid.coarse_alphas) == 2 + 3 * 2
    assert set(grid.coarse_alphas) <= set(grid.alphas)
    np.testing.assert_allclose(grid.taus, largest * np.logspace(-3, 0, 7))


def test_locally_constant_grid_holds_the_graphical_lasso(rows):
    S = second_moments(rows)
    grid = grid_of(0.3, 0.1, taus=[0.02, 0.2])
    lasso = fit_graphical_lasso(S, grid, tol=1e-8)
    fits = fit_locally_constant(S, grid, CHAIN_9, tol=1e-8)
    assert [(fit.settings["alpha"], fit.settings["tau"]) for fit in fits] == [
        (0.3, 0.0), (0.1, 0.0), (0.3, 0.02), (0.3, 0.2), (0.1, 0.02), (0.1, 0.2),
    ]  # fmt: skip
    np.testing.assert_array_equal(fits[1].precision, lasso[1].precision)
    assert not np.allclose(fits[4].precision, lasso[1].precision, atol=1e-3)
    # The diagonal is penalised: its dual has variances larger by alpha.
    np.testing.assert_allclose(
        np.linalg.inv(lasso[1].precision).diagonal(), S.diagonal() + 0.1, atol=1e-4
    )


def test_refining_reaches_the_default_tolerance(rows):
    S = second_moments(rows)
    rough = fit_locally_constant(S, grid_of(0.05, taus=[0.03]), CHAIN_9, tol=1e-1)
    sharp = fit_locally_constant(S, grid_of(0.05, taus=[0.03]), CHAIN_9, tol=1e-9)
    for loose, exact in zip(rough, sharp, strict=True):
        fine = refine(S, loose, CHAIN_9)
        assert fine.settings == loose.settings
        np.testing.assert_allclose(fine.precision, exact.precision, atol=5e-3)


def test_regressions_without_penalty_give_the_inverse(rows):
    S = second_moments(rows)
    fit = fit_regressions(S, grid_of(1e-9))[0]
    np.testing.assert_allclose(fit.precision, np.linalg.inv(S), rtol=1e-3, atol=1e-3)
    assert fit.adjacency.sum() == 72


def test_regressions_are_those_of_scikit_learn(rows):
    S = second_moments(rows)
    fit = fit_regressions(S, grid_of(0.3, 0.15))[1]
    columns = np.eye(9)
    is_used = np.zeros((9, 9), dtype=bool)
    for j in range(9):
        others = np.delete(np.arange(9), j)
        lasso = Lasso(alpha=0.15, fit_intercept=False, tol=1e-10).fit(rows[:, others], rows[:, j])
        residual = np.mean((rows[:, j] - lasso.predict(rows[:, others])) ** 2)
        columns[others, j] = -lasso.coef_
        columns[:, j] /= residual
        is_used[others, j] = lasso.coef_ != 0
    expected = (columns + columns.T) / 2
    assert np.linalg.eigvalsh(expected)[0] > 0.01  # nothing to clip here
    np.testing.assert_allclose(fit.precision, expected, atol=1e-3)
    np.testing.assert_array_equal(fit.adjacency, is_used | is_used.T)


def test_few_rows_still_give_a_positive_definite_precision():
    S = second_moments(make_contour_model().sample(4, 3))
    for fit in fit_regressions(S, grid_for(S, per_decade=1)):
        eigenvalues = np.linalg.eigvalsh(fit.precision)
        assert eigenvalues[0] >= 0.99e-3 * eigenvalues[-1]


def test_refit_on_a_chain_is_the_closed_form(rows):
    """On a chain the best precision is made of the inverses of pairs less those of single ones."""
    S = second_moments(rows)[:4, :4]
    chain = np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool)
    expected = np.zeros((4, 4))
    for i in range(3):
        expected[i : i + 2, i : i + 2] += np.linalg.inv(S[i : i + 2, i : i + 2])
    for i in (1, 2):
        expected[i, i] -= 1 / S[i, i]
    np.testing.assert_allclose(refit(S, chain), expected, atol=1e-3)
    assert (refit(S, chain)[~chain & ~np.eye(4, dtype=bool)] == 0).all()


def test_refit_that_has_no_maximum_is_left_out():
    S = second_moments(make_contour_model().sample(4, 1))
    assert refit(S, ~np.eye(9, dtype=bool)) is None
    fits = fit_regressions_refitted(S, grid_for(S, per_decade=2))
    assert fits[0] is not None
    assert not fits[0].adjacency.any()
    assert fits[-1] is None


def test_refit_uses_the_graph_of_the_regressions(rows):
    S = second_moments(rows)
    grid = grid_of(0.3, 0.15)
    graphs = [fit.adjacency for fit in fit_regressions(S, grid)]
    for graph, fit in zip(graphs, fit_regressions_refitted(S, grid), strict=True):
        np.testing.assert_array_equal(fit.adjacency, graph)
        # At the maximum the model has the covariances of the data wherever there is an edge.
        free = graph | np.eye(9, dtype=bool)
        np.testing.assert_allclose(np.linalg.inv(fit.precision)[free], S[free], atol=2e-3)


def test_covariance_selection_agrees_with_the_graphical_lasso(rows):
    S, truth = second_moments(rows), make_contour_model().precision
    lasso = fit_graphical_lasso(S, grid_of(0.12), tol=1e-9)[0]
    row = contour.covariance_selection(S, lasso, truth)
    assert 0 < row["difference"] < 1e-3
    expected = measures(lasso, truth)
    assert row["kl"] == pytest.approx(expected["kl"], abs=1e-4)
    assert (row["edges"], row["alpha"]) == (expected["edges"], 0.12)


# Parts


def test_contour_task():
    rng = np.random.default_rng(2)
    found = pd.DataFrame(
        contour.run_task(rng, truth="one-block", n_samples=40, repetition=0, per_decade=1)
    )
    assert sorted(found["method"].unique()) == sorted(contour.METHODS)
    kl = found.pivot_table(index="method", columns="tuning", values="kl")
    assert (kl["oracle"] <= kl["cv"] + 1e-12).all()
    assert kl.loc[methods.LOCALLY_CONSTANT, "oracle"] <= kl.loc[methods.GRAPHICAL_LASSO, "oracle"]
    assert found["unconverged"].sum() == 0
    # One method again from the same stream, by its formula.
    truth = make_contour_model("one-block").precision
    X = GaussianModel.from_precision(truth).sample(40, np.random.default_rng(2))
    S = X.T @ X / 40
    ridges = grid_for(S, per_decade=1).ridges
    full = min(gaussian_kl(truth, np.linalg.inv(S + ridge * np.eye(9))) for ridge in ridges)
    assert kl.loc[contour.FULL, "oracle"] == pytest.approx(full, rel=1e-9)


def test_sizes_of_the_study():
    sizes = {part.name: (len(part.tasks(True)), len(part.tasks(False))) for part in STUDY.parts}
    assert sizes == {
        "contour": (24, 200),
        "blocks": (2, 30),
        "images": (2, 16),
        "stalls": (13, 101),
    }


@pytest.mark.parametrize("problem", ["path 60", pytest.param("grid 10x10", marks=pytest.mark.slow)])
def test_blocks_are_where_the_method_shines(problem):
    ratios = []
    for seed in range(1 if problem == "path 60" else 3):
        found = blocks.run_task(
            np.random.default_rng(seed),
            problem=problem,
            n_samples=100,
            repetition=0,
            per_decade=2,
        )
        kl = {row["method"]: row["kl"] for row in found}
        ratios.append(kl[methods.LOCALLY_CONSTANT] / kl[methods.GRAPHICAL_LASSO])
        assert all(row["unconverged"] == 0 for row in found)
    assert np.mean(ratios) <= 0.6


def test_digits_and_their_folds():
    whole, few = images.load_images("digits 3"), images.load_images("digits 3, first 40")
    assert (len(whole.values), len(few.values)) == (183, 40)
    # Pixels that never change are no sites; fewer images have more of them.
    pixels, labels = load_digits(return_X_y=True)
    threes = pixels[labels == 3]
    varies, varies_in_few = (np.ptp(rows, axis=0) > 0 for rows in (threes, threes[:40]))
    assert whole.values.shape[1] == varies.sum() < 64
    assert few.values.shape[1] == varies_in_few.sum() < varies.sum()
    np.testing.assert_array_equal(whole.values[:40][:, varies_in_few[varies]], few.values)
    pairs = neighbor_pairs(varies_in_few.reshape(8, 8), varies_in_few.sum())
    np.testing.assert_array_equal(few.pairs, pairs)
    order = np.random.default_rng(1).permutation(40)
    for fold in range(5):
        np.testing.assert_array_equal(np.sort(order[fold::5]), np.flatnonzero(few.fold == fold))


@pytest.mark.parametrize(("name", "column"), [("surface temperature", "surftemp"), ("ozone",) * 2])
def test_maps_of_the_atmosphere(name, column):
    found = images.load_images(name)
    assert found.values.shape == (72, 64)
    assert np.bincount(found.fold).tolist() == [12] * 6
    frame = load_table("nasa-atmos").frame
    month = frame[(frame.year == 1996) & (frame.month == 3)]
    south, west = np.sort(month.lat.unique())[:3], np.sort(month.lon.unique())[3:6]
    cells = month[month.lat.isin(south) & month.lon.isin(west)]
    assert len(cells) == 9
    assert found.values[14, 1] == pytest.approx(cells[column].mean())
    assert (found.group[14], found.fold[14]) == (3, 1)


def test_clouds_lie_above_each_other():
    found = images.load_images("clouds at three heights")
    assert found.values.shape == (72, 48)
    # Three layers of 4 x 4: 24 pairs in each and 16 from each to the next.
    assert len(found.pairs) == 3 * 24 + 2 * 16
    frame = load_table("nasa-atmos").frame
    month = frame[(frame.year == 1995) & (frame.month == 1)]
    corner = month.lat.isin(np.sort(month.lat.unique())[:6])
    corner &= month.lon.isin(np.sort(month.lon.unique())[:6])
    assert found.values[0, 16] == pytest.approx(month.loc[corner, "cloudmid"].mean())
    assert found.values[0, 0] == pytest.approx(month.loc[corner, "cloudlow"].mean())


def test_outlines_run_round_the_middle():
    found = images.load_images("outline of 0")
    assert found.values.shape == (178, 24)
    assert len(found.pairs) == 24
    pixels, labels = load_digits(return_X_y=True)
    image = pixels[labels == 0][0].reshape(8, 8)
    _, column = (np.indices((8, 8)) * image).sum(axis=(1, 2)) / image.sum()
    # A 0 is a stroke to the right of its middle and one to the left, 2 to 3 pixels away.
    assert 1 < found.values[0, 0] < 7 - column
    assert 1 < found.values[0, 12] < column
    assert np.median(found.values) == pytest.approx(2.6, abs=0.5)


def two_groups():
    values = np.random.default_rng(0).normal(size=(30, 4)) * [1, 2, 3, 4] + 5
    values[1::2] += 3
    group = np.arange(30) % 2
    fold = np.arange(30) // 10
    return images.Images(values=values, pairs=neighbor_pairs((2, 2), 4), group=group, fold=fold)


def test_split_uses_training_rows_only():
    found = two_groups()
    part = images.split(found, 1, "raw")
    is_test = found.fold == 1
    changed = images.Images(
        values=np.where(is_test[:, None], 1e3, found.values),
        pairs=found.pairs,
        group=found.group,
        fold=found.fold,
    )
    np.testing.assert_array_equal(images.split(changed, 1, "raw").S_train, part.S_train)
    expected = np.zeros((4, 4))
    for group in (0, 1):
        train = found.values[~is_test & (found.group == group)]
        test = found.values[is_test & (found.group == group)] - train.mean(axis=0)
        expected += test.T @ test / 10
    np.testing.assert_allclose(part.S_test, expected)


def test_scores_do_not_depend_on_the_units_of_a_scaling():
    raw, scaled = (images.split(two_groups(), 0, scaling) for scaling in ("raw", "standardised"))
    np.testing.assert_allclose(scaled.S_train.diagonal(), 1.0)
    scale = np.sqrt(raw.S_train.diagonal())
    precision = np.linalg.inv(raw.S_train)
    assert scaled.score(precision * np.outer(scale, scale)) == pytest.approx(raw.score(precision))


def test_points_are_chosen_without_the_fold_they_are_for():
    scores = np.array([[9.0, 0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 3.0, 2.0]])
    assert images.best_on_other_folds(scores) == [1, 0, 0]


def golden_row():
    rng = np.random.default_rng(0)
    (found,) = stalls.run_task(rng, **stalls.list_tasks(quick=True)[-1])
    return found


def test_golden_problem():
    found = golden_row()
    assert found["optimum"] == pytest.approx(stalls.GOLDEN_OPTIMUM, abs=1e-8)
    assert found["descent"] == pytest.approx(stalls.GOLDEN_DIAGONAL, abs=1e-8)
    assert found["excess"] == pytest.approx(found["descent_gap"], abs=1e-7)


def test_stalls_task():
    found = pd.DataFrame(
        stalls.run_task(np.random.default_rng(1), neighborhood="ring", repetition=0)
    )
    assert found["ratio"].tolist() == list(stalls.RATIOS)
    assert (found["optimum_gap"] <= 12 * stalls.REFERENCE_TOL).all()
    assert (found["excess"] >= -found["optimum_gap"]).all()
    assert (found["excess"] <= found["descent_gap"] + 1e-9).all()


@pytest.mark.parametrize("neighborhood", stalls.NEIGHBORHOODS)
def test_problems_to_stall_on(neighborhood):
    n_pairs = {"path": -1, "ring": 0, "grid 3x3": 3, "grid 3x4": 5}
    for seed in range(4):
        S, pairs = stalls.draw_problem(np.random.default_rng(seed), neighborhood)
        np.testing.assert_allclose(S.diagonal(), 1.0)
        assert 8 <= len(S) <= 12
        assert len(pairs) == len(S) + n_pairs[neighborhood]


# Verdicts


def contour_frame(kl, n_repetitions=5):
    """Rows of all methods whose KL is given by method, number of samples and tuning."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        [
            {
                "task": 100 * truth_index + 10 * n_samples + repetition,
                "truth": truth,
                "n_samples": n_samples,
                "method": method,
                "tuning": tuning,
                "kl": kl(method, n_samples, tuning) + 1e-3 * rng.random(),
                "precision": 0.3,
                "recall": 0.5,
                "frobenius": 1.0,
                "edges": 30,
                "unconverged": 0,
                "difference": 2e-5 if method == contour.COVARIANCE_SELECTION else np.nan,
            }
            for truth_index, truth in enumerate(contour.TRUTHS)
            for n_samples in contour.SAMPLES
            for repetition in range(n_repetitions)
            for method in contour.METHODS
            for tuning in contour.TUNINGS
        ]
    )


def ours_lowest(method, n_samples, tuning):
    return 1.0 if method == methods.LOCALLY_CONSTANT else 2.0


def ours_lowest_by_oracle(method, n_samples, tuning):
    return 1.0 if (method, tuning) == (methods.LOCALLY_CONSTANT, "oracle") else 2.0


def refit_lowest(method, n_samples, tuning):
    return {methods.LOCALLY_CONSTANT: 1.0, contour.REFITTED: 0.5}.get(method, 2.0)


def ours_highest(method, n_samples, tuning):
    return 3.0 if method == methods.LOCALLY_CONSTANT else 2.0


@pytest.mark.parametrize(
    ("kl", "verdict"),
    [
        (ours_lowest, "yes"),
        (ours_lowest_by_oracle, "partly"),
        (refit_lowest, "partly"),
        (ours_highest, "no"),
    ],
)
def test_verdict_on_the_contour(kl, verdict):
    report = contour.report(contour_frame(kl))
    assert [claim.holds for claim in report.claims[:2]] == [verdict] * 2
    assert "2e-05" in report.text
    for method in contour.METHODS:
        assert report.text.count(f"| {method} |") == 4


def test_differences_are_paired_and_clear_only_beyond_two_errors():
    frame = contour_frame(ours_lowest)
    part = frame[(frame.truth == "one-block") & (frame.n_samples == 4) & (frame.tuning == "cv")]
    found = contour.differences(part, contour.FULL)
    ours = part[part.method == methods.LOCALLY_CONSTANT].kl.to_numpy()
    np.testing.assert_allclose(found, ours - part[part.method == contour.FULL].kl.to_numpy())


def images_frame(gain, tables=("digits 0", "digits 3")):
    return pd.DataFrame(
        [
            {"table": table, "scaling": scaling, "fold": fold, "method": method, "tau": fold % 2,
             "log_likelihood": 0.1 * fold - 10.0 + {
                 methods.GRAPHICAL_LASSO: 0.0, methods.LOCALLY_CONSTANT: gain[scaling],
             }.get(method, -10.0)}
            for table in tables
            for scaling in images.SCALINGS
            for fold in range(5)
            for method in images.METHODS
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "standardised", "verdict"), [(1.0, 0.1, "yes"), (1.0, -0.1, "partly"), (-1, -1, "no")]
)
def test_verdict_on_images(raw, standardised, verdict):
    frame = images_frame({"raw": raw, "standardised": standardised})
    report = images.report(frame)
    assert report.claims[0].holds == verdict
    assert f"{raw:+.2f} ± 0.00" in report.text
    assert "atmosphere" not in report.text.partition("best scaling of each")[2]


def test_maps_are_told_of_only_where_they_are():
    frame = images_frame({"raw": 0.0, "standardised": -0.1}, tables=("digits 0", "ozone"))
    text = images.report(frame).text
    assert "(ozone +0.00): 6 of 10 times" in text


def blocks_frame():
    return pd.DataFrame(
        [
            {"task": 10 * place + task, "problem": problem, "n_samples": n_samples,
             "method": method, "kl": kl * (1 + task) * 30 / n_samples}
            for place, problem in enumerate(blocks.PROBLEMS)
            for task, n_samples in enumerate((30, 100, 100))
            for method, kl in ((methods.GRAPHICAL_LASSO, 4.0), (methods.LOCALLY_CONSTANT, 1.0))
        ]
    )  # fmt: skip


def test_blocks_report():
    text = blocks.report(blocks_frame()).text
    assert text.count("| 0.25 |") == 4
    assert "0.25 (grid 10x10) and 0.25 (path 60)" in text


def stalls_frame():
    return pd.DataFrame(
        [
            {
                "task": task,
                "neighborhood": "path",
                "ratio": ratio,
                "excess": excess,
                "optimum_gap": 1e-9,
                "sweeps": 4 * task,
            }
            for ratio in stalls.RATIOS
            for task, excess in enumerate([0.0, 1e-5, 1e-5, 0.5])
        ]
    )


def test_stalls_report():
    golden = pd.DataFrame([{"neighborhood": stalls.GOLDEN, **golden_row()}])
    report = stalls.report(pd.concat([stalls_frame(), golden]))
    assert report.text.count("| 75% | 25% | 25% | 1e-05 | 0.5 |") == len(stalls.RATIOS)
    assert report.claims[0].holds == "no"
    assert "75%" in report.claims[0].found
    assert "after 6 sweeps in the median, and after 10 or fewer in 75%" in report.claims[1].found
    assert report.claims[1].holds == "yes"
    assert stalls.count_sweeps(np.array([9.0, 5.0, 4.0 + 1e-5, 4.0]), 12) == 3
    still = stalls_frame().assign(excess=0.0)
    assert stalls.report(pd.concat([still, golden])).claims[0].holds == "yes"


def test_figures():
    gains = {"raw": 1.0, "standardised": 0.1}
    assert len(contour.draw_contour(contour_frame(ours_lowest)).axes) == 4
    first, second = blocks.draw(blocks_frame())["blocks-kl"].axes
    np.testing.assert_allclose(first.lines[0].get_ydata(orig=False), [4.0, 3.0])
    assert (first.get_title(), second.get_title()) == tuple(blocks.PROBLEMS)
    (ax,) = images.draw(images_frame(gains))["images-gain"].axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["digits 3", "digits 0"]
    (ax,) = stalls.draw(stalls_frame())["stalls"].axes
    np.testing.assert_allclose([line.get_ydata()[0] for line in ax.lines], [0.75, 0.25, 0.25])


def test_example_matrices():
    truth = make_contour_model().precision
    found = contour.example(truth, (9,), 400)
    (_, (shown, _)), (title, (ours, groups)), (_, (lasso, _)) = found.items()
    np.testing.assert_array_equal(shown, truth)
    assert gaussian_kl(truth, ours) < gaussian_kl(truth, lasso)
    assert f"{groups.max() + 1} groups" in title
