"""Reading areas under precision-recall curves off the rows of a part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from edgewise._core.typing import FloatArray
from edgewise.reproduce._files import markdown_table, mean_and_error
from edgewise.reproduce.change._methods import RANKINGS


def areas(frame: pd.DataFrame, method: str, ranking: str) -> FloatArray:
    """Area of each data set, in the order of the tasks; none where the ranking is not there."""
    part = frame[(frame["method"] == method) & (frame["ranking"] == ranking)]
    found: FloatArray = part.sort_values("task")["auprc"].to_numpy(dtype=np.float64)
    return found


def areas_by(frame: pd.DataFrame, columns: Sequence[str]) -> dict[tuple[Any, ...], FloatArray]:
    """Areas of the data sets, by the values of some columns."""
    groups = frame.sort_values("task").groupby(list(columns), sort=False)["auprc"]
    return {key: group.to_numpy(dtype=np.float64) for key, group in groups}


def area_of_chance(n_features: int, n_changed: int) -> float:
    r"""Give the expected area when pairs come in a random order.

    It is a little above the share of pairs that changed, because the first hit may come early:
    with :math:`R` of :math:`N` pairs changed and :math:`h = \frac1N \sum_{k \le N} \frac1k`,

    .. math:: h + (1 - h) \frac{R - 1}{N - 1}.

    Examples
    --------
    >>> round(area_of_chance(40, 15), 3), round(area_of_chance(9, 8), 3)
    (0.027, 0.293)
    """
    n_pairs = n_features * (n_features - 1) // 2
    early = float(np.sum(1.0 / np.arange(1, n_pairs + 1))) / n_pairs
    return early + (1.0 - early) * (n_changed - 1) / (n_pairs - 1)


def areas_table(frame: pd.DataFrame, methods: Sequence[str]) -> str:
    """Lay out the areas of all methods, by either ranking."""
    rows = []
    for method in methods:
        cells = [areas(frame, method, ranking) for ranking in RANKINGS]
        rows.append([method, *(mean_and_error(cell) if len(cell) else "" for cell in cells)])
    return markdown_table(["method", *(f"by {ranking}" for ranking in RANKINGS)], rows)
