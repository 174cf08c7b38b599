r"""Potentials of a discrete Markov network by maximum regularised pseudo-likelihood."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.data.checks import check_weights
from edgewise.data.levels import check_cardinalities, check_codes
from edgewise.data.markov import CliqueLayout, find_cells, level_weights
from edgewise.solvers._arguments import check_numbers
from edgewise.solvers._solution import Solution


@kernel
def find_all_cells(
    X: AnyArray,
    rows: IntArray,
    variable: int,
    cliques: IntArray,
    offsets: IntArray,
    clique_start: IntArray,
    members: IntArray,
    strides: IntArray,
    cells: AnyArray,
) -> None:
    """Fill in the cells that each of some rows of ``X`` selects with ``variable`` at level 0."""
    for s in range(len(rows)):
        find_cells(X[rows[s]], variable, cliques, offsets, clique_start, members, strides, cells[s])


@kernel
def add_gradient(
    potentials: FloatArray,
    cells: AnyArray,
    strides: IntArray,
    counts: FloatArray,
    gradient: FloatArray,
) -> float:
    r"""Give :math:`-\sum_s \sum_l n_{sl} \log p_{sl}` and add its gradient.

    The derivative by the cell that level l selects is :math:`n_s p_{sl} - n_{sl}`, with
    :math:`n_s = \sum_l n_{sl}`.
    """
    value = 0.0
    n_levels = counts.shape[1]
    weights = np.empty(n_levels)
    for s in range(len(cells)):
        largest, total = level_weights(potentials, cells[s], strides, weights)
        n_rows = 0.0
        for level in range(n_levels):
            n_rows += counts[s, level]
        value += n_rows * (largest + math.log(total))
        for level in range(n_levels):
            change = n_rows * weights[level] / total - counts[s, level]
            for q in range(len(strides)):
                cell = cells[s, q] + strides[q] * level
                value -= counts[s, level] * potentials[cell]
                gradient[cell] += change
    return value


@kernel
def find_spread(
    potentials: FloatArray,
    cells: AnyArray,
    strides: IntArray,
    counts: FloatArray,
    spread: FloatArray,
) -> None:
    """Fill in the expected counts :math:`n_s p_{sl}`, as many rows as there are in each slice."""
    for s in range(len(cells)):
        _, total = level_weights(potentials, cells[s], strides, spread[s])
        n_rows = 0.0
        for level in range(counts.shape[1]):
            n_rows += counts[s, level]
        for level in range(counts.shape[1]):
            spread[s, level] *= n_rows / total


@kernel
def add_curvature(
    direction: FloatArray,
    cells: AnyArray,
    strides: IntArray,
    spread: FloatArray,
    product: FloatArray,
) -> None:
    r"""Add the product of the Hessian with a direction.

    With :math:`u_{sl}` the sum of the direction over the cells that level l selects, that is
    :math:`n_s p_{sl} (u_{sl} - \sum_k p_{sk} u_{sk})` for each of these cells.
    """
    n_levels = spread.shape[1]
    slopes = np.empty(n_levels)
    for s in range(len(cells)):
        n_rows = 0.0
        mean = 0.0
        for level in range(n_levels):
            slope = 0.0
            for q in range(len(strides)):
                slope += direction[cells[s, q] + strides[q] * level]
            slopes[level] = slope
            n_rows += spread[s, level]
            mean += spread[s, level] * slope
        mean /= n_rows
        for level in range(n_levels):
            change = spread[s, level] * (slopes[level] - mean)
            for q in range(len(strides)):
                product[cells[s, q] + strides[q] * level] += change


#: Slices are kept up to this size in bytes or twice that of the data, whichever is more.
ROOM = 2**28
#: Rows gone through at a time where slices are not kept.
CHUNK = 2**16
#: Configurations are numbered up to here, well within 64 bits.
MOST_CODES = 2**62
#: Steps of conjugate gradients in one Newton step.
MAX_INNER = 500
#: Halvings of a Newton step before rounding is to blame.
MAX_HALVINGS = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class PotentialSolution(Solution):
    """Potentials of every clique.

    Attributes
    ----------
    value : ndarray of shape (n_cells,)
        The log potentials of all cliques, one table after the other in row-major order.
    potentials : tuple of ndarray
        The same, one table per clique with an axis per member.
    cliques : tuple of tuple of int
        Members of each clique.
    objective, gap, n_iter, converged, history
        As in `Solution`; one iteration is a Newton step.
    """

    potentials: tuple[FloatArray, ...]
    cliques: tuple[tuple[int, ...], ...]


def fit_potentials(
    X: ArrayLike,
    cliques: Iterable[Sequence[int]],
    cardinalities: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    ridge: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> PotentialSolution:
    r"""Fit the potentials of a discrete Markov network by pseudo-likelihood.

    .. math::

        \min_\theta \; F(\theta) = -\frac1W \sum_n w_n \sum_v \log P_\theta(x_{nv} \mid x_{n,-v})
        + \frac{\rho}{2 W} \|\theta\|^2,
        \qquad P_\theta(x_v \mid x_{-v}) \propto \exp \sum_{c \ni v} \theta_c(x_c)

    where :math:`x_{nv}` is the level of variable v in row n, :math:`w_n` the weight of the row and
    :math:`W` the sum of the weights, and the table :math:`\theta_c` holds a log potential for every
    combination of levels of the members of clique c. The pseudo-likelihood [1]_ needs no sum over
    all states. The ridge picks one among the many potentials that describe the same distribution.

    The problem is convex. Newton's method with conjugate gradients solves it; rows that agree on
    the neighbours of a variable are counted together, once, as far as the counts take no more than
    256 MiB or twice the size of X; beyond that they are counted anew each time. Since :math:`F` is
    strongly convex with modulus :math:`\mu = \rho / W`, no point is further above the minimum than

    .. math:: F(\theta) - \min F \le \|\nabla F(\theta)\|^2 / (2 \mu),

    which is the gap reported.

    Parameters
    ----------
    X : array-like of int, shape (n_samples, n_features)
        Levels, numbered from 0.
    cliques : iterable of sequence of int
        Distinct sets of variables, every variable in at least one; the maximal cliques of a
        graph, for instance (`edgewise.data.markov.maximal_cliques`).
    cardinalities : int or array-like of shape (n_features,)
        Number of levels of all variables, or of each, whether they occur or not.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows; 2 counts as a row that stands twice.
    ridge : float
        :math:`\rho`, above 0. Its unit is a row: against more rows it counts for less.
    tol : float
        Stop once the gap is at most ``tol * n_features``.
    max_iter : int
        Largest number of Newton steps.

    Returns
    -------
    PotentialSolution

    Raises
    ------
    InputError
        If X does not hold levels, the cliques do not fit, or a number makes no sense.

    References
    ----------
    .. [1] Besag (1975). Statistical analysis of non-lattice data. *The Statistician* 24(3),
       179-195. https://doi.org/10.2307/2987782

    Examples
    --------
    >>> from edgewise.solvers.discrete.potentials import fit_potentials
    >>> X = [[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]]
    >>> fit = fit_potentials(X, [(0, 1)], 2, ridge=0.1)
    >>> fit.converged
    True
    >>> fit.potentials[0].round(2)
    array([[ 0.33, -0.33],
           [-0.33,  0.33]])
    """
    check_numbers([], tol, max_iter)
    if not 0.0 < ridge < np.inf:
        raise InputError("potentials_ridge", ridge=ridge)
    codes = np.asarray(X)
    if codes.ndim != 2 or codes.size == 0:
        raise InputError("codes_need_rows", shape=codes.shape)
    levels = check_cardinalities(cardinalities, codes.shape[1])
    layout = CliqueLayout.from_cliques(cliques, levels)
    codes = check_codes(codes, levels)
    weights = np.ones(len(codes))
    if sample_weight is not None:
        weights = check_weights(sample_weight, len(codes))
        codes, weights = codes[weights > 0], weights[weights > 0]
    problem = _Problem.from_rows(codes, weights, layout, ridge)
    target = tol * len(levels)
    value, objective, gaps = _minimize(problem, target, max_iter)
    return PotentialSolution(
        value=value,
        objective=objective,
        gap=gaps[-1],
        n_iter=len(gaps) - 1,
        converged=gaps[-1] <= target,
        history=np.array(gaps),
        potentials=layout.tables(value),
        cliques=layout.cliques,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Slices:
    """Rows that agree on the neighbours of one variable, counted by its levels."""

    cells: AnyArray
    strides: IntArray
    counts: FloatArray

    @property
    def size(self) -> int:
        """Memory in bytes, with what a Newton step keeps beside it."""
        return self.cells.nbytes + 2 * self.counts.nbytes


@dataclass(frozen=True, kw_only=True, eq=False)
class _Problem:
    """The objective: slices of the variables, or rows where the slices would take too much room."""

    layout: CliqueLayout
    X: AnyArray
    sample_weight: FloatArray
    total_weight: float
    modulus: float
    counted: list[_Slices]
    by_row: list[int]
    chunk: int

    @classmethod
    def from_rows(
        cls,
        X: AnyArray,
        sample_weight: FloatArray,
        layout: CliqueLayout,
        ridge: float,
        *,
        room: int = ROOM,
        chunk: int = CHUNK,
    ) -> _Problem:
        """Count the rows of each variable once, while there is room."""
        counted: list[_Slices] = []
        by_row = []
        room = max(room, 2 * X.nbytes)
        for variable in range(X.shape[1]):
            slices = _count_slices(X, sample_weight, layout, variable)
            if slices.size <= room:
                counted.append(slices)
                room -= slices.size
            else:
                by_row.append(variable)
        total_weight = float(sample_weight.sum())
        return cls(
            layout=layout,
            X=X,
            sample_weight=sample_weight,
            total_weight=total_weight,
            modulus=ridge / total_weight,
            counted=counted,
            by_row=by_row,
            chunk=chunk,
        )

    def gradient(self, potentials: FloatArray) -> tuple[float, FloatArray]:
        """Objective and gradient."""
        gradient = np.zeros_like(potentials)
        value = 0.0
        for part in chain(self.counted, self._parts_by_row()):
            value += add_gradient(potentials, part.cells, part.strides, part.counts, gradient)
        gradient /= self.total_weight
        gradient += self.modulus * potentials
        penalty = 0.5 * self.modulus * float(potentials @ potentials)
        return value / self.total_weight + penalty, gradient

    def curvature(self, potentials: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Hessian, as the function that multiplies a direction with it."""
        kept = [(part, _spread(potentials, part)) for part in self.counted]

        def multiply(direction: FloatArray) -> FloatArray:
            product = np.zeros_like(direction)
            made = ((part, _spread(potentials, part)) for part in self._parts_by_row())
            for part, spread in chain(kept, made):
                add_curvature(direction, part.cells, part.strides, spread, product)
            product /= self.total_weight
            product += self.modulus * direction
            return product

        return multiply

    def _parts_by_row(self) -> Iterator[_Slices]:
        """Yield the slices of variables that are not kept, made from some rows at a time."""
        for variable in self.by_row:
            for first in range(0, len(self.X), self.chunk):
                rows = slice(first, first + self.chunk)
                yield _count_slices(self.X[rows], self.sample_weight[rows], self.layout, variable)


def _spread(potentials: FloatArray, part: _Slices) -> FloatArray:
    spread = np.empty_like(part.counts)
    find_spread(potentials, part.cells, part.strides, part.counts, spread)
    return spread


def _count_slices(
    X: AnyArray, sample_weight: FloatArray, layout: CliqueLayout, variable: int
) -> _Slices:
    """Count the levels of a variable in every configuration of its neighbours that occurs."""
    slice_of, example = _group_rows(X, layout.neighbors(variable), layout.cardinalities)
    n_levels = int(layout.cardinalities[variable])
    counts = np.bincount(
        slice_of * n_levels + X[:, variable],
        weights=sample_weight,
        minlength=len(example) * n_levels,
    ).reshape(len(example), n_levels)
    owners, strides = layout.cliques_of(variable)
    cells = np.empty((len(example), len(owners)), dtype=np.int32)
    find_all_cells(
        X,
        example,
        variable,
        owners,
        layout.offsets,
        layout.clique_start,
        layout.members,
        layout.strides,
        cells,
    )
    return _Slices(cells=cells, strides=strides, counts=np.asarray(counts, dtype=np.float64))


def _group_rows(
    X: AnyArray, columns: IntArray, cardinalities: IntArray
) -> tuple[IntArray, IntArray]:
    """Give the distinct rows of some columns numbers.

    Returns the number of each row, and for each number a row that has it.
    """
    code = np.zeros(len(X), dtype=np.int64)
    n_codes = 1
    for column in columns.tolist():
        if n_codes * int(cardinalities[column]) > MOST_CODES:
            _, code = np.unique(code, return_inverse=True)
            n_codes = len(X)
        code = code * cardinalities[column] + X[:, column]
        n_codes *= int(cardinalities[column])
    if n_codes > len(X):
        _, example, number = np.unique(code, return_index=True, return_inverse=True)
        return number, example
    row_of = np.full(n_codes, -1)
    row_of[code] = np.arange(len(X))
    is_seen = row_of >= 0
    number = np.cumsum(is_seen) - 1
    return number[code], row_of[is_seen]


def _minimize(
    problem: _Problem, target: float, max_iter: int
) -> tuple[FloatArray, float, list[float]]:
    """Take Newton steps from zero until the gap meets the target or rounding ends the progress."""
    value = np.zeros(problem.layout.n_cells)
    objective, gradient = problem.gradient(value)
    first_size = linalg.norm(gradient)
    gaps = [_gap(gradient, problem.modulus)]
    while gaps[-1] > target and len(gaps) <= max_iter:
        # More accurate the closer, which makes convergence faster than linear, but no more than
        # the target asks for.
        accuracy = min(0.1, math.sqrt(linalg.norm(gradient) / first_size))
        accuracy = max(accuracy, 0.3 * math.sqrt(target / gaps[-1]))
        step = _newton_step(problem.curvature(value), gradient, accuracy)
        found = _search_line(problem.gradient, value, objective, gradient, step)
        if found is None:
            break
        value, objective, gradient = found
        gaps.append(_gap(gradient, problem.modulus))
    return value, objective, gaps


def _gap(gradient: FloatArray, modulus: float) -> float:
    """Bound the distance to the minimum of a function that is strongly convex."""
    return float(gradient @ gradient) / (2.0 * modulus)


def _newton_step(
    curvature: Callable[[FloatArray], FloatArray], gradient: FloatArray, accuracy: float
) -> FloatArray:
    """Solve for the Newton step by conjugate gradients, which always give a descent direction."""
    step = np.zeros_like(gradient)
    residual = -gradient
    direction = residual.copy()
    squared = float(residual @ residual)
    goal = accuracy**2 * squared
    for _ in range(MAX_INNER):
        product = curvature(direction)
        length = squared / float(direction @ product)
        step += length * direction
        residual -= length * product
        previous, squared = squared, float(residual @ residual)
        if squared <= goal:
            break
        direction = residual + (squared / previous) * direction
    return step


def _search_line(
    gradient_of: Callable[[FloatArray], tuple[float, FloatArray]],
    value: FloatArray,
    objective: float,
    gradient: FloatArray,
    step: FloatArray,
) -> tuple[FloatArray, float, FloatArray] | None:
    """Halve the step until the objective falls enough; None where rounding hides any progress."""
    slope = float(gradient @ step)
    rounding = 1e-12 * abs(objective)
    length = 1.0
    for _ in range(MAX_HALVINGS):
        trial = value + length * step
        new_objective, new_gradient = gradient_of(trial)
        # So close to the minimum that the objective cannot tell, the gradient still can.
        if -slope <= rounding:
            is_better = linalg.norm(new_gradient) < 0.5 * linalg.norm(gradient)
            return (trial, new_objective, new_gradient) if is_better else None
        if new_objective <= objective + 1e-4 * length * slope:
            return trial, new_objective, new_gradient
        length *= 0.5
    return None
