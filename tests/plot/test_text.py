"""Names in pictures are text, whatever they hold."""

import io

import matplotlib as mpl
import networkx as nx
import numpy as np
import pytest

from edgewise import Graph
from edgewise.plot import plot_matrix, plot_network
from edgewise.plot._canvas import tidy

HOSTILE = [
    "$x^2$",
    "$\\frac{1}",
    "<script>alert(1)</script>",
    "two\nlines",
    "a" * 300,
    "🧬 emoji 🧬🧬",
    "変数",
    "nul\x00 bell\x07",
    "lone \ud800",
    "_hidden",
    "%d {} \\input{x}",
    " ",
    "e\u0301\u202e right to left",
]


@pytest.mark.parametrize("plot", [plot_network, plot_matrix])
@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_hostile_names_are_drawn_as_text(plot, kind):
    weights = nx.to_numpy_array(nx.cycle_graph(len(HOSTILE)))
    ax = plot(Graph(weights, names=HOSTILE), labels="all")
    texts = ax.texts if plot is plot_network else ax.get_yticklabels()
    assert len(texts) == len(HOSTILE)
    assert not any(text.get_parse_math() or text.get_usetex() for text in texts)
    assert "$x^2$" in [text.get_text() for text in texts]
    file = io.BytesIO()
    ax.figure.savefig(file, format=kind)  # warnings are errors here
    if kind == "svg":
        assert b"<script>alert" not in file.getvalue()


def test_names_stay_text_when_the_user_writes_with_latex():
    with mpl.rc_context({"text.usetex": True}):
        graph = Graph(np.zeros((2, 2)), names=["a_b", "50%"])
        ax = plot_network(graph)
        assert not any(text.get_usetex() for text in ax.texts)
        ax = plot_matrix(graph, colorbar=False)
        assert not any(text.get_usetex() for text in ax.get_xticklabels())


def test_tidy():
    assert tidy("plain") == "plain"
    assert tidy("  two\n\t lines ") == "two lines"
    assert tidy("x" * 24) == "x" * 24
    long = tidy("common beginning of every name 17", limit=12)
    assert len(long) == 12
    assert long.startswith("common")
    assert long.endswith("17")
    assert "…" in long
    assert tidy("\U0001f9ec\U0001f9ec dna") == "\N{REPLACEMENT CHARACTER} dna"
    assert tidy("\x00") == tidy(" ") == "\N{REPLACEMENT CHARACTER}"


def test_tidy_follows_the_fonts_of_the_user():
    # Computer Modern, which comes with matplotlib, has few letters beyond the Latin ones.
    assert tidy("Ж") == "Ж"
    with mpl.rc_context({"font.family": ["cmr10"]}):
        assert tidy("Ж") == "\N{REPLACEMENT CHARACTER}"
    with mpl.rc_context({"font.family": ["cmr10", "DejaVu Sans"]}):
        assert tidy("Ж") == "Ж"
