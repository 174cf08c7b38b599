"""Arrays of other libraries: their namespace, and the way to numpy and back."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

#: Where a library has no namespace of the array API standard itself, as torch.
COMPATIBLE = ("array_api_compat", "scipy._lib.array_api_compat")


def array_namespace(array: Any) -> Any:
    """Return the functions of the array API standard for an array.

    Parameters
    ----------
    array : array
        Of numpy, torch, CuPy or another library that follows the standard.

    Examples
    --------
    >>> import numpy as np
    >>> array_namespace(np.ones(2)) is np
    True
    """
    if hasattr(array, "__array_namespace__") and not type(array).__module__.startswith("cupy"):
        return array.__array_namespace__()
    for name in COMPATIBLE:
        try:
            return import_module(name).array_namespace(array)
        except ImportError:
            continue
    raise ImportError("Arrays of this library take the package array-api-compat.")


def is_numpy(array: Any) -> bool:
    """Whether an array is one of numpy itself."""
    return isinstance(array, np.ndarray)
