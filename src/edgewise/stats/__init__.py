"""Sufficient statistics: what a method needs to know of the samples, and no more."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
