"""Pictures of searches."""

import numpy as np
import pytest

from edgewise import CV, EBIC, DiscreteMarkovNet, GaussianGraph, InputError, StARS
from edgewise.plot.curves import plot_score_history, plot_selection
from tests.messages import raises


def rows():
    values = np.random.default_rng(0).normal(size=(60, 4))
    values[:, 1] += values[:, 0]
    return values


@pytest.mark.parametrize(
    "rule", [EBIC(n_alphas=6), CV(3, n_alphas=6), StARS(n_subsamples=4, n_alphas=6)], ids=str
)
@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
def test_criterion_along_alpha(rule):
    model = GaussianGraph(alpha=rule, random_state=0).fit(rows())
    ax = plot_selection(model.selection_)
    alphas, values = ax.lines[0].get_data()
    np.testing.assert_array_equal(alphas, model.selection_.alphas)
    np.testing.assert_array_equal(values, model.selection_.values)
    assert len(ax.collections) == isinstance(rule, CV)
    assert [text.get_text() for text in ax.texts] == [f"chosen {model.alpha_:.3g}"]
    ax.figure.canvas.draw()


def test_scores_of_a_structure_rise():
    levels = np.random.default_rng(1).integers(0, 2, size=(200, 4))
    levels[:, 1] = levels[:, 0] ^ (np.random.default_rng(2).uniform(size=200) < 0.1)
    model = DiscreteMarkovNet().fit(levels)
    ax = plot_score_history(model.history_)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.history_[:, 0])
    assert plot_score_history([-3.0, -2.0]).lines[0].get_ydata().tolist() == [-3.0, -2.0]
    with raises(InputError, code="history_dimensions", shape=[2, 2, 2]):
        plot_score_history(np.zeros((2, 2, 2)))
