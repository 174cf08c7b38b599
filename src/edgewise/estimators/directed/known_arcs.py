"""What is known in advance of the arcs of a network, as matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.estimators.base.table import column_number
from edgewise.graph.equivalence import find_cycle


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownArcs:
    """Arcs that may and that must be there; the latter have no cycle.

    Attributes
    ----------
    allowed, required : ndarray of bool, shape (m, m)
        Entry [i, j] is for the arc i -> j. What is required is allowed one way only.
    """

    allowed: BoolArray
    required: BoolArray

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        off_diagonal = ~np.eye(len(self.allowed), dtype=bool)
        return bool(self.allowed[off_diagonal].all())


def known_arcs(forbidden: Any, required: Any, tiers: Any, names: Sequence[str]) -> KnownArcs:
    """Put together what is known; say which of it cannot be true at once.

    Parameters
    ----------
    forbidden, required : None, array or data frame of bool of shape (m, m), or iterable of pairs
        Arcs, as a matrix, which a data frame names the columns of, or as pairs of columns by name
        or number.
    tiers : None, sequence of m numbers, or mapping of columns to numbers
        No arc leads to a lower tier. NaN, None or no entry where nothing is known.
    names : sequence of str
        Names of the m columns.
    """
    must_be = _arcs(required, "required", names)
    must_not = _arcs(forbidden, "forbidden", names)
    level = _levels(tiers, names)
    if both := np.argwhere(must_be & must_not).tolist():
        raise InputError("arc_required_and_forbidden", arrow=_arrow(names, both[0]))
    # Comparisons with NaN are False, so that an unknown tier forbids nothing.
    downward = level[:, None] > level
    if against := np.argwhere(must_be & downward).tolist():
        raise InputError("required_arc_against_tiers", arrow=_arrow(names, against[0]))
    if cycle := find_cycle(must_be):
        raise InputError("required_arcs_cycle", arrow=_arrow(names, cycle))
    return KnownArcs(allowed=~(must_not | must_be.T | downward), required=must_be)


def read_interventions(given: Any, n_rows: int, names: Sequence[str]) -> BoolArray | None:
    """Read which columns were set from outside in each row, as an array of shape (n_rows, m).

    Parameters
    ----------
    given : None, sequence of n_rows columns, or array of bool of shape (n_rows, m)
        The column that was set in each row, by name or number; None, NaN, an empty text or -1 where
        none was.
    n_rows : int
    names : sequence of str
        Names of the m columns.
    """
    if given is None:
        return None
    m = len(names)
    if np.shape(given) == (n_rows, m):
        is_set: BoolArray = np.array(given, dtype=bool)
    elif np.ndim(given) == 1 and len(given) == n_rows:
        is_set = np.zeros((n_rows, m), dtype=bool)
        for row, label in enumerate(np.asarray(given, dtype=object).tolist()):
            is_none = label is None or label in ("", -1) or label != label
            if not is_none:
                whole = isinstance(label, float) and label.is_integer()
                label = int(label) if whole else label
                is_set[row, column_number(label, names, "interventions")] = True
    else:
        raise InputError(
            "interventions_shape", "interventions", n_rows=n_rows, m=m, shape=np.shape(given)
        )
    if always := np.flatnonzero(is_set.all(axis=0)).tolist():
        raise InputError("always_intervened", "interventions", name=names[always[0]])
    return is_set


def told_apart(is_set: BoolArray) -> BoolArray:
    """Whether some row has one of two columns set and the other free; symmetric."""
    patterns = np.unique(is_set, axis=0)
    apart: BoolArray = (patterns[:, :, None] != patterns[:, None, :]).any(axis=0)
    return apart


def refuse_forced_cycle(skeleton: BoolArray, known: KnownArcs, names: Sequence[str]) -> None:
    """Raise where pairs that are joined have one allowed direction each, and these make a cycle."""
    if cycle := find_cycle(skeleton & known.allowed & ~known.allowed.T):
        raise InputError("forbidden_arcs_cycle", arrow=_arrow(names, cycle))


def _arcs(given: Any, label: str, names: Sequence[str]) -> BoolArray:
    m = len(names)
    arcs = np.zeros((m, m), dtype=bool)
    if given is None:
        return arcs
    if hasattr(given, "columns"):
        given = _by_name(given, label, names)
    if np.shape(given) == (m, m) and hasattr(given, "shape"):
        arcs |= np.asarray(given, dtype=bool)
    else:
        for pair in given:
            if isinstance(pair, str) or np.shape(pair) != (2,):
                raise InputError("arcs_type", label=label, m=m, pair=pair)
            tail, head = (column_number(column, names, label) for column in pair)
            arcs[tail, head] = True
    if loops := np.flatnonzero(arcs.diagonal()).tolist():
        raise InputError("arc_self_loop", label=label, name=names[loops[0]])
    return arcs


def _by_name(frame: Any, label: str, names: Sequence[str]) -> BoolArray:
    """Put a data frame of arcs into the order of the columns."""
    if set(frame.index) != set(names) or set(frame.columns) != set(names):
        raise InputError("arcs_frame_names", label=label, names=names)
    arcs: BoolArray = frame.loc[list(names), list(names)].to_numpy(dtype=bool)
    return arcs


def _levels(tiers: Any, names: Sequence[str]) -> FloatArray:
    m = len(names)
    levels = np.full(m, np.nan)
    if tiers is None:
        return levels
    if isinstance(tiers, Mapping):
        items = [(column_number(column, names, "tiers"), tier) for column, tier in tiers.items()]
    elif np.shape(tiers) == (m,):
        items = list(enumerate(tiers))
    else:
        raise InputError("tiers_shape", m=m, shape=np.shape(tiers))
    for column, tier in items:
        try:
            levels[column] = np.nan if tier is None else float(tier)
        except (TypeError, ValueError):
            raise InputError("tier_not_number", name=names[column], tier=tier) from None
    return levels


def _arrow(names: Sequence[str], nodes: Sequence[int]) -> str:
    return " -> ".join(f"'{names[node]}'" for node in nodes)
