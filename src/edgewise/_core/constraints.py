"""Constraints on parameters: a table of them per class, read by one function."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

from edgewise._core.errors import InputError


class Constraint(Protocol):
    """What a parameter may be; ``str`` of it completes the sentence "alpha must be ..."."""

    def allows(self, value: Any) -> bool:
        """Whether the parameter may have this value."""
        ...


def check_parameters(owner: Any, constraints: Mapping[str, Constraint]) -> None:
    """Raise an `InputError` for the first parameter that does not meet its constraint.

    Parameters
    ----------
    owner : object
        Has the parameters as attributes.
    constraints : mapping
        The constraint of each parameter, by name.
    """
    for name, constraint in constraints.items():
        value = getattr(owner, name)
        if not constraint.allows(value):
            raise InputError(f"{name} must be {constraint}, got {value!r}.", parameter=name)


def is_number(value: Any, *, least: float = -math.inf) -> bool:
    """Whether a value is a finite number of at least ``least``; a boolean is not a number."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    return bool(is_real and least <= value < math.inf)


@dataclass(frozen=True, kw_only=True)
class Number:
    """A finite number between bounds, of which ``above`` and ``below`` are not included.

    Attributes
    ----------
    at_least, at_most, above, below : float
        The bounds.
    is_whole : bool
        Whether only whole numbers are allowed.
    or_none : bool
        Whether None is allowed, too.
    """

    at_least: float = -math.inf
    at_most: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    is_whole: bool = False
    or_none: bool = False

    def allows(self, value: Any) -> bool:
        """Whether a value lies between the bounds."""
        if value is None:
            return self.or_none
        is_kind = isinstance(value, Integral) if self.is_whole else True
        is_inside = is_number(value) and self.at_least <= value <= self.at_most
        return bool(is_kind and is_inside and self.above < value < self.below)

    def __str__(self) -> str:
        low, high = max(self.at_least, self.above), min(self.at_most, self.below)
        noun = "a whole number" if self.is_whole else "a number"
        if high < math.inf:
            words = f"{'a whole number ' if self.is_whole else ''}between {low:g} and {high:g}"
        elif self.above == 0:
            words = f"{noun} above 0" if self.is_whole else "positive"
        else:
            words = f"{noun} of at least {low:g}"
        return f"{words}, or None" if self.or_none else words


@dataclass(frozen=True, init=False)
class OneOf:
    """One of several values, most of them text; None may be among them, or any array allowed."""

    choices: tuple[Any, ...]
    or_array: bool

    def __init__(self, *choices: Any, or_array: bool = False) -> None:
        object.__setattr__(self, "choices", choices)
        object.__setattr__(self, "or_array", or_array)

    def allows(self, value: Any) -> bool:
        """Whether a value is among the choices."""
        if value is None or isinstance(value, (str, bool)):
            return value in self.choices
        return self.or_array

    def __str__(self) -> str:
        *others, last = [repr(choice) for choice in self.choices]
        listed = f"one of {', '.join(others)} and {last}" if others else last
        return f"{listed}, or an array" if self.or_array else listed
