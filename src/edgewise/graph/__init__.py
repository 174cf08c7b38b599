"""The network that every learner returns, its files, and the comparison of two networks."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
