"""The sites of a grid on a flat sheet, the slices of a third direction side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.data import site_positions


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
        raise InputError(
            f"shape must be one to three sizes of a grid, such as (8, 8); got {shape!r}."
        )
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
