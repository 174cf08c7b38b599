"""Certainty about edges: resampling and shuffling of any estimator, and intervals of changes."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
