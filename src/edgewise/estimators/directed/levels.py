"""Directed networks of columns with levels: reading them, searching, and how strong arcs are."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.checks import check_weights, refuse_covariance
from edgewise.data.kinds import (
    WITH_LEVELS,
    MixedTable,
    code_new_rows,
    column_kinds,
    guess_kind,
    read_mixed,
)
from edgewise.data.levels import MOST_AXES
from edgewise.data.table import Table
from edgewise.estimators.base.table import note_columns
from edgewise.solvers.directed.scores import family_cost
from edgewise.solvers.directed.tables import LevelTable

#: Asks for the kind of every column to be guessed from its values, that of numbers too.
GUESS: Final = "guess"
#: A correlation as close to 1 is that of two columns in different units.
RELATED: Final = 1e-10


#: Entries of the largest product of probabilities that is made.
MOST_ENTRIES: Final = 2.0**24
#: Numbers of columns, and probabilities with an axis for each.
Factor: TypeAlias = tuple[list[int], FloatArray]


class LevelRows(NamedTuple):
    """Rows with levels, and what they were read from."""

    table: LevelTable
    mixed: MixedTable
    is_kept: BoolArray


def level_kinds(X: Any, kinds: Any) -> dict[str, str] | None:
    """Return the kind of each column, or None where all are numbers.

    Text, categories and booleans have levels. Numbers have some only where ``kinds`` says so, by
    name or for every column; ``"guess"`` leaves all to `edgewise.data.kinds.guess_kind`.
    """
    if kinds is None and _is_plain_numbers(X):
        return None
    table = Table.from_input(X)
    if isinstance(kinds, str) and kinds == GUESS:
        found = column_kinds(table)
    else:
        names = table.names
        own = {
            name: guess_kind(table, k)
            if table.levels[k] is not None or table.kinds[k] == "boolean"
            else "continuous"
            for k, name in enumerate(names)
        }
        if isinstance(kinds, Mapping):
            own |= {str(name): kind for name, kind in kinds.items() if kind is not None}
        found = column_kinds(table, own if kinds is None or isinstance(kinds, Mapping) else kinds)
    by_name = dict(zip(table.names, found, strict=True))
    return None if not {*found} - {"continuous", "count"} else by_name


def _is_plain_numbers(X: Any) -> bool:
    """Whether the types of the columns say that all are numbers."""
    if hasattr(X, "collect"):
        # A lazy frame is refused as it is read, and would warn if asked for its types.
        return True
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        return all(getattr(dtype, "kind", "O") in "fiu" for dtype in X.dtypes)
    return not hasattr(X, "columns") and getattr(getattr(X, "dtype", None), "kind", "f") in "fiu"


def read_level_rows(
    estimator: Any,
    X: Any,
    kinds: Mapping[str, str],
    sample_weight: ArrayLike | None,
    is_set: BoolArray | None,
) -> LevelRows:
    """Read rows of which some columns have levels; note their names."""
    if estimator.missing not in ("error", "drop"):
        which = [name for name, kind in kinds.items() if kind in WITH_LEVELS]
        raise InputError("missing_with_levels", "missing", missing=estimator.missing, which=which)
    if estimator.repair is not None:
        raise InputError("repair_with_levels", "repair")
    mixed = read_mixed(X, kinds, estimator.missing)
    note_columns(estimator, X, reset=True)
    refuse_covariance(mixed.values, "Pass the rows behind it.")
    rows, is_kept = mixed.values, mixed.is_kept
    weight = None
    if sample_weight is not None:
        weight = check_weights(sample_weight, len(is_kept))[is_kept]
        rows, is_set_there = rows[weight > 0], weight > 0
        is_kept = is_kept.copy()
        is_kept[is_kept] = is_set_there
        weight = weight[weight > 0]
    n_levels = np.array([0 if own is None else len(own) for own in mixed.levels])
    _refuse_repeated(rows, mixed)
    is_set = None if is_set is None else is_set[is_kept]
    return LevelRows(LevelTable.from_rows(rows, n_levels, weight, is_set), mixed, is_kept)


def _refuse_repeated(rows: FloatArray, mixed: MixedTable) -> None:
    """Refuse two columns that say the same, as one would take the place of the other at will."""
    for (i, first), (j, second) in itertools.combinations(enumerate(mixed.levels), 2):
        if (first is None) != (second is None):
            continue
        x, y = rows[:, i], rows[:, j]
        if first is None or second is None:
            is_same = abs(np.corrcoef(x, y)[0, 1]) > 1.0 - RELATED
        else:
            n_pairs = len(np.unique(x * len(second) + y))
            is_same = n_pairs == len(first) == len(second) and n_pairs < len(rows)
        if is_same:
            raise InputError("equivalent_columns", value=[mixed.names[i], mixed.names[j]])


def check_level_score(criterion: str, method: str, kinds: Mapping[str, str]) -> None:
    """Refuse a score or a method that is not for columns of these kinds."""
    if method == "blankets":
        raise InputError("blankets_with_levels", "method")
    if criterion == "bge" and not {*kinds.values()} - {*WITH_LEVELS}:
        raise InputError("bge_with_levels", "criterion")


def arc_strengths(table: LevelTable, dag: BoolArray) -> FloatArray:
    r"""Return :math:`\sqrt{1 - e^{-2 I}}` for the information I of child and parent given the rest.

    Of jointly normal columns that is the size of their partial correlation.
    """
    cells = table.cells()._replace(most_cells=np.inf)
    strength = np.zeros(dag.shape)
    for child in np.flatnonzero(dag.any(axis=0)).tolist():
        parents = np.flatnonzero(dag[:, child])
        full = family_cost(cells, child, parents, len(parents))
        for parent in parents.tolist():
            rest = parents[parents != parent]
            gain = family_cost(cells, child, rest, len(rest)) - full
            strength[parent, child] = np.sqrt(-np.expm1(-2 * max(gain, 0.0) / table.n_samples))
    return strength


def conditional_tables(table: LevelTable, dag: BoolArray, ess: float) -> list[FloatArray]:
    """Return the probabilities of each column given its parents, as of ``ess`` rows more.

    Axes are the parents in their order, then the column. A column counts in rows where it was free.
    """
    tables = []
    for child in range(len(dag)):
        family = [*np.flatnonzero(dag[:, child]).tolist(), child]
        weight = table.weight
        if len(table.is_set):
            weight = np.where(table.is_set[child], 0.0, weight)
        counts = np.zeros(table.n_levels[family])
        np.add.at(counts, tuple(table.codes[family]), weight)
        counts += ess / counts.size
        tables.append(counts / counts.sum(axis=-1, keepdims=True))
    return tables


def read_new_levels(
    estimator: Any, X: Any, sample_weight: ArrayLike | None
) -> tuple[IntArray, FloatArray | None]:
    """Read rows as numbers of the levels of a fit; rows with gaps are left out or refused."""
    table = Table.from_input(X)
    note_columns(estimator, X, reset=False)
    names, kinds = list(estimator.kinds_), list(estimator.kinds_.values())
    rows = code_new_rows(table, names, kinds, estimator.levels_)
    weights = None if sample_weight is None else check_weights(sample_weight, len(rows))
    is_whole = ~np.isnan(rows).any(axis=1)
    if estimator.missing == "error" and not is_whole.all():
        raise InputError("rows_incomplete", "missing", n_complete=int((~is_whole).sum()))
    if not is_whole.any():
        raise InputError("no_complete_row")
    return rows[is_whole].astype(np.int64), None if weights is None else weights[is_whole]


def level_log_likelihood(
    tables: Sequence[FloatArray], dag: BoolArray, codes: IntArray
) -> FloatArray:
    """Return the log-likelihood of each row of level numbers."""
    total = np.zeros(len(codes))
    for child, own in enumerate(tables):
        family = [*np.flatnonzero(dag[:, child]).tolist(), child]
        total += np.log(own[tuple(codes[:, family].T)])
    return total


def marginals_when_set(
    tables: Sequence[FloatArray], dag: BoolArray, fixed: Mapping[int, int]
) -> list[FloatArray]:
    """Return the probabilities of the levels of each column when some are set to a level."""
    dag = dag.copy()
    dag[:, list(fixed)] = False
    reach = dag | np.eye(len(dag), dtype=bool)
    for k in range(len(dag)):
        reach |= reach[:, [k]] & reach[k]
    factors = []
    for child, own in enumerate(tables):
        if child in fixed:
            factors.append(([child], np.eye(own.shape[-1])[fixed[child]]))
        else:
            factors.append(([*np.flatnonzero(dag[:, child]).tolist(), child], own))
    return [
        _marginal([factors[k] for k in np.flatnonzero(reach[:, column]).tolist()], column)
        for column in range(len(dag))
    ]


def _marginal(factors: list[Factor], column: int) -> FloatArray:
    """Multiply factors and sum out all columns but one, those with the smallest products first."""
    left = {axis for axes, _ in factors for axis in axes} - {column}
    while left:
        unions = {axis: _union(factors, axis) for axis in left}
        axis = min(left, key=lambda one: (len(unions[one]), one))
        touched = [factor for factor in factors if axis in factor[0]]
        kept = [other for other in unions[axis] if other != axis]
        factors = [factor for factor in factors if axis not in factor[0]]
        factors.append((kept, _product(touched, kept)))
        left.remove(axis)
    return _product(factors, [column])


def _union(factors: Sequence[Factor], axis: int) -> list[int]:
    return sorted({other for axes, _ in factors if axis in axes for other in axes})


def _product(factors: Sequence[Factor], kept: Sequence[int]) -> FloatArray:
    """Multiply factors and sum over the axes that are not kept."""
    axes = sorted({axis for own, _ in factors for axis in own})
    size = {axis: n for own, array in factors for axis, n in zip(own, array.shape, strict=True)}
    if len(axes) > MOST_AXES or np.prod([float(size[axis]) for axis in axes]) > MOST_ENTRIES:
        raise InputError("cliques_too_large", n_axes=len(axes))
    place = {axis: k for k, axis in enumerate(axes)}
    operands: list[Any] = []
    for own, array in factors:
        operands += [array, [place[axis] for axis in own]]
    return np.asarray(np.einsum(*operands, [place[axis] for axis in kept], optimize=True))


def level_number(value: Any, levels: Sequence[Any], name: str) -> int:
    """Position of a level that a column is set to."""
    if value in levels:
        return list(levels).index(value)
    by_text = [str(level) for level in levels]
    if str(value) in by_text:
        return by_text.index(str(value))
    raise InputError("no_such_level", name=name, value=value, by_text=by_text)
