"""Networks of rows in order: what they find, what they leave alone, and what they refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import DataWarning, InputError, TemporalGraph
from edgewise.estimators.gaussian.temporal import growth


def autoregression(rng, n, coef, *, noise=None, start=200):
    """Draw rows of a first-order autoregression; ``coef[i, j]`` leads from i to j."""
    p = len(coef)
    e = rng.normal(size=(n + start, p)) if noise is None else noise(n + start)
    rows = np.zeros_like(e)
    for t in range(1, len(e)):
        rows[t] = rows[t - 1] @ coef + e[t]
    return rows[start:]


def linked(p=5):
    coef = np.diag(np.full(p, 0.4))
    coef[0, 1], coef[2, 3] = 0.35, -0.3
    return coef


def test_it_finds_lagged_and_contemporaneous_effects():
    rng = np.random.default_rng(0)
    mixed = np.eye(5)
    mixed[3, 4] = 0.6
    rows = autoregression(rng, 800, linked(), noise=lambda n: rng.normal(size=(n, 5)) @ mixed)
    model = TemporalGraph().fit(rows)
    assert sorted(zip(*np.nonzero(model.temporal_.adjacency), strict=True)) == [(0, 1), (2, 3)]
    assert sorted(zip(*np.nonzero(np.triu(model.contemporaneous_.adjacency)), strict=True)) == [
        (3, 4)
    ]
    assert model.temporal_.directed
    assert not model.contemporaneous_.directed
    np.testing.assert_allclose(model.autoregression_, 0.4, atol=0.1)
    np.testing.assert_allclose(model.coef_[0], linked(), atol=0.1)
    assert model.between_ is None
    assert np.isnan(model.alpha_)
    assert (model.interval_[0, 0, 0, 1] < model.partial_correlation_[0, 0, 1]).all()


@pytest.mark.filterwarnings("ignore::edgewise.DataWarning")
@pytest.mark.parametrize("decay", [0.5, 0.95])
def test_tests_keep_their_level_where_columns_remember(decay):
    rng = np.random.default_rng(1)
    off, found, claims = ~np.eye(6, dtype=bool), [], 0
    for _ in range(40):
        model = TemporalGraph().fit(autoregression(rng, 150, decay * np.eye(6)))
        found.append(np.mean(model.pvalues_[0][off] <= 0.05))
        claims += model.temporal_.n_edges > 0
    # 1,200 p-values: three standard errors are 1.9 %; 40 tables: 10 %.
    assert np.mean(found) <= 0.07
    assert claims <= 6


@pytest.mark.filterwarnings("ignore::edgewise.DataWarning")
def test_long_memory_is_said():
    rng = np.random.default_rng(2)
    model = TemporalGraph().fit(autoregression(rng, 150, 0.95 * np.eye(3)))
    assert any("one lag more" in note for note in model.treatment_)


def test_several_lags_are_apart():
    rng = np.random.default_rng(3)
    e = rng.normal(size=(900, 3))
    rows = e.copy()
    for t in range(2, len(rows)):
        rows[t] += 0.3 * rows[t - 1] + np.array([0, 0.5 * rows[t - 2, 0], 0])
    model = TemporalGraph(2).fit(rows)
    assert model.coef_.shape == (2, 3, 3)
    assert model.coef_[1, 0, 1] == pytest.approx(0.5, abs=0.1)
    table = model.table()
    arcs = table[(table["network"] == "temporal") & (table["qvalue"] <= 0.05)]
    assert arcs[["source", "target", "lag"]].to_numpy().tolist() == [["x0", "x1", 2]]
    assert model.temporal_.n_edges == 1


def test_units_are_centred_and_their_means_have_a_network():
    rng = np.random.default_rng(15)
    means = rng.normal(size=(40, 3)) * 5
    means[:, 1] += means[:, 0]
    rows = np.vstack([autoregression(rng, 30, 0.3 * np.eye(3)) + own for own in means])
    person = np.repeat(np.arange(40), 30)
    model = TemporalGraph().fit(pd.DataFrame(rows, columns=list("abc")), series=person)
    assert model.n_pairs_ == 40 * 29
    assert (model.temporal_.n_edges, model.contemporaneous_.n_edges) == (0, 0)
    assert model.between_.edges()[["source", "target"]].to_numpy().tolist() == [["a", "b"]]


def test_few_units_have_no_network_and_short_series_are_said():
    rng = np.random.default_rng(5)
    rows = np.vstack([autoregression(rng, 8, 0.3 * np.eye(2)) for _ in range(12)])
    with pytest.warns(DataWarning) as caught:
        model = TemporalGraph().fit(rows, series=np.repeat(np.arange(12), 8))
    assert [one.message.code for one in caught] == ["few_occasions"]
    assert model.between_ is None
    assert any("12 means of units" in note for note in model.treatment_)


def test_many_columns_take_the_joint_problem():
    rng = np.random.default_rng(6)
    coef = np.diag(np.full(30, 0.5))
    coef[0, 1] = coef[2, 3] = 0.5
    model = TemporalGraph().fit(autoregression(rng, 120, coef))
    assert model.alpha_ > 0
    assert model.gap_ <= 1e-6 * 60
    assert model.temporal_.adjacency[[0, 2], [1, 3]].all()
    assert model.temporal_.n_edges <= 6
    assert model.pvalues_[0, 0, 1] < 1e-3


def test_more_lagged_columns_than_rows_take_a_ridge():
    rows = autoregression(np.random.default_rng(7), 40, 0.5 * np.eye(30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TemporalGraph(2).fit(rows)
    assert model.converged_
    assert any("was added" in note for note in model.treatment_)


def test_numbers_give_the_solution_of_the_solver():
    rows = autoregression(np.random.default_rng(8), 200, linked())
    model = TemporalGraph(alpha=0.1, tol=1e-9).fit(rows)
    past, now = (part - part.mean(axis=0) for part in (rows[:-1], rows[1:]))
    past, now = past / past.std(axis=0), now / now.std(axis=0)
    n = len(now)
    peer = edgewise.solvers.lagged_graphical_lasso(
        now.T @ now / n, past.T @ now / n, past.T @ past / n, 0.1, 0.2, tol=1e-9
    )
    scale = rows[1:].std(axis=0) / rows[:-1].std(axis=0)[:, None]
    np.testing.assert_allclose(model.coef_[0], peer.coef * scale, atol=1e-6)
    assert model.objective_ == pytest.approx(peer.objective, abs=1e-6)


def test_missing_rows_are_gaps():
    rows = autoregression(np.random.default_rng(9), 300, linked())
    rows[50, 2] = np.nan
    model = TemporalGraph(missing="drop").fit(rows)
    assert model.n_pairs_ == 297
    assert any("2 more rows lack values" in note for note in model.treatment_)


def test_units_of_columns_do_not_matter():
    rows = autoregression(np.random.default_rng(10), 300, linked())
    unit = np.array([1.0, 1e6, 1e-6, 3.0, 100.0])
    plain, other = TemporalGraph().fit(rows), TemporalGraph().fit(rows * unit + 7 * unit)
    np.testing.assert_allclose(other.coef_[0], plain.coef_[0] * unit / unit[:, None], rtol=1e-6)
    np.testing.assert_allclose(other.pvalues_, plain.pvalues_, atol=1e-9)
    assert (other.temporal_.adjacency == plain.temporal_.adjacency).all()


def test_what_grows_or_drifts_is_named():
    rng = np.random.default_rng(11)
    coef = np.diag([1.03, 0.3])
    rows = autoregression(rng, 120, coef, start=0)
    with pytest.warns(DataWarning, match="'up'") as caught:
        TemporalGraph().fit(pd.DataFrame(rows, columns=["up", "still"]))
    assert caught[0].message.code == "explosive_rows"
    walks = np.cumsum(rng.normal(size=(200, 2)), axis=0)
    with pytest.warns(DataWarning) as caught:
        TemporalGraph().fit(pd.DataFrame(walks, columns=["a", "b"]))
    assert caught[0].message.code == "drifting_columns"


@pytest.mark.parametrize(
    ("code", "change", "options"),
    [
        ("too_few_pairs", lambda rows: rows[:8], {}),
        ("too_few_pairs", lambda rows: rows, {"series": np.arange(100)}),
        ("constant_within", lambda rows: with_age(rows), {"series": np.arange(100) // 25}),
    ],
)
def test_what_cannot_be_learned_is_refused(code, change, options):
    rows = autoregression(np.random.default_rng(12), 100, 0.3 * np.eye(3))
    with pytest.raises(InputError) as caught:
        TemporalGraph().fit(change(rows), **options)
    assert caught.value.code == code


def with_age(rows):
    """Add a column that is the same in all rows of a unit."""
    return np.column_stack([rows, np.arange(100) // 25 * 10.1])


def test_a_fit_is_saved(tmp_path):
    model = TemporalGraph().fit(autoregression(np.random.default_rng(13), 200, linked()))
    model.save(tmp_path / "a.edgewise")
    again = edgewise.load(tmp_path / "a.edgewise")
    assert again.temporal_ == model.temporal_
    pd.testing.assert_frame_equal(again.table(), model.table())


def test_growth_is_the_spectral_radius():
    assert growth(np.array([[[0.5]], [[0.5]]]))[0] == pytest.approx(1.0)
