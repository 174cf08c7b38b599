"""Paths of the cells of a tree, by us and by scikit-learn's graphical lasso."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance._graph_lasso import graphical_lasso_path
from sklearn.exceptions import ConvergenceWarning

from edgewise import GraphTree
from edgewise.data.simulate.covariates import PartitionedGraphs
from edgewise.solvers.covariates.cell_fits import LASSO, PathRules, allocate_path, best_on_path

Array = NDArray[Any]

#: A path as `GraphTree` walks it by default: alphas, the last as a share of the first, and how many
#: without a smaller risk end it.
N_ALPHAS, RATIO, PATIENCE = 40, 0.01, 8
RULES = PathRules(
    estimate=LASSO,
    n_alphas=N_ALPHAS,
    ratio=RATIO,
    patience=PATIENCE,
    rate=0.0,
    penalize_diagonal=False,
    price_edges=False,
)


class CellMoments(NamedTuple):
    """Second moments of the training and of the validation rows of a cell about one mean."""

    n: int
    S: Array
    S_val: Array


def cells_of(tree: GraphTree, data: PartitionedGraphs, n_cells: int, rng: int) -> list[CellMoments]:
    """Draw from the cells whose risk the search of a tree computed: halves of its nodes."""
    mean = data.Y.mean(axis=0)
    d = data.X.shape[1]
    known = [(node, k, side) for node in tree.nodes_ for k in range(d) for side in (0, 1)]
    chosen = np.random.default_rng(rng).permutation(len(known))
    cells: list[CellMoments] = []
    for pick in chosen.tolist():
        node, k, side = known[pick]
        ends: Array = np.array([node.box[f"x{j}"] for j in range(d)], dtype=np.float64)
        ends[k, 1 - side] = ends[k].mean()
        parts = []
        for X, Y in ((data.X, data.Y), (data.X_val, data.Y_val)):
            inside = ((ends[:, 0] < X) & (ends[:, 1] >= X)).all(axis=1)
            parts.append(Y[inside] - mean)
        if min(map(len, parts)) >= tree.min_samples_leaf:
            S, S_val = (np.ascontiguousarray(Y.T @ Y / len(Y)) for Y in parts)
            cells.append(CellMoments(len(parts[0]), S, S_val))
        if len(cells) == n_cells:
            break
    return cells


def our_risks(cells: list[CellMoments]) -> Array:
    """Least held-out risk along the path of each cell."""
    p = len(cells[0].S)
    room, precision = allocate_path(p), np.empty((p, p))
    return np.array(
        [best_on_path(c.S, c.S_val, float(c.n), RULES, room, precision).risk for c in cells]
    )


def sklearn_risks(cells: list[CellMoments]) -> tuple[Array, int]:
    """Do the same with scikit-learn: warm starts, and the same rule to stop; with its own tol.

    Returns the risks, and how many graphical lassos were solved.
    """
    risks, n_solves = [], 0
    for cell in cells:
        risk, n = _sklearn_path(cell)
        risks.append(risk)
        n_solves += n
    return np.array(risks), n_solves


def _sklearn_path(cell: CellMoments) -> tuple[float, int]:
    p = len(cell.S)
    # Rows whose covariance is S, few enough that reading them costs nothing.
    root = np.sqrt(p) * np.linalg.cholesky(cell.S + 1e-12 * np.eye(p)).T
    rows = np.vstack([root, -root])
    largest = np.abs(cell.S[~np.eye(p, dtype=bool)]).max()
    best, n_worse, n_solves, start = np.inf, 0, 0, None
    for alpha in largest * np.geomspace(1.0, RATIO, N_ALPHAS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            (start,), (Theta,) = graphical_lasso_path(rows, [alpha], cov_init=start)
        risk = float(np.vdot(cell.S_val, Theta)) - float(np.linalg.slogdet(Theta)[1])
        n_solves += 1
        n_worse = 0 if risk < best else n_worse + 1
        best = min(best, risk)
        if n_worse >= PATIENCE:
            break
    return best, n_solves
