"""Model selection: criteria, and searches along a regularisation path."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
