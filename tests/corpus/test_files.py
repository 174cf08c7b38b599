"""Every file of the corpus, handed to every command in this process."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

from edgewise.io import read_table
from tests.cases import by_default
from tests.commands import invoke
from tests.corpus.binary_files import BAD_BINARY
from tests.corpus.commands import COMMANDS, about_refusal, contents
from tests.corpus.graph_files import BAD_GRAPHS
from tests.corpus.sound_files import SOUND_FILES, clean_frame, plain
from tests.corpus.text_files import BAD_TEXT, LEFT_OUT

BAD_FILES = [*BAD_TEXT, *BAD_BINARY]


def tell(case):
    return case.name


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("case", SOUND_FILES, ids=tell)
def test_sound_files_are_read_alike(case, tmp_path):
    assert contents(read_table(case.build(tmp_path))) == clean_frame().to_dict("list")


@pytest.mark.parametrize("case", BAD_FILES, ids=tell)
def test_bad_files_are_refused(case, tmp_path):
    file = case.build(tmp_path).name
    found = []
    for command, options in COMMANDS.items():
        outcome = case.outcome_for(command, "commands")
        if outcome.kind == "refused":
            result = invoke(command, file, "--out", "out", *options)
            if said := about_refusal(result, outcome.says, tmp_path / "out"):
                found.append(f"{command}: {said}")
    assert not "\n".join(found)


@pytest.mark.parametrize("case", LEFT_OUT, ids=tell)
def test_columns_without_a_use_are_left_out_and_named(case, tmp_path):
    file = case.build(tmp_path).name
    for command, options in COMMANDS.items():
        result = invoke(command, file, "--out", command, *options)
        assert result.exit_code == 0, result.stderr
        assert all(words in result.stdout for words in case.outcome.says), result.stdout


@pytest.mark.parametrize("case", BAD_FILES, ids=tell)
def test_bad_files_are_refused_piece_by_piece(case, tmp_path):
    if case.outcome_for("learn", "commands").kind == "refused":
        file = case.build(tmp_path).name
        options = ["--stream", "--alpha", "0.1", "--drop", "group", "--out", "out"]
        result = invoke("learn", file, *options)
        assert not about_refusal(result, (), tmp_path / "out")


@pytest.mark.parametrize("case", BAD_GRAPHS, ids=tell)
def test_bad_graphs_are_refused(case, tmp_path):
    file = case.build(tmp_path).name
    result = invoke("export", file, "out.csv")
    assert not about_refusal(result, case.outcome.says, tmp_path / "out.csv")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_sound_files_give_the_same_network(command, tmp_path):
    def edges(file, out):
        result = invoke(command, file, "--out", out, *COMMANDS[command])
        assert result.exit_code == 0, result.stderr
        assert "encountered in" not in result.stderr
        return pd.read_csv(tmp_path / out / "edges.csv")

    expected = edges(plain(tmp_path), "clean")
    for case in SOUND_FILES:
        (tmp_path / case.name).mkdir()
        found = edges(case.build(tmp_path / case.name), f"{case.name}-out")
        pd.testing.assert_frame_equal(found, expected, rtol=1e-8, atol=1e-8)


def unusual(kind):
    """A table that a command warns of, with names that a shell would take apart."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(80, 4))
    if kind == "order":
        for t in range(1, 80):
            values[t] += 0.75 * values[t - 1]
    if kind == "trend":
        values = np.cumsum(values, axis=0)
    frame = pd.DataFrame(values, columns=["body weight", "$dose", "pulse", "a,b"])
    frame["group"] = np.repeat(["after", "before"], 40)
    frame["age"] = rng.uniform(20, 60, 80)
    if kind == "outliers":
        frame.loc[[3, 50], "$dose"] = [5000.0, 7000.5]
    if kind == "codes":
        frame.loc[[3, 50], "$dose"] = -999.0
    if kind == "skew":
        frame["pulse"] = np.exp(2 * frame["pulse"])
    if kind == "categories":
        frame["body weight"] = rng.integers(1, 6, 80)
    if kind == "identifier":
        frame["a,b"] = np.arange(80) + 100
    return frame


def follow_advice(command, *options):
    """Run a command, and the ones that its warnings advise; return those."""
    given = [command, "my table.csv", "--out", "out", *options]
    result = invoke(*given)
    assert result.exit_code == 0, result.stderr
    found = ADVICE.findall(result.stderr)
    for advice in found:
        words = shlex.split(advice)
        assert words[: len(given)] == given
        again = invoke(*words)
        assert again.exit_code == 0, f"{advice}: {again.stderr}"
        assert advice not in again.stderr
    return found


@pytest.mark.parametrize(
    "kind", by_default(1, ["identifier", "codes", "skew", "trend", "categories"])
)
def test_advice_before_a_fit_works_as_printed(kind, undrawn):
    unusual(kind).to_csv("my table.csv", index=False)
    for command in ("compare",) if kind == "categories" else ("learn", "compare"):
        assert follow_advice(command, *COMMANDS[command])


@pytest.mark.parametrize("command", by_default(1, COMMANDS))
def test_advice_of_every_command_works_as_printed(command, undrawn):
    unusual("outliers").to_csv("my table.csv", index=False)
    assert follow_advice(command, *COMMANDS[command])
    unusual("order").to_csv("my table.csv", index=False)
    # Commands act on the order of rows by themselves; what they advise besides has to work.
    follow_advice(command, *COMMANDS[command])


def test_advice_to_transpose_works_as_printed(undrawn):
    rng = np.random.default_rng(0)
    genes = 3 * rng.normal(size=(60, 1)) + rng.normal(size=(60, 8))
    frame = pd.DataFrame(genes, columns=[f"s{k}" for k in range(8)])
    frame.insert(0, "gene", [f"gene{k}" for k in range(60)])
    frame.to_csv("my table.csv", index=False)
    options = ["--alpha", "0.5", "--resamples=0"]
    result = invoke("learn", "my table.csv", "--drop", "gene", *options)
    (advice,) = ADVICE.findall(result.stderr)
    assert shlex.split(advice) == ["learn", "my table.csv", *options, "--transform", "transpose"]
    assert invoke(*shlex.split(advice)).exit_code == 0


ADVICE = re.compile(r"`edgewise ([^`]*)`")


@pytest.mark.parametrize(
    "commands",
    [["learn"], pytest.param([*COMMANDS][1:], marks=pytest.mark.slow)],
    ids=["learn", "others"],
)
@pytest.mark.parametrize("case", BAD_FILES, ids=tell)
def test_advice_works_as_printed(case, commands, tmp_path, undrawn):
    """Whatever command an error advises, it keeps the options given, and runs."""
    file = case.build(tmp_path).name
    for command in commands:
        options = COMMANDS[command]
        result = invoke(command, file, "--out", "out", *options)
        for advice in ADVICE.findall(result.stderr):
            words = shlex.split(advice)
            assert words[: 4 + len(options)] == [command, file, "--out", "out", *options]
            again = invoke(*words)
            assert again.exit_code == 0, f"{advice}: {again.stderr}"
