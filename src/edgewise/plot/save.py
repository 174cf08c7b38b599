"""Figures as files."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure, SubFigure

from edgewise._core.errors import InputError
from edgewise.io.archive import atomic_path

_FORMATS = ("png", "pdf", "svg")


def save_figure(figure: Figure | SubFigure, path: str | Path, *, dpi: float = 150) -> None:
    """Write a figure; what was there before stays until the new file is whole.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to write.
    path : str or Path
        Ends in ``.png``, ``.pdf`` or ``.svg``.
    dpi : float, default=150
        Pixels per inch of a PNG file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_network, save_figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "network.png")
    ...     save_figure(plot_network(Graph([[0, 0.5], [0.5, 0]])).figure, path)
    ...     path.exists()
    True
    """
    target = Path(path)
    suffix = target.suffix.lower().lstrip(".")
    if suffix not in _FORMATS:
        raise InputError(
            f"'{path}' has the suffix '{target.suffix}'; figures are written to "
            f"{', '.join(f'.{known}' for known in _FORMATS)}."
        )
    with atomic_path(target) as draft:
        figure.canvas.print_figure(draft, format=suffix, dpi=dpi)
