"""Two leaves of a tree side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.estimators.covariates.tree_nodes import Box, TreeNode
from edgewise.graph import Graph

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafComparison:
    """How two leaves of a tree differ, as `GraphTree.compare_leaves` returns it.

    Attributes
    ----------
    leaves : tuple of int
        The two leaves, in the order asked for.
    boxes : dict
        By name of covariate the two parts of the boxes, for covariates in which they differ.
    edges : pandas.DataFrame
        One row per edge that is not the same, largest change first: ``source``, ``target``,
        ``change`` (``"appeared"``, ``"vanished"``, ``"sign"`` or ``"weight"``), and the partial
        correlations ``before`` and ``after``.
    graph : Graph
        Those edges, weighted by second minus first.
    responses : pandas.DataFrame
        Mean and standard deviation of each response in both leaves.
    divergence : float
        Kullback-Leibler divergence of the two Gaussians, the mean of both directions, in nats.
    """

    leaves: tuple[int, int]
    boxes: dict[str, tuple[tuple[object, ...], tuple[object, ...]]]
    edges: pd.DataFrame
    graph: Graph
    responses: pd.DataFrame
    divergence: float


def compare(first: TreeNode, second: TreeNode) -> LeafComparison:
    """Compare two leaves of one tree."""
    import pandas as pd

    difference = first.graph.diff(second.graph)
    covariances: list[FloatArray] = [
        np.asarray(np.linalg.inv(leaf.precision), dtype=np.float64) for leaf in (first, second)
    ]
    columns = {
        "mean_before": first.mean,
        "mean_after": second.mean,
        "deviation_before": np.sqrt(covariances[0].diagonal()),
        "deviation_after": np.sqrt(covariances[1].diagonal()),
    }
    return LeafComparison(
        leaves=(first.leaf, second.leaf),
        boxes=_different(first.box, second.box),
        edges=difference.changes,
        graph=difference.graph,
        responses=pd.DataFrame(columns, index=pd.Index(first.graph.names, name="response")),
        divergence=_divergence(first, second, covariances),
    )


def _different(first: Box, second: Box) -> dict[str, tuple[tuple[object, ...], tuple[object, ...]]]:
    return {
        name: (tuple(inside), tuple(second[name]))
        for name, inside in first.items()
        if inside != second[name]
    }


def _divergence(first: TreeNode, second: TreeNode, covariances: list[FloatArray]) -> float:
    """Mean of the two divergences; the log-determinants cancel."""
    shift = first.mean - second.mean
    trace = np.vdot(second.precision, covariances[0]) + np.vdot(first.precision, covariances[1])
    distance = shift @ (first.precision + second.precision) @ shift
    return float(0.25 * (trace - 2.0 * len(shift) + distance))
