"""Finished tasks are kept and never run again."""

import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import edgewise
from edgewise import CV, DataWarning, InputError, StARS, resumable
from edgewise._core.parallel import parallel_map, spawn
from edgewise._core.resume import KeptTasks
from edgewise.graph import Graph
from edgewise.inference import compare_networks
from tests.messages import raises


def note_and_draw(folder, generator):
    """Leave a mark of having run, and draw."""
    (Path(folder) / f"ran-{time.monotonic_ns()}").touch()
    return {"draw": generator.normal(size=2), "text": "ä", "pair": (1, None), "nan": np.nan}


def twice(folder, generator):
    return parallel_map(note_and_draw, [(folder, child) for child in generator.spawn(2)])


def tasks(folder, seed=0, n_tasks=4):
    return [(str(folder), child) for child in spawn(seed, n_tasks)]


def n_runs(folder):
    return len(list(folder.glob("ran-*")))


def kept_files(folder):
    return list((folder / "kept").glob("*.tasks"))


def assert_same(first, second):
    np.testing.assert_equal(first, second)


@pytest.fixture
def marks(tmp_path):
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


def test_nothing_runs_twice(tmp_path, marks):
    plain = parallel_map(note_and_draw, tasks(marks))
    with resumable(tmp_path / "kept"):
        first = parallel_map(note_and_draw, tasks(marks))
        again = parallel_map(note_and_draw, tasks(marks), n_jobs=2)
    assert_same(plain, first)
    assert_same(plain, again)
    assert n_runs(marks) == 8
    # Once the block has ended, nothing is kept or read.
    parallel_map(note_and_draw, tasks(marks))
    assert n_runs(marks) == 12


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_record_cut_short_runs_again(tmp_path, marks, cut):
    with resumable(tmp_path / "kept"):
        first = parallel_map(note_and_draw, tasks(marks))
        (file,) = kept_files(tmp_path)
        os.truncate(file, file.stat().st_size - cut)
        again = parallel_map(note_and_draw, tasks(marks))
        third = parallel_map(note_and_draw, tasks(marks))
    assert_same(first, again)
    assert_same(first, third)
    assert n_runs(marks) == 5


def test_damage_is_noticed(tmp_path, marks):
    with resumable(tmp_path / "kept"):
        first = parallel_map(note_and_draw, tasks(marks))
        (file,) = kept_files(tmp_path)
        content = bytearray(file.read_bytes())
        content[-10] ^= 1
        file.write_bytes(content)
        with pytest.warns(DataWarning, match="is damaged"):
            assert_same(first, parallel_map(note_and_draw, tasks(marks)))
        # What was damaged is gone, and said no more.
        assert_same(first, parallel_map(note_and_draw, tasks(marks)))
    assert n_runs(marks) == 5


@pytest.mark.parametrize("order", [[0, 1, 0, 2, 1], [3, 1], [2, 2, 2]])
def test_every_record_says_whose_it_is(tmp_path, marks, order):
    with resumable(tmp_path / "kept"):
        first = parallel_map(note_and_draw, tasks(marks))
        (file,) = kept_files(tmp_path)
        kept = KeptTasks(file)
        file.unlink()
        # As two runs would leave them that write at once, or workers that end out of order.
        for number in order:
            kept.add(number, first[number])
        assert_same(first, parallel_map(note_and_draw, tasks(marks)))
    assert n_runs(marks) == 4 + len({0, 1, 2, 3} - {*order})


def test_tasks_with_keys_are_found_among_any_others(tmp_path, marks):
    with resumable(tmp_path / "kept"):
        first = parallel_map(note_and_draw, tasks(marks)[1:3], keys=["b", "c"])
        again = parallel_map(note_and_draw, tasks(marks), keys=list("abcd"))
    assert_same(first, again[1:3])
    assert_same(again, parallel_map(note_and_draw, tasks(marks)))
    assert n_runs(marks) == 2 + 2 + 4


@pytest.mark.parametrize("other", [{"seed": 1}, {"n_tasks": 5}])
def test_another_call_is_not_taken_for_this_one(tmp_path, marks, other):
    with resumable(tmp_path / "kept"):
        parallel_map(note_and_draw, tasks(marks))
        found = parallel_map(note_and_draw, tasks(marks, **other))
    assert_same(found, parallel_map(note_and_draw, tasks(marks, **other)))
    assert len(kept_files(tmp_path)) == 2


def test_calls_inside_a_task_are_part_of_it(tmp_path, marks):
    with resumable(tmp_path / "kept"):
        parallel_map(twice, tasks(marks))
    assert len(kept_files(tmp_path)) == 1


def test_results_of_the_package_come_back_whole(tmp_path):
    with resumable(tmp_path / "kept"):
        for _ in range(2):
            (graph,) = parallel_map(Graph, [(np.ones((2, 2)) - np.eye(2),)])
            assert isinstance(graph, Graph)
            assert graph.n_edges == 1


def test_what_is_not_plain_is_refused(tmp_path):
    with resumable(tmp_path / "kept"), raises(InputError, code="needs_pickling", type="object"):
        parallel_map(object, [()])


def test_what_cannot_be_recognised_is_refused(tmp_path):
    with resumable(tmp_path / "kept"), raises(InputError, code="task_not_importable"):
        parallel_map(abs, [(lambda: 1,)])


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with raises(InputError, code="resume_needs_folder"), resumable(tmp_path / "file"):
        pass


def test_a_second_process_is_refused_until_the_first_has_died(tmp_path, marks):
    code = (
        "import sys, time, edgewise\n"
        "with edgewise.resumable(sys.argv[1]):\n"
        "    print('in', flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "kept")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "in\n"
        with raises(InputError, code="folder_in_use"), resumable(tmp_path / "kept"):
            parallel_map(note_and_draw, tasks(marks))
        process.kill()
    assert n_runs(marks) == 0
    with resumable(tmp_path / "kept"):
        parallel_map(note_and_draw, tasks(marks))
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".tasks"]


def test_a_block_within_a_block_has_its_lock(tmp_path, marks):
    with resumable(tmp_path / "kept"), resumable(tmp_path / "kept"):
        parallel_map(note_and_draw, tasks(marks))
    assert len(kept_files(tmp_path)) == 1


def bootstrap(X, y):
    return edgewise.BootstrapGraph(edgewise.GaussianGraph(0.2), n_resamples=8, random_state=0).fit(
        X
    )


def stability(X, y):
    inner = edgewise.NeighborhoodGraph()
    return edgewise.StabilitySelection(inner, n_resamples=4, random_state=0).fit(X)


def cross_validation(X, y):
    return edgewise.GaussianGraph("cv", random_state=0).fit(X)


def stars(X, y):
    return edgewise.GaussianGraph(StARS(instability=0.3), random_state=0).fit(X)


def pairs_of_strengths(X, y):
    return edgewise.LocallyConstantGraph(
        alpha=CV(n_alphas=2), tau=CV(n_alphas=2), random_state=0
    ).fit(X)


def change(X, y):
    return edgewise.NetworkChange("cv", random_state=0).fit(X, y)


def permutations(X, y):
    model = edgewise.DTraceChange(0.2)
    return edgewise.permutation_test(model, X, y, n_permutations=9, random_state=0)


def shuffles(X, y):
    return compare_networks(X, y, n_permutations=50, random_state=0)


def kernel(X, y):
    return edgewise.KernelGraph(random_state=0).fit(X[:, :1], X[:, 1:])


def classes(X, y):
    return edgewise.inference.class_accuracy(
        {"own": edgewise.BayesNetClassifier("generative")}, X, y, n_folds=3, random_state=0
    )


LONG_WORK = (
    bootstrap, stability, cross_validation, stars, pairs_of_strengths, change, permutations,
    shuffles, kernel, classes,
)  # fmt: skip


def numbers(found):
    """All arrays and numbers of a result, for comparison."""
    return {
        name: value
        for name, value in vars(found).items()
        if isinstance(value, (int, float, np.ndarray, tuple))
    }


@pytest.mark.parametrize("work", LONG_WORK, ids=lambda work: work.__name__)
def test_long_work_reads_what_is_kept(tmp_path, work):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), np.repeat(["a", "b"], 40)
    X[y == "b", 1] += X[y == "b", 0]
    plain = numbers(work(X, y))
    with resumable(tmp_path):
        work(X, y)
        kept = {path.name: path.read_bytes() for path in tmp_path.glob("*.tasks")}
        again = numbers(work(X, y))
    np.testing.assert_equal(again, plain)
    # Of a task that had run again, there would be one record more.
    assert kept
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.tasks")} == kept


class Frugal(edgewise.GaussianGraph):
    """Holds one solution of a path at a time, however small."""

    _path_bytes = 0


@pytest.mark.parametrize(
    "model", [edgewise.GaussianGraph(), Frugal(), edgewise.NeighborhoodGraph()], ids=repr
)
def test_paths_go_on_from_the_last_point(tmp_path, model):
    # So many columns that not the whole path is one compiled call.
    X = np.random.default_rng(0).normal(size=(200, 70))
    X[:, 1:10] += X[:, :1]
    plain = numbers(model.fit(X))
    with resumable(tmp_path):
        model.fit(X)
        for file in tmp_path.glob("*.tasks"):
            os.truncate(file, file.stat().st_size // 2)
        again = numbers(model.fit(X))
    np.testing.assert_equal(again, plain)


def test_paths_are_kept_only_if_wanted(tmp_path):
    with resumable(tmp_path, paths=False):
        edgewise.NeighborhoodGraph().fit(np.random.default_rng(0).normal(size=(30, 6)))
    assert not list(tmp_path.iterdir())


SLOW_RUN = """
import sys, time
import numpy as np
import edgewise

class Slow(edgewise.GaussianGraph):
    def fit(self, X, y=None, sample_weight=None):
        time.sleep(0.02)
        return super().fit(X, sample_weight=sample_weight)

X = np.random.default_rng(0).normal(size=(60, 4))
jobs = int(sys.argv[2])
model = edgewise.BootstrapGraph(Slow(0.1), n_resamples=40, random_state=0, n_jobs=jobs)
with edgewise.resumable(sys.argv[1]):
    model.fit(X)
print(model.edge_frequency_.tolist())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("n_jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_killed_and_resumed(tmp_path, n_jobs, monkeypatch, capsys):
    script = str(tmp_path / "work.py")
    Path(script).write_text(SLOW_RUN)

    def run(folder):
        monkeypatch.setattr(sys, "argv", [script, str(tmp_path / folder), n_jobs])
        runpy.run_path(script, run_name="__main__")
        return capsys.readouterr().out

    process = subprocess.Popen([sys.executable, script, str(tmp_path / "kept"), n_jobs])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        files = list((tmp_path / "kept").glob("*.tasks"))
        if files and files[0].stat().st_size > 1000:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (file,) = (tmp_path / "kept").glob("*.tasks")
    before = file.read_bytes()
    assert run("kept") == run("other")
    # What was kept was used: the file has only grown, but for a record cut short.
    after = file.read_bytes()
    assert 0 < len(before) < len(after)
    assert after.startswith(before[:800])
    other = next((tmp_path / "other").glob("*.tasks")).read_bytes()
    # Two workers may finish in either order.
    assert after == other if n_jobs == "1" else len(after) == len(other)
