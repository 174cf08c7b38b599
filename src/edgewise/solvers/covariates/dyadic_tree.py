r"""Trees of least risk: cuts that a scan found, greedy halving with lookahead, and the optimum.

A tree cuts the unit cube into cells, halving one coordinate at a time. Its risk is the sum over
its leaves; the penalised risk adds a price that depends on the number of leaves alone. Either
search looks at some cells and some of the ways to halve each; among all trees made of those the
best is found by dynamic programming, so that a grown tree is pruned by the same rule by which the
optimum over all cells is found.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.covariates.dyadic_cells import Cell, GaussianCells
from edgewise.solvers.covariates.scan import Cut

#: A difference in risk up to this counts as none, so that rounding decides nothing.
SLACK = 1e-10

Key = tuple[int, ...]
#: Cells that a search has found, ways to halve them, and how many risks were computed.
Found = tuple["dict[Key, Cell]", "dict[Key, list[Halving]]", int]
#: Price of a tree by its number of leaves, increasing and convex.
Price = Callable[[int], float]


class Halving(NamedTuple):
    """One way to go on from a cell: what it gains in risk, and how likely that is by chance."""

    coordinate: int
    left: Key
    right: Key
    gain: float = math.nan
    p_value: float = math.nan


@dataclass(frozen=True, kw_only=True, eq=False)
class Branch:
    """A tree from one cell down.

    Attributes
    ----------
    cell : Cell
        The cell.
    coordinate : int or None
        What it is halved by; None for a leaf.
    children : tuple of Branch
        The lower and the upper half; empty for a leaf.
    gain, p_value : float
        What the split gains in risk, and how likely a larger difference is by chance; NaN where
        that was not tested.
    """

    cell: Cell
    coordinate: int | None = None
    children: tuple[Branch, ...] = ()
    gain: float = 0.0
    p_value: float = math.nan

    @property
    def total_gain(self) -> float:
        """Gain of all splits from here down."""
        return self.gain + sum(child.total_gain for child in self.children)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return 1 if not self.children else sum(c.n_leaves for c in self.children)


def best_tree(
    cells: dict[Key, Cell],
    ways: dict[Key, list[Halving]],
    root: Key,
    *,
    min_gain: float = 0.0,
    price: Price | None = None,
) -> Branch:
    """Find the best tree made of the halvings given, by dynamic programming from below.

    Parameters
    ----------
    cells : dict
        Cells by key.
    ways : dict
        For a key the ways to halve that cell, whose halves are among ``cells``, with their gains.
    root : tuple of int
        Key of the whole.
    min_gain, price
        As in `optimal_tree`.

    Returns
    -------
    Branch
    """
    per_halving = min_gain if price is None else 0.0
    from_below = sorted(cells, key=lambda key: -cells[key].depth)
    value: dict[Key, float] = {}
    choice: dict[Key, Halving] = {}
    for key in from_below:
        # Risk in excess of that of the cell itself.
        value[key] = 0.0
        for way in ways.get(key, ()):
            total = value[way.left] + value[way.right] - way.gain + per_halving
            if total < value[key] - SLACK:
                value[key] = total
                choice[key] = way
    if price is None:
        return _follow(cells, choice, root)
    # No tree can pay for more leaves than the least risk of all would leave room for.
    room = price(1) - value[root]
    most = 1
    while most < len(cells) and price(most + 1) <= room:
        most += 1
    tables = _tables(cells, ways, from_below, most)
    total = tables[root] + np.array([price(m) for m in range(1, len(tables[root]) + 1)])
    n_leaves = 1 + int(np.flatnonzero(total <= total.min() + SLACK)[0])
    return _unfold(cells, ways, tables, root, n_leaves)


def _follow(cells: dict[Key, Cell], choice: dict[Key, Halving], key: Key) -> Branch:
    if key not in choice:
        return Branch(cell=cells[key])
    way = choice[key]
    children = (_follow(cells, choice, way.left), _follow(cells, choice, way.right))
    return _branch(cells[key], way, children)


def _branch(cell: Cell, way: Halving, children: tuple[Branch, ...]) -> Branch:
    return Branch(
        cell=cell,
        coordinate=way.coordinate,
        children=children,
        gain=way.gain,
        p_value=way.p_value,
    )


def _tables(
    cells: dict[Key, Cell], ways: dict[Key, list[Halving]], from_below: list[Key], most: int
) -> dict[Key, FloatArray]:
    """Least risk of each cell with 1, 2, ... leaves, up to ``most``, in excess of its own."""
    tables: dict[Key, FloatArray] = {}
    for key in from_below:
        halves = [(tables[way.left] - way.gain, tables[way.right]) for way in ways.get(key, ())]
        longest = max((min(most, len(a) + len(b)) for a, b in halves), default=1)
        table = np.full(longest, np.inf)
        table[0] = 0.0
        for left, right in halves:
            for m, risk in enumerate(left[: most - 1], start=1):
                reached = table[m : m + len(right)]
                np.minimum(reached, risk + right[: len(reached)], out=reached)
        tables[key] = table
    return tables


def _unfold(
    cells: dict[Key, Cell],
    ways: dict[Key, list[Halving]],
    tables: dict[Key, FloatArray],
    key: Key,
    n_leaves: int,
) -> Branch:
    """Find the tree of so many leaves that a table's entry stands for."""
    if n_leaves == 1:
        return Branch(cell=cells[key])
    best = (math.inf, 0, ways[key][0])
    for way in ways[key]:
        left, right = tables[way.left] - way.gain, tables[way.right]
        for m in range(max(1, n_leaves - len(right)), min(len(left), n_leaves - 1) + 1):
            total = float(left[m - 1] + right[n_leaves - m - 1])
            if total < best[0] - SLACK:
                best = (total, m, way)
    _, m, way = best
    children = (
        _unfold(cells, ways, tables, way.left, m),
        _unfold(cells, ways, tables, way.right, n_leaves - m),
    )
    return _branch(cells[key], way, children)


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeSearch:
    """The best tree that a search found.

    Attributes
    ----------
    tree : Branch
        The tree.
    risk : float
        Its risk, without the price.
    n_cells : int
        Cells whose risk was computed.
    """

    tree: Branch
    risk: float
    n_cells: int


def greedy_tree(
    cells: GaussianCells, *, lookahead: int = 0, min_gain: float = 0.0, price: Price | None = None
) -> TreeSearch:
    """Halve each cell where that lowers its risk most, then prune.

    Parameters
    ----------
    cells : GaussianCells
        Where cells and their risks come from.
    lookahead : int
        How many levels below the last halving that paid off growth goes on; 0 stops at once.
    min_gain : float
        Decrease in risk that each leaf beyond the first must be worth.
    price : callable, optional
        Price of a number of leaves instead. A halving then pays off if it beats the price of a
        second leaf, the least that any leaf costs.

    Returns
    -------
    TreeSearch
    """
    worth = max(SLACK, min_gain if price is None else price(2) - price(1))
    return _best(cells, *_grow(cells, lookahead, worth), min_gain, price)


def _grow(cells: GaussianCells, lookahead: int, worth: float) -> Found:
    """Halve each cell where that lowers its risk most, and so many levels below what pays off."""
    root = cells.root()
    known = {root.key: root}
    ways: dict[Key, list[Halving]] = {}
    frontier = [(root, lookahead)]
    n_cells = 1
    while frontier:
        grown = []
        all_risks = cells.split([cell for cell, _ in frontier])
        for (cell, budget), risks in zip(frontier, all_risks, strict=True):
            n_cells += int(np.count_nonzero(~np.isnan(risks)))
            coordinate, gain = _best_halving(cell, risks)
            if coordinate < 0 or (gain <= worth and budget <= 0):
                continue
            halves = [
                cells.child(cell, coordinate, side, float(risks[coordinate, side]))
                for side in (0, 1)
            ]
            known.update((half.key, half) for half in halves)
            ways[cell.key] = [Halving(coordinate, halves[0].key, halves[1].key)]
            left = lookahead if gain > worth else budget - 1
            grown += [(half, left) for half in halves]
        frontier = grown
    return known, ways, n_cells


def scanned_tree(
    cells: GaussianCells,
    first: Cut | None,
    *,
    min_gain: float = 0.0,
    price: Price | None = None,
) -> TreeSearch:
    """Prune a tree of cuts that a scan has found to the best one.

    Parameters
    ----------
    cells : GaussianCells
        Where cells and their risks come from. Each cut is a coordinate, that can be halved once,
        in the order in which ``first`` goes through them.
    first : Cut or None
        The first cut, see `scan_tree`.
    min_gain, price
        As in `greedy_tree`.

    Returns
    -------
    TreeSearch
    """
    return _best(cells, *_cut(cells, first), min_gain, price)


def _cut(cells: GaussianCells, first: Cut | None) -> Found:
    """Follow the cuts that a scan has found."""
    cuts = [] if first is None else list(first)
    numbers = {id(cut): number for number, cut in enumerate(cuts)}
    root = cells.root()
    found, ways = [root], {}
    frontier = [(root, first)]
    while frontier:
        cell, cut = frontier.pop()
        if cut is not None:
            k = numbers[id(cut)]
            halves = [cells.child(cell, k, side, math.nan) for side in (0, 1)]
            found += halves
            ways[cell.key] = [Halving(k, halves[0].key, halves[1].key, p_value=cut.p_value)]
            frontier += zip(halves, (cut.left, cut.right), strict=True)
    known = {cell.key: cell for cell in cells.with_risks(found)}
    return known, ways, len(known)


def optimal_tree(
    cells: GaussianCells,
    *,
    min_gain: float = 0.0,
    price: Price | None = None,
    max_cells: int = 25_000,
) -> TreeSearch:
    r"""Find the dyadic tree of least risk among all there are.

    With :math:`R` the risk of a cell and :math:`A^k_0, A^k_1` its halves by coordinate k,

    .. math:: V(A) = \min\bigl( R(A),\; g + \min_k V(A^k_0) + V(A^k_1) \bigr)

    is the least risk of a tree on :math:`A` with a price of g per halving, each cell being solved
    once. A price that depends on the number of leaves m in another way is not a sum over them;
    then :math:`V(A, m)` is kept for every m.

    Parameters
    ----------
    cells : GaussianCells
        Where cells and their risks come from.
    min_gain : float
        Decrease in risk that each leaf beyond the first must be worth.
    price : callable, optional
        Price of a number of leaves instead, increasing and convex.
    max_cells : int
        Refuse if more cells than this hold enough rows.

    Returns
    -------
    TreeSearch

    Raises
    ------
    InputError
        With the number of cells, if there are too many.
    """
    _refuse_too_many(cells, max_cells)
    return _best(cells, *_all_cells(cells), min_gain, price)


def _all_cells(cells: GaussianCells) -> Found:
    """Go through all cells and all ways to halve them."""
    root = cells.root()
    known = {root.key: root}
    frontier = [root]
    while frontier:
        found = []
        for cell, risks in zip(frontier, cells.split(frontier, in_order=True), strict=True):
            for coordinate, side in np.argwhere(~np.isnan(risks)).tolist():
                found.append(cells.child(cell, coordinate, side, float(risks[coordinate, side])))
        known.update((cell.key, cell) for cell in found)
        frontier = found
    return known, {key: _ways(cell, known) for key, cell in known.items()}, len(known)


def steepest_gain(cells: GaussianCells, search: str, first: Cut | None, lookahead: int) -> float:
    r"""Find the largest gamma at which a tree would have any split.

    .. math:: \max_{m > 1} \; (R_1 - R_m) / (\operatorname{pen}(m) - \operatorname{pen}(1)),

    with :math:`R_m` the least risk of a tree with m leaves among the cells that the search looks
    at where nothing pays off, and pen the price of `code_length_price` with a gamma of 1.

    Parameters
    ----------
    cells : GaussianCells
        Where cells and their risks come from.
    search : {"greedy", "halving", "optimal"}
        As in `GraphTree`.
    first : Cut or None
        For ``"greedy"``, the first cut of a scan.
    lookahead : int
        For ``"halving"``, how many levels the search looks ahead.

    Returns
    -------
    float
        0 where no tree has less risk than none.
    """
    if search == "greedy":
        known, ways, _ = _cut(cells, first)
    elif search == "halving":
        known, ways, _ = _grow(cells, max(lookahead, 1), math.inf)
    else:
        known, ways, _ = _all_cells(cells)
    judged, gaining = _judge(cells, known, ways)
    root = next(iter(judged))
    from_below = sorted(judged, key=lambda key: -judged[key].depth)
    risks = _tables(judged, gaining, from_below, len(judged))[root]
    n, p = cells.train.Y.shape
    price = code_length_price(n, p, max(len(cells.depths), 1), 1.0)
    largest = max(
        (-float(risks[m - 1]) / (price(m) - price(1)) for m in range(2, len(risks) + 1)),
        default=0.0,
    )
    return max(largest, _steepest_below(cells, price)) if search == "halving" else largest


def _steepest_below(cells: GaussianCells, price: Price) -> float:
    """Extrapolate from one path to the smallest cells what full trees of each depth would gain.

    Small cells adapt to their rows more than large ones: where the root gains nothing by chance,
    a tree that splits for a reason would go on for none.
    """
    cell, gained, largest, n_leaves = cells.root(), 0.0, 0.0, 1
    while True:
        (risks,) = cells.split([cell])
        coordinate, gain = _best_halving(cell, risks)
        if coordinate < 0:
            return largest
        gained += n_leaves * gain
        n_leaves *= 2
        largest = max(largest, gained / (price(n_leaves) - price(1)))
        side = cell.depth % 2
        cell = cells.child(cell, coordinate, side, float(risks[coordinate, side]))


def code_length_price(n: int, p: int, d: int, gamma: float) -> Price:
    r"""Price of the penalised form, by the length of a prefix code for trees.

    .. math::
        \gamma\, m \sqrt{\frac{[[T]] \log 2 + 2 \log(n p)}{n}}, \qquad
        [[T]] = 3 m - 1 + (m - 1) \log_2 d,

    for m leaves, n rows, p responses and d coordinates (Liu et al. 2010, definition 3.1).

    Examples
    --------
    >>> price = code_length_price(1000, 20, 2, gamma=0.1)
    >>> [round(price(m), 4) for m in (1, 2, 3)]
    [0.0146, 0.031, 0.0491]
    """

    def price(m: int) -> float:
        code = 3.0 * m - 1.0 + (m - 1.0) * math.log2(d)
        return gamma * m * math.sqrt((code * math.log(2.0) + 2.0 * math.log(n * p)) / n)

    return price


def count_cells(depths: IntArray, max_total_depth: int) -> int:
    """Count the cells of a cube whose coordinates can be halved so often each, and in all.

    Examples
    --------
    >>> count_cells(np.array([10, 10]), 7)
    1793
    """
    by_depth = [1]
    for depth in depths.tolist():
        deepest = min(len(by_depth) - 1 + depth, max_total_depth)
        longer = [0] * (deepest + 1)
        for before, count in enumerate(by_depth):
            for k in range(min(depth, deepest - before) + 1):
                longer[before + k] += count << k
        by_depth = longer
    return sum(by_depth)


def _best(
    cells: GaussianCells,
    known: dict[Key, Cell],
    ways: dict[Key, list[Halving]],
    n_cells: int,
    min_gain: float,
    price: Price | None,
) -> TreeSearch:
    """Put the best tree of the cells that were found together."""
    judged, gaining = _judge(cells, known, ways)
    root = next(iter(judged))
    tree = best_tree(judged, gaining, root, min_gain=min_gain, price=price)
    return TreeSearch(tree=tree, risk=judged[root].risk - tree.total_gain, n_cells=n_cells)


def _judge(
    cells: GaussianCells, known: dict[Key, Cell], ways: dict[Key, list[Halving]]
) -> tuple[dict[Key, Cell], dict[Key, list[Halving]]]:
    """Judge all cells that were found, the root being the first, and what halvings gain."""
    judged = {cell.key: cell for cell in cells.judge(list(known.values()))}
    gaining = {
        key: [
            way._replace(gain=cells.gain(judged[key], [judged[way.left], judged[way.right]]))
            for way in of_cell
        ]
        for key, of_cell in ways.items()
    }
    return judged, gaining


def _best_halving(cell: Cell, risks: FloatArray) -> tuple[int, float]:
    """Coordinate of the largest gain and that gain; the first of those that are equal."""
    gains = cell.risk - risks.sum(axis=1)
    if np.isnan(gains).all():
        return -1, -math.inf
    best = int(np.flatnonzero(gains >= np.nanmax(gains) - SLACK)[0])
    return best, float(gains[best])


def _ways(cell: Cell, known: dict[Key, Cell]) -> list[Halving]:
    """Ways to halve a cell into two that are known."""
    d = len(cell.levels)
    ways = []
    for k in range(d):
        key = list(cell.key)
        key[k] += 1
        key[d + k] *= 2
        left = tuple(key)
        key[d + k] += 1
        right = tuple(key)
        if left in known and right in known:
            ways.append(Halving(k, left, right))
    return ways


def _refuse_too_many(cells: GaussianCells, max_cells: int) -> None:
    """Raise with the number of cells where more than ``max_cells`` hold enough rows."""
    n_cells = count_cells(cells.depths, cells.max_total_depth)
    if n_cells <= max_cells or _has_few_cells(cells, max_cells):
        return
    deepest = 0
    while count_cells(cells.depths, deepest + 1) <= max_cells:
        deepest += 1
    shown = f"{n_cells:,}" if n_cells < 10**12 else f"{float(n_cells):.1e}"
    n_coordinates = int(np.count_nonzero(cells.depths))
    raise InputError(
        "exact_tree_too_large",
        shown=shown,
        n_coordinates=n_coordinates,
        max_cells=max_cells,
        deepest=deepest,
        count_cells=count_cells(cells.depths, deepest),
    )


def _has_few_cells(cells: GaussianCells, max_cells: int) -> bool:
    """Whether no more than so many cells hold enough rows; counts rows, fits nothing."""
    n_cells = 1
    # Children are made when their turn comes: most never are, where there are too many.
    waiting: deque[Callable[[], Cell]] = deque([cells.root])
    while waiting:
        cell = waiting.popleft()()
        counts = cells.counts(cell, in_order=True)
        found = np.argwhere(counts >= cells.min_samples).tolist()
        n_cells += len(found)
        if n_cells > max_cells:
            return False
        waiting += [partial(cells.child, cell, k, side, math.nan) for k, side in found]
    return True
