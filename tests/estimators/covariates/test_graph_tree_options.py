"""Every option of `GraphTree` makes the difference that it promises."""

import numpy as np
import pandas as pd
import pytest

from edgewise import GraphTree, HeldOut, InputError, Penalized
from edgewise.estimators.covariates.tree_fit import default_gain
from tests.estimators.covariates.tree_rows import assert_same_tree, changing_rows, four_cells
from tests.messages import raises

#: One mean for all leaves, splits for anything: the published rule.
PAPER = {"mean": "global", "split_for": "all"}


def halves(X, Y):
    n_train = len(Y) // 2
    return X[:n_train], Y[:n_train], X[n_train:], Y[n_train:]


def splits(tree):
    return [node.split for node in tree.nodes_ if node.split is not None]


def test_lookahead():
    X, Y = four_cells(d=2)
    rows = halves(X, Y)
    blind = GraphTree(lookahead=0, scale=(0, 1)).fit(*rows)
    seeing = GraphTree(lookahead=1, scale=(0, 1)).fit(*rows)
    assert len(blind.leaves_) == 1
    assert len(seeing.leaves_) == 4
    assert {split.column for split in splits(seeing)} == {0, 1}
    assert blind.n_iter_ < seeing.n_iter_
    # What is seen with one step is not lost with more.
    assert GraphTree(lookahead=3, scale=(0, 1)).fit(*rows).risk_ <= seeing.risk_ + 1e-9


@pytest.mark.parametrize("exchange", [False, True])
def test_search(exchange):
    X, Y = four_cells(600, 1, d=2)
    rows = halves(X, Y)
    common = {"max_total_depth": 4, "scale": (0, 1), "split_for": "all"}
    default, no_gain = HeldOut(exchange=exchange), HeldOut(min_gain=0, exchange=exchange)
    optimal = GraphTree(default, "optimal", **common).fit(*rows)
    for lookahead in (0, 2):
        greedy = GraphTree(no_gain, lookahead=lookahead, **common).fit(*rows)
        least = GraphTree(no_gain, "optimal", **common).fit(*rows)
        assert greedy.risk_ >= least.risk_ - 1e-9
    assert optimal.n_iter_ > greedy.n_iter_
    assert len(optimal.leaves_) == 4


def every_tree(key):
    """All dyadic trees of two covariates up to depth 3, as lists of the keys of their leaves."""
    yield [key]
    if key[0] + key[1] == 3:
        return
    for k in (0, 1):
        halves = []
        for side in (0, 1):
            half = list(key)
            half[k] += 1
            half[2 + k] = 2 * half[2 + k] + side
            halves.append(tuple(half))
        for left in every_tree(halves[0]):
            yield from (left + right for right in every_tree(halves[1]))


def rows_in(X, key):
    """Which rows lie in a cell of the unit square."""
    positions = np.ceil(X * 2.0 ** np.array(key[:2])) - 1
    return (positions == key[2:]).all(axis=1)


@pytest.mark.parametrize("is_penalized", [False, True])
def test_optimal_search_is_the_best_of_all_trees(is_penalized):
    """Every cell is fitted on its own, as the whole of its rows."""
    rng = np.random.default_rng(17)
    X, Y, X_val, Y_val = halves(rng.random((1600, 2)), rng.normal(size=(1600, 3)))
    for A, B in ((X, Y), (X_val, Y_val)):
        B[:, 0] += np.where((A[:, 0] > 0.5) == (A[:, 1] > 0.25), 1.2, -0.6) * B[:, 1]
    trees = list(every_tree((0, 0, 0, 0)))
    assert len(trees) == 723
    plain = {"split_for": "all", "scale": (0, 1)}
    gamma = 0.02
    criterion = (
        Penalized(gamma, standardize=False)
        if is_penalized
        else HeldOut(min_gain=0, exchange=False, standardize=False)
    )
    risks = {}
    for key in {key for tree in trees for key in tree}:
        one, other = rows_in(X, key), rows_in(X_val, key)
        assert min(one.sum(), other.sum()) >= 10
        alone = GraphTree(criterion, max_depth=0, **plain)
        if is_penalized:
            risks[key] = alone.fit(X[one], Y[one]).risk_ * one.mean()
        else:
            found = alone.fit(X[one], Y[one], X_val[other], Y_val[other])
            risks[key] = found.risk_ * other.mean()

    def price(m):
        if not is_penalized:
            return 0.0
        code = 3 * m - 1 + (m - 1) * np.log2(2)
        return gamma * m * np.sqrt((code * np.log(2) + 2 * np.log(800 * 3)) / 800)

    best = min(sum(risks[key] for key in tree) + price(len(tree)) for tree in trees)
    tree = GraphTree(criterion, "optimal", max_total_depth=3, **plain).fit(
        *((X, Y) if is_penalized else (X, Y, X_val, Y_val))
    )
    assert 2 < len(tree.leaves_) < 64
    assert tree.risk_ + price(len(tree.leaves_)) == pytest.approx(best, abs=1e-6)
    greedy = GraphTree(criterion, max_total_depth=3, **plain).fit(
        *((X, Y) if is_penalized else (X, Y, X_val, Y_val))
    )
    assert greedy.risk_ + price(len(greedy.leaves_)) >= best - 1e-6


@pytest.mark.slow
def test_search_refuses_too_many_cells():
    X, Y = changing_rows(6000, d=6)
    with pytest.raises(InputError, match=r"cells of 6 covariates") as caught:
        GraphTree(search="optimal", random_state=0).fit(X, Y)
    assert "max_total_depth=" in str(caught.value)
    small = GraphTree(search="optimal", random_state=0, max_total_depth=2)
    assert len(small.fit(X, Y).leaves_) == 2
    chosen = GraphTree(search="optimal", random_state=0)
    assert len(chosen.fit(X[:, [1]], Y).leaves_) == 2


def test_total_depth():
    X, Y = four_cells()
    capped = GraphTree(random_state=0, max_total_depth=1).fit(X, Y)
    assert len(capped.leaves_) <= 2


@pytest.mark.parametrize("search", ["halving", "greedy"])
def test_gamma_by_permutation_splits_few_tables_in_which_nothing_varies(search):
    n_tables = 40 if search == "halving" else 10
    n_split = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        X, Y = rng.uniform(size=(200, 2)), rng.normal(size=(200, 8))
        tree = GraphTree(Penalized(), search, split_for="all", lookahead=0).fit(X, Y)
        n_split += len(tree.leaves_) > 1
        assert any("by permutation" in note for note in tree.treatment_)
    # 2 are expected; more than 5 of 40 come by chance in one of 70 suites.
    assert n_split <= n_tables / 8
    X, Y = four_cells(500, 2, d=2)
    assert len(GraphTree(Penalized(), search, scale=(0, 1)).fit(X, Y).leaves_) > 1


@pytest.mark.parametrize("search", ["greedy", "optimal"])
def test_penalised_criterion_needs_no_validation_rows(search):
    X, Y = four_cells(500, 2, d=2)
    tree = GraphTree(Penalized(gamma=0.03), search, max_total_depth=5).fit(X, Y)
    assert tree.nodes_[0].n == tree.nodes_[0].n_validation == 500
    assert "500 training rows, 0 validation rows" in tree.treatment_
    assert len(tree.leaves_) == 4
    # The higher the price, the fewer the leaves.
    counts = [
        len(GraphTree(Penalized(gamma=g), search, max_total_depth=5, **PAPER).fit(X, Y).leaves_)
        for g in (0.0, 0.03, 0.3, 3.0)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 4 > counts[-1] == 1


def test_penalised_leaves_are_judged_by_validation_rows_where_there_are_some():
    X, Y = changing_rows(500, 3)
    X_val, Y_val = changing_rows(300, 4)
    alone = GraphTree("penalized").fit(X, Y)
    judged = GraphTree("penalized").fit(X, Y, X_val, Y_val)
    assert alone.export_text().split("leaf")[0] == judged.export_text().split("leaf")[0]
    assert [leaf.n_validation for leaf in judged.leaves_] == np.bincount(
        judged.apply(X_val)
    ).tolist()
    # No validation row on one side: that leaf is judged as if there were none at all.
    left = X_val[:, 1] < 0.4
    half = GraphTree("penalized").fit(X, Y, X_val[left], Y_val[left])
    assert half.leaves_[1].n_validation == 0
    np.testing.assert_array_equal(half.leaves_[1].precision, alone.leaves_[1].precision)


def test_grow_risk():
    X, Y = changing_rows(300, 5, p=8)
    risks = {
        name: GraphTree(HeldOut(exchange=False), grow_risk=name, max_depth=0)
        .fit(*halves(X, Y))
        .risk_
        for name in ("l1", "refit", "best")
    }
    assert len(set(risks.values())) >= 2
    assert risks["best"] <= min(risks["l1"], risks["refit"]) + 1e-9


def test_mean_of_the_leaves():
    X, Y = changing_rows(600, 6)
    Y[:, 2] += 1.0 * (X[:, 0] > 0.5)
    rows = halves(X, Y)
    one, many = (GraphTree(mean=mean, split_for="all").fit(*rows) for mean in ("global", "leaf"))
    assert len({tuple(leaf.mean) for leaf in one.leaves_}) == 1
    assert len({tuple(leaf.mean) for leaf in many.leaves_}) == len(many.leaves_)
    assert any(split.gain_mean > 0.1 for split in splits(many))
    assert not any(split.gain_mean for split in splits(one))


def test_scale_by_quantiles_does_not_depend_on_units():
    X, Y = changing_rows(400, 7)
    curved = np.column_stack([X[:, 0], np.exp(5 * X[:, 1])])
    rows, others = halves(X, Y), halves(curved, Y)
    plain = GraphTree(search="halving", scale="quantile").fit(*rows)
    bent = GraphTree(search="halving", scale="quantile").fit(*others)
    np.testing.assert_array_equal(plain.apply(rows[2]), bent.apply(others[2]))
    assert plain.nodes_[0].split.cut == np.sort(rows[0][:, 1])[99]
    assert plain.leaves_[0].n == plain.leaves_[1].n == 100
    by_range = GraphTree(search="halving", scale="range").fit(*others)
    middle = (others[0][:, 1].min() + others[0][:, 1].max()) / 2
    cuts = [split.cut for split in splits(by_range) if split.column == 1]
    assert cuts[0] == pytest.approx(middle)


def test_bounds():
    X, Y = changing_rows(400, 8)
    rows = halves(X, Y)
    free = GraphTree(search="halving").fit(*rows)
    ends = rows[0][:, 1].min(), rows[0][:, 1].max()
    assert free.nodes_[0].box["x1"] == ends
    assert free.nodes_[0].split.cut == pytest.approx(np.mean(ends))
    for bounds in ((0, 1), [[0, 1], [0, 1]], {"x1": (0, 1)}):
        tree = GraphTree(search="halving", scale=bounds).fit(*rows)
        assert tree.nodes_[0].split.cut == 0.5
        assert tree.nodes_[0].box["x1"] == (0.0, 1.0)
    # Half a unit further, the middle of the range is elsewhere.
    shifted = GraphTree(scale={"x1": (0, 2)}, max_depth=1).fit(*rows)
    assert all(split.cut != 0.5 for split in splits(shifted))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": (1, 0)}, "bounds_not_increasing"),
        ({"scale": (0, np.inf)}, "bounds_not_increasing"),
        ({"scale": {"x7": (0, 1)}}, "bounds_unknown_covariate"),
        ({"scale": [[0, 1]]}, "bounds_shape"),
    ],
)
def test_bad_bounds_are_named(options, message):
    with raises(InputError, code=message):
        GraphTree(**options).fit(*changing_rows(60))


def test_depth_and_size_of_leaves():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(800, 1))
    Y = rng.normal(size=(800, 3))
    Y[:, 0] += np.where(X[:, 0] < 0.25, 1.5, -1.5) * Y[:, 1]
    rows = halves(X, Y)
    assert len(GraphTree(max_depth=1, scale=(0, 1)).fit(*rows).leaves_) == 2
    deep = GraphTree(search="halving", max_depth=2, scale=(0, 1)).fit(*rows)
    assert [leaf.box["x0"] for leaf in deep.leaves_] == [(0.5, 1), (0, 0.25), (0.25, 0.5)]
    anywhere = GraphTree(max_depth=2, scale=(0, 1)).fit(*rows)
    assert [leaf.box["x0"] for leaf in anywhere.leaves_] == [(0, 0.25), (0.25, 1)]
    big = GraphTree(min_samples_leaf=150, scale=(0, 1)).fit(*rows)
    assert all(leaf.n >= 150 <= leaf.n_validation for leaf in big.leaves_)
    assert len(big.leaves_) < len(deep.leaves_)


def test_exchange():
    X, Y = changing_rows(400, 9)
    X, Y, X_val, Y_val = halves(X, Y)
    there = GraphTree(HeldOut(exchange=False), max_depth=0).fit(X, Y, X_val, Y_val)
    back = GraphTree(HeldOut(exchange=False), max_depth=0).fit(X_val, Y_val, X, Y)
    both = GraphTree(HeldOut(exchange=True), max_depth=0).fit(X, Y, X_val, Y_val)
    # The units are those of the training rows, and so is the global mean: nearly the same.
    assert both.risk_ == pytest.approx((there.risk_ + back.risk_) / 2, abs=0.02)
    assert both.risk_ != there.risk_
    np.testing.assert_array_equal(both.leaves_[0].precision, there.leaves_[0].precision)


def test_smallest_gain():
    X, Y = changing_rows(600, 10)
    rows = halves(X, Y)
    tree = GraphTree(search="halving", scale=(0, 1), **PAPER).fit(*rows)
    gain = tree.nodes_[0].risk - tree.risk_
    nats = gain * 300 / 2
    for share, n_leaves in ((0.99, 2), (1.01, 1)):
        asked = GraphTree(
            HeldOut(min_gain=share * nats), search="halving", scale=(0, 1), **PAPER
        ).fit(*rows)
        assert len(asked.leaves_) == n_leaves
    # By default the gain must outweigh the choice among the covariates.
    rng = np.random.default_rng(4)
    noise = [
        (rng.uniform(size=(160, 12)), rng.normal(size=(160, 5)) @ np.diag([1, 2, 3, 4, 5]))
        for _ in range(12)
    ]

    def total(**options):
        return sum(
            len(splits(GraphTree(search="halving", random_state=0, **options).fit(*r)))
            for r in noise
        )

    published, ours = (
        HeldOut(min_gain=gain, exchange=False, penalize_diagonal=False) for gain in (0, "auto")
    )
    assert total(criterion=published) > total(criterion=ours)


def test_default_gain_is_a_code_less_what_needless_splits_lose():
    for p in (2, 3, 4):
        assert default_gain(8, p) == pytest.approx(6 * np.log(2))
    assert default_gain(1, 6) == pytest.approx(3 * np.log(2) - 0.6)
    assert default_gain(15, 20) == 0.0 < default_gain(16, 20)
    X, Y = changing_rows(600, 10, d=2, p=5)
    rows = halves(X, Y)
    auto, same = (
        GraphTree(HeldOut(min_gain=gain)).fit(*rows) for gain in ("auto", 4 * np.log(2) - 0.3)
    )
    assert_same_tree(auto, same)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "p"), [(2, 3), (10, 3), (10, 6)])
def test_few_needless_splits_by_default(d, p):
    """Nothing to be found: hardly any tree splits, while without a threshold many do."""
    rng = np.random.default_rng(100 * d + p)
    trees = []
    for seed in range(20):
        X, Y = rng.uniform(size=(60 * p, d)), rng.normal(size=(60 * p, p))
        Y[:, 1] += 0.6 * Y[:, 0]
        trees.append(GraphTree(random_state=seed).fit(X, Y))
    assert sum(len(tree.leaves_) > 1 for tree in trees) <= 2


def test_penalised_diagonal():
    X, Y = changing_rows(200, 11)
    rows = halves(X, Y)
    risks = [
        GraphTree(HeldOut(exchange=False, penalize_diagonal=penalized), max_depth=0)
        .fit(*rows)
        .risk_
        for penalized in (True, False)
    ]
    assert risks[0] > risks[1] + 1e-4


def test_units_of_the_responses_do_not_matter():
    X, Y = changing_rows(400, 12)
    rows = halves(X, Y)
    units = np.array([1e-3, 1.0, 50.0, 1e4])
    plain = GraphTree(scale=(0, 1)).fit(*rows)
    X, Y, X_val, Y_val = rows
    other = GraphTree(scale=(0, 1)).fit(X, Y * units, X_val, Y_val * units)
    np.testing.assert_array_equal(plain.apply(X), other.apply(X))
    scaled = other.leaves_[0].precision * np.outer(units, units)
    np.testing.assert_allclose(scaled, plain.leaves_[0].precision, rtol=1e-6, atol=1e-9)
    shift = 2 * np.log(units).sum()
    assert other.risk_ == pytest.approx(plain.risk_ + shift)
    assert other.score(X, Y * units) == pytest.approx(plain.score(X, Y) - shift / 2)
    as_they_are = GraphTree(HeldOut(standardize=False), scale=(0, 1)).fit(
        X, Y * units, X_val, Y_val * units
    )
    assert as_they_are.risk_ != pytest.approx(other.risk_, abs=1e-6)


def test_path_of_strengths():
    X, Y = changing_rows(300, 13)
    rows = halves(X, Y)
    base = GraphTree(HeldOut(exchange=False), max_depth=0).fit(*rows)
    short = GraphTree(HeldOut(exchange=False, alpha_ratio=0.9), max_depth=0).fit(*rows)
    coarse = GraphTree(HeldOut(exchange=False, n_alphas=3), max_depth=0).fit(*rows)
    assert short.risk_ > base.risk_
    assert coarse.leaves_[0].alpha != base.leaves_[0].alpha


def test_half_of_the_rows_is_set_aside_by_the_seed():
    X, Y = changing_rows(301, 14)
    one, same, other = (GraphTree(random_state=seed).fit(X, Y) for seed in (1, 1, 2))
    assert one.risk_ == same.risk_ != other.risk_
    assert one.nodes_[0].n == 151
    assert one.nodes_[0].n_validation == 150


def test_any_order_of_the_rows():
    X, Y = changing_rows(500, 15)
    Y[:100, 0] = Y[100:200, 0]
    X, Y, X_val, Y_val = halves(X, Y)
    rng = np.random.default_rng(0)
    one, other = rng.permutation(len(Y)), rng.permutation(len(Y_val))
    first = GraphTree().fit(X, Y, X_val, Y_val)
    second = GraphTree().fit(X[one], Y[one], X_val[other], Y_val[other])
    assert_same_tree(first, second)
    assert_same_tree(
        GraphTree(random_state=3).fit(X, Y), GraphTree(random_state=3).fit(X[one], Y[one])
    )


def test_any_number_of_jobs():
    X, Y = four_cells(300, 3)
    alone = GraphTree(random_state=0).fit(X, Y)
    assert_same_tree(alone, GraphTree(random_state=0, n_jobs=2).fit(X, Y))
    for search in ("greedy", "optimal"):
        trees = [
            GraphTree(search=search, max_total_depth=2, random_state=0, n_jobs=n_jobs).fit(X, Y)
            for n_jobs in (1, 2)
        ]
        assert trees[0].export_text() == trees[1].export_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "gini"}, "unknown_tree_criterion"),
        ({"search": "best"}, "invalid_value"),
        ({"grow_risk": "l2"}, "invalid_value"),
        ({"mean": "none"}, "invalid_value"),
        ({"scale": "rank"}, "invalid_value"),
        ({"lookahead": -1}, "invalid_value"),
        ({"lookahead": 1.5}, "invalid_value"),
        ({"max_depth": 21}, "invalid_value"),
        ({"min_samples_leaf": 0}, "invalid_value"),
        ({"max_total_depth": -1}, "invalid_value"),
        ({"random_state": -1}, "random_state_negative"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with raises(InputError, code=message):
        GraphTree(**options).fit(*changing_rows(60))


def test_one_coordinate_frame():
    X, Y = changing_rows(300, 16)
    tree = GraphTree(random_state=0).fit(pd.DataFrame({"height": X[:, 1]}), Y)
    assert tree.nodes_[0].split.covariate == "height"
