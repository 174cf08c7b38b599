"""Every estimator, each with what it needs beside the table, small enough for milliseconds."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise import (
    BayesNetClassifier,
    BlanketBayesNet,
    BootstrapGraph,
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
    StabilitySelection,
)

N_ROWS = 40


def measurements() -> np.ndarray:
    """Numbers of 9 bits, so that every kind of number holds them exactly."""
    rng = np.random.default_rng(11)
    values = rng.normal(size=(N_ROWS, 4))
    values[:, 1] += values[:, 0]
    values[:, 3] -= values[:, 2]
    values[::2, 2] += values[::2, 1]
    return np.round(64 * values) / 64


def levels() -> np.ndarray:
    """Level numbers, the second column a noisy copy of the first."""
    rng = np.random.default_rng(12)
    codes = rng.integers(0, 3, size=(N_ROWS, 4))
    codes[:, 1] = np.where(rng.random(N_ROWS) < 0.8, codes[:, 0], codes[:, 1])
    return codes.astype(np.float64)


def outcomes(n_rows: int) -> np.ndarray:
    """Responses whose link turns with the sign of the first column of `measurements`."""
    noise = np.random.default_rng(13).normal(size=(n_rows, 3))
    sign = np.sign(np.resize(measurements()[:, 0], n_rows))
    noise[:, 1] += 3 * sign * noise[:, 0]
    return noise


def count_rows(table: Any) -> int:
    """Rows as far as they can be told; a fault may have none."""
    shape = getattr(table, "shape", None)
    if shape is not None and len(shape):
        return int(shape[0])
    return len(table) if isinstance(table, (list, tuple)) else N_ROWS


def labels(table: Any) -> np.ndarray:
    """One of two labels in turn."""
    return np.where(np.arange(count_rows(table)) % 2 == 0, "after", "before")


def times(table: Any) -> np.ndarray:
    """One covariate that rises from row to row."""
    return np.linspace(0.0, 1.0, max(count_rows(table), 1))[:, None]


@dataclass(frozen=True)
class Subject:
    """One way of handing a table to an estimator.

    Attributes
    ----------
    name : str
        The estimator; with an X where the table holds its covariates.
    family : str
        The part that the table plays.
    fit : callable
        Fits it to a table.
    has_labels : bool
        Whether labels come with the table, as the second of a pair.
    """

    name: str
    family: str
    fit: Callable[[Any], Any]
    has_labels: bool = False

    def clean(self) -> np.ndarray:
        """Values of a table that it can learn from."""
        return levels() if self.family == "levels" else measurements()

    def rows(self, given: Any) -> Any:
        """Return the table of what was handed over."""
        return given[0] if self.has_labels else given

    def words(self, says: tuple[str, ...]) -> tuple[str, ...]:
        """Words of a message; responses without names have names of their own."""
        return (
            tuple(re.sub(r"'x(\d)'", r"'y\1'", word) for word in says)
            if (self.family == "responses")
            else says
        )

    def covariates(self, table: Any) -> Any:
        """What to predict from."""
        return table if self.family == "covariates" else times(table)


def of_rows(make: Callable[[], Any]) -> Subject:
    """Hand tables over as rows."""
    return Subject(type(make()).__name__, "rows", lambda table: make().fit(table))


def of_groups(make: Callable[[], Any]) -> Subject:
    """Hand tables over as rows of two groups."""
    name = type(make()).__name__
    return Subject(name, _family(make), lambda table: make().fit(table, labels(table)))


def _of_labels(make: Callable[[], Any]) -> Subject:
    name = type(make()).__name__
    return Subject(name, _family(make), lambda pair: make().fit(*pair), has_labels=True)


def _family(make: Callable[[], Any]) -> str:
    return "classes" if hasattr(make(), "predict") else "groups"


def of_responses(make: Callable[[], Any]) -> Subject:
    """Hand tables over as responses to one covariate."""
    name = type(make()).__name__
    return Subject(name, "responses", lambda table: make().fit(times(table), table))


def of_covariates(make: Callable[[], Any]) -> Subject:
    """Hand tables over as covariates of three responses."""
    name = f"{type(make()).__name__}_X"
    return Subject(name, "covariates", lambda table: make().fit(table, outcomes(count_rows(table))))


def _tree() -> GraphTree:
    return GraphTree("penalized", max_depth=1, min_samples_leaf=5, random_state=0)


def _kernel() -> KernelGraph:
    return KernelGraph(bandwidth=0.5, alpha=0.1, random_state=0)


WITH_LABELS: list[Callable[[], Any]] = [
    lambda: NetworkChange(alpha=0.3),
    lambda: FusedNetworkChange(alpha=0.2),
    lambda: SeparateNetworkChange(alpha=0.3),
    lambda: DTraceChange(alpha=0.3),
    lambda: BayesNetClassifier(n_edges=4),
]
SUBJECTS = [
    of_rows(lambda: GaussianGraph(alpha=0.1, covariance="correlation")),
    of_rows(lambda: NeighborhoodGraph(alpha=0.1)),
    of_rows(lambda: LocallyConstantGraph(alpha=0.1, tau=0.05)),
    of_rows(lambda: GaussianBayesNet(alpha=0.1)),
    of_rows(lambda: BlanketBayesNet()),
    of_rows(
        lambda: BootstrapGraph(
            GaussianGraph(alpha=0.1, covariance="correlation"), n_resamples=4, random_state=0
        )
    ),
    of_rows(
        lambda: StabilitySelection(NeighborhoodGraph(alpha=0.3), n_resamples=4, random_state=0)
    ),
    *(of_groups(make) for make in WITH_LABELS),
    of_responses(_tree),
    of_responses(_kernel),
    of_responses(lambda: ConditionalGraph(alpha=0.1)),
    of_covariates(_tree),
    of_covariates(_kernel),
    of_covariates(lambda: ConditionalGraph(alpha=0.1)),
    Subject("DiscreteMarkovNet", "levels", lambda table: DiscreteMarkovNet().fit(table)),
]
#: The same estimators with labels that are themselves on trial.
LABELLED = [
    *(_of_labels(make) for make in WITH_LABELS),
    _of_labels(
        lambda: BootstrapGraph(SeparateNetworkChange(alpha=0.3), n_resamples=3, random_state=0)
    ),
]
