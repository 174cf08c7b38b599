"""An interrupt ends the work and is never a result."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import edgewise
from edgewise._core.parallel import interrupts_raised, parallel_map
from edgewise._core.resume import KeptTasks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals differ")


def interrupt():
    """What Ctrl-C does, handled before this returns."""
    signal.raise_signal(signal.SIGINT)
    time.sleep(0.01)


def turn_into_an_error():
    """As the dispatcher of compiled kernels does."""
    try:
        interrupt()
    except KeyboardInterrupt as error:
        raise SystemError("returned a result with an exception set") from error


def swallow():
    """As callbacks of garbage collection do."""
    try:
        interrupt()
    except KeyboardInterrupt:
        return 1


def maybe_swallow(is_interrupted):
    return swallow() if is_interrupted else 1


def report_failures():
    """As whatever takes a failure for a result."""
    try:
        turn_into_an_error()
    except Exception as error:
        return str(error)


WAYS = [interrupt, turn_into_an_error, swallow, report_failures]


@pytest.mark.parametrize("way", WAYS)
def test_no_way_to_lose_it(way):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupts_raised():
        way()
    assert signal.getsignal(signal.SIGINT) is before


def test_work_ends_with_the_task_that_lost_it(tmp_path):
    with edgewise.resumable(tmp_path):
        with pytest.raises(KeyboardInterrupt):
            parallel_map(maybe_swallow, [(False,), (False,), (True,), (False,)])
        kept = [len(list(KeptTasks(file).read())) for file in tmp_path.glob("*.tasks")]
    assert kept == [2]


def test_errors_without_an_interrupt_are_left_alone():
    with pytest.raises(SystemError, match="my own"), interrupts_raised():
        raise SystemError("my own")


def test_a_handler_that_deals_with_it_is_left_alone():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with interrupts_raised():
            assert swallow() is None
        assert parallel_map(swallow, [()]) == [None]
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT] * 2


def test_other_threads_have_nothing_to_do():
    found = []

    def work():
        with interrupts_raised() as check:
            check()
            found.append(parallel_map(abs, [(-1,)]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [[1]]


class Interrupted(edgewise.GaussianGraph):
    """Interrupted in the third fit, in a way that looks like a failure."""

    n_fits = 0

    def fit(self, X, y=None, sample_weight=None):
        Interrupted.n_fits += 1
        if Interrupted.n_fits == 3:
            turn_into_an_error()
        return super().fit(X, sample_weight=sample_weight)


def bootstrap(X, y):
    model = edgewise.BootstrapGraph(Interrupted(0.2), n_resamples=6, random_state=0).fit(X)
    return model.edge_frequency_, model.failures_


def permutations(X, y):
    model = Interrupted(0.2)
    found = edgewise.permutation_test(model, X, y, n_permutations=9, random_state=0)
    return found.null_max, found.failures


@pytest.mark.parametrize("work", [bootstrap, permutations])
def test_no_failure_is_recorded(tmp_path, monkeypatch, work):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.repeat(["a", "b"], 30)
    monkeypatch.setattr(Interrupted, "n_fits", 0)
    with edgewise.resumable(tmp_path):
        with pytest.raises(KeyboardInterrupt):
            work(X, y)
        again = work(X, y)
    np.testing.assert_equal(again, work(X, y))
    assert not again[1]


SCRIPT = """
import sys
import numpy as np
import edgewise

X = np.random.default_rng(0).normal(size=(200, 12))
X[:, 1:] += X[:, :-1]
jobs = int(sys.argv[1])
model = edgewise.BootstrapGraph(
    edgewise.GaussianGraph("cv", random_state=0), n_resamples=100_000, random_state=0, n_jobs=jobs
)
edgewise.BootstrapGraph(edgewise.GaussianGraph("cv"), n_resamples=4, n_jobs=jobs).fit(X)
print("working", flush=True)
try:
    model.fit(X)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def interrupted_bootstrap(n_jobs, delay):
    """Interrupt a program as Ctrl-C at a terminal does; return its words and the time it took."""
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(n_jobs)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout.readline() == "working\n"
        time.sleep(delay)
        start = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        words = process.stdout.readline()
        seconds = time.monotonic() - start
        process.kill()
    return words, seconds


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_python_hears_it(n_jobs):
    words, seconds = interrupted_bootstrap(n_jobs, 0.2)
    assert words == "interrupted\n"
    # Two seconds are promised, of a machine that has nothing else to do.
    assert seconds < 10


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_python_hears_it_at_any_moment(n_jobs):
    rng = np.random.default_rng(0)
    found = [interrupted_bootstrap(n_jobs, delay) for delay in rng.uniform(0, 2, size=20)]
    assert [words for words, _ in found] == ["interrupted\n"] * 20
    assert np.quantile([seconds for _, seconds in found], 0.9) < 2
