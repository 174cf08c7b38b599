"""Growing a tree: coordinates that can be halved, cells, gains and nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.table import Table
from edgewise.estimators.covariates.base import TreeRows
from edgewise.estimators.covariates.tree_nodes import (
    Box,
    Covariate,
    Split,
    TreeNode,
    child_boxes,
    whole_box,
)
from edgewise.graph import Graph
from edgewise.solvers.covariates.cell_fits import BEST, LASSO, REFIT, CellFits, PathRules
from edgewise.solvers.covariates.dyadic_cells import Cell, GaussianCells, Rows
from edgewise.solvers.covariates.dyadic_tree import (
    Branch,
    code_length_price,
    greedy_tree,
    optimal_tree,
    scanned_tree,
    steepest_gain,
)
from edgewise.solvers.covariates.scan import (
    ALL,
    GRAPH,
    MOMENTS,
    Cut,
    ScannedRows,
    ScanRules,
    can_cut,
    scan_tree,
)

if TYPE_CHECKING:
    from edgewise.estimators.covariates.tree import LeafLasso

#: Estimates that risks can be of, by the name of ``grow_risk``.
ESTIMATES: Final = {"l1": LASSO, "refit": REFIT, "best": BEST}
#: Alphas without a smaller risk after which a path ends. The risk of the lasso is smooth in
#: alpha, that of the refits jumps.
PATIENCE: Final = {LASSO: 8, REFIT: 10, BEST: 10}
#: Alpha of the penalised form is this times the root of log(p) / n. With 2 instead of 1, late
#: splits are never found.
RATE: Final = 1.0
#: Share of the variance of a response below which rows of a leaf count as alike.
ALIKE: Final = 1e-6
#: Without a test, a scan goes on unless a cut is as likely by chance as not.
NO_TEST: Final = 0.5
#: Nats that the default gain of a split falls by for every response beyond a few. Where there is
#: nothing to be found, a split loses 0.4 nats per response and more on average.
NEEDLESS: Final = 0.3
FEW: Final = 4


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

    def cut_once(self, place: int) -> Coordinate:
        """Return the coordinate that can be cut below one of its finest intervals only."""
        return replace(self, depth=1, thresholds=self.thresholds[place - 1 : place])


def encode(coordinates: Sequence[Coordinate], table: Table) -> IntArray:
    """Give the codes of all coordinates, shape (n_samples, n_coordinates)."""
    codes = np.empty((table.n_samples, len(coordinates)), dtype=np.int64)
    for k, coordinate in enumerate(coordinates):
        codes[:, k] = coordinate.codes(table)
    return codes


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
    floor : ndarray of shape (2, p)
        Variance of a standardised response below which rows of a leaf count as alike; and what
        it is raised to, times their number.
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
        floor=np.outer([ALIKE, 1.0], (deviation / scale) ** 2),
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
        below = [nodes[k].branch for k in to_split]
        worth = [branch.total_gain / (branch.n_leaves - 1) for branch in below]
        best = nodes[to_split.pop(int(np.argmax(worth)))]
        risks.append(risks[-1] - best.branch.gain)
        to_split += [k for k in best.children if nodes[k].children]
    return np.array(risks)


def split_gains(nodes: Sequence[GrownNode], cells: GaussianCells) -> FloatArray:
    """Parts of the gain of each split: mean, variances, graph, shape (n_nodes, 3); 0 for leaves.

    Where the graph alone counts, it has all of the gain.
    """
    parts = np.zeros((len(nodes), 3))
    for number, node in enumerate(nodes):
        if node.children and cells.part == GRAPH:
            parts[number, 2] = node.branch.gain
        elif node.children:
            steps = _risk_steps(node.cell, [nodes[k].cell for k in node.children], cells)
            parts[number] = steps[:-1] - steps[1:]
    return parts


def _risk_steps(whole: Cell, parts: Sequence[Cell], cells: GaussianCells) -> FloatArray:
    """Risk of one Gaussian; with the means, and variances, of each part; and of one for each."""
    steps = np.full(4, whole.risk)
    if len(parts) > 1:
        # With one mean for all, the first model is the whole itself.
        if cells.own_mean:
            steps[1] = cells.pooled_risk(parts, own_scale=False)
        steps[2] = cells.pooled_risk(parts, own_scale=True)
        steps[3] = sum(cell.risk for cell in parts)
    return steps


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
    coordinates : list of Coordinate
        What the nodes are split by.
    is_scanned : bool
        Whether those are cuts that a test has found.
    gamma : float or None
        Price of the leaves on the training rows, by permutation where that was asked for.
    """

    cells: GaussianCells
    validated: GaussianCells
    nodes: list[GrownNode]
    gains: FloatArray
    fits: CellFits
    n_cells: int
    coordinates: list[Coordinate]
    is_scanned: bool
    gamma: float | None

    @property
    def is_floored(self) -> BoolArray:
        """Which responses hardly vary in some leaf."""
        is_leaf = np.array([not node.children for node in self.nodes])
        return np.asarray(self.fits.is_floored[is_leaf].any(axis=0))

    @property
    def is_refuted(self) -> bool:
        """Whether cuts were found, but fit other rows no better than none."""
        return self.is_scanned and bool(self.coordinates) and not self.nodes[0].children

    def offsets(self, units: Units) -> FloatArray:
        """Return what standardising takes off the risk of each node."""
        return units.offsets([node.cell for node in self.nodes], self.cells)

    def risk_steps(self, units: Units) -> FloatArray:
        """Risk of one Gaussian; with means, and variances, of each leaf; and of the tree."""
        leaves = [node.cell for node in self.nodes if not node.children]
        steps = _risk_steps(self.nodes[0].cell, leaves, self.cells)
        return steps + float(self.offsets(units)[0])


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeProblem:
    """How a tree is grown on some rows, whatever units their responses are in.

    Attributes
    ----------
    rows : TreeRows
        Training and validation rows.
    coordinates : list of Coordinate
        What cells may be split by.
    search, lookahead, min_samples, max_total_depth, n_jobs
        As in `GraphTree`.
    estimate : int
        Which estimate has the risk, see `PathRules`.
    own_mean : bool
        Whether each cell has a mean of its own.
    lasso : LeafLasso
        Path of the graphical lassos.
    gamma : float, "auto" or None
        Price of the leaves on the training rows; None for the risk of the validation rows.
    min_gain, exchange, significance
        As in `HeldOut`; ``significance`` also of `Penalized`.
    """

    rows: TreeRows
    coordinates: list[Coordinate]
    search: str
    estimate: int
    own_mean: bool
    lookahead: int
    min_samples: int
    max_total_depth: int | None
    lasso: LeafLasso
    gamma: float | str | None
    min_gain: float | str
    exchange: bool
    significance: float | None
    n_jobs: int | None

    def grow(self, units: Units, part: str) -> GrownTree:
        """Search for the tree of least risk, and fit its nodes."""
        gamma = self._gamma_of_chance(units, part) if self.gamma == "auto" else self.gamma
        coordinates, first = self._cuts(units, part)
        cells, validated = self._cells(units, coordinates, part)
        costs = replace(self, gamma=gamma)._costs(cells)
        if self.search == "greedy":
            found = scanned_tree(cells, first, **costs)
        elif self.search == "halving":
            found = greedy_tree(cells, lookahead=self.lookahead, **costs)
        else:
            found = optimal_tree(cells, **costs)
        nodes = list_nodes(found.tree)
        return GrownTree(
            cells=cells,
            validated=validated,
            nodes=nodes,
            gains=split_gains(nodes, cells),
            fits=_fit_leaves(nodes, cells, validated, self.lasso),
            n_cells=found.n_cells,
            coordinates=coordinates,
            is_scanned=self._is_tested,
            gamma=None if gamma is None else float(gamma),
        )

    @property
    def _is_tested(self) -> bool:
        """Whether a test finds the splits."""
        return self.search == "greedy" and self.gamma is None and self.significance is not None

    def _cuts(self, units: Units, part: str) -> tuple[list[Coordinate], Cut | None]:
        """Return what cells are split by, and for a scan the first of its cuts."""
        if self.search != "greedy":
            return self.coordinates, None
        first = scan_tree(
            self._scanned(units),
            np.array([one.depth for one in self.coordinates], dtype=np.int64),
            self._scan_rules(part),
        )
        cuts = () if first is None else first
        return [self.coordinates[cut.coordinate].cut_once(cut.place) for cut in cuts], first

    def _gamma_of_chance(self, units: Units, part: str) -> float:
        """Find the gamma at which a tree would split for none of so many permutations.

        Covariates change places among the training rows, so that nothing varies with them. Of
        19 permutations and the rows as they are, each is as likely to have the largest gamma.
        """
        rng = np.random.default_rng(len(self.rows.Y))
        largest = 0.0
        for _ in range(math.ceil(1.0 / (self.significance or 1.0)) - 1):
            X = self.rows.X
            shuffled = replace(X, values=X.values[rng.permutation(X.n_samples)])
            problem = replace(self, rows=replace(self.rows, X=shuffled))
            coordinates, first = problem._cuts(units, part)
            cells, _ = problem._cells(units, coordinates, part)
            largest = max(largest, steepest_gain(cells, self.search, first, self.lookahead))
        return largest

    def tried(self, units: Units) -> set[int]:
        """Numbers of the covariates that rows can be split by."""
        if self.max_total_depth == 0:
            return set()
        if self.search == "greedy":
            is_tried = can_cut(self._scanned(units), self.min_samples)
        else:
            is_tried = self._cells(units, self.coordinates, ALL)[0].can_split()
        return {
            one.column for one, can in zip(self.coordinates, is_tried.tolist(), strict=True) if can
        }

    def _scanned(self, units: Units) -> ScannedRows:
        """Rows that the search sees, training rows first; groups have the moments of both kinds.

        Moments of training rows alone leave differences between groups in the validation rows,
        which a test would find.
        """
        cells, _ = self._cells(units, self.coordinates, ALL)
        kinds = [cells.train]
        if cells.validation is not cells.train:
            kinds.append(cells.validation)
        is_validation = np.repeat(np.arange(len(kinds)), [len(kind.Y) for kind in kinds])
        Y = np.concatenate([kind.Y for kind in kinds])
        group = np.concatenate([units.train, units.validation][: len(kinds)])
        for number in np.unique(group).tolist() if units.by_leaf else ():
            inside = group == number
            if self.own_mean:
                Y[inside] -= Y[inside].mean(axis=0)
            Y[inside] /= np.sqrt(np.maximum(np.mean(Y[inside] ** 2, axis=0), units.floor[0]))
        return ScannedRows(
            codes=np.concatenate([kind.codes for kind in kinds]),
            Y=Y,
            is_validation=is_validation.astype(bool),
            unit=self.rows.units,
        )

    def _scan_rules(self, part: str) -> ScanRules:
        limit = self.max_total_depth
        return ScanRules(
            part=part,
            own_mean=self.own_mean,
            # Means and variances need fewer rows than a network does.
            min_samples=-(-self.min_samples // 2) if part == MOMENTS else self.min_samples,
            max_depth=sum(one.depth for one in self.coordinates) if limit is None else limit,
            lookahead=self.lookahead,
            significance=(self.significance if self._is_tested else None) or NO_TEST,
        )

    def _cells(
        self, units: Units, coordinates: Sequence[Coordinate], part: str
    ) -> tuple[GaussianCells, GaussianCells]:
        """Cells with the rows that the search sees, and with the validation rows."""
        rows = self.rows
        train = Rows(encode(coordinates, rows.X), units.standardize(rows.Y, units.train))
        validation = train
        if rows.X_val is not None and rows.Y_val is not None:
            validated = units.standardize(rows.Y_val, units.validation)
            validation = Rows(encode(coordinates, rows.X_val), validated)
        depths = np.array([coordinate.depth for coordinate in coordinates], dtype=np.int64)
        limit = self.max_total_depth
        rate = 0.0 if self.gamma is None else RATE
        cells = GaussianCells(
            train=train,
            validation=validation,
            depths=depths,
            rules=_path_rules(self.lasso, self.estimate, PATIENCE[self.estimate], rate),
            own_mean=self.own_mean and not units.by_leaf,
            floor=units.floor,
            min_samples=self.min_samples,
            max_total_depth=int(depths.sum()) if limit is None else limit,
            exchange=self.exchange,
            n_jobs=self.n_jobs,
            part=part,
        )
        return (cells if self.gamma is None else replace(cells, validation=train)), cells

    def _costs(self, cells: GaussianCells) -> dict[str, Any]:
        """Say what splits must be worth."""
        n, p = cells.train.Y.shape
        d = max(len(self.coordinates), 1)
        if self.gamma is not None:
            return {"price": code_length_price(n, p, d, float(self.gamma))}
        nats = self.min_gain
        if self._is_tested and (cells.part == MOMENTS or isinstance(nats, str)):
            # What is left of a difference of means or variances would pass for a network.
            nats = 0.0
        elif isinstance(nats, str):
            nats = default_gain(d, p)
        # A risk is minus twice a log-likelihood per validation row.
        n_validation = len(cells.validation.Y)
        per_row = 1.0 / n + 1.0 / n_validation if self.exchange else 2.0 / n_validation
        return {"min_gain": nats * per_row}


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
        # A variance that was raised to the floor is not lowered again by these units.
        floor=np.where(found.is_floored, [[1.0], [0.0]], [[ALIKE], [1.0]]),
        by_leaf=True,
    )


def describe_nodes(
    found: GrownTree,
    units: Units,
    covariates: Sequence[Covariate],
    responses: Sequence[str],
) -> list[TreeNode]:
    """Describe the nodes in the units of the data."""
    grown, fits = found.nodes, found.fits
    gains, risks = found.gains, _node_risks(found, units)
    n_validation = [len(cell.validation) for cell in cells_of(grown, found.validated)]
    boxes: list[Box] = [whole_box(covariates)] * len(grown)
    nodes: list[TreeNode] = []
    n_leaves = 0
    for number, node in enumerate(grown):
        split = None
        if node.children:
            split = _split(node, gains[number].tolist(), found.coordinates, covariates)
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
                risk=float(risks[number]),
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


def _node_risks(found: GrownTree, units: Units) -> FloatArray:
    """Risk of each node in the units of the data, so that halves have less by the gain of a split.

    What their own risks are off by, where a part of the gain counts only, they share by rows.
    """
    risks = found.offsets(units) + [node.cell.risk for node in found.nodes]
    for number, node in enumerate(found.nodes):
        if node.children:
            below = list(node.children)
            sizes = np.array([len(found.nodes[k].cell.train) for k in below])
            excess = risks[number] - node.branch.gain - risks[below].sum()
            risks[below] += excess * sizes / sizes.sum()
    return np.asarray(risks)


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
        p_value=node.branch.p_value,
    )


def _path_rules(lasso: LeafLasso, estimate: int, patience: int, rate: float = 0.0) -> PathRules:
    """Rules of a path: which estimate has the risk, and when to end; see `PathRules`."""
    return PathRules(
        estimate=estimate,
        n_alphas=lasso.n_alphas,
        ratio=lasso.alpha_ratio,
        patience=patience,
        rate=rate,
        penalize_diagonal=lasso.penalize_diagonal,
        price_edges=False,
    )


def _fit_leaves(
    grown: Sequence[GrownNode], cells: GaussianCells, validated: GaussianCells, lasso: LeafLasso
) -> CellFits:
    """Refit every node on the graph that validation rows choose, or the extended BIC without.

    The risk of refits has several dips along a path of strongly correlated responses, so that
    these paths, few as they are, go to their end.
    """
    found = [node.cell for node in grown]
    rules = _path_rules(lasso, REFIT, patience=lasso.n_alphas)
    if cells is validated:
        return cells.fit(found, rules)
    fits = cells.fit(found, rules._replace(price_edges=True))
    if validated.validation is validated.train:
        return fits
    same = cells_of(grown, validated)
    seen = [k for k, cell in enumerate(same) if len(cell.validation)]
    chosen = validated.fit([same[k] for k in seen], rules)
    for all_of_them, better in zip(fits, chosen, strict=True):
        all_of_them[seen] = better
    return fits
