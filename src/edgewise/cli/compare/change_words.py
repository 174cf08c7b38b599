"""What a comparison found, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgewise.cli._summary import STRONGEST, certificate, count, pair_names, short_name
from edgewise.cli.compare.comparing import LEVEL, RATIO

if TYPE_CHECKING:
    from edgewise.cli.compare.comparing import ChangeSettings, Compared

RULES: Final = {"cv": "held-out rows", "ebic": "the extended BIC"}
#: Hint at the method to hold the density ratio against.
BASELINE: Final = (
    "For Gaussian data --method dtrace is the strongest simple baseline; see whether it agrees."
)


def change_summary(
    compared: Compared, settings: ChangeSettings, source: str, data: dict[str, Any]
) -> str:
    """Tell how many pairs changed, the largest, whether it is chance, and the certificate."""
    before, after = (
        f"{short_name(name)} ({count(number, 'row')})"
        for name, number in zip(compared.groups.names, compared.groups.counts, strict=True)
    )
    found = count(compared.graph.n_edges, "pair")
    lines = [
        f"{found} of the {data['n_features']} columns of {source} changed from {before} to {after}",
        "",
        *(_largest(compared, settings) if compared.graph.n_edges else [_nothing(compared)]),
        "",
        *_whether(compared),
        f"alpha {compared.model.alpha_:.3g}, {choice(compared.model)}",
        certificate(compared.model),
    ]
    if compared.directions is not None:
        size = compared.model.effective_sample_size_
        rows = count(compared.groups.counts[0], "row")
        label = short_name(compared.groups.names[0])
        lines += [
            f"The ratio rests on {size:.0f} of the {rows} of {label}.",
            str(compared.directions),
        ]
    if settings.method == RATIO and settings.basis == "gaussian":
        lines.append(BASELINE)
    return "\n".join(lines)


def choice(model: Any) -> str:
    """Tell how alpha was chosen."""
    if isinstance(model.alpha, str):
        return f"chosen out of {len(model.alphas_)} by {RULES[model.alpha]}"
    return "as given"


def _largest(compared: Compared, settings: ChangeSettings) -> list[str]:
    top = compared.changes.head(STRONGEST)
    width = max(len(kind) for kind in top["kind"])
    form = "+.3f" if settings.is_signed else ".3f"
    lines = [
        f"  {pair}  {size:{form}}  {kind:<{width}}"
        for pair, size, kind in zip(pair_names(top), top["change"], top["kind"], strict=True)
    ]
    if compared.test is None:
        return ["Largest changes:", *(line.rstrip() for line in lines)]
    head = "Largest changes, with the share of shuffled labels that give one as large anywhere:"
    values = [f"  p {value:.3f}" for value in top["p_familywise"]]
    return [head, *(line + value for line, value in zip(lines, values, strict=True))]


def _nothing(compared: Compared) -> str:
    if isinstance(compared.model.alpha, str):
        return f"By {RULES[compared.model.alpha]}, no change is stronger than noise."
    return "No change is stronger than this alpha. A smaller --alpha finds more."


def _whether(compared: Compared) -> list[str]:
    """Tell whether shuffled labels explain what was found."""
    test = compared.test
    if test is None:
        return ["Whether this is more than chance was not tested (--permutations 0)."]
    against = f"p = {test.pvalue:.2g} by the largest change, {test.n_permutations} shuffles"
    if 1 / (1 + test.n_permutations) > LEVEL:
        return [f"So few shuffles cannot tell whether the networks differ: {against}."]
    if test.pvalue > LEVEL:
        return [f"Nothing says that the networks differ: {against}."]
    # Shuffled groups do not differ, and what does not change varies less in them than in the real
    # ones once something else has changed.
    n_sure = int((compared.changes["p_familywise"] <= LEVEL).sum())
    found = f"{n_sure} of the {count(len(compared.changes), 'change')}"
    verb = "has" if n_sure == 1 else "have"
    words = "which is sure of the largest; of the others it is a ranking"
    return [f"The networks differ: {against}.", f"{found} {verb} p <= {LEVEL:g}, {words}."]
