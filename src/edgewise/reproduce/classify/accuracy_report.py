"""Tables of accuracies, and verdicts on what the paper says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray
from edgewise.reproduce._files import markdown_table, mean_and_error
from edgewise.reproduce._study import Report
from edgewise.reproduce.classify.accuracies import (
    Accuracies,
    standard_error,
    written_gain,
)
from edgewise.reproduce.classify.accuracy_claims import judge
from edgewise.reproduce.classify.deciders import DECIDERS, LIKELIHOOD
from edgewise.reproduce.classify.splits import BIASES, KL, METHODS, MM, N_EDGES, OR, SLACK
from edgewise.reproduce.classify.tables import N_REGIONS
from edgewise.reproduce.verdicts import CLEAR

BREAST: Final = "breast-cancer"
BRAIN: Final = "young-old"
TITLES: Final = {
    BREAST: "Breast cancer (60 rows to learn from, 200 to test)",
    BRAIN: "Young and old brains (50 rows to learn from, 29 to test)",
}
#: Least gain of MM over its start, in points, with penalised intercepts at `BAR_ALPHA`.
BARS: Final = {BREAST: 20.0, BRAIN: 8.0}
BAR_ALPHA: Final = 0.4

INTRODUCTION: Final = f"""\
## Figure 3: accuracy

Per cent of the test rows in their class. *OR-SGBN* and *H-SGBN* are networks learned class by
class, by order or column by column; *KL-SGBN* and *MM-SGBN* are OR-SGBN moved to separate the
classes, {N_EDGES} arcs and intercepts unless said otherwise, each class fitted worse by {SLACK:.0%}
at most. Gains are over OR-SGBN on the same splits, in points; their standard errors are those of
paired differences. They say how sure a mean over random splits of this one table is, and not how
other people would fare: splits share rows.

*Penalised* intercepts are shrunk by alpha like any coefficient, as the paper's formulas have it;
*free* ones are not. A class is decided by the larger likelihood, or by a support vector machine on
all Fisher scores, or on the 100 that correlate most with the class (standardised). The linear SVM
chooses its C by cross-validation in the training part."""

BRAIN_NOTE: Final = f"""\
Cortical thickness and volumes of 79 people. The {N_REGIONS} regions whose means differ most
between the groups are chosen anew on each training part; means over a hemisphere are left out."""


def report(results: Mapping[str, pd.DataFrame]) -> Report:
    """Set out the accuracies on all tables, and judge what the paper says of them."""
    found = {name: Accuracies(frame) for name, frame in results.items()}
    sections = [INTRODUCTION, "### What both kinds of intercepts give", _bars(found)]
    for name, accuracies in found.items():
        sections += [f"### {TITLES[name]}", *([BRAIN_NOTE] if name == BRAIN else [])]
        sections += [_rivals(accuracies), *_by_alpha(accuracies), _by_edges(accuracies)]
        sections.append(_about_fits(results[name]))
    return Report(text="\n\n".join(sections), claims=judge(found, results))


def _bars(found: Mapping[str, Accuracies]) -> str:
    rows = []
    for name, accuracies in found.items():
        for bias in BIASES:
            cells = [
                mean_and_error(accuracies.of(method, bias, BAR_ALPHA), digits=1)
                for method in (OR, KL, MM)
            ]
            gain = accuracies.gain(MM, bias, BAR_ALPHA)
            rows.append(
                [name, bias, *cells, written_gain(gain), *bar_and_verdict(name, bias, gain)]
            )
    header = ["table", "intercepts", OR, KL, MM, f"{MM} less {OR}", "bar", "met"]
    return (
        f"By likelihood at alpha = {BAR_ALPHA:g}. Penalised intercepts spoil the start, and "
        "learning repairs it: that is the gain that the paper reports. Free ones leave little to "
        "repair."
        f"\n\n{markdown_table(header, rows)}"
    )


def bar_and_verdict(name: str, bias: str, gain: FloatArray) -> tuple[str, str]:
    """Say what a gain is asked to be, and whether it is.

    Examples
    --------
    >>> import numpy as np
    >>> bar_and_verdict("young-old", "penalized", np.array([9.0, 11.0]))
    ('at least +8', 'yes')
    >>> bar_and_verdict("young-old", "free", np.array([-9.0, -11.0]))
    ('no loss beyond 2 standard errors', 'no')
    """
    if bias == "free":
        is_met = gain.mean() >= -CLEAR * standard_error(gain)
        return f"no loss beyond {CLEAR:g} standard errors", "yes" if is_met else "no"
    return f"at least +{BARS[name]:g}", "yes" if gain.mean() >= BARS[name] else "no"


def _rivals(accuracies: Accuracies) -> str:
    listed = ", ".join(
        f"{name} {mean_and_error(values, digits=1)}" for name, values in accuracies.rivals.items()
    )
    return f"{accuracies.n_splits} random splits. Without networks: {listed}."


def _by_alpha(accuracies: Accuracies) -> list[str]:
    """Tables of all deciders and both kinds of intercepts."""
    sections = []
    for decider in DECIDERS:
        for bias in BIASES:
            rows = []
            for alpha in accuracies.alphas:
                cells = [
                    mean_and_error(accuracies.of(method, bias, alpha, decider=decider), digits=1)
                    for method in METHODS
                ]
                gains = [
                    written_gain(accuracies.gain(method, bias, alpha, decider=decider))
                    for method in (KL, MM)
                ]
                rows.append([f"{alpha:g}", *cells, *gains])
            header = ["alpha", *METHODS, f"{KL} gain", f"{MM} gain"]
            sections.append(f"**{decider}, {bias} intercepts**\n\n{markdown_table(header, rows)}")
    return sections


def _by_edges(accuracies: Accuracies) -> str:
    rows = []
    for bias in BIASES:
        for alpha in accuracies.edge_alphas:
            start = mean_and_error(accuracies.of(OR, bias, alpha), digits=1)
            for method in (KL, MM):
                cells = [
                    mean_and_error(accuracies.of(method, bias, alpha, n_edges=n_edges), digits=1)
                    for n_edges in accuracies.edges
                ]
                rows.append([bias, f"{alpha:g}", method, start, *cells])
    header = ["intercepts", "alpha", "method", "none (OR)", *map(str, accuracies.edges)]
    return (
        f"**{LIKELIHOOD}, against the number of arcs that move**\n\n{markdown_table(header, rows)}"
    )


def _about_fits(frame: pd.DataFrame) -> str:
    learned = frame[frame["method"].isin([KL, MM]) & (frame["decider"] == LIKELIHOOD)]
    n_early = int((~learned["converged"].astype(bool)).sum())
    worst = float(np.max(learned["fit_error"].to_numpy(dtype=np.float64)))
    return (
        f"Of {len(learned)} fits {n_early} stopped before they had converged; the fit of a class "
        f"to its network was worse by {worst - 1:.2%} at most."
    )
