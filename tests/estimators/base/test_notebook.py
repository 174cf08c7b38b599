"""What a notebook shows of a fit and of a graph."""

import re
from base64 import b64decode
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import estimator_html_repr

from edgewise import BootstrapGraph, GaussianGraph, Graph
from edgewise.estimators.base.table import describe_gap
from tests.roster import ROSTER

PICTURE = re.compile(r'src="data:image/png;base64,([^"]+)"')


class Tags(HTMLParser):
    """Collects the tags that are open, and fails where one is closed that is not."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in ("img", "input", "br", "path", "link", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag != "path":
            assert self.open.pop() == tag


def rows(seed=0):
    X = np.random.default_rng(seed).normal(size=(60, 5))
    X[:, 1] += X[:, 0]
    return X


def shown(model):
    return model._repr_mimebundle_()["text/html"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", ROSTER, ids=lambda entry: entry.name)
def test_every_fit_shows_picture_and_figures_above_the_parameters(entry):
    model = clone(entry.plain).fit(*entry.data(rows()))
    text = shown(model)
    card, _, box = text.partition("</figure>")
    assert b64decode(PICTURE.search(card)[1]).startswith(b"\x89PNG")
    assert f"<b>{entry.name}</b>" in card
    assert f">{model.graph_.n_edges}</td>" in card
    assert "sk-top-container" in box
    assert Tags(card + "</figure>").open == []


def test_an_estimator_that_is_not_fitted_looks_as_in_scikit_learn():
    model = GaussianGraph()
    same = (re.sub(r"sk-[a-z]+-id-\d+", "", text)
            for text in (shown(model), estimator_html_repr(model)))  # fmt: skip
    assert len(set(same)) == 1
    with config_context(display="text"):
        assert "text/html" not in GaussianGraph(0.1).fit(rows())._repr_mimebundle_()


def test_the_certificate_and_the_rule_are_said():
    model = GaussianGraph().fit(rows())
    assert "of the optimum" in shown(model) or "at the optimum" in shown(model)
    assert "chosen by STEPWISE, without a penalty" in shown(model)
    assert "nan" not in shown(model).partition("</figure>")[0]
    penalised = GaussianGraph("ebic").fit(rows())
    assert f"{penalised.alpha_:.4g}, chosen by EBIC" in shown(penalised)
    assert "chosen" not in shown(GaussianGraph(0.2).fit(rows())).partition("</figure>")[0]
    model.converged_, model.gap_ = False, 0.5
    assert "still 0.5 from the optimum" in shown(model)


def test_resamples_have_the_certificate_of_what_was_resampled():
    model = BootstrapGraph(GaussianGraph(0.1), n_resamples=3, random_state=0).fit(rows())
    card = shown(model).partition("</figure>")[0]
    assert "optimum" in card
    assert "resamples</th>" in card


def test_a_graph_shows_itself_and_escapes_its_names():
    graph = Graph([[0, -0.5, 0], [-0.5, 0, 0], [0, 0, 0]], names=["<b>a", "c & d", "e"])
    text = graph._repr_html_()
    assert "&lt;b&gt;a \N{EN DASH} c &amp; d (-0.50)" in text
    assert "3, 1 without an edge" in text
    assert Tags(text).open == []
    arrow = Graph([[0, 1.0], [0, 0]], names=["from", "to"], directed=True)._repr_html_()
    assert "from → to (1.00)" in arrow


def test_large_and_empty_graphs_show_themselves():
    large = Graph(np.diag(np.ones(320), 1) + np.diag(np.ones(320), -1))
    assert PICTURE.search(large._repr_html_())
    assert ">none</td>" in Graph(np.zeros((2, 2)))._repr_html_()


@pytest.mark.parametrize(
    ("gap", "converged", "words"),
    [
        (np.inf, False, "without a certificate, stopped too early: see the warning"),
        (0.025, False, "still 0.03 from the optimum, at most: see the warning"),
        (2e-7, True, "within 2e-07 of the optimum"),
        (0.0, True, "at the optimum, up to rounding"),
    ],
)
def test_words_for_the_gap(gap, converged, words):
    assert describe_gap(SimpleNamespace(gap_=gap, converged_=converged)) == words
