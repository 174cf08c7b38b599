"""Hard numbers under options that take other ways through the library than the roster does."""

import pytest

from edgewise import (
    BayesNetClassifier,
    BlanketBayesNet,
    ConditionalGraph,
    DiscreteMarkovNet,
    DTraceChange,
    FusedNetworkChange,
    GaussianBayesNet,
    GaussianGraph,
    GraphTree,
    KernelGraph,
    LocallyConstantGraph,
    NeighborhoodGraph,
    NetworkChange,
    SeparateNetworkChange,
)
from tests.corpus.case import SOUND
from tests.corpus.hard_numbers import HARD_NUMBERS
from tests.corpus.roster import Subject, of_covariates, of_groups, of_responses, of_rows
from tests.corpus.verdict import complaint

pytestmark = pytest.mark.slow

OF_ROWS = [
    lambda: GaussianGraph(),
    lambda: GaussianGraph("cv", cv=2, n_alphas=6, random_state=0),
    lambda: GaussianGraph("stars", n_subsamples=5, n_alphas=6, random_state=0),
    lambda: GaussianGraph(0.1),
    lambda: GaussianGraph(0.0),
    lambda: GaussianGraph(0.1, covariance="nonparanormal"),
    lambda: GaussianGraph(0.1, covariance="spearman"),
    lambda: GaussianGraph(0.1, covariance="kendall"),
    lambda: GaussianGraph(0.1, missing="em"),
    lambda: GaussianGraph(0.1, repair="ridge"),
    lambda: NeighborhoodGraph(),
    lambda: NeighborhoodGraph(0.1, repair="ridge"),
    lambda: LocallyConstantGraph(cv=2, n_alphas=3, n_taus=2, random_state=0),
    lambda: LocallyConstantGraph(0.1, 0.05, constant="drop"),
    lambda: LocallyConstantGraph(0.1, 0.05, constant="ridge"),
    lambda: GaussianBayesNet(),
    lambda: GaussianBayesNet(0.1, "bcd"),
    lambda: GaussianBayesNet(0.1, standardize=False),
    lambda: GaussianBayesNet(0.1, repair="ridge"),
    lambda: BlanketBayesNet("l1mb", search="greedy"),
    lambda: BlanketBayesNet("gs"),
    lambda: BlanketBayesNet("tc"),
    lambda: BlanketBayesNet(repair="ridge"),
]
OF_GROUPS = [
    lambda: NetworkChange(cv=2, n_alphas=4, random_state=0),
    lambda: NetworkChange(0.3, basis="polynomial"),
    lambda: NetworkChange(0.3, standardize=False, max_iter=50),
    lambda: FusedNetworkChange(cv=2, n_alphas=4, random_state=0),
    lambda: FusedNetworkChange(0.2, 0.1, method="joint"),
    lambda: FusedNetworkChange(0.2, 0.1, covariance="nonparanormal"),
    lambda: SeparateNetworkChange(),
    lambda: SeparateNetworkChange(0.3, likelihood="sampled", n_proposals=50, random_state=0),
    lambda: DTraceChange(cv=2, n_alphas=4, random_state=0),
    lambda: DTraceChange(0.3, covariance="nonparanormal"),
    lambda: DTraceChange(0.3, standardize=False),
    lambda: BayesNetClassifier("fisher", "svm", n_edges=4),
    lambda: BayesNetClassifier("generative"),
]
SUBJECTS = [
    *map(of_rows, OF_ROWS),
    *map(of_groups, OF_GROUPS),
    of_responses(lambda: GraphTree(min_samples_leaf=4, max_depth=2, random_state=0)),
    of_covariates(lambda: GraphTree(min_samples_leaf=4, max_depth=2, random_state=0)),
    of_covariates(lambda: GraphTree("penalized", max_depth=2, scale="quantile", random_state=0)),
    of_responses(lambda: KernelGraph(n_bandwidths=2, n_alphas=3, n_anchors=8, random_state=0)),
    of_covariates(lambda: KernelGraph(0.5, 0.1, scale="none")),
    of_responses(lambda: ConditionalGraph()),
    of_covariates(lambda: ConditionalGraph(covariate_alpha="ebic")),
    Subject("DiscreteMarkovNet", "levels", lambda table: DiscreteMarkovNet("ib").fit(table)),
    Subject(
        "DiscreteMarkovNet", "levels", lambda table: DiscreteMarkovNet(cardinalities=3).fit(table)
    ),
]


@pytest.mark.parametrize("case", HARD_NUMBERS, ids=lambda case: case.name)
def test_options(case):
    found = []
    for number, subject in enumerate(SUBJECTS):
        if said := complaint(subject, case.build(subject.clean()), SOUND, clean=None):
            found.append(f"{subject.name} ({number}): {said}")
    assert not "\n".join(found)
