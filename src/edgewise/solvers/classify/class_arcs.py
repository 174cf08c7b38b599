"""Arcs of the networks of several classes that are updated together, and their bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import lapack

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.classify.fisher_scores import network_residuals, with_constant
from edgewise.solvers.linalg.projected_gradient import Balls

#: Added to the mean square of each parent, so that parents may be collinear.
RIDGE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassNetworksSolution(Solution):
    """Networks of all classes, learned together to tell the classes apart.

    ``value[c, i, j]`` is the coefficient of i -> j in the network of class c, ``value[c, m]`` its
    intercepts. ``history`` is the objective at each iteration and never rises; the problem is not
    convex, so that ``gap`` is no bound: it is the largest decrease that the gradient promises
    anywhere in the set, in units of the objective, and 0 where nothing more can be won nearby.

    Attributes
    ----------
    start : float
        Objective of the networks handed in.
    fit_error_ratio : ndarray of shape (n_classes,)
        Sum of squared residuals of each class in its own network, as a share of that at the start.
    """

    start: float
    fit_error_ratio: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassArcs:
    r"""Arcs that may change, in coordinates in which each class may move within a ball.

    The arcs of class c into child i are a block with parents :math:`A` (rows of the class). For a
    change :math:`\delta` of their coefficients and :math:`L L^\top = A^\top A`, the squared
    residuals become :math:`|z - L^{-1} A^\top r|^2` plus a constant in :math:`z = L^\top \delta`,
    so that a bound on their sum over all children of the class is a ball.

    Attributes
    ----------
    arcs : ndarray of shape (k, 3)
        Class, parent and child, sorted by class and child.
    block : ndarray of shape (k,)
        Block of each arc.
    starts : ndarray of shape (n_blocks,)
        First arc of each block.
    classes : ndarray of shape (n_blocks,)
        Class of each block.
    children : ndarray of shape (n_blocks,)
    parents : ndarray of shape (n, k)
        Values of the parents in all rows, in the coordinates z.
    initial : ndarray of shape (n, n_blocks)
        Residuals of the blocks' children in all rows, at the start.
    factors : list of ndarray
        L of each block.
    balls : Balls
    """

    arcs: IntArray
    block: IntArray
    starts: IntArray
    classes: IntArray
    children: IntArray
    parents: FloatArray
    initial: FloatArray
    factors: list[FloatArray]
    balls: Balls

    @classmethod
    def of(
        cls, X: FloatArray, labels: IntArray, coefs: FloatArray, arcs: IntArray, slack: float
    ) -> Self:
        """Set the coordinates up for networks that fit (1 + slack) times as badly at worst."""
        keys = arcs[:, [0, 2]]
        is_first = np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)]
        starts = np.flatnonzero(is_first)
        classes, children = keys[starts].T
        residuals = network_residuals(X, coefs)
        initial = np.ascontiguousarray(residuals[classes, :, children].T)
        parents = with_constant(X)[:, arcs[:, 1]]
        factors, centre = [], np.zeros(len(arcs))
        for b, (first, last) in enumerate(zip(starts, [*starts[1:], len(arcs)], strict=True)):
            rows = labels == classes[b]
            design = parents[rows, first:last]
            moments = design.T @ design
            ridge = RIDGE * (moments.diagonal() + np.finfo(float).tiny)
            factor = lapack.dpotrf(moments + np.diag(ridge), lower=1, clean=1)[0]
            inner = design.T @ initial[rows, b]
            centre[first:last] = _forward(factor, inner)
            parents[:, first:last] = _forward(factor, parents[:, first:last].T).T
            factors.append(factor)
        squares = np.bincount(arcs[:, 0], weights=centre**2, minlength=len(coefs))
        fit = np.array([(residuals[c][labels == c] ** 2).sum() for c in range(len(coefs))])
        balls = Balls(member=arcs[:, 0], centre=centre, radius=np.sqrt(squares + slack * fit))
        return cls(
            arcs=arcs,
            block=np.cumsum(is_first) - 1,
            starts=starts,
            classes=classes,
            children=children,
            parents=parents,
            initial=initial,
            factors=factors,
            balls=balls,
        )

    def residuals(self, z: FloatArray) -> FloatArray:
        """Residuals of the blocks' children in all rows."""
        return np.asarray(self.initial - np.add.reduceat(self.parents * z, self.starts, axis=1))

    def gradient(self, per_residual: FloatArray) -> FloatArray:
        """Turn a gradient in the residuals into one in the coordinates."""
        return np.asarray(-np.einsum("ak,ak->k", per_residual[:, self.block], self.parents))

    def coefs(self, z: FloatArray, start: FloatArray) -> FloatArray:
        """Coefficients of all networks."""
        result = start.copy()
        for b, (first, factor) in enumerate(zip(self.starts, self.factors, strict=True)):
            last = first + len(factor)
            change = lapack.dtrtrs(factor, z[first:last], lower=1, trans=1)[0]
            result[self.classes[b], self.arcs[first:last, 1], self.children[b]] += change
        return result


def _forward(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a lower triangle; many small ones, where the checks of scipy take longest."""
    return np.asarray(lapack.dtrtrs(factor, right, lower=1)[0])


def check_classes(
    X: FloatArray, labels: IntArray, coefs: FloatArray, arcs: IntArray, slack: float
) -> None:
    """Refuse shapes that do not belong together, and a slack without room."""
    n, m = X.shape
    if coefs.ndim != 3 or len(coefs) < 2 or coefs.shape[1:] != (m + 1, m):
        raise InputError(
            f"coefs must have shape (n_classes, {m + 1}, {m}) with at least 2 classes, got "
            f"{coefs.shape}."
        )
    present = np.unique(labels)
    if labels.shape != (n,) or not np.array_equal(present, np.arange(len(coefs))):
        raise InputError(
            f"labels must number the {len(coefs)} classes from 0, one for each of {n} rows."
        )
    if arcs.ndim != 2 or arcs.shape[1] != 3 or not len(arcs):
        raise InputError(f"arcs must have shape (k, 3) with k at least 1, got {arcs.shape}.")
    if not 0 < slack < np.inf:
        raise InputError(f"slack must be positive, got {slack}.", "slack")


def fit_error_ratio(
    X: FloatArray, labels: IntArray, before: FloatArray, after: FloatArray
) -> FloatArray:
    """Sum of squared residuals of each class in its own network, after as a share of before."""
    ratios = np.ones(len(before))
    for c in range(len(before)):
        rows = X[labels == c]
        old, new = ((network_residuals(rows, k[c : c + 1]) ** 2).sum() for k in (before, after))
        if old > 0:
            ratios[c] = new / old
    return ratios
