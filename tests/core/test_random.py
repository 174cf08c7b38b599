"""Random numbers."""

import numpy as np
import pytest

from edgewise import InputError
from edgewise._core.parallel import as_generator, spawn
from tests.messages import raises


def draws(generators):
    return [generator.standard_normal(3).tolist() for generator in generators]


@pytest.mark.parametrize("seed", [0, 7, np.int64(7)])
def test_same_seed_same_children(seed):
    assert draws(spawn(seed, 4)) == draws(spawn(seed, 4))


def test_the_first_children_do_not_depend_on_how_many_there_are():
    assert draws(spawn(1, 2)) == draws(spawn(1, 5))[:2]


def test_children_do_not_depend_on_how_others_are_used():
    used, fresh = spawn(3, 3), spawn(3, 3)
    used[0].standard_normal(1000)
    assert draws(used[1:]) == draws(fresh[1:])


def test_children_differ():
    children = draws(spawn(0, 50))
    assert len({tuple(child) for child in children}) == 50
    assert draws(spawn(0, 1)) != draws(spawn(1, 1))


def test_a_generator_moves_on():
    generator = np.random.default_rng(0)
    assert as_generator(generator) is generator
    assert draws(spawn(generator, 2)) != draws(spawn(generator, 2))


def test_a_legacy_state_is_reproducible():
    one, two = (as_generator(np.random.RandomState(5)) for _ in range(2))
    assert draws([one]) == draws([two])
    assert draws([as_generator(np.random.RandomState(6))]) != draws([one])


def test_none_is_never_the_same():
    assert draws(spawn(None, 1)) != draws(spawn(None, 1))


@pytest.mark.parametrize(
    ("seed", "words"),
    [(-1, "random_state_negative"), ("x", "random_state_type"), (1.5, "random_state_type")],
)
def test_bad_seeds(seed, words):
    with raises(InputError, code=words):
        as_generator(seed)
