"""One process per solver: a call that overruns its budget is ended, and memory is its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.certificate import certify
from benchmarks.peers import (
    FloatArray,
    GglassoAdmm,
    GglassoBlock,
    Ours,
    Peer,
    PeerMissingError,
    Quic,
    Setting,
    Skglm,
    Sklearn,
)
from benchmarks.r_bridge import RGlasso, RHuge, RHugeCore

PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (
        Ours,
        Quic,
        RGlasso,
        RHuge,
        RHugeCore,
        Skglm,
        Sklearn,
        GglassoAdmm,
        GglassoBlock,
    )
}


class OverrunError(RuntimeError):
    """The solver did not answer in time and was ended."""


class SolveError(RuntimeError):
    """The solver raised on this setting."""


class Worker:
    """A solver in a process of its own, started when first asked and after an overrun."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.process: multiprocessing.process.BaseProcess | None = None
        self.is_ready = False
        #: Why the solver cannot run here, once that is known.
        self.missing: str | None = None
        self.version = ""
        #: Seconds of the first calls in the process: compilation or loading from its cache.
        self.first_call = 0.0

    def launch(self) -> None:
        """Start the process, if it does not run, without waiting for it to be ready."""
        if self.process is not None or self.missing is not None:
            return
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self.name))
        self.process.start()
        theirs.close()
        self.is_ready = False

    def start(self) -> bool:
        """Make sure that the process is ready; False where the solver is missing."""
        self.launch()
        if self.missing is not None:
            return False
        if self.is_ready:
            return True
        try:
            status, *details = self.connection.recv()
        except EOFError:
            status, details = "missing", ["its process ended while starting"]
        if status == "missing":
            self.missing = details[0]
            self.stop()
            return False
        self.version, self.first_call = details
        self.is_ready = True
        return True

    def ask(self, operation: str, *arguments: Any, timeout: float) -> Any:
        """Have ``operation`` of the serving side done within ``timeout`` seconds."""
        self.start()
        self.connection.send((operation, *arguments))
        if not self.connection.poll(timeout):
            self.stop()
            raise OverrunError(f"{self.name} took more than {timeout:.3g} s")
        try:
            status, value = self.connection.recv()
        except EOFError:
            self.stop()
            raise SolveError(f"{self.name} ended its process") from None
        if status == "error":
            raise SolveError(value)
        return value

    def stop(self) -> None:
        """End the process and what it has started."""
        if self.process is None:
            return
        self.connection.close()
        # The worker leads a process group, which holds R as well.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.join()
        self.process = None


class _Server:
    """What a worker can be asked to do."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.stack: FloatArray
        self.alphas: FloatArray

    def load(self, path: str, alpha: float) -> None:
        self.peer.prepare(np.load(path), alpha)

    def rung(self, setting: Setting, number: int) -> dict[str, float | None]:
        """Time one setting and certify its result."""
        seconds, omega = self.peer.measure(setting, number)
        peak = peak_memory()
        certificate = certify(self.peer.S, omega, self.peer.alpha)
        return {
            "seconds": seconds,
            "gap": certificate.gap,
            "own_gap": self.peer.own_gap,
            "objective": certificate.objective,
            "n_edges": certificate.n_edges,
            "peak_bytes": peak,
        }

    def clock(self, setting: Setting, number: int) -> float:
        """Time one setting."""
        return self.peer.measure(setting, number)[0]

    def load_paths(self, path: str) -> None:
        with np.load(path) as archive:
            self.stack, self.alphas = archive["stack"], archive["alphas"]

    def paths(self, setting: Setting, n_sets: int, threshold: float) -> dict[str, float]:
        """Time the first ``n_sets`` paths; share of solves at most at ``threshold``, worst gap."""
        stack = self.stack[:n_sets]
        seconds, omegas = self.peer.measure_paths(stack, self.alphas, setting)
        gaps = np.array(
            [
                certify(S, omega, alpha).gap
                for S, path in zip(stack, omegas, strict=True)
                for omega, alpha in zip(path, self.alphas, strict=True)
            ]
        )
        share = float(np.mean(gaps <= threshold))
        return {"seconds": seconds, "share": share, "gap": float(gaps.max())}

    def ladders(self, p: int) -> dict[str, list[Setting]]:
        return self.peer.ladders(p)

    def path_ladders(self, p: int) -> dict[str, list[Setting]]:
        return self.peer.path_ladders(p)


def _serve(connection: Connection, name: str) -> None:
    """Answer requests until the other side hangs up."""
    os.setsid()
    # Peers print on every solve, from Python and from C, and warn on every loose rung.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    try:
        peer = PEERS[name]()
    except PeerMissingError as error:
        connection.send(("missing", str(error)))
        return
    with threadpool_limits(1):
        connection.send(("ready", peer.version(), _warm_up(peer)))
        server = _Server(peer)
        while True:
            try:
                operation, *arguments = connection.recv()
            except EOFError:
                return
            try:
                reply = ("ok", getattr(server, operation)(*arguments))
            except (ArithmeticError, ValueError, RuntimeError, np.linalg.LinAlgError) as error:
                reply = ("error", f"{type(error).__name__}: {error}")
            connection.send(reply)


def _warm_up(peer: Peer) -> float:
    """Let compilers and caches do their work; seconds of the first call at each of two sizes.

    Solvers may have other kernels for few variables than for many.
    """
    seconds = 0.0
    for p in (12, 60):
        steps = np.arange(p)
        S: FloatArray = 0.5 ** np.abs(np.subtract.outer(steps, steps))
        peer.prepare(S, 0.2)
        start = time.perf_counter()
        for ladder in peer.ladders(p).values():
            peer.measure(ladder[len(ladder) // 2], 1)
        seconds += time.perf_counter() - start
    for ladder in peer.path_ladders(12).values():
        stack = S[None, :12, :12].copy()
        peer.measure_paths(stack, np.array([0.4, 0.2]), ladder[len(ladder) // 2])
    return seconds


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes.

    ``getrusage`` is not used where the kernel offers better: on Linux its figure starts from the
    size of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
