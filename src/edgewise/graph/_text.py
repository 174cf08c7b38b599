"""Node names in files: what a format cannot carry is escaped, and the escape can be undone."""

from __future__ import annotations

import re

#: Characters that neither XML 1.0 nor a text file in UTF-8 can hold (most controls, lone
#: surrogates, two non-characters), and the carriage return, which readers take for a line end.
_UNWRITABLE = "\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff"
# An underscore is escaped too where it would begin something that reads like an escape.
_TO_ESCAPE = re.compile(f"[{_UNWRITABLE}]|_(?=x[0-9A-F]{{4}}[_{_UNWRITABLE}])")
_ESCAPED = re.compile("_x([0-9A-F]{4})_")
_ESCAPABLE = re.compile(f"[{_UNWRITABLE}_]")

#: A cell that begins like this, or with the full-width form, may run in a spreadsheet.
_FORMULA_STARTS = frozenset("=+-@\t\n\uff1d\uff0b\uff0d\uff20")
_GUARD = "'"


def escape(name: str) -> str:
    """Write unwritable characters as ``_xHHHH_``, the way Office Open XML does."""
    return _TO_ESCAPE.sub(lambda match: f"_x{ord(match[0]):04X}_", name)


def unescape(text: str) -> str:
    """Undo `escape`; escapes that it never makes, such as ``_x0041_``, are left as they are."""

    def restore(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        return character if _ESCAPABLE.match(character) else match[0]

    return _ESCAPED.sub(restore, text)


def guard_cell(name: str) -> str:
    """Put an apostrophe before a name that a spreadsheet would run as a formula."""
    name = escape(name)
    begins_guarded = name[:1] == _GUARD and (name[1:2] in {*_FORMULA_STARTS, _GUARD})
    return _GUARD + name if name[:1] in _FORMULA_STARTS or begins_guarded else name


def unguard_cell(cell: str) -> str:
    """Undo `guard_cell`."""
    if cell[:1] == _GUARD and cell[1:2] in {*_FORMULA_STARTS, _GUARD}:
        cell = cell[1:]
    return unescape(cell)
