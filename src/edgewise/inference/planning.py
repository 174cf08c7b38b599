"""How many rows a question needs: power by simulation from a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from sklearn.isotonic import IsotonicRegression

from edgewise._core.parallel import as_generator, parallel_map
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.simulate.directed import LinearSEM, make_dag, make_linear_sem
from edgewise.data.simulate.gaussian import GaussianModel, make_gaussian_graph
from edgewise.estimators.directed.directed_graph import DirectedGraph
from edgewise.estimators.gaussian.graphical_lasso import GaussianGraph
from edgewise.graph.equivalence import adjacency_metrics, arrowhead_metrics
from edgewise.inference.comparison import compare_networks
from edgewise.inference.edges import edge_intervals

if TYPE_CHECKING:
    import pandas as pd

Question: TypeAlias = Literal["learn", "compare", "direct"]
#: Level of tests, and of the false discovery rate.
LEVEL: Final = 0.05
#: Permutations of a test of two groups: fewer than for a table of one's own.
PERMUTATIONS: Final = 199


class Truth(NamedTuple):
    """What tables are drawn from; with no model, a new one of this size for each table.

    Attributes
    ----------
    question : {"learn", "compare", "direct"}
    n_features : int
    degree : float
        Mean number of edges of a column.
    size : float
        Partial correlation of each edge; of ``"compare"`` the change of each changed edge, of
        ``"direct"`` the coefficient of each arc between standardised columns, roughly.
    n_changed : int
        Edges that differ between the two groups.
    models : tuple
        One model learned from a pilot table, or two of ``"compare"``.
    """

    question: Question
    n_features: int
    degree: float = 2.0
    size: float = 0.2
    n_changed: int = 3
    models: tuple[Any, ...] = ()

    def draw(self, rng: np.random.Generator) -> tuple[Any, ...]:
        """Return the model of one table, or the two of two groups."""
        if self.models:
            return self.models
        if self.question == "direct":
            dag = make_dag(self.n_features, degree=self.degree, rng=rng)
            return (make_linear_sem(dag, low=self.size, high=self.size, rng=rng),)
        graph: dict[str, Any] = {"degree": self.degree, "rng": rng}
        if self.question == "learn":
            return (make_gaussian_graph(self.n_features, signal=(self.size,) * 2, **graph),)
        base = make_gaussian_graph(self.n_features, signal=(self.size / 2, 0.3), **graph)
        return base, changed(base, self.n_changed, self.size, rng)


def changed(
    base: GaussianModel, n_changed: int, size: float, rng: np.random.Generator
) -> GaussianModel:
    """Move some partial correlations of a model by ``size``, towards and past 0."""
    partial = base.partial_correlation
    upper = np.argwhere(np.triu(np.ones_like(partial), 1))
    for _ in range(100):
        moved = partial.copy()
        for i, j in rng.permutation(upper)[:n_changed]:
            moved[i, j] -= size if moved[i, j] > 0 else -size
            moved[j, i] = moved[i, j]
        Theta = 2.0 * np.eye(len(moved)) - moved
        if np.linalg.eigvalsh(Theta)[0] > 0.05:
            break
    else:
        # So large a change in so dense a network: nearer, but still a model.
        Theta = (Theta + np.eye(len(Theta))) / 2.0
    return GaussianModel.from_precision(Theta)


class Trial(NamedTuple):
    """What one simulated table of a number of rows gives.

    ``found`` is the share of true edges, changes or arrows that are reported, ``false`` the share
    of what is reported that is not true, ``is_sure`` whether a test of the whole is significant,
    and ``width`` the mean width of intervals of edges; NaN where a question has none.
    """

    found: float
    false: float
    is_sure: float
    width: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """Power of a question by number of rows.

    Attributes
    ----------
    question : {"learn", "compare", "direct"}
    rows : ndarray of int, shape (k,)
        Rows of a table; of ``"compare"`` in both groups together.
    found, false, power, width : ndarray of shape (k,)
        Means over tables, as in `Trial`.
    errors : ndarray of shape (k,)
        Standard errors of ``found``, or of ``power`` for ``"compare"``.
    n_tables : int
        Tables of each size.
    """

    question: Question
    rows: IntArray
    found: FloatArray
    false: FloatArray
    power: FloatArray
    width: FloatArray
    errors: FloatArray
    n_tables: int

    @property
    def reached(self) -> FloatArray:
        """What has to be large enough: ``found``, or ``power`` of ``"compare"``."""
        return self.power if self.question == "compare" else self.found

    def needed(self, share: float = 0.8) -> int | None:
        """Return the rows at which ``reached`` is ``share``; None if more than were tried.

        More rows find no less: the curve is monotone, and straight over the logarithm of the rows
        between the sizes that were tried.
        """
        logs = np.log(self.rows)
        rising = IsotonicRegression().fit_transform(logs, self.reached)
        if not rising[-1] >= share:
            return None
        k = int(np.argmax(rising >= share))
        at = logs[k]
        if k:
            at -= (rising[k] - share) / (rising[k] - rising[k - 1]) * (logs[k] - logs[k - 1])
        # Two digits, rounded up.
        rows = float(np.exp(at))
        step = 10.0 ** max(np.floor(np.log10(rows)) - 1, 0)
        return int(np.ceil(np.round(rows / step, 6)) * step)

    def table(self) -> pd.DataFrame:
        """List what each number of rows gives.

        Returns
        -------
        DataFrame
            ``rows``, ``found``, ``false_discoveries``, ``power`` of the test that two networks
            differ, ``interval_width``, and ``standard_error``; columns that the question has.
        """
        import pandas as pd

        listed = pd.DataFrame(
            {
                "rows": self.rows,
                "found": self.found,
                "false_discoveries": self.false,
                "power": self.power,
                "interval_width": self.width,
                "standard_error": self.errors,
            }
        )
        return listed.dropna(axis=1, how="all")


def plan_rows(
    truth: Truth,
    rows: Any,
    *,
    n_tables: int = 20,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Plan:
    """Draw tables of several sizes from a model, learn from each, and compare with the model.

    Parameters
    ----------
    truth : Truth
    rows : sequence of int
        Numbers of rows.
    n_tables : int
        Tables of each.
    random_state : int, Generator, RandomState or None
    n_jobs : int, optional
        Tables at a time. The result does not depend on it.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    Plan
    """
    sizes = np.unique(np.asarray(rows, dtype=np.int64))
    streams = as_generator(random_state).spawn(n_tables * len(sizes))
    tasks = [
        (truth, int(n), rng) for n, rng in zip(np.repeat(sizes, n_tables), streams, strict=True)
    ]
    # The largest tables first, so that workers end together.
    drawn = parallel_map(
        _trial, tasks[::-1], n_jobs=n_jobs, description="Tables", verbose=verbose, is_even=False
    )[::-1]
    trials = np.array(drawn, dtype=np.float64).reshape(len(sizes), n_tables, -1)
    with np.errstate(invalid="ignore"):
        found, false, power, width = (_mean(trials[:, :, k]) for k in range(4))
        which = 2 if truth.question == "compare" else 0
        spread = np.nanstd(trials[:, :, which], axis=1)
    return Plan(
        question=truth.question,
        rows=sizes,
        found=found,
        false=false,
        power=power,
        width=width,
        errors=spread / np.sqrt(n_tables),
        n_tables=n_tables,
    )


def _mean(values: FloatArray) -> FloatArray:
    """Mean of each row, NaN where all are."""
    known = ~np.isnan(values)
    counts = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def _trial(truth: Truth, n: int, rng: np.random.Generator) -> Trial:
    models = truth.draw(rng)
    if truth.question == "compare":
        return _compare(models, n, rng)
    rows = models[0].sample(n, rng)
    return _learn(models[0], rows) if truth.question == "learn" else _direct(models[0], rows)


def _learn(model: GaussianModel, rows: FloatArray) -> Trial:
    graph = GaussianGraph().fit(rows).graph_
    intervals = edge_intervals(rows)
    upper = np.triu(model.adjacency, 1)
    width = np.mean((intervals.upper - intervals.lower)[upper]) if upper.any() else np.nan
    return Trial(*_shares(upper, np.triu(graph.adjacency, 1)), np.nan, float(width))


def _compare(models: tuple[GaussianModel, ...], n: int, rng: np.random.Generator) -> Trial:
    first, second = (one.sample(max(n // 2, 2), rng) for one in models)
    seed = int(rng.integers(2**31))
    test = compare_networks(
        np.vstack([first, second]),
        np.repeat([0, 1], [len(first), len(second)]),
        n_permutations=PERMUTATIONS,
        risk=0.01,
        random_state=seed,
    )
    before, after = (one.partial_correlation for one in models)
    is_changed = np.triu(np.abs(after - before) > 1e-10, 1)
    found = np.triu(test.significant(LEVEL, by="familywise").adjacency, 1)
    return Trial(*_shares(is_changed, found), float(test.pvalue <= LEVEL), np.nan)


def _direct(model: LinearSEM, rows: FloatArray) -> Trial:
    learned = DirectedGraph().fit(rows)
    arrows = arrowhead_metrics(model.adjacency, learned.cpdag_.adjacency)
    edges = adjacency_metrics(model.adjacency, learned.cpdag_.adjacency)
    n_true = arrows.tp + arrows.fn
    found = arrows.recall if n_true else edges.recall
    return Trial(found, 1.0 - arrows.precision, np.nan, np.nan)


def _shares(true: BoolArray, found: BoolArray) -> tuple[float, float]:
    """Share of the true pairs that are found, and of the found ones that are not true."""
    both = np.count_nonzero(true & found)
    n_true, n_found = np.count_nonzero(true), np.count_nonzero(found)
    share = both / n_true if n_true else float("nan")
    return share, 1.0 - both / n_found if n_found else 0.0


def pilot_truth(question: Question, X: Any, y: Any = None) -> Truth:
    """Take what is learned from a pilot table for the truth.

    Parameters
    ----------
    question : {"learn", "compare", "direct"}
    X : array-like or data frame of shape (n, p)
    y : sequence of n labels, optional
        The two groups of ``"compare"``.
    """
    rows = np.asarray(X, dtype=np.float64)
    if question == "direct":
        learned = DirectedGraph().fit(rows)
        sem = LinearSEM(
            coef=learned.coef_,
            noise_variance=learned.noise_variance_,
            columns=np.arange(rows.shape[1]),
        )
        return Truth(question, rows.shape[1], models=(sem,))
    groups = [rows] if question == "learn" else [rows[y == label] for label in np.unique(y)]
    fits = [GaussianGraph().fit(one) for one in groups]
    models = tuple(GaussianModel.from_precision(_sparse(fit)) for fit in fits)
    return Truth(question, rows.shape[1], models=models)


def _sparse(fit: GaussianGraph) -> FloatArray:
    """Precision with exact zeros off the graph."""
    keep = fit.graph_.adjacency | np.eye(len(fit.precision_), dtype=bool)
    return np.where(keep, fit.precision_, 0.0)
