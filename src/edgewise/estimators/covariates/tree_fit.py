"""Growing a tree: rows, coordinates that can be halved, cells, gains and nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import varying_columns
from edgewise.data.table import Table
from edgewise.estimators.covariates.tree_nodes import (
    Box,
    Covariate,
    Split,
    TreeNode,
    child_boxes,
    whole_box,
)
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.solvers.covariates.cell_fits import CellFits, fit_cells
from edgewise.solvers.covariates.cells import Cell, GaussianCells
from edgewise.solvers.covariates.dyadic_tree import Branch

#: Smallest variance of a response in a leaf, as a share of its variance in all rows.
FLOOR: Final = 1e-6
#: Nats that the default gain of a split falls by for every response beyond a few. Where there is
#: nothing to be found, a split loses 0.4 nats per response and more on average.
NEEDLESS: Final = 0.3
FEW: Final = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeRows:
    """Training and validation rows, sorted so that nothing depends on their order in the tables.

    Attributes
    ----------
    X, X_val : Table
        Covariates. The second is None where there are no validation rows.
    Y, Y_val : ndarray of shape (n, p)
        Responses.
    responses : tuple of str
        Their names.
    """

    X: Table
    Y: FloatArray
    X_val: Table | None
    Y_val: FloatArray | None
    responses: tuple[str, ...]

    @property
    def counts(self) -> str:
        """Say how many rows there are."""
        n_validation = 0 if self.Y_val is None else len(self.Y_val)
        return f"{len(self.Y)} training rows, {n_validation} validation rows"


def split_rows(
    rows: tuple[Table, Table],
    validation: tuple[Table, Table] | None,
    *,
    needs_validation: bool,
    random_state: RandomState,
) -> TreeRows:
    """Sort the rows and, if need be, set half of them aside for validation."""
    X, Y = _sorted(*rows)
    X_val, Y_val = (None, None) if validation is None else _sorted(*validation)
    if validation is None and needs_validation:
        order = as_generator(random_state).permutation(len(Y))
        n_train = (len(Y) + 1) // 2
        train, kept = np.sort(order[:n_train]), np.sort(order[n_train:])
        X_val, Y_val = replace(X, values=X.values[kept]), Y[kept]
        X, Y = replace(X, values=X.values[train]), Y[train]
    n_validation = 1 if Y_val is None else len(Y_val)
    if len(Y) < 2 or n_validation < 1:
        raise InputError(
            f"There are {len(Y)} training and {n_validation} validation rows; at least 2 and 1 are "
            "needed."
        )
    names = rows[1].names
    if flat := [names[k] for k in np.flatnonzero(~varying_columns(Y)).tolist()]:
        raise InputError(
            f"Responses {quote_names(flat)} have one value in every training row. Drop them, or "
            "split the rows in another way."
        )
    return TreeRows(X=X, Y=Y, X_val=X_val, Y_val=Y_val, responses=names)


def _sorted(X: Table, Y: Table) -> tuple[Table, FloatArray]:
    """Sort rows by their responses; equal rows may change places."""
    order: IntArray = np.argsort(Y.values[:, 0], kind="stable")
    first = Y.values[order, 0]
    if (first[1:] == first[:-1]).any():
        order = np.lexsort(np.column_stack([X.values, Y.values]).T)
    return replace(X, values=X.values[order]), Y.values[order]


@dataclass(frozen=True, kw_only=True, eq=False)
class Coordinate:
    """Something that cells are halved by.

    A numeric covariate is one coordinate, cut at the middle of its range again and again. A
    boolean one is one coordinate that can be halved once. A categorical one is a coordinate per
    level, which can be halved once: this level, or any other.

    Attributes
    ----------
    column : int
        Number of the covariate.
    depth : int
        How often it can be halved.
    thresholds : ndarray of shape (2 ** depth - 1,)
        Where the finest intervals meet, in the units of X. A value on a threshold lies below it.
    level : str or None
        For a level of a categorical covariate, which one.
    """

    column: int
    depth: int
    thresholds: FloatArray
    level: str | None = None

    def codes(self, table: Table) -> IntArray:
        """Give the number of the finest interval that each row lies in."""
        values, levels = table.values[:, self.column], table.levels[self.column]
        if self.level is None:
            return np.searchsorted(self.thresholds, values, side="left")
        code = levels.index(self.level) if levels is not None and self.level in levels else -1
        is_other: BoolArray = values != code
        return is_other.astype(np.int64)

    def cut(self, level: int, position: int) -> float:
        """Where interval ``position`` of ``2 ** level`` is cut."""
        finest = 2 ** (self.depth - level)
        return float(self.thresholds[position * finest + finest // 2 - 1])


def encode(coordinates: Sequence[Coordinate], table: Table) -> IntArray:
    """Give the codes of all coordinates, shape (n_samples, n_coordinates)."""
    codes = [coordinate.codes(table) for coordinate in coordinates]
    return np.ascontiguousarray(np.column_stack(codes))


def make_coordinates(
    table: Table,
    covariates: Sequence[Covariate],
    *,
    scale: str,
    max_depth: int,
) -> list[Coordinate]:
    """Make the coordinates of the covariates."""
    coordinates = []
    for column, covariate in enumerate(covariates):
        values = table.values[:, column]
        if covariate.kind == "numeric":
            depth = max_depth if covariate.lower < covariate.upper else 0
            shares = np.arange(1, 2**depth) / 2**depth
            if scale == "quantile" and depth:
                thresholds = np.quantile(values, shares, method="lower")
            else:
                thresholds = covariate.lower + (covariate.upper - covariate.lower) * shares
            coordinates.append(Coordinate(column=column, depth=depth, thresholds=thresholds))
        elif covariate.kind == "boolean":
            depth = min(1, max_depth)
            thresholds = np.full(2**depth - 1, 0.5)
            coordinates.append(Coordinate(column=column, depth=depth, thresholds=thresholds))
        else:
            depth = min(1, max_depth)
            # With two levels, one against the rest is the same as the other against the rest.
            levels = covariate.levels if len(covariate.levels) > 2 else covariate.levels[:1]
            coordinates += [
                Coordinate(column=column, depth=depth, thresholds=np.empty(0), level=level)
                for level in levels
            ]
    return coordinates


@dataclass(frozen=True, kw_only=True, eq=False)
class Units:
    """Location and scale of the responses, which the search sees standardised, by group of rows.

    Attributes
    ----------
    location, scale : ndarray of shape (n_groups, p)
        Subtracted from the responses; and divided by.
    train, validation : ndarray of int
        Group of each training row, and of each validation row.
    floor : ndarray of shape (p,)
        Smallest variance of a standardised response in a leaf.
    by_leaf : bool
        Whether the groups are leaves of a tree, instead of all rows.
    bias : float
        What the risk of a row is too small by, because it was centred at a mean of its own.
    """

    location: FloatArray
    scale: FloatArray
    train: IntArray
    validation: IntArray
    floor: FloatArray
    by_leaf: bool = False
    bias: float = 0.0

    def standardize(self, Y: FloatArray, group: IntArray) -> FloatArray:
        """Return responses in these units."""
        return np.ascontiguousarray((Y - self.location[group]) / self.scale[group])

    def offsets(self, found: Sequence[Cell], cells: GaussianCells) -> FloatArray:
        """Return what standardising takes off the risk of each cell found among ``cells``."""
        by_group = 2.0 * np.log(self.scale).sum(axis=1) + self.bias

        def means(rows: Sequence[IntArray], group: IntArray) -> FloatArray:
            return np.array([by_group[group[one]].sum() for one in rows]) / len(group)

        trained = means([cell.train for cell in found], self.train)
        if cells.validation is cells.train:
            return trained
        validated = means([cell.validation for cell in found], self.validation)
        return 0.5 * (trained + validated) if cells.exchange else validated


def make_units(rows: TreeRows, *, standardize: bool) -> Units:
    """Units of the training rows, one group; their scale is 1 unless ``standardize``."""
    deviation = rows.Y.std(axis=0)
    scale = deviation if standardize else np.ones_like(deviation)
    n_validation = len(rows.Y) if rows.Y_val is None else len(rows.Y_val)
    return Units(
        location=rows.Y.mean(axis=0)[None],
        scale=scale[None],
        train=np.zeros(len(rows.Y), dtype=np.int64),
        validation=np.zeros(n_validation, dtype=np.int64),
        floor=FLOOR * (deviation / scale) ** 2,
    )


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


def default_gain(n_coordinates: int, n_responses: int) -> float:
    """Nats that a split must add to the likelihood of the validation rows, by default.

    It must be worth the code it takes to write it down, three bits and the name of a coordinate.
    A needless split of many responses loses far more than that on average, by variances and
    correlations that are estimated twice, so that chance hardly ever makes up for it.
    """
    code = (3.0 + math.log2(max(n_coordinates, 1))) * math.log(2.0)
    return max(0.0, code - NEEDLESS * max(n_responses - FEW, 0))


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


def cells_of(nodes: Sequence[GrownNode], cells: GaussianCells) -> list[Cell]:
    """Return the cells of a tree with the rows of ``cells``, and the risks that they have."""
    found = [replace(cells.root(), risk=nodes[0].cell.risk)]
    for number, node in enumerate(nodes[1:], start=1):
        above = nodes[node.parent]
        coordinate = above.branch.coordinate or 0
        side = above.children.index(number)
        found.append(cells.child(found[node.parent], coordinate, side, node.cell.risk))
    return found


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


def split_gains(nodes: Sequence[GrownNode], cells: GaussianCells) -> FloatArray:
    """Parts of the gain of each split: mean, variances, graph, shape (n_nodes, 3); 0 for leaves."""
    found = [node.cell for node in nodes]
    parts = np.zeros((len(nodes), 3))
    for number, node in enumerate(nodes):
        if node.children:
            below = [found[k] for k in node.children]
            between = pooled_risks(below, cells)
            whole = node.cell.risk
            # With one mean for all, the first model is the node itself.
            first = between[0] if cells.own_mean else whole
            steps = np.array([whole, first, between[1], sum(cell.risk for cell in below)])
            parts[number] = steps[:-1] - steps[1:]
    return parts


def pooled_risks(found: Sequence[Cell], cells: GaussianCells) -> FloatArray:
    """Risk of two models between one Gaussian for some cells together and one for each.

    Cells have their own means but one precision, fitted to the scatter within them; or their own
    means and variances but one matrix of partial correlations, fitted to their pooled
    correlations.
    """
    train, validation = cells.sums(found)
    n, n_validation = len(cells.train.Y), len(cells.validation.Y)
    risks = _pooled_risks(train, validation, cells) / n_validation
    if cells.exchange:
        risks = 0.5 * (risks + _pooled_risks(validation, train, cells) / n)
    return risks


def _pooled_risks(train: FloatArray, validation: FloatArray, cells: GaussianCells) -> FloatArray:
    """Return both risks for one set of rows to fit to, as sums over the others."""
    risks = []
    for scale in (0, 1):
        fit, score, offset = _pool(train, validation, cells, scale=scale)
        found = fit_cells(fit, score, cells.rules, own_mean=False, floor=cells.floor)
        risks.append(float(score[0, 0]) * (float(found.risk[0]) + offset))
    return np.array(risks)


def _pool(
    train: FloatArray, validation: FloatArray, cells: GaussianCells, *, scale: int
) -> tuple[FloatArray, FloatArray, float]:
    """Pool the scatter within cells, each in units of its own if ``scale``, else in common units.

    Returns sums over the rows to fit to and to score on, and what the units add to the risk.
    """
    p = len(cells.floor)
    means = train[:, 1 : 1 + p] / train[:, :1] if cells.own_mean else np.zeros((len(train), p))
    own = [_moments(sums, mean) for sums, mean in zip(train, means, strict=True)]
    variances = np.stack([S.diagonal() for S in own])
    if not scale:
        variances[:] = np.average(variances, axis=0, weights=train[:, 0])
    deviations = np.sqrt(np.maximum(variances, cells.floor))
    pooled = np.zeros((2, p, p))
    for k, deviation in enumerate(deviations):
        units = np.outer(deviation, deviation)
        pooled[0] += train[k, 0] * own[k] / units
        pooled[1] += validation[k, 0] * _moments(validation[k], means[k]) / units
    offset = 2.0 * float(validation[:, 0] @ np.log(deviations).sum(axis=1))
    counts = (train[:, 0].sum(), validation[:, 0].sum())
    fit, score = (
        np.concatenate([[n], np.zeros(p), S[np.triu_indices(p)]])[None]
        for n, S in zip(counts, pooled, strict=True)
    )
    return fit, score, offset / float(counts[1])


def _moments(sums: FloatArray, mean: FloatArray) -> FloatArray:
    """Second moments about any mean, from the sums over rows."""
    p = len(mean)
    products = np.zeros((p, p))
    products[np.triu_indices(p)] = sums[1 + p :] / sums[0]
    products += np.triu(products, 1).T
    average = sums[1 : 1 + p] / sums[0]
    return products - np.outer(mean, average) - np.outer(average, mean) + np.outer(mean, mean)


@dataclass(frozen=True, kw_only=True, eq=False)
class GrownTree:
    """A tree that was found, in the units that the search works in.

    Attributes
    ----------
    cells, validated : GaussianCells
        Cells with the rows that the search saw, and with the validation rows.
    nodes : list of GrownNode
        All nodes, the whole first.
    gains : ndarray of shape (n_nodes, 3)
        Parts of the gain of each split, see `split_gains`.
    fits : CellFits
        Gaussian of each node.
    n_cells : int
        Cells whose risk was computed.
    """

    cells: GaussianCells
    validated: GaussianCells
    nodes: list[GrownNode]
    gains: FloatArray
    fits: CellFits
    n_cells: int

    @property
    def is_floored(self) -> BoolArray:
        """Which responses hardly vary in some leaf."""
        is_leaf = np.array([not node.children for node in self.nodes])
        return np.asarray(self.fits.is_floored[is_leaf].any(axis=0))

    def offsets(self, units: Units) -> FloatArray:
        """Return what standardising takes off the risk of each node."""
        return units.offsets([node.cell for node in self.nodes], self.cells)

    def risk_steps(self, units: Units) -> FloatArray:
        """Risk of one Gaussian; with means, and variances, of each leaf; and of the tree."""
        whole, leaves = self.nodes[0].cell, [n.cell for n in self.nodes if not n.children]
        steps = np.full(4, whole.risk)
        if len(leaves) > 1:
            steps[1:3] = pooled_risks(leaves, self.cells)
            steps[3] = sum(leaf.risk for leaf in leaves)
        if not self.cells.own_mean:
            steps[1] = steps[0]
        return steps + float(self.offsets(units)[0])


def prune_to_groups(found: GrownTree) -> GrownTree:
    """Keep the splits that means and variances gain by, and those that lead to them."""
    gain = found.gains[:, :2].sum(axis=1)
    branches: dict[int, Branch] = {}
    for number in reversed(range(len(found.nodes))):
        node, branch = found.nodes[number], Branch(cell=found.nodes[number].cell)
        if node.children:
            below = list(node.children)
            gain[number] += gain[below].sum()
            if gain[number] > 0.0:
                children = tuple(branches[k] for k in below)
                branch = replace(node.branch, children=children)
            else:
                gain[number] = 0.0
        branches[number] = branch
    nodes = list_nodes(branches[0])
    place = {node.cell.key: number for number, node in enumerate(found.nodes)}
    kept = [place[node.cell.key] for node in nodes]
    fits = CellFits._make(field[kept] for field in found.fits)
    return replace(found, nodes=nodes, gains=found.gains[kept], fits=fits)


def units_by_leaf(found: GrownTree, nodes: Sequence[TreeNode]) -> Units:
    """Units of the rows in each leaf of a tree, which has been described as ``nodes``."""
    train = np.empty(len(found.validated.train.Y), dtype=np.int64)
    validation = np.empty(len(found.validated.validation.Y), dtype=np.int64)
    leaves = [node for node in nodes if node.split is None]
    cells = cells_of(found.nodes, found.validated)
    for leaf in leaves:
        train[cells[leaf.node].train] = leaf.leaf
        validation[cells[leaf.node].validation] = leaf.leaf
    return Units(
        location=np.stack([leaf.mean for leaf in leaves]),
        scale=np.stack([leaf.deviation for leaf in leaves]),
        train=train,
        validation=validation,
        # A variance that was raised to the floor is not raised again.
        floor=np.where(found.is_floored, 1.0, FLOOR),
        by_leaf=True,
    )


def describe_nodes(
    found: GrownTree,
    units: Units,
    coordinates: Sequence[Coordinate],
    covariates: Sequence[Covariate],
    responses: Sequence[str],
) -> list[TreeNode]:
    """Describe the nodes in the units of the data."""
    grown, fits = found.nodes, found.fits
    gains, offsets = found.gains, found.offsets(units)
    n_validation = [len(cell.validation) for cell in cells_of(grown, found.validated)]
    boxes: list[Box] = [whole_box(covariates)] * len(grown)
    nodes: list[TreeNode] = []
    n_leaves = 0
    for number, node in enumerate(grown):
        split = None
        if node.children:
            split = _split(node, gains[number].tolist(), coordinates, covariates)
            boxes[split.left], boxes[split.right] = child_boxes(boxes[number], split)
        counts = np.bincount(units.train[node.cell.train], minlength=len(units.scale))
        shares = counts / counts.sum()
        scale = np.sqrt(shares @ units.scale**2)
        precision = fits.precision[number] / np.outer(scale, scale)
        nodes.append(
            TreeNode(
                node=number,
                parent=node.parent,
                leaf=n_leaves if split is None else -1,
                box=boxes[number],
                n=len(node.cell.train),
                n_validation=n_validation[number],
                risk=node.cell.risk + float(offsets[number]),
                mean=shares @ units.location + scale * fits.mean[number],
                # Within the groups that the units are of, rows have the deviation 1.
                deviation=scale if units.by_leaf else scale * fits.deviation[number],
                precision=precision,
                graph=Graph.from_precision(precision, names=responses),
                alpha=float(fits.alpha[number]),
                is_refit=bool(fits.is_refit[number]),
                split=split,
            )
        )
        n_leaves += split is None
    return nodes


def _split(
    node: GrownNode,
    gains: Sequence[float],
    coordinates: Sequence[Coordinate],
    covariates: Sequence[Covariate],
) -> Split:
    """Describe how a node is split, in the units of the covariate."""
    k = node.branch.coordinate or 0
    coordinate = coordinates[k]
    covariate = covariates[coordinate.column]
    level, cut = coordinate.level, None
    if covariate.kind == "numeric":
        cut = coordinate.cut(node.cell.levels[k], node.cell.positions[k])
    elif covariate.kind == "boolean":
        level = "False"
    return Split(
        column=coordinate.column,
        covariate=covariate.name,
        cut=cut,
        level=level,
        is_boolean=covariate.kind == "boolean",
        left=node.children[0],
        right=node.children[1],
        gain=sum(gains),
        gain_mean=gains[0],
        gain_variances=gains[1],
        gain_graph=gains[2],
    )
