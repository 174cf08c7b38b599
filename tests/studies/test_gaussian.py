import numpy as np
import pandas as pd
import pytest

from studies import gaussian as graphs, load_study
from studies.gaussian import intervals
from studies.tables import matthews


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


@pytest.mark.parametrize("kind", intervals.KINDS)
def test_precision_matrices_of_intervals(kind):
    Theta = intervals.draw_precision(kind, 40, np.random.default_rng(0))
    assert np.linalg.eigvalsh(Theta)[0] > 0
    if kind == "hubs of huge":
        # cov2cor(huge.generator(d = 40, graph = "hub")$omega), with huge 1.3.5 under R 4.2.2
        assert Theta[0, 1] / np.sqrt(Theta[0, 0] * Theta[1, 1]) == pytest.approx(0.1989826)


@pytest.mark.parametrize("kind", intervals.CLOSE)
def test_columns_that_nearly_determine_each_other(kind):
    p, _ = intervals.CLOSE[kind]
    Theta = intervals.draw_precision(kind, p, np.random.default_rng(0))
    assert Theta.shape == (p, p)
    inflation = (Theta.diagonal() * np.linalg.inv(Theta).diagonal()).max()
    assert inflation > (7 if "wine" in kind else 30)
    has_zeros = (np.abs(Theta) < 1e-9).any()
    assert has_zeros == (kind not in ("diabetes", "wine"))


def test_close_columns_have_a_part_of_their_own(monkeypatch):
    part = load_study("intervals").parts[-1]
    assert len(part.tasks(False)) == 20 * len(intervals.CLOSE) * 2
    monkeypatch.setattr(intervals, "PER_TASK", 3)
    rows = []
    for task in part.tasks(True):
        found = intervals.run_task(np.random.default_rng(0), **task)
        rows += [{"task": 0, **task, **row} for row in found]
    report = part.report(pd.DataFrame(rows))
    assert "## Columns that nearly determine each other" in report.text
    assert "nodewise | diabetes | 100 | 11 |  | 0." in report.text
    assert len(report.claims) == 3


def test_a_task_counts_and_the_report_judges(monkeypatch):
    study = load_study("intervals")
    task = study.parts[0].tasks(True)[-1]
    assert len(study.parts[0].tasks(False)) == 20 * len(intervals.KINDS) * 2 * 2
    monkeypatch.setattr(intervals, "PER_TASK", 3)
    rows = []
    for method in ("nodewise", "graphical-lasso"):
        task = {**task, "method": method}
        found = intervals.run_task(np.random.default_rng(0), **task)
        rows += [{"task": 0, **task, **row} for row in found]
    report = study.report({"p50": pd.DataFrame(rows)})
    assert "graphical-lasso | hubs of huge | 200 | 50" in report.text
    assert len(report.claims) == 4
    assert report.claims[3].found.startswith("0.")
