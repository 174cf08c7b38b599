"""The histogram of a permutation test."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator

from edgewise import Graph, InputError
from edgewise.inference import permutation_test
from edgewise.plot.curves import plot_permutation
from tests.messages import raises

NULL = np.random.default_rng(0).gamma(30, 0.01, size=500)


class Correlations(BaseEstimator):
    def fit(self, X, y=None):
        self.graph_ = Graph(np.corrcoef(X.T) * (1 - np.eye(X.shape[1])))
        return self


def outcome(null, observed, pvalue=0.5):
    weights = np.zeros((3, 3))
    weights[0, 1] = weights[1, 0] = -observed
    weights[1, 2] = weights[2, 1] = observed / 2
    # The sum of the two differences is 1.5 times the larger.
    sums = 2 * np.asarray(null)
    return SimpleNamespace(
        observed=Graph(weights), null_max=null, pvalue=pvalue, null_sum=sums, pvalue_sum=pvalue / 2
    )


def test_bars_count_the_permutations():
    ax = plot_permutation(outcome(NULL, 0.31))
    assert sum(bar.get_height() for bar in ax.patches) == 500
    for bar in ax.patches:
        low, high = bar.get_x(), bar.get_x() + bar.get_width()
        assert bar.get_height() == np.sum((low <= NULL) & (high > NULL))


def test_bars_beyond_the_observed_value_have_a_colour_of_their_own():
    ax = plot_permutation(outcome(NULL, 0.31))
    beyond = [bar for bar in ax.patches if bar.get_facecolor()[:3] == to_rgb("#D55E00")]
    assert sum(bar.get_height() for bar in beyond) == np.sum(NULL >= 0.31)
    assert min(bar.get_x() for bar in beyond) == pytest.approx(0.31)


def test_observed_value_and_p_value_are_written():
    ax = plot_permutation(outcome(NULL, 0.31, 0.0123))
    (line,) = ax.lines
    assert list(line.get_xdata()) == [0.31, 0.31]
    assert ax.texts[0].get_text() == "observed 0.31"
    reached = np.sum(NULL >= 0.31)
    assert ax.get_title() == (f"p = 0.012: {reached} of 500 permutations reach the observed value")
    assert "1 of 2 permutations reaches" in plot_permutation(outcome([0.1, 1], 0.5)).get_title()


def test_statistic_option():
    ax = plot_permutation(outcome(NULL, 0.4, 0.5), statistic="sum")
    assert ax.texts[0].get_text() == "observed 0.6"
    reached = np.sum(2 * NULL >= 0.6)
    assert ax.get_title().startswith(f"p = 0.25: {reached} of 500")
    assert ax.get_xlabel().startswith("sum")
    directed = SimpleNamespace(
        observed=Graph([[0, 1], [-2, 0]], directed=True), null_sum=[1.0], pvalue_sum=0.5
    )
    assert plot_permutation(directed, statistic="sum").texts[0].get_text() == "observed 3"
    with raises(InputError, code="statistic_choice", statistic="mean"):
        plot_permutation(outcome(NULL, 0.4), statistic="mean")


def test_the_statistic_itself_may_be_given():
    test = SimpleNamespace(observed=0.31, null_max=NULL, pvalue=0.5, null_sum=NULL, pvalue_sum=0.2)
    for statistic, pvalue in (("max", 0.5), ("sum", 0.2)):
        ax = plot_permutation(test, statistic=statistic)
        assert ax.texts[0].get_text() == "observed 0.31"
        assert ax.get_title().startswith(f"p = {pvalue}: {np.sum(NULL >= 0.31)} of 500")


@pytest.mark.parametrize("observed", [0.3, 0.07, 0.001])
def test_shuffles_without_any_change_stand_at_zero(observed):
    null = np.append(np.zeros(60), np.linspace(0.05, 0.2, 40))
    ax = plot_permutation(outcome(null, observed))
    assert sum(bar.get_height() for bar in ax.patches) == 100
    first = min(ax.patches, key=lambda bar: bar.get_x())
    assert first.get_height() >= 60
    if observed > 0.01:
        assert first.get_x() == pytest.approx(0.0, abs=1e-12)
    beyond = [bar for bar in ax.patches if bar.get_facecolor()[:3] == to_rgb("#D55E00")]
    assert sum(bar.get_height() for bar in beyond) == np.sum(null >= observed)


class Change(BaseEstimator):
    """Change of correlations, none below a threshold, as an estimator of changes finds it."""

    def fit(self, X, y):
        before, after = (np.corrcoef(X[y == label].T) for label in (0, 1))
        change = (after - before) * (1 - np.eye(X.shape[1]))
        self.graph_ = Graph(np.where(np.abs(change) > 0.5, change, 0.0))
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def test_null_of_an_estimator_of_changes():
    X = np.random.default_rng(2).normal(size=(80, 4))
    X[40:, 1] += 2 * X[40:, 0]
    y = np.repeat([0, 1], 40)
    test = permutation_test(Change(), X, y, n_permutations=39, random_state=0)
    assert np.count_nonzero(test.null_max == 0) > 20
    ax = plot_permutation(test)
    observed = np.abs(Change().fit(X, y).graph_.weights).max()
    assert ax.lines[0].get_xdata()[0] == pytest.approx(observed)
    assert min(bar.get_x() for bar in ax.patches) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("statistic", ["max", "sum"])
def test_count_agrees_with_the_p_value_of_a_real_test(statistic):
    X = np.random.default_rng(1).normal(size=(60, 4))
    X[30:, 1] += 0.7 * X[30:, 0]
    y = np.repeat([0, 1], 30)
    test = permutation_test(Correlations(), X, y, n_permutations=49, random_state=0)
    title = plot_permutation(test, statistic=statistic).get_title()
    reached = int(re.search(r": (\d+) of 49", title)[1])
    assert (1 + reached) / 50 == {"max": test.pvalue, "sum": test.pvalue_sum}[statistic]


def test_ties_by_rounding_are_reached():
    ax = plot_permutation(outcome([0.1, 0.3 * (1 - 1e-15)], 0.3))
    assert "1 of 2" in ax.get_title()
    assert sum(bar.get_height() for bar in ax.patches if bar.get_x() > 0.29) == 1


@pytest.mark.parametrize("observed", [0.05, 0.31, 0.45, 3.0])
def test_text_covers_neither_the_line_nor_the_bars(observed):
    ax = plot_permutation(outcome(NULL, observed))
    ax.figure.draw_without_rendering()
    box = ax.texts[0].get_window_extent()
    x = ax.transData.transform((observed, 0))[0]
    assert box.x1 < x or box.x0 > x
    assert not any(box.overlaps(bar.get_window_extent()) for bar in ax.patches)
    frame = ax.get_window_extent()
    assert frame.x0 <= box.x0
    assert box.x1 <= frame.x1


@pytest.mark.parametrize(
    ("null", "observed"), [(np.zeros(20), 0.0), (np.full(5, 0.2), 0.1), ([0.3], 0.3), ([0.3], 9.0)]
)
def test_null_values_that_are_all_alike(null, observed):
    ax = plot_permutation(outcome(null, observed))
    ax.figure.draw_without_rendering()
    assert sum(bar.get_height() for bar in ax.patches) == len(null)


def test_given_axes_are_used_and_bad_input_is_named():
    ax = Figure().add_subplot()
    assert plot_permutation(outcome(NULL, 0.3), ax) is ax
    for bad in ([], [0.1, np.nan], np.zeros((2, 2))):
        with raises(InputError, code="null_not_finite"):
            plot_permutation(outcome(bad, 0.3))


def test_a_value_far_off_is_pointed_to_so_that_the_bars_stay_visible():
    null = np.linspace(0.1, 2.0, 40)
    ax = plot_permutation(SimpleNamespace(observed=412.0, null_max=null, pvalue=1 / 41))
    left, right = ax.get_xlim()
    assert left < 0.1
    assert 2.0 < right < 6.0
    assert [text.get_text() for text in ax.texts] == ["observed 412,\nfar to the right"]
    assert not ax.lines
    ax.figure.draw_without_rendering()
    assert ax.texts[0].get_window_extent().x1 < ax.get_window_extent().x1
    near = plot_permutation(SimpleNamespace(observed=12.0, null_max=null, pvalue=1 / 41))
    assert near.get_xlim()[1] > 12.0
