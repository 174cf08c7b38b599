"""Tables that have been checked, simulators, and real data that come with the package."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
