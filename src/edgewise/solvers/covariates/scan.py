r"""Where a network changes along covariates: the cut of a cell that separates its rows best.

Every row has features :math:`f_i` whose means differ between two halves if what is asked for does:
the means of the responses, their variances or their correlations. A cut into :math:`n_1` and
:math:`n_2` of :math:`n` rows has the statistic

.. math:: T = \frac{n_1 n_2}{n} \lVert \bar f_1 - \bar f_2 \rVert^2 ,

which is a score test: features have about unit variance and are about uncorrelated where nothing
differs. How large the largest of all cuts is by chance is known from permutations of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from edgewise._core.typing import BoolArray, FloatArray, IntArray

#: What a cut is to tell apart: the whole distribution, means and variances, or correlations.
ALL: Final = "all"
MOMENTS: Final = "moments"
GRAPH: Final = "graph"
#: Places per coordinate that are compared at first; the best is then refined.
MOST_PLACES: Final = 32
#: Permutations: of each test, and of one whose p-value is between the bounds.
FIRST_PERMUTATIONS: Final = 19
MORE_PERMUTATIONS: Final = 80
CLEAR: Final = (1e-4, 0.5)
#: Blocks or subjects that a test needs.
FEWEST_UNITS: Final = 6


class ScannedRows(NamedTuple):
    """Rows that decide where to cut.

    Attributes
    ----------
    codes : ndarray of int, shape (n, d)
        For each coordinate the number of the finest interval that the row lies in.
    Y : ndarray of shape (n, p)
        Responses.
    is_validation : ndarray of bool, shape (n,)
        Which of the rows are validation rows; both kinds must be enough on either side of a cut.
    unit : ndarray of int, shape (n,), or None
        Rows with the same number change places together, as those of one block or subject. Numbers
        are in the order of the blocks, and rows in the order within each.
    """

    codes: IntArray
    Y: FloatArray
    is_validation: BoolArray
    unit: IntArray | None = None

    def where(self, is_kept: BoolArray) -> ScannedRows:
        """Return some of the rows."""
        unit = None if self.unit is None else self.unit[is_kept]
        return ScannedRows(self.codes[is_kept], self.Y[is_kept], self.is_validation[is_kept], unit)


class Blocks(NamedTuple):
    """Rows between neighbouring places, by coordinate.

    Attributes
    ----------
    members : sparse array of shape (n_blocks, n)
        1 where a row lies in a block; the blocks of the first coordinate come first.
    ends : ndarray of int
        Where the blocks of a coordinate end, but for the last.
    places : list of ndarray of int
        Number of rows below each place, by coordinate.
    """

    members: Any
    ends: IntArray
    places: list[IntArray]


@dataclass(frozen=True, kw_only=True)
class ScanRules:
    """Which cuts are looked for, and which may be made.

    Attributes
    ----------
    part : str
        ``ALL``, ``MOMENTS`` or ``GRAPH``.
    own_mean : bool
        Whether means may differ; otherwise rows are taken about 0.
    min_samples : int
        Fewest rows of either kind on a side.
    max_depth : int
        Largest number of cuts above a leaf.
    lookahead : int
        How many cuts that are not significant may follow each other.
    significance : float
        Level of the test of a cut, for all cuts that are compared. With ``lookahead``, half of it
        is for the first cut, a quarter for the two together below one that is not significant, and
        so on. Nodes of the same depth share the level by their rows, so that a needless cut
        at some depth is no likelier than this.
    n_all : int
        Number of all rows; `scan_tree` fills it in.
    """

    part: str
    own_mean: bool
    min_samples: int
    max_depth: int
    lookahead: int
    significance: float
    n_all: int = 0


@dataclass(frozen=True)
class Cut:
    """One cut of a cell, and those of its two sides.

    Attributes
    ----------
    coordinate, place : int
        Rows whose code is below ``place`` are on the left.
    p_value : float
        Of the test that the rows do not differ along any coordinate.
    left, right : Cut or None
        Cuts of either side; None where it is a leaf.
    is_significant : bool
        Whether the p-value is below its level.
    """

    coordinate: int
    place: int
    p_value: float
    left: Cut | None = None
    right: Cut | None = None
    is_significant: bool = False

    def __iter__(self) -> Iterator[Cut]:
        """Go through all cuts, each before those of its sides."""
        yield self
        for side in (self.left, self.right):
            if side is not None:
                yield from side


def scan_tree(rows: ScannedRows, depths: IntArray, rules: ScanRules) -> Cut | None:
    """Cut rows again and again where they differ most, and keep what is significant.

    A cut that is not significant is kept if one below it is, at a smaller level, since some changes
    show only together. Where that is known from the rows below alone, it is made in the middle.

    Parameters
    ----------
    rows : ScannedRows
        The rows.
    depths : ndarray of int, shape (d,)
        Coordinate k has ``2 ** depths[k]`` finest intervals.
    rules : ScanRules
        Which cuts to look for.

    Returns
    -------
    Cut or None
        The first cut; None where nothing is to be cut.
    """
    box = np.stack([np.zeros_like(depths), 2**depths])
    return _grow(rows, box, replace(rules, n_all=len(rows.Y)), depth=0, unsure=0)


def _grow(
    rows: ScannedRows, box: IntArray, rules: ScanRules, depth: int, unsure: int
) -> Cut | None:
    """Cut the rows of a box, whose ends are numbers of finest intervals, shape (2, d)."""
    if depth >= rules.max_depth:
        return None
    level = rules.significance * len(rows.Y) / rules.n_all
    if rules.lookahead:
        level *= 0.5 ** (unsure + 1)
    found = best_cut(rows, box.sum(axis=0) // 2, rules, level)
    if found is None:
        return None
    unsure = 0 if found.is_significant else unsure + 1
    if unsure > rules.lookahead:
        return None
    is_left = rows.codes[:, found.coordinate] < found.place
    sides: list[Cut | None] = []
    for side, is_inside in enumerate((is_left, ~is_left)):
        part = box.copy()
        part[1 - side, found.coordinate] = found.place
        sides.append(_grow(rows.where(is_inside), part, rules, depth + 1, unsure))
    if not found.is_significant and sides == [None, None]:
        return None
    return replace(found, left=sides[0], right=sides[1])


def best_cut(rows: ScannedRows, middles: IntArray, rules: ScanRules, level: float) -> Cut | None:
    """Find the cut of the largest statistic, and how likely a larger one is by chance.

    Where it is not significant, the best of the cuts in the middle takes its place.
    """
    order, places = _places(rows, rules.min_samples)
    if not any(len(of_one) for of_one in places):
        return None
    F = features(rows.Y, rules.part, own_mean=rules.own_mean)
    blocks = _blocks(order, places, len(F))
    statistics = _statistics(F, blocks)
    k = int(np.argmax([values.max(initial=-1.0) for values in statistics]))
    p_value = _p_value(float(statistics[k].max()), F, blocks, rows.unit)
    if p_value <= level:
        chosen = int(statistics[k].argmax())
        nearby = places[k][max(chosen - 1, 0) : chosen + 2]
        ends = int(nearby[0]), int(nearby[-1])
        place = _refine(F, rows, k, order[k], ends, rules.min_samples)
        return Cut(coordinate=k, place=place, p_value=p_value, is_significant=True)
    halves = [
        np.searchsorted(codes[by_code], middle)
        for codes, by_code, middle in zip(rows.codes.T, order, middles, strict=True)
    ]
    in_the_middle = [
        np.intersect1d(_allowed_along(rows, k, order[k], rules.min_samples), [half])
        for k, half in enumerate(halves)
    ]
    if not any(len(of_one) for of_one in in_the_middle):
        return None
    statistics = _statistics(F, _blocks(order, in_the_middle, len(F)))
    k = int(np.argmax([values.max(initial=-1.0) for values in statistics]))
    return Cut(coordinate=k, place=int(middles[k]), p_value=p_value)


def can_cut(rows: ScannedRows, min_samples: int) -> BoolArray:
    """Whether the rows can be cut at all along each coordinate."""
    return np.array([len(of_one) > 0 for of_one in _places(rows, min_samples)[1]], dtype=bool)


def _places(rows: ScannedRows, min_samples: int) -> tuple[list[IntArray], list[IntArray]]:
    """Sort the rows along each coordinate, and list where they may be cut."""
    order, places = [], []
    for k, codes in enumerate(rows.codes.T):
        by_code = np.argsort(codes, kind="stable")
        allowed = _allowed_along(rows, k, by_code, min_samples)
        if len(allowed) > MOST_PLACES:
            spread = np.linspace(0, len(allowed) - 1, MOST_PLACES).round().astype(np.int64)
            allowed = allowed[np.unique(spread)]
        order.append(by_code)
        places.append(allowed)
    return order, places


def _allowed_along(rows: ScannedRows, k: int, order: IntArray, min_samples: int) -> IntArray:
    """Numbers of rows to the left of a cut between different codes with enough on both sides."""
    codes, is_validation = rows.codes[order, k], rows.is_validation[order]
    cuts: IntArray = np.flatnonzero(codes[1:] > codes[:-1]) + 1
    n_validation = np.cumsum(is_validation)[cuts - 1]
    total = int(is_validation.sum())
    is_enough = np.ones(len(cuts), dtype=bool)
    for n_left, n_all in ((n_validation, total), (cuts - n_validation, len(codes) - total)):
        if n_all:
            is_enough &= (n_left >= min_samples) & (n_all - n_left >= min_samples)
    return cuts[is_enough]


def features(Y: FloatArray, part: str, *, own_mean: bool) -> FloatArray:
    r"""Features of the rows, centred, that tell halves apart.

    With :math:`z` the standardised responses, :math:`R = L L^\top` their correlations and
    :math:`w = L^{-1} z`: means are :math:`w_j`; variances :math:`(z_j^2 - 1) / \sqrt 2`; and for
    all of the distribution :math:`w_j`, :math:`w_i w_j` and :math:`(w_j^2 - 1) / \sqrt 2`. The
    features of the correlations are the entries of :math:`L^{-1} I L^{-\top}` with the influence
    functions :math:`I_{ij} = z_i z_j - R_{ij} (z_i^2 + z_j^2) / 2`, which do not change with means
    and variances, as long as their differences are small.
    """
    Z = Y - Y.mean(axis=0) if own_mean else Y
    Z = Z / np.sqrt(np.maximum(np.mean(Z**2, axis=0), np.finfo(float).tiny))
    p = Y.shape[1]
    L = np.linalg.cholesky(_correlations(Z))
    W = solve_triangular(L, Z.T, lower=True).T
    above = np.triu_indices(p, 1)
    means = [W] if own_mean else []
    if part == MOMENTS:
        found = [*means, Z**2 / math.sqrt(2.0)]
    else:
        products = W[:, above[0]] * W[:, above[1]]
        squares = W**2
        if part == GRAPH:
            inverse = solve_triangular(L, np.eye(p), lower=True)
            # Row by row, the symmetric part of inverse @ diag(z ** 2) @ L.
            first, second = above
            scaled = inverse[first] * L[:, second].T + inverse[second] * L[:, first].T
            products = products - Z**2 @ (0.5 * scaled.T)
            squares = squares - Z**2 @ (inverse * L.T).T
        means = means if part == ALL else []
        found = [*means, products, squares / math.sqrt(2.0)]
    F = np.hstack(found)
    return np.asarray(F - F.mean(axis=0))


def _correlations(Z: FloatArray) -> FloatArray:
    """Correlations, shrunken towards 0 by as much as they are noise."""
    n, p = Z.shape
    R: FloatArray = Z.T @ Z / n
    off = ~np.eye(p, dtype=bool)
    noise = float(np.sum((1.0 - R[off] ** 2) ** 2)) / n
    share = min(1.0, noise / max(float(np.sum(R[off] ** 2)), np.finfo(float).tiny))
    # Some of it is always there, so that nearly equal responses have a root.
    R *= 1.0 - max(share, 1e-6)
    np.fill_diagonal(R, 1.0)
    return R


def _blocks(order: list[IntArray], places: list[IntArray], n: int) -> Blocks:
    """Note which rows lie between which neighbouring places."""
    starts = [np.concatenate([[0], of_one]) for of_one in places]
    pointers = [start + k * n for k, start in enumerate(starts)]
    return Blocks(
        members=csr_array(
            (
                np.ones(n * len(order)),
                np.concatenate(order),
                np.concatenate([*pointers, [n * len(order)]]),
            ),
            shape=(sum(len(start) for start in starts), n),
        ),
        ends=np.cumsum([len(start) for start in starts])[:-1],
        places=places,
    )


def _statistics(F: FloatArray, blocks: Blocks) -> list[FloatArray]:
    """Statistic of every cut, by coordinate."""
    n = len(F)
    statistics = []
    for sums, n_left in zip(np.split(blocks.members @ F, blocks.ends), blocks.places, strict=True):
        left = np.cumsum(sums[:-1], axis=0)
        statistics.append(np.sum(left**2, axis=1) * n / (n_left * (n - n_left)))
    return statistics


def _p_value(largest: float, F: FloatArray, blocks: Blocks, unit: IntArray | None = None) -> float:
    """Probability of a larger statistic by chance.

    The largest of many has about a Gumbel distribution, whose mean and variance are those of the
    permutations.
    """
    # The same for the same rows, whatever was drawn before.
    rng = np.random.default_rng(len(F))
    places = np.arange(len(F))
    runs = [places[[k]] for k in places] if unit is None else []
    if unit is not None:
        places = np.argsort(unit, kind="stable")
        runs = np.split(places, np.flatnonzero(np.diff(unit[places])) + 1)
        F = F.copy()
        F[places] *= _growth(F[places], len(F) / len(runs))

    def shuffled() -> FloatArray:
        if unit is None:
            return F[rng.permutation(len(F))]
        moved = np.empty_like(F)
        moved[places] = F[np.concatenate([runs[k] for k in rng.permutation(len(runs))])]
        return moved

    if len(runs) < FEWEST_UNITS:
        return 1.0
    by_chance: list[float] = []
    p_value = 1.0
    for n_more in (FIRST_PERMUTATIONS, MORE_PERMUTATIONS):
        for _ in range(n_more):
            drawn = _statistics(shuffled(), blocks)
            by_chance.append(max(float(values.max(initial=0.0)) for values in drawn))
        scale = float(np.std(by_chance, ddof=1)) * math.sqrt(6.0) / math.pi
        if scale <= 0.0:
            return 1.0
        excess = (largest - float(np.mean(by_chance))) / scale + np.euler_gamma
        p_value = -math.expm1(-math.exp(min(-excess, 50.0)))
        if not CLEAR[0] < p_value < CLEAR[1]:
            break
    return p_value


def _growth(F: FloatArray, length: float) -> FloatArray:
    r"""Return how much larger features have to be for what shuffled blocks lose at their ends.

    The variance of a mean of :math:`b` values with autocorrelations :math:`r^k` is, times their
    number and but for a constant, :math:`1 - 2 r (1 - r^b) / (b (1 - r^2))`: smaller for the rows
    of a block than for those of half a cell.
    """
    n = len(F)
    size = np.maximum((F**2).sum(axis=0), np.finfo(float).tiny)
    r = (F[1:] * F[:-1]).sum(axis=0) / size
    # What the mean takes away from it (Kendall 1954).
    r = np.clip((n * r + 1.0) / max(n - 3.0, 1.0), 0.0, 0.99)

    def share(b: float) -> FloatArray:
        return np.asarray(1.0 - 2.0 * r * (1.0 - r**b) / (b * (1.0 - r**2)))

    return np.asarray(np.sqrt(np.maximum(share(n / 2.0) / share(length), 1.0)))


def _refine(
    F: FloatArray,
    rows: ScannedRows,
    k: int,
    order: IntArray,
    between: tuple[int, int],
    min_samples: int,
) -> int:
    """Find the best of all places between two numbers of rows on the left.

    Of the codes that part the same rows it is the roundest, the one that could be reached by the
    fewest halvings of the range.
    """
    codes = rows.codes[order, k]
    allowed = _allowed_along(rows, k, order, min_samples)
    allowed = allowed[(allowed >= between[0]) & (allowed <= between[1])]
    n = len(F)
    left = np.cumsum(F[order[: allowed[-1]]], axis=0)[allowed - 1]
    statistics = np.sum(left**2, axis=1) * n / (allowed * (n - allowed))
    n_left = int(allowed[statistics.argmax()])
    lower, upper = int(codes[n_left - 1]), int(codes[n_left])
    step = 1
    while (upper // (2 * step)) * 2 * step > lower:
        step *= 2
    return (upper // step) * step
