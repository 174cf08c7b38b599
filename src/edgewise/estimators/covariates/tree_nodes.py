"""Covariates, splits and nodes of a tree of graphs, and the comparison of two leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from edgewise._core.plain_values import archived
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.table import Table
from edgewise.graph import Graph

if TYPE_CHECKING:
    import pandas as pd


#: Where a node lies: an interval (lower, upper) or the levels that are left, by covariate.
Box = dict[str, tuple[float, float] | tuple[str, ...]]


@archived
@dataclass(frozen=True, kw_only=True, eq=False)
class Covariate:
    """One column of X, as the tree sees it.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : str
        ``"numeric"``, ``"boolean"`` or ``"categorical"``.
    lower, upper : float
        Ends of the range of a numeric covariate.
    levels : tuple of str
        Levels of a categorical one; empty for the others.
    is_tried : bool
        Whether any split by it was tried; ``treatment_`` says why not.
    """

    name: str
    kind: str
    lower: float = 0.0
    upper: float = 1.0
    levels: tuple[str, ...] = ()
    is_tried: bool = True


@archived
@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """How a node is cut in two, and why.

    Attributes
    ----------
    column : int
        Number of the covariate.
    covariate : str
        Its name.
    cut : float or None
        Rows with values up to here go to ``left``; None unless the covariate is numeric.
    level : str or None
        Rows of this level go to ``left``, all others to ``right``; None for a numeric covariate,
        ``"False"`` for a boolean one.
    is_boolean : bool
        Whether the covariate is boolean.
    left, right : int
        Numbers of the two nodes.
    gain : float
        Decrease in risk by this split alone. It can be negative where only splits further down
        make it pay off.
    gain_mean, gain_variances, gain_graph : float
        The parts of the gain: from giving either side its own mean; from giving it its own
        variances as well; and from partial correlations of its own.
    p_value : float
        How likely a larger difference is by chance, for all cuts that were compared; NaN where
        there was no test.
    """

    column: int
    covariate: str
    cut: float | None
    level: str | None
    is_boolean: bool
    left: int
    right: int
    gain: float
    gain_mean: float
    gain_variances: float
    gain_graph: float
    p_value: float = np.nan

    def conditions(self) -> tuple[str, str]:
        """Say in words what is true to the left and to the right."""
        if self.level is not None:
            other = "True" if self.is_boolean else f"not {self.level}"
            return f"{self.covariate} is {self.level}", f"{self.covariate} is {other}"
        return f"{self.covariate} <= {self.cut:.6g}", f"{self.covariate} > {self.cut:.6g}"

    def goes_left(self, table: Table) -> BoolArray:
        """Which rows of a table of covariates go to the left."""
        values, levels = table.values[:, self.column], table.levels[self.column]
        if self.cut is not None or self.is_boolean:
            is_left: BoolArray = values <= (0.5 if self.cut is None else self.cut)
            return is_left
        code = levels.index(self.level) if levels is not None and self.level in levels else -1
        return np.asarray(values == code)


@archived
@dataclass(frozen=True, kw_only=True, eq=False)
class TreeNode:
    """A region of the covariates with its Gaussian.

    Attributes
    ----------
    node : int
        Number of the node; 0 is the whole. Children have larger numbers than their parent.
    parent : int
        Number of the node it is part of; -1 for the whole.
    leaf : int
        Number of the leaf, as `GraphTree.apply` returns it; -1 for a node that is split.
    box : dict
        By name of covariate: ``(lower, upper)`` in the units of X, the lower end excluded unless
        it is the end of the range; for a categorical or boolean covariate the levels that occur.
        Values beyond the range belong to the nearest box.
    n, n_validation : int
        Rows that the Gaussian was fitted to, and rows it was judged by.
    risk : float
        Share in the risk of the tree, by the rule that the tree was grown by.
    mean, deviation : ndarray of shape (p,)
        Mean and standard deviation of each response. With ``split_for="graph"`` they vary inside
        a leaf, and these are the mean of its rows and their deviation about the means that they
        have there.
    precision : ndarray of shape (p, p)
        Maximum likelihood on the graph; where that does not exist, the graphical lasso.
    graph : Graph
        Weights are partial correlations.
    alpha : float
        Strength of the graphical lasso that chose the edges, on the scale the tree works on.
    is_refit : bool
        Whether ``precision`` is maximum likelihood on the graph.
    split : Split or None
        How the node is split; None for a leaf.
    """

    node: int
    parent: int
    leaf: int
    box: Box
    n: int
    n_validation: int
    risk: float
    mean: FloatArray
    deviation: FloatArray
    precision: FloatArray
    graph: Graph
    alpha: float
    is_refit: bool
    split: Split | None = None


def leaf_of(nodes: Sequence[TreeNode], covariates: Table) -> IntArray:
    """Return the number of the leaf that each row lies in."""
    node_of = np.zeros(covariates.n_samples, dtype=np.int64)
    for node in nodes:
        if node.split is not None:
            rows = np.flatnonzero(node_of == node.node)
            here = replace(covariates, values=covariates.values[rows])
            node_of[rows] = np.where(node.split.goes_left(here), node.split.left, node.split.right)
    return np.array([node.leaf for node in nodes])[node_of]


def child_boxes(box: Box, split: Split) -> tuple[Box, Box]:
    """Boxes of the two children of a node."""
    inside = box[split.covariate]
    left: tuple[float, float] | tuple[str, ...]
    right: tuple[float, float] | tuple[str, ...]
    if split.cut is not None:
        lower, upper = inside
        left, right = (float(lower), split.cut), (split.cut, float(upper))
    else:
        left = tuple(str(level) for level in inside if level == split.level)
        right = tuple(str(level) for level in inside if level != split.level)
    return {**box, split.covariate: left}, {**box, split.covariate: right}


def whole_box(covariates: Sequence[Covariate]) -> Box:
    """Box of the root."""
    box: Box = {}
    for covariate in covariates:
        if covariate.kind == "numeric":
            box[covariate.name] = (covariate.lower, covariate.upper)
        elif covariate.kind == "boolean":
            box[covariate.name] = ("False", "True")
        else:
            box[covariate.name] = covariate.levels
    return box


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


def compare_leaves(first: TreeNode, second: TreeNode) -> LeafComparison:
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


def tree_as_text(nodes: Sequence[TreeNode]) -> str:
    """Write a tree with one line per branch and one per leaf."""
    lines: list[str] = []
    # The depth of a node, what led to it, and the node, last to be written first.
    waiting: list[tuple[int, str, TreeNode]] = [(0, "", nodes[0])]
    while waiting:
        depth, condition, node = waiting.pop()
        if condition:
            lines.append(f"{'|   ' * (depth - 1)}|--- {condition}")
        indent = "|   " * depth
        if node.split is None:
            edges = "edge" if node.graph.n_edges == 1 else "edges"
            lines.append(
                f"{indent}|--- leaf {node.leaf}: {node.n} rows, {node.graph.n_edges} {edges}"
            )
            continue
        split = node.split
        lines.append(f"{indent}split by {split.covariate}: {describe_gain(split)}")
        left, right = split.conditions()
        waiting.append((depth + 1, right, nodes[split.right]))
        waiting.append((depth + 1, left, nodes[split.left]))
    return "\n".join(lines) + "\n"


def describe_gain(split: Split) -> str:
    """Say what a split gains and where the gain comes from."""
    if split.gain_mean == split.gain_variances == 0.0:
        # Means and variances were taken off before, or have nothing to do with it.
        return f"gain {split.gain:.4g} by the graph alone"
    parts = {
        "mean": split.gain_mean,
        "variances": split.gain_variances,
        "graph": split.gain_graph,
    }
    return f"gain {split.gain:.4g} ({', '.join(f'{k} {v:.4g}' for k, v in parts.items())})"
