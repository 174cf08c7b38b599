"""The penalty on paths with all columns solved at once, which never settles."""

from __future__ import annotations

from itertools import product
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from edgewise._core.typing import FloatArray
from edgewise.solvers.directed.order import UPDATES, bcd_bayes_net
from studies.directed.methods import ALPHA, NETWORKS, simulate
from studies.figures import COLORS, legend_above, name_outer, panels
from studies.study import Claim, Part, Report, Row, combinations
from studies.tables import fill, markdown_table, rows_of, verdict

SCHEDULES: Final = ("literal", "homotopy")
#: Rounds that are followed after the solver has stopped, at the largest strength.
N_ROUNDS: Final = 12


def list_tasks(quick: bool) -> list[Row]:
    """List the simulations."""
    return combinations(network=NETWORKS, repetition=range(1 if quick else 10))


def run_task(rng: np.random.Generator, *, network: str, repetition: int) -> list[Row]:
    """Solve all columns at once, or one after the other, and follow what comes then."""
    R = simulate(network, rng).correlations
    return [
        {"update": update, "schedule": schedule, **follow(R, update, schedule)}
        for update in UPDATES
        for schedule in SCHEDULES
    ]


def follow(R: FloatArray, update: str, schedule: str) -> Row:
    """Run the solver until it stops or repeats itself, and then some rounds more.

    Examples
    --------
    >>> found = follow(np.array([[1.0, 0.5], [0.5, 1.0]]), "whole", "literal")
    >>> found["period"], found["arcs"][:11], found["cyclic"][:11]
    (2, '0 2 0 2 0 2', '0 1 0 1 0 1')
    """
    found = bcd_bayes_net(R, ALPHA, update=update, schedule=schedule)
    period = found.period
    arcs, cyclic = [], []
    for _ in range(N_ROUNDS):
        found = bcd_bayes_net(
            R, ALPHA, update=update, schedule="literal", init=found.value, max_iter=1
        )
        arcs.append(int(np.count_nonzero(found.value)))
        cyclic.append(int(not found.is_acyclic))
    return {
        "period": period,
        "arcs": " ".join(map(str, arcs)),
        "cyclic": " ".join(map(str, cyclic)),
    }


def report(frame: pd.DataFrame) -> Report:
    """Judge whether the penalty on paths settles when all columns are solved at once."""
    frame = frame.assign(always=["0" not in text.split() for text in frame["cyclic"]])
    rows = []
    for update, schedule in product(UPDATES, SCHEDULES):
        part = rows_of(frame, update=update, schedule=schedule)
        last = np.array([[int(count) for count in text.split()[-2:]] for text in part["arcs"]])
        periods = ", ".join(str(period) for period in sorted(part["period"].unique()))
        settled, always = f"{np.mean(part['period'] == 1):.0%}", f"{part['always'].mean():.0%}"
        arcs = f"{last.min(axis=1).mean():.0f} and {last.max(axis=1).mean():.0f}"
        rows.append([update, schedule, settled, periods, always, arcs])
    header = ["columns solved", "strength", "settled", "periods", "a cycle in every round"]
    text = fill(
        __package__,
        "oscillation",
        n=frame["task"].nunique(),
        n_networks=frame["network"].nunique(),
        table=markdown_table([*header, "arcs, least and most"], rows),
    )
    return Report(text, (_oscillates(rows_of(frame, update="whole")),))


def _oscillates(whole: pd.DataFrame) -> Claim:
    settled = (whole["period"] == 1).tolist()
    always = rows_of(whole, schedule="homotopy")["always"].tolist()
    return Claim(
        "Solved as a whole, H-SGBN does not converge but oscillates between a few solutions that "
        "are not DAGs.",
        f"{len(whole) - sum(settled)} of {len(whole)} runs never settle; "
        f"{int((whole['period'] == 2).sum())} of them go to and fro between two graphs. With a "
        f"growing strength {sum(always)} of {len(always)} have cycles in every round. With the "
        "largest from the start, one of the two has next to no arcs, and so no cycle.",
        verdict([[not value for value in settled], always]),
    )


NAMES: Final = {"columns": "one column after the other", "whole": "all columns at once"}


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Arcs of one simulation of each network, round by round."""
    figure, axes = panels(3, 3, (11, 6.6), grid="y", sharex=True)
    part = rows_of(frame, repetition=0, schedule="homotopy")
    for ax, network in zip(axes.flat, NETWORKS, strict=True):
        for update, color, marker in zip(UPDATES, COLORS, "oD", strict=False):
            row = rows_of(part, network=network, update=update).iloc[0]
            arcs = [int(count) for count in row["arcs"].split()]
            look = {"color": color, "marker": marker, "markersize": 4, "linewidth": 1.2}
            ax.plot(range(1, len(arcs) + 1), arcs, label=NAMES[update], **look)
        ax.set(title=network.capitalize(), ylim=(0, 1.08 * ax.dataLim.y1))
        ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    name_outer(axes, "round at the largest strength", "arcs")
    legend_above(figure, axes[0, 0])
    return {"oscillation": figure}


PART = Part(name="oscillation", tasks=list_tasks, run=run_task, report=report, figures=draw)
