"""Numerical problems: arrays in, a frozen `Solution` with its certificate out."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
