"""The networks of young and old brains: where arcs are lost and gained, and what learning moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.estimators import BayesNetClassifier
from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.classify.lobes import lobe_of
from edgewise.reproduce.classify.splits import BIASES, LEARNINGS, OR, SLACK, H
from edgewise.reproduce.classify.tables import (
    LabelledTable,
    Loader,
    choose_columns,
)
from edgewise.solvers import bcd_bayes_net, order_bayes_net

#: Of the part.
NAME: Final = "connectivity"
ALPHA: Final = 0.15
#: Coefficients below are not counted as arcs.
CUTOFF: Final = 0.01
#: Arcs that move in the example of learning.
N_MOVED: Final = 30
SHUFFLES_PER_TASK: Final = 20
ALL: Final = "all"
#: Kinds of rows.
REGION: Final = "region"
ARC: Final = "arc"
ORDER: Final = "order"
CHANGE: Final = "change"
SHUFFLE: Final = "shuffle"
SOLVERS: Final[dict[str, Callable[..., Any]]] = {OR: order_bayes_net, H: bcd_bayes_net}
ALGORITHMS: Final = {OR: "order", H: "bcd"}


def list_tasks(quick: bool, **columns: Any) -> list[Row]:
    """List the networks of the groups themselves, and bundles of shuffles."""
    n_tasks = 2 if quick else 25
    observed = {"n_shuffles": 0, "n_orders": 10 if quick else 100, "bundle": 0}
    shuffled = {"n_shuffles": SHUFFLES_PER_TASK, "n_orders": 0}
    bundles = [shuffled | {"bundle": bundle} for bundle in range(1, n_tasks + 1)]
    return [{**columns, **task} for task in (observed, *bundles)]


def run_task(
    rng: np.random.Generator,
    *,
    load: Loader,
    n_shuffles: int,
    n_orders: int,
    bundle: int,
    **columns: Any,
) -> list[Row]:
    """Learn the networks of both groups, or of groups into which people are shuffled."""
    table = load()
    chosen = choose_columns(table, np.arange(len(table.labels)))
    names = [table.names[column] for column in chosen]
    rows = table.values[:, chosen]
    lobes = [lobe_of(name) for name in names]
    centred = centre(rows, table.labels)
    if not n_shuffles:
        regions = [
            {"kind": REGION, "source": name, "lobe": lobe}
            for name, lobe in zip(names, lobes, strict=True)
        ]
        return [
            *regions,
            *_arcs(table, centred, names),
            *_orders(centred, table, n_orders, rng),
            *_changes(table, rows, names),
        ]
    return [
        {"kind": SHUFFLE, "shuffle": shuffle, "block": block, "difference": difference}
        for shuffle in range(n_shuffles)
        for block, difference in differences(
            learn(centred, rng.permutation(table.labels), OR), lobes
        ).items()
    ]


def centre(rows: FloatArray, labels: IntArray) -> FloatArray:
    """Take the mean of its class off every row: the networks of the classes are compared."""
    centred = rows.copy()
    for c in (0, 1):
        centred[labels == c] -= rows[labels == c].mean(axis=0)
    return centred


def learn(rows: FloatArray, labels: IntArray, method: str) -> BoolArray:
    """Arcs of both classes, of shape (2, m, m)."""
    return np.abs(_coefficients(rows, labels, method)) > CUTOFF


def _coefficients(rows: FloatArray, labels: IntArray, method: str) -> FloatArray:
    model = BayesNetClassifier("generative", alpha=ALPHA, method=ALGORITHMS[method])
    return model.fit(rows, labels).standard_coef_[:, :-1]


def block_name(lobes: Sequence[str]) -> str:
    """Name what lies within a lobe, or between two of them.

    Examples
    --------
    >>> block_name(["temporal", "frontal"]), block_name(["frontal", "frontal"])
    ('frontal - temporal', 'frontal')
    """
    return " - ".join(sorted(set(lobes)))


def differences(arcs: BoolArray, lobes: Sequence[str]) -> dict[str, int]:
    """Arcs of the first class less those of the second, in all and by lobes.

    Parameters
    ----------
    arcs : ndarray of bool of shape (2, m, m)
    lobes : sequence of str
        Of the m regions.

    Returns
    -------
    dict
        By `block_name`, and `ALL`.
    """
    found = {ALL: int(arcs[0].sum()) - int(arcs[1].sum())}
    difference = arcs[0].astype(int) - arcs[1]
    kinds, number = np.unique(lobes, return_inverse=True)
    member = np.eye(len(kinds), dtype=int)[number]
    between = member.T @ difference @ member
    for i, first in enumerate(kinds.tolist()):
        for j, second in enumerate(kinds.tolist()[: i + 1]):
            both = between[i, j] + (between[j, i] if i != j else 0)
            found[block_name([first, second])] = int(both)
    return found


def _arcs(table: LabelledTable, centred: FloatArray, names: list[str]) -> list[Row]:
    return [
        {
            "kind": ARC,
            "method": method,
            "group": table.classes[c],
            "source": names[i],
            "target": names[j],
            "after": float(coefs[c, i, j]),
        }
        for method in ALGORITHMS
        for coefs in (_coefficients(centred, table.labels, method),)
        for c, i, j in np.argwhere(np.abs(coefs) > CUTOFF).tolist()
    ]


def _orders(
    centred: FloatArray, table: LabelledTable, n_orders: int, rng: np.random.Generator
) -> list[Row]:
    """Share of the arcs that lead from a column to a later one, in random orders of columns."""
    standard = centred / centred.std(axis=0)
    rows: list[Row] = []
    for _ in range(n_orders):
        order = rng.permutation(standard.shape[1])
        S = np.cov(standard[np.ix_(table.labels == 0, order)], rowvar=False, bias=True)
        for method, solve in SOLVERS.items():
            arcs = np.abs(solve(S, ALPHA).value) > CUTOFF
            share = float(np.triu(arcs).sum() / max(int(arcs.sum()), 1))
            rows.append({"kind": ORDER, "method": method, "upper": share})
    return rows


def _changes(table: LabelledTable, rows: FloatArray, names: list[str]) -> list[Row]:
    """List what learning moves, on all rows with their means."""
    people = pd.DataFrame(rows, columns=names)
    groups = np.array(table.classes)[table.labels]
    found: list[Row] = []
    for bias in BIASES:
        for method, learning in LEARNINGS.items():
            model = BayesNetClassifier(
                learning, alpha=ALPHA, bias=bias, n_edges=N_MOVED, slack=SLACK
            ).fit(people, groups)
            changes = model.explain().drop(columns="change").rename(columns={"class": "group"})
            about = {"kind": CHANGE, "bias": bias, "method": method}
            listed: Any = changes.to_dict("records")
            found += [{**about, **row} for row in listed]
    return found


def part_of(load: Loader, **columns: Any) -> Part:
    """Make the part of a table."""
    return Part(
        name=NAME,
        tasks=partial(list_tasks, **columns),
        run=partial(run_task, load=load),
    )
