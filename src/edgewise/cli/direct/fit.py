"""Fit of `direct`: a directed network and a second opinion, in words and pictures."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from edgewise.cli.confidence import Confidence, bootstrap_edges
from edgewise.cli.run import Result
from edgewise.cli.shell import is_watched
from edgewise.cli.wording import about_fit, choice, count, parameters_of, short_name, short_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise._core.typing import BoolArray, FloatArray
    from edgewise.cli.input import Source
    from edgewise.graph import Graph


#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "dag.png": "Network by blankets; dashed where the direction is not identified",
    "cpdag.png": "Directions that are identified: arrows, and dashed lines without a direction",
    "penalized.png": "Second opinion, by a penalised order; dashed likewise",
    "confidence.png": "Share of the resamples in which pairs are joined, and which way",
    "coefficients.png": "Coefficients by blankets, causes before effects",
}
#: Which of the two methods found an arc, in the order of the table.
BOTH: Final = "both"
OPPOSITE: Final = "both, in opposite directions"
BLANKETS: Final = "blankets only"
PENALIZED: Final = "penalised order only"
#: Share of the penalty that a required arc pays.
NEARLY_FREE: Final = 1e-3
#: Arcs, and pairs whose direction is not identified, that are written out.
SHOWN, UNTOLD_SHOWN = 8, 5
#: A larger varsortability, or one as far below 1/2, would have given the order away.
SORTABLE: Final = 0.8


@dataclass(frozen=True, kw_only=True, eq=False)
class _Networks:
    """Two directed networks of the same rows.

    Attributes
    ----------
    fit : BlanketBayesNet
        Fitted to all rows.
    graph : Graph
        The network by blankets, with confidence if there are resamples.
    penalized : GaussianBayesNet
        The second opinion.
    penalized_pattern : ndarray of bool
        Its completed partially directed graph.
    arcs : DataFrame
        Arcs of both networks, those that both found first.
    varsortability : float
        Of the network by blankets in the units of the columns; NaN without an arc.
    """

    fit: Any
    graph: Graph
    penalized: Any
    penalized_pattern: BoolArray
    arcs: pd.DataFrame
    varsortability: float

    @property
    def pattern(self) -> Graph:
        """Return the directions that are identified; other edges have their weight both ways."""
        import numpy as np

        from edgewise.graph import Graph

        graph, cpdag = self.graph, self.fit.cpdag_.adjacency
        both = np.where(cpdag, graph.weights + graph.weights.T, 0.0)
        return Graph(both, names=graph.names, directed=True, adjacency=cpdag)

    @property
    def n_untold(self) -> int:
        """Number of arcs whose direction is not identified."""
        adjacency = self.fit.cpdag_.adjacency
        return int((adjacency & adjacency.T).sum()) // 2

    def n_found_by(self, kind: str) -> int:
        """Count the pairs of a kind."""
        return int((self.arcs["found_by"] == kind).sum())


def direct_columns(
    source: Source,
    blankets: dict[str, Any],
    penalized: dict[str, Any],
    confidence: Confidence,
    *,
    n_jobs: int = 1,
) -> Result:
    """Learn both networks, compare them, and bootstrap the first.

    Parameters
    ----------
    source : Source
        The table.
    blankets, penalized : dict
        Keywords of `BlanketBayesNet` and of `GaussianBayesNet`. What is known in advance is
        among the first.
    confidence : Confidence
        Resamples that were asked for.
    n_jobs : int
        Resamples at a time.
    """
    from edgewise.estimators import BlanketBayesNet

    start = time.perf_counter()
    fit = BlanketBayesNet(**blankets).fit(source.frame)
    resampled, skipped = bootstrap_edges(
        fit,
        source.frame,
        confidence,
        seconds=time.perf_counter() - start,
        seed=blankets["random_state"],
        n_jobs=n_jobs,
    )
    second, pattern, notes = _by_order(source.frame, blankets, penalized)
    graph = resampled.graph_
    both = _Networks(
        fit=fit,
        graph=graph,
        penalized=second,
        penalized_pattern=pattern,
        arcs=arc_table(graph, fit.cpdag_.adjacency, second.graph_),
        varsortability=_varsortability(source.frame, graph),
    )
    n_resamples = getattr(resampled, "n_resamples_", None)
    return Result(
        model=resampled if confidence.is_asked else fit,
        graph=graph,
        text=_summary(both, source),
        parameters={**parameters_of(fit), "n_resamples": n_resamples},
        found=_found(both),
        notes=[*notes, *skipped, *fit.treatment_],
        figures=lambda: _draw(both),
        words=ALT,
        tables={"arcs.csv": both.arcs},
        networks={"cpdag.graphml": both.pattern, "penalized.graphml": second.graph_},
        shown={"Arcs of both networks": both.arcs},
        finding=_strongest_agreed(both),
        rows=("arcs", both.arcs),
    )


def _by_order(
    frame: pd.DataFrame, blankets: dict[str, Any], penalized: dict[str, Any]
) -> tuple[Any, BoolArray, list[str]]:
    """Fit the second network, with what is known in advance as weights of the penalty."""
    import numpy as np

    from edgewise.estimators import GaussianBayesNet
    from edgewise.estimators.directed.known_arcs import known_arcs
    from edgewise.graph.equivalence import complete_dag

    names = list(frame.columns)
    forbidden, required, tiers = (blankets.get(k) for k in ("forbidden", "required", "tiers"))
    known = known_arcs(forbidden, required, tiers, names)
    weights: FloatArray = np.where(known.required, NEARLY_FREE, 1.0)
    weights[~known.allowed] = np.inf
    fit = GaussianBayesNet(
        weights=None if known.is_empty else weights, verbose=int(is_watched()), **penalized
    ).fit(frame)
    notes = []
    if known.required.any():
        notes.append("required arcs are almost unpenalised in the penalised fit")
        lacking = known.required & ~fit.graph_.adjacency
        if lacking.any():
            arcs = ", ".join(f"{names[i]} -> {names[j]}" for i, j in np.argwhere(lacking).tolist())
            notes.append(f"the penalised order has no place for {arcs}")
    return fit, complete_dag(fit.graph_.adjacency, known.allowed), notes


def arc_table(graph: Graph, cpdag: BoolArray, penalized: Graph) -> pd.DataFrame:
    """List the arcs of both networks, those first that both have in the same direction.

    Weights are coefficients of standardised columns; that of an arc which the second network has
    the other way round is given for its own direction. ``told`` says whether the
    direction is identified in the first network.
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


def _found(both: _Networks) -> dict[str, Any]:
    fit, penalized = both.fit, both.penalized
    parameters = parameters_of(penalized)
    # Only what is known in advance, which is recorded separately; not JSON-serialisable.
    del parameters["weights"]
    kinds = {"both": BOTH, "opposite": OPPOSITE, "blankets": BLANKETS, "penalized": PENALIZED}
    return {
        "n_untold": both.n_untold,
        "n_found_by": {name: both.n_found_by(kind) for name, kind in kinds.items()},
        "n_tests": int(fit.n_tests_),
        "is_consistent": bool(fit.is_consistent_),
        "varsortability": None if math.isnan(both.varsortability) else both.varsortability,
        "penalized": {
            "parameters": parameters,
            "n_edges": penalized.graph_.n_edges,
            **about_fit(penalized),
            "converged": bool(penalized.converged_),
            "n_iter": int(penalized.n_iter_),
        },
    }


def _draw(both: _Networks) -> dict[str, Figure | SubFigure]:
    """Draw both networks, the directions that are identified, and the confidence of the first."""
    from edgewise.plot import plot_arc_confidence, plot_coefficients, plot_dag

    graph, tiers, second = both.graph, both.fit.order_, both.penalized
    drawn: dict[str, Figure | SubFigure] = {
        "dag.png": plot_dag(graph, tiers=tiers, pattern=both.pattern).figure,
        "cpdag.png": plot_dag(both.pattern, tiers=tiers).figure,
        "penalized.png": plot_dag(
            second.graph_, tiers=second.order_, pattern=both.penalized_pattern
        ).figure,
        "coefficients.png": plot_coefficients(graph, tiers=tiers).figure,
    }
    if graph.confidence is not None:
        drawn["confidence.png"] = plot_arc_confidence(graph).figure
    return drawn


def _summary(both: _Networks, source: Source) -> str:
    """Tell which arcs both methods found, which directions are identified, and how it was done."""
    arcs = count(both.graph.n_edges, "arc")
    lines = [
        f"{arcs} among the {both.graph.n_nodes} columns of {source.name} ({source.n_samples} rows)",
        "",
        *(_agreement(both) if both.graph.n_edges else [_nothing(both.fit)]),
        "",
        *_directions(both),
        *_methods(both),
        *_scale(both),
    ]
    return "\n".join(lines)


def _strongest_agreed(both: _Networks) -> str:
    """Name the strongest arc that both methods found, for a headline."""
    agreed = both.arcs[both.arcs["found_by"] == BOTH]
    if not len(agreed):
        return ""
    arc = agreed.iloc[0]
    ends = f"{short_name(arc['source'])} -> {short_name(arc['target'])}"
    return f"the strongest that both methods found is {ends} ({arc['weight']:+.2f})"


def _agreement(both: _Networks) -> list[str]:
    """Show the arcs that both methods found, and count the others."""
    agreed = both.arcs[both.arcs["found_by"] == BOTH]
    rest = (
        f"Joined by both in opposite directions: {both.n_found_by(OPPOSITE)}; by blankets "
        f"only: {both.n_found_by(BLANKETS)}; by the penalised order only: "
        f"{both.n_found_by(PENALIZED)}."
    )
    if not len(agreed):
        return ["No arc is in both networks in the same direction.", rest]
    head = f"Found by both methods in the same direction ({len(agreed)}), by standardised"
    head += " coefficient"
    if "confidence" in agreed.columns:
        head += ",\nand the share of the resamples with the arc, and with its reverse"
    return [head + ":", *short_rows(_rows(agreed), SHOWN, "arcs.csv"), rest]


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
        f"{line}{'  direction not identified' if is_untold else ''}"
        for line, is_untold in zip(lines, untold, strict=True)
    ]


def _nothing(fit: Any) -> str:
    return (
        f"No two columns are dependent at significance {fit.significance:g}, given the "
        "columns that shield them."
    )


def _directions(both: _Networks) -> list[str]:
    """Tell which directions are not identified."""
    if not both.graph.n_edges:
        return []
    arcs, n_untold = both.arcs, both.n_untold
    if n_untold == 0:
        lines = ["The direction of every arc is identified, given the arcs."]
    else:
        untold = arcs[arcs["told"] == "no"].head(UNTOLD_SHOWN)
        pairs = [
            f"{short_name(a)} - {short_name(b)}"
            for a, b in zip(untold["source"], untold["target"], strict=True)
        ]
        more = f" and {n_untold - len(pairs)} more" if n_untold > len(pairs) else ""
        verb = "is" if n_untold == 1 else "are"
        text = f"{n_untold} of the {both.graph.n_edges} directions {verb} not identified"
        lines = [f"{text} (cpdag.png): {', '.join(pairs)}{more}."]
    if not both.fit.is_consistent_:
        lines.append("The tests contradict each other on some directions: take arrows with care.")
    lines.append("Arrows are causes only if no common cause of two columns is missing.")
    return lines


def _methods(both: _Networks) -> list[str]:
    """Tell how both networks were learned, and which one to trust."""
    fit, penalized = both.fit, both.penalized
    how = choice(penalized.alpha, len(penalized.alphas_))
    arcs = f"{count(penalized.graph_.n_edges, 'arc')} at alpha {penalized.alpha_:.3g}, {how}"
    tests = f"{count(int(fit.n_tests_), 'test')} at significance {fit.significance:g}"
    return [
        f"Blankets by {fit.method}, {tests}",
        f"Penalised order: {arcs}",
        "Of the two, trust the blankets: on simulated networks they get more directions right.",
    ]


def _scale(both: _Networks) -> list[str]:
    """Say what the units of the columns would have told."""
    share, is_standardized = both.varsortability, both.penalized.standardize
    if math.isnan(share):
        return []
    seen = (
        "both methods see standardised columns"
        if is_standardized
        else "the penalised order sees columns in their units"
    )
    text = (
        f"Varsortability {share:.2f}: share of directed paths along which variance increases, "
        f"in the units of the columns; {seen}."
    )
    if max(share, 1 - share) >= SORTABLE and not is_standardized:
        return [text, "The units alone suggest this order. Leave --no-standardize out."]
    return [text]
