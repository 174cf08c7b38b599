"""The study of changes between two networks: settings, tasks, verdicts and figures."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from edgewise import CV, NetworkChange, SampledLikelihood
from edgewise.data import (
    load_senate,
    make_diamond_change,
    make_gaussian_change,
    make_lattice_change,
)
from edgewise.data.simulate.change import SimulatedChange
from studies import load_study
from studies.change import (
    STUDY,
    diamond,
    gaussian,
    genes,
    lattice,
    methods as _methods,
    senate,
    times,
    verdict,
)
from studies.change.methods import ENTRY, MAGNITUDE, area_of_chance, areas, areas_table
from studies.change.regulation import make_gene_regulation_change
from studies.study import run_study

PAIRS = np.triu_indices(9, 1)
SENATORS = [
    "Salazar", "Dole", "Brownback", "Rockefeller", "Hagel", "Feingold", "Stevens", "Bunning",
    "Nelson (NE)", "Specter", "Sarbanes", "Bingaman", "Pryor", "Martinez", "Grassley", "Byrd",
    "Baucus", "Thune", "Dewine", "Inhofe",
]  # fmt: skip


def upper(matrix):
    return matrix[np.triu_indices(len(matrix), 1)]


# Measures


@pytest.mark.parametrize("seed", range(4))
def test_area_is_the_average_precision(seed):
    """With ties too, of which scores in thirds have many."""
    rng = np.random.default_rng(seed)
    changed, scores = np.zeros((2, 9, 9))
    changed[PAIRS] = rng.permutation(36) < 8
    scores[PAIRS] = np.round(3 * rng.random(36) + changed[PAIRS]) / 3
    changed, scores = (changed + changed.T).astype(bool), scores + scores.T
    found = _methods.measure(changed, scores)
    expected = average_precision_score(upper(changed), upper(scores))
    assert found["auprc"] == pytest.approx(expected, abs=1e-12)
    recall, precision = _methods.parse_curve(found["precisions"])
    np.testing.assert_allclose(recall, np.arange(1, 9) / 8)
    assert precision.mean() == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_area_of_chance_is_that_of_random_orders():
    rng = np.random.default_rng(0)
    found = [average_precision_score(np.arange(36) < 8, rng.permutation(36)) for _ in range(1000)]
    error = np.std(found) / np.sqrt(len(found))
    assert area_of_chance(9, 8) == pytest.approx(np.mean(found), abs=4 * error)
    # With everything changed every order is right.
    assert area_of_chance(5, 10) == pytest.approx(1.0)


# Methods


@pytest.fixture(scope="module")
def clear_change():
    """Few variables and many rows, so that every method finds what changed."""
    return make_gaussian_change(8, 2000, n_changed=3, change=0.8, rng=1)


@pytest.mark.parametrize("kind", ["empirical", "nonparanormal"])
@pytest.mark.parametrize("standardize", ["pooled", False])
def test_all_methods_find_a_clear_change(clear_change, kind, standardize):
    rows = _methods.score_methods(
        _methods.gaussian_rivals(kind, standardize=standardize), clear_change
    )
    best = pd.DataFrame(rows).groupby("method")["auprc"].max()
    assert set(best.index) == set(_methods.GAUSSIAN_RIVALS)
    assert best.min() > 0.95
    assert all(row["unconverged"] == 0 for row in rows)
    of_difference = [row["ranking"] for row in rows if row["method"] == _methods.DIFFERENCE]
    assert of_difference == [MAGNITUDE]


def test_nonparanormal_methods_see_ranks_only(clear_change):
    other = SimulatedChange(
        first=np.exp(clear_change.first),
        second=np.exp(clear_change.second),
        changed=clear_change.changed,
    )
    for kind, is_same in (("nonparanormal", True), ("empirical", False)):
        for method in _methods.gaussian_rivals(kind).values():
            here, there = (method(data).scores[MAGNITUDE] for data in (clear_change, other))
            assert np.allclose(here, there, rtol=1e-5, atol=1e-7) == is_same


def test_difference_of_covariances(clear_change):
    before, after = clear_change.first, clear_change.second
    raw = _methods.by_difference("empirical", centered=False)(clear_change).scores[MAGNITUDE]
    expected = after.T @ after / len(after) - before.T @ before / len(before)
    np.testing.assert_allclose(raw, np.abs(expected), atol=1e-12)
    moved = SimulatedChange(first=5 * before + 7, second=5 * after - 3, changed=raw > 0)
    for data in (clear_change, moved):
        scaled = _methods.by_difference("empirical")(data).scores[MAGNITUDE]
        spread = np.sqrt((np.var(data.first, axis=0) + np.var(data.second, axis=0)) / 2)
        covariances = [np.cov(rows / spread, rowvar=False, bias=True)
                       for rows in (data.first, data.second)]  # fmt: skip
        np.testing.assert_allclose(scaled, np.abs(covariances[1] - covariances[0]), atol=1e-9)


def test_rankings_of_a_path(clear_change):
    estimator = NetworkChange(CV(n_alphas=5), standardize="pooled")
    found = _methods.by_path(estimator)(clear_change)
    path = estimator.path(clear_change.X, clear_change.y)
    np.testing.assert_array_equal(found.scores[ENTRY], path.order)
    np.testing.assert_array_equal(found.scores[MAGNITUDE], np.abs(path.changes[-1]))
    # What rounding may hide is part of every gap, and more than this tolerance.
    hasty = _methods.by_path(
        NetworkChange(CV(n_alphas=2), tol=1e-40, max_iter=2, standardize="pooled")
    )(clear_change)
    assert hasty.n_unconverged > 0


# Tasks


def test_sizes_of_the_study():
    sizes = {part.name: (len(part.tasks(True)), len(part.tasks(False))) for part in STUDY.parts}
    assert sizes == {
        "gaussian": (12, 120), "lattice": (6, 12), "diamond": (2, 20), "times": (4, 27),
        "genes": (4, 20), "senate": (1, 1),
    }  # fmt: skip
    assert {task["n_runs"] for task in lattice.list_tasks(False)} == {200}
    assert times.SIZES[:5] == times.PUBLISHED_SIZES == (40, 50, 60, 70, 80)


SMALL_GAUSSIAN = {"n_features": 10, "n_changed": 3, "n_held_out": 500}


def test_gaussian_task():
    rows = gaussian.run_task(
        np.random.default_rng(2), setting="change 0.8", n_samples=60, repetition=0, **SMALL_GAUSSIAN
    )
    by = {(row["scale"], row["method"], row["ranking"]): row for row in rows}
    assert len(by) == len(rows) == 2 * (2 * len(gaussian.METHODS) - 1)
    seed = np.random.default_rng(2).integers(2**32, size=2).tolist()[0]
    data = make_gaussian_change(10, 60, n_changed=3, change=0.8, rng=seed)
    for name, ridge in (("KLIEP, ridge 0.1", 0.1), ("KLIEP, ridge 0", 0.0)):
        path = NetworkChange(ridge=ridge, standardize=False).path(data.X, data.y)
        for ranking, scores in ((ENTRY, path.order), (MAGNITUDE, np.abs(path.changes[-1]))):
            expected = average_precision_score(upper(data.changed), upper(scores))
            assert by["gaussian", name, ranking]["auprc"] == pytest.approx(expected)
            # The power basis of degree 2 undoes the root, so that both scales are the same.
            if by["nonparanormal", name, ranking]["degree"] == 2:
                assert by["nonparanormal", name, ranking]["auprc"] == pytest.approx(expected)
    assert by["gaussian", gaussian.KLIEP, ENTRY]["degree"] == 1


def test_shared_noise_is_shared():
    """All that both groups have in common cancels, and even a small change shows."""
    options = {"n_samples": 100, "repetition": 0, **SMALL_GAUSSIAN}
    rows = gaussian.run_task(np.random.default_rng(0), setting="shared noise", **options)
    found = areas(pd.DataFrame(rows).assign(task=0), _methods.DIFFERENCE, MAGNITUDE)
    assert found.min() > 0.9


def test_held_out_rows_choose_power_and_alpha():
    """Scores against a direct sum over features, and the true power of a strong change."""
    data = make_gaussian_change(6, 300, n_changed=4, change=0.8, density=0.6, power=2.0, rng=0)
    held_out = data.sample(2000, rng=1)
    chosen = gaussian.choose(data, held_out, (2, 3, 4))
    assert chosen["degree"] == 2
    assert 4 <= chosen["held_out_edges"] <= 15
    path = NetworkChange(
        CV(n_alphas=4, alpha_ratio=0.2), basis="power", degree=2, standardize=False
    ).path(data.X, data.y)
    expected = []
    for theta in path.changes:
        values = []
        for rows in (held_out.second, held_out.first):
            Z = np.sign(rows) * rows**2
            values.append(np.einsum("ij,jk,ik->i", Z, np.triu(theta), Z))
        expected.append(values[0].mean() - np.log(np.exp(values[1]).mean()))
    found = gaussian.held_out_scores(path, held_out, 2)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert found[0] == 0


@pytest.mark.slow
def test_lattice_task_counts_exact_supports():
    rows = lattice.run_task(np.random.default_rng(1), n_features=16, ratio=120, n_runs=4)
    assert [row["factor"] for row in rows] == list(lattice.FACTORS)
    n_samples = round(120 * np.log(16))
    for row in rows:
        alpha = row["factor"] * np.sqrt(np.log(16) / n_samples)
        n_hits = 0
        for stream in np.random.default_rng(1).spawn(4):
            data = make_lattice_change(16, n_samples, rng=stream)
            model = NetworkChange(alpha, ridge=0.0, standardize=False).fit(data.X, data.y)
            n_hits += np.array_equal(model.graph_.adjacency, data.changed)
        assert row["n_samples"] == n_samples
        assert row["success"] == n_hits / 4
        assert (row["success"] == 1) == (row["missed"] == row["false"] == 0)


@pytest.fixture(scope="module")
def success():
    """Rates of 200 runs by size, rows over the logarithm of the size, and factor of alpha."""
    return {
        (n_features, ratio, row["factor"]): row["success"]
        for n_features in lattice.SIZES
        for ratio in (100, 150)
        for row in lattice.run_task(
            np.random.default_rng(ratio), n_features=n_features, ratio=ratio, n_runs=200
        )
    }


@pytest.mark.slow
@pytest.mark.parametrize("n_features", lattice.SIZES)
def test_lattice_success(success, n_features):
    """With c = 2.5 rates here are 0.915 and 0.905, and 0.894 and 0.924 in 1000 other runs."""
    assert success[n_features, 150, 2.5] >= 0.9
    assert success[n_features, 150, 2.0] >= 0.9
    assert success[n_features, 100, 2.0] >= 0.75


@pytest.mark.slow
@pytest.mark.parametrize("n_features", lattice.SIZES)
@pytest.mark.xfail(
    strict=True,
    reason="alpha = 0.25 is too close to the change of 0.28 in the mean of a product: all four "
    "edges pass it in 0.28 (m = 64) and 0.32 (m = 100) of the runs, whatever the solver (in 0.31 "
    "and 0.34 of 1000 others).",
)
def test_lattice_success_with_a_larger_alpha_and_fewer_rows(success, n_features):
    assert success[n_features, 100, 2.5] >= 0.75


@pytest.mark.slow
def test_diamond_and_gene_tasks():
    rows = diamond.run_task(
        np.random.default_rng(0), repetition=0, n_proposals=300, n_features=5, n_samples=800
    )
    by = {(row["method"], row["ranking"]): row["auprc"] for row in rows}
    assert {method for method, _ in by} == set(diamond.list_methods())
    assert by[diamond.POLYNOMIAL, MAGNITUDE] == 1.0
    assert by[diamond.GAUSSIAN, MAGNITUDE] < 0.9
    assert min(by[method, MAGNITUDE] for method in _methods.SAMPLED) > 0.9
    rows = genes.run_task(np.random.default_rng(0), repetition=0, n_proposals=50)
    assert {row["method"] for row in rows} == set(genes.list_methods())
    data = make_gene_regulation_change(rng=np.random.default_rng(0))
    path = NetworkChange(basis="polynomial", degree=3, standardize="pooled").path(data.X, data.y)
    (row,) = (
        row for row in rows if (row["method"], row["ranking"]) == (genes.polynomial(3), ENTRY)
    )
    expected = average_precision_score(upper(data.changed), upper(path.order))
    assert row["auprc"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "option", "other"),
    [
        (diamond.POLYNOMIAL, "standardize", diamond.RAW),
        (diamond.POLYNOMIAL, "degree", diamond.QUADRATIC),
        (diamond.GAUSSIAN, "basis", diamond.POWER),
    ],
)
def test_diamond_methods_differ(name, option, other):
    data = make_diamond_change(5, 300, rng=0)
    methods = diamond.list_methods()
    first, second = (methods[key](data).scores[MAGNITUDE] for key in (name, other))
    assert not np.allclose(first, second), option


def test_importance_sampling_draws_as_told():
    """Numbers of rows and seeds reach the estimators, as do degrees and ends of the path."""
    data = make_diamond_change(4, 200, rng=0)
    base = {"degree": 2, "n_proposals": 50, "random_state": 1, "alpha_ratio": 0.3}

    def scores(rank, degree, n_proposals, **options):
        likelihood = SampledLikelihood(degree=degree, n_proposals=n_proposals)
        return rank(likelihood, **options)(data).scores[MAGNITUDE]

    others = [{"n_proposals": 60}, {"random_state": 2}, {"alpha_ratio": 0.5}, {"degree": 3}]
    for rank in (_methods.sampled_flasso, _methods.sampled_glasso):
        found = scores(rank, **base)
        np.testing.assert_array_equal(found, scores(rank, **base))
        for other in others:
            assert not np.allclose(found, scores(rank, **{**base, **other}))
    for part in (diamond, genes):
        numbers = {quick: {task["n_proposals"] for task in part.list_tasks(quick)}
                   for quick in (True, False)}  # fmt: skip
        assert numbers == {True: {_methods.QUICK_PROPOSALS}, False: {_methods.N_PROPOSALS}}


def test_times_task():
    rows = times.run_task(
        np.random.default_rng(0),
        n_features=20,
        repetition=0,
        n_samples=40,
        largest_primal={times.PUBLISHED: 10, times.SPARSE: 30},
    )
    by = {(row["range"], row["solver"]): row for row in rows}
    assert set(by) == {("published", "dual"), ("sparse", "dual"), ("sparse", "primal")}
    assert all(row["seconds"] > 0 for row in rows)
    # Both solvers come to the same solution, and the published range ends with nearly all pairs.
    assert by["sparse", "dual"]["pairs"] == by["sparse", "primal"]["pairs"]
    assert by["published", "dual"]["pairs"] > 180 > by["sparse", "dual"]["pairs"] > 0


@pytest.fixture(scope="module")
def senate_rows():
    """Of a fifth of the senators, for speed."""
    return senate.run_task(
        np.random.default_rng(0), n_shuffles=6, n_permutations=9, n_resamples=6, senators=SENATORS
    )


def test_senate_task(senate_rows):
    summary, *edges = senate_rows
    votes, years = load_senate().votes[SENATORS], load_senate().years
    model = NetworkChange(summary["alpha"], basis="ising").fit(votes, years)
    assert summary["edges"] == len(edges) == model.graph_.n_edges
    table = model.graph_.edges().set_index(["source", "target"])["weight"]
    # Of two fits with gap g the coefficients differ by 2 sqrt(2 g / ridge) at most.
    close = 2 * np.sqrt(2 * 1e-8 * len(SENATORS) / 0.1)
    for edge in edges:
        assert edge["change"] == pytest.approx(table[edge["source"], edge["target"]], abs=close)
        for share in (edge["in_shuffles"], edge["in_halves"]):
            assert round(6 * share, 9) in range(7)
        assert 0.1 <= edge["familywise"] <= 1
    sizes = np.abs([edge["change"] for edge in edges])
    assert (np.diff(sizes) <= 0).all()
    assert summary["kept"] == sum(edge["familywise"] <= 0.05 for edge in edges)
    assert summary["effective_sample_size"] == pytest.approx(model.effective_sample_size_, rel=1e-3)
    assert summary["agreement"] == model.check_directions(votes, years).agreement


# Verdicts


def ranking_frame(area, methods, **columns):
    """Rows of all methods whose areas are given by method and ranking, with a little noise."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        [
            {"task": task, "method": method, "ranking": ranking,
             "auprc": area(method, ranking) + 1e-3 * rng.random(), "precisions": "1 0.5 0.25",
             "degree": 2, "held_out_edges": 3 * (task % 2), **columns}
            for task in range(4)
            for method in methods
            for ranking in (ENTRY, MAGNITUDE)
            if ranking == MAGNITUDE or not method.startswith(_methods.DIFFERENCE)
        ]
    )  # fmt: skip


def gaussian_frame(area):
    return pd.concat(
        [
            ranking_frame(
                lambda method, ranking, place=(scale, setting, n): area(method, ranking, *place),
                gaussian.METHODS, scale=scale, setting=setting, n_samples=n,
            )
            for scale in gaussian.SCALES
            for setting in gaussian.SETTINGS
            for n in gaussian.SAMPLES
        ],
        ignore_index=True,
    )  # fmt: skip


def as_published(method, ranking, scale, setting, n_samples):
    if method == _methods.GLASSO:
        return 0.05
    if method == _methods.FLASSO:
        lower = 0.3 if scale == "nonparanormal" else 0.0
        return (0.9 if n_samples == 100 else 0.5) - lower
    return 0.9


def at_chance_as_printed(method, ranking, scale, setting, n_samples):
    if setting == "as printed":
        return 0.025
    return as_published(method, ranking, scale, setting, n_samples)


def the_other_way_round(method, ranking, scale, setting, n_samples):
    if method == _methods.FLASSO:
        return 0.9 if scale == "nonparanormal" else 0.8
    return 0.95 if method == _methods.GLASSO else 0.3


@pytest.mark.parametrize(
    ("area", "expected"),
    [(as_published, "yes"), (at_chance_as_printed, "partly"), (the_other_way_round, "no")],
)
def test_verdicts_on_gaussian_networks(area, expected):
    report = gaussian.report(gaussian_frame(area))
    assert [claim.holds for claim in report.claims] == [expected] * 5


def test_gaussian_report_says_what_is_at_chance():
    text = gaussian.report(gaussian_frame(at_chance_as_printed)).text
    assert "at chance level for every method: areas lie between 0.025 and 0.026" in text
    assert "a random order has 0.027" in text
    assert "no edge at all on 4 of 8 data sets" in text
    assert text.count("| as printed | 100 |") == 4
    assert "0.05 (two Glassos); with 50 Gaussian rows 0.90" in text
    assert "0.50 (Flasso), 0.05 (two Glassos)." in text


def test_verdicts_on_diamonds():
    def area(method, ranking):
        if method == diamond.POLYNOMIAL:
            return 0.99 if ranking == MAGNITUDE else 0.7
        if method == diamond.RAW:
            return 0.96
        if method in _methods.SAMPLED:
            return 0.9 if method == _methods.SAMPLED_FLASSO else 0.8
        return 0.55 if method == diamond.QUADRATIC else 0.25

    methods = list(diamond.list_methods())
    report = diamond.report(ranking_frame(area, methods))
    assert [claim.holds for claim in report.claims] == ["yes", "yes", "yes"]
    assert "IS-Flasso, has 0.90" in report.claims[0].found
    assert "the best of the others has 0.25" in report.claims[1].found
    flat = diamond.report(ranking_frame(lambda method, ranking: 0.9, methods))
    assert [claim.holds for claim in flat.claims] == ["no", "no", "no"]


def test_verdicts_on_genes():
    methods = list(genes.list_methods())

    def area(method, ranking):
        if method == _methods.SAMPLED_FLASSO:
            return 0.6
        return 0.8 if "polynomial 3" in method else 0.5

    report = genes.report(ranking_frame(area, methods))
    assert [claim.holds for claim in report.claims] == ["yes", "yes"]
    assert "0.60 and 0.50 by entry; 0.60 and 0.50 by magnitude" in report.claims[1].found
    assert "polynomial 3, has 0.80" in report.claims[0].found
    flat = genes.report(ranking_frame(lambda method, ranking: 0.6, methods))
    assert [claim.holds for claim in flat.claims] == ["no", "no"]
    table = areas_table(ranking_frame(area, methods), methods)
    assert f"| {_methods.DIFFERENCE} |  | 0.50" in table


def lattice_frame(shift=0.0):
    return pd.DataFrame(
        [
            {"n_features": size, "ratio": ratio, "factor": factor, "n_runs": 200,
             "success": ratio / 150 * (1 - shift * (size == 100)), "missed": 0.5, "false": 0.01}
            for ratio in lattice.RATIOS
            for size in lattice.SIZES
            for factor in lattice.FACTORS
        ]
    )  # fmt: skip


@pytest.mark.parametrize(("shift", "expected"), [(0.0, "yes"), (0.15, "partly"), (0.6, "no")])
def test_verdict_on_lattices(shift, expected):
    report = lattice.report(lattice_frame(shift))
    assert report.claims[0].holds == expected
    assert "| 150 | 1.000 ± 0.005 |" in report.text
    error = lattice.standard_error(0.25, 48)
    assert error == pytest.approx(np.sqrt(0.25 * 0.75 / 48))
    assert 0 < lattice.standard_error(0.0, 100) < 0.02


def times_frame(ratio, exponents):
    return pd.DataFrame(
        [
            {"n_features": size, "range": name, "solver": solver,
             "seconds": factor * (size / 80) ** exponents[solver] * (1 + repetition)}
            for size in times.SIZES
            for repetition in range(2)
            for name in ("published", "sparse")
            for solver, factor in (("dual", 1.0), ("primal", ratio))
            if solver == "dual" or size <= times.LARGEST_PRIMAL[name]
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "primal", "expected"),
    [(9.0, 2.0, ["yes", "yes"]), (2.0, 2.0, ["partly", "yes"]), (1.0, 0.5, ["no", "no"])],
)
def test_verdicts_on_times(ratio, primal, expected):
    report = times.report(times_frame(ratio, {"dual": 1.0, "primal": primal}))
    assert [claim.holds for claim in report.claims] == expected
    assert f"{ratio:.1f} times as long" in report.claims[0].found
    assert f"{primal:.1f} and 1.0 (published, up to 80 variables)" in report.claims[1].found
    # Geometric mean of 1 and 2 seconds; no primal beyond the affordable.
    assert f"| 80 | 1.41 | {ratio * np.sqrt(2):.3g} |" in report.text
    assert "| 1000 | 17.7 |  | 17.7 |  |" in report.text


def senate_frame(rows):
    parameters = {"n_shuffles": 6, "n_permutations": 9, "n_resamples": 6}
    return pd.DataFrame([{"task": 0, **parameters, **row} for row in rows])


def test_senate_report(senate_rows):
    summary, *edges = senate_rows
    edges = [
        edge
        | {
            "familywise": 0.02 if place < 3 else 0.5,
            "in_shuffles": 0.05 * (place % 3 == 2),
            "in_halves": 0.8 if place < 2 else 0.3,
        }
        for place, edge in enumerate(edges)
    ]
    edges[3]["in_shuffles"] = 0.5
    text = senate.report(senate_frame([summary, *edges])).text
    assert f"{len(edges)} of 4950 pairs change" in text
    assert "and 3 of the edges hold" in text
    assert "2 are found in 75% or more of 6 random halves" in text
    assert f"| {edges[0]['source']}, {edges[0]['target']} |" in text
    assert f"| {edges[3]['source']}, {edges[3]['target']} |" not in text


# Figures


@pytest.mark.slow
def test_figures(senate_rows):
    results = {
        "gaussian": gaussian_frame(as_published),
        "lattice": lattice_frame(),
        "diamond": ranking_frame(lambda method, ranking: 0.4, list(diamond.list_methods())),
        "times": times_frame(9.0, {"dual": 1.0, "primal": 2.0}),
        "genes": ranking_frame(lambda method, ranking: 0.6, list(genes.list_methods())),
        "senate": senate_frame(senate_rows),
    }
    drawn = STUDY.figures(results)
    assert list(drawn) == [
        "gaussian-areas", "nonparanormal-areas", "gaussian-curves", "nonparanormal-curves",
        "lattice", "diamond", "times", "genes", "senate",
    ]  # fmt: skip
    areas_axes = drawn["nonparanormal-areas"].axes
    assert [ax.get_title() for ax in areas_axes] == list(gaussian.SETTINGS)
    labels = [label.get_text() for label in areas_axes[0].get_yticklabels()]
    assert labels == list(reversed(gaussian.METHODS))
    # 50 rows by entry, Flasso on the scale shown.
    shown = areas_axes[2].containers[2].lines[0].get_xdata()
    flasso = labels[1:].index(_methods.FLASSO)
    assert shown[flasso] == pytest.approx(0.2, abs=2e-3)
    assert len(drawn["gaussian-curves"].axes) == 6
    first, second = drawn["times"].axes
    np.testing.assert_allclose(first.lines[1].get_ydata()[-1], 9 * np.sqrt(2))
    assert second.get_legend().get_texts()[0].get_text() == "dual, exponent 1.0"
    np.testing.assert_allclose(
        drawn["lattice"].axes[0].lines[0].get_ydata(orig=False), np.array(lattice.RATIOS) / 150
    )


def test_curves_are_those_of_the_rows():
    frame = ranking_frame(lambda method, ranking: 0.4, ["a", "b"])
    curves = _methods.curves_of(frame, ["b"], ENTRY)
    assert list(curves) == ["b"]
    assert len(curves["b"]) == 4
    np.testing.assert_allclose(curves["b"][0], [[1 / 3, 2 / 3, 1], [1, 0.5, 0.25]])


@pytest.mark.slow
def test_quick_study(tmp_path):
    from studies.tables import write_results

    results = run_study(STUDY, tmp_path / "checkpoints", quick=True).results
    report = write_results(tmp_path, STUDY, results, quick=True, seed=0)
    assert len(report.claims) == 13
    polynomial = areas(results["diamond"], diamond.POLYNOMIAL, MAGNITUDE)
    assert polynomial.mean() >= 0.95
    printed = results["gaussian"][results["gaussian"]["setting"] == gaussian.PRINTED]
    assert printed.groupby("method")["auprc"].mean().max() < 0.1
    assert (tmp_path / "senate.png").stat().st_size > 10_000


class TestVerdict:
    @pytest.mark.parametrize("name", [*verdict.KINDS, *verdict.NULLS])
    def test_rows_of_every_kind(self, name):
        X, y = verdict.draw_rows(name, np.random.default_rng(0))
        kind = verdict.KINDS.get(name) or verdict.NULLS[name]
        assert X.shape == (sum(kind.n), kind.p)
        assert np.bincount(y).tolist() == list(kind.n)
        assert np.isfinite(X).all()

    @pytest.mark.parametrize("form", verdict.GAUSSIAN)
    def test_correlations_differ_between_the_groups(self, form):
        kind = next(kind for kind in verdict.KINDS.values() if kind.form == form)
        before, after = verdict.GAUSSIAN[form](kind, np.random.default_rng(0))
        for R in (before, after):
            np.testing.assert_allclose(np.diag(R), 1)
            assert np.linalg.eigvalsh(R)[0] > 0
        assert np.abs(before - after).max() > 0.04

    @pytest.mark.parametrize("form", verdict.NOT_GAUSSIAN)
    def test_other_dependence_has_no_correlation(self, form):
        kind = next(kind for kind in verdict.KINDS.values() if kind.form == form)
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20_000, kind.p))
        X = verdict.NOT_GAUSSIAN[form](X, kind, rng, is_after=True)
        R = np.corrcoef(X, rowvar=False) - np.eye(kind.p)
        assert np.abs(R).max() < 0.05
        squares = np.corrcoef(np.column_stack([np.abs(X), X]), rowvar=False)
        assert np.abs(squares - np.eye(2 * kind.p))[0, [1, kind.p + 1]].max() > 0.1

    @pytest.mark.slow
    def test_small_version(self, tmp_path):
        study = load_study("verdict")
        outcome = run_study(study, tmp_path, quick=True, seed=1)
        frame = outcome.results["verdict"]
        assert len(frame) == 3 * verdict.N_TABLES
        shares = (frame["verdict"] <= 0.05).groupby(frame["kind"]).mean()
        assert shares["15 rows in each group"] <= 0.15
        assert shares["one edge, 5 columns"] >= 0.3
        report = study.report(outcome.results)
        assert "| clusters of 6 rows, permuted freely | 4 |" in report.text
        assert "| one curve, 5 columns |" in report.text
        assert report.claims[0].found.startswith(("0 of 2", "1 of 2", "2 of 2"))
