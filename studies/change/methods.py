"""The competitors: each ranks pairs of variables by how much speaks for a change between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data.labels import TwoSamples
from edgewise.data.simulate.change import SimulatedChange
from edgewise.estimators.change.base import ChangeEstimator
from edgewise.estimators.change.dtrace import DTraceChange
from edgewise.estimators.change.fused import FusedNetworkChange
from edgewise.estimators.change.sampled import SampledLikelihood
from edgewise.estimators.change.separate import SeparateNetworkChange
from edgewise.metrics import precision_recall_curve
from edgewise.plot import plot_precision_recall
from edgewise.selection import CV
from edgewise.stats import covariance, nonparanormal_correlation
from studies.figures import BLUE, GREY, legend_above, name_rows, panels, points, tidy
from studies.study import Row
from studies.tables import grouped, means_table, rows_of

#: Rankings of the pairs: by the alpha at which a pair enters the path, ties by its last change;
#: and by the size of its change at the smallest alpha.
ENTRY: Final = "entry"
MAGNITUDE: Final = "magnitude"
RANKINGS: Final = (ENTRY, MAGNITUDE)

FLASSO: Final = "Flasso"
JOINT: Final = "Flasso, joint"
GLASSO: Final = "two Glassos"
DTRACE: Final = "D-trace"
DIFFERENCE: Final = "covariance difference"
GAUSSIAN_RIVALS: Final = (FLASSO, JOINT, GLASSO, DTRACE, DIFFERENCE)
SAMPLED_FLASSO: Final = "IS-Flasso"
SAMPLED_GLASSO: Final = "IS-Glasso"
SAMPLED: Final = (SAMPLED_FLASSO, SAMPLED_GLASSO)
#: Rows that stand for the integral, and in a quick run.
N_PROPOSALS: Final = 5000
QUICK_PROPOSALS: Final = 1000
#: Alphas of a path of these slow methods, and gap per variable.
SAMPLED_ALPHAS: Final = 10
SAMPLED_TOL: Final = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranked:
    """What a method says of all pairs.

    Attributes
    ----------
    scores : dict
        Symmetric scores by ranking; the pair with the largest comes first.
    n_unconverged : int
        Fits of the path that ended above the tolerance.
    """

    scores: dict[str, FloatArray]
    n_unconverged: int = 0


#: From rows of both groups to scores of the pairs.
Method: TypeAlias = Callable[[SimulatedChange], Ranked]


def by_path(estimator: ChangeEstimator) -> Method:
    """Rank by the path of an estimator, from large alphas to small ones."""

    def rank(data: SimulatedChange) -> Ranked:
        path = estimator.path(data.X, data.y)
        return Ranked(
            scores={ENTRY: path.order, MAGNITUDE: np.abs(path.changes[-1])},
            n_unconverged=int(np.count_nonzero(~path.converged)),
        )

    return rank


def by_difference(kind: str, *, centered: bool = True) -> Method:
    """Rank by the difference between what both groups have for a covariance.

    Parameters
    ----------
    kind : {"empirical", "nonparanormal"}
        Covariances, or correlations of normal scores.
    centered : bool
        Whether means are taken off the rows, and columns scaled to the same spread within groups.
    """

    def rank(data: SimulatedChange) -> Ranked:
        before, after = (_moments(rows, kind, centered) for rows in _scaled(data, centered))
        return Ranked(scores={MAGNITUDE: np.abs(after - before)})

    return rank


def gaussian_rivals(
    kind: str, *, standardize: str | Literal[False] = "pooled"
) -> dict[str, Method]:
    """All methods but the density ratio that model rows, or their normal scores, as Gaussian."""
    options: dict[str, Any] = {"covariance": kind, "standardize": standardize}
    return {
        FLASSO: by_path(FusedNetworkChange(**options)),
        JOINT: by_path(FusedNetworkChange(method="joint", **options)),
        GLASSO: by_path(SeparateNetworkChange(**options)),
        DTRACE: by_path(DTraceChange(**options)),
        DIFFERENCE: by_difference(kind, centered=bool(standardize)),
    }


def sampled_flasso(
    likelihood: SampledLikelihood, *, random_state: int, alpha_ratio: float | None = None
) -> Method:
    """Rank by polynomial models of both groups with few differences, by importance sampling."""
    rule = CV(n_alphas=SAMPLED_ALPHAS, alpha_ratio=alpha_ratio)
    return by_path(
        FusedNetworkChange(
            coupling=rule,
            method=likelihood,
            standardize="pooled",
            tol=SAMPLED_TOL,
            random_state=random_state,
        )
    )


def sampled_glasso(
    likelihood: SampledLikelihood, *, random_state: int, alpha_ratio: float
) -> Method:
    """Rank by the difference of two sparse polynomial models, by importance sampling."""
    rule = CV(n_alphas=SAMPLED_ALPHAS, alpha_ratio=alpha_ratio)
    return by_path(
        SeparateNetworkChange(
            rule,
            method=likelihood,
            standardize="pooled",
            tol=SAMPLED_TOL,
            random_state=random_state,
        )
    )


def score_methods(methods: Mapping[str, Method], data: SimulatedChange) -> list[Row]:
    """Let every method rank the pairs, and compare with the pairs that changed."""
    rows = []
    for name, method in methods.items():
        found = method(data)
        for ranking, scores in found.scores.items():
            about = {"method": name, "ranking": ranking}
            measured = measure(data.changed, scores)
            rows.append({**about, **measured, "unconverged": found.n_unconverged})
    return rows


def measure(changed: BoolArray, scores: FloatArray) -> Row:
    """Average precision of a ranking, and the precisions it is the mean of, as text."""
    precisions = precisions_at_hits(changed, scores)
    return {
        "auprc": float(precisions.mean()),
        "precisions": " ".join(f"{precision:.4g}" for precision in precisions),
    }


def precisions_at_hits(changed: BoolArray, scores: FloatArray) -> FloatArray:
    """Precision down to each of the pairs that changed, in the order of the scores.

    Pairs with the same score come in together. The mean is the area under the curve of precision
    against recall.

    Examples
    --------
    >>> changed = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]], dtype=bool)
    >>> scores = np.array([[0.0, 0.9, 0.1], [0.9, 0.0, 0.5], [0.1, 0.5, 0.0]])
    >>> precisions_at_hits(changed, scores).round(2)
    array([1.  , 0.67])
    """
    curve = precision_recall_curve(changed, scores)
    n_hits = int(changed.sum()) // 2
    hits = np.rint(curve.recall * n_hits)
    found: FloatArray = curve.precision[np.searchsorted(hits, np.arange(1, n_hits + 1))]
    return found


def parse_curve(precisions: str) -> tuple[FloatArray, FloatArray]:
    """Recall and precision, from the text of `measure`.

    Examples
    --------
    >>> parse_curve("1 0.67")
    (array([0.5, 1. ]), array([1.  , 0.67]))
    """
    precision = np.array([float(value) for value in precisions.split()])
    return np.arange(1, len(precision) + 1) / len(precision), precision


def _scaled(data: TwoSamples, centered: bool) -> list[FloatArray]:
    groups = [data.first, data.second]
    if not centered:
        return groups
    squares = sum(((rows - rows.mean(axis=0)) ** 2).sum(axis=0) for rows in groups)
    return [rows / np.sqrt(squares / sum(map(len, groups))) for rows in groups]


def _moments(rows: FloatArray, kind: str, centered: bool) -> FloatArray:
    if kind == "nonparanormal":
        return nonparanormal_correlation(rows)
    return covariance(rows, assume_centered=not centered)[1]


def areas(frame: pd.DataFrame, method: str, ranking: str) -> FloatArray:
    """Area of each data set, in the order of the tasks; none where the ranking is not there."""
    part = rows_of(frame, method=method, ranking=ranking)
    found: FloatArray = part.sort_values("task")["auprc"].to_numpy(dtype=np.float64)
    return found


def area_of_chance(n_features: int, n_changed: int) -> float:
    r"""Give the expected area when pairs come in a random order.

    It is a little above the share of pairs that changed, because the first hit may come early:
    with :math:`R` of :math:`N` pairs changed and :math:`h = \frac1N \sum_{k \le N} \frac1k`,

    .. math:: h + (1 - h) \frac{R - 1}{N - 1}.

    Examples
    --------
    >>> round(area_of_chance(40, 15), 3), round(area_of_chance(9, 8), 3)
    (0.027, 0.293)
    """
    n_pairs = n_features * (n_features - 1) // 2
    early = float(np.sum(1.0 / np.arange(1, n_pairs + 1))) / n_pairs
    return early + (1.0 - early) * (n_changed - 1) / (n_pairs - 1)


def areas_table(frame: pd.DataFrame, methods: Iterable[str]) -> str:
    """Lay out the areas of all methods, by either ranking."""
    found = grouped(frame, ["method", "ranking"], "auprc")
    header = ["method", *(f"by {ranking}" for ranking in RANKINGS)]
    keys = [(method,) for method in methods]
    return means_table(header, keys, [(ranking,) for ranking in RANKINGS], found)


#: Marker and filling of a ranking; a colour stands for a number of rows, a size or a solver.
RANKING_LOOK: Final[dict[str, dict[str, Any]]] = {
    ENTRY: {"marker": "o"},
    MAGNITUDE: {"marker": "D", "markerfacecolor": "white"},
}


def draw_areas(
    ax: Axes,
    frame: pd.DataFrame,
    methods: Sequence[str],
    chance: float,
    looks: Mapping[str, tuple[float, str, pd.DataFrame]] | None = None,
) -> None:
    """Draw areas by either ranking, and that of a random order; ``looks`` are by label."""
    for label, (shift, color, part) in (looks or {"": (0.0, BLUE, frame)}).items():
        for ranking, apart in zip(RANKINGS, (0.06, -0.06), strict=True):
            found = {method: areas(part, method, ranking) for method in reversed(methods)}
            found = {method: values for method, values in found.items() if len(values)}
            name = ", ".join(words for words in (label, f"by {ranking}") if words)
            look = {"color": color, "label": name, **RANKING_LOOK[ranking]}
            points(ax, methods, found, shift + apart, **look)
    ax.axvline(chance, label="random order", color=GREY, linestyle=":", linewidth=1.2)
    name_rows(ax, methods, "area under precision-recall curve")
    ax.set_xlim(-0.03, 1.03)


def draw_rankings(
    frame: pd.DataFrame,
    methods: Sequence[str],
    shown: Sequence[str],
    ranking: str,
    *,
    chance: float,
) -> Figure:
    """Areas of all methods by either ranking, and the curves of those ``shown`` by one."""
    size = (13, 0.26 * len(methods) + 2)
    figure, ((left, right),) = panels(1, 2, size, grid=None, width_ratios=(1, 0.9))
    draw_areas(left, frame, methods, chance)
    tidy(left, "x")
    legend_above(figure, left, "left", 4)
    plot_precision_recall(curves_of(frame, shown, ranking), right)
    right.get_legend().set_loc("upper left")
    right.get_legend().set_bbox_to_anchor((1.0, 1.0), right.transAxes)
    right.set_title(f"by {ranking}")
    return figure


def curves_of(
    frame: pd.DataFrame, methods: Sequence[str], ranking: str
) -> dict[str, list[tuple[FloatArray, FloatArray]]]:
    """Curves of all data sets, by method."""
    return {
        method: list(map(parse_curve, rows_of(frame, method=method, ranking=ranking)["precisions"]))
        for method in methods
    }
