"""Every estimator, once: what the tests that bind all estimators fit, and to which data.

A new estimator needs one entry in `ROSTER`; the contract tests, the corpus of hard tables and the
forecast of memory then run on it.
"""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import edgewise
from edgewise import (
    CV,
    BayesNetClassifier,
    BlanketBayesNet,
    BootstrapGraph,
    ConditionalGraph,
    DirectedGraph,
    DiscreteMarkovNet,
    DTraceChange,
    FusedNetworkChange,
    GaussianBayesNet,
    GaussianGraph,
    GraphTree,
    HeldOut,
    JointGraphs,
    KernelCV,
    KernelGraph,
    LocallyConstantGraph,
    MixedGraph,
    NeighborhoodGraph,
    NetworkChange,
    Penalized,
    SampledLikelihood,
    SeparateNetworkChange,
    StabilitySelection,
    StARS,
    TemporalGraph,
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One estimator. Its models are small, and cloned before they are fitted.

    Attributes
    ----------
    takes : {"rows", "ordered rows", "levels", "groups", "classes", "covariates"}
        What it is fitted to: rows alone, rows whose order counts, codes of levels, rows of two
        groups, rows with classes to predict, or covariates and responses.
    plain : estimator
        The model that stands for the estimator on tables that are wrong, hard or too large; of
        milliseconds.
    fixed : sequence of estimators
        Models with the strengths of all penalties given: nothing is drawn at random, and only
        rounding depends on the order of the rows.
    searches : sequence of estimators
        Models that resample rows, or split them into folds, and spread that over processes.
    conventions : sequence of estimators
        Models for scikit-learn's own checks, after the first among the slow tests, where the
        defaults are checked of those that search for long.
    gaps : sequence of estimators
        Models that take missing values.
    options : sequence of estimators
        More ways through the library, which only the slow tests go.
    """

    takes: str
    plain: Any
    fixed: tuple[Any, ...] = ()
    searches: tuple[Any, ...] = ()
    conventions: tuple[Any, ...] = ()
    gaps: tuple[Any, ...] = ()
    options: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """Name of the class."""
        return type(self.plain).__name__

    @property
    def takes_weights(self) -> bool:
        """Whether rows can have weights."""
        return "sample_weight" in inspect.signature(self.plain.fit).parameters

    def data(self, X: np.ndarray) -> tuple[np.ndarray, ...]:
        """Arguments of `fit`, made from rows of numbers alone."""
        if self.takes == "levels":
            return ((np.median(X, axis=0) < X).astype(int),)
        if self.takes == "covariates":
            return X[:, :1], X[:, 1:]
        return (X,) if self.takes.endswith("rows") else (X, np.arange(len(X)) % 2)


def cases(field: str) -> list[tuple[Entry, Any]]:
    """Return all models of one kind, each with its entry, to parametrize a test with."""
    return [(entry, model) for entry in ROSTER for model in getattr(entry, field)]


def labels(pairs: Iterable[tuple[Entry, Any]]) -> list[str]:
    """Return names of such cases: the models, with the parameters that are not the default."""
    return [" ".join(repr(model).split()) for _, model in pairs]


def public_estimators() -> set[type]:
    """Return every public class that has a fit."""
    found = [getattr(edgewise, name) for name in edgewise.__all__]
    return {item for item in found if isinstance(item, type) and hasattr(item, "fit")}


ROSTER = [
    Entry(
        takes="rows",
        plain=GaussianGraph(alpha=0.1, covariance="correlation"),
        fixed=(
            GaussianGraph(alpha=0.2, covariance="correlation"),
            GaussianGraph(alpha=0.2, covariance="nonparanormal"),
        ),
        searches=(
            GaussianGraph(alpha=CV(3, n_alphas=4), random_state=0),
            GaussianGraph(alpha=StARS(n_subsamples=4, n_alphas=4), random_state=0),
        ),
        conventions=(
            GaussianGraph(),
            GaussianGraph(alpha=0.1, covariance="correlation"),
            GaussianGraph(alpha=CV(3, n_alphas=5), random_state=0),
        ),
        gaps=(
            GaussianGraph(0.1, missing="pairwise"),
            GaussianGraph(0.1, missing="em"),
            GaussianGraph(0.1, covariance="nonparanormal", missing="pairwise"),
        ),
        options=(
            GaussianGraph(),
            GaussianGraph(CV(2, n_alphas=6), random_state=0),
            GaussianGraph(StARS(n_subsamples=5, n_alphas=6), random_state=0),
            GaussianGraph(0.1),
            GaussianGraph(0.0),
            GaussianGraph(0.1, covariance="nonparanormal"),
            GaussianGraph(0.1, covariance="spearman"),
            GaussianGraph(0.1, covariance="kendall"),
            GaussianGraph(0.1, missing="em"),
            GaussianGraph(0.1, repair="ridge"),
        ),
    ),
    Entry(
        takes="rows",
        plain=NeighborhoodGraph(alpha=0.1),
        fixed=(NeighborhoodGraph(alpha=0.3),),
        searches=(NeighborhoodGraph(alpha=CV(3, n_alphas=4), random_state=0),),
        conventions=(
            NeighborhoodGraph(),
            NeighborhoodGraph(alpha=StARS(n_subsamples=4, n_alphas=5), random_state=0, rule="or"),
        ),
        gaps=(NeighborhoodGraph(0.1, missing="em"),),
        options=(NeighborhoodGraph(), NeighborhoodGraph(0.1, repair="ridge")),
    ),
    Entry(
        takes="ordered rows",
        plain=TemporalGraph(alpha=0.1),
        fixed=(TemporalGraph(alpha=0.2),),
        conventions=(TemporalGraph(alpha=0.1),),
        gaps=(TemporalGraph(alpha=0.1, missing="drop"),),
        options=(TemporalGraph(), TemporalGraph(2), TemporalGraph(alpha="ebic")),
    ),
    Entry(
        takes="rows",
        plain=LocallyConstantGraph(alpha=0.1, tau=0.05),
        fixed=(LocallyConstantGraph(alpha=0.1, tau=0.1),),
        searches=(
            LocallyConstantGraph(alpha=CV(3, n_alphas=2), tau=CV(3, n_alphas=2), random_state=0),
        ),
        conventions=(
            LocallyConstantGraph(alpha=0.1, tau=0.05),
            LocallyConstantGraph(
                alpha=CV(3, n_alphas=3), tau=CV(3, n_alphas=2), random_state=0, constant="drop"
            ),
        ),
        gaps=(LocallyConstantGraph(0.1, 0.05, missing="pairwise"),),
        options=(
            LocallyConstantGraph(alpha=CV(2, n_alphas=3), tau=CV(2, n_alphas=2), random_state=0),
            LocallyConstantGraph(0.1, 0.05, constant="drop"),
            LocallyConstantGraph(0.1, 0.05, constant="ridge"),
        ),
    ),
    Entry(
        takes="rows",
        plain=GaussianBayesNet(alpha=0.1),
        fixed=(GaussianBayesNet(alpha=0.2), GaussianBayesNet(alpha=0.2, method="bcd")),
        searches=(GaussianBayesNet(alpha=CV(3, n_alphas=3), random_state=0),),
        conventions=(GaussianBayesNet(alpha=0.1, method="bcd"), GaussianBayesNet()),
        gaps=(GaussianBayesNet(0.1, missing="em"),),
        options=(
            GaussianBayesNet(),
            GaussianBayesNet(0.1, "bcd"),
            GaussianBayesNet(0.1, standardize=False),
            GaussianBayesNet(0.1, repair="ridge"),
        ),
    ),
    Entry(
        takes="rows",
        plain=BlanketBayesNet(),
        fixed=(BlanketBayesNet(), BlanketBayesNet("l1mb", search="greedy")),
        conventions=(
            BlanketBayesNet(),
            BlanketBayesNet("inter-iamb-npc", missing="em"),
            BlanketBayesNet("l1mb", search="greedy"),
        ),
        gaps=(BlanketBayesNet(missing="em"),),
        options=(
            BlanketBayesNet("l1mb", search="greedy"),
            BlanketBayesNet("gs"),
            BlanketBayesNet("tc"),
            BlanketBayesNet(repair="ridge"),
        ),
    ),
    Entry(
        takes="rows",
        plain=DirectedGraph(),
        fixed=(DirectedGraph(), DirectedGraph("ges"), DirectedGraph("pc")),
        searches=(DirectedGraph(random_state=0),),
        conventions=(DirectedGraph(), DirectedGraph("ges", criterion="bge"), DirectedGraph("pc")),
        gaps=(DirectedGraph(missing="em"),),
        options=(
            DirectedGraph("ges"),
            DirectedGraph("blankets"),
            DirectedGraph(criterion="bge"),
            DirectedGraph(repair="ridge"),
        ),
    ),
    Entry(
        takes="rows",
        plain=BootstrapGraph(
            GaussianGraph(alpha=0.1, covariance="correlation"), n_resamples=4, random_state=0
        ),
        searches=(
            BootstrapGraph(
                GaussianGraph(alpha=0.2, covariance="correlation"), n_resamples=4, random_state=0
            ),
        ),
        conventions=(BootstrapGraph(GaussianGraph(alpha=0.1), n_resamples=2, random_state=0),),
        gaps=(
            BootstrapGraph(GaussianGraph(0.1, missing="pairwise"), n_resamples=3, random_state=0),
        ),
    ),
    Entry(
        takes="rows",
        plain=StabilitySelection(NeighborhoodGraph(alpha=0.3), n_resamples=4, random_state=0),
        searches=(StabilitySelection(NeighborhoodGraph(alpha=0.3), n_resamples=4, random_state=0),),
        conventions=(StabilitySelection(GaussianGraph(alpha=0.3), n_resamples=2, random_state=0),),
    ),
    Entry(
        takes="groups",
        plain=NetworkChange(alpha=0.3),
        fixed=(NetworkChange(alpha=0.3), NetworkChange(alpha=0.5, basis="polynomial")),
        searches=(NetworkChange(CV(3, n_alphas=3), random_state=0),),
        conventions=(
            NetworkChange(CV(3, n_alphas=3), random_state=0),
            NetworkChange(random_state=0),
            NetworkChange(CV(3, n_alphas=3), basis="polynomial", random_state=0),
        ),
        options=(
            NetworkChange(CV(2, n_alphas=4), random_state=0),
            NetworkChange(0.3, basis="polynomial"),
            NetworkChange(0.3, standardize=False, max_iter=50),
        ),
    ),
    Entry(
        takes="groups",
        plain=FusedNetworkChange(coupling=0.2),
        fixed=(
            FusedNetworkChange(0.1, coupling=0.3),
            FusedNetworkChange(0.1, coupling=0.3, method="joint"),
        ),
        searches=(FusedNetworkChange(coupling=CV(3, n_alphas=3), random_state=0),),
        conventions=(
            FusedNetworkChange(random_state=0),
            FusedNetworkChange(0.1, coupling=0.2, method="joint"),
            FusedNetworkChange(coupling=0.2, method=SampledLikelihood(n_proposals=50)),
        ),
        options=(
            FusedNetworkChange(coupling=CV(2, n_alphas=4), random_state=0),
            FusedNetworkChange(0.1, coupling=0.2, method="joint"),
            FusedNetworkChange(0.1, coupling=0.2, covariance="nonparanormal"),
        ),
    ),
    Entry(
        takes="groups",
        plain=SeparateNetworkChange(alpha=0.3),
        fixed=(SeparateNetworkChange(alpha=0.3),),
        searches=(SeparateNetworkChange(CV(3, n_alphas=3), random_state=0),),
        conventions=(
            SeparateNetworkChange(),
            SeparateNetworkChange(alpha=0.3, method=SampledLikelihood(n_proposals=50)),
        ),
        options=(
            SeparateNetworkChange(),
            SeparateNetworkChange(0.3, method=SampledLikelihood(n_proposals=50), random_state=0),
        ),
    ),
    Entry(
        takes="groups",
        plain=JointGraphs(alpha=0.3, coupling=0.1),
        fixed=(
            JointGraphs(alpha=0.3, coupling=0.1),
            JointGraphs(alpha=0.2, coupling=0.1, penalty="group"),
        ),
        searches=(JointGraphs(CV(3, n_alphas=3), random_state=0),),
        conventions=(JointGraphs(alpha=0.3, coupling=0.1), JointGraphs(random_state=0)),
        options=(JointGraphs(0.2, coupling=0.1, order="chain"),),
    ),
    Entry(
        takes="groups",
        plain=DTraceChange(alpha=0.3),
        fixed=(DTraceChange(alpha=0.3),),
        searches=(DTraceChange(CV(3, n_alphas=3), random_state=0),),
        conventions=(
            DTraceChange(random_state=0),
            DTraceChange(alpha=0.3, covariance="nonparanormal"),
        ),
        options=(
            DTraceChange(CV(2, n_alphas=4), random_state=0),
            DTraceChange(0.3, covariance="nonparanormal"),
            DTraceChange(0.3, standardize=False),
        ),
    ),
    Entry(
        takes="classes",
        plain=BayesNetClassifier(n_edges=4),
        fixed=(BayesNetClassifier(n_edges=8), BayesNetClassifier("fisher", "svm", n_edges=8)),
        conventions=(BayesNetClassifier(), BayesNetClassifier("fisher", "svm")),
        options=(
            BayesNetClassifier("fisher", "svm", n_edges=4),
            BayesNetClassifier("generative"),
        ),
    ),
    Entry(
        takes="covariates",
        plain=ConditionalGraph(alpha=0.1),
        fixed=(ConditionalGraph(alpha=0.2),),
        searches=(ConditionalGraph(CV(3, n_alphas=3), random_state=0),),
        conventions=(ConditionalGraph(),),
        options=(ConditionalGraph(), ConditionalGraph(covariate_alpha="ebic")),
    ),
    Entry(
        takes="covariates",
        plain=KernelGraph(bandwidth=0.5, alpha=0.1, random_state=0),
        fixed=(KernelGraph(bandwidth=0.5, alpha=0.2, n_anchors=100, min_samples=5),),
        searches=(
            KernelGraph(
                alpha=KernelCV(3, n_alphas=2, n_bandwidths=2),
                n_anchors=100,
                min_samples=5,
                random_state=0,
            ),
        ),
        # Of ten rows, as many checks have, a fold leaves eight.
        conventions=(KernelGraph(min_samples=4, random_state=0),),
        options=(
            KernelGraph(alpha=KernelCV(n_alphas=3, n_bandwidths=2), n_anchors=8, random_state=0),
            KernelGraph(0.5, 0.1, scale="none"),
        ),
    ),
    Entry(
        takes="covariates",
        plain=GraphTree("penalized", max_depth=1, min_samples_leaf=5, random_state=0),
        fixed=(GraphTree(Penalized(n_alphas=8), max_depth=2),),
        searches=(GraphTree(HeldOut(n_alphas=4), max_depth=1, random_state=0),),
        conventions=(GraphTree(random_state=0),),
        options=(
            GraphTree(min_samples_leaf=4, max_depth=2, random_state=0),
            GraphTree("penalized", max_depth=2, scale="quantile", random_state=0),
        ),
    ),
    Entry(
        takes="rows",
        plain=MixedGraph(alpha=0.1),
        fixed=(MixedGraph(alpha=0.3, tol=1e-10),),
        searches=(MixedGraph(alpha=CV(3, n_alphas=3), random_state=0),),
        conventions=(MixedGraph(),),
        gaps=(MixedGraph(0.1, missing="drop"),),
        options=(MixedGraph(), MixedGraph(0.1, rule="or")),
    ),
    Entry(
        takes="levels",
        plain=DiscreteMarkovNet(),
        fixed=(DiscreteMarkovNet(),),
        conventions=(DiscreteMarkovNet(),),
        gaps=(DiscreteMarkovNet(missing="drop"),),
        options=(DiscreteMarkovNet("ib"), DiscreteMarkovNet(cardinalities=3)),
    ),
]
