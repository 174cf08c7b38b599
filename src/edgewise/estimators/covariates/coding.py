"""From covariates of any kind to coordinates that can be halved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.table import Table
from edgewise.estimators.covariates.tree_nodes import Covariate
from edgewise.io.messages import quote_names

SCALES: Final = ("range", "quantile")


@dataclass(frozen=True, kw_only=True, eq=False)
class Coordinate:
    """Something that cells are halved by.

    A numeric covariate is one coordinate, cut at the middle of its range again and again. A
    boolean one is one coordinate that can be halved once. A categorical one is a coordinate per
    level, which can be halved once: this level, or any other.

    Attributes
    ----------
    column : int
        Number of the covariate.
    depth : int
        How often it can be halved.
    thresholds : ndarray of shape (2 ** depth - 1,)
        Where the finest intervals meet, in the units of X. A value on a threshold lies below it.
    level : str or None
        For a level of a categorical covariate, which one.
    """

    column: int
    depth: int
    thresholds: FloatArray
    level: str | None = None

    def codes(self, table: Table) -> IntArray:
        """Give the number of the finest interval that each row lies in."""
        values, levels = table.values[:, self.column], table.levels[self.column]
        if self.level is None:
            return np.searchsorted(self.thresholds, values, side="left")
        code = levels.index(self.level) if levels is not None and self.level in levels else -1
        is_other: BoolArray = values != code
        return is_other.astype(np.int64)

    def cut(self, level: int, position: int) -> float:
        """Where interval ``position`` of ``2 ** level`` is cut."""
        finest = 2 ** (self.depth - level)
        return float(self.thresholds[position * finest + finest // 2 - 1])


def encode(coordinates: Sequence[Coordinate], table: Table) -> IntArray:
    """Give the codes of all coordinates, shape (n_samples, n_coordinates)."""
    codes = [coordinate.codes(table) for coordinate in coordinates]
    return np.ascontiguousarray(np.column_stack(codes))


def describe_covariates(
    table: Table, *, scale: str, bounds: Any, names: Sequence[str] | None
) -> list[Covariate]:
    """Note the kind and the range of each covariate.

    ``names`` are those to report, if not the names of the table.
    """
    limits = _check_bounds(bounds, table, scale)
    covariates = []
    for k, name in enumerate(table.names if names is None else names):
        kind, levels = table.kinds[k], table.levels[k]
        if kind == "numeric":
            lower, upper = limits.get(k, (table.values[:, k].min(), table.values[:, k].max()))
            covariate = Covariate(name=name, kind=kind, lower=float(lower), upper=float(upper))
        else:
            covariate = Covariate(name=name, kind=kind, levels=levels or ())
        covariates.append(covariate)
    return covariates


def make_coordinates(
    table: Table,
    covariates: Sequence[Covariate],
    *,
    scale: str,
    max_depth: int,
    split_on: Sequence[int],
) -> list[Coordinate]:
    """Make the coordinates of the covariates that the tree may split on."""
    coordinates = []
    for column in split_on:
        covariate, values = covariates[column], table.values[:, column]
        if covariate.kind == "numeric":
            depth = max_depth if covariate.lower < covariate.upper else 0
            shares = np.arange(1, 2**depth) / 2**depth
            if scale == "quantile" and depth:
                thresholds = np.quantile(values, shares, method="lower")
            else:
                thresholds = covariate.lower + (covariate.upper - covariate.lower) * shares
            coordinates.append(Coordinate(column=column, depth=depth, thresholds=thresholds))
        elif covariate.kind == "boolean":
            depth = min(1, max_depth)
            thresholds = np.full(2**depth - 1, 0.5)
            coordinates.append(Coordinate(column=column, depth=depth, thresholds=thresholds))
        else:
            depth = min(1, max_depth)
            # With two levels, one against the rest is the same as the other against the rest.
            levels = covariate.levels if len(covariate.levels) > 2 else covariate.levels[:1]
            coordinates += [
                Coordinate(column=column, depth=depth, thresholds=np.empty(0), level=level)
                for level in levels
            ]
    return coordinates


def columns_to_split(split_on: Any, covariates: Sequence[Covariate]) -> list[int]:
    """Numbers of the covariates that ``split_on`` names; all of them by default."""
    if split_on is None:
        return list(range(len(covariates)))
    names = [covariate.name for covariate in covariates]
    wanted = [split_on] if isinstance(split_on, (str, int, np.integer)) else list(split_on)
    columns = []
    for item in wanted:
        if isinstance(item, str) and item in names:
            columns.append(names.index(item))
        elif isinstance(item, (int, np.integer)) and 0 <= item < len(names):
            columns.append(int(item))
        else:
            raise InputError(
                f"split_on names {item!r}, which is not a covariate; they are {quote_names(names)}."
            )
    if not columns:
        raise InputError("split_on names no covariate. Leave it out to split on all of them.")
    return sorted(set(columns))


def _check_bounds(bounds: Any, table: Table, scale: str) -> dict[int, tuple[float, float]]:
    """Bounds by column number."""
    if bounds is None:
        return {}
    if scale != "range":
        raise InputError(f'bounds go with scale="range" only, and scale is {scale!r}.')
    names = list(table.names)
    if isinstance(bounds, Mapping):
        if unknown := [name for name in bounds if name not in names]:
            raise InputError(
                f"bounds names {quote_names(unknown)}; the covariates are {quote_names(names)}."
            )
        pairs = {names.index(name): pair for name, pair in bounds.items()}
    else:
        array = np.asarray(bounds, dtype=np.float64)
        if array.shape == (2,):
            array = np.tile(array, (len(names), 1))
        if array.shape != (len(names), 2):
            raise InputError(
                "bounds must be one pair (lower, upper), a pair per covariate, or a dict of pairs "
                f"by name; got an array of shape {array.shape} for {len(names)} covariates."
            )
        pairs = dict(enumerate(array.tolist()))
    limits = {}
    for column, pair in pairs.items():
        if table.kinds[column] != "numeric":
            continue
        lower, upper = (float(end) for end in pair)
        if not (np.isfinite([lower, upper]).all() and lower < upper):
            raise InputError(
                f"The bounds of '{names[column]}' must be finite and increasing, got {pair!r}."
            )
        limits[column] = (lower, upper)
    return limits
