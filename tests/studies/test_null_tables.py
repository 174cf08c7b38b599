import numpy as np
import pandas as pd
import pytest

from studies import load_study, null_tables
from studies.__main__ import main


@pytest.mark.parametrize("design", null_tables.DESIGNS)
def test_tables_are_of_their_design(design):
    frame = null_tables.draw_table(design, np.random.default_rng(0))
    numbers = frame.select_dtypes("number").drop(
        columns=["participant", "beep", "age", "pain", "fever"], errors="ignore"
    )
    assert frame["group"].value_counts().nunique() == 1
    persons = {"diary": ("participant", 12), "subjects": ("subject", 5), "register": ("patient", 3)}
    if design in persons:
        name, each = persons[design]
        assert set(frame[name].value_counts()) == {each}
        assert (frame.groupby(name)["group"].nunique() == 1).all()
        values = np.log(numbers.clip(lower=0.01)) if design == "register" else numbers
        means = values.groupby(frame[name]).mean()
        assert means.var().mean() == pytest.approx(1 + 1 / each, rel=0.4)
    if design in null_tables.MEMORIES:
        kept = [numbers[name].autocorr(1) for name in numbers]
        assert np.mean(kept) == pytest.approx(null_tables.MEMORIES[design], abs=0.1)
    if design == "likert":
        assert set(numbers.nunique()) <= {3, 4, 5}
        assert (numbers.skew() > 0).all()
    if design in ("clinic", "register"):
        assert (numbers.skew() > 1).all()
        assert set(frame["sex"]) == {"f", "m"}
    is_sorted = frame.get("age", pd.Series([0])).is_monotonic_increasing
    assert is_sorted == (design not in ("clinic", "register"))
    share = numbers.isna().to_numpy().mean()
    assert share == pytest.approx({"missing": 0.2, "register": 0.1}.get(design, 0), abs=0.03)


def test_report_counts_claims_by_step_and_advice():
    """Two tables: one is refused and follows advice, where it claims something; one is silent."""
    step = {"design": "t3", "command": "learn", "edges": 1}
    rows = [
        step
        | {"step": 0, "advice": "", "refused": True, "judged": False, "claims": False, "edges": 0},
        step | {"step": 1, "advice": "-x", "refused": False, "judged": True, "claims": True},
        step | {"step": 0, "advice": "", "refused": False, "judged": True, "claims": False},
    ]
    report = null_tables.report(pd.DataFrame(rows))
    assert "| learn | 0 | all | 2 | 1 | 1 | 50.0% | 0.0% ± 0.0% |" in report.text
    assert "| learn | 1 | `-x` | 1 | 0 | 1 | 100.0% | 100.0% ± 0.0% |" in report.text
    assert report.claims[0].holds == "partly"
    assert "`learn` at step 1 100.0% of 1" in report.claims[0].found


@pytest.mark.slow
def test_quick_study_runs_the_advice_that_is_printed(tmp_path):
    assert main(["null-tables", "--quick", "--out", str(tmp_path)]) == 0
    table = pd.read_csv(tmp_path / "null-tables" / "results.csv")
    assert len(load_study("null-tables").parts) == table["design"].nunique()
    assert set(table["command"]) == set(null_tables.COMMANDS)
    # What is refused says what to do instead, and that is not refused.
    missing = table[table["design"] == "missing"]
    assert missing.groupby("step")["refused"].all().to_dict()[0]
    last = table.groupby(["design", "command"], sort=False).tail(1)
    assert not last["refused"].any()
    # Rows with so long a memory are too few for a test.
    assert last.loc[last["design"] != "ar8", "judged"].all()
