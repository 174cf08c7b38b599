"""Metrics against scikit-learn, closed forms and counting by hand."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve as sklearn_curve,
    precision_score,
    recall_score,
)

from edgewise import Graph, InputError
from edgewise._core.messages import Note
from edgewise.metrics import (
    edge_metrics,
    gaussian_kl,
    irregularity,
    precision_recall_curve,
    shd,
)
from tests.messages import raises


def random_matrix(rng, p, density, directed=False):
    matrix = rng.normal(size=(p, p)) * (rng.uniform(size=(p, p)) < density)
    np.fill_diagonal(matrix, 0)
    return matrix if directed else np.triu(matrix) + np.triu(matrix).T


def random_precision(rng, p):
    root = rng.normal(size=(p, 2 * p))
    return root @ root.T / p + 0.1 * np.eye(p)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_edge_metrics_agree_with_sklearn(seed, directed):
    rng = np.random.default_rng(seed)
    true, learned = (random_matrix(rng, 12, 0.3, directed) for _ in range(2))
    entries = ~np.eye(12, dtype=bool) if directed else np.triu(np.ones((12, 12), bool), 1)
    truth, guess = true[entries] != 0, learned[entries] != 0
    metrics = edge_metrics(true, learned)
    assert metrics.precision == pytest.approx(precision_score(truth, guess))
    assert metrics.recall == pytest.approx(recall_score(truth, guess))
    harmonic = 2 / (1 / metrics.precision + 1 / metrics.recall)
    assert metrics.f1 == pytest.approx(harmonic)
    assert metrics.hamming == np.count_nonzero(truth != guess) == metrics.fp + metrics.fn
    assert metrics.tp == np.count_nonzero(truth & guess)


def test_edge_metrics_ignore_the_diagonal_and_take_booleans():
    matrix = np.array([[2.0, 0.3], [0.3, 2.0]])
    assert edge_metrics(matrix, np.array([[False, True], [True, False]])).tp == 1
    assert edge_metrics(matrix, matrix).hamming == 0


def test_edge_metrics_without_edges():
    none, one = np.zeros((3, 3)), np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    nothing_learned = edge_metrics(one, none)
    assert (nothing_learned.precision, nothing_learned.recall, nothing_learned.f1) == (1, 0, 0)
    nothing_true = edge_metrics(none, one)
    assert (nothing_true.precision, nothing_true.recall, nothing_true.f1) == (0, 1, 0)
    both_empty = edge_metrics(none, none)
    assert (both_empty.precision, both_empty.recall, both_empty.f1) == (1, 1, 1)


def test_edge_metrics_match_graphs_by_name():
    weights = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    true = Graph(weights, names=["a", "b", "c"])
    same = Graph(weights[::-1, ::-1], names=["c", "b", "a"])
    other = Graph(weights, names=["c", "b", "a"])
    assert edge_metrics(true, same).f1 == 1
    assert edge_metrics(true, other).f1 == 0
    assert shd(true, same) == 0
    with raises(InputError, code="nodes_differ", missing=("a",)):
        edge_metrics(true, Graph(weights, names=["x", "b", "c"]))


def test_edge_metrics_count_arcs_when_either_graph_is_directed():
    arc = Graph([[0, 1], [0, 0]], directed=True)
    line = Graph([[0, 1], [1, 0]])
    metrics = edge_metrics(arc, line)
    assert (metrics.tp, metrics.fp, metrics.fn) == (1, 1, 0)
    reversed_arc = Graph([[0, 0], [1, 0]], directed=True)
    assert edge_metrics(arc, reversed_arc).hamming == 2
    # A directed graph whose arcs happen to be symmetric still counts arcs.
    both = Graph([[0, 1], [1, 0]], directed=True)
    assert edge_metrics(both, both).tp == 2


def test_metrics_refuse_what_is_not_two_graphs():
    with raises(InputError, code="node_counts_differ", n_true=3, n_learned=2):
        edge_metrics(np.zeros((3, 3)), np.zeros((2, 2)))
    with raises(InputError, code="not_square"):
        shd(np.zeros(3), np.zeros((3, 3)))
    with raises(InputError, code="matrix_not_finite"):
        shd(np.full((2, 2), np.nan), np.zeros((2, 2)))


def test_shd_counts_pairs():
    true = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    reversed_first = true.copy()
    reversed_first[0, 1], reversed_first[1, 0] = 0, 1
    assert shd(true, reversed_first) == 1
    undirected_first = true.copy()
    undirected_first[1, 0] = 1
    assert shd(true, undirected_first) == 1
    missing_and_extra = true.copy()
    missing_and_extra[0, 1], missing_and_extra[0, 3] = 0, 1
    assert shd(true, missing_and_extra) == 2
    assert shd(true + true.T, np.zeros((4, 4))) == 3


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_shd_is_a_distance(seed, directed):
    rng = np.random.default_rng(seed)
    a, b, c = (random_matrix(rng, 5, 0.4, directed) for _ in range(3))
    assert shd(a, a) == 0
    assert shd(a, b) == shd(b, a)
    assert shd(a, c) <= shd(a, b) + shd(b, c)
    order = rng.permutation(5)
    assert shd(a[np.ix_(order, order)], b[np.ix_(order, order)]) == shd(a, b)
    # Independent count, pair by pair.
    marks = [
        (bool(a[i, j]), bool(a[j, i])) != (bool(b[i, j]), bool(b[j, i]))
        for i in range(5)
        for j in range(i)
    ]
    assert shd(a, b) == sum(marks)


def test_gaussian_kl_closed_form_in_one_dimension():
    # N(0, 2^2) against N(1, 3^2): log(3/2) + (4 + 1) / (2 * 9) - 1/2
    value = gaussian_kl([[1 / 4]], [[1 / 9]], [0.0], [1.0])
    assert value == pytest.approx(np.log(1.5) + 5 / 18 - 0.5, abs=1e-14)
    assert gaussian_kl([[1 / 4]], [[1 / 9]], [1.0], None) == pytest.approx(value, abs=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_gaussian_kl_textbook_formula(seed):
    rng = np.random.default_rng(seed)
    Theta, Omega = random_precision(rng, 6), random_precision(rng, 6)
    mu, m = rng.normal(size=(2, 6))
    textbook = 0.5 * (
        np.trace(Omega @ np.linalg.inv(Theta))
        - 6
        - np.linalg.slogdet(Omega)[1]
        + np.linalg.slogdet(Theta)[1]
        + (m - mu) @ Omega @ (m - mu)
    )
    assert gaussian_kl(Theta, Omega, mu, m) == pytest.approx(textbook, rel=1e-10)


def test_gaussian_kl_by_simulation():
    rng = np.random.default_rng(1)
    Theta, Omega, m = random_precision(rng, 3), random_precision(rng, 3), np.array([0.2, 0, -0.1])
    X = rng.multivariate_normal(np.zeros(3), np.linalg.inv(Theta), size=200_000)

    def log_density(precision, mean):
        centred = X - mean
        form = np.einsum("ij,jk,ik->i", centred, precision, centred)
        return (np.linalg.slogdet(precision)[1] - form) / 2

    ratio = log_density(Theta, 0) - log_density(Omega, m)
    expected, error = ratio.mean(), ratio.std() / np.sqrt(len(X))
    assert abs(gaussian_kl(Theta, Omega, None, m) - expected) < 4 * error


def test_gaussian_kl_is_zero_only_at_equality():
    Theta = random_precision(np.random.default_rng(2), 8)
    assert 0 <= gaussian_kl(Theta, Theta) < 1e-14
    assert gaussian_kl(Theta, 1.01 * Theta) > 1e-4
    assert gaussian_kl(Theta, 2 * Theta) != pytest.approx(gaussian_kl(2 * Theta, Theta))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (
            ([[1, 2], [2, 1]], np.eye(2)),
            Note("not_positive_definite", what="true_precision", smallest=-1.0),
        ),
        ((np.eye(2), [[1, 2], [0, 1]]), Note("matrix_not_symmetric", what="learned_precision")),
        ((np.eye(2), np.eye(3)), Note("shapes_differ", first_shape=(2, 2), second_shape=(3, 3))),
        ((np.eye(2), np.eye(2), [0, 0, 0]), Note("vector_shape", what="true_mean", n=2)),
        (
            (np.eye(2), np.eye(2), None, [np.nan, 0]),
            Note("vector_shape", what="learned_mean", n=2, shape=(2,)),
        ),
    ],
)
def test_gaussian_kl_refuses(arguments, code):
    with raises(InputError, code=code):
        gaussian_kl(*arguments)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_curve_of_scores_agrees_with_sklearn(seed, directed):
    rng = np.random.default_rng(seed)
    true = random_matrix(rng, 10, 0.2, directed)
    scores = random_matrix(rng, 10, 1.0, directed)
    scores = np.round(scores, 1)  # with ties, and with zeros
    entries = ~np.eye(10, dtype=bool) if directed else np.triu(np.ones((10, 10), bool), 1)
    precision, recall, thresholds = sklearn_curve(true[entries] != 0, np.abs(scores[entries]))
    curve = precision_recall_curve(true, scores)
    np.testing.assert_allclose(curve.precision, precision[:-1][::-1])
    np.testing.assert_allclose(curve.recall, recall[:-1][::-1])
    np.testing.assert_allclose(curve.thresholds, thresholds[::-1])
    area = average_precision_score(true[entries] != 0, np.abs(scores[entries]))
    assert curve.auc == pytest.approx(area)


def test_curve_of_a_path_equals_the_curve_of_its_scores():
    rng = np.random.default_rng(5)
    true, scores = random_matrix(rng, 10, 0.3), np.abs(random_matrix(rng, 10, 1.0))
    from_scores = precision_recall_curve(true, scores)
    cuts = from_scores.thresholds
    path = [scores * (scores >= cut) for cut in cuts]
    shuffled = rng.permutation(len(path))
    along = precision_recall_curve(true, [path[i] for i in shuffled], thresholds=cuts[shuffled])
    np.testing.assert_allclose(along.precision, from_scores.precision[shuffled])
    np.testing.assert_allclose(along.recall, from_scores.recall[shuffled])
    np.testing.assert_array_equal(along.thresholds, cuts[shuffled])
    assert along.auc == pytest.approx(from_scores.auc)


def test_curve_accepts_graphs_stacks_and_single_graphs():
    rng = np.random.default_rng(6)
    true = random_matrix(rng, 6, 0.5)
    stack = np.array([random_matrix(rng, 6, density) for density in (0.2, 0.5, 0.9)])
    names = list("fedcba")
    graphs = [Graph(weights[::-1, ::-1], names=names) for weights in stack]
    plain = precision_recall_curve(true, stack)
    named = precision_recall_curve(Graph(true, names=names[::-1]), graphs)
    np.testing.assert_array_equal(plain.precision, named.precision)
    assert plain.thresholds.tolist() == [0, 1, 2]
    scores = random_matrix(rng, 6, 1.0)
    as_graph = Graph(scores[::-1, ::-1], names=names)
    one = precision_recall_curve(Graph(true, names=names[::-1]), as_graph)
    assert one.auc == precision_recall_curve(true, scores).auc


def test_curve_that_never_reaches_full_recall_keeps_to_what_it_reached():
    true = np.ones((3, 3)) - np.eye(3)
    learned = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert precision_recall_curve(true, [learned]).auc == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("true", "graphs", "options", "code"),
    [
        (np.zeros((2, 2)), [[0, 1], [1, 0]], {}, "no_true_edges"),
        (np.zeros((2, 2)), [[[0, 1], [1, 0]]], {}, "no_true_edges"),
        ([[0, 1], [1, 0]], [], {}, "not_graphs_or_scores"),
        ([[0, 1], [1, 0]], [np.zeros((2, 2)), np.zeros((3, 3))], {}, "path_sizes_differ"),
        (
            [[0, 1], [1, 0]],
            [[[0, 1], [1, 0]]],
            {"thresholds": [1, 2]},
            Note("threshold_count", n_graphs=1, n_thresholds=2),
        ),
        ([[0, 1], [1, 0]], [[0, 1], [1, 0]], {"thresholds": [1]}, "thresholds_with_scores"),
    ],
)
def test_curve_refuses(true, graphs, options, code):
    with raises(InputError, code=code):
        precision_recall_curve(true, graphs, **options)


def test_irregularity_by_hand():
    star = np.zeros((6, 6))
    star[0, 1:] = star[1:, 0] = 1
    assert irregularity(star) == 20
    hubs = star.copy()
    hubs[1, 2:] = hubs[2:, 1] = 1
    assert irregularity(hubs) == 24  # the largest value that six nodes allow
    assert irregularity(Graph(np.roll(np.eye(5), 1, 0) + np.roll(np.eye(5), -1, 0))) == 0
    assert irregularity(np.zeros((4, 4))) == 0
    with raises(InputError, code="undirected_only"):
        irregularity([[0, 1], [0, 0]])
