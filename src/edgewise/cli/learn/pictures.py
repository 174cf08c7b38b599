"""The pictures of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from edgewise._core.typing import FloatArray
    from edgewise.cli.learn.learning import Learned


#: A picture of the search, which only a page has.
SEARCH: Final = "search.png"
#: Pictures in a page, with words for those who cannot see them; the network is there anyway.
ALT: Final = {
    "sites.png": "The network over the sites",
    "seeds.png": "What single sites are joined to",
    SEARCH: "How the network was chosen",
}


def pictures(learned: Learned) -> Iterator[tuple[str, Figure | SubFigure]]:
    """Yield each picture with the name of its file.

    Graphs of columns that are sites in space are drawn over the sites too, with the edges that
    were fused bundled and outlined, and on a grid as maps of what single sites are joined to.
    """
    from edgewise.plot import plot_matrix, plot_network, plot_seed_maps, plot_sites

    graph, fit = learned.graph, learned.fit
    groups = getattr(fit, "groups_", None)
    if groups is not None:
        yield "sites.png", plot_sites(graph, _sites(fit), groups=groups).figure
        if isinstance(fit.neighbors, tuple):
            yield "seeds.png", plot_seed_maps(graph, shape=fit.neighbors)
    yield "network.png", plot_network(graph).figure
    yield "matrix.png", plot_matrix(graph, groups=groups).figure


def with_search(
    figures: Mapping[str, Figure | SubFigure], fit: Any
) -> dict[str, Figure | SubFigure]:
    """Add, for the page alone, how alpha was chosen or how a structure was found."""
    from edgewise.plot import plot_score_history, plot_selection
    from edgewise.selection import Selection

    selection = getattr(fit, "selection_", None)
    if isinstance(selection, Selection):
        return {**figures, SEARCH: plot_selection(selection).figure}
    if hasattr(fit, "criterion_value_") and len(fit.history_) > 1:
        return {**figures, SEARCH: plot_score_history(fit.history_).figure}
    return dict(figures)


def _sites(fit: Any) -> Any:
    """Where to draw the columns; listed pairs leave it to a layout of who is beside whom."""
    if isinstance(fit.neighbors, list):
        return _layout_of_pairs(fit.pairs_, fit.n_features_in_)
    return fit.neighbors


def _layout_of_pairs(pairs: Any, n_sites: int) -> FloatArray:
    import numpy as np

    from edgewise.graph import Graph
    from edgewise.plot._layout import Page, place

    beside = np.zeros((n_sites, n_sites))
    beside[pairs[:, 0], pairs[:, 1]] = beside[pairs[:, 1], pairs[:, 0]] = 1.0
    page = Page(low=np.zeros(2), high=np.full(2, 400.0), cell=np.full(2, 30.0), radius=6.0)
    return place(Graph(beside), "auto", page).points
