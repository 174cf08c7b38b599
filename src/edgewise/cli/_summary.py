"""What a run found, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from edgewise.cli._folder import FILES

if TYPE_CHECKING:
    from pathlib import Path

    from edgewise.cli._learning import Learned, Settings

STRONGEST: Final = 5
LONGEST_NAME: Final = 36
RULES: Final = {
    "ebic": "the extended BIC",
    "cv": "held-out likelihood",
    "stars": "stability on subsamples (StARS)",
}
#: Gaps below this are nothing but rounding.
ROUNDING: Final = 1e-12


def summary(learned: Learned, settings: Settings, source: str, data: dict[str, Any]) -> str:
    """Tell how many edges there are, the strongest of them, alpha and the certificate."""
    graph, fit = learned.graph, learned.fit
    edges = "1 edge" if graph.n_edges == 1 else f"{graph.n_edges} edges"
    return "\n".join(
        [
            f"{edges} among the {graph.n_nodes} columns of {source} ({data['n_samples']} rows)",
            "",
            *(_strongest(learned, settings) if graph.n_edges else _no_edges(settings)),
            "",
            f"alpha {fit.alpha_:.3g}, {_choice(settings, len(fit.alphas_))}",
            _certificate(learned, settings),
        ]
    )


def where_to_look(out: Path) -> str:
    """Tell what was written."""
    return f"Written to {out}: {', '.join(FILES)}"


def _strongest(learned: Learned, settings: Settings) -> list[str]:
    weight = "partial correlation" if settings.method == "gaussian" else "standardised coefficient"
    top = learned.graph.edges().head(STRONGEST)
    pairs = [f"{_short(a)} -- {_short(b)}" for a, b in zip(top.source, top.target, strict=True)]
    width = max(len(pair) for pair in pairs)
    lines = [
        f"  {pair:<{width}}  {value:+.3f}" for pair, value in zip(pairs, top.weight, strict=True)
    ]
    if learned.graph.confidence is None:
        return [f"Strongest, by {weight}:", *lines]
    shares = [f"  {share:4.0%}" for share in top.confidence]
    head = (
        f"Strongest, by {weight}, and the share of {learned.model.n_resamples_} resamples with it:"
    )
    return [head, *(line + share for line, share in zip(lines, shares, strict=True))]


def _short(name: str) -> str:
    """Put a name on one line; of a long one, beginning and end tell it from others."""
    text = " ".join(name.split())
    if len(text) <= LONGEST_NAME:
        return text
    tail = LONGEST_NAME // 3
    return f"{text[: LONGEST_NAME - tail - 3]}...{text[-tail:]}"


def _no_edges(settings: Settings) -> list[str]:
    if isinstance(settings.alpha, str):
        return [
            f"By {RULES[settings.alpha]}, no dependence between columns is stronger than noise."
        ]
    return ["No dependence is stronger than this alpha. A smaller --alpha finds more."]


def _choice(settings: Settings, n_alphas: int) -> str:
    if isinstance(settings.alpha, str):
        return f"chosen out of {n_alphas} by {RULES[settings.alpha]}"
    return "as given"


def _certificate(learned: Learned, settings: Settings) -> str:
    fit = learned.fit
    what = "The fit is" if settings.method == "gaussian" else "The regressions are together"
    if not math.isfinite(fit.gap_):
        return f"{what} without a certificate, stopped too early: see the warning."
    if not fit.converged_:
        return f"{what} still {fit.gap_:.1g} from the optimum, at most: see the warning."
    if fit.gap_ < ROUNDING:
        return f"{what} at the optimum, up to rounding."
    return f"{what} within {fit.gap_:.1g} of the optimum."
