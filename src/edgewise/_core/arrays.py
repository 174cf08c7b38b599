"""Arrays of other libraries: their namespace, and the way to numpy and back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from edgewise._core.errors import InputError, NotEnoughMemoryError

Solved = TypeVar("Solved", bound=Any)

#: Libraries whose own namespace, if they have one, is not the whole standard.
WRAPPED = ("torch", "cupy")
#: What makes it whole; scikit-learn carries a copy.
COMPATIBLE = ("array_api_compat", "sklearn.externals.array_api_compat")


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
    library = type(array).__module__.partition(".")[0]
    if library not in WRAPPED and hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return _compatible(library)


@cache
def _compatible(library: str) -> Any:
    """Return the namespace that array-api-compat has for a library."""
    for name in COMPATIBLE:
        try:
            return import_module(f"{name}.{library}")
        except ImportError:
            continue
    raise ImportError("Arrays of this library take the package array-api-compat.")


def is_foreign(array: Any) -> bool:
    """Whether something is an array of another library than numpy, such as torch or CuPy.

    Examples
    --------
    >>> is_foreign(np.ones(2)), is_foreign([1.0, 2.0])
    (False, False)
    """
    if isinstance(array, np.ndarray | np.generic):
        return False
    library = type(array).__module__.partition(".")[0]
    return library in WRAPPED or hasattr(array, "__array_namespace__")


def to_numpy(array: Any) -> Any:
    """Copy an array of any library to numpy.

    Examples
    --------
    >>> to_numpy([1, 2])
    array([1, 2])
    """
    if hasattr(array, "get") and type(array).__module__.startswith("cupy"):
        return array.get()
    if hasattr(array, "cpu"):
        array = array.detach().cpu()
    return np.asarray(array)


def like(array: Any, model: Any) -> Any:
    """Copy an array to the library, device and precision of another."""
    if type(array) is type(model):
        return array
    xp = array_namespace(model)
    return xp.asarray(to_numpy(array), dtype=model.dtype, device=model.device)


def on_host(solution: Solved) -> Solved:
    """Bring the arrays of a solution, a dataclass, to numpy."""
    parts = vars(solution).items()
    return replace(solution, **{name: to_numpy(one) for name, one in parts if is_foreign(one)})


def to_device(array: Any, device: Any, crossover: int = 0) -> Any:
    """Copy a numpy array to a device.

    Parameters
    ----------
    array : ndarray
        Covariances, with variables on the last axis.
    device : {"cpu", "cuda", "auto"} or array
        ``"cpu"`` leaves it alone, ``"cuda"`` makes it a tensor of torch on the GPU, ``"auto"`` does
        so where there is a GPU and at least ``crossover`` variables. An array stands for its
        library and device.
    crossover : int
        Variables from which on a GPU is the faster one.

    Examples
    --------
    >>> to_device(np.ones(2), "cpu")
    array([1., 1.])
    >>> to_device(np.ones(2), "auto", 1000)
    array([1., 1.])
    """
    if not isinstance(device, str):
        return like(array, device)
    if device == "auto":
        device = "cuda" if array.shape[-1] >= crossover and _has_gpu() else "cpu"
    if device == "cpu":
        return array
    try:
        torch = import_module("torch")
    except ImportError:
        raise InputError("device_needs_pytorch", "device", device=device) from None
    if not torch.cuda.is_available():
        raise InputError("no_cuda_device", "device", device=device)
    return torch.asarray(array, device=device)


@cache
def _has_gpu() -> bool:
    """Whether PyTorch is there and finds a GPU."""
    try:
        return bool(import_module("torch").cuda.is_available())
    except ImportError:
        return False


def require_device_memory(model: Any, n_matrices: int, p: int) -> None:
    """Raise where the device of an array has no room for so many matrices of p by p.

    Nothing is known, and nothing raised, for devices other than a CUDA GPU.
    """
    library = type(model).__module__.partition(".")[0]
    if library == "cupy":
        cupy = import_module("cupy")
        free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
    elif library == "torch" and model.is_cuda:
        cuda = import_module("torch").cuda
        kept = cuda.memory_reserved(model.device) - cuda.memory_allocated(model.device)
        free = cuda.mem_get_info(model.device)[0] + kept
    else:
        return
    needed = 8.0 * n_matrices * p * p
    if needed > free:
        fits = int((free / (8.0 * n_matrices)) ** 0.5)
        raise NotEnoughMemoryError(
            "device_memory_too_small",
            p=p,
            needed=needed / 1000000000.0,
            free=free / 1000000000.0,
            fits=fits,
        )
