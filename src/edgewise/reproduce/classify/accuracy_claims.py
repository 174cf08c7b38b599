"""What the paper says of accuracies, judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray
from edgewise.reproduce._study import Claim
from edgewise.reproduce.classify.accuracies import Accuracies, standard_error
from edgewise.reproduce.classify.deciders import LIKELIHOOD, LINEAR, MACHINE, SELECTED
from edgewise.reproduce.classify.splits import BIASES, KL, MM, OR, SLACK, H
from edgewise.reproduce.verdicts import CLEAR, is_clearly_positive, verdict

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
