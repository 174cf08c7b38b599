"""Fit of `compare` for several groups of rows: their networks together, tests and pictures."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.compare.groups import (
    LEVEL,
    about_design,
    adjusted,
    not_tested,
    options_of_test,
    verdict_on,
)
from edgewise.cli.labels import Groups
from edgewise.cli.learn.fit import draw_search
from edgewise.cli.run import SEARCH, Result, estimator_of
from edgewise.cli.shell import drop_command, shows_progress
from edgewise.cli.wording import (
    STRONGEST,
    about_fit,
    certificate,
    choice,
    count,
    pair_names,
    parameters_of,
    short_name,
    short_rows,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise.cli.input import Source
    from edgewise.graph import Graph
    from edgewise.inference import GroupDifference

#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "networks.png": "The network of each group, every column at the same place",
    "pairs.png": "Which groups differ: the family-wise p-value of each pair of groups",
    "edges.png": "Edges by groups: partial correlations, those that differ most on top",
    "strength.png": "Strength of each column in each group",
    "permutation.png": "The evidence for a difference beside that of permuted labels",
    SEARCH: "How alpha was chosen",
}
#: Parameters of the density ratio, which has a fit of its own.
OF_RATIO: Final = ("basis", "degree", "ridge", "standardize", "negligible", "device")
#: Pairs of groups that a summary lists.
MOST_PAIRS: Final = 10
#: Groups whose weights stand beside each edge.
MOST_GROUPS: Final = 6


def compare_several(
    source: Source,
    groups: Groups,
    parameters: dict[str, Any],
    *,
    method: str,
    n_permutations: int,
    risk: float | None = None,
    ordered: bool = False,
    against: str | None = None,
) -> Result:
    """Learn the networks of the groups together, and test whether and where they differ."""
    if n_permutations < 0:
        raise InputError(f"--permutations must be at least 1, or 0 for none; got {n_permutations}.")
    frame = adjusted(source.frame, groups)
    labels = groups.y.cat.rename_categories(list(groups.names))
    _refuse_flat(frame, labels)
    joint = {name: value for name, value in parameters.items() if name not in OF_RATIO}
    if method == "ratio":
        # The strength of the ratio is none of the networks.
        joint.pop("alpha", None)
    learner = estimator_of("JointGraphs", {**joint, "order": "chain" if ordered else "none"})
    model = learner.set_params(verbose=int(shows_progress())).fit(frame, labels)
    test, notes = _test(source, groups, model, labels, n_permutations, risk)
    networks = dict(zip(groups.names, model.graphs_, strict=True))
    changes = _changes(networks, test)
    tables: dict[str, pd.DataFrame | str] = {"changes.csv": changes}
    shown = {"Edges by group": changes}
    if test is not None:
        tables |= {"pairs.csv": test.pairs(), "nodes.csv": test.nodes}
        tables["differences.csv"] = test.differences(LEVEL)
        shown = {"Pairs of groups": test.pairs(), **shown, "Nodes": test.nodes}
    tables["columns.csv"] = _columns(source.frame, labels, test)
    if method == "ratio":
        from edgewise.estimators import group_changes

        ratio = estimator_of(
            "NetworkChange", {k: v for k, v in parameters.items() if k not in ("tol", "max_iter")}
        )
        found = group_changes(ratio, frame, labels, against=against or "rest")
        tables["ratios.csv"] = shown["Density ratios"] = found
        notes.append(f"density ratios against {against or 'rest'} in ratios.csv")
    if ordered:
        notes.append(f"groups are coupled in this order: {', '.join(groups.names)}")
    return Result(
        model=model,
        graph=model.graph_,
        text=_summary(model, changes, test, groups, source, n_permutations),
        parameters={
            **parameters_of(model),
            "method": method,
            "n_permutations": n_permutations,
            "risk": risk,
            "against": against,
        },
        found=_found(model, networks, test, groups),
        notes=[*notes, *getattr(model, "treatment_", ())],
        figures=lambda: _draw(model, networks, changes, test),
        words=ALT,
        tables=tables,
        networks={name: networks[label] for label, name in _files(groups.names).items()},
        shown=shown,
        finding=_finding(changes, test),
        subject="The network of all groups, by mean weights",
        rows=("changes", changes),
    )


def _refuse_flat(frame: pd.DataFrame, labels: pd.Series) -> None:
    """Name all columns with a single value in any of the groups, and the command without them."""
    from edgewise.io import quote_names

    is_flat = frame.groupby(labels, observed=True).nunique() == 1
    flat = [str(name) for name in frame if is_flat[name].any()]
    if flat:
        label = is_flat.index[is_flat[flat[0]]][0]
        one = f"has a single value in group '{label}': it has"
        some = f"have a single value in some groups, '{flat[0]}' in group '{label}': they have"
        raise InputError(
            f"{quote_names(flat)} {one if len(flat) == 1 else some} no links there. Use "
            f"{drop_command(flat)}, or leave groups out by --pair."
        )


def _files(names: tuple[str, ...]) -> dict[str, str]:
    """Name the file of each group after its label, with a number where that is not enough."""
    plain = [re.sub(r"[^\w.-]+", "-", name).strip("-.")[:40].lower() for name in names]
    is_clear = len(set(plain)) == len(plain) and all(plain)
    return {
        name: f"network-{text if is_clear else k + 1}.graphml"
        for k, (name, text) in enumerate(zip(names, plain, strict=True))
    }


def _test(
    source: Source,
    groups: Groups,
    model: Any,
    labels: pd.Series,
    n_permutations: int,
    risk: float | None,
) -> tuple[GroupDifference | None, list[str]]:
    """Test the groups; without a result, with a note, where that is not possible."""
    from edgewise.inference import group_difference_test

    if not n_permutations:
        return None, []
    if why := not_tested(source, groups):
        return None, [f"not tested: {why}"]
    options = options_of_test(model, source, groups, n_permutations, risk)
    test = group_difference_test(source.frame, labels, **options)
    notes = about_design(source, groups)
    n_pairs = len(test.pairwise)
    if n_pairs / (1 + n_permutations) > LEVEL and test.n_permutations == n_permutations:
        notes.append(
            f"{n_pairs} pairs of groups need {round(n_pairs / LEVEL)} permutations at least for a "
            f"family-wise p-value of {LEVEL:g}; pass --permutations"
        )
    if test.rare:
        named = ", ".join(test.rare)
        notes.append(f"not compared by the test, since nearly all rows have one value: {named}")
    return test, notes


def _changes(networks: dict[str, Graph], test: GroupDifference | None) -> pd.DataFrame:
    """List pairs of columns with their weight in each network, and tests of their difference.

    Without a test, only pairs that some group has are listed, those that vary most first.
    """
    import numpy as np
    import pandas as pd

    graphs = list(networks.values())
    if test is not None:
        found = test.edges()
        place = {name: k for k, name in enumerate(graphs[0].names)}
        ends = tuple([place[name] for name in found[end]] for end in ("source", "target"))
        weights = {f"network_{label}": graph.weights[ends] for label, graph in networks.items()}
        return found.assign(**weights)
    i, j = np.nonzero(np.triu(np.any([graph.adjacency for graph in graphs], axis=0), 1))
    names = np.array(graphs[0].names, dtype=object)
    values = {label: graph.weights[i, j] for label, graph in networks.items()}
    spread = np.ptp(np.array(list(values.values())).reshape(len(values), len(i)), axis=0)
    table = pd.DataFrame({"source": names[i], "target": names[j], **values, "spread": spread})
    return table.sort_values("spread", ascending=False, kind="stable", ignore_index=True)


def _columns(frame: pd.DataFrame, labels: pd.Series, test: GroupDifference | None) -> pd.DataFrame:
    """Give means and spreads by group; their p-values are those of pairs, times their number."""
    import numpy as np
    import pandas as pd

    parts = frame.groupby(labels.to_numpy(), observed=True)
    found: dict[str, Any] = {"column": list(frame.columns)}
    for what, table in (("mean", parts.mean()), ("spread", parts.std())):
        found |= {f"{what}_{label}": table.loc[label].to_numpy() for label in labels.cat.categories}
        if test is not None:
            tests = test.pairwise.values()
            pvalues = np.array([one.columns[f"{what}_p_familywise"] for one in tests])
            found[f"{what}_p_familywise"] = np.minimum(pvalues.min(axis=0) * len(pvalues), 1.0)
    return pd.DataFrame(found)


def _found(
    model: Any, networks: dict[str, Graph], test: GroupDifference | None, groups: Groups
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "labels": list(groups.names),
        "n_rows": dict(zip(groups.names, groups.counts, strict=True)),
        "n_edges_by_group": {label: graph.n_edges for label, graph in networks.items()},
        "coupling": float(model.coupling_),
        **about_fit(model),
        "converged": bool(model.converged_),
        "n_iter": int(model.n_iter_),
    }
    if test is not None:
        pairs = test.pairs()
        found["test"] = {
            "n_permutations": test.n_permutations,
            "pvalue": test.pvalue,
            "pvalues": test.pvalues,
            "pvalue_strength": test.pvalue_strength,
            "strengths": dict(zip(groups.names, test.strengths.tolist(), strict=True)),
            "pairs": pairs[["first", "second", "p", "p_holm"]].to_dict("records"),
            "shrinkage": test.shrinkage,
        }
    return found


def _finding(changes: pd.DataFrame, test: GroupDifference | None) -> str:
    if test is None or test.pvalue > LEVEL or changes.empty:
        return ""
    top = changes.iloc[0]
    return f"they differ most between {short_name(top['source'])} and {short_name(top['target'])}"


def _summary(
    model: Any,
    changes: pd.DataFrame,
    test: GroupDifference | None,
    groups: Groups,
    source: Source,
    asked: int,
) -> str:
    """Tell whether the networks differ, then which groups and where, and how they were learned."""
    edges = model.graph_.n_edges
    n_shared = int((_is_shared(model) & model.graph_.adjacency).sum()) // 2
    chosen = choice(model.alpha, len(model.alphas_))
    learned = (
        f"Networks learned together: {count(edges, 'edge')} in any group, {n_shared} of them the "
        f"same in all, at alpha {model.alpha_:.3g} ({chosen}), coupling {model.coupling_:.3g}"
    )
    sizes = zip(groups.names, groups.counts, strict=True)
    lines = [
        _verdict(test, groups, source),
        f"Groups: {', '.join(f'{short_name(name)} ({n} rows)' for name, n in sizes)}",
        "",
        *_pairs(test, asked),
        *_edges(changes, test, groups),
        *_nodes(test),
        learned,
        certificate(model),
    ]
    return "\n".join(lines)


def _is_shared(model: Any) -> Any:
    return (model.precisions_ == model.precisions_[0]).all(axis=0)


def _verdict(test: GroupDifference | None, groups: Groups, source: Source) -> str:
    which = f"the networks of {len(groups.names)} groups of {groups.y.name}"
    return verdict_on(which, test, source)


def _pairs(test: GroupDifference | None, asked: int) -> list[str]:
    """List pairs of groups with their corrected p-values, of so many permutations asked for."""
    if test is None:
        return []
    pairs = test.pairs()
    texts = [
        f"{short_name(str(a))} and {short_name(str(b))}"
        for a, b in zip(pairs["first"], pairs["second"], strict=True)
    ]
    width = max(len(text) for text in texts)
    rows = zip(texts, pairs.to_dict("records"), strict=True)
    lines = [
        f"  {text:<{width}}  p {row['p_holm']:.3f}  most in {short_name(row['source'])} -- "
        f"{short_name(row['target'])} ({row['change']:+.2f})"
        for text, row in rows
    ]
    n_sure = int((pairs["p_holm"] <= LEVEL).sum())
    head = "Pairs of groups, with p-values corrected for their number (Holm)"
    some = f"{n_sure} of {len(pairs)} {'differs' if n_sure == 1 else 'differ'}"
    unsure = []
    if len(pairs) > LEVEL * (asked + 1):
        least = math.ceil(len(pairs) / LEVEL) - 1
        unsure = [f"  {asked} permutations are too few for so many: use --permutations {least}."]
    elif n_sure == 0 and test.pvalue <= LEVEL:
        unsure = ["  All together differ; which of them, these rows cannot tell."]
    return [
        f"{head}: {some if n_sure else 'none differs'}",
        *short_rows(lines, MOST_PAIRS, "pairs.csv"),
        *unsure,
        "",
    ]


def _edges(changes: pd.DataFrame, test: GroupDifference | None, groups: Groups) -> list[str]:
    """List the edges in which groups lie furthest apart, with their weight in each."""
    shown = changes.head(STRONGEST)
    if shown.empty:
        return ["No group has an edge at this alpha. A smaller --alpha finds more.", ""]
    listed = groups.names[:MOST_GROUPS]
    lines = [
        f"  {pair}  {'  '.join(f'{row[name]:+.2f}' for name in listed)}"
        for pair, row in zip(pair_names(shown), shown.to_dict("records"), strict=True)
    ]
    which = ", ".join(short_name(name) for name in listed)
    if len(listed) < len(groups.names):
        which += f"; all {len(groups.names)} in changes.csv"
    if test is None:
        return [f"Edges ranked by how much they vary over groups ({which}):", *lines, ""]
    lines = [
        f"{line}  p {value:.3f}" for line, value in zip(lines, shown["p_familywise"], strict=True)
    ]
    n_sure = int((changes["p_familywise"] <= LEVEL).sum())
    sure = f"{n_sure} of {count(len(changes), 'pair')} of columns "
    sure += f"{'differs' if n_sure == 1 else 'differ'}; the others are a ranking."
    none = f"None of {count(len(changes), 'pair')} of columns differs; they are a ranking."
    return [
        f"Partial correlations by group ({which}), with family-wise p-values:",
        *lines,
        sure if n_sure else none,
        "",
    ]


def _nodes(test: GroupDifference | None) -> list[str]:
    """Tell of the strength of the networks and of their nodes."""
    if test is None:
        return []
    nodes = test.nodes
    named = nodes.loc[nodes["links_p_familywise"] <= LEVEL, "node"].tolist()
    which = f": {', '.join(short_name(name) for name in named[:STRONGEST])}" if named else ""
    more = ", ..." if len(named) > STRONGEST else ""
    at = f"{len(named) or 'none'} of {count(len(nodes), 'column')}"
    links = f"Links differ at {at}{which}{more}"
    return [f"Global strength: p = {test.pvalue_strength:.2g}. {links}"]


def _draw(
    model: Any, networks: dict[str, Graph], changes: pd.DataFrame, test: GroupDifference | None
) -> dict[str, Figure | SubFigure]:
    """Draw the networks and, if they were tested, which groups, edges and nodes differ."""
    from edgewise import plot

    labels = list(networks)
    drawn: dict[str, Figure | SubFigure] = {"networks.png": plot.plot_group_networks(networks)}
    if len(changes):
        drawn["edges.png"] = plot.plot_group_edges(changes, labels).figure
    if test is not None:
        drawn["pairs.png"] = plot.plot_group_pairs(test.pairs()).figure
        drawn["strength.png"] = plot.plot_group_strengths(test.nodes, labels).figure
        verdict: Any = SimpleNamespace(
            observed=test.evidence, null_max=test.null_evidence, pvalue=test.pvalue
        )
        ax = plot.plot_permutation(verdict)
        ax.set_xlabel("evidence for a difference (-log10 of the joint p-value), labels shuffled")
        drawn["permutation.png"] = ax.figure
    return {**drawn, **draw_search(model)}
