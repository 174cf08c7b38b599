"""Pictures of several groups."""

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection

from edgewise import Graph
from edgewise._core.errors import InputError
from edgewise.plot.groups import (
    plot_group_edges,
    plot_group_networks,
    plot_group_pairs,
    plot_group_strengths,
)
from tests.messages import raises


def network(weight):
    weights = np.zeros((4, 4))
    weights[0, 1] = weights[1, 0] = weight
    weights[2, 3] = weights[3, 2] = 0.4
    return Graph(weights, names=list("abcd"))


def test_every_node_stands_at_one_place_in_all_networks():
    figure = plot_group_networks({k: network(k / 10) for k in range(1, 6)})
    assert [ax.get_title() for ax in figure.axes] == [f"{k}: 2 edges" for k in range(1, 6)]
    offsets = [
        np.concatenate([part.get_offsets() for part in ax.collections if len(part.get_offsets())])
        for ax in figure.axes
    ]
    for other in offsets[1:]:
        np.testing.assert_allclose(other, offsets[0])
    boxes = [ax.get_position().bounds for ax in figure.axes]
    assert len({box[:2] for box in boxes}) == 5


def test_widths_are_of_one_scale_in_all_networks():
    figure = plot_group_networks({k: network(k) for k in (0.1, 0.2, 0.8)})
    widths = [
        sorted(
            width
            for part in ax.collections
            if isinstance(part, LineCollection)
            for width in part.get_linewidths()
        )
        for ax in figure.axes
    ]
    # The edge of 0.4, which all have, is as wide everywhere.
    assert len({round(pair[1 if k < 2 else 0], 9) for k, pair in enumerate(widths)}) == 1


def test_pairs_show_their_p_values():
    table = pd.DataFrame(
        {"first": [1, 1, 2], "second": [2, 3, 3], "pvalue_holm": [0.5, 0.0004, 0.03]}
    )
    ax = plot_group_pairs(table)
    assert sorted(text.get_text() for text in ax.texts) == sorted(["0.5", "4e-04", "0.03"] * 2)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["1", "2", "3"]
    assert {text.get_text() for text in ax.texts if text.get_weight() == "bold"} == {
        "4e-04",
        "0.03",
    }
    named = table.replace({1: "z", 2: "mid", 3: "8"}).sample(frac=1, random_state=1)
    ticks = plot_group_pairs(named).get_yticklabels()
    assert [tick.get_text() for tick in ticks] == ["z", "mid", "8"]
    with raises(InputError, code="no_pairs_of_groups"):
        plot_group_pairs(table.head(0))


def test_edges_that_differ_have_a_star():
    table = pd.DataFrame(
        {
            "source": ["a", "b"],
            "target": ["b", "c"],
            "low": [0.1, 0.2],
            "high": [0.6, np.nan],
            "pvalue_familywise": [0.01, 0.4],
        }
    )
    ax = plot_group_edges(table.fillna(0.0), ["low", "high"])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["* a -- b", "b -- c"]
    np.testing.assert_allclose(ax.images[0].get_array(), [[0.1, 0.6], [0.2, 0.0]])
    assert len(plot_group_edges(table.fillna(0.0), ["low", "high"], most=1).get_yticks()) == 1


def test_strengths_by_group():
    nodes = pd.DataFrame(
        {
            "node": ["a", "b"],
            "strength_$x$": [1.0, 0.2],
            "strength_y": [0.9, 0.8],
            "strength_pvalue_familywise": [0.9, 0.01],
        }
    )
    ax = plot_group_strengths(nodes, ["$x$", "y"])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["* b", "a"]
    first = ax.collections[1]
    np.testing.assert_allclose(first.get_offsets()[:, 0], [0.2, 1.0])
