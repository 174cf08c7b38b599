from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import KFold

from edgewise import InputError
from edgewise.selection.choose import alpha_grid, choose_by_cv, choose_by_ebic, choose_by_stars
from edgewise.selection.criteria import ebic, instability
from tests.messages import raises

ALPHAS = np.array([0.9, 0.6, 0.3, 0.1])


def threshold_path(rows, weights, alphas):
    """Join what is correlated beyond alpha, as a stand-in for a learner."""
    mean = np.average(rows, axis=0, weights=weights)
    correlation = np.abs(np.corrcoef(rows.T))
    for alpha in alphas:
        yield SimpleNamespace(
            alpha=alpha, mean=mean, joined=correlation > alpha, converged=alpha > 0.2
        )


def joined(fit):
    return fit.joined


def closeness(fit, rows, weights):
    """Best at the alpha nearest the distance between the means."""
    distance = np.abs(np.average(rows, axis=0, weights=weights) - fit.mean).mean()
    return -((fit.alpha - 0.3 - distance) ** 2)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6))
    X[:, 1] += 2 * X[:, 0]
    X[:, 3] += 0.7 * X[:, 2]
    return X


def test_grid_is_log_spaced_between_its_ends():
    grid = alpha_grid(2.0, n_alphas=5, ratio=0.01)
    assert grid[0] == 2.0
    assert grid[-1] == pytest.approx(0.02)
    np.testing.assert_allclose(grid[1:] / grid[:-1], 0.01 ** (1 / 4))


def test_grid_without_any_correlation():
    np.testing.assert_array_equal(alpha_grid(0.0, n_alphas=5), [1.0])


@pytest.mark.parametrize(
    "arguments", [(1.0, 1, 0.1), (1.0, 5, 1.0), (1.0, 5, 0.0), (np.nan, 5, 0.1), (-1.0, 5, 0.1)]
)
def test_grid_refuses(arguments):
    with pytest.raises(InputError):
        alpha_grid(*arguments)


def ebic_of(likelihoods, edges, **options):
    fits = [
        SimpleNamespace(likelihood=likelihood, edges=count, converged=True)
        for likelihood, count in zip(likelihoods, edges, strict=True)
    ]
    return choose_by_ebic(
        iter(fits),
        ALPHAS,
        log_likelihood=lambda fit: fit.likelihood,
        count_edges=lambda fit: fit.edges,
        n_samples=100,
        n_features=5,
        **options,
    )


def test_ebic_takes_the_smallest_and_keeps_every_value():
    selection = ebic_of([-100, -80, -70, -69], [0, 2, 3, 9])
    expected = [ebic(-100, 0, 100, 5), ebic(-80, 2, 100, 5), ebic(-70, 3, 100, 5)]
    np.testing.assert_allclose(selection.values[:3], expected)
    assert (selection.index, selection.alpha, selection.end) == (2, 0.3, "")
    np.testing.assert_array_equal(selection.details, [0, 2, 3, 9])


def test_ebic_gamma_matters():
    gains = ([-100, -93, -90, -90], [0, 1, 2, 3])
    assert ebic_of(*gains, gamma=0.0).index > ebic_of(*gains, gamma=1.0).index


@pytest.mark.parametrize(
    ("likelihoods", "end"),
    [([-10, -10, -10, -10], "largest"), ([-90, -60, -30, -1], "smallest")],
)
def test_ends_of_the_grid_are_named(likelihoods, end):
    assert ebic_of(likelihoods, [0, 1, 2, 3], gamma=0.0).end == end


def test_ebic_prefers_the_larger_alpha_on_a_tie():
    assert ebic_of([-10, -10, -10, -10], [1, 1, 1, 1]).index == 0


def test_too_short_a_path_is_refused():
    with raises(InputError, code="path_fit_count", n_values=2, n_alphas=4):
        ebic_of([-1, -2], [0, 1])


def test_cv_is_the_mean_over_folds(rows):
    splitter = KFold(4)
    selection = choose_by_cv(rows, ALPHAS, threshold_path, closeness, cv=splitter)
    expected = np.zeros(len(ALPHAS))
    for train, test in splitter.split(rows):
        fits = threshold_path(rows[train], None, ALPHAS)
        expected += [closeness(fit, rows[test], None) / 4 for fit in fits]
    np.testing.assert_allclose(selection.values, expected)
    assert selection.index == np.argmax(expected)
    assert selection.details.shape == (4, 4)
    assert selection.n_unconverged == 4


def test_cv_folds_are_seeded_and_shuffled(rows):
    def values(seed):
        return choose_by_cv(rows, ALPHAS, threshold_path, closeness, random_state=seed).values

    np.testing.assert_array_equal(values(1), values(1))
    assert not np.array_equal(values(1), values(2))


def test_cv_number_of_folds_and_explicit_splits(rows):
    result = choose_by_cv(rows, ALPHAS, threshold_path, closeness, cv=3, random_state=0)
    assert result.details.shape == (4, 3)
    splits = [(np.arange(50), np.arange(50, 100))]
    result = choose_by_cv(rows, ALPHAS, threshold_path, closeness, cv=splits)
    assert result.details.shape == (4, 1)


def test_cv_weights_enter_fit_score_and_mean(rows):
    splitter = KFold(2)
    weights = np.where(np.arange(100) < 50, 3.0, 1.0) * np.random.default_rng(1).uniform(size=100)
    selection = choose_by_cv(
        rows, ALPHAS, threshold_path, closeness, cv=splitter, sample_weight=weights
    )
    columns, totals = [], []
    for train, test in splitter.split(rows):
        fits = threshold_path(rows[train], weights[train], ALPHAS)
        columns.append([closeness(fit, rows[test], weights[test]) for fit in fits])
        totals.append(weights[test].sum())
    expected = (np.array(columns).T @ totals) / sum(totals)
    np.testing.assert_allclose(selection.values, expected)


@pytest.mark.parametrize("cv", [1, 101, []])
def test_cv_refuses_impossible_folds(rows, cv):
    with pytest.raises(InputError):
        choose_by_cv(rows, ALPHAS, threshold_path, closeness, cv=cv)


def refuse(rows, weights, alphas):
    raise InputError("Column 'x3' is constant.")


def test_a_failing_fold_or_subsample_is_named(rows):
    with raises(InputError, code="fit_failed"):
        choose_by_cv(rows, ALPHAS, refuse, closeness)
    with raises(InputError, code="fit_failed"):
        choose_by_stars(rows, ALPHAS, refuse, joined)


def test_stars_values_are_monotone_and_below_the_threshold_up_to_the_choice(rows):
    selection = choose_by_stars(rows, ALPHAS, threshold_path, joined, random_state=0)
    assert (np.diff(selection.values) >= 0).all()
    np.testing.assert_array_equal(selection.values, np.maximum.accumulate(selection.details))
    assert selection.values[selection.index] <= 0.05 < selection.values[selection.index + 1]
    assert selection.n_unconverged == 20


def test_stars_instability_is_that_of_its_subsamples(rows):
    seen = []

    def remember(part, weights, alphas):
        seen.append(part)
        return threshold_path(part, weights, alphas)

    options = {"n_subsamples": 5, "subsample_size": 30, "random_state": 3}
    selection = choose_by_stars(rows, ALPHAS, remember, joined, **options)
    assert [len(part) for part in seen] == [30] * 5
    assert all(len(np.unique(part, axis=0)) == 30 for part in seen)
    above = np.triu_indices(6, 1)
    for k, alpha in enumerate(ALPHAS):
        graphs = [next(threshold_path(part, None, [alpha])).joined[above] for part in seen]
        assert selection.details[k] == pytest.approx(instability(np.mean(graphs, axis=0)))


def test_stars_threshold_matters(rows):
    def chosen(threshold):
        return choose_by_stars(
            rows, ALPHAS, threshold_path, joined, threshold=threshold, random_state=0
        ).index

    assert chosen(0.01) < chosen(0.45)


def test_stars_default_subsample_size(rows):
    sizes = []

    def remember(part, weights, alphas):
        sizes.append((len(part), len(weights)))
        return threshold_path(part, weights, alphas)

    choose_by_stars(rows, ALPHAS, remember, joined, sample_weight=np.ones(100), n_subsamples=2)
    assert sizes == [(80, 80)] * 2


@pytest.mark.parametrize(
    "options",
    [{"threshold": 0.5}, {"threshold": 0.0}, {"n_subsamples": 1}, {"subsample_size": 100}],
)
def test_stars_refuses(rows, options):
    with pytest.raises(InputError):
        choose_by_stars(rows, ALPHAS, threshold_path, joined, **options)


def test_alphas_must_decrease(rows):
    with raises(InputError, code="alphas_descending"):
        choose_by_stars(rows, ALPHAS[::-1], threshold_path, joined)


@pytest.mark.parametrize("verbose", [0, 1])
def test_progress_only_when_asked(rows, verbose, capsys):
    choose_by_cv(rows, ALPHAS, threshold_path, closeness, verbose=verbose)
    choose_by_stars(rows, ALPHAS, threshold_path, joined, verbose=verbose)
    assert capsys.readouterr().out == ""
