"""Rows of two groups: what varies in them, how they are put on one scale, and their networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data.checks import varying_columns
from edgewise.data.labels import TwoGroups, TwoSamples
from edgewise.estimators.gaussian.graphical_lasso import GaussianGraph


@dataclass(frozen=True, kw_only=True, eq=False)
class Standard:
    """How rows of either group are centred and scaled.

    Attributes
    ----------
    locations : ndarray of shape (2, d)
        Taken away from the rows of the first and of the second group.
    scale : ndarray of shape (d,)
        What both are divided by.
    """

    locations: FloatArray
    scale: FloatArray

    def samples(self, rows: FloatArray, groups: TwoGroups) -> TwoSamples:
        """Rows of the two groups, centred and scaled."""
        first, second = (
            (rows[group] - location) / self.scale
            for group, location in zip(groups.rows, self.locations, strict=True)
        )
        return TwoSamples(first=first, second=second)


def varies_within(rows: FloatArray, groups: TwoGroups) -> BoolArray:
    """Whether each column varies by more than rounding, in the first and in the second group."""
    return np.stack([varying_columns(rows[group]) for group in groups.rows])


def network_of(rows: FloatArray, names: Sequence[str]) -> FloatArray:
    """Edge weights of the rows of one group, none where a column does not vary."""
    import pandas as pd

    varies = varying_columns(rows)
    weights = np.zeros((len(varies), len(varies)))
    table = pd.DataFrame(rows, columns=list(names)).loc[:, varies]
    weights[np.ix_(varies, varies)] = GaussianGraph().fit(table).graph_.weights
    return weights
