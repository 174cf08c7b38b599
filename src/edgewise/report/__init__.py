"""One self-contained HTML page that answers the question and shows the network behind it.

None of it is public: `edgewise.Graph.to_html` and the commands write pages.
"""

from edgewise.report.page import Picture as Picture, Report as Report, render as render

__all__: list[str] = []
