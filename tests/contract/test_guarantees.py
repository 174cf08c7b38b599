"""What is promised of every fit, on small problems that are hard in different ways.

That results are finite, precisions positive definite, directed networks without cycles and gaps
not below 0 is checked of every fit of every test, see ``tests/guarantees.py``.
"""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import edgewise
from edgewise import (
    BayesNetClassifier,
    BlanketBayesNet,
    BootstrapGraph,
    ConditionalGraph,
    DiscreteMarkovNet,
    DTraceChange,
    FusedNetworkChange,
    GaussianBayesNet,
    GaussianGraph,
    GraphTree,
    KernelGraph,
    LocallyConstantGraph,
    NeighborhoodGraph,
    NetworkChange,
    SeparateNetworkChange,
    StabilitySelection,
)
from tests.guarantees import check_definite, check_fit, estimators, is_acyclic

pytestmark = [
    pytest.mark.filterwarnings("ignore::edgewise.DataWarning"),
    pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning"),
]


def _problem(n, p, seed, *, correlation=0.5, scales=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for k in range(1, p):
        X[:, k] = correlation * X[:, k - 1] + np.sqrt(1.0 - correlation**2) * X[:, k]
    return X * 10.0 ** rng.permutation(np.linspace(-scales, scales, p)) + rng.normal(size=p)


PROBLEMS = {
    "tall": _problem(80, 5, 0),
    "wide": _problem(24, 30, 1),
    "nearly collinear": _problem(60, 6, 2, correlation=0.99),
    "of many scales": _problem(60, 6, 3, scales=3.0),
}
#: Estimators with their strengths given, so that nothing but rounding depends on the order of rows.
FIXED = {
    "GaussianGraph": GaussianGraph(alpha=0.2, covariance="correlation"),
    "GaussianGraph, ranks": GaussianGraph(alpha=0.2, covariance="nonparanormal"),
    "NeighborhoodGraph": NeighborhoodGraph(alpha=0.3),
    "LocallyConstantGraph": LocallyConstantGraph(alpha=0.1, tau=0.1),
    "GaussianBayesNet": GaussianBayesNet(alpha=0.2),
    "GaussianBayesNet, bcd": GaussianBayesNet(alpha=0.2, method="bcd"),
    "BlanketBayesNet": BlanketBayesNet(),
    "BlanketBayesNet, l1mb": BlanketBayesNet("l1mb", search="greedy"),
    "BayesNetClassifier": BayesNetClassifier(n_edges=8),
    "BayesNetClassifier, svm": BayesNetClassifier("fisher", "svm", n_edges=8),
    "DTraceChange": DTraceChange(alpha=0.3),
    "FusedNetworkChange": FusedNetworkChange(alpha=0.3, sparsity=0.1),
    "FusedNetworkChange, joint": FusedNetworkChange(alpha=0.3, method="joint", sparsity=0.1),
    "SeparateNetworkChange": SeparateNetworkChange(alpha=0.3),
    "NetworkChange": NetworkChange(alpha=0.3),
    "NetworkChange, polynomial": NetworkChange(alpha=0.5, basis="polynomial"),
    "ConditionalGraph": ConditionalGraph(alpha=0.2),
    "KernelGraph": KernelGraph(bandwidth=0.5, alpha=0.2, n_anchors=100, min_samples=5),
    "GraphTree": GraphTree(criterion="penalized", max_depth=2, n_alphas=8),
    "DiscreteMarkovNet": DiscreteMarkovNet(),
}
#: Estimators that resample rows, with the processes to spread that over.
SEARCHES = {
    "GaussianGraph": GaussianGraph(alpha="cv", cv=3, n_alphas=4, random_state=0),
    "GaussianGraph, stars": GaussianGraph(
        alpha="stars", n_subsamples=4, n_alphas=4, random_state=0
    ),
    "NeighborhoodGraph": NeighborhoodGraph(alpha="cv", cv=3, n_alphas=4, random_state=0),
    "LocallyConstantGraph": LocallyConstantGraph(cv=3, n_alphas=2, n_taus=2, random_state=0),
    "GaussianBayesNet": GaussianBayesNet(alpha="cv", cv=3, n_alphas=3, random_state=0),
    "DTraceChange": DTraceChange(cv=3, n_alphas=3, random_state=0),
    "FusedNetworkChange": FusedNetworkChange(cv=3, n_alphas=3, random_state=0),
    "SeparateNetworkChange": SeparateNetworkChange("cv", cv=3, n_alphas=3, random_state=0),
    "NetworkChange": NetworkChange(cv=3, n_alphas=3, random_state=0),
    "ConditionalGraph": ConditionalGraph(alpha="cv", cv=3, n_alphas=3, random_state=0),
    "KernelGraph": KernelGraph(
        cv=3, n_alphas=2, n_bandwidths=2, n_anchors=100, min_samples=5, random_state=0
    ),
    "GraphTree": GraphTree(max_depth=1, n_alphas=4, random_state=0),
    "BootstrapGraph": BootstrapGraph(GaussianGraph(alpha=0.2), n_resamples=4, random_state=0),
    "StabilitySelection": StabilitySelection(
        NeighborhoodGraph(alpha=0.3), n_resamples=4, random_state=0
    ),
}


def _data(model, X):
    """What an estimator is fitted to, made from rows alone."""
    if isinstance(model, DiscreteMarkovNet):
        return ((np.median(X, axis=0) < X).astype(int),)
    if isinstance(model, (ConditionalGraph, KernelGraph, GraphTree)):
        return X[:, :1], X[:, 1:]
    if edgewise.estimators._change.ChangeEstimator in type(model).__mro__ or isinstance(
        model, BayesNetClassifier
    ):
        return X, np.arange(len(X)) % 2
    return (X,)


def _take(data, rows):
    return tuple(np.asarray(part)[rows] for part in data)


def _fit(model, data):
    return clone(model).fit(*data)


def test_every_estimator_is_here():
    there = {type(model) for model in [*FIXED.values(), *SEARCHES.values()]}
    assert there == set(estimators())


RESULTS = (
    "graph_", "precision_", "covariance_", "precisions_", "coef_", "coefs_", "intercept_",
    "noise_variance_", "location_", "change_", "theta_", "order_", "support_", "alpha_", "tau_",
    "bandwidth_", "edge_frequency_", "selection_probability_", "dual_coef_", "temperature_",
)  # fmt: skip


def _results(model):
    """What a fit found, as arrays; the precisions of a tree from its nodes."""
    found = {}
    for key in RESULTS:
        value = getattr(model, key, None)
        if value is not None:
            found[key] = np.asarray(getattr(value, "weights", value), dtype=np.float64)
    for node in getattr(model, "nodes_", ()):
        found[f"node {node.node}"] = node.precision
    return found


def assert_identical(left, right):
    found, expected = _results(left), _results(right)
    assert found.keys() == expected.keys()
    for key in found:
        np.testing.assert_array_equal(found[key], expected[key], err_msg=key)


def assert_close(left, right, tolerance=1e-10):
    """Equal up to rounding, each number on the scale of its own column."""
    found, expected = _results(left), _results(right)
    assert found.keys() == expected.keys()
    for key in found:
        size = np.maximum(np.abs(expected[key]), _size(expected[key], key))
        error = np.max(np.abs(found[key] - expected[key]) / size, initial=0.0)
        assert error <= tolerance, f"{key} differs by {error}"


def _size(value, key):
    """Units of the entries of a result."""
    if key in ("precision_", "covariance_", "precisions_") or key.startswith("node"):
        diagonal = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
        return diagonal[..., :, None] * diagonal[..., None, :]
    return np.max(np.abs(value), initial=1.0) if key == "graph_" else 1e-3 + np.abs(value)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", FIXED)
def test_a_fit_keeps_its_promises_and_survives_its_file(name, problem, tmp_path):
    data = _data(FIXED[name], PROBLEMS[problem])
    model = _fit(FIXED[name], data)
    check_fit(model)
    model.save(tmp_path / "m.edgewise")
    again = edgewise.load(tmp_path / "m.edgewise")
    assert_identical(again, model)
    for method in ("score", "predict", "predict_proba", "transform", "predict_precision"):
        if hasattr(model, method):
            taken = data[: 2 if method == "score" else 1]
            left, right = (getattr(m, method)(*taken) for m in (again, model))
            np.testing.assert_array_equal(left, right, err_msg=method)
    if hasattr(model, "predict_precision"):
        for Theta in model.predict_precision(data[0]):
            check_definite(Theta, name)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", FIXED)
def test_the_order_of_rows_makes_no_difference(name, problem):
    data = _data(FIXED[name], PROBLEMS[problem])
    rows = np.random.default_rng(5).permutation(len(data[0]))
    assert_close(_fit(FIXED[name], _take(data, rows)), _fit(FIXED[name], data))


@pytest.mark.parametrize(
    "name",
    [name for name, model in SEARCHES.items() if getattr(model, "cv", None) is not None],
)
def test_the_order_of_rows_makes_no_difference_where_folds_are_given(name):
    data = _data(SEARCHES[name], PROBLEMS["tall"])
    model = SEARCHES[name]
    n = len(data[0])
    rng = np.random.default_rng(6)
    fold, rows = rng.permutation(np.arange(n) // 2 % 3), rng.permutation(n)
    results = []
    for order in (np.arange(n), rows):
        folds = [
            (np.flatnonzero(fold[order] != k), np.flatnonzero(fold[order] == k)) for k in range(3)
        ]
        results.append(_fit(clone(model).set_params(cv=folds), _take(data, order)))
    assert_close(*results)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_number_of_processes_makes_no_difference(name):
    model = SEARCHES[name]
    data = _data(model, PROBLEMS["tall"])
    alone, shared = (_fit(clone(model).set_params(n_jobs=n_jobs), data) for n_jobs in (1, 2))
    assert_identical(alone, shared)


@pytest.mark.parametrize("name", FIXED)
def test_the_number_of_threads_makes_no_difference(name):
    data = _data(FIXED[name], _problem(500, 30, 7))
    fits = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            fits.append(_fit(FIXED[name], data))
    assert_identical(*fits)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_objectives_never_worsen(problem):
    X = PROBLEMS[problem]
    for schedule in ("homotopy", "literal"):
        model = GaussianBayesNet(alpha=0.2, schedule=schedule).fit(X)
        objective, strength = model.history_.T
        rises = np.diff(objective)[np.diff(strength) == 0]
        assert (rises <= 1e-10 * np.abs(objective[:1])).all()
    codes, *_ = _data(DiscreteMarkovNet(), X)
    best = np.maximum.accumulate(DiscreteMarkovNet().fit(codes).history_[:, 0])
    assert DiscreteMarkovNet().fit(codes).criterion_value_ >= best[-1] - 1e-9 * abs(best[-1])
    for learning in ("margin", "fisher"):
        model = BayesNetClassifier(learning, n_edges=8)
        model.fit(*_data(model, X))
        # In units of the rows' own margins: what is learned is at least as good as the start.
        assert model.objective_ <= model.start_objective_ + 1e-8 * abs(model.start_objective_)


def test_the_checks_see_what_they_are_for():
    with pytest.raises(AssertionError, match="eigenvalue"):
        check_definite(np.array([[1.0, 2.0], [2.0, 1.0]]), "m")
    with pytest.raises(AssertionError, match="symmetric"):
        check_definite(np.array([[1.0, 0.5], [0.4, 1.0]]), "m")
    assert is_acyclic(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))
    assert not is_acyclic(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    model = GaussianGraph(alpha=0.1).fit(PROBLEMS["tall"])
    model.gap_ = -1e-3
    with pytest.raises(AssertionError, match="below 0"):
        check_fit(model)
    model.gap_, model.precision_ = 0.0, np.full((2, 2), np.nan)
    with pytest.raises(AssertionError, match="not finite"):
        check_fit(model)


def test_every_fit_of_every_test_is_checked(monkeypatch):
    monkeypatch.setattr("tests.guarantees.check_definite", lambda *_: pytest.fail("looked"))
    with pytest.raises(pytest.fail.Exception, match="looked"):
        GaussianGraph(alpha=0.1).fit(PROBLEMS["tall"])
