"""Networks of rows in order, side by side in one layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.plot._canvas import INK, PLAIN, titled_panels
from edgewise.plot.network import counted, note_nodes_left_out, panels_of, plot_network

#: Inches: the width and height of one network.
_PANEL = 4.8
#: So many nodes stand in a circle, where arcs there and back are apart.
_AROUND = 16


def plot_time_networks(networks: Mapping[str, Graph], autoregression: ArrayLike) -> Figure:
    """Draw temporal, contemporaneous and between-unit networks with common places and widths.

    Parameters
    ----------
    networks : mapping of str to Graph
        Over the same nodes, by title; arcs of directed ones lead from one row to the next.
    autoregression : array-like of shape (n_nodes,)
        Partial correlation of each node with its own past: the filled share of a ring around it
        in directed networks.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot.temporal import plot_time_networks
    >>> arc = Graph([[0, 0.5], [0, 0]], directed=True)
    >>> figure = plot_time_networks({"temporal": arc}, [0.5, 0.2])
    >>> [ax.get_title() for ax in figure.axes]
    ['temporal: 1 arc']
    """
    graphs = list(networks.values())
    shown, where, is_drawn = panels_of(graphs)
    layout: Literal["circle"] | FloatArray = where
    if graphs[0].n_nodes <= _AROUND:
        shown, layout, is_drawn = graphs, "circle", np.ones(graphs[0].n_nodes, dtype=bool)
    heaviest = max(float(np.abs(one.weights).max(initial=0.0)) for one in graphs)
    rings = pd.Series(np.abs(np.asarray(autoregression)), name="effect on itself")[is_drawn]
    figure, panels = titled_panels(len(graphs), len(graphs), _PANEL)
    for ax, (title, graph), one in zip(panels, networks.items(), shown, strict=True):
        plot_network(
            one,
            ax,
            layout=layout,
            maximum=heaviest or None,
            max_edges=None,
            rings=rings if graph.directed else None,
        )
        noun = "arc" if graph.directed else "edge"
        ax.set_title(f"{title}: {counted(one, graph, noun)}", fontsize=11, color=INK, **PLAIN)
    note_nodes_left_out(panels[0], graphs, is_drawn)
    return figure
