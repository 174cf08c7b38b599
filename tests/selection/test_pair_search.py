from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.model_selection import KFold, ShuffleSplit

from edgewise import InputError
from edgewise.selection.choose import PairSelection, choose_pair_by_cv
from tests.messages import raises

ALPHAS = np.array([0.9, 0.4, 0.1])
TAUS = np.array([0.0, 0.2, 0.5, 0.7])


def fit_taus(alpha, rows, weights, taus):
    """Shrink the mean by alpha and move it by tau, as a stand-in for a learner."""
    mean = np.average(rows, axis=0, weights=weights) / (1 + alpha)
    for tau in taus:
        yield SimpleNamespace(mean=mean + tau, converged=tau < 0.3 or alpha > 0.3)


def closeness(fit, rows, weights):
    return -float(np.average(((rows - fit.mean) ** 2).mean(axis=1), weights=weights))


def choose(rows, alphas=ALPHAS, taus=TAUS, fit=fit_taus, score=closeness, **options):
    return choose_pair_by_cv(rows, alphas, taus, fit, score, **options)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(3.0, 1.0, size=(40, 2))


def by_hand(rows, folds, weights=None):
    """Held-out scores (alpha, tau, fold), one fit at a time."""
    details = np.empty((len(ALPHAS), len(TAUS), len(folds)))
    for k, (train, test) in enumerate(folds):
        for i, alpha in enumerate(ALPHAS):
            for j, tau in enumerate(TAUS):
                take = (None, None) if weights is None else (weights[train], weights[test])
                (fit,) = fit_taus(alpha, rows[train], take[0], [tau])
                details[i, j, k] = closeness(fit, rows[test], take[1])
    return details


def test_values_are_means_over_the_rows_of_all_folds(rows):
    splitter = KFold(3)
    found = choose(rows, cv=splitter)
    folds = list(splitter.split(rows))
    sizes = [len(test) for _, test in folds]
    assert len(set(sizes)) == 2
    details = by_hand(rows, folds)
    np.testing.assert_allclose(found.details, details)
    np.testing.assert_allclose(found.values, details @ sizes / 40)
    best = np.unravel_index(np.argmax(found.values), found.values.shape)
    assert found.index == best
    assert (found.alpha, found.tau) == (ALPHAS[best[0]], TAUS[best[1]])
    assert isinstance(found, PairSelection)
    assert found.rule == "cv"
    np.testing.assert_array_equal(found.alphas, ALPHAS)
    np.testing.assert_array_equal(found.taus, TAUS)


def test_weights_enter_fit_score_and_mean(rows):
    splitter = KFold(4)
    weights = np.random.default_rng(1).uniform(size=40)
    weights[:10] *= 5
    found = choose(rows, cv=splitter, sample_weight=weights)
    folds = list(splitter.split(rows))
    details = by_hand(rows, folds, weights)
    np.testing.assert_allclose(found.details, details)
    totals = np.array([weights[test].sum() for _, test in folds])
    np.testing.assert_allclose(found.values, details @ totals / weights.sum())


def test_a_fold_without_weight_does_not_count(rows):
    weights = np.r_[np.zeros(10), np.ones(30)]
    found = choose(rows, cv=KFold(4), sample_weight=weights)
    np.testing.assert_array_equal(found.details[:, :, 0], 0)
    np.testing.assert_allclose(found.values, found.details[:, :, 1:].mean(axis=2))


def always_equal(fit, rows, weights):
    return 1.0


def test_ties_go_to_the_larger_alpha_and_the_smaller_tau(rows):
    found = choose(rows, score=always_equal)
    assert found.index == (0, 0)
    assert (found.alpha, found.tau) == (0.9, 0.0)


def best_at_small_alpha(fit, rows, weights):
    return float(fit.mean[0] > 2.5)


def test_a_tie_among_taus_alone(rows):
    # The mean of 3 is shrunk to less than 2.5 by all but the smallest alpha or the larger taus.
    found = choose(rows, score=best_at_small_alpha, cv=KFold(2))
    expected = found.values >= 1
    assert not expected[0, 0]
    assert found.index == tuple(np.argwhere(expected)[0])


def test_the_number_of_workers_changes_nothing(rows):
    with parallel_config("threading"):
        one, two = (choose(rows, random_state=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.details, two.details)
    assert one.index == two.index


def test_folds_are_counted_shuffled_and_seeded(rows):
    assert choose(rows, cv=3).details.shape == (3, 4, 3)
    assert choose(rows).details.shape == (3, 4, 5)
    first, again, other = (choose(rows, random_state=seed).details for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_splitters_and_lists_of_splits(rows):
    splitter = ShuffleSplit(2, test_size=0.3, random_state=0)
    splits = list(splitter.split(rows))
    np.testing.assert_array_equal(
        choose(rows, cv=splitter).details, choose(rows, cv=splits).details
    )


def test_unconverged_fits_are_counted(rows):
    # Two taus at the smallest alpha, in each of the five folds.
    assert choose(rows).n_unconverged == 10


def fails_with_small_alphas(alpha, rows, weights, taus):
    if alpha < 0.3:
        raise InputError("Column 'x1' is constant.")
    return fit_taus(alpha, rows, weights, taus)


def test_a_fold_that_cannot_be_fitted_is_named(rows):
    with raises(InputError, code="fit_failed"):
        choose(rows, fit=fails_with_small_alphas, cv=KFold(4))


def one_fit_too_few(alpha, rows, weights, taus):
    return list(fit_taus(alpha, rows, weights, taus))[1:]


def test_missing_fits_are_noticed(rows):
    with raises(InputError, code="tau_fit_count", n_scores=3, n_taus=4):
        choose(rows, fit=one_fit_too_few)


@pytest.mark.parametrize("alphas", [[], [0.1, 0.9], [0.5, 0.5], 0.5])
def test_alphas_must_run_from_large_to_small(rows, alphas):
    with raises(InputError, code="alphas_descending"):
        choose(rows, alphas=alphas)


@pytest.mark.parametrize("taus", [[], [0.9, 0.1], [0.5, 0.5], 0.5, [np.nan, 1.0]])
def test_taus_must_run_from_small_to_large(rows, taus):
    with raises(InputError, code="taus_ascending"):
        choose(rows, taus=taus)


@pytest.mark.parametrize("cv", [1, 41, []])
def test_impossible_folds_are_refused(rows, cv):
    with pytest.raises(InputError):
        choose(rows, cv=cv)


@pytest.mark.parametrize(("verbose", "is_drawn"), [(0, False), (1, True)])
def test_progress_only_when_asked(rows, verbose, is_drawn, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    choose(rows, verbose=verbose)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert bool(printed.err) is is_drawn
