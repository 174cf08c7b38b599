r"""Tests of the partial correlation of every pair, without choosing a graph first.

`edgewise.inference.edge_intervals` has the formulas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

import numpy as np
from scipy import special

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.selection.criteria import two_sided
from edgewise.solvers.lasso.gram import descend, neighborhood_lasso
from edgewise.stats.rank import nonparanormal

#: Penalty of the regressions behind tests of edges, in units of sqrt(log p / n).
EDGE_PENALTY: Final = 0.5
#: Penalty of the second regressions on columns that the first are sure of, as a share of that on
#: others.
RELIEF: Final = 0.3
#: Least squares do without a penalty where the columns besides a pair are at most this share of
#: the rows, which is the share of the rows that they cost.
FEW_COLUMNS: Final = 0.1
#: Rows that least squares must have besides one for each column: with fewer, chance alone makes
#: columns look as if others determined them.
SPARE_ROWS: Final = 5
#: Correlations with a smaller eigenvalue have columns that determine each other, or had to be
#: repaired: their inverse says nothing.
DETERMINED: Final = 1e-5
#: With fewer rows, estimates freed of a penalty have heavier tails than their formula says.
FEW_ROWS: Final = 100
#: Standard errors by which fourth moments exceed those of normal rows where tails are heavy.
HEAVY: Final = 2.5
#: P-values below this are confirmed by another test where tails are heavy: far out, neither that
#: for normal rows nor that for symmetric products holds for skewed columns.
TAIL: Final = 0.01


class PairTests(Protocol):
    """Tests of all pairs: arrays of shape (p, p), NaN where there is no test.

    An interval leaves out 0 exactly where the p-value is below one minus its level.
    """

    @property
    def estimate(self) -> FloatArray:
        """Estimates."""
        ...

    @property
    def standard_error(self) -> FloatArray:
        """Standard errors of the estimates."""
        ...

    @property
    def pvalues(self) -> FloatArray:
        """P-values of the hypothesis that the truth is 0."""
        ...

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Give the ends of intervals of a level."""
        ...


class TestedPairs(NamedTuple):
    """Tests of all pairs, the penalty behind them, and where the errors come from."""

    tests: PairTests
    alpha: float
    errors: Literal["formula", "confirmed", "robust"]


def few_rows(R: FloatArray, n: float) -> bool:
    """Whether there are lassos, with too few rows to trust tests of theirs alone."""
    return n < FEW_ROWS and len(R) - 2 > FEW_COLUMNS * n


def pair_tests(R: FloatArray, n: float, Z: FloatArray | None = None) -> TestedPairs:
    """Test the partial correlation of every pair.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Correlations.
    n : float
        Independent rows behind them.
    Z : ndarray of shape (m, p), optional
        The rows, standardised, whose correlations these are. Where tails are heavier than those of
        normal rows, there are tests of products of residuals, too: in place of the formula where
        columns are far out in the same rows, and else to confirm small p-values.
    """
    plan = plan_partial_correlations(R, n)
    tests: PairTests = FormulaTests(*plan(R))
    plain: PairTests = FormulaTests(_without_diagonal(R), np.full(R.shape, n - 3.0))
    errors: Literal["formula", "confirmed", "robust"] = "formula"
    if Z is not None:
        errors = "confirmed" if has_heavy_tails(Z, R) else "formula"
        errors = "robust" if rows_are_far_out(Z) else errors
    if Z is not None and errors != "formula":
        growth = len(Z) / n
        robust = plan.robust_tests(R, Z).spread(growth)
        h = np.full(Z.shape, 1.0 / len(Z))
        plain_robust = RobustTests(product_sums(Z, np.zeros_like(R), h), R).spread(growth)
        if errors == "robust":
            tests, plain = ConfirmedTests(robust, tests, TAIL), plain_robust
        else:
            tests = ConfirmedTests(tests, robust, TAIL)
            plain = ConfirmedTests(plain, plain_robust, TAIL)
    if few_rows(R, n):
        tests = ConfirmedTests(tests, plain)
    return TestedPairs(tests, plan.alpha, errors)


def has_heavy_tails(Z: FloatArray, R: FloatArray) -> bool:
    r"""Whether fourth moments of rows are beyond those of normal rows with the same correlations.

    .. math:: \frac1n \sum_r \bigl( z_r^\top z_r \bigr)^2 \approx \frac{n - 1}{n + 1}
        \bigl( p^2 + 2 \operatorname{tr} R^2 \bigr)

    for normal rows, up to an error that follows from the number of columns, counted by how much
    they differ, :math:`p^2 / \operatorname{tr} R^2`.
    """
    n, p = Z.shape
    total = float(np.vdot(R, R))
    expected = (p * p + 2.0 * total) * (n - 1.0) / (n + 1.0)
    found = float(np.mean(np.sum(Z * Z, axis=1) ** 2))
    differing = p * p / total
    error = math.sqrt(8.0 / (n * differing * (differing + 2.0)))
    return bool(found > expected * (1.0 + HEAVY * error))


def rows_are_far_out(Z: FloatArray) -> bool:
    r"""Whether columns have their large values in the same rows, of either sign.

    So it is with elliptical rows of heavy tails, and where a few rows are of another kind. Large
    values of columns that have nothing to do with each other do not count: the mean of
    :math:`z_{ri}^2 z_{rj}^2` over rows and pairs of normal scores is held against that of
    independent ones with the same kurtosis.
    """
    Z = nonparanormal(Z)
    n, p = Z.shape
    square = Z * Z
    R = Z.T @ Z / n
    kurtosis = np.mean(square**2, axis=0)
    n_pairs = p * (p - 1.0)
    found = float(np.mean(np.sum(square, axis=1) ** 2) - kurtosis.sum()) / n_pairs
    expected = 1.0 + 2.0 * (float(np.vdot(R, R)) - p) / n_pairs
    differing = p * p / float(np.vdot(R, R))
    spread = float(np.sum(kurtosis - 1.0) ** 2 - np.sum((kurtosis - 1.0) ** 2)) / n_pairs
    error = math.sqrt(2.0 * spread / (n * max(differing * (differing - 1.0), 1.0)))
    return bool(found > expected * (1.0 + HEAVY * error))


@dataclass(frozen=True, eq=False)
class FormulaTests:
    """Tests by Student's t, which are exact for normal rows where estimates are least squares.

    Parameters
    ----------
    estimate : ndarray of shape (p, p)
        Partial correlations, or plain ones; NaN where there is none.
    rows : ndarray of shape (p, p)
        Effective sample size of the artanh of each: the degrees of freedom less 1.
    """

    estimate: FloatArray
    rows: FloatArray

    @property
    def standard_error(self) -> FloatArray:
        """By the variance of the artanh."""
        return np.asarray((1.0 - self.estimate**2) / np.sqrt(self.rows))

    @property
    def pvalues(self) -> FloatArray:
        """Of Student's t."""
        df = self.rows + 1.0
        score = np.abs(self.estimate) * np.sqrt(df / (1.0 - self.estimate**2))
        return np.asarray(2.0 * special.stdtr(df, -score))

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Reach as far as the smallest correlation that would be significant, as artanh."""
        df = self.rows + 1.0
        t = special.stdtrit(df, (1.0 + level) / 2.0)
        reach = np.arcsinh(t / np.sqrt(df))
        z = np.arctanh(self.estimate)
        return np.tanh(z - reach), np.tanh(z + reach)


@dataclass(frozen=True, eq=False)
class ConfirmedTests:
    """Tests whose small p-values count only as far as other tests agree.

    Parameters
    ----------
    main, other : PairTests
        The tests, and those that have to agree.
    below : float
        P-values from here on need no agreement.
    """

    main: PairTests
    other: PairTests
    below: float = 1.0

    @property
    def estimate(self) -> FloatArray:
        """Estimates of the main tests."""
        return self.main.estimate

    @property
    def standard_error(self) -> FloatArray:
        """Of the main tests."""
        return self.main.standard_error

    @property
    def pvalues(self) -> FloatArray:
        """Return the larger ones, where those of the main tests are small."""
        return np.asarray(np.maximum(self.main.pvalues, np.minimum(self.other.pvalues, self.below)))

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Reach at least to 0 where the other tests do not reject it."""
        lower, upper = self.main.interval(level)
        if 1.0 - level > self.below:
            return lower, upper
        low, high = self.other.interval(level)
        is_open = (low <= 0.0) & (high >= 0.0)
        return (
            np.where(is_open & (lower > 0.0), 0.0, lower),
            np.where(is_open & (upper < 0.0), 0.0, upper),
        )


class ProductSums(NamedTuple):
    """Sums over rows, of all pairs; see `product_sums`."""

    n: float
    mean: FloatArray
    ww: FloatArray
    wv: FloatArray
    vv: FloatArray


def product_sums(E: FloatArray, coef: FloatArray, leverage: FloatArray) -> ProductSums:
    r"""Sum what tests of products of residuals need.

    Residuals of pair (i, j), each regressed on the columns but these two, are
    :math:`e_i + b_{ji} e_j` and :math:`e_j + b_{ij} e_i` up to a factor. Standardised, their
    products in each row are :math:`w_r` and half the sum of their squares :math:`v_r`; squares of
    these are divided by what the regressions leave of a row,
    :math:`\sqrt{(1 - h_{ri})(1 - h_{rj})}`.

    Parameters
    ----------
    E : ndarray of shape (n, p)
        Residuals of each column given all others.
    coef : ndarray of shape (p, p)
        ``coef[i, j]`` is the coefficient of column i in the regression of j.
    leverage : ndarray of shape (n, p)
        Of each row in each regression.
    """
    n = len(E)
    there, back = coef.T, coef
    second = (E.T @ E) / n
    # Quadratic forms in the residuals of i and j, by the power of the second: 0, 1, 2.
    product = (back, 1.0 + there * back, there)
    square_i = (np.ones_like(coef), 2.0 * there, there**2)
    square_j = (back**2, 2.0 * back, np.ones_like(coef))
    variance = second.diagonal()
    own, other = np.broadcast_to(variance[:, None], coef.shape), variance[None, :]

    def mean_of(form: tuple[FloatArray, FloatArray, FloatArray]) -> FloatArray:
        return np.asarray(form[0] * own + form[1] * second + form[2] * other)

    size_i, size_j = mean_of(square_i), mean_of(square_j)
    size = np.sqrt(size_i * size_j)
    w = tuple(part / size for part in product)
    v = tuple((a / size_i + b / size_j) / 2.0 for a, b in zip(square_i, square_j, strict=True))
    scaled = (1.0 - np.minimum(leverage, 1.0 - 1e-6)) ** -0.5
    fourth = [(scaled * E ** (4 - k)).T @ (scaled * E**k) for k in range(5)]

    def sum_of(a: tuple[FloatArray, ...], b: tuple[FloatArray, ...]) -> FloatArray:
        return np.asarray(sum(a[k] * b[m] * fourth[k + m] for k in range(3) for m in range(3)))

    return ProductSums(
        n=float(n),
        mean=_without_diagonal(mean_of(product) / size),
        ww=sum_of(w, w),
        wv=sum_of(w, v),
        vv=sum_of(v, v),
    )


@dataclass(frozen=True, eq=False)
class RobustTests:
    r"""Tests that hold for rows with heavy tails, or with a few rows far out.

    If the partial correlation is :math:`\rho`, then :math:`w_r - \rho v_r` is symmetric around 0
    for elliptical rows, whatever their tails, so that its sum over the root of the sum of its
    squares is no larger than a standard normal variable, up to rounding [1]_. The interval has the
    :math:`\rho` for which it is not significant.

    Parameters
    ----------
    sums : ProductSums
        Of the products.
    other : ndarray of shape (p, p)
        Another estimate, NaN where there is to be no test.

    References
    ----------
    .. [1] Efron (1969). Student's t-test under symmetry conditions. *Journal of the American
       Statistical Association* 64. https://doi.org/10.1080/01621459.1969.10501056
    """

    sums: ProductSums
    other: FloatArray

    def spread(self, growth: float) -> RobustTests:
        """Multiply squares by how much more sums vary than those of independent rows."""
        ww, wv, vv = (growth * square for square in self.sums[2:])
        return RobustTests(self.sums._replace(ww=ww, wv=wv, vv=vv), self.other)

    @property
    def estimate(self) -> FloatArray:
        """Correlations of the residuals."""
        return np.where(np.isnan(self.other), np.nan, self.sums.mean)

    @property
    def standard_error(self) -> FloatArray:
        """By the squares around the estimate."""
        n, r, ww, wv, vv = self.sums
        return np.asarray(np.sqrt(np.maximum(ww - 2.0 * r * wv + r * r * vv, 0.0)) / n)

    @property
    def pvalues(self) -> FloatArray:
        """Of the sums divided by the root of their squares."""
        return two_sided(self.sums.n * self.estimate / np.sqrt(self.sums.ww))

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Solve a quadratic equation for the ends."""
        n, r, ww, wv, vv = self.sums
        z2 = float(special.ndtri((1.0 + level) / 2.0)) ** 2
        a, b, c = n * n - z2 * vv, n * n * r - z2 * wv, (n * r) ** 2 - z2 * ww
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(b * b - a * c, 0.0))
            ends = np.stack([(b - root) / a, (b + root) / a])
        lower, upper = np.minimum(*ends), np.maximum(*ends)
        # Without an end on one side, the rows exclude no more than 0 and its other side.
        is_open = a <= 0.0
        excludes = c > 0.0
        lower = np.where(is_open, np.where(excludes & (r > 0), upper, -1.0), lower)
        upper = np.where(is_open, np.where(excludes & (r < 0), np.minimum(*ends), 1.0), upper)
        nothing = np.where(np.isnan(self.other), np.nan, 0.0)
        return np.maximum(lower, -1.0) + nothing, np.minimum(upper, 1.0) + nothing


@dataclass(frozen=True)
class PartialCorrelations:
    """From correlations to partial ones without the pull of a penalty.

    Which pairs are treated how is decided once, by `plan_partial_correlations`, and holds for
    resamples, too.

    Parameters
    ----------
    n_samples : float
        Rows behind the correlations.
    alpha : float
        Penalty of the lassos; 0 where all pairs are by least squares.
    relieved : ndarray of shape (p, p)
        Pairs that are penalised less.
    is_least_squares : ndarray of shape (p, p)
        Pairs whose partial correlation is that of least squares.
    """

    n_samples: float
    alpha: float
    relieved: BoolArray
    is_least_squares: BoolArray

    def __call__(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimate, with the effective sample size of the artanh of each estimate.

        An estimate freed of a penalty may end beyond 1: it is NaN then, since what it should be
        divided by is unknown.
        """
        n, p = self.n_samples, len(R)
        if not self.is_least_squares.any():
            return self._from_lassos(R, self._lassos(R))
        squares, rows = _least_squares(R)[0], np.full(R.shape, n - p - 1.0)
        if self.is_least_squares.all():
            return squares, rows
        estimate, worth = self._from_lassos(R, self._lassos(R))
        chosen = self.is_least_squares
        return np.where(chosen, squares, estimate), np.where(chosen, rows, worth)

    def robust_tests(self, R: FloatArray, Z: FloatArray) -> RobustTests:
        """Test products of residuals of the rows, which are standardised."""
        estimate, _ = self(R)
        sums = []
        if self.is_least_squares.any():
            Theta = np.linalg.inv(R)
            coef = -Theta / Theta.diagonal()
            np.fill_diagonal(coef, 0.0)
            E = Z - Z @ coef
            # Of all columns, less what the column itself adds to the others.
            leverage = np.sum((Z @ Theta) * Z, axis=1)[:, None] - E**2 * Theta.diagonal()
            sums.append(product_sums(E, coef, (1.0 + leverage) / len(Z)))
        if not self.is_least_squares.all():
            coef = self._lassos(R)
            leverage = np.empty_like(Z)
            for j, used in enumerate((coef != 0.0).T):
                basis = np.linalg.qr(Z[:, used])[0]
                leverage[:, j] = np.sum(basis**2, axis=1) + 1.0 / len(Z)
            sums.append(product_sums(Z - Z @ coef, coef, leverage))
        if len(sums) == 1:
            return RobustTests(sums[0], estimate)
        pick = self.is_least_squares
        parts = zip(*(found[1:] for found in sums), strict=True)
        chosen = (np.where(pick, squares, lassos) for squares, lassos in parts)
        return RobustTests(ProductSums(float(len(Z)), *chosen), estimate)

    def _lassos(self, R: FloatArray) -> FloatArray:
        """Regress each column on all others, with a lesser penalty on some."""
        lines, history = np.zeros_like(R), np.empty(1000)
        for j, weights in enumerate(np.where(self.relieved, RELIEF * self.alpha, self.alpha)):
            weights[j] = np.inf
            descend(R, R[j], weights, lines[j], R[j, j], 1e-8, history)
        return np.ascontiguousarray(lines.T)

    def _from_lassos(self, R: FloatArray, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Undo the bias of the lassos."""
        active = (coef != 0).astype(np.float64)
        number = active.sum(axis=0)
        mean = (number[:, None] + number) / 2.0
        # Columns in either regression, besides the two.
        either = 2.0 * mean - active.T @ active - active - active.T
        estimate = _debiased(R, coef)
        estimate[np.abs(estimate) >= 1.0] = np.nan
        return estimate, np.maximum(self.n_samples - 3.0 - (mean + either) / 2.0, 1.0)


def edge_penalty(n_features: int, n_samples: float) -> float:
    """Penalty of the regressions behind tests of edges."""
    return EDGE_PENALTY * math.sqrt(math.log(n_features) / n_samples)


def plan_partial_correlations(R: FloatArray, n: float) -> PartialCorrelations:
    """Decide which pairs are by least squares, and which a lasso penalises less.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Correlations.
    n : float
        Rows behind them.

    Returns
    -------
    PartialCorrelations
        To call with the correlations, or with those of resamples; see
        `edgewise.inference.edge_intervals` for the formulas.
    """
    p = len(R)
    no_pairs = np.zeros(R.shape, dtype=bool)
    is_cheap = p - 2 <= FEW_COLUMNS * n
    is_possible = is_cheap or n >= p + 1 + SPARE_ROWS
    is_possible = is_possible and float(np.linalg.eigvalsh(R)[0]) > DETERMINED
    if is_possible and is_cheap:
        return PartialCorrelations(n, 0.0, no_pairs, ~no_pairs)
    alpha = edge_penalty(p, n)
    coef = neighborhood_lasso(R, alpha, tol=1e-8).value
    n_active = np.count_nonzero(coef, axis=0)
    rows = np.maximum(n - 3 - (n_active[:, None] + n_active) / 2, 1.0)
    score = np.abs(np.arctanh(_below_one(_debiased(R, coef)))) * np.sqrt(rows)
    relieved = score > math.sqrt(2 * math.log(p))
    if not is_possible:
        return PartialCorrelations(n, alpha, relieved, no_pairs)
    # What the others leave of such a column is less than what the penalty keeps a lasso from.
    is_bound = _least_squares(R)[1] * n / (n - p) < alpha
    return PartialCorrelations(n, alpha, relieved, is_bound[:, None] | is_bound)


def _least_squares(R: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Partial correlations of regular correlations, and the share of each column that is left."""
    Theta = np.linalg.inv(R)
    left = np.asarray(1.0 / Theta.diagonal())
    scale = np.sqrt(left)
    estimate = -Theta * np.outer(scale, scale)
    np.fill_diagonal(estimate, 0.0)
    return _below_one((estimate + estimate.T) / 2.0), left


def _below_one(estimate: FloatArray) -> FloatArray:
    """Keep partial correlations where they have an artanh."""
    return np.asarray(np.clip(estimate, -1.0 + 1e-12, 1.0 - 1e-12))


def _debiased(R: FloatArray, coef: FloatArray) -> FloatArray:
    """Partial correlations from the coefficients of the regressions of each column."""
    left = np.eye(len(R)) - coef
    residual = left.T @ R @ left
    variance = residual.diagonal().copy()
    pulled = variance[:, None] * coef
    scale = np.sqrt(variance)
    estimate = (residual + pulled + pulled.T) / np.outer(scale, scale)
    return _without_diagonal(estimate)


def _without_diagonal(matrix: FloatArray) -> FloatArray:
    return np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix)
