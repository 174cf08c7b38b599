"""Time to a given accuracy: walk a ladder of settings, then time the first rung that is enough."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.peers import Setting
from benchmarks.worker import OverrunError, SolveError, Worker

#: Duality gap per variable that every solver has to reach.
THRESHOLD = 1e-6
#: A call longer than this, in seconds, is timed once.
LONG_CALL = 3.0
#: Short calls are repeated until a measurement lasts this long, in seconds.
MEASUREMENT = 0.05
REPEATS = 3
#: Share of the data sets, from the first on, on which the settings for paths are chosen.
TUNING_SHARE = 0.05
#: Many solves take many budgets.
PATH_BUDGETS = 5


@dataclass
class Outcome:
    """How one solver fared on one problem.

    ``status`` is ``reached``, ``not reached`` (no setting was accurate enough), ``over budget``,
    ``failed`` or ``missing``. ``gap`` is per variable: that of the reported setting or, where none
    was accurate enough, the smallest seen.
    """

    status: str
    seconds: float | None = None
    gap: float = math.inf
    own_gap: float | None = None
    objective: float | None = None
    n_edges: int | None = None
    peak_bytes: int | None = None
    share: float | None = None
    variant: str = ""
    setting: Setting | None = None
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which has no infinity."""
        values = asdict(self)
        for key in ("gap", "objective"):
            if values[key] is not None and not math.isfinite(values[key]):
                values[key] = None
        return values

    @property
    def rank(self) -> tuple[bool, float]:
        """Sorts the variants of one solver, the one that speaks best for it first."""
        if self.status == "reached" and self.seconds is not None:
            return False, self.seconds
        return True, self.gap


def time_solver(worker: Worker, path: str, p: int, alpha: float, budget: float) -> Outcome:
    """Time ``worker`` on the problem stored at ``path``: the best of its variants."""
    if not worker.start():
        return Outcome("missing", note=worker.missing or "")
    deadline = time.monotonic() + budget
    ladders: dict[str, list[Setting]] = worker.ask("ladders", p, timeout=60)
    outcomes: list[Outcome] = []
    for variant, ladder in ladders.items():
        to_beat = _time_to_beat(outcomes)
        worker.ask("load", path, alpha, timeout=120)
        outcome = _walk(worker, ladder, _share(deadline, len(ladders) - len(outcomes)), to_beat)
        outcome.variant = variant
        outcomes.append(outcome)
    return min(outcomes, key=lambda outcome: outcome.rank)


def _share(deadline: float, n_variants: int) -> float:
    """Deadline of the next of ``n_variants`` variants, so that none starves those after it."""
    now = time.monotonic()
    return now + (deadline - now) / n_variants


def _time_to_beat(outcomes: list[Outcome]) -> float:
    """Seconds of the best variant so far that was accurate enough."""
    return min((o.rank[1] for o in outcomes if o.status == "reached"), default=math.inf)


def _walk(worker: Worker, ladder: list[Setting], deadline: float, to_beat: float) -> Outcome:
    """Climb one ladder until a rung is accurate enough, and time that rung."""
    best = Outcome("failed")
    for setting in ladder:
        left = deadline - time.monotonic()
        try:
            if left <= 0:
                raise OverrunError("the budget ran out between two settings")
            rung = worker.ask("rung", setting, 1, timeout=left)
        except SolveError as error:
            best.note = str(error)
            continue
        except OverrunError as error:
            best.status, best.note = "over budget", str(error)
            return best
        if rung["gap"] < best.gap or best.status == "failed":
            best = Outcome("not reached", setting=setting, **rung)
        if rung["gap"] <= THRESHOLD:
            best.status = "reached"
            break
        if rung["seconds"] > 1.5 * to_beat:
            # Tighter rungs take longer still: this variant cannot win any more.
            return best
    is_fixed = len(ladder) == 1
    if best.setting is not None and (is_fixed or best.status == "reached"):
        _clock(worker, best, is_first=is_fixed)
    return best


def _clock(worker: Worker, outcome: Outcome, *, is_first: bool) -> None:
    """Time the setting in ``outcome`` properly.

    A long call needs no second one unless it was the first on this problem.
    """
    first = outcome.seconds or 0.0
    is_long = first > LONG_CALL
    if is_long and not is_first:
        return
    number = max(1, math.ceil(MEASUREMENT / first))
    timeout = 60 + 20 * first * number
    outcome.seconds = statistics.median(
        worker.ask("clock", outcome.setting, number, timeout=timeout)
        for _ in range(1 if is_long else REPEATS)
    )


def time_paths(worker: Worker, path: str, p: int, n_sets: int, budget: float) -> Outcome | None:
    """Time ``worker`` on all data sets, with settings chosen on the first few.

    None where the solver is not run on paths.
    """
    if not worker.start():
        return Outcome("missing", note=worker.missing or "")
    ladders: dict[str, list[Setting]] = worker.ask("path_ladders", p, timeout=60)
    if not ladders:
        return None
    deadline = time.monotonic() + PATH_BUDGETS * budget
    n_tuning = max(1, round(TUNING_SHARE * n_sets))
    tuned: list[Outcome] = []
    for variant, ladder in ladders.items():
        worker.ask("load_paths", path, timeout=60)
        share = _share(deadline, len(ladders) - len(tuned) + 1)
        outcome = _tune(worker, ladder, n_tuning, share, _time_to_beat(tuned))
        outcome.variant = variant
        tuned.append(outcome)
    best = min(tuned, key=lambda outcome: outcome.rank)
    if best.setting is None:
        return best
    try:
        worker.ask("load_paths", path, timeout=60)
        _clock_paths(worker, best, n_sets, deadline)
    except OverrunError as error:
        best.status, best.note, best.seconds = "over budget", str(error), None
    return best


def _tune(
    worker: Worker, ladder: list[Setting], n_sets: int, deadline: float, to_beat: float
) -> Outcome:
    """First setting at which every solve of the first data sets is accurate enough."""
    best = Outcome("failed")
    for setting in ladder:
        left = deadline - time.monotonic()
        try:
            if left <= 0:
                raise OverrunError("the budget ran out between two settings")
            run = worker.ask("paths", setting, n_sets, THRESHOLD, timeout=left)
        except SolveError as error:
            best.note = str(error)
            continue
        except OverrunError as error:
            best.status, best.note = "over budget", str(error)
            break
        if run["gap"] < best.gap or best.status == "failed":
            best = Outcome("not reached", setting=setting, **run)
        if run["share"] == 1.0:
            best.status = "reached"
            break
        if run["seconds"] > 1.5 * to_beat:
            break
    return best


def _clock_paths(worker: Worker, outcome: Outcome, n_sets: int, deadline: float) -> None:
    """Time the setting in ``outcome`` on all data sets."""
    runs: list[dict[str, float]] = []
    while not runs or (len(runs) < REPEATS and runs[0]["seconds"] <= LONG_CALL):
        left = max(1.0, deadline - time.monotonic())
        runs.append(worker.ask("paths", outcome.setting, n_sets, THRESHOLD, timeout=left))
    outcome.seconds = statistics.median(run["seconds"] for run in runs)
    outcome.share, outcome.gap = runs[0]["share"], runs[0]["gap"]
