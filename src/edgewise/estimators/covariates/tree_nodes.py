"""What a tree of graphs is made of: covariates, splits and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data.checks import about_size
from edgewise.data.table import Table
from edgewise.graph import Graph
from edgewise.io.messages import quote_names

#: Where a node lies: an interval (lower, upper) or the levels that are left, by covariate.
Box = dict[str, tuple[float, float] | tuple[str, ...]]


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
    mean : ndarray of shape (p,)
        Mean of the Gaussian.
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
    precision: FloatArray
    graph: Graph
    alpha: float
    is_refit: bool
    split: Split | None = None


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


def check_covariates(table: Table, kinds: Sequence[str] | None = None) -> None:
    """Refuse covariates that cannot be used; with ``kinds``, all but those like in the fit.

    A level that the fit did not see counts as none of those that it did.
    """
    is_whole: BoolArray = np.asarray(np.isfinite(table.values).all(axis=0))
    if gaps := [table.names[k] for k in np.flatnonzero(~is_whole).tolist()]:
        raise InputError(
            f"Covariates {quote_names(gaps)} hold missing or infinite values. Fill them, or drop "
            "those rows."
        )
    numbers = np.where([kind == "numeric" for kind in table.kinds], table.values, 0.0)
    if sentence := about_size(numbers, table.names, noun="Covariate"):
        raise InputError(sentence)
    for name, kind, known in zip(table.names, table.kinds, kinds or table.kinds, strict=True):
        if (kind == "categorical") != (known == "categorical"):
            raise InputError(
                f"Covariate '{name}' was {known} in the fit and is {kind} now. Give it the same "
                "type."
            )
