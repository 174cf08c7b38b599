"""Changes between two Gaussian networks, by the D-trace loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from edgewise._core.constraints import Constraint, Number, OneOf
from edgewise._core.typing import FloatArray, RandomState
from edgewise.data.labels import TwoSamples
from edgewise.estimators.base.statistics import REPAIRS
from edgewise.estimators.change.base import (
    CONSTRAINTS,
    COVARIANCES,
    HELD_OUT,
    ChangeEstimator,
    ChangeFit,
    ChangeLoss,
    Covariances,
    group_covariances,
    group_moments,
    in_log_ratio,
)
from edgewise.selection.rules import Rule, Strength
from edgewise.solvers.change.dtrace import dtrace_alpha_max, dtrace_path


class DTraceChange(ChangeEstimator):
    r"""Learn the difference of two Gaussian networks directly, without learning either.

    .. math::

        \min_\Delta \; \tfrac12 \operatorname{tr}(\Delta S_P \Delta S_Q)
        - \operatorname{tr}(\Delta (S_Q - S_P)) + \frac{\mathrm{ridge}}{2} \|\Delta\|^2
        + \alpha \sum_{ij} |\Delta_{ij}|

    over symmetric :math:`\Delta`, with :math:`S_Q` and :math:`S_P` the covariances of the rows of
    ``classes_[0]`` and ``classes_[1]``. Without penalties, :math:`\Delta` is the precision matrix
    of P less that of Q [1]_. The problem is quadratic: nothing but two covariances is needed, and
    no likelihood.

    **For changes between Gaussian networks this is the strongest simple baseline: hold anything
    else against it.** With 40 variables, 15 pairs of which changed by 0.8 or by 1
    (`edgewise.data.make_gaussian_change`, mean of 20 draws), the pairs in the order in which they
    enter the path have this area under the curve of precision against recall:

    ============================ ===== ===== ===== =====
    size of the changes          0.8   0.8   1     1
    rows in each group           100   50    100   50
    ============================ ===== ===== ===== =====
    ``DTraceChange``             0.78  0.43  0.95  0.74
    ``SeparateNetworkChange``    0.74  0.43  0.90  0.74
    ``NetworkChange``            0.69  0.35  0.85  0.60
    difference of covariances    0.79  0.46  0.90  0.74
    ============================ ===== ===== ===== =====

    The last row ranks pairs by the size of :math:`S_P - S_Q` and nothing else. It keeps up where
    changes are hard to see and falls behind where they are easy; changes of 0.1 are seen by none.
    A change that leaves all covariances as they are is not seen either: `NetworkChange` with a
    polynomial basis is for those.

    Parameters
    ----------
    alpha : float, "cv" or CV
        Penalty, counted for every entry of the symmetric matrix; ``"cv"`` takes the smallest
        held-out loss. By default 30 alphas are tried, down to 0.1 of the smallest without any
        change, on 5 folds that hold rows of both groups, or as many as the smaller group has
        rows; ``alpha=CV(10, n_alphas=50)`` says otherwise.
    ridge : float
        Curvature that keeps the change finite. With 0 and a group of no more rows than columns,
        there is no solution if alpha is small.
    covariance : {"empirical", "nonparanormal", "spearman", "kendall"}
        What stands for the covariances. All but the first see only ranks within each group, for
        rows that are Gaussian on some other scale of each variable; a change of a variance is then
        no change.
    penalize_diagonal : bool
        Whether alpha counts for the diagonal too. A free diagonal finds fewer of the true changes.
    repair : {None, "ridge", "clip"}
        What to do with rank correlations that are not positive semidefinite: refuse them, or raise
        their small eigenvalues, by adding to the diagonal or one by one. ``treatment_`` then says
        how.
    standardize : {"within", "pooled", False}
        Subtract the mean of its group from every column and divide by the standard deviation in
        its group, so that networks are compared and spreads do not count; or by one that both
        groups have in common (``"pooled"``), so that a change of the spread counts. With False
        the rows are used as they are, as if their means were 0.
    negligible : float
        Changes up to this size are left out of ``graph_``.
    tol : float
        Largest duality gap per variable.
    max_iter : int
        Largest number of rounds of the solver.
    n_jobs : int, optional
        Folds at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Splits the rows into folds.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Attributes
    ----------
    change_ : ndarray of shape (d, d)
        In standardised units, above 0 where a link became more positive: :math:`\Delta` with the
        sign turned and half of its diagonal, which are the coefficients of products and squares
        in the log ratio of the densities, as in `NetworkChange`.
    precision_difference_ : ndarray of shape (d, d)
        :math:`\Delta`, precision after less precision before: of standardised columns, and in
        the units of X with ``standardize="pooled"`` and False; of normal scores with covariances
        of ranks.
    graph_ : Graph
        Pairs that changed by more than ``negligible``.
    classes_ : ndarray of shape (2,)
        Labels before and after.
    alpha_, alphas_, selection_
        The penalty used, those tried, and the criterion along them (None for a number).
    locations_, scale_ : ndarray of shape (2, d)
        Means of the groups and standard deviations that were taken out; ``scale_`` has shape
        (d,) unless ``standardize="within"``.
    treatment_ : list of str
        What was done to the covariances.
    gap_, objective_, converged_, n_iter_
        Certificate of the solver.
    decided_ : ndarray of bool, shape (d, d)
        Pairs that the gap proves to change, or not to, at the optimum.
    is_decided_ : bool
        Whether all pairs are.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    See Also
    --------
    NetworkChange : The ratio of the densities, for Gaussian rows and for others.
    SeparateNetworkChange : Learns both networks and takes the difference.
    edgewise.permutation_test : Whether the change is more than chance.

    References
    ----------
    .. [1] Yuan, Xi, Chen and Deng (2017). Differential network analysis via lasso penalized
       D-trace loss. *Biometrika* 104(4). https://doi.org/10.1093/biomet/asx049

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import DTraceChange
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> y = np.repeat(["1 before", "2 after"], 100)
    >>> X[y == "2 after", 1] += 0.8 * X[y == "2 after", 0]
    >>> model = DTraceChange(alpha=0.3).fit(X, y)
    >>> model.graph_.edges()[["source", "target"]]
      source target
    0     x0     x1
    >>> bool(model.change_[0, 1] > 0), bool(model.precision_difference_[0, 1] < 0)
    (True, True)
    """

    _methods = (
        "The difference of the two precision matrices was estimated by the lasso-penalised "
        "D-trace loss (Yuan et al. 2017)."
    )
    _cites = ("yuan2017",)

    _matrices_held = 7.0
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Strength(HELD_OUT),
        "ridge": Number(at_least=0),
        "covariance": OneOf(*COVARIANCES),
        "repair": OneOf(None, *REPAIRS),
        **CONSTRAINTS,
    }

    def __init__(
        self,
        alpha: float | str | Rule = "cv",
        *,
        ridge: float = 0.1,
        covariance: str = "empirical",
        penalize_diagonal: bool = True,
        repair: str | None = None,
        standardize: str | bool = "within",
        negligible: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.ridge = ridge
        self.covariance = covariance
        self.penalize_diagonal = penalize_diagonal
        self.repair = repair
        self.standardize = standardize
        self.negligible = negligible
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        DTraceChange
        """
        problem = self._pose(X, y)
        fit = self._learn(problem, self._rule(problem))
        # Two groups of different units have no difference in the units of X.
        unit = np.ones(len(fit.values)) if self.standardize == "within" else self._unit()[0]
        self.precision_difference_ = fit.values / np.outer(unit, unit)
        self.treatment_ = list(fit.treatment)
        return self

    def _loss(self) -> DTraceLoss:
        return DTraceLoss(
            ridge=self.ridge,
            covariance=self.covariance,
            repair=self.repair,
            names=self._names(),
            standardize=self.standardize,
            penalize_diagonal=self.penalize_diagonal,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _fitted_values(self) -> tuple[FloatArray, dict[str, Any]]:
        return _from_log_ratio(self.change_), {}


@dataclass(frozen=True, kw_only=True, eq=False)
class DTraceLoss(ChangeLoss):
    """The D-trace loss as a `ChangeLoss`; the fields are parameters of `DTraceChange`."""

    ridge: float
    covariance: str
    repair: str | None
    names: Sequence[str] | None
    penalize_diagonal: bool
    decide: float = 0.0

    def prepare(self, samples: TwoSamples) -> Covariances:
        """Return the covariances of both groups."""
        return group_covariances(samples, self.covariance, self.repair, self.names)

    def largest_alpha(self, covariances: Covariances) -> float:
        """Return the smallest alpha without any change."""
        return dtrace_alpha_max(
            covariances.before,
            covariances.after,
            ridge=self.ridge,
            penalize_diagonal=self.penalize_diagonal,
        )

    def solve_path(self, covariances: Covariances, alphas: FloatArray) -> Iterator[ChangeFit]:
        """Yield one fit per alpha, each started from the one before."""
        path = dtrace_path(
            covariances.before,
            covariances.after,
            alphas,
            ridge=self.ridge,
            penalize_diagonal=self.penalize_diagonal,
            tol=self.tol,
            max_iter=self.max_iter,
            decide=self.decide,
        )
        for solution in path:
            difference = np.asarray(solution.value)
            yield ChangeFit(
                solution=solution,
                values=difference,
                change=in_log_ratio(difference),
                features={},
                treatment=covariances.treatment,
            )

    def score(self, difference: FloatArray, features: dict[str, Any], samples: TwoSamples) -> float:
        """Minus the loss of other rows, without penalties."""
        before, after = group_moments(samples, self.covariance, self.names)
        curved = float(np.vdot(after @ difference, difference @ before))
        return float(np.vdot(difference, before - after)) - 0.5 * curved


def _from_log_ratio(change: FloatArray) -> FloatArray:
    """Turn coefficients of a log ratio into a difference of precisions; undo `in_log_ratio`."""
    difference: FloatArray = -change
    np.fill_diagonal(difference, 2.0 * difference.diagonal())
    return difference
