"""What is promised of every fit, on small problems that are hard in different ways.

Results are finite, precisions positive definite, directed networks without cycles, gaps not below
0; they survive a file, and depend neither on the order of the rows nor on processes and threads.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import edgewise
from edgewise import CV, BayesNetClassifier, DiscreteMarkovNet, GaussianBayesNet, GaussianGraph
from edgewise.selection.rules import needs_rows
from tests.guarantees import assert_definite, assert_guarantees, is_acyclic
from tests.roster import ROSTER, cases, labels, public_estimators

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
FIXED, SEARCHES = cases("fixed"), cases("searches")
UNORDERED = [(entry, model) for entry, model in FIXED if entry.takes != "ordered rows"]
SOLVERS = [(entry, model) for entry, model in FIXED if hasattr(model, "max_iter")]
FOLDS = [
    (entry, model)
    for entry, model in SEARCHES
    if getattr(model, "cv", None) is not None or isinstance(getattr(model, "alpha", None), CV)
]
#: Models that take weights and draw nothing at random. Ranks take none.
WEIGHTED = [
    (entry, model)
    for entry, model in FIXED + cases("conventions") + cases("gaps")
    if entry.takes_weights
    and not hasattr(model, "n_resamples")
    and not needs_rows(getattr(model, "alpha", None))
    and getattr(model, "covariance", None) != "nonparanormal"
]


def over(pairs):
    return pytest.mark.parametrize(("entry", "model"), pairs, ids=labels(pairs))


def _take(data, rows):
    return tuple(np.asarray(part)[rows] for part in data)


def _fit(model, data):
    return clone(model).fit(*data)


@cache
def _fitted(entry, model, problem):
    return _fit(model, entry.data(PROBLEMS[problem]))


def test_every_estimator_is_on_the_roster():
    assert len(ROSTER) == len(public_estimators())
    assert {type(entry.plain) for entry in ROSTER} == public_estimators()


def test_models_of_an_entry_are_of_its_class():
    for kind in ("fixed", "searches", "conventions", "gaps", "options"):
        assert all(type(model) is type(entry.plain) for entry, model in cases(kind))
    assert all(entry.fixed or entry.searches for entry in ROSTER)


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
        # No alpha reproduces an estimate that is not penalised.
        np.testing.assert_array_equal(np.isnan(found[key]), np.isnan(expected[key]))
        apart = np.nan_to_num(np.abs(found[key] - expected[key]) / size)
        error = np.max(apart, initial=0.0)
        assert error <= tolerance, f"{key} differs by {error}"


def _size(value, key):
    """Units of the entries of a result."""
    if key in ("precision_", "covariance_", "precisions_") or key.startswith("node"):
        diagonal = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
        return diagonal[..., :, None] * diagonal[..., None, :]
    return np.max(np.abs(value), initial=1.0) if key == "graph_" else 1e-3 + np.abs(value)


@pytest.mark.parametrize("problem", PROBLEMS)
@over(FIXED)
def test_a_fit_keeps_its_promises_and_survives_its_file(entry, model, problem, tmp_path):
    data = entry.data(PROBLEMS[problem])
    fitted = _fitted(entry, model, problem)
    assert_guarantees(fitted)
    fitted.save(tmp_path / "m.edgewise")
    again = edgewise.load(tmp_path / "m.edgewise")
    assert_identical(again, fitted)
    for method in ("score", "predict", "predict_proba", "transform", "predict_precision"):
        if callable(getattr(fitted, method, None)):
            taken = data[: 2 if method == "score" else 1]
            left, right = (getattr(m, method)(*taken) for m in (again, fitted))
            np.testing.assert_array_equal(left, right, err_msg=method)
    if hasattr(fitted, "predict_precision"):
        for Theta in fitted.predict_precision(data[0]):
            assert_definite(Theta, entry.name)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("problem", PROBLEMS)
@over(SOLVERS)
def test_a_fit_that_is_stopped_early_keeps_its_promises(entry, model, problem):
    hurried = clone(model).set_params(max_iter=1)
    assert_guarantees(_fit(hurried, entry.data(PROBLEMS[problem])))


@pytest.mark.parametrize("problem", PROBLEMS)
@over(UNORDERED)
def test_the_order_of_rows_makes_no_difference(entry, model, problem):
    data = entry.data(PROBLEMS[problem])
    rows = np.random.default_rng(5).permutation(len(data[0]))
    assert_close(_fit(model, _take(data, rows)), _fitted(entry, model, problem))


def _with_folds(model, folds):
    """Copy a model that searches by cross-validation, with other folds."""
    given = model.get_params(deep=False)
    if "cv" in given:
        return clone(model).set_params(cv=folds)
    rules = {name: rule for name, rule in given.items() if isinstance(rule, CV)}
    return clone(model).set_params(**{k: replace(rule, cv=folds) for k, rule in rules.items()})


@over(FOLDS)
def test_the_order_of_rows_makes_no_difference_where_folds_are_given(entry, model):
    data = entry.data(PROBLEMS["tall"])
    n = len(data[0])
    rng = np.random.default_rng(6)
    fold, rows = rng.permutation(np.arange(n) // 2 % 3), rng.permutation(n)
    results = []
    for order in (np.arange(n), rows):
        folds = [
            (np.flatnonzero(fold[order] != k), np.flatnonzero(fold[order] == k)) for k in range(3)
        ]
        results.append(_fit(_with_folds(model, folds), _take(data, order)))
    assert_close(*results)


@pytest.mark.parametrize("problem", ["tall", "wide"])
@over(WEIGHTED)
def test_integer_weights_are_repeated_rows(entry, model, problem):
    X = PROBLEMS[problem]
    weights = np.random.default_rng(8).integers(0, 4, size=len(X))
    weighted = clone(model).fit(X, sample_weight=weights)
    assert_close(weighted, clone(model).fit(np.repeat(X, weights, axis=0)))


@over([(entry, model) for entry, model in FOLDS if entry.takes_weights])
def test_integer_weights_are_repeated_rows_where_folds_are_given(entry, model):
    X = PROBLEMS["tall"]
    rng = np.random.default_rng(8)
    weights, fold = rng.integers(0, 4, size=len(X)), np.arange(len(X)) % 3
    fits = []
    for rows, options in (
        (np.arange(len(X)), {"sample_weight": weights}),
        (np.repeat(np.arange(len(X)), weights), {}),
    ):
        folds = [
            (np.flatnonzero(fold[rows] != k), np.flatnonzero(fold[rows] == k)) for k in range(3)
        ]
        fits.append(_with_folds(model, folds).fit(X[rows], **options))
    assert_close(*fits)


@over(SEARCHES)
def test_the_number_of_processes_makes_no_difference(entry, model):
    data = entry.data(PROBLEMS["tall"])
    alone, shared = (_fit(clone(model).set_params(n_jobs=n_jobs), data) for n_jobs in (1, 2))
    assert_guarantees(alone)
    assert_identical(alone, shared)


@over(FIXED)
def test_the_number_of_threads_makes_no_difference(entry, model):
    data = entry.data(_problem(500, 30, 7))
    fits = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            fits.append(_fit(model, data))
    assert_guarantees(fits[0])
    assert_identical(*fits)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_objectives_never_worsen(problem):
    X = PROBLEMS[problem]
    for schedule in ("homotopy", "literal"):
        model = GaussianBayesNet(alpha=0.2, schedule=schedule).fit(X)
        objective, strength = model.history_.T
        rises = np.diff(objective)[np.diff(strength) == 0]
        assert (rises <= 1e-10 * np.abs(objective[:1])).all()
    model = DiscreteMarkovNet().fit((np.median(X, axis=0) < X).astype(int))
    best = np.max(model.history_[:, 0])
    assert model.criterion_value_ >= best - 1e-9 * abs(best)
    for learning in ("margin", "fisher"):
        model = BayesNetClassifier(learning, n_edges=8).fit(X, np.arange(len(X)) % 2)
        # In units of the rows' own margins: what is learned is at least as good as the start.
        assert model.objective_ <= model.start_objective_ + 1e-8 * abs(model.start_objective_)


def test_the_checks_see_what_they_are_for():
    with pytest.raises(AssertionError, match="eigenvalue"):
        assert_definite(np.array([[1.0, 2.0], [2.0, 1.0]]), "m")
    with pytest.raises(AssertionError, match="symmetric"):
        assert_definite(np.array([[1.0, 0.5], [0.4, 1.0]]), "m")
    assert is_acyclic(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))
    assert not is_acyclic(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    model = GaussianGraph(alpha=0.1).fit(PROBLEMS["tall"])
    model.gap_ = -1e-15
    with pytest.raises(AssertionError, match="below 0"):
        assert_guarantees(model)
    model.gap_, model.precision_ = 0.0, np.full((2, 2), np.nan)
    with pytest.raises(AssertionError, match="not finite"):
        assert_guarantees(model)
