"""The nodes of a grown tree in order, and why each split is there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.solvers.covariates.cell_fits import BEST, LASSO, REFIT, PathRules, fit_cells
from edgewise.solvers.covariates.cells import Cell, GaussianCells
from edgewise.solvers.covariates.dyadic_tree import Branch

#: Estimates that risks can be of, by the name of ``grow_risk``.
ESTIMATES: Final = {"l1": LASSO, "refit": REFIT, "best": BEST}
#: Strengths without a smaller risk after which a path ends. The risk of the lasso is smooth in
#: alpha, that of the refits jumps.
PATIENCE: Final = {LASSO: 8, REFIT: 10, BEST: 10}
#: Smallest variance of a response in a leaf, as a share of its variance in all rows.
FLOOR: Final = 1e-6
#: Nats that the default gain of a split falls by for every response beyond a few. Where there is
#: nothing to be found, a split loses 0.4 nats per response and more on average.
NEEDLESS: Final = 0.3
FEW: Final = 4
#: Alpha of the penalised form is this times the root of log(p) / n. With 2 instead of 1, late
#: splits are never found.
RATE: Final = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class GrownNode:
    """A node of the tree in the units that the search works in.

    Attributes
    ----------
    branch : Branch
        The tree from here down.
    parent : int
        Number of the parent; -1 for the root.
    children : tuple of int
        Numbers of the children; empty for a leaf.
    """

    branch: Branch
    parent: int
    children: tuple[int, ...]

    @property
    def cell(self) -> Cell:
        """The cell that the node stands for."""
        return self.branch.cell


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitGains:
    """Decrease in risk by one split and its parts, see `Split`."""

    mean: float
    variances: float
    graph: float

    @property
    def total(self) -> float:
        """The whole decrease."""
        return self.mean + self.variances + self.graph


def default_gain(n_coordinates: int, n_responses: int) -> float:
    """Nats that a split must add to the likelihood of the rows that judge it, by default.

    It must be worth the code it takes to write it down, three bits and the name of a coordinate.
    A needless split of many responses loses far more than that on average, by variances and
    correlations that are estimated twice, so that chance hardly ever makes up for it.
    """
    code = (3.0 + math.log2(max(n_coordinates, 1))) * math.log(2.0)
    return max(0.0, code - NEEDLESS * max(n_responses - FEW, 0))


def path_rules(
    grow_risk: str,
    *,
    n_alphas: int,
    alpha_ratio: float,
    penalize_diagonal: bool,
    is_penalized: bool = False,
    price_edges: bool = False,
    to_the_end: bool = False,
) -> PathRules:
    """Put together the rules by which cells are judged; paths end early unless ``to_the_end``."""
    estimate = ESTIMATES[grow_risk]
    return PathRules(
        estimate=estimate,
        n_alphas=n_alphas,
        ratio=alpha_ratio,
        patience=n_alphas if to_the_end else PATIENCE[estimate],
        rate=RATE if is_penalized else 0.0,
        penalize_diagonal=penalize_diagonal,
        price_edges=price_edges,
    )


def list_nodes(tree: Branch) -> list[GrownNode]:
    """Put the nodes in order, level by level."""
    branches, parents = [tree], [-1]
    children: list[tuple[int, ...]] = []
    for number, branch in enumerate(branches):
        first = len(branches)
        branches.extend(branch.children)
        parents.extend([number] * len(branch.children))
        children.append(tuple(range(first, len(branches))))
    return [
        GrownNode(branch=branch, parent=parent, children=below)
        for branch, parent, below in zip(branches, parents, children, strict=True)
    ]


def judge_by(nodes: Sequence[GrownNode], cells: GaussianCells) -> list[Cell]:
    """Give the cells of a tree the rows of other ``cells``, from the root down."""
    judged = [replace(cells.root(), risk=nodes[0].cell.risk)]
    for number, node in enumerate(nodes[1:], start=1):
        above = nodes[node.parent]
        coordinate = above.branch.coordinate or 0
        side = above.children.index(number)
        judged.append(cells.child(judged[node.parent], coordinate, side, node.cell.risk))
    return judged


def risk_by_leaves(nodes: Sequence[GrownNode]) -> FloatArray:
    """Risk of the tree with 1, 2, ... leaves, the most valuable split first.

    A split is worth what its whole subtree gains per split, so that one that only prepares others
    does not hide them.
    """
    risks = [nodes[0].cell.risk]
    to_split = [0] if nodes[0].children else []
    while to_split:
        worth = [
            (nodes[k].cell.risk - nodes[k].branch.risk) / (nodes[k].branch.n_leaves - 1)
            for k in to_split
        ]
        best = nodes[to_split.pop(int(np.argmax(worth)))]
        halves = [nodes[k].cell.risk for k in best.children]
        risks.append(risks[-1] - best.cell.risk + sum(halves))
        to_split += [k for k in best.children if nodes[k].children]
    return np.array(risks)


def split_gains(nodes: Sequence[GrownNode], cells: GaussianCells) -> list[SplitGains | None]:
    """Take the gain of each split apart; None for leaves."""
    found = [node.cell for node in nodes]
    train, validation = cells.sums(found)
    parts = _gain_parts(nodes, train, validation, cells)
    if cells.exchange:
        parts = 0.5 * (parts + _gain_parts(nodes, validation, train, cells))
    return [
        SplitGains(mean=mean, variances=variances, graph=graph) if node.children else None
        for node, (mean, variances, graph) in zip(nodes, parts.tolist(), strict=True)
    ]


def _gain_parts(
    nodes: Sequence[GrownNode], train: FloatArray, validation: FloatArray, cells: GaussianCells
) -> FloatArray:
    """Give the parts of the gain of each split: mean, variances, graph; 0 for leaves.

    Between the node and its children stand two models of the same kind: children with their own
    means but one precision, fitted to the scatter within them; and children with their own means
    and variances but one matrix of partial correlations, fitted to their pooled correlations.
    """

    def risks(to_fit: FloatArray, to_judge: FloatArray, *, own_mean: bool) -> FloatArray:
        return fit_cells(to_fit, to_judge, cells.rules, own_mean=own_mean, floor=cells.floor).risk

    share = validation[:, 0] / validation[0, 0]
    whole = share * risks(train, validation, own_mean=cells.own_mean)
    parts = np.zeros((len(nodes), 3))
    for number, node in enumerate(nodes):
        if not node.children:
            continue
        below = list(node.children)
        pooled = [_pool(train[below], validation[below], cells, scale=scale) for scale in (0, 1)]
        between = [
            share[number] * (float(risks(fit, judge, own_mean=False)[0]) + offset)
            for fit, judge, offset in pooled
        ]
        steps = np.array([whole[number], *between, whole[below].sum()])
        if not cells.own_mean:
            # With one mean for all, the first model is the node itself.
            steps[1] = steps[0]
        parts[number] = steps[:-1] - steps[1:]
    return parts


def _pool(
    train: FloatArray, validation: FloatArray, cells: GaussianCells, *, scale: int
) -> tuple[FloatArray, FloatArray, float]:
    """Pool the scatter within the children of a node, each in units of its own if ``scale``.

    Returns sums over the rows to fit to and to judge by, and what the units add to the risk.
    """
    p = len(cells.floor)
    pooled = np.zeros((2, p, p))
    offset = 0.0
    for sums, other in zip(train, validation, strict=True):
        mean = sums[1 : 1 + p] / sums[0] if cells.own_mean else np.zeros(p)
        own = _moments(sums, mean)
        deviation = np.sqrt(np.maximum(own.diagonal(), cells.floor)) if scale else np.ones(p)
        units = np.outer(deviation, deviation)
        pooled[0] += sums[0] * own / units
        pooled[1] += other[0] * _moments(other, mean) / units
        offset += 2.0 * other[0] * float(np.log(deviation).sum())
    counts = (train[:, 0].sum(), validation[:, 0].sum())
    fit, judge = (
        np.concatenate([[n], np.zeros(p), S[np.triu_indices(p)]])[None]
        for n, S in zip(counts, pooled, strict=True)
    )
    return fit, judge, offset / float(counts[1])


def _moments(sums: FloatArray, mean: FloatArray) -> FloatArray:
    """Second moments about any mean, from the sums over rows."""
    p = len(mean)
    products = np.zeros((p, p))
    products[np.triu_indices(p)] = sums[1 + p :] / sums[0]
    products += np.triu(products, 1).T
    average = sums[1 : 1 + p] / sums[0]
    return products - np.outer(mean, average) - np.outer(average, mean) + np.outer(mean, mean)
