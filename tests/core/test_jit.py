"""The one numba decorator."""

from types import SimpleNamespace

import pytest

from edgewise._core import jit
from edgewise._core.jit import CACHE_SWITCH, kernel


def total(values):
    result = 0.0
    for value in values:
        result += value
    return result


@pytest.fixture
def asked(monkeypatch):
    """Record with which options numba is called.

    Only our module sees the stand-in: numba uses its own decorator while it compiles.
    """
    calls = []
    real = jit.numba.njit

    def njit(**options):
        calls.append(options)
        return real(**options)

    monkeypatch.setattr(jit, "numba", SimpleNamespace(njit=njit))
    return calls


def test_a_kernel_computes_and_is_kept(asked, monkeypatch):
    monkeypatch.delenv(CACHE_SWITCH, raising=False)
    compiled = kernel(total)
    assert compiled((1.0, 2.5)) == 3.5
    assert asked == [{"cache": True, "nogil": True}]
    assert compiled.stats.cache_path is not None


def test_the_switch_keeps_the_disk_clean(asked, monkeypatch):
    monkeypatch.setenv(CACHE_SWITCH, "0")
    compiled = kernel(total)
    assert compiled((1.0, 2.5)) == 3.5
    assert asked == [{"nogil": True}]
    assert compiled.stats.cache_path is None


def test_a_read_only_place_only_costs_the_cache(monkeypatch):
    monkeypatch.delenv(CACHE_SWITCH, raising=False)
    real = jit.numba.njit
    calls = []

    def njit(*, cache=False, **options):
        calls.append(cache)
        if cache:
            raise RuntimeError("cannot cache function 'total': no locator available for file")
        return real(**options)

    monkeypatch.setattr(jit, "numba", SimpleNamespace(njit=njit))
    compiled = kernel(total)
    assert compiled((1.0, 2.5)) == 3.5
    assert calls == [True, False]


def test_other_errors_of_numba_are_not_hidden(monkeypatch):
    def njit(**options):
        raise TypeError("not this one")

    monkeypatch.setattr(jit, "numba", SimpleNamespace(njit=njit))
    with pytest.raises(TypeError, match="not this one"):
        kernel(total)


def test_a_real_read_only_folder(tmp_path):
    """numba itself, with no place to write: the module imports and its kernel works."""
    import os
    import subprocess
    import sys

    source = tmp_path / "package" / "kernels.py"
    source.parent.mkdir()
    source.write_text(
        "from edgewise._core.jit import kernel\n\n\n@kernel\ndef twice(x):\n    return 2 * x\n"
    )
    # A file where the cache folders should be stops also a user who may write everywhere.
    (source.parent / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    environment = {
        **os.environ,
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home" / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(source.parent),
    }
    environment.pop("NUMBA_CACHE_DIR", None)
    environment.pop(CACHE_SWITCH, None)
    code = "import kernels; print(kernels.twice(21), kernels.twice.stats.cache_path)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["42", "None"]
