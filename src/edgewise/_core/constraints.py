"""Constraints on parameters: a table of them per class, read by one function."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from edgewise._core.errors import InputError
from edgewise._core.messages import Note


class Constraint(ABC):
    """What a parameter may be; its note completes the sentence "alpha must be ..."."""

    @abstractmethod
    def allows(self, value: Any) -> bool:
        """Whether the parameter may have this value."""

    @property
    @abstractmethod
    def note(self) -> Note:
        """What is allowed."""

    def check(self, name: str, value: Any) -> None:
        """Raise an `InputError` if a parameter may not have this value."""
        if not self.allows(value):
            raise InputError("invalid_value", name, allowed=self.note, got=value)

    def __str__(self) -> str:
        return str(self.note)


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
        constraint.check(name, getattr(owner, name))


def is_number(value: Any, *, least: float = -math.inf) -> bool:
    """Whether a value is a finite number of at least ``least``; a boolean is not a number."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    return bool(is_real and least <= value < math.inf)


@dataclass(frozen=True, kw_only=True)
class Number(Constraint):
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

    @property
    def note(self) -> Note:
        """Bounds and kind."""
        low, high = max(self.at_least, self.above), min(self.at_most, self.below)
        kind: dict[str, Any] = {"is_whole": self.is_whole, "or_none": self.or_none}
        if low > -math.inf and high < math.inf:
            return Note("allowed_between", low=low, high=high, **kind)
        if high < math.inf:
            return Note("allowed_at_most", high=high, **kind)
        if self.above == 0:
            return Note("allowed_positive", **kind)
        if low > -math.inf:
            return Note("allowed_at_least", low=low, **kind)
        return Note("allowed_number", **kind)


@dataclass(frozen=True, init=False)
class OneOf(Constraint):
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

    @property
    def note(self) -> Note:
        """The choices."""
        return Note("allowed_choices", choices=self.choices, or_array=self.or_array)
