"""Section 4.3: the diamond distribution, dependence without correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise.data import diamond_change
from edgewise.estimators import NetworkChange
from edgewise.reproduce.change.methods import (
    ENTRY,
    FLASSO,
    MAGNITUDE,
    N_PROPOSALS,
    QUICK_PROPOSALS,
    RANKINGS,
    SAMPLED,
    SAMPLED_FLASSO,
    SAMPLED_GLASSO,
    SAMPLED_PATH,
    Method,
    area_of_chance,
    areas,
    areas_table,
    by_path,
    draw_rankings,
    gaussian_rivals,
    sampled_flasso,
    sampled_glasso,
    score_methods,
)
from edgewise.reproduce.study import Claim, Part, Report, Row, combinations
from edgewise.reproduce.tables import fill, is_clearly_positive, mean_and_error, verdict

POLYNOMIAL: Final = "KLIEP, polynomial 4"
RAW: Final = "KLIEP, raw polynomial 4"
QUADRATIC: Final = "KLIEP, polynomial 2"
POWER: Final = "KLIEP, power 2"
GAUSSIAN: Final = "KLIEP, Gaussian"
#: Curvature, and the end of the path as a share of its beginning.
RIDGE: Final = 1e-3
END: Final = 0.03
N_ALPHAS: Final = 15
#: The same for two Glassos, which have to take the proposals to the data first.
SEPARATE_END: Final = 0.003
#: Suffix of methods that see the ranks of the rows only.
RANKS: Final = ", ranks"


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    n_proposals = QUICK_PROPOSALS if quick else N_PROPOSALS
    return combinations(repetition=range(2 if quick else 20), n_proposals=[n_proposals])


def run_task(
    rng: np.random.Generator, *, repetition: int, n_proposals: int, **design: Any
) -> list[Row]:
    """Draw both groups, by default as published, and rank the pairs by every method."""
    data = diamond_change(rng=rng, **design)
    methods = list_methods(n_proposals=n_proposals, random_state=int(rng.integers(2**31)))
    return score_methods(methods, data)


def list_methods(**sampling: Any) -> dict[str, Method]:
    """All methods by name; ``sampling`` says how those by importance sampling draw."""
    options: dict[str, Any] = {
        "ridge": RIDGE, "alpha_ratio": END, "n_alphas": N_ALPHAS, "tol": 1e-6
    }  # fmt: skip
    quartic = {"basis": "polynomial", "degree": 4, **options}
    return {
        POLYNOMIAL: by_path(NetworkChange(**quartic)),
        RAW: by_path(NetworkChange(standardize=False, **quartic)),
        QUADRATIC: by_path(NetworkChange(basis="polynomial", degree=2, **options)),
        POWER: by_path(NetworkChange(basis="power", degree=2, **options)),
        GAUSSIAN: by_path(NetworkChange(**options)),
        SAMPLED_FLASSO: sampled_flasso(4, alpha_ratio=END, **sampling),
        SAMPLED_GLASSO: sampled_glasso(4, alpha_ratio=SEPARATE_END, **sampling),
        **gaussian_rivals("empirical"),
        **{name + RANKS: rank for name, rank in gaussian_rivals("nonparanormal").items()},
    }


#: Area that the polynomial of degree 4 should reach, by magnitude.
BAR: Final = 0.95
CHANCE: Final = area_of_chance(9, 8)
#: Methods whose curves are drawn: more would hide each other.
SHOWN: Final = (POLYNOMIAL, RAW, QUADRATIC, *SAMPLED, GAUSSIAN, FLASSO)


def report(frame: pd.DataFrame) -> Report:
    """Set out the areas, and judge what the paper says of them."""
    methods = list(list_methods())
    ours = areas(frame, POLYNOMIAL, MAGNITUDE)
    text = fill(
        __package__,
        "diamond",
        chance=CHANCE,
        share=8 / 36,
        ridge=RIDGE,
        end=END,
        n_proposals=N_PROPOSALS,
        quick_proposals=QUICK_PROPOSALS,
        tol=SAMPLED_PATH["tol"],
        table=areas_table(frame, methods),
        ours=mean_and_error(ours),
        bar=BAR,
        is_met="met" if ours.mean() >= BAR else "missed",
    )
    # Those that assume a Gaussian on some scale.
    gaussian = [name for name in methods if name not in (POLYNOMIAL, RAW, QUADRATIC, *SAMPLED)]
    return Report(text, (_wins(frame), _sampled(frame, gaussian), _blind(frame, gaussian)))


def _wins(frame: pd.DataFrame) -> Claim:
    found = {method: areas(frame, method, MAGNITUDE) for method in list_methods()}
    leads = {m: found[RAW] - found[m] for m in found if m not in (POLYNOMIAL, RAW)}
    closest = min(leads, key=lambda method: leads[method].mean())
    printed, scaled, other = (mean_and_error(found[m]) for m in (RAW, POLYNOMIAL, closest))
    return Claim(
        "KLIEP with the polynomial model significantly outperforms all other methods on diamonds.",
        f"By magnitude its area is {printed} as printed and {scaled} with scaled features; the "
        f"best of the others, {closest}, has {other}.",
        verdict([[is_clearly_positive(lead) for lead in leads.values()]]),
    )


def _sampled(frame: pd.DataFrame, gaussian: Sequence[str]) -> Claim:
    others = [areas(frame, method, MAGNITUDE) for method in gaussian]
    ours = {
        method: [areas(frame, method, ranking) for ranking in (MAGNITUDE, ENTRY)]
        for method in SAMPLED
    }
    words = [f"{name} {' and '.join(map(mean_and_error, found))}" for name, found in ours.items()]
    return Claim(
        "On diamonds IS-Glasso and especially IS-Flasso give better results than methods with "
        "Gaussian and nonparanormal models.",
        f"Areas by magnitude and by entry: {', '.join(words)}; the best of the others has "
        f"{max(other.mean() for other in others):.2f} by magnitude.",
        verdict([[is_clearly_positive(own - o) for o in others] for own, _ in ours.values()]),
    )


def _blind(frame: pd.DataFrame, gaussian: Sequence[str]) -> Claim:
    found = [areas(frame, method, ranking) for method in gaussian for ranking in RANKINGS]
    found = [area for area in found if len(area)]
    above = [is_clearly_positive(area - CHANCE) for area in found]
    means = [area.mean() for area in found]
    return Claim(
        "Methods that assume a Gaussian, or one after transforming each variable, cannot extract "
        "any information from diamonds.",
        f"Their areas lie between {min(means):.2f} and {max(means):.2f}, and a random order has "
        f"{CHANCE:.2f}; {sum(above)} of {len(above)} are clearly above.",
        verdict([[not is_above for is_above in above]]),
    )


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Areas of all methods, and curves of some by magnitude."""
    methods = list(list_methods())
    return {"diamond": draw_rankings(frame, methods, SHOWN, MAGNITUDE, chance=CHANCE, bar=BAR)}


PART = Part(name="diamond", tasks=list_tasks, run=run_task, report=report, figures=draw)
