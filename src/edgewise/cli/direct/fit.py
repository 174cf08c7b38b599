"""From rows to a directed network and a second opinion: what `direct` and `demo` share."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.confidence import NO_CONFIDENCE, Confidence, bootstrap_edges
from edgewise.cli.learn.fit import about_fit, parameters_of, run_record
from edgewise.cli.wording import RULES, count, short_name

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise._core.typing import BoolArray, FloatArray
    from edgewise.graph import Graph
    from edgewise.report import Report


#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "dag.png": "Network by blankets; dashed where the data cannot tell the direction",
    "cpdag.png": "What the data can tell: arrows, and dashed lines without a direction",
    "penalized.png": "Second opinion, by a penalised order; dashed likewise",
    "confidence.png": "Share of the resamples in which pairs are joined, and which way",
    "coefficients.png": "Coefficients by blankets, causes before effects",
}


def write_directed(folder: Path, directed: Directed, text: str, record: dict[str, Any]) -> Report:
    """Write everything that `direct` leaves behind, and return what its page says."""
    from edgewise.cli.run import report_of, write_results, write_table

    figures = pictures(directed)
    write_table(directed.arcs, folder / "arcs.csv")
    directed.pattern.write(folder / "cpdag.graphml")
    directed.penalized.graph_.write(folder / "penalized.graphml")
    report = report_of(
        text,
        graph=directed.graph,
        model=directed.model,
        record=record,
        figures=figures,
        words=ALT,
        tables={"Arcs of both networks": directed.arcs},
        finding=strongest_agreed(directed),
    )
    write_results(folder, report, model=directed.model, figures=figures)
    return report


def pictures(directed: Directed) -> dict[str, Figure | SubFigure]:
    """Draw both networks, what the data can tell, and how sure the first is."""
    from edgewise.plot import plot_arc_confidence, plot_coefficients, plot_dag

    tiers = directed.fit.order_
    second = directed.penalized
    drawn: dict[str, Figure | SubFigure] = {
        "dag.png": plot_dag(directed.graph, tiers=tiers, pattern=directed.pattern).figure,
        "cpdag.png": plot_dag(directed.pattern, tiers=tiers).figure,
        "penalized.png": plot_dag(
            second.graph_, tiers=second.order_, pattern=directed.penalized_pattern
        ).figure,
        "coefficients.png": plot_coefficients(directed.graph, tiers=tiers).figure,
    }
    if directed.graph.confidence is not None:
        drawn["confidence.png"] = plot_arc_confidence(directed.graph).figure
    return drawn


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
    from edgewise.estimators import BlanketBayesNet

    start = time.perf_counter()
    fit = BlanketBayesNet(
        settings.method,
        settings.significance,
        forbidden=list(settings.forbidden) or None,
        required=list(settings.required) or None,
        tiers=settings.tiers or None,
        missing=settings.missing,
        repair=settings.repair,
        random_state=settings.seed,
    ).fit(frame)
    resampled, notes = bootstrap_edges(
        fit,
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


#: Arcs, and pairs whose direction is not told, that are written out.
SHOWN, UNTOLD_SHOWN = 8, 5
#: A larger varsortability, or one as far below 1/2, would have given the order away.
SORTABLE: Final = 0.8


def direct_summary(
    directed: Directed, settings: DirectSettings, source: str, data: dict[str, Any]
) -> str:
    """Tell which arcs both methods found, which arrows the data can tell, and how it was done."""
    arcs = count(directed.graph.n_edges, "arc")
    lines = [
        f"{arcs} among the {data['n_features']} columns of {source} ({data['n_samples']} rows)",
        "",
        *(_agreement(directed) if directed.graph.n_edges else [_nothing(settings)]),
        "",
        *_directions(directed),
        *_methods(directed, settings),
        *_scale(directed, settings),
    ]
    return "\n".join(lines)


def strongest_agreed(directed: Directed) -> str:
    """Name the strongest arc that both methods found, for a headline."""
    both = directed.arcs[directed.arcs["found_by"] == BOTH]
    if not len(both):
        return ""
    arc = both.iloc[0]
    ends = f"{short_name(arc['source'])} -> {short_name(arc['target'])}"
    return f"the strongest that both methods found is {ends} ({arc['weight']:+.2f})"


def _agreement(directed: Directed) -> list[str]:
    """Show the arcs that both methods found, and count the others."""
    arcs = directed.arcs
    both = arcs[arcs["found_by"] == BOTH]
    rest = (
        f"Joined by both in opposite directions: {directed.n_found_by(OPPOSITE)}; by blankets "
        f"only: {directed.n_found_by(BLANKETS)}; by the penalised order only: "
        f"{directed.n_found_by(PENALIZED)}."
    )
    if not len(both):
        return ["No arc is in both networks in the same direction.", rest]
    head = f"Found by both methods in the same direction ({len(both)}), by standardised coefficient"
    if "confidence" in both.columns:
        head += ",\nand the share of the resamples with the arc, and with its reverse"
    lines = [head + ":", *_rows(both.head(SHOWN))]
    if len(both) > SHOWN:
        lines.append(f"  ... and {len(both) - SHOWN} more in arcs.csv")
    return [*lines, rest]


def _rows(arcs: pd.DataFrame) -> list[str]:
    names = [
        f"{short_name(a)} -> {short_name(b)}"
        for a, b in zip(arcs["source"], arcs["target"], strict=True)
    ]
    width = max(map(len, names))
    lines = [
        f"  {name:<{width}}  {weight:+.3f}"
        for name, weight in zip(names, arcs["weight"], strict=True)
    ]
    if "confidence" in arcs.columns:
        shares = zip(arcs["confidence"], arcs["confidence_reversed"], strict=True)
        lines = [
            f"{line}  {ahead:4.0%} {back:4.0%}"
            for line, (ahead, back) in zip(lines, shares, strict=True)
        ]
    untold = arcs["told"] == "no"
    return [
        f"{line}{'  direction not told' if is_untold else ''}"
        for line, is_untold in zip(lines, untold, strict=True)
    ]


def _nothing(settings: DirectSettings) -> str:
    return (
        f"No two columns are dependent at significance {settings.significance:g}, given the "
        "columns that shield them."
    )


def _directions(directed: Directed) -> list[str]:
    """Tell which arrows the data cannot tell."""
    if not directed.graph.n_edges:
        return []
    arcs, n_untold = directed.arcs, directed.n_untold
    if n_untold == 0:
        lines = ["The data tell the direction of every arc, given the arcs."]
    else:
        untold = arcs[arcs["told"] == "no"].head(UNTOLD_SHOWN)
        pairs = [
            f"{short_name(a)} - {short_name(b)}"
            for a, b in zip(untold["source"], untold["target"], strict=True)
        ]
        more = f" and {n_untold - len(pairs)} more" if n_untold > len(pairs) else ""
        text = f"The data cannot tell the direction of {n_untold} of the {directed.graph.n_edges}"
        lines = [f"{text} (cpdag.png): {', '.join(pairs)}{more}."]
    if not directed.fit.is_consistent_:
        lines.append("The tests contradict each other on some directions: take arrows with care.")
    lines.append("Arrows are causes only if no common cause of two columns is missing.")
    return lines


def _methods(directed: Directed, settings: DirectSettings) -> list[str]:
    """Tell how both networks were learned, and which one to trust."""
    penalized = directed.penalized
    how = "as given"
    if isinstance(penalized.alpha, str):
        how = f"chosen out of {len(penalized.alphas_)} by {RULES[penalized.alpha]}"
    tests = f"{count(int(directed.fit.n_tests_), 'test')} at significance"
    arcs = f"{count(penalized.graph_.n_edges, 'arc')} at alpha {penalized.alpha_:.3g}, {how}"
    return [
        f"Blankets by {settings.method}, {tests} {settings.significance:g}",
        f"Penalised order: {arcs}",
        "Of the two, trust the blankets: on simulated networks they get more directions right.",
    ]


def _scale(directed: Directed, settings: DirectSettings) -> list[str]:
    """Say what the units of the columns would have told."""
    share = directed.varsortability
    if math.isnan(share):
        return []
    seen = (
        "both methods see standardised columns"
        if settings.standardize
        else "the penalised order sees columns in their units"
    )
    text = (
        f"Varsortability {share:.2f}: so much of the paths leads from smaller to larger variance "
        f"in the units of the columns; {seen}."
    )
    is_sortable = max(share, 1 - share) >= SORTABLE
    if is_sortable and not settings.standardize:
        return [text, "The units alone suggest this order. Leave --no-standardize out."]
    return [text]
