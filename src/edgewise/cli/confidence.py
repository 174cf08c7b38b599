"""Bootstrap confidence of the edges, by default if it is quick."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError, SolverError
from edgewise.cli.shell import shows_progress, tell, worded
from edgewise.cli.wording import count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise._core.typing import FloatArray, IntArray
    from edgewise.data.dependence import Dependence
    from edgewise.graph import Graph
    from edgewise.inference.stability import CaseDropping

#: Resamples, where nobody said how many.
RESAMPLES: Final = 100
#: Seconds that confidence may take without being asked for.
QUICK: Final = 60.0
#: Seconds that resamples may take by the time of the first fit alone.
TRUSTED: Final = 5.0
#: Largest q-value of an edge that counts as sure.
LEVEL: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """How many resamples are wanted, and whether only if they are quick.

    ``n_resamples`` is None where there are to be none.
    """

    n_resamples: int | None = None
    only_if_quick: bool = False

    @classmethod
    def asked(cls, n_resamples: int | None) -> Confidence:
        """Read ``--resamples``: None for the default, if it is quick, and 0 for none."""
        if n_resamples is None:
            return cls(n_resamples=RESAMPLES, only_if_quick=True)
        if n_resamples == 0:
            return cls()
        if n_resamples < 2:
            raise InputError("too_few_resamples_asked", n_resamples=n_resamples)
        return cls(n_resamples=n_resamples)

    @property
    def is_asked(self) -> bool:
        """Whether there are to be resamples whatever they cost."""
        return self.n_resamples is not None and not self.only_if_quick


def timed_fit(
    learner: Any, frame: Any, sample_weight: FloatArray | None = None, interventions: Any = None
) -> tuple[Any, float]:
    """Fit to all rows; also return the seconds, less those in which kernels were compiled."""
    from numba.core.event import install_timer

    compiling: list[float] = []
    start = time.perf_counter()
    with install_timer("numba:compile", compiling.append):
        # A discrete network takes no weights.
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        if interventions is not None:
            options["interventions"] = interventions
        fit = learner.fit(frame, **options)
    return fit, time.perf_counter() - start - sum(compiling)


def bootstrap_edges(
    fit: Any,
    frame: pd.DataFrame,
    confidence: Confidence,
    *,
    seconds: float,
    seed: int,
    n_jobs: int,
    sample_weight: FloatArray | None = None,
    interventions: Any = None,
    draws: Mapping[str, Any] | None = None,
    **changed: Any,
) -> tuple[Any, tuple[str, ...]]:
    """Bootstrap the edges of a fit; return the bootstrap, or the fit without one, and notes.

    Resamples that take long are left out where nobody asked for them, and so are those of a graph
    without edges.

    Parameters
    ----------
    fit : estimator
        Fitted to all rows, which took so many ``seconds`` as `timed_fit` has them.
    frame : DataFrame
        All rows.
    confidence : Confidence
        What was asked for.
    seed, n_jobs
        Of the bootstrap.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the rows in the fit.
    interventions : sequence, optional
        The column that was set in each row.
    draws : mapping, optional
        ``block_length`` of the bootstrap, or the ``clusters`` of the rows.
    **changed
        Parameters in which the fits to the resamples differ from ``fit``.
    """
    from sklearn.base import clone

    from edgewise.inference import BootstrapGraph

    if confidence.n_resamples is None:
        return fit, ()
    if not fit.graph_.n_edges:
        return fit, ("no resamples, since there is no edge whose confidence they would tell",)
    n_resamples = confidence.n_resamples
    learner = _quiet(fit, changed)
    if confidence.only_if_quick:
        expected = _forecast(learner, frame, seconds, n_resamples, n_jobs)
        if expected > QUICK:
            return fit, (left_out(expected, n_resamples),)
        _announce_cost(expected, n_resamples)
    draws = draws or {}
    bootstrap = BootstrapGraph(
        learner,
        n_resamples=n_resamples,
        block_length=draws.get("block_length", 1),
        prefit=True,
        n_jobs=n_jobs,
        random_state=seed,
        verbose=int(shows_progress()),
    ).fit(
        frame,
        sample_weight=sample_weight,
        interventions=interventions,
        clusters=draws.get("clusters"),
    )
    # A model file has the fit once, as ``estimator_``.
    bootstrap.set_params(estimator=clone(learner), prefit=False)
    return bootstrap, ()


#: Parts of the rows of each size that tell how stable the order of the nodes is.
PARTS: Final = 50
#: Sizes of the parts.
SIZES: Final = 10


def drop_cases(
    fit: Any,
    frame: pd.DataFrame,
    *,
    seconds: float,
    seed: int,
    n_jobs: int,
    sample_weight: FloatArray | None = None,
    draws: Mapping[str, Any] | None = None,
    **changed: Any,
) -> CaseDropping:
    """Fit parts of the rows, with parameters as of `bootstrap_edges`, and tell before how long."""
    import joblib

    from edgewise._core.parallel import duration
    from edgewise.inference import case_dropping

    clusters = (draws or {}).get("clusters")
    if (length := (draws or {}).get("block_length", 1)) > 1:
        clusters = [k // length for k in range(len(frame))]
    n_fits = PARTS * SIZES
    expected = seconds * math.ceil(n_fits / int(joblib.effective_n_jobs(n_jobs)))
    tell(f"{n_fits} parts of the rows for the stability, about {duration(expected)} ...")
    return case_dropping(
        _quiet(fit, changed),
        frame,
        n_resamples=PARTS,
        prefit=True,
        sample_weight=sample_weight,
        clusters=clusters,
        n_jobs=n_jobs,
        random_state=seed,
        verbose=int(shows_progress()),
    )


def _quiet(fit: Any, changed: dict[str, Any]) -> Any:
    """Copy all that was fitted, so that the fit keeps its own parameters.

    It has no workers and no bar of its own inside those of the resamples.
    """
    quiet = {"n_jobs": None, "verbose": 0}
    changed |= {name: value for name, value in quiet.items() if name in fit.get_params()}
    return copy(fit).set_params(**changed)


#: Columns up to which p-values of edges are computed without being asked for: about a second.
MOST_TESTED: Final = 500
#: Tests with errors from resamples of whole clusters need so many.
FEWEST_CLUSTERS: Final = 30
#: Standard errors from fewer resamples are no use.
FEWEST: Final = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class TestedEdges:
    """Intervals and p-values of the edges of a run, with what there is to say about them.

    Attributes
    ----------
    values : mapping of str to ndarray of shape (p, p)
        By column of ``edges.csv``.
    lines, notes : sequence of str
        For the summary, and on what was left out.
    found : mapping
        For the record.
    """

    values: Mapping[str, FloatArray] = field(default_factory=dict)
    lines: Sequence[str] = ()
    notes: Sequence[str] = ()
    found: Mapping[str, Any] = field(default_factory=dict)


def tested_edges(
    fit: Any,
    resampled: Any,
    frame: pd.DataFrame,
    *,
    dependence: Dependence | None,
    seed: int,
    n_jobs: int,
) -> TestedEdges:
    """Test the edges of a network of numbers or levels, where that is quick and possible."""
    graph = resampled.graph_
    values = _resampled_ends(resampled)
    if not graph.n_edges or not hasattr(frame, "dropna"):
        # Rows that were read piece by piece are gone.
        return TestedEdges()
    # Of the rule "fdr" the edges are what passed these tests.
    if graph.n_nodes > MOST_TESTED and getattr(fit, "alpha", None) != "fdr":
        why = f"no p-values of edges, since there are more than {MOST_TESTED} columns"
        return TestedEdges(values=values, notes=[why])
    is_numbers = hasattr(fit, "covariance") and not hasattr(fit, "kinds_")
    member = None
    if dependence is not None and dependence.kind == "clusters":
        member = dependence.member if dependence.n_clusters >= FEWEST_CLUSTERS else None
        if member is None or not is_numbers:
            few = f" of fewer than {FEWEST_CLUSTERS}" if member is None else ""
            why = f"since rows of one '{dependence.cluster}'{few} depend on each other"
            return TestedEdges(values=values, notes=[f"no p-values of edges, {why}"])
    elif dependence is not None and dependence.kind == "blocks":
        why = "no p-values of edges, since rows depend on those before them"
        return TestedEdges(values=values, notes=[why])
    if is_numbers:
        return _test_numbers(fit, resampled, frame, values, member, seed=seed, n_jobs=n_jobs)
    from edgewise.inference import edge_intervals

    kinds = getattr(fit, "kinds_", dict.fromkeys(frame.columns, "nominal"))
    levels = [name for name, kind in kinds.items() if kind in ("binary", "nominal")]
    notes: tuple[str, ...] = ()
    fillings = [frame]
    if fit.missing == "impute" and frame.isna().any(axis=None):
        from edgewise.data import impute

        fillings = impute(frame, kinds=kinds, random_state=seed)
        notes = (f"p-values of edges are pooled over {len(fillings)} fillings",)
    else:
        fillings[0], notes = complete_rows(frame, "p-values of edges")
    if not len(fillings[0]):
        return TestedEdges(values=values, notes=notes)
    if getattr(fit, "covariance", "") == "nonparanormal":
        fillings = [fit.scored(one) for one in fillings]
    rows = [
        one.astype(dict.fromkeys(levels, str)).set_axis(graph.names, axis=1) for one in fillings
    ]
    tests = edge_intervals(rows if len(rows) > 1 else rows[0], graph=graph)
    values |= {"pvalue": tests.pvalues, "qvalue": tests.qvalues}
    return _tested(graph, values, "residuals", notes)


def complete_rows(frame: pd.DataFrame, what: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Keep the rows without missing values, with a note; none where they are few."""
    complete = frame.dropna()
    if len(complete) == len(frame):
        return frame, ()
    if len(complete) < max(FEWEST, len(frame) / 2):
        note = f"{what} left out, since {len(frame) - len(complete)} rows have missing values"
        return complete.iloc[:0], (note,)
    return complete, (f"{what} from the {len(complete)} rows without missing values",)


def _test_numbers(
    fit: Any,
    resampled: Any,
    frame: pd.DataFrame,
    values: dict[str, FloatArray],
    member: IntArray | None,
    **how: int,
) -> TestedEdges:
    """Test partial correlations, by a formula or with the errors of as many resamples."""
    from edgewise.inference import edge_intervals
    from edgewise.inference.edges import errors_by
    from edgewise.selection.edge_tests import FEW_ROWS

    covariance: Any = "correlation" if fit.covariance == "empirical" else fit.covariance
    n_resamples = getattr(resampled, "n_resamples_", 0)
    errors = errors_by(frame, covariance) if member is None else "bootstrap"
    if errors == "bootstrap" and n_resamples < FEWEST:
        why = "no p-values of edges: their standard errors need resamples (--resamples 100)"
        return TestedEdges(values=values, notes=[why])
    try:
        found = edge_intervals(
            frame,
            covariance=covariance,
            missing=fit.missing,
            clusters=member,
            # Whether rows depend on those before them has been asked, or is not to be.
            n_samples=len(frame),
            n_resamples=max(n_resamples, FEWEST),
            n_jobs=how["n_jobs"],
            random_state=how["seed"],
        )
    except InputError as error:
        # Such as copies of a column, which a fit with a repair can take.
        why = f"no p-values of edges: {worded(error).rstrip('.')}"
        return TestedEdges(values=values, notes=[why])
    values |= {
        "estimate": found.estimate,
        "lower": found.lower,
        "upper": found.upper,
        "pvalue": found.pvalues,
        "qvalue": found.qvalues,
    }
    record = {"edge_tests_alpha": found.alpha}
    if found.n_samples < FEW_ROWS and found.alpha > 0:
        record["edge_tests_of_both"] = True
    return _tested(resampled.graph_, values, found.errors, (), **record)


def _tested(
    graph: Graph,
    values: dict[str, FloatArray],
    errors: str,
    notes: Sequence[str] = (),
    **found: float,
) -> TestedEdges:
    import numpy as np

    from edgewise.selection.edge_tests import FEW_ROWS

    is_sure = np.triu(graph.adjacency & (values["qvalue"] <= LEVEL))
    n_sure = int(is_sure.sum())
    how = {
        "formula": "of debiased partial correlations",
        "confirmed": "of partial correlations, confirmed by tests that allow for heavy tails",
        "robust": "of partial correlations, with errors that allow for heavy tails",
        "bootstrap": "of debiased partial correlations, with bootstrap standard errors",
        "residuals": "of what the other neighbours leave unexplained",
    }
    line = (
        f"{n_sure} of {count(graph.n_edges, 'edge')} {'has' if n_sure == 1 else 'have'} a q-value "
        f"of at most {LEVEL:g}, by tests {how[errors]}."
    )
    if "edge_tests_of_both" in found:
        line = (
            f"{line[:-1]} and of plain correlations, both of which an edge must pass where there "
            f"are fewer than {FEW_ROWS} rows."
        )
    lines = [line]
    without = int(np.triu(graph.adjacency & np.isnan(values["qvalue"])).sum())
    if without:
        lines.append(
            f"{count(without, 'edge')} {'has' if without == 1 else 'have'} no test: "
            f"{'its' if without == 1 else 'their'} partial correlation cannot be estimated from so "
            "few rows."
        )
    if "resampled_lower" in values:
        lines.append(
            f"The tests are in edges.csv; {INTERVALS_PICTURE} and {INTERVALS_TABLE} show resampled "
            "weights instead."
        )
    record = {"edge_tests": errors, **found, "n_significant": n_sure}
    return TestedEdges(values=values, lines=lines, notes=notes, found=record)


def _resampled_ends(resampled: Any) -> dict[str, FloatArray]:
    """Where the weights lie in most resamples, as columns of the edges."""
    if not hasattr(resampled, "interval_"):
        return {}
    lower, upper = resampled.interval_
    return {"resampled_lower": lower, "resampled_upper": upper}


#: Where resampled weights lie, among the files of a run with resamples.
INTERVALS_TABLE, INTERVALS_PICTURE = "intervals.csv", "intervals.png"
#: What the picture of them shows, in words.
INTERVALS_WORDS: Final = (
    "Weights of the edges, and where they lie in 95 % of the resamples; not the intervals of tests"
)


def interval_table(resampled: Any) -> dict[str, pd.DataFrame]:
    """List the edges with the intervals of their weights, by file; empty without resamples."""
    if not hasattr(resampled, "interval_"):
        return {}
    graph = resampled.graph_
    edges = graph.edges()
    number = {name: k for k, name in enumerate(graph.names)}
    ends = [[number[name] for name in edges[end]] for end in ("source", "target")]
    lower, upper = resampled.interval_[:, ends[0], ends[1]]
    table = edges[["source", "target", "weight"]].assign(
        resampled_lower=lower, resampled_upper=upper, confidence=edges["confidence"]
    )
    return {INTERVALS_TABLE: table.sort_values("weight", ascending=False, kind="stable")}


def draw_intervals(resampled: Any) -> dict[str, Figure | SubFigure]:
    """Draw the same, by file."""
    from edgewise.plot import plot_intervals

    if not hasattr(resampled, "interval_"):
        return {}
    ax = plot_intervals(resampled.graph_, resampled.interval_)
    ax.set_title("Where 95 % of the resampled weights lie", fontsize=10)
    return {INTERVALS_PICTURE: ax.figure}


def _forecast(
    learner: Any, frame: pd.DataFrame, seconds: float, n_resamples: int, n_jobs: int
) -> float:
    """Estimate the seconds that resamples take.

    Rows of a resample come several times, which can take a fit far longer than the first, and the
    first may have searched for a penalty, or its workers compiled. So a resample is fitted where
    all of them would take more than `TRUSTED` seconds, but fewer than `QUICK` each.
    """
    import joblib
    import numpy as np
    from sklearn.base import clone

    n_rounds = math.ceil(n_resamples / int(joblib.effective_n_jobs(n_jobs)))
    if n_rounds * seconds > TRUSTED and seconds <= QUICK:
        drawn = np.random.default_rng(0).integers(len(frame), size=len(frame))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds = timed_fit(clone(learner), frame.iloc[drawn].reset_index(drop=True))[1]
        except (InputError, SolverError):
            # A column is constant in these rows. The bootstrap draws again.
            pass
    return n_rounds * seconds


def _announce_cost(seconds: float, n_resamples: int) -> None:
    """Tell before the work what it costs."""
    from edgewise._core.parallel import duration

    tell(
        f"{n_resamples} resamples for the confidence of each edge, about {duration(seconds)} "
        "(--resamples 0 skips them) ..."
    )


def left_out(seconds: float, n_resamples: int) -> str:
    """Tell why there is no confidence, and how to have it."""
    from edgewise._core.parallel import duration

    return (
        f"no confidence of the edges, since {n_resamples} resamples would take about "
        f"{duration(seconds)}; --resamples 100 requests it"
    )
