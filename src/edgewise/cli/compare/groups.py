"""From rows of two groups to what changed between them: what `compare` and `demo` share."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.labels import TWO_VALUES, Groups
from edgewise.cli.learn.fit import about_fit, parameters_of, run_record
from edgewise.cli.wording import STRONGEST, certificate, count, pair_names, short_name

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise.estimators import DirectionCheck
    from edgewise.graph import Graph
    from edgewise.inference import PermutationTest
    from edgewise.report import Report


#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "change.png": "Drawing of the changes",
    "permutation.png": "The largest change beside those of shuffled labels",
    "windows.png": "Drawing of the changes in every window",
    "search.png": "How alpha was chosen",
}


def write_compared(
    folder: Path, compared: Compared, settings: ChangeSettings, text: str, record: dict[str, Any]
) -> Report:
    """Write everything that a comparison leaves behind, and return what its page says."""
    from edgewise.cli.learn.fit import with_search
    from edgewise.cli.run import report_of, write_results, write_table
    from edgewise.cli.wording import strongest_edge

    figures = pictures(compared, settings)
    write_table(compared.changes, folder / "changes.csv")
    report = report_of(
        text,
        graph=compared.graph,
        model=compared.model,
        record=record,
        figures=with_search(figures, compared.model),
        words=ALT,
        tables={"Changes": compared.changes},
        finding=strongest_edge(compared.graph, "the largest change is between"),
    )
    write_results(folder, report, model=compared.model, figures=figures)
    return report


def pictures(compared: Compared, settings: ChangeSettings) -> dict[str, Figure | SubFigure]:
    """Draw the changes, and the outcome of the permutation test if there was one."""
    from edgewise.plot import plot_change, plot_matrix, plot_permutation

    networks = _networks(compared)
    drawn: dict[str, Figure | SubFigure] = {
        "change.png": plot_change(
            compared.graph,
            before=networks.get("before"),
            after=networks.get("after"),
            title=" to ".join(compared.groups.names),
            signed=settings.is_signed,
        ).figure,
        "matrix.png": plot_matrix(compared.graph).figure,
    }
    if compared.test is not None:
        drawn["permutation.png"] = plot_permutation(compared.test).figure
    return drawn


def _networks(compared: Compared) -> dict[str, Graph]:
    """Return the changed pairs in the networks of both groups, if any of them is there."""
    import numpy as np

    from edgewise.graph import Graph

    changes, names = compared.changes, compared.graph.names
    if not changes[["before", "after"]].any(axis=None):
        return {}
    place = {name: k for k, name in enumerate(names)}
    rows, columns = ([place[name] for name in changes[end]] for end in ("source", "target"))
    found = {}
    for when in ("before", "after"):
        weights = np.zeros((len(names), len(names)))
        weights[rows, columns] = weights[columns, rows] = changes[when]
        found[when] = Graph(weights, names=names)
    return found


def short_rows(lines: Sequence[str], most: int, where: str) -> list[str]:
    """Keep the first lines, and say where the others are."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[:most], f"  ... and {len(lines) - most} more in {where}"]


#: The method that learns the ratio of densities; the others are for Gaussian columns.
RATIO: Final = "ratio"
#: Bases whose features have a degree.
WITH_DEGREE: Final = ("power", "polynomial")
#: Largest p-value at which a change counts as found.
LEVEL: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class ChangeSettings:
    """How to compare; None leaves a parameter at the default of its estimator."""

    method: str = RATIO
    basis: str = "gaussian"
    degree: tuple[int, ...] = ()
    alpha: float | str | None = None
    ridge: float | None = None
    sparsity: float | None = None
    negligible: float = 0.0
    n_permutations: int = 200
    alpha_ratio: float | None = None
    tol: float | None = None
    max_iter: int | None = None
    seed: int = 0
    n_jobs: int = 1

    @property
    def is_signed(self) -> bool:
        """Whether a change has a sign."""
        return self.method != RATIO or self.basis != "polynomial"


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """What was found between two groups.

    Attributes
    ----------
    model : estimator
        Fitted to all rows.
    graph : Graph
        Pairs that changed, with 1 minus the family-wise p-value as confidence where there is one.
    changes : DataFrame
        The same as a table, with kinds and p-values.
    test : PermutationTest or None
        Against shuffled labels.
    directions : DirectionCheck or None
        The change learned the other way round as well, of the density ratio.
    groups : Groups
        The labels.
    notes : tuple of str
        What was done without being asked for.
    seconds : float
        Time that it took.
    """

    model: Any
    graph: Graph
    changes: pd.DataFrame
    test: PermutationTest | None
    directions: DirectionCheck | None
    groups: Groups
    notes: tuple[str, ...]
    seconds: float


def compare_groups(
    frame: pd.DataFrame, groups: Groups, settings: ChangeSettings, *, verbose: bool = False
) -> Compared:
    """Learn the change, test it, and look at it from both directions."""
    if settings.n_permutations < 0:
        raise InputError(
            f"--permutations must be at least 1, or 0 for none; got {settings.n_permutations}."
        )
    start = time.perf_counter()
    learner = estimator_of(settings)
    model = learner.set_params(verbose=int(verbose)).fit(frame, groups.y)
    test = _test(model, frame, groups, settings, verbose=verbose)
    directions = model.check_directions(frame, groups.y) if settings.method == RATIO else None
    changes, notes = _changes(model, frame, groups, settings)
    graph = model.graph_
    if test is not None:
        graph = replace(graph, confidence=1.0 - test.familywise)
    return Compared(
        model=model,
        graph=graph,
        changes=_with_certainty(changes, graph, test, directions),
        test=test,
        directions=directions,
        groups=groups,
        notes=notes,
        seconds=time.perf_counter() - start,
    )


def estimator_of(settings: ChangeSettings) -> Any:
    """Build the estimator."""
    import edgewise.estimators

    if settings.n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning. Pass 1 or more, or -1 for all cores.")
    names = {
        RATIO: "NetworkChange",
        "dtrace": "DTraceChange",
        "fused": "FusedNetworkChange",
        "separate": "SeparateNetworkChange",
    }
    parameters: dict[str, Any] = {
        "negligible": settings.negligible,
        "n_jobs": settings.n_jobs,
        "random_state": settings.seed,
    }
    given = ["alpha", "ridge", "sparsity", "alpha_ratio", "tol", "max_iter"]
    if settings.method == RATIO:
        parameters["basis"] = settings.basis
        if settings.degree:
            several = len(settings.degree) > 1
            parameters["degree"] = list(settings.degree) if several else settings.degree[0]
    parameters |= {name: value for name in given if (value := getattr(settings, name)) is not None}
    return getattr(edgewise.estimators, names[settings.method])(**parameters)


def fixed(model: Any) -> Any:
    """Copy an estimator, without what was fitted and with what a search has chosen."""
    from sklearn.base import clone

    chosen = {"alpha": float(model.alpha_), "n_jobs": None, "verbose": 0}
    if hasattr(model, "degree_"):
        chosen["degree"] = model.degree_
    return clone(model).set_params(**chosen)


def _test(
    model: Any, frame: pd.DataFrame, groups: Groups, settings: ChangeSettings, *, verbose: bool
) -> PermutationTest | None:
    """Fit again with shuffled labels, at the alpha that was used."""
    from edgewise.inference import permutation_test

    if settings.n_permutations == 0:
        return None
    # Means differ between groups, and shuffled ones would mix them. The entries of columns of two
    # values have to stay what they are, and their means count in the fit as well.
    is_centred = not _has_two_values(settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Between the groups, the means")
        return permutation_test(
            fixed(model),
            # An array, because every shuffle would look at the kind of each column of a frame.
            frame.to_numpy(),
            groups.y,
            n_permutations=settings.n_permutations,
            center=is_centred,
            n_jobs=settings.n_jobs,
            random_state=settings.seed,
            verbose=int(verbose),
        )


def _changes(
    model: Any, frame: pd.DataFrame, groups: Groups, settings: ChangeSettings
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """List the changes with what the networks of the groups say of them, if they can be learned."""
    if not model.graph_.n_edges:
        return model.changes(), ()
    # In one unit, so that all columns count alike in the networks as they do in the change.
    scaled = frame if _has_two_values(settings) else frame / frame.std()
    try:
        with warnings.catch_warnings():
            # They only serve to name the kinds, and advice about them would be taken for other.
            warnings.simplefilter("ignore")
            return model.changes(scaled, groups.y), ()
    except InputError as error:
        note = f"kinds of change go by its sign, without the networks of the groups: {error}"
        return model.changes(), (note,)


def _has_two_values(settings: ChangeSettings) -> bool:
    return settings.method == RATIO and settings.basis == TWO_VALUES


def _with_certainty(
    changes: pd.DataFrame,
    graph: Graph,
    test: PermutationTest | None,
    directions: DirectionCheck | None,
) -> pd.DataFrame:
    """Add p-values, and whether the other direction finds the change too."""
    place = {name: k for k, name in enumerate(graph.names)}
    ends = [[place[name] for name in changes[end]] for end in ("source", "target")]
    rows, columns = ends
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


def change_record(
    compared: Compared,
    settings: ChangeSettings,
    *,
    command: str,
    data: dict[str, Any],
    treatment: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather what is needed to tell, and to repeat, what a comparison did."""
    model, test = compared.model, compared.test
    found: dict[str, Any] = {
        "labels": dict(zip(("before", "after"), compared.groups.names, strict=True)),
        "n_rows": dict(zip(("before", "after"), compared.groups.counts, strict=True)),
        **about_fit(model),
        "converged": bool(model.converged_),
        "n_iter": int(model.n_iter_),
    }
    if compared.directions is not None:
        found["degree"] = int(model.degree_)
        found["effective_sample_size"] = float(model.effective_sample_size_)
        found["directions"] = {
            "agreement": float(compared.directions.agreement),
            "n_forward": compared.directions.forward.n_edges,
            "n_backward": compared.directions.backward.n_edges,
        }
    if test is not None:
        found["permutation_test"] = {
            "n_permutations": test.n_permutations,
            "pvalue": test.pvalue,
            "pvalue_sum": test.pvalue_sum,
            "n_familywise": int((compared.changes["p_familywise"] <= LEVEL).sum()),
        }
    return run_record(
        command=command,
        seed=settings.seed,
        parameters={
            **parameters_of(model),
            "method": settings.method,
            "n_permutations": settings.n_permutations,
        },
        data=data,
        treatment=[*treatment, *compared.notes, *getattr(model, "treatment_", ())],
        warnings=warnings,
        graph=compared.graph,
        found=found,
        seconds=compared.seconds,
    )


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
