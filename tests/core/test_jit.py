"""The one numba decorator, and where compiled kernels are kept."""

import ast
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.caching import IndexDataCacheFile

import edgewise
from edgewise._core.jit import CACHE_SWITCH, kernel, kernel_folder

PACKAGE = Path(edgewise.__file__).parent


def total(values):
    result = 0.0
    for value in values:
        result += value
    return result


def test_a_kernel_computes_and_is_kept(monkeypatch):
    monkeypatch.delenv(CACHE_SWITCH, raising=False)
    before = numba.config.CACHE_DIR
    compiled = kernel(total)
    assert compiled((1.0, 2.5)) == 3.5
    assert Path(compiled.stats.cache_path).is_relative_to(kernel_folder())
    assert before == numba.config.CACHE_DIR  # kernels of other packages stay where they were


def test_the_switch_keeps_the_disk_clean(monkeypatch):
    monkeypatch.setenv(CACHE_SWITCH, "0")
    compiled = kernel(total)
    assert compiled((1.0, 2.5)) == 3.5
    assert compiled.stats.cache_path is None


def test_a_kernel_is_compiled_once_for_all_constants(monkeypatch):
    monkeypatch.setenv(CACHE_SWITCH, "0")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)

    @kernel
    def scaled(x, factor, is_negative):
        return -factor * x if is_negative else factor * x

    @kernel
    def both(x, factor):
        return scaled(x, 2, True), scaled(x, factor=3, is_negative=False), scaled(x, factor, x < 0)

    assert both(1.5, 5) == (-3.0, 4.5, 7.5)
    assert scaled(1.5, 5, True) == -7.5
    assert len(scaled.signatures) == 1


@pytest.fixture
def package(tmp_path):
    """Copy what compiles kernels into a package of two kernels, one of which calls the other."""
    home = tmp_path / "edgewise"
    for name in (
        "__init__.py",
        "__init__.pyi",
        "_version.py",
        "_core/__init__.py",
        "_core/jit.py",
        "_core/process.py",
        "_core/lazy.py",
        "_core/typing.py",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, home / name)
    header = "from edgewise._core.jit import kernel\n"
    (home / "callee.py").write_text(f"{header}\n@kernel\ndef times(x):\n    return 2 * x\n")
    (home / "caller.py").write_text(
        f"{header}from edgewise.callee import times\n\n"
        "@kernel\ndef f(x):\n    return times(x) + 1\n"
    )
    return home


def run(package, **environment):
    """Call the kernel of ``package`` in a process of its own and tell how it came by it."""
    variables = {**os.environ, "PYTHONPATH": str(package.parent), **environment}
    for name in ("NUMBA_CACHE_DIR", CACHE_SWITCH):
        variables.pop(name, None)
    code = (
        "from edgewise.caller import f; print(f(10), sum(f.stats.cache_hits.values()),"
        " f.stats.cache_path is not None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_changes(package):
    assert run(package) == ["21", "0", "True"]
    assert run(package) == ["21", "1", "True"]
    source = package / "callee.py"
    source.write_text(source.read_text().replace("2 * x", "3 * x"))
    assert run(package) == ["31", "0", "True"]
    # What was compiled from other sources does not pile up.
    assert len(list((package / "__pycache__").glob("edgewise-kernels-*"))) == 1


def overwritten(content):
    middle = len(content) // 2
    return content[:middle] + bytes(64) + content[middle + 64 :]


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize(
    "damage",
    [lambda content: b"", lambda content: content[:-7], lambda content: b"\x07?", overwritten],
    ids=["empty", "cut", "garbage", "overwritten"],
)
def test_damaged_kernels_are_compiled_anew(package, suffix, damage):
    assert run(package) == ["21", "0", "True"]
    kept = list((package / "__pycache__").rglob(f"*{suffix}"))
    assert kept
    for path in kept:
        path.write_bytes(damage(path.read_bytes()))
    assert run(package) == ["21", "0", "True"]
    assert run(package) == ["21", "1", "True"]


def test_a_full_disk_only_costs_the_cache(monkeypatch):
    monkeypatch.delenv(CACHE_SWITCH, raising=False)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", full)
    assert kernel(total)((1.0, 2.5)) == 3.5


@pytest.mark.slow
def test_a_place_that_cannot_be_written_only_costs_the_cache(package, tmp_path):
    # A file where the folder should be stops also a user who may write everywhere.
    (package / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    nowhere = str(tmp_path / "home")
    environment = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "LOCALAPPDATA": nowhere}
    assert run(package, PYTHONDONTWRITEBYTECODE="1", **environment) == ["21", "0", "False"]


def test_constants_of_kernels_stand_in_files_with_kernels():
    """Constants are compiled in: one in a file that is not digested could change unnoticed."""
    strays = []
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "@kernel" not in source:
            continue
        tree = ast.parse(source)
        kernels = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            and any(isinstance(d, ast.Name) and d.id == "kernel" for d in node.decorator_list)
        ]
        bodies = [statement for node in kernels for statement in node.body]
        used = {n.id for part in bodies for n in ast.walk(part) if isinstance(n, ast.Name)}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("edgewise."):
                place = PACKAGE.parent / node.module.replace(".", "/")
                home = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
                if "@kernel" not in home.read_text(encoding="utf-8"):
                    strays += [(path.name, a.name) for a in node.names if a.name in used]
    assert strays == []
