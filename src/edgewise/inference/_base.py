"""What the resampling estimators share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin

from edgewise._core.errors import InputError
from edgewise._core.memory import local_workers
from edgewise._core.parallel import spawn
from edgewise._core.typing import FloatArray
from edgewise.data.table import Table
from edgewise.estimators.base.archive import save_estimator
from edgewise.estimators.base.table import TableEstimator, note_columns
from edgewise.estimators.covariates.base import CovariateEstimator
from edgewise.graph import Graph
from edgewise.inference._resample import (
    Draw,
    Outcome,
    Problem,
    check_resamplable,
    classes,
    count_rows,
    draw_resamples,
    needs_labels,
    run_resamples,
    takes_classes,
)


class ResamplingGraph(MetaEstimatorMixin, BaseEstimator):
    """Base of the estimators that fit another one to many resamples of the rows."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator, fitted or not, to one file without pickled code.

        Parameters
        ----------
        path : str or path
            File to write, by custom ending in ``.edgewise``; `edgewise.load` reads it.
        """
        save_estimator(self, path)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.allow_nan = inner.allow_nan
        tags.input_tags.string = inner.string
        return tags

    def _problem(self, X: Any, y: Any, sample_weight: Any, alphas: FloatArray | None) -> Problem:
        """Put together what is fitted, once it can be resampled."""
        check_resamplable(self.estimator)
        if y is None and needs_labels(self.estimator):
            raise InputError(
                f"{type(self.estimator).__name__} learns from rows with labels, and y is None. "
                "Pass a label for every row."
            )
        inner = self.estimator
        if isinstance(inner, TableEstimator) and not isinstance(inner, CovariateEstimator):
            inner._require_memory(X, local_workers(self.n_jobs))
        weights = None
        if sample_weight is not None:
            weights = Table.from_input(X, sample_weight=sample_weight).weights
        return Problem(estimator=self.estimator, X=X, y=y, sample_weight=weights, alphas=alphas)

    def _resample(
        self,
        problem: Problem,
        draw: Draw,
        generator: np.random.Generator,
        n_draws: int,
        description: str,
    ) -> list[Outcome]:
        """Draw, fit, and store what every kind of resampling has to report."""
        note_columns(self, problem.X, reset=True)
        is_label = takes_classes(problem.estimator)
        groups = classes(problem.y, count_rows(problem.X), is_label=is_label)
        generators = spawn(generator, n_draws)
        resamples, self.n_redrawn_ = draw_resamples(problem.X, groups, draw, generators)
        outcomes, self.failures_ = run_resamples(
            problem,
            resamples,
            n_jobs=self.n_jobs,
            description=description,
            verbose=self.verbose,
        )
        self.n_resamples_ = len(outcomes)
        return outcomes


def frequency(outcomes: Sequence[Outcome], n_nodes: int, index: int = 0) -> FloatArray:
    """Share of the outcomes whose graph number ``index`` has each edge."""
    counts = np.zeros(n_nodes * n_nodes)
    for outcome in outcomes:
        counts[outcome.edges[index][0]] += 1
    return counts.reshape(n_nodes, n_nodes) / len(outcomes)


def number_of_pairs(graph: Graph) -> int:
    """Edges that a graph over these nodes can have."""
    pairs = graph.n_nodes * (graph.n_nodes - 1)
    return pairs if graph.directed else pairs // 2
