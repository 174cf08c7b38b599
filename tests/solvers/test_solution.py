"""What every solver's result promises about its gap."""

import numpy as np
import pytest

from edgewise.solvers._solution import Solution
from edgewise.solvers.gaussian.graphical_lasso import PrecisionSolution


def solution(gap, objective=1.0, history=None):
    return Solution(
        value=np.zeros(1),
        objective=objective,
        gap=gap,
        n_iter=1,
        converged=True,
        history=np.array([0.5, gap] if history is None else history),
    )


@pytest.mark.parametrize("gap", [0.0, 1e-3, np.inf])
def test_gaps_of_at_least_0_are_left_alone(gap):
    found = solution(gap)
    assert found.gap == gap
    assert found.converged
    np.testing.assert_array_equal(found.history, [0.5, gap])
    assert np.isnan(solution(np.nan).gap)


@pytest.mark.parametrize(("gap", "objective"), [(-1.8e-15, 1.0), (-1e-8, -1e3)])
def test_rounding_below_0_is_reported_by_its_size(gap, objective):
    found = solution(gap, objective)
    assert found.gap == -gap
    assert found.converged
    np.testing.assert_array_equal(found.history, [0.5, -gap])


@pytest.mark.parametrize(("gap", "objective"), [(-2.3e-4, 1.0), (-79.0, 1e6)])
def test_more_than_rounding_below_0_is_no_convergence(gap, objective):
    found = solution(gap, objective)
    assert found.gap == -gap
    assert not found.converged


def test_a_history_of_objectives_keeps_its_signs():
    found = solution(-1e-15, history=[-2.0, -3.0])
    np.testing.assert_array_equal(found.history, [-2.0, -3.0])


def test_it_holds_for_every_kind_of_solution():
    kinds = [Solution, *_subclasses(Solution)]
    assert PrecisionSolution in kinds
    for kind in kinds:
        assert kind.__post_init__ is Solution.__post_init__, kind


def _subclasses(kind):
    below = kind.__subclasses__()
    return below + [deeper for one in below for deeper in _subclasses(one)]
