"""Data diagnostics: outliers, skewness, missing-value codes, identifiers, derived columns."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.data.checks import agree, column_nouns
from edgewise.data.kinds import FEW_ROWS, is_row_number
from edgewise.data.roles import find_survival
from edgewise.io.messages import quote_names


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding of the data diagnostics.

    Attributes
    ----------
    kind : str
        What it is: ``"survival"``, ``"relations"``, ``"outliers"``, ``"codes"``, ``"skew"``,
        ``"categories"``, ``"identifier"`` or ``"transposed"``.
    columns : tuple of str
        Columns that it is about.
    figure : float
        What was measured, as the kind has it: a count, a skewness, a correlation.
    text : str
        What was found, in one sentence.
    advice : str
        The option of the commands that deals with it, quoted for the shell.
    """

    kind: str
    columns: tuple[str, ...]
    figure: float
    text: str
    advice: str


#: Findings about how values are spread.
SHAPES: Final = ("codes", "outliers", "skew")
#: A cell beyond so many robust standard deviations is an outlier; no Gaussian column has one.
FAR: Final = 15.0
#: A column is skewed beyond this skewness, that of an exponential distribution.
SKEWED: Final = 2.0
#: A column follows from the others where they leave no more than this share of its variance.
LEFT: Final = 1e-3
#: ... if they are no more than this, or leave less than that.
PARTS: Final = 3
EXACT: Final = 1e-6
#: A column follows from the product of powers of two others that leave less than this share of the
#: variance of its logarithm, and a tenth of what either leaves; and powers are so near to these.
LEFT_OF_LOGS: Final = 5e-4
POWERS: Final = (1.0, 2.0, 3.0)
NEAR: Final = 0.02
#: A row is far from the others beyond so many times the median square, and so many rows may be.
SLIP: Final = 100.0
SLIPS: Final = 0.03
#: Where more than this share of many columns follow from others, they are of another making.
MANY: Final = 0.25
#: So many columns are looked at together at most, and multiplied with each other.
MOST_TOGETHER: Final = 1000
MOST_MULTIPLIED: Final = 200
#: Fewest different values of a column of measurements.
MEASUREMENT: Final = 11
#: Whole numbers by which files mark missing values.
MARKS: Final = tuple(sign * (10.0**k - 1) for k in (2, 3, 4, 5, 6) for sign in (1, -1))


def find_unusual(
    values: FloatArray,
    names: Sequence[str],
    *,
    is_ranks: bool = False,
    in_space: bool = False,
) -> tuple[Finding, ...]:
    """Look for rows and columns that most methods are misled by.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        NaN where a value is missing.
    names : sequence of str
    is_ranks : bool
        Whether only ranks will be seen, which neither outliers nor skew mislead.
    in_space : bool
        Whether columns are sites whose neighbours are compared: every site keeps its column, and
        the unit that all of them share.

    Returns
    -------
    tuple of Finding

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(100, 3))
    >>> find_unusual(rows, ["a", "b", "c"])
    ()
    >>> rows[7, 1] = 500.0
    >>> [(one.kind, one.columns, one.figure) for one in find_unusual(rows, ["a", "b", "c"])]
    [('outliers', ('b',), 1.0)]
    """
    if len(values) < FEW_ROWS:
        return ()
    found = [_identifiers(values, names)]
    if not in_space:
        found += [_relations(values, names, is_ranks=is_ranks), _categories(values, names)]
    # What marks a missing value misleads ranks as well.
    shapes = _shapes(values, names)[: 1 if is_ranks else None]
    least = float(np.nanmin(values, initial=np.inf))
    found += [one and _of_sites(one, least) for one in shapes] if in_space else shapes
    return tuple(one for one in found if one is not None)


def _n_different(column: FloatArray) -> int:
    return len(np.unique(column[~np.isnan(column)]))


def _identifiers(values: FloatArray, names: Sequence[str]) -> Finding | None:
    """Whole numbers that differ from row to row and only rise, or only fall."""
    which = [name for name, column in zip(names, values.T, strict=True) if is_row_number(column)]
    if not which:
        return None
    return Finding(
        kind="identifier",
        columns=tuple(which),
        figure=float(len(which)),
        text=f"{column_nouns(which)} {agree(which, 'numbers', 'number')} the rows (unique whole "
        "numbers in order)",
        advice=_drop(which),
    )


def _relations(values: FloatArray, names: Sequence[str], *, is_ranks: bool) -> Finding | None:
    """Columns that are products or ratios of others, or follow from them one after the other."""
    rows = values[~np.isnan(values).any(axis=1)]
    n_features = rows.shape[1]
    if not 2 < n_features <= MOST_TOGETHER:
        return None
    formulas = _ratios(values, names)
    sums: list[int] = []
    if len(rows) >= n_features + FEW_ROWS:
        # In units in which squares are no trouble.
        size = np.abs(rows).max(axis=0)
        rows = rows / np.where(size > 0, size, 1.0)
        if not (rows.std(axis=0) > 1e-12).all():
            return None
        for product, (i, j) in ({} if is_ranks else _products(rows)).items():
            both = f"'{names[i]}' times '{names[j]}'"
            formulas.setdefault(product, both if i != j else f"the square of '{names[i]}'")
        if is_ranks:
            rows = np.column_stack([_ranks(column) for column in rows.T])
        rest = [k for k in range(n_features) if k not in formulas]
        sums = [rest[k] for k in _sums(rows[:, rest])]
    which = [names[k] for k in (*formulas, *sums)]
    if not which:
        return None
    return _about_relations(which, [names[k] for k in formulas], [*formulas.values()], n_features)


def _about_relations(
    which: Sequence[str], made: Sequence[str], formulas: Sequence[str], n_features: int
) -> Finding:
    """Say which columns follow from others, and how."""
    how = [f"by sums or means ({100 * (1 - LEFT):g} % of the variance or more)"]
    how = how if len(which) > len(made) else []
    examples = [f"'{name}' is {formula}" for name, formula in zip(made, formulas, strict=True)]
    if examples:
        how.insert(0, f"as products or ratios ({'; '.join(examples[:3])})")
    follows = agree(which, "follows", "follow")
    if len(which) > max(PARTS, MANY * n_features):
        return Finding(
            kind="relations",
            columns=tuple(which),
            figure=float(len(which)),
            text=f"{len(which)} of {n_features} columns follow from others, {' or '.join(how)}, as "
            "samples in columns do, parts of a whole, or series that grow together. Each column is "
            "to be a variable of its own: transpose samples in columns (--transform transpose); of "
            "parts of a whole, drop one",
            advice="",
        )
    return Finding(
        kind="relations",
        columns=tuple(which),
        figure=float(len(which)),
        text=f"{column_nouns(which)} {follows} from other columns, {' or '.join(how)}. Edges "
        f"around {agree(which, 'it', 'them')} show how {agree(which, 'it was', 'they were')} "
        "computed, and little else",
        advice=_drop(which),
    )


def _ratios(values: FloatArray, names: Sequence[str]) -> dict[int, str]:
    """Find positive measurements that are products of powers of two others, such as a BMI.

    Of three such columns, the last in the table counts as the derived one.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        is_positive = np.nanmin(values, axis=0, initial=np.inf) > 0
    at = [
        k for k in np.flatnonzero(is_positive).tolist() if _n_different(values[:, k]) >= MEASUREMENT
    ]
    found: dict[int, str] = {}
    if not 3 <= len(at) <= MOST_MULTIPLIED:
        return found
    logs = np.log(values[:, at])
    for c in range(len(at) - 1, -1, -1):
        others = [k for k in range(len(at)) if k != c and at[k] not in found]
        if (pair := _two_powers(logs, c, others)) is None:
            continue
        (a, p), (b, q) = sorted(pair, key=lambda one: -one[1])
        first, second = _power(names[at[a]], p), _power(names[at[b]], abs(q))
        found[at[c]] = f"{first} {'times' if q > 0 else 'divided by'} {second}"
    return found


def _power(name: str, power: float) -> str:
    return f"'{name}'" if power == 1 else f"the {'square' if power == 2 else 'cube'} of '{name}'"


def _two_powers(
    logs: FloatArray, c: int, others: Sequence[int]
) -> tuple[tuple[int, float], tuple[int, float]] | None:
    """Find two columns, and their powers, that leave next to nothing of the logarithm of one."""
    rows = logs[~np.isnan(logs[:, c])]
    if len(rows) < FEW_ROWS or len(others) < 2:
        return None
    # What is missing is filled for the search, and left out of the check.
    is_gap = np.isnan(rows)
    mean = np.where(is_gap, 0.0, rows).sum(axis=0) / np.maximum((~is_gap).sum(axis=0), 1)
    filled = np.where(is_gap, 0.0, rows - mean)
    size = np.sqrt((filled**2).sum(axis=0))
    z = filled / np.where(size > 0, size, 1.0)
    R = z[:, others].T @ z[:, others]
    r = z[:, others].T @ z[:, c]
    with np.errstate(divide="ignore", invalid="ignore"):
        told = (r[:, None] ** 2 + r**2 - 2 * np.outer(r, r) * R) / (1.0 - R**2)
    told[(1.0 - R**2) < EXACT] = 0.0
    np.fill_diagonal(told, 0.0)
    for place in np.argsort(-told, axis=None)[:6:2].tolist():
        a, b = (others[k] for k in divmod(place, len(others)))
        if (powers := _check_powers(logs, c, a, b)) is not None:
            return (a, powers[0]), (b, powers[1])
    return None


def _check_powers(logs: FloatArray, c: int, a: int, b: int) -> tuple[float, float] | None:
    """Regress one logarithm on two; return their powers if these are whole and leave nothing."""
    rows = logs[:, [c, a, b]]
    rows = rows[~np.isnan(rows).any(axis=1)]
    if len(rows) < FEW_ROWS:
        return None
    for _ in range(3):
        rows = rows - rows.mean(axis=0)
        power: FloatArray = np.linalg.lstsq(rows[:, 1:], rows[:, 0], rcond=None)[0]
        square = (rows[:, 0] - rows[:, 1:] @ power) ** 2
        # A few values may be slips of the pen.
        is_kept = square <= max(SLIP * float(np.median(square)), EXACT**2)
        if is_kept.mean() < 1 - SLIPS:
            break
        rows = rows[is_kept]
    total, rest = (rows**2).sum(axis=0), float(square[is_kept].sum())
    alone = total[0] - (rows[:, 1:].T @ rows[:, 0]) ** 2 / np.where(total[1:] > 0, total[1:], 1.0)
    if rest > LEFT_OF_LOGS * total[0] or rest > 0.1 * alone.min():
        return None
    whole = np.round(power)
    if np.abs(power - whole).max() > NEAR or not np.isin(np.abs(whole), POWERS).all():
        return None
    return (float(whole[0]), float(whole[1])) if float(whole.max()) > 0 else None


def about_survival(columns: Mapping[str, AnyArray]) -> Finding | None:
    """Say which columns look like a censored time and its event.

    Parameters
    ----------
    columns : mapping of str to ndarray
        As they were read.
    """
    pairs = find_survival(columns)
    if not pairs:
        return None
    named = " and ".join(f"'{event}' for '{time}'" for time, event in pairs.items())
    which = [name for pair in pairs.items() for name in pair]
    return Finding(
        kind="survival",
        columns=tuple(which),
        figure=float(len(pairs)),
        text=f"{quote_names(pairs)} {agree([*pairs], 'looks', 'look')} like a time under "
        f"observation, and another column says whether an event ended it ({named}). Such a time is "
        "cut off where observation ended, so that its links show how long rows were watched. "
        f"Leave both out ({_drop(which)}), or replace them by one column that says whether the "
        "event came early or late",
        advice="--survival " + shlex.quote(",".join(f"{t}={e}" for t, e in pairs.items())),
    )


def _ranks(column: FloatArray) -> FloatArray:
    """Rank values, equal ones by the mean of their ranks."""
    _, at, counts = np.unique(column, return_inverse=True, return_counts=True)
    ranks: FloatArray = (np.cumsum(counts) - (counts - 1) / 2)[at]
    return ranks


def _products(rows: FloatArray) -> dict[int, tuple[int, int]]:
    """Find measurements that are products of two other columns, or squares, in any unit."""
    n_features = rows.shape[1]
    found: dict[int, tuple[int, int]] = {}
    measured = [k for k in range(n_features) if _n_different(rows[:, k]) >= MEASUREMENT]
    if n_features > MOST_MULTIPLIED or not measured:
        return found
    # A few rows rule most pairs out.
    few = rows[np.linspace(0, len(rows) - 1, FEW_ROWS).astype(int)]
    for i in range(n_features):
        likely = np.abs(_correlations(few[:, measured], few[:, i:] * few[:, [i]])) > 1 - 1e-6
        for at, step in np.argwhere(likely).tolist():
            k, j = measured[at], i + step
            if k in (i, j) or k in found or found.keys() & {i, j}:
                continue
            r = _correlations(rows[:, [k]], rows[:, [i]] * rows[:, [j]])[0, 0]
            if abs(r) > 1 - 1e-9:
                found[k] = (i, j)
    return found


def _correlations(left: FloatArray, right: FloatArray) -> FloatArray:
    """Correlate columns with columns; 0 where one does not vary."""
    scaled = []
    for block in (left, right):
        centred = block - block.mean(axis=0)
        size = np.sqrt((centred**2).sum(axis=0))
        scaled.append(centred / np.where(size > 0, size, 1.0))
    product: FloatArray = scaled[0].T @ scaled[1]
    return product


def _sums(rows: FloatArray) -> list[int]:
    """List columns that follow from others that are left, the surest first.

    Those are a few, as of a mean, or tell all but rounding, as of a total of many: of many columns
    with many causes in common, each nearly follows from all others by chance.
    """
    n_features = rows.shape[1]
    # Exact relations, too, are to have an inverse.
    R = np.atleast_2d(np.corrcoef(rows, rowvar=False)) + 1e-10 * np.eye(n_features)
    Theta = np.linalg.inv(R)
    found: list[int] = []
    is_open = np.ones(n_features, dtype=bool)
    while (size := np.where(is_open, Theta.diagonal(), 0.0)).max() * LEFT > 1.0:
        k = int(size.argmax())
        is_open[k] = False
        left = np.array([j for j in range(n_features) if j not in found and j != k])
        if size[k] * EXACT > 1.0 or _left_by_few(R, k, left) <= LEFT:
            found.append(k)
            Theta = Theta - np.outer(Theta[k], Theta[k]) / Theta[k, k]
    return found


def _left_by_few(R: FloatArray, k: int, others: IntArray) -> float:
    """Share of the variance of column ``k`` that `PARTS` of the others leave, each the best."""
    at = np.append(others, k)
    rest = R[np.ix_(at, at)]
    for _ in range(min(PARTS, len(others))):
        size = rest.diagonal()[:-1]
        gain = np.where(size > EXACT, rest[-1, :-1] ** 2 / np.maximum(size, EXACT), 0.0)
        j = int(gain.argmax())
        if not gain[j]:
            break
        rest = rest - np.outer(rest[:, j], rest[j]) / rest[j, j]
    return float(rest[-1, -1])


def _categories(values: FloatArray, names: Sequence[str]) -> Finding | None:
    """Few whole numbers in a column, where most columns are something else, and some measured.

    Where most have few whole numbers, as in a survey, they are answers in an order.
    """
    counts = np.array([_n_different(column) for column in values.T])
    is_whole = np.array([bool((c == np.round(c))[~np.isnan(c)].all()) for c in values.T])
    which = np.flatnonzero(is_whole & (counts > 2) & (counts < MEASUREMENT)).tolist()
    if not which or 2 * len(which) > len(counts) or counts.max() < MEASUREMENT:
        return None
    labels = [names[k] for k in which]
    return Finding(
        kind="categories",
        columns=tuple(labels),
        figure=float(max(counts[k] for k in which)),
        text=f"{column_nouns(labels)} {agree(labels, 'has', 'have')} at most "
        f"{max(counts[k] for k in which)} different whole numbers, treated as measurements, which "
        f"suits grades and counts. Drop {agree(labels, 'it', 'them')} if the numbers "
        "are codes of categories",
        advice=_drop(labels),
    )


def _drop(names: Sequence[str]) -> str:
    """Write the option that leaves columns out, quoted for the shell."""
    texts = names if any("," in name for name in names) else [",".join(names)]
    return " ".join(
        shlex.quote(f"--drop={text}") if text.startswith("-") else f"--drop {shlex.quote(text)}"
        for text in texts
    )


def _shapes(values: FloatArray, names: Sequence[str]) -> list[Finding | None]:
    """Find marks of missing values, skewed columns, and single cells far out in the others."""
    marks: dict[str, float] = {}
    n_far: dict[str, int] = {}
    skews: dict[str, float] = {}
    for name, column in zip(names, values.T, strict=True):
        seen = column[~np.isnan(column)]
        if len(seen) < FEW_ROWS:
            continue
        if _n_different(seen) < MEASUREMENT:
            if mark := _mark_among_answers(seen):
                marks[name] = mark
            continue
        centre = np.median(seen)
        spread = 1.4826 * np.median(np.abs(seen - centre))
        is_far = np.abs(seen - centre) > FAR * spread if spread else np.zeros(len(seen), bool)
        if is_far.sum() > 1 and np.ptp(seen[is_far]) == 0 and float(seen[is_far][0]) in MARKS:
            marks[name] = float(seen[is_far][0])
            continue
        body = seen[~is_far]
        deviation = body - body.mean()
        scale = body.std()
        skew = float(np.mean(deviation**3) / scale**3) if scale else 0.0
        if abs(skew) > SKEWED:
            skews[name] = skew
        elif is_far.any():
            n_far[name] = int(is_far.sum())
    return [_about_marks(marks), _about_far(n_far), _about_skews(skews)]


def _mark_among_answers(seen: FloatArray) -> float | None:
    """Find an answer that marks a missing one: it is further from all others than these are."""
    answers = np.unique(seen)
    for mark, others in ((answers[0], answers[1:]), (answers[-1], answers[:-1])):
        is_mark = mark in (*MARKS, 9.0, -9.0)
        if len(others) > 1 and is_mark and np.abs(others - mark).min() > np.ptp(others):
            return float(mark)
    return None


def _about_marks(marks: dict[str, float]) -> Finding | None:
    if not marks:
        return None
    words = sorted({f"{value:g}" for value in marks.values()})
    which = list(marks)
    return Finding(
        kind="codes",
        columns=tuple(which),
        figure=float(len(which)),
        text=f"{column_nouns(which)} {agree(which, 'holds', 'hold')} {' and '.join(words)}, far "
        "from all other values, as codes for missing values are",
        advice=f"{' '.join(f'--read na={word}' for word in words)} --missing auto",
    )


def _about_far(n_far: dict[str, int]) -> Finding | None:
    if not n_far:
        return None
    total, which = sum(n_far.values()), sorted(n_far, key=lambda name: -n_far[name])
    return Finding(
        kind="outliers",
        columns=tuple(which),
        figure=float(total),
        text=f"{total} {'value lies' if total == 1 else 'values lie'} more than {FAR:g} robust "
        f"standard deviations from the median, in {quote_names(which)}; a few such create or hide "
        "edges",
        advice="--covariance nonparanormal",
    )


def _about_skews(skews: dict[str, float]) -> Finding | None:
    if not skews:
        return None
    which = sorted(skews, key=lambda name: -abs(skews[name]))
    return Finding(
        kind="skew",
        columns=tuple(which),
        figure=skews[which[0]],
        text=f"{column_nouns(which)} {agree(which, 'is', 'are')} skewed ({skews[which[0]]:.1f}; a "
        f"Gaussian column has 0), so the largest values dominate",
        advice="--covariance nonparanormal",
    )


def _of_sites(found: Finding, least: float) -> Finding:
    """Say what can be done about columns that cannot be turned into ranks one by one.

    ``least`` is the smallest value of all: 0 has no logarithm, and what is below no root either.
    """
    if found.kind not in ("outliers", "skew"):
        return found
    remedy = "a look at their rows"
    if found.kind == "skew" and least >= 0:
        remedy = f"{'logarithms' if least > 0 else 'square roots'} of all columns"
    return replace(found, text=f"{found.text}: {remedy} may help", advice="")


def find_transposed(
    values: FloatArray, names: Sequence[str], labels: Sequence[str]
) -> Finding | None:
    """Say whether rows, which have names, are probably the columns that are meant.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
    names : sequence of str
    labels : sequence of str
        Names of the rows.

    Examples
    --------
    >>> genes = np.linspace(0, 9, 100)[:, None] + np.random.default_rng(0).normal(size=(100, 6))
    >>> find_transposed(genes, [f"s{k}" for k in range(6)], [f"gene{k}" for k in range(100)]).kind
    'transposed'
    """
    n_samples, n_features = values.shape
    is_named = np.mean([any(letter.isalpha() for letter in label) for label in labels]) > 0.9
    if not is_named or np.isnan(values).any():
        return None
    figure = 0.0
    if n_samples >= 5 * n_features >= 25 and (values.std(axis=0) > 0).all():
        # Samples of the same genes are alike; columns of other units are not.
        spread = values.std(axis=0)
        R = np.atleast_2d(np.corrcoef(values.T))
        figure = float(np.median(R[np.triu_indices(n_features, 1)]))
        figure *= float(spread.max() < 5 * spread.min())
    elif n_features >= 5 * n_samples:
        figure = float(np.mean([_is_numbered(name) for name in names]))
        figure -= float(np.mean([_is_numbered(label) for label in labels]))
    if figure <= 0.5:
        return None
    return Finding(
        kind="transposed",
        columns=tuple(names[:1]),
        figure=figure,
        text=f"the {n_samples} rows have names ('{labels[0]}') and the {n_features} columns look "
        "like samples of them, so the table probably has variables in rows",
        advice="--transform transpose",
    )


def _is_numbered(name: str) -> bool:
    """Whether a name is a word with a number, such as cell17."""
    return name[-1:].isdigit() and not name.replace(".", "").isdigit()
