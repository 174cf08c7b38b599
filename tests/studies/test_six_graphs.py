"""The six graphs with six nodes."""

import networkx
import pytest

from edgewise import InputError
from edgewise.metrics import irregularity
from studies.discrete.six_graphs import six_node_graph


def test_six_graphs():
    graphs = [networkx.from_numpy_array(six_node_graph(number)) for number in range(1, 7)]
    chord = networkx.cycle_graph(6)
    chord.add_edge(0, 3)
    bound = networkx.complete_multipartite_graph(1, 1, 4)
    star = networkx.star_graph(5)
    for graph, wanted in zip(
        graphs, [networkx.cycle_graph(6), chord, None, star, bound, bound], strict=True
    ):
        assert wanted is None or networkx.is_isomorphic(graph, wanted)
    assert networkx.is_tree(graphs[2])
    assert [irregularity(six_node_graph(k)) for k in range(1, 7)] == [0, 4, 8, 20, 24, 24]
    with pytest.raises(InputError, match="1 to 6"):
        six_node_graph(7)
