"""Responses whose network is another one in each cell of a dyadic partition."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.simulate.varying import (
    VaryingGraphs,
    check_design,
    draw_graph,
    draw_responses,
)

PartitionLayout: TypeAlias = Literal["gathered", "spread"]
PARTITION_LAYOUTS: Final[tuple[str, ...]] = get_args(PartitionLayout)


@dataclass(frozen=True, kw_only=True, eq=False)
class PartitionedGraphs(VaryingGraphs):
    """Rows whose network depends on the cell of the unit square that two covariates lie in.

    Attributes
    ----------
    boxes : ndarray of shape (n_cells, 2, 2)
        Lower and upper ends of every cell, by covariate; the small cells first, then the middle
        ones, the large ones last.

    Examples
    --------
    >>> data = tree_partition(500, rng=0)
    >>> data.boxes[0].tolist()
    [[0.0, 0.125], [0.0, 0.125]]
    """

    boxes: FloatArray

    @property
    def areas(self) -> FloatArray:
        """Area of every cell: 1/64, 1/16 or 1/4."""
        areas: FloatArray = np.prod(self.boxes[:, :, 1] - self.boxes[:, :, 0], axis=1)
        return areas


def tree_partition(
    n_samples: int = 10_000,
    *,
    n_covariates: int = 10,
    n_features: int = 20,
    n_edges: int = 10,
    max_degree: int = 4,
    strength: float = 0.245,
    layout: PartitionLayout = "gathered",
    rng: RandomState = None,
) -> PartitionedGraphs:
    r"""Draw rows whose network is another one in each of 22 cells of two covariates.

    Sixteen cells have an area of 1/64, four of 1/16, two of 1/4. In each, a random graph is drawn,
    and the responses are Gaussian with mean 0 and precision :math:`I + s A`, where :math:`A` is
    its adjacency matrix and :math:`s` the strength. Covariates are uniform on the unit cube; from
    the third on they make no difference.

    Parameters
    ----------
    n_samples : int
        Training rows, and validation rows.
    n_covariates : int
        Number of covariates, at least 2.
    n_features : int
        Number of responses.
    n_edges, max_degree : int
        Edges of each graph, and most edges of a node.
    strength : float
        Entry of the precision on every edge, below ``1 / max_degree`` in size.
    layout : {"gathered", "spread"}
        All small cells in one quarter of the square, the middle ones in another; or two opposite
        quarters, each with eight small and two middle cells. The published figure of the cells is
        a picture; both have the number and the sizes of its cells.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    PartitionedGraphs

    References
    ----------
    H. Liu, X. Chen, J. Lafferty and L. Wasserman (2010), Graph-valued regression, Advances in
    Neural Information Processing Systems 23, section 5.1.
    https://doi.org/10.48550/arXiv.1006.3972

    Examples
    --------
    >>> data = tree_partition(1000, layout="spread", rng=0)
    >>> data.X.shape, data.Y.shape, len(data.boxes)
    ((1000, 10), (1000, 20), 22)
    >>> set((data.adjacencies.sum(axis=(1, 2)) // 2).tolist())
    {10}
    """
    if layout not in PARTITION_LAYOUTS:
        raise InputError(f"Unknown layout {layout!r}. Known are {', '.join(PARTITION_LAYOUTS)}.")
    if n_covariates < 2:
        raise InputError(f"n_covariates must be at least 2, got {n_covariates}.")
    check_design(n_samples, n_features, max_degree, strength)
    generator = as_generator(rng)
    boxes = np.array(_gathered() if layout == "gathered" else _spread())
    adjacencies = np.array([draw_graph(n_features, n_edges, max_degree, generator) for _ in boxes])
    X, X_val = (generator.random((n_samples, n_covariates)) for _ in range(2))
    cell, cell_val = _cell_of(X, boxes), _cell_of(X_val, boxes)
    return PartitionedGraphs(
        X=X,
        Y=draw_responses(cell, adjacencies, strength, generator),
        X_val=X_val,
        Y_val=draw_responses(cell_val, adjacencies, strength, generator),
        graph=cell,
        graph_val=cell_val,
        adjacencies=adjacencies,
        strength=strength,
        boxes=boxes,
    )


def _cell_of(X: FloatArray, boxes: FloatArray) -> IntArray:
    """Give the cell of each row; what lies on a cut belongs to the lower cell."""
    first_two = X[:, None, :2]
    is_inside = (boxes[:, :, 0] < first_two) & (first_two <= boxes[:, :, 1])
    # The lower ends of the unit square belong to it.
    is_inside |= (boxes[:, :, 0] == 0.0) & (first_two == 0.0)
    cell: IntArray = is_inside.all(axis=2).argmax(axis=1)
    return cell


def _squares(corner: tuple[float, float], side: float, n: int) -> list[list[list[float]]]:
    """Cut a square into n by n equal ones."""
    step = side / n
    return [
        [[corner[k] + step * place[k], corner[k] + step * (place[k] + 1)] for k in (0, 1)]
        for place in itertools.product(range(n), repeat=2)
    ]


def _gathered() -> list[list[list[float]]]:
    small, middle = _squares((0.0, 0.0), 0.5, 4), _squares((0.5, 0.0), 0.5, 2)
    large = [*_squares((0.0, 0.5), 0.5, 1), *_squares((0.5, 0.5), 0.5, 1)]
    return small + middle + large


def _spread() -> list[list[list[float]]]:
    small, middle = [], []
    for corner in ((0.0, 0.0), (0.5, 0.5)):
        blocks = _squares(corner, 0.5, 2)
        for block in (blocks[0], blocks[3]):
            small += _squares((block[0][0], block[1][0]), 0.25, 2)
        middle += blocks[1:3]
    large = [*_squares((0.0, 0.5), 0.5, 1), *_squares((0.5, 0.0), 0.5, 1)]
    return small + middle + large
