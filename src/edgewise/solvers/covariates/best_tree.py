"""The best tree made of given cells and given ways to halve them, by dynamic programming."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.solvers.covariates.cells import Cell

#: A difference in risk up to this counts as none, so that rounding decides nothing.
SLACK = 1e-10

Key = tuple[int, ...]
#: Price of a tree by its number of leaves, increasing and convex.
Price = Callable[[int], float]


class Halving(NamedTuple):
    """One way to go on from a cell."""

    coordinate: int
    left: Key
    right: Key


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
    """

    cell: Cell
    coordinate: int | None = None
    children: tuple[Branch, ...] = ()

    @property
    def risk(self) -> float:
        """Sum of the risks of the leaves."""
        return self.cell.risk if not self.children else sum(c.risk for c in self.children)

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
        For a key the ways to halve that cell, whose halves are among ``cells``.
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
        value[key] = cells[key].risk
        for way in ways.get(key, ()):
            total = value[way.left] + value[way.right] + per_halving
            if total < value[key] - SLACK:
                value[key] = total
                choice[key] = way
    if price is None:
        return _follow(cells, choice, root)
    # No tree can pay for more leaves than the least risk of all would leave room for.
    room = cells[root].risk + price(1) - value[root]
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
    return Branch(cell=cells[key], coordinate=way.coordinate, children=children)


def _tables(
    cells: dict[Key, Cell], ways: dict[Key, list[Halving]], from_below: list[Key], most: int
) -> dict[Key, FloatArray]:
    """Least risk of each cell with 1, 2, ... leaves, up to ``most``."""
    tables: dict[Key, FloatArray] = {}
    for key in from_below:
        halves = [(tables[way.left], tables[way.right]) for way in ways.get(key, ())]
        longest = max((min(most, len(a) + len(b)) for a, b in halves), default=1)
        table = np.full(longest, np.inf)
        table[0] = cells[key].risk
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
        left, right = tables[way.left], tables[way.right]
        for m in range(max(1, n_leaves - len(right)), min(len(left), n_leaves - 1) + 1):
            total = float(left[m - 1] + right[n_leaves - m - 1])
            if total < best[0] - SLACK:
                best = (total, m, way)
    _, m, way = best
    children = (
        _unfold(cells, ways, tables, way.left, m),
        _unfold(cells, ways, tables, way.right, n_leaves - m),
    )
    return Branch(cell=cells[key], coordinate=way.coordinate, children=children)
