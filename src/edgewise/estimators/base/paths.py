"""What the ``path`` methods return: one graph per alpha."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph import Graph


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphPath:
    """Graphs along a sequence of alphas.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        From large to small.
    graphs : tuple of Graph
        One per alpha.
    gaps : ndarray of shape (n_alphas,)
        Duality gap of each fit.
    converged : ndarray of bool, shape (n_alphas,)
        Whether each fit met its tolerance.
    """

    alphas: FloatArray
    graphs: tuple[Graph, ...]
    gaps: FloatArray
    converged: BoolArray

    @property
    def n_edges(self) -> IntArray:
        """Number of edges of each graph."""
        return np.array([graph.n_edges for graph in self.graphs])


@dataclass(frozen=True, kw_only=True, eq=False)
class PrecisionPath(GraphPath):
    """Graphs along a sequence of alphas, with the precision matrices behind them.

    Attributes
    ----------
    precisions : ndarray of shape (n_alphas, p, p)
        In the units of the data.
    """

    precisions: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class LocallyConstantPath(PrecisionPath):
    """Graphs for combinations of alpha and tau: all taus of the first alpha, then of the next.

    Attributes
    ----------
    taus : ndarray of shape (n_alphas,)
        Strength of local constancy that goes with each of ``alphas``.
    """

    taus: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class CoefficientPath(GraphPath):
    """Graphs along a sequence of alphas, with the regressions behind them.

    Attributes
    ----------
    coefs : ndarray of shape (n_alphas, p, p)
        ``coefs[k, i, j]`` is the coefficient of variable i in the regression of j.
    """

    coefs: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangePath(GraphPath):
    """Changes between two groups along a sequence of alphas.

    Attributes
    ----------
    changes : ndarray of shape (n_alphas, p, p)
        Signed change of every pair, with the variables on the diagonal.
    """

    changes: FloatArray

    @property
    def entry(self) -> FloatArray:
        """Largest alpha at which each pair changes, of shape (p, p); 0 where none does."""
        entered = np.where(self.changes != 0, self.alphas[:, None, None], 0.0)
        return np.asarray(entered.max(axis=0))

    @property
    def order(self) -> FloatArray:
        """Score to rank pairs by, of shape (p, p): the entry, and the last change among ties."""
        size = np.abs(self.changes[-1])
        steps = np.searchsorted(self.alphas[::-1], self.entry)
        return np.where(self.entry > 0, steps + 1 + size / (1 + size.max()), 0.0)
