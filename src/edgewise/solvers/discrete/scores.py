"""Scores of Markov networks on discrete data: independence posteriors, BJP, IB and MPL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.data.levels import check_cardinalities, check_codes
from edgewise.data.markov import check_adjacency
from edgewise.solvers.discrete.counts import MOST_NUMBERED, CodedTable, count_groups
from edgewise.solvers.discrete.score_kernels import (
    family_row,
    independence_row,
    pool_slices,
    rising_table,
)

CRITERIA: Final = ("bjp", "ib", "mpl")
TIES: Final = ("index", "mean")
#: Cells of tables are counted in 32 bits.
MOST_ROWS: Final = 2**31 - 1
#: Says that ``ess`` is shared out among the cells instead of a constant pseudocount.
BDEU: Final = "bdeu"


def independence_logposterior(
    X: ArrayLike,
    i: int,
    j: int,
    given: Sequence[int] = (),
    *,
    cardinalities: ArrayLike | None = None,
    pseudocount: float | str = 1.0,
    prior: float = 0.5,
    ess: float = 1.0,
) -> tuple[float, float]:
    r"""Return the log posterior probabilities that two variables are (in)dependent given others.

    The rows are split into slices by the values of ``given``. With :math:`g_k` the marginal
    likelihood of slice :math:`k` under independence and :math:`h_k` that under dependence, both
    with symmetric Dirichlet priors, :math:`K` slices that occur and :math:`p = \pi^{1 / K}`,

    .. math:: P(i \perp j \mid \text{given}, X) = \prod_k \frac{p\, g_k}{p\, g_k + (1 - p)\, h_k}.

    Parameters
    ----------
    X : array-like of int, shape (N, n)
        Levels of the variables, from 0.
    i, j : int
        The two variables; the result is the same either way round.
    given : sequence of int
        Variables to condition on.
    cardinalities : array-like of int, shape (n,), optional
        Number of levels of each variable, by default those up to the largest seen.
    pseudocount : float or "bdeu"
        Dirichlet parameter of every cell and margin; or ``ess`` shared out among the cells.
    prior : float
        Probability :math:`\pi` of independence before seeing data, between 0 and 1.
    ess : float
        Equivalent sample size for ``"bdeu"``.

    Returns
    -------
    independent, dependent : float
        Logarithms of two numbers with sum 1.

    References
    ----------
    D. Margaritis and F. Bromberg (2009), Efficient Markov network discovery using particle
    filters, Computational Intelligence 25, 367-394.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import independence_logposterior
    >>> X = np.array([[0, 0], [1, 1]] * 10)
    >>> independent, dependent = independence_logposterior(X, 0, 1)
    >>> round(independent, 3), round(dependent, 6)
    (-10.737, -2.2e-05)
    """
    data = code_table(X, cardinalities)
    settings = ScoreSettings.checked(pseudocount=pseudocount, prior=prior, ess=ess)
    members = _check_variables(i, j, given, len(data.cardinalities))
    is_j = np.arange(len(data.cardinalities)) == j
    against = IndependenceRows(data, settings).row(i, members, is_j)[j]
    return float(-against), float(log_dependent(against))


def log_score(
    X: ArrayLike,
    adjacency: ArrayLike,
    criterion: str = "bjp",
    *,
    cardinalities: ArrayLike | None = None,
    pseudocount: float | str = 1.0,
    prior: float = 0.5,
    ess: float = 1.0,
    ties: str = "index",
    cell: float | None = None,
) -> float:
    r"""Score the structure of a Markov network on discrete data; larger is better.

    With :math:`B_i` the neighbours of :math:`i`, a structure asserts for each ordered pair that
    :math:`i \perp j \mid B_i` if they are not joined, and that :math:`i \not\perp j \mid B_i
    \setminus \{j\}` if they are. ``"ib"`` sums the log posteriors of all these assertions [1]_.
    ``"bjp"`` takes each unordered pair once, with the blanket of the variable of smaller degree,
    since the assertion of the other then follows [2]_. ``"mpl"`` is the sum over variables of
    the log marginal likelihood given the neighbours, with ``ess`` shared out among the cells [3]_.

    Parameters
    ----------
    X : array-like of int, shape (N, n)
        Levels of the variables, from 0.
    adjacency : array-like of bool, shape (n, n)
        Symmetric.
    criterion : {"bjp", "ib", "mpl"}
        The score.
    cardinalities, pseudocount, prior
        As in `independence_logposterior`; ``pseudocount`` and ``prior`` are not for ``"mpl"``.
    ess : float
        Equivalent sample size, for ``"mpl"`` and for ``pseudocount="bdeu"``.
    ties : {"index", "mean"}
        Which blanket ``"bjp"`` takes where degrees are equal: that of the variable which comes
        first, or the mean of both, which does not depend on the order of the variables.
    cell : float, optional
        Constant Dirichlet parameter of every cell for ``"mpl"``, instead of ``ess``.

    Returns
    -------
    float

    References
    ----------
    .. [1] Schlüter, Bromberg and Edera (2014). The IBMAP approach for Markov network structure
       learning. *Annals of Mathematics and Artificial Intelligence* 72.
    .. [2] Schlüter, Strappa, Milone and Bromberg (2018). Blankets joint posterior score for
       learning Markov network structures. *International Journal of Approximate Reasoning* 92.
       https://doi.org/10.48550/arXiv.1608.02315
    .. [3] Pensar, Nyman, Niiranen and Corander (2017). Marginal pseudo-likelihood learning of
       discrete Markov network structures. *Bayesian Analysis* 12.
       https://doi.org/10.48550/arXiv.1401.4988

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import log_score
    >>> X = np.array([[0, 0], [1, 1]] * 10)
    >>> log_score(X, [[False, True], [True, False]]) > log_score(X, np.zeros((2, 2), dtype=bool))
    True
    """
    data = code_table(X, cardinalities)
    settings = ScoreSettings.checked(
        criterion=criterion, pseudocount=pseudocount, prior=prior, ess=ess, ties=ties, cell=cell
    )
    joined = _check_structure(adjacency, len(data.cardinalities))
    if criterion == "mpl":
        return FamilyRows(data, settings).score(joined)
    rows = IndependenceRows(data, settings)
    is_used = rows.used(joined.sum(axis=1))
    assertions = np.stack([rows.assertions(joined, i, is_used[i]) for i in range(len(joined))])
    return float(pair_supports(assertions, joined, settings).sum() / 2)


@dataclass(frozen=True, kw_only=True)
class ScoreSettings:
    """Checked options of the scores."""

    criterion: str = "bjp"
    pseudocount: float = 1.0
    prior: float = 0.5
    ess: float = 1.0
    ties: str = "index"
    cell: float = 0.0

    @classmethod
    def checked(
        cls,
        *,
        criterion: str = "bjp",
        pseudocount: float | str = 1.0,
        prior: float = 0.5,
        ess: float = 1.0,
        ties: str = "index",
        cell: float | None = None,
    ) -> ScoreSettings:
        """Refuse options that make no sense; ``"bdeu"`` becomes a pseudocount of 0."""
        if criterion not in CRITERIA:
            raise InputError("discrete_criterion", criterion=criterion)
        if ties not in TIES:
            raise InputError("ties_choice", ties=ties)
        if pseudocount != BDEU and not (
            not isinstance(pseudocount, str) and 0 < pseudocount < np.inf
        ):
            raise InputError("pseudocount_range", pseudocount=pseudocount)
        if not 0 < prior < 1:
            raise InputError("discrete_prior_range", prior=prior)
        for name, value in (("ess", ess), ("cell", 1.0 if cell is None else cell)):
            if not 0 < value < np.inf:
                raise InputError("above_zero", name=name, value=value)
        return cls(
            criterion=criterion,
            pseudocount=0.0 if isinstance(pseudocount, str) else float(pseudocount),
            prior=float(prior),
            ess=float(ess),
            ties=ties,
            cell=0.0 if cell is None else float(cell),
        )


@dataclass(eq=False)
class IndependenceRows:
    """Posteriors of (i, k | blanket without k), those that are wanted, each computed once."""

    data: CodedTable
    settings: ScoreSettings
    n_tests: int = 0
    _rows: dict[tuple[int, bytes], FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        a = self.settings.pseudocount
        self._rises = rising_table(a, self.data.n_samples) if a > 0 else np.empty(0)

    def row(self, i: int, members: IntArray, is_wanted: BoolArray | None = None) -> FloatArray:
        """Return -log P(independent) of ``i`` with others, given sorted others.

        Of those that are wanted, by default all; NaN where it was never computed.
        """
        n = len(self.data.cardinalities)
        key = i, members.tobytes()
        if key not in self._rows:
            self._rows[key] = np.full(n, np.nan)
            self._rows[key][i] = -np.log(self.settings.prior)
        row = self._rows[key]
        is_missing = np.isnan(row)
        if is_wanted is not None:
            is_missing &= is_wanted
        if is_missing.any():
            found = independence_row(
                i, members, self.data.cardinalities, self.data.offsets,
                count_groups(self.data, i, members), self.settings.pseudocount,
                self.settings.ess, self.settings.prior, self._rises, is_missing,
            )  # fmt: skip
            row[is_missing] = found[is_missing]
            self.n_tests += int(is_missing.sum())
        return row

    def assertions(
        self, adjacency: BoolArray, i: int, is_wanted: BoolArray | None = None
    ) -> FloatArray:
        """Return the log posterior of what a structure asserts of ``i`` and others."""
        members = np.flatnonzero(adjacency[i])
        against = self.row(i, members, is_wanted)
        asserted = -against
        asserted[members] = log_dependent(against[members])
        return asserted

    def used(self, degree: IntArray) -> BoolArray:
        """Tell whose blankets a score asserts each pair with, shape (n, n)."""
        if self.settings.criterion == "ib":
            return ~np.eye(len(degree), dtype=bool)
        index = np.arange(len(degree))
        is_tie = degree[:, None] == degree
        breaks_tie = index[:, None] != index
        if self.settings.ties != "mean":
            breaks_tie = index[:, None] < index
        is_used: BoolArray = (degree[:, None] < degree) | (is_tie & breaks_tie)
        return is_used

    def evidence(self, adjacency: BoolArray) -> FloatArray:
        """Return the log posterior odds of dependence of every pair, given its blanket."""
        is_used = self.used(adjacency.sum(axis=1))
        against = np.stack(
            [self.row(i, np.flatnonzero(of_i), is_used[i]) for i, of_i in enumerate(adjacency)]
        )
        return pair_supports(log_dependent(against) + against, adjacency, self.settings)


def log_dependent(against: FloatArray) -> FloatArray:
    """Return log P(dependent) from -log P(independent)."""
    return np.log(-np.expm1(-against))


@dataclass(eq=False)
class FamilyRows:
    """Log marginal likelihoods of a variable given its blanket and all that differ by one."""

    data: CodedTable
    settings: ScoreSettings
    n_tests: int = 0
    _rows: dict[tuple[int, bytes], tuple[float, FloatArray]] = field(default_factory=dict)

    def row(self, i: int, members: IntArray) -> tuple[float, FloatArray]:
        """Return the score of a blanket, and those of the blankets that differ in one variable."""
        key = i, members.tobytes()
        if key not in self._rows:
            counts = count_groups(self.data, i, members)
            self._rows[key] = family_row(
                i, members, self.data.cardinalities, self.data.offsets, counts,
                self.settings.cell, self.settings.ess,
            )  # fmt: skip
            self.n_tests += len(self.data.cardinalities)
        return self._rows[key]

    def score(self, adjacency: BoolArray) -> float:
        """Return the score of a structure."""
        return float(
            sum(self.row(i, np.flatnonzero(joined))[0] for i, joined in enumerate(adjacency))
        )

    def gains(self, adjacency: BoolArray, i: int) -> FloatArray:
        """Return what the score of ``i`` gains when each other is put in or out of its blanket."""
        score, toggled = self.row(i, np.flatnonzero(adjacency[i]))
        gain = toggled - score
        gain[i] = 0.0
        return gain


def pair_supports(
    assertions: FloatArray, adjacency: BoolArray, settings: ScoreSettings
) -> FloatArray:
    """Return each pair's part of the score, symmetric with a diagonal of 0.

    ``assertions[i, k]`` is the log posterior of what is asserted with the blanket of i.
    """
    degree = adjacency.sum(axis=1)
    return np.stack([support_row(assertions, degree, i, settings) for i in range(len(degree))])


def support_row(
    assertions: FloatArray, degree: IntArray, i: int, settings: ScoreSettings
) -> FloatArray:
    """Return the parts of the score that pairs with variable ``i`` have."""
    own, other = assertions[i], assertions[:, i]
    if settings.criterion == "ib":
        support: FloatArray = own + other
    else:
        is_first = (degree[i] < degree) | ((degree[i] == degree) & (i < np.arange(len(degree))))
        support = np.where(is_first, own, other)
        if settings.ties == "mean":
            support = np.where(degree[i] == degree, (own + other) / 2, support)
    support[i] = 0.0
    return support


def code_table(
    X: ArrayLike, cardinalities: ArrayLike | None, counts: ArrayLike | None = None
) -> CodedTable:
    """Check level numbers and how many levels there are; by default those up to the largest."""
    codes: AnyArray = np.asarray(X)
    if codes.ndim != 2 or codes.shape[1] == 0:
        raise InputError("codes_two_dimensional", shape=codes.shape)
    if cardinalities is None:
        largest = codes.max(axis=0) if codes.size and codes.dtype.kind in "iub" else 0
        levels = np.maximum(np.asarray(largest, dtype=np.int64) + 1, 1)
    else:
        levels = np.asarray(cardinalities)
    levels = check_cardinalities(levels, codes.shape[1])
    checked = check_codes(codes, levels)
    return CodedTable.from_codes(checked, levels, _check_counts(counts, len(checked)))


def _check_counts(counts: ArrayLike | None, n_rows: int) -> IntArray | None:
    """Return how often each row stands, if that was given."""
    if counts is None:
        return None
    checked = np.asarray(counts)
    if checked.dtype.kind not in "iu" or checked.shape != (n_rows,) or (checked < 0).any():
        raise InputError("counts_per_row", n_rows=n_rows)
    if checked.sum() > MOST_ROWS:
        raise InputError("too_many_counts", most_rows=MOST_ROWS)
    return checked.astype(np.int64)


def _check_structure(adjacency: ArrayLike, n: int) -> BoolArray:
    joined = check_adjacency(adjacency)
    if len(joined) != n:
        raise InputError("joined_column_count", n_joined=len(joined), n=n)
    return joined


def _check_variables(i: int, j: int, given: Sequence[int], n: int) -> IntArray:
    members = np.sort(np.array(list(given), dtype=np.int64))
    everything = [i, j, *members.tolist()]
    if len(set(everything)) < len(everything) or not all(0 <= k < n for k in everything):
        raise InputError("score_indices", n=n - 1, i=i, j=j, given=list(given))
    return members


def edge_associations(
    X: AnyArray,
    adjacency: BoolArray,
    cardinalities: IntArray,
    is_ordered: BoolArray,
    counts: IntArray | None = None,
) -> FloatArray:
    r"""Strength of each edge of a Markov network, given the neighbours of one of its ends.

    The rows are split into slices by the other neighbours of the end that has fewer (of both in
    turn where they have equally many). Where the levels of both columns have an order, the strength
    is Kendall's :math:`\tau_b` [1]_, pooled over slices k of :math:`n_k` rows with :math:`C_k`
    concordant and :math:`D_k` discordant pairs of rows, of which :math:`U_k` and :math:`V_k` differ
    in the one and in the other column:

    .. math:: \tau = \frac{\sum_k (C_k - D_k) / n_k}
        {\sqrt{\sum_k U_k / n_k \; \sum_k V_k / n_k}}.

    It has mean 0 where the columns are independent in every slice, however few rows those have.
    Elsewhere it is Cramér's V, freed of what chance adds:

    .. math:: V^2 = \frac{\sum_k (\chi^2_k - E_k)}{\sum_k (n_k (m_k - 1) - E_k)}, \qquad
        E_k = \frac{n_k}{n_k - 1} (r_k - 1) (c_k - 1),

    for :math:`r_k` and :math:`c_k` levels that occur, :math:`m_k` the smaller of them, and
    :math:`E_k` the mean of :math:`\chi^2_k` over all ways to match the rows. For two levels by two
    and many rows, V is the size of :math:`\tau_b`.

    Parameters
    ----------
    X : ndarray of int, shape (N, n)
        Levels of the variables, from 0.
    adjacency : ndarray of bool, shape (n, n)
        The network.
    cardinalities : ndarray of int, shape (n,)
        Number of levels of each variable.
    is_ordered : ndarray of bool, shape (n,)
        Whether the order of the levels of each variable means something.
    counts : ndarray of int, shape (N,), optional
        How often each row stands, if not once.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric; between -1 and 1, without an order between 0 and 1. 0 where there is no edge, or
        no slice in which both columns vary.

    References
    ----------
    .. [1] Kendall (1945). The treatment of ties in ranking problems. *Biometrika* 33(3).
       https://doi.org/10.1093/biomet/33.3.239

    Examples
    --------
    >>> x = np.repeat([0, 0, 1, 1], [40, 10, 10, 40])
    >>> y = np.repeat([0, 1, 0, 1], [40, 10, 10, 40])
    >>> joined, two = np.array([[False, True], [True, False]]), np.array([2, 2])
    >>> edge_associations(np.column_stack([x, 1 - y]), joined, two, two == 2)[0, 1].round(2)
    np.float64(-0.6)
    """
    strength, degree = np.zeros(adjacency.shape), adjacency.sum(axis=0)
    weight = np.ones(len(X)) if counts is None else counts.astype(np.float64)
    for i, j in np.argwhere(np.triu(adjacency)).tolist():
        fewest = min(degree[i], degree[j])
        ends = [(end, other) for end, other in ((i, j), (j, i)) if degree[end] == fewest]
        is_signed = bool(is_ordered[i] and is_ordered[j])
        sums = np.zeros(3)
        for end, other in ends:
            blanket = np.setdiff1d(np.flatnonzero(adjacency[end]), [other])
            slices = _slices(X, blanket, cardinalities)
            order = np.argsort(slices, kind="stable")
            pair = np.asarray(X[:, [i, j]], dtype=np.int64)[order]
            shape = cardinalities[[i, j]]
            sums += pool_slices(slices[order], pair, weight[order], shape, is_signed)
        if is_signed and sums[1] > 0 and sums[2] > 0:
            strength[i, j] = strength[j, i] = sums[0] / np.sqrt(sums[1] * sums[2])
        # Where no two rows share a level, the largest chi-square is the one expected by chance.
        elif not is_signed and min(sums[:2]) > 1e-9 * weight.sum() * cardinalities[[i, j]].min():
            strength[i, j] = strength[j, i] = np.sqrt(sums[0] / sums[1])
    return strength


def _slices(X: AnyArray, blanket: IntArray, cardinalities: IntArray) -> IntArray:
    """Give rows that agree on some variables the same number."""
    numbers, n_numbers = np.zeros(len(X), dtype=np.int64), 1
    for k in blanket.tolist():
        if n_numbers * int(cardinalities[k]) > MOST_NUMBERED:
            seen, numbers = np.unique(numbers, return_inverse=True)
            n_numbers = len(seen)
        numbers = numbers * int(cardinalities[k]) + X[:, k]
        n_numbers *= int(cardinalities[k])
    return numbers
