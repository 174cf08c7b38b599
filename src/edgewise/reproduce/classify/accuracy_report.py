"""What the paper says of accuracies, judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray
from edgewise.reproduce.classify.accuracy import (
    BIASES,
    DECIDERS,
    KL,
    LIKELIHOOD,
    LINEAR,
    MACHINE,
    METHODS,
    MM,
    N_EDGES,
    OR,
    SELECTED,
    SLACK,
    Accuracies,
    H,
    standard_error,
    written_gain,
)
from edgewise.reproduce.classify.data import N_REGIONS
from edgewise.reproduce.study import Claim, Report
from edgewise.reproduce.tables import (
    CLEAR,
    is_clearly_positive,
    markdown_table,
    mean_and_error,
    verdict,
)

#: A gain in points that the paper speaks of; and how far two methods are alike.
GAIN: Final = 10.0
ALIKE: Final = 2.0
#: A loss in points towards sparse networks that is kept small.
MAINTAINED: Final = 5.0

Found = Mapping[str, Accuracies]
#: Whether a statement holds in each case on a table with one kind of intercepts, and the figures.
Judgement = tuple[list[bool], str]
Judged = Callable[[Accuracies, str], Judgement]


def judge(found: Found, results: Mapping[str, pd.DataFrame]) -> tuple[Claim, ...]:
    """Judge everything that the paper says; the kinds of intercepts are settings."""
    statements: list[tuple[str, str, Judged]] = [
        (
            (
                "KL-SGBN and MM-SGBN improve the accuracy of networks learned class by class, and "
                "could reach a gain of 10 to 20 points on most occasions."
            ),
            "Gains over all alphas",
            _gain,
        ),
        (
            (
                "When networks become sparser, those learned class by class lose accuracy, while "
                "KL-SGBN and MM-SGBN stay accurate."
            ),
            "Points lost from the smallest to the largest alpha",
            _maintained,
        ),
        (
            "Deciding by likelihood, MM-SGBN is more accurate than KL-SGBN.",
            "Lead in points",
            _leads(lambda a, bias, alpha: a.gain(MM, bias, alpha, over=KL)),
        ),
        (
            "Deciding by SVM, KL-SGBN is slightly more accurate than MM-SGBN.",
            "Lead in points",
            _leads(lambda a, bias, alpha: a.gain(KL, bias, alpha, over=MM, decider=MACHINE)),
        ),
        (
            "SVMs on Fisher scores are less accurate than networks learned for discrimination.",
            "Lead of MM-SGBN by likelihood in points",
            _leads(
                lambda a, bias, alpha: (
                    a.of(MM, bias, alpha) - a.of(MM, bias, alpha, decider=MACHINE)
                )
            ),
        ),
        (
            "Choosing 100 of the Fisher scores clearly helps the SVM.",
            "Lead of the chosen ones in points, KL-SGBN",
            _leads(
                lambda a, bias, alpha: (
                    a.of(KL, bias, alpha, decider=SELECTED) - a.of(KL, bias, alpha, decider=MACHINE)
                )
            ),
        ),
        (
            "Learned class by class, OR-SGBN and H-SGBN are about equally accurate.",
            "H-SGBN less OR-SGBN in points",
            _alike,
        ),
        (
            (
                f"(Not in the paper.) The best of the networks, deciding by {LIKELIHOOD}, is more "
                "accurate than a linear SVM on the variables themselves."
            ),
            "Best over alphas, chosen in hindsight, and linear SVM",
            _beats_rival,
        ),
    ]
    judged = [_claim(published, measure, found, j) for published, measure, j in statements]
    return (*judged[:-1], _fit_error(results), judged[-1])


def spread(values: Sequence[float]) -> str:
    """Write the least and the largest of some points.

    Examples
    --------
    >>> spread([2.0, -0.01, 1.5])
    '+0.0 to +2.0'
    """
    # Adding 0 turns -0 into 0.
    low, high = (round(float(value), 1) + 0.0 for value in (min(values), max(values)))
    return f"{low:+.1f} to {high:+.1f}"


def _claim(published: str, measure: str, found: Found, judged: Judged) -> Claim:
    """Judge a statement on every table with both kinds of intercepts."""
    cases, parts = [], []
    for bias in BIASES:
        of_bias: list[bool] = []
        for name, accuracies in found.items():
            holds, words = judged(accuracies, bias)
            of_bias += holds
            parts.append(f"{name}, {bias}: {words}")
        cases.append(of_bias)
    return Claim(published=published, found=f"{measure}: {'; '.join(parts)}.", holds=verdict(cases))


def _gain(accuracies: Accuracies, bias: str) -> Judgement:
    """Whether the gain of each method reaches what the paper speaks of, at any alpha."""
    gains = {
        method: [accuracies.gain(method, bias, alpha).mean() for alpha in accuracies.alphas]
        for method in (KL, MM)
    }
    words = ", ".join(f"{spread(values)} ({method})" for method, values in gains.items())
    return [bool(max(values) >= GAIN) for values in gains.values()], words


def _maintained(accuracies: Accuracies, bias: str) -> Judgement:
    """Whether the start loses accuracy from the first alpha to the last, and learning keeps it."""
    first, last = accuracies.alphas[0], accuracies.alphas[-1]
    lost = {
        method: float(
            (accuracies.of(method, bias, first) - accuracies.of(method, bias, last)).mean()
        )
        for method in (OR, KL, MM)
    }
    words = ", ".join(f"{points:.1f} ({method})" for method, points in lost.items())
    return [lost[OR] > MAINTAINED >= lost[method] for method in (KL, MM)], words


def _leads(lead: Callable[[Accuracies, str, float], FloatArray]) -> Judged:
    """Judge a lead at every alpha, and tell its range."""

    def judged(accuracies: Accuracies, bias: str) -> Judgement:
        leads = [lead(accuracies, bias, alpha) for alpha in accuracies.alphas]
        clear = [is_clearly_positive(values) for values in leads]
        means = [float(values.mean()) for values in leads]
        return clear, f"{spread(means)}, clear at {sum(clear)} of {len(clear)} alphas"

    return judged


def _alike(accuracies: Accuracies, bias: str) -> Judgement:
    leads = [accuracies.gain(H, bias, alpha) for alpha in accuracies.alphas]
    alike = [
        bool(abs(values.mean()) <= max(ALIKE, CLEAR * standard_error(values))) for values in leads
    ]
    return alike, spread([float(values.mean()) for values in leads])


def _beats_rival(accuracies: Accuracies, bias: str) -> Judgement:
    rival = accuracies.rivals[LINEAR]
    tried = [
        accuracies.of(method, bias, alpha) for method in (OR, KL, MM) for alpha in accuracies.alphas
    ]
    best = max(tried, key=lambda values: float(values.mean()))
    return [is_clearly_positive(best - rival)], f"{best.mean():.1f} and {rival.mean():.1f}"


def _fit_error(results: Mapping[str, pd.DataFrame]) -> Claim:
    worst = max(float(np.nanmax(frame["fit_error"].astype(float))) for frame in results.values())
    # What a solver may be off by.
    is_kept = worst <= 1 + SLACK + 1e-6
    return Claim(
        published=f"All this with squared residuals that grow by {SLACK:.0%} at most.",
        found=f"They grow by {worst - 1:.3%} at most.",
        holds="yes" if is_kept else "no",
    )


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
