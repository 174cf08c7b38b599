"""The report in a real browser that can reach no host."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgewise import Graph
from edgewise.report import Report, render
from tests.report.test_render import HOSTILE, graph_of

selenium = pytest.importorskip("selenium")

pytestmark = pytest.mark.skipif(
    shutil.which("chromium") is None or shutil.which("chromedriver") is None,
    reason="Chromium and its driver are not installed.",
)


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--window-size=1300,1600",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture
def visit(browser, tmp_path):
    """Open a page of reports, and wait until its script has drawn."""

    def open_page(*reports, title="page"):
        from selenium.webdriver.support.ui import WebDriverWait

        path = tmp_path / "report.html"
        path.write_text(render(reports, title=title), encoding="utf-8")
        browser.get(path.as_uri())
        ready = "return document.body.dataset.ready === 'yes'"
        WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(ready))
        errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
        assert errors == []
        return browser

    return open_page


def one(graph, **options):
    filled = {"headline": "Found.", "findings": "", "record": {}, "methods": ()}
    return Report(graph=graph, **{**filled, **options})


def drawn(driver, name):
    """How many things a source of the figures holds."""
    script = (
        "for (const d of Bokeh.documents) { const m = d.get_model_by_name(arguments[0]); "
        "if (m) return Object.values(m.data)[0].length; } return -1;"
    )
    return driver.execute_script(script, name)


def find(driver, selector):
    return driver.find_element("css selector", selector)


def slide(driver, selector, value):
    driver.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
        find(driver, selector),
        value,
    )


def test_network_matrix_and_table_agree_and_follow_the_slider(visit):
    graph = graph_of(30, 60)
    driver = visit(one(graph))
    assert drawn(driver, "edges-0") == graph.n_edges
    assert drawn(driver, "cells-0") == 2 * graph.n_edges
    assert drawn(driver, "nodes-0") == 30
    assert len(driver.find_elements("css selector", "table.edges tbody tr")) == graph.n_edges
    slide(driver, ".by-weight", 50)
    sizes = np.abs(graph.edges()["weight"])
    kept = int((sizes >= 0.5 * sizes.max()).sum())
    assert 0 < kept < graph.n_edges
    assert abs(drawn(driver, "edges-0") - kept) <= 1, "weights are rounded"
    shown = find(driver, ".count").text
    assert shown == f"{drawn(driver, 'edges-0')} of {graph.n_edges} edges shown"
    rows = driver.find_elements("css selector", "table.edges tbody tr")
    assert len(rows) == drawn(driver, "edges-0")


#: Where ``npm install axe-core`` puts the checks for people who hear a page or use no mouse.
AXE = Path("node_modules/axe-core/axe.min.js")


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed (npm install axe-core).")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_anybody_out(visit, scheme):
    tables = {"nodes": pd.DataFrame({"node": ["a", "b"], "strength": [0.5, 0.25]})}
    report = one(graph_of(30, 60), question="Which are linked?", findings="Some.", tables=tables)
    sites = np.array([[k, 0.0] for k in range(5)])
    driver = visit(report, one(graph_of(5, 4), question="Another question?", sites=sites))
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    driver.execute_script("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    driver.execute_script(AXE.read_text(encoding="utf-8"))
    found = driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []


def test_confidence_has_a_slider(visit):
    weights = np.triu(np.ones((4, 4)), 1)
    confidence = weights * np.linspace(0.1, 0.9, 16).reshape(4, 4)
    graph = Graph(weights + weights.T, confidence=confidence + confidence.T)
    driver = visit(one(graph))
    assert drawn(driver, "edges-0") == 6
    slide(driver, ".by-confidence", 40)
    assert drawn(driver, "edges-0") == int((confidence >= 0.4).sum())


def chosen_nodes(driver):
    script = "return [...Bokeh.documents[0].get_model_by_name('nodes-0').selected.indices]"
    return sorted(driver.execute_script(script))


def chosen_rows(driver, table):
    script = "return [...document.querySelectorAll(arguments[0])].map((row) => row.dataset.nodes)"
    return driver.execute_script(script, f"table.{table} tr.chosen")


def lit(driver):
    """Ends of the edges that are not faint."""
    script = (
        "const e = Bokeh.documents[0].get_model_by_name('edges-0').data;"
        "return [...e.color].flatMap((c, k) => c === '#E6E6E6' ? [] : [[e.source[k], e.target[k]]])"
    )
    return {tuple(ends) for ends in driver.execute_script(script)}


def test_an_edge_that_is_chosen_is_shown_everywhere(visit):
    from selenium.webdriver.common.keys import Keys

    graph = graph_of(12, 20)
    first = graph.edges().iloc[0]
    both = [graph.names.index(first.source), graph.names.index(first.target)]
    table = graph.edges().head(3)[["source", "target", "weight"]]
    driver = visit(one(graph, tables={"Strongest": table}))
    row = find(driver, "table.edges tbody tr")
    row.send_keys(Keys.ENTER)
    assert chosen_nodes(driver) == sorted(both)
    assert chosen_rows(driver, "edges") == [f"{both[0]} {both[1]}"]
    assert chosen_rows(driver, "sortable:not(.edges):not(.nodes)") == [f"{both[0]} {both[1]}"]
    assert sorted(map(int, chosen_rows(driver, "nodes"))) == sorted(both)
    assert lit(driver) == {(first.source, first.target)}
    row.send_keys(Keys.ENTER)
    assert chosen_nodes(driver) == []
    assert len(lit(driver)) == graph.n_edges


def test_a_node_that_is_chosen_in_the_picture_lights_its_edges_and_rows(visit):
    graph = graph_of(12, 20)
    node = int(graph.adjacency.sum(axis=0).argmax())
    driver = visit(one(graph))
    driver.execute_async_script(
        "Bokeh.documents[0].get_model_by_name('nodes-0').selected.indices = [arguments[0]];"
        "setTimeout(arguments[1], 200)",
        node,
    )
    edges = graph.edges()
    mine = edges[(edges.source == graph.names[node]) | (edges.target == graph.names[node])]
    assert lit(driver) == set(zip(mine.source, mine.target, strict=True))
    assert len(chosen_rows(driver, "edges")) == len(mine)
    assert chosen_rows(driver, "nodes") == [str(node)]
    find(driver, ".clear").click()
    assert chosen_nodes(driver) == chosen_rows(driver, "edges") == []


def test_a_dense_network_shows_its_strongest_edges_until_all_are_asked_for(visit):
    graph = graph_of(25, 400)
    driver = visit(one(graph))
    assert drawn(driver, "edges-0") == 60 < graph.n_edges
    assert find(driver, ".count").text == f"60 of {graph.n_edges} edges shown"
    assert drawn(driver, "cells-0") == 2 * graph.n_edges
    assert len(driver.find_elements("css selector", "table.edges tbody tr")) == graph.n_edges
    find(driver, ".all-edges").click()
    assert drawn(driver, "edges-0") == graph.n_edges


def test_nothing_is_wider_than_a_phone(visit, browser):
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        driver = visit(one(graph_of(30, 60), headline="x" * 300, findings="  a -- b  0.5"))
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
        width = "return Bokeh.documents[0].get_model_by_name('network-0').frame_width"
        assert driver.execute_script(width) < 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_search_finds_nodes(visit):
    names = ["alpha", "beta", "alphabet", "gamma"]
    driver = visit(one(graph_of(4, 6, names=names)))
    find(driver, ".search").send_keys("alpha")
    assert find(driver, ".found").text == "2 nodes found"
    script = "return Bokeh.documents[0].get_model_by_name('nodes-0').selected.indices"
    assert sorted(driver.execute_script(script)) == [0, 2]


#: Boxes of the names that are drawn, as left, right, low, high in pixels of the frame.
LABEL_BOXES = """
const nodes = Bokeh.documents[0].get_model_by_name("nodes-0").data;
const plot = Bokeh.documents[0].get_model_by_name("network-0");
const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px helvetica, sans-serif";
const at = (value, range, size) => (value - range.start) / (range.end - range.start) * size;
return [...nodes.label].flatMap((text, k) => {
  if (!text) return [];
  const left = at(nodes.x[k], plot.x_range, plot.frame_width) + nodes.dx[k];
  const middle = at(nodes.y[k], plot.y_range, plot.frame_height) + nodes.dy[k];
  return [[left, left + pen.measureText(text).width, middle - 6, middle + 6]];
});
"""


def test_names_never_cross_each_other_and_zooming_in_shows_more(visit):
    driver = visit(one(graph_of(150, 400)))
    boxes = np.array(driver.execute_script(LABEL_BOXES))
    assert 20 < len(boxes) < 150
    assert boxes.min() >= 0
    assert (boxes[:, [1, 3]] <= [1220, 960]).all()
    for k, (left, right, low, high) in enumerate(boxes):
        others = np.delete(boxes, k, axis=0)
        apart = (others[:, 1] <= left) | (others[:, 0] >= right)
        apart |= (others[:, 3] <= low) | (others[:, 2] >= high)
        assert apart.all()
    zoom = (
        "const plot = Bokeh.documents[0].get_model_by_name('network-0');"
        "plot.x_range.setv({start: 180, end: 380}); plot.y_range.setv({start: 180, end: 380});"
        "requestAnimationFrame(() => requestAnimationFrame(arguments[0]));"
    )
    driver.execute_async_script(zoom)
    within = (
        "const {x, y, label} = Bokeh.documents[0].get_model_by_name('nodes-0').data;"
        "const near = [...label].filter((_, k) => Math.max(Math.abs(x[k] - 280),"
        " Math.abs(y[k] - 280)) < 80);"
        "return [near.length, near.filter((text) => text).length]"
    )
    n_near, n_named = driver.execute_script(within)
    assert 0 < n_near == n_named


def test_names_keep_off_edges_where_there_is_room(visit):
    chain = np.diag(np.ones(5), 1)
    driver = visit(one(Graph(chain + chain.T, names=[f"a longer name {k}" for k in range(6)])))
    boxes = np.array(driver.execute_script(LABEL_BOXES))
    ends = driver.execute_script(
        "const {x0, y0, x1, y1} = Bokeh.documents[0].get_model_by_name('edges-0').data;"
        "const plot = Bokeh.documents[0].get_model_by_name('network-0');"
        "const at = (v, range, size) => (v - range.start) / (range.end - range.start) * size;"
        "const x = (value) => at(value, plot.x_range, plot.frame_width);"
        "const y = (value) => at(value, plot.y_range, plot.frame_height);"
        "return [...x0].map((_, k) => [x(x0[k]), y(y0[k]), x(x1[k]), y(y1[k])])"
    )
    steps = np.linspace(0.1, 0.9, 50)[:, None]
    start, end = np.hsplit(np.array(ends), 2)
    along = (start[:, None] * (1 - steps) + end[:, None] * steps).reshape(-1, 2)
    assert len(boxes) == 6
    for left, right, low, high in boxes:
        inside = (along > [left + 1, low + 1]) & (along < [right - 1, high - 1])
        assert not inside.all(axis=1).any()


def test_a_large_network_shows_what_is_strong_and_what_is_searched_for(visit):
    graph = graph_of(400, 1200)
    driver = visit(one(graph))
    read = "return [...Bokeh.documents[0].get_model_by_name('nodes-0').data.label]"
    labels = driver.execute_script(read)
    n_named = sum(map(bool, labels))
    said = find(driver, ".count").text
    assert said.startswith(f"200 of {graph.n_edges} edges shown, among ")
    assert n_named >= 0.95 * int(said.split()[-4])
    degree = graph.adjacency.sum(axis=0)
    hidden = next(k for k, text in enumerate(labels) if degree[k] > 1 and not text)
    find(driver, ".search").send_keys(graph.names[hidden])
    assert driver.execute_script(read)[hidden] == graph.names[hidden]
    assert len([ends for ends in lit(driver) if graph.names[hidden] in ends]) == degree[hidden]
    find(driver, ".clear").click()
    assert driver.execute_script(read) == labels


@pytest.mark.slow
def test_what_is_folded_away_is_printed(visit):
    driver = visit(one(graph_of(12, 20)))
    folded = "return document.querySelectorAll('details:not([open])').length"
    before = driver.execute_script(folded)
    driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert before > 0 == driver.execute_script(folded)
    driver.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert driver.execute_script(folded) == before


def test_tables_sort_by_keyboard(visit):
    from selenium.webdriver.common.keys import Keys

    driver = visit(one(graph_of(12, 30)))
    head = find(driver, "table.edges thead th:nth-child(3) button")
    cells = "[...document.querySelectorAll('table.edges td.n')]"
    read = f"return {cells}.map((cell) => Number(cell.textContent))"
    head.send_keys(Keys.ENTER)
    weights = driver.execute_script(read)
    assert weights == sorted(weights)
    head.send_keys(Keys.ENTER)
    assert driver.execute_script(read) == sorted(weights, reverse=True)
    assert find(driver, "table.edges th:nth-child(3)").get_attribute("aria-sort") == "descending"


def test_seed_map_follows_pointer_keys_and_tables(visit):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    weights = np.zeros((6, 6))
    weights[0, 1], weights[0, 5], weights[3, 4] = 0.5, -0.4, 0.2
    names = [f"r{row}c{column}" for row in range(2) for column in range(3)]
    sites = np.array([[column, -row] for row in range(2) for column in range(3)], dtype=float)
    driver = visit(one(Graph(weights + weights.T, names=names), sites=sites))
    cells = "[...document.querySelectorAll('.seeds [data-site]')]"
    fills = f"return {cells}.map((cell) => cell.getAttribute('fill'))"

    def colored():
        found = driver.execute_script(fills)
        return {names[k]: color for k, color in enumerate(found) if color != found[2]}

    def told():
        return find(driver, ".seeded").text

    # The site with the strongest edges comes first; site 2 has none.
    assert told() == "r0c0 is joined to 2 of 5 sites: strongest r0c1 (+0.5), r1c2 (-0.4)"
    assert set(colored()) == {"r0c1", "r1c2"}
    blue, orange = (
        [int(part) for part in colored()[name][4:-1].split(",")] for name in ("r0c1", "r1c2")
    )
    assert blue[2] > blue[0]
    assert orange[0] > orange[2]
    assert [find(driver, f".{end}est").text for end in ("low", "high")] == ["\u22120.4", "+0.5"]

    # The pointer previews, and lets go again.
    ActionChains(driver).move_to_element(find(driver, "[data-site='4']")).perform()
    assert told() == "r1c1 is joined to 1 of 5 sites: strongest r1c0 (+0.2)"
    ActionChains(driver).move_to_element(find(driver, ".headline")).perform()
    assert told().startswith("r0c0")

    # Arrows move the seed, Enter chooses it everywhere, and what is chosen elsewhere is the seed.
    find(driver, ".seeds").send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER)
    assert told().startswith("r1c1")
    assert chosen_nodes(driver) == [4]
    find(driver, ".search").send_keys("r0c1")
    assert told() == "r0c1 is joined to 1 of 5 sites: strongest r0c0 (+0.5)"
    slide(driver, ".by-weight", 100)
    find(driver, ".search").send_keys(Keys.BACKSPACE, "2")
    assert told() == "r0c2 is joined to 0 of 5 sites"


def test_directed_edges_have_arrows(visit):
    graph = graph_of(10, 20, directed=True)
    driver = visit(one(graph))
    assert drawn(driver, "arrows-0") == graph.n_edges
    assert drawn(driver, "cells-0") == graph.n_edges


def test_hostile_names_do_no_harm(visit):
    graph = graph_of(len(HOSTILE), 40, names=HOSTILE)
    driver = visit(one(graph, headline=HOSTILE[1]), one(graph), title=HOSTILE[0])
    assert driver.execute_script("return window.hacked === undefined")
    assert driver.title == HOSTILE[0]
    assert find(driver, ".headline").text == HOSTILE[1]
    cells = "return [...document.querySelectorAll('table.edges td')].map((c) => c.textContent)"
    assert set(driver.execute_script(cells)) & set(HOSTILE) >= {HOSTILE[0], HOSTILE[7]}
    assert drawn(driver, "edges-1") == graph.n_edges


@pytest.mark.slow
def test_a_thousand_nodes(visit):
    graph = graph_of(1000, 4000)
    driver = visit(one(graph))
    assert drawn(driver, "edges-0") == 200
    find(driver, ".all-edges").click()
    assert drawn(driver, "edges-0") == graph.n_edges


def test_a_row_of_what_to_look_at_lights_its_edge_everywhere(visit):
    weights = np.zeros((4, 4))
    weights[0, 1], weights[1, 2] = 0.5, -0.25
    graph = Graph(weights + weights.T, names=["sun", "warmth", "ice - cream", "x"])
    driver = visit(one(graph, findings="Strongest:\n  sun -- warmth  +0.5\n  ... and 1 more"))
    rows = driver.find_elements("css selector", ".found-rows tr")
    assert [row.get_attribute("data-nodes") for row in rows] == ["0 1", None]
    rows[0].click()
    assert chosen_nodes(driver) == [0, 1]
    assert chosen_rows(driver, "edges") == ["0 1"]
    assert chosen_rows(driver, "found-rows") == ["0 1"]


def test_nodes_without_an_edge_take_no_room_and_are_found_all_the_same(visit):
    weights = np.zeros((4, 4))
    weights[0, 1] = weights[1, 0] = 0.5
    driver = visit(one(Graph(weights)))
    read = "return [...Bokeh.documents[0].get_model_by_name('nodes-0').data.x].map(Number.isFinite)"
    assert driver.execute_script(read) == [True, True, False, False]
    assert find(driver, ".alone").text == "Without an edge, and not drawn: x2, x3."
    find(driver, ".search").send_keys("x3")
    assert find(driver, ".found").text == "1 node found"
    assert chosen_rows(driver, "nodes") == ["3"]


def test_columns_of_the_edges_have_the_same_digits_and_the_download_all(visit):
    weights = np.zeros((3, 3))
    weights[0, 1], weights[1, 2] = 0.12345, -0.5
    pvalue = np.zeros((3, 3))
    pvalue[0, 1], pvalue[1, 2] = 1.7e-29, 0.25
    more = {"p_value": pvalue + pvalue.T}
    driver = visit(one(Graph(weights + weights.T), edge_values=more))
    heads = driver.find_elements("css selector", "table.edges thead th")
    assert [head.text for head in heads] == ["source", "target", "weight", "p value"]
    cells = [cell.text for cell in driver.find_elements("css selector", "table.edges td.n")]
    assert cells == ["-0.500", "0.250", "0.123", "1.7e-29"]


def test_a_map_says_how_many_edges_it_and_the_lines_show(visit):
    p = 20
    weights = np.triu(np.arange(p * p).reshape(p, p) + 1.0, 1)
    sites = np.array([[k % 5, k // 5] for k in range(p)], dtype=float)
    driver = visit(one(Graph(weights + weights.T), sites=sites))
    assert find(driver, ".count").text == "190 of 190 edges in the map, 55 drawn as lines"
    driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert not driver.execute_script("return document.querySelector('details.lines').open")
