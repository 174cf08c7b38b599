"""One network on the scale of the equations and standardised, with methods of other packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.estimators import BlanketBayesNet, GaussianBayesNet
from studies.directed import methods
from studies.directed.sort_and_regress import sort_and_regress
from studies.figures import COLORS, name_rows, panels, points
from studies.study import Part, Report, Row, combinations
from studies.tables import fill, grouped, mean_and_error, means_table, rows_of

NETWORK: Final = "alarm"
STANDARDIZED: Final = "standardised"
RAW: Final = "raw"
SCALES: Final = (STANDARDIZED, RAW)
#: Takes half a minute, and its score is the same on either scale.
ONE_SCALE: Final = (methods.GES,)

OR_LASSO: Final = "OR-SGBN"
OR_LEAST_SQUARES: Final = "OR-SGBN from least squares"
IAMB: Final = "IAMB"
TC: Final = "TC"
SORT_VARIANCE: Final = "sort by variance, regress"
SORT_R2: Final = "sort by R2, regress"


def list_tasks(quick: bool) -> list[Row]:
    """List the simulations; what is installed is part of the task, so that more of it runs anew."""
    peers = methods.installed_peers()
    return combinations(repetition=range(2 if quick else 5), peers=[peers[:1] if quick else peers])


def run_task(rng: np.random.Generator, *, repetition: int, peers: list[str]) -> list[Row]:
    """Draw a table, and learn the network on either scale by ours and by what is installed."""
    data = methods.simulate(NETWORK, rng)
    rows = []
    for scale, table in ((STANDARDIZED, data.standardized), (RAW, data.raw)):
        theirs = [name for name in peers if scale == STANDARDIZED or name not in ONE_SCALE]
        for name, learn in {
            **own_methods(),
            **{name: methods.peer(name) for name in theirs},
        }.items():
            errors = methods.count_errors(data.arcs, learn(table))
            rows.append({"scale": scale, "method": name, **errors, **data.sortability})
    return rows


def own_methods() -> dict[str, Callable[[FloatArray], BoolArray]]:
    """Ours, with the rows as they are."""
    raw: dict[str, Any] = {"schedule": "literal", "standardize": False}
    return {
        OR_LASSO: lambda rows: _fit(GaussianBayesNet(methods.ALPHA, **raw), rows),
        OR_LEAST_SQUARES: lambda rows: _fit(
            GaussianBayesNet(methods.ALPHA, init="least-squares", **raw), rows
        ),
        IAMB: lambda rows: _fit(BlanketBayesNet("iamb", methods.SIGNIFICANCE), rows),
        TC: lambda rows: _fit(BlanketBayesNet("tc", methods.SIGNIFICANCE), rows),
        SORT_VARIANCE: lambda rows: _sort(rows, "variance"),
        SORT_R2: lambda rows: _sort(rows, "r2"),
    }


def _fit(estimator: GaussianBayesNet | BlanketBayesNet, rows: FloatArray) -> BoolArray:
    arcs: BoolArray = estimator.fit(rows).graph_.adjacency
    return arcs


def _sort(rows: FloatArray, by: str) -> BoolArray:
    found: BoolArray = sort_and_regress(np.cov(rows, rowvar=False), len(rows), by).value != 0
    return found


def report(frame: pd.DataFrame) -> Report:
    """Lay out the errors on either scale; the paper says nothing of it."""
    peers = sorted({name for listed in frame["peers"] for name in listed})
    first = frame.drop_duplicates("task")
    found = {
        (method, scale, measure): part[measure]
        for (method, scale), part in frame.groupby(["method", "scale"])
        for measure in methods.MEASURES
    }
    columns = [(scale, measure) for scale in SCALES for measure in methods.MEASURES]
    names = [f"{scale}: {'PDAG' if m == methods.PDAG else m}" for scale, m in columns]
    keys = [(method,) for method in frame["method"].unique()]
    text = fill(
        __package__,
        "scales",
        n=len(first),
        varsortability=mean_and_error(first["varsortability"], 2),
        r2_sortability=mean_and_error(first["r2_sortability"], 2),
        peers=f"Installed here: {', '.join(peers)}." if peers else "None is installed here.",
        table=means_table(["Alarm", *names], keys, columns, found, 1),
    )
    return Report(text)


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Total errors on either scale."""
    names = list(frame["method"].unique())
    figure, ((ax,),) = panels(1, 1, (7.5, 0.3 * len(names) + 1.4), grid="x")
    for scale, color, marker, shift in zip(SCALES, COLORS, "oD", (0.1, -0.1), strict=False):
        found = grouped(rows_of(frame, scale=scale), ["method"], methods.TOTAL)
        points(ax, names, found, shift, color=color, marker=marker, label=f"{scale} columns")
    ax.set_xlim(left=0)
    name_rows(ax, names, "total errors on Alarm", fontsize=8)
    ax.legend()
    return {"scales": figure}


PART = Part(name="scales", tasks=list_tasks, run=run_task, report=report, figures=draw)
