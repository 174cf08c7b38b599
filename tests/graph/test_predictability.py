"""How well neighbours predict a node, against scikit-learn's own cross-validation."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict

from edgewise import GaussianGraph, Graph, InputError
from edgewise.metrics import predictability
from tests.messages import raises

CHAIN = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3))
    rows[:, 1] += rows[:, 0]
    rows[:, 2] += rows[:, 1]
    return pd.DataFrame(rows, columns=["sun", "warmth", "wind"])


def test_explained_variance_of_held_out_rows(frame):
    found = predictability(CHAIN, frame, cv=4, random_state=1)
    seed = int(np.random.default_rng(1).integers(2**31 - 1))
    folds = KFold(4, shuffle=True, random_state=seed)
    rows = frame.to_numpy()
    for k, others in enumerate(([1], [0, 2], [1])):
        guess = cross_val_predict(LinearRegression(), rows[:, others], rows[:, k], cv=folds)
        flat = np.empty(300)
        for train, test in folds.split(rows):
            flat[test] = rows[train, k].mean()
        wanted = 1 - np.sum((rows[:, k] - guess) ** 2) / np.sum((rows[:, k] - flat) ** 2)
        assert found["predictability"].iloc[k] == pytest.approx(wanted)
    assert set(found["measure"]) == {"explained variance"}


def test_accuracy_over_the_best_guess(frame):
    mixed = frame.assign(wind=np.where(frame["wind"] > 0.4, "strong", "weak"))
    found = predictability(CHAIN, mixed).loc["wind"]
    assert found["measure"] == "accuracy over the best guess"
    seed = int(np.random.default_rng(0).integers(2**31 - 1))
    folds = KFold(5, shuffle=True, random_state=seed)
    guess = cross_val_predict(
        LogisticRegression(C=100.0), mixed[["warmth"]], mixed["wind"], cv=folds
    )
    right = np.mean(guess == mixed["wind"])
    base = mixed["wind"].value_counts(normalize=True).max()
    assert found["predictability"] == pytest.approx((right - base) / (1 - base), abs=0.03)
    assert predictability(CHAIN, mixed)["predictability"].between(0.2, 0.8).all()


def test_nodes_without_neighbours_and_arcs(frame):
    assert (predictability(np.zeros((3, 3)), frame)["predictability"] == 0).all()
    arcs = Graph(np.triu(CHAIN), names=list(frame), directed=True)
    found = predictability(arcs, frame[["wind", "sun", "warmth"]])
    assert found.index.tolist() == ["sun", "warmth", "wind"], "matched by name"
    assert found["predictability"].iloc[0] == 0, "it has no parents"
    assert (found["predictability"].iloc[1:] > 0.3).all()


def test_an_estimator_sees_only_the_other_folds(frame):
    noise = pd.DataFrame(np.random.default_rng(3).normal(size=(40, 12)))
    noise.columns = [f"x{k}" for k in range(12)]
    learner = GaussianGraph(alpha=0.15)
    seen = predictability(learner.fit(noise).graph_, noise)["predictability"].mean()
    held_out = predictability(GaussianGraph(alpha=0.15), noise)["predictability"].mean()
    assert held_out < seen
    assert held_out < 0


def test_bad_input(frame):
    with raises(InputError, code="column_count", n_nodes=2):
        predictability(np.zeros((2, 2)), frame)
    with raises(InputError, code="invalid_value"):
        predictability(CHAIN, frame, cv=1)
    with raises(InputError, code="missing_values_refused"):
        predictability(CHAIN, frame.mask(frame > 2))
