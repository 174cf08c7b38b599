"""How Sphinx turns the guide into a site: ``make docs``."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from docutils.nodes import SkipNode, math_block
from docutils.utils.math.latex2mathml import tex2mathml
from make_api import REFERENCE, listed_names, lists, members
from make_gallery import SETTINGS
from make_options import add_options

project = "edgewise"
author = "The edgewise developers"
copyright = "The edgewise developers"  # noqa: A001, the name that Sphinx reads
release = metadata.version("edgewise")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
sphinx_gallery_conf = SETTINGS
#: Browsers draw MathML themselves; the usual script would have to be fetched from elsewhere.
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "edgewise"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_sidebars = {"**": []}
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 2,
}
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
#: The words of a type, such as n_features, are no names to look up.
suppress_warnings = ["ref.python"]
myst_enable_extensions = ["dollarmath"]
#: Pages link to headings of each other as on any host of Markdown.
myst_heading_anchors = 4
exclude_patterns = ["_build"]


def write_reference(app: Any) -> None:
    """Write a page for every public name."""
    folder = Path(app.srcdir) / REFERENCE
    folder.mkdir(exist_ok=True)
    for module_name, names in listed_names().items():
        module = importlib.import_module(module_name)
        for name in (name for name in names if callable(getattr(module, name))):
            value, full = getattr(module, name), f"{module_name}.{name}"
            lines = [name, "=" * len(name), ""]
            if inspect.isclass(value):
                own = [text.strip(".").partition("(")[0] for text, _ in members(value)]
                # Properties may stand among the attributes of the class already.
                told = re.findall(r"^(\w+) : ", inspect.getdoc(value) or "", flags=re.MULTILINE)
                own = [member for member in own if member not in told]
                lines += [f".. autoclass:: {full}", f"   :members: {', '.join(own)}" if own else ""]
            else:
                lines += [f".. autofunction:: {full}"]
            (folder / f"{full}.rst").write_text("\n".join(lines) + "\n", encoding="utf-8")


#: What the head of every page leads to, before the chapters.
FIRST = ("tutorial", "gallery/index", "api")
#: Words of the field, and the pages that a search for them should name first.
WORDS = {
    "gaussian": (
        *("penalty", "partial correlation", "graphical lasso", "glasso", "EBICglasso"),
        *("Likert", "polychoric", "precision matrix", "missing values"),
    ),
    "survey": ("Likert", "polychoric", "centrality", "strength", "predictability"),
    "inference": (
        *("p-value", "permutation", "confidence interval", "bootstrap", "false discovery rate"),
        "stability selection",
    ),
    "change": ("permutation", "p-value", "differential network"),
    "graph": ("networkx", "igraph", "Cytoscape", "Gephi"),
    "data": ("transpose",),
    "command-line": ("transpose", "csv", "p-value", "permutation"),
    "discrete": ("Markov network", "categorical"),
    "mixed": ("categorical", "mixed graphical model"),
    "directed": ("causal discovery", "Bayesian network", "DAG", "structure learning"),
    "space": ("pixels",),
    "coming-from": ("qgraph", "bootnet", "huge", "glasso", "JGL", "EBICglasso"),
}


def add_words(name: str, text: str) -> str:
    """Enter the words of a page into the index, as main entries, which come first in a search."""
    title, rest = text.split("\n", 1)
    entries = ", ".join(f"!{word}" for word in WORDS[name])
    return f"{title}\n\n```{{index}} {entries}\n```\n{rest}"


def prepare(app: Any, name: str, source: list[str]) -> None:
    """Add what only the site needs, so that the pages stay plain Markdown.

    Files above the folder of the guide are no pages of the site; the words of links to them stay,
    but for examples, whose pages are those of the gallery. The start page gets its contents in
    the order of its own tables, the page of the API every public name, and that of the command
    line every option.
    """
    above = r"\.\./" * (1 + name.count("/"))
    below = "../" * name.count("/")
    text = source[0]
    for file, page in ((r"GALLERY_HEADER\.rst", "index"), (r"(\w+/\w+)\.py", r"\1")):
        text = re.sub(rf"\({above}examples/{file}\)", rf"({below}gallery/{page}.rst)", text)
    text = re.sub(rf"\[([^\]]+)\]\({above}[\w./-]+\.md(?:#[^)]*)?\)", r"\1", text)
    if name == "index":
        pages = {
            page: title
            for title, page in re.findall(r"\[([^\]]+)\]\(([\w/-]+)\.(?:md|rst)\)", text)
        }
        order = sorted(pages, key=lambda page: FIRST.index(page) if page in FIRST else len(FIRST))
        lines = [f"{pages[page][0].upper()}{pages[page][1:]} <{page}>" for page in order]
        text += "\n```{toctree}\n:hidden:\n\n" + "\n".join(lines) + "\n```\n"
    if name == "studies/index" and (Path(app.srcdir) / "studies" / "results").exists():
        text += "\n```{toctree}\n:hidden:\n:glob:\n\nresults/*\n```\n"
    if name == "api":
        text += lists()
    if name == "command-line":
        text = add_options(text)
    if name in WORDS:
        text = add_words(name, text)
    source[0] = text


#: Commands of LaTeX that docutils does not take or sets too close, and what to read for them.
COMMANDS = {
    r"\textstyle": "",
    r"\Big": "",
    r"\big": "",
    r"\dots": r"\ldots",
    r"\det": r"\,\det\,",
}


def write_formula(self: Any, node: Any) -> None:
    """Write a formula as MathML, in the line or on lines of its own."""
    tex = re.sub(r"\\[a-zA-Z]+", lambda found: COMMANDS.get(found[0], found[0]), node.astext())
    # The digits of \tfrac12 would be taken for one number, and norms grow beyond what they enclose.
    tex = re.sub(r"frac(\d)(\d)", r"frac{\1}{\2}", tex)
    is_block = isinstance(node, math_block)
    mathml = tex2mathml(tex, as_block=is_block)
    mathml = re.sub(
        r"<mo(?: class=.mathopen.)?>‖", '<mo stretchy="false" lspace="0" rspace="0">‖', mathml
    )
    self.body.append(f"<div>{mathml}</div>" if is_block else mathml)
    raise SkipNode


def setup(app: Any) -> None:
    """Let Sphinx call what is above."""
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("builder-inited", write_reference)
    app.connect("source-read", prepare)
