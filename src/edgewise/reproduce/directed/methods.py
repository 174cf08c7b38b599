"""The competitors: each learns a directed acyclic graph from rows of a simulated network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data import linear_sem, load_dag, sample_linear_sem
from edgewise.estimators import BlanketBayesNet, GaussianBayesNet
from edgewise.graph.equivalence import longest_paths, pdag_errors
from edgewise.metrics import r2_sortability, varsortability
from edgewise.reproduce._study import Row
from edgewise.reproduce.directed.published import FALSE, PDAG, SHD, TOTAL
from edgewise.reproduce.directed.sort_and_regress import sort_and_regress
from edgewise.solvers import bcd_bayes_net

#: Rows of a simulated table, penalty of all sparse networks, level of all tests.
N_ROWS: Final = 1000
ALPHA: Final = 0.25
SIGNIFICANCE: Final = 0.01

LITERAL: Final = "OR-SGBN, literal"
HOMOTOPY: Final = "OR-SGBN, homotopy"
#: The same with a penalty for each table: by the BIC, and as the estimator does unless told.
LITERAL_BIC: Final = "OR-SGBN, literal, BIC"
DEFAULT: Final = "OR-SGBN, homotopy, extended BIC"
COLUMNWISE: Final = "H-SGBN"
GREEDY: Final = ", greedy"
SORT_R2: Final = "sort by R2, regress"
SORT_VARIANCE: Final = "sort by raw variance, regress"
RANDOM_ORDER: Final = "random order, regress"
TRUE_ORDER: Final = "true order, regress"
#: Blankets by the name that the paper or the literature gives them.
BLANKETS: Final = {
    "L1MB": "l1mb",
    "GS": "gs",
    "TC-bw": "tc-bw",
    "TC": "tc",
    "IAMB": "iamb",
    "IAMBnPC": "iamb-npc",
    "inter-IAMB": "inter-iamb",
    "fast-IAMB": "fast-iamb",
    "inter-IAMBnPC": "inter-iamb-npc",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulatedNetwork:
    """Rows of linear equations on a network, in a random order of the columns.

    Attributes
    ----------
    arcs : ndarray of bool, shape (m, m)
        The true arcs.
    raw, standardized : ndarray of shape (n, m)
        The rows as the equations give them, and with a mean of 0 and a variance of 1.
    """

    arcs: BoolArray
    raw: FloatArray
    standardized: FloatArray

    @property
    def correlations(self) -> FloatArray:
        """Correlations of the columns."""
        R = np.atleast_2d(np.corrcoef(self.raw, rowvar=False))
        np.fill_diagonal(R, 1.0)
        return np.asarray((R + R.T) / 2.0)

    @property
    def sortability(self) -> Row:
        """How far the columns give the order away, on either scale."""
        return {
            "varsortability": varsortability(self.raw, self.arcs),
            "r2_sortability": r2_sortability(self.standardized, self.arcs),
        }


#: From rows to a directed acyclic graph.
Method: TypeAlias = Callable[[SimulatedNetwork], BoolArray]


def simulate(network: str, rng: np.random.Generator, n_rows: int = N_ROWS) -> SimulatedNetwork:
    """Draw coefficients and rows as the paper does, and shuffle the columns."""
    model = linear_sem(load_dag(network).adjacency, permute=True, rng=rng)
    raw = sample_linear_sem(model, n_rows, rng)
    return SimulatedNetwork(
        arcs=model.adjacency, raw=raw, standardized=(raw - raw.mean(axis=0)) / raw.std(axis=0)
    )


def by_estimator(estimator: Any) -> Method:
    """Learn from standardised rows."""
    return lambda data: estimator.fit(data.standardized).graph_.adjacency


def by_columns(data: SimulatedNetwork) -> BoolArray:
    """Descend column by column in the order in which they come."""
    found: BoolArray = bcd_bayes_net(data.correlations, ALPHA).value != 0
    return found


def by_sorting(data: SimulatedNetwork, figures: Any, *, is_raw: bool = False) -> BoolArray:
    """Sort the columns by figures of their own, and regress each on those before."""
    S = np.cov(data.raw, rowvar=False) if is_raw else data.correlations
    found: BoolArray = sort_and_regress(S, len(data.raw), figures).value != 0
    return found


def list_methods() -> dict[str, Method]:
    """All methods by name, in the order of the tables."""
    blankets = {
        name + suffix: by_estimator(BlanketBayesNet(method, SIGNIFICANCE, search=search))
        for suffix, search in (("", "tests"), (GREEDY, "greedy"))
        for name, method in BLANKETS.items()
    }
    return {
        LITERAL: by_estimator(GaussianBayesNet(ALPHA, schedule="literal")),
        HOMOTOPY: by_estimator(GaussianBayesNet(ALPHA)),
        LITERAL_BIC: by_estimator(GaussianBayesNet("ebic", schedule="literal", gamma=0.0)),
        DEFAULT: by_estimator(GaussianBayesNet()),
        COLUMNWISE: by_columns,
        **blankets,
        SORT_R2: lambda data: by_sorting(data, "r2"),
        SORT_VARIANCE: lambda data: by_sorting(data, "variance", is_raw=True),
        # Columns come in a random order.
        RANDOM_ORDER: lambda data: by_sorting(data, np.arange(len(data.arcs))),
        TRUE_ORDER: lambda data: by_sorting(data, longest_paths(data.arcs)),
    }


def count_errors(arcs: BoolArray, found: BoolArray) -> Row:
    """Count as the paper does: a reversed arc is one false and one missing."""
    completed = pdag_errors(arcs, found)
    return {
        TOTAL: int(np.count_nonzero(found != arcs)),
        FALSE: int(np.count_nonzero(found & ~arcs)),
        PDAG: completed.total,
        SHD: completed.missing + completed.extra + completed.misoriented,
    }
