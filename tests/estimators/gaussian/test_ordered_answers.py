"""Ordered answers: graphs from polychoric, polyserial and Pearson correlations."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris

from edgewise import BootstrapGraph, GaussianGraph, NeighborhoodGraph
from edgewise._core.errors import InputError
from edgewise.selection import CV, EBIC
from edgewise.stats import latent_correlation, polychoric_correlation, stream_covariance
from edgewise.stats.polychoric import ordinal_columns
from tests.messages import raises

N_ITEMS = 8


def latent_rows(n_rows=1500, seed=0):
    """Rows of a normal chain in which the signs of partial correlations alternate."""
    Theta = np.eye(N_ITEMS)
    for k in range(N_ITEMS - 1):
        Theta[k, k + 1] = Theta[k + 1, k] = 0.4 if k % 2 else -0.4
    return np.random.default_rng(seed).multivariate_normal(
        np.zeros(N_ITEMS), np.linalg.inv(Theta), n_rows
    )


def likert(n_rows=1500, seed=0):
    """Answers from 1 to 5 to items of different popularity, one of them with two answers."""
    latent = latent_rows(n_rows, seed)
    shift = np.linspace(-0.8, 0.8, N_ITEMS)
    answers = 1.0 + np.digitize(latent + shift, [-1.5, -0.5, 0.5, 1.5])
    answers[:, 3] = latent[:, 3] > 0.5
    return pd.DataFrame(answers, columns=[f"item{k}" for k in range(N_ITEMS)])


@pytest.fixture(scope="module")
def answers():
    return likert()


@pytest.mark.parametrize("estimator", [GaussianGraph, NeighborhoodGraph])
@pytest.mark.parametrize("kind", ["polychoric", "auto"])
def test_the_chain_behind_the_answers_is_found_with_its_signs(estimator, kind, answers):
    model = estimator(covariance=kind).fit(answers)
    weights = model.graph_.weights
    for k in range(N_ITEMS - 1):
        assert weights[k, k + 1] * (-1 if k % 2 else 1) > 0.2
    others = weights[np.abs(np.subtract.outer(range(N_ITEMS), range(N_ITEMS))) > 1]
    assert np.abs(others).max() < 0.08
    assert model.ordinal_.all()
    np.testing.assert_array_equal(model.location_, 0)


def test_the_fit_is_that_of_the_correlations(answers):
    R = latent_correlation(answers.to_numpy()).correlation
    rows = GaussianGraph(covariance="polychoric").fit(answers)
    given = GaussianGraph(covariance="precomputed", n_samples=len(answers)).fit(R)
    np.testing.assert_allclose(rows.precision_, given.precision_, atol=1e-9)
    for other in ("correlation", "spearman"):
        attenuated = GaussianGraph(covariance=other).fit(answers).partial_correlation_
        assert np.abs(attenuated[0, 1]) < np.abs(rows.partial_correlation_[0, 1])


def test_auto_goes_by_the_kinds_of_each_pair(answers):
    mixed = answers.assign(item0=latent_rows()[:, 0])
    model = GaussianGraph(0.1, covariance="auto").fit(mixed)
    assert model.ordinal_.tolist() == [False] + [True] * (N_ITEMS - 1)
    assert "7 columns of ordered answers" in model.treatment_[0]
    assert "1 of measurements, 'item0', by polychoric, polyserial" in model.treatment_[0]
    R = latent_correlation(mixed.to_numpy(), ordinal=model.ordinal_).correlation
    given = GaussianGraph(0.1, covariance="precomputed").fit(R)
    np.testing.assert_allclose(model.precision_, given.precision_, atol=1e-9)
    measured = pd.DataFrame(latent_rows())
    model = GaussianGraph(0.1, covariance="auto").fit(measured)
    given = GaussianGraph(0.1, covariance="precomputed").fit(np.corrcoef(measured.T))
    np.testing.assert_allclose(model.precision_, given.precision_, atol=1e-9)


def test_ordered_answers_are_few_whole_numbers_with_rows_enough():
    few = np.arange(60) % 10
    assert ordinal_columns(np.column_stack([few, few + 0.5, np.arange(60) % 11])).tolist() == [
        True,
        False,
        False,
    ]
    gappy = np.where(np.arange(60) < 50, few, np.nan)
    assert ordinal_columns(gappy[:, None]).tolist() == [True]
    assert ordinal_columns(gappy[:40, None]).tolist() == [False]
    assert ordinal_columns(np.array([[0.0], [1.0], [1.0]])).tolist() == [True]
    assert ordinal_columns(np.array([[0.0], [1.0]])).tolist() == [False]
    assert ordinal_columns(np.ones((9, 1))).tolist() == [False]


def test_missing_answers_go_by_pairs_and_count_fewer_rows(answers):
    gappy = answers.mask(np.random.default_rng(1).random(answers.shape) < 0.1)
    rule = EBIC(n_alphas=6, alpha_ratio=0.02)
    model = GaussianGraph(rule, covariance="auto", missing="pairwise").fit(gappy)
    seen = gappy.notna().to_numpy().astype(float)
    n_pairs = (seen.T @ seen)[np.triu_indices(N_ITEMS, 1)].mean()
    R = latent_correlation(gappy.to_numpy()).correlation
    given = GaussianGraph(rule, covariance="precomputed", n_samples=n_pairs).fit(R)
    np.testing.assert_allclose(model.selection_.values, given.selection_.values)
    assert f"{n_pairs:.0f} on average" in model.treatment_[1]
    with raises(InputError, code="polychoric_without_em", covariance="auto"):
        GaussianGraph(covariance="auto", missing="em").fit(gappy)
    with pytest.raises(InputError, match="missing"):
        GaussianGraph(covariance="auto").fit(gappy)
    assert np.isfinite(model.score(gappy))


def test_weights_are_repeated_rows_whatever_they_add_up_to(answers):
    rows = answers.iloc[:300]
    weights = np.arange(300) % 3
    model = GaussianGraph(0.1, covariance="polychoric")
    weighted = model.fit(rows, sample_weight=weights).precision_
    repeated = model.fit(rows.loc[rows.index.repeat(weights)]).precision_
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)
    # With an empty cell, half of what a row weighs is put there.
    pair = pd.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 0, 1, 0] * 10})
    whole = model.fit(pair).covariance_
    shares = model.fit(pair, sample_weight=np.full(40, 1 / 40)).covariance_
    np.testing.assert_allclose(shares, whole, atol=1e-9)
    assert "half a row" in model.treatment_[0]


def test_rules_and_bootstraps_recompute_the_correlations(answers):
    rows = answers.iloc[:400]
    by_folds = GaussianGraph(CV(n_alphas=5), covariance="auto", random_state=0).fit(rows)
    assert by_folds.graph_.adjacency[0, 1]
    resampled = BootstrapGraph(
        GaussianGraph(EBIC(n_alphas=5), covariance="auto"), n_resamples=5, random_state=0
    ).fit(rows)
    assert resampled.graph_.confidence[0, 1] == 1.0


def test_kinds_are_those_of_the_whole_table():
    # A fold has few enough of the whole numbers to be taken for answers; the table has not.
    rng = np.random.default_rng(0)
    counts = rng.poisson(6.0, 300) + 0.0
    rows = np.column_stack([counts, rng.normal(size=300) + counts])
    model = GaussianGraph(CV(n_alphas=4), covariance="auto", random_state=0).fit(rows)
    assert not model.ordinal_.any()
    assert np.isfinite(model.score(rows[:12]))


def test_correlations_that_do_not_fit_together(answers):
    few = answers.iloc[:14]
    with raises(
        InputError, code="not_semidefinite_covariance", own="-0.106091", as_correlations=""
    ):
        GaussianGraph(0.1, covariance="polychoric").fit(few)
    model = GaussianGraph(0.1, covariance="polychoric", repair="clip").fit(few)
    assert "smallest eigenvalue" in model.treatment_[-1]
    assert (np.linalg.eigvalsh(model.precision_) > 0).all()


def test_what_is_no_answer_is_named(answers):
    mixed = answers.assign(item0=latent_rows()[:, 0])
    with raises(InputError, code="too_many_answers", name="item0", n_answers=1500):
        GaussianGraph(0.1, covariance="polychoric").fit(mixed)
    with raises(InputError, code="constant_columns", columns=["item2"]):
        GaussianGraph(0.1, covariance="auto").fit(answers.assign(item2=3.0))
    with raises(InputError, code="moments_without_ranks", covariance="auto", seen="answers"):
        GaussianGraph(0.1, covariance="auto").fit(stream_covariance([answers]))


@pytest.mark.slow
def test_items_of_the_big_five(tmp_path):
    """Answers of 2,800 people to 25 items, where R has them: signs are those of the items."""
    path = tmp_path / "bfi.csv"
    script = f'write.csv(psychTools::bfi[, 1:25], "{path}", row.names = FALSE)'
    if not (rscript := shutil.which("Rscript")) or (
        subprocess.run([rscript, "-e", script], capture_output=True, check=False).returncode
    ):
        pytest.skip("R with the package psychTools is not there")
    model = GaussianGraph(covariance="auto", missing="pairwise").fit(pd.read_csv(path))
    weights = pd.DataFrame(model.graph_.weights, model.graph_.names, model.graph_.names)
    assert model.ordinal_.all()
    for positive in (("A3", "A5"), ("A2", "A3"), ("N1", "N2"), ("C4", "C5"), ("E1", "E2")):
        assert weights.loc[positive] > 0.1
    assert weights.loc["A1", "A2"] < -0.1
    # What qgraph 1.9.3 finds: EBICglasso(cor_auto(bfi), 2800, lambda.min.ratio = 0.01).
    rule = EBIC(gamma=0.5, n_alphas=100, alpha_ratio=0.01)
    same = GaussianGraph(rule, covariance="auto", missing="pairwise").fit(pd.read_csv(path))
    assert same.alpha_ == pytest.approx(0.02811164, rel=1e-6)
    assert same.graph_.n_edges == 181


def test_correlations_that_do_not_fit_together_give_way_to_those_of_pearson():
    # A few rows of some answers, as in many a table of a course.
    rng = np.random.default_rng(3)
    factors = np.array([[1, 1, 1, 1, 0, 0, 0, 0.5], [0, 0, 0, 1, 1, 1, 1, -0.5]])
    latent = rng.normal(size=(30, 2)) @ factors + 0.3 * rng.normal(size=(30, 8))
    rows = np.column_stack([latent[:, ::2], np.digitize(latent[:, 1::2], [-0.4, 0.5])])
    by_kinds = latent_correlation(rows, ordinal=[False] * 4 + [True] * 4).correlation
    assert np.linalg.eigvalsh(by_kinds)[0] < -0.1
    model = GaussianGraph(0.1, covariance="auto").fit(rows)
    assert "Pearson correlations of all columns take their place" in model.treatment_[-1]
    expected = GaussianGraph(0.1, covariance="precomputed").fit(np.corrcoef(rows.T))
    np.testing.assert_allclose(model.precision_, expected.precision_, atol=1e-6)
    with raises(
        InputError, code="not_semidefinite_covariance", own="-0.056735", as_correlations=""
    ):
        GaussianGraph(0.1, covariance="polychoric").fit(np.digitize(latent, [-0.4, 0.5]))


def test_a_column_that_others_decide_leaves_no_noise():
    """Kinds of iris by number: positive definite, but the partial correlations say nothing."""
    iris = load_iris(as_frame=True).frame
    is_answer = np.array([False] * 4 + [True])
    latent = latent_correlation(iris.to_numpy(), ordinal=is_answer).correlation
    precision = np.linalg.inv(latent)
    assert 0 < np.linalg.eigvalsh(latent)[0] < 1e-3
    assert abs(precision[1, 3]) / np.sqrt(precision[1, 1] * precision[3, 3]) > 0.95
    model = GaussianGraph(covariance="auto").fit(iris)
    pearson = GaussianGraph(covariance="correlation").fit(iris)
    np.testing.assert_allclose(model.graph_.weights, pearson.graph_.weights, atol=1e-12)
    assert "that of Pearson correlations 0.0205" in model.treatment_[-1]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_with_an_order_are_answers(answers, library):
    words = ["never", "seldom", "sometimes", "often", "always", "ever"]
    codes = answers.iloc[:, :3].to_numpy().astype(int)
    text = {f"q{k}": [words[code] for code in codes[:, k]] for k in range(3)}
    frame = pd.DataFrame(text).astype(pd.CategoricalDtype(words, ordered=True))
    if library == "polars":
        frame = pl.DataFrame(text, schema=dict.fromkeys(text, pl.Enum(words)))
    for covariance in ("auto", "polychoric"):
        fit = GaussianGraph(0.1, covariance=covariance).fit(frame)
        expected = GaussianGraph(0.1, covariance=covariance).fit(codes.astype(float))
        np.testing.assert_array_equal(fit.precision_, expected.precision_)
        assert fit.ordinal_.all()
    np.testing.assert_array_equal(
        polychoric_correlation(frame), polychoric_correlation(codes.astype(float))
    )
    with raises(InputError, code="text_columns_in_table", columns=["q0", "q1", "q2"]):
        GaussianGraph(0.1).fit(frame)
