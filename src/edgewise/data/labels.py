"""Rows of two groups: their labels, and the rows of each."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise._core.arrays import is_foreign, to_numpy
from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.data.checks import row_order
from edgewise.io.messages import quote_names


def label_codes(y: Any, n_rows: int) -> tuple[list[Any], IntArray]:
    """Give each label of a row a number.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of any type that can be sorted, none missing.
    n_rows : int
        Rows of the table they belong to.

    Returns
    -------
    classes : list
        The labels, sorted; in the order of the categories where they are categorical.
    member : ndarray of shape (n_rows,)
        Number of each row's label.

    Examples
    --------
    >>> label_codes(["sick", "well", "sick"], 3)
    (['sick', 'well'], array([0, 1, 0]))
    """
    import pandas as pd

    # Objects, because numpy would turn the missing value of a list of text into "nan".
    labels = np.array(to_numpy(y) if is_foreign(y) else y, dtype=object)
    if np.ma.is_masked(y):
        labels[np.ma.getmaskarray(y)] = None
    if labels.shape != (n_rows,):
        raise InputError(
            f"y must hold one label for each of the {n_rows} rows of X; its shape is "
            f"{labels.shape}. Give one label per row, in a list or a column."
        )
    if len(missing := np.flatnonzero(pd.isna(labels))):
        raise InputError(
            f"y has {len(missing)} missing {'label' if len(missing) == 1 else 'labels'} (None or "
            f"NaN), the first in row {missing[0]}. Drop those rows, or label them."
        )
    if others := [label for label in labels if not isinstance(label, Hashable)]:
        raise InputError(
            f"y holds a {type(others[0]).__name__} in place of a label. Pass text, numbers or "
            "booleans."
        )
    if any(isinstance(label, float) and math.isinf(label) for label in labels):
        raise InputError("y has labels that are infinite (inf). Drop those rows, or label them.")
    try:
        classes, member = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        found = "type" if len(kinds) == 1 else "different types"
        raise InputError(
            f"The labels in y are of {found}, {quote_names(kinds)}, and cannot be sorted. "
            "Turn all of them into text."
        ) from error
    known = classes.tolist()
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    place = {label: k for k, label in enumerate(known if categories is None else categories)}
    order = sorted(range(len(known)), key=lambda k: place[known[k]])
    return [known[k] for k in order], np.argsort(order)[member]


@dataclass(frozen=True, kw_only=True)
class TwoGroups:
    """Which of two groups each row belongs to.

    Attributes
    ----------
    classes : tuple
        Both labels, sorted; in the order of the categories where they are categorical.
    rows : list of ndarray
        Rows of each group, in order.
    """

    classes: tuple[Any, Any]
    rows: list[IntArray]

    def ordered_by(self, values: FloatArray) -> TwoGroups:
        """Return the same groups with their rows in the order of their values."""
        rows = [group[row_order(values[group])] for group in self.rows]
        return TwoGroups(classes=self.classes, rows=rows)

    def among(self, places: IntArray, n_rows: int) -> TwoGroups:
        """Return the groups of some of ``n_rows`` rows, numbered by their place among them."""
        position = np.full(n_rows, -1)
        position[places] = np.arange(len(places))
        found = [position[group] for group in self.rows]
        return TwoGroups(classes=self.classes, rows=[group[group >= 0] for group in found])


def two_groups(y: Any, n_rows: int) -> TwoGroups:
    """Sort rows by their label, of which there must be two."""
    classes, member = label_codes(y, n_rows)
    _check_two(classes, np.bincount(member).tolist())
    first, second = classes
    return TwoGroups(classes=(first, second), rows=[np.flatnonzero(member == k) for k in (0, 1)])


def _check_two(classes: list[Any], counts: list[int]) -> None:
    if len(classes) == 1:
        raise InputError(f"All labels in y are {classes[0]!r}. A comparison needs two groups.")
    if len(classes) > 2:
        pair = f"{classes[0]!r} and {classes[1]!r}"
        raise InputError(
            f"y has {len(classes)} groups: {quote_names(classes)}. A comparison takes two. Pass "
            f"the rows of one pair at a time, such as those of {pair}."
        )
    for label, count in zip(classes, counts, strict=True):
        if count < 2:
            raise InputError(
                f"The group {label!r} has {count} row; at least 2 are needed in each group."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoSamples:
    """Rows of the same variables under two conditions.

    Attributes
    ----------
    first : ndarray of shape (n_first, d)
        Rows of the first label: before.
    second : ndarray of shape (n_second, d)
        Rows of the second label: after.
    """

    first: FloatArray
    second: FloatArray

    @property
    def n_features(self) -> int:
        """Number of variables."""
        return int(self.first.shape[1])
