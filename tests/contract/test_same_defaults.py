"""The same table gives the same network in Python and on the command line, in any units."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

import edgewise
from edgewise import (
    BayesNetClassifier,
    DirectedGraph,
    GaussianGraph,
    GraphTree,
    NetworkChange,
)
from edgewise.data import make_gaussian_graph, make_linear_sem
from tests.commands import invoke

pytestmark = [pytest.mark.usefixtures("undrawn"), pytest.mark.filterwarnings("ignore")]


def bundled(load, n_rows):
    frame = load(as_frame=True).data.iloc[:, :5].sample(n_rows, random_state=0, ignore_index=True)
    return frame.set_axis(list("abcde")[: frame.shape[1]], axis=1)


def drawn(seed):
    rng = np.random.default_rng(seed)
    if seed % 2:
        rows = make_gaussian_graph(5, rng=seed).sample(90, rng)
    else:
        rows = make_linear_sem(np.triu(rng.random((5, 5)) < 0.4, 1), rng=seed).sample(90, rng)
    return pd.DataFrame(
        rows * 10.0 ** rng.integers(-2, 4, 5) + rng.normal(size=5), columns=[*"abcde"]
    )


TABLES = {
    "iris": lambda: bundled(load_iris, 100),
    "wine": lambda: bundled(load_wine, 120),
    "cancer": lambda: bundled(load_breast_cancer, 120),
    "diabetes": lambda: bundled(load_diabetes, 120).drop(columns="b").assign(b=range(120)),
    **{f"drawn {seed}": lambda seed=seed: drawn(seed) for seed in range(6)},
}
#: Of each question: the command with what it needs, and the fit in Python.
QUESTIONS = {
    "learn": (["--resamples", "0"], lambda X, Y, y: GaussianGraph().fit(X)),
    "direct": (["--resamples", "0"], lambda X, Y, y: DirectedGraph().fit(X)),
    "regress": (["--on", "a"], lambda X, Y, y: GraphTree(random_state=0).fit(X[["a"]], Y)),
    "compare": (
        ["--by", "group", "--permutations", "19"],
        lambda X, Y, y: NetworkChange(random_state=0).fit(X, y),
    ),
    "classify": (
        ["--by", "group", "--folds", "2", "--repeats", "1"],
        lambda X, Y, y: BayesNetClassifier().fit(X, y),
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", TABLES)
def test_python_and_the_command_line_agree(name, question, tmp_path):
    table = TABLES[name]()
    options, fit = QUESTIONS[question]
    group = np.where(np.random.default_rng(0).random(len(table)) < 0.5, "no", "yes")
    written = table.assign(group=group) if "group" in options else table
    written.to_csv(tmp_path / "table.csv", index=False)
    result = invoke(question, tmp_path / "table.csv", *options, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    by_command = edgewise.load(tmp_path / "out" / "model.edgewise")
    by_python = fit(table, table.drop(columns="a"), group)
    assert type(by_command) is type(by_python)
    assert by_command.graph_.names == by_python.graph_.names
    np.testing.assert_array_equal(by_command.graph_.adjacency, by_python.graph_.adjacency)
    np.testing.assert_allclose(by_command.graph_.weights, by_python.graph_.weights, atol=1e-10)


@pytest.mark.parametrize("name", TABLES)
def test_units_do_not_matter_to_the_default(name):
    table = TABLES[name]()
    units = 10.0 ** np.random.default_rng(1).integers(-3, 4, table.shape[1])
    found = [GaussianGraph().fit(rows).graph_ for rows in (table, table * units)]
    np.testing.assert_array_equal(found[0].adjacency, found[1].adjacency)
    np.testing.assert_allclose(found[0].weights, found[1].weights, atol=1e-8)
