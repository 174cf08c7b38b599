"""``edgewise direct``: two directed networks of one table."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import BlanketBayesNet, BootstrapGraph, DirectedGraph, GaussianBayesNet, Graph
from edgewise.cli.direct import PENALIZED_METHODS, DirectMethod
from edgewise.cli.direct.fit import _about_rare, arc_table
from edgewise.estimators.directed.blankets import METHODS
from edgewise.estimators.directed.order import METHODS as NETWORK_METHODS
from edgewise.metrics import cpdag, varsortability
from tests.cli.files import DIRECT_FILES

#: Without a search for alpha.
QUICK = ("--alpha", "0.1")


@pytest.fixture
def direct(run, tmp_path):
    """Learn directions from a frame; return what the folder holds."""

    def invoke(data, *options):
        data.to_csv(tmp_path / "data.csv", index=False)
        out = tmp_path / "out"
        if "--resamples" not in options:
            options = (*options, "--resamples=0")
        result = run("direct", tmp_path / "data.csv", "--out", out, *options)
        return SimpleNamespace(
            result=result,
            out=out,
            record=json.loads(Path(out, "run.json").read_text()),
            arcs=pd.read_csv(out / "arcs.csv", keep_default_na=False),
            graph=Graph.read(out / "graph.graphml"),
            cpdag=Graph.read(out / "cpdag.graphml"),
            model=edgewise.load(out / "model.edgewise"),
        )

    return invoke


@pytest.fixture(scope="module")
def lawn():
    """Rain and a sprinkler make grass wet, which makes it slippery; heat and ice go together."""
    rain, sprinkler, wet, slip, heat, ice = np.random.default_rng(0).normal(size=(6, 600))
    wet += rain + sprinkler
    slip += wet
    ice += heat
    columns = {"slip": slip, "rain": rain, "wet": 10 * wet, "sprinkler": sprinkler}
    return pd.DataFrame({**columns, "heat": heat, "ice": ice})


def arcs_of(graph):
    return {(arc.source, arc.target) for arc in graph.edges().itertuples()}


def complaint(run, *arguments):
    result = run("direct", *arguments, code=2)
    assert result.stdout == ""
    assert not Path("edgewise-out").exists()
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.drawn
def test_everything_is_written_and_agrees(direct, lawn):
    run = direct(lawn, *QUICK, "--resamples", "10")
    assert sorted(path.name for path in run.out.iterdir()) == sorted(DIRECT_FILES)
    expected = DirectedGraph().fit(lawn)
    np.testing.assert_allclose(run.graph.weights, expected.graph_.weights, atol=1e-9)
    np.testing.assert_array_equal(run.cpdag.adjacency, expected.cpdag_.adjacency)
    assert isinstance(run.model, BootstrapGraph)
    second = Graph.read(run.out / "second.graphml")
    order = GaussianBayesNet(alpha=0.1).fit(lawn)
    np.testing.assert_allclose(second.weights, order.graph_.weights, atol=1e-9)
    for picture in ("dag", "cpdag", "second", "coefficients", "confidence"):
        assert (run.out / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
    page = (run.out / "report.html").read_text()
    assert len(re.findall(r'<img[^>]* alt="[^"]{20,}"', page)) == 7
    assert "4 arcs among the 6 columns" in page
    first = run.arcs[run.arcs.told == "yes"].iloc[0]
    assert f"with an identified direction is {first.source} → {first.target} (" in page
    assert "<td>rain</td><td>wet</td>" in page


def test_summary_tells_what_the_data_cannot(direct, lawn):
    text = direct(lawn).result.stdout
    assert "4 arcs among the 6 columns of" in text
    assert "By the best order of the columns (BIC), with standardised coefficients:" in text
    assert "1 of the 4 directions is not identified (cpdag.png): " in text
    chain = direct(lawn[["rain", "wet", "slip"]], *QUICK).result.stdout
    assert "No direction is identified (cpdag.png): " in chain
    assert "heat - ice" in text or "ice - heat" in text
    assert "Second opinion, by tests of independence (IAMB): 4 arcs." in " ".join(text.split())
    assert "trust the score" in text
    assert "Varsortability" in text
    assert "resamples" not in text


def test_record_tells_what_was_done(direct, lawn):
    run = direct(lawn, *QUICK, "--method", "iamb", "--seed", "3", "--significance", "0.02")
    record = run.record
    assert (record["command"], record["seed"]) == ("direct", 3)
    assert record["parameters"]["method"] == "iamb"
    assert record["parameters"]["significance"] == 0.02
    assert record["parameters"]["n_resamples"] is None
    assert (record["n_edges"], record["n_untold"]) == (4, 1)
    assert sum(record["n_found_by"].values()) == len(run.arcs)
    assert record["n_found_by"]["both"] == (run.arcs.found_by == "both").sum() >= 1
    assert record["second"]["alpha"] == 0.1
    assert record["second"]["parameters"]["standardize"] is True
    assert record["second"]["converged"] is True
    assert record["varsortability"] == pytest.approx(varsortability(lawn, run.graph))
    assert record["is_consistent"] is True
    assert record["n_tests"] > 10


def test_bootstrap_gives_the_share_of_both_directions(direct, lawn):
    run = direct(lawn, *QUICK, "--resamples", "12", "--seed", "5")
    expected = BootstrapGraph(DirectedGraph(random_state=5), n_resamples=12, random_state=5).fit(
        lawn
    )
    names = list(lawn.columns)
    for arc in run.arcs.itertuples():
        i, j = names.index(arc.source), names.index(arc.target)
        assert float(arc.confidence) == pytest.approx(expected.edge_frequency_[i, j])
        assert float(arc.confidence_reversed) == pytest.approx(expected.edge_frequency_[j, i])
    assert run.record["parameters"]["n_resamples"] == 12
    assert "share of the resamples" in run.result.stdout
    assert "confidence" not in direct(lawn, *QUICK).arcs.columns


@pytest.mark.parametrize("method", ["tc", "l1mb", "pc", "exact"])
def test_method_is_heeded(direct, lawn, method):
    run = direct(lawn, "--method", method)
    assert run.model.method == method
    learner = BlanketBayesNet if method in METHODS else DirectedGraph
    expected = learner(method).fit(lawn)
    np.testing.assert_array_equal(run.graph.adjacency, expected.graph_.adjacency)
    # Beside tests by a score, and beside a score by tests.
    second = run.record["second"]["parameters"]["method"]
    assert second == ("blankets" if method == "exact" else "boss")


@pytest.mark.parametrize("method", ["order", "bcd"])
def test_penalised_methods_are_heeded(direct, lawn, method):
    run = direct(lawn, "--method", method, "--alpha", "0.15", "--set=standardize=False")
    expected = GaussianBayesNet(0.15, method, standardize=False).fit(lawn)
    np.testing.assert_allclose(run.graph.weights, expected.graph_.weights, atol=1e-9)
    assert run.model.method == method
    assert run.record["alpha"] == 0.15
    assert run.record["second"]["parameters"]["method"] == "boss"
    assert "at alpha 0.15, as given, with standardised coefficients" in run.result.stdout
    assert "sees columns in their units" in run.result.stdout


def test_penalised_methods_know_what_is_known(direct, lawn):
    options = ["--forbid", "rain,wet", "--forbid", "wet,rain", "--require", "ice, heat"]
    run = direct(lawn, "--method", "order", "--alpha", "0.1", "--resamples", "5", *options)
    assert ("ice", "heat") in arcs_of(run.graph)
    assert not {("rain", "wet"), ("wet", "rain"), ("heat", "ice")} & arcs_of(run.graph)
    # The forbidden reverse tells the direction.
    assert ("heat", "ice") not in arcs_of(Graph.read(run.out / "cpdag.graphml"))
    assert any("almost unpenalised" in note for note in run.record["treatment"])


def test_methods_are_those_of_the_estimators():
    scored = {"boss", "ges", "exact", "pc"}
    assert {*get_args(DirectMethod)} == {*METHODS, *scored, *PENALIZED_METHODS}
    assert NETWORK_METHODS[:2] == PENALIZED_METHODS


@pytest.mark.parametrize("second", ["boss", "blankets", "penalized"])
def test_second_opinion_is_heeded(direct, lawn, second):
    run = direct(lawn, "--second", second)
    learner = GaussianBayesNet() if second == "penalized" else DirectedGraph(second)
    found = Graph.read(run.out / "second.graphml")
    np.testing.assert_allclose(found.weights, learner.fit(lawn).graph_.weights, atol=1e-9)
    counts = run.record["n_found_by"]
    assert counts["both"] + counts["opposite"] + counts["first"] == run.graph.n_edges


def test_a_direction_that_resamples_turn_round_is_unsure():
    first = Graph([[0, 0.5, 0], [0, 0, 0], [0, 0.5, 0]], directed=True)
    shares = np.array([[0, 0.43, 0], [0.52, 0, 0.1], [0, 0.9, 0]])
    sure = Graph(first.weights, directed=True, confidence=shares)
    table = arc_table(sure, cpdag(first).adjacency, first, first.adjacency)
    assert table.set_index("source").told.to_dict() == {"x0": "unsure", "x2": "yes"}
    table = arc_table(first, cpdag(first).adjacency, first, first.adjacency)
    assert table.told.tolist() == ["yes", "yes"]


def test_arcs_that_few_resamples_have_are_counted(direct):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(32, 8)) + 1.5 * rng.normal(size=(32, 1))
    run = direct(pd.DataFrame(rows, columns=list("abcdefgh")), "--resamples", "20")
    is_ours = run.arcs["told"].astype(str) != ""
    shares = run.arcs.loc[is_ours, ["confidence", "confidence_reversed"]].astype(float)
    n_rare = int((shares.sum(axis=1) < 0.5).sum())
    assert n_rare > 0
    assert f"{n_rare} of the {run.graph.n_edges} arcs" in run.result.stdout


def test_levels_and_numbers(run, direct, tmp_path):
    rng = np.random.default_rng(0)
    votes = pd.DataFrame(rng.integers(0, 2, size=(200, 3)), columns=list("abc"))
    votes["c"] = votes["a"] | votes["b"]
    words = votes.assign(c=votes.c.map({0: "no", 1: "yes"}))
    found = direct(words, "--resamples=0")
    assert "learned as levels" in " ".join(found.result.stdout.split())
    assert "with strengths from 0 to 1" in found.result.stdout
    assert "tests of independence (PC)" in found.result.stdout
    assert sorted(found.arcs.source + found.arcs.target) == ["ac", "bc"]
    assert not (found.out / "coefficients.png").exists()
    mixed = words.assign(d=(words.c == "yes") + rng.normal(size=200))
    text = direct(mixed, "--resamples=0", "--kinds", "a=nominal").result.stdout
    assert "continuous 'd'" in " ".join(text.split())
    numbers = direct(votes, "--resamples=0", "--kinds", "a=continuous,b=continuous,c=continuous")
    assert "standardised coefficients" in numbers.result.stdout
    words.to_csv(tmp_path / "words.csv", index=False)
    for options, advice in (
        (("--method", "iamb"), "--method pc for tests"),
        (("--second", "blankets"), "Omit it"),
        (("--alpha", "0.1"), "with --alpha"),
    ):
        assert advice in complaint(run, "words.csv", *options)


def test_experiments(run, direct, tmp_path):
    rng = np.random.default_rng(0)
    was_set = np.where(np.arange(200) < 100, "", "b")
    a = rng.normal(size=200)
    b = np.where(was_set == "b", 0.0, a) + rng.normal(size=200)
    data = pd.DataFrame({"a": a, "b": b, "was_set": was_set})
    found = direct(data, "--interventions", "was_set", "--resamples", "5")
    assert found.arcs[["source", "target", "told"]].to_numpy().tolist() == [["a", "b", "yes"]]
    assert "1 direction that other rows could not tell" in " ".join(found.result.stdout.split())
    arc = found.arcs.iloc[0]
    shares = arc[["share_forward", "share_backward", "share_undirected", "share_none"]]
    assert shares.sum() == pytest.approx(1.0)
    assert arc.share_forward >= 0.8
    assert Graph.read(found.out / "consensus.graphml").n_edges == 1
    options = ("data.csv", "--interventions", "was_set", "--method", "pc")
    assert "use --method boss" in complaint(run, *options)


def test_rare_arcs_are_counted_in_words():
    """One, several, and one of one."""
    rare = "in fewer than half of the resamples, either way round: little speaks for"
    one = f"1 of the 5 arcs is {rare} it, and it is not in consensus.png."
    assert _about_rare(1, 5) == one
    assert _about_rare(2, 5) == f"2 of the 5 arcs are {rare} them, and none is in consensus.png."
    assert _about_rare(1, 1) == one.replace("1 of the 5 arcs", "The arc")


def test_standardize_is_heeded(direct, lawn):
    run = direct(lawn, *QUICK, "--set=standardize=False")
    expected = GaussianBayesNet(alpha=0.1, standardize=False).fit(lawn).graph_
    found = Graph.read(run.out / "second.graphml")
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-9)
    assert found != GaussianBayesNet(alpha=0.1).fit(lawn).graph_
    assert "sees columns in their units" in run.result.stdout


def test_known_arcs_reach_both_networks(direct, lawn):
    free = direct(lawn, *QUICK)
    assert {("rain", "wet"), ("wet", "slip")} <= arcs_of(free.graph)
    options = ["--forbid", "rain,wet", "--forbid", "wet,rain", "--require", "ice, heat"]
    run = direct(lawn, *QUICK, *options)
    second = Graph.read(run.out / "second.graphml")
    for graph in (run.graph, second):
        assert not {("rain", "wet"), ("wet", "rain"), ("heat", "ice")} & arcs_of(graph)
        assert ("ice", "heat") in arcs_of(graph)
    told = run.arcs.set_index(["source", "target"]).told
    assert told[("ice", "heat")] == "yes"
    assert any("required arcs are almost unpenalised" in note
               for note in run.record["treatment"])  # fmt: skip
    assert run.record["parameters"]["forbidden"] == [["rain", "wet"], ["wet", "rain"]]


def test_tiers_reach_both_networks(direct, lawn):
    run = direct(lawn, *QUICK, "--tier", "slip,ice", "--tier", "wet,heat", "--tier", "rain")
    rank = {"slip": 0, "ice": 0, "wet": 1, "heat": 1, "rain": 2}
    for graph in (run.graph, Graph.read(run.out / "second.graphml")):
        for source, target in arcs_of(graph):
            assert rank.get(source, 0) <= rank.get(target, 2)
    assert ("ice", "heat") in arcs_of(run.graph)


def test_missing_values(run, direct, lawn):
    holed = lawn.mask(np.random.default_rng(1).random(lawn.shape) < 0.03)
    holed.to_csv("data.csv", index=False)
    assert "--missing" in complaint(run, "data.csv")
    found = direct(holed, *QUICK, "--missing", "pairwise")
    expected = DirectedGraph(missing="pairwise").fit(holed)
    np.testing.assert_array_equal(found.graph.adjacency, expected.graph_.adjacency)
    assert direct(holed, *QUICK, "--missing", "em").record["parameters"]["missing"] == "em"


@pytest.mark.slow
def test_columns_json_and_repair(run, lawn, tmp_path):
    lawn.assign(twin=lawn.rain).to_csv(tmp_path / "data.csv", index=False)
    assert "twin" in complaint(run, "data.csv")
    result = run("direct", "data.csv", *QUICK, "--drop", "twin,ice", "--json")
    found = json.loads(result.stdout)
    assert found["data"]["names"] == ["slip", "rain", "wet", "sprinkler", "heat"]
    assert {"source", "target", "found_by", "told"} <= set(found["arcs"][0])
    assert found["files"]["cpdag.graphml"] == "edgewise-out/cpdag.graphml"
    result = run("direct", "data.csv", *QUICK, "--set", "repair=ridge")
    assert "Note: " in result.stdout


@pytest.mark.drawn
def test_nothing_found_is_said(direct):
    noise = pd.DataFrame(np.random.default_rng(3).normal(size=(80, 3)), columns=list("abc"))
    run = direct(noise, "--alpha", "0.5", "--significance", "0.001")
    assert "0 arcs" in run.result.stdout
    assert "No arc between two columns improves the BIC." in run.result.stdout
    tests = direct(noise, "--method", "iamb", "--significance", "0.001")
    assert "No two columns are dependent" in tests.result.stdout
    assert run.record["varsortability"] is None
    assert len(run.arcs) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--forbid", "rain"], "--forbid must be two columns"),
        (["--forbid", "rain,snow"], "--forbid names 'snow'"),
        (["--require", "rian,wet"], "Did you mean 'rain'"),
        (["--require", "rain,wet", "--forbid", "rain,wet"], "both required and forbidden"),
        (["--require", "rain,wet", "--require", "wet,rain"], "form a cycle"),
        (["--tier", "rain", "--tier", "rain,wet"], "'rain' twice"),
        (["--tier", "wet", "--tier", "rain", "--require", "rain,wet"], "lower tier"),
        (["--method", "pc", "--significance", "2"], "significance"),
        (["--alpha", "0"], "alpha must be positive"),
        (["--method", "order", "--second", "penalized"], "--method order is penalised itself"),
        (["--resamples", "1"], "at least 2"),
        (["--jobs", "0"], "--jobs 0"),
        (["--columns", "rain"], "at least 2 columns"),
    ],
)
def test_bad_requests(run, tmp_path, lawn, options, words):
    lawn.head(60).to_csv(tmp_path / "data.csv", index=False)
    assert words in complaint(run, "data.csv", *options)


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda lawn: lawn.head(9), ["--method", "tc"], "Pass --method iamb"),
        (lambda lawn: lawn.head(3), [], "more than 3 rows"),
        (lambda lawn: lawn[["rain"]].assign(one=1.0), [], "'one'"),
        (lambda lawn: lawn.assign(word=[f"w{k // 2}" for k in range(len(lawn))]), [], "'word'"),
        (lambda lawn: lawn.head(1), [], "1 "),
        (lambda lawn: lawn.corr(), [], "square and symmetric"),
    ],
    ids=["few rows", "three rows", "constant", "text", "one row", "covariance"],
)
def test_bad_tables(run, tmp_path, lawn, change, options, words):
    change(lawn).to_csv(tmp_path / "data.csv", index=False)
    assert words in complaint(run, "data.csv", *options)


def test_a_relation_is_refused_with_a_command_that_works(run, tmp_path, lawn):
    lawn.assign(both=lawn.rain + lawn.wet).to_csv(tmp_path / "data.csv", index=False)
    warning, error = run("direct", "data.csv", code=2).stderr.splitlines()
    assert "'both'" in error
    advice = re.search(r"Use `edgewise (direct data\.csv --drop \w+)`", warning)[1]
    run(*advice.split(), "--resamples=0")


def test_fewer_rows_than_columns(direct):
    rows = np.random.default_rng(0).normal(size=(20, 30))
    rows[:, 1] += 2 * rows[:, 0]
    frame = pd.DataFrame(rows, columns=[f"c{k}" for k in range(30)])
    run = direct(frame, "--alpha", "0.6")
    assert {("c0", "c1")} & {(a, b) for a, b in arcs_of(run.graph)} or (
        ("c1", "c0") in arcs_of(run.graph)
    )
    assert run.record["second"]["converged"] is True


def test_table_puts_the_first_network_first():
    first = Graph([[0, 0.2, 0.9, 0], [0, 0, 0.8, 0.1], [0, 0, 0, 0], [0, 0, 0, 0]], directed=True)
    weights = np.zeros((4, 4))
    weights[0, 1], weights[2, 1], weights[2, 3], weights[0, 3] = 0.3, 0.5, 0.1, -0.6
    other = Graph(weights, directed=True)
    table = arc_table(first, first.adjacency, other, other.adjacency)
    assert table.found_by.tolist() == [
        "first only",
        "both, in opposite directions",
        "both",
        "first only",
        "second only",
        "second only",
    ]
    ends = [f"{arc.source}{arc.target}" for arc in table.itertuples()]
    assert ends == ["x0x2", "x1x2", "x0x1", "x1x3", "x0x3", "x2x3"]
    assert table.second.tolist() == [0.0, 0.5, 0.3, 0.0, -0.6, 0.1]
    assert table.weight.tolist() == [0.9, 0.8, 0.2, 0.1, 0.0, 0.0]
    assert table.told.tolist()[4:] == ["", ""]
    assert set(table.told.tolist()[:4]) == {"yes"}
    # No direction of the first is identified, so that none can be contradicted.
    table = arc_table(first, cpdag(first).adjacency, other, other.adjacency)
    assert table.found_by.tolist()[:2] == ["first only", "both"]
    assert set(table.told.tolist()[:4]) == {"no"}
