"""Fit of `direct`: a directed network and a second one for comparison, in words and pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from edgewise.cli.confidence import (
    INTERVALS_PICTURE,
    INTERVALS_WORDS,
    Confidence,
    bootstrap_edges,
    draw_intervals,
    interval_table,
    timed_fit,
)
from edgewise.cli.dependence import Counted, counted_rows
from edgewise.cli.run import Result
from edgewise.cli.shell import shows_progress
from edgewise.cli.wording import about_fit, choice, count, parameters_of, short_name, short_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise._core.typing import BoolArray, FloatArray
    from edgewise.cli.input import Source
    from edgewise.estimators.directed.known_arcs import KnownArcs
    from edgewise.graph import Graph


#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "dag.png": "The learned network; dashed where the direction is not identified",
    "cpdag.png": "Directions that are identified: arrows, and dashed lines without a direction",
    "second.png": "The network of the second opinion; dashed likewise",
    "consensus.png": "What most resamples have; dashed lines have no direction",
    "confidence.png": "Share of the resamples in which pairs are joined, and which way",
    INTERVALS_PICTURE: INTERVALS_WORDS,
    "coefficients.png": "Coefficients of the learned network, causes before effects",
}
#: Methods of `DirectedGraph`, and the criterion of each.
SCORED: Final = {
    "boss": "the best order of the columns",
    "ges": "greedy equivalence search",
    "exact": "the best score of all",
}
TESTED: Final = {"pc": "tests of independence (PC)", "blankets": "tests of independence (IAMB)"}
PENALIZED: Final = "penalized"
#: Methods of `GaussianBayesNet`.
BY_PENALTY: Final = {
    "order": "a penalised order",
    "bcd": "a penalty on paths, column by column",
}
#: Parameters of what is known in advance.
KNOWN: Final = ("forbidden", "required", "tiers")
#: In which of the two networks an arc is, in the order of the table.
BOTH: Final = "both"
OPPOSITE: Final = "both, in opposite directions"
FIRST: Final = "first only"
SECOND: Final = "second only"
#: Whether the direction of an arc is identified; resamples may turn round what one table tells.
TOLD, UNTOLD, UNSURE = "yes", "no", "unsure"
#: A direction is unsure if more of the resamples that join the pair have it the other way.
LARGEST_REVERSED: Final = 0.25
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
    fit : DirectedGraph, BlanketBayesNet or GaussianBayesNet
        Fitted to all rows.
    graph : Graph
        Its network, with confidence if there are resamples.
    cpdag : ndarray of bool
        Its completed partially directed graph.
    second : DirectedGraph, BlanketBayesNet or GaussianBayesNet
        The second opinion.
    second_pattern : ndarray of bool
        The completed partially directed graph of that.
    arcs : DataFrame
        Arcs of both networks, those of the first before others.
    varsortability : float
        Of the first network in the units of the columns; NaN without an arc.
    consensus : Graph or None
        What most resamples have, if there are any.
    directions : ndarray or None
        Share of the resamples in which each arc is identified.
    """

    fit: Any
    graph: Graph
    cpdag: BoolArray
    second: Any
    second_pattern: BoolArray
    arcs: pd.DataFrame
    varsortability: float
    consensus: Graph | None
    directions: FloatArray | None

    @property
    def pattern(self) -> Graph:
        """Return the directions that are identified; other edges have their weight both ways."""
        import numpy as np

        from edgewise.graph import Graph

        graph, cpdag = self.graph, self.cpdag
        both = np.where(cpdag, graph.weights + graph.weights.T, 0.0)
        return Graph(both, names=graph.names, directed=True, adjacency=cpdag)

    @property
    def n_untold(self) -> int:
        """Number of arcs whose direction is not identified."""
        return int((self.cpdag & self.cpdag.T).sum()) // 2

    def n_found_by(self, kind: str) -> int:
        """Count the pairs of a kind."""
        return int((self.arcs["found_by"] == kind).sum())


def direct_columns(
    source: Source,
    first: dict[str, Any],
    second: dict[str, Any],
    confidence: Confidence,
    *,
    n_jobs: int = 1,
) -> Result:
    """Learn both networks, compare them, and bootstrap the first.

    Parameters
    ----------
    source : Source
        The table.
    first, second : dict
        Keywords of `DirectedGraph`, or of `BlanketBayesNet` or `GaussianBayesNet` where the method
        is one of theirs; ``"penalized"`` as a second opinion is the ``"order"`` of the last. What
        is known in advance is among the first, and holds for both.
    confidence : Confidence
        Resamples that were asked for.
    n_jobs : int
        Resamples at a time.
    """
    rows = Counted()
    if source.dependence is not None:
        rows = counted_rows(source.dependence, source.frame)
    weights = rows.weights
    labels = source.interventions
    learner, known = _learner(first, list(source.frame.columns))
    fit, seconds = timed_fit(learner, source.frame, sample_weight=weights, interventions=labels)
    resampled, skipped = bootstrap_edges(
        fit,
        source.frame,
        confidence,
        seconds=seconds,
        seed=first["random_state"],
        n_jobs=n_jobs,
        sample_weight=weights,
        interventions=labels,
        draws=rows.draws,
    )
    other, pattern, notes = _second_opinion(source.frame, fit, first, second, weights, labels)
    graph, cpdag = resampled.graph_, _pattern(fit, known)
    directions = getattr(resampled, "direction_frequency_", None)
    both = _Networks(
        fit=fit,
        graph=graph,
        cpdag=cpdag,
        second=other,
        second_pattern=pattern,
        arcs=arc_table(graph, cpdag, other.graph_, pattern, directions),
        varsortability=_varsortability(source.frame, graph) if hasattr(fit, "coef_") else math.nan,
        consensus=resampled.consensus() if resampled is not fit else None,
        directions=directions,
    )
    if labels is not None:
        notes = [*notes, _experiments(fit, labels)]
    n_resamples = getattr(resampled, "n_resamples_", None)
    return Result(
        model=resampled,
        graph=graph,
        text=_summary(both, source),
        parameters={**_parameters(fit), **_known(first), "n_resamples": n_resamples},
        found=_found(both),
        notes=[
            *_about_known(fit, known),
            *notes,
            *rows.notes(has_resamples=bool(n_resamples)),
            *skipped,
            *fit.treatment_,
        ],
        figures=lambda: {**_draw(both), **draw_intervals(resampled)},
        words=ALT,
        tables={"arcs.csv": both.arcs, **interval_table(resampled)},
        networks={
            "cpdag.graphml": both.pattern,
            "second.graphml": other.graph_,
            **({} if both.consensus is None else {"consensus.graphml": both.consensus}),
        },
        shown={"Arcs of both networks": both.arcs},
        finding=_strongest(both),
        rows=("arcs", both.arcs),
    )


def _learner(options: dict[str, Any], names: list[str]) -> tuple[Any, KnownArcs | None]:
    """Estimator of a network by its method, and what it knows in advance where as weights."""
    import numpy as np

    from edgewise.estimators import BlanketBayesNet, DirectedGraph, GaussianBayesNet
    from edgewise.estimators.directed.known_arcs import known_arcs

    method = options.get("method", "boss")
    if method in (*SCORED, *TESTED):
        return DirectedGraph(**options), None
    if method not in BY_PENALTY:
        return BlanketBayesNet(**options), None
    options = dict(options)
    forbidden, required, tiers = (options.pop(name, None) for name in KNOWN)
    known = known_arcs(forbidden, required, tiers, names)
    weights: FloatArray = np.where(known.required, NEARLY_FREE, 1.0)
    weights[~known.allowed] = np.inf
    learner = GaussianBayesNet(
        weights=None if known.is_empty else weights, verbose=int(shows_progress()), **options
    )
    return learner, known


def _second_opinion(
    frame: pd.DataFrame,
    fit: Any,
    first: dict[str, Any],
    second: dict[str, Any],
    sample_weight: FloatArray | None,
    interventions: Any = None,
) -> tuple[Any, BoolArray, list[str]]:
    """Fit the second network: tests for a score and a score for all others, by default."""
    method = second.get("method") or ("blankets" if fit.method in SCORED else "boss")
    options = {**_known(first), **second, "method": "order" if method == PENALIZED else method}
    learner, known = _learner(options, list(frame.columns))
    about = {} if interventions is None else {"interventions": interventions}
    other = learner.fit(frame, sample_weight=sample_weight, **about)
    return other, _pattern(other, known), _about_known(other, known)


def _parameters(fit: Any) -> dict[str, Any]:
    """Record parameters but for weights, which only hold what is known in advance."""
    return {name: value for name, value in parameters_of(fit).items() if name != "weights"}


def _known(first: dict[str, Any]) -> dict[str, Any]:
    """Record what is known in advance, whichever network was given it."""
    return {name: first.get(name) for name in KNOWN}


def _pattern(fit: Any, known: KnownArcs | None) -> BoolArray:
    """Directions that are identified, also by what is known in advance."""
    from edgewise.graph.equivalence import complete_dag

    if known is None:
        found: BoolArray = fit.cpdag_.adjacency
        return found
    return complete_dag(fit.graph_.adjacency, known.allowed)


def _about_known(fit: Any, known: KnownArcs | None) -> list[str]:
    """Say what a penalised network made of required arcs."""
    if known is None or not known.required.any():
        return []
    import numpy as np

    names, lacking = fit.graph_.names, known.required & ~fit.graph_.adjacency
    notes = ["required arcs are almost unpenalised in the penalised fit"]
    if lacking.any():
        arcs = ", ".join(f"{names[i]} -> {names[j]}" for i, j in np.argwhere(lacking).tolist())
        notes.append(f"the penalised fit does not support the required {arcs}")
    return notes


def _experiments(fit: Any, labels: Any) -> str:
    """Say what was set, and what that tells."""
    import numpy as np
    import pandas as pd

    from edgewise.graph.equivalence import complete_dag
    from edgewise.io import quote_names

    seen = pd.Series(labels)[~(pd.isna(labels) | (np.asarray(labels, dtype=object) == ""))]
    by_rows = quote_names(str(name) for name in sorted({*seen.astype(str)}))
    before = fit.cpdag_.adjacency
    alone = complete_dag(fit.graph_.adjacency, fit._allowed)
    n_told = int((alone & alone.T).sum() - (before & before.T).sum()) // 2
    return (
        f"{len(seen)} rows were set from outside ({by_rows}), as --interventions says: "
        f"{count(n_told, 'direction')} that other rows could not tell"
    )


def arc_table(
    graph: Graph,
    cpdag: BoolArray,
    other: Graph,
    other_cpdag: BoolArray,
    identified: FloatArray | None = None,
) -> pd.DataFrame:
    """List the arcs of the first network, the largest first, and then those only the second has.

    Weights are coefficients of standardised columns; that of an arc which the second network has
    the other way round is given for its own direction. ``told`` says whether the direction is
    identified in the first network, and unsure where resamples often turn it round. The two are
    opposite only where both identify a direction. ``identified`` is the share of resamples that
    identify each arc; the shares of the four kinds of edge follow from it.
    """
    import numpy as np
    import pandas as pd

    ours, theirs = graph.adjacency, other.adjacency
    parts = []
    for arcs in (ours, theirs & ~ours & ~ours.T):
        source, target = np.nonzero(arcs)
        second = other.weights[source, target] + other.weights[target, source]
        is_ours = ours[source, target]
        is_open = cpdag[target, source] | (other_cpdag & other_cpdag.T)[source, target]
        agrees = theirs[source, target] | (theirs[target, source] & is_open)
        turned = np.where(theirs[target, source], OPPOSITE, FIRST)
        part: dict[str, Any] = {
            "source": [graph.names[k] for k in source],
            "target": [graph.names[k] for k in target],
            "told": np.where(cpdag[target, source], UNTOLD, TOLD).astype(object),
            "weight": graph.weights[source, target],
            "second": second,
            "found_by": np.where(~is_ours, SECOND, np.where(agrees, BOTH, turned)),
        }
        if graph.confidence is not None:
            ahead, back = graph.confidence[source, target], graph.confidence[target, source]
            part["confidence"], part["confidence_reversed"] = ahead, back
            is_unsure = back > LARGEST_REVERSED * (ahead + back)
            part["told"][is_unsure & (part["told"] == TOLD)] = UNSURE
            if identified is not None:
                forward, backward = identified[source, target], identified[target, source]
                part["share_forward"], part["share_backward"] = forward, backward
                # Rounded, since 1 - 0.575 - 0.425 is no nothing in binary.
                undirected, none = ahead + back - forward - backward, 1.0 - ahead - back
                part["share_undirected"] = np.clip(undirected.round(9), 0.0, 1.0)
                part["share_none"] = np.clip(none.round(9), 0.0, 1.0)
        part["told"][~is_ours] = ""
        size = np.abs(np.where(is_ours, part["weight"], second))
        parts.append(pd.DataFrame(part).iloc[np.argsort(-size, kind="stable")])
    filled = [part for part in parts if len(part)] or parts[:1]
    return pd.concat(filled, ignore_index=True)


def _varsortability(frame: pd.DataFrame, graph: Graph) -> float:
    from edgewise.metrics import varsortability

    whole = frame.dropna()
    return varsortability(whole, graph) if len(whole) else math.nan


def _found(both: _Networks) -> dict[str, Any]:
    fit, other = both.fit, both.second
    kinds = {"both": BOTH, "opposite": OPPOSITE, "first": FIRST, "second": SECOND}
    return {
        "n_untold": both.n_untold,
        "n_unsure": int((both.arcs["told"] == UNSURE).sum()),
        "n_found_by": {name: both.n_found_by(kind) for name, kind in kinds.items()},
        "n_tests": getattr(fit, "n_tests_", None),
        "score": getattr(fit, "criterion_value_", None),
        "is_consistent": bool(getattr(fit, "is_consistent_", True)),
        **(about_fit(fit) if hasattr(fit, "alpha_") else {}),
        "varsortability": None if math.isnan(both.varsortability) else both.varsortability,
        "second": {
            "parameters": _parameters(other),
            "n_edges": other.graph_.n_edges,
            **(about_fit(other) if hasattr(other, "alpha_") else {}),
            "score": getattr(other, "criterion_value_", None),
            "converged": bool(other.converged_),
            "n_iter": int(other.n_iter_),
        },
    }


def _draw(both: _Networks) -> dict[str, Figure | SubFigure]:
    """Draw both networks, the directions that are identified, and the confidence of the first."""
    from edgewise.plot import plot_dag
    from edgewise.plot.directed import columns_of, plot_arc_confidence
    from edgewise.plot.matrix import plot_coefficients

    graph, second = both.graph, both.second
    tiers = columns_of(graph, None)
    drawn: dict[str, Figure | SubFigure] = {
        "dag.png": plot_dag(graph, tiers=tiers, pattern=both.pattern).figure,
        "cpdag.png": plot_dag(both.pattern, tiers=tiers).figure,
        "second.png": plot_dag(second.graph_, pattern=both.second_pattern).figure,
    }
    if hasattr(both.fit, "coef_"):
        drawn["coefficients.png"] = plot_coefficients(graph, tiers=tiers).figure
    if both.directions is not None:
        drawn["confidence.png"] = plot_arc_confidence(graph, both.directions).figure
    if both.consensus is not None:
        drawn["consensus.png"] = plot_dag(both.consensus).figure
    return drawn


def _summary(both: _Networks, source: Source) -> str:
    """Tell the arcs, which directions are identified, and what the second opinion says."""
    arcs = count(both.graph.n_edges, "arc")
    lines = [
        f"{arcs} among the {both.graph.n_nodes} columns of {source.name} ({source.n_samples} rows)",
        "",
        *(_arcs(both) if both.graph.n_edges else [_nothing(both.fit)]),
        "",
        *_directions(both),
        *_opinions(both),
        *_scale(both),
    ]
    return "\n".join(lines)


def _strongest(both: _Networks) -> str:
    """Name the strongest arc whose direction is identified, for a headline."""
    told = both.arcs[both.arcs["told"] == TOLD]
    if not len(told):
        return ""
    arc = told.iloc[0]
    ends = f"{short_name(arc['source'])} -> {short_name(arc['target'])}"
    form = "+.2f" if hasattr(both.fit, "coef_") else ".2f"
    return f"the strongest with an identified direction is {ends} ({arc['weight']:{form}})"


def _how(fit: Any) -> str:
    """Describe the criterion of a network."""
    if fit.method in SCORED:
        return f"{SCORED[fit.method]} ({fit.criterion.upper()})"
    if fit.method in TESTED:
        return TESTED[fit.method]
    return BY_PENALTY.get(fit.method, f"Markov blankets ({fit.method})")


def _penalty(fit: Any) -> str:
    """Say how strong a penalty is, and how it was chosen; nothing of other networks."""
    if not hasattr(fit, "alpha_"):
        return ""
    return f" at alpha {fit.alpha_:.3g}, {choice(fit.alpha, len(fit.alphas_))}"


def _arcs(both: _Networks) -> list[str]:
    """Show the largest arcs of the first network."""
    arcs = both.arcs[both.arcs["found_by"] != SECOND]
    is_linear = hasattr(both.fit, "coef_")
    strength = "standardised coefficients" if is_linear else "strengths from 0 to 1"
    head = f"By {_how(both.fit)}{_penalty(both.fit)}, with {strength}"
    if "confidence" in arcs.columns:
        head += ",\nand the share of the resamples with the arc, and with its reverse"
    return [head + ":", *short_rows(_rows(arcs, "+.3f" if is_linear else ".3f"), SHOWN, "arcs.csv")]


def _rows(arcs: pd.DataFrame, form: str) -> list[str]:
    """Write an arc per line; each resample picks a direction where none is identified."""
    names = [
        f"{short_name(a)} {'-' if told == UNTOLD else '->'} {short_name(b)}"
        for a, b, told in zip(arcs["source"], arcs["target"], arcs["told"], strict=True)
    ]
    width = max(map(len, names))
    lines = [
        f"  {name:<{width}}  {weight:{form}}"
        for name, weight in zip(names, arcs["weight"], strict=True)
    ]
    if "confidence" in arcs.columns:
        shares = zip(arcs["confidence"], arcs["confidence_reversed"], arcs["told"], strict=True)
        lines = [
            f"{line}  {ahead + back:4.0%}     "
            if told == UNTOLD
            else f"{line}  {ahead:4.0%} {back:4.0%}"
            for line, (ahead, back, told) in zip(lines, shares, strict=True)
        ]
    words = {UNTOLD: "  either way: direction not identified", UNSURE: "  direction unsure"}
    return [f"{line}{words.get(told, '')}" for line, told in zip(lines, arcs["told"], strict=True)]


def _nothing(fit: Any) -> str:
    if fit.method in SCORED:
        return f"No arc between two columns improves the {fit.criterion.upper()}."
    if fit.method in BY_PENALTY:
        return f"No arc exceeds the penalty{_penalty(fit)}."
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
        untold = arcs[arcs["told"] == UNTOLD].head(UNTOLD_SHOWN)
        pairs = [
            f"{short_name(a)} - {short_name(b)}"
            for a, b in zip(untold["source"], untold["target"], strict=True)
        ]
        more = f" and {n_untold - len(pairs)} more" if n_untold > len(pairs) else ""
        verb = "is" if n_untold == 1 else "are"
        text = f"{n_untold} of the {both.graph.n_edges} directions {verb} not identified"
        if n_untold == both.graph.n_edges:
            text = "No direction is identified"
        lines = [f"{text} (cpdag.png): {', '.join(pairs)}{more}."]
    if n_unsure := int((arcs["told"] == UNSURE).sum()):
        whose, verb = "others" if n_untold else "directions", "is" if n_unsure == 1 else "are"
        lines.append(
            f"Of the {whose}, {n_unsure} {verb} unsure: more than a quarter of the resamples that "
            "join the pair turn it round."
        )
    if "confidence" in arcs:
        joined = arcs["confidence"] + arcs["confidence_reversed"]
        if n_rare := int(((joined < 0.5) & (arcs["told"] != "")).sum()):
            lines.append(_about_rare(n_rare, both.graph.n_edges))
    if not getattr(both.fit, "is_consistent_", True):
        lines.append("The tests contradict each other on some directions: take arrows with care.")
    lines.append("Arrows are causes only if no common cause of two columns is missing.")
    return lines


def _about_rare(n_rare: int, n_arcs: int) -> str:
    """Tell how many arcs are in few resamples."""
    which = "The arc" if n_arcs == 1 else f"{n_rare} of the {n_arcs} arcs"
    verb, rest = ("is", "it, and it is not in") if n_rare == 1 else ("are", "them, and none is in")
    return (
        f"{which} {verb} in fewer than half of the resamples, either way round: little speaks for "
        f"{rest} consensus.png."
    )


def _opinions(both: _Networks) -> list[str]:
    """Tell what the second network says about the first."""
    other, n_arcs = both.second, both.graph.n_edges
    how = f"{_how(other)}{_penalty(other)}"
    text = f"Second opinion, by {how}: {count(other.graph_.n_edges, 'arc')}."
    if n_arcs:
        text += (
            f" It has {both.n_found_by(BOTH)} of the {n_arcs} without contradiction,"
            f" {both.n_found_by(OPPOSITE)} the other way round, {both.n_found_by(FIRST)} not at"
            f" all, and {both.n_found_by(SECOND)} more (arcs.csv)."
        )
    lines = [text]
    better = getattr(other, "criterion_value_", -math.inf) - getattr(
        both.fit, "criterion_value_", math.inf
    )
    if other.method in SCORED and both.fit.method in SCORED and better > 1e-6:
        lines.append(
            f"The second opinion has the better score by {better:.3g}: --method {other.method} "
            "leads with it."
        )
    if both.fit.method in SCORED and other.method not in SCORED:
        lines.append(
            "Of the two, trust the score: on simulated networks it gets more directions right."
        )
    return lines


def _scale(both: _Networks) -> list[str]:
    """Say what the units of the columns would have told."""
    share, fits = both.varsortability, (both.fit, both.second)
    is_standardized = all(getattr(fit, "standardize", True) for fit in fits)
    if math.isnan(share):
        return []
    seen = (
        "both methods see standardised columns"
        if is_standardized
        else "the penalised network sees columns in their units"
    )
    text = (
        f"Varsortability {share:.2f}: share of directed paths along which variance increases, "
        f"in the units of the columns; {seen}."
    )
    if max(share, 1 - share) >= SORTABLE and not is_standardized:
        return [text, "The units alone suggest this order. Omit --set standardize=false."]
    return [text]
