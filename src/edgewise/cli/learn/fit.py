"""Fit of `learn`: the network of a table, in words and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from edgewise.cli.confidence import (
    INTERVALS_PICTURE,
    INTERVALS_WORDS,
    Confidence,
    TestedEdges,
    bootstrap_edges,
    complete_rows,
    draw_intervals,
    drop_cases,
    interval_table,
    tested_edges,
    timed_fit,
)
from edgewise.cli.dependence import Counted, counted_rows
from edgewise.cli.run import SEARCH, Result, estimator_of
from edgewise.cli.shell import shows_progress, tell
from edgewise.cli.wording import (
    RULES,
    STRONGEST,
    about_fit,
    certificate,
    choice,
    count,
    pair_names,
    parameters_of,
    short_name,
    short_rows,
    strongest_edge,
    undecided,
    weight_text,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise._core.typing import FloatArray
    from edgewise.cli.input import Source
    from edgewise.graph import Graph

#: The method for columns that are sites in space.
IN_SPACE: Final = "locally-constant"
#: How graphs without a penalty were chosen.
UNPENALISED: Final = {
    "stepwise": (
        "Graph chosen by the extended BIC: the best of {} refitted graphs, then edge by edge; no "
        "penalty"
    ),
    "fdr": "Graph of the pairs that pass tests at a false discovery rate; no penalty",
}
#: The method for columns of levels.
DISCRETE: Final = "discrete"
#: The method for columns of several kinds.
MIXED: Final = "mixed"
#: Estimator of each method.
ESTIMATORS: Final = {
    "gaussian": "GaussianGraph",
    "neighborhood": "NeighborhoodGraph",
    DISCRETE: "DiscreteMarkovNet",
    MIXED: "MixedGraph",
    IN_SPACE: "LocallyConstantGraph",
}
#: What is known of an edge of a discrete network without resamples.
SURE: Final = "the posterior probability of dependence"
#: How to have ordered answers learned as something else.
OTHERWISE: Final = (
    "; --covariance correlation takes them for measurements, --method discrete for levels without "
    "an order"
)
#: The nodes and the stability of their order, among the files.
NODES, CENTRALITY, COMMUNITIES = "nodes.csv", "centrality.png", "communities.png"
STABILITY_TABLE, STABILITY = "stability.csv", "stability.png"
#: Pictures in a page, with words for those who cannot see them; the network is there anyway.
ALT: Final = {
    "sites.png": "The network over the sites",
    "seeds.png": "What single sites are joined to",
    INTERVALS_PICTURE: INTERVALS_WORDS,
    COMMUNITIES: "How often two nodes are in one community of a resample",
    CENTRALITY: "Centrality of the nodes, which says nothing about causes",
    STABILITY: "Centrality in subsets of the rows, against that in all rows",
    SEARCH: "How the network was chosen",
}
#: What the columns of a mixed network are, and what the others tell of each.
COLUMNS: Final = "columns.csv"
#: So many columns are listed before a fit.
COLUMNS_LISTED: Final = 30
#: Level of the test that the words on an empty graph refer to.
LEVEL: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class NodesAsked:
    """What was asked about the nodes.

    Attributes
    ----------
    wanted, stability : bool
        Whether statistics are, and whether their stability is.
    groups : sequence of str or None
        The group of each column, where a file gives them.
    notes : tuple of str
        What was assumed in reading it.
    """

    wanted: bool = False
    stability: bool = False
    groups: Sequence[str] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class AboutNodes:
    """What there is to say about the nodes, as parts of a `Result`; nothing where not asked."""

    lines: Sequence[str] = ()
    found: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    shown: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    figures: Callable[[], Mapping[str, Figure | SubFigure]] = dict
    look: Mapping[str, Any] = field(default_factory=dict)


def learn_graph(
    source: Source,
    method: str,
    parameters: dict[str, Any],
    confidence: Confidence,
    asked: NodesAsked = NodesAsked(),
    *,
    n_jobs: int = 1,
) -> Result:
    """Fit the estimator of a method to all rows, and to resamples where they are asked for."""
    for line in _kinds_table(source.columns):
        tell(line)
    learner = estimator_of(ESTIMATORS[method], parameters)
    rows = _count(source, method)
    learner.set_params(verbose=int(shows_progress()))
    fit, seconds = timed_fit(learner, source.frame, sample_weight=rows.weights)
    # A search of two penalties takes longer than all resamples do without one.
    is_searched_once = method == IN_SPACE and any(_rules(fit))
    how: dict[str, Any] = {
        "seconds": seconds,
        "seed": parameters["random_state"],
        "n_jobs": n_jobs,
        "sample_weight": rows.weights,
        "draws": rows.draws,
        **({"alpha": fit.alpha_, "tau": fit.tau_} if is_searched_once else {}),
    }
    resampled, notes = bootstrap_edges(fit, source.frame, confidence, **how)
    tested = TestedEdges()
    if method != IN_SPACE:
        tested = tested_edges(
            fit,
            resampled,
            source.frame,
            dependence=source.dependence,
            seed=how["seed"],
            n_jobs=n_jobs,
        )
    nodes = _about_nodes(fit, resampled, source, asked, **how) if asked.wanted else AboutNodes()
    graph, n_resamples = resampled.graph_, getattr(resampled, "n_resamples_", None)
    once = "resamples fitted at the alpha and tau that suit all rows"
    columns = _columns(fit, source)
    return Result(
        model=resampled,
        graph=graph,
        sites=_positions(fit),
        text="\n".join(
            [_summary(fit, graph, method, n_resamples, source, rows), *tested.lines, *nodes.lines]
        ),
        # A mixed network has a method of its own, by which it is nodewise.
        parameters={**parameters_of(fit), "method": method, "n_resamples": n_resamples},
        found={
            **_found(fit, method),
            "converged": bool(fit.converged_),
            "n_iter": int(fit.n_iter_),
            **tested.found,
            **nodes.found,
        },
        notes=[
            *([once] if is_searched_once and n_resamples else []),
            *_treatment(fit),
            *rows.notes(has_resamples=bool(n_resamples)),
            *notes,
            *tested.notes,
            *nodes.notes,
        ],
        figures=lambda: {
            **draw(fit, graph, resampled, **nodes.look, about=source.labels),
            **nodes.figures(),
        },
        words=ALT,
        tables={
            **interval_table(resampled),
            **({COLUMNS: columns} if len(columns) else {}),
            **nodes.tables,
        },
        shown={
            f"Columns{', and what the others tell of them' if source.kinds else ''}": _with_shapes(
                columns, source.frame
            ),
            **nodes.shown,
        },
        finding=strongest_edge(graph),
        rows=("edges", _edge_rows(graph, tested.values)),
        edge_values=tested.values,
    )


def _count(source: Source, method: str) -> Counted:
    """Count the rows; networks of levels alone take no weights."""
    if source.dependence is None:
        return Counted()
    rows = counted_rows(source.dependence, source.frame)
    if method != DISCRETE or rows.weights is None:
        return rows
    said = "rows depend on each other, and scores of levels count each of them, so that edges look "
    drawn = rows.parts[1].removeprefix(", and")
    return Counted(draws=rows.draws, parts=(f"{said}surer than they are", f";{drawn}", ""))


def _edge_rows(graph: Graph, values: Mapping[str, FloatArray]) -> pd.DataFrame:
    """List the edges with what is known of them; the confidence only where it is."""
    edges = graph.edges()
    number = {name: k for k, name in enumerate(graph.names)}
    at = tuple([number[name] for name in edges[end]] for end in ("source", "target"))
    more = {name: matrix[at] for name, matrix in values.items()}
    return edges.drop(columns="confidence" if graph.confidence is None else []).assign(**more)


def _kinds_table(columns: Sequence[dict[str, str]]) -> list[str]:
    """List columns with their kinds and what they hold, in lines of a table."""
    widths = [max((len(row[key]) for row in columns), default=0) for key in ("column", "kind")]
    lines = [
        f"  {row['column']:<{widths[0]}}  {row['kind']:<{widths[1]}}  {row['values']}"
        + (f" ({row['label']})" if row.get("label") else "")
        for row in columns
    ]
    return short_rows(lines, COLUMNS_LISTED, COLUMNS)


def _columns(fit: Any, source: Source) -> pd.DataFrame:
    """List the columns, and of a mixed network what the others tell of each."""
    import pandas as pd

    if not source.columns:
        return pd.DataFrame()
    columns = pd.DataFrame(list(source.columns))
    if not source.kinds:
        return columns
    told = fit.predictability_.drop(columns="kind").rename(columns={"value": "predicted"})
    told[["predicted", "baseline"]] = told[["predicted", "baseline"]].round(6) + 0.0
    return columns.join(told.reset_index(drop=True))


#: Columns that the page describes at most.
MOST_DESCRIBED: Final = 1000
#: Bars of a distribution, from the lowest to the highest, and their number.
BARS: Final = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
N_BARS: Final = 10


def _with_shapes(columns: pd.DataFrame, frame: Any) -> pd.DataFrame:
    """Say on the page how many values of each column are missing, and how the others lie."""
    import pandas as pd

    if not hasattr(frame, "isna") or frame.shape[1] > MOST_DESCRIBED:
        # Rows that were read piece by piece are gone.
        return columns
    missing = frame.isna().sum().to_numpy()
    shapes = pd.DataFrame({"column": list(map(str, frame.columns))})
    shapes["distribution"] = [_bars(frame.iloc[:, k].dropna()) for k in range(frame.shape[1])]
    numbers = frame.select_dtypes("number")
    if not len(columns) and numbers.shape[1] == frame.shape[1]:
        rows = {"mean": numbers.mean(), "sd": numbers.std(), "min": numbers.min()}
        rows["max"] = numbers.max()
        shapes = shapes.assign(**{name: values.to_numpy(float) for name, values in rows.items()})
    if missing.any():
        shapes["missing"] = missing
    return columns.join(shapes.drop(columns="column")) if len(columns) else shapes


def _bars(values: pd.Series[Any]) -> str:
    """Draw how often values occur in one line: few ones each, many in steps of equal width."""
    import numpy as np
    import pandas as pd

    is_number = pd.api.types.is_numeric_dtype(values.dtype)
    counts = values.value_counts(sort=False).sort_index() if is_number else values.value_counts()
    heights = counts.to_numpy()
    if is_number and len(counts) > N_BARS:
        heights = np.histogram(values.to_numpy(float), bins=N_BARS)[0]
    shares = heights[:N_BARS] / max(heights.max(initial=0), 1)
    return "".join(BARS[round(share * (len(BARS) - 1))] for share in shares.tolist())


def _about_nodes(
    fit: Any, resampled: Any, source: Source, asked: NodesAsked, **how: Any
) -> AboutNodes:
    """Describe the nodes, with intervals where there are resamples, and their stability."""
    from edgewise import plot
    from edgewise.plot.nodes import plot_case_dropping

    graph = resampled.graph_
    rows, few = complete_rows(source.frame, "predictability")
    table, n_communities = _node_table(graph, resampled, rows, asked.groups)
    members = _resampled_communities(resampled)
    if members is not None:
        at = table.columns.tolist().index("community") + 1
        stability = _community_stability(members, table["community"].to_numpy())
        table.insert(at, "community_stability", stability)
    notes = [*asked.notes, *few]
    found: dict[str, Any] = {"n_communities": n_communities}
    if "predictability" in table:
        found["mean_predictability"] = round(float(table["predictability"].mean()), 4)
    lines = ["", _most_central(table, n_communities)]
    tables = {NODES: table}
    dropping = None
    if asked.stability and graph.n_edges:
        dropping = drop_cases(fit, source.frame, **how)
        tables[STABILITY_TABLE] = dropping.table()
        found["cs_coefficient"] = dropping.coefficient().round(4).to_dict()
        lines.append(_stability(found["cs_coefficient"]))
    elif asked.stability:
        notes.append("no stability, since there is no edge")

    def draw_nodes() -> dict[str, Figure | SubFigure]:
        drawn: dict[str, Figure | SubFigure] = {
            CENTRALITY: plot.plot_centrality(table.set_index("node"), order="strength")
        }
        if members is not None:
            drawn[COMMUNITIES] = plot.plot_communities(
                members, names=graph.names, members=table["community"]
            ).figure
        if dropping is not None:
            drawn[STABILITY] = plot_case_dropping(dropping).figure
        return drawn

    return AboutNodes(
        lines=lines,
        found=found,
        notes=notes,
        tables=tables,
        shown={"Nodes": table.drop(columns="measure", errors="ignore").round(3)},
        figures=draw_nodes,
        look={
            "groups": _community_names(table) if asked.groups is None else asked.groups,
            "rings": table.get("predictability"),
        },
    )


def _resampled_communities(resampled: Any) -> Any:
    """Communities in each resample, of shape (n_resamples, p); None without resamples."""
    from edgewise.metrics import communities

    return resampled.resampled(communities) if hasattr(resampled, "node_intervals") else None


def _community_stability(drawn: Any, member: Any) -> Any:
    """How often a node is with others of its community, on average; 1 for one alone."""
    import numpy as np

    from edgewise.plot.nodes import community_shares

    together = member[:, None] == member
    shares = community_shares(drawn)
    np.fill_diagonal(together, False)
    n_others = together.sum(axis=1)
    return np.where(n_others > 0, (shares * together).sum(axis=1) / np.maximum(n_others, 1), 1.0)


def _node_table(
    graph: Graph, resampled: Any, rows: pd.DataFrame, groups: Sequence[str] | None
) -> tuple[pd.DataFrame, int]:
    """List the nodes with their statistics; also count the communities."""
    from edgewise.metrics import communities, node_statistics, predictability

    member = communities(graph) + 1
    between = member.tolist() if groups is None else groups
    table = node_statistics(graph, communities=between)
    table.insert(0, "community", member)
    if groups is not None:
        table.insert(0, "group", groups)
    if len(rows):
        table = table.join(predictability(graph, rows.set_axis(graph.names, axis=1)))
    if hasattr(resampled, "node_intervals"):
        for name, part in resampled.node_intervals().groupby("statistic", sort=False):
            at = table.columns.tolist().index(name) + 1
            for end in ("upper", "lower"):
                table.insert(at, f"{name}_{end}", part[end].to_numpy())
    return table.rename_axis("node").reset_index(), int(member.max())


def _most_central(table: pd.DataFrame, n_communities: int) -> str:
    top = table.nlargest(3, "strength")
    names = [
        f"{short_name(node)} ({strength:.2f})"
        for node, strength in zip(top["node"], top["strength"], strict=True)
    ]
    sizes = table["community"].value_counts()
    n_alone = int((sizes == 1).sum())
    groups = communities_text(n_communities - n_alone)
    alone = f" and {count(n_alone, 'column')} alone" if n_alone else ""
    return f"Most central, by strength: {', '.join(names)}; {groups}{alone}"


def _community_names(table: pd.DataFrame) -> list[str]:
    """Name the community of each node; those of one node share a name, as they are many."""
    size = table["community"].map(table["community"].value_counts())
    pairs = zip(table["community"], size, strict=True)
    return [f"community {number}" if n > 1 else "by itself" for number, n in pairs]


def communities_text(number: int) -> str:
    """Count communities in words."""
    return "1 community" if number == 1 else f"{number} communities"


def _stability(coefficients: Mapping[str, float]) -> str:
    """Tell the CS coefficients, and whether the order of the nodes can be interpreted."""
    said = [f"{name.replace('_', ' ')} {value:.2f}" for name, value in coefficients.items()]
    return f"CS coefficient: {', '.join(said)} (not to be interpreted below 0.25, better 0.5)"


def _treatment(fit: Any) -> list[str]:
    """List the treatment of the rows, and how to declare other kinds."""
    return [f"{note}{OTHERWISE}" if "ordered answers" in note else note for note in fit.treatment_]


def _found(fit: Any, method: str) -> dict[str, Any]:
    from edgewise.selection.rules import rule_name

    if method == DISCRETE:
        return {"score": float(fit.criterion_value_), "n_tests": int(fit.n_tests_)}
    if method == MIXED:
        alphas = dict(zip(fit.kinds_, fit.alpha_.tolist(), strict=True))
        rule = rule_name(fit.alpha)
        return {"alphas": alphas, "alpha_rule": rule, "gap": fit.gap_, **undecided(fit)}
    if method != IN_SPACE:
        return about_fit(fit)
    tau = {"tau": float(fit.tau_), "tau_rule": _rules(fit)[1]}
    return about_fit(fit) | tau | {"n_groups": _n_groups(fit)}


def _rules(fit: Any) -> tuple[str | None, str | None]:
    """Name the rules that chose alpha and tau; None where they are numbers."""
    from edgewise.selection.rules import rule_name

    return rule_name(fit.alpha), rule_name(fit.tau)


def _n_groups(fit: Any) -> int:
    """Count the sets of edges of neighbours that were fused to one weight."""
    return int(fit.groups_.max()) + 1


def _summary(
    fit: Any, graph: Graph, method: str, n_resamples: int | None, source: Source, rows: Counted
) -> str:
    """Tell how many edges there are, the strongest of them, the penalty and the certificate."""
    edges, n_rows = count(graph.n_edges, "edge"), _rows(fit, source, rows.weights)
    if method == IN_SPACE and (n_groups := _n_groups(fit)):
        is_fused = n_groups < graph.n_edges
        how = f"fused into {count(n_groups, 'group')}" if is_fused else "none fused"
        edges += f", {how},"
    return "\n".join(
        [
            f"{edges} among the {graph.n_nodes} columns of {source.name} ({n_rows})",
            "",
            *(_strongest(fit, graph, method, n_resamples) if graph.n_edges else _none(fit, method)),
            "",
            *(
                [_search(fit)]
                if method == DISCRETE
                else [_penalties(fit, method), certificate(fit, method)]
            ),
            *([_predicted(fit)] if method == MIXED and graph.n_edges else []),
        ]
    )


def _predicted(fit: Any) -> str:
    """Name the columns that the others tell most of."""
    table = fit.predictability_
    gain = (table["value"] - table["baseline"]) / (1.0 - table["baseline"])
    parts = []
    for name in gain.sort_values(ascending=False).index[:2]:
        row = table.loc[name]
        words = f"{row['measure']} {row['value']:.0%}"
        more = f" (most frequent level {row['baseline']:.0%})" if row["baseline"] else ""
        parts.append(f"{short_name(name)}, {words}{more}")
    return f"Best predicted from the others: {'; '.join(parts)}."


def _rows(fit: Any, source: Source, weights: FloatArray | None) -> str:
    """Count the rows that were used, those that there are where it is fewer, and their worth."""
    n_used = getattr(fit, "n_samples_", source.n_samples)
    of_all = "" if n_used == source.n_samples else f"{n_used} of "
    n_effective = n_used if weights is None else round(float(weights.sum()))
    worth = f", effective sample size {n_effective}" if n_effective < n_used else ""
    return f"{of_all}{count(source.n_samples, 'row')}{worth}"


def _strongest(fit: Any, graph: Graph, method: str, n_resamples: int | None) -> list[str]:
    weight = "partial correlation"
    if method == "neighborhood":
        weight = "standardised coefficient"
    if method == DISCRETE:
        weight = f"{_association(graph)} given the neighbours"
    if method == MIXED:
        has_none = graph.signed is not None and not graph.signed[graph.adjacency].all()
        unsigned = ", which has no sign beside levels without an order" if has_none else ""
        weight = f"standardised effect{unsigned}"
    top = graph.edges().head(STRONGEST)
    weights = [f"{weight_text(graph, edge, 3):>6}" for _, edge in top.iterrows()]
    lines = [f"  {pair}  {value}" for pair, value in zip(pair_names(top), weights, strict=True)]
    if graph.confidence is None:
        return [f"Strongest, by {weight}:", *lines]
    sure = f"the share of {n_resamples} resamples with it" if n_resamples else SURE
    shares = [f"  {share:4.0%}" for share in top.confidence]
    head = f"Strongest, by {weight}, and {sure}:"
    return [head, *(line + share for line, share in zip(lines, shares, strict=True))]


def _association(graph: Graph) -> str:
    """Name the measure of strength of a discrete network."""
    if graph.signed is None:
        return "Kendall's tau-b"
    has_signs = bool((graph.adjacency & graph.signed).any())
    return "Kendall's tau-b or, without an order, Cramér's V" if has_signs else "Cramér's V"


def _none(fit: Any, method: str) -> list[str]:
    """Say why there is no edge, by what was tested."""
    from edgewise.selection.rules import rule_name

    p_value = getattr(fit, "smallest_p_value_", math.nan)
    if p_value > LEVEL:
        test = f"a Bonferroni test at {LEVEL:.0%} (smallest p = {p_value:.2g})"
        return [f"No edge: no pair of columns passes {test}."]
    if method == DISCRETE:
        return ["No two columns are more likely dependent than not, given the others."]
    found = f" A correlation passes a Bonferroni test all the same (p = {p_value:.1g})"
    option = {"gaussian": "--alpha stepwise", "neighborhood": "--method gaussian"}.get(method)
    passes = "" if math.isnan(p_value) or not option else f"{found}: {option} joins such pairs."
    if name := rule_name(fit.alpha):
        return [f"No edge, by {RULES[name]}.{passes}"]
    penalties = (
        "alpha and tau. Smaller ones find"
        if method == IN_SPACE
        else ("alpha. A smaller --alpha finds")
    )
    return [f"No edge at this {penalties} more.{passes}"]


def _penalties(fit: Any, method: str) -> str:
    """Give alpha, and tau where there is one, and tell how they were chosen."""
    from edgewise.selection.rules import rule_name

    if method == MIXED:
        low, high = fit.alpha_.min(), fit.alpha_.max()
        if rule_name(fit.alpha) is None:
            return f"alpha {low:.3g}, as given"
        if fit.selection_ is None:
            return f"alpha {low:.3g} to {high:.3g}, for each column the smallest without an edge"
        n_alphas = max(len(chosen.alphas) for chosen in fit.selection_)
        return f"alpha {low:.3g} to {high:.3g}, for each column {choice(fit.alpha, n_alphas)}"
    if math.isnan(fit.alpha_):
        return UNPENALISED[rule_name(fit.alpha) or ""].format(len(fit.alphas_))
    alpha = f"alpha {fit.alpha_:.3g}"
    if method != IN_SPACE:
        return f"{alpha}, {choice(fit.alpha, len(fit.alphas_))}"
    tau = f"tau {fit.tau_:.3g}"
    n_alphas, n_taus = len(fit.alphas_), len(fit.taus_)
    if all(_rules(fit)):
        return f"{alpha} and {tau}, {choice('cv', f'{n_alphas} x {n_taus}')}"
    if any(_rules(fit)):
        return f"{alpha}, {choice(fit.alpha, n_alphas)}; {tau}, {choice(fit.tau, n_taus)}"
    return f"{alpha} and {tau}, as given"


def _search(fit: Any) -> str:
    """Give the score and what the search for it took; no search proves it the best."""
    from edgewise.report.page import CRITERIA

    return (
        f"{CRITERIA[fit.criterion]} {fit.criterion_value_:.6g}, the best of "
        f"{fit.n_iter_ + 1} graphs on the way of a search that computed {fit.n_tests_} tests"
    )


def draw(
    fit: Any, graph: Graph, resampled: Any = None, **look: Any
) -> dict[str, Figure | SubFigure]:
    """Draw the network, with nodes of some look, its matrix and how it was chosen, by file.

    Graphs of columns that are sites in space are drawn over the sites too, with the edges that
    were fused bundled and outlined, and on a grid as maps of what single sites are joined to.
    """
    from edgewise import plot
    from edgewise.plot.seed_maps import plot_seed_maps

    groups = getattr(fit, "groups_", None)
    figures: dict[str, Figure | SubFigure] = {
        "network.png": plot.plot_network(graph, **look).figure,
        "matrix.png": plot.plot_matrix(graph, groups=groups).figure,
    }
    if groups is not None:
        figures["sites.png"] = plot.plot_sites(graph, _sites(fit), groups=groups).figure
        if isinstance(fit.neighbors, tuple):
            figures["seeds.png"] = plot_seed_maps(graph, shape=fit.neighbors)
    return {**figures, **draw_intervals(resampled), **draw_search(fit)}


def draw_search(fit: Any) -> dict[str, Figure | SubFigure]:
    """Draw how alpha was chosen or how a structure was found, for the page alone."""
    from edgewise.plot.curves import plot_score_history, plot_selection
    from edgewise.selection.choose import Selection

    selection = getattr(fit, "selection_", None)
    if isinstance(selection, Selection):
        return {SEARCH: plot_selection(selection).figure}
    if hasattr(fit, "criterion_value_") and len(fit.history_) > 1:
        return {SEARCH: plot_score_history(fit.history_).figure}
    return {}


def _sites(fit: Any) -> Any:
    """Return where to draw the columns: for listed pairs, a layout of the adjacency of sites."""
    if isinstance(fit.neighbors, list):
        return _layout_of_pairs(fit.pairs_, fit.n_features_in_)
    return fit.neighbors


def _positions(fit: Any) -> FloatArray | None:
    """Say where on a page each column sits, if they sit in space."""
    from edgewise.data.neighbors import site_positions

    if not hasattr(fit, "groups_"):
        return None
    if isinstance(fit.neighbors, list):
        return _layout_of_pairs(fit.pairs_, fit.n_features_in_)
    return site_positions(fit.neighbors, fit.n_features_in_)


def _layout_of_pairs(pairs: Any, n_sites: int) -> FloatArray:
    import numpy as np

    from edgewise.graph import Graph
    from edgewise.plot._layout import Page, place

    beside = np.zeros((n_sites, n_sites))
    beside[pairs[:, 0], pairs[:, 1]] = beside[pairs[:, 1], pairs[:, 0]] = 1.0
    page = Page(low=np.zeros(2), high=np.full(2, 400.0), cell=np.full(2, 30.0), radius=6.0)
    return place(Graph(beside), "auto", page).points
