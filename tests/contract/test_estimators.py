"""scikit-learn's own checks of what an estimator is."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.roster import cases


# The checks fit tables of noise with a handful of columns, where no alpha is stable enough for
# StARS, and tables of repeated rows, where the smallest alpha is always the best. The warnings
# that say so are right.
@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
@pytest.mark.filterwarnings("ignore::edgewise.DataWarning")
@parametrize_with_checks([model for _, model in cases("conventions")])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
