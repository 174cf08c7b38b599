"""What users may catch."""

import pytest

from edgewise import DataWarning, EdgewiseError, InputError, SolverError


@pytest.mark.parametrize(("kind", "base"), [(InputError, ValueError), (SolverError, RuntimeError)])
def test_errors_are_ours_and_of_the_usual_kind(kind, base):
    assert issubclass(kind, EdgewiseError)
    assert issubclass(kind, base)


def test_warnings_are_shown_to_users():
    assert issubclass(DataWarning, UserWarning)
