"""From a data frame to a fitted model: what `learn` and `demo` share."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgewise._core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from edgewise.graph import Graph


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to learn; None leaves a parameter at the default of its estimator.

    ``n_resamples`` is None where nobody asked for confidence.
    """

    alpha: float | str = "ebic"
    method: str = "gaussian"
    covariance: str = "correlation"
    missing: str = "error"
    repair: str | None = None
    alpha_ratio: float | None = None
    tol: float | None = None
    max_iter: int | None = None
    n_resamples: int | None = None
    seed: int = 0
    n_jobs: int = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """A fitted model.

    Attributes
    ----------
    model : estimator
        What is saved: the fit, or the bootstrap around it.
    fit : estimator
        Fitted to all rows.
    graph : Graph
        With confidence where the model is a bootstrap.
    seconds : float
        Time that learning took.
    """

    model: Any
    fit: Any
    graph: Graph
    seconds: float


def learn_graph(frame: pd.DataFrame, settings: Settings, *, verbose: bool = False) -> Learned:
    """Fit what the settings ask for."""
    from edgewise.inference import BootstrapGraph

    if settings.n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning. Pass 1 or more, or -1 for all cores.")
    model = _estimator(settings)
    # One bar at a time: that of the search, or that of the resamples around it.
    model.set_params(verbose=int(verbose and settings.n_resamples is None))
    if settings.n_resamples is not None:
        model = BootstrapGraph(
            model.set_params(n_jobs=None),
            n_resamples=settings.n_resamples,
            n_jobs=settings.n_jobs,
            random_state=settings.seed,
            verbose=int(verbose),
        )
    start = time.perf_counter()
    model.fit(frame)
    seconds = time.perf_counter() - start
    fit = model if settings.n_resamples is None else model.estimator_
    return Learned(model=model, fit=fit, graph=model.graph_, seconds=seconds)


def _estimator(settings: Settings) -> Any:
    from edgewise.estimators import GaussianGraph, NeighborhoodGraph

    parameters: dict[str, Any] = {
        "alpha": settings.alpha,
        "missing": settings.missing,
        "repair": settings.repair,
        "alpha_ratio": settings.alpha_ratio,
        "n_jobs": settings.n_jobs,
        "random_state": settings.seed,
    }
    for name in ("tol", "max_iter"):
        if (value := getattr(settings, name)) is not None:
            parameters[name] = value
    if settings.method == "gaussian":
        return GaussianGraph(covariance=settings.covariance, **parameters)
    # Its regressions are of standardised columns, whatever the covariance was.
    covariance = "empirical" if settings.covariance == "correlation" else settings.covariance
    return NeighborhoodGraph(covariance=covariance, **parameters)


def record_of(
    learned: Learned,
    settings: Settings,
    *,
    command: str,
    data: dict[str, Any],
    treatment: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather what is needed to tell, and to repeat, what a run did; plain enough for JSON."""
    from datetime import UTC, datetime

    from edgewise.cli._versions import versions

    fit = learned.fit
    about_the_run = ("n_jobs", "random_state", "verbose")
    parameters = {k: v for k, v in fit.get_params().items() if k not in about_the_run}
    return {
        "command": command,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "seed": settings.seed,
        "parameters": {
            "method": settings.method,
            **parameters,
            "n_resamples": settings.n_resamples,
        },
        "data": data,
        "treatment": [*treatment, *fit.treatment_],
        "warnings": list(warnings),
        "n_nodes": learned.graph.n_nodes,
        "n_edges": learned.graph.n_edges,
        "alpha": float(fit.alpha_),
        "alpha_rule": settings.alpha if isinstance(settings.alpha, str) else None,
        "gap": _finite(fit.gap_),
        "objective": _finite(fit.objective_),
        "converged": bool(fit.converged_),
        "n_iter": int(fit.n_iter_),
        "seconds": round(learned.seconds, 3),
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity, which is the gap of a fit that stopped before it had a certificate."""
    return float(value) if math.isfinite(value) else None
