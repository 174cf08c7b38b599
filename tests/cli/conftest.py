"""What the tests of the command line share."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tests.commands import invoke as invoke_command


@pytest.fixture(autouse=True)
def undrawn_unless_marked(request):
    """Leave drawing out where nobody looks at it: it takes four fifths of a run."""
    if request.node.get_closest_marker("drawn") is None:
        request.getfixturevalue("undrawn")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder; with an expected exit code, 0 unless told."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, code=0):
        result = invoke_command(*arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.stderr
        return result

    return invoke


@pytest.fixture
def learn(run, tmp_path):
    """Learn from a frame or a file; return what the folder holds."""

    def invoke(data, *options):
        if isinstance(data, pd.DataFrame):
            data.to_csv(tmp_path / "data.csv", index=False)
            data = tmp_path / "data.csv"
        out = tmp_path / "out"
        if not {"--resamples=100", "--resamples"} & set(options):
            options = (*options, "--resamples=0")
        result = run("learn", data, "--out", out, *options)
        record = json.loads(Path(out, "run.json").read_text())
        edges = pd.read_csv(out / "edges.csv").dropna(subset="target")
        return SimpleNamespace(result=result, out=out, record=record, edges=edges)

    return invoke


@pytest.fixture
def jobs_of(monkeypatch):
    """List the number of jobs of every fit of a class from now on."""

    def watch(estimator):
        jobs, fit = [], estimator.fit

        def watched(self, *arguments, **options):
            jobs.append(self.n_jobs)
            return fit(self, *arguments, **options)

        monkeypatch.setattr(estimator, "fit", watched)
        return jobs

    return watch


@pytest.fixture
def frame():
    """A chain a - b - c, beside d and e, which have nothing to do with them."""
    values = np.random.default_rng(7).normal(size=(120, 5))
    values[:, 1] += values[:, 0]
    values[:, 2] -= values[:, 1]
    return pd.DataFrame(values, columns=list("abcde"))
