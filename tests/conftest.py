"""What all tests share."""

import pytest

from tests.guarantees import checked_fits


@pytest.fixture(scope="session", autouse=True)
def every_fit_is_checked():
    """No fit of any test may break what is promised of all fits."""
    with checked_fits():
        yield
