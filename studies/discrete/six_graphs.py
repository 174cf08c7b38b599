"""Six graphs with six nodes."""

from __future__ import annotations

from typing import Final

import numpy as np

from edgewise import InputError
from edgewise._core.typing import BoolArray

#: Edges of `six_node_graph`, M1 to M6.
_SIX_NODES: Final[tuple[str, ...]] = (
    "01 12 23 34 45 05",
    "01 12 23 34 45 05 03",
    "01 02 03 14 15",
    "01 02 03 04 05",
    "45 04 14 24 34 05 15 25 35",
    "01 02 03 04 05 12 13 14 15",
)


def six_node_graph(number: int) -> BoolArray:
    """Give one of six graphs with six nodes, from even to uneven degrees.

    In order: a cycle; a cycle with a chord; two joined hubs with two leaves each; a star; and two
    joined hubs that share four neighbours, with the hubs last and first. Their irregularities, the
    sums over edges of the difference in degree, are 0, 4, 8, 20, 24 and 24. The paper says that
    its last two have the largest irregularity of all. That is 24, and up to the names of the nodes
    one graph alone has it.

    Parameters
    ----------
    number : int
        From 1 to 6.

    Returns
    -------
    ndarray of shape (6, 6)
        Symmetric booleans with a False diagonal.

    References
    ----------
    F. Schlüter, Y. Strappa, D. H. Milone and F. Bromberg (2016), Blankets joint posterior score for
    learning Markov network structures, doi:10.48550/arXiv.1608.02315, who compare scores on six
    such graphs; those here are ours.

    Examples
    --------
    >>> six_node_graph(4).sum(axis=0)
    array([5, 1, 1, 1, 1, 1])
    """
    if number not in range(1, 7):
        raise InputError(f"The six graphs are numbered 1 to 6, got {number!r}.")
    adjacency = np.zeros((6, 6), dtype=bool)
    for edge in _SIX_NODES[number - 1].split():
        adjacency[int(edge[0]), int(edge[1])] = True
    return adjacency | adjacency.T
