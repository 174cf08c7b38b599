"""The figures that a change may raise only by saying so."""

from __future__ import annotations

import json
import sys

import pytest

from tools import house


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """Record two figures in a folder of the test."""
    path = tmp_path / "house.json"
    path.write_text(json.dumps({"public names": 3, "raise": 5}))
    monkeypatch.setattr(house, "RECORD", path)
    monkeypatch.setattr(house, "sources", dict)
    monkeypatch.setattr(sys, "argv", ["house.py"])
    return path


@pytest.mark.parametrize(("figures", "code"), [((3, 5), 0), ((2, 5), 0), ((3, 6), 1)])
def test_a_figure_may_fall_but_not_rise(recorded, monkeypatch, capsys, figures, code):
    monkeypatch.setattr(
        house, "count", lambda: dict(zip(("public names", "raise"), figures, strict=True))
    )
    assert house.main() == code
    assert ("ABOVE 5" in capsys.readouterr().out) == bool(code)


def test_a_new_figure_has_to_be_recorded(recorded, monkeypatch):
    figures = {"public names": 3, "options of app": 1}
    monkeypatch.setattr(house, "count", lambda: figures)
    assert house.main() == 1
    monkeypatch.setattr(sys, "argv", ["house.py", "--record"])
    assert house.main() == 0
    assert json.loads(recorded.read_text()) == figures


def test_lines_of_code_are_those_that_are_neither_blank_nor_comments_nor_docstrings():
    assert (
        house.count_code(
            '"""Doc."""\n\n# Why.\nx = 1\n\n\ndef f():\n    """Doc."""\n    return 1\n'
        )
        == 3
    )


def test_kinds_of_figures_are_counted():
    assert {"GaussianGraph", "make_gaussian_graph"} <= house.public_names()
    assert house.options_of_commands()["info"] >= 1
    assert 0 < house.constructor_parameters()["GaussianGraph"] <= 10
