"""The page: what it says, what it holds, and that names stay text."""

import base64
import io
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from edgewise import Graph
from edgewise.report import Picture, Report, render
from edgewise.report.network import (
    MOST_EDGES,
    MOST_LABELS,
    asset,
    decimals,
    network_data,
    network_figures,
    shown,
)
from edgewise.report.page import details, read_references
from tests.roster import public_estimators

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>window.hacked=1</script>",
    "a\"b'c",
    "line\nbreak",
    "emoji \N{PARTY POPPER}",
    "x" * 300,
    "=1+1",
    "<img src=x onerror=window.hacked=2>",
    "{{ 7 * 7 }}",
    "&amp;",
    "$$x^2$$",
    r"\(x\)",
]


def blank(width, height):
    """Bytes of an empty picture."""
    content = io.BytesIO()
    Image.new("RGB", (width, height)).save(content, format="png")
    return content.getvalue()


DOT = blank(1, 1)


def graph_of(p, n_edges, *, directed=False, names=None, seed=0):
    rng = np.random.default_rng(seed)
    weights = np.zeros((p, p))
    weights[rng.integers(0, p, n_edges), rng.integers(0, p, n_edges)] = rng.normal(size=n_edges)
    weights = np.triu(weights, 1)
    return Graph(weights if directed else weights + weights.T, names=names, directed=directed)


def report(graph, **options):
    record = {
        "command": "learn",
        "converged": True,
        "gap": 2e-7,
        "alpha": 0.125,
        "alpha_rule": "ebic",
        "seed": 3,
        "versions": {"edgewise": "9.9"},
        "parameters": {"method": "gaussian"},
        "data": {"file": "x.csv", "n_samples": 50, "n_features": 4, "sha256": "abc"},
        "treatment": ["the column 'id' left out"],
        "warnings": ["alpha is the smallest"],
    }
    filled = {
        "headline": "Three edges.",
        "findings": "Strongest:\n  a -- b",
        "record": record,
        "methods": ("GaussianGraph", "BootstrapGraph"),
    }
    return Report(graph=graph, **{**filled, **options})


def held(page, k=0):
    found = re.findall(r'<script type="application/json" class="network">(.*?)</script>', page)
    return json.loads(found[k])


def test_it_answers_first_and_tells_what_was_done():
    page = render([report(graph_of(5, 8))], title="x.csv")
    assert page.index("Three edges.") < page.index("The network") < page.index("What was done")
    for text in (
        "50 rows and 4 columns of x.csv.",
        "The column &#39;id&#39; left out.",
        "within 2e-07 of the optimum",
        "alpha is the smallest",
        "edgewise 9.9",
        "graphical lasso (Friedman et al. 2008)",
        "alpha = 0.125, chosen by the extended BIC (Foygel and Drton 2010)",
        "The seed of random numbers was 3.",
        "@article{friedman2008",
        "@article{efron1979",
        "abc",
    ):
        assert text in page


def test_the_answer_has_its_question_certainty_and_main_figures():
    graph = Graph([[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]])
    sure = Graph(graph.weights, confidence=[[0, 1, 0], [1, 0, 0.6], [0, 0.6, 0]])
    page = render([report(sure)], title="x.csv")
    assert "<h2>Which variables are linked?</h2>" in page
    assert "1 of 2 edges with a confidence of at least 0.95; the least sure has 0.6." in page
    assert "<dt>rows</dt><dd>50</dd>" in page
    assert "<dt>nodes without an edge</dt><dd>0</dd>" in page
    assert "<summary>1 warning</summary>" in page
    assert "with a confidence of" not in render([report(graph)], title="x.csv")


def test_rows_of_the_summary_are_a_table():
    findings = "Strongest:\n  a -- b    +0.5  97%\n  c -- d    -1.2e-3\n  ... and 3 more\nEnd."
    headline = "The strongest is a -> b."
    page = render([report(graph_of(5, 8), findings=findings, headline=headline)], title="x")
    assert "The strongest is a → b." in page
    assert '<td class="n">-1.2e-3</td><td colspan="1"></td>' in page, "in its own column"
    rows = page.partition('class="found-rows">')[2].partition("</table>")[0]
    assert rows.count("<tr>") == 3
    assert '<td>a \N{EN DASH} b</td><td class="n">+0.5</td><td class="n">97%</td>' in rows
    assert '<td colspan="3">... and 3 more</td>' in rows
    assert "<p>Strongest:</p>" in page
    assert "<p>End.</p>" in page


def test_pictures_stand_above_the_network_or_below():
    drawn = (Picture(png=blank(9, 9), words="first one"), Picture(png=DOT, words="second one"))
    for leads in (True, False):
        page = render([report(graph_of(5, 8), pictures=drawn, leads=leads)], title="x")
        assert page.count("<img") == 2
        assert (page.index("<figcaption>first one") < page.index("<h3>The network</h3>")) == leads
        assert page.index("<h3>The network</h3>") < page.index("<figcaption>second one")


def test_a_gap_of_rounding_is_no_number():
    page = render([report(graph_of(3, 2), record={"converged": True, "gap": 4e-32})], title="x")
    assert "The fit converged: it is at the optimum, up to rounding." in page


def test_branches_of_a_tree_keep_their_depth():
    findings = (
        "split by age\n|--- age <= 50\n|   |--- leaf 0: 76 rows\n|--- age > 50\n|   split by sex"
    )
    page = render([report(graph_of(5, 8), findings=findings)], title="x")
    depths = re.findall(r'class="branch" style="margin-left: (\d)rem">(.*?)</p>', page)
    assert depths == [
        *(("1", "age &lt;= 50"), ("2", "leaf 0: 76 rows")),
        *(("1", "age &gt; 50"), ("2", "split by sex")),
    ]
    assert "|" not in page.partition('<div class="findings">')[2].partition("</div>")[0]


def test_without_a_record_it_is_a_network_only():
    page = render([report(graph_of(5, 8), record={}, methods=())], title="graph")
    assert "ready to paste" not in page
    assert "converged" not in page


def test_a_fit_that_did_not_converge_is_told():
    graph = graph_of(3, 2)
    page = render([report(graph, record={"converged": False})], title="x")
    assert "stopped before it reached its tolerance" in page


def test_edges_are_those_of_the_graph():
    graph = graph_of(12, 30, directed=True)
    data = network_data(graph)
    weights = np.zeros((12, 12))
    weights[data["source"], data["target"]] = data["weight"]
    np.testing.assert_allclose(weights, graph.weights, rtol=1e-3)
    assert np.abs(data["weight"]).tolist() == sorted(np.abs(data["weight"]), reverse=True)
    joined = (graph.adjacency | graph.adjacency.T).any(axis=0)
    assert [place is not None for place in data["places"]] == joined.tolist()
    assert (np.ptp([place for place in data["places"] if place], axis=0) <= [1100, 600]).all()
    assert data["whole"] is None, "all nodes that have an edge are shown at first"


def test_only_the_strongest_edges_of_a_dense_graph():
    graph = graph_of(200, 60_000)
    data = network_data(graph)
    assert len(data["weight"]) == MOST_EDGES < graph.n_edges == data["n_edges"]
    assert min(map(abs, data["weight"])) >= np.sort(np.abs(graph.weights[graph.weights != 0]))[0]
    page = render([report(graph)], title="dense")
    assert f"The {graph.n_edges - MOST_EDGES} weakest edges are in the files only." in page


def test_weights_that_are_not_known():
    adjacency = np.array([[False, True], [True, False]])
    graph = Graph(np.zeros((2, 2)), adjacency=adjacency)
    assert held(render([report(graph)], title="x"))["weight"] == [0.0]


@pytest.mark.parametrize("n_nodes", [1, 2])
def test_empty_graphs(n_nodes):
    page = render([report(Graph(np.zeros((n_nodes, n_nodes))))], title="empty")
    assert held(page)["source"] == []


def test_names_stay_text_everywhere():
    graph = graph_of(len(HOSTILE), 40, names=HOSTILE)
    table = pd.DataFrame({name: [name, 1.5] for name in HOSTILE[:4]})
    page = render(
        [
            report(
                graph,
                headline=HOSTILE[0],
                findings=HOSTILE[1],
                question=HOSTILE[7],
                pictures=(Picture(png=DOT, words=HOSTILE[1]),),
                tables={HOSTILE[0]: table},
                record={"warnings": HOSTILE, "treatment": HOSTILE, "data": {"file": HOSTILE[0]}},
            )
        ],
        title=HOSTILE[1],
    )
    assert held(page)["names"] == HOSTILE
    for bad in (HOSTILE[0], "<script>window.hacked", "<img src=x"):
        assert bad not in page
    assert "{{ 7 * 7 }}" in page.replace("\\u007b", "{")


def test_nothing_from_outside():
    page = render([report(graph_of(5, 8))], title="x")
    # The scripts themselves may name hosts, which the policy keeps them from asking.
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', outside)
    assert "connect-src 'none'" in page


def test_several_questions_have_a_list():
    reports = [report(graph_of(4, 5), question=f"Question {k}?") for k in range(3)]
    page = render(reports, title="demo")
    assert page.count('<section id="section-') == 3
    assert page.count('href="#section-2"') == 1
    assert held(page, 2)["names"] == ["x0", "x1", "x2", "x3"]


@pytest.mark.slow
def test_a_thousand_nodes():
    graph = graph_of(1000, 4000)
    assert len(render([report(graph)], title="large")) < 3_000_000
    data = network_data(graph)
    shown_ends = {end for k in data["shown"] for end in (data["source"][k], data["target"][k])}
    assert len(data["shown"]) == 200
    assert {k for k, place in enumerate(data["places"]) if place} == shown_ends
    joined = graph.adjacency.any(axis=0)
    assert [place is not None for place in data["whole"]] == joined.tolist()


def test_every_estimator_says_what_a_methods_section_would_and_cites_papers():
    entries = read_references()
    for learner in public_estimators():
        assert learner._methods.endswith(".")
        assert set(learner._cites) <= set(entries)
        years = [re.search(r"year = .(\d{4})", entries[key])[1] for key in learner._cites]
        assert [year for year in years if year not in learner._methods] == []
    for entry in entries.values():
        assert entry.startswith("@")
        assert entry.count("{") == entry.count("}")


def test_methods_of_refitted_graphs_say_that_the_estimate_has_no_penalty():
    def paragraph(rule, alpha):
        record = {"alpha": alpha, "alpha_rule": rule}
        return details(replace(report(graph_of(4, 3)), record=record, methods=("GaussianGraph",)))[
            "paragraph"
        ]

    assert "maximum likelihood under the chosen graph" in paragraph("stepwise", None)
    assert "maximum likelihood" not in paragraph("ebic", 0.1)
    assert "maximum likelihood" not in paragraph("cv", 0.1)


def test_the_stored_figures_are_those_that_bokeh_makes():
    import bokeh
    from packaging.version import Version

    from tools.report_figures import figures

    if Version(bokeh.__version__) < Version("3.9"):
        pytest.skip("Older releases write more of what is the default anyway.")
    assert json.loads(asset("figures.json")) == figures()


@pytest.mark.parametrize(("n_nodes", "directed"), [(4, False), (40, True), (70, False)])
def test_bokeh_reads_the_figures_that_are_filled_in(n_nodes, directed):
    from bokeh.core.serialization import Deserializer
    from bokeh.document import Document

    graph = graph_of(n_nodes, 30, directed=directed)
    roots = network_figures(graph, "0")
    drawn = Document()
    for root in Deserializer().deserialize(roots):
        drawn.add_root(root)
    matrix = drawn.get_model_by_name("matrix-0")
    assert (matrix.x_range.start, matrix.x_range.end) == (-0.5, n_nodes - 0.5)
    assert (matrix.y_range.start, matrix.y_range.end) == (n_nodes - 0.5, -0.5)
    has_names = n_nodes <= MOST_LABELS
    for axis in (*matrix.xaxis, *matrix.yaxis):
        assert axis.visible == has_names
        written = [*axis.major_label_overrides.values()]
        assert written == (list(graph.names) if has_names else [])
    for name in ("told-edges-0", "told-cells-0"):
        ends = [words for words, _ in drawn.get_model_by_name(name).tooltips]
        assert ends == (["from", "to", "weight"] if directed else ["between", "and", "weight"])


def test_numbers_of_a_column_have_the_same_digits():
    assert decimals([0.5, 0.25, None]) == 2
    assert decimals([0.12345, -1.0]) == 3
    assert decimals([1.0, 3.0]) == 0
    assert decimals([12345.6, 0.1]) is None
    assert decimals([654.9, 0.0038]) is None, "units that differ"
    assert decimals([1.0, 1e-9]) == 3, "p-values"
    assert [shown(value, 3) for value in (0.25, -1.0, 0.0, 1.7e-29)] == [
        *("0.250", "-1.000", "0.000", "1.7e-29")
    ]
    table = pd.DataFrame({"p_value": [0.5, 1e-6, np.nan], "rows": [1, 20, 300], "is": "yes"})
    page = render([report(graph_of(5, 8), tables={"Tests": table})], title="x")
    body = page.partition("<h3>Tests</h3>")[2].partition("</table>")[0]
    assert ">p value</button>" in body
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", body)
    assert cells == ["0.500", "1", "yes", "1e-06", "20", "yes", "", "300", "yes"]


def test_nodes_without_an_edge_are_a_line_of_text():
    weights = np.zeros((60, 60))
    weights[0, 1] = weights[1, 0] = 0.5
    page = render([report(Graph(weights))], title="x")
    line = page.partition('<p class="alone">')[2].partition("</p>")[0]
    assert line.startswith("Without an edge, and not drawn: x2, x3, ")
    assert line.endswith("x41 and 18 more.")
    assert held(page)["places"][2:] == [None] * 58
    assert '<p class="alone">' not in render([report(Graph([[0, 1], [1, 0]]))], title="x")


def test_wide_pictures_have_a_row_of_their_own():
    def picture(width, height=20):
        return Picture(png=blank(width, height), words=f"{width} pixels")

    pictures = tuple(map(picture, (300, 600, 1600)))
    page = render([report(graph_of(5, 8), pictures=pictures)], title="x")
    assert page.count('<figure class="wide">') == 1
    assert page.index('class="wide"') < page.index('alt="1600 pixels"')
    assert '<figure class="first"><figcaption>300 pixels' in page
    page = render([report(graph_of(5, 8), pictures=(picture(30, 31),))], title="x")
    assert '<figure class="first tall">' in page


def test_pictures_lose_nothing_on_the_page():
    content = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 255, size=(40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(content, format="png")
    drawn = (Picture(png=content.getvalue(), words="noise"),)
    page = render([report(graph_of(5, 8), pictures=drawn)], title="x")
    (data,) = re.findall(r'src="data:image/webp;base64,([^"]*)"', page)
    held = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
    np.testing.assert_array_equal(np.asarray(held), pixels)


def test_q_values_tell_how_sure_edges_are_where_there_is_no_confidence():
    graph = Graph([[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]])
    values = {"qvalue": np.where(graph.weights == 1, 0.01, 0.2)}
    page = render([report(graph, edge_values=values)], title="x")
    assert "1 of 2 edges have a q-value of at most 0.05." in page


def test_a_sentence_over_two_lines_is_one_paragraph():
    page = render(
        [report(graph_of(5, 8), findings="By the best order,\nand more:\nEnd.")], title="x"
    )
    assert "<p>By the best order, and more:</p>" in page
    assert "<p>End.</p>" in page


def test_the_legend_of_the_network_speaks_of_signs_where_there_are_any():
    weights = [[0.0, 1.0], [1.0, 0.0]]
    assert "&#9632; positive" in render([report(Graph(weights))], title="x")
    unsigned = render([report(Graph(weights, signed=np.zeros((2, 2), dtype=bool)))], title="x")
    assert "&#9632; positive" not in unsigned
    assert "their weights have no sign" in unsigned
