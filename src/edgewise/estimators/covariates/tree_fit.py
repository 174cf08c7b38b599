"""A fitted tree from rows and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.estimators.covariates.coding import (
    SCALES,
    Coordinate,
    columns_to_split,
    describe_covariates,
    encode,
    make_coordinates,
)
from edgewise.estimators.covariates.tree_growth import (
    ESTIMATES,
    FLOOR,
    GrownNode,
    SplitGains,
    default_gain,
    judge_by,
    list_nodes,
    path_rules,
    risk_by_leaves,
    split_gains,
)
from edgewise.estimators.covariates.tree_nodes import (
    Box,
    Covariate,
    Split,
    TreeNode,
    child_boxes,
    whole_box,
)
from edgewise.estimators.covariates.tree_responses import TreeRows
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.solvers.covariates.cell_fits import CellFits, PathRules
from edgewise.solvers.covariates.cells import Cell, GaussianCells, Rows
from edgewise.solvers.covariates.dyadic_tree import (
    TreeSearch,
    code_length_price,
    greedy_tree,
    optimal_tree,
)

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
