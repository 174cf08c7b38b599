"""The same numbers on a Dask cluster, also when a worker dies."""

import logging
import os
import signal
import sys
import threading
import time
import warnings

import joblib
import numpy as np
import pytest

import edgewise
from edgewise import CV, InputError
from edgewise._core.parallel import parallel_map, spawn

distributed = pytest.importorskip("distributed")

# Sockets of a cluster that was shut down are collected late, and event loops warn about it.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    """Two workers in processes of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(
            n_workers=2,
            processes=True,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as local:
            yield local


@pytest.fixture
def client(cluster):
    cluster.scale(2)
    with distributed.Client(cluster, set_as_default=False) as found:
        found.wait_for_workers(2)
        yield found


def draw_slowly(generator):
    time.sleep(0.1)
    return float(generator.normal()), os.getpid()


def test_tasks_run_on_the_workers(client):
    expected = [float(generator.normal()) for generator in spawn(0, 12)]
    with joblib.parallel_config("dask", client=client):
        found = parallel_map(draw_slowly, [(generator,) for generator in spawn(0, 12)])
    assert [value for value, _ in found] == expected
    assert len({place for _, place in found} - {os.getpid()}) == 2


def test_estimators_and_resamples_are_the_same(client):
    X = np.random.default_rng(0).normal(size=(100, 5))
    X[:, 1] += X[:, 0]
    model = edgewise.BootstrapGraph(
        edgewise.GaussianGraph(CV(3), random_state=0), n_resamples=6, random_state=0
    )
    here = model.fit(X).edge_frequency_
    with joblib.parallel_config("dask", client=client):
        there = model.fit(X).edge_frequency_
    np.testing.assert_array_equal(here, there)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_a_worker_that_is_killed_loses_nothing(client, tmp_path):
    expected = [float(generator.normal()) for generator in spawn(1, 30)]
    victim = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(0.7, os.kill, (victim, signal.SIGKILL))
    timer.start()
    with joblib.parallel_config("dask", client=client), edgewise.resumable(tmp_path):
        found = parallel_map(draw_slowly, [(generator,) for generator in spawn(1, 30)])
    timer.join()
    assert [value for value, _ in found] == expected
    assert {place for _, place in found} != {victim}


@pytest.mark.usefixtures("undrawn")
def test_the_command_line_takes_an_address(client, tmp_path, monkeypatch):
    import json

    import pandas as pd

    from tests.commands import invoke

    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    frame.to_csv("data.csv", index=False)
    options = ["learn", "data.csv", "--alpha", "0.05", "--resamples", "8"]
    address = client.scheduler.address
    there = invoke(*options, "--out", "there", "--dask", address)
    assert there.exit_code == 0, there.output
    here = invoke(*options, "--out", "here")
    assert (tmp_path / "here/edges.csv").read_text() == (tmp_path / "there/edges.csv").read_text()
    assert there.stdout.replace("there", "here") == here.stdout
    assert json.loads((tmp_path / "there/run.json").read_text())["n_nodes"] == 3


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x"])
def test_nobody_at_the_address(address):
    from edgewise.cli.options import on_cluster

    with (
        pytest.raises(InputError, match=f"No Dask scheduler answers at '{address}'"),
        on_cluster(address, patience=1),
    ):
        pass
