"""``edgewise info`` and ``edgewise --version``."""

import json
import os
import platform

import numpy as np
import pytest

import edgewise
from edgewise._core import jit
from edgewise.data import list_datasets


def test_version(run):
    assert run("--version").stdout == f"edgewise {edgewise.__version__}\n"


def test_json(run):
    found = json.loads(run("info", "--json").stdout)
    assert found["versions"]["edgewise"] == edgewise.__version__
    assert found["versions"]["python"] == platform.python_version()
    assert found["versions"]["numpy"] == np.__version__
    assert found["cpu_count"] == os.cpu_count()
    assert found["blas"]
    names = [dataset["name"] for dataset in found["datasets"]]
    assert names == list(list_datasets())
    licences = {dataset["name"]: dataset["licence"] for dataset in found["datasets"]}
    assert "MIT License" in licences["senate-votes"]
    assert "NREL" in licences["tmy3-daily"]
    assert all(licences.values())


def test_words(run):
    out = run("info").stdout
    assert np.__version__ in out
    for name, description in list_datasets().items():
        assert f"{name} " in out
        assert description in out
    assert "Licence: MIT License" in out


@pytest.mark.parametrize("switch", ["0", "1"])
def test_cache(run, monkeypatch, switch):
    monkeypatch.setenv("EDGEWISE_NUMBA_CACHE", switch)
    cache = json.loads(run("info", "--json").stdout)["numba_cache"]
    assert cache["switched_off"] is (switch == "0")
    if switch == "0":
        assert (cache["works"], cache["location"]) == (False, None)
        assert "switched off" in run("info").stdout
    else:
        assert cache["works"] is True
        assert os.path.isdir(cache["location"])  # noqa: PTH112
        assert cache["location"] in run("info").stdout


def test_cache_in_a_place_that_cannot_be_written(run, monkeypatch):
    monkeypatch.setattr(jit, "kernel_folder", lambda: None)
    assert "no folder can be written" in run("info").stdout
