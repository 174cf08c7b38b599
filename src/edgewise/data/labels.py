"""Labels of rows: what they are, and which row has which."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import IntArray
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
    labels = np.array(y, dtype=object)
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
