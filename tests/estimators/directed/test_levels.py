"""Directed networks of columns with levels, of levels and numbers, and of experiments."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from sklearn.model_selection import cross_val_score

from edgewise import BIC, BDeu, DataWarning, DirectedGraph, InputError
from edgewise.data import make_linear_sem
from edgewise.graph.equivalence import extend_pattern
from edgewise.metrics import cpdag
from edgewise.solvers.directed.scores import dag_cost
from edgewise.solvers.directed.tables import LevelTable, table_problem
from tests.messages import raises

#: a -> c <- b, c -> d, e -> d.
ARCS = {("a", "c"), ("b", "c"), ("c", "d"), ("e", "d")}


def survey(n_rows=1500, seed=0):
    """Levels as text, numbers and booleans."""
    rng = np.random.default_rng(seed)
    a, b, e = rng.integers(0, 2, (3, n_rows))
    c = (a + b + (rng.uniform(size=n_rows) < 0.2)) % 3
    d = np.where(rng.uniform(size=n_rows) < 0.15, rng.integers(0, 2, n_rows), (c == 2) | (e == 1))
    return pd.DataFrame(
        {
            "d": d.astype(bool),
            "a": np.array(["no", "yes"])[a],
            "c": np.array(["low", "some", "much"])[c],
            "b": pd.Categorical(np.array(["x", "y"])[b]),
            "e": np.array(["off", "on"])[e],
        }
    )


def patients(n_rows=1500, seed=0):
    """Levels and numbers: smoking -> dose <- age, dose -> ill <- genes."""
    rng = np.random.default_rng(seed)
    smokes, genes = rng.integers(0, 2, (2, n_rows))
    age = rng.normal(50, 10, n_rows)
    dose = 2.0 * smokes + 0.1 * age + rng.normal(size=n_rows)
    ill = rng.uniform(size=n_rows) < 1 / (1 + np.exp(-2 * (dose - 6) - 3 * (genes - 0.5)))
    return pd.DataFrame(
        {
            "ill": np.array(["no", "yes"])[ill.astype(int)],
            "dose": dose,
            "genes": np.array(["A", "B"])[genes],
            "age": age,
            "smokes": smokes.astype(bool),
        }
    )


def arcs(graph):
    return set(zip(graph.edges()["source"], graph.edges()["target"], strict=True))


def joined(graph):
    return {frozenset(arc) for arc in arcs(graph)}


@pytest.mark.parametrize("method", ["boss", "ges", "exact", "pc"])
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_every_method_finds_the_network_of_levels(method, score):
    model = DirectedGraph(method, criterion=score).fit(survey())
    assert arcs(model.cpdag_) == ARCS
    assert set(model.kinds_.values()) == {"binary", "nominal"}
    assert model.levels_[1] == ("no", "yes")
    weights = model.graph_.edges()["weight"]
    assert ((weights > 0) & (weights < 1)).all()
    with raises(InputError, code="no_linear_equations"):
        model.predict_node(0, survey())


def test_scores_of_levels_against_plain_formulas():
    data = survey(80, seed=1)
    codes = {name: pd.factorize(data[name], sort=True)[0] for name in data}
    n_levels = {name: codes[name].max() + 1 for name in data}
    for score, ess in (("bic", 1.0), ("bdeu", 1.0), ("bdeu", 5.0)):
        model = DirectedGraph("ges", criterion=score if score == "bic" else BDeu(ess)).fit(data)
        total = 0.0
        for child in data:
            parents = [source for source, target in arcs(model.graph_) if target == child]
            r, q = n_levels[child], np.prod([n_levels[name] for name in parents], initial=1)
            groups = data.assign(n=1).groupby(parents or (lambda _: 0), observed=True)
            for _, rows in groups:
                counts = rows[child].value_counts().to_numpy()
                counts = counts[counts > 0]
                if score == "bic":
                    total += (counts * np.log(counts / counts.sum())).sum()
                else:
                    a = ess / (r * q)
                    total += gammaln(r * a) - gammaln(r * a + counts.sum())
                    total += (gammaln(counts + a) - gammaln(a)).sum()
            if score == "bic":
                total -= 0.5 * np.log(80) * q * (r - 1)
        assert model.criterion_value_ == pytest.approx(total)


def test_setting_a_level_against_all_configurations():
    data = survey(200, seed=3)
    model = DirectedGraph(required=[("e", "a")]).fit(data)
    names, dag = list(model.graph_.names), model.graph_.adjacency
    sizes = [len(levels) for levels in model.levels_]
    expected = [np.zeros(size) for size in sizes]
    column = names.index("c")
    for state in itertools.product(*map(range, sizes)):
        chance = float(model.levels_[column][state[column]] == "much")
        for k, own in enumerate(model.probabilities_):
            if k != column:
                parents = np.flatnonzero(dag[:, k])
                chance *= own[(*[state[p] for p in parents], state[k])]
        for k, level in enumerate(state):
            expected[k][level] += chance
    found = model.do({"c": "much"})
    for name, chances in zip(names, expected, strict=True):
        np.testing.assert_allclose(list(found[name].values()), chances)
    # Causes of what is set stay as they are; effects change.
    before = model.do({})
    assert found["a"] == pytest.approx(before["a"])
    assert found["d"][True] > before["d"][True] + 0.1
    assert sum(before["d"].values()) == pytest.approx(1.0)
    with raises(InputError, code="no_such_level", name="c", value="most"):
        model.do({"c": "most"})
    with raises(InputError, code="no_linear_equations"):
        DirectedGraph().fit(patients(200)).do({"age": 50.0})


def coded(data):
    columns = [
        data[name].to_numpy(dtype=float)
        if data[name].dtype.kind == "f"
        else pd.factorize(data[name], sort=True)[0]
        for name in data
    ]
    n_levels = [0 if data[name].dtype.kind == "f" else len(pd.unique(data[name])) for name in data]
    return LevelTable.from_rows(np.column_stack(columns).astype(float), np.array(n_levels))


@pytest.mark.parametrize("make", [survey, patients])
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_equivalent_graphs_score_the_same(make, score):
    table = coded(make(150))
    problem = table_problem(table, score, None, 1.0, None, None)
    rng = np.random.default_rng(0)
    for _ in range(5):
        dag = np.triu(rng.uniform(size=(5, 5)) < 0.6, 1)
        cost = dag_cost(problem.score, dag)
        for order in itertools.islice(itertools.permutations(range(5)), 0, 120, 17):
            moved = np.ix_(order, order)
            other = np.empty_like(dag)
            other[moved] = extend_pattern(cpdag(dag)[moved]).dag
            assert dag_cost(problem.score, other) == pytest.approx(cost, rel=1e-9)


@pytest.mark.parametrize("score", ["bic", "bge"])
def test_levels_beside_numbers(score):
    fits = {
        method: DirectedGraph(method, criterion=score).fit(patients())
        for method in ("boss", "ges", "exact")
    }
    best = fits["exact"].criterion_value_
    for fit in fits.values():
        assert fit.criterion_value_ <= best + 1e-6
        assert joined(fit.cpdag_) == {
            frozenset(pair)
            for pair in (("smokes", "dose"), ("age", "dose"), ("dose", "ill"), ("genes", "ill"))
        }
    assert fits["boss"].criterion_value_ == pytest.approx(best)
    assert {("smokes", "dose"), ("age", "dose")} <= arcs(fits["boss"].cpdag_)
    assert fits["boss"].kinds_["dose"] == "continuous"


@pytest.mark.parametrize(("make", "method"), [(survey, "boss"), (survey, "pc"), (patients, "ges")])
def test_columns_rows_and_weights(make, method):
    data = make(400)
    one = DirectedGraph(method).fit(data)
    order = [3, 0, 4, 2, 1]
    other = DirectedGraph(method).fit(data.iloc[::-1, order])
    np.testing.assert_array_equal(
        other.cpdag_.adjacency, one.cpdag_.adjacency[np.ix_(order, order)]
    )
    assert other.criterion_value_ == pytest.approx(one.criterion_value_)
    twice = DirectedGraph(method).fit(pd.concat([data, data], ignore_index=True))
    weighted = DirectedGraph(method).fit(data, sample_weight=np.full(400, 2.0))
    np.testing.assert_array_equal(weighted.cpdag_.adjacency, twice.cpdag_.adjacency)
    assert weighted.criterion_value_ == pytest.approx(twice.criterion_value_)


def test_a_network_of_tests_is_scored_however_many_cells_it_has():
    rng = np.random.default_rng(2)
    parents = rng.integers(0, 2, (400, 9))
    data = pd.DataFrame(parents, columns=list("abcdefghi")).assign(y=parents.sum(axis=1) > 4)
    model = DirectedGraph("pc", significance=0.05).fit(data.astype(str))
    assert model.graph_.adjacency.sum(axis=0).tolist() == [0] * 9 + [9]

    def log_likelihood(counts):
        return (counts * np.log(counts / counts.sum())).sum()

    expected = sum(log_likelihood(data[name].value_counts()) for name in "abcdefghi")
    for _, rows in data.groupby(list("abcdefghi")):
        expected += log_likelihood(rows["y"].value_counts())
    assert model.criterion_value_ == pytest.approx(expected - 0.5 * np.log(400) * (9 + 2**9))


@pytest.mark.parametrize("method", ["boss", "ges", "exact", "pc"])
def test_knowledge_of_levels(method):
    model = DirectedGraph(
        method, tiers={"d": 0, "c": 1}, forbidden=[("a", "b")], required=[("b", "a")]
    ).fit(survey())
    assert ("d", "c") in arcs(model.graph_)
    assert ("b", "a") in arcs(model.cpdag_)


def test_kinds_and_options():
    data = pd.DataFrame(np.random.default_rng(0).integers(1, 4, (200, 3)), columns=list("abc"))
    data["c"] = np.maximum(data["a"], data["b"])
    assert set(DirectedGraph().fit(data).kinds_.values()) == {"continuous"}
    for kinds in ("guess", dict.fromkeys("abc", "nominal"), ["ordinal"] * 3):
        assert DirectedGraph(kinds=kinds).fit(data).graph_.n_edges == 2
    few, many = (
        DirectedGraph(kinds="guess", criterion=BIC(c)).fit(survey(60)).graph_.n_edges
        for c in (5.0, 0.1)
    )
    assert few < many
    gaps = survey(300).mask(np.random.default_rng(0).uniform(size=(300, 5)) < 0.02)
    kept = DirectedGraph(missing="drop").fit(gaps)
    assert "rows with missing values left out" in kept.treatment_[0]


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (survey(50), {"criterion": "bge"}, "bge_with_levels"),
        (survey(50), {"method": "blankets"}, "blankets_with_levels"),
        (survey(50), {"missing": "em"}, "missing_with_levels"),
        (survey(50), {"repair": "ridge"}, "repair_with_levels"),
        (survey(50), {"kinds": {"f": "nominal"}}, "kinds_unknown_column"),
        (survey(50).assign(f=np.ones(50)), {}, "constant_columns"),
        (survey(50).assign(f=survey(50)["a"]), {}, "equivalent_columns"),
        (survey(1), {}, "one_complete_row"),
        (survey(3).assign(d=["p", "q", "p"]), {}, "constant_columns"),
        (
            patients(50)[["age", "dose"]],
            {"criterion": "bdeu"},
            "option_needs_levels",
        ),
        (patients(50)[["age", "dose"]], {"missing": "drop"}, "option_needs_levels"),
    ],
)
def test_what_is_refused(data, options, words):
    with raises(InputError, code=words):
        DirectedGraph(**options).fit(data)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(np.array(["n", "y"])[rng.integers(0, 2, (12, 15))])
    data.columns = [f"q{k}" for k in range(15)]
    assert DirectedGraph().fit(data).converged_


def experiment(n_rows=400, seed=0):
    """Rows of a chain x0 -> x1 -> x2 in which nothing was set, and rows in which x1 was."""
    rng = np.random.default_rng(seed)
    target = np.where(np.arange(n_rows) < n_rows // 2, "", "x1")
    x0 = rng.normal(size=n_rows)
    x1 = np.where(target == "x1", 3.0 + rng.normal(size=n_rows), x0 + rng.normal(size=n_rows))
    x2 = x1 + rng.normal(size=n_rows)
    return pd.DataFrame({"x2": x2, "x0": x0, "x1": x1}), target


@pytest.mark.parametrize("method", ["boss", "ges", "exact"])
@pytest.mark.parametrize("score", ["bic", "bge"])
def test_experiments_tell_directions(method, score):
    data, target = experiment()
    model = DirectedGraph(method, criterion=score).fit(data, interventions=target)
    assert arcs(model.cpdag_) == {("x0", "x1"), ("x1", "x2")}
    np.testing.assert_allclose(model.coef_[1, 2], 1.0, atol=0.2)
    np.testing.assert_allclose(model.intercept_, 0.0, atol=0.3)
    # Without the labels the chain is a class of its own, if it is found at all.
    observed = DirectedGraph(method, criterion=score).fit(data[:200])
    assert len(arcs(observed.cpdag_)) == 4


@pytest.mark.parametrize("method", ["boss", "ges", "exact"])
def test_experiments_with_levels(method):
    rng = np.random.default_rng(0)
    x0, set_to = rng.integers(0, 2, (2, 600))
    target = np.where(np.arange(600) < 300, None, "x1")
    x1 = np.where(target == "x1", set_to, x0 ^ (rng.uniform(size=600) < 0.2))
    x2 = x1 ^ (rng.uniform(size=600) < 0.2)
    data = pd.DataFrame({"x2": x2, "x0": x0, "x1": x1}).astype(bool)
    model = DirectedGraph(method).fit(data, interventions=target)
    assert arcs(model.cpdag_) == {("x0", "x1"), ("x1", "x2")}
    observed = DirectedGraph(method).fit(data[:300])
    assert len(arcs(observed.cpdag_)) == 4


def test_scores_of_experiments_by_hand():
    data, target = experiment(100)
    numbers = [{"x2": 0, "x0": 1, "x1": 2}.get(label, -1) for label in target]
    model = DirectedGraph("ges", criterion=BIC(1.0)).fit(data, interventions=numbers)
    flags = np.zeros(data.shape, dtype=bool)
    flags[50:, 2] = True
    again = DirectedGraph("ges", criterion=BIC(1.0)).fit(data, interventions=flags)
    assert again.criterion_value_ == model.criterion_value_
    total = 0.0
    for j, name in enumerate(data):
        rows = data[~flags[:, j]]
        parents = [source for source, head in arcs(model.graph_) if head == name]
        design = np.column_stack([np.ones(len(rows)), rows[parents]])
        residual = rows[name] - design @ np.linalg.lstsq(design, rows[name], rcond=None)[0]
        total -= len(rows) / 2 * np.log(residual.var(ddof=0) / rows[name].var(ddof=0))
        total -= len(parents) / 2 * np.log(100)
    assert model.criterion_value_ == pytest.approx(total)


def test_experiments_are_not_worse_by_any_search():
    rng = np.random.default_rng(1)
    truth = make_linear_sem(np.triu(rng.uniform(size=(7, 7)) < 0.4, 1), permute=True, rng=1)
    X = truth.sample(300, rng=2)
    target = np.where(np.arange(300) % 3 == 0, np.arange(300) // 3 % 7, -1)
    X[target >= 0, target[target >= 0]] = rng.normal(size=100)
    fits = {
        method: DirectedGraph(method).fit(X, interventions=target)
        for method in ("boss", "ges", "exact")
    }
    best = fits["exact"].criterion_value_
    assert max(fits["boss"].criterion_value_, fits["ges"].criterion_value_) <= best + 1e-6
    assert fits["boss"].criterion_value_ == pytest.approx(best)


def test_experiments_are_checked():
    data, target = experiment(60)
    with raises(InputError, code="unknown_columns_listed", names=["x2", "x0", "x1"], n_names=2):
        DirectedGraph().fit(data, interventions=["z"] * 60)
    with raises(InputError, code="interventions_shape", parameter="interventions", n_rows=60, m=3):
        DirectedGraph().fit(data, interventions=target[:10])
    with raises(InputError, code="always_intervened", parameter="interventions", name="x1"):
        DirectedGraph().fit(data, interventions=["x1"] * 60)
    with pytest.raises(InputError, match='Pass method="boss"'):
        DirectedGraph("pc").fit(data, interventions=target)


def test_tests_that_contradict_each_other_do_not_go_by_the_order_of_the_columns():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        effects = np.triu(rng.normal(size=(5, 5)) * (rng.random((5, 5)) < 0.5), 1)
        rows = rng.normal(size=(60 if seed % 2 else 200, 5))
        for j in range(5):
            rows[:, j] += rows @ effects[:, j]
        names = [f"l{value}" for value in (-1, 0, 1)]
        table = pd.DataFrame(np.array(names)[np.digitize(rows, [-0.6, 0.6])], columns=[*"abcde"])
        other = table.iloc[:, rng.permutation(5)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            found = [DirectedGraph("pc", significance=0.05).fit(one) for one in (table, other)]
        for graph in ("cpdag_", "graph_"):
            first, second = (
                pd.DataFrame(one.adjacency, one.names, one.names)
                for one in (getattr(model, graph) for model in found)
            )
            pd.testing.assert_frame_equal(first, second.loc[first.index, first.columns])


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_few_columns_have_the_best_network_of_all(score):
    for seed in range(6):
        rng = np.random.default_rng([11, seed])
        table = pd.DataFrame(rng.integers(0, 3, (80, 4)), columns=[*"abcd"])
        table["d"] = (table.a + table.b + (rng.random(80) < 0.3)) % 3
        options = {"criterion": score, "kinds": dict.fromkeys("abcd", "nominal")}
        default, best = (DirectedGraph(one, **options).fit(table) for one in ("boss", "exact"))
        assert default.criterion_value_ == best.criterion_value_


def test_score_of_levels_is_the_mean_log_likelihood():
    data, other = survey(400), survey(60, seed=1)
    model = DirectedGraph().fit(data)
    chances = dict(zip(model.graph_.names, model.probabilities_, strict=True))
    total = 0.0
    for _, row in other.iterrows():
        for child, table in chances.items():
            k = model.graph_.names.index(child)
            parents = np.array(model.graph_.names)[model.graph_.adjacency[:, k]]
            place = [
                model.levels_[model.graph_.names.index(name)].index(row[name])
                for name in (*parents, child)
            ]
            total += np.log(table[tuple(place)])
    assert model.score(other) == pytest.approx(total / 60)
    weighted = model.score(other, sample_weight=np.r_[np.ones(30), np.zeros(30)])
    assert weighted == pytest.approx(model.score(other.iloc[:30]))
    assert np.isfinite(cross_val_score(DirectedGraph(), data, cv=3)).all()
    gaps = other.astype(object)
    gaps.iloc[:5] = None
    with raises(InputError, code="rows_incomplete", parameter="missing", n_complete=5):
        model.score(gaps)
    dropping = DirectedGraph(missing="drop").fit(data)
    assert dropping.score(gaps) == pytest.approx(dropping.score(other.iloc[5:]))
