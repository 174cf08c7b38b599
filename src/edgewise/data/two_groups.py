"""Rows of two groups: their labels, and the rows of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.io.messages import quote_names


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


def two_groups(y: Any, n_rows: int) -> TwoGroups:
    """Sort rows by their label, of which there must be two."""
    import pandas as pd

    # Objects, because numpy would turn the missing value of a list of text into "nan".
    labels = np.asarray(y, dtype=object)
    if labels.shape != (n_rows,):
        raise InputError(
            f"y must hold one label for each of the {n_rows} rows of X; its shape is "
            f"{labels.shape}."
        )
    if len(missing := np.flatnonzero(pd.isna(labels))):
        raise InputError(
            f"y has {len(missing)} missing {'label' if len(missing) == 1 else 'labels'} (None or "
            f"NaN), the first in row {missing[0]}. Drop those rows, or label them."
        )
    try:
        classes, member = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        raise InputError(
            f"The labels in y are of different types, {quote_names(kinds)}, and cannot be sorted. "
            "Turn all of them into text."
        ) from error
    _check_two(classes.tolist(), np.bincount(member).tolist())
    order = _category_order(y, classes.tolist())
    first, second = (classes.tolist()[k] for k in order)
    return TwoGroups(classes=(first, second), rows=[np.flatnonzero(member == k) for k in order])


def _category_order(y: Any, classes: list[Any]) -> list[int]:
    """Places of the two labels in the order that a categorical column gives them."""
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    known = [] if categories is None else list(categories)
    return sorted(range(2), key=lambda k: known.index(classes[k]) if known else k)


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
