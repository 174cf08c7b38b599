"""Estimators that follow scikit-learn's conventions and return a `Graph`."""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
