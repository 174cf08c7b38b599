"""Labels of two groups of rows."""

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
        raise InputError("labels_shape", n_rows=n_rows, shape=labels.shape)
    if len(missing := np.flatnonzero(pd.isna(labels))):
        raise InputError("labels_missing", n_missing=len(missing), missing=missing[0])
    if others := [label for label in labels if not isinstance(label, Hashable)]:
        raise InputError("labels_type", type=type(others[0]).__name__)
    if any(isinstance(label, float) and math.isinf(label) for label in labels):
        raise InputError("labels_infinite")
    try:
        classes, member = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        found = "type" if len(kinds) == 1 else "different types"
        raise InputError("labels_not_sortable", found=found, kinds=kinds) from error
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
        raise InputError("one_group", label=classes[0])
    if len(classes) > 2:
        pair = f"{classes[0]!r} and {classes[1]!r}"
        raise InputError("not_two_groups", n_classes=len(classes), classes=classes, pair=pair)
    for label, count in zip(classes, counts, strict=True):
        if count < 2:
            raise InputError("group_with_one_row", label=label, count=count)


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
