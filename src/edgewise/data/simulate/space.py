"""Gaussian models whose precision is constant over patches of space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.neighbors import check_grid_shape
from edgewise.data.simulate.gaussian import GaussianModel

#: Draws of a pair of boxes before the grid counts as full.
MAX_DRAWS = 1000


@dataclass(frozen=True, kw_only=True)
class Block:
    """Sites ``first`` and ``second``, every one joined to every other by the same weight."""

    first: ArrayLike
    second: ArrayLike
    weight: float


def make_block_model(
    shape: Sequence[int],
    *,
    n_blocks: int = 6,
    size: int = 3,
    strength: tuple[float, float] = (0.15, 0.4),
    min_eigenvalue: float = 0.2,
    rng: RandomState = None,
) -> GaussianModel:
    r"""Draw a Gaussian model on a line or grid in which boxes of sites are joined to boxes.

    Each of ``n_blocks`` draws takes two boxes :math:`A` and :math:`B` of sites that do not overlap
    and sets :math:`\Theta_{ab} = w` for all :math:`a \in A`, :math:`b \in B`. The diagonal of
    :math:`\Theta` is the same for all sites: 1, or as much more as the smallest eigenvalue needs.

    Parameters
    ----------
    shape : sequence of int
        Sizes of the grid: ``(60,)`` is a path, ``(10, 10)`` and ``(4, 5, 6)`` are grids. The
        variables are its sites in row-major order.
    n_blocks : int
        Pairs of boxes.
    size : int
        Side of a box, where the grid is that long. On a path a box is a run of sites; 6 is a
        sensible length there.
    strength : (float, float)
        Range from which the absolute values of :math:`w` are drawn evenly; the sign is drawn too.
    min_eigenvalue : float
        Lower bound on the smallest eigenvalue of the precision, above 0 and below 1.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    GaussianModel
        The variances are not 1: local constancy is a statement about common units.

    Examples
    --------
    >>> model = make_block_model((10, 10), rng=0)
    >>> len(np.unique(np.abs(model.precision[model.adjacency])))
    6
    >>> int(model.adjacency.sum()) // 2 == 6 * 9 * 9
    True
    """
    sizes, blocks = _draw_blocks(shape, n_blocks, size, strength, as_generator(rng))
    off_diagonal = joined_boxes(blocks, math.prod(sizes))
    diagonal = _common_diagonal([off_diagonal], min_eigenvalue)
    return GaussianModel.from_precision(off_diagonal + diagonal)


def make_changed_block_models(
    shape: Sequence[int],
    *,
    n_blocks: int = 6,
    size: int = 3,
    strength: tuple[float, float] = (0.15, 0.4),
    min_eigenvalue: float = 0.2,
    rng: RandomState = None,
) -> tuple[GaussianModel, GaussianModel]:
    """Draw two models as `make_block_model` does that differ in one pair of boxes.

    Parameters
    ----------
    shape, size, strength, min_eigenvalue, rng
        As in `make_block_model`.
    n_blocks : int
        Pairs of boxes in the second model; the first lacks one of them.

    Returns
    -------
    before, after : GaussianModel
        With the same diagonal of the precision, so that they differ in nothing else.

    Examples
    --------
    >>> before, after = make_changed_block_models((20,), n_blocks=3, rng=0)
    >>> int((before.precision != after.precision).sum()) // 2
    9
    """
    sizes, blocks = _draw_blocks(shape, n_blocks, size, strength, as_generator(rng))
    n_sites = math.prod(sizes)
    precisions = [joined_boxes(blocks[:-1], n_sites), joined_boxes(blocks, n_sites)]
    diagonal = _common_diagonal(precisions, min_eigenvalue)
    before, after = (GaussianModel.from_precision(Theta + diagonal) for Theta in precisions)
    return before, after


def _draw_blocks(
    shape: Sequence[int],
    n_blocks: int,
    size: int,
    strength: tuple[float, float],
    generator: np.random.Generator,
) -> tuple[tuple[int, ...], list[Block]]:
    """Draw pairs of boxes that share no pair of sites, and a weight for each."""
    sizes = check_grid_shape(shape)
    if n_blocks < 1 or size < 1:
        raise InputError("blocks_and_size_range", n_blocks=n_blocks, size=size)
    low, high = strength
    if not 0 < low <= high < np.inf:
        raise InputError("strength_pair_range", strength=strength)
    numbers = np.arange(math.prod(sizes)).reshape(sizes)
    is_joined = np.eye(numbers.size, dtype=bool)
    blocks: list[Block] = []
    for _ in range(MAX_DRAWS):
        first, second = _draw_box(numbers, size, generator), _draw_box(numbers, size, generator)
        # Pairs of sites joined by an earlier block would lose its weight, and with the diagonal
        # counted as joined two boxes that overlap are thrown away as well.
        if is_joined[np.ix_(first, second)].any():
            continue
        is_joined[np.ix_(first, second)] = is_joined[np.ix_(second, first)] = True
        weight = generator.choice([-1.0, 1.0]) * generator.uniform(low, high)
        blocks.append(Block(first=first, second=second, weight=float(weight)))
        if len(blocks) == n_blocks:
            return sizes, blocks
    raise InputError(
        "boxes_do_not_fit",
        n_blocks=len(blocks),
        n_blocks2=n_blocks,
        size=size,
        listed=" x ".join(map(str, sizes)),
    )


def _draw_box(numbers: IntArray, size: int, generator: np.random.Generator) -> IntArray:
    """Numbers of the sites in a box somewhere on the grid."""
    corner = [int(generator.integers(max(length - size, 0) + 1)) for length in numbers.shape]
    return numbers[tuple(slice(start, start + size) for start in corner)].ravel()


def joined_boxes(blocks: Sequence[Block], n_sites: int) -> FloatArray:
    """Precision off the diagonal of pairs of boxes."""
    Theta = np.zeros((n_sites, n_sites))
    for block in blocks:
        rows, columns = np.ix_(np.asarray(block.first), np.asarray(block.second))
        Theta[rows, columns] = Theta[columns, rows] = block.weight
    return Theta


def _common_diagonal(precisions: Sequence[FloatArray], min_eigenvalue: float) -> FloatArray:
    """Diagonal of at least 1 that lifts every eigenvalue to ``min_eigenvalue``."""
    if not 0 < min_eigenvalue < 1:
        raise InputError("min_eigenvalue_range", min_eigenvalue=min_eigenvalue)
    lowest = min(float(linalg.eigvalsh(Theta, subset_by_index=[0, 0])[0]) for Theta in precisions)
    return max(1.0, min_eigenvalue - lowest) * np.eye(len(precisions[0]))
