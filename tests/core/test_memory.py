"""Memory is foretold before it is taken."""

import os

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone

from edgewise import (
    BayesNetClassifier,
    BlanketBayesNet,
    BootstrapGraph,
    DiscreteMarkovNet,
    DTraceChange,
    EdgewiseError,
    FusedNetworkChange,
    GaussianBayesNet,
    GaussianGraph,
    KernelGraph,
    NeighborhoodGraph,
    NotEnoughMemoryError,
    SeparateNetworkChange,
)
from edgewise._core import memory
from edgewise._core.memory import Arrays, available_bytes, local_workers, require_memory
from edgewise.stats.pair_features import pair_features
from tests.messages import raises
from tests.roster import ROSTER


def test_the_message_has_the_figures_and_what_to_do(small_machine):
    side = 120_000
    with pytest.raises(NotEnoughMemoryError) as caught:
        require_memory(
            "A fit to 120,000 columns",
            [Arrays(5, (side, side)), Arrays(1, (100, side))],
            advice="Keep fewer columns.",
        )
    assert str(caught.value) == (
        "A fit to 120,000 columns needs about 5 arrays of 120,000 x 120,000 (115 GB each), 576 GB "
        "in all; 1.0 MB are free. Keep fewer columns."
    )
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, EdgewiseError)


def test_what_is_surely_there_passes_and_every_process_counts(small_machine):
    held = [Arrays(1, (5000, 5000))]
    require_memory("A fit", held, advice="")
    with raises(NotEnoughMemoryError, code="memory_estimate_too_large", task="A fit", count=1):
        require_memory("A fit", held, advice="", workers=2)


def test_a_system_that_does_not_say_is_trusted(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    assert require_memory("A fit", [Arrays(1, (10**9, 10**9))], advice="") is None


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture
def machine(tmp_path):
    """A machine with 8 GB free, whose files can be written."""
    write(tmp_path / "proc", meminfo="MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n")
    write(tmp_path / "proc" / "self", cgroup="0::/\n")
    return tmp_path


def available_on(machine):
    return available_bytes(proc=machine / "proc", cgroups=machine / "cgroup")


def test_what_the_system_has_is_available(machine):
    assert available_on(machine) == 8_000_000 * 1024


def test_a_group_of_processes_limits_what_is_available(machine):
    write(machine / "proc" / "self", cgroup="1:cpu:/elsewhere\n0::/job/step\n")
    step = machine / "cgroup" / "job" / "step"
    stat = "anon 5\ninactive_file 100\n"
    write(step, memory__max="max\n", memory__current="900\n", memory__stat=stat)
    assert available_on(machine) == 8_000_000 * 1024
    write(step.parent, memory__max="5000\n", memory__current="1000\n", memory__stat=stat)
    assert available_on(machine) == 4100
    write(step, memory__max="3000\n")
    assert available_on(machine) == 2200


def test_groups_of_the_first_version(machine):
    write(machine / "proc" / "self", cgroup="4:memory:/box\n0::/\n")
    write(
        machine / "cgroup" / "memory" / "box",
        memory__limit_in_bytes="2000\n",
        memory__usage_in_bytes="2500\n",
        memory__stat="total_inactive_file 700\n",
    )
    assert available_on(machine) == 200


def test_a_system_without_these_files_has_its_whole_memory(machine, monkeypatch):
    nowhere = machine / "nowhere"
    sizes = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
    assert available_on(nowhere) == 4_096_000

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown, raising=False)
    assert available_on(nowhere) is None


def test_this_machine_has_memory():
    free = available_bytes()
    assert free is None or free > 2**20


def test_workers_of_this_machine():
    assert local_workers(None) == 1
    with parallel_config(n_jobs=3):
        assert local_workers(None) == 3
    assert local_workers(2) == 2


#: A table without memory of its own: only its shape may be looked at.
LARGE = np.broadcast_to(np.zeros(1), (100_000, 4_000))
LABELS = np.arange(100_000) % 2
COVARIATES = np.zeros((100_000, 1))


@pytest.mark.parametrize(
    "entry",
    # Estimators of estimators leave it to the one that they resample.
    [entry for entry in ROSTER if "estimator" not in entry.plain.get_params()],
    ids=lambda entry: entry.name,
)
def test_fits_beyond_memory_are_refused_before_they_begin(entry, small_machine):
    data = {"rows": (LARGE,), "levels": (LARGE,), "covariates": (COVARIATES, LARGE)}
    with pytest.raises(NotEnoughMemoryError) as caught:
        clone(entry.plain).fit(*data.get(entry.takes, (LARGE, LABELS)))
    message = str(caught.value)
    assert message.startswith(f"A fit of {entry.name} to 100,000 rows and 4,000 columns needs")
    assert "Keep fewer columns" in message


def test_frames_beyond_memory_are_refused(small_machine):
    with raises(
        NotEnoughMemoryError, code="memory_estimate_too_large", shape="3,000 x 3,000", each="72 MB"
    ):
        BlanketBayesNet().fit(pd.DataFrame(np.zeros((2, 3000))).rename(columns=str))


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (FusedNetworkChange(), FusedNetworkChange(method="joint")),
        (BayesNetClassifier(), BayesNetClassifier(decide="svm")),
        (BayesNetClassifier(), BayesNetClassifier("fisher")),
        (KernelGraph(n_anchors=5), KernelGraph(n_anchors=50)),
    ],
)
def test_options_that_take_more_memory(small, large):
    needs = [sum(a.total for a in model._arrays_held(200, 30)) for model in (small, large)]
    assert needs[1] > 1.5 * needs[0]


def test_processes_of_a_search_count(small_machine):
    with raises(
        NotEnoughMemoryError,
        code="memory_estimate_too_large",
        shape="100,000 x 4,000",
        each="3.2 GB",
    ):
        GaussianGraph(alpha="cv", n_jobs=3).fit(LARGE)
    with pytest.raises(NotEnoughMemoryError) as caught:
        GaussianGraph(alpha=0.1, n_jobs=3).fit(LARGE)
    assert "processes," not in str(caught.value)
    with raises(
        NotEnoughMemoryError,
        code="memory_estimate_too_large",
        shape="100,000 x 4,000",
        each="3.2 GB",
    ):
        BootstrapGraph(GaussianGraph(alpha=0.1), n_jobs=2).fit(LARGE)


@pytest.mark.slow
def test_bytes_are_read_in_pieces_and_need_no_room(small_machine):
    codes = np.random.default_rng(0).integers(0, 2, size=(80, 5), dtype=np.uint8)
    codes = np.tile(codes, (40_000, 1))
    assert DiscreteMarkovNet().fit(codes).converged_
    with pytest.raises(NotEnoughMemoryError):
        DiscreteMarkovNet().fit(codes.astype(np.int8))


def test_features_of_pairs_are_counted(small_machine):
    with raises(
        NotEnoughMemoryError,
        code="memory_estimate_too_large",
        shape="495 x 250 x 250",
        each="248 MB",
    ):
        pair_features(LARGE[:9, :250], "polynomial", 30)
    with raises(
        NotEnoughMemoryError,
        code="memory_estimate_too_large",
        shape="245,350 x 1 x 80",
        each="157 MB",
    ):
        pair_features(LARGE[:80, :700], lambda a, b: a * b)
    assert pair_features(LARGE[:80, :5], lambda a, b: a * b).size == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (GaussianGraph(alpha=0.5), "rows"),
        (NeighborhoodGraph(alpha=0.4), "rows"),
        (GaussianBayesNet(alpha=0.4), "rows"),
        (DTraceChange(alpha=0.8), "labels"),
        (SeparateNetworkChange(alpha=0.5), "labels"),
    ],
)
def test_foretold_and_measured_agree(estimator, kind):
    """What numpy allocates at the peak is no less than half of what is foretold, nor far more."""
    import tracemalloc

    X = np.random.default_rng(0).normal(size=(300, 700))
    data = (X,) if kind == "rows" else (X, np.arange(300) % 2)
    tracemalloc.start()
    try:
        estimator.fit(*data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    foretold = sum(arrays.total for arrays in estimator._arrays_held(*X.shape))
    assert 0.5 * foretold < peak < 3.0 * foretold
