import numpy as np
import pytest
from scipy import ndimage

from edgewise import InputError
from edgewise.data import (
    GaussianModel,
    make_block_model,
    make_changed_block_models,
    neighbor_pairs,
)
from tests.messages import raises


def assert_model(model, min_eigenvalue):
    Theta = model.precision
    assert (Theta == Theta.T).all()
    np.testing.assert_allclose(Theta @ model.covariance, np.eye(len(Theta)), atol=1e-12)
    np.testing.assert_array_equal(model.adjacency, (Theta != 0) & ~np.eye(len(Theta), dtype=bool))
    diagonal = np.unique(np.diagonal(Theta))
    assert len(diagonal) == 1
    assert diagonal[0] >= 1
    spectrum = np.linalg.eigvalsh(Theta)
    assert spectrum[0] >= min_eigenvalue - 1e-12
    assert model.smallest_eigenvalue == pytest.approx(spectrum[0])
    assert model.condition == pytest.approx(spectrum[-1] / spectrum[0])


def boxes_of(block, shape):
    """Both boxes of sites that a block of the precision joins, as boolean images."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    rows, columns = np.nonzero(np.triu(block) | np.triu(block.T))
    # Two boxes: the neighbours of one site of the block, and their neighbours.
    second = np.flatnonzero(block[rows[0]])
    first = np.flatnonzero(block[columns[0]])
    return np.isin(numbers, first), np.isin(numbers, second)


@pytest.mark.parametrize(
    ("shape", "size", "n_blocks", "box"),
    [
        ((60,), 6, 6, (6,)),
        ((10, 10), 3, 6, (3, 3)),
        ((6, 4, 5), 2, 4, (2, 2, 2)),
        ((12, 2), 3, 2, (3, 2)),
        ([9], 1, 3, (1,)),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_blocks_join_boxes(shape, size, n_blocks, box, seed):
    model = make_block_model(shape, n_blocks=n_blocks, size=size, rng=seed)
    assert_model(model, 0.2)
    weights = np.where(model.adjacency, model.precision, 0)
    values = np.unique(weights[weights != 0])
    assert len(values) == n_blocks
    assert ((np.abs(values) >= 0.15) & (np.abs(values) <= 0.4)).all()
    for value in values:
        block = weights == value
        for image in boxes_of(block, shape):
            (where,) = ndimage.find_objects(image.astype(int))
            assert image[where].all()
            assert image[where].shape == box
        first, second = boxes_of(block, shape)
        assert not (first & second).any()
        expected = np.outer(first.ravel(), second.ravel())
        np.testing.assert_array_equal(block, expected | expected.T)


def test_weights_jump_only_at_the_sides_of_boxes():
    model = make_block_model((10, 10), rng=0)
    first, second = neighbor_pairs((10, 10), 100).T
    rows = np.where(model.adjacency, model.precision, 0)
    n_jumps = np.count_nonzero(rows[first] != rows[second])
    # A box has at most 12 sides inside the grid, and each is seen from the 9 sites of the other.
    assert 0 < n_jumps <= 6 * 2 * 12 * 9


def test_options_of_blocks_matter():
    default = {"shape": (10, 10), "rng": 0}
    weak = make_block_model(**default, strength=(0.01, 0.02))
    assert np.abs(weak.precision[weak.adjacency]).max() <= 0.02
    assert (np.diagonal(weak.precision) == 1).all()
    strong = make_block_model(**default, strength=(1, 2))
    assert_model(strong, 0.2)
    assert strong.smallest_eigenvalue == pytest.approx(0.2)
    assert (np.diagonal(strong.precision) > 1).all()
    well = make_block_model(**default, strength=(1, 2), min_eigenvalue=0.5)
    assert well.smallest_eigenvalue == pytest.approx(0.5)
    signs = np.sign(np.unique(make_block_model((60,), size=2, n_blocks=20, rng=0).precision))
    assert {-1.0, 1.0} <= set(signs)


def test_seed_decides():
    first, again, other = (make_block_model((30,), rng=seed).precision for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("strength", [(0.15, 0.4), (1.0, 2.0)])
def test_changed_models_differ_in_one_block_only(strength):
    before, after = make_changed_block_models((10, 10), n_blocks=4, strength=strength, rng=3)
    assert_model(before, 0.2)
    assert_model(after, 0.2)
    delta = after.precision - before.precision
    assert len(np.unique(delta[delta != 0])) == 1
    assert np.count_nonzero(delta) == 2 * 81
    assert (before.precision[delta != 0] == 0).all()
    assert before.adjacency.sum() == 3 * 2 * 81
    first, second = boxes_of(delta != 0, (10, 10))
    assert first.sum() == second.sum() == 9


def test_changed_models_pass_their_options_on():
    before, after = make_changed_block_models(
        (40,), n_blocks=1, size=5, strength=(0.3, 0.3), min_eigenvalue=0.9, rng=0
    )
    assert not before.adjacency.any()
    assert after.adjacency.sum() == 50
    assert set(np.abs(after.precision[after.adjacency])) == {0.3}
    assert after.smallest_eigenvalue == pytest.approx(0.9)
    same = make_changed_block_models((40,), n_blocks=1, size=5, strength=(0.3, 0.3), rng=0)[1]
    np.testing.assert_array_equal(same.adjacency, after.adjacency)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"shape": (2, 2, 2, 2)}, "grid_dimensions"),
        ({"shape": 60}, "grid_dimensions"),
        ({"shape": (0, 3)}, "grid_sizes"),
        ({"n_blocks": 0}, "blocks_and_size_range"),
        ({"size": 0}, "blocks_and_size_range"),
        ({"size": 10}, "boxes_do_not_fit"),
        ({"n_blocks": 50}, "boxes_do_not_fit"),
        ({"strength": (0.4, 0.2)}, "strength_pair_range"),
        ({"strength": (0.0, 0.2)}, "strength_pair_range"),
        ({"min_eigenvalue": 0}, "min_eigenvalue_range"),
        ({"min_eigenvalue": 1.0}, "min_eigenvalue_range"),
    ],
)
@pytest.mark.parametrize("function", [make_block_model, make_changed_block_models])
def test_bad_options(function, options, part):
    full = {"shape": (12,), "size": 2, **options}
    with raises(InputError, code=part):
        function(full.pop("shape"), rng=0, **full)


def test_a_model_needs_a_precision():
    with raises(InputError, code="precision_indefinite"):
        GaussianModel.from_precision([[1, 2], [2, 1]])
    for wrong in ([[1, 0.5], [0.4, 1]], np.ones((2, 3)), [1.0, 2.0]):
        with raises(InputError, code="precision_asymmetric"):
            GaussianModel.from_precision(wrong)
