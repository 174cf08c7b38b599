"""Arrays of other libraries than numpy, for tests of solvers; skipped where one is missing."""

import numpy as np
import pytest


def torch_on(device):
    """Return a function that makes tensors there, or skip."""
    torch = pytest.importorskip("torch")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA GPU")
    return lambda array: torch.asarray(array, device=device)


@pytest.fixture(params=["strict", "torch", pytest.param("cuda", marks=pytest.mark.cuda), "cupy"])
def array_of(request):
    if request.param == "strict":
        return pytest.importorskip("array_api_strict").asarray
    if request.param == "cupy":
        return pytest.importorskip("cupy").asarray
    return torch_on("cpu" if request.param == "torch" else "cuda")


def host(array):
    if hasattr(array, "get"):
        return array.get()
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)
