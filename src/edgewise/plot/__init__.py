"""Pictures of networks and of the paths that lead to them, drawn with matplotlib."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
