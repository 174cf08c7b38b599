"""Learn the network behind a table of measurements.

The public names are loaded when first used, so that ``import edgewise`` and
``edgewise --help`` stay quick.
"""

from edgewise._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
