"""Penalties of the entries that precision matrices have at one place, on arrays of any library.

An isotonic regression by its formula of minima and maxima, and layers of pairs, of which none share
a group, in place of paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise._core.arrays import array_namespace
from edgewise._core.typing import FloatArray
from edgewise.solvers.change.group_penalties import ALL_PAIRS, GROUP, RELAXATION, Layers
from edgewise.solvers.device.gradient_steps import ArraySteps
from edgewise.solvers.linalg.dense import set_diagonal, soften, squared_norm
from edgewise.solvers.linalg.first_order import Residuals, Steps


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayPlaces:
    """The same on arrays of any library; layers of paths hold pairs that share no group."""

    layers: Layers
    sparsity: Any
    coupling: Any

    def penalty(self, Theta: Any) -> float:
        """Return the value of both penalties."""
        xp = array_namespace(Theta)
        if self.layers.kind == GROUP:
            variation = xp.sqrt(xp.sum(Theta * Theta, axis=0))
        else:
            apart = [xp.abs(Theta[k, ...] - Theta[m, ...]) for k, m in self._pairs()]
            variation = sum(apart, xp.zeros_like(self.coupling))
        # Where entries are equal, coupling may be infinite.
        cost = xp.where(variation == 0.0, 0.0, self.coupling) * variation
        return float(xp.sum(self.sparsity * xp.sum(xp.abs(Theta), axis=0) + cost))

    def exceeds(self, Y: Any) -> Any:
        """Where multipliers are beyond a subgradient at 0; of several layers, that of the first."""
        xp = array_namespace(Y)
        return xp.any(self.prox(Y, 1.0) != 0.0, axis=0)

    def prox(self, H: Any, t: float, layer: int = 0) -> Any:
        """Return the proximal map of t times the penalty; sparsity is that of the first layer."""
        xp = array_namespace(H)
        strength = t * self.coupling
        entries = [H[k, ...] for k in range(H.shape[0])]
        if self.layers.kind == ALL_PAIRS and len(entries) > 2:
            entries = _draw_all_together(xp, entries, strength)
        elif self.layers.kind != GROUP:
            for k, m in self._pairs(layer):
                middle, half = 0.5 * (entries[k] + entries[m]), 0.5 * (entries[k] - entries[m])
                half = soften(half, strength)
                entries[k], entries[m] = middle + half, middle - half
        Z = xp.stack(entries)
        if layer == 0:
            Z = soften(Z, t * self.sparsity)
        if self.layers.kind == GROUP:
            norm = xp.sqrt(xp.sum(Z * Z, axis=0))
            is_left = norm > strength
            Z = Z * xp.where(is_left, 1.0 - strength / xp.where(is_left, norm, 1.0), 0.0)
        return Z

    def shrink(self, Omega: Any, mu: float, Z: Any, U: Any) -> Residuals:
        """Move copies and scaled multipliers in place, over-relaxed; return the residuals."""
        sums = np.zeros(4)
        for layer in range(len(self.layers.paths)):
            H = RELAXATION * Omega + (1.0 - RELAXATION) * Z[layer, ...] + U[layer, ...]
            fresh = self.prox(H, 1.0 / mu, layer)
            rest = H - fresh
            parts = (Omega - fresh, fresh - Z[layer, ...], fresh, rest)
            sums += [squared_norm(part) for part in parts]
            Z[layer, ...], U[layer, ...] = fresh, rest
        primal, dual, size_Z, size_U = sums.tolist()
        return primal, dual, size_Z, size_U

    def structured(self, Omega: Any, Z: Any) -> Any:
        """Give ``Omega`` the zeros and ties of the copies, as `KernelPlaces` do."""
        xp, K = array_namespace(Omega), Omega.shape[0]
        label = [xp.full(Omega.shape[1:], k, dtype=xp.int8, device=Omega.device) for k in range(K)]
        for layer in range(len(self.layers.paths) if self.layers.kind != GROUP else 0):
            for k in range(K):
                for m in range(k):
                    is_tied = Z[layer, m, ...] == Z[layer, k, ...]
                    new, old = xp.minimum(label[m], label[k]), xp.maximum(label[m], label[k])
                    label = [xp.where(is_tied & (one == old), new, one) for one in label]
        entries = []
        for k in range(K):
            same = [xp.astype(one == label[k], Omega.dtype) for one in label]
            total = sum(same[m] * Omega[m, ...] for m in range(K)) / sum(same)
            is_absent = set_diagonal(Z[0, k, ...] == 0.0, False)
            entries.append(xp.where(is_absent, 0.0, total))
        return xp.stack(entries)

    def steps(self, S: Any, weights: FloatArray) -> Steps:
        """Return how to take gradient steps."""
        return ArraySteps(S=S, weights=weights, shrink=self.prox, penalty=self.penalty)

    def _pairs(self, layer: int | None = None) -> Iterator[tuple[int, int]]:
        """Go through the pairs of groups that are compared, in one layer or in all."""
        paths, is_linked = self.layers.paths, self.layers.is_linked
        if self.layers.kind == ALL_PAIRS:
            yield from ((k, m) for k in range(paths.shape[1]) for m in range(k))
            return
        for one in range(len(paths)) if layer is None else [layer]:
            for place in np.flatnonzero(is_linked[one]):
                yield int(paths[one, place - 1]), int(paths[one, place])


def _draw_all_together(xp: Any, entries: list[Any], strength: Any) -> list[Any]:
    """Do as `_draw_together` does, at all places.

    In the order of the entries the differences are linear, which leaves an isotonic regression:
    the largest, over the first, of the smallest, over the last, of the means of a run.
    """
    K = len(entries)
    in_order = xp.sort(xp.stack(entries), axis=0)
    sums = [xp.zeros_like(entries[0])]
    for r in range(K):
        sums.append(sums[-1] + (in_order[r, ...] - strength * (2 * r - K + 1)))
    drawn: list[Any] = [None] * K
    for first in range(K):
        least = None
        for last in range(K - 1, first - 1, -1):
            mean = (sums[last + 1] - sums[first]) / (last + 1 - first)
            least = mean if least is None else xp.minimum(least, mean)
            drawn[last] = least if first == 0 else xp.maximum(drawn[last], least)
    found = []
    for k, entry in enumerate(entries):
        rank = sum(
            xp.astype((other < entry) | ((other == entry) & (m < k)), xp.int8)
            for m, other in enumerate(entries)
        )
        value = drawn[0]
        for r in range(1, K):
            value = xp.where(rank == r, drawn[r], value)
        found.append(value)
    return found
