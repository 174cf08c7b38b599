"""scikit-learn's own checks of what an estimator is."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from edgewise import ConditionalGraph, GraphTree, KernelGraph, TemporalGraph
from tests.roster import ROSTER


class TwoResponses:
    """Makes a table of responses, of which a network needs two, from the one that checks have."""

    def fit(self, X, y):
        return super().fit(X, _two_responses(y))

    def score(self, X, y):
        return super().score(X, _two_responses(y))


def _two_responses(y):
    if y is None:
        return None
    # Both with noise, since the checks choose a y that some column of X is, or follows from.
    rows = np.arange(np.size(y)) ** 2
    return np.column_stack([np.ravel(y) + np.cos(rows), np.sin(1.0 + rows)])


class ConditionalGraphOfTwo(TwoResponses, ConditionalGraph):
    pass


class KernelGraphOfTwo(TwoResponses, KernelGraph):
    pass


class GraphTreeOfTwo(TwoResponses, GraphTree):
    pass


class TemporalGraphOfOneSeries(TemporalGraph):
    def fit(self, X, y=None):
        return super().fit(X)


OF_TWO = {cls.__mro__[2]: cls for cls in (ConditionalGraphOfTwo, KernelGraphOfTwo, GraphTreeOfTwo)}
OF_TWO[TemporalGraph] = TemporalGraphOfOneSeries


def _checked(model):
    """A model as the checks can fit it, which know one y."""
    return OF_TWO.get(type(model), type(model))(**model.get_params(deep=False))


# The checks fit tables of noise with a handful of columns, where no alpha is stable enough for
# StARS, and tables of repeated rows, where the smallest alpha is always the best. The warnings
# that say so are right.
@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
@pytest.mark.filterwarnings("ignore::edgewise.DataWarning")
@parametrize_with_checks(
    [_checked(entry.conventions[0]) for entry in ROSTER],
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
@pytest.mark.filterwarnings("ignore::edgewise.DataWarning")
@parametrize_with_checks(
    [_checked(model) for entry in ROSTER for model in entry.conventions[1:]],
)
def test_scikit_learn_conventions_with_other_options(estimator, check):
    check(estimator)


def test_every_estimator_is_checked():
    assert all(entry.conventions for entry in ROSTER)
