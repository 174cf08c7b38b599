"""What was found about directions, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from edgewise.cli._summary import RULES, count, short_name
from edgewise.cli.direct.directing import BLANKETS, BOTH, OPPOSITE, PENALIZED

if TYPE_CHECKING:
    import pandas as pd

    from edgewise.cli.direct.directing import Directed, DirectSettings

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
