"""Accuracies on the same folds and their differences."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from edgewise import InputError
from edgewise.inference import class_accuracy
from edgewise.inference.accuracy import ClassAccuracy
from tests.messages import raises


def rows(n=60):
    rng = np.random.default_rng(0)
    y = np.tile([0, 0, 1], n // 3)
    return rng.normal(size=(n, 2)) + y[:, None], y


def test_scores_are_those_of_scikit_learn():
    X, y = rows()
    found = class_accuracy({"a": LogisticRegression()}, X, y, random_state=3)
    seed = int(np.random.default_rng(3).integers(2**31 - 1))
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=seed)
    expected = cross_val_score(LogisticRegression(), X, y, cv=folds)
    np.testing.assert_array_equal(found.scores[0], expected)
    assert found.chance == pytest.approx(2 / 3)
    assert found.overlap == pytest.approx(1 / 4)


def test_the_same_for_any_number_of_jobs_and_for_frames():
    X, y = rows()
    models = {"a": LogisticRegression(), "b": DummyClassifier()}
    one = class_accuracy(models, X, y, random_state=0)
    two = class_accuracy(models, pd.DataFrame(X, columns=["u", "v"]), y, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(one.scores, two.scores)


def test_confusion_of_three_classes():
    X, _ = rows()
    y = pd.Categorical(np.where(X[:, 0] > 0.5, "b", "c"), categories=["c", "b", "a"])
    y[:6] = "a"
    found = class_accuracy({"one": DummyClassifier()}, X, y, n_folds=3, n_repeats=2, random_state=0)
    counts = y.value_counts()[["c", "b", "a"]].to_numpy()
    assert found.classes == ("c", "b", "a")
    np.testing.assert_array_equal(found.confusion[0].sum(axis=1), 2 * counts)
    commonest = int(counts.argmax())
    np.testing.assert_array_equal(found.confusion[0][:, commonest], 2 * counts)
    table = found.confusions("one").set_index("class")
    assert (table.iloc[:, commonest] == 1.0).all()
    assert table["precision"].iloc[commonest] == pytest.approx(counts.max() / len(y))


def test_blocks_keep_likenesses_of_held_out_rows_out_of_the_training_rows():
    """Twelve runs of ten rows, each at a place that says nothing about its class."""
    rng = np.random.default_rng(1)
    run = np.repeat(np.arange(12), 10)
    X = rng.normal(size=(12, 3))[run] + 1e-3 * rng.normal(size=(120, 3))
    nearest = {"nearest": KNeighborsClassifier(1)}
    assert class_accuracy(nearest, X, run % 2, n_folds=3, random_state=0).accuracy("nearest") == 1.0
    apart = class_accuracy(nearest, X, run % 2, n_folds=3, block_length=10, random_state=0)
    assert apart.accuracy("nearest") < 0.75
    assert apart.scores.shape == (1, 6)
    assert apart.confusion.sum() == 2 * 120


def test_standard_error_counts_shared_rows():
    scores = np.array([[0.8, 0.9, 0.7, 0.8], [0.7, 0.7, 0.7, 0.7]])
    found = ClassAccuracy(names=("a", "b"), scores=scores, chance=0.5, overlap=1 / 3)
    spread = np.var(scores[0], ddof=1)
    assert found.standard_error("a") == pytest.approx(np.sqrt(spread * (1 / 4 + 1 / 3)))
    gain = found.gain("a", "b")
    assert gain.difference == pytest.approx(0.1)
    assert gain.standard_error == pytest.approx(found.standard_error("a"))
    assert not gain._replace(standard_error=0.06).is_beyond_noise
    assert gain._replace(standard_error=0.04).is_beyond_noise
    assert gain._replace(difference=-0.1, standard_error=0.04).is_beyond_noise
    table = found.table().set_index("classifier")
    assert table.loc["b", "standard_error"] == 0.0
    with raises(InputError, code="unknown_classifier", name="c", names=["a", "b"]):
        found.accuracy("c")


@pytest.mark.slow
def test_the_test_errs_as_often_as_it_says_where_there_is_no_difference():
    rng = np.random.default_rng(1)
    n_claims = 0
    for _ in range(40):
        X, y = rng.normal(size=(40, 3)), np.repeat([0, 1], 20)
        models = {"a": LogisticRegression(C=1.0), "b": LogisticRegression(C=0.003)}
        found = class_accuracy(models, X, y, n_folds=4, n_repeats=1, random_state=0)
        n_claims += found.gain("a", "b").is_beyond_noise
    assert n_claims <= 5


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (np.zeros(60), {}, "one_class"),
        (None, {"n_folds": 1}, "n_folds_range"),
        (None, {"n_folds": 21}, "n_folds_range"),
        (None, {"block_length": 5}, "block_length_range"),
        (None, {"n_repeats": 0}, "n_repeats_range"),
        (np.zeros(59), {}, "labels_shape"),
    ],
)
def test_bad_input(y, options, message):
    X, labels = rows()
    with raises(InputError, code=message):
        class_accuracy({"a": DummyClassifier()}, X, labels if y is None else y, **options)
