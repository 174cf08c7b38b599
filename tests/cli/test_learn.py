"""``edgewise learn`` on tables it can use."""

import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

import edgewise
from edgewise import GaussianGraph, Graph, NeighborhoodGraph
from tests.cli.files import FILES, INTERVALS


def names_of(edges):
    return set(zip(edges.source, edges.target, strict=True))


@pytest.mark.drawn
def test_everything_is_written_and_agrees(learn, frame, tmp_path):
    run = learn(frame, "--alpha", "0.1")
    expected = GaussianGraph(alpha=0.1, covariance="correlation").fit(frame)
    assert sorted(path.name for path in run.out.iterdir()) == sorted(FILES)
    graph = Graph.read(run.out / "graph.graphml")
    assert graph.names == tuple("abcde")
    np.testing.assert_allclose(graph.weights, expected.graph_.weights, atol=1e-12)
    assert {("a", "b"), ("b", "c")} <= names_of(run.edges)
    assert len(run.edges) == run.record["n_edges"] == graph.n_edges
    model = edgewise.load(run.out / "model.edgewise")
    np.testing.assert_array_equal(model.precision_, expected.precision_)
    for picture in ("network.png", "matrix.png"):
        assert (run.out / picture).read_bytes().startswith(b"\x89PNG")
    page = (run.out / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert f"{graph.n_edges} edges among the" in page
    assert "; the strongest joins b and c (-" in page


@pytest.mark.drawn
def test_pictures_for_print_are_written_besides(learn, frame):
    run = learn(frame, "--alpha", "0.1", "--format", "svg", "--format", "pdf")
    written = {path.name: path.read_bytes()[:5] for path in run.out.iterdir()}
    assert written["network.svg"] == b"<?xml"
    assert written["matrix.pdf"] == b"%PDF-"
    assert written["network.png"].startswith(b"\x89PNG")
    assert set(written) == set(run.record["files"])


def test_record_tells_what_was_done(learn, frame, tmp_path):
    record = learn(frame, "--alpha", "0.1", "--seed", "3").record
    data = (tmp_path / "data.csv").read_bytes()
    assert record["data"]["sha256"] == hashlib.sha256(data).hexdigest()
    assert (record["data"]["n_samples"], record["data"]["n_features"]) == (120, 5)
    assert record["data"]["names"] == list("abcde")
    assert record["seed"] == 3
    assert record["versions"]["edgewise"] == edgewise.__version__
    assert {"python", "numpy", "numba", "scikit-learn"} <= set(record["versions"])
    assert (record["parameters"]["method"], record["parameters"]["alpha"]) == ("gaussian", 0.1)
    assert record["parameters"]["covariance"] == "correlation"
    assert (record["alpha"], record["alpha_rule"]) == (0.1, None)
    assert record["converged"] is True
    assert 0 <= record["gap"] <= 5e-6
    assert record["seconds"] > 0
    assert record["treatment"] == record["warnings"] == []


def test_summary_in_words(learn, frame):
    run = learn(frame, "--alpha", "0.1")
    strongest = run.edges.iloc[0]
    out = run.result.stdout
    assert f"{len(run.edges)} edges among the 5 columns" in out
    assert "(120 rows)" in out
    assert f"{strongest.source} -- {strongest.target}  {strongest.weight:+.3f}" in out
    assert "alpha 0.1, as given" in out
    assert "of the optimum" in out or "at the optimum" in out
    assert str(run.out) in out
    assert run.result.stderr == ""


def test_summary_lists_five_edges_at_most(learn, frame):
    run = learn(frame, "--alpha", "0.001")
    assert len(run.edges) > 5
    assert run.result.stdout.count(" -- ") == 5


def test_certificate_gives_the_gap(learn, frame):
    run = learn(frame, "--alpha", "0.01", "--set", "tol=0.1")
    assert f"within {run.record['gap']:.1g} of the optimum" in run.result.stdout


def test_default_folder_and_rule(run, frame, tmp_path):
    frame.to_csv("data.csv", index=False)
    result = run("learn", "data.csv")
    record = json.loads((tmp_path / "edgewise-out" / "run.json").read_text())
    assert record["alpha_rule"] == "stepwise"
    assert record["alpha"] is None
    graph = Graph.read(tmp_path / "edgewise-out" / "graph.graphml")
    np.testing.assert_allclose(graph.weights, GaussianGraph().fit(frame).graph_.weights)
    assert "by the extended BIC: the best of 30 refitted graphs, then edge by edge" in result.stdout


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes])
def test_the_default_is_that_of_python(learn, load):
    # In their order, rows of one class follow each other, of which the command makes blocks.
    data = load(as_frame=True).data.sample(frac=1, random_state=0)
    found = Graph.read(learn(data, "--resamples=0").out / "graph.graphml")
    expected = GaussianGraph().fit(data).graph_
    np.testing.assert_array_equal(found.adjacency, expected.adjacency)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-9)


def test_no_edge_gives_the_p_value_of_the_test(run, frame):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(40, 4)), columns=list("abcd")).to_csv("noise.csv", index=False)
    result = run("learn", "noise.csv", "--resamples=0")
    assert "No edge: no pair of columns passes a Bonferroni test at 5% (smallest p = " in (
        result.stdout
    )
    frame.to_csv("data.csv", index=False)
    result = run("learn", "data.csv", "--alpha", "0.99", "--resamples=0")
    assert "No edge at this alpha." in result.stdout
    assert "A correlation passes a Bonferroni test all the same" in result.stdout


def test_json_is_one_object_and_nothing_else(run, frame, tmp_path):
    frame.to_csv("data.csv", index=False)
    result = run("learn", "data.csv", "--json", "--alpha", "0.1", "--out", "here")
    document = json.loads(result.stdout)
    edges = pd.read_csv("here/edges.csv").dropna(subset="target")
    assert document["n_edges"] == len(document["edges"]) == len(edges)
    told = edges.drop(columns=["directed", "source_index", "target_index"])
    assert document["edges"][0] == pytest.approx(told.iloc[0].to_dict())
    assert {"lower", "upper", "pvalue", "qvalue", "resampled_lower"} <= set(told)
    assert sorted(document["files"]) == sorted((*FILES, *INTERVALS))
    assert all((tmp_path / file).is_file() for file in document["files"].values())
    record = json.loads((tmp_path / "here" / "run.json").read_text())
    assert record.pop("files") == list(document["files"])
    assert record.items() <= document.items()


@pytest.mark.drawn
def test_empty_graph_is_written_whole(learn, frame):
    run = learn(frame, "--alpha", "5")
    assert sorted(path.name for path in run.out.iterdir()) == sorted(FILES)
    assert run.record["n_edges"] == 0
    graph = Graph.read(run.out / "graph.graphml")
    assert (graph.n_nodes, graph.n_edges) == (5, 0)
    assert "0 edges" in run.result.stdout
    assert "smaller --alpha" in run.result.stdout
    assert "0 edges" in learn(frame[["d", "e"]], "--alpha", "ebic").result.stdout


@pytest.mark.parametrize("rule", ["ebic", "cv", "stars"])
def test_rules_for_alpha(learn, frame, rule):
    record = learn(frame, "--alpha", rule).record
    model = GaussianGraph(alpha=rule, covariance="correlation", random_state=0).fit(frame)
    assert record["alpha_rule"] == rule
    assert record["alpha"] == pytest.approx(model.alpha_, rel=1e-9)


def test_method(learn, frame):
    run = learn(frame, "--method", "neighborhood", "--alpha", "0.2")
    expected = NeighborhoodGraph(alpha=0.2).fit(frame).graph_.weights
    graph = Graph.read(run.out / "graph.graphml")
    np.testing.assert_allclose(graph.weights, expected, atol=1e-12)
    assert "standardised coefficient" in run.result.stdout
    assert "The regressions are" in run.result.stdout


def test_covariance_sets_the_units(learn, frame):
    scaled = frame.assign(a=frame.a / 100)
    plain = learn(frame, "--alpha", "0.1").edges
    assert names_of(learn(scaled, "--alpha", "0.1").edges) == names_of(plain)
    in_units = learn(scaled, "--alpha", "0.1", "--covariance", "empirical").edges
    assert "a" not in {*in_units.source, *in_units.target}


@pytest.mark.parametrize("covariance", ["nonparanormal", "spearman", "kendall"])
def test_ranks_do_not_see_a_monotone_change(learn, frame, covariance):
    options = ("--alpha", "0.1", "--covariance", covariance)
    plain = learn(frame, *options)
    bent = learn(np.exp(frame), *options)
    pd.testing.assert_frame_equal(plain.edges, bent.edges)
    assert plain.record["parameters"]["covariance"] == covariance
    assert not plain.edges.weight.equals(learn(frame, "--alpha", "0.1").edges.weight)


@pytest.mark.parametrize("missing", ["pairwise", "em"])
def test_missing_values(learn, frame, missing):
    frame.loc[3, "b"] = np.nan
    run = learn(frame, "--alpha", "0.1", "--missing", missing)
    expected = GaussianGraph(alpha=0.1, covariance="correlation", missing=missing).fit(frame)
    graph = Graph.read(run.out / "graph.graphml")
    np.testing.assert_allclose(graph.weights, expected.graph_.weights, atol=1e-12)
    assert any("1 missing value" in note for note in run.record["treatment"])
    assert f"Note: --missing {missing}" in run.result.stdout


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--drop", "d,e"], "abc"),
        (["--drop", "d", "--drop", "e"], "abc"),
        (["--columns", "c, a,b"], "abc"),
        (["--columns", "a,b,c,d", "--drop", "d"], "abc"),
    ],
)
def test_columns_are_chosen(learn, frame, options, left):
    run = learn(frame, "--alpha", "0.1", *options)
    assert run.record["data"]["names"] == list(left)
    assert any("left out on request" in note for note in run.record["treatment"])


def test_a_name_with_a_comma_is_one_column(learn, frame):
    frame = frame.rename(columns={"d": "a,b"})
    assert learn(frame, "--alpha", "0.1", "--drop", "a,b").record["data"]["names"] == list("abce")


def test_text_can_be_dropped(learn, frame):
    run = learn(frame.assign(city="Ulm"), "--drop", "city", "--alpha", "0.1")
    assert run.record["n_nodes"] == 5


def test_confidence(learn, frame):
    run = learn(frame, "--alpha", "0.2", "--resamples", "6", "--seed", "1")
    assert run.edges.confidence.between(0, 1).all()
    assert set((6 * run.edges.confidence).round(9)) <= set(range(7))
    assert run.record["parameters"]["n_resamples"] == 6
    assert "share of 6 resamples" in run.result.stdout
    assert edgewise.load(run.out / "model.edgewise").edge_frequency_.shape == (5, 5)


def test_confidence_alone_takes_the_default(learn, frame):
    run = learn(frame, "--alpha", "0.2", "--resamples=100")
    assert run.record["parameters"]["n_resamples"] == 100
    assert learn(frame, "--alpha", "0.2", "--resamples=0").edges.confidence.isna().all()


def test_confidence_is_in_the_json(run, frame):
    frame.to_csv("data.csv", index=False)
    result = run("learn", "data.csv", "--alpha", "0.2", "--resamples", "3", "--json")
    assert all(0 <= edge["confidence"] <= 1 for edge in json.loads(result.stdout)["edges"])


@pytest.mark.slow
def test_seed(learn, frame):
    def confidence(seed):
        return list(
            learn(frame, "--alpha", "0.1", "--resamples", "9", "--seed", seed).edges.confidence
        )

    assert confidence(1) == confidence(1)
    assert confidence(1) != confidence(2)


def test_jobs_change_nothing_but_the_number_of_workers(learn, frame, jobs_of):
    options = ("--alpha", "0.2", "--resamples", "4")
    resampled = jobs_of(edgewise.BootstrapGraph)
    one = learn(frame, *options)
    two = learn(frame, *options, "--jobs", "2")
    pd.testing.assert_frame_equal(one.edges, two.edges)
    assert resampled == [1, 2]
    searched = jobs_of(edgewise.GaussianGraph)
    learn(frame, "--alpha", "cv", "--jobs", "2", "--resamples=0")
    assert searched == [2]


def test_repair(learn, frame):
    twice = frame.assign(copy=frame.a)
    run = learn(twice, "--alpha", "0.1", "--set", "repair=clip")
    assert any('repair="clip"' in note for note in run.record["treatment"])


def test_alpha_ratio(learn, frame):
    largest = frame.corr().abs().where(~np.eye(5, dtype=bool)).max().max()
    # The edges are strong, so the best alpha of such a short path is its last.
    record = learn(frame, "--alpha", "cv", "--set", "alpha_ratio=0.9").record
    assert record["alpha"] == pytest.approx(0.9 * largest, rel=1e-12)


def test_tolerance(learn, frame):
    assert learn(frame, "--alpha", "0.01", "--set", "tol=0.1").record["gap"] > 1e-9
    assert learn(frame, "--alpha", "0.01", "--set", "tol=1e-10").record["gap"] <= 5e-10


@pytest.mark.parametrize("alpha", ["0.001", "0.3"])
def test_a_fit_that_stops_early_says_so(learn, alpha):
    walk = np.random.default_rng(0).normal(size=(40, 30)).cumsum(axis=1)
    table = pd.DataFrame(walk, columns=[f"v{k}" for k in range(30)])
    run = learn(table, "--alpha", alpha, "--set", "max_iter=1", "--set", "tol=1e-12")
    assert run.record["converged"] is False
    assert f"still {run.record['gap']:.1g} from the optimum, at most" in run.result.stdout
    (line,) = run.result.stderr.splitlines()
    assert line.startswith("Warning: Stopped after")
    assert "Raise --set max_iter" in line
    assert run.record["warnings"] == [line.removeprefix("Warning: ")]


def test_assumptions_made_in_reading_are_told(learn, tmp_path):
    values = np.random.default_rng(0).normal(size=(30, 3)).round(3)
    lines = ["a;b;c", *(";".join(str(x).replace(".", ",") for x in row) for row in values.tolist())]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    run = learn(tmp_path / "data.csv", "--alpha", "0.1")
    assert any("semicolon" in note for note in run.record["treatment"])
    assert "Note: " in run.result.stdout


def test_names_cannot_command_the_terminal(learn, frame):
    run = learn(frame.rename(columns={"a": "\x1b[31m[bold]a"}), "--alpha", "0.1")
    assert "\x1b" not in run.result.stdout
    assert "[31m[bold]a -- b" in run.result.stdout


def test_long_names_are_cut_in_the_summary_only(learn, frame):
    long = "the same beginning " * 10 + "but its own end"
    run = learn(frame.rename(columns={"a": long, "b": "two\nlines"}), "--alpha", "0.1")
    assert "the same beginning th... its own end -- two lines" in run.result.stdout
    assert Graph.read(run.out / "graph.graphml").names[:2] == (long, "two\nlines")


def test_old_results_are_replaced(learn, frame):
    learn(frame, "--alpha", "0.1")
    run = learn(frame, "--alpha", "5")
    assert run.edges.empty
    assert sorted(path.name for path in run.out.iterdir()) == sorted(FILES)


def test_an_interrupted_run_goes_on_where_it_was(tmp_path, frame, run, monkeypatch):
    data = tmp_path / "data.csv"
    frame.to_csv(data, index=False)
    command = ["learn", str(data), "--resamples", "12", "--alpha", "0.1", "--out"]
    fit, calls, end = GaussianGraph.fit, [], []

    def counted(*arguments, **options):
        calls.append(1)
        if len(calls) in end:
            raise KeyboardInterrupt
        return fit(*arguments, **options)

    monkeypatch.setattr(GaussianGraph, "fit", counted)
    whole = run(*command, str(tmp_path / "whole"))
    out, n_calls = tmp_path / "out", len(calls)
    calls.clear()
    end.append(7)
    stopped = run(*command, str(out), code=130)
    assert f"what was finished is kept in '{out / '.unfinished'}'" in stopped.stderr
    assert [path.name for path in out.iterdir()] == [".unfinished"]
    end.clear()
    calls.clear()
    again = run(*command, str(out))
    # Before the interrupt came the fit to all rows, and five resamples that are not run again.
    assert len(calls) == n_calls - 5
    assert not (out / ".unfinished").exists()
    assert again.stdout.replace(str(out), str(tmp_path / "whole")) == whole.stdout
    assert (out / "edges.csv").read_text() == (tmp_path / "whole" / "edges.csv").read_text()


@pytest.mark.drawn
def test_the_page_says_how_the_values_of_each_column_lie(learn):
    rows = np.random.default_rng(0).normal(size=(100, 2))
    frame = pd.DataFrame({"a": rows[:, 0], "b": rows[:, 0] + rows[:, 1]})
    frame["steps"] = np.repeat([1, 2, 3, 4], [40, 30, 20, 10])
    frame.loc[:4, "b"] = np.nan
    run = learn(frame, "--missing", "pairwise", "--covariance", "correlation")
    page = (run.out / "report.html").read_text(encoding="utf-8")
    table = page.partition("<h3>Columns</h3>")[2].partition("</table>")[0]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", table)
    by_name = {cells[k]: cells[k + 1 : k + 7] for k in range(0, len(cells), 7)}
    # 40, 30, 20 and 10 rows: the highest bar, and shares of the seven steps up to it, rounded.
    assert by_name["steps"][0] == "\u2588\u2586\u2585\u2583"
    assert len(by_name["a"][0]) == 10
    assert by_name["b"][5] == "5"
    assert float(by_name["steps"][1]) == pytest.approx(2.0)
