"""scikit-learn's own checks of what an estimator is."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from edgewise import (
    BayesNetClassifier,
    BlanketBayesNet,
    BootstrapGraph,
    DiscreteMarkovNet,
    DTraceChange,
    FusedNetworkChange,
    GaussianBayesNet,
    GaussianGraph,
    LocallyConstantGraph,
    NeighborhoodGraph,
    NetworkChange,
    SeparateNetworkChange,
    StabilitySelection,
)

ESTIMATORS = [
    BayesNetClassifier(),
    BayesNetClassifier("fisher", "svm"),
    BlanketBayesNet(),
    BlanketBayesNet("inter-iamb-npc", missing="em"),
    BlanketBayesNet("l1mb", search="greedy"),
    DTraceChange(alpha=0.3),
    DTraceChange(alpha=0.3, covariance="nonparanormal"),
    FusedNetworkChange(alpha=0.2),
    FusedNetworkChange(alpha=0.2, method="joint", sparsity=0.1),
    FusedNetworkChange(alpha=0.2, method="sampled", n_proposals=50),
    GaussianBayesNet(),
    GaussianBayesNet(alpha=0.1, method="bcd"),
    NetworkChange(alpha=0.3),
    NetworkChange(basis="polynomial", cv=3, n_alphas=3, random_state=0),
    SeparateNetworkChange(alpha=0.3),
    SeparateNetworkChange(alpha=0.3, likelihood="sampled", n_proposals=50),
    DiscreteMarkovNet(),
    GaussianGraph(),
    GaussianGraph(alpha=0.1, covariance="correlation"),
    GaussianGraph(alpha="cv", cv=3, n_alphas=5, random_state=0),
    LocallyConstantGraph(alpha=0.1, tau=0.05),
    LocallyConstantGraph(cv=3, n_alphas=3, n_taus=2, random_state=0, constant="drop"),
    NeighborhoodGraph(),
    NeighborhoodGraph(alpha="stars", n_subsamples=4, n_alphas=5, random_state=0, rule="or"),
    BootstrapGraph(GaussianGraph(alpha=0.1), n_resamples=2, random_state=0),
    StabilitySelection(GaussianGraph(alpha=0.3), n_resamples=2, random_state=0),
]


# The checks fit tables of noise with a handful of columns, where no alpha is stable enough for
# StARS, and tables of repeated rows, where the smallest alpha is always the best. The warnings
# that say so are right.
@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
@pytest.mark.filterwarnings("ignore::edgewise.DataWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
