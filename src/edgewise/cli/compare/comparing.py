"""From rows of two groups to what changed between them: what `compare` and `demo` share."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli._labels import TWO_VALUES, Groups
from edgewise.cli.learn.learning import about_fit, parameters_of, run_record

if TYPE_CHECKING:
    import pandas as pd

    from edgewise.estimators import DirectionCheck
    from edgewise.graph import Graph
    from edgewise.inference import PermutationTest

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
