"""From a data frame to a fitted model: what `learn` and `demo` share."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.confidence import NO_CONFIDENCE, Confidence, bootstrap_edges

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise._core.typing import FloatArray
    from edgewise.graph import Graph
    from edgewise.report import Report


#: Parameters of an estimator that say nothing about the result.
ABOUT_THE_RUN: Final = ("n_jobs", "random_state", "verbose")

#: The method for columns that are sites in space.
IN_SPACE: Final = "locally-constant"
#: The method for columns of levels.
DISCRETE: Final = "discrete"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to learn; None leaves a parameter at the default of its estimator.

    ``tau``, ``neighbors`` and ``constant`` are for the method `IN_SPACE`, ``criterion`` is for
    `DISCRETE`.
    """

    alpha: float | str = "ebic"
    tau: float | str = "cv"
    method: str = "gaussian"
    neighbors: Any = None
    constant: str | None = None
    criterion: str = "bjp"
    covariance: str = "correlation"
    missing: str = "error"
    repair: str | None = None
    alpha_ratio: float | None = None
    tol: float | None = None
    max_iter: int | None = None
    confidence: Confidence = NO_CONFIDENCE
    seed: int = 0
    n_jobs: int = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """A fitted model.

    Attributes
    ----------
    model : estimator
        What is saved: the fit, or the bootstrap around it where that was asked for.
    fit : estimator
        Fitted to all rows, after the search for its strengths if there was one.
    graph : Graph
        With confidence where there were resamples.
    n_resamples : int or None
        Those that the confidence rests on.
    notes : tuple of str
        What was done without being asked for, or left out.
    seconds : float
        Time that learning took.
    """

    model: Any
    fit: Any
    graph: Graph
    n_resamples: int | None
    notes: tuple[str, ...] = ()
    seconds: float

    @property
    def n_groups(self) -> int | None:
        """Number of sets of edges that were fused to one strength, where neighbours are."""
        groups = getattr(self.fit, "groups_", None)
        return None if groups is None else int(groups.max()) + 1


def learn_graph(frame: pd.DataFrame, settings: Settings, *, verbose: bool = False) -> Learned:
    """Fit what the settings ask for."""
    if settings.n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning. Pass 1 or more, or -1 for all cores.")
    start = time.perf_counter()
    fit = _estimator(settings).set_params(verbose=int(verbose)).fit(frame)
    changed = {"alpha": fit.alpha_, "tau": fit.tau_} if is_searched_once(settings) else {}
    resampled, notes = bootstrap_edges(
        fit,
        frame,
        settings.confidence,
        seconds=time.perf_counter() - start,
        seed=settings.seed,
        n_jobs=settings.n_jobs,
        verbose=verbose,
        **changed,
    )
    return Learned(
        model=resampled if settings.confidence.is_asked else fit,
        fit=fit,
        graph=resampled.graph_,
        n_resamples=getattr(resampled, "n_resamples_", None),
        notes=notes,
        seconds=time.perf_counter() - start,
    )


def write_learned(folder: Path, learned: Learned, text: str, record: dict[str, Any]) -> Report:
    """Write everything that `learn` leaves behind, and return what its page says."""
    from edgewise.cli.run import report_of, write_results
    from edgewise.cli.wording import strongest_edge

    figures = dict(pictures(learned))
    report = report_of(
        text,
        graph=learned.graph,
        model=learned.model,
        record=record,
        figures=with_search(figures, learned.fit),
        words=ALT,
        tables={},
        finding=strongest_edge(learned.graph),
    )
    write_results(folder, report, model=learned.model, figures=figures)
    return report


def is_searched_once(settings: Settings) -> bool:
    """Whether resamples are fitted at the strengths that were found on all rows.

    A search of two strengths at a time takes longer than all resamples do without one.
    """
    return settings.method == IN_SPACE and "cv" in (settings.alpha, settings.tau)


def _estimator(settings: Settings) -> Any:
    # Each is imported on first use, so that a fit loads the solvers of one estimator.
    from edgewise import estimators

    if settings.method == DISCRETE:
        return estimators.DiscreteMarkovNet(
            settings.criterion, missing=settings.missing, random_state=settings.seed
        )
    parameters: dict[str, Any] = {
        "alpha": with_ratio(settings.alpha, settings.alpha_ratio),
        "missing": settings.missing,
        "repair": settings.repair,
        "n_jobs": settings.n_jobs,
        "random_state": settings.seed,
    }
    for name in ("tol", "max_iter"):
        if (value := getattr(settings, name)) is not None:
            parameters[name] = value
    if settings.method == IN_SPACE:
        return estimators.LocallyConstantGraph(
            tau=with_ratio(settings.tau, settings.alpha_ratio),
            neighbors=settings.neighbors,
            constant=settings.constant or "error",
            **parameters,
        )
    if settings.method == "gaussian":
        return estimators.GaussianGraph(covariance=settings.covariance, **parameters)
    # Its regressions are of standardised columns, whatever the covariance was.
    covariance = "empirical" if settings.covariance == "correlation" else settings.covariance
    return estimators.NeighborhoodGraph(covariance=covariance, **parameters)


def record_of(
    learned: Learned,
    settings: Settings,
    *,
    command: str,
    data: dict[str, Any],
    treatment: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather what is needed to tell, and to repeat, what a run of `learn` did."""
    fit = learned.fit
    found: dict[str, Any] = {}
    if settings.method == DISCRETE:
        found = {"score": float(fit.criterion_value_), "n_tests": int(fit.n_tests_)}
    else:
        found = about_fit(fit)
    if settings.method == IN_SPACE:
        found |= {
            "tau": float(fit.tau_),
            "tau_rule": settings.tau if isinstance(settings.tau, str) else None,
            "n_groups": learned.n_groups,
        }
    if is_searched_once(settings) and learned.n_resamples:
        treatment = [*treatment, "resamples fitted at the alpha and tau that suit all rows"]
    return run_record(
        command=command,
        seed=settings.seed,
        parameters={
            "method": settings.method,
            **parameters_of(fit),
            "n_resamples": learned.n_resamples,
        },
        data=data,
        treatment=[*treatment, *fit.treatment_, *learned.notes],
        warnings=warnings,
        graph=learned.graph,
        found={**found, "converged": bool(fit.converged_), "n_iter": int(fit.n_iter_)},
        seconds=learned.seconds,
    )


def run_record(
    *,
    command: str,
    seed: int,
    parameters: dict[str, Any],
    data: dict[str, Any],
    treatment: Sequence[str],
    warnings: Sequence[str],
    graph: Graph,
    found: dict[str, Any],
    seconds: float,
) -> dict[str, Any]:
    """Put together what every command records of a run; plain enough for JSON."""
    from datetime import UTC, datetime

    from edgewise.cli.run import versions

    return {
        "command": command,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "seed": seed,
        "parameters": parameters,
        "data": data,
        "treatment": list(treatment),
        "warnings": list(warnings),
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        **found,
        "seconds": round(seconds, 3),
    }


def parameters_of(fit: Any) -> dict[str, Any]:
    """Parameters of an estimator that a result depends on."""
    from edgewise.selection.rules import Rule

    given = {name: value for name, value in fit.get_params().items() if name not in ABOUT_THE_RUN}
    rules = {
        name: {"rule": value.name, **asdict(value)}
        for name, value in given.items()
        if isinstance(value, Rule)
    }
    return given | rules


def about_fit(fit: Any) -> dict[str, Any]:
    """Record the sparsity of a convex fit, the rule that chose it, and the certificate."""
    from edgewise.selection.rules import rule_name

    return {
        "alpha": float(fit.alpha_),
        "alpha_rule": rule_name(fit.alpha),
        "gap": _finite(fit.gap_),
        "objective": _finite(fit.objective_),
    }


def with_ratio(alpha: float | str, ratio: float | None) -> Any:
    """Return the rule for alpha with the length of its grid, where both are given."""
    from edgewise.selection.rules import RULES

    if ratio is None or alpha not in RULES:
        return alpha
    return RULES[str(alpha)](alpha_ratio=ratio)


def _finite(value: float) -> float | None:
    """JSON has no infinity, which is the gap of a fit that stopped before it had a certificate."""
    return float(value) if math.isfinite(value) else None


#: A picture of the search, which only a page has.
SEARCH: Final = "search.png"
#: Pictures in a page, with words for those who cannot see them; the network is there anyway.
ALT: Final = {
    "sites.png": "The network over the sites",
    "seeds.png": "What single sites are joined to",
    SEARCH: "How the network was chosen",
}


def pictures(learned: Learned) -> Iterator[tuple[str, Figure | SubFigure]]:
    """Yield each picture with the name of its file.

    Graphs of columns that are sites in space are drawn over the sites too, with the edges that
    were fused bundled and outlined, and on a grid as maps of what single sites are joined to.
    """
    from edgewise import plot

    graph, fit = learned.graph, learned.fit
    groups = getattr(fit, "groups_", None)
    if groups is not None:
        yield "sites.png", plot.plot_sites(graph, _sites(fit), groups=groups).figure
        if isinstance(fit.neighbors, tuple):
            yield "seeds.png", plot.plot_seed_maps(graph, shape=fit.neighbors)
    yield "network.png", plot.plot_network(graph).figure
    yield "matrix.png", plot.plot_matrix(graph, groups=groups).figure


def with_search(
    figures: Mapping[str, Figure | SubFigure], fit: Any
) -> dict[str, Figure | SubFigure]:
    """Add, for the page alone, how alpha was chosen or how a structure was found."""
    from edgewise import plot
    from edgewise.selection import Selection

    selection = getattr(fit, "selection_", None)
    if isinstance(selection, Selection):
        return {**figures, SEARCH: plot.plot_selection(selection).figure}
    if hasattr(fit, "criterion_value_") and len(fit.history_) > 1:
        return {**figures, SEARCH: plot.plot_score_history(fit.history_).figure}
    return dict(figures)


def _sites(fit: Any) -> Any:
    """Where to draw the columns; listed pairs leave it to a layout of who is beside whom."""
    if isinstance(fit.neighbors, list):
        return _layout_of_pairs(fit.pairs_, fit.n_features_in_)
    return fit.neighbors


def _layout_of_pairs(pairs: Any, n_sites: int) -> FloatArray:
    import numpy as np

    from edgewise.graph import Graph
    from edgewise.plot._layout import Page, place

    beside = np.zeros((n_sites, n_sites))
    beside[pairs[:, 0], pairs[:, 1]] = beside[pairs[:, 1], pairs[:, 0]] = 1.0
    page = Page(low=np.zeros(2), high=np.full(2, 400.0), cell=np.full(2, 30.0), radius=6.0)
    return place(Graph(beside), "auto", page).points
