"""Tables of the results, and the machine they come from."""

from __future__ import annotations

import math
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measure import THRESHOLD, Outcome

#: Rows for orientation only: not calls that a user can make, so never the best peer.
NOT_CALLABLE = {"(huge core)"}

TITLES = {
    "x1": "As many edges as the true graph",
    "x3": "Three times as many edges",
    "hard": "Hard cases",
    "large": "p = 5000",
    "path": "Paths: p = 20, 20 penalties, warm starts, seconds for all data sets",
}


def say(text: str) -> None:
    """Report progress on standard error."""
    print(text, file=sys.stderr, flush=True)


def machine() -> dict[str, Any]:
    """Processor, load and versions of the numerical libraries."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = models[0].partition(":")[2].strip() if models else cpu
    packages = ("numpy", "scipy", "numba")
    return {
        "cpu": f"{cpu}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "libraries": ", ".join(f"{package} {version(package)}" for package in packages),
        "blas_threads": 1,
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them, three digits."""
    units = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
    unit, scale = next((pair for pair in units if seconds >= pair[1]), units[-1])
    value = seconds / scale
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:.{digits}f} {unit}"


def cell(outcome: Outcome | None, ours: float | None) -> str:
    """Time and ratio to ours, or how far the solver came without reaching the threshold."""
    if outcome is None or outcome.status == "missing":
        return "-"
    if outcome.status == "reached" and outcome.seconds is not None:
        ratio = f" ({outcome.seconds / ours:.3g}x)" if ours else ""
        return duration(outcome.seconds) + ratio
    label = "missed" if outcome.status == "not reached" else outcome.status
    gap = f", gap {outcome.gap:.0e}" if math.isfinite(outcome.gap) else ""
    return f"*{label}{gap}*"


def _best_ratio(outcomes: dict[str, Outcome]) -> str:
    """Time of the quickest peer that reached the threshold, as a multiple of ours."""
    times = {
        name: outcome.seconds
        for name, outcome in outcomes.items()
        if name != "ours" and name not in NOT_CALLABLE
        if outcome.status == "reached" and outcome.seconds is not None
    }
    ours = outcomes["ours"].seconds if "ours" in outcomes else None
    if not times or not ours:
        return "-"
    name = min(times, key=lambda peer: times[peer])
    return f"{times[name] / ours:.3g}x ({name})"


def markdown_table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Markdown lines of a table."""
    rule = ["---"] * len(header)
    return ["| " + " | ".join(row) + " |" for row in (header, rule, *rows)]


def table(group: str, results: list[dict[str, Any]], names: list[str]) -> list[str]:
    """Markdown lines for one group of problems."""
    shown = [
        name
        for name in names
        if any(r["outcomes"].get(name, Outcome("missing")).status != "missing" for r in results)
    ]
    peers = [name for name in shown if name != "ours"]
    lines = [f"### {TITLES[group]}", ""]
    if group == "path":
        return [*lines, *_path_table(results[0], shown), ""]
    extra = ["peak memory"] if group == "large" else []
    header = ["problem", "n", "alpha", "edges", "components (largest)", "ours", "gap/p"]
    header += [*extra, *peers, "best peer"]
    rows = []
    for result in results:
        outcomes: dict[str, Outcome] = result["outcomes"]
        ours = outcomes.get("ours", Outcome("missing"))
        row = [
            result["name"],
            str(result["n"]),
            f"{result['alpha']:.3g}",
            f"{'-' if ours.n_edges is None else ours.n_edges} ({result['n_true_edges']})",
            f"{result['n_components']} ({result['largest_component']})",
            cell(ours, None),
            _gaps(ours),
        ]
        if extra:
            row.append("-" if ours.peak_bytes is None else f"{ours.peak_bytes / 2**30:.2f} GiB")
        row += [cell(outcomes.get(name), ours.seconds) for name in peers]
        rows.append([*row, _best_ratio(outcomes)])
    return [*lines, *markdown_table(header, rows), ""]


def _gaps(outcome: Outcome) -> str:
    """Gap by the common certificate and by the solver's own."""
    if not math.isfinite(outcome.gap):
        return "-"
    own = "" if outcome.own_gap is None else f" / {outcome.own_gap:.0e}"
    return f"{outcome.gap:.0e}{own}"


def _path_table(result: dict[str, Any], names: list[str]) -> list[str]:
    outcomes: dict[str, Outcome] = result["outcomes"]
    ours = outcomes["ours"].seconds if "ours" in outcomes else None
    rows = []
    for name in names:
        outcome = outcomes.get(name)
        if outcome is None:
            continue
        share = "-" if outcome.share is None else f"{outcome.share:.4f}"
        seconds = "-" if outcome.seconds is None else duration(outcome.seconds)
        ratio = "-"
        if ours and outcome.seconds is not None and outcome.status == "reached":
            ratio = f"{outcome.seconds / ours:.3g}x"
        rows.append([name, outcome.variant or "-", seconds, ratio, share, outcome.status])
    share_title = f"share of solves with gap/p <= {THRESHOLD:g}"
    return markdown_table(["solver", "variant", "seconds", "ratio", share_title, "status"], rows)


def markdown(run: dict[str, Any]) -> str:
    """Turn the whole run into Markdown."""
    about = run["machine"]
    lines = [
        f"Command: `{run['command']}`, {run['date']}.",
        f"{about['cpu']}; Python {about['python']}, {about['libraries']}; one BLAS thread;",
        f"load {about['load_at_start']} at the start, {about['load_at_end']} at the end.",
        "Solvers: " + "; ".join(sorted({text for text in run["versions"].values() if text})) + ".",
    ]
    if run["missing"]:
        absent = "; ".join(f"{name} ({reason})" for name, reason in run["missing"].items())
        lines.append(f"Not here: {absent}.")
    if run["compilation_s"]:
        seconds = f"{run['compilation_s']:.1f} s"
        lines.append(f"First calls of ours, compiled afresh: {seconds}; not in the times below.")
    lines += [
        "",
        f"Wall time to a duality gap per variable of {THRESHOLD:g}, and its ratio to ours.",
        "`gap/p`: ours by the common certificate / by its own. `edges`: estimated (true).",
        "",
    ]
    groups: dict[str, list[dict[str, Any]]] = {}
    for result in run["results"]:
        groups.setdefault(result["group"], []).append(result)
    for group, results in groups.items():
        lines += table(group, results, run["solvers"])
    return "\n".join(lines)
