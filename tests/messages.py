"""Expect errors and warnings by code and values; the words are held by tests/words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from edgewise._core.messages import Message, Note, plain


@contextmanager
def raises(
    kind: type[Exception], *, code: str | Note, **values: Any
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error with a code and, at least, these values.

    ``parameter`` is a value, too. A value that is a message itself is expected by its code. A
    `Note` in place of a code expects its code and values.
    """
    with pytest.raises(kind) as caught:
        yield caught
    hold(caught.value, code if isinstance(code, Note) else Note(code, **values))


@contextmanager
def warns(kind: type[Warning], *, code: str | Note, **values: Any) -> Iterator[list[Any]]:
    """Expect a warning with a code and, at least, these values."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught
    ours = [one.message for one in caught if isinstance(one.message, kind)]
    expected = code if isinstance(code, Note) else Note(code, **values)
    chosen = [one for one in ours if getattr(one, "code", None) == expected.code]
    assert chosen, f"no {kind.__name__} {expected} among {[str(one) for one in ours]}"
    hold(chosen[0], expected)
    for one in caught:
        if one.message is not chosen[0]:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def hold(message: Message, expected: Note) -> None:
    """Check code and values of a message, and that it can be put into words."""
    assert message.code == expected.code, str(message)
    found = {"parameter": message.parameter, **message.values}
    wanted = dict(expected.values)
    if expected.parameter is not None:
        wanted["parameter"] = expected.parameter
    for name, value in wanted.items():
        assert name in found, f"{message.code} has {sorted(found)}"
        if isinstance(found[name], Message):
            hold(found[name], value if isinstance(value, Note) else Note(value))
        elif isinstance(value, float):
            assert found[name] == pytest.approx(value)
        else:
            assert plain(found[name]) == plain(value), f"{name}: {found[name]!r}"
    assert str(message)
