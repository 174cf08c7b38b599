from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import edgewise
from edgewise import (
    BootstrapGraph,
    DataWarning,
    DiscreteMarkovNet,
    InputError,
    StabilitySelection,
)
from edgewise.data import make_markov_model
from edgewise.data.markov import MarkovModel
from edgewise.solvers import learn_structure, log_score
from edgewise.solvers.discrete.potentials import fit_potentials
from tests.messages import raises

LEVELS = {
    "sky": ("clear", "dull", "rain"),
    "wet": (False, True),
    "mood": ("bad", "good"),
    "day": (1, 2, 5),
}


def weather(n_rows=600, seed=0):
    """Codes of sky -> wet, sky -> mood, and a day that has nothing to do with them."""
    table = np.array([[1.5, 0.0], [0.0, 0.5], [0.0, 1.5]])
    model = MarkovModel.from_potentials(
        [(0, 1), (0, 2), (3,)], [table, table[::-1], [0.2, 0.0, 0.4]]
    )
    return model.sample(n_rows, rng=seed)


def frame_of(codes):
    columns = {
        name: np.array(levels, dtype=object)[codes[:, k]]
        for k, (name, levels) in enumerate(LEVELS.items())
    }
    return pd.DataFrame({name: column.tolist() for name, column in columns.items()})


def network(n=6, n_rows=300, seed=0, density=0.7, levels=2):
    rng = np.random.default_rng(seed)
    adjacency = np.triu(rng.random((n, n)) < density, 1)
    model = make_markov_model(adjacency | adjacency.T, cardinalities=levels, rng=rng)
    return model.sample(n_rows, method="gibbs", rng=rng)


def edges_of(graph):
    return set(zip(graph.edges()["source"], graph.edges()["target"], strict=True))


def log_potential(model, row, variable):
    """Sum of the tables that hold a variable, at one row of codes."""
    return sum(
        table[tuple(row[k] for k in clique)]
        for clique, table in zip(model.cliques_, model.potentials_, strict=True)
        if variable in clique
    )


def conditional_by_hand(model, row, variable):
    """Distribution of one variable given all others, from the tables."""
    weights = []
    for level in range(len(model.levels_[variable])):
        changed = list(row)
        changed[variable] = level
        weights.append(np.exp(log_potential(model, changed, variable)))
    return np.array(weights) / np.sum(weights)


class TestFit:
    def test_finds_the_links_and_keeps_the_names(self):
        model = DiscreteMarkovNet().fit(frame_of(weather()))
        assert model.graph_.names == tuple(LEVELS)
        assert edges_of(model.graph_) == {("sky", "wet"), ("sky", "mood")}
        assert model.levels_ == list(LEVELS.values())
        assert model.n_features_in_ == 4
        assert model.feature_names_in_.tolist() == list(LEVELS)
        assert model.treatment_ == []
        assert model.converged_

    def test_attributes_are_those_of_the_solver(self):
        X = network()
        model = DiscreteMarkovNet(prior=0.7).fit(X)
        score = {"prior": 0.7, "ties": "mean"}
        found = learn_structure(X, "bjp", **score)
        np.testing.assert_array_equal(model.graph_.adjacency, found.value)
        np.testing.assert_array_equal(model.support_, found.support)
        np.testing.assert_array_equal(
            model.graph_.confidence, np.where(np.eye(len(found.value)), 0.0, expit(found.support))
        )
        np.testing.assert_array_equal(model.history_[:, 0], found.history)
        np.testing.assert_array_equal(model.history_[:, 1:], found.flips)
        assert model.history_.shape == (model.n_iter_, 3)
        assert model.criterion_value_ == found.objective
        assert model.criterion_value_ == log_score(X, found.value, "bjp", **score)
        assert (model.n_iter_, model.n_tests_) == (found.n_iter, found.n_tests)
        assert not hasattr(model, "feature_names_in_")
        assert model.graph_.names == tuple(f"x{k}" for k in range(6))

    def test_strong_links_rank_first(self):
        table = np.array([[1.0, 0.0], [0.0, 1.0]])
        model = MarkovModel.from_potentials([(0, 1), (1, 2)], [2 * table, 0.6 * table])
        weights = DiscreteMarkovNet().fit(model.sample(2000, rng=0)).graph_.weights
        assert weights[0, 1] > weights[1, 2] > 0

    @pytest.mark.parametrize(
        "option",
        [
            {"criterion": "ib"},
            {"criterion": "mpl"},
            {"pseudocount": 3.0},
            {"pseudocount": "bdeu"},
            {"pseudocount": "bdeu", "ess": 9.0},
            {"prior": 0.2},
            {"prior": 0.5, "ties": "index"},
            {"criterion": "mpl", "ess": 9.0},
            {"cardinalities": 3},
        ],
    )
    def test_options_of_the_score_reach_it(self, option):
        X = network(n_rows=150)
        model = DiscreteMarkovNet(**option).fit(X)
        expected = log_score(
            X, model.graph_.adjacency, **{"prior": 1 - 1 / X.shape[1], "ties": "mean", **option}
        )
        assert model.criterion_value_ == pytest.approx(expected, rel=1e-12)
        less = dict(option)
        less.popitem()
        assert model.criterion_value_ != DiscreteMarkovNet(**less).fit(X).criterion_value_

    @pytest.mark.parametrize(
        ("option", "base"),
        [
            ({"search": "exhaustive"}, {"criterion": "ib", "prior": 0.5, "patience": 1}),
            ({"patience": 1}, {"criterion": "ib", "prior": 0.5}),
            ({"max_degree": 1}, {}),
            ({"search": "or"}, {"criterion": "mpl"}),
            ({"search": "and"}, {"criterion": "mpl"}),
        ],
    )
    def test_options_of_the_search_reach_it(self, option, base):
        X = network(n_rows=150)
        model = DiscreteMarkovNet(**base, **option).fit(X)
        found = learn_structure(
            X, **{"prior": 1 - 1 / X.shape[1], "ties": "mean", **base, **option}
        )
        np.testing.assert_array_equal(model.graph_.adjacency, found.value)
        without = DiscreteMarkovNet(**base).fit(X)
        assert (model.graph_.adjacency != without.graph_.adjacency).any()

    @pytest.mark.parametrize("n_levels", [2, 3])
    def test_noise_has_no_edges(self, n_levels):
        tables = [
            np.random.default_rng([seed, n_levels]).integers(n_levels, size=(200, 12))
            for seed in range(60)
        ]
        n_found = sum(DiscreteMarkovNet().fit(X).graph_.n_edges > 0 for X in tables)
        assert n_found <= 4

    def test_without_a_pair_that_passes_the_test_the_graph_is_empty(self):
        X = np.random.default_rng(0).integers(2, size=(100, 8))
        assert DiscreteMarkovNet(prior=0.5).fit(X).graph_.n_edges > 0
        model = DiscreteMarkovNet().fit(X)
        assert model.graph_.n_edges == 0
        assert 0.05 < model.smallest_p_value_ <= 1
        empty = np.zeros((8, 8), dtype=bool)
        assert model.criterion_value_ == pytest.approx(
            log_score(X, empty, prior=1 - 1 / 8, ties="mean")
        )

    def test_a_prior_that_is_none_is_refused(self):
        with raises(InputError, code="prior_range", sparse="sparse", prior="flat"):
            DiscreteMarkovNet(prior="flat").fit(network())

    def test_the_order_of_columns_changes_nothing(self):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            X = network(n_rows=120, seed=seed)
            order = rng.permutation(X.shape[1])
            one, other = DiscreteMarkovNet().fit(X), DiscreteMarkovNet().fit(X[:, order])
            np.testing.assert_array_equal(
                one.graph_.adjacency[np.ix_(order, order)], other.graph_.adjacency
            )

    def test_verbose_counts_steps_on_standard_error(self, capsys, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        X = network()
        DiscreteMarkovNet().fit(X)
        assert capsys.readouterr() == ("", "")
        DiscreteMarkovNet(verbose=1).fit(X)
        said = capsys.readouterr()
        assert "step" in said.err
        assert said.out == ""

    def test_fitted_again_forgets_the_old_parameters(self):
        model = DiscreteMarkovNet(cardinalities=2).fit(network(seed=1))
        old = model.potentials_
        model.fit(network(seed=2))
        fresh = DiscreteMarkovNet(cardinalities=2).fit(network(seed=2))
        assert len(model.potentials_) == len(fresh.potentials_)
        np.testing.assert_array_equal(model.potentials_[0], fresh.potentials_[0])
        assert model.potentials_ is not old

    def test_bad_options_are_named(self):
        X = network()
        for option, message in [
            ({"criterion": "aic"}, "criterion"),
            ({"search": "random"}, "search"),
            ({"patience": 0}, "patience"),
            ({"missing": "fill"}, "missing"),
        ]:
            with pytest.raises(InputError, match=message):
                DiscreteMarkovNet(**option).fit(X.astype(int))


class TestInput:
    def test_every_kind_of_column_gives_the_same_graph(self):
        codes = weather()
        expected = DiscreteMarkovNet().fit(codes)
        frame = frame_of(codes)
        same = [
            codes.astype(int),
            codes.astype(float),
            codes.tolist(),
            frame,
            pl.from_pandas(frame),
            frame.astype({"sky": "category", "mood": "string", "day": "Int64", "wet": "boolean"}),
            frame.to_numpy(),
        ]
        for X in same:
            model = DiscreteMarkovNet().fit(X)
            np.testing.assert_array_equal(model.graph_.adjacency, expected.graph_.adjacency)
            assert model.criterion_value_ == pytest.approx(expected.criterion_value_, rel=1e-12)

    def test_declared_levels_count_though_they_never_occur(self):
        codes = weather()
        frame = frame_of(codes)
        declared = pd.CategoricalDtype([*LEVELS["sky"], "hail"])
        model = DiscreteMarkovNet().fit(frame.astype({"sky": declared}))
        same = DiscreteMarkovNet(cardinalities=[4, 2, 2, 3]).fit(codes)
        assert model.criterion_value_ == pytest.approx(same.criterion_value_, rel=1e-12)
        assert model.criterion_value_ != DiscreteMarkovNet().fit(frame).criterion_value_
        assert model.levels_[0][-1] == "hail"
        assert model.conditional("sky", {"wet": True, "mood": "bad"})["hail"] < 0.01

    def test_measurements_are_refused_with_the_remedy(self):
        X = np.random.default_rng(0).normal(size=(50, 3))
        with raises(InputError, code="levels_continuous", continuous=["x0", "x1", "x2"]):
            DiscreteMarkovNet().fit(X)

    def test_missing_values(self):
        frame = frame_of(weather())
        frame.loc[3, "sky"] = None
        with raises(InputError, code="levels_missing_values", n_gone=1, n_gappy=1):
            DiscreteMarkovNet().fit(frame)
        model = DiscreteMarkovNet(missing="drop").fit(frame)
        assert model.treatment_ == ['missing="drop": 1 rows with missing values left out, 599 used']
        same = DiscreteMarkovNet().fit(frame.drop(index=3))
        assert model.criterion_value_ == same.criterion_value_
        assert model.score(frame) == pytest.approx(same.score(frame.drop(index=3)), rel=1e-12)

    def test_thousand_levels(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([network(3, n_rows=1500), rng.permutation(1500) % 1000])
        with pytest.warns(DataWarning, match=r"x3 \(1000 levels\)"):
            model = DiscreteMarkovNet().fit(X)
        assert np.isfinite(model.support_).all()
        assert len(model.levels_[3]) == 1000
        assert np.isfinite(model.score(X))

    def test_constant_column_stays_alone(self):
        X = np.insert(network(), 2, 7, axis=1)
        model = DiscreteMarkovNet().fit(X)
        assert model.levels_[2] == (7,)
        assert not model.graph_.adjacency[2].any()
        assert (model.sample(5)[:, 2] == 7).all()

    @pytest.mark.parametrize("criterion", ["bjp", "ib", "mpl"])
    def test_one_row_gives_the_empty_graph(self, criterion):
        model = DiscreteMarkovNet(criterion=criterion).fit(np.array([["a", "b", "c"]]))
        assert model.graph_.n_edges == 0

    def test_two_identical_columns_are_joined(self):
        X = weather()[:, [0, 0, 1]]
        model = DiscreteMarkovNet().fit(X)
        assert model.graph_.adjacency[0, 1]
        assert np.isfinite(model.support_).all()
        assert np.isfinite(model.score(X))

    def test_mapped_file(self, tmp_path):
        X = network()
        np.save(tmp_path / "x.npy", X)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        one, two = DiscreteMarkovNet().fit(X), DiscreteMarkovNet().fit(mapped)
        np.testing.assert_array_equal(one.support_, two.support_)
        assert one.score(X) == two.score(mapped)


class TestScore:
    @pytest.mark.parametrize("criterion", ["bjp", "mpl"])
    def test_is_the_mean_log_pseudo_likelihood(self, criterion):
        train, test = weather(), weather(80, seed=1)
        model = DiscreteMarkovNet(criterion=criterion).fit(frame_of(train))
        expected = np.mean(
            [
                sum(np.log(conditional_by_hand(model, row, k)[row[k]]) for k in range(4))
                for row in test.tolist()
            ]
        )
        assert model.score(frame_of(test)) == pytest.approx(expected, rel=1e-10)

    def test_potentials_are_those_of_the_solver(self):
        X = network()
        model = DiscreteMarkovNet().fit(X)
        fitted = fit_potentials(X, model.cliques_, 2)
        for ours, theirs in zip(model.potentials_, fitted.potentials, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_says_when_potentials_are_not_the_best(self, monkeypatch):
        hasty = partial(fit_potentials, max_iter=1)
        monkeypatch.setattr("edgewise.estimators.discrete.markov_net.fit_potentials", hasty)
        with pytest.warns(ConvergenceWarning, match="Merge rare levels"):
            DiscreteMarkovNet().fit(network()).score(network())

    def test_learned_structure_beats_the_empty_one_on_new_rows(self):
        train, test = weather(), weather(500, seed=1)
        learned = DiscreteMarkovNet().fit(train)
        empty = DiscreteMarkovNet(max_degree=0).fit(train)
        assert learned.score(test) > empty.score(test) + 0.1

    def test_unknown_level_is_named(self):
        model = DiscreteMarkovNet().fit(frame_of(weather()))
        other = frame_of(weather(5))
        other.loc[2, "mood"] = "odd"
        with raises(InputError, code="unknown_level", name="mood", unknown=["odd"]):
            model.score(other)

    def test_columns_must_be_the_same(self):
        model = DiscreteMarkovNet().fit(frame_of(weather()))
        with raises(ValueError, code="columns_of_fit"):
            model.score(frame_of(weather())[["wet", "sky", "mood", "day"]])
        with raises(ValueError, code="columns_of_fit"):
            DiscreteMarkovNet().fit(weather()).score(weather()[:, :3])

    def test_chosen_by_cross_validation(self):
        X = network(n_rows=400)
        search = GridSearchCV(DiscreteMarkovNet(cardinalities=2), {"max_degree": [0, 5]}, cv=3).fit(
            X
        )
        assert search.best_params_ == {"max_degree": 5}
        search = GridSearchCV(
            DiscreteMarkovNet(cardinalities=2), {"criterion": ["bjp", "ib", "mpl"]}, cv=3
        ).fit(X)
        scores = search.cv_results_["mean_test_score"]
        assert np.isfinite(scores).all()
        expected = cross_val_score(DiscreteMarkovNet("mpl", cardinalities=2), X, cv=3).mean()
        assert scores[2] == pytest.approx(expected)

    def test_before_the_fit(self):
        model = DiscreteMarkovNet()
        for method in (model.score, model.sample):
            with pytest.raises(NotFittedError):
                method(1)
        with pytest.raises(NotFittedError):
            model.conditional("a", {})
        assert not hasattr(model, "potentials_")


class TestConditional:
    def test_equals_the_tables(self):
        codes = weather()
        model = DiscreteMarkovNet().fit(frame_of(codes))
        for wet, mood in product((0, 1), repeat=2):
            given = {"wet": bool(wet), "mood": LEVELS["mood"][mood]}
            found = model.conditional("sky", given)
            expected = conditional_by_hand(model, [0, wet, mood, 0], 0)
            assert list(found) == list(LEVELS["sky"])
            np.testing.assert_allclose(list(found.values()), expected, rtol=1e-12)

    def test_agrees_with_frequencies(self):
        codes = weather(50_000)
        model = DiscreteMarkovNet().fit(frame_of(codes))
        for sky in range(3):
            frequency = codes[codes[:, 0] == sky, 1].mean()
            found = model.conditional("wet", {"sky": LEVELS["sky"][sky]})
            assert found[True] == pytest.approx(frequency, abs=0.005)

    def test_by_name_and_by_number(self):
        model = DiscreteMarkovNet().fit(frame_of(weather()))
        by_name = model.conditional("wet", {"sky": "rain"})
        assert model.conditional(1, {0: "rain"}) == by_name
        assert model.conditional(np.int64(1), {"sky": "rain", "day": 5, "mood": "bad"}) == by_name
        arrays = DiscreteMarkovNet().fit(weather())
        assert arrays.conditional("x1", {"x0": 2}) == arrays.conditional(1, {0: 2})

    def test_needs_all_neighbours(self):
        model = DiscreteMarkovNet().fit(frame_of(weather()))
        with raises(InputError, code="evidence_incomplete", name="sky", unknown=["mood"]):
            model.conditional("sky", {"wet": True})
        assert sum(model.conditional("day", {}).values()) == pytest.approx(1.0)

    @pytest.mark.parametrize(
        ("variable", "given", "message"),
        [
            (
                "wet",
                {"sky": "hail"},
                "unknown_level_of_node",
            ),
            ("wind", {}, "unknown_columns_listed"),
            (4, {}, "unknown_columns_listed"),
            (-1, {}, "unknown_columns_listed"),
            ("wet", {"skies": "rain"}, "unknown_columns_listed"),
        ],
    )
    def test_mistakes_are_named(self, variable, given, message):
        model = DiscreteMarkovNet().fit(frame_of(weather()))
        with raises(InputError, code=message):
            model.conditional(variable, given)


class TestSample:
    def test_looks_like_the_data(self):
        train = frame_of(weather(5000))
        model = DiscreteMarkovNet(random_state=0).fit(train)
        drawn = model.sample(20_000)
        assert list(drawn.columns) == list(LEVELS)
        for name, levels in LEVELS.items():
            assert set(drawn[name]) == set(levels)
        for names in (["sky", "wet"], ["sky", "mood"], ["day"]):
            ours = drawn.value_counts(names, normalize=True)
            theirs = train.value_counts(names, normalize=True)
            assert (ours - theirs).abs().max() < 0.02

    def test_random_state(self):
        train = frame_of(weather())
        model = DiscreteMarkovNet(random_state=0).fit(train)
        pd.testing.assert_frame_equal(model.sample(20), model.sample(20))
        assert not model.sample(20).equals(model.set_params(random_state=1).sample(20))

    def test_of_arrays(self):
        numbers = DiscreteMarkovNet(random_state=0).fit(weather() + 3).sample(7)
        assert numbers.shape == (7, 4)
        assert numbers.dtype.kind == "i"
        assert numbers.min() >= 3
        text = DiscreteMarkovNet(random_state=0).fit(weather().astype(str)).sample(7)
        assert text.dtype.kind == "U"
        mixed = DiscreteMarkovNet(random_state=0).fit(frame_of(weather()).to_numpy()).sample(50)
        assert mixed.dtype == object
        assert set(mixed[:, 3]) == {1, 2, 5}
        assert set(mixed[:, 2]) == {"bad", "good"}
        assert set(mixed[:, 1]) == {True, False}

    def test_options_of_the_chain(self):
        X = network(24, n_rows=200, density=0.1)
        model = DiscreteMarkovNet(random_state=0).fit(X)
        rows = model.sample(10)
        assert (rows != model.sample(10, burn_in=7)).any()
        np.testing.assert_array_equal(model.sample(3, thin=3), model.sample(9)[2::3])


class TestFiles:
    @pytest.mark.parametrize("as_frame", [True, False])
    def test_saved_and_loaded(self, tmp_path, as_frame):
        X = frame_of(weather()) if as_frame else weather()
        model = DiscreteMarkovNet(random_state=0, max_degree=3).fit(X)
        model.save(tmp_path / "net.edgewise")
        again = edgewise.load(tmp_path / "net.edgewise")
        assert again.get_params() == model.get_params()
        assert again.levels_ == model.levels_
        assert again.score(X) == model.score(X)
        first = next(iter(LEVELS)) if as_frame else "x0"
        second = list(LEVELS)[1] if as_frame else "x1"
        given = {first: model.levels_[0][2]}
        assert again.conditional(second, given) == model.conditional(second, given)
        np.testing.assert_array_equal(again.sample(9), model.sample(9))
        np.testing.assert_array_equal(again.history_, model.history_)
        np.testing.assert_array_equal(again.graph_.weights, model.graph_.weights)
        assert again.graph_.names == model.graph_.names

    def test_unfitted(self, tmp_path):
        DiscreteMarkovNet("mpl", ess=0.5).save(tmp_path / "net.edgewise")
        assert edgewise.load(tmp_path / "net.edgewise").ess == 0.5

    def test_saved_inside_another_estimator(self, tmp_path):
        X = weather(200)
        wrapped = BootstrapGraph(DiscreteMarkovNet(), n_resamples=2, random_state=0).fit(X)
        wrapped.save(tmp_path / "net.edgewise")
        again = edgewise.load(tmp_path / "net.edgewise").estimator_
        np.testing.assert_array_equal(again.support_, wrapped.estimator_.support_)
        with raises(InputError, code="network_saved_within"):
            again.score(X)


class TestWithOthers:
    def test_bootstrap(self):
        frame = frame_of(weather(300))
        model = BootstrapGraph(DiscreteMarkovNet(), n_resamples=10, random_state=0).fit(frame)
        assert model.edge_frequency_[0, 1] == 1.0
        assert model.edge_frequency_[1, 3] < 0.7
        assert model.failures_ == []

    def test_stability_selection(self):
        model = StabilitySelection(DiscreteMarkovNet("mpl"), n_resamples=10, random_state=0)
        model.fit(frame_of(weather()))
        assert edges_of(model.graph_) == {("sky", "wet"), ("sky", "mood")}

    def test_clone(self):
        model = DiscreteMarkovNet("ib", cardinalities=[2, 3], ess=2.0)
        assert clone(model).get_params() == model.get_params()


@parametrize_with_checks(
    [
        DiscreteMarkovNet(),
        DiscreteMarkovNet("ib", missing="drop"),
        DiscreteMarkovNet("mpl", "or"),
    ]
)
@pytest.mark.filterwarnings("ignore::edgewise.DataWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
