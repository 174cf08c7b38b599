"""Rows that depend on each other are found, and ordinary tables have none of them."""

import numpy as np
import pytest

from edgewise.data.dependence import (
    Dependence,
    centred_within,
    clustered_rows,
    find_clusters,
    find_nests,
    row_order,
)

NAMES = tuple("abcdefghij")


def rng(seed):
    return np.random.default_rng(seed)


def autoregression(n_samples, rho, seed, n_features=10):
    noise = rng(seed).normal(size=(n_samples + 200, n_features))
    rows = np.zeros_like(noise)
    for t in range(1, len(noise)):
        rows[t] = rho * rows[t - 1] + noise[t]
    return rows[200:]


def volatile(n_samples, seed, n_features=10):
    """Returns of constant correlation 0 whose variance remembers large ones (GARCH)."""
    noise = rng(seed).normal(size=(n_samples + 200, n_features))
    rows, variance = np.zeros_like(noise), np.ones(n_features)
    for t in range(len(noise)):
        rows[t] = np.sqrt(variance) * noise[t]
        variance = 0.05 + 0.1 * rows[t] ** 2 + 0.85 * variance
    return rows[200:]


def test_ordinary_tables_are_in_no_order():
    """At most 1 of 100 tables without an order has one: correlated, skewed, heavy-tailed, coded."""
    found = 0
    for seed in range(200):
        drawn = rng(seed)
        n, p = int(drawn.integers(20, 500)), int(drawn.integers(2, 30))
        rows = drawn.normal(size=(n, p)) @ (np.eye(p) + drawn.normal(size=(p, p)))
        kind = seed % 4
        if kind == 1:
            rows = np.exp(rows / np.sqrt(p))
        if kind == 2:
            rows /= np.sqrt(drawn.chisquare(3, size=(n, 1)))
        if kind == 3:
            rows = np.round(drawn.random((n, p)) * 3)
        found += row_order(rows, [str(k) for k in range(p)]).kind != "independent"
    assert found <= 2


@pytest.mark.parametrize("rho", [0.3, 0.5, 0.8])
def test_rows_like_the_rows_before_them(rho):
    """By how much correlations vary more is known of autoregressions (Bartlett 1946)."""
    true = (1 + rho**2) / (1 - rho**2)
    for seed in range(10):
        found = row_order(autoregression(500, rho, seed), NAMES)
        assert found.kind == "order"
        assert len(found.columns) > 5
        # The most of 45 pairs, and no less than what is true of each.
        assert 0.9 * true < found.inflation < 1.8 * true
        assert found.decay == pytest.approx(rho, abs=0.15)
        assert Dependence(order=found).n_independent(np.zeros((500, 10))) < 500 / (0.9 * true)


def test_blocks_are_long_enough_or_there_are_none():
    found = row_order(autoregression(400, 0.8, 0), NAMES)
    assert 18 <= found.block_length(400) <= 40
    assert found.has_blocks(400)
    assert not found.has_blocks(50)


def test_random_walks_drift():
    for seed in range(10):
        found = row_order(np.cumsum(rng(seed).normal(size=(300, 10)), axis=0), NAMES)
        assert found.kind == "trend"
        changes = np.diff(np.cumsum(rng(seed).normal(size=(300, 10)), axis=0), axis=0)
        assert row_order(changes, NAMES).kind == "independent"


def test_columns_are_judged_one_by_one():
    rows = rng(3).normal(size=(300, 10))
    rows[:, :3] = np.cumsum(rows[:, :3], axis=0)
    found = row_order(rows, NAMES)
    assert found.kind == "order"
    assert set(found.columns) == {"a", "b", "c"}
    assert found.inflation > 20
    # One column by itself makes no correlation vary more.
    rows[:, 1:3] = rng(4).normal(size=(300, 2))
    assert row_order(rows, NAMES).inflation < 1.5
    # With a column that says so, rows are in time, and a few that drift are enough.
    timed = np.column_stack([rows, 1900 + np.arange(300) // 4])
    assert row_order(timed, (*NAMES, "year")).kind == "trend"


def test_sizes_that_follow_large_ones():
    found = [row_order(volatile(1000, seed), NAMES) for seed in range(10)]
    assert sum(one.in_spread for one in found) >= 8
    assert all(one.inflation == 1.0 for one in found)
    assert np.median([one.block_length(500) for one in found]) >= 8


def test_a_table_that_is_sorted_is_not_in_time():
    drawn = rng(5)
    age = np.sort(drawn.uniform(0, 20, size=300))
    growth = np.column_stack([np.sqrt(age), age, 3 * age - 0.05 * age**2])
    rows = np.column_stack([age, growth + drawn.normal(size=(300, 3))])
    found = row_order(rows, ("age", "b", "c", "d"))
    assert (found.kind, found.columns) == ("sorted", ("age",))
    assert Dependence(order=found).kind == "independent"
    assert row_order(rows[:, 1:], ("b", "c", "d"), sorters={"age": age}).kind == "sorted"
    # Rows that are alike beyond what the column says are in an order, whatever they are sorted by.
    rows[:, 1:] += 3 * autoregression(300, 0.8, 6, 3)
    assert row_order(rows, ("age", "b", "c", "d")).kind in ("order", "trend")


def test_a_table_may_be_sorted_within_groups_and_not_quite():
    """As births are by weight within low and normal ones, but for a few rows."""
    drawn = rng(6)
    weight = np.concatenate([np.sort(drawn.normal(size=130)), np.sort(drawn.normal(size=60)) - 3])
    weight[[20, 21, 70, 71]] = weight[[21, 20, 71, 70]]
    low = np.repeat([0.0, 1.0], [130, 60])
    rows = np.column_stack([low, weight, weight[:, None] / 2 + drawn.normal(size=(190, 3))])
    found = row_order(rows, ("low", "weight", "b", "c", "d"))
    assert (found.kind, found.columns, found.drifts) == ("sorted", ("weight",), ())
    # Rare values have few steps either way, and are in no order.
    rare = np.where(drawn.random(190) < 0.03, np.arange(190.0), 0.0)
    rest = autoregression(190, 0.7, 7, 3)
    assert row_order(np.column_stack([rare, rest]), tuple("abcd")).kind == "order"


def test_groups_that_a_table_is_sorted_by_but_for_some_rows():
    """As occupations are by their kind: professions first, a few others among them."""
    group = np.repeat([0, 1, 2], 30)
    group[[5, 20, 40, 70]] = group[[60, 45, 10, 2]]
    rows = rng(11).normal(size=(90, 4)) + 3.0 * group[:, None]
    texts = np.array(["prof", "white", "blue"], dtype=object)[group]
    found = row_order(rows, tuple("abcd"), sorters={"type": texts})
    assert (found.kind, found.columns) == ("sorted", ("type",))
    # What is alike within groups as well is in an order.
    rows = autoregression(90, 0.8, 12, 4) + 3.0 * group[:, None]
    assert row_order(rows, tuple("abcd"), sorters={"type": texts}).kind == "order"
    # A factor in no order says nothing of the rows.
    shuffled = rng(13).permutation(texts)
    rows = autoregression(200, 0.7, 14, 4)
    mixed = np.resize(shuffled, 200)
    assert row_order(rows, tuple("abcd"), sorters={"type": mixed}).kind == "order"


def test_rows_sorted_by_groups_are_alike_within_them_only():
    group = np.repeat([1.0, 2.0, 3.0, 4.0], 50)
    rows = rng(1).normal(size=(200, 4)) + 10 * group[:, None]
    assert row_order(np.column_stack([group, rows]), ("arm", *"bcde")).kind == "independent"
    texts = np.array(["u", "v", "w", "x"], dtype=object)[group.astype(int) - 1]
    assert row_order(rows, tuple("bcde"), sorters={"arm": texts}).kind == "independent"
    series = group.astype(int)
    assert row_order(rows, tuple("bcde"), series=series).kind == "independent"
    mixed = rng(2).permutation(series)
    centred = rows - 10 * group[:, None] + 10.0 * mixed[:, None]
    assert row_order(centred, tuple("bcde"), series=mixed).kind == "independent"
    depending = autoregression(200, 0.7, 3, 4) + 10.0 * mixed[:, None]
    assert row_order(depending, tuple("bcde"), series=mixed).kind == "order"


def test_few_rows_of_trends():
    """Prices, products and people of 16 years (Longley 1967)."""
    prices = [83, 88.5, 88.2, 89.5, 96.2, 98.1, 99, 100, 101.2, 104.6, 108.4, 110.8, 112.6, 114.2]
    product = [234, 259, 258, 285, 329, 347, 365, 363, 397, 419, 443, 445, 483, 503]
    army = [159, 146, 162, 165, 310, 359, 355, 335, 305, 286, 280, 264, 255, 251]
    rows = np.column_stack([prices, product, army, np.arange(1947, 1961)])
    found = row_order(rows, ("prices", "product", "army", "year"))
    assert found.kind == "trend"


def test_clusters_by_their_names():
    person = np.repeat(np.arange(40), 5)
    columns = {"age": np.repeat(rng(0).integers(20, 60, 40), 5), "x": rng(1).normal(size=200)}
    for name in ("id", "participant", "Subject", "patient_id", "PatientID", "pid", "school"):
        assert find_clusters({**columns, name: rng(2).permutation(person)}) == name
    for name in ("acid", "score", "grade", "day"):
        assert find_clusters({**columns, name: rng(2).permutation(person)}) is None
    # Another value in every row labels the rows; a few numbers are answers.
    assert find_clusters({**columns, "id": np.arange(200)}) is None
    assert find_clusters({**columns, "household": rng(3).integers(1, 6, 200)}) is None
    # A few rows may lack their label.
    some = np.where(rng(4).random(200) < 0.02, np.nan, person)
    assert find_clusters({**columns, "inst": some}) == "inst"
    texts = np.array([None if one != one else f"p{one:g}" for one in some], dtype=object)
    assert find_clusters({**columns, "person": texts}) == "person"
    assert find_clusters({**columns, "id": np.where(rng(5).random(200) < 0.2, np.nan, person)}) is (
        None
    )
    # Persons are more than their schools.
    both = {"school": person // 5, "person": person}
    assert find_clusters(both) == "person"


def test_sessions_of_the_same_persons_are_no_studies():
    person = np.tile(np.arange(40), 6)
    session = np.repeat([*"abcdef"], 40).astype(object)
    assert find_nests({"session": session, "id": person}, "id") is None
    half = rng(6).random(240) < 0.8
    assert find_nests({"session": session[half], "id": person[half]}, "id") is None


def columns_of(rows):
    return {f"x{k}": column for k, column in enumerate(rows.T)}


def test_clusters_by_their_runs():
    person = np.repeat(rng(7).permutation(80), 10)
    noise = rng(8).normal(size=(800, 4))
    offsets = np.repeat(rng(9).normal(size=(80, 4)), 10, axis=0)
    assert find_clusters({"k": person, **columns_of(noise + offsets)}) == "k"
    assert find_clusters({"k": person, **columns_of(noise)}) is None
    grams = np.round(100 * (noise + offsets)).astype(int)
    assert find_clusters({"k": person, **columns_of(grams)}) == "k"
    # Rounded ages by which rows are sorted have runs, too, without steps.
    age = np.sort(rng(10).uniform(0, 30, 800))
    grown = noise + age[:, None]
    assert find_clusters({"age": np.round(age), **columns_of(grown)}) is None


def test_rows_of_clusters_are_counted():
    offsets = np.repeat(rng(0).normal(size=(100, 6)) * 2, 8, axis=0)
    rows, member = offsets + rng(1).normal(size=(800, 6)), np.repeat(np.arange(100), 8)
    assert clustered_rows(rows, member, is_centred=False) < 250
    centred, is_kept = centred_within(rows, member)
    assert is_kept.all()
    assert np.allclose(np.add.reduceat(centred, np.arange(0, 800, 8)), 0, atol=1e-9)
    assert 550 < clustered_rows(centred, member, is_centred=True) <= 700
    scaled = centred_within(rows, member, is_scaled=True)[0]
    assert np.allclose(scaled[:8].std(axis=0), 1)
    assert centred_within(rows, np.r_[member[:-1], 100])[1].tolist().count(False) == 1


def test_a_design_that_is_balanced_within_subjects_takes_nothing_off():
    """Sex is the same in all rows of a subject, ages are the same four in each."""
    drawn, member = rng(3), np.repeat(np.arange(60), 4)
    own = np.repeat(drawn.normal(size=60), 4)
    size = 2 * own + drawn.normal(size=240)
    sex = np.repeat(drawn.integers(0, 2, 60), 4)
    rows = np.column_stack([size, np.tile([8, 10, 12, 14], 60), sex])
    assert clustered_rows(rows, member, is_centred=False) < 150


def test_columns_of_whole_clusters_do_not_count_more_rows_than_they_have():
    """The error of a correlation with such a column is that of means of clusters."""
    draw = rng(4)
    each, found = 3, []
    member = np.repeat(np.arange(80), each)
    for _ in range(20):
        labs = np.repeat(draw.normal(size=(80, 5)), each, axis=0) + draw.normal(size=(240, 5))
        whole = np.repeat(draw.normal(size=(80, 2)), each, axis=0)
        rows = np.column_stack([labs, whole])
        found.append(clustered_rows(rows, member, is_centred=False))
    # Variance of a correlation of the two kinds: 80 clusters, with half of a lab's variance.
    assert np.mean(found) < 240 / (1 + (each - 1) * 0.5) * 1.1
