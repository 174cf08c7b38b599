"""Leaves of a tree as areas: over two covariates, and on a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.plot._canvas import INK, PLAIN, axes_or_new, room_of, tidy
from edgewise.plot.tree import check_tree, leaf_color, leaf_hatch, leaf_marker

if TYPE_CHECKING:
    from edgewise.estimators import GraphTree

#: Names that mean latitude and longitude.
_LATITUDE = ("lat", "latitude")
_LONGITUDE = ("lon", "lng", "long", "longitude")
#: Labels of cuts keep this share of an axis between them.
_APART = 0.035
#: Labels below an axis are turned where they are closer than this share of it.
_READABLE = 0.1
#: Smallest number in a rectangle, in points.
_SMALLEST = 4.5


def plot_partition(
    tree: GraphTree,
    covariates: Sequence[str] | None = None,
    ax: Axes | None = None,
    *,
    at: Mapping[str, Any] | None = None,
    X: Any = None,
) -> Axes:
    """Draw how a tree divides two covariates, with the cuts in their own units.

    Each rectangle has the number of its leaf. Where the tree splits on further covariates, the
    picture is the cut through it at one value of each.

    Parameters
    ----------
    tree : GraphTree
        A fitted tree.
    covariates : sequence of two str, default=None
        Numeric covariates to go right and up; None takes the two whose splits gain most.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    at : mapping of str, default=None
        Values of the other covariates; by default the middle of their range, or the first level.
    X : array-like or data frame, default=None
        Covariates of rows to show as dots.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GraphTree
    >>> from edgewise.plot.partition import plot_partition
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(size=(400, 2)), rng.normal(size=(400, 2))
    >>> Y[:, 0] += np.where(X[:, 0] > 0.5, 2, -2) * Y[:, 1]
    >>> tree = GraphTree(scale=(0, 1), random_state=0).fit(X, Y)
    >>> ax = plot_partition(tree, ["x0", "x1"])
    >>> [text.get_text() for text in ax.texts], [round(float(x), 2) for x in ax.get_xticks()]
    (['0', '1'], [0.0, 0.5, 1.0])
    """
    tree = check_tree(tree)
    right, up = _two_covariates(tree, covariates)
    fixed = _others(tree, (right, up), at or {})
    ax = axes_or_new(ax, (6.4, 5.2))
    numbers: list[tuple[int, tuple[float, float], tuple[float, float]]] = []
    for leaf in tree.leaves_:
        if not all(_contains(tree, name, leaf.box[name], value) for name, value in fixed.items()):
            continue
        spans = [(float(leaf.box[name][0]), float(leaf.box[name][1])) for name in (right, up)]
        (left, far), (low, high) = spans
        _draw_area(ax, leaf.leaf, (left, low), (far - left, high - low))
        middle = ((left + far) / 2, (low + high) / 2)
        numbers.append((leaf.leaf, middle, (far - left, high - low)))
    if X is not None:
        points = _columns(tree, X, (right, up))
        ax.scatter(points[:, 0], points[:, 1], s=3, color=INK, alpha=0.35, linewidths=0, zorder=2)
    for name, axis in ((right, "x"), (up, "y")):
        _mark_cuts(ax, tree, name, axis)
    for number, middle, size in numbers:
        _write_number(ax, number, middle, size)
    if used := {name: value for name, value in fixed.items() if _is_split(tree, name)}:
        words = ", ".join(f"{name} = {_word(value)}" for name, value in used.items())
        ax.set_title(tidy(f"at {words}", 70), fontsize=9, **PLAIN)
    return ax


def plot_leaf_map(
    tree: GraphTree,
    X: Any,
    ax: Axes | None = None,
    *,
    latitude: str | None = None,
    longitude: str | None = None,
) -> Axes:
    """Draw places on a map, coloured and shaped by the leaf that they belong to.

    A place that belongs to several leaves, because the tree splits on more than where it is, gets
    the one of most of its rows. East and north are to scale in the middle of the map.

    Parameters
    ----------
    tree : GraphTree
        A fitted tree.
    X : array-like or data frame of shape (n, d)
        Covariates of the rows to show, as in the fit.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    latitude, longitude : str, default=None
        Which covariates say where a row is, in degrees; by default those called ``lat`` or
        ``latitude`` and ``lon``, ``lng``, ``long`` or ``longitude``.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from edgewise import GraphTree
    >>> from edgewise.plot import plot_leaf_map
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"lat": rng.uniform(30, 50, 400), "lon": rng.uniform(-120, -70, 400)})
    >>> Y = rng.normal(size=(400, 2))
    >>> Y[:, 0] += np.where(X["lon"] > -95, 2, -2) * Y[:, 1]
    >>> ax = plot_leaf_map(GraphTree(random_state=0).fit(X, Y), X)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('longitude', 'latitude')
    """
    tree = check_tree(tree)
    names = (
        _find(tree, longitude, _LONGITUDE, "longitude"),
        _find(tree, latitude, _LATITUDE, "latitude"),
    )
    rows = _columns(tree, X, names)
    places, number = np.unique(rows, axis=0, return_inverse=True)
    leaf = _most_common(number.reshape(-1), tree.apply(X), len(places))
    height = 5.0
    stretch = 1.0 / max(float(np.cos(np.radians(np.median(places[:, 1])))), 0.1)
    span = np.maximum(np.ptp(places, axis=0), 1e-9)
    shape = float(np.clip(span[0] / (span[1] * stretch), 0.6, 2.2))
    ax = axes_or_new(ax, (height * shape + 0.8, height + 0.6))
    for k in np.unique(leaf).tolist():
        ax.scatter(
            places[leaf == k, 0],
            places[leaf == k, 1],
            s=42 if len(places) <= 400 else 10,
            color=leaf_color(k),
            marker=leaf_marker(k),
            edgecolors=INK,
            linewidths=0.5 if len(places) <= 400 else 0.0,
            zorder=2,
        )
    ax.margins(0.06)
    ax.set_aspect(stretch)
    ax.set_xlabel("longitude")
    ax.set_ylabel("latitude")
    ax.grid(color="#E5E5E5", linewidth=0.6)
    ax.set_axisbelow(True)
    _number_groups(ax, places, leaf)
    return ax


def has_place(tree: GraphTree) -> bool:
    """Whether covariates are called latitude and longitude, so that a map can be drawn."""
    names = {one.name.lower() for one in tree.covariates_ if one.kind == "numeric"}
    return not names.isdisjoint(_LATITUDE) and not names.isdisjoint(_LONGITUDE)


def _two_covariates(tree: GraphTree, wanted: Sequence[str] | None) -> tuple[str, str]:
    """Names of the two covariates to draw."""
    numeric = [covariate.name for covariate in tree.covariates_ if covariate.kind == "numeric"]
    if wanted is not None:
        if len(wanted) != 2 or isinstance(wanted, str) or wanted[0] == wanted[1]:
            raise InputError("two_covariates", wanted=wanted)
        if bad := [name for name in wanted if name not in numeric]:
            raise InputError("covariate_not_numeric", bad=bad, numeric=numeric)
        return str(wanted[0]), str(wanted[1])
    if len(numeric) < 2:
        raise InputError("partition_covariates", n_numeric=len(numeric))
    gain = dict.fromkeys(numeric, 0.0)
    for node in tree.nodes_:
        if node.split is not None and node.split.covariate in gain:
            gain[node.split.covariate] += max(node.split.gain, 0.0)
    best = sorted(numeric, key=lambda name: -gain[name])[:2]
    # Longitude goes right and latitude up, whichever matters more.
    if best[0].lower() in _LATITUDE or best[1].lower() in _LONGITUDE:
        best.reverse()
    return best[0], best[1]


def _others(tree: GraphTree, drawn: tuple[str, str], at: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the covariates that are not drawn."""
    known = [covariate.name for covariate in tree.covariates_]
    if unknown := [name for name in at if name not in known or name in drawn]:
        raise InputError("unknown_fixed_covariate", unknown=unknown, known=known)
    values: dict[str, Any] = {}
    for covariate in tree.covariates_:
        if covariate.name in drawn:
            continue
        first = {"boolean": False, "categorical": (covariate.levels or ("",))[0]}
        middle = (covariate.lower + covariate.upper) / 2.0
        values[covariate.name] = at.get(covariate.name, first.get(covariate.kind, middle))
    return values


def _contains(tree: GraphTree, name: str, inside: tuple[Any, ...], value: Any) -> bool:
    """Whether a part of a box holds a value; beyond the range, the nearest part does."""
    covariate = next(one for one in tree.covariates_ if one.name == name)
    if covariate.kind != "numeric":
        return str(value) in inside
    lower, upper = (float(end) for end in inside)
    inner = float(np.clip(value, covariate.lower, covariate.upper))
    return lower < inner <= upper or (inner == lower == covariate.lower)


def _is_split(tree: GraphTree, name: str) -> bool:
    return any(node.split is not None and node.split.covariate == name for node in tree.nodes_)


def _word(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _draw_area(ax: Axes, leaf: int, corner: tuple[float, float], size: tuple[float, float]) -> None:
    """Fill the rectangle of a leaf; hatched in white where an earlier leaf has its colour."""
    ax.add_patch(
        Rectangle(
            corner, *size, facecolor=leaf_color(leaf), edgecolor=INK, linewidth=0.9, alpha=0.75
        )
    )
    if hatch := leaf_hatch(leaf):
        ax.add_patch(
            Rectangle(
                corner, *size, fill=False, hatch=hatch, edgecolor="white", linewidth=0, alpha=0.7
            )
        )


def _write_number(
    ax: Axes, leaf: int, middle: tuple[float, float], size: tuple[float, float]
) -> None:
    """Write the number of a leaf as large as its rectangle lets it be read, or not at all."""
    spans = (np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim()))
    width, height = room_of(ax) * np.asarray(size) / np.asarray(spans)
    font = min(12.0, width / (0.75 * len(str(leaf))), height / 1.3)
    if font >= _SMALLEST:
        ax.text(
            *middle,
            str(leaf),
            ha="center",
            va="center",
            fontsize=font,
            color=INK,
            path_effects=[withStroke(linewidth=1.5, foreground="white")],
            zorder=4,
        )


def _mark_cuts(ax: Axes, tree: GraphTree, name: str, axis: str) -> None:
    """Put ticks at the cuts and at the ends of the range, named where there is room."""
    covariate = next(one for one in tree.covariates_ if one.name == name)
    ends = [covariate.lower, covariate.upper]
    cuts = [
        node.split.cut
        for node in tree.nodes_
        if node.split is not None and node.split.covariate == name and node.split.cut is not None
    ]
    shown: list[float] = []
    # Splits further up come first in the list of nodes, and get their names first.
    for value in dict.fromkeys([*ends, *cuts]):
        gap = _APART * (ends[1] - ends[0])
        if all(abs(value - other) >= gap for other in shown):
            shown.append(value)
    setter = getattr(ax, f"set_{axis}ticks")
    setter(sorted(shown), labels=[f"{value:.4g}" for value in sorted(shown)], fontsize=8)
    setter(sorted(set(cuts) - set(shown)), minor=True)
    getattr(ax, f"set_{axis}lim")(*ends)
    getattr(ax, f"set_{axis}label")(tidy(name), **PLAIN)
    if axis == "x" and np.diff(sorted(shown)).min(initial=np.inf) < _READABLE * (ends[1] - ends[0]):
        ax.tick_params(axis="x", labelrotation=90)


def _find(tree: GraphTree, wanted: str | None, usual: Sequence[str], what: str) -> str:
    names = [covariate.name for covariate in tree.covariates_]
    if wanted is not None and wanted not in names:
        raise InputError("unknown_covariate", wanted=wanted, names=names)
    found = wanted or next((name for name in names if name.lower() in usual), None)
    if found is None:
        raise InputError("no_covariate_called", names=names, what=what)
    return found


def _columns(tree: GraphTree, X: Any, names: Sequence[str]) -> FloatArray:
    """Take numeric covariates out of a table."""
    known = [covariate.name for covariate in tree.covariates_]
    if hasattr(X, "columns"):
        return np.column_stack([np.asarray(X[name], dtype=np.float64) for name in names])
    values = np.asarray(X)
    return np.column_stack([values[:, known.index(name)].astype(np.float64) for name in names])


def _most_common(number: IntArray, leaf: IntArray, n_places: int) -> IntArray:
    """Leaf of most rows of each place; of equal ones the first."""
    counts = np.zeros((n_places, int(leaf.max()) + 1), dtype=np.int64)
    np.add.at(counts, (number, leaf), 1)
    most: IntArray = counts.argmax(axis=1)
    return most


def _number_groups(ax: Axes, places: FloatArray, leaf: IntArray) -> None:
    """Write the number of each leaf above the place of it that is nearest to its middle."""
    span = np.maximum(np.ptp(places, axis=0), 1e-9)
    taken: list[FloatArray] = []
    for k in np.unique(leaf).tolist():
        own = places[leaf == k]
        middle = own[np.argmin((((own - own.mean(axis=0)) / span) ** 2).sum(axis=1))]
        if any((np.abs((middle - other) / span) < (0.02, 0.03)).all() for other in taken):
            continue
        taken.append(middle)
        ax.annotate(
            str(k),
            (float(middle[0]), float(middle[1])),
            (0, 5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8,
            path_effects=[withStroke(linewidth=2, foreground="white")],
            zorder=4,
        )
