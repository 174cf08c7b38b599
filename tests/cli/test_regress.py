"""``edgewise regress``: a tree of networks from a file."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import Graph, GraphTree, HeldOut, Penalized
from edgewise.cli.regress import hidden_edges
from tests.cli.files import TREE_FILES

NAMES = ["wind", "rain", "sun"]


@pytest.fixture(scope="module")
def rows():
    """The tie of wind and rain turns at 95 W; that of sun and wind is there on the coast only."""
    rng = np.random.default_rng(5)
    n = 900
    frame = pd.DataFrame({"lat": rng.uniform(30, 50, n), "lon": rng.uniform(-120, -70, n)})
    frame.iloc[:2] = [[30, -120], [50, -70]]
    frame["place"] = rng.choice(["coast", "hill", "town"], n)
    frame[NAMES] = rng.normal(size=(n, 3))
    frame["rain"] += np.where(frame["lon"] > -95, 2, -2) * frame["wind"]
    frame["sun"] += np.where(frame["place"] == "coast", 3, 0) * frame["wind"]
    frame["odd"] = np.arange(n) % 2
    return frame


@pytest.fixture
def regress(run, tmp_path):
    """Run on the rows of a frame; return what the folder holds."""

    def invoke(data, *options):
        data.to_csv(tmp_path / "data.csv", index=False)
        out = tmp_path / "out"
        result = run("regress", tmp_path / "data.csv", "--out", out, *options)
        return SimpleNamespace(
            result=result,
            out=out,
            record=json.loads(Path(out, "run.json").read_text()),
            leaves=pd.read_csv(out / "leaves.csv"),
            edges=pd.read_csv(out / "edges.csv"),
            tree=edgewise.load(out / "model.edgewise"),
        )

    return invoke


def complaint(run, *arguments):
    result = run("regress", *arguments, code=2)
    assert result.stdout == ""
    assert not Path("edgewise-out").exists()
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.drawn
def test_everything_is_written_and_agrees(regress, rows):
    run = regress(rows, "--on", "lat,lon", "--responses", ",".join(NAMES))
    tree = GraphTree(random_state=0).fit(rows[["lat", "lon"]], rows[NAMES])
    assert run.tree.export_text() == tree.export_text()
    leaves = [f"leaf-{leaf.leaf}.graphml" for leaf in tree.leaves_]
    assert sorted(path.name for path in run.out.iterdir()) == sorted((*TREE_FILES, *leaves))
    assert (run.out / "tree.txt").read_text() == tree.export_text()
    graph = Graph.read(run.out / "leaf-1.graphml")
    np.testing.assert_allclose(graph.weights, tree.leaves_[1].graph.weights)
    np.testing.assert_array_equal(run.leaves["n_rows"], [leaf.n for leaf in tree.leaves_])
    assert len(run.edges) == sum(leaf.graph.n_edges for leaf in tree.leaves_)
    assert run.record["n_leaves"] == len(tree.leaves_)
    assert run.record["risk"] == pytest.approx(tree.risk_)
    assert run.record["data"]["on"] == ["lat", "lon"]
    assert run.record["splits"][0]["covariate"] == "lon"
    assert "place, odd" in run.record["treatment"][0]
    words = run.result.stdout
    assert f"{len(leaves)} networks of 3 columns by lat and lon" in words
    assert "split by lon" in words
    assert run.result.stderr == ""
    page = (run.out / "report.html").read_text()
    assert page.count("<img") == 4
    assert f"; the first split is by lon at {tree.nodes_[0].split.cut:.4g}.</p>" in page
    assert "The tree, with the network of every leaf" in page
    assert "lon &gt; -9" in page


def test_leaves_say_where_they_are(regress, rows):
    run = regress(rows, "--on", "lon,place", "--drop", "lat,odd")
    assert any("lon > -9" in text for text in run.leaves["where"])
    coast = run.leaves[run.leaves["place"] == "coast"]
    assert len(coast)
    assert coast["where"].str.contains("place is coast").all()
    others = run.leaves[run.leaves["place"] != "coast"]
    assert others["where"].str.contains("place is hill or town").all()
    sun = run.edges[(run.edges["source"] == "wind") & (run.edges["target"] == "sun")]
    assert set(coast["leaf"]) <= set(sun["leaf"])


def test_edges_that_one_network_hides():
    leaves = [SimpleNamespace(n=60), SimpleNamespace(n=30), SimpleNamespace(n=10)]
    edges = pd.DataFrame(
        [
            (0, "a", "b", 0.1, False),
            (1, "a", "b", -0.3, False),
            (0, "a", "c", 0.9, True),
            (1, "b", "c", 0.5, False),
            (2, "b", "c", 0.5, False),
            (0, "c", "d", 0.4, False),
            (1, "c", "d", 0.4, False),
        ],
        columns=["leaf", "source", "target", "weight", "in_whole"],
    )
    hidden = hidden_edges(SimpleNamespace(leaves_=leaves), edges)
    assert (hidden["source"] + hidden["target"]).tolist() == ["cd", "ab", "bc"]
    assert hidden["n_leaves"].tolist() == [2, 2, 2]
    assert hidden["n_positive"].tolist() == [2, 1, 2]
    np.testing.assert_allclose(hidden["share_of_rows"], [0.9, 0.9, 0.4])


def test_hidden_edges_are_told(regress):
    rng = np.random.default_rng(1)
    x = rng.uniform(size=2000)
    Z = rng.normal(size=(2000, 8))
    Z[:, 1::2] += np.where(x > 0.5, 1, -1)[:, None] * Z[:, ::2]
    frame = pd.DataFrame(Z, columns=list("abcdefgh")).assign(x=x)
    run = regress(frame, "--on", "x")
    assert not run.edges["in_whole"].all()
    assert "Edges present in most leaves but absent from the pooled network:" in run.result.stdout
    assert "in 2 of 2: 1 positive, 1 negative" in run.result.stdout


@pytest.mark.drawn
def test_a_network_that_does_not_vary(regress):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["x", "a", "b"])
    run = regress(frame, "--on", "x")
    assert "does not vary: no split is beyond chance" in run.result.stdout
    assert run.record["n_leaves"] == 1
    assert run.leaves.loc[0, "where"] == "all rows"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ("--min-leaf", "100000"),
            "because fewer than --min-leaf 100000 rows would be",
        ),
        (("--depth", "0"), "because --depth 0"),
        (("--set", "max_total_depth=0"), "because --set max_total_depth=0"),
    ],
)
def test_it_is_said_if_no_split_was_tried(regress, rows, options, reason):
    run = regress(rows, "--on", "lon,odd", "--responses", "wind,rain", *options)
    assert "No split could be tried" in run.result.stdout
    assert f"Never split, {reason}" in run.result.stdout
    assert "'lon' and 'odd'." in run.result.stdout
    assert "does not vary" not in run.result.stdout


def test_covariates_without_a_split_are_named(regress, rows):
    run = regress(rows, "--on", "lon,odd", "--responses", "wind,rain")
    assert "The network does not vary with odd." in run.result.stdout
    flat = regress(rows.assign(flat=1.0), "--on", "lon,odd,flat", "--responses", "wind,rain")
    assert "The network does not vary with odd." in flat.result.stdout
    assert "Never split, because constant: 'flat'." in flat.result.stdout


def test_rows_that_judge(regress, rows):
    run = regress(rows, "--on", "lat,lon", "--held-out", "odd", "--drop", "place")
    is_odd = rows["odd"] == 1
    X = rows[["lat", "lon"]]
    tree = GraphTree(random_state=0)
    tree.fit(X[~is_odd], rows.loc[~is_odd, NAMES], X[is_odd], rows.loc[is_odd, NAMES])
    assert run.tree.export_text() == tree.export_text()
    assert run.record["data"]["held_out"] == "odd"


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (
            (
                "--search",
                "optimal",
                "--set",
                "max_total_depth=3",
                "--set",
                "scale=quantile",
                "--seed",
                "3",
            ),
            {"search": "optimal", "max_total_depth": 3, "scale": "quantile", "random_state": 3},
        ),
        (
            (
                "--criterion",
                "penalized",
                "--set",
                "gamma=0.5",
                "--set",
                "lookahead=0",
                "--depth",
                "1",
            ),
            {"criterion": Penalized(gamma=0.5), "lookahead": 0, "max_depth": 1},
        ),
        (
            ("--criterion", "penalized", "--set", "grow_risk=refit", "--set", "mean=global"),
            {"criterion": "penalized", "grow_risk": "refit", "mean": "global"},
        ),
        (
            ("--split-for", "all", "--min-leaf", "100", "--set", "min_gain=1000000"),
            {"split_for": "all", "min_samples_leaf": 100, "criterion": HeldOut(min_gain=1e6)},
        ),
        (
            ("--published",),
            {
                "criterion": HeldOut(min_gain=0, exchange=False),
                "search": "halving",
                "lookahead": 0,
                "split_for": "all",
                "mean": "leaf",
            },
        ),
    ],
)
def test_options_reach_the_tree(regress, rows, options, values):
    run = regress(rows, "--on", "lat,lon", "--drop", "place,odd", *options)
    given = run.tree.get_params()
    assert {name: given[name] for name in values} == values
    expected = GraphTree(**run.tree.get_params())
    expected.fit(rows[["lat", "lon"]], rows[NAMES])
    assert run.tree.export_text() == expected.export_text()


def test_jobs_reach_the_tree_and_change_nothing(regress, rows, jobs_of):
    jobs = jobs_of(GraphTree)
    options = ("--on", "lat,lon", "--drop", "place,odd")
    one, two = regress(rows, *options), regress(rows, *options, "--jobs", "2")
    assert one.tree.export_text() == two.tree.export_text()
    assert jobs == [1, 2]


def test_json(run, rows, tmp_path):
    rows.to_csv(tmp_path / "data.csv", index=False)
    options = ("--on", "lon", "--responses", "wind,rain", "--json")
    document = json.loads(run("regress", tmp_path / "data.csv", *options).stdout)
    assert document["n_leaves"] == 2
    assert document["edges"][0]["source"] == "wind"
    assert document["edges"][0]["in_whole"] in (True, False)
    assert Path(document["files"]["leaf-0.graphml"]).exists()


def test_rows_with_gaps(run, regress, rows, tmp_path):
    gaps = rows.drop(columns=["place", "odd"]).copy()
    gaps.loc[3, "rain"] = np.nan
    gaps.loc[4, "lat"] = np.nan
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    said = complaint(run, tmp_path / "gaps.csv", "--on", "lat,lon")
    assert "'rain' (1), 'lat' (1)" in said
    assert "of 900 rows, 2 rows have any" in said
    assert "--on lat,lon --missing drop`" in said
    found = regress(gaps, "--on", "lat,lon", "--missing", "drop")
    assert "2 of 900 rows have missing values, left out" in found.record["treatment"]
    assert found.record["data"]["n_samples"] == 898


def test_an_earlier_run_leaves_nothing_behind(regress, rows):
    first = regress(rows, "--on", "lat,lon", "--drop", "place,odd")
    assert (first.out / "leaf-1.graphml").exists()
    second = regress(rows, "--on", "lat,lon", "--drop", "place,odd", "--set", "min_gain=1e6")
    assert not (second.out / "leaf-1.graphml").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--on", "latitude"), "--on names 'latitude', which is not a column"),
        (("--on", ","), "--on names no column"),
        (("--on", "lon", "--responses", "lon,wind"), "'lon' cannot be both in the network and in"),
        (("--on", "lon", "--responses", "wind"), "needs at least 2 columns"),
        (("--on", "lon"), "Column 'place' of"),
        (("--on", "lon", "--drop", "place", "--held-out", "even"), "--held-out names 'even'"),
        (
            ("--on", "lon", "--drop", "place", "--held-out", "lat"),
            "--held-out requires a column of 0 and 1",
        ),
        (
            ("--on", "lon", "--drop", "place", "--set", "lookahead=1", "--search", "optimal"),
            "--set lookahead requires --search greedy",
        ),
        (
            ("--on", "lon", "--drop", "place", "--set", "gamma=1"),
            "--set gamma requires --criterion",
        ),
        (
            ("--on", "lon", "--drop", "place", "--published", "--search", "halving"),
            "--published sets its own rule. Omit --search.",
        ),
        (
            ("--on", "lon", "--drop", "place", "--set", "min_gain=1", "--criterion", "penalized"),
            "--set min_gain requires --criterion heldout",
        ),
        (
            ("--on", "lon", "--drop", "place", "--min-leaf", "0"),
            "--min-leaf must be a whole",
        ),
        (("--on", "lon", "--drop", "place", "--jobs", "0"), "is not allowed"),
    ],
)
def test_bad_input(run, rows, tmp_path, options, message):
    rows.to_csv(tmp_path / "data.csv", index=False)
    assert message in complaint(run, tmp_path / "data.csv", *options)


def test_a_shift_of_means_is_told_from_a_network(regress):
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b", "c"], 600)
    frame = pd.DataFrame({"group": group})
    common = rng.normal(size=600)
    shifts = {
        "x": {"a": 0, "b": 4, "c": 8},
        "y": {"a": 8, "b": 4, "c": 0},
        "z": {"a": 0, "b": 9, "c": 0},
    }
    for name, shift in shifts.items():
        frame[name] = [shift[one] for one in group] + common + rng.normal(size=600)
    run = regress(frame, "--on", "group")
    said = run.result.stdout
    assert said.startswith("1 network of 3 columns by group")
    assert "Means and variances differ between 3 groups (groups.csv)" in said
    falls = r"From one mean, variance and network for all, the risk falls by (\S+): "
    fall = re.search(rf"{falls}mean (9\d|10\d)%, variances -?\d%, graph -?\d%", said)
    assert float(fall[1]) == pytest.approx(sum(run.record["gain"].values()), rel=1e-3)
    assert (run.edges["weight"] > 0).all()
    groups = pd.read_csv(run.out / "groups.csv").set_index("where")
    assert groups.loc["group is b", "z_mean"] == pytest.approx(9.0, abs=0.5)
    assert run.record["n_groups"] == 3
    everything = regress(frame, "--on", "group", "--split-for", "all")
    assert everything.result.stdout.startswith("3 networks of 3 columns by group")
    assert "(groups.csv)" not in everything.result.stdout


def test_dates_are_covariates_counted_in_days(regress, rows):
    """A network that turns on one day: the tree splits there, in days since the first date."""
    days = np.random.default_rng(8).permutation(np.arange(len(rows)))
    rng = np.random.default_rng(9)
    table = pd.DataFrame(rng.normal(size=(len(rows), 3)), columns=NAMES)
    table["rain"] += np.where(days < 450, 2, -2) * table["wind"]
    table.insert(0, "Date", (pd.Timestamp("2021-03-01") + pd.to_timedelta(days, "D")).date)

    got = regress(table, "--on", "Date", "--blocks", "1")

    (covariate,) = got.tree.covariates_
    assert (covariate.name, covariate.kind) == ("Date", "numeric")
    root = got.tree.nodes_[0].split
    assert root.covariate == "Date"
    assert abs(root.cut - 450) < 15
    assert "'Date' holds dates: days since 2021-03-01" in got.result.stdout


def test_a_date_that_is_none_is_named(run, tmp_path):
    days = ["2024-02-28", "2024-02-29", "2024-02-30", "2024-03-01"] * 20
    table = pd.DataFrame(np.random.default_rng(10).normal(size=(80, 3)), columns=NAMES)
    table.assign(Date=days).to_csv(tmp_path / "data.csv", index=False)
    message = complaint(run, tmp_path / "data.csv", "--on", "Date")
    assert "'Date' has invalid dates" in message
    assert "2024-02-30" in message
