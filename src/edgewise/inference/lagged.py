"""How often the arcs and edges of networks of rows in order come back in resamples."""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from edgewise._core.parallel import as_generator, parallel_map
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.dependence import FEWEST_BLOCKS, block_length, row_order
from edgewise.estimators.gaussian.temporal import Pairs, TemporalGraph
from edgewise.inference.resample import rows_of_clusters
from edgewise.selection import SelectionWarning

#: Least autocorrelation that blocks of pairs of rows are long enough for.
LEAST_DECAY: Final = 0.3


class LaggedShares(NamedTuple):
    """Share of the resamples with each arc and edge, of shape (p, p); what was drawn."""

    temporal: FloatArray
    contemporaneous: FloatArray
    n_units: int
    block_length: int


def lagged_shares(
    model: TemporalGraph,
    X: Any,
    series: Any = None,
    time: Any = None,
    *,
    n_resamples: int = 100,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
) -> LaggedShares:
    """Learn the networks again from resampled units, or from blocks of rows where units are few.

    Parameters
    ----------
    model : TemporalGraph
        Whose parameters the fits have.
    X, series, time
        As in `TemporalGraph.fit`.
    n_resamples : int
    n_jobs : int, optional
        Resamples at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    LaggedShares
    """
    learner = clone(model).set_params(verbose=0)
    values, order = learner._read(X, series, time)
    pairs = Pairs.of(values, order)
    units = np.unique(pairs.unit, return_inverse=True)[1]
    n_units, length = int(units.max()) + 1, 1
    if n_units < FEWEST_BLOCKS:
        names = [str(k) for k in range(values.shape[1])]
        decay = row_order(pairs.now, names, series=pairs.unit, has_trends=False).decay
        length = block_length(max(decay, LEAST_DECAY), len(units))
        units = np.arange(len(units)) // length
    drawn = rows_of_clusters(units, np.arange(len(units)))
    seeds = as_generator(random_state).integers(2**31 - 1, size=n_resamples)
    tasks = [(learner, pairs, drawn, int(seed)) for seed in seeds]
    found = parallel_map(_learn_again, tasks, n_jobs=n_jobs, description="Bootstrap")
    temporal, contemporaneous = (np.mean(parts, axis=0) for parts in zip(*found, strict=True))
    return LaggedShares(temporal, contemporaneous, n_units if length == 1 else 0, length)


def _learn_again(
    learner: TemporalGraph, pairs: Pairs, clusters: list[IntArray], seed: int
) -> tuple[FloatArray, FloatArray]:
    """Learn from as many clusters of pairs, drawn with replacement."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([clusters[k] for k in rng.integers(len(clusters), size=len(clusters))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SelectionWarning)
        found = learner._learn(pairs.take(rows))
    arcs = found.temporal.any(axis=0) & ~np.eye(len(found.covariance), dtype=bool)
    return arcs.astype(np.float64), found.contemporaneous.adjacency.astype(np.float64)
