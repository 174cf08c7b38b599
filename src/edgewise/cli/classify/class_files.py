"""What the networks of classes leave behind: pictures, tables and the page to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure, SubFigure

    from edgewise.cli.classify.classifying import Classified
    from edgewise.report import Report

#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "accuracy.png": "Accuracy on held-out rows, with standard errors",
    "networks.png": "Network of each class, and where they differ",
    "changes.png": "How coefficients changed when the networks were learned together",
}


def write_classified(
    folder: Path, classified: Classified, text: str, record: dict[str, Any]
) -> Report:
    """Write everything that `classify` leaves behind, and return what its page says."""
    from edgewise.cli._folder import write_results, write_table
    from edgewise.cli._page import report_of

    figures = pictures(classified)
    model = classified.model
    write_table(classified.accuracy.table(), folder / "accuracy.csv")
    write_table(classified.changes, folder / "changes.csv")
    for k, network in enumerate(model.networks_.values(), start=1):
        network.write(folder / f"network-{k}.graphml")
    report = report_of(
        text,
        graph=model.graph_,
        model=model,
        record=record,
        figures=figures,
        words=ALT,
        tables={
            "Accuracy": classified.accuracy.table(),
            "Changed coefficients": classified.changes,
        },
    )
    write_results(folder, report, model=model, figures=figures)
    return report


def pictures(classified: Classified) -> dict[str, Figure | SubFigure]:
    """Draw accuracies, networks, and what the learning changed."""
    from edgewise.plot import plot_accuracy, plot_arc_changes, plot_class_networks

    model = classified.model
    drawn: dict[str, Figure | SubFigure] = {
        "accuracy.png": plot_accuracy(classified.accuracy).figure,
        "networks.png": plot_class_networks(model.networks_, difference=model.graph_),
    }
    if len(classified.changes):
        drawn["changes.png"] = plot_arc_changes(classified.changes).figure
    return drawn
