"""``import edgewise`` stays quick: nothing heavy is loaded before it is used."""

import subprocess
import sys

import pytest

HEAVY = (
    "numba",
    "sklearn",
    "pandas",
    "matplotlib",
    "scipy",
    "networkx",
    "igraph",
    "joblib",
    "rich",
)


def loaded_after(code):
    report = f"import sys\n{code}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_after("import edgewise; edgewise.__version__; dir(edgewise)") == set()


@pytest.mark.parametrize("name", ["InputError", "EdgewiseError", "SolverError", "DataWarning"])
def test_errors_can_be_named_for_free(name):
    assert loaded_after(f"import edgewise; edgewise.{name}") == set()


def test_a_graph_needs_no_estimators():
    found = loaded_after("import edgewise; edgewise.Graph([[0, 1.0], [1.0, 0]])")
    assert found.isdisjoint({"numba", "sklearn", "matplotlib", "pandas"})


def test_reading_needs_no_estimators():
    found = loaded_after("import edgewise.io")
    assert found.isdisjoint({"numba", "sklearn", "matplotlib", "pandas", "scipy"})


def test_learn_loads_one_family(tmp_path):
    table = tmp_path / "t.csv"
    rows = "\n".join(f"{k % 7 / 3},{k % 5 / 7},{k * k % 11 / 5}" for k in range(40))
    table.write_text(f"a,b,c\n{rows}\n", encoding="utf-8")
    command = ["-m", "edgewise", "learn", str(table), "--resamples=0", "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command], capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    families = {
        name for name in loaded if name.startswith("edgewise.solvers.") and "._" not in name
    }
    # Those of the lasso and of linear algebra serve all families; graphs are completed by kernels
    # of the directed room, and arrays of other libraries are known by that of devices.
    rooms = {name.split(".")[2] for name in families}
    assert rooms == {"device", "directed", "gaussian", "lasso", "linalg"}
    searches = {"boss", "ges", "greedy", "order", "blankets", "separation"}
    assert families.isdisjoint({f"edgewise.solvers.directed.{name}" for name in searches})
    # scikit-learn imports scipy.stats at the top of a file, and nothing uses it here.
    assert "scipy.stats._stats_py" not in loaded
    # Bokeh and networkx take longer to import than such a table to learn.
    assert loaded.isdisjoint({"bokeh", "networkx", "matplotlib.pyplot", "scipy.spatial"})
    # numba and joblib import them at the top of a file.
    assert loaded.isdisjoint({"asyncio.events", "yaml.nodes"})
