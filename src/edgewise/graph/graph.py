"""The one result that every learner returns: a network with named nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.constraints import OneOf
from edgewise._core.errors import InputError
from edgewise._core.plain_values import archived
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.io.messages import repeated

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes

    from edgewise.graph.compare import GraphDifference


#: Two triangles that differ by less than this share of the largest entry differ by rounding.
SYMMETRY_TOLERANCE = 1e-8
#: A notebook shows larger networks as a matrix, which takes no layout.
LARGEST_DRAWN = 300


def square_matrix(values: ArrayLike, label: str) -> FloatArray:
    """Copy ``values`` into a finite, square float64 matrix, or say why that cannot be."""
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("not_numeric_matrix", what=label, reason=str(error)) from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InputError("not_square", what=label, shape=matrix.shape)
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise InputError(
            "matrix_not_finite",
            what=label,
            row=int(row),
            column=int(column),
            value=matrix[row, column],
        )
    return matrix


def symmetric(
    matrix: FloatArray, names: Sequence[str], label: str, *, can_be_directed: bool = False
) -> FloatArray:
    """Return ``matrix`` made exactly symmetric; more than rounding to repair is an error."""
    if np.array_equal(matrix, matrix.T):
        return matrix
    asymmetry = np.abs(matrix - matrix.T)
    if asymmetry.max() > SYMMETRY_TOLERANCE * np.abs(matrix).max():
        row, column = divmod(int(asymmetry.argmax()), len(matrix))
        raise InputError(
            "not_symmetric",
            what=label,
            row=names[row],
            column=names[column],
            value=matrix[row, column],
            reverse=matrix[column, row],
            can_be_directed=can_be_directed,
        )
    return (matrix + matrix.T) / 2


def check_names(names: Iterable[str] | None, n_nodes: int) -> tuple[str, ...]:
    """Return one unique, non-empty name per node; None gives ``x0``, ``x1``, ..."""
    if names is None:
        return tuple(f"x{index}" for index in range(n_nodes))
    if isinstance(names, str):
        raise InputError("single_string", what="names", got=names)
    checked = tuple(names)
    for position, name in enumerate(checked):
        if not isinstance(name, str):
            raise InputError(
                "name_not_text", position=position, name=name, type=type(name).__name__
            )
        if not name:
            raise InputError("empty_name", position=position)
    if len(checked) != n_nodes:
        raise InputError("name_count", n_nodes=n_nodes, n_names=len(checked))
    if twice := repeated(checked):
        raise InputError("repeated_names", names=twice)
    return tuple(str(name) for name in checked)


def partial_correlations(Theta: FloatArray, names: Sequence[str]) -> FloatArray:
    """Return -Theta_ij / sqrt(Theta_ii Theta_jj) with a zero diagonal; exact zeros stay."""
    Theta = symmetric(Theta, names, "precision")
    diagonal = Theta.diagonal()
    if diagonal.min() <= 0:
        raise InputError(
            "precision_diagonal", node=names[int(diagonal.argmin())], value=diagonal.min()
        )
    scale = np.sqrt(diagonal)
    correlations: FloatArray = -Theta / np.outer(scale, scale)
    np.fill_diagonal(correlations, 0.0)
    return correlations


def check_weights(weights: FloatArray, names: Sequence[str], directed: bool) -> FloatArray:
    """Return ``weights``, symmetric unless ``directed``; its diagonal must be zero."""
    if not directed:
        weights = symmetric(weights, names, "weights", can_be_directed=True)
    if loops := [names[i] for i in np.flatnonzero(weights.diagonal()).tolist()]:
        raise InputError("weights_diagonal", nodes=loops)
    # Adding zero turns a negative zero into a plain one, so that files print "0.0".
    return weights + 0.0


def check_adjacency(
    adjacency: ArrayLike | None, weights: FloatArray, names: tuple[str, ...], directed: bool
) -> BoolArray:
    """Return which edges are there, in agreement with ``weights``."""
    has_weight: BoolArray = weights != 0
    if adjacency is None:
        return has_weight
    matrix = square_matrix(adjacency, "adjacency")
    if matrix.shape != weights.shape:
        raise InputError(
            "shapes_differ",
            first="adjacency",
            first_shape=matrix.shape,
            second="weights",
            second_shape=weights.shape,
        )
    if not np.isin(matrix, (0.0, 1.0)).all():
        raise InputError("adjacency_not_boolean")
    present: BoolArray = matrix == 1
    if present.diagonal().any():
        raise InputError("adjacency_diagonal")
    if not directed and not np.array_equal(present, present.T):
        row, column = np.argwhere(present & ~present.T)[0]
        raise InputError("adjacency_not_symmetric", source=names[row], target=names[column])
    if (has_weight & ~present).any():
        row, column = np.argwhere(has_weight & ~present)[0]
        raise InputError(
            "weight_without_edge",
            source=names[row],
            target=names[column],
            weight=weights[row, column],
        )
    return present


def check_confidence(
    confidence: ArrayLike | None, names: tuple[str, ...], directed: bool
) -> FloatArray | None:
    """Return ``confidence`` with a zero diagonal and every entry between 0 and 1."""
    if confidence is None:
        return None
    matrix = square_matrix(confidence, "confidence")
    if len(matrix) != len(names):
        raise InputError("confidence_shape", shape=matrix.shape, n_nodes=len(names))
    np.fill_diagonal(matrix, 0.0)
    if matrix.min() < 0 or matrix.max() > 1:
        raise InputError("confidence_range", low=matrix.min(), high=matrix.max())
    if directed:
        return matrix
    return symmetric(matrix, names, "confidence", can_be_directed=True)


def boolean_matrix(values: ArrayLike, label: str, names: Sequence[str]) -> BoolArray:
    """Copy True or False for every pair of nodes."""
    matrix = np.array(values)
    if matrix.shape != (len(names), len(names)) or matrix.dtype != bool:
        raise InputError(
            "pairs_not_boolean",
            what=label,
            n_nodes=len(names),
            dtype=str(matrix.dtype),
            shape=matrix.shape,
        )
    return matrix


def check_decided(
    decided: ArrayLike | None, names: Sequence[str], directed: bool
) -> BoolArray | None:
    """Return which pairs are proven, a pair of an undirected graph both ways, and the diagonal."""
    if decided is None:
        return None
    matrix = boolean_matrix(decided, "decided", names)
    np.fill_diagonal(matrix, True)
    return matrix if directed else matrix & matrix.T


def check_signed(
    signed: ArrayLike | None, adjacency: BoolArray, weights: FloatArray, names: Sequence[str]
) -> BoolArray | None:
    """Return whose weights have a sign, True where there is no edge; None where all have."""
    if signed is None:
        return None
    matrix = boolean_matrix(signed, "signed", names)
    lacks: BoolArray = adjacency & ~(matrix & matrix.T)
    if (lacks & (weights < 0)).any():
        row, column = np.argwhere(lacks & (weights < 0))[0]
        raise InputError(
            "negative_unsigned_edge",
            source=names[row],
            target=names[column],
            weight=weights[row, column],
        )
    return ~lacks if lacks.any() else None


def edge_positions(adjacency: BoolArray, *, directed: bool) -> tuple[IntArray, IntArray]:
    """Row and column of every edge in index order; an undirected edge once, row < column."""
    rows, columns = np.nonzero(adjacency if directed else np.triu(adjacency))
    return rows, columns


@archived
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Graph:
    """Network over named nodes, undirected, directed or partially directed.

    A graph is a value: its arrays are read-only and two graphs are equal when their contents
    are. A partially directed graph is a directed one in which an edge without a direction is
    present both ways.

    Parameters
    ----------
    weights : array-like of shape (n_nodes, n_nodes)
        ``weights[i, j]`` is the weight of the edge i -> j. The diagonal must be zero, and the
        matrix symmetric when the graph is undirected.
    names : iterable of str, default=None
        One unique, non-empty name per node; None gives ``x0``, ``x1``, ...
    directed : bool, default=False
        Whether i -> j and j -> i are different edges.
    adjacency : array-like of bool, shape (n_nodes, n_nodes), default=None
        Which edges are there; None takes those with a non-zero weight. An edge of weight zero
        is one whose weight is not known.
    confidence : array-like of shape (n_nodes, n_nodes), default=None
        How sure each edge is, between 0 and 1. The diagonal is ignored.
    signed : array-like of bool, shape (n_nodes, n_nodes), default=None
        Whose weights have a sign; None says that all have. The weight of an edge without one, as
        between columns of levels without an order, is the size of a dependence, at least 0.
    decided : array-like of bool, shape (n_nodes, n_nodes), default=None
        Which pairs are proven to be as in the optimum of a convex problem: an edge of that sign,
        or none. None where there was no proof to look for.

    Notes
    -----
    Every parameter is an attribute of the same name: ``names`` a tuple, ``adjacency`` always an
    array, ``confidence``, ``signed`` and ``decided`` arrays or None.

    Examples
    --------
    >>> from edgewise import Graph
    >>> graph = Graph([[0, 0.5, 0], [0.5, 0, -0.2], [0, -0.2, 0]], names=["rain", "mud", "dust"])
    >>> graph
    Graph(n_nodes=3, n_edges=2, directed=False, names=('rain', 'mud', 'dust'))
    >>> graph.edges()[["source", "target", "weight"]]
      source target  weight
    0   rain    mud     0.5
    1    mud   dust    -0.2
    """

    weights: FloatArray
    names: tuple[str, ...]
    directed: bool
    adjacency: BoolArray
    confidence: FloatArray | None
    # Files of earlier versions do not have it.
    signed: BoolArray | None = None
    decided: BoolArray | None = None

    def __init__(
        self,
        weights: ArrayLike,
        *,
        names: Iterable[str] | None = None,
        directed: bool = False,
        adjacency: ArrayLike | None = None,
        confidence: ArrayLike | None = None,
        signed: ArrayLike | None = None,
        decided: ArrayLike | None = None,
    ) -> None:
        weight_matrix = square_matrix(weights, "weights")
        checked_names = check_names(names, len(weight_matrix))
        weight_matrix = check_weights(weight_matrix, checked_names, directed)
        present = check_adjacency(adjacency, weight_matrix, checked_names, directed)
        fields = {
            "weights": weight_matrix,
            "names": checked_names,
            "directed": bool(directed),
            "adjacency": present,
            "confidence": check_confidence(confidence, checked_names, directed),
            "signed": check_signed(signed, present, weight_matrix, checked_names),
            "decided": check_decided(decided, checked_names, directed),
        }
        self.__setstate__(fields)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickle forgets that arrays are read-only, so restoring a graph passes here too.
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def from_precision(
        cls,
        precision: ArrayLike,
        *,
        names: Iterable[str] | None = None,
        confidence: ArrayLike | None = None,
    ) -> Graph:
        r"""Make the undirected graph of partial correlations from a precision matrix.

        The weight of an edge is

        .. math:: w_{ij} = -\Theta_{ij} / \sqrt{\Theta_{ii} \Theta_{jj}},

        where :math:`\Theta` is the precision matrix. Exact zeros stay zeros.

        Parameters
        ----------
        precision : array-like of shape (n_nodes, n_nodes)
            Symmetric, with a positive diagonal.
        names : iterable of str, default=None
            One name per node.
        confidence : array-like of shape (n_nodes, n_nodes), default=None
            How sure each edge is, between 0 and 1.

        Examples
        --------
        >>> from edgewise import Graph
        >>> Graph.from_precision([[2.0, -1.0], [-1.0, 2.0]]).weights
        array([[0. , 0.5],
               [0.5, 0. ]])
        """
        Theta = square_matrix(precision, "precision")
        checked_names = check_names(names, len(Theta))
        weights = partial_correlations(Theta, checked_names)
        return cls(weights, names=checked_names, confidence=confidence)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, isolated ones included."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of edges; in a directed graph, of arcs."""
        n_entries = int(np.count_nonzero(self.adjacency))
        return n_entries if self.directed else n_entries // 2

    def edges(self) -> pd.DataFrame:
        """List the edges, ordered by absolute weight and then by node order.

        Returns
        -------
        pandas.DataFrame
            Columns ``source``, ``target``, ``weight`` and ``confidence`` (NaN where not known),
            and ``decided`` where the graph knows what is proven.
            An undirected edge has one row; in a partially directed graph an edge without a
            direction has two, one each way.

        Examples
        --------
        >>> from edgewise import Graph
        >>> Graph([[0, 2.0], [0, 0]], names=["cause", "effect"], directed=True).edges()
          source  target  weight  confidence
        0  cause  effect     2.0         NaN
        """
        import pandas as pd

        rows, columns = edge_positions(self.adjacency, directed=self.directed)
        order = np.argsort(-np.abs(self.weights[rows, columns]), kind="stable")
        rows, columns = rows[order], columns[order]
        if self.confidence is None:
            confidence = np.full(len(rows), np.nan)
        else:
            confidence = self.confidence[rows, columns]
        labels = np.array(self.names, dtype=object)
        listed = {
            "source": labels[rows],
            "target": labels[columns],
            "weight": self.weights[rows, columns],
            "confidence": confidence,
        }
        if self.decided is not None:
            listed["decided"] = self.decided[rows, columns]
        return pd.DataFrame(listed)

    def to_networkx(self) -> nx.Graph[str]:
        """Convert to a ``networkx.Graph`` (``DiGraph`` when directed) with the names as nodes.

        Edges carry ``weight`` and, where known, ``confidence`` and ``decided``.

        Examples
        --------
        >>> from edgewise import Graph
        >>> Graph([[0, 0.5], [0.5, 0]]).to_networkx().edges(data=True)
        EdgeDataView([('x0', 'x1', {'weight': 0.5})])
        """
        from edgewise.graph import files as _files

        return _files.to_networkx(self)

    @classmethod
    def from_networkx(cls, graph: nx.Graph[Any]) -> Graph:
        """Convert from networkx, with the nodes in the same order.

        Parameters
        ----------
        graph : networkx.Graph or networkx.DiGraph
            Nodes are named by their text; edges without ``weight`` get weight 1.

        Examples
        --------
        >>> import networkx as nx
        >>> from edgewise import Graph
        >>> Graph.from_networkx(nx.path_graph(["a", "b", "c"]))
        Graph(n_nodes=3, n_edges=2, directed=False, names=('a', 'b', 'c'))
        """
        from edgewise.graph import files as _files

        return _files.from_networkx(graph)

    def to_igraph(self) -> Any:
        """Convert to an ``igraph.Graph`` whose vertices carry ``name``.

        Edges carry ``weight`` and, where known, ``confidence`` and ``decided``.

        Examples
        --------
        >>> from edgewise import Graph
        >>> Graph([[0, 0.5], [0.5, 0]], names=["a", "b"]).to_igraph().vs["name"]
        ['a', 'b']
        """
        from edgewise.graph import files as _files

        return _files.to_igraph(self)

    @classmethod
    def from_igraph(cls, graph: Any) -> Graph:
        """Convert from igraph, with the nodes in the same order.

        Parameters
        ----------
        graph : igraph.Graph
            Vertices without ``name`` become ``x0``, ``x1``, ...; edges without ``weight`` get
            weight 1.

        Examples
        --------
        >>> import igraph
        >>> from edgewise import Graph
        >>> Graph.from_igraph(igraph.Graph.Ring(3))
        Graph(n_nodes=3, n_edges=3, directed=False, names=('x0', 'x1', 'x2'))
        """
        from edgewise.graph import files as _files

        return _files.from_igraph(graph)

    def to_dowhy(self) -> nx.DiGraph[str]:
        """Convert a directed acyclic graph to what ``dowhy.CausalModel(graph=...)`` takes.

        So does pgmpy, as ``pgmpy.base.DAG(graph.to_dowhy())``. They take one graph, not a class:
        see `members`.

        Examples
        --------
        >>> from edgewise import Graph
        >>> dag = Graph([[0, 0.5], [0, 0]], names=["dose", "effect"], directed=True)
        >>> list(dag.to_dowhy().edges)
        [('dose', 'effect')]
        """
        from edgewise.graph import causal as _causal

        return _causal.as_dag(self)

    def to_dagitty(self) -> str:
        """Write a directed graph or CPDAG as the text that dagitty reads.

        Examples
        --------
        >>> from edgewise import Graph
        >>> dag = Graph([[0, 0.5], [0, 0]], names=["dose", "effect"], directed=True)
        >>> print(dag.to_dagitty())
        dag {
        "dose"
        "effect"
        "dose" -> "effect"
        }
        <BLANKLINE>
        """
        from edgewise.graph import causal as _causal

        return _causal.to_dagitty(self)

    def members(self, limit: int = 100) -> list[Graph]:
        """List all directed acyclic graphs of the class that a CPDAG stands for.

        Parameters
        ----------
        limit : int
            More graphs than this are refused.

        Returns
        -------
        list of Graph
            With the weights and the confidence of the arcs that the CPDAG has that way round.

        Examples
        --------
        >>> from edgewise import Graph
        >>> from edgewise.metrics import cpdag
        >>> chain = Graph([[0, 1, 0], [0, 0, 1], [0, 0, 0]], directed=True)
        >>> len(cpdag(chain).members())
        3
        """
        from edgewise.graph.members import first_members

        if not self.directed:
            raise InputError("needs_directed_graph", "graph")
        return [
            Graph(
                np.where(dag, self.weights, 0.0),
                names=self.names,
                directed=True,
                adjacency=dag,
                confidence=self.confidence,
                signed=self.signed,
            )
            for dag in first_members(self.adjacency, limit)
        ]

    def write(self, path: str | Path) -> None:
        """Write the graph to a file; what was there before stays until the new file is whole.

        Names, node order, isolated nodes, direction, weights, the confidence of every edge and
        whether it is decided survive the way to any format and back. Only JSON also holds both of
        pairs that are not edges, which count as undecided elsewhere. CSV takes two files: the
        edges, and their nodes in a file next to them, ``nodes.csv`` for ``edges.csv``, else
        ``graph-nodes.csv`` for ``graph.csv``; R's igraph takes them as
        ``graph_from_data_frame(edges, vertices = nodes)``.

        Parameters
        ----------
        path : str or Path
            Ends in ``.graphml``, ``.gexf``, ``.csv`` or ``.json``, which sets the format.

        Examples
        --------
        >>> import tempfile
        >>> from edgewise import Graph
        >>> graph = Graph([[0, 0.5], [0.5, 0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     graph.write(f"{folder}/graph.json")
        ...     Graph.read(f"{folder}/graph.json") == graph
        True
        """
        from edgewise.graph import files as _files

        _files.write(self, Path(path))

    @classmethod
    def read(cls, path: str | Path, *, directed: bool | None = None) -> Graph:
        r"""Read a graph from a file written here or by other software.

        Parameters
        ----------
        path : str or Path
            Ends in ``.graphml``, ``.gexf``, ``.csv`` or ``.json``. A CSV file needs the columns
            ``source`` and ``target``; the nodes are those of the first column of the file
            next to it, as `write` names it, or the ends of the edges where there is none. Edges
            without a weight get weight 1.
        directed : bool, default=None
            Whether edges have a direction, for files that do not say; None takes those as
            undirected.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from edgewise import Graph
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "edges.csv")
        ...     _ = path.write_text("source,target\na,b\n")
        ...     Graph.read(path, directed=True)
        Graph(n_nodes=2, n_edges=1, directed=True, names=('a', 'b'))
        """
        from edgewise.graph import files as _files

        return _files.read(Path(path), directed)

    def diff(self, other: Graph, *, tol: float = 0.0) -> GraphDifference:
        """Say what appeared, vanished or changed on the way from this graph to another.

        Parameters
        ----------
        other : Graph
            Has the same nodes, in any order; they are matched by name.
        tol : float, default=0.0
            Weights that differ by at most this much count as equal.

        Returns
        -------
        GraphDifference
            The changes as a table and as a graph of weight differences.

        Examples
        --------
        >>> from edgewise import Graph
        >>> before = Graph([[0, 0.5], [0.5, 0]], names=["a", "b"])
        >>> after = Graph([[0, -0.5], [-0.5, 0]], names=["b", "a"])
        >>> before.diff(after).changes
          source target change  before  after
        0      a      b   sign     0.5   -0.5
        """
        from edgewise.graph import compare

        return compare.difference(self, other, tol=tol)

    def plot(
        self,
        kind: Literal["network", "matrix"] = "network",
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """Draw the graph.

        Parameters
        ----------
        kind : {"network", "matrix"}, default="network"
            Nodes and edges, or a heat map of the weights.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure, found at ``.figure`` of the result.
        **options
            Passed to `edgewise.plot.plot_network` or `edgewise.plot.plot_matrix`.

        Examples
        --------
        >>> from edgewise import Graph
        >>> ax = Graph([[0, 0.5], [0.5, 0]]).plot("matrix")
        """
        from edgewise.plot import plot_matrix, plot_network

        if kind == "network":
            return plot_network(self, ax=ax, **options)
        if kind == "matrix":
            return plot_matrix(self, ax=ax, **options)
        raise InputError("invalid_value", "kind", allowed=OneOf("network", "matrix").note, got=kind)

    def to_html(self) -> str:
        """Return one HTML page to explore the network in; it needs nothing from outside.

        Examples
        --------
        >>> from edgewise import Graph
        >>> Graph([[0, 0.5], [0.5, 0]]).to_html()[:15]
        '<!DOCTYPE html>'
        """
        from edgewise.report import Report, render

        kind = "directed" if self.directed else "undirected"
        summary = f"{self.n_nodes} nodes, {self.n_edges} {kind} edges"
        report = Report(headline=f"{summary}.", findings="", graph=self, record={}, methods=())
        return render([report], title=summary)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        # array_equal of None and None is True, of None and an array False.
        return (self.names, self.directed) == (other.names, other.directed) and all(
            np.array_equal(getattr(self, field), getattr(other, field))
            for field in ("weights", "adjacency", "confidence", "signed", "decided")
        )

    def _repr_html_(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return card(self, f"Graph, {kind}", {})

    def __repr__(self) -> str:
        shown = [repr(name if len(name) <= 30 else f"{name[:29]}…") for name in self.names[:5]]
        names = ", ".join(shown) + (", ..." if self.n_nodes > 5 else "")
        return (
            f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges}, "
            f"directed={self.directed}, names=({names}))"
        )


def _in_class(graph: Graph, pattern: BoolArray) -> Graph:
    """Give edges whose direction is not told their weight and confidence both ways."""
    untold = pattern & pattern.T
    confidence = graph.confidence
    if confidence is not None:
        both = np.clip(confidence + confidence.T, 0.0, 1.0)
        confidence = np.where(untold, both, confidence)
    return Graph(
        np.where(pattern, graph.weights + graph.weights.T, 0.0),
        names=graph.names,
        directed=True,
        adjacency=pattern,
        confidence=confidence,
    )


#: Between the ends of an edge without and with a direction.
_LINKS = ("\N{EN DASH}", "\N{RIGHTWARDS ARROW}")


def card(
    graph: Graph, title: str, figures: Mapping[str, str], *, pattern: Graph | None = None
) -> str:
    """Write picture and main figures of a network as HTML, for notebooks.

    Parameters
    ----------
    graph : Graph
        The network.
    title : str
        What it is.
    figures : mapping of str to str
        What else there is to say, by name; written below the counts of nodes and edges.
    pattern : Graph, optional
        The ``cpdag`` of a directed network: its edges both ways are drawn without a direction.
    """
    from base64 import b64encode
    from html import escape
    from io import BytesIO

    file = BytesIO()
    if pattern is not None and graph.n_nodes <= LARGEST_DRAWN:
        from edgewise.plot import plot_dag

        drawn = plot_dag(_in_class(graph, pattern.adjacency))
    else:
        drawn = graph.plot("network" if graph.n_nodes <= LARGEST_DRAWN else "matrix")
    drawn.figure.canvas.print_figure(file, format="png", dpi=100)
    joined = np.any(graph.adjacency | graph.adjacency.T, axis=0)
    told = graph if pattern is None else pattern
    both_ways = np.argwhere(told.adjacency & told.adjacency.T).tolist()
    untold = {(graph.names[i], graph.names[j]) for i, j in both_ways}
    strongest = [
        f"{row.source} {_LINKS[(row.source, row.target) not in untold]} {row.target} "
        f"({row.weight:.2f})"
        for row in graph.edges().head(3).itertuples()
    ]
    rows = {
        "nodes": f"{graph.n_nodes}, {np.count_nonzero(~joined)} without an edge",
        "edges": f"{graph.n_edges}",
        "strongest": ", ".join(strongest) or "none",
        **figures,
    }
    cell = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"
    table = "".join(
        f'<tr><th scope="row" style="{cell};white-space:nowrap">{escape(name)}</th>'
        f'<td style="{cell}">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    picture = b64encode(file.getvalue()).decode("ascii")
    return (
        f'<figure style="margin:0 0 8px;max-width:640px"><figcaption><b>{escape(title)}</b>'
        f'<table style="border-collapse:collapse;margin:4px 0">{table}</table></figcaption>'
        f'<img style="max-width:100%;background:white" src="data:image/png;base64,{picture}" '
        f'alt="{escape(title)}: {graph.n_edges} edges among {graph.n_nodes} nodes"></figure>'
    )
