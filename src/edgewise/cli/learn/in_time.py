"""``edgewise learn --time``: from rows in order to their networks."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise._core.messages import Note
from edgewise.cli.confidence import QUICK, Confidence, left_out
from edgewise.cli.dependence import CLUSTER, with_values
from edgewise.cli.input import Reading, Source, check_table, read_columns
from edgewise.cli.prepare import preparation
from edgewise.cli.run import Result, estimator_of
from edgewise.cli.shell import options_given, shows_progress, tell
from edgewise.cli.wording import (
    about_text,
    count,
    parameters_of,
    short_name,
    strongest_edge,
    text_columns,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgewise._core.typing import AnyArray, FloatArray
    from edgewise.graph import Graph

#: Options about rows in no order, or about one network alone.
REFUSED: Final = (
    *("--grid", "--method", "--kinds", "--covariance", "--stream", "--nodes", "--groups"),
    *("--stability", "--cluster", "--within", "--every", "--missing"),
)
#: The pictures and tables among the files.
PICTURE, EFFECTS, NODES = "networks.png", "effects.csv", "nodes.csv"
ALT: Final = {PICTURE: "The networks side by side; rings show effects of columns on themselves"}
LEVEL: Final = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """A table with its series and times.

    Attributes
    ----------
    source : Source
        The columns of the networks.
    series : ndarray of shape (n_samples, k) or None
        Labels of the series, the unit first.
    time : ndarray of shape (n_samples,) or None
    unit : str
        What the unit is called; empty for one series.
    """

    source: Source
    series: AnyArray | None
    time: AnyArray | None
    unit: str


def read_rows(
    path: Path,
    time: str | None,
    series: str | None,
    *,
    settings: Mapping[str, Any],
    columns: Sequence[str],
    drop: Sequence[str],
) -> Rows:
    """Read a table in order; take first differences where columns drift."""
    import pandas as pd

    refused = sorted(options_given() & {*REFUSED})
    refused += [f"--set {name}" for name in settings if name not in ("tol", "max_iter")]
    if refused:
        raise InputError("options_not_in_time", options=refused)
    if preparation().blocks not in (None, 1):
        raise InputError("blocks_in_time", "blocks")
    apart = {"--time": [time] if time else [], "--series": [series] if series else []}
    reading = read_columns(path, columns=columns, drop=drop, apart=apart)
    table = reading.table()
    if text := text_columns(table):
        raise InputError(about_text(path, table, text))
    names = [*reading.apart["--series"]]
    if found := reading.apart.get(CLUSTER, ()):
        names = names or [*found]
        code = "found_series" if names == [*found] else "found_labels"
        note = str(Note(code, column=found[0]))
        reading = replace(reading, notes=(*reading.notes, note))
    reading = _varying(_without_drift(reading, names), names)
    table = reading.table()
    check_table(table, allow_constant=False, allow_identical=False, allow_missing=True)
    source = reading.source(table, pd.DataFrame(table.values, columns=list(table.names)))
    # Their advice is about networks of rows in no order.
    findings = tuple(replace(one, advice="") for one in source.findings)
    return Rows(
        source=replace(source, findings=findings),
        series=_series(reading, names),
        time=_time(reading),
        unit=names[0] if names else "",
    )


def _series(reading: Reading, names: Sequence[str]) -> AnyArray | None:
    import numpy as np

    if not names:
        return None
    return np.column_stack([np.asarray(reading.column(name), dtype=object) for name in names])


def _time(reading: Reading) -> AnyArray | None:
    """Return the column of time; dates in other forms than ISO as days."""
    from edgewise.data.roles import days_of, is_dates

    names = reading.apart["--time"]
    if not names:
        return None
    column = reading.column(names[0])
    return days_of(column) if is_dates(column) else column


def _without_drift(reading: Reading, names: Sequence[str]) -> Reading:
    """Take first differences within series where columns drift, or as asked."""
    import numpy as np

    from edgewise.data.dependence import row_order
    from edgewise.data.lagged import lagged_rows

    table, asked = reading.table(), preparation()
    if asked.blocks == 1 or asked.detrend or np.isinf(table.values).any():
        return reading
    series = _series(reading, names)
    found = lagged_rows(table.n_samples, 1, series=series, time=_time(reading))
    order = row_order(table.values, table.names, series=found.unit)
    drifting = [] if asked.difference or order.kind != "trend" else [*order.columns]
    if not (asked.difference or drifting) or not found.n_pairs:
        return reading
    values = np.full_like(table.values, np.nan)
    values[found.now] = table.values[found.now] - table.values[found.past[0]]
    is_kept = np.zeros(table.n_samples, dtype=bool)
    is_kept[found.now] = True
    reading = with_values(reading, values, is_kept, table.names)
    note = str(Note("differences_in_time", columns=drifting, n=found.n_pairs))
    return replace(reading, notes=(*reading.notes, note))


def _varying(reading: Reading, names: Sequence[str]) -> Reading:
    """Leave out columns that are the same in all rows of a unit."""
    import numpy as np

    from edgewise.cli.dependence import codes_of
    from edgewise.data.dependence import centred_within

    if not names:
        return reading
    table = reading.table()
    values, _ = centred_within(table.values, codes_of(reading.column(names[0])))
    size = np.nanmax(np.abs(table.values), axis=0)
    varies = np.nanmax(np.abs(values), axis=0) > 1e-10 * size
    flat = [name for name, does in zip(table.names, varies, strict=True) if not does]
    if not flat or len(flat) > len(table.names) - 2:
        return reading
    note = str(Note("left_out_within", columns=flat, unit=names[0]))
    kept = tuple(name for name in reading.names if name not in flat)
    return replace(reading, names=kept, notes=(*reading.notes, note))


def learn_in_time(
    rows: Rows, lags: int, parameters: Mapping[str, Any], confidence: Confidence, seed: int
) -> Result:
    """Fit the networks, resample them, and describe them in words and pictures."""
    frame, n_jobs = rows.source.frame, parameters["n_jobs"]
    given = {name: value for name, value in parameters.items() if name != "n_jobs"}
    learner = estimator_of("TemporalGraph", {"lags": lags, "missing": "drop", **given})
    learner.set_params(verbose=int(shows_progress()))
    fit = learner.fit(frame, rows.series, rows.time)
    temporal, contemporaneous = fit.temporal_, fit.contemporaneous_
    notes: list[str] = []
    n_resamples = confidence.n_resamples
    if n_resamples and confidence.only_if_quick:
        seconds = _seconds_again(fit, rows) * n_resamples
        if seconds > QUICK:
            notes, n_resamples = [left_out(seconds, n_resamples)], None
    if n_resamples:
        from edgewise.inference.lagged import lagged_shares

        tell(f"{n_resamples} resamples ...")
        shares = lagged_shares(
            fit,
            frame,
            rows.series,
            rows.time,
            n_resamples=n_resamples,
            n_jobs=n_jobs,
            random_state=seed,
        )
        temporal = _with_confidence(temporal, shares.temporal)
        contemporaneous = _with_confidence(contemporaneous, shares.contemporaneous)
        unit, length = rows.unit if shares.n_units else "", shares.block_length
        notes = [str(Note("resampled_in_time", n=n_resamples, unit=unit, length=length))]
    networks = {"temporal": temporal, "contemporaneous": contemporaneous}
    if fit.between_ is not None:
        networks[f"between '{short_name(rows.unit)}'"] = fit.between_
    nodes, effects = _nodes(fit), fit.table()
    own = _largest_own(fit)
    further = {"contemporaneous.graphml": contemporaneous}
    if fit.between_ is not None:
        further["between.graphml"] = fit.between_

    def draw() -> dict[str, Figure]:
        from edgewise.plot.temporal import plot_time_networks

        return {PICTURE: plot_time_networks(networks, own)}

    values = _edge_values(fit)
    return Result(
        model=fit,
        graph=temporal,
        text=_summary(fit, networks, rows),
        parameters={**parameters_of(fit), "method": "temporal", "n_resamples": n_resamples},
        found={
            "n_pairs": fit.n_pairs_,
            "n_contemporaneous": contemporaneous.n_edges,
            "n_between": None if fit.between_ is None else fit.between_.n_edges,
            "gap": float(fit.gap_),
            "converged": bool(fit.converged_),
            "n_iter": int(fit.n_iter_),
        },
        notes=[*fit.treatment_, *notes],
        figures=draw,
        words=ALT,
        tables={EFFECTS: effects, NODES: nodes},
        networks=further,
        shown={
            "Effects with a q-value of at most .05": _sure(effects).round(4),
            "Nodes": nodes.round(3),
        },
        subject="The temporal network",
        finding=strongest_edge(temporal, "the strongest from"),
        rows=("edges", temporal.edges()),
        edge_values=values,
    )


def _seconds_again(fit: Any, rows: Rows) -> float:
    """Time a fit whose kernels are loaded."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = clock.perf_counter()
        clone(fit).set_params(verbose=0).fit(rows.source.frame, rows.series, rows.time)
    return clock.perf_counter() - start


def _with_confidence(graph: Graph, share: FloatArray) -> Graph:
    from edgewise.graph import Graph

    return Graph(
        graph.weights,
        names=graph.names,
        directed=graph.directed,
        adjacency=graph.adjacency,
        confidence=share,
    )


def _largest_own(fit: Any) -> FloatArray:
    """Partial correlation of each column with its own past, at the lag where it is largest."""
    import numpy as np

    own = np.einsum("kii->ki", fit.partial_correlation_)
    own = np.nan_to_num(own)
    return np.asarray(own[np.abs(own).argmax(axis=0), np.arange(own.shape[1])])


def _edge_values(fit: Any) -> dict[str, FloatArray]:
    """Take the tests of the lag with the smallest p-value of each arc."""
    import numpy as np

    best = np.nan_to_num(fit.pvalues_, nan=1.0).argmin(axis=0)[None]

    def chosen(values: FloatArray) -> FloatArray:
        return np.asarray(np.take_along_axis(values, best, axis=0)[0])

    return {
        "lag": best[0] + 1.0,
        "coef": chosen(fit.coef_),
        "lower": chosen(fit.interval_[0]),
        "upper": chosen(fit.interval_[1]),
        "pvalue": chosen(fit.pvalues_),
        "qvalue": chosen(fit.qvalues_),
    }


def _nodes(fit: Any) -> pd.DataFrame:
    """List in- and out-strength, effects on itself and predictability of each column."""
    import numpy as np
    import pandas as pd

    size = np.abs(fit.temporal_.weights)
    return pd.DataFrame(
        {
            "node": fit.temporal_.names,
            "out_strength": size.sum(axis=1),
            "in_strength": size.sum(axis=0),
            "autoregression": fit.autoregression_,
            "predictability": fit.predictability_,
            "contemporaneous_strength": np.abs(fit.contemporaneous_.weights).sum(axis=0),
        }
    )


def _sure(effects: pd.DataFrame) -> pd.DataFrame:
    found = effects[effects["qvalue"] <= LEVEL]
    return found.sort_values("qvalue", kind="stable").reset_index(drop=True)


def _summary(fit: Any, networks: Mapping[str, Graph], rows: Rows) -> str:
    """Tell how many arcs and edges there are, the strongest, and what the past explains."""
    temporal, n_columns = fit.temporal_, fit.n_features_in_
    steps = "one row to the next" if fit.lags == 1 else f"up to {fit.lags} rows before"
    arcs, pairs = count(temporal.n_edges, "arc"), f"{fit.n_pairs_} pairs of rows"
    lines = [
        f"{arcs} from {steps} among the {n_columns} columns of {rows.source.name} ({pairs})",
        "",
    ]
    for title, graph in networks.items():
        noun = "arc" if graph.directed else "edge"
        words = "the strongest from" if graph.directed else "the strongest joins"
        strongest = f"; {strongest_edge(graph, words)}" if graph.n_edges else ""
        lines.append(f"{title.capitalize()}: {count(graph.n_edges, noun)}{strongest}")
    own, told = fit.autoregression_, fit.predictability_
    low, high = f"{told.min():.0%}", f"{told.max():.0%}"
    shares = low if low == high else f"{low} to {high}"
    lines += [
        f"Effects of columns on themselves: {own.min():.2f} to {own.max():.2f}",
        f"The past explains {shares} of the variance within series",
    ]
    if fit.alpha_ == fit.alpha_:
        lines += [f"Joint problem at alpha {fit.alpha_:.3g}, within {fit.gap_:.1g} of the optimum"]
    else:
        lines += ["Arcs have a q-value of at most .05; all effects and their tests: effects.csv"]
    return "\n".join(lines)
