"""Wording shared by the messages that name columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

#: A message names this many columns before it only counts the rest.
NAMES_SHOWN = 5
#: A message shows this many letters of a piece of text.
LETTERS_SHOWN = 40


def quote_names(names: Iterable[object]) -> str:
    """Write a list of names for a message: quoted, and cut short where it runs long.

    Parameters
    ----------
    names : iterable
        Names of columns, variables or files.

    Returns
    -------
    str
        At most five names, then how many more there are.

    Examples
    --------
    >>> quote_names(["gene3", "gene7"])
    "'gene3' and 'gene7'"
    >>> quote_names(f"x{i}" for i in range(17))
    "'x0', 'x1', 'x2', 'x3', 'x4' and 12 more"
    """
    quoted = [f"'{name}'" for name in names]
    hidden = len(quoted) - NAMES_SHOWN
    if hidden > 1:
        return f"{', '.join(quoted[:NAMES_SHOWN])} and {hidden} more"
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def shown(text: str) -> str:
    """Quote a piece of text that a message shows as it was found, cut short where it runs long.

    Examples
    --------
    >>> shown("n/a"), shown(1000 * "x")
    ("'n/a'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    return repr(text if len(text) <= LETTERS_SHOWN else f"{text[:LETTERS_SHOWN]}...")


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
