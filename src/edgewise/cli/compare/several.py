"""Fit of `compare` for several groups of rows: joint networks, tests and pictures."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.compare.groups import (
    LEVEL,
    about_no_test,
    about_test,
    adjusted,
    draw_verdict,
    kind_that_differs,
    kinds_of,
    run_test,
    significant_first,
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
    from edgewise.inference.comparison import NetworkComparison

#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "networks.png": "The network of each group, every column at the same place",
    "pairs.png": "Which groups differ: the family-wise p-value of each pair of groups",
    "edges.png": "Edges by groups: partial correlations, those that differ most on top",
    "strength.png": "Strength of each column in each group",
    "permutation.png": "Test statistic and its permutation distribution",
    SEARCH: "How alpha was chosen",
}
#: Parameters of the density ratio, which has a fit of its own.
OF_RATIO: Final = ("basis", "degree", "ridge", "standardize", "negligible", "device")
#: Pairs of groups that a summary lists.
MOST_PAIRS: Final = 10
#: Groups whose weights are listed with each edge.
MOST_GROUPS: Final = 6
#: What is smaller does not change the digits of a weight.
SHOWN: Final = 0.005


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
    frame = adjusted(source.frame, groups)
    labels = groups.y.cat.rename_categories(list(groups.names))
    _refuse_flat(frame, labels)
    joint = {name: value for name, value in parameters.items() if name not in OF_RATIO}
    if method == "ratio":
        # The strength of the ratio is none of the networks.
        joint.pop("alpha", None)
    learner = estimator_of("JointGraphs", {**joint, "order": "chain" if ordered else "none"})
    model = learner.set_params(verbose=int(shows_progress())).fit(frame, labels)
    test, notes = run_test(source, groups, labels, model, n_permutations, risk)
    networks = dict(zip(groups.names, model.graphs_, strict=True))
    changes = _changes(networks, test)
    tables: dict[str, pd.DataFrame | str] = {"changes.csv": changes}
    shown = {"Edges by group": changes}
    if test is not None:
        differences = test.table()
        tables |= {
            "pairs.csv": test.groups,
            "nodes.csv": test.nodes,
            "differences.csv": differences[differences["pvalue"] <= LEVEL],
            "columns.csv": test.columns,
        }
        shown = {"Pairs of groups": test.groups, **shown, "Nodes": test.nodes}
    if method == "ratio":
        from edgewise.estimators.change.density_ratio import group_changes

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
        found=_found(model, networks, test, source, groups),
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
    is_flat = frame.groupby(labels, observed=True).nunique() == 1
    flat = [str(name) for name in frame if is_flat[name].any()]
    if flat:
        label = is_flat.index[is_flat[flat[0]]][0]
        one = f"has a single value in group '{label}': it has"
        some = f"have a single value in some groups, '{flat[0]}' in group '{label}': they have"
        raise InputError(
            "groups_without_edges",
            flat=flat,
            one=one if len(flat) == 1 else some,
            drop_command=drop_command(flat),
        )


def _files(names: tuple[str, ...]) -> dict[str, str]:
    """Name the file of each group after its label, with a number where that is not enough."""
    plain = [re.sub(r"[^\w.-]+", "-", name).strip("-.")[:40].lower() for name in names]
    is_clear = len(set(plain)) == len(plain) and all(plain)
    return {
        name: f"network-{text if is_clear else k + 1}.graphml"
        for k, (name, text) in enumerate(zip(names, plain, strict=True))
    }


def _changes(networks: dict[str, Graph], test: NetworkComparison | None) -> pd.DataFrame:
    """List pairs of columns with their weight in each network, and tests of their difference.

    Without a test, only pairs that some group has are listed, those that vary most first.
    """
    import numpy as np
    import pandas as pd

    graphs = list(networks.values())
    if test is not None:
        found = test.edges
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


def _found(
    model: Any,
    networks: dict[str, Graph],
    test: NetworkComparison | None,
    source: Source,
    groups: Groups,
) -> dict[str, Any]:
    found: dict[str, Any] = {
        **about_no_test(test, source, groups),
        "labels": list(groups.names),
        "n_rows": dict(zip(groups.names, groups.counts, strict=True)),
        "n_edges_by_group": {label: graph.n_edges for label, graph in networks.items()},
        "coupling": float(model.coupling_),
        **about_fit(model),
        "converged": bool(model.converged_),
        "n_iter": int(model.n_iter_),
    }
    found |= about_test(test, source, groups)
    if test is not None:
        pairs = test.groups[["first", "second", "pvalue", "pvalue_holm"]]
        found["test"] |= {
            "strengths": dict(zip(groups.names, test.strengths.tolist(), strict=True)),
            "pairs": pairs.to_dict("records"),
            "untested": [list(pair) for pair in test.untested],
        }
    return found


def _finding(changes: pd.DataFrame, test: NetworkComparison | None) -> str:
    """Name the pair of columns that differs most among those that are significant."""
    if test is None or test.pvalue > LEVEL:
        return ""
    n_sure, start = kind_that_differs(changes)
    if n_sure:
        top = significant_first(changes, start, "spread").iloc[0]
        words = "in correlations, not partial ones, " if start else ""
        ends = " and ".join(short_name(top[end]) for end in ("source", "target"))
        return f"{words}they differ most between {ends}"
    return "no single pair of columns is significant by itself"


def _summary(
    model: Any,
    changes: pd.DataFrame,
    test: NetworkComparison | None,
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


def _verdict(test: NetworkComparison | None, groups: Groups, source: Source) -> str:
    which = f"the networks of {len(groups.names)} groups of {groups.y.name}"
    return verdict_on(which, test, groups, source)


def _pairs(test: NetworkComparison | None, asked: int) -> list[str]:
    """List pairs of groups with their corrected p-values, of so many permutations asked for."""
    if test is None:
        return []
    pairs = test.groups
    if pairs.empty:
        return []
    texts = [
        f"{short_name(str(a))} and {short_name(str(b))}"
        for a, b in zip(pairs["first"], pairs["second"], strict=True)
    ]
    width = max(len(text) for text in texts)
    rows = zip(texts, pairs.to_dict("records"), strict=True)
    lines = [f"  {text:<{width}}  p {row['pvalue_holm']:.3f}{_most(row)}" for text, row in rows]
    n_sure = int((pairs["pvalue_holm"] <= LEVEL).sum())
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


def _most(row: Mapping[Any, Any]) -> str:
    """Name the columns that two groups differ most in, where that is significant."""
    if row["pvalue_largest"] > LEVEL:
        return ""
    ends = " -- ".join(short_name(row[end]) for end in ("source", "target"))
    return f"  most in {ends} ({row['difference']:+.2f}, p {row['pvalue_largest']:.3f})"


def _edges(changes: pd.DataFrame, test: NetworkComparison | None, groups: Groups) -> list[str]:
    """List the edges in which groups lie furthest apart, with their weight in each."""
    listed = groups.names[:MOST_GROUPS]
    which = ", ".join(short_name(name) for name in listed)
    if len(listed) < len(groups.names):
        which += f"; all {len(groups.names)} in changes.csv"
    if changes.empty:
        return ["No group has an edge at this alpha. A smaller --alpha finds more.", ""]
    if test is None:
        if changes["spread"].max() < SHOWN:
            # Differences that nobody can see rank nothing.
            first = changes[groups.names[0]].abs()
            lines = _rows(changes.loc[first.sort_values(ascending=False).index], listed, "")
            return [f"The networks learned together are equal in all groups ({which}):", *lines, ""]
        lines = _rows(changes, listed, "")
        return [f"Edges ranked by how much they vary over groups ({which}):", *lines, ""]
    n, start = kind_that_differs(changes)
    kind = "Correlations" if start else "Partial correlations"
    ranked = significant_first(changes, start, "spread")
    head = f"{kind} by group ({which}), with family-wise p-values:"
    pairs = count(len(changes), "pair")
    said = f"{n} of {pairs} of columns {'differs' if n == 1 else 'differ'}"
    if test.pvalue > LEVEL or not n:
        said = f"None of {pairs} of columns differs significantly; they are a ranking."
    elif start:
        said += ", in correlations only: no partial correlation, which networks are of, does."
    else:
        said += "; the others are a ranking." if n < len(changes) else "."
    joint = [kinds_of(test)] if test.pvalue <= LEVEL and not n else []
    return [head, *_rows(ranked, listed, start), said, *joint, ""]


def _rows(changes: pd.DataFrame, listed: Sequence[str], start: str) -> list[str]:
    """Write the first pairs of columns with their weights by group, and p-values where tested."""
    shown = changes.head(STRONGEST)
    lines = []
    for pair, row in zip(pair_names(shown), shown.to_dict("records"), strict=True):
        weights = "  ".join(f"{row[f'{start}{name}']:+.2f}" for name in listed)
        p = row.get(f"{start}pvalue_familywise")
        lines.append(f"  {pair}  {weights}" + ("" if p is None else f"  p {p:.3f}"))
    return lines


def _nodes(test: NetworkComparison | None) -> list[str]:
    """Tell of the strength of the networks and of their nodes."""
    if test is None:
        return []
    nodes = test.nodes
    named = nodes.loc[nodes["links_pvalue_familywise"] <= LEVEL, "node"].tolist()
    which = f": {', '.join(short_name(name) for name in named[:STRONGEST])}" if named else ""
    more = ", ..." if len(named) > STRONGEST else ""
    at = f"{len(named) or 'none'} of {count(len(nodes), 'column')}"
    links = f"Links differ at {at}{which}{more}"
    return [f"Global strength: p = {test.pvalue_strength:.2g}. {links}"]


def _draw(
    model: Any, networks: dict[str, Graph], changes: pd.DataFrame, test: NetworkComparison | None
) -> dict[str, Figure | SubFigure]:
    """Draw the networks and, if they were tested, which groups, edges and nodes differ."""
    from edgewise.plot.groups import (
        plot_group_edges,
        plot_group_networks,
        plot_group_pairs,
        plot_group_strengths,
    )

    labels = list(networks)
    drawn: dict[str, Figure | SubFigure] = {"networks.png": plot_group_networks(networks)}
    if len(changes):
        drawn["edges.png"] = plot_group_edges(changes, labels).figure
    if test is not None:
        drawn["pairs.png"] = plot_group_pairs(test.groups).figure
        drawn["strength.png"] = plot_group_strengths(test.nodes, labels).figure
    return {**drawn, **draw_verdict(test), **draw_search(model)}
