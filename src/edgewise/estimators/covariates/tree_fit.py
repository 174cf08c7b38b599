"""A fitted tree from rows and options."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.estimators.covariates.base import TreeRows
from edgewise.estimators.covariates.coding import (
    SCALES,
    Coordinate,
    columns_to_split,
    describe_covariates,
    encode,
    make_coordinates,
)
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
from edgewise.solvers.covariates.cell_fits import BEST, LASSO, REFIT, CellFits, PathRules, fit_cells
from edgewise.solvers.covariates.cells import Cell, GaussianCells, Rows
from edgewise.solvers.covariates.dyadic_tree import (
    Branch,
    TreeSearch,
    code_length_price,
    greedy_tree,
    optimal_tree,
)

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


CHOICES: Final = {
    "criterion": ("heldout", "penalized"),
    "search": ("greedy", "optimal"),
    "grow_risk": tuple(ESTIMATES),
    "mean": ("global", "leaf"),
    "scale": SCALES,
}
#: How a note begins that says which covariates were not tried.
UNTRIED: Final = "never split"
#: Smallest and largest value of the whole numbers among the parameters.
COUNTS: Final = {
    "lookahead": (0, 50),
    "max_depth": (0, 20),
    "min_samples_leaf": (1, None),
    "max_cells": (1, None),
    "n_alphas": (2, None),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeOptions:
    """Checked parameters of a `GraphTree`, under their own names."""

    criterion: str
    search: str
    grow_risk: str
    mean: str
    lookahead: int
    scale: str
    max_depth: int
    min_samples_leaf: int
    gamma: float
    exchange: bool
    min_gain: float | str
    bounds: Any
    split_on: Any
    max_total_depth: int | None
    max_cells: int
    penalize_diagonal: bool
    standardize: bool
    n_alphas: int
    alpha_ratio: float
    n_jobs: int | None

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> TreeOptions:
        """Check what can be checked without data."""
        for name, allowed in CHOICES.items():
            if parameters[name] not in allowed:
                raise InputError(
                    f"{name} must be one of {quote_names(allowed)}, got {parameters[name]!r}."
                )
        for name, (least, most) in COUNTS.items():
            _check_count(name, parameters[name], least, most)
        if parameters["max_total_depth"] is not None:
            _check_count("max_total_depth", parameters["max_total_depth"], 0, None)
        if parameters["min_gain"] != "auto":
            _check_number("min_gain", parameters["min_gain"], ' or "auto"')
        _check_number("gamma", parameters["gamma"])
        ratio = parameters["alpha_ratio"]
        if not (isinstance(ratio, Real) and 0.0 < float(ratio) < 1.0):
            raise InputError(f"alpha_ratio must be between 0 and 1, got {ratio!r}.")
        return cls(**{field.name: parameters[field.name] for field in fields(cls)})

    @property
    def is_penalized(self) -> bool:
        """Whether training rows judge, with a price for leaves."""
        return self.criterion == "penalized"

    @property
    def needs_validation(self) -> bool:
        """Whether there must be validation rows."""
        return not self.is_penalized

    def rules(self, grow_risk: str, **how: bool) -> PathRules:
        """Rules for one kind of risk."""
        return path_rules(
            grow_risk,
            n_alphas=self.n_alphas,
            alpha_ratio=self.alpha_ratio,
            penalize_diagonal=self.penalize_diagonal,
            **how,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeFit:
    """What a fit finds, in the units of the data."""

    nodes: list[TreeNode]
    covariates: list[Covariate]
    responses: list[str]
    risk: float
    risk_path: FloatArray
    n_cells: int
    treatment: list[str]
    floored: tuple[str, ...] = ()


def grow(rows: TreeRows, options: TreeOptions, names: Sequence[str] | None) -> TreeFit:
    """Grow a tree on checked rows; ``names`` are those of the covariates, if they have any."""
    covariates = describe_covariates(
        rows.X, scale=options.scale, bounds=options.bounds, names=names
    )
    coordinates = make_coordinates(
        rows.X,
        covariates,
        scale=options.scale,
        max_depth=options.max_depth,
        split_on=columns_to_split(options.split_on, covariates),
    )
    units = _Units.of(rows.Y, standardize=options.standardize)
    cells, judges = _cells(rows, coordinates, units, options)
    can_split = cells.can_split().tolist()
    tried = {one.column for one, can in zip(coordinates, can_split, strict=True) if can}
    covariates = [replace(one, is_tried=k in tried) for k, one in enumerate(covariates)]
    search = _search(cells, options)
    grown = list_nodes(search.tree)
    gains = split_gains(grown, cells)
    fits = _fit_leaves(grown, cells, judges, options)
    nodes = _nodes(grown, gains, fits, coordinates, covariates, units, judges, rows.responses)
    is_leaf = np.array([node.split is None for node in nodes])
    floored = np.flatnonzero(fits.is_floored[is_leaf].any(axis=0)).tolist()
    return TreeFit(
        nodes=nodes,
        covariates=covariates,
        responses=list(rows.responses),
        risk=search.risk + units.risk,
        risk_path=risk_by_leaves(grown) + units.risk,
        n_cells=search.n_cells,
        treatment=_treatment(rows, covariates, options),
        floored=tuple(rows.responses[k] for k in floored),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Units:
    """Location and scale that take the responses to those of the search."""

    location: FloatArray
    scale: FloatArray
    floor: FloatArray

    @classmethod
    def of(cls, Y: FloatArray, *, standardize: bool) -> _Units:
        deviation = Y.std(axis=0)
        scale = deviation if standardize else np.ones_like(deviation)
        return cls(location=Y.mean(axis=0), scale=scale, floor=FLOOR * (deviation / scale) ** 2)

    @property
    def risk(self) -> float:
        """What the change of units takes off a risk."""
        return 2.0 * float(np.log(self.scale).sum())

    def standard(self, Y: FloatArray) -> FloatArray:
        return np.ascontiguousarray((Y - self.location) / self.scale)


def _cells(
    rows: TreeRows, coordinates: Sequence[Coordinate], units: _Units, options: TreeOptions
) -> tuple[GaussianCells, GaussianCells]:
    """Cells as the search sees them, and as leaf graphs are judged."""
    train = Rows(encode(coordinates, rows.X), units.standard(rows.Y))
    validation = train
    if rows.X_val is not None and rows.Y_val is not None:
        validation = Rows(encode(coordinates, rows.X_val), units.standard(rows.Y_val))
    depths = np.array([coordinate.depth for coordinate in coordinates], dtype=np.int64)
    limit = options.max_total_depth
    judges = GaussianCells(
        train=train,
        validation=validation,
        depths=depths,
        rules=options.rules(options.grow_risk, is_penalized=options.is_penalized),
        own_mean=options.mean == "leaf",
        floor=units.floor,
        min_samples=options.min_samples_leaf,
        max_total_depth=int(depths.sum()) if limit is None else limit,
        exchange=options.exchange,
        n_jobs=options.n_jobs,
    )
    if not options.is_penalized:
        return judges, judges
    return replace(judges, validation=train, exchange=False), judges


def _search(cells: GaussianCells, options: TreeOptions) -> TreeSearch:
    """Find the tree that the options ask for."""
    n, p = cells.train.Y.shape
    d = max(len(cells.depths), 1)
    how: dict[str, Any] = {}
    if options.is_penalized:
        how["price"] = code_length_price(n, p, d, options.gamma)
    else:
        nats = default_gain(d, p) if isinstance(options.min_gain, str) else options.min_gain
        # A risk is minus twice a log-likelihood per row that judges.
        n_validation = len(cells.validation.Y)
        how["min_gain"] = nats * (
            1.0 / n + 1.0 / n_validation if options.exchange else 2.0 / n_validation
        )
    if options.search == "optimal":
        return optimal_tree(cells, max_cells=options.max_cells, **how)
    return greedy_tree(cells, lookahead=options.lookahead, **how)


def _fit_leaves(
    grown: Sequence[GrownNode], cells: GaussianCells, judges: GaussianCells, options: TreeOptions
) -> CellFits:
    """Refit every node on the graph that validation rows choose, or the extended BIC without.

    The risk of refits has several dips along a path of strongly correlated responses, so that
    these paths, few as they are, go to their end.
    """
    found = [node.cell for node in grown]
    rules = options.rules("refit", to_the_end=True)
    if cells is judges:
        return cells.fit(found, rules)
    fits = cells.fit(found, rules._replace(price_edges=True))
    if judges.validation is judges.train:
        return fits
    judged = judge_by(grown, judges)
    seen = [k for k, cell in enumerate(judged) if len(cell.validation)]
    chosen = judges.fit([judged[k] for k in seen], rules)
    for all_of_them, better in zip(fits, chosen, strict=True):
        all_of_them[seen] = better
    return fits


def _nodes(
    grown: Sequence[GrownNode],
    gains: Sequence[SplitGains | None],
    fits: CellFits,
    coordinates: Sequence[Coordinate],
    covariates: Sequence[Covariate],
    units: _Units,
    judges: GaussianCells,
    responses: Sequence[str],
) -> list[TreeNode]:
    """Describe the nodes in the units of the data."""
    n_validation = [len(cell.validation) for cell in judge_by(grown, judges)]
    share = _shares([node.cell for node in grown], exchange=judges.exchange)
    boxes: list[Box] = [whole_box(covariates)] * len(grown)
    nodes: list[TreeNode] = []
    n_leaves = 0
    for number, (node, gain) in enumerate(zip(grown, gains, strict=True)):
        split = None
        if gain is not None:
            split = _split(node, gain, coordinates, covariates)
            boxes[split.left], boxes[split.right] = child_boxes(boxes[number], split)
        precision = fits.precision[number] / np.outer(units.scale, units.scale)
        nodes.append(
            TreeNode(
                node=number,
                parent=node.parent,
                leaf=n_leaves if split is None else -1,
                box=boxes[number],
                n=len(node.cell.train),
                n_validation=n_validation[number],
                risk=node.cell.risk + float(share[number]) * units.risk,
                mean=units.location + units.scale * fits.mean[number],
                precision=precision,
                graph=Graph.from_precision(precision, names=responses),
                alpha=float(fits.alpha[number]),
                is_refit=bool(fits.is_refit[number]),
                split=split,
            )
        )
        n_leaves += split is None
    return nodes


def _shares(cells: Sequence[Cell], *, exchange: bool) -> FloatArray:
    """Share of each cell in the rows that judge, the first cell being the whole."""
    counts = np.array([[len(cell.validation), len(cell.train)] for cell in cells])
    shares = counts / counts[0]
    return np.asarray(shares.mean(axis=1) if exchange else shares[:, 0])


def _split(
    node: GrownNode,
    gain: SplitGains,
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
        gain=gain.total,
        gain_mean=gain.mean,
        gain_variances=gain.variances,
        gain_graph=gain.graph,
    )


def _treatment(rows: TreeRows, covariates: Sequence[Covariate], options: TreeOptions) -> list[str]:
    """Say what was done to the data."""
    counts = f"{len(rows.Y)} training rows"
    counts += f", {0 if rows.Y_val is None else len(rows.Y_val)} validation rows"
    treatment = _untried(covariates, options, counts)
    if options.standardize:
        treatment.append("standardize=True: responses scaled to unit variance for the search")
    return [*treatment, counts]


def _untried(covariates: Sequence[Covariate], options: TreeOptions, counts: str) -> list[str]:
    """Say why covariates were never split that could have been."""
    flat = [c.name for c in covariates if c.kind == "numeric" and not c.lower < c.upper]
    allowed = columns_to_split(options.split_on, covariates)
    others = [covariates[k].name for k in allowed if not covariates[k].is_tried]
    others = [name for name in others if name not in flat]
    reason = (
        f"because fewer than min_samples_leaf={options.min_samples_leaf} rows would be on one side "
        f"({counts})"
    )
    if options.max_depth == 0 or options.max_total_depth == 0:
        name = "max_depth" if options.max_depth == 0 else "max_total_depth"
        reason = f"because {name}=0"
    notes = ((flat, "because constant"), (others, reason))
    return [f"{UNTRIED}, {why}: {quote_names(names)}" for names, why in notes if names]


def _check_count(name: str, value: Any, least: int, most: int | None) -> None:
    is_count = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_count or value < least or (most is not None and value > most):
        limit = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InputError(f"{name} must be a whole number, {limit}; got {value!r}.")


def _check_number(name: str, value: Any, otherwise: str = "") -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= value < np.inf:
        raise InputError(f"{name} must be a number of at least 0{otherwise}, got {value!r}.")
