"""Every file of the corpus, handed to every command in this process."""

import re
import shlex

import pandas as pd
import pytest

from edgewise.io import read_table
from tests.commands import invoke
from tests.corpus.binary_files import BAD_BINARY
from tests.corpus.commands import COMMANDS, about_refusal, contents
from tests.corpus.graph_files import BAD_GRAPHS
from tests.corpus.sound_files import SOUND_FILES, clean_frame, plain
from tests.corpus.text_files import BAD_TEXT

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


ADVICE = re.compile(r"`edgewise ([^`]*)`")


@pytest.mark.parametrize("case", BAD_FILES, ids=tell)
def test_advice_works_as_printed(case, tmp_path, undrawn):
    """Whatever command an error advises, it keeps the options given, and runs."""
    file = case.build(tmp_path).name
    for command, options in COMMANDS.items():
        result = invoke(command, file, "--out", "out", *options)
        for advice in ADVICE.findall(result.stderr):
            words = shlex.split(advice)
            assert words[: 4 + len(options)] == [command, file, "--out", "out", *options]
            again = invoke(*words)
            assert again.exit_code == 0, f"{advice}: {again.stderr}"
