"""R's solvers, each kept in one R process for the whole run."""

# The methods are described once, in peers.Peer.
# ruff: noqa: D102

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.peers import FloatArray, Ladders, Peer, PeerMissingError, Setting, half_decades


class RPeer(Peer):
    """A solver that runs, and is timed, inside R."""

    solver: str

    def __init__(self) -> None:
        if shutil.which("Rscript") is None:
            raise PeerMissingError("Rscript is not on the path")
        self.folder = tempfile.TemporaryDirectory(prefix="edgewise-bench-r-")
        script = Path(__file__).with_name("r_server.R")
        self.process = subprocess.Popen(
            ["Rscript", "--vanilla", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        greeting = self._read()
        if not greeting.startswith("ready "):
            raise PeerMissingError("R has no packages glasso and huge")
        self.greeting = greeting.removeprefix("ready ")

    def version(self) -> str:
        return self.greeting

    def prepare(self, S: FloatArray, alpha: float) -> None:
        super().prepare(S, alpha)
        path = self._file("S.bin")
        S.tofile(path)
        self._ask("load", len(S), repr(alpha), path)

    def measure(self, setting: Setting, number: int) -> tuple[float, FloatArray]:
        path = self._file("omega.bin")
        reply = self._ask("solve", self.solver, repr(setting.get("thr", 0.0)), number, path)
        return float(reply), np.fromfile(path).reshape(self.S.shape)

    def measure_paths(
        self, stack: FloatArray, alphas: FloatArray, setting: Setting
    ) -> tuple[float, FloatArray]:
        n_sets, p, _ = stack.shape
        source, target = self._file("stack.bin"), self._file("paths.bin")
        np.concatenate([alphas, stack.ravel()]).tofile(source)
        shape = (p, n_sets, len(alphas))
        reply = self._ask("path", setting["mode"], repr(setting["thr"]), *shape, source, target)
        return float(reply), np.fromfile(target).reshape(n_sets, len(alphas), p, p)

    def _file(self, name: str) -> str:
        return str(Path(self.folder.name) / name)

    def _ask(self, *words: object) -> str:
        """Send one request and return what follows ``ok``."""
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        status, _, rest = self._read().partition(" ")
        if status != "ok":
            raise RuntimeError(f"R: {rest}")
        return rest

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


class RGlasso(RPeer):
    """The glasso package."""

    name = "R glasso"
    solver = "glasso"

    def ladders(self, p: int) -> Ladders:
        return {"": [{"thr": thr} for thr in half_decades(0.5, 10)]}

    def path_ladders(self, p: int) -> Ladders:
        return {
            mode: [{"mode": mode, "thr": thr} for thr in half_decades(0.5, 10)]
            for mode in ("glassopath", "glasso")
        }


class RHuge(RPeer):
    """The huge package; its tolerance is fixed."""

    name = "R huge"
    solver = "huge"

    def ladders(self, p: int) -> Ladders:
        return {"": [{}]}


class RHugeCore(RHuge):
    """The compiled part of huge alone: no call that a user can make."""

    name = "(huge core)"
    solver = "huge_core"
