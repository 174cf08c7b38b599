"""``edgewise learn`` on columns that are sites in space."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import edgewise
from edgewise import CV, BootstrapGraph, Graph, LocallyConstantGraph
from edgewise.cli.learn import fit as _pictures
from edgewise.data import make_block_model, neighbor_pairs
from tests.cli.files import FILES, INTERVALS, SPACE_FILES

STRENGTHS = ("--alpha", "0.05", "--set", "tau=0.1")


@pytest.fixture(scope="module")
def pixels():
    """Images of 3 x 4 pixels, in which patches of pixels go together."""
    model = make_block_model((3, 4), n_blocks=1, size=2, rng=1)
    names = [f"r{row}c{column}" for row in range(3) for column in range(4)]
    return pd.DataFrame(model.sample(80, rng=0), columns=names)


def fitted(frame, neighbors, alpha=0.05, tau=0.1, **options):
    return LocallyConstantGraph(alpha, tau, neighbors=neighbors, random_state=0, **options).fit(
        frame
    )


def complaint(run, *arguments):
    result = run("learn", *arguments, code=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.drawn
def test_everything_is_written_and_agrees(learn, pixels):
    run = learn(pixels, "--grid", "3x4", *STRENGTHS)
    expected = fitted(pixels, (3, 4))
    assert sorted(path.name for path in run.out.iterdir()) == sorted((*FILES, *SPACE_FILES))
    for picture in SPACE_FILES:
        assert (run.out / picture).read_bytes().startswith(b"\x89PNG")
    graph = Graph.read(run.out / "graph.graphml")
    np.testing.assert_allclose(graph.weights, expected.graph_.weights, atol=1e-12)
    model = edgewise.load(run.out / "model.edgewise")
    np.testing.assert_array_equal(model.precision_, expected.precision_)
    np.testing.assert_array_equal(model.groups_, expected.groups_)
    assert "sites.png, seeds.png" in run.result.stdout


def test_record_tells_what_was_done(learn, pixels):
    record = learn(pixels, "--grid", "3x4", *STRENGTHS).record
    expected = fitted(pixels, (3, 4))
    assert record["parameters"]["method"] == "locally-constant"
    assert record["parameters"]["neighbors"] == [3, 4]
    assert (record["alpha"], record["alpha_rule"]) == (0.05, None)
    assert (record["tau"], record["tau_rule"]) == (0.1, None)
    assert record["n_groups"] == expected.groups_.max() + 1
    assert record["n_groups"] < record["n_edges"]
    assert record["converged"] is True


def test_unusual_sites_get_no_advice_that_space_refuses(learn, pixels):
    skewed = np.exp(1.5 * pixels)
    skewed["r0c0"] = np.round(np.minimum(skewed["r0c0"], 5.0))
    said = learn(skewed, "--grid", "3x4", *STRENGTHS).result.stderr
    assert "are skewed" in said
    assert "square roots of all columns may help." in said, "0 has no logarithm"
    for refused in ("--covariance", "--drop", "whole numbers"):
        assert refused not in said
    said = learn(np.exp(1.5 * pixels), "--grid", "3x4", *STRENGTHS).result.stderr
    assert "logarithms of all columns may help." in said
    said = learn(np.exp(1.5 * pixels) - 1.0, "--grid", "3x4", *STRENGTHS).result.stderr
    assert "a look at their rows may help." in said, "what is below 0 has no root"


def test_summary_in_words(learn, pixels):
    run = learn(pixels, "--grid", "3x4", *STRENGTHS)
    out = run.result.stdout
    counts = f"{run.record['n_edges']} edges, fused into {run.record['n_groups']} groups, among"
    assert f"{counts} the 12 columns" in out
    assert "Strongest, by partial correlation:" in out
    assert "alpha 0.05 and tau 0.1, as given" in out
    assert "The fit is" in out


def test_summary_of_an_empty_graph_and_of_one_without_ties(learn, pixels):
    empty = learn(pixels, "--grid=chain", "--alpha", "5", "--set", "tau=0.1")
    assert "0 edges among" in empty.result.stdout
    assert "this alpha and tau. Smaller ones" in empty.result.stdout
    assert sorted(path.name for path in empty.out.iterdir()) == sorted((*FILES, "sites.png"))
    loose = learn(pixels, "--grid=chain", "--alpha", "0.05", "--set", "tau=0")
    assert f"{len(loose.edges)} edges, none fused, among" in loose.result.stdout


@pytest.mark.parametrize(
    ("options", "neighbors"),
    [
        (["--grid=chain"], "chain"),
        (["--grid=ring"], "ring"),
        (["--grid", "4x3"], (4, 3)),
        (["--grid", "2X3x2"], (2, 3, 2)),
    ],
)
def test_places(learn, pixels, options, neighbors):
    run = learn(pixels, *options, *STRENGTHS)
    graph = Graph.read(run.out / "graph.graphml")
    expected = fitted(pixels, neighbors).graph_
    np.testing.assert_allclose(graph.weights, expected.weights, atol=1e-12)
    assert (run.out / "sites.png").is_file()
    assert (run.out / "seeds.png").is_file() == ("--grid" in options)
    others = {"chain", "ring", (4, 3), (2, 3, 2)} - {neighbors}
    assert all(fitted(pixels, other).graph_ != expected for other in others)


@pytest.mark.parametrize("header", ["", "one,other\n", "\n"])
@pytest.mark.parametrize("kind", ["names", "numbers"])
def test_pairs(learn, pixels, tmp_path, kind, header):
    pairs = neighbor_pairs((3, 4), 12)
    cells = pairs if kind == "numbers" else np.array(pixels.columns)[pairs]
    lines = [",".join(str(cell) for cell in pair) for pair in cells.tolist()]
    (tmp_path / "pairs.csv").write_text(header + "\n".join(lines))
    run = learn(pixels, "--grid", tmp_path / "pairs.csv", *STRENGTHS)
    graph = Graph.read(run.out / "graph.graphml")
    np.testing.assert_allclose(graph.weights, fitted(pixels, (3, 4)).graph_.weights, atol=1e-9)
    assert run.record["parameters"]["neighbors"] == pairs.tolist()
    assert run.record["data"]["pairs"]["n_pairs"] == len(pairs)
    assert len(run.record["data"]["pairs"]["sha256"]) == 64
    was_header = [note for note in run.record["treatment"] if "header" in note]
    assert len(was_header) == header.startswith("one")


def test_numbers_that_are_names_are_names(learn, pixels, tmp_path):
    shifted = pixels.set_axis([str(k) for k in range(1, 13)], axis=1)
    (tmp_path / "pairs.csv").write_text("1;2\n2;3\n")
    run = learn(shifted, "--grid", tmp_path / "pairs.csv", *STRENGTHS)
    assert run.record["parameters"]["neighbors"] == [[0, 1], [1, 2]]
    assert any("9 of 12 variables have no neighbour" in n for n in run.record["treatment"])
    assert "no neighbour.\n" in run.result.stdout
    (tmp_path / "pairs.csv").write_text("0;1\n1;2\n")
    run = learn(shifted, "--grid", tmp_path / "pairs.csv", *STRENGTHS)
    assert run.record["parameters"]["neighbors"] == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["There is no file pairs.csv"]),
        ("", ["pairs.csv lists no pairs"]),
        ("from,to\n", ["pairs.csv lists no pairs"]),
        ("r0c0,r0c1,r0c2\n", ["Line 1", "3 fields", "needs 2"]),
        ("r0c0\n", ["Line 1", "1 field;"]),
        ("r0c0,r0cl\n", ["Line 1", "'r0cl'", "not a column of data.csv", "'r0c1'"]),
        ("r0c0,r0c1\nr0c1,2\n", ["Line 2", "'2'", "is not a column"]),
        ("0,1\n1,12\n", ["Line 2", "names column 12", "12 columns", "0 to 11"]),
        ("0,1\n-1,2\n", ["Line 2", "'-1'"]),
        ("a,b\n\n3,3\n", ["Line 3", "pairs '3' with itself"]),
        ("0,1\n1,2\n1,0\n", ["Lines 1 and 3", "the same pair"]),
    ],
)
def test_pairs_that_cannot_be_used(run, pixels, tmp_path, text, words):
    pixels.to_csv("data.csv", index=False)
    if text is not None:
        (tmp_path / "pairs.csv").write_text(text)
    line = complaint(run, "data.csv", "--grid", "pairs.csv", *STRENGTHS)
    assert all(word in line for word in words), line
    assert not (tmp_path / "edgewise-out").exists()


def test_pairs_must_be_text(run, pixels, tmp_path):
    pixels.to_csv("data.csv", index=False)
    (tmp_path / "pairs.csv").write_bytes(b"\xff\xfe0\x00")
    assert "not UTF-8" in complaint(run, "data.csv", "--grid", "pairs.csv")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--grid", "3x5"], ["--grid 3x5 has 15 sites", "12 columns", "--drop", "--grid"]),
        (["--grid", "12"], ["--grid takes sizes", "'12'"]),
        (["--grid", "3,4"], ["8x8", "'3,4'"]),
        (["--grid", "2x2x2x2"], ["--grid takes sizes"]),
        (
            ["--grid=chain", "--method", "neighborhood"],
            ["--grid fits all columns jointly", "--method neighborhood"],
        ),
        (
            ["--grid=ring", "--covariance", "spearman"],
            ["--grid compares", "--covariance empirical", "spearman"],
        ),
        (["--grid=ring", "--covariance", "correlation"], ["not correlation"]),
        (["--set", "tau=0.1"], ["--set tau requires", "--grid"]),
        (["--set", "constant=drop"], ["--set constant requires", "--grid"]),
        (["--grid=chain", "--set", "tau=-1"], ["tau must be", "-1"]),
        (["--grid=chain", "--set", "tau=ebic"], ["tau must be", "got ebic"]),
        (["--grid=chain", "--alpha", "ebic"], ["alpha must be", "got ebic"]),
        (["--grid=chain", "--alpha", "0"], ["alpha must be positive"]),
        (
            ["--grid=ring", "--columns", "r0c0,r0c1"],
            ["at least 3 sites", "2 columns", "--grid chain"],
        ),
    ],
)
def test_options_that_cannot_be_used(run, pixels, options, words):
    pixels.to_csv("data.csv", index=False)
    line = complaint(run, "data.csv", *options)
    assert all(word in line for word in words), line


def test_plain_covariance_may_be_named(learn, pixels):
    named = learn(pixels, "--grid=chain", "--covariance", "empirical", *STRENGTHS)
    assert named.edges.equals(learn(pixels, "--grid=chain", *STRENGTHS).edges)


def test_both_strengths_are_chosen_by_default(learn, pixels):
    run = learn(pixels.iloc[:, :5], "--grid=chain")
    expected = LocallyConstantGraph(random_state=0).fit(pixels.iloc[:, :5])
    assert (run.record["alpha_rule"], run.record["tau_rule"]) == ("cv", "cv")
    assert run.record["alpha"] == pytest.approx(expected.alpha_, rel=1e-9)
    assert run.record["tau"] == pytest.approx(expected.tau_, rel=1e-9)
    words = f"alpha {expected.alpha_:.3g} and tau {expected.tau_:.3g}, chosen out of 8 x 7 by"
    assert f"{words} held-out likelihood" in run.result.stdout


def test_one_strength_is_chosen(learn, pixels):
    frame = pixels.iloc[:, :5]
    run = learn(frame, "--grid=chain", "--alpha", "0.1", "--set", "alpha_ratio=0.01")
    expected = LocallyConstantGraph(0.1, CV(alpha_ratio=0.01), random_state=0).fit(frame)
    assert run.record["tau"] == pytest.approx(expected.tau_, rel=1e-9)
    assert "alpha 0.1, as given; tau" in run.result.stdout
    assert "chosen out of 7 by held-out" in run.result.stdout
    run = learn(frame, "--grid=chain", "--set", "tau=0.1")
    assert "chosen out of 8 by held-out likelihood; tau 0.1, as given" in run.result.stdout


@pytest.mark.slow
def test_confidence_searches_once(learn, pixels):
    frame = pixels.iloc[:, :5]
    run = learn(frame, "--grid=chain", "--resamples", "5")
    found = LocallyConstantGraph(random_state=0).fit(frame)
    learner = LocallyConstantGraph(found.alpha_, found.tau_, random_state=0)
    expected = BootstrapGraph(learner, n_resamples=5, random_state=0).fit(frame)
    model = edgewise.load(run.out / "model.edgewise")
    np.testing.assert_array_equal(model.edge_frequency_, expected.edge_frequency_)
    assert (run.record["alpha"], run.record["alpha_rule"]) == (found.alpha_, "cv")
    assert "chosen out of 8 x 7" in run.result.stdout
    assert "share of 5 resamples" in run.result.stdout
    assert "Note: resamples fitted at the alpha and tau that suit all rows." in run.result.stdout


def test_confidence_with_strengths_as_given(learn, pixels):
    run = learn(pixels, "--grid=chain", *STRENGTHS, "--resamples", "4")
    assert run.edges.confidence.between(0, 1).all()
    assert run.record["treatment"] == []


@pytest.mark.parametrize("constant", ["drop", "ridge"])
def test_constant_columns(learn, run, pixels, tmp_path, constant):
    frame = pixels.assign(r0c0=0.0, r2c3=0.0)
    frame.to_csv("data.csv", index=False)
    line = complaint(run, "data.csv", "--grid", "3x4", *STRENGTHS)
    assert "2 of 12 columns" in line
    assert "'r0c0' and 'r2c3'" in line
    assert "--set constant=drop" in line
    kept = learn(frame, "--grid", "3x4", *STRENGTHS, "--set", f"constant={constant}")
    expected = fitted(frame, (3, 4), constant=constant)
    graph = Graph.read(kept.out / "graph.graphml")
    np.testing.assert_allclose(graph.weights, expected.graph_.weights, atol=1e-12)
    assert f"Note: --set constant={constant}: " in kept.result.stdout


def test_images_of_few_shades_are_taken(learn, tmp_path):
    images, digit = load_digits(return_X_y=True)
    frame = pd.DataFrame(images[digit == 3].astype(int), columns=[f"p{k}" for k in range(64)])
    run = learn(
        frame, "--grid", "8x8", "--alpha", "0.1", "--set", "tau=0.1", "--set", "constant=drop"
    )
    assert run.record["n_nodes"] == 64
    assert any("no column has more than 17 levels" in note for note in run.record["treatment"])


def test_pictures_of_an_earlier_run_go(learn, pixels):
    learn(pixels, "--grid", "3x4", *STRENGTHS)
    run = learn(pixels, "--alpha", "0.1")
    assert sorted(path.name for path in run.out.iterdir()) == sorted(FILES)


def test_sites_of_pairs_are_laid_out(learn, pixels, tmp_path):
    """Of a ring with a lone site, neighbours stand beside each other."""
    pairs = [[k, (k + 1) % 11] for k in range(11)]
    fit = LocallyConstantGraph(0.1, 0.1, neighbors=pairs).fit(pixels)
    places = _pictures._sites(fit)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    step = apart[tuple(np.transpose(pairs))]
    assert step.max() < 1.2 * step.min()
    assert (apart + 1e9 * np.eye(12)).min() > 0.3 * step.min()
    (tmp_path / "pairs.csv").write_text("\n".join(f"{a},{b}" for a, b in pairs))
    run = learn(pixels, "--grid", tmp_path / "pairs.csv", *STRENGTHS)
    assert sorted(path.name for path in run.out.iterdir()) == sorted((*FILES, "sites.png"))


@pytest.mark.slow
def test_json_lists_the_files(run, pixels, tmp_path):
    pixels.to_csv("data.csv", index=False)
    document = json.loads(run("learn", "data.csv", "--grid=ring", *STRENGTHS, "--json").stdout)
    assert sorted(document["files"]) == sorted((*FILES, *INTERVALS, "sites.png"))
    assert document["n_groups"] > 0
    assert document["parameters"]["neighbors"] == "ring"
