"""Fit of `compare` for two groups of rows: the change, its test, in words and pictures."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.dependence import AS_THEY_ARE, about_order, why_untested
from edgewise.cli.labels import Groups
from edgewise.cli.learn.fit import draw_search
from edgewise.cli.prepare import preparation
from edgewise.cli.run import SEARCH, Result, estimator_of
from edgewise.cli.shell import shows_progress
from edgewise.cli.wording import (
    STRONGEST,
    about_fit,
    certificate,
    choice,
    count,
    pair_names,
    parameters_of,
    short_name,
    strongest_edge,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise.cli.input import Source
    from edgewise.estimators.change.density_ratio import DirectionCheck
    from edgewise.graph import Graph
    from edgewise.inference.comparison import NetworkComparison

#: Estimator of each method. The first learns the ratio of densities; the others are for Gaussian
#: columns.
RATIO: Final = "ratio"
ESTIMATORS: Final = {
    RATIO: "NetworkChange",
    "dtrace": "DTraceChange",
    "fused": "FusedNetworkChange",
    "separate": "SeparateNetworkChange",
}
#: The same in words.
ESTIMATORS_IN_WORDS: Final = {
    "NetworkChange": "Density ratio",
    "DTraceChange": "D-trace",
    "FusedNetworkChange": "Fused regressions",
    "SeparateNetworkChange": "Two graphical lassos",
}
#: Rows of a group that a test needs.
FEWEST_ROWS: Final = 5
#: Largest p-value at which a change counts as found.
LEVEL: Final = 0.05
#: Rules that choose alpha.
RULES: Final = {"cv": "held-out rows", "ebic": "the extended BIC"}
#: What the changes are of, and the title of the table of what the method learned.
PARTIAL: Final = "partial correlations"
COEFFICIENTS: Final = "Coefficients of the method (not tested)"
#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "change.png": "Drawing of the changes: blue rose, orange fell",
    "permutation.png": "Test statistic and its permutation distribution",
    SEARCH: "How alpha was chosen",
}
#: Hint at the method to hold the density ratio against.
BASELINE: Final = (
    "For Gaussian data --method dtrace is the strongest simple baseline; see whether it agrees."
)


def compare_groups(
    source: Source,
    groups: Groups,
    parameters: dict[str, Any],
    *,
    method: str,
    n_permutations: int,
    risk: float | None = None,
) -> Result:
    """Learn the change, test it, and look at it from both directions."""
    frame, notes = adjusted(source.frame, groups), []
    if parameters.get("standardize") == "within":
        each = "columns standardised within each group"
        notes.append(f"{each}; --set standardize=pooled includes variances")
    learner = estimator_of(ESTIMATORS[method], parameters).set_params(verbose=int(shows_progress()))
    model = learner.fit(frame, groups.y)
    test, more = run_test(source, groups, groups.y, model, n_permutations, risk)
    directions = model.check_directions(frame, groups.y) if method == RATIO else None
    learned, about = _learned(model, frame, groups, test, directions)
    graph, what = model.graph_, ""
    tables, shown = {"coefficients.csv": learned}, {COEFFICIENTS: learned}
    changes = learned
    if test is not None:
        graph, what = _significant(test)
        changes = test.table()
        tables = {"changes.csv": changes, **tables, "columns.csv": test.columns}
        shown = {"Differences of all pairs of columns": changes, **shown}
    return Result(
        model=model,
        graph=graph,
        text=_summary(model, learned, test, directions, groups, source),
        parameters={
            **parameters_of(model),
            "method": method,
            "n_permutations": n_permutations,
        },
        found=_found(model, test, directions, source, groups),
        notes=[*notes, *more, *about, *getattr(model, "treatment_", ())],
        figures=lambda: _draw(model, graph, test, groups),
        words=ALT,
        tables=tables,
        networks={"coefficients.graphml": model.graph_},
        shown=shown,
        finding=_finding(graph, test, what),
        subject=f"The changes of {what}" if what else "The changes",
        noun="change",
        rows=("changes", changes),
    )


def run_test(
    source: Source,
    groups: Groups,
    labels: pd.Series,
    model: Any,
    n_permutations: int,
    risk: float | None,
) -> tuple[NetworkComparison | None, list[str]]:
    """Test whether the networks differ, whatever alpha was chosen."""
    from edgewise.inference import compare_networks

    if not n_permutations:
        return None, []
    if _not_tested(source, groups):
        return None, []
    length = 1
    if groups.design is None and source.dependence is not None:
        length = source.dependence.block_length(min(groups.counts))
    test = compare_networks(
        source.frame,
        labels,
        design=groups.design,
        n_permutations=n_permutations,
        block_length=length,
        risk=risk,
        n_jobs=model.n_jobs,
        random_state=model.random_state,
        verbose=int(shows_progress()),
    )
    notes = about_design(source, groups)
    for (first, second), reason in test.untested.items():
        notes.append(f"{first} and {second} were not compared with each other: {reason}")
    if test.rare:
        named = ", ".join(test.rare)
        notes.append(f"not compared by the test, since nearly all rows have one value: {named}")
    return test, notes


def about_no_test(test: NetworkComparison | None, source: Source, groups: Groups) -> dict[str, str]:
    """Why the record has no test, where that was not asked for."""
    why = _not_tested(source, groups) if test is None else ""
    return {"untested": why} if why else {}


def _not_tested(source: Source, groups: Groups) -> str:
    """Say why groups cannot be tested; empty where they can."""
    if min(groups.counts) < FEWEST_ROWS:
        return f"a group has fewer than {FEWEST_ROWS} rows"
    if groups.untested or source.dependence is None or groups.design is not None:
        return groups.untested
    return why_untested(source.dependence, min(groups.counts))


def _significant(test: NetworkComparison) -> tuple[Graph, str]:
    """Pairs whose difference is significant, and of what: partial correlations, else others."""
    # No p-value is as small as this, so that nothing is significant where the verdict is not.
    level = LEVEL if test.pvalue <= LEVEL else 1e-9
    found = test.significant(level, by="familywise")
    kept = test.marginal.significant(level, by="familywise")
    if found.n_edges or not kept.n_edges:
        return found, PARTIAL
    first, second = test.correlations
    return replace(kept, weights=(second - first) * kept.adjacency), "correlations"


def _finding(graph: Graph, test: NetworkComparison | None, what: str) -> str:
    """Name the largest change for a headline, among those that are significant if tested."""
    if test is None:
        return strongest_edge(graph, "the largest change is between")
    if test.pvalue > LEVEL:
        return ""
    if not graph.n_edges:
        return "no single pair of columns is significant by itself"
    largest = strongest_edge(graph, "the largest significant change is between")
    if what == PARTIAL:
        return largest
    return f"no partial correlation is significant by itself; of correlations, {largest}"


def is_signed(model: Any) -> bool:
    """Whether a change has a sign."""
    return getattr(model, "basis", None) != "polynomial"


def adjusted(frame: pd.DataFrame, groups: Groups) -> pd.DataFrame:
    """Columns without what the covariates explain of them within groups."""
    if groups.design is None:
        return frame
    member: Any = groups.y.cat.codes.to_numpy()
    basis = groups.design.basis(groups.names, member)
    return frame if basis is None else frame - basis @ (basis.T @ frame.to_numpy())


def about_design(source: Source, groups: Groups) -> list[str]:
    """Say what was permuted, where that is not row by row."""
    found = source.dependence
    if found is not None and groups.design is None and found.kind == "blocks":
        length = found.block_length(min(groups.counts))
        permuted = f"labels permuted in blocks of {length} consecutive rows"
        if found.length is not None:
            return [permuted]
        return [f"{about_order(found.order)}: {permuted}; {AS_THEY_ARE}"]
    is_asked = preparation().cluster is not None or found is None or not found.cluster
    each = "" if is_asked else f"'{found.cluster}'"  # type: ignore[union-attr]
    within = f"{each}, which have rows in every group" if each else "subjects"
    said = {
        "paired": f"labels permuted within {within}",
        "blocks": f"labels permuted within {each}, some of which have rows in several groups"
        if each and getattr(groups.design, "clusters", None) is None
        else "labels permuted within blocks",
        "clusters": f"whole {each or 'clusters of rows'} change groups in permutations",
        "covariates": "residuals of a regression on the covariates permuted",
    }
    return [text for name, text in said.items() if getattr(groups.design, name, None) is not None]


def _learned(
    model: Any,
    frame: pd.DataFrame,
    groups: Groups,
    test: NetworkComparison | None,
    directions: DirectionCheck | None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """List the coefficients of the method, with their kinds where the pair is significant.

    Kinds come from the networks of the groups, if they can be learned.
    """
    learned: pd.DataFrame = model.changes()
    notes: tuple[str, ...] = ()
    if model.graph_.n_edges:
        try:
            with warnings.catch_warnings():
                # They only serve to name the kinds, and advice about them would mislead.
                warnings.simplefilter("ignore")
                learned = model.changes(frame, groups.y)
        except InputError as error:
            notes = (
                f"kinds of change follow its sign, without the networks of the groups: {error}",
            )
    rows, columns = _ends(learned, model.graph_)
    plain: Any = "changed"
    if is_signed(model):
        plain = (learned["change"] > 0).map({True: "increased", False: "decreased"})
    if test is None or test.pvalue > LEVEL:
        learned = learned.assign(kind=plain)
    else:
        is_sure = test.partial.familywise[rows, columns] <= LEVEL
        learned = learned.assign(kind=learned["kind"].where(is_sure, plain))
    if directions is not None:
        signs = directions.backward.weights[rows, columns] * learned["change"]
        found = signs < 0 if directions.is_signed else signs != 0
        learned = learned.assign(both_directions=found.to_numpy())
    return learned, notes


def _ends(changes: pd.DataFrame, graph: Graph) -> list[list[int]]:
    """Return the numbers of the columns that each change is between."""
    place = {name: k for k, name in enumerate(graph.names)}
    return [[place[name] for name in changes[end]] for end in ("source", "target")]


def _found(
    model: Any,
    test: NetworkComparison | None,
    directions: DirectionCheck | None,
    source: Source,
    groups: Groups,
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "labels": dict(zip(("before", "after"), groups.names, strict=True)),
        "n_rows": dict(zip(("before", "after"), groups.counts, strict=True)),
        **about_fit(model),
        "converged": bool(model.converged_),
        "n_iter": int(model.n_iter_),
        **about_no_test(test, source, groups),
    }
    if directions is not None:
        found["degree"] = int(model.degree_)
        found["effective_sample_size"] = float(model.effective_sample_size_)
        found["directions"] = {
            "agreement": float(directions.agreement),
            "n_forward": directions.forward.n_edges,
            "n_backward": directions.backward.n_edges,
        }
    return found | about_test(test, source, groups)


def about_test(test: NetworkComparison | None, source: Source, groups: Groups) -> dict[str, Any]:
    """Record the test and its verdict."""
    if test is None:
        return {}
    return {
        "verdict": {"p_value": test.pvalue, "differ": test.pvalue <= LEVEL},
        "test": {
            "n_permutations": test.n_permutations,
            "pvalue": test.pvalue,
            "pvalues": test.pvalues,
            **{
                f"pvalue_{what}s": float(test.columns[f"{what}_pvalue_familywise"].min())
                for what in ("mean", "spread")
            },
            "pvalue_strength": test.pvalue_strength,
            "shrinkage": test.shrinkage,
            "design": about_design(source, groups),
        },
    }


def _summary(
    model: Any,
    learned: pd.DataFrame,
    test: NetworkComparison | None,
    directions: DirectionCheck | None,
    groups: Groups,
    source: Source,
) -> str:
    """Say whether the networks differ, then where, and how the change was learned."""
    from edgewise.estimators.change.density_ratio import TRUST

    method = ESTIMATORS_IN_WORDS[type(model).__name__]
    where = " (coefficients.csv)"
    lines = [
        _verdict(test, groups, source),
        "",
        *(_ranking(model, learned) if test is None else _tested(test)),
        "",
        *_columns(test),
        f"{method}: {count(model.graph_.n_edges, 'pair')}{where} at {penalty_of(model)}",
        certificate(model),
    ]
    if directions is not None:
        rows = count(groups.counts[0], "row")
        size, label = model.effective_sample_size_, short_name(groups.names[0])
        lines.append(f"The ratio rests on {size:.0f} of the {rows} of {label}.")
        if model.graph_.n_edges:
            is_ranking = test is not None and test.pvalue > LEVEL
            # A ranking is not to be trusted because it was made twice.
            lines.append(str(directions).removesuffix(TRUST if is_ranking else "").rstrip())
        if model.basis == "gaussian":
            lines.append(BASELINE)
    return "\n".join(lines)


def penalty_of(model: Any, used: str = "") -> str:
    """Say which penalty on changes was used, and how it was chosen."""
    name = model._strength
    chosen = choice(getattr(model, name), len(getattr(model, f"{name}s_")), RULES)
    return f"{name} {used or format(getattr(model, f'{name}_'), '.3g')}, {chosen}"


def _verdict(test: NetworkComparison | None, groups: Groups, source: Source) -> str:
    before, after = (
        f"{short_name(name)} ({count(number, 'row')})"
        for name, number in zip(groups.names, groups.counts, strict=True)
    )
    return verdict_on(f"the networks of {before} and {after}", test, groups, source)


def verdict_on(which: str, test: NetworkComparison | None, groups: Groups, source: Source) -> str:
    """Say in one line whether some networks differ; in a second one why that was not tested."""
    columns = f"{source.fingerprint['n_features']} columns of {source.name}"
    if test is None:
        why = _not_tested(source, groups)
        reason = f".\n{why[:1].upper()}{why[1:]}." if why else "."
        return f"Whether {which} differ was not tested: {columns}{reason}"
    against = f"p = {test.pvalue:.2g}, {test.n_permutations} permutations, {columns}"
    if 1 / (1 + test.n_permutations) > LEVEL:
        return f"Too few permutations to say whether {which} differ: {against}"
    if test.pvalue > LEVEL:
        return f"No significant difference between {which}: {against}"
    return f"{which[0].upper()}{which[1:]} differ: {against}"


def kinds_of(test: NetworkComparison) -> str:
    """Give the smallest p-value of each kind of dependence, for a difference that no pair shows."""
    smallest: dict[str, float] = {}
    for name, pvalue in test.pvalues.items():
        kind = name.partition(",")[0]
        smallest[kind] = min(pvalue, smallest.get(kind, 1.0))
    said = ", ".join(f"{kind} {pvalue:.2g}" for kind, pvalue in smallest.items())
    return (
        f"The difference lies in many pairs together. Smallest p by kind, each by itself: {said}."
    )


def _ranking(model: Any, learned: pd.DataFrame) -> list[str]:
    """List the largest coefficients, which nothing has tested."""
    if learned.empty:
        return ["No change is stronger than this alpha. A smaller --alpha finds more."]
    shown = learned.head(STRONGEST)
    form = "+.3f" if is_signed(model) else ".3f"
    lines = [
        f"  {pair}  {size:{form}}  {kind}"
        for pair, size, kind in zip(pair_names(shown), shown["change"], shown["kind"], strict=True)
    ]
    return ["Pairs ranked by the size of their change:", *lines]


def _tested(test: NetworkComparison) -> list[str]:
    """List the pairs whose difference is significant, else a ranking, each with p of its own."""
    table = test.table()
    n_sure, start = kind_that_differs(table)
    if test.pvalue > LEVEL or not n_sure:
        head = "Only a ranking of the pairs by the change of their partial correlation:"
        if test.pvalue <= LEVEL:
            head = f"{head[:-1]}, none significant by itself:"
        return [head, *_rows(table, ""), *([kinds_of(test)] if test.pvalue <= LEVEL else [])]
    head = f"Significant changes of {(start and 'correlations') or PARTIAL}, family-wise p-values:"
    if start:
        head = f"No partial correlation is significant by itself. {head}"
    verb = "has" if n_sure == 1 else "have"
    said = f"{n_sure} of {count(len(table), 'pair')} {verb} p <= {LEVEL:g}."
    sure = significant_first(table, start, "standardized").head(n_sure)
    return [head, *_rows(sure, start), said]


def kind_that_differs(table: pd.DataFrame) -> tuple[int, str]:
    """Count the significant pairs, and say how columns of their kind of correlation begin.

    Pairs of partial correlations count first, those of correlations where there are none.
    """
    found = {
        start: int((table[f"{start}pvalue_familywise"] <= LEVEL).sum())
        for start in ("", "correlation_")
    }
    start = "" if found[""] or not found["correlation_"] else "correlation_"
    return found[start], start


def significant_first(table: pd.DataFrame, start: str, size: str) -> pd.DataFrame:
    """Sort pairs: those that are significant, then the others, the largest size first."""
    import numpy as np

    is_chance = table[f"{start}pvalue_familywise"].to_numpy() > LEVEL
    order = np.lexsort((-np.abs(table[f"{start}{size}"].to_numpy()), is_chance))
    return table.iloc[order]


def _rows(table: pd.DataFrame, start: str) -> list[str]:
    """Write the first pairs with both estimates, their difference and its family-wise p-value."""
    shown, what = table.head(STRONGEST), "correlation" if start else "estimate"
    heads = (f"{what}_first", f"{what}_second", f"{start}difference", f"{start}pvalue_familywise")
    return [
        f"  {pair}  {first:+.2f} to {second:+.2f}  {change:+.2f}  p {p:.3f}"
        for pair, first, second, change, p in zip(
            pair_names(shown), *(shown[head] for head in heads), strict=True
        )
    ]


def _columns(test: NetworkComparison | None) -> list[str]:
    """Say which means and spreads differ, which are no part of the networks."""
    if test is None:
        return []
    numbers = [
        int((test.columns[f"{what}_pvalue_familywise"] <= LEVEL).sum())
        for what in ("mean", "spread")
    ]
    means = f"means differ in {numbers[0]} of {len(test.columns)} columns"
    spreads = f"spreads in {numbers[1]} (p <= {LEVEL:g}, columns.csv)"
    return [f"Apart from the networks: {means}, {spreads}."]


def _draw(
    model: Any, graph: Graph, test: NetworkComparison | None, groups: Groups
) -> dict[str, Figure | SubFigure]:
    """Draw the changes, if there are any, and the outcome of the permutation test."""
    from edgewise import plot

    drawn: dict[str, Figure | SubFigure] = {}
    if graph.n_edges:
        title, noun = " to ".join(groups.names), "change"
        if test is not None:
            noun = "significant change"
            n = graph.n_nodes * (graph.n_nodes - 1) // 2
            title += f": {graph.n_edges} of {n} pairs, family-wise p <= {LEVEL:g}"
        is_told = test is not None or is_signed(model)
        drawn["change.png"] = plot.plot_change(graph, title=title, signed=is_told, noun=noun).figure
        drawn["matrix.png"] = plot.plot_matrix(graph).figure
    return {**drawn, **draw_verdict(test), **draw_search(model)}


def draw_verdict(test: NetworkComparison | None) -> dict[str, Figure | SubFigure]:
    """Draw the test statistic and its permutation distribution, if there was a test."""
    from edgewise.plot.curves import plot_permutation

    if test is None:
        return {}
    verdict: Any = SimpleNamespace(
        observed=test.evidence, null_max=test.null_evidence, pvalue=test.pvalue
    )
    ax = plot_permutation(verdict)
    ax.set_xlabel("evidence for a difference (-log10 of the joint p-value), labels permuted")
    return {"permutation.png": ax.figure}
