"""Power by number of rows."""

from __future__ import annotations

import numpy as np
import pytest

from edgewise.data import make_gaussian_graph
from edgewise.inference.planning import Plan, Truth, changed, pilot_truth, plan_rows


def curve(found: list[float], rows: tuple[int, ...] = (100, 200, 400, 800)) -> Plan:
    nothing = np.full(len(rows), np.nan)
    return Plan(
        question="learn",
        rows=np.array(rows),
        found=np.array(found),
        false=np.zeros(len(rows)),
        power=nothing,
        width=nothing,
        errors=np.zeros(len(rows)),
        n_tables=10,
    )


def test_rows_needed_lie_where_the_curve_crosses() -> None:
    assert curve([0.2, 0.5, 0.8, 1.0]).needed() == 400
    assert 200 < (curve([0.2, 0.5, 0.9, 1.0]).needed() or 0) < 400
    assert curve([0.9, 0.9, 1.0, 1.0]).needed() == 100
    assert curve([0.1, 0.2, 0.3, 0.79]).needed() is None
    # A dip by chance does not let more rows find less.
    assert curve([0.2, 0.85, 0.75, 0.79]).needed() is None
    assert curve([0.2, 0.9, 0.8, 1.0]).needed() is not None


@pytest.mark.parametrize("question", ["learn", "direct"])
def test_more_rows_find_more(question: str) -> None:
    truth = Truth(question, 8, size=0.3)  # type: ignore[arg-type]
    plan = plan_rows(truth, [20, 1000], n_tables=6, random_state=0)
    assert plan.found[1] > plan.found[0] + 0.2
    assert plan.found[1] > 0.7
    assert plan.needed(0.5) is not None
    listed = plan.table()
    assert [*listed["rows"]] == [20, 1000]
    assert ("interval_width" in listed) == (question == "learn")
    assert "power" not in listed


def test_power_of_two_groups_is_their_level_where_nothing_changed() -> None:
    same = make_gaussian_graph(6, rng=0)
    null = Truth("compare", 6, models=(same, same))
    plan = plan_rows(null, [100], n_tables=60, random_state=0)
    assert plan.power[0] <= 0.13
    assert np.isnan(plan.found[0])
    alternative = plan_rows(Truth("compare", 6, size=0.6), [60, 600], n_tables=8, random_state=0)
    assert alternative.power[1] > 0.8 > alternative.power[0]


def test_results_do_not_depend_on_the_number_of_processes() -> None:
    truth = Truth("learn", 6, size=0.4)
    one, two = (
        plan_rows(truth, [50, 100], n_tables=3, random_state=1, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    assert one.table().equals(two.table())


def test_width_of_intervals_falls_by_the_root_of_the_rows() -> None:
    plan = plan_rows(Truth("learn", 6, size=0.3), [200, 800], n_tables=5, random_state=0)
    assert plan.width[0] / plan.width[1] == pytest.approx(2.0, rel=0.1)


def test_as_many_edges_change_as_asked() -> None:
    base = make_gaussian_graph(10, signal=(0.1, 0.3), rng=0)
    other = changed(base, 3, 0.2, np.random.default_rng(0))
    moved = np.abs(other.partial_correlation - base.partial_correlation)
    assert np.count_nonzero(np.triu(moved > 1e-10, 1)) == 3
    assert moved[moved > 1e-10] == pytest.approx(0.2)


def test_a_pilot_is_the_truth() -> None:
    model = make_gaussian_graph(6, "chain", signal=(0.4, 0.4), rng=0)
    rows = model.sample(2000, rng=0)
    truth = pilot_truth("learn", rows)
    assert (truth.models[0].adjacency == model.adjacency).all()
    y = np.repeat([0, 1], 1000)
    assert len(pilot_truth("compare", rows, y).models) == 2
    (sem,) = pilot_truth("direct", rows).models
    assert ((sem.adjacency | sem.adjacency.T) == model.adjacency).all()
