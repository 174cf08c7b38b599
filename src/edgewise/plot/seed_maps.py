"""Maps of the weights that join one site of a grid to all others."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import log, prod
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.data.neighbors import site_positions
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.plot._canvas import DIVERGING, INK, PLAIN, axes_or_new, tidy
from edgewise.plot._labels import label_sizes


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Cells in rows and columns, some of which are sites.

    Attributes
    ----------
    shape : tuple of int
        One to three sizes of the grid.
    row, column : ndarray of shape (n_nodes,)
        Cell of each site; slices are parted by an empty column.
    """

    shape: tuple[int, ...]
    row: IntArray
    column: IntArray

    @property
    def n_rows(self) -> int:
        """Rows of a slice."""
        return self.shape[-2] if len(self.shape) > 1 else 1

    @property
    def n_columns(self) -> int:
        """Columns of all slices, and the empty ones between them."""
        return len(self.slices) * (self.shape[-1] + 1) - 1

    @property
    def slices(self) -> range:
        """First column of each slice; a grid of fewer than three sizes is one slice."""
        n_slices = self.shape[0] if len(self.shape) == 3 else 1
        return range(0, n_slices * (self.shape[-1] + 1), self.shape[-1] + 1)

    @property
    def slice_centers(self) -> list[float]:
        """Middle column of each slice."""
        return [first + (self.shape[-1] - 1) / 2 for first in self.slices]

    @property
    def slice_names(self) -> list[str]:
        """What to write at each slice: its number, at the first with the word."""
        return [f"{'' if number else 'slice '}{number}" for number in range(len(self.slices))]

    def cells(self, values: FloatArray) -> FloatArray:
        """Put one value per site into its cell; cells without a site are NaN."""
        cells = np.full((self.n_rows, self.n_columns), np.nan)
        cells[self.row, self.column] = values
        return cells

    def missing(self) -> IntArray:
        """Row and column of every place of the grid that has no site."""
        is_free = np.isnan(self.cells(np.zeros(len(self.row))))
        is_free[:, [first - 1 for first in self.slices[1:]]] = False
        return np.argwhere(is_free)


def lay_out(shape: ArrayLike, n_nodes: int, mask: ArrayLike | None) -> Sheet:
    """Find the cell of each node, the sites that ``mask`` leaves being in row-major order."""
    if np.ndim(shape) != 1:
        raise InputError("seed_map_shape", shape=shape)
    column, row = np.asarray(site_positions(shape, n_nodes, mask=mask)).T
    return Sheet(
        shape=tuple(np.asarray(shape, dtype=np.int64).tolist()),
        row=np.rint(-row).astype(np.int64),
        column=np.rint(column).astype(np.int64),
    )


def spread_sites(sheet: Sheet, fewest: int, most: int) -> tuple[list[int], tuple[int, ...]]:
    """Choose between ``fewest`` and ``most`` sites that are spread evenly over the grid.

    Returns
    -------
    nodes : list of int
        The sites, all where there are no more than ``most``.
    counts : tuple of int
        How many there are along each axis of the full grid.
    """
    if prod(sheet.shape) <= most:
        return list(range(len(sheet.row))), sheet.shape
    choices = product(*(range(1, min(size, most) + 1) for size in sheet.shape))

    def unevenness(choice: tuple[int, ...]) -> float:
        return float(np.ptp(np.log(np.divide(sheet.shape, choice))))

    counts = min((choice for choice in choices if fewest <= prod(choice) <= most), key=unevenness)
    targets = product(
        *(
            ((np.arange(count) + 0.5) * size / count).astype(int)
            for size, count in zip(sheet.shape, counts, strict=True)
        )
    )
    width = sheet.shape[-1] + 1
    sites = np.column_stack([sheet.column // width, sheet.row, sheet.column % width])
    nodes: list[int] = []
    for target in list(targets)[: len(sites)]:
        distance = np.linalg.norm(sites[:, -len(target) :] - target, axis=1)
        # A place without a site is stood in for by the nearest one that is still free.
        distance[nodes] = np.inf
        nodes.append(int(np.argmin(distance)))
    return nodes, counts


#: Cells are parted by lines up to this many rows and columns.
_PARTED = 64
_LINES, _FRAME = "#E0E0E0", "#B0B0B0"
#: Seeds shown when none are named: at least and at most.
_SEEDS = (9, 12)
#: Sheets wider than this many times their height have the scale of colours below.
_WIDE = 1.8


def plot_seed_map(
    graph: Graph,
    seed: str | int,
    shape: Sequence[int],
    ax: Axes | None = None,
    *,
    mask: ArrayLike | None = None,
    limit: float | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw the weights between one site of a grid and all others as an image.

    White is zero, blue above and orange below; the seed is a black square in a black frame, sites
    that do not exist are hatched, and an edge whose weight is not known is grey. In a directed
    graph the weights are those of the arcs from the seed.

    Parameters
    ----------
    graph : Graph
        Nodes are the sites of the grid in row-major order.
    seed : str or int
        Name or number of the site.
    shape : sequence of int
        One to three sizes of the grid. The slices of a grid with three sizes, along its first
        axis, stand side by side.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    mask : array-like of bool, default=None
        Of the grid's shape, True where a site exists.
    limit : float, default=None
        Weight at both ends of the scale of colours; None takes the largest of the seed.
    colorbar : bool, default=True
        Whether to draw the scale of colours.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_seed_map
    >>> weights = np.zeros((6, 6))
    >>> weights[1, 5] = weights[5, 1] = 0.5
    >>> ax = plot_seed_map(Graph(weights), "x1", (2, 3))
    >>> ax.images[0].get_array().tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]]
    """
    sheet = lay_out(shape, graph.n_nodes, mask)
    node = _node(graph, seed)
    scale = _limit(graph, [node], limit)
    ax = axes_or_new(ax, _figure_size(sheet))
    image = _draw_map(ax, graph, node, sheet, scale)
    ax.set_title(f"seed {tidy(graph.names[node])}", fontsize=10, **PLAIN)
    _write_ticks(ax, sheet)
    if colorbar:
        _draw_colorbar([ax], image, _largest(graph, [node]) > scale, sheet)
    return ax


def plot_seed_maps(
    graph: Graph,
    seeds: Iterable[str | int] | None = None,
    *,
    shape: Sequence[int],
    mask: ArrayLike | None = None,
    limit: float | None = None,
) -> Figure:
    """Draw the maps of several seeds side by side, in one scale of colours.

    Parameters
    ----------
    graph : Graph
        Nodes are the sites of the grid in row-major order.
    seeds : iterable of str or int, default=None
        Names or numbers of sites; None takes 9 to 12 that are spread evenly over the grid.
    shape : sequence of int
        One to three sizes of the grid, as in `plot_seed_map`.
    mask : array-like of bool, default=None
        Of the grid's shape, True where a site exists.
    limit : float, default=None
        Weight at both ends of the scale of colours; None takes the largest of all seeds.

    Returns
    -------
    matplotlib.figure.Figure
        One map per seed.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import Graph
    >>> from edgewise.plot.seed_maps import plot_seed_maps
    >>> figure = plot_seed_maps(Graph(np.zeros((64, 64))), shape=(8, 8))
    >>> [ax.get_title() for ax in figure.axes[:3]]
    ['x9', 'x12', 'x14']
    """
    sheet = lay_out(shape, graph.n_nodes, mask)
    if seeds is None:
        nodes, n_columns = _spread_seeds(sheet)
    else:
        nodes = [_node(graph, seed) for seed in seeds]
        n_columns = _panel_columns(len(nodes), sheet)
    scale = _limit(graph, nodes, limit)
    figure, panels = _panels(sheet, len(nodes), n_columns)
    for ax, node in zip(panels, nodes, strict=True):
        image = _draw_map(ax, graph, node, sheet, scale)
        _name_panel(ax, graph.names[node], sheet, n_columns)
    _draw_colorbar(panels, image, _largest(graph, nodes) > scale, sheet)
    return figure


def _node(graph: Graph, seed: str | int) -> int:
    """Find the node that ``seed`` names."""
    if isinstance(seed, str):
        if seed in graph.names:
            return graph.names.index(seed)
        near = difflib.get_close_matches(seed, graph.names, n=3, cutoff=0.5)
        advice = (
            f"Near names: {quote_names(near)}" if near else f"Names: {quote_names(graph.names)}"
        )
        raise InputError("unknown_site", seed=seed, advice=advice)
    if not 0 <= seed < graph.n_nodes:
        raise InputError(
            "site_out_of_range", seed=seed, n_nodes=graph.n_nodes, n_nodes2=graph.n_nodes - 1
        )
    return int(seed)


def _spread_seeds(sheet: Sheet) -> tuple[list[int], int]:
    """Choose seeds, and how many maps stand in a row: where it fits, as the seeds on the grid."""
    nodes, counts = spread_sites(sheet, *_SEEDS)
    if len(counts) == 2 and 1 / _WIDE <= sheet.n_columns / sheet.n_rows <= _WIDE:
        return nodes, min(counts[1], len(nodes))
    return nodes, _panel_columns(len(nodes), sheet)


def _largest(graph: Graph, nodes: Sequence[int]) -> float:
    return float(np.abs(graph.weights[nodes]).max())


def _limit(graph: Graph, nodes: Sequence[int], limit: float | None) -> float:
    if limit is None:
        return _largest(graph, nodes) or 1.0
    if not 0 < limit < np.inf:
        raise InputError("limit_positive", limit=limit)
    return float(limit)


def _draw_map(ax: Axes, graph: Graph, node: int, sheet: Sheet, limit: float) -> AxesImage:
    weights = sheet.cells(graph.weights[node])
    is_unknown = sheet.cells(graph.adjacency[node] & (graph.weights[node] == 0)) == 1
    is_empty = np.isnan(weights)
    image = ax.imshow(
        np.ma.masked_array(weights, mask=is_empty | is_unknown),
        cmap=DIVERGING,
        vmin=-limit,
        vmax=limit,
        alpha=np.where(is_empty, 0.0, 1.0),
        interpolation="nearest",
        aspect="auto" if len(sheet.shape) == 1 else "equal",
    )
    _draw_frame(ax, sheet)
    _draw_seed(ax, sheet.column[node], sheet.row[node])
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return image


def _draw_seed(ax: Axes, column: int, row: int) -> None:
    """Mark a cell by what no weight looks like, in grey tones as well."""
    for side, color in ((1.0, "white"), (0.5, INK)):
        corner = (column - side / 2, row - side / 2)
        square = Rectangle(corner, side, side, facecolor=color, edgecolor=INK, zorder=4)
        ax.add_patch(square).set_clip_on(False)


def _draw_frame(ax: Axes, sheet: Sheet) -> None:
    """Hatch places without a site, part the cells and frame the slices."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) / 2
    missing = Path.make_compound_path(
        *(Path(cell + corners, closed=True) for cell in sheet.missing()[:, ::-1])
    )
    style: dict[str, Any] = {"facecolor": "#E4E4E4", "edgecolor": "#A0A0A0", "linewidth": 0}
    ax.add_patch(PathPatch(missing, hatch="/////", **style))
    width, height = sheet.shape[-1], sheet.n_rows
    for left in sheet.slices:
        if max(width, height) <= _PARTED:
            rows, columns = np.arange(1, height) - 0.5, left + np.arange(1, width) - 0.5
            ax.hlines(rows, left - 0.5, left + width - 0.5, colors=_LINES, linewidths=0.4)
            ax.vlines(columns, -0.5, height - 0.5, colors=_LINES, linewidths=0.4)
        frame = Rectangle((left - 0.5, -0.5), width, height, fill=False, edgecolor=_FRAME)
        ax.add_patch(frame).set(linewidth=0.8, clip_on=False)


def _write_ticks(ax: Axes, sheet: Sheet) -> None:
    """Write the numbers of rows and columns, or of slices where there are several."""
    ax.tick_params(length=0, labelsize=8)
    if len(sheet.shape) == 3:
        ax.set_xticks(sheet.slice_centers, labels=sheet.slice_names)
        return
    ax.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    ax.set_xlabel("site" if len(sheet.shape) == 1 else "column", fontsize=8)
    if len(sheet.shape) == 2:
        ax.yaxis.set_major_locator(MaxNLocator(10, integer=True))
        ax.set_ylabel("row", fontsize=8)


def _name_panel(ax: Axes, name: str, sheet: Sheet, n_columns: int) -> None:
    if len(sheet.shape) == 1:
        style: dict[str, Any] = {"rotation": 0, "ha": "right", "va": "center", "fontsize": 8}
        ax.set_ylabel(tidy(name), **style, **PLAIN)
        return
    title = _cut(name, 0.95 * 72 * _panel_size(sheet, n_columns)[0])
    is_split = len(sheet.shape) == 3
    place: Literal["left", "center"] = "left" if is_split else "center"
    ax.set_title(title, loc=place, fontsize=8, pad=3, **PLAIN)
    if is_split:
        ax.set_xticks(sheet.slice_centers, labels=sheet.slice_names)
        ax.tick_params(length=0, labelsize=6.5, pad=1)


def _cut(name: str, room: float) -> str:
    """Cut ``name`` until it is at most so many points wide."""
    texts = [tidy(name, limit) for limit in range(24, 3, -1)]
    widths = label_sizes(texts, 8.0)[:, 0]
    return next(
        (text for text, width in zip(texts, widths, strict=True) if width <= room), texts[-1]
    )


def _draw_colorbar(axes: Sequence[Axes], image: AxesImage, is_cut: bool, sheet: Sheet) -> None:
    is_wide = _is_wide(sheet)
    bar = axes[0].figure.colorbar(
        image,
        ax=list(axes),
        label="weight",
        location="bottom" if is_wide else "right",
        extend="both" if is_cut else "neither",
        shrink=0.5 if is_wide else 0.7,
        aspect=35 if is_wide else 25,
        pad=0.02,
        ticks=MaxNLocator(6),
    )
    bar.outline.set_visible(False)


def _is_wide(sheet: Sheet) -> bool:
    return sheet.n_columns > _WIDE * sheet.n_rows


def _figure_size(sheet: Sheet) -> tuple[float, float]:
    if len(sheet.shape) == 1:
        return (9.0, 1.8)
    ratio = sheet.n_rows / sheet.n_columns
    if _is_wide(sheet):
        return (10.0, 10.0 * ratio + 1.2)
    height = 5.0 if ratio <= 1 else 6.5
    return (max(height / ratio + 1.2, 3.0), height + 0.6)


def _panel_size(sheet: Sheet, n_columns: int) -> tuple[float, float]:
    """Width and height of one map in inches, with its name."""
    if len(sheet.shape) == 1:
        return (8.0, 0.42)
    ratio = sheet.n_rows / sheet.n_columns
    width = max(min(8.0 / n_columns, 3.0 / ratio), 0.8)
    return (width, min(width * ratio, 3.0) + (0.3 if len(sheet.shape) == 3 else 0.2))


def _panel_columns(n_panels: int, sheet: Sheet) -> int:
    """Choose how many panels stand in a row, so that the figure is a little wider than high."""
    if not n_panels:
        raise InputError("no_seeds")
    if len(sheet.shape) == 1:
        return 1

    def misfit(n_columns: int) -> float:
        width, height = _panel_size(sheet, n_columns)
        return abs(log(n_columns * width / (-(-n_panels // n_columns) * height) / 1.2))

    return min(range(1, n_panels + 1), key=misfit)


def _panels(sheet: Sheet, n_panels: int, n_columns: int) -> tuple[Figure, list[Axes]]:
    n_rows = -(-n_panels // n_columns)
    width, height = _panel_size(sheet, n_columns)
    bar = (0.0, 0.8) if _is_wide(sheet) else (1.0, 0.0)
    size = (n_columns * width + bar[0], n_rows * height + bar[1])
    # Maps must stand further apart than the slices of one map.
    engine = ConstrainedLayoutEngine(wspace=0.06 if len(sheet.shape) == 3 else 0.02)
    figure = Figure(figsize=size, layout=engine)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for spare in axes[n_panels:]:
        spare.remove()
    return figure, axes[:n_panels]
