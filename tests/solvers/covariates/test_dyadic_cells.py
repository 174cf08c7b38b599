import itertools

import numpy as np
import pytest

from edgewise.solvers.covariates.cell_fits import LASSO, PathRules
from edgewise.solvers.covariates.dyadic_cells import GaussianCells, Rows
from edgewise.solvers.covariates.dyadic_tree import greedy_tree, optimal_tree

RULES = PathRules(LASSO, 15, 0.05, 5, 0.0, True, False)


def table(n_rows, d, p, seed, depth=4):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2**depth, size=(n_rows, d))
    Y = rng.normal(size=(n_rows, p))
    # The first pair changes sign along the first coordinate, the second along the other.
    Y[:, 1] += np.where(codes[:, 0] < 2 ** (depth - 1), 1.5, -1.5) * Y[:, 0]
    Y[:, 3] += np.where(codes[:, 1] < 2 ** (depth - 2), 1.5, -1.5) * Y[:, 2]
    return Rows(codes, Y)


def make_cells(n_rows=160, d=2, p=4, seed=0, **options):
    defaults = {
        "train": table(n_rows, d, p, seed),
        "validation": table(n_rows, d, p, seed + 1),
        "depths": np.full(d, 4),
        "rules": RULES,
        "own_mean": False,
        "floor": np.stack([np.full(p, 1e-6), np.zeros(p)]),
        "min_samples": 10,
        "max_total_depth": 3,
    }
    return GaussianCells(**(defaults | options))


def in_cell(rows, cell, depth=4):
    """Rows of a cell, from its intervals rather than from its ancestors."""
    inside = np.ones(len(rows.Y), dtype=bool)
    for k, (level, position) in enumerate(zip(cell.levels, cell.positions, strict=True)):
        inside &= rows.codes[:, k] * 2.0**level // 2**depth == position
    return np.flatnonzero(inside)


def halves(cells, cell, coordinate, risks):
    return [cells.child(cell, coordinate, side, risks[coordinate, side]) for side in (0, 1)]


def all_cells(cells):
    """Every cell within reach by one way or another, and how often it was reached."""
    found, frontier = {}, [cells.root()]
    while frontier:
        cell = frontier.pop()
        found.setdefault(cell.key, []).append(cell)
        (risks,) = cells.split([cell])
        for k in np.flatnonzero(~np.isnan(risks).any(axis=1)):
            frontier += halves(cells, cell, k, risks)
    return found


def test_rows_of_a_cell_are_those_in_its_box():
    cells = make_cells()
    for same in all_cells(cells).values():
        for cell in same:
            np.testing.assert_array_equal(cell.train, in_cell(cells.train, cell))
            np.testing.assert_array_equal(cell.validation, in_cell(cells.validation, cell))
            assert min(len(cell.train), len(cell.validation)) >= 10
            assert cell.depth <= 3


def test_a_cell_has_one_risk_whichever_way_it_was_reached():
    cells = make_cells()
    reached = [same for same in all_cells(cells).values() if len(same) > 1]
    assert reached
    for same in reached:
        assert len({cell.risk for cell in same}) == 1
    one = reached[0][0]
    expected = cells.fit([one], RULES).risk[0] * len(one.validation) / len(cells.validation.Y)
    assert one.risk == pytest.approx(expected, rel=1e-14)


def test_risk_is_that_of_the_rows():
    cells = make_cells(own_mean=True)
    fits = cells.fit([cells.root()], RULES)
    deviation = cells.validation.Y - cells.train.Y.mean(axis=0)
    np.testing.assert_allclose(fits.mean[0], cells.train.Y.mean(axis=0))
    by_row = np.einsum("ij,jk,ik->i", deviation, fits.precision[0], deviation)
    expected = by_row.mean() - np.linalg.slogdet(fits.precision[0])[1]
    assert cells.root().risk == pytest.approx(expected, rel=1e-12)


def test_going_in_order_reaches_each_cell_once():
    cells = make_cells(d=3, n_rows=300)
    in_order, frontier = [], [cells.root()]
    while frontier:
        cell = frontier.pop()
        in_order.append(cell.key)
        (risks,) = cells.split([cell], in_order=True)
        for k, side in np.argwhere(~np.isnan(risks)):
            frontier.append(cells.child(cell, k, side, risks[k, side]))
    assert len(in_order) == len(set(in_order))
    enough = {
        levels + positions
        for levels in itertools.product(range(4), repeat=3)
        if sum(levels) <= 3
        for positions in itertools.product(*(range(2**level) for level in levels))
        if all(
            np.count_nonzero(
                np.all(rows.codes >> (4 - np.array(levels)) == np.array(positions), axis=1)
            )
            >= 10
            for rows in (cells.train, cells.validation)
        )
    }
    assert set(in_order) == enough
    assert optimal_tree(cells).n_cells == len(enough)


def test_leaf_risks_add_up_and_greedy_is_no_better_than_the_optimum():
    for seed in range(3):
        cells = make_cells(seed=10 * seed)
        optimal = optimal_tree(cells)
        for lookahead in (0, 2):
            greedy = greedy_tree(cells, lookahead=lookahead)
            assert greedy.risk >= optimal.risk - 1e-12
            leaves, frontier = [], [greedy.tree]
            while frontier:
                branch = frontier.pop()
                frontier += branch.children
                if not branch.children:
                    leaves.append(branch.cell)
            assert sum(cell.risk for cell in leaves) == pytest.approx(greedy.risk, abs=1e-12)
            counted = np.sort(np.concatenate([cell.validation for cell in leaves]))
            np.testing.assert_array_equal(counted, np.arange(160))


def test_optimum_of_a_table_is_the_best_of_all_its_trees():
    cells = make_cells()
    reached = {key: same[0] for key, same in all_cells(cells).items()}

    def trees(key):
        yield reached[key].risk, 1
        for k in (0, 1):
            halves = []
            for side in (0, 1):
                half = list(key)
                half[k] += 1
                half[2 + k] = 2 * half[2 + k] + side
                halves.append(tuple(half))
            if all(half in reached for half in halves):
                yield from (
                    (a + b, m + n)
                    for (a, m), (b, n) in itertools.product(*(list(trees(h)) for h in halves))
                )

    every = list(trees((0, 0, 0, 0)))
    assert len(every) > 100
    assert optimal_tree(cells).risk == pytest.approx(min(risk for risk, _ in every), abs=1e-12)
    for gamma in (0.1, 0.4):
        price = lambda m, g=gamma: g * m**1.5  # noqa: E731
        found = optimal_tree(cells, price=price)
        best = min(risk + price(m) for risk, m in every)
        assert found.risk + price(found.tree.n_leaves) == pytest.approx(best, abs=1e-9)


def test_limits_are_obeyed():
    shallow = make_cells(max_total_depth=1)
    assert optimal_tree(shallow).tree.n_leaves <= 2
    (risks,) = make_cells(depths=np.array([4, 0])).split([make_cells().root()])
    assert np.isnan(risks[1]).all()
    assert not np.isnan(risks[0]).any()
    few = make_cells(min_samples=70)
    (risks,) = few.split([few.root()])
    cut = [np.bincount(rows.codes[:, 0] >> 3, minlength=2) for rows in (few.train, few.validation)]
    assert np.isnan(risks[0]).all() == (np.min(cut) < 70)


def test_validation_rows_must_be_enough_too():
    cells = make_cells(validation=table(25, 2, 4, 3))
    for same in all_cells(cells).values():
        assert len(same[0].validation) >= 10


def test_any_number_of_jobs():
    alone, many = greedy_tree(make_cells()), greedy_tree(make_cells(n_jobs=2))
    assert alone.risk == many.risk
    assert alone.n_cells == many.n_cells


def test_exchange_judges_by_both_kinds_of_rows():
    cells = make_cells(exchange=True)
    root = cells.root()
    left, right = halves(cells, root, 0, cells.split([root])[0])
    swapped = make_cells(train=cells.validation, validation=cells.train)
    for cell in (root, left, right):
        (judged,) = cells.judge([cell])
        other = swapped.root() if cell is root else None
        if other is None:
            whole = swapped.root()
            side = 0 if cell is left else 1
            other = halves(swapped, whole, 0, swapped.split([whole])[0])[side]
        assert judged.risk == pytest.approx((cell.risk + other.risk) / 2, rel=1e-12)
        assert judged.key == cell.key
    assert make_cells().judge([root])[0].risk == root.risk
    many = make_cells(exchange=True, n_jobs=2).judge([root, left] * 40)
    assert [cell.risk for cell in many] == [cell.risk for cell in cells.judge([root, left] * 40)]
