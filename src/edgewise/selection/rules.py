"""Rules that select alpha, passed in place of a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Final, Literal

from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters, is_number
from edgewise._core.errors import InputError
from edgewise._core.messages import Note
from edgewise._core.plain_values import archived

_GRID: Final[Mapping[str, Constraint]] = {
    "n_alphas": Number(at_least=1, is_whole=True, or_none=True),
    "alpha_ratio": Number(above=0, below=1, or_none=True),
}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Base of the rules: the grid of alphas that they search, and what they are called.

    Attributes
    ----------
    name : str
        Short form, which estimators take in place of the rule.
    resamples : bool
        Whether the rule fits parts of the rows, so that it needs them.
    """

    name: ClassVar[str]
    resamples: ClassVar[bool] = True
    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    n_alphas: int | None = None
    alpha_ratio: float | None = None

    def __post_init__(self) -> None:
        """Refuse values that no data could make sense of."""
        check_parameters(self, {**self._constraints, **_GRID})

    def __repr__(self) -> str:
        given = [
            f"{field.name}={value!r}"
            for field in sorted(fields(self), key=lambda field: bool(field.kw_only))
            if repr(value := getattr(self, field.name)) != repr(field.default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"


@archived
@dataclass(frozen=True, repr=False)
class Stepwise(Rule):
    """Search for the graph with the best extended BIC at its maximum likelihood, edge by edge.

    The graphs along a path of the graphical lasso are fitted again without the penalty. From the
    best of them edges are added and removed while that lowers the criterion. The result has no
    penalty; the graph is empty if and only if no correlation passes a Bonferroni test at 5 %.

    Parameters
    ----------
    gamma : float, optional
        From 0, the ordinary BIC, to 1, which allows the fewest edges. By default 0.25, and more
        if rows are few relative to columns (`GaussianGraph.selection_` has it).
    n_alphas : int, optional
        Number of alphas on the path, log-spaced down from the smallest with an empty graph. By
        default that of the estimator.
    alpha_ratio : float, optional
        Smallest alpha as a share of the largest. By default that of the estimator, which may
        extend its path while the smallest alpha is the best.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GaussianGraph, Stepwise
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> X[:, 1] += X[:, 0]
    >>> GaussianGraph(alpha=Stepwise(gamma=0.5)).fit(X).graph_.n_edges
    1
    """

    name = "stepwise"
    resamples = False
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "gamma": Number(at_least=0, at_most=1, or_none=True)
    }

    gamma: float | None = None


@archived
@dataclass(frozen=True, repr=False)
class EBIC(Rule):
    """Choose alpha by the extended Bayesian information criterion of penalised fits, see `ebic`.

    Parameters
    ----------
    gamma : float
        From 0, the ordinary BIC, to 1, which allows the fewest edges.
    n_alphas : int, optional
        Number of alphas on the grid, log-spaced down from the smallest with an empty graph. By
        default that of the estimator.
    alpha_ratio : float, optional
        Smallest alpha as a share of the largest. By default that of the estimator, which may
        extend its grid while the smallest alpha is the best.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import EBIC, GaussianGraph
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> model = GaussianGraph(alpha=EBIC(gamma=1.0, n_alphas=10)).fit(X)
    >>> model.graph_.n_edges, len(model.alphas_)
    (0, 10)
    """

    name = "ebic"
    resamples = False
    _constraints: ClassVar[Mapping[str, Constraint]] = {"gamma": Number(at_least=0, at_most=1)}

    gamma: float = 0.5


@archived
@dataclass(frozen=True, repr=False)
class CV(Rule):
    """Choose alpha by the score of held-out rows, see `choose_by_cv`.

    Parameters
    ----------
    cv : int, splitter or iterable
        Number of folds, which the ``random_state`` of the estimator shuffles; or anything that
        scikit-learn takes as a splitter.
    n_alphas, alpha_ratio
        As in `EBIC`.

    Examples
    --------
    >>> from edgewise import CV
    >>> CV(10, n_alphas=20)
    CV(cv=10, n_alphas=20)
    """

    name = "cv"

    cv: Any = 5


@archived
@dataclass(frozen=True, repr=False)
class StARS(Rule):
    """Choose the smallest alpha whose graphs agree across subsamples, see `choose_by_stars`.

    Parameters
    ----------
    instability : float
        Largest instability accepted, between 0 and 0.5.
    n_subsamples : int
        Number of subsamples, at least 2.
    n_alphas, alpha_ratio
        As in `EBIC`.

    Examples
    --------
    >>> from edgewise import StARS
    >>> StARS(0.1) == StARS(instability=0.1)
    True
    """

    name = "stars"
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "instability": Number(above=0, below=0.5),
        "n_subsamples": Number(at_least=2, is_whole=True),
    }

    instability: float = 0.05
    n_subsamples: int = 20


@archived
@dataclass(frozen=True, repr=False)
class FDR(Rule):
    """Select edges by tests of all partial correlations with FDR control.

    Every partial correlation is tested without choosing a graph first, as in
    `edgewise.inference.edge_intervals`, and the graph has the pairs whose q-value is at most
    ``level``: of its edges, that share is expected to be false [1]_. The result is the maximum
    likelihood under this graph, without a penalty.

    Parameters
    ----------
    level : float
        Expected share of false edges among those found, between 0 and 1.
    correction : {"bh", "by"}
        Benjamini and Hochberg, which holds for these tests as the number of rows grows, or
        Benjamini and Yekutieli, which holds under any dependence and finds less.

    References
    ----------
    .. [1] Liu (2013). Gaussian graphical model estimation with false discovery rate control.
       *Annals of Statistics* 41(6). https://doi.org/10.1214/13-AOS1169

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import FDR, GaussianGraph
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> X[:, 1] += X[:, 0]
    >>> GaussianGraph(alpha=FDR(0.1)).fit(X).graph_.n_edges
    1
    """

    name = "fdr"
    resamples = False
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "level": Number(above=0, below=1),
        "correction": OneOf("bh", "by"),
    }

    level: float = 0.05
    correction: Literal["bh", "by"] = "bh"

    def __post_init__(self) -> None:
        """Refuse values that no data could make sense of, and a grid that nobody would try."""
        super().__post_init__()
        if self.n_alphas is not None or self.alpha_ratio is not None:
            raise InputError("fdr_without_grid")


@dataclass(frozen=True, init=False)
class Strength(Constraint):
    """Constraint of a parameter that is a number or a rule, with the defaults of an estimator.

    Parameters
    ----------
    *rules : Rule
        The rules that are allowed, as their short forms stand for them.
    why_positive : str
        Code of the note on why the number cannot be 0, where it cannot.
    """

    rules: tuple[Rule, ...]
    why_positive: str

    def __init__(self, *rules: Rule, why_positive: str = "") -> None:
        object.__setattr__(self, "rules", rules)
        object.__setattr__(self, "why_positive", why_positive)

    def allows(self, value: Any) -> bool:
        """Whether a value is such a number, a rule or the short form of one."""
        if isinstance(value, str):
            return value in [rule.name for rule in self.rules]
        if type(value) in [type(rule) for rule in self.rules]:
            return True
        return is_number(value, least=0) and not (self.why_positive and value == 0)

    @property
    def note(self) -> Note:
        """A number or the names of rules."""
        rules = [rule.name for rule in self.rules]
        return Note(
            "allowed_strength",
            rules=rules,
            why=Note(self.why_positive) if self.why_positive else None,
        )

    def resolve(self, value: Any) -> Rule | float:
        """Return a number as it is, and a rule with the defaults of the estimator filled in."""
        for default in self.rules:
            if isinstance(value, str) and value == default.name:
                return default
            if type(value) is type(default):
                own = {
                    field.name: getattr(default, field.name)
                    for field in fields(value)
                    if getattr(value, field.name) is None
                }
                return replace(value, **own)
        return float(value)

    def grid_rule(self, value: Any) -> Rule:
        """Return the rule whose grid a path follows: the one given, or the first of a number."""
        rule = self.resolve(value)
        return rule if isinstance(rule, Rule) else self.rules[0]


def needs_rows(value: Any) -> bool:
    """Whether a strength is a rule that fits parts of the rows, as an object or by its name."""
    if isinstance(value, Rule):
        return value.resamples
    return isinstance(value, str) and value in (CV.name, StARS.name)


#: The rules by their short forms.
RULES: Final[dict[str, type[Rule]]] = {rule.name: rule for rule in (Stepwise, EBIC, CV, StARS, FDR)}


def rule_name(value: Any) -> str | None:
    """Return the short form of a rule, given as it or as an object; None for a number."""
    return getattr(value, "name", value if isinstance(value, str) else None)
