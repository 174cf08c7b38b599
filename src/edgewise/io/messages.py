"""Names of columns in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from edgewise._core.messages import (
    NAMES_SHOWN as NAMES_SHOWN,
    quote_names as quote_names,
    shown as shown,
)


def repeated(names: Sequence[str]) -> list[str]:
    """Names that occur more than once, each listed once, in order of first appearance."""
    return [name for name, count in Counter(names).items() if count > 1]


def describe_mismatch(first: Sequence[str] | None, second: Sequence[str] | None) -> str:
    """Say how the columns of two parts of a table differ."""
    if first is None or second is None:
        return "one part has column names, and the other has none"
    if missing := [name for name in first if name not in second]:
        return f"{quote_names(missing)} {'is' if len(missing) == 1 else 'are'} missing in one"
    if added := [name for name in second if name not in first]:
        return f"{quote_names(added)} {'is' if len(added) == 1 else 'are'} in one only"
    return "they have the same columns in another order"
