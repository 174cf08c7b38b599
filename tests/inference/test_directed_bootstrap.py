"""How sure arcs are, and how sure their directions."""

import numpy as np
import pandas as pd
import pytest

from edgewise import BlanketBayesNet, BootstrapGraph, GaussianBayesNet, load
from edgewise.data import make_linear_sem

#: 0 -> 2 <- 1 is told by the data; 3 - 4 is a pair that either direction fits.
ARCS = np.zeros((6, 6), dtype=bool)
ARCS[0, 2] = ARCS[1, 2] = ARCS[3, 4] = True


@pytest.fixture(scope="module")
def rows():
    X = make_linear_sem(ARCS, low=0.8, rng=0).sample(400, rng=1)
    return pd.DataFrame(X, columns=list("abcdef"))


@pytest.fixture(scope="module")
def blankets(rows):
    return BootstrapGraph(BlanketBayesNet(), n_resamples=25, random_state=0).fit(rows)


def test_directions_that_the_data_tell_come_back(blankets):
    share = blankets.edge_frequency_
    assert share[0, 2] >= 0.9
    assert share[1, 2] >= 0.9
    assert share[2, 0] + share[2, 1] <= 0.2


def test_a_pair_is_sure_though_its_direction_is_not(blankets):
    share = blankets.edge_frequency_
    assert share[3, 4] + share[4, 3] == pytest.approx(1.0)
    pattern = blankets.estimator_.cpdag_.adjacency
    assert pattern[3, 4]
    assert pattern[4, 3]
    assert (share + share.T <= 1 + 1e-12).all()


def test_each_resample_has_an_arc_one_way_only(blankets):
    assert blankets.graph_.directed
    np.testing.assert_array_equal(blankets.graph_.confidence, blankets.edge_frequency_)
    low, high = blankets.interval_
    assert (low <= high).all()
    # An arc that is there in no resample has no weight in any.
    never = blankets.edge_frequency_ == 0
    assert not low[never].any()
    assert not high[never].any()
    assert np.sign(low[0, 2]) == np.sign(high[0, 2]) == np.sign(blankets.graph_.weights[0, 2])


def test_frequencies_are_those_of_fits_to_drawn_rows(rows):
    """The same counts from fits by hand, given which rows every fit saw."""
    seen = []

    class Witness(BlanketBayesNet):
        def fit(self, X, y=None, sample_weight=None):
            super().fit(X, y, sample_weight)
            seen.append(self.coef_ != 0)
            return self

    boot = BootstrapGraph(Witness(), n_resamples=6, random_state=2).fit(rows)
    first, *others = seen
    np.testing.assert_array_equal(boot.graph_.adjacency, first)
    np.testing.assert_allclose(boot.edge_frequency_, np.mean(others, axis=0))


@pytest.mark.parametrize("learner", [BlanketBayesNet("gs"), GaussianBayesNet(alpha=0.2)])
def test_workers_change_nothing_and_results_can_be_saved(rows, learner, tmp_path):
    one, two = (
        BootstrapGraph(learner, n_resamples=4, random_state=3, n_jobs=n).fit(rows) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.edge_frequency_, two.edge_frequency_)
    one.save(tmp_path / "boot.edgewise")
    again = load(tmp_path / "boot.edgewise")
    np.testing.assert_array_equal(again.edge_frequency_, one.edge_frequency_)
    assert again.graph_ == one.graph_


def test_what_is_known_holds_in_every_resample(rows):
    learner = BlanketBayesNet(required=[("e", "d")], forbidden=[("a", "c"), ("c", "a")])
    boot = BootstrapGraph(learner, n_resamples=8, random_state=0).fit(rows)
    share = pd.DataFrame(boot.edge_frequency_, index=rows.columns, columns=rows.columns)
    assert share.loc["e", "d"] == 1.0
    assert share.loc["d", "e"] == share.loc["a", "c"] == share.loc["c", "a"] == 0.0
