"""The example scripts, run as a reader would run them."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from edgewise import Graph

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a script in an empty folder; return what it printed."""

    def run_script(name):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name])
        (script,) = EXAMPLES.rglob(name)
        runpy.run_path(str(script), run_name="__main__")
        assert (tmp_path / name).with_suffix(".png").stat().st_size > 10_000
        return capsys.readouterr().out

    return run_script


def table(text, label):
    """Rows of numbers below the line that begins with ``label``, by the words before them."""
    lines = text[text.index(label) :].splitlines()[1:]
    rows = [re.fullmatch(r"([a-z ]+?) +([\d. ]+)", line) for line in lines]
    return {row[1]: [float(number) for number in row[2].split()] for row in rows if row}


def test_every_example_is_tested():
    tested = Path(__file__).read_text(encoding="utf-8")
    assert [path.name for path in EXAMPLES.rglob("*.py") if f'"{path.name}"' not in tested] == []


def test_weather_network(run, tmp_path):
    assert "converged: True" in run("weather_network.py")
    graph = Graph.read(tmp_path / "weather_network.graphml")
    edges = {frozenset(pair) for pair in graph.edges()[["source", "target"]].to_numpy().tolist()}
    assert {"temperature", "warmest hour"} in edges
    # Sunlight is what comes directly and what comes from the sky, not the wind.
    assert {"sunlight", "wind"} not in edges
    assert graph.confidence is not None


@pytest.mark.slow
def test_simulated_recovery(run):
    printed = run("simulated_recovery.py")
    areas = {name.strip(): float(area) for name, area in re.findall(r"(.*) area (\S+)", printed)}
    assert areas["neighbourhoods"] > areas["graphical lasso"] > areas["plain correlation"]
    rules = table(printed, "alpha by")
    # By prediction, small edges are worth having; by the others, false ones cost.
    assert rules["cv"][0] > rules["stars"][0] > 0
    assert rules["cv"][1] < min(rules["ebic"][1], rules["stars"][1])


def test_prior_knowledge(run):
    rows = table(run("prior_knowledge.py"), "knowledge")
    divergence = {name: row[-1] for name, row in rows.items()}
    assert divergence["far is rare"] < divergence["far is forbidden"] < divergence["nothing"]


@pytest.mark.slow
def test_digits_in_space(run):
    printed = run("digits_in_space.py")
    assert "converged: True" in printed
    rows = re.findall(r"^(global|variable) +(-\S+) +(-\S+) +(\d) of 5$", printed, re.MULTILINE)
    gain = {row[0]: float(row[2]) - float(row[1]) for row in rows}
    # Local constancy is a statement in common units.
    assert gain["global"] > 3 * gain["variable"] > 0
    n_edges, n_groups = map(int, re.search(r"(\d+) edges in (\d+) fused", printed).groups())
    assert n_groups < n_edges


@pytest.mark.slow
def test_patches_in_space(run):
    rows = table(run("patches_in_space.py"), "method")
    divergence = {name: row[-1] for name, row in rows.items()}
    assert divergence["locally constant"] < 0.75 * divergence["graphical lasso"]


@pytest.mark.slow
def test_images_on_a_gpu(run):
    printed = run("images_on_a_gpu.py")
    rows = re.findall(r"^([a-z ]+?) +\S+ +\S+ +(-\S+) +\S+ +(\d+)%", printed, re.MULTILINE)
    (plain, found), (fused, also_found) = [(float(row[1]), int(row[2])) for row in rows]
    assert fused > plain + 2
    assert also_found > 1.5 * found


@pytest.mark.slow
def test_senate_change(run, tmp_path):
    printed = run("senate_change.py")
    assert "converged: True" in printed
    p_value = float(re.search(r"against shuffled years: p = (\S+);", printed).group(1))
    assert p_value < 0.05
    kept = re.findall(r"(\d+) of (\d+) changes kept", printed)
    assert len(kept) >= 2
    assert all(int(some) <= int(found) for some, found in kept)
    assert (tmp_path / "senate_windows.png").stat().st_size > 10_000


def test_senate_votes(run):
    printed = run("senate_votes.py")
    nats = {words: float(value) for words, value in re.findall(r"(.+): (-\S+) nats", printed)}
    assert nats["neighbours"] > nats["each alone"] + 0.3
    assert float(re.search(r"probability (\S+) where", printed).group(1)) > 0.9


@pytest.mark.slow
def test_alarm_directions(run, tmp_path):
    printed = run("alarm_directions.py")
    wrong = table(printed, "wrong entries")
    # Blankets do not depend on units, and sorting depends on nothing else.
    assert wrong["blankets"][0] == wrong["blankets"][1] <= 15
    assert wrong["blankets"][0] < wrong["penalised order"][0] / 2
    assert wrong["sort and regress"][1] < wrong["sort and regress"][0] / 2
    assert float(re.search(r"varsortability (\S+),", printed).group(1)) > 0.85
    assert (tmp_path / "alarm_confidence.png").stat().st_size > 10_000


@pytest.mark.slow
def test_tumour_classes(run):
    printed = run("tumour_classes.py")
    assert "free bias: learning together gains +0.03, within noise" in printed
    gain = re.search(r"penalized bias: learning together gains ([+-]\S+), beyond noise", printed)
    assert float(gain[1]) > 0.05
    assert "at most 1.0% worse" in printed


@pytest.mark.slow
def test_climate_tree(run, tmp_path):
    printed = run("climate_tree.py")
    assert "split by lon" in printed.splitlines()[0]
    risks = re.search(r"held-out risk (\S+) with one network, (\S+) with a tree", printed)
    assert float(risks[2]) < float(risks[1]) - 1
    hidden = re.search(r"VIS and AOD in (\d+)", printed)
    assert int(hidden[1]) >= 8
    assert {"climate_partition.png", "climate_map.png", "climate_risk.png"} <= {
        path.name for path in tmp_path.iterdir()
    }
