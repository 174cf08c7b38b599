"""Where rows differ most along covariates, and whether that is chance."""

import numpy as np
import pytest

from edgewise.solvers.covariates.scan import (
    ALL,
    GRAPH,
    MOMENTS,
    ScannedRows,
    ScanRules,
    best_cut,
    can_cut,
    features,
    scan_tree,
)

DEPTHS = np.array([8, 8])


def rows_of(n=400, seed=0, cut=None, shift=0.0, p=4):
    """Rows of which the first two responses change the sign of their link at a cut."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, size=(n, 2))
    Y = rng.normal(size=(n, p))
    is_beyond = codes[:, 0] >= (128 if cut is None else cut)
    Y[:, 0] += np.where(is_beyond & (cut is not None), -0.7, 0.7) * Y[:, 1]
    Y += shift * is_beyond[:, None]
    return ScannedRows(codes, Y, np.arange(n) % 2 == 0)


def rules(**options):
    defaults = {
        "part": GRAPH,
        "own_mean": True,
        "min_samples": 10,
        "max_depth": 16,
        "lookahead": 0,
        "significance": 0.05,
    }
    return ScanRules(**(defaults | options))


@pytest.mark.parametrize("part", [ALL, GRAPH])
@pytest.mark.parametrize("cut", [64, 128, 200])
def test_a_cut_is_found_where_it_is(part, cut):
    found = scan_tree(rows_of(cut=cut), DEPTHS, rules(part=part))
    assert found.coordinate == 0
    assert abs(found.place - cut) <= 10
    assert found.p_value < 1e-5


def test_statistic_is_the_weighted_distance_of_means():
    rows = rows_of(cut=100)
    F = features(rows.Y, GRAPH, own_mean=True)
    found = best_cut(rows, np.array([128, 128]), rules(), 0.05)

    def statistic(k, place):
        is_left = rows.codes[:, k] < place
        n = is_left.sum(), (~is_left).sum()
        between = F[is_left].mean(axis=0) - F[~is_left].mean(axis=0)
        return n[0] * n[1] / sum(n) * np.sum(between**2)

    largest = max(statistic(k, place) for k in (0, 1) for place in range(20, 236))
    assert statistic(found.coordinate, found.place) == pytest.approx(largest, rel=0.02)


def test_means_and_variances_are_no_graph():
    shifted = rows_of(shift=2.0)
    assert scan_tree(shifted, DEPTHS, rules(part=MOMENTS)).coordinate == 0
    assert scan_tree(shifted, DEPTHS, rules(part=MOMENTS, own_mean=True)).p_value < 1e-6
    scaled = shifted._replace(Y=rows_of().Y * np.where(shifted.codes[:, :1] < 128, 1.0, 1.3))
    assert scan_tree(scaled, DEPTHS, rules(part=MOMENTS)) is not None
    assert scan_tree(scaled, DEPTHS, rules(part=GRAPH)) is None


@pytest.mark.parametrize("part", [ALL, MOMENTS, GRAPH])
def test_chance_is_told_from_a_difference(part):
    n_found = sum(
        scan_tree(rows_of(n=120, seed=seed), DEPTHS, rules(part=part)) is not None
        for seed in range(60)
    )
    assert n_found <= 7


def test_what_shows_only_together_is_found_by_looking_ahead():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 256, size=(800, 2))
    Y = rng.normal(size=(800, 3))
    Y[:, 0] += np.where((codes[:, 0] < 128) == (codes[:, 1] < 128), 1.0, -1.0) * Y[:, 1]
    rows = ScannedRows(codes, Y, np.zeros(800, dtype=bool))
    assert scan_tree(rows, DEPTHS, rules()) is None
    found = scan_tree(rows, DEPTHS, rules(lookahead=1))
    assert not found.is_significant
    assert found.left.is_significant
    assert found.right.is_significant
    assert len(list(found)) == 3


def test_enough_rows_of_either_kind_are_on_both_sides():
    rows = rows_of(n=100, cut=128)
    found = best_cut(rows, np.array([128, 128]), rules(min_samples=24), 1.0)
    is_left = rows.codes[:, found.coordinate] < found.place
    for is_kind in (rows.is_validation, ~rows.is_validation):
        assert min((is_left & is_kind).sum(), (~is_left & is_kind).sum()) >= 24
    assert not can_cut(rows, 26).any()
    assert best_cut(rows, np.array([128, 128]), rules(min_samples=26), 1.0) is None
    assert scan_tree(rows, DEPTHS, rules(max_depth=0)) is None


def test_nearly_equal_responses():
    rows = rows_of(cut=100)
    Y = rows.Y[:, [0, 1, 2, 2]] + [0, 0, 0, 1e-9] * rows.Y[:, [3]]
    assert np.isfinite(features(Y, GRAPH, own_mean=True)).all()
