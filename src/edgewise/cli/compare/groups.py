"""Fit of `compare` for two groups of rows: the change, its test, in words and pictures."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.labels import TWO_VALUES, Groups
from edgewise.cli.learn.fit import draw_search
from edgewise.cli.run import SEARCH, Result, estimator_of
from edgewise.cli.shell import is_watched
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
    from edgewise.inference import PermutationTest

#: Estimator of each method. The first learns the ratio of densities; the others are for Gaussian
#: columns.
RATIO: Final = "ratio"
ESTIMATORS: Final = {
    RATIO: "NetworkChange",
    "dtrace": "DTraceChange",
    "fused": "FusedNetworkChange",
    "separate": "SeparateNetworkChange",
}
#: Largest p-value at which a change counts as found.
LEVEL: Final = 0.05
#: Rules that choose alpha.
RULES: Final = {"cv": "held-out rows", "ebic": "the extended BIC"}
#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "change.png": "Drawing of the changes",
    "permutation.png": "The largest change beside those of permuted labels",
    SEARCH: "How alpha was chosen",
}
#: Hint at the method to hold the density ratio against.
BASELINE: Final = (
    "For Gaussian data --method dtrace is the strongest simple baseline; see whether it agrees."
)


def compare_groups(
    source: Source, groups: Groups, parameters: dict[str, Any], *, method: str, n_permutations: int
) -> Result:
    """Learn the change, test it, and look at it from both directions."""
    if n_permutations < 0:
        raise InputError(f"--permutations must be at least 1, or 0 for none; got {n_permutations}.")
    learner = estimator_of(ESTIMATORS[method], parameters).set_params(verbose=int(is_watched()))
    model = learner.fit(source.frame, groups.y)
    test = _test(model, source.frame, groups, n_permutations) if n_permutations else None
    directions = model.check_directions(source.frame, groups.y) if method == RATIO else None
    changes, notes = _changes(model, source.frame, groups)
    graph = model.graph_
    if test is not None:
        graph = replace(graph, confidence=1.0 - test.familywise)
    changes = _with_certainty(changes, graph, test, directions)
    return Result(
        model=model,
        graph=graph,
        text=_summary(model, changes, test, directions, groups, source),
        parameters={**parameters_of(model), "method": method, "n_permutations": n_permutations},
        found=_found(model, changes, test, directions, groups),
        notes=[*notes, *getattr(model, "treatment_", ())],
        figures=lambda: _draw(model, graph, changes, test, groups),
        words=ALT,
        tables={"changes.csv": changes},
        shown={"Changes": changes},
        finding=strongest_edge(graph, "the largest change is between"),
        rows=("changes", changes),
    )


def is_signed(model: Any) -> bool:
    """Whether a change has a sign."""
    return getattr(model, "basis", None) != "polynomial"


def _test(model: Any, frame: pd.DataFrame, groups: Groups, n_permutations: int) -> PermutationTest:
    """Fit again with permuted labels, at the alpha that was used."""
    from sklearn.base import clone

    from edgewise.inference import permutation_test

    chosen: dict[str, Any] = {"alpha": float(model.alpha_), "n_jobs": None, "verbose": 0}
    if hasattr(model, "degree_"):
        chosen["degree"] = model.degree_
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Between the groups, the means")
        return permutation_test(
            clone(model).set_params(**chosen),
            # An array, because every permutation would look at the kind of each column of a frame.
            frame.to_numpy(),
            groups.y,
            n_permutations=n_permutations,
            # Means differ between groups, and permuted ones would mix them. The entries of columns
            # of two values have to stay what they are, and their means count in the fit as well.
            center=not _has_two_values(model),
            n_jobs=model.n_jobs,
            random_state=model.random_state,
            verbose=int(is_watched()),
        )


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
    test: PermutationTest | None,
    directions: DirectionCheck | None,
) -> pd.DataFrame:
    """Add p-values, and whether the other direction finds the change too."""
    rows, columns = _ends(changes, graph)
    if test is not None:
        changes = changes.assign(
            p=test.pvalues[rows, columns],
            q=test.qvalues[rows, columns],
            p_familywise=test.familywise[rows, columns],
        )
    if directions is not None:
        signs = directions.backward.weights[rows, columns] * changes["change"]
        found = signs < 0 if directions.is_signed else signs != 0
        changes = changes.assign(both_directions=found.to_numpy())
    return changes


def _found(
    model: Any,
    changes: pd.DataFrame,
    test: PermutationTest | None,
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
        found["permutation_test"] = {
            "n_permutations": test.n_permutations,
            "pvalue": test.pvalue,
            "pvalue_sum": test.pvalue_sum,
            "n_familywise": int((changes["p_familywise"] <= LEVEL).sum()),
        }
    return found


def _summary(
    model: Any,
    changes: pd.DataFrame,
    test: PermutationTest | None,
    directions: DirectionCheck | None,
    groups: Groups,
    source: Source,
) -> str:
    """Tell how many pairs changed, the largest, whether it is chance, and the certificate."""
    before, after = (
        f"{short_name(name)} ({count(number, 'row')})"
        for name, number in zip(groups.names, groups.counts, strict=True)
    )
    found = f"{count(model.graph_.n_edges, 'pair')} of the {source.fingerprint['n_features']}"
    lines = [
        f"{found} columns of {source.name} changed from {before} to {after}",
        "",
        *(_largest(model, changes, test) if model.graph_.n_edges else [_nothing(model)]),
        "",
        *_whether(changes, test),
        f"alpha {model.alpha_:.3g}, {choice(model.alpha, len(model.alphas_), RULES)}",
        certificate(model),
    ]
    if directions is not None:
        rows = count(groups.counts[0], "row")
        size, label = model.effective_sample_size_, short_name(groups.names[0])
        lines += [f"The ratio rests on {size:.0f} of the {rows} of {label}.", str(directions)]
        if model.basis == "gaussian":
            lines.append(BASELINE)
    return "\n".join(lines)


def _largest(model: Any, changes: pd.DataFrame, test: PermutationTest | None) -> list[str]:
    top = changes.head(STRONGEST)
    width = max(len(kind) for kind in top["kind"])
    form = "+.3f" if is_signed(model) else ".3f"
    lines = [
        f"  {pair}  {size:{form}}  {kind:<{width}}"
        for pair, size, kind in zip(pair_names(top), top["change"], top["kind"], strict=True)
    ]
    if test is None:
        return ["Largest changes:", *(line.rstrip() for line in lines)]
    head = "Largest changes, with the share of permutations that give one as large anywhere:"
    values = [f"  p {value:.3f}" for value in top["p_familywise"]]
    return [head, *(line + value for line, value in zip(lines, values, strict=True))]


def _nothing(model: Any) -> str:
    from edgewise.selection.rules import rule_name

    if name := rule_name(model.alpha):
        return f"By {RULES[name]}, no change is stronger than noise."
    return "No change is stronger than this alpha. A smaller --alpha finds more."


def _whether(changes: pd.DataFrame, test: PermutationTest | None) -> list[str]:
    """Tell whether permuted labels explain what was found."""
    if test is None:
        return ["Whether this is more than chance was not tested (--permutations 0)."]
    against = f"p = {test.pvalue:.2g} by the largest change, {test.n_permutations} permutations"
    if 1 / (1 + test.n_permutations) > LEVEL:
        return [f"So few permutations cannot tell whether the networks differ: {against}."]
    if test.pvalue > LEVEL:
        return [f"No significant difference between the networks: {against}."]
    # Permuted groups do not differ, and what does not change varies less in them than in the real
    # ones once something else has changed.
    n_sure = int((changes["p_familywise"] <= LEVEL).sum())
    found = f"{n_sure} of the {count(len(changes), 'change')}"
    verb = "has" if n_sure == 1 else "have"
    words = "the p-value is valid for the largest change; the others are only ranked"
    return [f"The networks differ: {against}.", f"{found} {verb} p <= {LEVEL:g}; {words}."]


def _draw(
    model: Any,
    graph: Graph,
    changes: pd.DataFrame,
    test: PermutationTest | None,
    groups: Groups,
) -> dict[str, Figure | SubFigure]:
    """Draw the changes, and the outcome of the permutation test if there was one."""
    from edgewise import plot

    networks = _networks(changes, graph)
    drawn: dict[str, Figure | SubFigure] = {
        "change.png": plot.plot_change(
            graph,
            before=networks.get("before"),
            after=networks.get("after"),
            title=" to ".join(groups.names),
            signed=is_signed(model),
        ).figure,
        "matrix.png": plot.plot_matrix(graph).figure,
    }
    if test is not None:
        drawn["permutation.png"] = plot.plot_permutation(test).figure
    return {**drawn, **draw_search(model)}


def _networks(changes: pd.DataFrame, graph: Graph) -> dict[str, Graph]:
    """Return the changed pairs in the networks of both groups, if any of them is there."""
    import numpy as np

    from edgewise.graph import Graph

    if not changes[["before", "after"]].any(axis=None):
        return {}
    rows, columns = _ends(changes, graph)
    found = {}
    for when in ("before", "after"):
        weights = np.zeros((graph.n_nodes, graph.n_nodes))
        weights[rows, columns] = weights[columns, rows] = changes[when]
        found[when] = Graph(weights, names=graph.names)
    return found
