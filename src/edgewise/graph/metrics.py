"""Distances of a learned graph from the true one, and the place of nodes in a graph."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.constraints import OneOf
from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray, RandomState
from edgewise.graph.compare import positions_by_name
from edgewise.graph.graph import Graph, square_matrix

if TYPE_CHECKING:
    import pandas as pd

GraphLike: TypeAlias = Graph | ArrayLike


@dataclass(frozen=True, kw_only=True)
class EdgeMetrics:
    """How the edges of a learned graph agree with those of the true one.

    Attributes
    ----------
    precision : float
        Share of the learned edges that are true; 1 when nothing was learned, as nothing false
        was said.
    recall : float
        Share of the true edges that were learned; 1 when there was nothing to learn.
    f1 : float
        Harmonic mean of precision and recall, 2 tp / (2 tp + fp + fn); 1 when both graphs are
        empty.
    hamming : int
        Edges in one graph only, fp + fn; a reversed arc counts twice.
    tp, fp, fn : int
        True positives, false positives and false negatives.
    """

    precision: float
    recall: float
    f1: float
    hamming: int
    tp: int
    fp: int
    fn: int


@dataclass(frozen=True, kw_only=True, eq=False)
class PrecisionRecallCurve:
    """Precision and recall along a path of graphs or of thresholds.

    Attributes
    ----------
    precision, recall : ndarray of shape (n_points,)
        One point per graph or threshold.
    thresholds : ndarray of shape (n_points,)
        Where each point stands: the smallest score that counts as an edge, or what was given
        for a path of graphs.
    auc : float
        Average precision: the precision of each point times its gain in recall, summed in order
        of recall. Recall that no point reaches adds nothing.
    """

    precision: FloatArray
    recall: FloatArray
    thresholds: FloatArray
    auc: float


def edge_metrics(true: GraphLike, learned: GraphLike) -> EdgeMetrics:
    """Compare the edges of two graphs.

    Parameters
    ----------
    true, learned : Graph or array-like of shape (n_nodes, n_nodes)
        A matrix has an edge where it is not zero, its diagonal aside. Two `Graph` objects are
        matched by name. If both are undirected (a matrix: symmetric) every edge counts once;
        otherwise arcs are counted, and an undirected edge is two arcs.

    Returns
    -------
    EdgeMetrics
        Precision, recall, F1, Hamming distance and the counts behind them.

    Examples
    --------
    >>> from edgewise.metrics import edge_metrics
    >>> chain, star = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    >>> edge_metrics(chain, star)
    EdgeMetrics(precision=0.5, recall=0.5, f1=0.5, hamming=2, tp=1, fp=1, fn=1)
    """
    return _edge_metrics(*aligned(true, learned))


def _edge_metrics(true: BoolArray, learned: BoolArray, directed: bool) -> EdgeMetrics:
    truth, guess = edge_vector(true, directed=directed), edge_vector(learned, directed=directed)
    tp = int(np.count_nonzero(truth & guess))
    fp = int(np.count_nonzero(guess & ~truth))
    fn = int(np.count_nonzero(truth & ~guess))
    return rates(tp, fp, fn)


def rates(tp: int, fp: int, fn: int) -> EdgeMetrics:
    """Precision, recall and the rest from the counts."""
    return EdgeMetrics(
        precision=tp / (tp + fp) if tp + fp else 1.0,
        recall=tp / (tp + fn) if tp + fn else 1.0,
        f1=2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 1.0,
        hamming=fp + fn,
        tp=tp,
        fp=fp,
        fn=fn,
    )


def shd(true: GraphLike, learned: GraphLike) -> int:
    """Structural Hamming distance: the node pairs on which two graphs disagree.

    A missing edge, an extra edge and a wrong or missing direction each count 1.

    Parameters
    ----------
    true, learned : Graph or array-like of shape (n_nodes, n_nodes)
        Undirected, directed or partially directed (an edge without direction both ways). Two
        `Graph` objects are matched by name.

    Returns
    -------
    int
        The distance.

    References
    ----------
    I. Tsamardinos, L. E. Brown, C. F. Aliferis (2006). The max-min hill-climbing Bayesian
    network structure learning algorithm. Machine Learning 65. https://doi.org/10.1007/s10994-006-6889-7

    Examples
    --------
    >>> from edgewise.metrics import shd
    >>> shd([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 0, 0], [1, 0, 1], [0, 0, 0]])
    1
    """
    truth, guess, _ = aligned(true, learned)
    differs = truth != guess
    return int(np.count_nonzero(np.triu(differs | differs.T)))


def gaussian_kl(
    true_precision: ArrayLike,
    learned_precision: ArrayLike,
    true_mean: ArrayLike | None = None,
    learned_mean: ArrayLike | None = None,
) -> float:
    r"""Kullback-Leibler divergence of a learned Gaussian from the true one, in nats.

    .. math:: \tfrac12 [\operatorname{tr}(\Omega \Theta^{-1}) - p
        - \log\det(\Omega \Theta^{-1}) + (m - \mu)^\top \Omega (m - \mu)]

    where :math:`\Theta, \mu` are the true precision and mean, :math:`\Omega, m` the learned
    ones and p is the number of variables.

    Parameters
    ----------
    true_precision, learned_precision : array-like of shape (p, p)
        Symmetric positive definite.
    true_mean, learned_mean : array-like of shape (p,), default=None
        None stands for zero.

    Returns
    -------
    float
        At least 0, and 0 only for equal distributions.

    Examples
    --------
    >>> from edgewise.metrics import gaussian_kl
    >>> round(gaussian_kl([[1.0]], [[2.0]], [0.0], [1.0]), 4)
    1.1534
    """
    from scipy.linalg import eigh

    Theta = _positive_definite(true_precision, "true_precision")
    Omega = _positive_definite(learned_precision, "learned_precision")
    if Theta.shape != Omega.shape:
        raise InputError(
            "shapes_differ",
            first="true_precision",
            first_shape=Theta.shape,
            second="learned_precision",
            second_shape=Omega.shape,
        )
    shift = _mean(learned_mean, len(Theta), "learned_mean")
    shift = shift - _mean(true_mean, len(Theta), "true_mean")
    try:
        ratios = eigh(Omega, Theta, eigvals_only=True)
    except np.linalg.LinAlgError:
        ratios = np.zeros(1)
    if ratios.min() <= 0:
        raise InputError("precisions_ill_conditioned")
    # Eigenvalues of Omega Theta^-1: every term of the sum is at least 0, so the result is too.
    return float(np.sum(ratios - 1.0 - np.log(ratios)) + shift @ Omega @ shift) / 2


def precision_recall_curve(
    true: GraphLike,
    graphs_or_scores: GraphLike | Sequence[GraphLike],
    *,
    thresholds: ArrayLike | None = None,
) -> PrecisionRecallCurve:
    """Precision and recall along a path of graphs, or over all thresholds of a score.

    Parameters
    ----------
    true : Graph or array-like of shape (n_nodes, n_nodes)
        Has at least one edge.
    graphs_or_scores : sequence of Graph or array-like, or one Graph or square matrix
        A sequence (or an array with three axes) gives one point per graph, in its order. A
        matrix holds a score for every pair, a `Graph` its weights: pairs are ranked by absolute
        value, and there is one point per distinct value, the largest first.
    thresholds : array-like of shape (n_graphs,), default=None
        What tells the graphs of a path apart, such as the values of alpha; None numbers them.

    Returns
    -------
    PrecisionRecallCurve
        The points and the area under them.

    Examples
    --------
    >>> from edgewise.metrics import precision_recall_curve
    >>> true = [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    >>> curve = precision_recall_curve(true, [[0, 0.9, 0.1], [0.9, 0, 0.5], [0.1, 0.5, 0]])
    >>> curve.precision.round(2), curve.recall, round(curve.auc, 3)
    (array([1.  , 0.5 , 0.67]), array([0.5, 0.5, 1. ]), 0.833)
    """
    path = _path(graphs_or_scores)
    if path is None:
        if thresholds is not None:
            raise InputError("thresholds_with_scores")
        return _curve_of_scores(true, graphs_or_scores)  # type: ignore[arg-type]
    points = [edge_metrics(true, graph) for graph in path]
    marks = np.arange(len(points)) if thresholds is None else np.asarray(thresholds)
    if marks.shape != (len(points),):
        raise InputError("threshold_count", n_graphs=len(points), n_thresholds=marks.size)
    precision = np.array([point.precision for point in points])
    recall = np.array([point.recall for point in points])
    _require_edges(sum(point.tp + point.fn for point in points))
    return _curve(precision, recall, marks.astype(np.float64))


def irregularity(graph: GraphLike) -> int:
    r"""Sum over the edges of the difference in degree between their ends.

    .. math:: \operatorname{irr}(G) = \sum_{(i, j) \in E} |d_i - d_j|

    where E are the edges and :math:`d_i` is the number of neighbours of node i. It is 0 exactly
    when every component is regular.

    Parameters
    ----------
    graph : Graph or array-like of shape (n_nodes, n_nodes)
        Undirected.

    Returns
    -------
    int
        The irregularity.

    References
    ----------
    M. O. Albertson (1997). The irregularity of a graph. Ars Combinatoria 46.

    Examples
    --------
    >>> from edgewise.metrics import irregularity
    >>> irregularity([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    6
    """
    adjacency, directed = as_adjacency(graph)
    if directed:
        raise InputError("undirected_only", measure="irregularity")
    degree = adjacency.sum(axis=0)
    return int(np.abs(degree[:, None] - degree)[np.triu(adjacency)].sum())


def as_adjacency(graph: GraphLike) -> tuple[BoolArray, bool]:
    """Return which edges are there and whether they have a direction."""
    if isinstance(graph, Graph):
        return graph.adjacency, graph.directed
    adjacency: BoolArray = square_matrix(graph, "The graph") != 0
    np.fill_diagonal(adjacency, False)
    return adjacency, not np.array_equal(adjacency, adjacency.T)


def aligned(true: GraphLike, learned: GraphLike) -> tuple[BoolArray, BoolArray, bool]:
    """Return both adjacencies in the node order of ``true``, and whether either is directed."""
    (truth, true_directed), (guess, guess_directed) = as_adjacency(true), as_adjacency(learned)
    if isinstance(true, Graph) and isinstance(learned, Graph):
        order = positions_by_name(true, learned)
        guess = guess[np.ix_(order, order)]
    if truth.shape != guess.shape:
        raise InputError("node_counts_differ", n_true=len(truth), n_learned=len(guess))
    return truth, guess, true_directed or guess_directed


def edge_vector(matrix: AnyArray, *, directed: bool) -> AnyArray:
    """Return the entries that stand for edges: the upper triangle, or all but the diagonal."""
    off_diagonal = ~np.eye(len(matrix), dtype=bool)
    vector: AnyArray = matrix[off_diagonal if directed else np.triu(off_diagonal)]
    return vector


def _path(graphs_or_scores: GraphLike | Sequence[GraphLike]) -> Sequence[GraphLike] | None:
    """Return the graphs of a path, or None when a single score matrix was given."""
    if isinstance(graphs_or_scores, Graph):
        return None
    if isinstance(graphs_or_scores, (list, tuple)) and any(
        isinstance(graph, Graph) for graph in graphs_or_scores
    ):
        return graphs_or_scores
    try:
        stacked = np.asarray(graphs_or_scores)
    except ValueError:
        raise InputError("path_sizes_differ") from None
    if stacked.ndim == 3:
        return list(stacked)
    if stacked.ndim == 2:
        return None
    raise InputError("not_graphs_or_scores", shape=stacked.shape)


def _curve_of_scores(true: GraphLike, scores: GraphLike) -> PrecisionRecallCurve:
    truth, _, directed = aligned(true, scores)
    if isinstance(true, Graph) and isinstance(scores, Graph):
        order = positions_by_name(true, scores)
        values = scores.weights[np.ix_(order, order)]
    else:
        values = scores.weights if isinstance(scores, Graph) else square_matrix(scores, "Scores")
    directed = directed or not np.array_equal(np.abs(values), np.abs(values.T))
    labels = edge_vector(truth, directed=directed)
    _require_edges(int(labels.sum()))
    ranked = np.abs(edge_vector(values, directed=directed))
    order = np.argsort(-ranked, kind="stable")
    ranked, hits = ranked[order], np.cumsum(labels[order])
    # Pairs with the same score come in together, so a point stands at the last of each tie.
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    return _curve(hits[last] / (last + 1.0), hits[last] / hits[-1], ranked[last])


def _curve(
    precision: FloatArray, recall: FloatArray, thresholds: FloatArray
) -> PrecisionRecallCurve:
    # At equal recall the most precise point comes first and takes the whole gain.
    order = np.lexsort((-precision, recall))
    gain = np.diff(recall[order], prepend=0.0)
    return PrecisionRecallCurve(
        precision=precision,
        recall=recall,
        thresholds=thresholds,
        auc=float(gain @ precision[order]),
    )


def _require_edges(n_edges: int) -> None:
    if n_edges == 0:
        raise InputError("no_true_edges")


def _positive_definite(precision: ArrayLike, label: str) -> FloatArray:
    matrix = square_matrix(precision, label)
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-8 * np.abs(matrix).max()):
        raise InputError("matrix_not_symmetric", what=label)
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest <= 0:
        raise InputError("not_positive_definite", what=label, smallest=smallest)
    return matrix


def _mean(mean: ArrayLike | None, n_features: int, label: str) -> FloatArray:
    if mean is None:
        return np.zeros(n_features)
    vector = np.asarray(mean, dtype=np.float64)
    if vector.shape != (n_features,) or not np.isfinite(vector).all():
        raise InputError("vector_shape", what=label, n=n_features, shape=vector.shape)
    return vector


def node_statistics(graph: GraphLike, *, communities: Sequence[Any] | None = None) -> pd.DataFrame:
    r"""Describe the place of every node in a weighted graph, one row per node.

    With weights :math:`w_{ij}`, lengths of edges :math:`1 / |w_{ij}|` and shortest paths
    :math:`d_{ij}` [1]_ [2]_ [3]_:

    - ``degree``: number of edges
    - ``strength``: :math:`\sum_j |w_{ij}|`
    - ``expected_influence``: :math:`e_i = \sum_j w_{ij}`, with signs
    - ``expected_influence_2``: in two steps, :math:`e_i + \sum_j w_{ij} e_j`
    - ``closeness``: :math:`1 / \sum_j d_{ij}` in the largest component, NaN elsewhere
    - ``betweenness``: pairs of other nodes whose shortest path leads through it
    - ``eigenvector``: of the largest eigenvalue of :math:`|W|`, at most 1
    - ``clustering``, with signs: :math:`\sum_{jk} w_{ij} w_{jk} w_{ki}` over
      :math:`(\sum_j |w_{ij}|)^2 - \sum_j w_{ij}^2`

    and, if communities are given, for the nodes :math:`k` outside that of :math:`i` [4]_:

    - ``bridge_strength``, ``bridge_expected_influence``: :math:`\sum_k |w_{ik}|` and
      :math:`\sum_k w_{ik}`
    - ``bridge_expected_influence_2``: :math:`\sum_k (w_{ik} + \sum_j w_{ij} w_{jk})`
    - ``bridge_closeness``: one over the mean of :math:`d_{ik}`; 0 where one cannot be reached
    - ``bridge_betweenness``: as betweenness, of pairs from two different communities

    These are the definitions of R's qgraph (``centrality_auto``, ``signed_clustZhang``) and
    networktools (``bridge``); of several paths of the same length, each counts its share. Along
    arcs of a directed graph, paths follow the arcs, and strength, expected influence and their
    bridge forms count arcs that leave; ``in_strength`` counts those that arrive, and ``degree``
    both.

    Parameters
    ----------
    graph : Graph or array-like of shape (p, p)
        Weights; without any, every edge counts 1.
    communities : sequence, optional
        The community of each node, in the order of the nodes.

    Returns
    -------
    DataFrame
        Indexed by the names of the nodes.

    Notes
    -----
    A central node is not one that causes much: the statistics describe the graph.

    References
    ----------
    .. [1] Opsahl, Agneessens and Skvoretz (2010). Node centrality in weighted networks.
       *Social Networks* 32(3). https://doi.org/10.1016/j.socnet.2010.03.006
    .. [2] Robinaugh, Millner and McNally (2016). Identifying highly influential nodes in the
       complicated grief network. *Journal of Abnormal Psychology* 125(6).
       https://doi.org/10.1037/abn0000181
    .. [3] Costantini and Perugini (2014). Generalization of clustering coefficients to signed
       correlation networks. *PLOS ONE* 9(2). https://doi.org/10.1371/journal.pone.0088669
    .. [4] Jones, Ma and McNally (2021). Bridge centrality: a network approach to understanding
       comorbidity. *Multivariate Behavioral Research* 56(2).
       https://doi.org/10.1080/00273171.2019.1614898

    Examples
    --------
    >>> chain = Graph([[0, 0.5, 0], [0.5, 0, -0.2], [0, -0.2, 0]], names=["a", "b", "c"])
    >>> columns = ["degree", "strength", "expected_influence", "betweenness"]
    >>> node_statistics(chain)[columns]
       degree  strength  expected_influence  betweenness
    a       1       0.5                 0.5          0.0
    b       2       0.7                 0.3          1.0
    c       1       0.2                -0.2          0.0
    """
    import igraph
    import pandas as pd

    graph = _weighted(graph)
    W = np.where(graph.adjacency, graph.weights, 0.0)
    size = np.abs(W)
    tails, heads = np.nonzero(graph.adjacency if graph.directed else np.triu(graph.adjacency))
    net = igraph.Graph(graph.n_nodes, list(zip(tails, heads, strict=True)), graph.directed)
    lengths = (1.0 / size[tails, heads]).tolist()
    triangles = np.einsum("ij,jk,ki->i", W, W, W, optimize=True)
    pairs = size.sum(axis=1) ** 2 - (size**2).sum(axis=1)
    found = {
        "degree": graph.adjacency.sum(axis=1),
        "strength": size.sum(axis=1),
        "expected_influence": W.sum(axis=1),
        "expected_influence_2": W.sum(axis=1) + W @ W.sum(axis=1),
        "closeness": _closeness(net, lengths),
        "betweenness": net.betweenness(directed=graph.directed, weights=lengths),
        "eigenvector": _leading_vector(size),
        "clustering": np.divide(triangles, pairs, out=np.zeros(len(W)), where=pairs > 1e-15),
    }
    if graph.directed:
        found["degree"] = found["degree"] + graph.adjacency.sum(axis=0)
        found["in_strength"] = size.sum(axis=0)
    if communities is not None:
        labels = np.asarray(communities, dtype=object)
        if labels.shape != (graph.n_nodes,):
            raise InputError("community_count", n_nodes=graph.n_nodes, n_labels=len(labels))
        lengths_of_paths = np.array(net.distances(weights=lengths))
        found |= _bridges(W, lengths_of_paths, labels[:, None] != labels, directed=graph.directed)
    return pd.DataFrame(found, index=list(graph.names))


def _weighted(graph: GraphLike) -> Graph:
    """Return a graph whose edges all have a weight, or refuse it."""
    graph = graph if isinstance(graph, Graph) else Graph(square_matrix(graph, "graph"))
    if not graph.weights[graph.adjacency].all():
        raise InputError("zero_weight_edge")
    return graph


def _bridges(
    W: FloatArray, paths: FloatArray, leads_out: BoolArray, *, directed: bool
) -> dict[str, FloatArray]:
    """Bridge statistics from weights, lengths of shortest paths, and which pairs cross over."""
    outside = leads_out.sum(axis=1)
    total = np.where(leads_out, paths, 0.0).sum(axis=1)
    influence = (W * leads_out).sum(axis=1)
    return {
        "bridge_strength": (np.abs(W) * leads_out).sum(axis=1),
        "bridge_expected_influence": influence,
        "bridge_expected_influence_2": influence + (W @ W * leads_out).sum(axis=1),
        "bridge_closeness": np.divide(outside, total, out=np.zeros(len(W)), where=total > 0),
        "bridge_betweenness": _crossings(W, paths, leads_out) / (1 if directed else 2),
    }


def _crossings(W: FloatArray, paths: FloatArray, leads_out: BoolArray) -> FloatArray:
    """Count for each node the pairs that cross over and whose shortest paths lead through it."""
    p = len(W)
    steps = np.full((p, p), np.inf)
    steps[W != 0] = 1.0 / np.abs(W[W != 0])
    counts = np.eye(p)
    for source, reach in enumerate(paths):
        for node in np.argsort(reach, kind="stable")[1:]:
            if np.isfinite(reach[node]):
                is_before = np.isclose(reach + steps[:, node], reach[node], rtol=1e-10, atol=0)
                counts[source, node] = counts[source, is_before].sum()
    crosses = leads_out & np.isfinite(paths)
    through = np.zeros(p)
    for node in range(p):
        by_way = paths[:, [node]] + paths[node]
        is_on = crosses & np.isclose(by_way, paths, rtol=1e-10, atol=0)
        is_on[node] = is_on[:, node] = False
        share = np.outer(counts[:, node], counts[node]) / np.maximum(counts, 1.0)
        through[node] = share[is_on].sum()
    return through


def communities(
    graph: GraphLike,
    method: Literal["walktrap", "louvain", "leiden"] = "walktrap",
    *,
    steps: int = 4,
    resolution: float = 1.0,
    random_state: RandomState = 0,
) -> IntArray:
    r"""Divide the nodes into communities: sets with more weight inside than between them.

    Walktrap [1]_ joins nodes from which short random walks lead to the same places, and cuts the
    tree of these joins where the modularity is largest. Louvain [2]_ and Leiden [3]_ move nodes
    and sets of nodes as long as the modularity rises,

    .. math:: Q = \frac{1}{2m} \sum_{ij} \Bigl(|w_{ij}| - \gamma \frac{s_i s_j}{2m}\Bigr)
        \, 1[c_i = c_j],

    where :math:`s_i = \sum_j |w_{ij}|`, :math:`2m = \sum_i s_i`, :math:`c_i` is the community of
    node i and :math:`\gamma` the ``resolution``. All three are those of igraph, with absolute
    weights; an arc counts as an edge.

    Parameters
    ----------
    graph : Graph or array-like of shape (p, p)
        A node without edges is a community of its own.
    method : {"walktrap", "louvain", "leiden"}
        Walktrap is not random, and what exploratory graph analysis uses.
    steps : int
        Length of the walks, for ``"walktrap"``.
    resolution : float
        Above 1 for more and smaller communities, for ``"louvain"`` and ``"leiden"``.
    random_state : int, Generator, RandomState or None
        Order in which Louvain and Leiden visit the nodes.

    Returns
    -------
    ndarray of int, shape (p,)
        Community of each node, numbered from 0 in the order of their first nodes.

    References
    ----------
    .. [1] Pons and Latapy (2006). Computing communities in large networks using random walks.
       *Journal of Graph Algorithms and Applications* 10(2). https://doi.org/10.7155/jgaa.00124
    .. [2] Blondel, Guillaume, Lambiotte and Lefebvre (2008). Fast unfolding of communities in
       large networks. *Journal of Statistical Mechanics*.
       https://doi.org/10.1088/1742-5468/2008/10/P10008
    .. [3] Traag, Waltman and van Eck (2019). From Louvain to Leiden: guaranteeing well-connected
       communities. *Scientific Reports* 9. https://doi.org/10.1038/s41598-019-41695-z

    Examples
    --------
    >>> from edgewise.metrics import communities
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), 1 - np.eye(3))
    >>> communities(blocks), communities(blocks, "louvain")
    (array([0, 0, 0, 1, 1, 1]), array([0, 0, 0, 1, 1, 1]))
    """
    import igraph

    OneOf("walktrap", "louvain", "leiden").check("method", method)
    graph = _weighted(graph)
    size = np.where(graph.adjacency, np.abs(graph.weights), 0.0)
    size = np.triu(size + size.T)
    tails, heads = np.nonzero(size)
    net = igraph.Graph(graph.n_nodes, list(zip(tails, heads, strict=True)))
    weights = size[tails, heads].tolist()
    seed = int(as_generator(random_state).integers(2**31 - 1))
    # igraph draws from this module's functions, which are all that it is ever given.
    igraph.set_random_number_generator(random.Random(seed))
    try:
        if method == "walktrap":
            found = net.community_walktrap(weights, steps).as_clustering() if weights else None
        elif method == "louvain":
            found = net.community_multilevel(weights, resolution=resolution)
        else:
            found = net.community_leiden(
                "modularity", weights, resolution=resolution, n_iterations=-1
            )
    finally:
        igraph.set_random_number_generator(random)
    member = range(graph.n_nodes) if found is None else found.membership
    number: dict[int, int] = {}
    return np.array([number.setdefault(label, len(number)) for label in member], dtype=np.int64)


def _closeness(net: Any, lengths: list[float]) -> FloatArray:
    """Return closeness in the largest (weak) component; sums of others have fewer terms."""
    members = max(net.connected_components(mode="weak"), key=len)
    closeness = np.full(net.vcount(), np.nan)
    if len(members) > 1:
        paths = np.array(net.distances(members, members, weights=lengths))
        closeness[members] = 1.0 / paths.sum(axis=1)
    return closeness


def _leading_vector(size: FloatArray) -> FloatArray:
    """Eigenvector of the largest eigenvalue, with entries of at least 0 and at most 1."""
    if not size.any():
        return np.zeros(len(size))
    values, vectors = np.linalg.eig(size.T)
    leading = np.abs(vectors[:, np.argmax(values.real)].real)
    return np.asarray(leading / leading.max())
