"""Nine variables along an open contour."""

import numpy as np
import pytest

from edgewise import InputError
from studies.space.contour_model import make_contour_model


def test_two_blocks_as_written_out():
    a, b, c = -0.4, 0.4, 0.25
    expected = [
        [1, 0, 0, c, 0, a, a, 0, 0],
        [0, 1, 0, 0, 0, a, a, 0, 0],
        [0, 0, 1, 0, 0, 0, 0, 0, 0],
        [c, 0, 0, 1, 0, 0, 0, b, b],
        [0, 0, 0, 0, 1, 0, 0, b, b],
        [a, a, 0, 0, 0, 1, 0, 0, 0],
        [a, a, 0, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, b, b, 0, 0, 1, 0],
        [0, 0, 0, b, b, 0, 0, 0, 1],
    ]
    model = make_contour_model("two-blocks")
    np.testing.assert_array_equal(model.precision, expected)
    np.testing.assert_array_equal(make_contour_model().precision, expected)
    assert model.smallest_eigenvalue == pytest.approx(0.124, abs=5e-4)


def test_one_block_as_written_out():
    a, b = -0.3, 0.3
    expected = [
        [1, 0, 0, 0, 0, a, a, a, 0],
        [0, 1, 0, 0, 0, a, a, a, 0],
        [0, 0, 1, 0, 0, a, a, a, 0],
        [0, 0, 0, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 0, b],
        [a, a, a, 0, 0, 1, 0, 0, 0],
        [a, a, a, 0, 0, 0, 1, 0, 0],
        [a, a, a, 0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, b, 0, 0, 0, 1],
    ]
    model = make_contour_model("one-block")
    np.testing.assert_array_equal(model.precision, expected)
    # The block has rank one, with the singular value 0.3 * 3.
    assert model.smallest_eigenvalue == pytest.approx(0.1)


def test_unknown_contour():
    with pytest.raises(InputError, match="two-blocks, one-block"):
        make_contour_model("A")
