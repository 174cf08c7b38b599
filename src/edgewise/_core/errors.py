"""The exceptions and warnings that users may want to catch."""

from __future__ import annotations


class EdgewiseError(Exception):
    """Base of every error that edgewise raises on purpose."""


class InputError(EdgewiseError, ValueError):
    """The data or a parameter cannot be used; the message says what, where and what to do."""


class SolverError(EdgewiseError, RuntimeError):
    """A numerical problem has no solution, or none that floating point can reach."""


class DataWarning(UserWarning):
    """The data were used, but only after a treatment that changes how to read the result."""
