"""The competitors: each learns a directed acyclic graph from rows of a simulated network."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data import load_dag, make_linear_sem
from edgewise.estimators import BlanketBayesNet, GaussianBayesNet
from edgewise.graph.equivalence import extend_pattern, longest_paths, pdag_errors
from edgewise.metrics import r2_sortability, varsortability
from edgewise.selection import EBIC
from edgewise.solvers.directed.order import bcd_bayes_net
from studies.directed.sort_and_regress import sort_and_regress
from studies.study import Row, load_rows

#: The networks in the order of the tables.
NETWORKS: Final = (
    "factors", "alarm", "barley", "carpo", "chain", "hailfinder", "insurance", "mildew", "water",
)  # fmt: skip
#: What is counted: entries in which the adjacency differs from the true one, those of them that
#: are arcs of the estimate, and entries in which the completed graphs differ.
TOTAL: Final = "total"
FALSE: Final = "false"
PDAG: Final = "pdag"
MEASURES: Final = (TOTAL, FALSE, PDAG)
#: Pairs of nodes in which the completed graphs differ, which is not in the paper.
SHD: Final = "shd"
#: Columns of the tables.
COLUMNS: Final = ("L1MB", "GS", "TC-bw", "TC", "IAMB", "IAMB1", "IAMB2", "IAMB3", "OR-SGBN")

#: The end of the row of Mildew in the table of total errors repeats that of Hailfinder.
_MISPRINTS: Final = {(TOTAL, "mildew", column) for column in COLUMNS[-4:]}

#: Distance and correlation between the coefficients and their mean over 100 orders of the columns.
INVARIANCE: Final = {
    "OR-SGBN": ((0.08, 0.9996), (0.18, 0.9981)),
    "H-SGBN": ((1.91, 0.6828), (2.06, 0.6396)),
}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number of the paper, and whether it cannot be right."""

    value: float
    is_misprint: bool

    def __str__(self) -> str:
        """Write one decimal, with a dagger for a misprint."""
        return f"{self.value:.1f}" + "†" * self.is_misprint


def published(measure: str, network: str, column: str) -> Figure:
    """Look up a figure of the paper's tables 4 to 6, which are means of 50 simulations.

    Examples
    --------
    >>> published("total", "alarm", "OR-SGBN").value
    44.4
    >>> str(published("total", "mildew", "OR-SGBN")), str(published("false", "mildew", "OR-SGBN"))
    ('57.0†', '33.9')
    """
    value = _printed()[measure, network][column]
    return Figure(value=float(value), is_misprint=(measure, network, column) in _MISPRINTS)


@cache
def _printed() -> dict[tuple[str, str], dict[Any, Any]]:
    """Read the rows of the tables, by measure and network."""
    rows = load_rows(__package__, "published.csv").to_dict("records")
    return {(row["measure"], row["network"]): row for row in rows}


#: Rows of a simulated table, penalty of all sparse networks, level of all tests.
N_ROWS: Final = 1000
ALPHA: Final = 0.25
SIGNIFICANCE: Final = 0.01

LITERAL: Final = "OR-SGBN, literal"
#: Algorithm 3 starts from least squares, the experiments from the first stage of L1MB.
FROM_L1MB: Final = "OR-SGBN, literal, from L1MB"
FROM_LEAST_SQUARES: Final = "OR-SGBN, literal, from least squares"
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
    model = make_linear_sem(load_dag(network).adjacency, permute=True, rng=rng)
    raw = model.sample(n_rows, rng)
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
        FROM_L1MB: by_estimator(GaussianBayesNet(ALPHA, schedule="literal", init="l1mb")),
        FROM_LEAST_SQUARES: by_estimator(
            GaussianBayesNet(ALPHA, schedule="literal", init="least-squares")
        ),
        HOMOTOPY: by_estimator(GaussianBayesNet(ALPHA)),
        LITERAL_BIC: by_estimator(GaussianBayesNet(EBIC(gamma=0.0), schedule="literal")),
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
        PDAG: completed.entries,
        SHD: completed.total,
    }


def learn_pc(rows: FloatArray) -> BoolArray:
    """PC of causal-learn, with the same test at the same level as ours."""
    pc = importlib.import_module("causallearn.search.ConstraintBased.PC").pc
    found = pc(rows, SIGNIFICANCE, "fisherz", show_progress=False)
    marks: Any = found.G.graph
    # -1 is a tail and 1 a head; heads at both ends are a contradiction, taken for a line.
    return extend_pattern((marks == -1) | ((marks == 1) & (marks.T == 1))).dag


def learn_ges(rows: FloatArray) -> BoolArray:
    """Greedy equivalence search of ges, by the BIC."""
    pattern, _ = importlib.import_module("ges").fit_bic(rows)
    return extend_pattern(np.asarray(pattern) != 0).dag


def learn_dagma(rows: FloatArray) -> BoolArray:
    """DAGMA with a squared loss and its defaults."""
    model = importlib.import_module("dagma.linear").DagmaLinear(loss_type="l2")
    # It centres the rows in place, and draws a progress bar.
    with contextlib.redirect_stderr(io.StringIO()):
        found: BoolArray = model.fit(rows.copy()) != 0
    return found


GES: Final = "GES (ges)"
#: Name of the method, the package that has it, and the function.
_PEERS: Final[dict[str, tuple[str, Callable[[FloatArray], BoolArray]]]] = {
    "PC (causal-learn)": ("causallearn", learn_pc),
    "DAGMA": ("dagma", learn_dagma),
    GES: ("ges", learn_ges),
}


def installed_peers() -> list[str]:
    """Names of the methods whose package is here."""
    return [name for name, (package, _) in _PEERS.items() if importlib.util.find_spec(package)]


def peer(name: str) -> Callable[[FloatArray], BoolArray]:
    """Look a method up."""
    return _PEERS[name][1]
