import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from edgewise import InputError
from edgewise.solvers.covariates.dyadic_cells import Cell
from edgewise.solvers.covariates.dyadic_tree import (
    code_length_price,
    count_cells,
    greedy_tree,
    optimal_tree,
)
from tests.cases import by_default
from tests.messages import raises

NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Toy:
    """Cells whose risks are drawn at random, whatever the data."""

    depths: np.ndarray
    max_total_depth: int
    seed: int = 0
    forbidden: tuple = ()
    risks: tuple = ()
    min_samples: int = 1
    surcharge: tuple = ()

    def is_empty(self, key):
        """Whether a cell lies in one that is forbidden."""
        d = len(self.depths)
        return any(
            all(
                key[k] >= cell[k] and key[d + k] >> (key[k] - cell[k]) == cell[d + k]
                for k in range(d)
            )
            for cell in self.forbidden
        )

    def risk(self, key):
        if key in dict(self.risks):
            return dict(self.risks)[key]
        rng = np.random.default_rng([self.seed, *key])
        # The share of a cell shrinks with its volume, so that neither side always wins.
        return 2.0 ** -sum(key[: len(key) // 2]) * (5.0 + rng.normal())

    def root(self):
        key = (0,) * (2 * len(self.depths))
        d = len(self.depths)
        return Cell(
            levels=key[:d], positions=key[d:], train=NOBODY, validation=NOBODY, risk=self.risk(key)
        )

    def child(self, cell, coordinate, side, risk):
        levels, positions = list(cell.levels), list(cell.positions)
        levels[coordinate] += 1
        positions[coordinate] = 2 * positions[coordinate] + side
        return Cell(
            levels=tuple(levels),
            positions=tuple(positions),
            train=NOBODY,
            validation=NOBODY,
            risk=risk,
        )

    def may_halve(self, cell, coordinate, in_order):
        last = max((k for k, level in enumerate(cell.levels) if level), default=0)
        return (
            sum(cell.levels) < self.max_total_depth
            and cell.levels[coordinate] < self.depths[coordinate]
            and not (in_order and coordinate < last)
        )

    def counts(self, cell, *, in_order):
        counts = np.full((len(self.depths), 2), -1)
        for k, side in itertools.product(range(len(self.depths)), (0, 1)):
            if self.may_halve(cell, k, in_order):
                counts[k, side] = not self.is_empty(self.child(cell, k, side, 0.0).key)
        return counts

    def gain(self, whole, halves):
        return whole.risk - sum(half.risk for half in halves)

    def judge(self, cells):
        return [
            replace(cell, risk=cell.risk + dict(self.surcharge).get(cell.key, 0.0))
            for cell in cells
        ]

    def split(self, cells, *, in_order=False):
        risks = []
        for cell in cells:
            is_enough = self.counts(cell, in_order=in_order) > 0
            if not in_order:
                is_enough &= is_enough.all(axis=1, keepdims=True)
            risk = np.full(is_enough.shape, np.nan)
            for k, side in np.argwhere(is_enough):
                risk[k, side] = self.risk(self.child(cell, k, side, 0.0).key)
            risks.append(risk)
        return risks


def every_tree(toy, key):
    """All trees from a cell down, as lists of the keys of their leaves."""
    d = len(toy.depths)
    yield [key]
    if sum(key[:d]) == toy.max_total_depth:
        return
    for k in range(d):
        if key[k] == toy.depths[k]:
            continue
        halves = []
        for side in (0, 1):
            half = list(key)
            half[k] += 1
            half[d + k] = 2 * half[d + k] + side
            halves.append(tuple(half))
        if any(toy.is_empty(half) for half in halves):
            continue
        for left in every_tree(toy, halves[0]):
            for right in every_tree(toy, halves[1]):
                yield left + right


def leaves(branch):
    if not branch.children:
        return [branch.cell.key]
    return [key for child in branch.children for key in leaves(child)]


def plane(depth=3, **options):
    return Toy(depths=np.array([depth, depth]), max_total_depth=depth, **options)


def cost(toy, keys, price=lambda m: 0.0):
    return sum(toy.risk(key) for key in keys) + price(len(keys))


def test_number_of_trees_that_the_enumeration_goes_through():
    assert sum(1 for _ in every_tree(plane(), (0, 0, 0, 0))) == 723


@pytest.mark.parametrize("seed", by_default(2, range(6)))
@pytest.mark.parametrize("min_gain", [0.0, 0.05, 0.3])
def test_optimum_is_the_best_of_all_trees(seed, min_gain):
    toy = plane(seed=seed)
    found = optimal_tree(toy, min_gain=min_gain)
    price = lambda m: min_gain * (m - 1)  # noqa: E731
    best = min(every_tree(toy, (0, 0, 0, 0)), key=lambda keys: cost(toy, keys, price))
    assert sorted(leaves(found.tree)) == sorted(best)
    assert found.risk == pytest.approx(cost(toy, best), abs=1e-12)


@pytest.mark.parametrize("seed", by_default(2, range(6)))
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.3, 1.0])
def test_penalised_optimum_is_the_best_of_all_trees(seed, gamma):
    toy = plane(seed=seed)
    price = code_length_price(1000, 5, 2, gamma)
    found = optimal_tree(toy, price=price)
    best = min(every_tree(toy, (0, 0, 0, 0)), key=lambda keys: cost(toy, keys, price))
    total = cost(toy, leaves(found.tree), price)
    assert total == pytest.approx(cost(toy, best, price), abs=1e-9)
    assert sorted(leaves(found.tree)) == sorted(best)


@pytest.mark.parametrize("seed", range(3))
def test_optimum_in_three_dimensions_with_uneven_depths_and_empty_cells(seed):
    forbidden = ((1, 0, 0, 1, 0, 0), (1, 1, 0, 0, 1, 0), (0, 0, 1, 0, 0, 0))
    toy = Toy(depths=np.array([2, 1, 1]), max_total_depth=3, seed=seed, forbidden=forbidden)
    root = (0,) * 6
    best = min(every_tree(toy, root), key=lambda keys: cost(toy, keys))
    assert optimal_tree(toy).risk == pytest.approx(cost(toy, best), abs=1e-12)
    for gamma in (0.05, 0.5):
        price = code_length_price(500, 5, 3, gamma)
        best = min(every_tree(toy, root), key=lambda keys: cost(toy, keys, price))
        found = leaves(optimal_tree(toy, price=price).tree)
        assert cost(toy, found, price) == pytest.approx(cost(toy, best, price), abs=1e-9)


@pytest.mark.parametrize("lookahead", [0, 1, 2, 5])
@pytest.mark.parametrize("seed", range(8))
def test_greedy_is_never_better_than_the_optimum(seed, lookahead):
    toy = plane(4, seed=seed)
    greedy, optimal = greedy_tree(toy, lookahead=lookahead), optimal_tree(toy)
    assert greedy.risk >= optimal.risk - 1e-12
    assert greedy.risk <= toy.root().risk
    assert greedy.n_cells <= optimal.n_cells
    assert sum(toy.risk(key) for key in leaves(greedy.tree)) == pytest.approx(greedy.risk)


@pytest.mark.parametrize("seed", range(8))
def test_penalised_greedy_is_never_better_than_the_optimum(seed):
    toy, price = plane(4, seed=seed), code_length_price(1000, 5, 2, 0.05)
    greedy = leaves(greedy_tree(toy, lookahead=1, price=price).tree)
    optimal = leaves(optimal_tree(toy, price=price).tree)
    assert cost(toy, greedy, price) >= cost(toy, optimal, price) - 1e-9
    assert cost(toy, greedy, price) <= toy.root().risk + price(1)


def checkerboard(**more):
    """No single halving pays off, two do."""
    quarters = {(1, 1, i, j): 0.1 for i in (0, 1) for j in (0, 1)}
    halves = {(1, 0, i, 0): 0.6 for i in (0, 1)} | {(0, 1, 0, i): 0.7 for i in (0, 1)}
    risks = {(0, 0, 0, 0): 1.0} | halves | quarters | more
    return Toy(depths=np.array([1, 1]), max_total_depth=2, risks=tuple(risks.items()))


def test_lookahead_opens_what_single_splits_do_not():
    assert greedy_tree(checkerboard(), lookahead=0).tree.n_leaves == 1
    found = greedy_tree(checkerboard(), lookahead=1)
    assert found.tree.n_leaves == 4
    assert found.risk == pytest.approx(0.4)
    assert found.tree.coordinate == 0


def test_lookahead_is_pruned_where_it_was_in_vain():
    vain = checkerboard(x=0.0)
    vain = Toy(depths=vain.depths, max_total_depth=1, risks=vain.risks)
    assert greedy_tree(vain, lookahead=5).tree.n_leaves == 1


@pytest.mark.parametrize("search", [lambda toy: greedy_tree(toy, lookahead=2), optimal_tree])
def test_trees_are_compared_by_the_final_judgement(search):
    toy = checkerboard()
    assert search(toy).risk == pytest.approx(0.4)
    dear = replace(toy, surcharge=tuple(((1, 1, i, 0), 0.2) for i in (0, 1)))
    assert search(dear).risk == pytest.approx(0.8)
    quarters = itertools.product((0, 1), (0, 1))
    too_dear = replace(toy, surcharge=tuple(((1, 1, i, j), 0.9) for i, j in quarters))
    assert search(too_dear).risk == pytest.approx(1.0)
    assert search(too_dear).tree.n_leaves == 1


def test_each_leaf_must_be_worth_the_least_gain():
    toy = checkerboard()
    for search in (
        lambda g: greedy_tree(toy, lookahead=2, min_gain=g),
        lambda g: optimal_tree(toy, min_gain=g),
    ):
        assert search(0.19).tree.n_leaves == 4
        assert search(0.21).tree.n_leaves == 1


def test_equal_gains_go_to_the_first_coordinate():
    halves = {(1, 0, i, 0): 0.4 for i in (0, 1)} | {(0, 1, 0, i): 0.4 - 1e-13 for i in (0, 1)}
    risks = {(0, 0, 0, 0): 1.0} | halves
    toy = Toy(depths=np.array([1, 1]), max_total_depth=1, risks=tuple(risks.items()))
    assert greedy_tree(toy).tree.coordinate == 0
    assert optimal_tree(toy).tree.coordinate == 0


def test_a_gain_within_rounding_is_none():
    risks = {(0, 0): 1.0, (1, 0): 0.5, (1, 1): 0.5 - 1e-13}
    toy = Toy(depths=np.array([1]), max_total_depth=1, risks=tuple(risks.items()))
    assert greedy_tree(toy).tree.n_leaves == 1
    assert optimal_tree(toy).tree.n_leaves == 1


@pytest.mark.parametrize(
    ("d", "depth", "expected"),
    [(1, 5, 63), (2, 7, 1793), (2, 10, 20481), (3, 7, 7423), (10, 4, 13441), (10, 6, 397825)],
)
def test_number_of_cells(d, depth, expected):
    assert count_cells(np.full(d, 20), depth) == expected


def test_number_of_cells_with_uneven_depths():
    depths, limit = (3, 1, 0, 2), 4
    expected = sum(
        2 ** sum(levels)
        for levels in itertools.product(*(range(depth + 1) for depth in depths))
        if sum(levels) <= limit
    )
    assert count_cells(np.array(depths), limit) == expected


def test_too_many_cells_are_refused_with_their_number():
    toy = Toy(depths=np.array([10, 10, 10]), max_total_depth=30)
    with raises(
        InputError, code="exact_tree_too_large", shown="8,577,357,823", n_coordinates=3
    ) as caught:
        optimal_tree(toy, max_cells=2000)
    assert "max_cells=2,000" in str(caught.value)
    assert "max_total_depth=5 (1,023 cells)" in str(caught.value)


def test_cells_without_rows_do_not_count():
    # Of the 15 cells of a line halved thrice, all but the root and its first half are empty.
    line = Toy(
        depths=np.array([3]), max_total_depth=3, forbidden=((1, 1), *((2, k) for k in range(4)))
    )
    assert optimal_tree(line, max_cells=2).n_cells == 2
    with raises(InputError, code="exact_tree_too_large", shown="15", n_coordinates=1):
        optimal_tree(line, max_cells=1)


def test_price_is_that_of_the_prefix_code():
    price = code_length_price(10_000, 20, 10, 0.03)
    code = 3 * 22 - 1 + 21 * math.log2(10)
    expected = 0.03 * 22 * math.sqrt((code * math.log(2) + 2 * math.log(200_000)) / 10_000)
    assert price(22) == pytest.approx(expected, rel=1e-14)
    steps = np.diff([price(m) for m in range(1, 50)])
    assert (np.diff(steps) > 0).all()
