"""One self-contained HTML page that answers the question and shows the network behind it."""

from edgewise.report.content import Picture, Report
from edgewise.report.page import render

__all__ = ["Picture", "Report", "render"]
