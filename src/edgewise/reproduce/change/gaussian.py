"""Gaussian networks with few changes, as they are and with every variable on another scale."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy.special import logsumexp

from edgewise._core.typing import FloatArray
from edgewise.data import gaussian_change
from edgewise.data.labels import TwoSamples
from edgewise.estimators import NetworkChange
from edgewise.estimators.base.paths import ChangePath
from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.change._methods import (
    GAUSSIAN_RIVALS,
    by_path,
    gaussian_rivals,
    score_methods,
)
from edgewise.solvers import log_density_ratio

N_FEATURES: Final = 40
N_CHANGED: Final = 15
SAMPLES: Final = (100, 50)
HELD_OUT: Final = 3000
#: As printed; the same with one draw of noise for both groups; and with a change that shows.
PRINTED: Final = "as printed"
SHARED: Final = "shared noise"
LARGER: Final = "change 0.8"
SETTINGS: Final[dict[str, dict[str, Any]]] = {
    PRINTED: {"change": 0.1},
    SHARED: {"change": 0.1, "shared_noise": True},
    LARGER: {"change": 0.8},
}
#: Scale of the rows, and the power that makes them Gaussian.
SCALES: Final = {"gaussian": 1.0, "nonparanormal": 2.0}
DEGREES: Final = (2, 3, 4)

KLIEP: Final = "KLIEP, ridge 0.1"
KLIEP_WITHOUT_RIDGE: Final = "KLIEP, ridge 0"
RIDGES: Final = {KLIEP: 0.1, KLIEP_WITHOUT_RIDGE: 0.0}
METHODS: Final = (*RIDGES, *GAUSSIAN_RIVALS)


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    return [
        {"setting": setting, "n_samples": n_samples, "repetition": repetition}
        for repetition in range(2 if quick else 20)
        for n_samples in SAMPLES
        for setting in SETTINGS
    ]


def run_task(
    rng: np.random.Generator,
    *,
    setting: str,
    n_samples: int,
    repetition: int,
    n_features: int = N_FEATURES,
    n_changed: int = N_CHANGED,
    n_held_out: int = HELD_OUT,
) -> list[Row]:
    """Draw both groups, and rank the pairs by every method on either scale."""
    seed, seed_held_out = rng.integers(2**32, size=2).tolist()
    rows = []
    for scale, power in SCALES.items():
        # Equal seeds: the rows of both scales differ in nothing but the scale.
        data = gaussian_change(
            n_features, n_samples, n_changed=n_changed, power=power, rng=seed, **SETTINGS[setting]
        )
        held_out = data.redraw(n_held_out, rng=seed_held_out)
        chosen = choose(data, held_out, (1,) if scale == "gaussian" else DEGREES)
        for name, ridge in RIDGES.items():
            model = _kliep(ridge, chosen["degree"])
            rows += [{"scale": scale, **row, **chosen} for row in
                     score_methods({name: by_path(model)}, data)]  # fmt: skip
        kind = "empirical" if scale == "gaussian" else "nonparanormal"
        rivals = gaussian_rivals(kind, standardize=False)
        rows += [{"scale": scale, **row} for row in score_methods(rivals, data)]
    return rows


def choose(data: Any, held_out: TwoSamples, degrees: tuple[int, ...]) -> Row:
    """Choose power and alpha by held-out rows, as the paper does, and count the edges there."""
    best: tuple[float, Row] = (-np.inf, {})
    for degree in degrees:
        path = _kliep(RIDGES[KLIEP], degree).path(data.X, data.y)
        scores = held_out_scores(path, held_out, degree)
        k = int(scores.argmax())
        if scores[k] > best[0]:
            best = (scores[k], {"degree": degree, "held_out_edges": path.graphs[k].n_edges})
    return best[1]


def held_out_scores(path: ChangePath, held_out: TwoSamples, degree: int) -> FloatArray:
    """Mean log ratio of other rows at each alpha."""
    scores = []
    for theta in path.changes[:, :, :, None]:
        after, before = (
            log_density_ratio(rows, theta, basis="power", degree=degree)
            for rows in (held_out.second, held_out.first)
        )
        scores.append(after.mean() - logsumexp(before) + np.log(len(before)))
    return np.array(scores)


def _kliep(ridge: float, degree: int) -> NetworkChange:
    """Means are 0 and all variances alike, so that rows are taken as they are."""
    return NetworkChange(ridge=ridge, basis="power", degree=degree, standardize=False)


PART = Part(name="gaussian", tasks=list_tasks, run=run_task)
