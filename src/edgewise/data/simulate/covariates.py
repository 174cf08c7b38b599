"""Responses whose network varies with covariates in a known way: what is shared, and drift."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState

#: Graphs drawn in search of one whose degrees are small enough.
MAX_DRAWS = 10_000
#: Chance that an edge goes, and that one comes, from one graph of a drift to the next.
CHANCE = 0.05
#: Fewest and most edges of a graph that drifts.
EDGE_RANGE = (5, 15)


@dataclass(frozen=True, kw_only=True, eq=False)
class VaryingGraphs:
    """Covariates and Gaussian responses, with the true graph of every row.

    Attributes
    ----------
    X, X_val : ndarray of shape (n, d)
        Covariates of the training and of the validation rows.
    Y, Y_val : ndarray of shape (n, p)
        Their responses.
    graph, graph_val : ndarray of int, shape (n,)
        Which of ``adjacencies`` the network of each row is.
    adjacencies : ndarray of bool, shape (n_graphs, p, p)
        The true graphs.
    strength : float
        Entry of the precision matrices on every edge; they have 1 on the diagonal.

    Examples
    --------
    >>> data = make_drifting_chain(200, rng=0)
    >>> data.adjacencies[data.graph].shape
    (200, 20, 20)
    """

    X: FloatArray
    Y: FloatArray
    X_val: FloatArray
    Y_val: FloatArray
    graph: IntArray
    graph_val: IntArray
    adjacencies: BoolArray
    strength: float

    @property
    def precisions(self) -> FloatArray:
        """Precision matrix of each of ``adjacencies``."""
        return precisions_of(self.adjacencies, self.strength)

    def sample(self, n_samples: int, rng: RandomState = None) -> tuple[FloatArray, FloatArray]:
        """Draw rows at random places among those of the training rows.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        rng : int, Generator or None
            Seed.

        Returns
        -------
        X : ndarray of shape (n_samples, d)
            Covariates.
        Y : ndarray of shape (n_samples, p)
            Responses.

        Examples
        --------
        >>> X, Y = make_drifting_chain(200, rng=0).sample(50, rng=1)
        >>> X.shape, Y.shape
        ((50, 1), (50, 20))
        """
        if n_samples < 1:
            raise InputError("n_samples_range", n_samples=n_samples)
        generator = as_generator(rng)
        rows = generator.integers(len(self.X), size=n_samples)
        Y = draw_responses(self.graph[rows], self.adjacencies, self.strength, generator)
        return self.X[rows], Y


def make_drifting_chain(
    n_samples: int = 10_000,
    *,
    n_features: int = 20,
    n_edges: int = 10,
    max_degree: int = 4,
    strength: float = 0.245,
    rng: RandomState = None,
) -> VaryingGraphs:
    """Draw rows whose network drifts along one covariate, an edge at a time.

    The covariate takes ``n_samples`` values evenly spaced on [0, 1]. From each value to the next,
    one edge of the graph is removed with probability 0.05, unless only 5 are left, and then one is
    added with probability 0.05, unless there are 15. Validation rows have the same covariates and
    graphs, and other responses.

    Parameters
    ----------
    n_samples : int
        Training rows, and validation rows.
    n_features, n_edges, max_degree, strength, rng
        As in `make_tree_partition`; ``n_edges`` are those of the first graph.

    Returns
    -------
    VaryingGraphs

    References
    ----------
    H. Liu, X. Chen, J. Lafferty and L. Wasserman (2010), Graph-valued regression, Advances in
    Neural Information Processing Systems 23, appendix B.1.
    https://doi.org/10.48550/arXiv.1006.3972

    Examples
    --------
    >>> data = make_drifting_chain(1000, rng=0)
    >>> data.X[[0, -1], 0].tolist()
    [0.0, 1.0]
    >>> bool((data.adjacencies[0] != data.adjacencies[data.graph[-1]]).any())
    True
    """
    check_design(n_samples, n_features, max_degree, strength, n_edges)
    generator = as_generator(rng)
    graphs = _Drift(draw_graph(n_features, n_edges, max_degree, generator), max_degree)
    number = np.zeros(n_samples, dtype=np.int64)
    for t in range(1, n_samples):
        number[t] = graphs.step(int(number[t - 1]), generator)
    X = np.linspace(0.0, 1.0, n_samples)[:, None]
    return _drifted(X, number, graphs, strength, generator)


def make_drifting_grid(
    side: int = 100,
    *,
    n_features: int = 20,
    n_edges: int = 10,
    max_degree: int = 4,
    strength: float = 0.245,
    rng: RandomState = None,
) -> VaryingGraphs:
    """Draw rows whose network drifts over a square, an edge at a time.

    Two covariates take the values of a grid on the unit square. The graph of a point is that of
    its left or of its lower neighbour, by the toss of a coin where there are both, changed as in
    `make_drifting_chain`.

    Parameters
    ----------
    side : int
        Points along either covariate; there are ``side ** 2`` training rows, and as many
        validation rows.
    n_features, n_edges, max_degree, strength, rng
        As in `make_drifting_chain`.

    Returns
    -------
    VaryingGraphs
        Rows in the order of the first covariate, then of the second.

    References
    ----------
    H. Liu, X. Chen, J. Lafferty and L. Wasserman (2010), Graph-valued regression, Advances in
    Neural Information Processing Systems 23, appendix B.2.
    https://doi.org/10.48550/arXiv.1006.3972

    Examples
    --------
    >>> data = make_drifting_grid(10, rng=0)
    >>> data.X.shape, data.Y_val.shape
    ((100, 2), (100, 20))
    """
    check_design(side, n_features, max_degree, strength, n_edges)
    generator = as_generator(rng)
    graphs = _Drift(draw_graph(n_features, n_edges, max_degree, generator), max_degree)
    number = np.zeros((side, side), dtype=np.int64)
    for i, j in itertools.product(range(side), repeat=2):
        before = [number[i - 1, j]] * (i > 0) + [number[i, j - 1]] * (j > 0)
        if before:
            number[i, j] = graphs.step(int(before[generator.integers(len(before))]), generator)
    points = np.linspace(0.0, 1.0, side)
    X = np.column_stack([np.repeat(points, side), np.tile(points, side)])
    return _drifted(X, number.ravel(), graphs, strength, generator)


def precisions_of(adjacencies: BoolArray, strength: float) -> FloatArray:
    """Precision matrices with 1 on the diagonal and ``strength`` on the edges."""
    return np.eye(adjacencies.shape[-1]) + strength * adjacencies


class _Drift:
    """Graphs that come from each other by small steps, each kept once."""

    def __init__(self, first: BoolArray, max_degree: int) -> None:
        self.graphs = [first]
        self._max_degree = max_degree

    def step(self, before: int, generator: np.random.Generator) -> int:
        """Return the number of the graph after graph ``before``, which may be the same."""
        adjacency = self.graphs[before]
        n_edges = int(adjacency.sum()) // 2
        removes, adds = (generator.random(2) < CHANCE).tolist()
        if removes and n_edges > EDGE_RANGE[0]:
            adjacency = _toggle(adjacency, np.argwhere(np.triu(adjacency)), generator)
            n_edges -= 1
        if adds and n_edges < EDGE_RANGE[1]:
            has_room = adjacency.sum(axis=0) < self._max_degree
            is_open = ~adjacency & has_room & has_room[:, None]
            adjacency = _toggle(adjacency, np.argwhere(np.triu(is_open, 1)), generator)
        if adjacency is self.graphs[before]:
            return before
        self.graphs.append(adjacency)
        return len(self.graphs) - 1


def _toggle(adjacency: BoolArray, pairs: IntArray, generator: np.random.Generator) -> BoolArray:
    """Join or part one of some pairs; where there is none, leave the graph as it is."""
    if not len(pairs):
        return adjacency
    i, j = pairs[generator.integers(len(pairs))]
    changed = adjacency.copy()
    changed[i, j] = changed[j, i] = not adjacency[i, j]
    return changed


def _drifted(
    X: FloatArray,
    number: IntArray,
    graphs: _Drift,
    strength: float,
    generator: np.random.Generator,
) -> VaryingGraphs:
    adjacencies = np.array(graphs.graphs)
    Y, Y_val = (draw_responses(number, adjacencies, strength, generator) for _ in range(2))
    return VaryingGraphs(
        X=X,
        Y=Y,
        X_val=X.copy(),
        Y_val=Y_val,
        graph=number,
        graph_val=number.copy(),
        adjacencies=adjacencies,
        strength=strength,
    )


def draw_graph(
    n_features: int, n_edges: int, max_degree: int, generator: np.random.Generator
) -> BoolArray:
    """Draw edges evenly from all pairs, again and again until no node has too many."""
    rows, columns = np.triu_indices(n_features, 1)
    if not 0 <= n_edges <= min(len(rows), n_features * max_degree // 2):
        raise InputError(
            "edges_exceed_degree", n_edges=n_edges, n_features=n_features, max_degree=max_degree
        )
    for _ in range(MAX_DRAWS):
        chosen = generator.choice(len(rows), n_edges, replace=False)
        adjacency = np.zeros((n_features, n_features), dtype=bool)
        adjacency[rows[chosen], columns[chosen]] = True
        adjacency |= adjacency.T
        if adjacency.sum(axis=0).max() <= max_degree:
            return adjacency
    raise InputError(
        "no_sparse_graph_drawn", max_draws=MAX_DRAWS, n_edges=n_edges, max_degree=max_degree
    )


def draw_responses(
    number: IntArray, adjacencies: BoolArray, strength: float, generator: np.random.Generator
) -> FloatArray:
    """Draw a row of each Gaussian that ``number`` names, as in `GaussianModel.sample`."""
    rows: FloatArray = generator.standard_normal((len(number), adjacencies.shape[-1]))
    order = np.argsort(number, kind="stable")
    ends = np.searchsorted(number[order], np.arange(len(adjacencies) + 1))
    for Theta, first, last in zip(
        precisions_of(adjacencies, strength), ends[:-1], ends[1:], strict=True
    ):
        factor = linalg.cholesky(Theta, lower=True)
        inside = order[first:last]
        rows[inside] = linalg.solve_triangular(factor, rows[inside].T, lower=True, trans="T").T
    return rows


def check_design(
    n_samples: int, n_features: int, max_degree: int, strength: float, n_edges: int | None = None
) -> None:
    """Refuse what has no samples; ``n_edges`` is that of a graph that drifts."""
    if n_samples < 1:
        raise InputError("n_rows_range", n_samples=n_samples)
    if n_features < 2:
        raise InputError("n_features_range", n_features=n_features)
    if max_degree < 1 or not abs(strength) * max_degree < 1.0:
        raise InputError("strength_too_large", strength=strength, max_degree=max_degree)
    if n_edges is not None and not EDGE_RANGE[0] <= n_edges <= EDGE_RANGE[1]:
        low, high = EDGE_RANGE
        raise InputError("n_edges_range", low=low, high=high, n_edges=n_edges)


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
    >>> data = make_tree_partition(500, rng=0)
    >>> data.boxes[0].tolist()
    [[0.0, 0.125], [0.0, 0.125]]
    """

    boxes: FloatArray

    @property
    def areas(self) -> FloatArray:
        """Area of every cell: 1/64, 1/16 or 1/4."""
        areas: FloatArray = np.prod(self.boxes[:, :, 1] - self.boxes[:, :, 0], axis=1)
        return areas


def make_tree_partition(
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
    >>> data = make_tree_partition(1000, layout="spread", rng=0)
    >>> data.X.shape, data.Y.shape, len(data.boxes)
    ((1000, 10), (1000, 20), 22)
    >>> set((data.adjacencies.sum(axis=(1, 2)) // 2).tolist())
    {10}
    """
    if layout not in PARTITION_LAYOUTS:
        raise InputError("unknown_layout", layout=layout, listed=", ".join(PARTITION_LAYOUTS))
    if n_covariates < 2:
        raise InputError("n_covariates_range", n_covariates=n_covariates)
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
