"""Scores that choose a discrete network, on known networks of pairs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Final

import numpy as np
import pandas as pd

from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.data import make_graph
from edgewise.data.markov import MarkovModel
from edgewise.metrics import edge_metrics
from studies.study import Part, Report, Row, combinations
from studies.tables import fill, matthews, rules_table, wide_table

#: Levels of the columns, and how many columns there are.
SIZES: Final = {2: (8, 14, 20), 3: (8, 12)}
SAMPLES: Final = (200, 500, 1500)
#: Edges per column, on average half of it for each.
DEGREE: Final = 2.5
#: Smallest and largest coupling of two columns with two levels.
COUPLING: Final = (0.25, 0.75)
LASSO: Final = "nodewise logistic lasso, EBIC, AND"
#: Options of `DiscreteMarkovNet` by the name in tables.
RULES: Final[dict[str, dict[str, object]]] = {
    "`DiscreteMarkovNet()`": {},
    "`bjp`, as published": {"criterion": "bjp", "prior": 0.5, "ties": "index"},
    "`bjp`, `prior=0.5`": {"criterion": "bjp", "prior": 0.5},
    "`ib`": {"criterion": "ib"},
    "`ib`, as published": {"criterion": "ib", "prior": 0.5},
    "`ib`, BDeu counts": {"criterion": "ib", "pseudocount": "bdeu"},
    "`bjp`, BDeu counts": {"criterion": "bjp", "pseudocount": "bdeu"},
    "`mpl`": {"criterion": "mpl"},
    "`mpl`, `ess=4`": {"criterion": "mpl", "ess": 4.0},
    "`mpl`, `ess=16`": {"criterion": "mpl", "ess": 16.0},
}
MIXED: Final = "`MixedGraph()`"


def list_tasks(quick: bool) -> list[Row]:
    """List numbers of levels, columns and rows, and draws."""
    return [
        {"n_levels": n_levels, **task}
        for n_levels, sizes in SIZES.items()
        for task in combinations(
            n_features=sizes[:2] if quick else sizes,
            n_samples=SAMPLES,
            draw=range(2 if quick else 6),
        )
    ]


def run_task(
    rng: np.random.Generator, *, n_levels: int, n_features: int, n_samples: int, draw: int
) -> list[Row]:
    """Learn the graph of one table by every rule."""
    truth = draw_model(n_features, n_levels, rng)
    X = truth.sample(n_samples, rng=rng)
    rows = []
    for rule, learn in learners(n_levels).items():
        began = time.perf_counter()
        adjacency = learn(X)
        seconds = time.perf_counter() - began
        found = edge_metrics(truth.adjacency, adjacency)
        rows.append(
            {
                "rule": rule,
                "mcc": matthews(truth.adjacency, adjacency),
                "f1": found.f1,
                "precision": found.precision,
                "recall": found.recall,
                "seconds": seconds,
            }
        )
    return rows


def draw_model(p: int, n_levels: int, rng: np.random.Generator) -> MarkovModel:
    """Draw a random graph with a coupling for each edge, and how likely each level is by itself.

    Two levels make an Ising model. With more, each edge favours one level of the one column beside
    each level of the other, as a Potts model does.
    """
    joined = make_graph(p, "erdos-renyi", degree=DEGREE, rng=rng)
    cliques: list[tuple[int, ...]] = [(k,) for k in range(p)]
    tables: list[FloatArray] = [rng.uniform(-0.3, 0.3, n_levels) for _ in range(p)]
    for i, j in np.argwhere(np.triu(joined)).tolist():
        favoured = np.eye(n_levels)[rng.permutation(n_levels)]
        cliques.append((i, j))
        # Of two levels, both diagonals share the coupling: 2 here is 1 in units of spins.
        tables.append(2.0 * rng.uniform(*COUPLING) * favoured)
    return MarkovModel.from_potentials(cliques, tables)


def learners(n_levels: int) -> dict[str, Callable[[AnyArray], BoolArray]]:
    """List the rules by name; the lasso is for two levels."""
    from edgewise.estimators import DiscreteMarkovNet, MixedGraph

    kind = "binary" if n_levels == 2 else "nominal"

    def learner(options: dict[str, object]) -> Callable[[AnyArray], BoolArray]:
        def learn(X: AnyArray) -> BoolArray:
            model = DiscreteMarkovNet(**options, cardinalities=n_levels)  # type: ignore[arg-type]
            return model.fit(X).graph_.adjacency

        return learn

    ours = {rule: learner(options) for rule, options in RULES.items()}
    ours[MIXED] = lambda X: MixedGraph(kinds=[kind] * X.shape[1]).fit(X).graph_.adjacency
    return ours | ({LASSO: nodewise_lasso} if n_levels == 2 else {})


def nodewise_lasso(X: AnyArray, gamma: float = 0.25, n_alphas: int = 20) -> BoolArray:
    """Regress each column on the others; keep what both regressions find, as IsingFit does.

    The strength of each regression is that of the smallest extended BIC.
    """
    p = X.shape[1]
    found = np.zeros((p, p), dtype=bool)
    for k in range(p):
        others = np.delete(np.arange(p), k)
        found[k, others] = _selected(X[:, others] - 0.5, X[:, k], gamma, n_alphas)
    return found & found.T


def _selected(Z: FloatArray, y: IntArray, gamma: float, n_alphas: int) -> BoolArray:
    from sklearn.linear_model import LogisticRegression

    n, p = Z.shape
    if y.min() == y.max():
        return np.zeros(p, dtype=bool)
    largest = np.abs(Z.T @ (y - y.mean())).max()
    best, chosen = np.inf, np.zeros(p, dtype=bool)
    for alpha in largest * np.geomspace(1.0, 0.01, n_alphas):
        model = LogisticRegression(l1_ratio=1.0, C=1.0 / alpha, solver="liblinear")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(Z, y)
        is_used = model.coef_[0] != 0.0
        fitted = Z @ model.coef_[0] + model.intercept_[0]
        deviance = 2.0 * float(np.sum(np.logaddexp(0.0, fitted) - y * fitted))
        price = np.log(n) + 2.0 * gamma * np.log(p)
        if deviance + price * is_used.sum() < best:
            best, chosen = deviance + price * is_used.sum(), is_used
    return chosen


def report(frame: pd.DataFrame) -> Report:
    """Rank the rules, for all tables and by numbers of levels and rows."""
    columns = {"F1": "f1", "precision": "precision", "recall": "recall"}
    ranking = rules_table(
        frame[frame["rule"] != LASSO],
        {head: f"{{mean[{name}]:.3f}}" for head, name in columns.items()},
    )
    by_rows = frame.pivot_table(
        index="rule", columns=["n_levels", "n_samples"], values="f1", sort=False
    )
    sizes = [f"{size[0]} levels, {size[1]} rows" for size in by_rows.columns.to_list()]
    text = fill(
        __package__,
        "ising",
        n=frame["task"].nunique(),
        table=ranking,
        sizes=wide_table(by_rows, sizes),
    )
    return Report(text)


PART = Part(name="ising", tasks=list_tasks, run=run_task, report=report)
