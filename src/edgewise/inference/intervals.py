"""Confidence intervals for changes of edges, free of the bias of a penalty."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, special
from sklearn.base import clone

from edgewise._core.arrays import to_numpy
from edgewise._core.errors import DataWarning, InputError, SolverError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph import Graph
from edgewise.selection.criteria import false_discovery_control, two_sided
from edgewise.solvers.lasso.gram import neighborhood_lasso

if TYPE_CHECKING:
    import pandas as pd

    from edgewise.data.labels import TwoSamples
    from edgewise.estimators import NetworkChange


#: A variance below this share of the mean square is rounding.
NO_CURVATURE = 1e-10
#: One row can stand for this share of a direction at most, as far as its correction goes.
MOST_LEVERAGE = 0.9
#: Newton steps without a penalty, and what they must gain to go on.
MAX_STEPS, NO_GAIN = 100, 1e-12


class RatioFeatures(NamedTuple):
    """Features of all pairs in the rows of both groups, of shape (m, n)."""

    first: IntArray
    second: IntArray
    before: FloatArray
    after: FloatArray


class DebiasedStep(NamedTuple):
    """What a Newton step without penalty says about each feature; NaN where it can say nothing."""

    estimate: FloatArray
    standard_error: FloatArray
    alpha_hessian: float
    effective_sample_size: float


def one_step(ratio: RatioFeatures, theta: FloatArray, alpha_hessian: float | None) -> DebiasedStep:
    """Take a Newton step without penalty in every feature, each along a direction of its own."""
    n_before, n_after = ratio.before.shape[1], ratio.after.shape[1]
    weights, mean = _weigh(ratio.before, theta)
    centred = ratio.before - mean[:, None]
    H = (centred * weights) @ centred.T
    spread = np.sqrt(H.diagonal())
    known = np.flatnonzero(H.diagonal() > NO_CURVATURE * (ratio.before**2 @ weights))
    if not len(known):
        raise InputError("no_varying_product")
    n_effective = 1.0 / float(np.sum(weights**2))
    alpha = alpha_hessian
    if alpha is None:
        alpha = 2.0 * float(np.sqrt(np.log(max(len(theta), 2)) / n_effective))
    directions = _directions(H[np.ix_(known, known)], spread[known], alpha)
    slack = ratio.after[known].mean(axis=1) - mean[known]
    moved = directions @ (ratio.after[known] - ratio.after[known].mean(axis=1, keepdims=True))
    pulled = directions @ centred[known]
    leverage = weights * pulled**2
    leverage /= np.maximum(leverage.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    pulled *= n_before * weights / (1.0 - np.minimum(leverage, MOST_LEVERAGE))
    variance = (
        np.sum(moved**2, axis=1) / (n_after * (n_after - 1)) + np.mean(pulled**2, axis=1) / n_before
    )
    estimate, error = (np.full(len(theta), np.nan) for _ in range(2))
    estimate[known] = theta[known] + directions @ slack
    error[known] = np.sqrt(variance)
    return DebiasedStep(
        estimate=estimate,
        standard_error=error,
        alpha_hessian=alpha,
        effective_sample_size=n_effective,
    )


def _weigh(before: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ratio at the rows of the first group, summing to 1, and the means of the features there."""
    # Loaded by those who compare groups only, as are other parts of a change.
    from edgewise.solvers.change.ratio_problem import log_softmax

    used = np.flatnonzero(theta)
    log_ratio = theta[used] @ before[used]
    weights = np.exp(log_softmax(log_ratio))
    return weights, before @ weights


def _directions(H: FloatArray, spread: FloatArray, alpha: float) -> FloatArray:
    """Rows of a sparse inverse of the curvature, by a lasso of each feature on all others.

    With the coefficients b of feature k, the row is (1, -b) over what they leave of its variance.
    """
    correlation = H / np.outer(spread, spread)
    np.fill_diagonal(correlation, 1.0)
    coef = neighborhood_lasso(correlation, alpha, tol=1e-8).value
    left = 1.0 - np.sum(correlation * coef, axis=0)
    rows = (np.eye(len(H)) - coef.T) / left[:, None]
    return np.asarray(rows / np.outer(spread, spread))


def refit_some(ratio: RatioFeatures, kept: IntArray, start: FloatArray) -> FloatArray:
    """Fit some coefficients without penalty by Newton steps; the others are 0."""
    from edgewise.solvers.change.ratio_problem import log_total

    theta = np.zeros(len(start))
    theta[kept] = start[kept]
    if not len(kept):
        return theta
    before, target = ratio.before[kept], ratio.after[kept].mean(axis=1)

    def loss(values: FloatArray) -> float:
        return log_total(values @ before) - float(values @ target)

    values, height = theta[kept], loss(theta[kept])
    for _ in range(MAX_STEPS):
        weights, mean = _weigh(before, values)
        centred = before - mean[:, None]
        H = (centred * weights) @ centred.T
        try:
            step = linalg.cho_solve(linalg.cho_factor(H), target - mean)
        except linalg.LinAlgError:
            break
        gain = float((target - mean) @ step)
        if gain <= NO_GAIN:
            theta[kept] = values
            return theta
        size = 1.0
        while (lower := loss(values + size * step)) > height - 0.1 * size * gain and size > 1e-10:
            size *= 0.5
        values, height = values + size * step, lower
    raise SolverError("changes_not_finite", n_kept=len(kept))


#: Pairs whose curvature can be kept in memory: those of 100 variables.
MOST_PAIRS = 5050
#: With a smaller share of the rows in play, the standard errors of strong changes are too small.
FEW = 1 / 3


@dataclass(frozen=True, kw_only=True, eq=False)
class PairIntervals:
    """Estimates with intervals for pairs of variables.

    Everything is symmetric, of shape (d, d), and NaN on the diagonal and for pairs that were not
    asked for.

    Attributes
    ----------
    estimate : ndarray of shape (d, d)
        Without the shrinking of a penalty.
    standard_error : ndarray of shape (d, d)
        Of the estimate.
    lower, upper : ndarray of shape (d, d)
        Ends of the intervals.
    pvalues : ndarray of shape (d, d)
        Of the hypothesis that the true value is 0, for each pair by itself.
    qvalues : ndarray of shape (d, d)
        ``pvalues`` corrected for the number of pairs: the share of false discoveries among pairs
        with a smaller one.
    level : float
        Coverage of each interval.
    names : tuple of str
        Names of the variables.
    """

    estimate: FloatArray
    standard_error: FloatArray = field(repr=False)
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    pvalues: FloatArray = field(repr=False)
    qvalues: FloatArray = field(repr=False)
    level: float
    names: tuple[str, ...] = field(repr=False)

    _called: ClassVar[str] = "estimate"

    def table(self) -> pd.DataFrame:
        """List the pairs, the surest first.

        Returns
        -------
        pandas.DataFrame
            ``source``, ``target``, ``estimate`` (``change`` where it is one), ``standard_error``,
            ``lower``, ``upper``, ``pvalue`` and ``qvalue``.
        """
        import pandas as pd

        first, second = self._listed()
        columns = {
            self._called: self.estimate,
            "standard_error": self.standard_error,
            "lower": self.lower,
            "upper": self.upper,
            "pvalue": self.pvalues,
            "qvalue": self.qvalues,
        }
        frame = pd.DataFrame(
            {
                "source": [self.names[k] for k in first],
                "target": [self.names[k] for k in second],
                **{name: values[first, second] for name, values in columns.items()},
            }
        )
        order = np.lexsort((-np.abs(frame[self._called]), frame["pvalue"]))
        return frame.loc[order].reset_index(drop=True)

    def _listed(self) -> tuple[IntArray, IntArray]:
        """Pairs that were asked for."""
        first, second = np.nonzero(np.triu(np.isfinite(self.estimate)))
        return first, second

    def significant(self, level: float = 0.05, by: Literal["q", "p"] = "q") -> Graph:
        """Keep the pairs that chance does not explain.

        Parameters
        ----------
        level : float
            Largest value that is kept.
        by : {"q", "p"}
            Which values: ``qvalues`` or, without any correction for the number of pairs,
            ``pvalues``.

        Returns
        -------
        Graph
            The estimates as weights, 1 where there is a p-value only, and 1 minus the values as
            confidence.
        """
        is_kept, confidence = keep_pairs(self.qvalues, self.pvalues, level, by)
        return Graph(
            np.where(is_kept, np.nan_to_num(self.estimate, nan=1.0), 0.0),
            names=self.names,
            adjacency=is_kept,
            confidence=confidence,
        )


def keep_pairs(
    qvalues: FloatArray, pvalues: FloatArray, level: float, by: str
) -> tuple[BoolArray, FloatArray]:
    """Which pairs have a small value, and 1 minus the values; what is not known counts as 1."""
    values = {"q": qvalues, "p": pvalues}
    if by not in values:
        raise InputError("by_q_or_p", by=by)
    if not 0 < level < 1:
        raise InputError("level_range", level=level)
    known = np.where(np.isfinite(values[by]), values[by], 1.0)
    return known <= level, 1.0 - known


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangeIntervals(PairIntervals):
    """Intervals for the change of every pair, as `change_intervals` returns them.

    Attributes
    ----------
    alpha_hessian : float
        Penalty of the regressions among features.
    effective_sample_size : float
        How many rows of the first group the ratio leaves in play.
    model : NetworkChange
        The fit that the estimate starts from; estimates are in the units of its ``change_``.
    """

    alpha_hessian: float
    effective_sample_size: float
    model: NetworkChange

    _called: ClassVar[str] = "change"


def change_intervals(
    estimator: NetworkChange,
    X: Any,
    y: Any,
    *,
    level: float = 0.95,
    alpha_hessian: float | None = None,
    pairs: ArrayLike | None = None,
) -> ChangeIntervals:
    r"""Give every pair an interval that covers its true change with a known probability.

    A penalty draws changes towards 0, and its own uncertainty is not known. One Newton step
    without the penalty, along a direction :math:`\omega` in which the other pairs have next to no
    effect, takes both away [1]_:

    .. math:: \tilde\theta_k = \theta_k + \omega^\top (\bar f_P - \textstyle\sum_i a_i f(x_i)).

    The :math:`f` are the features of all pairs, :math:`\bar f_P` their means in the second group
    and :math:`a` the ratio at the rows :math:`x_i` of the first, summing to 1. The curvature
    :math:`H` is the covariance of the features under :math:`a`, and :math:`\omega` a row of its
    inverse, from a lasso of feature k on all others. The start :math:`\theta` is fitted without
    penalty to the pairs that a first such step from the fit of the estimator finds. The variance
    adds that of :math:`\omega^\top f` in the second group, and that of :math:`n_Q a_i\,
    \omega^\top (f(x_i) - \bar f_P)` in the first, where rows that determine :math:`H` by
    themselves count for more.

    Parameters
    ----------
    estimator : NetworkChange
        With one feature per pair: ``basis`` is ``"gaussian"``, ``"power"``, ``"ising"`` or a
        function. A copy is fitted.
    X : array-like or data frame of shape (n, d)
        Rows of both groups.
    y : array-like of shape (n,)
        Their labels.
    level : float
        Coverage of each interval by itself.
    alpha_hessian : float, optional
        Penalty of the lasso, on correlations of features. By default
        :math:`2 \sqrt{\log m / n_{\mathrm{eff}}}` with m features and the effective sample size
        of the first group.
    pairs : array-like of shape (n_pairs, 2), optional
        Numbers of the columns of the pairs that are of interest; by default all. Only they count
        in ``qvalues``.

    Returns
    -------
    ChangeIntervals

    Notes
    -----
    The intervals hold for many rows, a change that is sparse, and groups that overlap, so that
    ``effective_sample_size`` is a good part of the rows. Where links change strongly, estimates
    from a few hundred rows are a little too large and intervals too short; there is a warning
    below a third of the rows. Pairs that do not change are covered there, too.

    If the estimator standardises, changes are per standard deviation of the rows at hand, which
    are taken as given.

    References
    ----------
    .. [1] Kim, Liu and Kolar (2021). Two-sample inference for high-dimensional Markov networks.
       *Journal of the Royal Statistical Society B* 83(5). https://doi.org/10.1111/rssb.12446

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import NetworkChange
    >>> from edgewise.inference import change_intervals
    >>> X = np.random.default_rng(0).normal(size=(600, 4))
    >>> y = np.repeat(["after", "before"], 300)
    >>> X[y == "before", 1] += 0.6 * X[y == "before", 0]
    >>> intervals = change_intervals(NetworkChange(alpha=0.2), X, y)
    >>> intervals.significant().edges()[["source", "target"]]
      source target
    0     x0     x1
    """
    from edgewise.estimators import NetworkChange

    if not isinstance(estimator, NetworkChange):
        raise InputError("needs_network_change", type=type(estimator).__name__)
    if not 0 < level < 1:
        raise InputError("level_range", level=level)
    if alpha_hessian is not None and not 0 < alpha_hessian < np.inf:
        raise InputError("alpha_hessian_positive", alpha_hessian=alpha_hessian)
    model = clone(estimator).fit(X, y)
    ratio = _make_ratio(model, model._as_fitted(X, y))
    wanted = _wanted_pairs(pairs, model.n_features_in_)
    start = to_numpy(model.change_)[ratio.first, ratio.second]
    step = one_step(ratio, start, alpha_hessian)
    # Chance alone brings less than one feature that far.
    is_sure = np.abs(step.estimate) > np.sqrt(2 * np.log(len(start))) * step.standard_error
    try:
        start = refit_some(ratio, np.flatnonzero(is_sure), start)
    except SolverError as error:
        warnings.warn(DataWarning("intervals_of_penalised_fit", error=error), stacklevel=2)
    step = one_step(ratio, start, alpha_hessian)
    if step.effective_sample_size < FEW * ratio.before.shape[1]:
        warnings.warn(
            DataWarning(
                "ratio_hardly_overlaps",
                effective_sample_size=step.effective_sample_size,
                n_rows=ratio.before.shape[1],
                label=model.classes_.tolist()[0],
            ),
            stacklevel=2,
        )
    return _assemble(model, ratio, step, wanted, level)


def _make_ratio(model: NetworkChange, samples: TwoSamples) -> RatioFeatures:
    """Compute the features of all pairs, or refuse where there are too many."""
    from edgewise.stats.pair_features import pair_features

    if not model._is_signed():
        raise InputError("intervals_one_feature", basis=model.basis, size=model.theta_.shape[2])
    d = samples.n_features
    if d < 2:
        raise InputError("change_needs_columns")
    first, second = np.triu_indices(d, int(model.basis == "ising"))
    if len(first) > MOST_PAIRS:
        raise InputError("too_many_pairs", d=d, n_first=len(first), most_pairs=MOST_PAIRS)
    before, after = (
        pair_features(rows, **model._fitted_values()[1])
        .columns(first * d + second, np.ones(len(rows)))
        .reshape(len(first), -1)
        for rows in (samples.first, samples.second)
    )
    return RatioFeatures(first=first, second=second, before=before, after=after)


def _wanted_pairs(pairs: ArrayLike | None, d: int) -> tuple[IntArray, IntArray]:
    """Pairs of columns, the smaller number first."""
    if pairs is None:
        return np.triu_indices(d, 1)
    wanted = np.asarray(pairs)
    is_good = wanted.ndim == 2 and wanted.shape[1] == 2 and wanted.dtype.kind in "iu"
    if not is_good or not len(wanted) or wanted.min() < 0 or wanted.max() >= d:
        raise InputError("pairs_out_of_range", d=d - 1, shape=wanted.shape)
    if (wanted[:, 0] == wanted[:, 1]).any():
        raise InputError("pairs_not_distinct")
    unique = np.unique(np.sort(wanted, axis=1), axis=0)
    return unique[:, 0], unique[:, 1]


def _assemble(
    model: NetworkChange,
    ratio: RatioFeatures,
    step: DebiasedStep,
    wanted: tuple[IntArray, IntArray],
    level: float,
) -> ChangeIntervals:
    """Put values of pairs into symmetric arrays."""
    d = model.n_features_in_

    def full(values: FloatArray, where: tuple[IntArray, IntArray]) -> FloatArray:
        out = np.full((d, d), np.nan)
        out[where], out[where[::-1]] = values, values
        return out

    every = (ratio.first, ratio.second)
    estimate, error = (
        full(full(values, every)[wanted], wanted) for values in (step.estimate, step.standard_error)
    )
    pvalues = two_sided(estimate / error)
    qvalues = np.full(len(wanted[0]), np.nan)
    is_known = np.isfinite(pvalues[wanted])
    qvalues[is_known] = false_discovery_control(pvalues[wanted][is_known])
    reach = float(-special.ndtri((1.0 - level) / 2)) * error
    return ChangeIntervals(
        estimate=estimate,
        standard_error=error,
        lower=estimate - reach,
        upper=estimate + reach,
        pvalues=pvalues,
        qvalues=full(qvalues, wanted),
        level=level,
        alpha_hessian=step.alpha_hessian,
        effective_sample_size=step.effective_sample_size,
        names=model.graph_.names,
        model=model,
    )
