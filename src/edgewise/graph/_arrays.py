"""Checks of the arrays and names that a graph is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.io.messages import quote_names, repeated

#: Two triangles that differ by less than this share of the largest entry differ by rounding.
SYMMETRY_TOLERANCE = 1e-8


def square_matrix(values: ArrayLike, label: str) -> FloatArray:
    """Copy ``values`` into a finite, square float64 matrix, or say why that cannot be."""
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{label} must be a matrix of numbers: {error}.") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InputError(
            f"{label} must be a square matrix with a row for every node; "
            f"its shape is {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise InputError(
            f"{label}[{row}, {column}] is {matrix[row, column]}; every entry must be finite."
        )
    return matrix


def symmetric(matrix: FloatArray, names: Sequence[str], label: str, remedy: str) -> FloatArray:
    """Return ``matrix`` made exactly symmetric; more than rounding to repair is an error."""
    if np.array_equal(matrix, matrix.T):
        return matrix
    asymmetry = np.abs(matrix - matrix.T)
    if asymmetry.max() > SYMMETRY_TOLERANCE * np.abs(matrix).max():
        row, column = divmod(int(asymmetry.argmax()), len(matrix))
        raise InputError(
            f"{label} is not symmetric: {names[row]!r} to {names[column]!r} has "
            f"{matrix[row, column]:g} but the way back has {matrix[column, row]:g}. {remedy}"
        )
    return (matrix + matrix.T) / 2


def check_names(names: Iterable[str] | None, n_nodes: int) -> tuple[str, ...]:
    """Return one unique, non-empty name per node; None gives ``x0``, ``x1``, ..."""
    if names is None:
        return tuple(f"x{index}" for index in range(n_nodes))
    if isinstance(names, str):
        raise InputError(f"names must be a sequence of strings, got the single string {names!r}.")
    checked = tuple(names)
    for position, name in enumerate(checked):
        if not isinstance(name, str):
            raise InputError(
                f"Name {position} is {name!r}, a {type(name).__name__}; names must be strings. "
                "Pass names=[str(name) for name in names]."
            )
        if not name:
            raise InputError(f"Name {position} is empty; every node needs a name.")
    if len(checked) != n_nodes:
        raise InputError(f"There are {n_nodes} nodes but {len(checked)} names.")
    if twice := repeated(checked):
        raise InputError(f"Names must be unique; repeated: {quote_names(twice)}. Rename them.")
    return tuple(str(name) for name in checked)


def partial_correlations(Theta: FloatArray, names: Sequence[str]) -> FloatArray:
    """Return -Theta_ij / sqrt(Theta_ii Theta_jj) with a zero diagonal; exact zeros stay."""
    Theta = symmetric(Theta, names, "precision", "Symmetrise it.")
    diagonal = Theta.diagonal()
    if diagonal.min() <= 0:
        raise InputError(
            f"precision has {diagonal.min():g} on the diagonal at "
            f"{names[int(diagonal.argmin())]!r}; a precision matrix has a positive diagonal."
        )
    scale = np.sqrt(diagonal)
    correlations: FloatArray = -Theta / np.outer(scale, scale)
    np.fill_diagonal(correlations, 0.0)
    return correlations


def check_weights(weights: FloatArray, names: Sequence[str], directed: bool) -> FloatArray:
    """Return ``weights``, symmetric unless ``directed``; its diagonal must be zero."""
    if not directed:
        weights = symmetric(weights, names, "weights", "Symmetrise it, or pass directed=True.")
    if loops := [names[i] for i in np.flatnonzero(weights.diagonal()).tolist()]:
        raise InputError(
            f"weights has a non-zero diagonal at {quote_names(loops)}; a node has no edge to "
            "itself. Set the diagonal to 0, or use Graph.from_precision for a precision matrix."
        )
    # Adding zero turns a negative zero into a plain one, so that files print "0.0".
    return weights + 0.0


def check_adjacency(
    adjacency: ArrayLike | None, weights: FloatArray, names: tuple[str, ...], directed: bool
) -> BoolArray:
    """Return which edges are there, in agreement with ``weights``."""
    has_weight: BoolArray = weights != 0
    if adjacency is None:
        return has_weight
    matrix = square_matrix(adjacency, "adjacency")
    if matrix.shape != weights.shape:
        raise InputError(
            f"adjacency has shape {matrix.shape} but weights has shape {weights.shape}."
        )
    if not np.isin(matrix, (0.0, 1.0)).all():
        raise InputError("adjacency must hold only True and False (or 1 and 0).")
    present: BoolArray = matrix == 1
    if present.diagonal().any():
        raise InputError("adjacency has True on the diagonal; a node has no edge to itself.")
    if not directed and not np.array_equal(present, present.T):
        row, column = np.argwhere(present & ~present.T)[0]
        raise InputError(
            f"adjacency is not symmetric: it has {names[row]!r} to {names[column]!r} but not the "
            "way back. Symmetrise it, or pass directed=True."
        )
    if (has_weight & ~present).any():
        row, column = np.argwhere(has_weight & ~present)[0]
        raise InputError(
            f"The edge from {names[row]!r} to {names[column]!r} has weight "
            f"{weights[row, column]:g} but adjacency says that it is not there. Set one to agree "
            "with the other."
        )
    return present


def check_confidence(
    confidence: ArrayLike | None, names: tuple[str, ...], directed: bool
) -> FloatArray | None:
    """Return ``confidence`` with a zero diagonal and every entry between 0 and 1."""
    if confidence is None:
        return None
    matrix = square_matrix(confidence, "confidence")
    if len(matrix) != len(names):
        raise InputError(
            f"confidence has shape {matrix.shape} but the graph has {len(names)} nodes."
        )
    np.fill_diagonal(matrix, 0.0)
    if matrix.min() < 0 or matrix.max() > 1:
        raise InputError(
            f"confidence must lie between 0 and 1; it runs from {matrix.min():g} to "
            f"{matrix.max():g}."
        )
    if directed:
        return matrix
    return symmetric(matrix, names, "confidence", "Symmetrise it, or pass directed=True.")


def edge_positions(adjacency: BoolArray, *, directed: bool) -> tuple[IntArray, IntArray]:
    """Row and column of every edge in index order; an undirected edge once, row < column."""
    rows, columns = np.nonzero(adjacency if directed else np.triu(adjacency))
    return rows, columns
