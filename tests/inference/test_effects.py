"""Effects with learned graphs: against all graphs of a class, and against the truth."""

import itertools

import numpy as np
import pandas as pd
import pytest

from edgewise import BlanketBayesNet, BootstrapGraph, DirectedGraph, GaussianGraph, InputError
from edgewise.data import make_linear_sem
from edgewise.graph.members import members
from edgewise.inference import causal_effects
from edgewise.metrics import cpdag
from tests.messages import raises


def network(seed, p=6, density=0.5):
    rng = np.random.default_rng(seed)
    dag = np.triu(rng.random((p, p)) < density, 1)
    return make_linear_sem(dag, low=0.5, high=1.5, permute=True, rng=seed)


def with_covariance(Sigma, n, seed=0):
    """Rows that have this covariance to rounding, so that all valid adjustments agree."""
    Z = np.random.default_rng(seed).normal(size=(n, len(Sigma)))
    Z -= Z.mean(axis=0)
    Z = Z @ np.linalg.inv(np.linalg.cholesky(Z.T @ Z / n)).T
    return Z @ np.linalg.cholesky(Sigma).T


def regression(S, source, parents, target):
    if target in parents:
        return 0.0
    family = [source, *parents]
    return np.linalg.solve(S[np.ix_(family, family)], S[family, target])[0]


def total_effects(coef):
    return np.linalg.inv(np.eye(len(coef)) - coef)


def all_pairs(p):
    return list(itertools.permutations(range(p), 2))


@pytest.mark.parametrize(
    "known", [{}, {"tiers": [0, 0, None, 1, 1, 2]}, {"forbidden": [(0, 1), (2, 3), (4, 0)]}]
)
@pytest.mark.parametrize("seed", range(4))
def test_ranges_are_those_over_all_graphs_of_the_class(seed, known):
    X = network(seed).sample(300, rng=seed)
    model = DirectedGraph(**known).fit(X)
    pairs = all_pairs(6)
    found = causal_effects(model, X, pairs=pairs, n_resamples=2, random_state=0)
    S = np.cov(X.T, bias=True)
    graphs = list(members(model.cpdag_.adjacency))
    for k, (x, y) in enumerate(pairs):
        each = [regression(S, x, np.flatnonzero(dag[:, x]).tolist(), y) for dag in graphs]
        assert found.low[k] == pytest.approx(min(each), abs=1e-10)
        assert found.high[k] == pytest.approx(max(each), abs=1e-10)


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_two_columns_at_once_are_those_over_all_graphs_of_the_class(seed):
    """With the true covariance, effects of cut graphs, summed over paths, are an oracle."""
    truth = network(seed, p=5, density=0.7)
    X = with_covariance(truth.covariance, 20000)
    model = DirectedGraph(method="exact").fit(X)
    np.testing.assert_array_equal(model.cpdag_.adjacency, cpdag(truth.adjacency))
    pairs = [((a, b), c) for a, b, c in itertools.permutations(range(5), 3)]
    found = causal_effects(model, X, pairs=pairs, n_resamples=2, random_state=0)
    S = truth.covariance
    for k, ((a, b), c) in enumerate(pairs):
        each = []
        for dag in members(model.cpdag_.adjacency):
            coef = np.zeros((5, 5))
            for j in range(5):
                parents = np.flatnonzero(dag[:, j])
                coef[parents, j] = np.linalg.solve(S[np.ix_(parents, parents)], S[parents, j])
            coef[:, [a, b]] = 0.0
            effects = total_effects(coef)
            each.append([effects[a, c], effects[b, c], effects[a, c] + effects[b, c]])
        rows = slice(3 * k, 3 * k + 3)
        np.testing.assert_allclose(found.low[rows], np.min(each, axis=0), atol=1e-8)
        np.testing.assert_allclose(found.high[rows], np.max(each, axis=0), atol=1e-8)
    assert found.held[:2] == (("x1",), ("x0",))
    assert "held" in found.table()


def test_true_effects_are_inside_the_intervals():
    n_inside = n_all = 0
    for seed in range(8):
        truth = network(seed, p=8, density=0.35)
        X = truth.sample(400, rng=seed)
        found = causal_effects(DirectedGraph().fit(X), X, random_state=seed, n_resamples=50)
        names = [f"x{k}" for k in range(8)]
        effects = pd.DataFrame(total_effects(truth.coef), index=names, columns=names)
        for row in found.table().itertuples():
            n_inside += row.lower - 1e-12 <= effects.loc[row.source, row.target] <= row.upper
            n_all += 1
    assert n_all > 100
    assert n_inside >= 0.93 * n_all


def test_a_collider_identifies_and_a_chain_does_not():
    rng = np.random.default_rng(0)
    a, b, c, d = rng.normal(size=(4, 500))
    c += a + b
    d += 2 * c
    table = pd.DataFrame({"a": a, "b": b, "c": c, "d": d})
    found = causal_effects(DirectedGraph().fit(table), table, random_state=0, n_resamples=30)
    listed = found.table().set_index(["source", "target"])
    assert set(listed.index) == {("a", "c"), ("b", "c"), ("a", "d"), ("b", "d"), ("c", "d")}
    assert listed["identified"].all()
    assert (listed["share"] > 0.9).all()
    assert listed.loc[("c", "d"), "adjustment"] == "a, b"
    assert listed.loc[("a", "d"), "low"] == pytest.approx(2, abs=0.2)
    chain = table[["c", "d"]]
    found = causal_effects(DirectedGraph().fit(chain), chain, random_state=0, n_resamples=30)
    assert not found.identified.any()
    assert found.undecided == (("d",), ("c",))
    np.testing.assert_array_equal(found.low, 0.0)
    np.testing.assert_array_equal(found.share, 0.0)


def test_standardised_effects_are_those_of_standardised_columns():
    X = network(1).sample(200, rng=1) * np.array([1, 10, 0.1, 5, 2, 1])
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    raw = causal_effects(DirectedGraph().fit(X), X, random_state=0, n_resamples=20)
    other = causal_effects(DirectedGraph().fit(Z), Z, random_state=0, n_resamples=20)
    ends = ["low", "high", "lower", "upper"]
    mine, theirs = raw.table(standardized=True), other.table()
    np.testing.assert_allclose(mine[ends], theirs[ends], atol=1e-9)
    assert mine["source"].tolist() == theirs["source"].tolist()
    assert not np.allclose(raw.table()[ends], mine[ends])


def test_jobs_and_a_finished_bootstrap_make_no_difference():
    X = network(2).sample(200, rng=2)
    model = DirectedGraph().fit(X)
    one = causal_effects(model, X, random_state=3, n_resamples=12).table()
    two = causal_effects(model, X, random_state=3, n_resamples=12, n_jobs=2).table()
    pd.testing.assert_frame_equal(one, two)
    bootstrap = BootstrapGraph(model, n_resamples=12, prefit=True, random_state=3).fit(X)
    pd.testing.assert_frame_equal(one, causal_effects(bootstrap, X).table())


def test_each_resample_has_a_graph_of_its_own():
    """The interval is that of fits by hand to the rows of each resample."""
    X = network(5).sample(150, rng=5)
    model = DirectedGraph().fit(X)
    bootstrap = BootstrapGraph(model, n_resamples=15, prefit=True, random_state=0).fit(X)
    found = causal_effects(bootstrap, X, level=0.8)
    lows = []
    for resample in bootstrap._redraw.again(X):
        rows = X[resample.rows]
        again = DirectedGraph().fit(rows)
        lows.append(
            causal_effects(again, rows, pairs=[(0, 1)], n_resamples=2, random_state=0).low[0]
        )
    own = causal_effects(bootstrap, X, pairs=[(0, 1)], level=0.8)
    assert own.lower[0] == pytest.approx(np.quantile(lows, 0.1), abs=1e-10)
    assert found.level == 0.8


def test_weights_count_as_repeated_rows():
    X = network(3).sample(120, rng=3)
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    repeated = np.repeat(X, weight, axis=0)
    weighted = DirectedGraph().fit(X, sample_weight=weight)
    options = {"random_state": 0, "n_resamples": 2}
    one = causal_effects(weighted, X, sample_weight=weight, **options)
    two = causal_effects(DirectedGraph().fit(repeated), repeated, **options)
    np.testing.assert_allclose(one.low, two.low, atol=1e-10)
    np.testing.assert_allclose(one.high, two.high, atol=1e-10)


def test_clusters_are_drawn_whole():
    rng = np.random.default_rng(0)
    a, b, c = with_covariance(np.eye(3), 60).T
    X = np.repeat(np.column_stack([a, b, a + b + c]), 5, axis=0)
    X += 1e-3 * rng.normal(size=X.shape)
    model, member = DirectedGraph().fit(X), np.repeat(np.arange(60), 5)
    options = {"random_state": 0, "n_resamples": 60, "pairs": [(0, 2), (1, 2)]}
    apart = causal_effects(model, X, **options)
    together = causal_effects(model, X, clusters=member, **options)
    assert np.mean(together.upper - together.lower) > 1.5 * np.mean(apart.upper - apart.lower)


def test_experiments_tell_directions_and_broken_rows_do_not_count():
    rng = np.random.default_rng(0)
    n = 1500
    label = np.array([""] * 500 + ["b"] * 500 + ["c"] * 500, dtype=object)
    a = rng.normal(size=n)
    b = np.where(label == "b", 0, 1.0 * a) + rng.normal(size=n)
    c = np.where(label == "c", 0, 2.0 * b) + rng.normal(size=n)
    table = pd.DataFrame({"a": a, "b": b, "c": c})
    model = DirectedGraph().fit(table, interventions=label)
    found = causal_effects(model, table, interventions=label, random_state=0, n_resamples=40)
    listed = found.table().set_index(["source", "target"])
    assert listed["identified"].all()
    for pair, effect in {("a", "b"): 1, ("b", "c"): 2, ("a", "c"): 2}.items():
        assert listed.loc[pair, "lower"] < effect < listed.loc[pair, "upper"]
        assert listed.loc[pair, "low"] == pytest.approx(effect, abs=0.15)


def test_missing_values_are_those_of_the_model():
    X = network(1).sample(400, rng=1)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.02] = np.nan
    model = DirectedGraph(missing="em").fit(holes)
    found = causal_effects(model, holes, random_state=0, n_resamples=5, pairs=all_pairs(6))
    whole = causal_effects(model, X, random_state=0, n_resamples=2, pairs=all_pairs(6))
    np.testing.assert_allclose(found.high, whole.high, atol=0.15)


def levels(n, seed=0):
    """Smoke -> tar -> ill <- age, with levels; the truth of the middle arc is .6."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 3, n)
    smoke = rng.random(n) < 0.3
    tar = rng.random(n) < np.where(smoke, 0.9, 0.2)
    ill = rng.random(n) < 0.05 + 0.6 * tar + 0.15 * age
    words = np.array(["no", "yes"])
    return pd.DataFrame(
        {
            "age": np.array(["young", "middle", "old"])[age],
            "smoke": words[smoke.astype(int)],
            "tar": words[tar.astype(int)],
            "ill": words[ill.astype(int)],
        }
    )


def test_levels_are_standardised_over_the_parents():
    table = levels(3000)
    model = DirectedGraph(required=[("smoke", "tar")]).fit(table)
    pairs = [("tar", "ill"), ("smoke", "ill"), ("age", "ill")]
    found = causal_effects(model, table, pairs=pairs, random_state=0, n_resamples=40).table()
    first = found.iloc[0]
    assert (first["change"], first["outcome"]) == ("no to yes", "yes")
    assert first["lower"] < 0.6 < first["upper"]
    assert first["high"] == pytest.approx(0.6, abs=0.05)
    assert found.iloc[1]["high"] == pytest.approx(0.42, abs=0.06)
    # The conditional probabilities of the model, cut and multiplied, say the same.
    done = [model.do({"tar": level})["ill"]["yes"] for level in ("no", "yes")]
    assert first["low"] == pytest.approx(done[1] - done[0], abs=0.02)
    # A change to each level but the first.
    of_age = found[found["source"] == "age"]
    assert len(of_age) == 2
    assert of_age["change"].tolist() == ["middle to old", "middle to young"]
    np.testing.assert_allclose(of_age["high"], [0.15, -0.15], atol=0.05)


def test_mixed_tables_are_standardised_by_regressions():
    rng = np.random.default_rng(0)
    n = 4000
    drug = rng.random(n) < 0.5
    dose = 2.0 * drug + rng.normal(size=n)
    age = rng.normal(size=n)
    pressure = 3.0 * dose - age + rng.normal(size=n)
    chance = 1 / (1 + np.exp(-(pressure - 3)))
    ill = rng.random(n) < chance
    table = pd.DataFrame({"drug": drug, "dose": dose, "age": age, "pressure": pressure, "ill": ill})
    model = DirectedGraph(tiers={"drug": 0, "age": 0, "dose": 1, "pressure": 2, "ill": 3}).fit(
        table
    )
    pairs = [("drug", "pressure"), ("dose", "pressure"), ("pressure", "ill")]
    found = causal_effects(model, table, pairs=pairs, random_state=0, n_resamples=30).table()
    slope = (
        np.mean(
            1 / (1 + np.exp(-(pressure + 0.5 * pressure.std() - 3)))
            - 1 / (1 + np.exp(-(pressure - 0.5 * pressure.std() - 3)))
        )
        / pressure.std()
    )
    for row, truth in zip(found.itertuples(), (6.0, 3.0, slope), strict=True):
        assert row.lower <= truth <= row.upper
        assert row.low == pytest.approx(truth, rel=0.1)
    assert found["outcome"].tolist() == ["mean", "mean", "True"]


def test_tests_of_blankets_have_effects_too():
    X = network(1).sample(300, rng=1)
    found = causal_effects(BlanketBayesNet().fit(X), X, random_state=0, n_resamples=5)
    assert len(found.low)


def test_a_graph_without_edges_has_no_effects():
    X = np.random.default_rng(0).normal(size=(200, 3))
    found = causal_effects(DirectedGraph().fit(X), X, random_state=0)
    assert found.table().empty


def test_what_cannot_be_asked_is_refused():
    X = network(1).sample(100, rng=1)
    model = DirectedGraph().fit(X)
    for pairs in (["x0"], [(0, 0)], [((0, 1), 1)], [((0, 1, 2), 3)]):
        with raises(InputError, code="not_a_pair", parameter="pairs"):
            causal_effects(model, X, pairs=pairs)
    with raises(InputError, code="level_between", parameter="level"):
        causal_effects(model, X, level=1.0)
    with raises(InputError, code="no_equivalence_class", learner="GaussianGraph"):
        causal_effects(GaussianGraph(alpha=0.2).fit(X), X)
    table = levels(300)
    with raises(InputError, code="joint_needs_numbers"):
        fit = DirectedGraph().fit(table)
        causal_effects(fit, table, pairs=[(("smoke", "tar"), "ill")])
