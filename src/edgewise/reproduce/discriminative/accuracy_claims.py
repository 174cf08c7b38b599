"""What the paper says of accuracies, judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray
from edgewise.reproduce._study import Claim
from edgewise.reproduce.bjp._verdicts import CLEAR, is_clearly_positive, verdict
from edgewise.reproduce.discriminative._accuracies import Accuracies, standard_error
from edgewise.reproduce.discriminative._deciders import LIKELIHOOD, LINEAR, MACHINE, SELECTED
from edgewise.reproduce.discriminative.splits import BIASES, KL, MM, OR, SLACK, H

#: A gain in points that the paper speaks of; and how far two methods are alike.
GAIN: Final = 10.0
ALIKE: Final = 2.0
#: A loss in points towards sparse networks that is kept small.
MAINTAINED: Final = 5.0

Found = Mapping[str, Accuracies]


def judge(found: Found, results: Mapping[str, pd.DataFrame]) -> tuple[Claim, ...]:
    """Judge everything that the paper says; the kinds of intercepts are settings."""
    return (
        _gain(found),
        _maintained(found),
        _compared(
            found,
            "Deciding by likelihood, MM-SGBN is more accurate than KL-SGBN.",
            lambda a, bias, alpha: a.gain(MM, bias, alpha, over=KL),
        ),
        _compared(
            found,
            "Deciding by SVM, KL-SGBN is slightly more accurate than MM-SGBN.",
            lambda a, bias, alpha: a.gain(KL, bias, alpha, over=MM, decider=MACHINE),
        ),
        _compared(
            found,
            "SVMs on Fisher scores are less accurate than networks learned for discrimination.",
            lambda a, bias, alpha: a.of(MM, bias, alpha) - a.of(MM, bias, alpha, decider=MACHINE),
        ),
        _compared(
            found,
            "Choosing 100 of the Fisher scores clearly helps the SVM.",
            lambda a, bias, alpha: (
                a.of(KL, bias, alpha, decider=SELECTED) - a.of(KL, bias, alpha, decider=MACHINE)
            ),
        ),
        _alike(found),
        _fit_error(results),
        _rival(found),
    )


def _gain(found: Found) -> Claim:
    cases, parts = [], []
    for bias in BIASES:
        of_bias = []
        for name, accuracies in found.items():
            gains = {
                method: [accuracies.gain(method, bias, alpha).mean() for alpha in accuracies.alphas]
                for method in (KL, MM)
            }
            of_bias += [bool(np.median(values) >= GAIN) for values in gains.values()]
            listed = ", ".join(
                f"{min(values):+.1f} to {max(values):+.1f} ({method})"
                for method, values in gains.items()
            )
            parts.append(f"{name}, {bias}: {listed}")
        cases.append(of_bias)
    return Claim(
        published="KL-SGBN and MM-SGBN improve the accuracy of networks learned class by class by "
        "10 to 20 points on most occasions.",
        found=f"Gains over all alphas: {'; '.join(parts)}.",
        holds=verdict(cases),
    )


def _maintained(found: Found) -> Claim:
    cases, parts = [], []
    for bias in BIASES:
        of_bias = []
        for name, accuracies in found.items():
            first, last = accuracies.alphas[0], accuracies.alphas[-1]
            lost = {
                method: accuracies.of(method, bias, first) - accuracies.of(method, bias, last)
                for method in (OR, KL, MM)
            }
            drops = bool(lost[OR].mean() > MAINTAINED)
            of_bias += [drops and bool(lost[m].mean() <= MAINTAINED) for m in (KL, MM)]
            listed = ", ".join(f"{values.mean():.1f} ({m})" for m, values in lost.items())
            parts.append(f"{name}, {bias}: {listed}")
        cases.append(of_bias)
    return Claim(
        published="When networks become sparser, those learned class by class lose accuracy, "
        "while KL-SGBN and MM-SGBN stay accurate.",
        found=f"Points lost from the smallest to the largest alpha: {'; '.join(parts)}.",
        holds=verdict(cases),
    )


def _compared(
    found: Found, published: str, lead: Callable[[Accuracies, str, float], FloatArray]
) -> Claim:
    """Judge a lead at every alpha, and tell its range."""
    cases, parts = [], []
    for bias in BIASES:
        of_bias = []
        for name, accuracies in found.items():
            leads = [lead(accuracies, bias, alpha) for alpha in accuracies.alphas]
            clear = [is_clearly_positive(values) for values in leads]
            means = [values.mean() for values in leads]
            of_bias += clear
            parts.append(
                f"{name}, {bias}: {min(means):+.1f} to {max(means):+.1f}, clear at "
                f"{sum(clear)} of {len(clear)} alphas"
            )
        cases.append(of_bias)
    return Claim(
        published=published, found=f"Lead in points: {'; '.join(parts)}.", holds=verdict(cases)
    )


def _alike(found: Found) -> Claim:
    cases, parts = [], []
    for bias in BIASES:
        of_bias = []
        for name, accuracies in found.items():
            leads = [accuracies.gain(H, bias, alpha) for alpha in accuracies.alphas]
            of_bias += [
                bool(abs(values.mean()) <= max(ALIKE, CLEAR * standard_error(values)))
                for values in leads
            ]
            means = [values.mean() for values in leads]
            parts.append(f"{name}, {bias}: {min(means):+.1f} to {max(means):+.1f}")
        cases.append(of_bias)
    return Claim(
        published="Learned class by class, OR-SGBN and H-SGBN are about equally accurate.",
        found=f"H-SGBN less OR-SGBN in points: {'; '.join(parts)}.",
        holds=verdict(cases),
    )


def _fit_error(results: Mapping[str, pd.DataFrame]) -> Claim:
    worst = max(float(np.nanmax(frame["fit_error"].astype(float))) for frame in results.values())
    # What a solver may be off by.
    is_kept = worst <= 1 + SLACK + 1e-6
    return Claim(
        published=f"All this with squared residuals that grow by {SLACK:.0%} at most.",
        found=f"They grow by {worst - 1:.3%} at most.",
        holds="yes" if is_kept else "no",
    )


def _rival(found: Found) -> Claim:
    cases, parts = [], []
    for bias in BIASES:
        of_bias = []
        for name, accuracies in found.items():
            rival = accuracies.rivals[LINEAR]
            best = max(
                (accuracies.of(method, bias, alpha) for method in (OR, KL, MM)
                 for alpha in accuracies.alphas),
                key=lambda values: float(values.mean()),
            )  # fmt: skip
            of_bias.append(is_clearly_positive(best - rival))
            parts.append(f"{name}, {bias}: {best.mean():.1f} and {rival.mean():.1f}")
        cases.append(of_bias)
    return Claim(
        published=f"(Not in the paper.) The best of the networks, deciding by {LIKELIHOOD}, is "
        "more accurate than a linear SVM on the variables themselves.",
        found=f"Best over alphas, chosen in hindsight, and linear SVM: {'; '.join(parts)}.",
        holds=verdict(cases),
    )
