"""What a run found, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from edgewise.cli.learn.fit import DISCRETE, IN_SPACE
from edgewise.cli.shell import in_options, say, say_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from edgewise.cli.learn.fit import Learned, Settings
    from edgewise.graph import Graph

STRONGEST: Final = 5
LONGEST_NAME: Final = 36
RULES: Final = {
    "ebic": "the extended BIC",
    "cv": "held-out likelihood",
    "stars": "stability on subsamples (StARS)",
}
CRITERIA: Final = {
    "bjp": "blankets joint posterior",
    "ib": "independence-based score",
    "mpl": "marginal pseudo-likelihood",
}
WEIGHTS: Final = {
    "neighborhood": "standardised coefficient",
    DISCRETE: "log posterior odds of dependence",
}
#: Gaps below this are nothing but rounding.
ROUNDING: Final = 1e-12


def summary(learned: Learned, settings: Settings, source: str, data: dict[str, Any]) -> str:
    """Tell how many edges there are, the strongest of them, alpha and the certificate."""
    graph = learned.graph
    edges = count(graph.n_edges, "edge")
    if learned.n_groups:
        is_fused = learned.n_groups < graph.n_edges
        how = f"fused into {count(learned.n_groups, 'group')}" if is_fused else "none fused"
        edges += f", {how},"
    return "\n".join(
        [
            f"{edges} among the {graph.n_nodes} columns of {source} ({data['n_samples']} rows)",
            "",
            *(_strongest(learned, settings) if graph.n_edges else _no_edges(settings)),
            "",
            *(
                [_search(learned, settings)]
                if settings.method == DISCRETE
                else [_strengths(learned, settings), certificate(learned.fit, settings.method)]
            ),
        ]
    )


def where_to_look(out: Path, files: Sequence[str]) -> str:
    """Tell what was written; the many networks of a tree in one word."""
    leaves = [file for file in files if file.startswith("leaf-")]
    named = [file for file in files if file not in leaves[1:-1]]
    text = ", ".join(named)
    if len(leaves) > 2:
        text = text.replace(f"{leaves[0]}, {leaves[-1]}", f"{leaves[0]} to {leaves[-1]}")
    return f"Written to {out}: {text}"


def announce(
    text: str,
    record: dict[str, Any],
    out: Path,
    files: Sequence[str],
    *,
    as_json: bool,
    **lists: list[dict[str, Any]],
) -> None:
    """Say how a run ended: in words with its notes, or as one object with some lists added."""
    if as_json:
        say_json({**record, **lists, "files": {file: str(out / file) for file in files}})
        return
    say(text)
    for note in record["treatment"]:
        say(f"Note: {in_options(note).rstrip('.')}.")
    say(where_to_look(out, files))


def count(number: int, noun: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> count(1, "pair"), count(2, "pair")
    ('1 pair', '2 pairs')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _strongest(learned: Learned, settings: Settings) -> list[str]:
    weight = WEIGHTS.get(settings.method, "partial correlation")
    if settings.method == DISCRETE and settings.criterion == "mpl":
        weight = "gain in score"
    top = learned.graph.edges().head(STRONGEST)
    pairs = pair_names(top)
    lines = [f"  {pair}  {value:+.3f}" for pair, value in zip(pairs, top.weight, strict=True)]
    if learned.graph.confidence is None:
        return [f"Strongest, by {weight}:", *lines]
    shares = [f"  {share:4.0%}" for share in top.confidence]
    head = f"Strongest, by {weight}, and the share of {learned.n_resamples} resamples with it:"
    return [head, *(line + share for line, share in zip(lines, shares, strict=True))]


def strongest_edge(graph: Graph, words: str = "the strongest joins") -> str:
    """Name the strongest edge, for a headline."""
    if not graph.n_edges:
        return ""
    edge = graph.edges().iloc[0]
    ends = f"{short_name(edge['source'])} and {short_name(edge['target'])}"
    return f"{words} {ends} ({edge['weight']:+.2f})"


def pair_names(edges: pd.DataFrame) -> list[str]:
    """Write the two ends of each edge, all of them equally wide."""
    ends = zip(edges["source"], edges["target"], strict=True)
    pairs = [f"{short_name(a)} -- {short_name(b)}" for a, b in ends]
    width = max((len(pair) for pair in pairs), default=0)
    return [f"{pair:<{width}}" for pair in pairs]


def short_name(name: str) -> str:
    """Put a name on one line; of a long one, beginning and end tell it from others."""
    text = " ".join(name.split())
    if len(text) <= LONGEST_NAME:
        return text
    tail = LONGEST_NAME // 3
    return f"{text[: LONGEST_NAME - tail - 3]}...{text[-tail:]}"


def _no_edges(settings: Settings) -> list[str]:
    if settings.method == DISCRETE:
        return ["No two columns are more likely dependent than not, given the others."]
    if isinstance(settings.alpha, str):
        return [
            f"By {RULES[settings.alpha]}, no dependence between columns is stronger than noise."
        ]
    if settings.method == IN_SPACE:
        return ["No dependence is stronger than this alpha and tau. Smaller ones find more."]
    return ["No dependence is stronger than this alpha. A smaller --alpha finds more."]


def _strengths(learned: Learned, settings: Settings) -> str:
    """Give alpha, and tau where there is one, and tell how they were chosen."""
    fit = learned.fit
    alpha = f"alpha {fit.alpha_:.3g}"
    if settings.method != IN_SPACE:
        return f"{alpha}, {_choice(settings.alpha, len(fit.alphas_))}"
    tau = f"tau {fit.tau_:.3g}"
    n_alphas, n_taus = len(fit.alphas_), len(fit.taus_)
    if settings.alpha == settings.tau == "cv":
        return f"{alpha} and {tau}, {_choice('cv', f'{n_alphas} x {n_taus}')}"
    if isinstance(settings.alpha, str) or isinstance(settings.tau, str):
        choices = _choice(settings.alpha, n_alphas), _choice(settings.tau, n_taus)
        return f"{alpha}, {choices[0]}; {tau}, {choices[1]}"
    return f"{alpha} and {tau}, as given"


def _search(learned: Learned, settings: Settings) -> str:
    """Give the score and what the search for it took; no search proves it the best."""
    fit = learned.fit
    return (
        f"{CRITERIA[settings.criterion]} {fit.criterion_value_:.6g}, the best of "
        f"{fit.n_iter_ + 1} graphs on the way of a search that computed {fit.n_tests_} tests"
    )


def _choice(strength: float | str, n_tried: int | str) -> str:
    if isinstance(strength, str):
        return f"chosen out of {n_tried} by {RULES[strength]}"
    return "as given"


def certificate(fit: Any, method: str = "") -> str:
    """Tell how far a convex fit is from the optimum, at most."""
    what = "The regressions are together" if method == "neighborhood" else "The fit is"
    if not math.isfinite(fit.gap_):
        return f"{what} without a certificate, stopped too early: see the warning."
    if not fit.converged_:
        return f"{what} still {fit.gap_:.1g} from the optimum, at most: see the warning."
    if fit.gap_ < ROUNDING:
        return f"{what} at the optimum, up to rounding."
    return f"{what} within {fit.gap_:.1g} of the optimum."
