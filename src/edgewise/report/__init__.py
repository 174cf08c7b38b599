"""One self-contained HTML page that answers the question and shows the network behind it."""

from edgewise.report.page import Picture as Picture, Report as Report, render

__all__ = ["render"]
