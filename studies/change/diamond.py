"""Section 4.3: the diamond distribution, dependence without correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise.data import make_diamond_change
from edgewise.estimators import NetworkChange, SampledLikelihood
from edgewise.selection import CV
from studies.change import methods
from studies.study import Claim, Part, Report, Row, combinations
from studies.tables import fill, is_clearly_positive, mean_and_error, verdict

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
    n_proposals = methods.QUICK_PROPOSALS if quick else methods.N_PROPOSALS
    return combinations(repetition=range(2 if quick else 20), n_proposals=[n_proposals])


def run_task(
    rng: np.random.Generator, *, repetition: int, n_proposals: int, **design: Any
) -> list[Row]:
    """Draw both groups, by default as published, and rank the pairs by every method."""
    data = make_diamond_change(rng=rng, **design)
    names = list_methods(n_proposals, int(rng.integers(2**31)))
    return methods.score_methods(names, data)


def list_methods(
    n_proposals: int = methods.N_PROPOSALS, seed: int = 0
) -> dict[str, methods.Method]:
    """All methods by name; those by importance sampling draw so many proposals."""
    rule = CV(alpha_ratio=END, n_alphas=N_ALPHAS)
    options: dict[str, Any] = {
        "alpha": rule,
        "ridge": RIDGE,
        "standardize": "pooled",
        "tol": 1e-6,
    }
    sampled = SampledLikelihood(degree=4, n_proposals=n_proposals)
    quartic = {"basis": "polynomial", "degree": 4, **options}
    return {
        POLYNOMIAL: methods.by_path(NetworkChange(**quartic)),
        RAW: methods.by_path(NetworkChange(**quartic | {"standardize": False})),
        QUADRATIC: methods.by_path(NetworkChange(basis="polynomial", degree=2, **options)),
        POWER: methods.by_path(NetworkChange(basis="power", degree=2, **options)),
        GAUSSIAN: methods.by_path(NetworkChange(**options)),
        methods.SAMPLED_FLASSO: methods.sampled_flasso(sampled, alpha_ratio=END, random_state=seed),
        methods.SAMPLED_GLASSO: methods.sampled_glasso(
            sampled, alpha_ratio=SEPARATE_END, random_state=seed
        ),
        **methods.gaussian_rivals("empirical"),
        **{name + RANKS: rank for name, rank in methods.gaussian_rivals("nonparanormal").items()},
    }


CHANCE: Final = methods.area_of_chance(9, 8)
#: Methods whose curves are drawn: more would hide each other.
SHOWN: Final = (POLYNOMIAL, RAW, QUADRATIC, *methods.SAMPLED, GAUSSIAN, methods.FLASSO)


def report(frame: pd.DataFrame) -> Report:
    """Set out the areas, and judge what the paper says of them."""
    names = list(list_methods())
    ours = methods.areas(frame, POLYNOMIAL, methods.MAGNITUDE)
    text = fill(
        __package__,
        "diamond",
        chance=CHANCE,
        share=8 / 36,
        ridge=RIDGE,
        end=END,
        n_proposals=methods.N_PROPOSALS,
        quick_proposals=methods.QUICK_PROPOSALS,
        tol=methods.SAMPLED_TOL,
        table=methods.areas_table(frame, names),
        ours=mean_and_error(ours),
    )
    # Those that assume a Gaussian on some scale.
    gaussian = [
        name for name in names if name not in (POLYNOMIAL, RAW, QUADRATIC, *methods.SAMPLED)
    ]
    return Report(text, (_wins(frame), _sampled(frame, gaussian), _blind(frame, gaussian)))


def _wins(frame: pd.DataFrame) -> Claim:
    found = {method: methods.areas(frame, method, methods.MAGNITUDE) for method in list_methods()}
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
    others = [methods.areas(frame, method, methods.MAGNITUDE) for method in gaussian]
    ours = {
        method: [
            methods.areas(frame, method, ranking) for ranking in (methods.MAGNITUDE, methods.ENTRY)
        ]
        for method in methods.SAMPLED
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
    found = [
        methods.areas(frame, method, ranking) for method in gaussian for ranking in methods.RANKINGS
    ]
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
    names = list(list_methods())
    return {"diamond": methods.draw_rankings(frame, names, SHOWN, methods.MAGNITUDE, chance=CHANCE)}


PART = Part(name="diamond", tasks=list_tasks, run=run_task, report=report, figures=draw)
