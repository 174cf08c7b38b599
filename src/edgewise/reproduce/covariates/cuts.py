"""Where a tree of networks cuts: halves, or anywhere, on truths of both kinds."""

from __future__ import annotations

import math
import time
from typing import Any, Final

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray
from edgewise.estimators import GraphTree
from edgewise.reproduce.study import Part, Report, Row, combinations
from edgewise.reproduce.tables import fill, markdown_table, mean_and_error

#: What changes with the first covariate, and where; a shift of means is no change of the network.
NOTHING: Final = "nothing"
MEANS: Final = "means only"
HALF: Final = "network at the middle"
ELSEWHERE: Final = "network elsewhere"
TRUTHS: Final = (NOTHING, MEANS, HALF, ELSEWHERE)
SAMPLES: Final = (150, 400, 1000)
N_NEW: Final = 1000
N_COVARIATES: Final = 3
N_RESPONSES: Final = 6
PEER: Final = "scikit-learn's tree on moments"
RULES: Final[dict[str, dict[str, Any]]] = {
    "`GraphTree()`": {},
    '`search="halving"`': {"search": "halving"},
    "one network": {"max_depth": 0},
}


def list_tasks(quick: bool) -> list[Row]:
    """List truths, numbers of rows and draws."""
    samples = SAMPLES[:2] if quick else SAMPLES
    return combinations(truth=TRUTHS, n_samples=samples, draw=range(5 if quick else 20))


def run_task(rng: np.random.Generator, *, truth: str, n_samples: int, draw: int) -> list[Row]:
    """Grow a tree by each rule, and judge it by new rows."""
    cut = {HALF: 0.5, ELSEWHERE: float(rng.choice([0.2, 0.3, 0.7, 0.8]))}.get(truth, math.nan)
    X, Y = draw_rows(truth, 0.5 if math.isnan(cut) else cut, n_samples + N_NEW, rng)
    new = X[n_samples:], Y[n_samples:]
    X, Y = X[:n_samples], Y[:n_samples]
    rows = []
    for rule, options in RULES.items():
        began = time.process_time()
        tree = GraphTree(bounds=(0, 1), random_state=draw, **options).fit(X, Y)
        seconds = time.process_time() - began
        first = tree.nodes_[0].split
        at = math.nan
        if first is not None and first.column == 0 and first.cut is not None:
            at = first.cut
        found = {
            "is_split": first is not None,
            "error": abs(at - cut),
            "score": tree.score(*new),
            "seconds": seconds,
        }
        rows.append({"rule": rule, **found})
    began = time.process_time()
    found = peer(X, Y, *new, cut)
    rows.append({"rule": PEER, **found, "seconds": time.process_time() - began})
    return rows


def draw_rows(
    truth: str, cut: float, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw rows; beyond the cut, two links of a chain change their sign, or means shift."""
    X = rng.uniform(size=(n, N_COVARIATES))
    Y = rng.normal(size=(n, N_RESPONSES))
    is_beyond = X[:, 0] > cut
    sign = np.where(is_beyond & (truth in (HALF, ELSEWHERE)), -1.0, 1.0)
    for k in (1, 2):
        Y[:, k] += 0.6 * sign * Y[:, k - 1]
    if truth == MEANS:
        Y += np.outer(is_beyond, np.linspace(-1.0, 1.0, N_RESPONSES))
    return X, Y


def peer(X: FloatArray, Y: FloatArray, X_new: FloatArray, Y_new: FloatArray, cut: float) -> Row:
    """Grow a regression tree of all products, with the leaves that validation rows like best.

    Each leaf has the mean and the covariance of its rows, which all rows have a say in.
    """
    from sklearn.tree import DecisionTreeRegressor

    half = len(Y) // 2
    Z = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    above = np.triu_indices(Y.shape[1])
    moments = np.hstack([Z, Z[:, above[0]] * Z[:, above[1]]])
    best: tuple[float, Any] = (-math.inf, None)
    for n_leaves in range(2, 9):
        tree = DecisionTreeRegressor(max_leaf_nodes=n_leaves, min_samples_leaf=10, random_state=0)
        tree.fit(X[:half], moments[:half])
        score = leaf_score(tree.apply, (X[:half], Y[:half]), (X[half:], Y[half:]))
        if score > best[0]:
            best = score, tree
    alone = leaf_score(lambda rows: np.zeros(len(rows)), (X[:half], Y[:half]), (X[half:], Y[half:]))
    is_split = best[0] > alone
    apply = best[1].apply if is_split else lambda rows: np.zeros(len(rows))
    root = best[1].tree_
    is_right = is_split and root.feature[0] == 0
    return {
        "is_split": is_split,
        "error": abs(float(root.threshold[0]) - cut) if is_right else math.nan,
        "score": leaf_score(apply, (X, Y), (X_new, Y_new)),
    }


def leaf_score(apply: Any, fitted: tuple[FloatArray, ...], new: tuple[FloatArray, ...]) -> float:
    """Mean log-likelihood of new rows under the Gaussian of the rows in their leaf."""
    (X, Y), (X_new, Y_new) = fitted, new
    leaf, new_leaf = apply(X), apply(X_new)
    p = Y.shape[1]
    whole = np.cov(Y.T, bias=True)
    total = 0.0
    for number in np.unique(new_leaf):
        rows, others = Y[leaf == number], Y_new[new_leaf == number]
        scatter = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
        S = (scatter + p * whole) / (len(rows) + p)
        deviation = others - rows.mean(axis=0)
        distance = np.einsum("ij,jk,ik->", deviation, np.linalg.inv(S), deviation)
        logdet = np.linalg.slogdet(S)[1] + p * math.log(2.0 * math.pi)
        total -= 0.5 * float(len(others) * logdet + distance)
    return total / len(Y_new)


def report(frame: pd.DataFrame) -> Report:
    """Set out how often each rule splits, how far the first cut is off, and the likelihood."""
    rows = []
    for (truth, n, rule), part in frame.groupby(["truth", "n_samples", "rule"], sort=False):
        error = part["error"].astype(float).median()
        rows.append(
            [
                str(truth),
                str(n),
                str(rule),
                f"{part['is_split'].astype(bool).mean():.0%}",
                "" if math.isnan(error) else f"{error:.3f}",
                mean_and_error(part["score"]),
                f"{part['seconds'].median():.2f}",
            ]
        )
    header = ["what changes", "rows", "rule", "splits", "cut off by", "log-likelihood", "CPU s"]
    table = markdown_table(header, rows)
    return Report(fill(__package__, "cuts", n=frame["task"].nunique(), table=table))


PART = Part(name="cuts", tasks=list_tasks, run=run_task, report=report)
