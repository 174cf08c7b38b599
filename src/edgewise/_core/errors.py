"""The exceptions and warnings that users may want to catch."""

from __future__ import annotations


class EdgewiseError(Exception):
    """Base of every error that edgewise raises on purpose."""


class InputError(EdgewiseError, ValueError):
    """The data or a parameter cannot be used; the message says what, where and what to do.

    Parameters
    ----------
    message : str
        The message.
    parameter : str, optional
        The parameter that the message is about, under which the command line names its option.
    """

    parameter: str | None = None

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        if parameter is not None:
            # In the state, so that the error keeps it on the way out of a worker process.
            self.parameter = parameter


class InputTypeError(InputError, TypeError):
    """What was handed in is not data of any kind; also a `TypeError`, as elsewhere in Python."""


class SolverError(EdgewiseError, RuntimeError):
    """A numerical problem has no solution, or none that floating point can reach."""


class NotEnoughMemoryError(EdgewiseError, MemoryError):
    """What was asked for takes more memory than there is, as seen before it was begun."""


class DataWarning(UserWarning):
    """The data were used, but only after a treatment that changes how to read the result."""
