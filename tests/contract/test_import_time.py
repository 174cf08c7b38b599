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
