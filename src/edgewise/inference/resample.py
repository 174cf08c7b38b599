"""Drawing rows, fitting an estimator to each draw, and accounting for every failure."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target

from edgewise._core.errors import DataWarning, InputError, SolverError
from edgewise._core.memory import local_workers
from edgewise._core.parallel import interrupts_raised, parallel_map, spawn
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.labels import label_codes
from edgewise.data.table import Table, take_rows
from edgewise.estimators.base.table import (
    LATENT,
    TableEstimator,
    fix_kinds,
    last_step,
    note_columns,
    save_estimator,
    show_fit,
)
from edgewise.estimators.covariates.base import CovariateEstimator
from edgewise.graph import Graph
from edgewise.stats.moments import Moments

Found = TypeVar("Found")

#: Draws of one resample before a column that stays constant is accepted as it is.
MAX_DRAWS = 100
#: Rows that are looked at first for whether columns vary in them.
FEW_ROWS = 64

#: Draws rows, given a generator and the rows of each class (one class without labels).
Draw = Callable[[np.random.Generator, list[IntArray]], list[IntArray]]


@dataclass(frozen=True, kw_only=True)
class Resample:
    """Rows to fit, and the seed of whatever the estimator draws itself."""

    rows: IntArray
    seed: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Edges found on one resample.

    Attributes
    ----------
    edges : list of (positions, weights)
        One entry per graph: where the flattened adjacency is True, and the weights there.
    """

    edges: list[tuple[IntArray, FloatArray]]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is fitted again and again; ``kinds`` are the columns of answers in the whole table."""

    estimator: Any
    X: Any
    y: Any
    sample_weight: FloatArray | None
    alphas: FloatArray | None
    interventions: Any = None
    kinds: BoolArray | None = None

    def fit(self, seed: int, rows: IntArray | None = None) -> tuple[Any, list[Graph]]:
        """Fit a fresh copy to some rows, or to all; return it with its graphs."""
        model = clone(self.estimator)
        fix_kinds(model, self.kinds)
        _set_seeds(model, seed)
        X, y, weight = self.X, self.y, self.sample_weight
        if rows is not None:
            X = take_rows(X, rows)
            y = None if y is None else take_rows(y, rows)
            weight = None if weight is None else weight[rows]
        labels = () if y is None else (y,)
        options = {} if weight is None else {"sample_weight": weight}
        if self.interventions is not None:
            chosen = np.asarray(self.interventions)
            options["interventions"] = chosen if rows is None else chosen[rows]
        with interrupts_raised():
            if self.alphas is None:
                model.fit(X, *labels, **options)
                return model, [graph_of(model)]
            return model, list(model.path(X, *labels, alphas=self.alphas, **options).graphs)


def kinds_of(fitted: Any) -> BoolArray | None:
    """Return which columns a fit has treated as ordered answers, if it can tell them apart."""
    return getattr(last_step(fitted), "ordinal_", None)


def kinds_of_table(estimator: Any, X: Any) -> BoolArray | None:
    """Decide for all rows which columns are ordered answers, where an estimator asks for it."""
    if getattr(estimator, "covariance", None) not in LATENT:
        return None
    return clone(estimator)._pose(X, None)[-1].ordinal  # type: ignore[no-any-return]


def check_resamplable(estimator: Any) -> None:
    """Refuse what cannot be fitted to rows again and again."""
    if not hasattr(estimator, "fit"):
        raise InputError("not_an_estimator", estimator=estimator)
    if getattr(estimator, "covariance", None) == "precomputed":
        raise InputError("resampling_precomputed")


def graph_of(model: Any) -> Graph:
    """Find the graph of a fitted estimator, also inside a pipeline or a search."""
    if hasattr(model, "graph_"):
        return model.graph_  # type: ignore[no-any-return]
    if hasattr(model, "best_estimator_"):
        return graph_of(model.best_estimator_)
    if hasattr(model, "steps"):
        return graph_of(model.steps[-1][1])
    raise InputError("no_graph_after_fit", type=type(model).__name__)


def needs_labels(estimator: Any) -> bool:
    """Whether an estimator learns from rows with labels, also inside a pipeline or a search."""
    return _has_tag(estimator, lambda tags: tags.target_tags.required)


def takes_classes(estimator: Any) -> bool:
    """Whether the labels are those of classes, of whatever type, and never a measurement."""
    return _has_tag(estimator, lambda tags: tags.classifier_tags is not None)


def _has_tag(estimator: Any, says: Callable[[Any], bool]) -> bool:
    if hasattr(estimator, "__sklearn_tags__") and says(get_tags(estimator)):
        return True
    if getattr(estimator, "steps", None):
        return _has_tag(estimator.steps[-1][1], says)
    return hasattr(estimator, "estimator") and _has_tag(estimator.estimator, says)


def refuse_moments(X: Any) -> None:
    """Refuse sums of rows, which cannot be drawn from."""
    if isinstance(X, Moments):
        raise InputError("resampling_moments")


def count_rows(X: Any) -> int:
    """Count the rows of an array or a data frame, or say why it is no table."""
    from edgewise.data.table import Table

    refuse_moments(X)
    is_plain = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf" and X.size > 0
    return len(X) if is_plain else Table.from_input(X).n_samples


def classes(y: Any, n_rows: int, *, is_label: bool = False) -> list[IntArray]:
    """Rows of each class where ``y`` is a label, or looks like one; all together otherwise."""
    if y is None or not (is_label or type_of_target(y) in ("binary", "multiclass")):
        return [np.arange(n_rows)]
    member = np.unique(np.asarray(y), return_inverse=True)[1]
    return [np.flatnonzero(member == k) for k in range(member.max() + 1)]


def alike_rows(interventions: Any) -> list[IntArray]:
    """Rows in which the same columns were set."""
    labels = np.asarray(interventions, dtype=object)
    texts = [str(label) for label in (labels if labels.ndim == 1 else map(tuple, labels))]
    member = np.unique(texts, return_inverse=True)[1]
    return [np.flatnonzero(member == k) for k in range(member.max() + 1)]


def cluster_codes(clusters: Any, X: Any, block_length: int = 1) -> IntArray:
    """Give numbers to the clusters of the rows."""
    if block_length > 1:
        raise InputError("clusters_or_blocks")
    return label_codes(clusters, count_rows(X))[1]


def rows_of_clusters(member: IntArray, rows: IntArray) -> list[IntArray]:
    """List the rows of each cluster, of those given."""
    order = rows[np.argsort(member[rows], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(member[order])) + 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Redraw:
    """How resamples were drawn, so that their rows need not be kept."""

    draw: Draw
    groups: list[IntArray]
    generators: Sequence[np.random.Generator]

    def again(self, X: Any) -> list[Resample]:
        """Draw the same rows once more."""
        return draw_resamples(X, self.groups, self.draw, deepcopy(self.generators))[0]


def draw_resamples(
    X: Any, groups: list[IntArray], draw: Draw, generators: Sequence[np.random.Generator]
) -> tuple[list[Resample], int]:
    """Draw rows until every column that varies within a class varies in the draw too.

    A column that becomes constant in a draw has no correlation and would fail the fit. Returns
    the resamples and how many draws were thrown away.
    """
    codes = column_codes(X)
    needed = [varies(codes[rows]) for rows in groups]
    resamples: list[Resample] = []
    n_redrawn = 0
    for generator in generators:
        drawn, n_more = draw_until(
            generator,
            lambda source: draw(source, groups),
            lambda rows: _keeps_variation(codes, rows, groups, needed),
        )
        resamples += drawn
        n_redrawn += n_more
    return resamples, n_redrawn


def draw_until(
    generator: np.random.Generator,
    draw: Callable[[np.random.Generator], list[IntArray]],
    is_usable: Callable[[list[IntArray]], bool],
) -> tuple[list[Resample], int]:
    """Draw sets of rows, again while they cannot be used; also count the draws thrown away."""
    n_redrawn = 0
    while not is_usable(drawn := draw(generator)) and n_redrawn < MAX_DRAWS - 1:
        n_redrawn += 1
    seeds = generator.integers(2**31 - 1, size=len(drawn))
    with_seeds = zip(drawn, seeds, strict=True)
    return [Resample(rows=rows, seed=int(seed)) for rows, seed in with_seeds], n_redrawn


def run_resamples(
    problem: Problem,
    resamples: Sequence[Resample],
    *,
    n_jobs: int | None,
    description: str,
    verbose: int,
) -> tuple[list[Outcome], list[tuple[int, str]]]:
    """Fit every resample; return those that succeeded, and number and error of the others."""
    return run_all(
        _find_edges,
        [(problem, resample) for resample in resamples],
        noun="resample",
        stacklevel=5,
        n_jobs=n_jobs,
        description=description,
        verbose=verbose,
    )


def run_all(
    function: Callable[..., Found],
    tasks: Sequence[tuple[Any, ...]],
    *,
    noun: str,
    stacklevel: int,
    n_jobs: int | None,
    description: str,
    verbose: int,
) -> tuple[list[Found], list[tuple[int, str]]]:
    """Call ``function`` for every task; return the results, and number and error of failures.

    Failures and warnings are said once for all tasks, since workers cannot; ``noun`` is what a
    task is called there, and ``stacklevel`` finds the caller who is told.
    """
    attempts = parallel_map(
        _attempt,
        [(function, *task) for task in tasks],
        n_jobs=n_jobs,
        description=description,
        verbose=verbose,
    )
    failures = [(k, attempt.error) for k, attempt in enumerate(attempts) if attempt.error]
    good = [attempt.found for attempt in attempts if attempt.found is not None]
    if failures:
        number, message = failures[0]
        found: dict[str, Any] = {
            "n_failed": len(failures),
            "n": len(attempts),
            "noun": noun,
            "number": number,
            "error": message,
        }
        if not good:
            raise SolverError("all_tasks_failed", **found)
        warning = DataWarning("tasks_failed", n_left=len(good), **found)
        warnings.warn(warning, stacklevel=stacklevel)
    if warned := [attempt.warnings[0] for attempt in attempts if attempt.warnings]:
        warning = DataWarning(
            "tasks_warned", n_warned=len(warned), n=len(attempts), noun=noun, first=warned[0]
        )
        warnings.warn(warning, stacklevel=stacklevel)
    return good, failures


@dataclass(frozen=True, kw_only=True)
class _Attempt(Generic[Found]):
    """What a task found, or why it found nothing, and what it warned of."""

    found: Found | None = None
    error: str = ""
    warnings: tuple[str, ...] = ()


def _attempt(function: Callable[..., Found], *task: Any) -> _Attempt[Found]:
    """Run a task in a worker; whatever goes wrong there is reported, not raised.

    Only an interrupt never gets here as an error, see `parallel_map`.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(*task)
        except Exception as error:
            return _Attempt(error=f"{type(error).__name__}: {error}")
    messages = tuple(f"{item.category.__name__}: {item.message}" for item in caught)
    return _Attempt(found=found, warnings=messages)


def _find_edges(problem: Problem, resample: Resample) -> Outcome:
    """Fit one resample and keep what its graphs join."""
    edges = []
    for graph in problem.fit(resample.seed, resample.rows)[1]:
        positions = np.flatnonzero(graph.adjacency)
        edges.append((positions, graph.weights.ravel()[positions]))
    return Outcome(edges=edges)


def _set_seeds(model: Any, seed: int) -> None:
    """Give every ``random_state`` of a (nested) estimator that is None a seed of its own."""
    names = sorted(
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    seeds = np.random.default_rng(seed).integers(2**31 - 1, size=len(names))
    model.set_params(**{name: int(value) for name, value in zip(names, seeds, strict=True)})


def column_codes(X: Any) -> FloatArray:
    """Numbers that are equal where the entries of a column are; NaN where they are missing."""
    from edgewise.data.table import Table

    return Table.from_input(X).values


def varies(values: FloatArray) -> Any:
    """Whether the observed entries of each column differ."""
    is_seen = ~np.isnan(values)
    low = np.where(is_seen, values, np.inf).min(axis=0)
    return np.where(is_seen, values, -np.inf).max(axis=0) > low


def _keeps_variation(
    codes: FloatArray,
    drawn: list[IntArray],
    groups: list[IntArray],
    needed: list[Any],
) -> bool:
    for rows in drawn:
        for group, must_vary in zip(groups, needed, strict=True):
            inside = rows if len(groups) == 1 else rows[np.isin(rows, group)]
            # The first rows tell most often.
            if not any(
                varies(codes[part])[must_vary].all() for part in (inside[:FEW_ROWS], inside)
            ):
                return False
    return True


class ResamplingGraph(MetaEstimatorMixin, BaseEstimator):
    """Base of the estimators that fit another one to many resamples of the rows."""

    _html_repr = show_fit

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
        refuse_moments(X)
        check_resamplable(self.estimator)
        if y is None and needs_labels(self.estimator):
            raise InputError("resampling_labels_required", type=type(self.estimator).__name__)
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
        if problem.interventions is not None:
            groups = alike_rows(problem.interventions)
        generators = spawn(generator, n_draws)
        self._redraw = Redraw(draw=draw, groups=groups, generators=deepcopy(generators))
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
