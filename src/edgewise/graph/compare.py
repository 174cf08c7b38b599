"""Kinds of change of each edge between two graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph.graph import Graph, edge_positions
from edgewise.io.messages import quote_names

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphDifference:
    """The way from one graph to another, as `Graph.diff` returns it.

    Attributes
    ----------
    changes : pandas.DataFrame
        One row per edge that changed, in order of the size of the change: ``source``,
        ``target``, ``change`` (``"appeared"``, ``"vanished"``, ``"sign"`` or ``"weight"``) and
        the weights ``before`` and ``after``.
    graph : Graph
        The edges that changed, weighted by after minus before.

    Examples
    --------
    >>> from edgewise import Graph
    >>> before, after = Graph([[0, 0.5], [0.5, 0]]), Graph([[0, 0.75], [0.75, 0]])
    >>> before.diff(after).graph.weights
    array([[0.  , 0.25],
           [0.25, 0.  ]])
    """

    changes: pd.DataFrame
    graph: Graph


def difference(before: Graph, after: Graph, *, tol: float = 0.0) -> GraphDifference:
    """Compare two graphs whose nodes are matched by name; see `Graph.diff`."""
    import pandas as pd

    if before.directed != after.directed:
        raise InputError("mixed_directions")
    order = positions_by_name(before, after)
    after_weights = after.weights[np.ix_(order, order)]
    after_adjacency = after.adjacency[np.ix_(order, order)]
    delta = after_weights - before.weights
    came_or_went = before.adjacency != after_adjacency
    changed = came_or_went | (np.abs(delta) > tol)
    graph = Graph(
        np.where(changed, delta, 0.0),
        names=before.names,
        directed=before.directed,
        adjacency=changed,
    )
    rows, columns = edge_positions(changed, directed=before.directed)
    by_size = np.argsort(-np.abs(delta[rows, columns]), kind="stable")
    rows, columns = rows[by_size], columns[by_size]
    old, new = before.weights[rows, columns], after_weights[rows, columns]
    labels = np.array(before.names, dtype=object)
    kinds = np.select(
        [
            ~before.adjacency[rows, columns],
            ~after_adjacency[rows, columns],
            np.sign(old) * np.sign(new) < 0,
        ],
        ["appeared", "vanished", "sign"],
        default="weight",
    )
    table = {"source": labels[rows], "target": labels[columns], "change": kinds.astype(object)}
    return GraphDifference(
        changes=pd.DataFrame({**table, "before": old, "after": new}), graph=graph
    )


def positions_by_name(reference: Graph, other: Graph) -> IntArray:
    """Positions in ``other`` of the nodes of ``reference``; both must have the same names."""
    where = {name: position for position, name in enumerate(other.names)}
    missing = [name for name in reference.names if name not in where]
    surplus = sorted(where.keys() - set(reference.names), key=where.__getitem__)
    if missing or surplus:
        parts = [f"the second graph lacks {quote_names(missing)}"] if missing else []
        parts += [f"the first graph lacks {quote_names(surplus)}"] if surplus else []
        raise InputError("nodes_differ", missing=missing, surplus=surplus)
    return np.array([where[name] for name in reference.names])


#: Every kind of change, in the order in which lists and legends name them.
CHANGE_KINDS = (
    "gained",
    "lost",
    "flipped",
    "stronger",
    "weaker",
    "increased",
    "decreased",
    "changed",
)


def classify_changes(
    change: Graph, before: Graph, after: Graph, *, signed: bool = True
) -> pd.DataFrame:
    """Say of every changed edge what it did on the way from one group to the other.

    Parameters
    ----------
    change : Graph
        Its edges are the pairs that changed, weighted by after minus before.
    before, after : Graph
        Of the two groups, over the same nodes in any order; they are matched by name.
    signed : bool, default=True
        Whether the signs of the weights of ``change`` mean anything; they do not where a weight
        is the length of a vector.

    Returns
    -------
    pandas.DataFrame
        One row per edge of ``change``, in order of the size of the change: ``source``,
        ``target``, ``change``, the weights ``before`` and ``after``, and ``kind``:

        - ``"gained"``, ``"lost"``: only the graph after, or only the one before, has the edge;
        - ``"flipped"``: both have it, with different signs;
        - ``"stronger"``, ``"weaker"``: both have it with one sign, and a larger or a smaller
          absolute weight after;
        - ``"increased"``, ``"decreased"``: none of these, as where neither graph has the edge;
          by the sign of the change;
        - ``"changed"``: none of these, and no sign to go by.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.graph.compare import classify_changes
    >>> names = ["rain", "mud", "dust"]
    >>> before = Graph([[0, 0.5, 0], [0.5, 0, -0.2], [0, -0.2, 0]], names=names)
    >>> after = Graph([[0, 0.2, 0.4], [0.2, 0, 0], [0.4, 0, 0]], names=names)
    >>> change = Graph(after.weights - before.weights, names=names)
    >>> classify_changes(change, before, after)
      source target  change  before  after    kind
    0   rain   dust     0.4     0.0    0.4  gained
    1   rain    mud    -0.3     0.5    0.2  weaker
    2    mud   dust     0.2    -0.2    0.0    lost
    """
    import pandas as pd

    if not change.directed == before.directed == after.directed:
        raise InputError("mixed_directions")
    rows, columns = edge_positions(change.adjacency, directed=change.directed)
    size = change.weights[rows, columns]
    by_size = np.argsort(-np.abs(size), kind="stable")
    rows, columns, size = rows[by_size], columns[by_size], size[by_size]
    (old, was_there), (new, is_there) = (
        _edges_of(graph, change, rows, columns) for graph in (before, after)
    )
    # An edge of weight zero is one whose weight is not known, so neither sign nor size compare.
    compares = was_there & is_there & (old != 0) & (new != 0)
    kinds = np.select(
        [
            is_there & ~was_there,
            was_there & ~is_there,
            compares & (np.sign(old) != np.sign(new)),
            compares & (np.abs(new) > np.abs(old)),
            compares & (np.abs(new) < np.abs(old)),
            signed & (size > 0),
            signed & (size < 0),
        ],
        CHANGE_KINDS[:-1],
        default=CHANGE_KINDS[-1],
    )
    labels = np.array(change.names, dtype=object)
    return pd.DataFrame(
        {
            "source": labels[rows],
            "target": labels[columns],
            "change": size,
            "before": old,
            "after": new,
            "kind": kinds.astype(object),
        }
    )


def _edges_of(
    graph: Graph, reference: Graph, rows: IntArray, columns: IntArray
) -> tuple[FloatArray, BoolArray]:
    """Weights of the given pairs of ``reference`` in ``graph``, and whether they are edges."""
    order = positions_by_name(reference, graph)
    where = order[rows], order[columns]
    return graph.weights[where], graph.adjacency[where]
