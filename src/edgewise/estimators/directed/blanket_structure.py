"""From covariances to the structure of a Bayesian network and its equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.estimators.directed.known_arcs import KnownArcs, refuse_forced_cycle
from edgewise.graph.equivalence import complete_dag, extend_pattern, orient_skeleton
from edgewise.solvers import (
    greedy_bayes_net,
    lasso_blankets,
    markov_blankets,
    separating_sets,
    total_conditioning,
)

METHODS: Final = (
    "iamb",
    "inter-iamb",
    "fast-iamb",
    "iamb-npc",
    "inter-iamb-npc",
    "gs",
    "tc",
    "tc-bw",
    "l1mb",
)
SEARCHES: Final = ("tests", "greedy")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a structure is learned; the fields are parameters of `BlanketBayesNet`."""

    method: str
    search: str
    significance: float
    max_condition: int | None
    gamma: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Structure:
    """A learned structure.

    Attributes
    ----------
    blankets : ndarray of bool, shape (m, m)
        Pairs in each other's blankets.
    dag : ndarray of bool, shape (m, m)
        Entry [i, j] is the arc i -> j.
    cpdag : ndarray of bool, shape (m, m)
        Arcs shared by all graphs that cannot be told from ``dag``; other edges both ways.
    is_consistent : bool
        Whether the tests did not contradict each other on directions.
    n_tests : int
        Number of tests of independence.
    n_steps : int
        Steps of the greedy search; 1 where directions are from tests.
    converged : bool
        Whether it ended by itself.
    """

    blankets: BoolArray
    dag: BoolArray
    cpdag: BoolArray
    is_consistent: bool
    n_tests: int
    n_steps: int
    converged: bool


class Equations(NamedTuple):
    """Least squares coefficients, [i, j] for the arc i -> j, and residual variances."""

    coef: FloatArray
    noise_variance: FloatArray


def learn_structure(
    R: FloatArray, n_samples: float, settings: Settings, known: KnownArcs, names: Sequence[str]
) -> Structure:
    """Find blankets, and in them neighbours and directions."""
    members, n_tests = _find_members(R, n_samples, settings)
    # The search, and separating sets from both sides, drop false members themselves; asking that
    # both blankets agree would lose more true ones than it keeps false ones out.
    takes_either = settings.search == "greedy" or settings.method.endswith("npc")
    blankets = members | members.T if takes_either else members & members.T
    if settings.search == "greedy":
        return _climb(R, n_samples, settings, known, blankets, n_tests)
    found = separating_sets(
        R,
        n_samples,
        blankets,
        significance=settings.significance,
        max_condition=settings.max_condition,
        allowed=None if known.is_empty else known.allowed,
        required=known.required,
    )
    refuse_forced_cycle(found.value, known, names)
    pattern = orient_skeleton(found.value, found.colliders, known.allowed)
    dag, is_consistent = extend_pattern(pattern, known.allowed)
    first, child, second = found.colliders.T
    return Structure(
        blankets=blankets,
        dag=dag,
        cpdag=complete_dag(dag, known.allowed),
        # A common child that contradicts a surer one was left out before there was a pattern.
        is_consistent=is_consistent and bool((dag[first, child] & dag[second, child]).all()),
        n_tests=n_tests + found.n_tests,
        n_steps=1,
        converged=True,
    )


def _find_members(R: FloatArray, n_samples: float, settings: Settings) -> tuple[BoolArray, int]:
    """Whether i is in the blanket of j, and the number of tests that took."""
    method, significance = settings.method, settings.significance
    if method == "l1mb":
        return lasso_blankets(R, n_samples, gamma=settings.gamma).blankets, 0
    if method in ("tc", "tc-bw"):
        _refuse_few_rows(len(R), n_samples, method)
        found = total_conditioning(
            R, n_samples, significance=significance, backward=method == "tc-bw"
        )
    else:
        found = markov_blankets(
            R,
            n_samples,
            method,
            significance=significance,
            max_condition=settings.max_condition,
        )
    members: BoolArray = found.value
    return members, found.n_tests


def _refuse_few_rows(m: int, n_samples: float, method: str) -> None:
    if n_samples <= m + 3:
        raise InputError(
            f'method="{method}" tests each pair of columns given all others, which takes more than '
            f"m + 3 = {m + 3} rows for m = {m} columns; there are {n_samples:g}. Pass "
            'method="iamb", which conditions on few columns at a time, or method="l1mb".'
        )


def _climb(
    R: FloatArray,
    n_samples: float,
    settings: Settings,
    known: KnownArcs,
    blankets: BoolArray,
    n_tests: int,
) -> Structure:
    found = greedy_bayes_net(
        R,
        n_samples,
        gamma=settings.gamma,
        allowed=blankets & known.allowed,
        required=known.required,
    )
    return Structure(
        blankets=blankets,
        dag=found.value,
        cpdag=complete_dag(found.value, known.allowed),
        is_consistent=True,
        n_tests=n_tests,
        n_steps=found.n_iter,
        converged=found.converged,
    )


def fit_equations(S: FloatArray, dag: BoolArray) -> Equations:
    """Regress every variable on its parents."""
    coef, variance = np.zeros_like(S), S.diagonal().copy()
    for j in np.flatnonzero(dag.any(axis=0)).tolist():
        parents = np.flatnonzero(dag[:, j])
        inner, cross = S[np.ix_(parents, parents)], S[parents, j]
        coef[parents, j] = np.linalg.lstsq(inner, cross, rcond=None)[0]
        variance[j] -= cross @ coef[parents, j]
    # Among few rows a relation may be exact by chance.
    return Equations(coef=coef, noise_variance=np.maximum(variance, 1e-12 * S.diagonal()))
