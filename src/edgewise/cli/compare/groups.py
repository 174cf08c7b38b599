"""Fit of `compare` for two groups of rows: the change, its test, in words and pictures."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.dependence import AS_THEY_ARE, about_order, why_untested
from edgewise.cli.labels import TWO_VALUES, Groups
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
    from edgewise.estimators import DirectionCheck
    from edgewise.graph import Graph
    from edgewise.inference import GroupDifference, NetworkDifference

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
#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "change.png": "Drawing of the changes: blue rose, orange fell",
    "permutation.png": "The evidence for a difference beside that of permuted labels",
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
    scale: str = "within",
    risk: float | None = None,
) -> Result:
    """Learn the change, test it, and look at it from both directions."""
    if n_permutations < 0:
        raise InputError(f"--permutations must be at least 1, or 0 for none; got {n_permutations}.")
    frame, notes = adjusted(source.frame, groups), []
    if scale == "within" and parameters.get("basis") != TWO_VALUES:
        notes.append("columns standardised within each group; --scale pooled counts spreads too")
        if method != RATIO:
            frame = _standardized(frame, groups)
    learner = estimator_of(ESTIMATORS[method], parameters).set_params(verbose=int(shows_progress()))
    model = learner.fit(frame, groups.y)
    test = None
    why = not_tested(source, groups)
    if n_permutations and not why:
        options = options_of_test(model, source, groups, n_permutations, risk)
        test = network_difference(source.frame, groups.y, **options)
        notes += about_design(source, groups)
    if test is not None and test.rare:
        named = ", ".join(test.rare)
        notes.append(f"not compared by the test, since nearly all rows have one value: {named}")
    if n_permutations and why:
        notes.append(f"not tested: {why}")
    directions = model.check_directions(frame, groups.y) if method == RATIO else None
    changes, more = _changes(model, frame, groups)
    graph = model.graph_
    if test is not None:
        graph = replace(graph, confidence=1.0 - test.partial.familywise)
    changes = _with_certainty(changes, graph, test, directions, signed=is_signed(model))
    tables = {"changes.csv": changes}
    if test is not None:
        tables["columns.csv"] = test.columns
    return Result(
        model=model,
        graph=graph,
        text=_summary(model, changes, test, directions, groups, source),
        parameters={
            **parameters_of(model),
            "method": method,
            "n_permutations": n_permutations,
            "scale": scale,
        },
        found=_found(model, changes, test, directions, groups),
        notes=[*notes, *more, *getattr(model, "treatment_", ())],
        figures=lambda: _draw(model, graph, test, groups),
        words=ALT,
        tables=tables,
        shown={"Changes": changes},
        finding=_finding(graph, test),
        subject="The changes",
        rows=("changes", changes),
    )


def _finding(graph: Graph, test: NetworkDifference | None) -> str:
    """Name the largest change for a headline, among those that are sure where there is a test."""
    if test is None:
        return strongest_edge(graph, "the largest change is between")
    if test.pvalue > LEVEL:
        return ""
    sure = strongest_edge(graph, "the largest sure change is between", least=1.0 - LEVEL)
    return sure or "no single pair of columns is sure to have changed"


def is_signed(model: Any) -> bool:
    """Whether a change has a sign."""
    return getattr(model, "basis", None) != "polynomial"


def _standardized(frame: pd.DataFrame, groups: Groups) -> pd.DataFrame:
    """Columns without the mean and the spread of their group."""
    parts = frame.groupby(groups.y.to_numpy(), observed=True)
    spread = parts.transform("std", ddof=0)
    return (frame - parts.transform("mean")) / spread.where(spread > 0, 1.0)


def network_difference(X: Any, y: Any, **options: Any) -> NetworkDifference:
    """Test the difference of the networks, whatever alpha was chosen."""
    from edgewise.inference import network_difference_test

    return network_difference_test(X, y, **options)


def not_tested(source: Source, groups: Groups) -> str:
    """Say why groups cannot be tested; empty where they can."""
    if min(groups.counts) < FEWEST_ROWS:
        return f"a group has fewer than {FEWEST_ROWS} rows"
    if groups.untested or source.dependence is None or groups.design is not None:
        return groups.untested
    return why_untested(source.dependence, min(groups.counts))


def options_of_test(
    model: Any, source: Source, groups: Groups, n_permutations: int, risk: float | None
) -> dict[str, Any]:
    """Return the options of a test of the groups."""
    length = 1
    if groups.design is None and source.dependence is not None:
        length = source.dependence.block_length(min(groups.counts))
    return {
        "n_permutations": n_permutations,
        "block_length": length,
        "design": groups.design,
        "risk": risk,
        "n_jobs": model.n_jobs,
        "random_state": model.random_state,
        "verbose": int(shows_progress()),
    }


def adjusted(frame: pd.DataFrame, groups: Groups) -> pd.DataFrame:
    """Columns without what the covariates explain of them within groups."""
    if groups.design is None:
        return frame
    member: Any = groups.y.cat.codes.to_numpy()
    basis = groups.design.basis(groups.names, member)
    return frame if basis is None else frame - basis @ (basis.T @ frame.to_numpy())


def about_design(source: Source, groups: Groups) -> list[str]:
    """Note what was permuted, where that is not row by row."""
    found = source.dependence
    if found is not None and groups.design is None and found.kind == "blocks":
        length = found.block_length(min(groups.counts))
        permuted = f"labels permuted in blocks of {length} rows"
        if found.length is not None:
            return [f"{permuted}, as --blocks asks"]
        return [f"{about_order(found.order)}: {permuted}; {AS_THEY_ARE}"]
    is_asked = preparation().cluster is not None or found is None or not found.cluster
    each = "" if is_asked else f"'{found.cluster}'"  # type: ignore[union-attr]
    said = {
        "paired": f"labels permuted within {each}, which have rows in every group"
        if each
        else "labels permuted within pairs, as --paired asks",
        "blocks": "labels permuted within blocks, as --block asks",
        "clusters": f"whole {each} change groups in permutations"
        if each
        else "whole clusters of rows change groups in permutations, as --cluster asks",
        "covariates": "residuals permuted, of columns adjusted as --adjust asks",
    }
    return [text for name, text in said.items() if getattr(groups.design, name, None) is not None]


def _changes(
    model: Any, frame: pd.DataFrame, groups: Groups
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """List the changes with what the networks of the groups say of them, if they can be learned."""
    if not model.graph_.n_edges:
        return model.changes(), ()
    # In one unit, so that all columns count alike in the networks as they do in the change.
    scaled = frame if _has_two_values(model) else frame / frame.std()
    try:
        with warnings.catch_warnings():
            # They only serve to name the kinds, and advice about them would be taken for other.
            warnings.simplefilter("ignore")
            return model.changes(scaled, groups.y), ()
    except InputError as error:
        note = f"kinds of change go by its sign, without the networks of the groups: {error}"
        return model.changes(), (note,)


def _has_two_values(model: Any) -> bool:
    return getattr(model, "basis", None) == TWO_VALUES


def _ends(changes: pd.DataFrame, graph: Graph) -> list[list[int]]:
    """Return the numbers of the columns that each change is between."""
    place = {name: k for k, name in enumerate(graph.names)}
    return [[place[name] for name in changes[end]] for end in ("source", "target")]


def _with_certainty(
    changes: pd.DataFrame,
    graph: Graph,
    test: NetworkDifference | None,
    directions: DirectionCheck | None,
    *,
    signed: bool,
) -> pd.DataFrame:
    """Add p-values, and whether the other direction finds the change too.

    A pair is only said to be gained, lost or the like where its change is significant.
    """
    rows, columns = _ends(changes, graph)
    is_sure = changes["change"] != changes["change"]
    if test is not None:
        changes = changes.assign(
            p=test.partial.pvalues[rows, columns],
            q=test.partial.qvalues[rows, columns],
            p_familywise=test.partial.familywise[rows, columns],
        )
        is_sure = (changes["p_familywise"] <= LEVEL) & (test.pvalue <= LEVEL)
    plain = (changes["change"] > 0).map({True: "increased", False: "decreased"})
    kinds = changes["kind"].where(is_sure, plain if signed else "changed")
    changes = changes.assign(kind=kinds)
    if directions is not None:
        signs = directions.backward.weights[rows, columns] * changes["change"]
        found = signs < 0 if directions.is_signed else signs != 0
        changes = changes.assign(both_directions=found.to_numpy())
    return changes


def _found(
    model: Any,
    changes: pd.DataFrame,
    test: NetworkDifference | None,
    directions: DirectionCheck | None,
    groups: Groups,
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "labels": dict(zip(("before", "after"), groups.names, strict=True)),
        "n_rows": dict(zip(("before", "after"), groups.counts, strict=True)),
        **about_fit(model),
        "converged": bool(model.converged_),
        "n_iter": int(model.n_iter_),
    }
    if directions is not None:
        found["degree"] = int(model.degree_)
        found["effective_sample_size"] = float(model.effective_sample_size_)
        found["directions"] = {
            "agreement": float(directions.agreement),
            "n_forward": directions.forward.n_edges,
            "n_backward": directions.backward.n_edges,
        }
    if test is not None:
        found["test"] = {
            "n_permutations": test.n_permutations,
            "pvalue": test.pvalue,
            "pvalues": test.pvalues,
            "pvalue_means": test.pvalue_means,
            "pvalue_spreads": test.pvalue_spreads,
            "shrinkage": test.shrinkage,
        }
    return found


def _summary(
    model: Any,
    changes: pd.DataFrame,
    test: NetworkDifference | None,
    directions: DirectionCheck | None,
    groups: Groups,
    source: Source,
) -> str:
    """Tell whether the networks differ, then where, and how the change was learned."""
    from edgewise.estimators.change.density_ratio import TRUST

    top = changes
    if test is not None and changes.empty:
        top = test.pairs().assign(kind="")
    method = ESTIMATORS_IN_WORDS[type(model).__name__]
    chosen = choice(model.alpha, len(model.alphas_), RULES)
    lines = [
        _verdict(test, groups, source),
        "",
        *_ranking(model, top, test),
        "",
        *_columns(test),
        f"{method}: {count(model.graph_.n_edges, 'pair')} at alpha {model.alpha_:.3g}, {chosen}",
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


def _verdict(test: NetworkDifference | None, groups: Groups, source: Source) -> str:
    before, after = (
        f"{short_name(name)} ({count(number, 'row')})"
        for name, number in zip(groups.names, groups.counts, strict=True)
    )
    return verdict_on(f"the networks of {before} and {after}", test, source)


def verdict_on(which: str, test: NetworkDifference | GroupDifference | None, source: Source) -> str:
    """Say in one line whether some networks differ."""
    columns = f"{source.fingerprint['n_features']} columns of {source.name}"
    if test is None:
        return f"Whether {which} differ was not tested; {columns}"
    against = f"p = {test.pvalue:.2g}, {test.n_permutations} permutations, {columns}"
    if 1 / (1 + test.n_permutations) > LEVEL:
        return f"Too few permutations to say whether {which} differ: {against}"
    if test.pvalue > LEVEL:
        return f"No significant difference between {which}: {against}"
    return f"{which[0].upper()}{which[1:]} differ: {against}"


def _kinds(test: NetworkDifference) -> str:
    """Give the smallest p-value of each kind of dependence, for a difference that no pair shows."""
    smallest: dict[str, float] = {}
    for name, pvalue in test.pvalues.items():
        kind = name.partition(",")[0]
        smallest[kind] = min(pvalue, smallest.get(kind, 1.0))
    said = ", ".join(f"{kind} {pvalue:.2g}" for kind, pvalue in smallest.items())
    return (
        f"The difference lies in many pairs together. Smallest p by kind, each by itself: {said}."
    )


def _ranking(model: Any, top: pd.DataFrame, test: NetworkDifference | None) -> list[str]:
    """List the largest changes, as a ranking where they are not significant."""
    which = "Largest changes"
    if test is not None and test.pvalue <= LEVEL:
        # Those that are significant first, however small.
        is_sure = top["p_familywise"] <= LEVEL
        if is_sure.any() and not is_sure.is_monotonic_decreasing:
            which = "Significant changes, then the largest"
            top = top.loc[is_sure.sort_values(ascending=False, kind="stable").index]
    shown = top.head(STRONGEST)
    form = "+.3f" if is_signed(model) or not model.graph_.n_edges else ".3f"
    width = max((len(kind) for kind in shown["kind"]), default=0)
    lines = [
        f"  {pair}  {size:{form}}  {kind:<{width}}"
        for pair, size, kind in zip(pair_names(shown), shown["change"], shown["kind"], strict=True)
    ]
    if test is None:
        if shown.empty:
            return ["No change is stronger than this alpha. A smaller --alpha finds more."]
        return ["Pairs ranked by the size of their change:", *(line.rstrip() for line in lines)]
    values = [f"  p {value:.3f}" for value in shown["p_familywise"]]
    lines = [line + value for line, value in zip(lines, values, strict=True)]
    unit = (
        "coefficients of standardised columns" if model.graph_.n_edges else "partial correlations"
    )
    n_sure = int((top["p_familywise"] <= LEVEL).sum())
    if test.pvalue > LEVEL or n_sure == 0:
        head = f"Pairs ranked by their change ({unit}), none of them significant by itself:"
        if test.pvalue > LEVEL:
            return [f"Only a ranking of the pairs by their change ({unit}):", *lines]
        return [head, *lines, _kinds(test)]
    verb = "has" if n_sure == 1 else "have"
    return [
        f"{which} ({unit}), with family-wise p-values:",
        *lines,
        f"{n_sure} of {count(len(top), 'pair')} {verb} p <= {LEVEL:g}; the others are a ranking.",
    ]


def _columns(test: NetworkDifference | None) -> list[str]:
    """Tell of means and spreads, which are no part of the networks."""
    if test is None:
        return []
    numbers = [
        int((test.columns[f"{what}_p_familywise"] <= LEVEL).sum()) for what in ("mean", "spread")
    ]
    means = f"means differ in {numbers[0]} of {len(test.columns)} columns"
    spreads = f"spreads in {numbers[1]} (p <= {LEVEL:g}, columns.csv)"
    return [f"Apart from the networks: {means}, {spreads}."]


def _draw(
    model: Any,
    graph: Graph,
    test: NetworkDifference | None,
    groups: Groups,
) -> dict[str, Figure | SubFigure]:
    """Draw the changes, and the outcome of the permutation test if there was one."""
    from edgewise import plot

    drawn: dict[str, Figure | SubFigure] = {
        "change.png": plot.plot_change(
            graph,
            title=" to ".join(groups.names),
            signed=is_signed(model),
        ).figure,
        "matrix.png": plot.plot_matrix(graph).figure,
    }
    if test is not None:
        verdict: Any = SimpleNamespace(
            observed=test.evidence, null_max=test.null_evidence, pvalue=test.pvalue
        )
        ax = plot.plot_permutation(verdict)
        ax.set_xlabel("evidence for a difference (-log10 of the joint p-value), labels shuffled")
        drawn["permutation.png"] = ax.figure
    return {**drawn, **draw_search(model)}
