"""Detection of dependent rows: autocorrelation, clusters, sorted rows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray

Kind: TypeAlias = Literal["independent", "order", "trend", "sorted"]

#: Fewest rows tested for autocorrelation.
FEWEST_ROWS: Final = 12
#: Level of the test that rows are in no order: one of so many tables without one is told of.
CHANCE: Final = 1e-3
#: Rows count in full where the variance of no correlation grows by more than this.
LEAST_INFLATION: Final = 1.15
#: A column drifts if its autocorrelation is above the first, and so close to 1 that a random walk
#: is in 19 of 20 cases: n (1 - r) is below the second (Dickey and Fuller 1979).
DRIFT: Final = (0.7, 14.0)
#: Rows in which half of the columns drift, for a trend without a column that names the time.
ROWS_OF_TREND: Final = 50
#: Autocorrelations above this are those of a random walk.
MOST: Final = 0.995
#: Fewest different values of a column that may be a random walk.
MEASUREMENT: Final = 11
#: Largest order of an autoregression.
MOST_LAGS: Final = 12
#: Clusters that are named as such, and those that are not.
FEWEST_CLUSTERS: Final = 5
FEWEST_UNNAMED: Final = 10
#: Rows of a cluster on average.
ROWS_PER_CLUSTER: Final = 1.25
#: Rows of a cluster on average from which on its mean can be taken off.
ROWS_TO_CENTRE: Final = 3.0
#: Blocks or clusters that resamples and tests of whole ones need.
FEWEST_BLOCKS: Final = 10
#: Groups that rows may be sorted by, with a few out of order, and rows of each on average.
MOST_GROUPS, ROWS_PER_GROUP = 20, 10
#: Share of the rows that may lack the label of a cluster.
UNLABELLED: Final = 0.05
#: Share of the rows that may be out of the order of a column that rows are sorted by.
SLIPS: Final = 0.03
#: Correlation times that a block is long at least.
LENGTHS: Final = 1.5

_CLUSTER: Final = re.compile(
    r"((.*[ _.-])?(id|ids|subj|subno|subnr|vp|vpn|who)|[a-z]{0,8}id)"
    r"|((.*[ _.-])?(subject|participant|patient|person|respondent|proband|individual|animal|mouse"
    r"|rat|dog|child|pupil|student|twin|pair|family|household|firm|company|site|cent(er|re)"
    r"|clinic|hospital|inst|institution|school|sch|class|classroom|stratum|set|ward|practice|village|plot|tree|cage"
    r"|litter)(s|[ _.-]?(no|nr|num|number|id|code|name))?)",
    re.IGNORECASE,
)
_CAMEL_CASE: Final = re.compile(r".*[a-z]I[Dd]")
#: Words that end in "id" and name no one.
_OTHERS: Final = frozenset(
    ("acid", "covid", "fluid", "humid", "lipid", "liquid", "rapid", "solid", "thyroid", "valid")
)
_DATE: Final = re.compile(r"\d{4}[-/.]?\d{1,2}([-/.]\d{1,2}|Q\d)?")
_TIME: Final = re.compile(
    r"(.*[ _.-])?(time|date|datetime|timestamp|t|year|yr|month|week|day|hour|minute|second|beep|"
    r"occasion|obs|observation|wave|scan|frame|tick|step|index|quarter|semester|period)s?",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class RowOrder:
    """What the order of rows says about their independence.

    Attributes
    ----------
    kind : {"independent", "order", "trend", "sorted"}
        Rows like any other; like the rows before them; with columns that drift; or like the rows
        before them only because they are sorted by a column.
    columns : tuple of str
        The columns that are like that, the strongest first; or the one that rows are sorted by.
    autocorrelation : float
        Of the first of them, at lag 1.
    decay : float
        Autocorrelation of the first-order autoregression with as long a memory.
    inflation : float
        By what factor the variance of a correlation of two columns grows, at most.
    in_spread : bool
        Whether only sizes are alike: large values follow large ones of either sign.
    drifts : tuple of str
        Columns that are random walks, where they are too few for a trend.
    """

    kind: Kind = "independent"
    columns: tuple[str, ...] = ()
    autocorrelation: float = 0.0
    decay: float = 0.0
    inflation: float = 1.0
    in_spread: bool = False
    drifts: tuple[str, ...] = ()

    def block_length(self, n_samples: int) -> int:
        """Return the length of blocks that keep what rows have in common, 1 if nothing."""
        return block_length(self.decay, n_samples) if self.kind == "order" else 1

    def has_blocks(self, n_samples: int) -> bool:
        """Whether there are enough rows for blocks that are long enough."""
        if self.kind != "order":
            return True
        memory = (1.0 + self.decay) / (1.0 - self.decay)
        return n_samples >= FEWEST_BLOCKS * LENGTHS * memory


def block_length(autocorrelation: float, n_samples: int) -> int:
    r"""Return the length of blocks to resample rows in order by.

    For rows of a first-order autoregression with autocorrelation :math:`\rho`, blocks of
    :math:`(\sqrt 6 \rho / (1 - \rho^2))^{2/3} n^{1/3}` rows estimate the variance of a mean best
    [1]_. There are ten blocks at least.

    Parameters
    ----------
    autocorrelation : float
        :math:`\rho`, above 0.
    n_samples : int

    Returns
    -------
    int

    References
    ----------
    .. [1] Carlstein (1986). The use of subseries values for estimating the variance of a general
       statistic from a stationary sequence. *Annals of Statistics* 14(3).
       https://doi.org/10.1214/aos/1176350057

    Examples
    --------
    >>> block_length(0.3, 300), block_length(0.7, 300), block_length(0.95, 300)
    (6, 16, 30)
    """
    rho = min(autocorrelation, 0.99)
    length = (np.sqrt(6.0) * rho / (1.0 - rho**2)) ** (2 / 3) * n_samples ** (1 / 3)
    return int(np.clip(np.ceil(length), 2, max(n_samples // FEWEST_BLOCKS, 2)))


def row_order(
    values: FloatArray,
    names: Sequence[str],
    *,
    series: IntArray | None = None,
    sorters: Mapping[str, AnyArray] | None = None,
    has_trends: bool = True,
) -> RowOrder:
    """Find whether rows are like the rows before them, column by column.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        NaN where a value is missing.
    names : sequence of str
    series : ndarray of int, shape (n_samples,), optional
        Rows that follow each other belong together only if they have the same number. Means may
        differ between series.
    sorters : mapping of str to array, optional
        Columns that rows may be sorted by, besides those of ``values``.
    has_trends : bool
        Whether columns that drift are a kind of their own, or like the rows before them.

    Returns
    -------
    RowOrder

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(300, 3))
    >>> row_order(noise, "abc").kind, row_order(np.cumsum(noise, axis=0), "abc").kind
    ('independent', 'trend')
    >>> smooth = noise[2:] + noise[1:-1] + noise[:-2]
    >>> row_order(smooth, "abc").block_length(298)
    13
    """
    n = len(values)
    if n < FEWEST_ROWS:
        return RowOrder()
    columns = {**dict(sorters or {}), **dict(zip(names, values.T, strict=True))}
    is_timed = any(is_in_time(name, column) for name, column in columns.items())
    apart, member = _design(columns, n)
    if series is not None:
        member = np.unique(np.stack([member, series]), axis=1, return_inverse=True)[1].ravel()
    judged = [
        k
        for k, column in enumerate(values.T)
        if names[k] not in apart
        and not _counts_rows(names[k], column)
        and not is_season(names[k], column)
    ]
    if not judged:
        return RowOrder()
    values, names = values[:, judged], [names[k] for k in judged]
    # Whatever their unit, so that squares neither overflow nor vanish.
    largest = np.nanmax(np.abs(values), axis=0, initial=0.0)
    values = values / np.where((largest > 0.0) & (largest < np.inf), largest, 1.0)
    found = _judge(
        _centred(values, member), values, names, member, is_timed=is_timed, has_trends=has_trends
    )
    if found.kind == "independent" or is_timed:
        return found
    for name, column in columns.items():
        kept = [k for k, other in enumerate(names) if other != name]
        rest = [names[k] for k in kept]
        if name in apart:
            continue
        if _sorts(column, member):
            along = np.asarray(column, dtype=np.float64)
            if _counts_rows(name, along):
                continue
            left, parts = off_curve(values[:, kept], along, member)
        elif (codes := _groups(column)) is not None:
            left, parts = _centred(values[:, kept], codes), member
        else:
            continue
        if not kept or _judge(left, left, rest, parts, has_sizes=False).kind == "independent":
            return RowOrder(kind="sorted", columns=(name,))
    return found


def _design(columns: Mapping[str, AnyArray], n: int) -> tuple[list[str], IntArray]:
    """Find columns of a few levels that rows are sorted by, one within the other.

    Returns their names, and the number of the run that each row lies in.
    """
    found: list[tuple[int, int, str, IntArray]] = []
    for name, column in columns.items():
        is_number = column.dtype.kind in "biuf"
        codes = np.unique(column if is_number else column.astype(str), return_inverse=True)[1]
        n_levels, n_runs = int(codes.max()) + 1, 1 + int(np.count_nonzero(np.diff(codes)))
        if 1 < n_levels <= n / 5:
            found.append((n_runs, n_levels, name, codes))
    apart: list[str] = []
    is_new = np.zeros(n - 1, dtype=bool)
    for n_runs, n_levels, name, codes in sorted(found, key=lambda one: one[0]):
        n_cells = 1 + int(np.count_nonzero(is_new))
        both = is_new | (np.diff(codes) != 0)
        if n_runs <= n_cells * n_levels and 1 + np.count_nonzero(both) <= n / 5:
            is_new, apart = both, [*apart, name]
    return apart, np.concatenate([[0], np.cumsum(is_new)])


def _groups(column: AnyArray) -> IntArray | None:
    """Give numbers to a few levels that rows are sorted by, but for some; None for others."""
    codes = np.unique(column.astype(str), return_inverse=True)[1]
    n, shares = len(codes), np.bincount(codes) / len(codes)
    n_runs = 1 + np.count_nonzero(np.diff(codes))
    by_chance = 1 + (n - 1) * (1.0 - float(shares @ shares))
    is_few = 1 < len(shares) <= min(MOST_GROUPS, n // ROWS_PER_GROUP)
    return codes if is_few and 2 * n_runs <= by_chance else None


def _counts_rows(name: str, column: FloatArray) -> bool:
    """Whether a column counts rows or time, with steps of any size."""
    seen = column[~np.isnan(column)]
    steps = np.diff(seen)
    is_whole = bool((seen == np.round(seen)).all())
    one_way = bool((steps > 0).all() or (steps < 0).all())
    return is_time(name, column) or (is_whole and one_way)


def _centred(values: FloatArray, member: IntArray) -> FloatArray:
    """Columns without the means of their series, 0 where a value is missing."""
    centred = values.copy()
    with warnings.catch_warnings():
        # Of series without a value.
        warnings.simplefilter("ignore", RuntimeWarning)
        for one in np.unique(member):
            centred[member == one] -= np.nanmean(values[member == one], axis=0)
    return np.nan_to_num(centred)


def _judge(
    Z: FloatArray,
    values: FloatArray,
    names: Sequence[str],
    member: IntArray,
    *,
    is_timed: bool = False,
    has_trends: bool = True,
    has_sizes: bool = True,
) -> RowOrder:
    """Judge centred columns by their autocorrelations, and those of their sizes."""
    n = len(Z)
    length = n / len(np.unique(member))
    levels = _autocorrelations(Z, member, 1)[0]
    n_different = np.array([len(np.unique(c[~np.isnan(c)])) for c in values.T])
    is_drift = (levels > DRIFT[0]) & (length * (1 - levels) < DRIFT[1])
    is_drift &= n_different >= min(MEASUREMENT, n // 2)
    is_drift &= np.array([_walks(column, member) for column in values.T], dtype=bool)
    is_general = 2 * is_drift.sum() >= len(names) and n >= ROWS_OF_TREND
    order = np.argsort(-levels, kind="stable")
    drifts = tuple(names[k] for k in order if is_drift[k])
    if has_trends and drifts and (is_timed or is_general):
        return RowOrder(kind="trend", columns=drifts, autocorrelation=float(levels[is_drift].max()))
    found = RowOrder()
    sizes = _centred(np.where(np.isnan(values), np.nan, np.abs(Z)), member)
    for in_spread, rows in ((False, Z), (True, sizes))[: 1 + has_sizes]:
        own = _memory(rows, names, member, length, in_spread=in_spread)
        if own.decay > found.decay:
            found = own if found.kind == "independent" else replace(found, decay=own.decay)
    return replace(found, drifts=drifts) if found.kind == "order" else found


def _walks(column: FloatArray, member: IntArray) -> bool:
    """Whether changes from row to row are no less independent than levels are, and go both ways.

    Changes of noise around levels or a line have an autocorrelation of -1/2, those of a random walk
    of 0. Rows that are sorted by a column change one way.
    """
    steps = np.diff(column)[np.diff(member) == 0]
    steps = steps[~np.isnan(steps)]
    if not len(steps) or (steps >= 0).all() or (steps <= 0).all():
        return False
    steps = steps - steps.mean()
    size = float(steps @ steps)
    return size > 0 and float(steps[1:] @ steps[:-1]) / size > -0.25


def _memory(
    rows: FloatArray, names: Sequence[str], member: IntArray, length: float, *, in_spread: bool
) -> RowOrder:
    """Estimate how long rows remember those before them; independent if that may be chance."""
    n, p = rows.shape
    lags = max(1, min(int(length // 4), MOST_LAGS))
    r = _autocorrelations(rows, member, lags)
    first = r[0] + 1.0 / length
    n_pairs = max(int(np.count_nonzero(np.diff(member) == 0)), 1)
    # Of exchangeable rows, the mean of the autocorrelations has the variance of the mean of the
    # squared correlations of the columns, over n.
    scale = np.sqrt(np.maximum((rows**2).sum(axis=0), 1e-300))
    unit = rows / scale
    gram = unit @ unit.T if n < p else unit.T @ unit
    spread = np.sqrt(float((gram**2).sum()) / p**2 / n_pairs)
    largest = float(np.abs(first).max()) * np.sqrt(n_pairs)
    # Tails of the normal distribution: 3.3 has 1 in 1,000, and Bonferroni's for p columns.
    is_general = abs(float(first.mean())) > 3.3 * spread
    bound = np.sqrt(2.0 * np.log(p / CHANCE))
    if not is_general and largest < bound:
        return RowOrder()
    if in_spread:
        # Sizes have heavy tails: only all columns together say how long they remember.
        r = np.repeat(r.mean(axis=1, keepdims=True), 2, axis=1)
    elif not is_general:
        r = np.where(np.abs(first) * np.sqrt(n_pairs) > bound, r, 0.0)
    tail = _continued(r, length, n * p if in_spread else n)
    weights = 1.0 - np.arange(1, len(tail) + 1)[:, None] / n
    inflations = 1.0 + 2.0 * (tail * weights).T @ tail
    np.fill_diagonal(inflations, 1.0)
    inflation = float(inflations.max())
    if inflation < LEAST_INFLATION:
        return RowOrder()
    sums = 1.0 + 2.0 * np.abs(tail * weights).sum(axis=0)
    memory = float(sums.max())
    order = np.argsort(-np.abs(first), kind="stable")
    is_alike = np.abs(first) * np.sqrt(n_pairs) > 3.0
    return RowOrder(
        kind="order",
        columns=tuple(names[k] for k in order if is_alike[k]) or (names[order[0]],),
        autocorrelation=float(first[order[0]]),
        decay=(memory - 1.0) / (memory + 1.0),
        inflation=1.0 if in_spread else inflation,
        in_spread=in_spread,
    )


def _autocorrelations(Z: FloatArray, member: IntArray, lags: int) -> FloatArray:
    """Autocorrelations of centred columns within series, of shape (lags, p)."""
    size = (Z**2).sum(axis=0)
    size = np.where(size > 0, size, 1.0)
    n, n_series = len(Z), len(np.unique(member))
    found = np.zeros((lags, Z.shape[1]))
    for k in range(1, lags + 1):
        is_same = member[k:] == member[:-k]
        # As many products as there are within series, of those that there would be in one.
        share = (n - k * n_series) / max(int(np.count_nonzero(is_same)), 1)
        found[k - 1] = (Z[k:] * Z[:-k])[is_same].sum(axis=0) / size * max(share, 0.0)
    return found


def _continued(r: FloatArray, length: float, n: float) -> FloatArray:
    """Autocorrelations at all lags, of the autoregressions that a few lags are those of.

    Orders are chosen by BIC. What the means of series take away from autocorrelations is given
    back: about the variance of the mean (Kendall 1954).
    """
    p = r.shape[1]
    found = np.zeros((int(min(length - 1, 500)), p))
    for j in range(p):
        memory = 1.0
        for _ in range(3):
            back = min(memory / length, 0.5)
            given = np.clip(r[:, j] + (1.0 - r[:, j]) * back, -MOST, MOST)
            coef = _autoregression(given, n)
            tail = _extend(coef, given, len(found))
            memory = float(np.clip(1.0 + 2.0 * tail.sum(), 1.0, length / 2))
        found[:, j] = tail
    return found


def _autoregression(r: FloatArray, n: float) -> FloatArray:
    """Coefficients of the autoregression with the least BIC, by Levinson's recursion."""
    best: FloatArray = np.zeros(0)
    coef: FloatArray = np.zeros(0)
    variance, least = 1.0, 0.0
    for m in range(len(r)):
        step = (r[m] - coef @ r[:m][::-1]) / variance
        if abs(step) >= 1.0:
            break
        coef = np.append(coef - step * coef[::-1], step)
        variance *= 1.0 - step**2
        bic = n * np.log(variance) + (m + 1) * np.log(max(n, 2.0))
        if bic < least:
            best, least = coef, bic
    return best


def _extend(coef: FloatArray, r: FloatArray, n_lags: int) -> FloatArray:
    """Autocorrelations of an autoregression, from the first ones on."""
    order = len(coef)
    if not order:
        return np.zeros(n_lags)
    tail = np.zeros(max(n_lags, order))
    tail[:order] = r[:order]
    for k in range(order, n_lags):
        tail[k] = coef @ tail[k - order : k][::-1]
        if abs(tail[k]) < 1e-4 and abs(tail[k - order : k]).max() < 1e-4:
            break
    return np.clip(tail[:n_lags], -1.0, 1.0)


def _sorts(column: AnyArray, member: IntArray | None = None) -> bool:
    """Whether rows are sorted by a column of measurements, within series."""
    if column.dtype.kind not in "iuf":
        return False
    found = np.asarray(column, dtype=np.float64)
    is_seen = ~np.isnan(found)
    seen = found[is_seen]
    steps = np.diff(seen)
    if member is not None:
        steps = steps[np.diff(member[is_seen]) == 0]
    n_back = min(np.count_nonzero(steps > 0), np.count_nonzero(steps < 0))
    is_one_way = bool(n_back <= SLIPS * np.count_nonzero(steps))
    return is_one_way and len(np.unique(seen)) >= MEASUREMENT


def is_in_time(name: str, column: AnyArray) -> bool:
    """Whether a column says that rows are in the order of time: it rises, and is called so.

    Examples
    --------
    >>> rising = np.arange(20)
    >>> is_in_time("Year", rising), is_in_time("age", rising)
    (True, False)
    """
    if column.dtype.kind in "iuf":
        return bool(_TIME.fullmatch(name)) and _sorts(column)
    texts = [one for one in column if isinstance(one, str)]
    is_date = len(texts) == len(column) and all(_DATE.match(one) for one in texts)
    return is_date and texts == sorted(texts)


def is_time(name: str, column: AnyArray) -> bool:
    """Whether a column counts rows or time: evenly spaced, or in order and called so.

    Examples
    --------
    >>> is_time("x", np.arange(20)), is_time("age", np.arange(20) ** 2)
    (True, False)
    """
    if column.dtype.kind not in "iuf":
        return False
    seen = np.asarray(column, dtype=np.float64)
    steps = np.diff(seen[~np.isnan(seen)])
    if not len(steps) or not steps.any():
        return False
    is_even = bool(np.ptp(steps) <= 1e-6 * np.abs(steps).max())
    is_rising = bool((steps >= 0).all() or (steps <= 0).all())
    return is_even or (is_rising and bool(_TIME.fullmatch(name)))


def is_season(name: str, column: AnyArray) -> bool:
    """Whether a column goes round and is called a time, as quarters and months of years do.

    Examples
    --------
    >>> is_season("quarter", np.tile([1, 2, 3, 4], 10)), is_season("day", np.arange(40))
    (True, False)
    """
    if column.dtype.kind not in "iuf" or not _TIME.fullmatch(name):
        return False
    steps = np.diff(np.asarray(column, dtype=np.float64))
    up, down = np.unique(steps[steps > 0]), steps[steps < 0]
    return len(up) == 1 and 0 < len(down) <= len(steps) / 3 and not (steps == 0).any()


#: Rows that a line along a column they are sorted by is fitted to.
ROWS_OF_LINE: Final = 24


def off_curve(
    values: FloatArray, column: FloatArray, member: IntArray | None = None
) -> tuple[FloatArray, IntArray]:
    """Take lines along a column that rows are sorted by off all others, part by part.

    Also returns the parts, half of each: a line takes away as much as two means do. Parts are of
    one series each.
    """
    member = np.zeros(len(values), dtype=np.int64) if member is None else member
    half, start = np.zeros_like(member), 0
    for one in np.unique(member):
        rows = np.flatnonzero(member == one)
        n_halves = 2 * max(len(rows) // ROWS_OF_LINE, 1)
        half[rows] = start + np.arange(len(rows)) * n_halves // len(rows)
        start += n_halves
    left = np.zeros_like(values)
    for one in np.unique(half // 2):
        rows = np.flatnonzero(half // 2 == one)
        for k, own in enumerate(values[rows].T):
            seen = ~np.isnan(own) & ~np.isnan(column[rows])
            if seen.sum() > 3:
                x = column[rows][seen] - column[rows][seen].mean()
                y = own[seen] - own[seen].mean()
                square = float(x @ x)
                y = y - x * (float(x @ y) / square if square > 0 else 0.0)
                spread = float(y.std())
                left[rows[seen], k] = y / spread if spread > 0 else 0.0
    return left, half


def find_clusters(columns: Mapping[str, AnyArray]) -> str | None:
    """Find the column that says which rows belong together: of subjects, sites or the like.

    Its levels recur, and it is called so; or it holds text or whole numbers in runs, with steps
    from run to run that are larger than those within.

    Parameters
    ----------
    columns : mapping of str to array
        All columns that may be one. Those of numbers that are not whole, or of many, are
        measurements, which step from run to run.

    Returns
    -------
    str or None

    Examples
    --------
    >>> find_clusters({"id": np.repeat(np.arange(8), 5), "age": np.arange(40)})
    'id'
    """
    named, unnamed = [], []
    measured = {name: column for name, column in columns.items() if _is_measured(column)}
    for name, column in columns.items():
        codes = _label_codes(column)
        if codes is None:
            continue
        n, n_levels = len(codes), int(codes.max()) + 1
        if not FEWEST_CLUSTERS <= n_levels <= n / ROWS_PER_CLUSTER:
            continue
        n_runs = 1 + np.count_nonzero(np.diff(codes))
        if is_time(name, column):
            continue
        # A few numbers in no runs are answers, or codes of something else.
        is_label = column.dtype.kind == "O" or n_levels >= MEASUREMENT or n_runs <= 2 * n_levels
        if is_called_cluster(name) and is_label:
            named.append((name, n_levels))
        elif (
            FEWEST_UNNAMED <= n_levels <= n / 2
            and n_runs == n_levels
            and (others := [c for one, c in measured.items() if one != name])
            and _steps(np.column_stack(others).astype(np.float64), codes)
        ):
            unnamed.append((name, n_levels))
    # Persons are more than the sites that they belong to.
    for found in (named, unnamed):
        if found:
            return max(found, key=lambda one: one[1])[0]
    return None


def _is_measured(column: AnyArray) -> bool:
    kind = column.dtype.kind
    return kind == "f" or (kind in "iu" and len(np.unique(column)) >= MEASUREMENT)


def is_called_cluster(name: str) -> bool:
    """Whether the name of a column is that of subjects, sites or the like.

    Examples
    --------
    >>> [is_called_cluster(name) for name in ("patient_id", "Subject", "acid", "age")]
    [True, True, False, False]
    """
    if name.lower() in _OTHERS:
        return False
    return bool(_CLUSTER.fullmatch(name) or _CAMEL_CASE.fullmatch(name))


def _label_codes(column: AnyArray) -> IntArray | None:
    """Give numbers to levels of text or whole numbers; None for others, and for many gaps."""
    if column.dtype.kind in "iuf":
        labels = np.asarray(column, dtype=np.float64)
        is_seen = ~np.isnan(labels)
        is_label = bool((labels == np.round(labels))[is_seen].all())
    elif column.dtype.kind == "O":
        labels = column.astype(str)
        is_seen = np.array([isinstance(one, str) for one in column], dtype=bool)
        is_label = all(one is None or one != one for one in column[~is_seen])
    else:
        return None
    if not is_label or np.count_nonzero(~is_seen) > UNLABELLED * len(column):
        return None
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def find_nests(columns: Mapping[str, AnyArray], name: str) -> str | None:
    """Find the column within whose runs labels begin anew, as numbers of persons in each study.

    Studies are as unequal as they come. Of sessions of the same persons, none has twice as many
    as another.

    Examples
    --------
    >>> person = np.concatenate([np.arange(n) for n in (20, 50, 30, 80, 40)])
    >>> study = np.repeat(["a", "b", "c", "d", "e"], [20, 50, 30, 80, 40]).astype(object)
    >>> find_nests({"study": study, "id": person}, "id")
    'study'
    """
    codes = _label_codes(columns[name])
    if codes is None:
        return None
    for other, column in columns.items():
        own = _label_codes(column) if other != name else None
        if own is None or (n_levels := int(own.max()) + 1) < FEWEST_CLUSTERS:
            continue
        pairs = np.unique(np.stack([own, codes]), axis=1)
        sizes = np.bincount(pairs[0])
        is_in_runs = 1 + np.count_nonzero(np.diff(own)) == n_levels
        is_unequal = sizes.max() >= 2 * sizes.min()
        if is_in_runs and is_unequal and pairs.shape[1] >= 1.5 * (int(codes.max()) + 1):
            return other
    return None


def _steps(values: FloatArray, codes: IntArray) -> bool:
    """Whether rows differ more from the last row of another run than from one of their own."""
    spread = np.nanstd(values, axis=0)
    z = np.nan_to_num((values - np.nanmean(values, axis=0)) / np.where(spread > 0, spread, 1.0))
    sizes = (np.diff(z, axis=0) ** 2).mean(axis=1)
    is_new = np.diff(codes) != 0
    n, m = len(sizes), int(is_new.sum())
    if min(m, n - m) < 5:
        return False
    # Wilcoxon's rank sum, in standard errors.
    ranks = np.argsort(np.argsort(sizes)) + 1.0
    excess = float(ranks[is_new].sum()) - m * (n + 1) / 2
    return excess > 4.0 * float(np.sqrt(m * (n - m) * (n + 1) / 12))


def centred_within(
    values: FloatArray, member: IntArray, *, is_scaled: bool = False
) -> tuple[FloatArray, BoolArray]:
    """Take the means of clusters off columns, and divide by their spread within each.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        NaN where a value is missing.
    member : ndarray of int, shape (n_samples,)
    is_scaled : bool

    Returns
    -------
    values : ndarray of shape (n_samples, n_features)
    is_kept : ndarray of bool, shape (n_samples,)
        False in clusters of one row, which has no deviation.
    """
    left = values.copy()
    counts = np.bincount(member)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for one in np.unique(member):
            rows = member == one
            left[rows] -= np.nanmean(values[rows], axis=0)
            if is_scaled:
                spread = np.nanstd(values[rows], axis=0)
                left[rows] /= np.where(spread > 0, spread, 1.0)
    return left, counts[member] > 1


#: Largest share of the variance of a column that is the same in all rows of a cluster.
SAME: Final = 1e-8


def clustered_rows(Z: FloatArray, member: IntArray, *, is_centred: bool) -> float:
    """Count the independent rows that say as much of correlations as those of clusters do.

    The mean of the squared products of two columns, summed over the rows of a cluster, is compared
    with that of single rows; where columns are the same in all rows of a cluster, over their pairs
    alone too, which say less, and the fewer rows count.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Rows; those with NaN count as means.
    member : ndarray of int, shape (n,)
        Cluster of each row.
    is_centred : bool
        Whether the means of clusters were taken off.

    Returns
    -------
    float
        At most n, less one for each cluster if their means were taken off.

    Examples
    --------
    >>> Z = np.repeat(np.random.default_rng(0).normal(size=(50, 4)), 3, axis=0)
    >>> round(clustered_rows(Z, np.repeat(np.arange(50), 3), is_centred=False))
    50
    """
    Z = _centred(Z, np.zeros(len(Z), dtype=np.int64))
    spread = Z.std(axis=0)
    Z = Z / np.where(spread > 0, spread, 1.0)
    n = len(Z)
    R = Z.T @ Z / n
    off = ~np.eye(Z.shape[1], dtype=bool)
    squares = Z**2
    by_row = squares.T @ squares - n * R**2
    by_cluster, within = np.zeros_like(R), np.zeros(len(R))
    order = np.argsort(member, kind="stable")
    counts = np.bincount(member)
    for rows in np.split(order, np.cumsum(counts[counts > 0])[:-1]):
        by_cluster += ((Z[rows].T @ Z[rows]) - len(rows) * R) ** 2
        within += len(rows) * Z[rows].var(axis=0)
    is_whole = (within < n * SAME) & (spread > 0)
    whole = off & (is_whole[:, None] | is_whole)
    # Columns that a design balances within clusters say no more than their rows do.
    at_least = np.where(whole, np.maximum(by_cluster, by_row), by_cluster)
    sums = [
        (some[pairs].sum(), by_row[pairs].sum())
        for some, pairs in ((by_cluster, off), (at_least, whole))
    ]
    ratio = max([1.0, *(float(many / one) for many, one in sums if one > 0)])
    n_free = n - np.count_nonzero(counts) if is_centred else n
    return float(n_free / ratio)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dependence:
    """How the rows of a table depend on each other, found or asked for.

    Attributes
    ----------
    order : RowOrder
        What their order says.
    length : int or None
        Length of the blocks that were asked for.
    cluster : str
        The column that says which rows belong together.
    member : ndarray of int, shape (n_samples,), or None
        Number of the cluster of each row.
    is_centred : bool
        Whether columns have lost the means of the clusters.
    """

    order: RowOrder = RowOrder()
    length: int | None = None
    cluster: str = ""
    member: IntArray | None = None
    is_centred: bool = False

    @property
    def n_clusters(self) -> int:
        """Number of clusters, 0 without any."""
        return 0 if self.member is None else len(np.unique(self.member))

    @property
    def kind(self) -> Literal["independent", "blocks", "clusters"]:
        """Which rows are resampled, permuted or held out together.

        Few clusters are fixed: with their means off, rows count one by one.
        """
        if self.n_clusters >= FEWEST_BLOCKS:
            return "clusters"
        if self.length is None:
            return "blocks" if self.order.kind == "order" else "independent"
        return "blocks" if self.length > 1 else "independent"

    def block_length(self, n_samples: int) -> int:
        """Return the length of blocks of consecutive rows, 1 where there are none."""
        if self.kind != "blocks":
            return 1
        return self.order.block_length(n_samples) if self.length is None else self.length

    def n_independent(self, values: FloatArray) -> float:
        """Count the independent rows that say as much of correlations as these."""
        n = len(values)
        if self.kind == "clusters" and self.member is not None:
            return clustered_rows(values, self.member, is_centred=self.is_centred)
        n_free = n - self.n_clusters if self.is_centred else n
        return float(n_free / max(self.order.inflation, 1.0)) if self.kind == "blocks" else n_free
