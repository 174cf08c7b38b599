"""What a tree of networks leaves behind: pictures, tables, graphs and the page to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure, SubFigure

    from edgewise.cli.regress.regressing import Regressed
    from edgewise.report import Report

#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "tree.png": "The tree, with the network of every leaf",
    "partition.png": "Where the leaves lie",
    "map.png": "Leaves on the map",
    "risk.png": "What the splits gain",
}
#: A tree with more leaves than this is not drawn.
MOST_DRAWN: Final = 100


def write_regressed(
    folder: Path, regressed: Regressed, text: str, record: dict[str, Any]
) -> Report:
    """Write everything that `regress` leaves behind, and return what its page says."""
    from edgewise.cli._folder import write_results, write_table
    from edgewise.cli._page import report_of
    from edgewise.cli.regress.regress_words import first_split

    tree, figures = regressed.tree, pictures(regressed)
    report = report_of(
        text,
        graph=tree.graph_,
        model=tree,
        record=record,
        figures=figures,
        words=ALT,
        tables={"Leaves": regressed.leaves},
        finding=first_split(regressed),
    )
    write_results(folder, report, model=tree, figures=figures)
    write_table(regressed.leaves, folder / "leaves.csv")
    # In place of the edges of the one network for all rows, which graph.graphml has.
    write_table(regressed.edges, folder / "edges.csv")
    write_table(tree.split_report(), folder / "splits.csv")
    (folder / "tree.txt").write_text(tree.export_text(), encoding="utf-8")
    for leaf in tree.leaves_:
        leaf.graph.write(folder / f"leaf-{leaf.leaf}.graphml")
    return report


def pictures(regressed: Regressed) -> dict[str, Figure | SubFigure]:
    """Draw the tree, what its splits gain and, where there are columns for it, where leaves lie."""
    from edgewise.plot import plot_leaf_map, plot_partition, plot_tree, plot_tree_risk
    from edgewise.plot.partition import has_place

    tree = regressed.tree
    drawn: dict[str, Figure | SubFigure] = {"risk.png": plot_tree_risk(tree).figure}
    if len(tree.leaves_) <= MOST_DRAWN:
        drawn["tree.png"] = plot_tree(tree).figure
    if sum(covariate.kind == "numeric" for covariate in tree.covariates_) >= 2:
        drawn["partition.png"] = plot_partition(tree).figure
    if has_place(tree):
        drawn["map.png"] = plot_leaf_map(tree, regressed.X).figure
    return drawn
