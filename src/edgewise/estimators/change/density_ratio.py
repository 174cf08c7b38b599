"""Changes between two conditions, by the ratio of their densities (KLIEP)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from edgewise._core.arrays import like, on_host, to_device, to_numpy
from edgewise._core.constraints import Constraint, Number, OneOf
from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import FloatArray
from edgewise.data.checks import ColumnReport
from edgewise.data.labels import TwoSamples, label_codes
from edgewise.data.table import take_rows
from edgewise.estimators.base.table import follow, followed
from edgewise.estimators.change.base import (
    CONSTRAINTS,
    HELD_OUT,
    ChangeEstimator,
    ChangeFit,
    ChangeLoss,
    GroupProblem,
)
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.selection.choose import Selection, choose_by_cv
from edgewise.selection.rules import Rule, Strength
from edgewise.selection.search import fit_rows
from edgewise.solvers.change.density_ratio import (
    GPU_FROM,
    SOLVERS,
    density_ratio_path,
    log_density_ratio,
    ratio_alpha_max,
    ratio_alpha_min,
)
from edgewise.stats.pair_features import BASES

if TYPE_CHECKING:
    import pandas as pd

#: Fewer rows of the first group than this share of them, or than this number, are few.
FEW: Final = (0.05, 5.0)

#: What to make of directions that disagree.
TRUST: Final = "Trust those that both found."


class NetworkChange(ChangeEstimator):
    r"""Learn what changed between two networks directly, without learning either.

    The logarithm of the ratio of the density after to that before is modelled as
    :math:`\theta' f(x)` with features :math:`f` of pairs of variables. What did not change cancels
    in the ratio, so :math:`\theta` is sparse even where both networks are dense:

    .. math::

        \min_\theta\; \log \frac{1}{n_q} \sum_{i \in Q} e^{\theta' f(x_i)}
        - \frac{1}{n_p} \sum_{j \in P} \theta' f(x_j)
        + \frac{\mathrm{ridge}}{2} \|\theta\|^2 + \alpha \sum_{u \ge v} \|\theta_{uv}\|

    with Q the rows of ``classes_[0]`` and P those of ``classes_[1]`` [1]_.

    Parameters
    ----------
    alpha : float, "cv" or CV
        Penalty; ``"cv"`` takes the largest held-out log ratio. By default 30 alphas
        are tried, down to 0.1 of the smallest without any change, on 5 folds that hold rows of
        both groups, or as many as the smaller group has rows; ``alpha=CV(10, n_alphas=50)`` says
        otherwise.
    ridge : float
        Curvature that keeps the coefficients finite. With 0, alpha has a smallest value that
        depends on the rows.
    basis : {"gaussian", "power", "polynomial", "ising"} or callable
        Features of a pair, as in `edgewise.stats.pair_features`: ``x_u x_v``, which is right for
        Gaussian networks; the same of signed powers; all products of powers up to ``degree``, for
        links that no correlation shows; products of entries -1 and 1; or a function of two
        columns.
    degree : int or sequence of int
        Of ``"power"`` and ``"polynomial"``. Of several, held-out rows choose, with
        ``alpha="cv"``.
    solver : {"auto", "dual", "primal"}
        As in `edgewise.solvers.density_ratio`.
    standardize : {"within", "pooled", False}
        Subtract the mean of its group from every column and divide by the standard deviation in
        its group, so that networks are compared and spreads do not count; or by one that both
        groups have in common (``"pooled"``), so that a change of the spread counts. Powers are
        scaled to a standard deviation of 1. Not with ``"ising"``. With False, as in the paper,
        the rows are used as they are, so that a change of the means counts as well.
    penalize_diagonal : bool
        Whether alpha is for a change of each variable by itself too.
    negligible : float
        Changes up to this size are left out of ``graph_``.
    tol : float
        Largest duality gap per variable.
    max_iter : int
        Newton steps.
    n_jobs : int, optional
        Folds at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Splits the rows into folds.
    verbose : int
        Above 0, a progress bar is drawn on standard error.
    device : {"cpu", "cuda", "auto"}
        Where the density ratio is solved. ``"cuda"`` is a GPU by way of PyTorch, which pays from
        about 500 columns on; fitted attributes are NumPy arrays and agree up to the duality
        gap. ``"auto"`` takes a GPU where there is one, for 500 columns and more. Functions as
        ``basis``, ``ridge=0`` and ``solver="primal"`` are for the CPU, wherever the rest is.

    Attributes
    ----------
    theta_ : ndarray of shape (d, d, b)
        Coefficients of the features of every pair, in standardised units.
    change_ : ndarray of shape (d, d)
        The coefficient where a pair has one feature: above 0 where a link became more positive.
        With several features, the length of their vector.
    graph_ : Graph
        Pairs that changed by more than ``negligible``.
    classes_ : ndarray of shape (2,)
        Labels before and after.
    alpha_ : float
        The penalty used.
    degree_ : int
        The degree used.
    effective_sample_size_ : float
        How many rows of the first group the ratio leaves in play: the inverse of the sum of
        squared weights. Few mean that the ratio is that of a handful of rows.
    log_normalizer_ : float
        Logarithm of the mean of the ratio over the first group, before it is normalised.
    locations_, scale_ : ndarray of shape (2, d)
        Means of the groups and standard deviations that were taken out; ``scale_`` has shape
        (d,) unless ``standardize="within"``.
    power_scale_ : ndarray or None
        What powers were divided by.
    gap_, objective_, converged_, n_iter_
        Certificate of the solver.
    decided_ : ndarray of bool, shape (d, d)
        Pairs that the gap proves to change, or not to, at the optimum; not with
        ``ridge=0``.
    is_decided_ : bool
        Whether all pairs are.
    selection_ : Selection or None
        The search for alpha.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    See Also
    --------
    DTraceChange : For Gaussian rows the strongest simple alternative; try it beside this one.
    edgewise.permutation_test : Whether the change is more than chance.
    edgewise.inference.compare_networks : Whether networks differ, without a fit.
    edgewise.inference.change_intervals : How much each link changed, with an interval.

    References
    ----------
    .. [1] Liu, Quinn, Gutmann, Suzuki and Sugiyama (2014). Direct learning of sparse changes in
       Markov networks by density ratio estimation. *Neural Computation* 26(6).
       https://doi.org/10.1162/NECO_a_00589

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import NetworkChange
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> y = np.repeat(["before", "after"], 100)
    >>> X[y == "after", 1] += 0.8 * X[y == "after", 0]
    >>> model = NetworkChange(alpha=0.3).fit(X, y)
    >>> model.classes_
    array(['after', 'before'], dtype='<U6')
    >>> model.graph_.edges()[["source", "target"]]
      source target
    0     x0     x1
    """

    _methods = (
        "The change between the networks of the two groups was estimated directly, by the "
        "ratio of their densities (Liu et al. 2014), without estimating either network."
    )
    _cites = ("liu2014",)

    _matrices_held = 5.0
    _copies_held = 4.0
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Strength(HELD_OUT),
        "ridge": Number(at_least=0),
        "solver": OneOf(*SOLVERS),
        "device": OneOf("cpu", "cuda", "auto"),
        **CONSTRAINTS,
    }

    def __init__(
        self,
        alpha: float | str | Rule = "cv",
        ridge: float = 0.1,
        *,
        basis: str | Callable[..., Any] = "gaussian",
        degree: int | Sequence[int] = 2,
        solver: str = "auto",
        standardize: str | bool = "within",
        penalize_diagonal: bool = True,
        negligible: float = 0.0,
        tol: float = 1e-8,
        max_iter: int = 500,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        device: str = "cpu",
    ) -> None:
        self.alpha = alpha
        self.ridge = ridge
        self.basis = basis
        self.degree = degree
        self.solver = solver
        self.standardize = standardize
        self.penalize_diagonal = penalize_diagonal
        self.negligible = negligible
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    def fit(self, X: Any, y: Any) -> Self:
        """Learn what changed from the rows of one label to those of the other.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows of both groups.
        y : array-like of shape (n,)
            Labels of two groups, of any type that can be sorted. The change is from
            ``classes_[0]`` to ``classes_[1]``.

        Returns
        -------
        NetworkChange
        """
        degrees = self._degrees()
        loss = self._loss(degrees[0])
        if (model := followed(X)) is not None:
            loss = replace(loss, device=model)
        problem = self._pose(X, y, loss)
        rule, selection = self._rule(problem), None
        if len(degrees) > 1:
            problem, selection = self._choose_degree(problem, rule, degrees)
        fit: Any = self._learn(problem, rule, selection)
        self.theta_ = fit.values
        self.degree_ = fit.features["degree"]
        self.power_scale_ = fit.features["power_scale"]
        self.log_normalizer_ = fit.solution.log_normalizer
        self.effective_sample_size_ = fit.solution.effective_sample_size
        n_rows, (share, number) = len(problem.groups.rows[0]), FEW
        # Of a group that is small itself, no more than half can be asked for.
        if self.effective_sample_size_ < max(share * n_rows, min(number, n_rows / 2)):
            warnings.warn(
                DataWarning(
                    "groups_hardly_overlap",
                    effective_sample_size=self.effective_sample_size_,
                    n_rows=n_rows,
                    label=self.classes_.tolist()[0],
                ),
                stacklevel=2,
            )
        follow(self, model, "theta_", "change_")
        return self

    def density_ratio(self, X: Any) -> FloatArray:
        """Density after over density before, at some rows.

        The mean over the rows of the first group that were learned from is 1. If the rows are
        standardised, those given count as rows of the first group: its mean is subtracted.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        rows = self._as_rows(X, reset=False)
        if not np.isfinite(rows).all():
            raise InputError("rows_contain_nan")
        theta, features = self._fitted_values()
        standard = (rows - self.locations_[0]) / np.atleast_2d(self.scale_)[0]
        values = log_density_ratio(standard, theta, **features)
        return np.asarray(np.exp(values - self.log_normalizer_))

    def check_directions(self, X: Any, y: Any) -> DirectionCheck:
        """Learn the change from second to first as well, and compare.

        The ratio is not symmetric: rows of the denominator are weighted so that they look like
        the numerator. Where both ways round find different changes, neither is to be trusted.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows of both groups.
        y : array-like of shape (n,)
            Their labels.

        Returns
        -------
        DirectionCheck
        """
        check_is_fitted(self)
        model = clone(self).set_params(alpha=self.alpha_, degree=self.degree_)
        problem = model._pose(X, y, in_order=False)
        samples = problem.summarize(problem.places).samples
        swapped = TwoSamples(first=samples.second, second=samples.first)
        graphs = [
            model._graph(fit)
            for way in (samples, swapped)
            for fit in problem.loss.solve_path(problem.loss.prepare(way), np.array([self.alpha_]))
        ]
        return compare_directions(*graphs, is_signed=self._is_signed())

    def _degrees(self) -> list[int]:
        degrees: list[Any] = [self.degree] if np.ndim(self.degree) == 0 else list(self.degree)  # type: ignore[arg-type]
        if not degrees:
            raise InputError("no_degree", "degree")
        if len(degrees) > 1 and isinstance(self._alpha.resolve(self.alpha), float):
            raise InputError("degrees_need_cv", degree=self.degree)
        if len(degrees) > 1 and self.basis not in ("polynomial", "power"):
            raise InputError("degrees_need_basis")
        return degrees

    def _choose_degree(
        self, problem: GroupProblem, rule: Any, degrees: Sequence[int]
    ) -> tuple[GroupProblem, Selection]:
        """Choose the degree and alpha with the largest held-out score."""
        tried, loss = [], cast("RatioLoss", problem.loss)
        for degree in degrees:
            posed = replace(problem, loss=replace(loss, degree=degree))
            statistics = posed.summarize(posed.places)
            selection = choose_by_cv(
                posed.places,
                posed.grid(rule, statistics).alphas(posed.largest_alpha(statistics)),
                partial(fit_rows, posed),
                posed.score,
                cv=rule.cv,
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            )
            tried.append((posed, selection))
        return max(tried, key=lambda one: one[1].values[one[1].index])

    def _loss(self, degree: int | None = None) -> RatioLoss:
        if not callable(self.basis) and self.basis not in BASES:
            names = ", ".join(f'"{name}"' for name in BASES)
            raise InputError("unknown_basis", names=names, basis=self.basis)
        one: Any = getattr(self, "degree_", self.degree) if degree is None else degree
        if np.ndim(one):
            raise InputError("path_of_one_degree", degree=self.degree)
        return RatioLoss(
            ridge=self.ridge,
            basis=self.basis,
            degree=one,
            solver=self.solver,
            device=self.device,
            standardize=False if self.basis == "ising" else self.standardize,
            penalize_diagonal=self.penalize_diagonal,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _check_rows(self, rows: FloatArray, report: ColumnReport, *, is_fit: bool) -> None:
        if self.basis == "ising" and (is_other := (np.abs(rows) != 1).any(axis=0)).any():
            which = quote_names(self._labels(is_other))
            raise InputError("ising_entries", which=which)

    def _fitted_values(self) -> tuple[FloatArray, dict[str, Any]]:
        features = {"basis": self.basis, "degree": self.degree_, "power_scale": self.power_scale_}
        return to_numpy(self.theta_), features

    def _is_signed(self) -> bool:
        return bool(self.theta_.shape[2] == 1)


class RatioRows(NamedTuple):
    """Rows of both groups, and arguments of the solver that say what their features are."""

    samples: TwoSamples
    features: dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class RatioLoss(ChangeLoss):
    """The density ratio as a `ChangeLoss`; the fields are parameters of `NetworkChange`."""

    ridge: float
    basis: str | Callable[..., Any]
    degree: int
    solver: str
    penalize_diagonal: bool
    device: Any = "cpu"
    decide: float = 0.0

    def prepare(self, samples: TwoSamples) -> RatioRows:
        """Return the rows with their features."""
        is_scaled = bool(self.standardize) and self.basis == "polynomial"
        scale = power_scale(samples, self.degree) if is_scaled else None
        features = {"basis": self.basis, "degree": self.degree, "power_scale": scale}
        return RatioRows(samples, features)

    def largest_alpha(self, rows: RatioRows) -> float:
        """Return the smallest alpha without any change."""
        return ratio_alpha_max(
            *self._placed(rows.samples), ridge=self.ridge,
            penalize_diagonal=self.penalize_diagonal, **rows.features,
        )  # fmt: skip

    def smallest_alpha(self, rows: RatioRows) -> float:
        """Return the alpha below which there is no solution, where there is no ridge."""
        if self.ridge > 0:
            return 0.0
        return ratio_alpha_min(
            rows.samples.second, rows.samples.first, penalize_diagonal=self.penalize_diagonal,
            **rows.features,
        )  # fmt: skip

    def solve_path(self, rows: RatioRows, alphas: FloatArray) -> Iterator[ChangeFit]:
        """Yield one fit per alpha, each started from the one before."""
        path = density_ratio_path(
            *self._placed(rows.samples), alphas, ridge=self.ridge, solver=self.solver,
            penalize_diagonal=self.penalize_diagonal, tol=self.tol, max_iter=self.max_iter,
            decide=self.decide, **rows.features,
        )  # fmt: skip
        for solution in map(on_host, path):
            theta = np.asarray(solution.value)
            yield ChangeFit(
                solution=solution, values=theta, change=_change(theta), features=rows.features
            )

    def _placed(self, samples: TwoSamples) -> tuple[Any, Any]:
        """Rows after and before, where the problem is solved."""
        after, before = (
            to_device(rows, self.device, GPU_FROM) for rows in (samples.second, samples.first)
        )
        return after, before

    def score(self, theta: FloatArray, features: dict[str, Any], samples: TwoSamples) -> float:
        """Mean log ratio of other rows of the second group, normalised by those of the first."""
        placed = self._placed(samples)
        theta = like(theta, placed[0])
        after, before = (to_numpy(log_density_ratio(rows, theta, **features)) for rows in placed)
        largest = before.max()
        normalizer = largest + np.log(np.mean(np.exp(before - largest)))
        return float(np.mean(after) - normalizer)


def power_scale(samples: TwoSamples, degree: int) -> FloatArray:
    """Return the standard deviation of each power of a column, shape (degree, d); never 0."""
    rows = np.concatenate([samples.first, samples.second])
    scale = np.stack([np.std(rows**k, axis=0) for k in range(1, degree + 1)])
    return np.where(scale > 0, scale, 1.0)


def _change(theta: FloatArray) -> FloatArray:
    """Return the coefficient of each pair, or the length of its vector of coefficients."""
    if theta.shape[2] == 1:
        return theta[:, :, 0]
    # The features of (u, v) and (v, u) stand in another order, and so round differently.
    length = np.triu(np.sqrt(np.sum(theta**2, axis=2)))
    return np.asarray(np.maximum(length, length.T))


@dataclass(frozen=True, kw_only=True, eq=False)
class DirectionCheck:
    """Changes from first to second beside those from second to first.

    Attributes
    ----------
    forward, backward : Graph
        The changes that were learned either way round.
    agreement : float
        Share of the pairs found by either that both found, with opposite signs where changes have
        one; 1 where neither found any.
    is_signed : bool
        Whether changes have a sign.
    """

    forward: Graph
    backward: Graph
    agreement: float
    is_signed: bool

    def table(self) -> pd.DataFrame:
        """List the pairs that either direction found, the largest change first.

        Returns
        -------
        pandas.DataFrame
            ``source``, ``target``, ``forward``, ``backward`` and whether they ``agree``.
        """
        import pandas as pd

        ahead, back = self.forward.weights, self.backward.weights
        first, second = np.nonzero(np.triu((ahead != 0) | (back != 0)))
        names = self.forward.names
        frame = pd.DataFrame(
            {
                "source": [names[k] for k in first],
                "target": [names[k] for k in second],
                "forward": ahead[first, second],
                "backward": back[first, second],
            }
        )
        signs = np.sign(frame["forward"]) * np.sign(frame["backward"])
        frame["agree"] = signs < 0 if self.is_signed else signs != 0
        size = frame[["forward", "backward"]].abs().max(axis=1)
        return frame.loc[size.sort_values(ascending=False, kind="stable").index].reset_index(
            drop=True
        )

    def __str__(self) -> str:
        counts = f"{self.forward.n_edges} changes one way, {self.backward.n_edges} the other"
        if self.agreement == 1.0:
            return f"Both directions agree: {counts}."
        return (
            f"The directions disagree: {counts}, of which {self.agreement:.0%} are the same. "
            f"{TRUST}"
        )


def compare_directions(forward: Graph, backward: Graph, *, is_signed: bool) -> DirectionCheck:
    """Compare the changes of both directions."""
    product = np.triu(np.sign(forward.weights) * np.sign(backward.weights))
    n_same = np.count_nonzero(product < 0 if is_signed else product)
    n_either = np.count_nonzero(np.triu(forward.adjacency | backward.adjacency))
    return DirectionCheck(
        forward=forward,
        backward=backward,
        agreement=n_same / n_either if n_either else 1.0,
        is_signed=is_signed,
    )


def group_changes(estimator: Any, X: Any, y: Any, *, against: Any = "rest") -> pd.DataFrame:
    """List the changes between several groups, learned two at a time, in one table.

    Parameters
    ----------
    estimator : estimator
        Of a change between two groups, such as `NetworkChange`; a copy is fitted to each pair.
    X : array-like or data frame of shape (n, d)
        Rows of all groups.
    y : array-like of shape (n,)
        Labels of two groups or more.
    against : {"rest", "pairs"} or a label
        Compare each group with all other rows; every ordered pair of groups, since a ratio of
        densities is not that of the other direction; or each group with this one, the reference.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second`` label (or "rest"), ``alpha``, and the columns of
        `NetworkChange.changes`; the largest change of each comparison first.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import NetworkChange
    >>> from edgewise.estimators.change.density_ratio import group_changes
    >>> X, dose = np.random.default_rng(0).normal(size=(300, 3)), np.repeat(["a", "b", "c"], 100)
    >>> X[dose == "c", 1] += X[dose == "c", 0]
    >>> table = group_changes(NetworkChange(alpha=0.3), X, dose, against="a")
    >>> table[["first", "second", "source", "target", "kind"]]
      first second source target       kind
    0     a      c     x0     x1  increased
    """
    import pandas as pd

    classes, member = label_codes(y, len(np.asarray(y)))
    numbers = range(len(classes))
    if len(classes) < 2:
        raise InputError("one_group", label=classes[0])
    if isinstance(against, str) and against in ("rest", "pairs"):
        others = [[m for m in numbers if m != k] for k in numbers]
        chosen = [(rest, k) for k, rest in enumerate(others)]
        if against == "pairs":
            chosen = [([m], k) for m, k in permutations(numbers, 2)]
    elif against in classes:
        reference = classes.index(against)
        chosen = [([reference], k) for k in numbers if k != reference]
    else:
        raise InputError("unknown_against", classes=classes, against=against)
    found = []
    for before, after in chosen:
        rows = np.flatnonzero(np.isin(member, [*before, after]))
        is_after = (member[rows] == after).astype(np.int64)
        model = clone(estimator).fit(take_rows(X, rows), is_after)
        name = classes[before[0]] if len(before) == 1 else "rest"
        table = model.changes()
        table.insert(0, "first", pd.Series([name] * len(table), dtype=object))
        table.insert(1, "second", pd.Series([classes[after]] * len(table), dtype=object))
        table.insert(2, "alpha", float(model.alpha_))
        found.append(table)
    joined: pd.DataFrame = pd.concat(found, ignore_index=True)
    return joined
