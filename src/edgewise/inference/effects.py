"""Effects of columns on others, with intervals that allow for the graph having been learned."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, RandomState
from edgewise.estimators.base.table import column_number
from edgewise.graph.members import EquivalenceClass
from edgewise.inference.adjustment import Answer, LevelRows, NumberRows, Sources, rows_of
from edgewise.inference.bootstrap import BootstrapGraph, classes_by, resamples_of
from edgewise.inference.resample import Resample, run_all

if TYPE_CHECKING:
    import pandas as pd

#: Resamples, where nobody said how many.
RESAMPLES: Final = 100
LEVEL: Final = 0.95


@dataclass(frozen=True, kw_only=True, eq=False)
class CausalEffects:
    """Effects of columns on others, as `causal_effects` returns them; an entry for each.

    They are effects only if no common cause of two columns is missing from the table.

    Attributes
    ----------
    sources : tuple of tuple of str
        Columns that are raised, or set to another level; two where both are at once.
    held : tuple of tuple of str
        Columns that are held meanwhile, in a joint intervention.
    targets : tuple of str
    changes, outcomes : tuple of str
        What is done to the source, ``"+1"`` or from one level to another, and what is looked at:
        the mean of the target, or the probability of a level.
    low, high : ndarray of shape (k,)
        Smallest and largest effect over the graphs of the class, in all rows.
    lower, upper : ndarray of shape (k,)
        Ends of the interval.
    identified : ndarray of bool of shape (k,)
        Whether all graphs of the class agree.
    share : ndarray of shape (k,)
        Of the resamples in which arcs that are identified lead from source to target.
    adjustment : tuple of tuple of tuple of str
        Columns that are adjusted for where the effect is smallest, and where it is largest.
    undecided : tuple of tuple of str
        Neighbours of the source whose edge with it would have to be directed for the effect to be
        identified.
    scale : ndarray of shape (k,)
        Takes each effect to standard deviations; NaN where two columns are raised at once.
    level : float
        Coverage of the intervals.
    n_resamples : int
        Resamples in which the graph was learned again.
    """

    sources: tuple[tuple[str, ...], ...]
    held: tuple[tuple[str, ...], ...]
    targets: tuple[str, ...]
    changes: tuple[str, ...]
    outcomes: tuple[str, ...]
    low: FloatArray
    high: FloatArray
    lower: FloatArray
    upper: FloatArray
    identified: Any
    share: FloatArray
    adjustment: tuple[tuple[tuple[str, ...], ...], ...]
    undecided: tuple[tuple[str, ...], ...]
    scale: FloatArray
    level: float
    n_resamples: int

    def table(self, *, standardized: bool = False) -> pd.DataFrame:
        """List the effects, the largest in standard deviations first.

        Parameters
        ----------
        standardized : bool
            Effects in standard deviations of the columns, rather than in their units.

        Returns
        -------
        DataFrame
            ``source``, ``target``, ``low``, ``high``, ``lower``, ``upper``, ``identified``,
            ``share`` and ``adjustment``, sets of columns between bars; ``change`` and ``outcome``
            where columns have levels, ``held`` for joint interventions.
        """
        import pandas as pd

        factor = self.scale if standardized else np.ones(len(self.scale))
        columns: dict[str, Any] = {
            "source": [" and ".join(names) for names in self.sources],
            "target": list(self.targets),
        }
        if any(self.held):
            columns["held"] = [" and ".join(names) for names in self.held]
        if {*self.changes, *self.outcomes} - {"+1", "mean"}:
            columns |= {"change": list(self.changes), "outcome": list(self.outcomes)}
        columns |= {
            "low": self.low * factor,
            "high": self.high * factor,
            "lower": self.lower * factor,
            "upper": self.upper * factor,
            "identified": self.identified,
            "share": self.share,
            "adjustment": [" | ".join(map(_listed, sets)) for sets in self.adjustment],
        }
        return pd.DataFrame(columns)

    def reordered(self, order: Sequence[int]) -> CausalEffects:
        """Return some of the effects, in another order."""
        listed = {
            name: tuple(value[k] for k in order) if isinstance(value, tuple) else value[list(order)]
            for name, value in vars(self).items()
            if isinstance(value, (tuple, np.ndarray))
        }
        return CausalEffects(**{**vars(self), **listed})


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "nothing"


def causal_effects(
    model: Any,
    X: Any,
    *,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    n_resamples: int = RESAMPLES,
    level: float = LEVEL,
    sample_weight: Any = None,
    interventions: Any = None,
    clusters: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CausalEffects:
    r"""By how much a column moves when another is set, with a learned graph and an honest interval.

    In one graph, the effect of x on y is the coefficient of x in the regression of y on x and the
    parents P of x, 0 where y is one of them. Rows tell a graph only up to its equivalence class,
    and so P runs over the sets of parents that x has in the class, which are found around x
    alone [1]_: ``low`` and ``high`` are the smallest and the largest effect.

    The graph is learned from the same rows, and intervals that take it as given cover far too
    rarely. So the network is learned again in each resample :math:`b`, with all its effects:

    .. math:: \Bigl[\, Q_{\alpha / 2}\bigl(\mathrm{low}^{(b)}\bigr), \;
        Q_{1 - \alpha / 2}\bigl(\mathrm{high}^{(b)}\bigr) \Bigr],

    with Q the quantiles over the resamples. This is a recipe whose coverage is measured, not
    proved: see the table in the guide. An effect is one only if no common cause of two columns is
    missing from the table.

    With levels, the mean of y is averaged over P as it is distributed, with x set; see
    `edgewise.inference.adjustment.LevelRows`. Numbers are then raised by one at the mean slope over
    a standard deviation.

    Parameters
    ----------
    model : DirectedGraph, BlanketBayesNet, or BootstrapGraph of one
        Fitted. What it knows in advance narrows the class. The resamples of a bootstrap are used as
        they are, and none is fitted again.
    X : array-like or data frame of shape (n, m)
        The rows that it was fitted to.
    pairs : iterable of (source, target), optional
        Columns by name or number. A source may be two columns, which are then set together: the
        effect of each while the other is held, and of both. By default all pairs in which a path of
        arcs leads from source to target in some graph of the class.
    n_resamples : int
        In which the graph is learned again; of a bootstrap, those it has.
    level : float
        Coverage of the intervals.
    sample_weight, interventions, clusters
        As for the fit, and as for that of `BootstrapGraph`. Rows in which other columns than the
        source and its parents were set do not count.
    random_state : int, Generator, RandomState or None
        Draws the rows.
    n_jobs : int, optional
        Resamples at a time. The result does not depend on it.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    CausalEffects

    References
    ----------
    .. [1] Maathuis, Kalisch and Bühlmann (2009). Estimating high-dimensional intervention effects
       from observational data. *Annals of Statistics* 37(6A). https://doi.org/10.1214/09-AOS685

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from edgewise import DirectedGraph
    >>> from edgewise.inference import causal_effects
    >>> rng = np.random.default_rng(0)
    >>> rain, sprinkler, wet, slip = rng.normal(size=(4, 1000))
    >>> wet += rain + sprinkler
    >>> slip += 2 * wet
    >>> lawn = pd.DataFrame({"slip": slip, "rain": rain, "sprinkler": sprinkler, "wet": wet})
    >>> model = DirectedGraph().fit(lawn)
    >>> found = causal_effects(model, lawn, pairs=[("rain", "slip")], random_state=2)
    >>> found.table().round(1)[["source", "target", "low", "high", "lower", "upper"]]
      source target  low  high  lower  upper
    0   rain   slip  2.0   2.0    1.8    2.2
    """
    if not 0 < level < 1:
        raise InputError("level_between", "level", got=level)
    learner = getattr(model, "estimator_", model)
    one = learned_class(learner)
    names = list(learner.graph_.names)
    options = {"sample_weight": sample_weight, "interventions": interventions}
    rows = rows_of(learner, X, **options)
    questions = _Questions.asked(pairs, one, names, rows)
    if not questions.answers:
        return _put_together(questions, None, [], names, level)
    bootstrap = model
    if not isinstance(model, BootstrapGraph):
        quiet: dict[str, Any] = {"n_jobs": None, "verbose": 0} | _fixed_kinds(learner)
        known = learner.get_params()
        bootstrap = BootstrapGraph(
            copy(learner).set_params(**{k: v for k, v in quiet.items() if k in known}),
            n_resamples=n_resamples,
            prefit=True,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        ).fit(X, clusters=clusters, **options)
    class_of = classes_by(learner)
    drawn, _ = run_all(
        _in_resample,
        [
            (rows, resample, class_of(graph.adjacency), questions)
            for resample, graph in resamples_of(bootstrap, X)
        ],
        noun="resample",
        stacklevel=3,
        n_jobs=n_jobs,
        description="Effects",
        verbose=verbose,
    )
    found = _put_together(questions, _measured(rows, one, questions), drawn, names, level)
    if pairs is not None:
        return found
    size = np.nan_to_num(np.maximum(np.abs(found.low), np.abs(found.high)) * found.scale)
    return found.reordered(np.argsort(-size, kind="stable").tolist())


def learned_class(model: Any) -> EquivalenceClass:
    """Return what effects are read from: the graphs that fit as well as the one learned.

    A model with another kind of graph, such as one with hidden causes, has its class here.
    """
    if not hasattr(model, "cpdag_"):
        if hasattr(type(model), "fit"):
            check_is_fitted(model)
        raise InputError("no_equivalence_class", "model", learner=type(model).__name__)
    return EquivalenceClass(model.cpdag_.adjacency)


def _fixed_kinds(model: Any) -> dict[str, Any]:
    """Return the kinds of columns with levels, so that resamples do not guess them anew."""
    kinds = getattr(model, "kinds_", {})
    return {"kinds": dict(kinds)} if {*kinds.values()} - {"continuous", "count"} else {}


class _Measured(NamedTuple):
    """Smallest and largest of each answer over a class, where they are, and paths of arcs."""

    low: FloatArray
    high: FloatArray
    sets: list[tuple[Any, Any]]
    leads: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class _Questions:
    """What is asked, by source: the targets of each, and the answers that there will be."""

    by_source: Mapping[Sources, Sequence[int]]
    answers: Sequence[Answer]
    is_identified: Sequence[bool]
    undecided: Sequence[Sequence[int]]
    asked_order: Sequence[int]

    @classmethod
    def asked(
        cls, pairs: Any, one: EquivalenceClass, names: Sequence[str], rows: NumberRows | LevelRows
    ) -> _Questions:
        """Read the pairs, by default those that some graph joins by a path."""
        wanted = list(_all_pairs(one) if pairs is None else _read_pairs(pairs, names))
        by_source: dict[Sources, list[int]] = {}
        for sources, target in wanted:
            by_source.setdefault(sources, []).append(target)
        answers: list[Answer] = []
        is_identified: list[bool] = []
        undecided: list[Sequence[int]] = []
        start: dict[tuple[Sources, int], range] = {}
        for sources, targets in by_source.items():
            for target in targets:
                edges = [k for x in sources for k in one.open_edges(x, target)]
                open_ends = tuple(dict.fromkeys(k for k in edges if k not in sources))
                new = list(rows.answers(sources, target))
                start[sources, target] = range(len(answers), len(answers) + len(new))
                answers += new
                is_identified += [not edges] * len(new)
                undecided += [open_ends] * len(new)
        order = [k for question in wanted for k in start[question]]
        return cls(
            by_source=by_source,
            answers=answers,
            is_identified=is_identified,
            undecided=undecided,
            asked_order=order,
        )


def _all_pairs(one: EquivalenceClass) -> Iterator[tuple[Sources, int]]:
    for x in range(len(one.pattern)):
        for y in np.flatnonzero(one.may_lead(x)).tolist():
            yield (x,), y


def _read_pairs(pairs: Any, names: Sequence[str]) -> Iterator[tuple[Sources, int]]:
    seen = set()
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise InputError("not_a_pair", "pairs", got=pair)
        source, target = pair
        several = isinstance(source, (tuple, list))
        sources = tuple(
            column_number(x, names, "pairs") for x in (source if several else (source,))
        )
        y = column_number(target, names, "pairs")
        if not 1 <= len(sources) <= 2 or len({*sources, y}) <= len(sources):
            raise InputError("not_a_pair", "pairs", got=pair)
        if (sources, y) not in seen:
            seen.add((sources, y))
            yield sources, y


def _in_resample(
    rows: NumberRows | LevelRows, resample: Resample, pattern: Any, questions: _Questions
) -> _Measured:
    """Effects in the rows and the graph of one resample."""
    return _measured(rows.drawn(resample.rows), EquivalenceClass(pattern), questions)


def _measured(
    rows: NumberRows | LevelRows, one: EquivalenceClass, questions: _Questions
) -> _Measured:
    """Go through the sets of parents of each source."""
    low, high, sets = [], [], []
    for sources, targets in questions.by_source.items():
        parents = one.joint_parent_sets(sources)
        values = np.stack([rows.effects(sources, given, targets) for given in parents])
        low.append(values.min(axis=0))
        high.append(values.max(axis=0))
        ends = zip(values.argmin(axis=0), values.argmax(axis=0), strict=True)
        sets += [(parents[a], parents[b]) for a, b in ends]
    leads = [any(one.leads[x, each.target] for x in each.source) for each in questions.answers]
    return _Measured(np.concatenate(low), np.concatenate(high), sets, np.array(leads, float))


def _put_together(
    questions: _Questions,
    measured: _Measured | None,
    drawn: Sequence[_Measured],
    names: Sequence[str],
    level: float,
) -> CausalEffects:
    """Take the quantiles over the resamples, and put names to numbers."""

    def named(nodes: Iterable[int]) -> tuple[str, ...]:
        return tuple(names[k] for k in nodes)

    def adjusted(ends: tuple[Any, Any]) -> tuple[tuple[str, ...], ...]:
        return tuple(dict.fromkeys(named(sorted({*itertools.chain(*parents)})) for parents in ends))

    order = questions.asked_order
    answers = [questions.answers[k] for k in order]
    nothing = np.zeros(0)
    low = high = lower = upper = share = nothing
    sets: tuple[tuple[tuple[str, ...], ...], ...] = ()
    if measured is not None:
        tail = (1 - level) / 2
        low, high = measured.low[order], measured.high[order]
        lower = np.quantile([one.low for one in drawn], tail, axis=0)[order]
        upper = np.quantile([one.high for one in drawn], 1 - tail, axis=0)[order]
        share = np.mean([one.leads for one in drawn], axis=0)[order]
        sets = tuple(adjusted(measured.sets[k]) for k in order)
    return CausalEffects(
        sources=tuple(named(one.source) for one in answers),
        held=tuple(named(one.held) for one in answers),
        targets=tuple(names[one.target] for one in answers),
        changes=tuple(one.change for one in answers),
        outcomes=tuple(one.outcome for one in answers),
        low=low,
        high=high,
        lower=lower,
        upper=upper,
        identified=np.array([questions.is_identified[k] for k in order], dtype=bool),
        share=share,
        adjustment=sets,
        undecided=tuple(named(questions.undecided[k]) for k in order),
        scale=np.array([one.scale for one in answers], dtype=float),
        level=level,
        n_resamples=len(drawn),
    )
