"""Least squares of rows in order, as statsmodels has it."""

import json
from pathlib import Path

import numpy as np
import pytest

from edgewise import TemporalGraph
from edgewise.data.lagged import lagged_rows
from edgewise.estimators.gaussian.temporal import Pairs, _lagged_tests

PEER = json.loads(Path(__file__).with_name("statsmodels_var.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("lags", [1, 2])
def test_least_squares_is_that_of_statsmodels(lags):
    model, peer = TemporalGraph(lags, "fdr").fit(np.array(PEER["rows"])), PEER[str(lags)]
    np.testing.assert_allclose(model.coef_, peer["coef"], atol=1e-10, rtol=0)
    np.testing.assert_allclose(model.covariance_, peer["covariance"], atol=1e-10, rtol=0)


@pytest.mark.parametrize("lags", [1, 2])
def test_partial_correlations_are_the_t_values_of_statsmodels(lags):
    rows, peer = np.array(PEER["rows"]), PEER[str(lags)]
    pairs = Pairs.of(rows, lagged_rows(len(rows), lags))
    found = _lagged_tests(pairs, 3 * lags)
    t = np.array(peer["coef"]).reshape(-1, 3) / np.array(peer["errors"]).reshape(-1, 3)
    n_free = len(pairs.now) - 3 * lags - 1
    np.testing.assert_allclose(found.estimate, t / np.sqrt(n_free + t**2), atol=1e-10, rtol=0)
