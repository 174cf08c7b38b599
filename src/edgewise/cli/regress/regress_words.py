"""How a network varies, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgewise.cli._shell import in_options
from edgewise.cli._summary import count, pair_names, short_name
from edgewise.cli.compare.change_files import short_rows

if TYPE_CHECKING:
    from edgewise.cli.regress.regressing import Regressed

#: Lines of a tree, and edges hidden in the whole, that are written out.
LINES, SHOWN = 60, 5
#: Share of the rows that an edge must be there for, to be worth a word.
COMMON: Final = 0.5


def tree_summary(regressed: Regressed, source: str, data: dict[str, Any]) -> str:
    """Tell how many networks there are, what they gain, the tree, and what one network hides."""
    tree = regressed.tree
    n_leaves = len(tree.leaves_)
    columns = _listed([short_name(covariate.name) for covariate in tree.covariates_])
    head = f"{count(n_leaves, 'network')} of {len(tree.response_names_)} columns by {columns}"
    head = f"{head} in {source} ({data['n_samples']} rows)"
    if n_leaves == 1:
        return "\n".join([head, "", *_no_split(regressed)])
    return "\n".join(
        [
            head,
            "",
            _gain(regressed),
            *_reason(regressed),
            "",
            *short_rows(tree.export_text().rstrip().splitlines(), LINES, "tree.txt"),
            *_hidden(regressed),
            *_unused(regressed),
        ]
    )


def first_split(regressed: Regressed) -> str:
    """Name the covariate that matters first, for a headline."""
    split = regressed.tree.nodes_[0].split
    if split is None:
        return ""
    place = f" at {split.cut:.4g}" if split.cut is not None else f", {split.level} or not"
    return f"the first split is by {short_name(split.covariate)}{place}"


def _gain(regressed: Regressed) -> str:
    tree = regressed.tree
    judged = "training rows" if tree.criterion == "penalized" else "held-out rows"
    return (
        f"Risk of {judged}: {tree.risk_path_[0]:.4g} with one network, {tree.risk_:.4g} with "
        f"{len(tree.leaves_)}"
    )


def _reason(regressed: Regressed) -> list[str]:
    """Say which part of the responses the splits live on."""
    splits = regressed.tree.split_report()
    gain = splits["gain"].clip(lower=0.0)
    if not gain.sum() > 0:
        return []
    parts = {
        name: float((splits[name].fillna(0.0) * gain).sum() / gain.sum())
        for name in ("mean", "variances", "graph")
    }
    shares = ", ".join(f"{name} {share:.0%}" for name, share in parts.items())
    return [f"Where that comes from: {shares}"]


def _no_split(regressed: Regressed) -> list[str]:
    tree = regressed.tree
    found = "As far as these rows can tell, the network does not vary: no split lowers the risk."
    if not any(covariate.is_tried for covariate in tree.covariates_):
        found = "No split could be tried, so that these rows do not tell how the network varies."
    edges = f"The network of all rows has {count(tree.graph_.n_edges, 'edge')}."
    return [found, *_untried(regressed), edges]


def _untried(regressed: Regressed) -> list[str]:
    """Say why covariates were not tried."""
    from edgewise.estimators.covariates.tree_fit import UNTRIED

    notes = [note for note in regressed.tree.treatment_ if note.startswith(UNTRIED)]
    return [f"{UNTRIED.capitalize()}{in_options(note.removeprefix(UNTRIED))}." for note in notes]


def _hidden(regressed: Regressed) -> list[str]:
    """List edges of most leaves that one network for all rows would not show."""
    hidden = regressed.hidden
    common = hidden[hidden["share_of_rows"] >= COMMON].head(SHOWN)
    if not len(common):
        return []
    n_leaves = len(regressed.tree.leaves_)
    lines = [
        f"  {pair}  in {row.n_leaves} of {n_leaves}, {row.n_positive} times positive"
        for pair, row in zip(pair_names(common), common.itertuples(), strict=True)
    ]
    return ["", "Edges of most parts that vanish in one network for all rows:", *lines]


def _unused(regressed: Regressed) -> list[str]:
    tree = regressed.tree
    used = {node.split.covariate for node in tree.nodes_ if node.split is not None}
    rest = [one for one in tree.covariates_ if one.is_tried and one.name not in used]
    names = [short_name(one.name) for one in rest]
    lines = [f"The network does not vary with {_listed(names, 'or')}."] if names else []
    lines += _untried(regressed)
    return ["", *lines] if lines else []


def _listed(names: list[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
