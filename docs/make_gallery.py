"""How examples become the pages of the gallery, called by sphinx-gallery."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

#: Sections in the order of the five questions.
SECTIONS = ("learn", "compare", "regress", "direct", "classify")

#: What comes first within a section; others follow by name.
FIRST = ("weather_network.py", "senate_votes.py", "digits_in_space.py", "patches_in_space.py")

SETTINGS = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "subsection_order": [f"../examples/{section}" for section in SECTIONS],
    "within_subsection_order": "make_gallery.Order",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("make_gallery.take_pictures",),
    "reset_modules": (),
    # Figures are taken from the files; their names would only be noise.
    "capture_repr": (),
    "thumbnail_size": (520, 360),
    "first_notebook_cell": "%matplotlib inline",
    # A page must not change because the machine was busy.
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": True,
}


class Order:
    """Sort examples of a section, as sphinx-gallery asks for it."""

    def __init__(self, folder: str) -> None:
        pass

    def __call__(self, name: str) -> tuple[int, str]:
        """Give the place of an example."""
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def take_pictures(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Take the pictures that a block wrote beside its script, and clear away what else it wrote."""
    script = Path(variables["src_file"])
    written = [path for path in script.parent.iterdir() if path.suffix in {".png", ".graphml"}]
    pictures = []
    for path in sorted(written, key=lambda path: path.stat().st_mtime_ns):
        if path.suffix == ".png":
            target = Path(next(variables["image_path_iterator"]))
            target.write_bytes(path.read_bytes())
            pictures.append(str(target))
        path.unlink()
    return figure_rst(pictures, settings["src_dir"])
