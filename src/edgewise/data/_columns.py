"""One column of whatever type as floats, and what it held."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from numbers import Complex, Real
from typing import Any, Final, NamedTuple

import numpy as np

from edgewise._core.errors import InputError, InputTypeError
from edgewise._core.typing import AnyArray, FloatArray

#: Whole numbers up to this size are the same as floats.
EXACT: Final = 2**53
#: What pandas writes for a missing value among objects; by name, since pandas may not be loaded.
MISSING_TYPES: Final = ("NAType", "NaTType")


class Column(NamedTuple):
    """A column as floats.

    Attributes
    ----------
    values : ndarray of shape (n_samples,)
        NaN where a value is missing.
    kind : str
        ``"numeric"``, ``"boolean"`` or ``"categorical"``.
    levels : tuple of str or None
        Levels of a categorical column.
    """

    values: FloatArray
    kind: str
    levels: tuple[str, ...] | None


def as_floats(values: AnyArray, names: Sequence[str]) -> FloatArray:
    """Turn a table of numbers into floats, without a copy if possible.

    Raises
    ------
    InputError
        Where whole numbers that differ would become the same float.
    """
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size:
        is_large = (values.max(axis=0) > EXACT) | (values.min(axis=0) < -EXACT)
        for k in np.flatnonzero(is_large).tolist():
            distinct = np.unique(values[:, k])
            _refuse_merged(len(distinct), len(np.unique(distinct.astype(np.float64))), names[k])
    # A long double beyond the largest float becomes inf, which is refused later and by name.
    with np.errstate(over="ignore"):
        return values.astype(np.float64, copy=False)


def encode(column: AnyArray, name: str) -> Column:
    """Turn one column of any dtype into floats."""
    if column.dtype.kind in "biuf":
        kind = "boolean" if column.dtype.kind == "b" else "numeric"
        return Column(as_floats(column[:, None], [name])[:, 0], kind, None)
    if column.dtype.kind == "c":
        raise _complex_numbers(name)
    if column.dtype.kind in "mM":
        is_gone = np.isnat(column)
        column = column.astype(str).astype(object)
        column[is_gone] = None
    values = column.tolist()
    return _encode_objects(values, [_is_missing(value) for value in values], name)


def encode_series(series: Any, name: str) -> Column:
    """Turn one column of a data frame, held by narwhals, into floats."""
    import narwhals.stable.v2 as nw

    if series.dtype.is_numeric():
        floats = series.cast(nw.Float64)
        if series.dtype.is_integer() and _is_beyond_exact(floats.min(), floats.max()):
            _refuse_merged(series.n_unique(), floats.n_unique(), name)
        return Column(np.asarray(floats.to_numpy(), np.float64), "numeric", None)
    declared = None
    if isinstance(series.dtype, nw.Enum):
        # Ordered categories of pandas may be anything, such as the intervals of a cut.
        declared = tuple(str(level) for level in series.dtype.categories)
    elif type(getattr(series.to_native(), "dtype", None)).__name__ == "CategoricalDtype":
        # Elsewhere the categories are whatever any column has used so far.
        declared = tuple(str(level) for level in series.cat.get_categories().to_list())
    return _encode_objects(
        series.to_list(),
        series.is_null().to_list(),
        name,
        is_category=isinstance(series.dtype, (nw.Categorical, nw.Enum)),
        declared=declared,
    )


def _is_beyond_exact(lowest: float | None, highest: float | None) -> bool:
    return lowest is not None and highest is not None and max(-lowest, highest) >= EXACT


def is_written_number(text: str) -> bool:
    """Whether text is a number in writing."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_missing(value: object) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in MISSING_TYPES


def _encode_objects(
    values: list[Any],
    is_missing: list[bool],
    name: str,
    *,
    is_category: bool = False,
    declared: Sequence[str] | None = None,
) -> Column:
    """Turn Python objects into floats: booleans, numbers, or else positions of sorted text."""
    present = [value for value, gone in zip(values, is_missing, strict=True) if not gone]
    kind = "categorical"
    levels: tuple[str, ...] | None = None
    if not is_category and all(isinstance(value, (Real, Decimal, np.bool_)) for value in present):
        is_boolean = present and all(isinstance(value, (bool, np.bool_)) for value in present)
        kind = "boolean" if is_boolean else "numeric"
        numbers = iter(_object_numbers(present, name))
    else:
        _refuse_containers(present, name)
        seen = {str(value) for value in present}
        levels = tuple(declared or sorted(seen))
        position = {level: float(k) for k, level in enumerate(levels)}
        numbers = iter([position[str(value)] for value in present])
    coded = np.array([np.nan if gone else next(numbers) for gone in is_missing])
    return Column(coded, kind, levels)


def _object_numbers(present: list[Any], name: str) -> list[float]:
    try:
        numbers = [float(value) for value in present]
    except OverflowError as error:
        raise InputError(
            f"Column '{name}' holds whole numbers of more than 308 digits, beyond any float. "
            "Change its unit, or take logarithms."
        ) from error
    if any(isinstance(value, int) and abs(value) > EXACT for value in present):
        _refuse_merged(len(set(present)), len(set(numbers)), name)
    return numbers


def _refuse_merged(n_distinct: int, n_floats: int, name: str) -> None:
    """Refuse whole numbers that differ but are the same as floats."""
    if n_floats < n_distinct:
        raise InputError(
            f"Column '{name}' holds {n_distinct} different whole numbers beyond 2**53, of which "
            f"{n_distinct - n_floats} cannot be told from others as floats. Subtract the smallest, "
            "or pass text if they are labels."
        )


def _refuse_containers(present: list[Any], name: str) -> None:
    for value in present:
        if isinstance(value, Complex) and not isinstance(value, Real):
            raise _complex_numbers(name)
        if isinstance(value, (dict, list, set, np.ndarray)):
            raise InputTypeError(
                f"Column '{name}' holds a {type(value).__name__}, and every argument must be a "
                "string or a number. Spread it over columns of its own."
            )


def _complex_numbers(name: str) -> InputError:
    return InputError(
        f"Complex data not supported: column '{name}' holds complex numbers. Pass real and "
        "imaginary parts as columns."
    )
