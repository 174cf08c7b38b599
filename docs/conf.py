"""How Sphinx turns the guide into a site: ``make docs``."""

from __future__ import annotations

import re
from importlib import metadata
from typing import Any

project = "edgewise"
author = "The edgewise developers"
copyright = "The edgewise developers"  # noqa: A001, the name that Sphinx reads
release = metadata.version("edgewise")
extensions = ["myst_parser"]
html_theme = "pydata_sphinx_theme"
html_title = "edgewise"
html_sidebars = {"**": []}
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
myst_enable_extensions = ["dollarmath"]
#: Pages link to headings of each other as on any host of Markdown.
myst_heading_anchors = 4
exclude_patterns = ["_build"]


def prepare(app: Any, name: str, source: list[str]) -> None:
    """Add what only the site needs, so that the pages stay plain Markdown.

    Files above the folder of the guide are no pages of the site; the words of links to them stay.
    The start page gets its contents in the order of its own table.
    """
    text = re.sub(r"\[([^\]]+)\]\(\.\./[\w./-]+\.md(?:#[^)]*)?\)", r"\1", source[0])
    if name == "index":
        pages = dict.fromkeys(re.findall(r"\]\(([\w-]+)\.md\)", text))
        text += "\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"
    source[0] = text


def setup(app: Any) -> None:
    """Let Sphinx call `prepare` for every page."""
    app.connect("source-read", prepare)
