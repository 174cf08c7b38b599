"""Choosing the sparsity: criteria, and searches along a path for any solver."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
