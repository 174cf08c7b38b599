"""Sections 4.1 and 4.2: changes of Gaussian networks, on either scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import logsumexp

from edgewise._core.typing import FloatArray
from edgewise.data import make_gaussian_change
from edgewise.data.labels import TwoSamples
from edgewise.estimators import NetworkChange
from edgewise.estimators.base.fits import ChangePath
from edgewise.plot import plot_precision_recall
from edgewise.solvers.change.density_ratio import log_density_ratio
from studies import tables
from studies.change import methods
from studies.figures import COLORS, legend_above, panels, standard_error
from studies.study import Claim, Part, Report, Row, combinations

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
METHODS: Final = (*RIDGES, *methods.GAUSSIAN_RIVALS)


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    repetitions = range(2 if quick else 20)
    return combinations(setting=SETTINGS, n_samples=SAMPLES, repetition=repetitions)


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
        data = make_gaussian_change(
            n_features, n_samples, n_changed=n_changed, power=power, rng=seed, **SETTINGS[setting]
        )
        held_out = data.sample(n_held_out, rng=seed_held_out)
        chosen = choose(data, held_out, (1,) if scale == "gaussian" else DEGREES)
        for name, ridge in RIDGES.items():
            model = _kliep(ridge, chosen["degree"])
            scored = methods.score_methods({name: methods.by_path(model)}, data)
            rows += [{"scale": scale, **row, **chosen} for row in scored]
        kind = "empirical" if scale == "gaussian" else "nonparanormal"
        rivals = methods.gaussian_rivals(kind, standardize=False)
        rows += [{"scale": scale, **row} for row in methods.score_methods(rivals, data)]
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


CHANCE: Final = methods.area_of_chance(N_FEATURES, N_CHANGED)
#: Areas this close are as good as equal.
CLOSE: Final = 0.05
#: Least area of a method that tells changed from unchanged edges clearly.
GOOD: Final = 0.75
#: Areas by scale, setting, number of rows, method and ranking.
Areas = dict[Any, FloatArray]
#: The scale and the method whose areas are compared.
OURS: Final = ("gaussian", KLIEP_WITHOUT_RIDGE)


def rankings_of(method: str) -> tuple[str, ...]:
    """Rankings that a method has: without a path pairs do not enter."""
    return (methods.MAGNITUDE,) if method == methods.DIFFERENCE else methods.RANKINGS


def report(frame: pd.DataFrame) -> Report:
    """Set out the areas of all methods, and judge what the paper says of them."""
    areas = tables.grouped(frame, ["scale", "setting", "n_samples", "method", "ranking"], "auprc")
    sections = [
        f"### {scale.capitalize()} scale, by {ranking}\n\n{_table(areas, scale, ranking)}"
        for scale in SCALES
        for ranking in methods.RANKINGS
    ]
    printed = [
        areas["gaussian", PRINTED, n_samples, method, ranking].mean()
        for n_samples in SAMPLES
        for method in METHODS
        for ranking in rankings_of(method)
    ]
    chosen = tables.rows_of(
        frame, scale="gaussian", setting=PRINTED, method=KLIEP, ranking=methods.ENTRY
    )
    text = tables.fill(
        __package__,
        "gaussian",
        n_features=N_FEATURES,
        n_changed=N_CHANGED,
        chance=CHANCE,
        tables="\n\n".join(sections),
        least=min(printed),
        largest=max(printed),
        n_empty=int((chosen["held_out_edges"] == 0).sum()),
        n_sets=len(chosen),
        visible="; ".join(_visible(areas, n_samples) for n_samples in SAMPLES),
    )
    return Report(text, _claims(frame, areas))


def _table(areas: Areas, scale: str, ranking: str) -> str:
    names = [method for method in METHODS if ranking in rankings_of(method)]
    found = {key[1:4]: values for key, values in areas.items() if key[::4] == (scale, ranking)}
    keys = [(setting, n_samples) for setting in SETTINGS for n_samples in SAMPLES]
    return tables.means_table(["setting", "rows", *names], keys, [(m,) for m in names], found)


def _visible(areas: Areas, n_samples: int) -> str:
    """Rank the methods by their areas where there is something to see."""
    place = ("gaussian", LARGER, n_samples)
    means = {key[3:]: area.mean() for key, area in areas.items() if key[:3] == place}
    best = {m: max(means[m, ranking] for ranking in rankings_of(m)) for m in METHODS}
    ranked = sorted(best, key=lambda method: -best[method])
    figures = tables.listed({method: f"{best[method]:.2f}" for method in ranked}, ", ")
    return f"with {n_samples} Gaussian rows {figures}"


def _claims(frame: pd.DataFrame, areas: Areas) -> tuple[Claim, ...]:
    flasso, glasso = ("gaussian", methods.FLASSO), ("gaussian", methods.GLASSO)
    at_end = areas["gaussian", SHARED, 100, methods.GLASSO, methods.MAGNITUDE].mean()
    large = tables.rows_of(
        frame, scale="nonparanormal", setting=LARGER, method=KLIEP, ranking=methods.ENTRY
    )
    degree = large["degree"]
    return (
        tables.judge(
            "With 100 Gaussian rows KLIEP and Flasso work equally well.",
            "Areas of KLIEP without ridge and of Flasso",
            _compare(areas, OURS, flasso, (100,), _is_level),
        ),
        tables.judge(
            "With 50 Gaussian rows KLIEP gains the lead over Flasso.",
            "Areas of KLIEP without ridge and of Flasso",
            _compare(areas, OURS, flasso, (50,)),
        ),
        tables.judge(
            "Two Glassos do not perform well, with 100 rows or with 50.",
            "Areas of KLIEP without ridge and of two Glassos",
            _compare(areas, OURS, glasso, SAMPLES),
            " Ranked by the difference at the dense end, two Glassos have "
            f"{at_end:.2f} ({SHARED}, 100 rows).",
        ),
        tables.judge(
            "On the nonparanormal scale Flasso clearly suffers, compared with the Gaussian.",
            "Areas of Flasso on either scale",
            _compare(areas, flasso, ("nonparanormal", methods.FLASSO), SAMPLES),
        ),
        tables.judge(
            "On the nonparanormal scale KLIEP separates changed and unchanged edges clearly, with "
            "100 rows and with 50.",
            "Areas of KLIEP with 100 and 50 rows",
            [_separates(areas, setting) for setting in SETTINGS],
            f" Held-out rows choose the true power, 2, on {int((degree == 2).sum())} of "
            f"{len(degree)} data sets ({LARGER}).",
        ),
    )


def _is_level(ours: FloatArray, theirs: FloatArray) -> bool:
    lead = ours - theirs
    is_level = abs(lead.mean()) <= max(CLOSE, tables.CLEAR * standard_error(lead))
    # Two methods that see nothing do not work equally well: neither works.
    return bool(is_level and ours.mean() > 2 * CHANCE)


def _is_ahead(ours: FloatArray, theirs: FloatArray) -> bool:
    return tables.is_clearly_positive(ours - theirs)


def _compare(
    areas: Areas,
    first: tuple[str, str],
    second: tuple[str, str],
    sizes: Sequence[int],
    holds: Callable[[FloatArray, FloatArray], bool] = _is_ahead,
) -> list[tables.Case]:
    """Compare areas by entry in each setting; first and second are scale and method."""
    cases: list[tables.Case] = []
    for setting in SETTINGS:
        pairs = {
            f"{setting}, {n} rows" if len(sizes) > 1 else setting: [
                areas[scale, setting, n, method, methods.ENTRY] for scale, method in (first, second)
            ]
            for n in sizes
        }
        words = {name: f"{a.mean():.2f} and {b.mean():.2f}" for name, (a, b) in pairs.items()}
        cases.append(([holds(*pair) for pair in pairs.values()], tables.listed(words)))
    return cases


def _separates(areas: Areas, setting: str) -> tables.Case:
    found = [areas["nonparanormal", setting, n, KLIEP, methods.ENTRY].mean() for n in SAMPLES]
    return [bool(area >= GOOD) for area in found], f"{found[0]:.2f} and {found[1]:.2f} ({setting})"


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Draw areas and curves on either scale."""
    return {
        **{f"{scale}-areas": draw_scale(tables.rows_of(frame, scale=scale)) for scale in SCALES},
        **{f"{scale}-curves": draw_curves(tables.rows_of(frame, scale=scale)) for scale in SCALES},
    }


def draw_scale(frame: pd.DataFrame) -> Figure:
    """Area of every method, by setting, number of rows and ranking."""
    figure, (axes,) = panels(1, len(SETTINGS), (11, 4.4), grid="x", sharex=True, sharey=True)
    for ax, setting in zip(axes, SETTINGS, strict=True):
        looks = {
            f"{n} rows": (shift, color, tables.rows_of(frame, setting=setting, n_samples=n))
            for color, n, shift in zip(COLORS, SAMPLES, (0.18, -0.18), strict=False)
        }
        methods.draw_areas(ax, frame, METHODS, CHANCE, looks)
        ax.set_title(setting)
    legend_above(figure, axes[0])
    return figure


def draw_curves(frame: pd.DataFrame) -> Figure:
    """Precision against recall by setting and number of rows, the pairs ranked by entry."""
    figure, axes = panels(len(SAMPLES), len(SETTINGS), (12, 7), grid=None)
    for row, n_samples in zip(axes, SAMPLES, strict=True):
        for ax, setting in zip(row, SETTINGS, strict=True):
            part = tables.rows_of(frame, setting=setting, n_samples=n_samples)
            plot_precision_recall(methods.curves_of(part, METHODS[:-1], methods.ENTRY), ax)
            lines = ax.get_legend().legend_handles
            ax.get_legend().remove()
            ax.set_title(f"{setting}, {n_samples} rows")
    figure.legend(lines, METHODS[:-1], loc="outside upper right", ncols=len(METHODS) - 1)
    return figure


PART = Part(name="gaussian", tasks=list_tasks, run=run_task, report=report, figures=draw)
