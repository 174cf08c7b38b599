"""What tests of several stages share."""

from pathlib import Path

import pytest

from edgewise._core import memory

#: How a PNG file begins.
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def small_machine(monkeypatch):
    """A machine that has a megabyte of memory left."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**6)


@pytest.fixture
def undrawn(monkeypatch):
    """Write pictures and pages that are blank: commands draw what they found, but to no file."""
    from matplotlib.backend_bases import FigureCanvasBase

    import edgewise.report

    def print_blank(canvas, filename, **options):
        if hasattr(filename, "write"):
            filename.write(PNG)
        else:
            Path(filename).write_bytes(PNG)

    monkeypatch.setattr(FigureCanvasBase, "print_figure", print_blank)
    monkeypatch.setattr(edgewise.report, "render", lambda reports, *, title: f"{title}\n")


@pytest.fixture
def lines_at_once(monkeypatch):
    """Write a line of progress for each task, however short the work is."""
    monkeypatch.setattr("edgewise._core.parallel.LINE_EVERY", 0.0)
