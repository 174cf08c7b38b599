"""Every code has a sentence, and every sentence the values that it needs."""

from __future__ import annotations

import ast
import json
import pickle
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import edgewise
from edgewise import InputError
from edgewise._core.messages import (
    COMMAND_LINE,
    PYTHON,
    WORDS,
    Note,
    catalogue,
    fields,
    in_words,
)
from tests.words.examples import AUDIENCES, EXAMPLES, snapshot

SOURCE = Path(edgewise.__file__).parent


def calls():
    """List each message that the sources make: where, code and the names of its values."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if not node.func.id.endswith(("Error", "Warning", "Note")) or not node.args:
                continue
            code = node.args[0]
            is_text = isinstance(code, ast.Constant) and isinstance(code.value, str)
            if is_text and " " not in code.value:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", code.value, node


def test_codes_have_sentences_with_the_values_that_they_need():
    sentences = catalogue(PYTHON.name)
    for where, code, node in calls():
        assert code in sentences, f"{where}: {code} is in no file of {WORDS}"
        given = {keyword.arg for keyword in node.keywords}
        if None in given:
            continue
        given |= {"parameter"} if len(node.args) > 1 else set()
        needed = set(fields(sentences[code]))
        assert needed <= given, f"{where}: {code} lacks {needed - given}"


def test_no_code_is_in_two_files():
    found = Counter(
        code
        for path in WORDS.glob("*.toml")
        if path.stem != COMMAND_LINE
        for code in tomllib.loads(path.read_text(encoding="utf-8"))
    )
    assert [code for code, n in found.items() if n > 1] == []


def test_no_sentence_is_without_a_use():
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    assert [code for code in catalogue(COMMAND_LINE) if f'"{code}"' not in text] == []


@pytest.mark.parametrize("audience", AUDIENCES)
def test_words_are_those_of_the_snapshot(audience):
    recorded = Path(__file__).with_name(f"{audience}.txt").read_text(encoding="utf-8")
    assert snapshot(audience) == recorded, "run `python -m tests.words.examples --record`"


def test_an_error_comes_out_of_a_worker_as_it_was():
    error = InputError("invalid_value", "alpha", allowed=Note("allowed_number"), got=1)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.as_dict() == error.as_dict()
    assert json.loads(json.dumps(error.as_dict()))["parameter"] == "alpha"


def test_examples_are_of_codes_that_there_are():
    assert set(EXAMPLES) <= set(catalogue(COMMAND_LINE))


@pytest.mark.parametrize(
    ("template", "values", "words"),
    [
        ("{names:names}", {"names": ["a", "b"]}, "'a' and 'b'"),
        ("{n} {n:row|rows}", {"n": 1}, "1 row"),
        ("{n} {n:row|rows}", {"n": 0}, "0 rows"),
        ("{names:is|are}", {"names": ["a"]}, "is"),
        ("{more:?, and {more} more|, all}", {"more": 0}, ", all"),
        ("{more:?, and {more} more|, all}", {"more": 2}, ", and 2 more"),
        ("{value:.2f}", {"value": 1 / 3}, "0.33"),
        ("{value:literal}", {"value": "a"}, '"a"'),
        ('{param:alpha} {set:repair="ridge"}', {}, 'alpha repair="ridge"'),
        ("{why}", {"why": Note("allowed_positive", is_whole=False, or_none=False)}, "positive"),
    ],
)
def test_what_may_stand_in_braces(monkeypatch, template, values, words):
    monkeypatch.setitem(catalogue(PYTHON.name), "made_up", template)
    assert in_words(Note("made_up", **values)) == words
