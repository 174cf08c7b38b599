"""Section 5.1: expression of thirteen genes, six of whose regulations change their kind."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise.estimators import NetworkChange, SampledLikelihood
from studies import tables
from studies.change import methods
from studies.change.regulation import make_gene_regulation_change
from studies.study import Claim, Part, Report, Row, combinations

DEGREES: Final = (2, 3, 4)
GAUSSIAN: Final = "KLIEP, Gaussian"


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    n_proposals = methods.QUICK_PROPOSALS if quick else methods.N_PROPOSALS
    return combinations(repetition=range(4 if quick else 20), n_proposals=[n_proposals])


def run_task(rng: np.random.Generator, *, repetition: int, n_proposals: int) -> list[Row]:
    """Draw both groups, and rank the pairs by every method."""
    data = make_gene_regulation_change(rng=rng)
    names = list_methods(n_proposals, int(rng.integers(2**31)))
    return methods.score_methods(names, data)


def list_methods(
    n_proposals: int = methods.N_PROPOSALS, seed: int = 0
) -> dict[str, methods.Method]:
    """All methods by name; those by importance sampling draw so many proposals."""
    # Of the published degrees the one that is affordable.
    sampled = SampledLikelihood(degree=DEGREES[0], n_proposals=n_proposals)
    return {
        GAUSSIAN: methods.by_path(NetworkChange(standardize="pooled")),
        **{
            polynomial(degree): methods.by_path(
                NetworkChange(basis="polynomial", degree=degree, standardize="pooled")
            )
            for degree in DEGREES
        },
        methods.SAMPLED_FLASSO: methods.sampled_flasso(sampled, random_state=seed),
        **methods.gaussian_rivals("empirical"),
    }


def polynomial(degree: int) -> str:
    """Name of the density ratio with a polynomial basis."""
    return f"KLIEP, polynomial {degree}"


CHANCE: Final = methods.area_of_chance(13, 6)


def report(frame: pd.DataFrame) -> Report:
    """Set out the areas, and judge what the paper says of them."""
    table = methods.areas_table(frame, list_methods())
    text = tables.fill(__package__, "genes", chance=CHANCE, degree=DEGREES[0], table=table)
    found = {method: methods.areas(frame, method, methods.ENTRY) for method in list_methods()}
    best = max(map(polynomial, DEGREES), key=lambda method: found[method].mean())
    rivals = (methods.SAMPLED_FLASSO, methods.FLASSO)
    others = {method: f"{found[method].mean():.2f}" for method in (*rivals, GAUSSIAN)}
    ahead = Claim(
        "On genes KLIEP with the polynomial model is ahead of IS-Flasso and of Flasso.",
        f"The best of the three degrees, {best}, has {tables.mean_and_error(found[best])} by "
        f"entry; others: {tables.listed(others, ', ')}.",
        tables.verdict(
            [[tables.is_clearly_positive(found[best] - found[rival])] for rival in rivals]
        ),
    )
    helps = tables.judge(
        "On genes the polynomial helps: IS-Flasso is ahead of Flasso with the Gaussian.",
        "Areas of IS-Flasso and Flasso",
        [_sampling_helps(frame, ranking) for ranking in methods.RANKINGS],
    )
    return Report(text, (ahead, helps))


def _sampling_helps(frame: pd.DataFrame, ranking: str) -> tables.Case:
    ours, other = (
        methods.areas(frame, method, ranking) for method in (methods.SAMPLED_FLASSO, methods.FLASSO)
    )
    words = f"{ours.mean():.2f} and {other.mean():.2f} by {ranking}"
    return [tables.is_clearly_positive(ours - other)], words


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Areas of all methods, and curves of some by entry."""
    shown = (
        GAUSSIAN,
        *map(polynomial, DEGREES[:2]),
        methods.SAMPLED_FLASSO,
        methods.FLASSO,
        methods.GLASSO,
        methods.DTRACE,
    )
    return {
        "genes": methods.draw_rankings(
            frame, list(list_methods()), shown, methods.ENTRY, chance=CHANCE
        )
    }


PART = Part(name="genes", tasks=list_tasks, run=run_task, report=report, figures=draw)
