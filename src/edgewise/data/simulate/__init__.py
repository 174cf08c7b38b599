"""Simulated data with a known graph; one file per family of models."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
