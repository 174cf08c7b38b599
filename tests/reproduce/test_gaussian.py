import numpy as np
import pandas as pd
import pytest

from edgewise.reproduce import gaussian as graphs, load_study
from edgewise.reproduce.tables import matthews


@pytest.mark.parametrize("kind", graphs.KINDS)
def test_models_are_of_their_kind(kind):
    model = graphs.draw_model(kind, 20, np.random.default_rng(0))
    degree = model.adjacency.sum(axis=0)
    assert model.smallest_eigenvalue > 0
    if kind == "band":
        assert degree.max() == 4
    if kind == "factor":
        assert (degree == 4).all()
    if kind == "hub":
        assert degree.max() == 9


@pytest.mark.parametrize("distribution", graphs.DISTRIBUTIONS)
def test_rows_are_standardised(distribution):
    rng = np.random.default_rng(0)
    X = graphs.draw_rows(graphs.draw_model("random", 6, rng), distribution, 200, rng)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_matthews_is_the_correlation_of_the_edges():
    rng = np.random.default_rng(0)
    true, learned = (np.triu(rng.random((8, 8)) < 0.4, 1) for _ in range(2))
    true, learned = true | true.T, learned | learned.T
    above = np.triu_indices(8, 1)
    expected = np.corrcoef(true[above], learned[above])[0, 1]
    assert matthews(true, learned) == pytest.approx(expected)
    assert matthews(true, np.zeros_like(true)) == 0


def test_a_task_judges_every_rule_and_the_report_ranks_them(monkeypatch):
    monkeypatch.setattr(graphs, "peers_here", lambda: ())
    monkeypatch.setattr(
        graphs,
        "our_rules",
        lambda: {graphs.DEFAULT: lambda X: np.abs(np.corrcoef(X.T) - np.eye(20)) > 0.3},
    )
    task = {
        "kind": "hub",
        "distribution": "gaussian",
        "n_features": 20,
        "n_samples": 100,
        "draw": 0,
    }
    rows = graphs.run_task(np.random.default_rng(0), **task)
    assert [row["rule"] for row in rows] == [graphs.DEFAULT]
    assert 0 < rows[0]["mcc"] < 1
    assert not rows[0]["missed"]
    frame = pd.DataFrame([{"task": 0, **task, **row} for row in rows])
    text = graphs.report(frame).text
    assert f"{rows[0]['mcc']:.3f}" in text
    assert "20 x 100" in text


def test_the_study_lists_every_cell():
    study = load_study("defaults")
    tasks = study.parts[0].tasks(False)
    assert len(tasks) == 6 * 3 * 11 * 3
    assert len(study.parts[0].tasks(True)) == 36
