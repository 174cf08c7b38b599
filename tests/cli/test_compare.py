"""``edgewise compare --by``: two groups of rows."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import CV, Graph, NetworkChange
from edgewise.cli.compare.groups import PARTIAL, _finding
from edgewise.inference import compare_networks
from edgewise.selection import SelectionWarning
from tests.cli.files import CHANGE_FILES, FILES, INTERVALS

#: Quick: no search for alpha, a handful of permutations.
QUICK = ("--alpha", "0.3", "--permutations", "99")


@pytest.fixture
def compare(run, tmp_path):
    """Compare the rows of a frame; return what the folder holds."""

    def invoke(data, *options):
        data.to_csv(tmp_path / "data.csv", index=False)
        out = tmp_path / "out"
        result = run("compare", tmp_path / "data.csv", "--out", out, *options)
        return SimpleNamespace(
            result=result,
            out=out,
            record=json.loads(Path(out, "run.json").read_text()),
            changes=pd.read_csv(out / "changes.csv") if (out / "changes.csv").exists() else None,
            learned=pd.read_csv(out / "coefficients.csv"),
            model=edgewise.load(out / "model.edgewise"),
        )

    return invoke


@pytest.fixture(scope="module")
def groups():
    """Rows before and after: a - b comes, c - d turns its sign, e - f stays."""
    rng = np.random.default_rng(11)
    values = rng.normal(size=(160, 6))
    label = np.repeat(["old", "new"], [90, 70])
    is_new = label == "new"
    values[is_new, 1] += 1.2 * values[is_new, 0]
    values[:, 3] += np.where(is_new, -0.9, 0.9) * values[:, 2]
    values[:, 5] += 0.8 * values[:, 4]
    frame = pd.DataFrame(values, columns=list("abcdef")).assign(era=label)
    return frame.sample(frac=1, random_state=0, ignore_index=True)


def ordered(frame, before="old", after="new"):
    return pd.Series(pd.Categorical(frame.era, categories=[before, after]))


def names_of(edges):
    return set(zip(edges.source, edges.target, strict=True))


def complaint(run, *arguments):
    result = run("compare", *arguments, code=2)
    assert result.stdout == ""
    assert not Path("edgewise-out").exists()
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.drawn
def test_everything_is_written_and_agrees(compare, groups):
    run = compare(groups, "--by", "era", "--pair", "old,new", *QUICK)
    assert sorted(path.name for path in run.out.iterdir()) == sorted(CHANGE_FILES)
    expected = NetworkChange(alpha=0.3, standardize="within").fit(
        groups[list("abcdef")], ordered(groups)
    )
    graph = Graph.read(run.out / "coefficients.graphml")
    assert graph.names == tuple("abcdef")
    np.testing.assert_allclose(graph.weights, expected.graph_.weights, atol=1e-9)
    np.testing.assert_array_equal(run.model.change_, expected.change_)
    assert run.model.classes_.tolist() == ["old", "new"]
    assert {("a", "b"), ("c", "d")} <= names_of(run.changes)
    sure = run.changes[run.changes["pvalue_familywise"] <= 0.05]
    edges = pd.read_csv(run.out / "edges.csv").dropna(subset="target")
    assert names_of(edges) == names_of(sure)
    assert names_of(run.learned) == names_of(expected.graph_.edges())
    assert len(run.changes) == 15
    for picture in ("change.png", "matrix.png", "permutation.png"):
        assert (run.out / picture).read_bytes().startswith(b"\x89PNG")
    page = (run.out / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<img alt=") == 1
    top = sure.loc[sure["difference"].abs().idxmax()]
    assert f"the largest significant change is between {top.source} and {top.target} (" in page
    assert "<td>a</td><td>b</td><td>gained</td>" in page


def test_table_of_changes(compare, groups):
    """Each p-value stands beside the size of its own statistic."""
    run = compare(groups, "--by", "era", "--pair", "old,new", *QUICK)
    rows, y = groups[list("abcdef")], ordered(groups)
    test = compare_networks(rows, y, n_permutations=99, random_state=0)
    pd.testing.assert_frame_equal(run.changes, test.table(), check_dtype=False)
    sure = test.significant(0.05, by="familywise")
    graph = Graph.read(run.out / "graph.graphml")
    np.testing.assert_allclose(graph.weights, sure.weights, atol=1e-12)
    np.testing.assert_allclose(
        graph.confidence[graph.adjacency], sure.confidence[sure.adjacency], atol=1e-12
    )


def test_table_of_coefficients(compare, groups):
    """Kinds as the simulation has them, where the pair is significant; without p-values."""
    run = compare(groups, "--by", "era", "--pair", "old,new", *QUICK)
    heads = ["source", "target", "change", "before", "after", "kind", "both_directions"]
    assert list(run.learned.columns) == heads
    learned = run.learned.set_index(["source", "target"])
    assert learned.loc[("a", "b"), "kind"] == "gained"
    assert learned.loc[("a", "b"), "before"] == 0 < learned.loc[("a", "b"), "after"]
    assert learned.loc[("c", "d"), "kind"] == "flipped"
    assert learned.loc[("a", "b"), "change"] > 0 > learned.loc[("c", "d"), "change"]
    assert learned.loc[[("a", "b"), ("c", "d")], "both_directions"].all()
    changes = run.changes.set_index(["source", "target"]).loc[learned.index]
    sure = learned.kind.isin(["gained", "lost", "flipped", "stronger", "weaker"])
    np.testing.assert_array_equal(sure, changes.pvalue_familywise <= 0.05)


def test_record_tells_what_was_done(compare, groups):
    record = compare(groups, "--by", "era", "--pair", "old,new", *QUICK, "--seed", "3").record
    assert record["command"] == "compare"
    assert record["seed"] == 3
    assert record["labels"] == {"before": "old", "after": "new"}
    assert record["n_rows"] == {"before": 90, "after": 70}
    assert record["data"]["by"] == "era"
    assert record["data"]["names"] == list("abcdef")
    assert (record["data"]["n_samples"], record["data"]["n_features"]) == (160, 6)
    assert record["parameters"]["method"] == "ratio"
    assert record["parameters"]["basis"] == "gaussian"
    assert record["parameters"]["n_permutations"] == 99
    assert record["parameters"]["standardize"] == "within"
    assert (record["alpha"], record["alpha_rule"]) == (0.3, None)
    assert 0 < record["effective_sample_size"] <= 90
    assert 0 <= record["directions"]["agreement"] <= 1
    assert record["test"]["pvalue"] == pytest.approx(0.01)
    assert record["test"]["n_permutations"] == 99
    assert record["test"]["pvalues"]["partial correlations, largest"] == pytest.approx(0.01)
    assert record["converged"] is True
    (note,) = record["treatment"]
    assert "standardised within each group" in note
    assert record["warnings"] == []


def test_summary_in_words(compare, groups):
    run = compare(groups, "--by", "era", "--pair", "old,new", "--alpha", "0.3")
    out = run.result.stdout
    verdict, *_ = out.splitlines()
    assert verdict.startswith(
        "The networks of old (90 rows) and new (70 rows) differ: p = 0.001, 999 permutations, "
        "6 columns of "
    )
    largest = run.changes.iloc[0]
    line = f"{largest.source} -- {largest.target}  {largest.estimate_first:+.2f} to "
    line += f"{largest.estimate_second:+.2f}  {largest.difference:+.2f}  p 0.001"
    assert line in out
    n_sure = (run.changes.pvalue_familywise <= 0.05).sum()
    assert f"{n_sure} of {len(run.changes)} pairs have p <= 0.05." in out
    assert out.count("  p 0.") == min(n_sure, 5)
    assert "means differ in 0 of 6 columns" in out


def test_identical_groups_do_not_differ(compare):
    rows = pd.DataFrame(np.random.default_rng(5).normal(size=(80, 4)), columns=list("abcd"))
    run = compare(rows.assign(era=[0, 1] * 40), "--by", "era", "--permutations", "19")
    assert "No significant difference between the networks" in run.result.stdout
    assert run.record["test"]["pvalue"] > 0.05


def test_a_ranking_is_not_to_be_trusted_because_both_directions_have_it(compare, groups):
    options = ("--by", "era", "--alpha", "0.02", "--permutations", "99")
    mixed = groups.assign(era=np.random.default_rng(0).permutation(groups["era"]))
    said = compare(mixed, *options).result.stdout
    assert said.startswith("No significant difference")
    assert "The directions disagree" in said
    assert "Trust" not in said
    weaker = groups.assign(b=groups["b"] + 0.5 * groups["c"])
    said = compare(weaker, *options).result.stdout
    assert re.search(r"directions disagree: .* are the same\. Trust those that both found\.", said)


def test_few_permutations_tell_nothing(compare, groups):
    out = compare(groups, "--by", "era", "--alpha", "0.3", "--permutations", "9").result.stdout
    assert out.startswith("Too few permutations to say whether the networks of new (70 rows)")


def test_alpha_is_chosen_by_held_out_rows(compare, groups):
    run = compare(groups, "--by", "era", "--permutations", "0", "--set", "alpha_ratio=0.2")
    model = NetworkChange(CV(alpha_ratio=0.2), standardize="within", random_state=0)
    with pytest.warns(SelectionWarning):
        expected = model.fit(groups[list("abcdef")], groups.era)
    assert "Pass --set alpha_ratio=0.02" in run.result.stderr
    assert run.record["alpha_rule"] == "cv"
    assert run.record["alpha"] == pytest.approx(expected.alpha_, rel=1e-9)
    assert "chosen out of 30 by held-out rows" in run.result.stdout


@pytest.mark.drawn
def test_nothing_changed_is_written_whole(compare, groups):
    run = compare(groups, "--by", "era", "--alpha", "5", "--permutations", "3")
    # No empty frames, and a table of all pairs.
    drawn = {"change.png", "matrix.png"}
    assert {path.name for path in run.out.iterdir()} == {*CHANGE_FILES} - drawn
    assert run.record["n_edges"] == 0
    assert run.learned.empty
    assert len(run.changes) == 15
    assert "<td>a</td><td>b</td>" in (run.out / "report.html").read_text()
    assert "Density ratio: 0 pairs (coefficients.csv) at alpha 5" in run.result.stdout
    assert "Too few permutations to say whether" in run.result.stdout
    assert Graph.read(run.out / "graph.graphml").n_nodes == 6


def test_no_permutations(compare, groups):
    run = compare(groups, "--by", "era", "--alpha", "0.3", "--permutations", "0")
    assert not (run.out / "permutation.png").exists()
    assert "test" not in run.record
    assert not (run.out / "columns.csv").exists()
    assert run.changes is None
    assert set(run.learned.kind) <= {"increased", "decreased"}
    assert not any("pvalue" in name for name in run.learned)
    assert "was not tested" in run.result.stdout.splitlines()[0]
    assert "permutation.png" not in run.result.stdout
    assert Graph.read(run.out / "graph.graphml").confidence is None


def test_pair_sets_the_direction(compare, groups):
    ahead = compare(groups, "--by", "era", "--pair", "old,new", *QUICK)
    back = compare(groups, "--by", "era", "--pair", "new,old", *QUICK)
    plain = compare(groups, "--by", "era", *QUICK)
    assert back.record["labels"] == {"before": "new", "after": "old"}
    signs = [run.changes.set_index(["source", "target"]).difference for run in (ahead, back)]
    assert signs[0][("a", "b")] > 0 > signs[1][("a", "b")]
    kind = back.learned.set_index(["source", "target"]).kind
    assert kind[("a", "b")] == "lost"
    # Sorted, and said so.
    pd.testing.assert_frame_equal(plain.changes, back.changes)
    assert "use --pair old,new to reverse" in plain.result.stdout
    assert "turns it round" not in back.result.stdout


@pytest.mark.parametrize(
    ("values", "pair", "labels"),
    [
        ([2006, 2005], None, ("2005", "2006")),
        ([2006, 2005], "2006, 2005", ("2006", "2005")),
        ([0.5, 1.0], "1,0.5", ("1", "0.5")),
        ([True, False], None, ("False", "True")),
        ([True, False], "true,FALSE", ("True", "False")),
        (["b, then", "a"], "b, then,a", ("b, then", "a")),
        (["x", " y "], "x,y", ("x", "y")),
    ],
)
def test_labels_of_any_type(compare, groups, values, pair, labels):
    label = np.where(groups.era == "old", values[0], values[1])
    named = () if pair is None else ("--pair", pair)
    run = compare(groups.assign(era=label), "--by", "era", *QUICK, *named)
    found = run.record["labels"]
    assert (found["before"].strip(), found["after"].strip()) == labels
    assert "turns it round" not in run.result.stdout


def test_a_pair_of_three_labels(compare, groups):
    other = groups.assign(era="other")
    run = compare(pd.concat([groups, other]), "--by", "era", "--pair", "old,new", *QUICK)
    assert run.record["n_rows"] == {"before": 90, "after": 70}
    assert run.record["data"]["n_samples"] == 160
    expected = NetworkChange(alpha=0.3, standardize="within").fit(
        groups[list("abcdef")], ordered(groups)
    )
    np.testing.assert_allclose(run.model.change_, expected.change_, atol=1e-12)


@pytest.mark.parametrize("values", [(0, 1), (False, True), ("no", "yes")])
def test_columns_of_two_values(compare, values):
    rng = np.random.default_rng(2)
    votes = rng.choice([-1, 1], size=(200, 4))
    era = np.repeat([1, 2], 100)
    votes[era == 2, 1] = votes[era == 2, 0] * rng.choice([1, 1, 1, -1], size=100)
    frame = pd.DataFrame(np.where(votes > 0, values[1], values[0]), columns=list("abcd"))
    run = compare(frame.assign(era=era), "--by", "era", *QUICK)
    assert run.record["parameters"]["basis"] == "ising"
    expected = NetworkChange(alpha=0.3, basis="ising").fit(votes.astype(float), era)
    np.testing.assert_allclose(run.model.change_, expected.change_, atol=1e-12)
    assert f"'a', {values[0]} is -1 and {values[1]} is 1" in run.record["treatment"][0]
    assert not any("standardised" in note for note in run.record["treatment"])
    assert "--method dtrace" not in run.result.stdout


def test_basis_on_request(compare):
    """Numbers stay numbers if asked for, and a table with another column is no table of votes."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.integers(2, size=(60, 3)), columns=list("abc"))
    labelled = frame.assign(era=[0, 1] * 30)
    run = compare(labelled, "--by", "era", "--basis", "gaussian", *QUICK)
    assert run.record["parameters"]["basis"] == "gaussian"
    assert not any("-1" in note for note in run.record["treatment"])
    mixed = labelled.assign(d=rng.normal(size=60))
    assert compare(mixed, "--by", "era", *QUICK).record["parameters"]["basis"] == "gaussian"


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (["--basis", "power", "--set", "degree=1"], {"basis": "power", "degree": 1}),
        (["--basis", "power"], {"basis": "power"}),
        (["--basis", "polynomial"], {"basis": "polynomial"}),
        (["--set", "ridge=0.5"], {"ridge": 0.5}),
        (["--set", "negligible=0.3"], {"negligible": 0.3}),
        (["--set", "tol=1e-3", "--set", "max_iter=50"], {"tol": 1e-3, "max_iter": 50}),
    ],
)
def test_options_reach_the_estimator(compare, groups, options, parameters):
    run = compare(groups, "--by", "era", "--alpha", "0.5", "--permutations", "0", *options)
    expected = NetworkChange(alpha=0.5, standardize="within", **parameters).fit(
        groups[list("abcdef")], groups.era
    )
    np.testing.assert_allclose(run.model.change_, expected.change_, atol=1e-12)
    assert len(run.learned) == expected.graph_.n_edges
    assert parameters.items() <= run.record["parameters"].items()


@pytest.mark.slow
def test_degree_is_chosen(compare, groups):
    options = ("--basis", "power", "--set", "degree=1,2", "--permutations", "2")
    run = compare(groups, "--by", "era", *options)
    expected = NetworkChange(
        basis="power", degree=[1, 2], standardize="within", random_state=0
    ).fit(groups[list("abcdef")], groups.era)
    assert run.record["degree"] == expected.degree_
    assert run.record["parameters"]["degree"] == [1, 2]
    # Lengths of vectors have no sign.
    run = compare(groups, "--by", "era", "--basis", "polynomial", *QUICK)
    assert "+" not in "".join(run.result.stdout.splitlines()[3:6])


@pytest.mark.parametrize(
    ("method", "name", "parameters"),
    [
        ("dtrace", "DTraceChange", {"ridge": 0.2}),
        ("fused", "FusedNetworkChange", {"coupling": 0.1}),
        ("separate", "SeparateNetworkChange", {}),
    ],
)
def test_other_methods(compare, groups, method, name, parameters):
    given = [
        text
        for key, value in parameters.items()
        for text in (("--set", f"{key}={value}") if key == "ridge" else (f"--{key}", value))
    ]
    run = compare(groups, "--by", "era", "--method", method, *QUICK, *given)
    within = groups.groupby("era")[list("abcdef")]
    rows = (groups[list("abcdef")] - within.transform("mean")) / within.transform("std", ddof=0)
    expected = getattr(edgewise, name)(alpha=0.3, **parameters).fit(rows, groups.era)
    assert type(run.model).__name__ == name
    np.testing.assert_allclose(run.model.change_, expected.change_, atol=1e-9)
    assert run.record["parameters"]["method"] == method
    assert "effective_sample_size" not in run.record
    assert "directions" not in run.result.stdout
    assert "both_directions" not in run.learned


def test_rule_of_separate_networks(compare, groups):
    run = compare(groups, "--by", "era", "--method", "separate", "--permutations", "0")
    assert run.record["alpha_rule"] == "ebic"
    assert "by the extended BIC" in run.result.stdout


def test_jobs_and_seed(compare, groups):
    def values(*options):
        out = compare(groups, "--by", "era", "--alpha", "0.2", "--permutations", "19", *options)
        return out.changes[["pvalue", "qvalue"]].to_numpy()

    np.testing.assert_array_equal(values(), values("--jobs", "2"))
    assert not np.array_equal(values(), values("--seed", "1"))


@pytest.mark.slow
def test_columns_are_chosen(compare, groups):
    text = groups.assign(city="Ulm")
    for options in (
        ["--drop", "city,f"],
        ["--columns", "a,b,c,d,e"],
        ["--columns", "a,b,c,d,e,era"],
    ):
        run = compare(text, "--by", "era", *QUICK, *options)
        assert run.record["data"]["names"] == list("abcde")
        note, *_ = run.record["treatment"]
        assert "era" not in note


def test_means_do_not_count(compare, groups):
    """A shift of one group is no change of links, and permutations do not mix the means."""
    shifted = groups.copy()
    shifted.loc[groups.era == "new", list("abcdef")] += 20.0
    plain, moved = (compare(rows, "--by", "era", *QUICK) for rows in (groups, shifted))
    np.testing.assert_allclose(moved.changes.pvalue, plain.changes.pvalue)
    np.testing.assert_allclose(moved.learned.change, plain.learned.change, atol=1e-9)
    assert moved.result.stderr == ""


def test_units_do_not_count(compare, groups):
    other = groups.assign(a=1e4 * groups.a)
    plain, scaled = (compare(rows, "--by", "era", *QUICK) for rows in (groups, other))
    pd.testing.assert_frame_equal(plain.changes, scaled.changes, rtol=1e-6, atol=1e-6)
    assert scaled.result.stderr == ""


def test_a_column_that_varies_in_one_group_only(compare, groups):
    still = groups.assign(f=groups.f.where(groups.era == "new", 1.0))
    run = compare(still, "--by", "era", *QUICK)
    assert "is constant in group" in run.result.stderr
    assert run.record["warnings"]


def test_kinds_without_networks(compare, groups):
    """Copies within a group have no partial correlations; the sign is told still."""
    votes = (groups[list("abcd")] > 0).assign(era=groups.era)
    votes["d"] = votes.c.where(votes.era == "new", votes.d)
    run = compare(votes, "--by", "era", *QUICK)
    assert set(run.learned.kind) <= {"increased", "decreased"}
    assert any("without the networks" in note for note in run.record["treatment"])


def test_json_is_one_object_and_nothing_else(run, groups, tmp_path):
    groups.to_csv("data.csv", index=False)
    result = run("compare", "data.csv", "--by", "era", *QUICK, "--json", "--out", "here")
    document = json.loads(result.stdout)
    changes = pd.read_csv("here/changes.csv")
    assert len(document["changes"]) == len(changes) == 15
    assert document["n_edges"] == (changes.pvalue_familywise <= 0.05).sum()
    assert document["verdict"] == {"p_value": document["test"]["pvalue"], "differ": True}
    assert document["changes"][0]["pvalue_familywise"] == changes.pvalue_familywise[0]
    assert sorted(document["files"]) == sorted(CHANGE_FILES)
    record = json.loads((tmp_path / "here" / "run.json").read_text())
    assert record.pop("files") == list(document["files"])
    assert record.items() <= document.items()


@pytest.mark.slow
def test_files_of_another_command_go(run, groups, tmp_path):
    groups.to_csv("data.csv", index=False)
    run("learn", "data.csv", "--drop", "era", "--alpha", "0.3", "--out", "here")
    Path("here/notes.txt").write_text("mine")
    run("compare", "data.csv", "--by", "era", *QUICK, "--out", "here")
    names = {path.name for path in Path("here").iterdir()}
    assert names == {"notes.txt", *CHANGE_FILES}
    run("learn", "data.csv", "--drop", "era", "--alpha", "0.3", "--out", "here")
    assert {path.name for path in Path("here").iterdir()} == {"notes.txt", *FILES, *INTERVALS}


BASE = "a,b,era\n1.5,2,x\n2,4.5,x\n3.25,1,y\n0,1.5,y\n1,1,x\n2,2.5,y\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["There is no file data.csv"]),
        (
            "a,b,time\n1.5,2,x\n2,4,y\n",
            ["--by names 'era'", "not a column of data.csv", "Did you mean"],
        ),
        (BASE.replace("y", "x"), ["Every row", "'x'", "'era'", "at least two labels"]),
        (BASE + "1,2,z\n", ["Only 1 row", "'z'", "--where"]),
        (
            BASE.replace("0,1.5,y\n", "").replace("2,2.5,y\n", ""),
            ["Only 1 row", "'y'", "at least 2"],
        ),
        (BASE + "1,2,\n", ["1 missing label", "row 7"]),
        (
            BASE.replace("2,4.5", ",4.5"),
            ["in column 'a' (1)", "--by era --missing drop`"],
        ),
        ("a,b,era\n1,2,x\n2,2,x\n3,2,y\n1.5,2,y\n", ["'b' has one value in every row"]),
        ("a,b,c,era\n1.5,2,u,x\n2,4,v,x\n3,1,w,y\n1,2,q,y\n", ["'c'", "text", "--drop c"]),
        ("a,b,c,era\n1,1,u,x\n0,0,v,x\n1,0,w,y\n0,1,q,y\n", ["'c'", "text", "--drop c"]),
        ("a,era\n1.5,x\n2,x\n3,y\n1,y\n", ["at least 2 columns", "1 left", "'a'"]),
        (BASE.replace("3.25", "inf"), ["'a'", "infinite"]),
    ],
)
def test_tables_that_cannot_be_used(run, tmp_path, content, words):
    if content is not None:
        (tmp_path / "data.csv").write_text(content)
    line = complaint(run, "data.csv", "--by", "era")
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ["--by COLUMN", "--window ROWS"]),
        (["--by", "era", "--window", "3"], ["--by", "--window", "one of them"]),
        (["--by", "Era"], ["'Era'", "Did you mean 'era'"]),
        (["--by", "era", "--step", "3"], ["--step requires --window"]),
        (["--by", "era", "--reference", "3"], ["--reference requires --window"]),
        (["--by", "era", "--pair", "old"], ["--pair takes two labels", "'old'"]),
        (
            ["--by", "era", "--pair", "old,newer"],
            ["'newer'", "not a label", "'era'", "'new'"],
        ),
        (["--by", "era", "--pair", "old,old"], ["one label twice"]),
        (["--by", "era", "--alpha", "ebic"], ["alpha must be", "got ebic"]),
        (["--by", "era", "--alpha", "-1"], ["alpha must be"]),
        (["--by", "era", "--set", "ridge=-1"], ["ridge must be"]),
        (["--by", "era", "--set", "negligible=-1"], ["negligible must be"]),
        (["--by", "era", "--permutations", "-1"], ["--permutations must be at least 1, or 0"]),
        (
            ["--by", "era", "--set", "degree=3"],
            ["--set degree requires --basis power or polynomial", "gaussian"],
        ),
        (["--by", "era", "--basis", "power", "--set", "degree=two"], ["whole numbers", "'two'"]),
        (
            ["--by", "era", "--basis", "polynomial", "--set", "degree=1"],
            ["degree must be", "at least 2"],
        ),
        (
            ["--by", "era", "--basis", "power", "--set", "degree=2,3", "--alpha", "0.3"],
            ["Several degrees", "--alpha cv"],
        ),
        (["--by", "era", "--basis", "ising"], ["two values", "'a'", "--drop"]),
        (
            ["--by", "era", "--method", "dtrace", "--basis", "power"],
            ["--basis is for --method ratio"],
        ),
        (
            ["--by", "era", "--method", "fused", "--set", "ridge=1"],
            ["--set ridge is for --method ratio or dtrace"],
        ),
        (["--by", "era", "--coupling", "1"], ["--coupling is for --method fused", "ratio"]),
        (["--by", "era", "--drop", "z"], ["--drop names 'z'"]),
        (["--by", "era", "--drop", "a,b,c,d,e,f"], ["leave no column"]),
        (["--by", "era", "--jobs", "0"], ["--jobs 0"]),
        (["--by", "era", "--set", "alpha_ratio=2"], ["--set alpha_ratio"]),
        (["--by", "era", "--set", "tol=0"], ["--set tol must be positive"]),
        (
            ["--by", "era", "--method", "dtrace", "--set", "device=cuda"],
            ["--set device is for --method ratio", "dtrace"],
        ),
        (
            ["--by", "era", "--set", "device=cuda", "--alpha", "0.3"],
            ["--set device=cuda", "pip install edgewise[gpu]"],
        ),
    ],
)
def test_options_that_cannot_be_used(run, groups, options, words, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    groups.to_csv("data.csv", index=False)
    line = complaint(run, "data.csv", *options)
    assert all(word in line for word in words), line


@pytest.mark.parametrize("method", ["ratio", "dtrace"])
def test_a_device_that_is_the_cpu(compare, groups, method):
    options = ["--by", "era", "--method", method, *QUICK]
    plain = compare(groups, *options).model
    for device in ("cpu", "auto"):
        model = compare(groups, *options, "--set", f"device={device}").model
        np.testing.assert_array_equal(model.change_, plain.change_)
        if method == "ratio":
            assert model.device == device


def test_too_few_rows_to_choose_alpha(run, groups):
    few = pd.concat([groups[groups.era == "old"], groups[groups.era == "new"].head(2)])
    few.to_csv("data.csv", index=False)
    line = complaint(run, "data.csv", "--by", "era")
    assert "smaller group has 2 rows" in line
    assert "--alpha" in line


def test_few_rows_take_fewer_folds(compare, groups):
    few = pd.concat([groups[groups.era == "old"], groups[groups.era == "new"].head(4)])
    run = compare(few, "--by", "era", "--permutations", "0")
    assert run.model.selection_.details.shape[1] == 4


@pytest.mark.parametrize("option", ["--method", "--basis"])
def test_unknown_choices_are_usage_errors(run, option):
    assert "Error" in run("compare", "data.csv", option, "x", code=2).stderr


def test_spreads_are_no_network(compare):
    """As between two kinds of leukaemia: spreads differ and networks do not."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(70, 8)) + rng.normal(size=(70, 1))
    rows[45:] *= np.exp(rng.normal(size=8))
    frame = pd.DataFrame(rows, columns=list("abcdefgh")).assign(kind=["ALL"] * 45 + ["AML"] * 25)
    run = compare(frame, "--by", "kind", "--permutations", "199")
    assert "No significant difference between the networks" in run.result.stdout.splitlines()[0]
    assert "pairs changed" not in run.result.stdout
    assert set(run.learned.kind) <= {"increased", "decreased"}
    columns = pd.read_csv(run.out / "columns.csv")
    assert (columns.spread_pvalue_familywise <= 0.05).sum() >= 3
    pooled = compare(frame, "--by", "kind", "--set", "standardize=pooled", "--alpha", "0.3")
    assert np.abs(pooled.model.change_.diagonal()).max() > np.abs(run.model.change_).max()


def test_correlations_that_all_rise_are_found_whatever_alpha(compare):
    """As of stocks in a crisis: a test by a selected alpha said p = 1."""
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(160, 10))
    rows[:80] += 0.5 * rng.normal(size=(80, 1))
    rows[80:] += 1.2 * rng.normal(size=(80, 1))
    frame = pd.DataFrame(rows).add_prefix("s").assign(year=[2006] * 80 + [2008] * 80)
    run = compare(frame, "--by", "year", "--alpha", "9", "--permutations", "199")
    assert run.result.stdout.startswith("The networks of 2006 (80 rows) and 2008 (80 rows) differ")
    assert run.learned.empty
    assert "Significant changes of correlations" in run.result.stdout


def test_means_of_hidden_groups_count_as_dependence_in_both(compare):
    """As of penguins by sex: three species set the means in both groups alike."""
    rng = np.random.default_rng(7)
    species = rng.integers(3, size=(120, 1)) * np.array([3.0, -2.0, 1.0, 0.0])
    frame = pd.DataFrame(rng.normal(size=(120, 4)) + species, columns=list("abcd"))
    run = compare(frame.assign(sex=["f", "m"] * 60), "--by", "sex", "--permutations", "199")
    assert run.result.stdout.startswith("No significant difference")
    assert "means differ in 0 of 4 columns" in run.result.stdout


def test_the_headline_names_what_is_significant_or_says_that_nothing_is():
    weights = np.zeros((3, 3))
    weights[0, 1], weights[1, 2] = 1.0, -0.5
    graph, empty = Graph(weights + weights.T), Graph(np.zeros((3, 3)))
    some = SimpleNamespace(pvalue=0.001)
    largest = "the largest significant change is between x0 and x1 (+1.00)"
    assert _finding(graph, some, PARTIAL) == largest
    of_correlations = _finding(graph, some, "correlations")
    assert of_correlations == (
        f"no partial correlation is significant by itself; of correlations, {largest}"
    )
    assert _finding(empty, some, PARTIAL) == "no single pair of columns is significant by itself"
    assert _finding(empty, SimpleNamespace(pvalue=0.4), PARTIAL) == ""
    assert _finding(graph, None, PARTIAL) == "the largest change is between x0 and x1 (+1.00)"


def test_a_verdict_names_the_correlations_it_rests_on(compare):
    """A factor that grows: every correlation rises, and partial ones hardly do."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(160, 6)) * 0.6
    rows += np.repeat([0.35, 0.9], 80)[:, None] * rng.normal(size=(160, 1))
    frame = pd.DataFrame(rows, columns=list("abcdef")).assign(half=np.repeat([1, 2], 80))
    run = compare(frame, "--by", "half", "--permutations", "199")
    changes = run.changes
    assert not (changes["pvalue_familywise"] <= 0.05).any()
    assert (changes["correlation_pvalue_familywise"] <= 0.05).any()
    assert (
        "No partial correlation is significant by itself. Significant changes of correlations"
        in (run.result.stdout)
    )
    top = changes.loc[changes["correlation_standardized"].abs().idxmax()]
    line = f"{top.source} -- {top.target}  {top.correlation_first:+.2f} to "
    line += f"{top.correlation_second:+.2f}  {top.correlation_difference:+.2f}  p "
    assert line in run.result.stdout
    graph = Graph.read(run.out / "graph.graphml")
    sure = changes[changes["correlation_pvalue_familywise"] <= 0.05]
    assert names_of(graph.edges()) == names_of(sure)


def test_a_column_of_text_may_be_a_batch(run, groups, monkeypatch):
    given = ["compare", "data.csv", "--by", "era"]
    monkeypatch.setattr("sys.argv", ["edgewise", *given])
    groups.assign(batch=np.tile(["one", "two"], 80)).to_csv("data.csv", index=False)
    line = complaint(run, *given[1:])
    assert "`edgewise compare data.csv --by era --adjust batch`" in line


@pytest.mark.drawn
def test_the_page_does_not_say_in_which_folder_the_table_was(compare, groups):
    run = compare(groups, "--by", "era", "--pair", "old,new", *QUICK)
    page = (run.out / "report.html").read_text()
    file = Path(json.loads((run.out / "run.json").read_text())["data"]["file"])
    assert file.is_absolute()
    title, headline = re.search(
        r"<title>(.*?)<.*?class=.headline.>(.*?)<", page, re.DOTALL
    ).groups()
    assert title == f"edgewise compare: {file.name}"
    assert file.name in headline
    assert str(file) not in title + headline
