"""From rows to a directed network and a second opinion: what `direct` and `demo` share."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli._confidence import NO_CONFIDENCE, Confidence, with_confidence
from edgewise.cli.learn.learning import about_fit, parameters_of, run_record

if TYPE_CHECKING:
    import pandas as pd

    from edgewise._core.typing import BoolArray, FloatArray
    from edgewise.graph import Graph

#: Which of the two methods found an arc, in the order of the table.
BOTH: Final = "both"
OPPOSITE: Final = "both, in opposite directions"
BLANKETS: Final = "blankets only"
PENALIZED: Final = "penalised order only"
#: Share of the penalty that an arc pays that must be there.
NEARLY_FREE: Final = 1e-3


@dataclass(frozen=True, kw_only=True)
class DirectSettings:
    """How to learn both networks.

    ``forbidden`` and ``required`` are pairs of columns, ``tiers`` maps columns to numbers.
    """

    method: str = "iamb"
    significance: float = 0.01
    alpha: float | str = "ebic"
    standardize: bool = True
    forbidden: tuple[tuple[str, str], ...] = ()
    required: tuple[tuple[str, str], ...] = ()
    tiers: dict[str, int] = field(default_factory=dict)
    missing: str = "error"
    repair: str | None = None
    confidence: Confidence = NO_CONFIDENCE
    seed: int = 0
    n_jobs: int = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Directed:
    """Two directed networks of the same rows.

    Attributes
    ----------
    model : estimator
        What is saved: the network by blankets, or the bootstrap around it where that was asked
        for.
    fit : BlanketBayesNet
        Fitted to all rows.
    penalized : GaussianBayesNet
        The second opinion.
    graph, pattern : Graph
        The network by blankets, and its arrows that the data can tell; the others both ways.
    penalized_pattern : ndarray of bool
        The same of the second network.
    arcs : DataFrame
        Arcs of both networks, those that both found first.
    varsortability : float
        Of the network by blankets in the units of the columns; NaN without an arc.
    n_resamples : int or None
        Those that the confidence rests on.
    notes : tuple of str
        What was done without being asked for.
    seconds : float
        Time that it took.
    """

    model: Any
    fit: Any
    penalized: Any
    graph: Graph
    pattern: Graph
    penalized_pattern: BoolArray
    arcs: pd.DataFrame
    varsortability: float
    n_resamples: int | None
    notes: tuple[str, ...]
    seconds: float

    @property
    def n_untold(self) -> int:
        """Number of arcs whose direction the data cannot tell."""
        adjacency = self.pattern.adjacency
        return int((adjacency & adjacency.T).sum()) // 2

    def n_found_by(self, kind: str) -> int:
        """Count the pairs of a kind."""
        return int((self.arcs["found_by"] == kind).sum())


def direct_columns(
    frame: pd.DataFrame, settings: DirectSettings, *, verbose: bool = False
) -> Directed:
    """Learn both networks, compare them, and ask how sure the first is."""
    if settings.n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning. Pass 1 or more, or -1 for all cores.")
    start = time.perf_counter()
    resampled, fit, sure_notes = _by_blankets(frame, settings, verbose=verbose)
    penalized, penalized_pattern, notes = _by_order(frame, settings, verbose=verbose)
    graph = resampled.graph_
    return Directed(
        model=resampled if settings.confidence.is_asked else fit,
        fit=fit,
        penalized=penalized,
        graph=graph,
        pattern=_pattern(graph, fit.cpdag_.adjacency),
        penalized_pattern=penalized_pattern,
        arcs=arc_table(graph, fit.cpdag_.adjacency, penalized.graph_),
        varsortability=_varsortability(frame, graph),
        n_resamples=getattr(resampled, "n_resamples_", None),
        notes=(*notes, *sure_notes),
        seconds=time.perf_counter() - start,
    )


def _by_blankets(
    frame: pd.DataFrame, settings: DirectSettings, *, verbose: bool
) -> tuple[Any, Any, tuple[str, ...]]:
    """Fit the first network; also return the bootstrap around it, if any, and what to note."""
    from sklearn.base import clone

    from edgewise.estimators import BlanketBayesNet

    learner = BlanketBayesNet(
        settings.method,
        settings.significance,
        forbidden=list(settings.forbidden) or None,
        required=list(settings.required) or None,
        tiers=settings.tiers or None,
        missing=settings.missing,
        repair=settings.repair,
        random_state=settings.seed,
    )
    start = time.perf_counter()
    fit = clone(learner).fit(frame)
    resampled, notes = with_confidence(
        fit,
        learner,
        frame,
        settings.confidence,
        seconds=time.perf_counter() - start,
        seed=settings.seed,
        n_jobs=settings.n_jobs,
        verbose=verbose,
    )
    return resampled, fit, notes


def _by_order(
    frame: pd.DataFrame, settings: DirectSettings, *, verbose: bool
) -> tuple[Any, BoolArray, tuple[str, ...]]:
    """Fit the second network, with what is known in advance as weights of the penalty."""
    import numpy as np

    from edgewise.estimators import GaussianBayesNet
    from edgewise.estimators.directed.known_arcs import known_arcs
    from edgewise.graph.equivalence import complete_dag

    names = list(frame.columns)
    known = known_arcs(
        settings.forbidden or None, settings.required or None, settings.tiers or None, names
    )
    weights: FloatArray = np.where(known.required, NEARLY_FREE, 1.0)
    weights[~known.allowed] = np.inf
    penalized = GaussianBayesNet(
        settings.alpha,
        standardize=settings.standardize,
        weights=None if known.is_empty else weights,
        missing=settings.missing,
        repair=settings.repair,
        n_jobs=settings.n_jobs,
        random_state=settings.seed,
        verbose=int(verbose),
    ).fit(frame)
    notes = []
    if known.required.any():
        notes.append("the penalised order pays hardly anything for the arcs that must be")
        lacking = known.required & ~penalized.graph_.adjacency
        if lacking.any():
            arcs = ", ".join(f"{names[i]} -> {names[j]}" for i, j in np.argwhere(lacking).tolist())
            notes.append(f"the penalised order has no place for {arcs}")
    return penalized, complete_dag(penalized.graph_.adjacency, known.allowed), tuple(notes)


def _pattern(graph: Graph, cpdag: BoolArray) -> Graph:
    """Return the arrows that the data can tell; other edges have their weight both ways."""
    import numpy as np

    from edgewise.graph import Graph

    both = graph.weights + graph.weights.T
    return Graph(np.where(cpdag, both, 0.0), names=graph.names, directed=True, adjacency=cpdag)


def arc_table(graph: Graph, cpdag: BoolArray, penalized: Graph) -> pd.DataFrame:
    """List the arcs of both networks, those first that both have in the same direction.

    Weights are coefficients of standardised columns; that of an arc which the second network has
    the other way round is given for its own direction. ``told`` says whether the data can tell
    the direction in the first network.
    """
    import numpy as np
    import pandas as pd

    first, second = graph.adjacency, penalized.adjacency
    kinds = [
        (BOTH, first & second),
        (OPPOSITE, first & second.T),
        (BLANKETS, first & ~second & ~second.T),
        (PENALIZED, second & ~first & ~first.T),
    ]
    parts = []
    for kind, arcs in kinds:
        source, target = np.nonzero(arcs)
        other = penalized.weights[source, target] + penalized.weights[target, source]
        part: dict[str, Any] = {
            "source": [graph.names[k] for k in source],
            "target": [graph.names[k] for k in target],
            "found_by": kind,
            "told": ["yes" if told else "no" for told in ~cpdag[target, source]],
            "weight": graph.weights[source, target],
            "penalized": other,
        }
        if kind == PENALIZED:
            part["told"] = ""
        if graph.confidence is not None:
            part["confidence"] = graph.confidence[source, target]
            part["confidence_reversed"] = graph.confidence[target, source]
        size = np.maximum(np.abs(part["weight"]), np.abs(other) * (kind == PENALIZED))
        parts.append(pd.DataFrame(part).iloc[np.argsort(-size, kind="stable")])
    filled = [part for part in parts if len(part)] or parts[:1]
    return pd.concat(filled, ignore_index=True)


def _varsortability(frame: pd.DataFrame, graph: Graph) -> float:
    from edgewise.metrics import varsortability

    whole = frame.dropna()
    return varsortability(whole, graph) if len(whole) else math.nan


def direct_record(
    directed: Directed,
    settings: DirectSettings,
    *,
    command: str,
    data: dict[str, Any],
    treatment: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather what is needed to tell, and to repeat, what a run of `direct` did."""
    fit, penalized = directed.fit, directed.penalized
    share = directed.varsortability
    parameters = parameters_of(penalized)
    # Nothing but what is known in advance, which stands beside it; and no matter for JSON.
    del parameters["weights"]
    found: dict[str, Any] = {
        "n_untold": directed.n_untold,
        "n_found_by": {
            "both": directed.n_found_by(BOTH),
            "opposite": directed.n_found_by(OPPOSITE),
            "blankets": directed.n_found_by(BLANKETS),
            "penalized": directed.n_found_by(PENALIZED),
        },
        "n_tests": int(fit.n_tests_),
        "is_consistent": bool(fit.is_consistent_),
        "varsortability": None if math.isnan(share) else share,
        "penalized": {
            "parameters": parameters,
            "n_edges": penalized.graph_.n_edges,
            **about_fit(penalized),
            "converged": bool(penalized.converged_),
            "n_iter": int(penalized.n_iter_),
        },
    }
    return run_record(
        command=command,
        seed=settings.seed,
        parameters={**parameters_of(fit), "n_resamples": directed.n_resamples},
        data=data,
        treatment=[*treatment, *directed.notes, *fit.treatment_],
        warnings=warnings,
        graph=directed.graph,
        found=found,
        seconds=directed.seconds,
    )
