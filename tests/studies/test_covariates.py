"""The study of graph-valued regression: tasks, verdicts and figures."""

import json

import numpy as np
import pandas as pd
import pytest

from edgewise import GraphTree
from edgewise.data import (
    load_climate,
    load_table,
    make_drifting_chain,
    make_drifting_grid,
    make_tree_partition,
)
from edgewise.metrics import edge_metrics
from edgewise.solvers import graphical_lasso
from studies.covariates import (
    STUDY,
    climate,
    drift,
    partition,
)

CELL_SIZES = ["small"] * 16 + ["middle"] * 4 + ["large"] * 2


# Tasks


def test_sizes_of_the_study():
    sizes = {part.name: (len(part.tasks(True)), len(part.tasks(False))) for part in STUDY.parts}
    assert sizes == {"partition": (2, 100), "drift": (2, 10), "climate": (1, 1)}
    assert {task["n_samples"] for task in drift.list_tasks(False)} == {10_000}
    assert partition.N_SAMPLES == 10_000
    assert climate.list_tasks(False) == [{"max_total_depth": None}]
    layouts = [task["layout"] for task in partition.list_tasks(False)]
    assert layouts.count("gathered") == layouts.count("spread") == 50


@pytest.fixture(scope="module")
def partition_rows():
    return partition.run_task(
        np.random.default_rng(1), layout="spread", repetition=0, n_samples=1500
    )


@pytest.mark.slow
def test_partition_task(partition_rows):
    data = make_tree_partition(1500, layout="spread", rng=np.random.default_rng(1))
    for rule, options in partition.RULES.items():
        rows = [row for row in partition_rows if row["rule"] == rule]
        tree = GraphTree(scale=(0, 1), **options).fit(data.X, data.Y, data.X_val, data.Y_val)
        (fit,) = (row for row in rows if row["kind"] == partition.FIT)
        assert fit["n_leaves"] == len(tree.leaves_)
        assert fit["root_edges"] == tree.graph_.n_edges
        assert 0 < fit["f1"] < 1
        assert json.loads(fit["risks"]) == pytest.approx(tree.risk_path_, abs=1e-4)
        leaves = [row for row in rows if row["kind"] == partition.LEAF]
        areas = [(row["right"] - row["left"]) * (row["upper"] - row["lower"]) for row in leaves]
        assert len(leaves) == len(tree.leaves_)
        assert sum(areas) == pytest.approx(1.0) or fit["n_irrelevant"] > 0
        for cell in (row for row in rows if row["kind"] == partition.CELL):
            center = data.boxes[cell["cell"]].mean(axis=1)
            (graph,) = tree.predict_graphs([[*center, *[0.5] * 8]])
            expected = edge_metrics(data.adjacencies[cell["cell"]], graph.adjacency)
            assert (cell["precision"], cell["recall"], cell["f1"]) == (
                expected.precision,
                expected.recall,
                expected.f1,
            )
            assert cell["size"] == CELL_SIZES[cell["cell"]]
    # The two large cells are found with so few rows already.
    large = {row["cell"] for row in partition_rows if row.get("size") == "large"}
    assert large == {20, 21}


def test_only_the_first_repetition_keeps_its_leaves():
    rows = partition.run_task(
        np.random.default_rng(1), layout="gathered", repetition=1, n_samples=300
    )
    assert {row["kind"] for row in rows} <= {partition.FIT, partition.CELL}


@pytest.fixture(scope="module")
def drift_rows():
    return {
        structure: drift.run_task(
            np.random.default_rng(2),
            structure=structure,
            n_samples=900,
            repetition=0,
            n_points={"chain": 12, "grid": 4},
        )
        for structure in ("chain", "grid")
    }


@pytest.mark.slow
def test_drift_task(drift_rows):
    for structure, n_points in (("chain", 12), ("grid", 16)):
        frame = pd.DataFrame(drift_rows[structure])
        summary = frame[frame["kind"] == drift.SUMMARY].set_index("method")
        assert set(summary.index) == set(drift.METHODS)
        points = frame[frame["kind"] == drift.POINT]
        assert (points.groupby("method").size() == n_points).all()
        for method, part in points.groupby("method"):
            assert part["f1"].mean() == pytest.approx(summary.loc[method, "f1"])
        assert summary.loc[drift.KERNEL, "f1"] > summary.loc[drift.POOLED, "f1"]
        assert summary.loc[drift.POOLED, "edges"] > 30
    chain = drift_rows["chain"]
    data = make_drifting_chain(900, rng=np.random.default_rng(2))
    tree = GraphTree(scale=(0, 1), **partition.RECIPE).fit(data.X, data.Y, data.X_val, data.Y_val)
    last = [row for row in chain if row.get("method") == drift.TREE][-1]
    (graph,) = tree.predict_graphs([[1.0]])
    expected = edge_metrics(data.adjacencies[data.graph[-1]], graph.adjacency)
    assert (last["x"], last["f1"]) == (1.0, expected.f1)
    corners = {(row["x"], row["x2"]) for row in drift_rows["grid"] if row["kind"] == drift.POINT}
    assert {(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)} <= corners


def test_pooled_glasso_is_that_of_least_held_out_risk():
    data = make_drifting_grid(20, n_features=6, n_edges=5, rng=3)
    mean = data.Y.mean(axis=0)
    S, S_val = ((Y - mean).T @ (Y - mean) / len(Y) for Y in (data.Y, data.Y_val))
    risks, graphs = [], []
    for alpha in np.abs(S[~np.eye(6, dtype=bool)]).max() * np.geomspace(1, 0.01, 40):
        Theta = graphical_lasso(S, alpha, penalize_diagonal=True, tol=1e-9).value
        risks.append(np.sum(S_val * Theta) - np.linalg.slogdet(Theta)[1])
        graphs.append((Theta != 0) & ~np.eye(6, dtype=bool))
    np.testing.assert_array_equal(drift.pooled_glasso(data), graphs[int(np.argmin(risks))])


@pytest.fixture(scope="module")
def climate_rows():
    return climate.run_task(np.random.default_rng(0), max_total_depth=2)


def test_climate_task(climate_rows):
    table = load_climate()
    X, Y, out = table.covariates[["lat", "lon"]], table.responses, table.is_validation
    tree = GraphTree(max_total_depth=2, **partition.RECIPE).fit(X[~out], Y[~out], X[out], Y[out])
    frame = pd.DataFrame(climate_rows)
    (summary,) = frame[frame["kind"] == climate.SUMMARY].to_dict("records")
    assert summary["leaves"] == len(tree.leaves_)
    assert summary["score"] == pytest.approx(tree.score(X[out], Y[out]))
    assert summary["score"] > summary["pooled_score"]
    assert 0 < summary["alike_nearest"] <= 1
    stations = frame[frame["kind"] == climate.STATION]
    known = load_table("tmy3-stations").frame
    assert stations["name"].tolist() == known["name"].tolist()
    np.testing.assert_array_equal(stations["leaf"], tree.apply(known[["lat", "lon"]]))
    pairs = frame[frame["kind"] == climate.PAIR].set_index(["source", "target"])
    assert len(pairs) == 120
    weights = np.array([leaf.graph.weights[0, 3] for leaf in tree.leaves_])
    pair = pairs.loc["TMP", "DEW"]
    assert pair["share"] == np.mean(weights != 0)
    assert pair["positive"] == np.mean(weights[weights != 0] > 0)
    assert (pair["least"], pair["most"]) == (weights.min(), weights.max())
    splits = frame[frame["kind"] == climate.SPLIT]
    np.testing.assert_allclose(splits[["mean", "variances", "graph"]].sum(axis=1), 1.0)
    json.dumps(climate_rows, allow_nan=False)


def test_likeness_of_leaves(climate_rows):
    class Leaf:
        def __init__(self, weights):
            upper = np.zeros((4, 4))
            upper[np.triu_indices(4, 1)] = weights
            self.graph = type("Graph", (), {"weights": upper + upper.T})
            self.mean = np.zeros(4)

    leaves = [Leaf([1, 0, -1, 0, 0, 2]), Leaf([2, 0, 1, 0, 0, 1]), Leaf([0] * 6)]
    expected = [[1, 2 / 3, 0], [2 / 3, 1, 0], [0, 0, 0]]
    np.testing.assert_allclose(climate._jaccard(leaves), expected)


def test_distance_from_the_sea():
    places = load_table("tmy3-stations").frame.set_index("name")
    far = {
        name: climate.kilometers_to_sea(*places.loc[name, ["lat", "lon"]]) for name in places.index
    }
    assert max(far[name] for name in ("Boston Logan IntL Arpt", "San Francisco Intl Ap")) < 20
    assert far["Cheyenne Municipal Arpt"] > 1000
    # A degree of latitude.
    assert climate.kilometers([10, 5], [11, 5]) == pytest.approx(111.2, abs=0.1)


# Reports


def partition_frame(
    n_exact=80, n_published=80, n_irrelevant=0, f1=(0.8, 0.99, 0.99), parent=12.0, held_out=0.01
):
    rows = []
    for task in range(100):
        common = {"task": task, "layout": ("gathered", "spread")[task % 2], "repetition": task // 2}
        for rule in partition.RULES:
            rows.append(
                common
                | {"kind": partition.FIT, "rule": rule, "seconds": 1.0,
                   "is_exact": task < (n_exact if rule == partition.SHOWN else n_published),
                   "f1": 0.9 + 0.001 * task + held_out * (rule == partition.PUBLISHED),
                   "n_irrelevant": int(task < n_irrelevant), "n_leaves": 22, "n_cells": 900,
                   "root_edges": 40, "parent_edges": parent, "leaf_edges": 10.0,
                   "risks": "[3.0, 1.0, 0.5, 0.0]"}
            )  # fmt: skip
            for cell, size, score in zip((0, 16, 20), partition.SIZES.values(), f1, strict=True):
                # Runs without the exact partition do not count.
                score = score if task < n_exact else 0.0
                rows.append(
                    common
                    | {"kind": partition.CELL, "rule": rule, "cell": cell, "size": size,
                       "precision": score, "recall": score, "f1": score}
                )  # fmt: skip
            if task < 2:
                rows += [
                    common
                    | {"kind": partition.LEAF, "rule": rule, "left": left, "right": left + 0.5,
                       "lower": 0.0, "upper": 1.0, "edges": 10}
                    for left in (0.0, 0.5)
                ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "yes yes yes yes yes yes yes yes"),
        ({"n_exact": 80, "n_published": 60}, "no yes yes yes yes yes yes yes"),
        ({"n_exact": 20, "n_published": 20, "n_irrelevant": 3}, "no no no no yes yes yes yes"),
        ({"f1": (0.7, 0.99, 0.99)}, "yes yes yes yes yes partly yes yes"),
        ({"held_out": 0.0}, "yes yes yes yes no yes yes yes"),
        ({"f1": (0.7, 0.9, 0.9), "parent": 9.0}, "yes yes yes yes yes no partly yes"),
    ],
)
def test_verdicts_on_the_partition(options, expected):
    report = partition.report(partition_frame(**options))
    assert [claim.holds for claim in report.claims] == expected.split()


def test_tables_of_the_partition():
    report = partition.report(partition_frame(n_exact=80))
    assert "80 of 100 (published rule)" in report.claims[0].found
    assert "80 of 100 (the same, one mean for all)" in report.claims[1].found
    line = "| `GraphTree()` | spread | 40 of 50 | 0 of 50 | 0.950 ± 0.004 | 22.0"
    assert line in report.text
    assert "| small | f1 | 0.800 (0.00) | 0.790 |" in report.text
    assert "brings 67% of the decrease" in report.claims[7].found
    assert "no exact run" in partition.report(partition_frame(n_exact=0)).text


def drift_frame(tree=0.6, pooled=0.2, recall=0.4, middle=0.5):
    rows = []
    for structure in ("chain", "grid"):
        for method in drift.METHODS:
            f1 = {drift.TREE: tree, drift.POOLED: pooled}.get(method, 0.7)
            common = {"task": 0, "structure": structure, "method": method}
            score = {"precision": f1, "recall": recall if method == drift.TREE else 0.8}
            rows.append(
                common | {"kind": drift.SUMMARY, "f1": f1, "edges": 50, "n_leaves": 5, **score}
            )
            for x in np.linspace(0, 1, 5):
                for x2 in np.linspace(0, 1, 5) if structure == "grid" else [x]:
                    here = f1 * (middle if abs(x + x2 - 1) < 0.1 else 1.0)
                    rows.append(
                        common | {"kind": drift.POINT, "x": x, "x2": x2, "f1": here, **score}
                    )
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["yes", "partly", "yes", "yes"]),
        ({"tree": 0.2, "recall": 0.75}, ["no", "yes", "no", "yes"]),
        ({"recall": 0.9, "middle": 1.1}, ["yes", "no", "yes", "no"]),
    ],
)
def test_verdicts_on_drift(options, expected):
    report = drift.report(drift_frame(**options))
    assert [claim.holds for claim in report.claims] == expected
    assert "5.0 leaves on the chain and 5.0 leaves on the grid" in report.text
    assert "| chain | kernel | 0.70 | 0.80 | 0.70 | 50.0 |" in report.text


def climate_frame(rows):
    return pd.DataFrame([{"task": 0, "max_total_depth": 2, **row} for row in rows])


def test_climate_report(climate_rows):
    rows = [dict(row) for row in climate_rows]
    pairs = [row for row in rows if row["kind"] == climate.PAIR]
    for pair in pairs:
        pair.update(share=0.1, pooled=0.3)
    pairs[0].update(share=0.9, pooled=0.0, positive=0.5, longer=0.0)
    pairs[1].update(share=0.8, pooled=0.0, positive=1.0, longer=0.2)
    for row in rows:
        if row["kind"] == climate.STATION:
            row["edges"] = 10 if row["to_sea"] < climate.COAST else 20
        if row["kind"] == climate.SUMMARY:
            row.update(alike_nearest=0.6, alike_any=0.3)
    report = climate.report(climate_frame(rows))
    assert [claim.holds for claim in report.claims] == ["yes", "partly", "yes", "yes"]
    assert "| TMP, TMN | 90% | 50% |" in report.text
    assert "1 of those 2 pairs have either sign" in report.claims[1].found
    assert ": TMP-TMN." in report.claims[1].found
    assert "and lacks 1 of them" in report.claims[0].found
    pairs[0]["longer"] = 0.1
    assert climate.report(climate_frame(rows)).claims[0].holds == "partly"
    assert "| all stations | inland | 44 | 20.0 ± 0.0 |" in report.text
    for row in rows:
        if row["kind"] == climate.PAIR:
            row["pooled"] = 0.2
        if row["kind"] == climate.STATION:
            row["edges"] = 15
        if row["kind"] == climate.SUMMARY:
            row.update(alike_nearest=0.2)
    report = climate.report(climate_frame(rows))
    assert [claim.holds for claim in report.claims] == ["no", "no", "no", "no"]


# Figures


@pytest.mark.slow
def test_figures(climate_rows):
    results = {
        "partition": partition_frame(),
        "drift": drift_frame(),
        "climate": climate_frame(climate_rows),
    }
    drawn = STUDY.figures(results)
    assert set(drawn) == {
        "partitions", "risk", "chain", "grid", "climate-map", "climate-edges"
    }  # fmt: skip
    for figure in drawn.values():
        figure.canvas.draw()
    partitions = drawn["partitions"].axes
    assert [len(ax.patches) for ax in partitions] == [2, 2, 2, 2]
    assert len(drawn["risk"].axes[0].lines) == 100
    assert len(drawn["chain"].axes[2].lines) == len(drift.METHODS)
    grid = drawn["grid"].axes[2].images[0].get_array()
    assert grid.shape == (5, 5)
    assert grid.max() == pytest.approx(0.6)
    assert len(drawn["climate-map"].axes[0].collections[0].get_offsets()) == 59
    assert "gathered" in partitions[0].get_title()


def test_report_of_the_whole(climate_rows):
    results = {
        "partition": partition_frame(),
        "drift": drift_frame(),
        "climate": climate_frame(climate_rows),
    }
    report = STUDY.report(results)
    assert len(report.claims) == 16
    for title in ("Section 5.1", "Appendix B", "Section 5.2"):
        assert f"## {title}" in report.text


# Where to cut by default


def test_cuts_of_both_kinds_are_judged_by_new_rows():
    task = {"truth": partition.ELSEWHERE, "n_samples": 300, "draw": 0}
    rows = partition.run_cuts(np.random.default_rng(0), **task)
    assert [row["rule"] for row in rows] == [*partition.CUT_RULES, partition.PEER]
    ours, halves, one, _ = rows
    assert ours["is_split"]
    assert ours["error"] < 0.05 < halves["error"]
    assert not one["is_split"]
    assert ours["score"] > one["score"]
    frame = pd.DataFrame([{"task": 0, **task, **row} for row in rows])
    assert "network elsewhere" in partition.report_cuts(frame).text
    assert len(partition.list_cuts(False)) == 4 * 3 * 20
