"""Plots of networks, paths and tests with matplotlib."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
