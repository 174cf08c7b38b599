r"""The graphical lasso of very many columns, from their rows, one component at a time.

Two columns are in the same component of the solution exactly where a chain of covariances above
alpha joins them (Mazumder and Hastie 2012). Covariances are products of two blocks of columns, of
which one is in memory at a time; of those above alpha a forest is kept that joins the same columns
by the largest of them, at most one edge per column. It has the components of every larger alpha,
too, and so says which alpha would make them small enough.
"""

from __future__ import annotations

import bisect
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from edgewise._core.errors import InputError
from edgewise._core.memory import Arrays, require_memory
from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.solvers._arguments import check_numbers
from edgewise.solvers._solution import Solution, sum_histories
from edgewise.solvers.gaussian.graphical_lasso import graphical_lasso

#: Columns that are centred at a time, whatever blocks are multiplied: sums stay the same.
CENTRED = 1024
#: Entries on both sides of the diagonal that differ by this share of the largest are equal.
SYMMETRIC = 1e-8
#: Pairs that wait before they are reduced to a forest.
WAITING = 2**20
#: Matrices of the size of a block that are in memory at most, where all of its pairs are kept.
BLOCKS = 7.5
#: Matrices of the size of a component that its solve has in memory, as measured.
MATRICES = 7


@dataclass(frozen=True, kw_only=True, eq=False)
class SparsePrecisionSolution(Solution):
    """Solution whose ``value`` is a sparse precision matrix.

    Attributes
    ----------
    value : scipy.sparse.csr_array of shape (p, p)
        The precision, block diagonal but for the order of the columns.
    alpha : float
        Penalty strength that the problem was solved for.
    component : ndarray of int, shape (p,)
        Number of the component that each column is in. Columns of different components are
        independent.
    location, scale : ndarray of shape (p,)
        Means and standard deviations of the columns.
    """

    value: Any
    alpha: float
    component: IntArray
    location: FloatArray
    scale: FloatArray

    def edges(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return both ends of every edge, the lower number first, and its partial correlation."""
        upper = sparse.triu(self.value, 1).tocoo()
        root = np.sqrt(self.value.diagonal())
        first, second = upper.coords
        order = np.lexsort((second, first))
        first, second = first[order], second[order]
        return first, second, -upper.data[order] / (root[first] * root[second])


def screened_graphical_lasso(
    X: Any,
    alpha: float | None = None,
    *,
    largest: int = 5000,
    standardize: bool = True,
    penalize_diagonal: bool = False,
    block_size: int = 2048,
    tol: float = 1e-6,
    max_iter: int = 5000,
) -> SparsePrecisionSolution:
    r"""Estimate a sparse precision matrix of very many columns, without their covariance.

    The problem is that of `graphical_lasso`, minimising over positive definite :math:`\Theta`

    .. math::
        \operatorname{tr}(S \Theta) - \log\det \Theta + \alpha \sum_{i \ne j} |\Theta_{ij}|,

    where :math:`S` are the correlations of the columns of ``X``, or their covariances. Columns that
    no chain of :math:`|S_{ij}| > \alpha` joins are independent in the solution [1]_ [2]_, so that
    every component is solved by itself, exactly. :math:`S` is computed by blocks and never stored.

    Parameters
    ----------
    X : array of shape (n, p), path, or sequence of these
        Rows without missing values, of any type of number; a memory map is read block by block. A
        path is that of a ``.npy`` file, which is mapped. Of a sequence, each has some of the
        columns of all rows.
    alpha : float, optional
        Penalty strength. By default the smallest, rounded up to four digits, at which no component
        has more than ``largest`` columns.
    largest : int
        Columns that a component may have. Solving one of c columns takes some 56 c^2 bytes, 1.4 GB
        for 5000.
    standardize : bool
        Take correlations; otherwise covariances (of maximum likelihood).
    penalize_diagonal : bool
        Penalise the diagonal as well.
    block_size : int
        Columns in a block, which takes some 60 block_size^2 bytes. The result is the same for any.
    tol : float
        Duality gap per variable at which to stop.
    max_iter : int
        Largest number of sweeps and Newton steps in any component.

    Returns
    -------
    SparsePrecisionSolution
        ``value`` is the precision of the standardised columns, or of the columns as they are.
        ``gap`` is the sum of those of all components, and bounds the distance to the optimum of the
        whole problem.

    Raises
    ------
    InputError
        If an argument is not valid, or if a component has more than ``largest`` columns; the
        message has the alpha from which on none has.
    NotEnoughMemoryError
        If the largest component does not fit.

    See Also
    --------
    graphical_lasso : The same from a covariance, with penalty weights.

    Notes
    -----
    Products are summed in double precision in whatever order is fastest. Those that could lie on
    either side of alpha for that reason are summed again row by row, so that neither blocks nor
    the processor decide which columns are joined.

    References
    ----------
    .. [1] Witten, Friedman and Simon (2011). New insights and faster computations for the graphical
       lasso. *Journal of Computational and Graphical Statistics* 20, 892-900.
       https://doi.org/10.1198/jcgs.2011.11051a
    .. [2] Mazumder and Hastie (2012). Exact covariance thresholding into connected components for
       large-scale graphical lasso. *JMLR* 13, 781-794.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import screened_graphical_lasso
    >>> X = np.random.default_rng(0).normal(size=(100, 2000))
    >>> X[:, 1] += X[:, 0]
    >>> solution = screened_graphical_lasso(X, 0.6)
    >>> first, second, weight = solution.edges()
    >>> first.tolist(), second.tolist(), weight.round(1).tolist()
    ([0], [1], [0.1])
    >>> solution.value.nnz, solution.converged
    (2002, True)
    """
    check_numbers([] if alpha is None else [alpha], tol, max_iter)
    for name, number in (("largest", largest), ("block_size", block_size)):
        if not number >= 1:
            raise InputError("at_least_one", name, name=name, number=number)
    rows = _Rows.of(X, standardize=standardize)
    if alpha is None and rows.n_columns <= largest:
        raise InputError(
            "screening_needs_no_alpha", "alpha", n_columns=rows.n_columns, largest=largest
        )
    screening = _screen(rows, 0.0 if alpha is None else float(alpha), largest, block_size)
    if alpha is None:
        alpha = _round_up(screening.floor)
    elif screening.floor > alpha:
        raise InputError(
            "component_too_large",
            "alpha",
            alpha=alpha,
            largest=largest,
            round_up=_round_up(screening.floor),
        )
    label = screening.components(alpha)
    _require_memory(screening, int(np.bincount(label).max()))
    return _solve(rows, float(alpha), label, penalize_diagonal, tol, max_iter)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Columns of a table, centred and scaled when asked for, so that products are covariances."""

    parts: Sequence[AnyArray]
    starts: IntArray
    location: FloatArray
    #: What the rounding of the mean has left over.
    rest: FloatArray
    scale: FloatArray
    #: Standard deviations in units of the covariance: 1 for correlations.
    deviation: FloatArray

    @property
    def n_columns(self) -> int:
        return int(self.starts[-1])

    @property
    def n_rows(self) -> int:
        return len(self.parts[0])

    @classmethod
    def of(cls, X: Any, *, standardize: bool) -> _Rows:
        """Check all columns, and sum them up."""
        parts = _parts(X)
        starts = np.cumsum([0, *(part.shape[1] for part in parts)])
        p = int(starts[-1])
        location, rest, scale = np.empty(p), np.empty(p), np.empty(p)
        for first in range(0, p, CENTRED):
            here = slice(first, first + CENTRED)
            values = _take(parts, starts, np.arange(p)[here])
            if not np.isfinite(values).all():
                row, column = (int(place) for place in np.argwhere(~np.isfinite(values))[0])
                raise InputError(
                    "value_not_finite_at", first=first + column, value=values[row, column], row=row
                )
            location[here] = values.mean(axis=0)
            values -= location[here]
            rest[here] = values.mean(axis=0)
            values -= rest[here]
            scale[here] = np.sqrt(np.square(values, out=values).mean(axis=0))
        # What is left of a constant by rounding is no variance.
        is_constant = scale <= 1e-13 * np.abs(location)
        if is_constant.any():
            column = int(np.argmax(is_constant))
            raise InputError(
                "constant_column_streamed", column=column, is_constant=int(is_constant.sum()) - 1
            )
        deviation = np.ones(p) if standardize else scale
        return cls(parts, starts, location, rest, scale, deviation)

    def take(self, index: IntArray) -> FloatArray:
        """Return some columns, by sorted numbers, scaled so that products are covariances."""
        values = _take(self.parts, self.starts, index)
        values -= self.location[index]
        values -= self.rest[index]
        values *= self.deviation[index] / (math.sqrt(len(values)) * self.scale[index])
        return values

    def covariance(self, index: IntArray) -> FloatArray:
        """Return the covariance of some columns, by sorted numbers."""
        values = self.take(index)
        S: FloatArray = values.T @ values
        # Correlations of a column with itself are 1, whatever rounding makes of them.
        np.fill_diagonal(S, np.square(self.deviation[index]))
        return S


def _parts(X: Any) -> list[AnyArray]:
    """Return the arrays that stand side by side in a table, or say what is wrong with them."""
    is_sequence = isinstance(X, (list, tuple)) and len(X) > 0
    if not (is_sequence and (isinstance(X[0], (str, os.PathLike)) or np.ndim(X[0]) == 2)):
        X = [X]
    parts = []
    for part in X:
        if isinstance(part, (str, os.PathLike)):
            if not os.fspath(part).endswith(".npy"):
                raise InputError("screening_source", path=os.fspath(part))
            part = np.load(part, mmap_mode="r", allow_pickle=False)
        values = np.asarray(part)
        if values.ndim != 2 or values.dtype.kind not in "fiub" or 0 in values.shape:
            raise InputError("screening_input", shape=values.shape, dtype=values.dtype)
        parts.append(values)
    lengths = {len(part) for part in parts}
    if len(lengths) > 1 or min(lengths) < 2:
        raise InputError("parts_differ", lengths=sorted(lengths))
    one = parts[0]
    if len(parts) == 1 and one.shape[0] == one.shape[1] and _is_symmetric(one):
        raise InputError("covariance_given_to_screening")
    return parts


def _is_symmetric(A: AnyArray) -> bool:
    """Whether a square matrix is symmetric, whatever its unit."""
    return float(np.abs(A - A.T).max()) <= SYMMETRIC * float(np.abs(A).max())


def _take(parts: Sequence[AnyArray], starts: IntArray, index: IntArray) -> FloatArray:
    """Return some columns of arrays that stand side by side, in double precision."""
    bounds = np.searchsorted(index, starts)
    values = np.empty((len(parts[0]), index.size))
    for part, start, first, last in zip(parts, starts, bounds, bounds[1:], strict=False):
        values[:, first:last] = part[:, index[first:last] - start]
    return values


@dataclass(eq=False)
class _Screening:
    """The forest of the largest covariances between columns.

    Attributes
    ----------
    n_columns, largest : int
    floor : float
        Covariances up to here are not looked at. It rises to where no component of what was seen
        has more than ``largest`` columns; what is still to come can only join more.
    first, second, size : ndarray
        Ends and absolute covariances of the edges.
    """

    n_columns: int
    largest: int
    floor: float
    first: IntArray
    second: IntArray
    size: FloatArray

    def add(self, found: Sequence[tuple[IntArray, IntArray, FloatArray]]) -> None:
        """Join more edges, and keep what still matters."""
        old = self.first, self.second, self.size
        first, second, size = (np.concatenate(side) for side in zip(old, *found, strict=True))
        forest = minimum_spanning_tree(self._graph(first, second, -size)).tocoo()
        order = np.argsort(forest.data, kind="stable")
        self.first, self.second = (
            side[order].astype(np.int64) for side in (forest.row, forest.col)
        )
        self.size = -forest.data[order]
        self.floor = max(self.floor, self.alpha_for(self.largest))

    def _graph(self, first: IntArray, second: IntArray, weight: FloatArray) -> sparse.csr_array:
        shape = (self.n_columns, self.n_columns)
        return sparse.csr_array((weight, (first, second)), shape=shape)

    def alpha_for(self, largest: int) -> float:
        """Return the smallest alpha at which no component is larger, 0 where any does."""

        def is_too_large(n_edges: int) -> bool:
            return int(np.bincount(self._labels(n_edges)).max()) > largest

        n_edges = bisect.bisect_left(range(1, self.size.size + 1), True, key=is_too_large)
        return float(self.size[n_edges]) if n_edges < self.size.size else 0.0

    def components(self, alpha: float) -> IntArray:
        """Return the component of each column at an alpha that is not below the floor."""
        return self._labels(int(np.count_nonzero(self.size > alpha)))

    def _labels(self, n_edges: int) -> IntArray:
        """Return the component of each column where only the largest edges are there."""
        here = slice(n_edges)
        graph = self._graph(self.first[here], self.second[here], self.size[here])
        label: IntArray = connected_components(graph, directed=False)[1].astype(np.int64)
        return label


def _screen(rows: _Rows, floor: float, largest: int, block_size: int) -> _Screening:
    """Go through all pairs of columns, block by block."""
    p, size = rows.n_columns, min(block_size, rows.n_columns)
    require_memory(
        f"Screening {p:,} columns",
        [Arrays(BLOCKS, (size, size)), Arrays(4, (rows.n_rows, size)), Arrays(8, (WAITING,))],
        advice="Make block_size smaller.",
    )
    none = np.empty(0, np.int64)
    screening = _Screening(p, largest, floor, none, none, np.empty(0))
    waiting: list[tuple[IntArray, IntArray, FloatArray]] = []
    deviation = rows.deviation
    # Products of columns whose sums have different orders differ by less, as a share of their size.
    error = 2.0 * rows.n_rows * float(np.finfo(np.float64).eps)
    blocks = [np.arange(p)[start : start + size] for start in range(0, p, size)]
    for number, a in enumerate(blocks):
        left = rows.take(a)
        for b in blocks[number:]:
            right = left if b is a else rows.take(b)
            slack = error * deviation[a].max() * deviation[b].max()
            first, second, found = _large_products(left, right, screening.floor, slack)
            waiting.append((a[first], b[second], found))
            if sum(sizes.size for _, _, sizes in waiting) >= WAITING:
                screening.add(waiting)
                waiting = []
    screening.add(waiting)
    return screening


def _large_products(
    left: FloatArray, right: FloatArray, floor: float, slack: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of columns with products above ``floor``, and their absolute products.

    Products that are within ``slack`` of it are summed again, row by row.
    """
    is_same = right is left
    product = left.T @ right
    if is_same:
        product = np.triu(product, 1)
    np.abs(product, out=product)
    first, second = np.divmod(np.flatnonzero(product > floor - slack), product.shape[1])
    if is_same:
        first, second = (side[first < second] for side in (first, second))
    size = product[first, second]
    near = np.flatnonzero(size <= floor + slack)
    if near.size:
        total = np.zeros(near.size)
        for x, y in zip(left[:, first[near]], right[:, second[near]], strict=True):
            total += x * y
        size[near] = np.abs(total)
    is_large = size > floor
    return first[is_large], second[is_large], size[is_large]


def _round_up(alpha: float) -> float:
    """Round up to four digits.

    Examples
    --------
    >>> _round_up(0.123401), _round_up(0.5)
    (0.1235, 0.5)
    """
    rounded = float(f"{alpha:.4g}")
    return rounded if rounded >= alpha else float(f"{alpha * (1.0 + 5e-4):.4g}")


def _require_memory(screening: _Screening, size: int) -> None:
    """Refuse a component that does not fit into memory, with the alpha for half of its size."""
    require_memory(
        f"Solving the largest component, {size:,} columns,",
        [Arrays(MATRICES, (size, size))],
        advice=f"alpha={_round_up(screening.alpha_for(size // 2))} leaves none with more than "
        f"{size // 2:,} columns, which takes a quarter of it.",
    )


def _solve(
    rows: _Rows,
    alpha: float,
    label: IntArray,
    penalize_diagonal: bool,
    tol: float,
    max_iter: int,
) -> SparsePrecisionSolution:
    """Solve every component by itself."""
    p = rows.n_columns
    variance = np.square(rows.deviation) + (alpha if penalize_diagonal else 0.0)
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(label))[:-1])
    single = np.concatenate([index for index in members if index.size == 1] or [order[:0]])
    entries = [(single, single, 1.0 / variance[single])]
    objective = single.size + float(np.log(variance[single]).sum())
    gap, n_iter, histories = 0.0, 0, []
    for index in members:
        if index.size == 1:
            continue
        solved = graphical_lasso(
            rows.covariance(index),
            alpha,
            penalize_diagonal=penalize_diagonal,
            tol=tol,
            max_iter=max_iter,
            decide=0.0,
        )
        first, second = np.nonzero(solved.value)
        entries.append((index[first], index[second], solved.value[first, second]))
        objective += solved.objective
        gap += solved.gap
        n_iter = max(n_iter, solved.n_iter)
        histories.append(solved.history.tolist())
    first, second, value = (np.concatenate(side) for side in zip(*entries, strict=True))
    return SparsePrecisionSolution(
        value=sparse.csr_array((value, (first, second)), shape=(p, p)),
        objective=objective,
        gap=gap,
        n_iter=n_iter,
        converged=gap <= tol * p,
        history=sum_histories(histories),
        alpha=alpha,
        component=label,
        location=rows.location + rows.rest,
        scale=rows.scale,
    )
