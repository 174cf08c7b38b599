"""The exceptions and warnings that users may want to catch."""

from __future__ import annotations

from edgewise._core.messages import Message


class EdgewiseError(Message, Exception):
    """Base of every error that edgewise raises on purpose."""


class InputError(EdgewiseError, ValueError):
    """The data or a parameter cannot be used; the message says what, where and what to do.

    Parameters
    ----------
    code : str
        What is wrong, under which `edgewise.words` has the sentence.
    parameter : str, optional
        The parameter that the message is about, under which the command line names its option.
    **values
        What the sentence needs: numbers, names of columns, other messages.
    """


class InputTypeError(InputError, TypeError):
    """The argument is not data of a supported type; also a `TypeError`, as elsewhere in Python."""


class SolverError(EdgewiseError, RuntimeError):
    """A numerical problem has no solution, or none that floating point can reach."""


class NotEnoughMemoryError(EdgewiseError, MemoryError):
    """Estimated memory exceeds what is available; raised before fitting."""


class DataWarning(Message, UserWarning):
    """The data were used, but only after a treatment that changes how to read the result."""
