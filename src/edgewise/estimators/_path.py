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
