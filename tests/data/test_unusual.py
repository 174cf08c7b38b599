"""What misleads a fit is found in tables of that kind, and not in ordinary ones."""

import numpy as np
import pytest

from edgewise.data.unusual import about_survival, find_transposed, find_unusual

NAMES = tuple("abcdef")


def rows(n_samples=200, seed=1):
    return np.random.default_rng(seed).normal(size=(n_samples, 6))


def kinds(values, **options):
    return {one.kind: one for one in find_unusual(values, NAMES, **options)}


def test_ordinary_tables_have_nothing_unusual():
    """At most 1 clean table in 100 is noted, of 50 to 500 rows."""
    rng = np.random.default_rng(0)
    noted = 0
    for _ in range(200):
        n_samples, n_features = int(rng.integers(50, 501)), int(rng.integers(3, 31))
        mixing = np.eye(n_features) + rng.normal(size=(n_features, n_features))
        values = rng.normal(size=(n_samples, n_features)) @ mixing
        noted += bool(find_unusual(values, [f"x{k}" for k in range(n_features)]))
    assert noted <= 2


def test_outliers():
    values = rows()
    values[3, 1], values[8, 4] = 40.0, -70.0
    (found,) = find_unusual(values, NAMES)
    assert (found.kind, found.figure, set(found.columns)) == ("outliers", 2.0, {"b", "e"})
    assert found.advice == "--covariance nonparanormal"
    assert not find_unusual(values, NAMES, is_ranks=True)


def test_marks_of_missing_values():
    values = rows()
    values[[3, 9], 1] = -999
    found = kinds(values)["codes"]
    assert found.columns == ("b",)
    assert found.advice == "--read na=-999 --missing auto"


def test_skew():
    values = rows()
    values[:, 2] = np.exp(1.5 * values[:, 2])
    found = kinds(values)
    assert set(found) == {"skew"}
    assert found["skew"].columns == ("c",)
    assert found["skew"].figure > 2


def test_numbers_of_rows():
    values = rows()
    values[:, 5] = np.arange(1001, 1201)
    found = kinds(values)["identifier"]
    assert (found.columns, found.advice) == (("f",), "--drop f")


def test_columns_that_follow_from_others():
    values = rows() + 4.0
    values[:, 3] = 2.0 * values[:, 0] * values[:, 1]
    found = kinds(values)["relations"]
    assert (found.columns, found.advice) == (("d",), "--drop d")
    assert "'d' is 'a' times 'b'" in found.text
    values[:, 4] = values[:, 2] ** 2
    values[:, 5] = (values[:, 1] + values[:, 2]) / 2 + 0.01 * rows()[:, 5]
    found = kinds(values)["relations"]
    assert found.columns[:2] == ("d", "e")
    assert found.columns[2] in ("b", "c", "f")
    assert "99.9 % of the variance" in found.text
    # Without them nothing is left to say, as the advice has it.
    kept = [k for k, name in enumerate(NAMES) if name not in found.columns]
    assert not find_unusual(values[:, kept], [NAMES[k] for k in kept])
    # Of ranks, a square of positive numbers is the same column.
    ranked = set(kinds(values, is_ranks=True)["relations"].columns)
    assert ranked - {"d"} in ({"c"}, {"e"})
    # Gaps do not hide it, and every site keeps its column.
    values[::9, 0] = np.nan
    assert "d" in kinds(values)["relations"].columns
    assert not kinds(values, in_space=True)


def clinic(n_samples=300, seed=4):
    """Height, weight, the body mass index to one digit, and two other measurements."""
    rng = np.random.default_rng(seed)
    height = rng.normal(170, 10, n_samples).round()
    weight = (rng.normal(24, 4, n_samples) * (height / 100) ** 2).round(1)
    bmi = (weight / (height / 100) ** 2).round(1)
    return np.column_stack(
        [height, weight, rng.normal(90, 9, n_samples), bmi, rng.random(n_samples)]
    )


@pytest.mark.parametrize("is_ranks", [False, True])
def test_ratios_of_other_columns(is_ranks):
    values = clinic()
    values[::7, 0], values[3::11, 3] = np.nan, np.nan
    values[5, 3] *= 10
    found = find_unusual(values, ["height", "weight", "pulse", "bmi", "x"], is_ranks=is_ranks)[0]
    assert (found.kind, found.columns, found.advice) == ("relations", ("bmi",), "--drop bmi")
    assert "'bmi' is 'weight' divided by the square of 'height'" in found.text
    kept = [0, 1, 2, 4]
    assert not find_unusual(values[:, kept], ["height", "weight", "pulse", "x"], is_ranks=is_ranks)


def test_columns_that_grow_together_are_no_ratios():
    rng = np.random.default_rng(0)
    size = rng.normal(size=(400, 1))
    values = np.exp(size * [1.0, 2.0, 1.0, 3.0, 2.0, 1.0] + 0.1 * rng.normal(size=(400, 6)))
    assert "relations" not in kinds(values)


def test_many_columns_that_follow_are_not_to_be_left_out_one_by_one():
    """As where columns are samples, of which each is nearly a mean of the others."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 30)) + 1e-3 * rng.normal(
        size=(300, 30)
    )
    (found,) = find_unusual(values, [f"s{k}" for k in range(30)])
    assert found.kind == "relations"
    assert found.text.startswith(f"{len(found.columns)} of 30 columns follow from others")
    assert not found.advice


def test_times_under_observation():
    rng = np.random.default_rng(1)
    time, event = rng.exponential(size=200), rng.integers(0, 2, size=200)
    found = about_survival({"age": rng.normal(size=200), "futime": time, "death": event})
    assert found.columns == ("futime", "death")
    assert "--drop futime,death" in found.text
    assert found.advice == "--survival futime=death"
    assert about_survival({"time": time, "marital status": event}) is None
    assert about_survival({"time": time, "age": time}) is None


def test_codes_of_categories():
    values = rows()
    values[:, 0] = np.random.default_rng(2).integers(1, 4, size=200)
    found = kinds(values)["categories"]
    assert (found.columns, found.figure, found.advice) == (("a",), 3.0, "--drop a")
    # As in a clinic: a race among diagnoses of two levels and few measurements.
    values[:, 1:4] = np.random.default_rng(3).integers(0, 2, size=(200, 3))
    assert kinds(values)["categories"].columns == ("a",)
    # Answers throughout are no measurements with codes among them.
    assert not find_unusual(np.random.default_rng(2).integers(1, 6, size=(200, 6)) * 1.0, NAMES)


def test_genes_in_rows():
    rng = np.random.default_rng(3)
    genes = rng.normal(8, 3, size=(300, 1)) + rng.normal(size=(300, 6))
    labels = [f"YAL{k:03d}C" for k in range(300)]
    assert find_transposed(genes, NAMES, labels).advice == "--transform transpose"
    assert find_transposed(rows(300), NAMES, labels) is None
    dates = [f"2020-{k}" for k in range(300)]
    assert find_transposed(genes, NAMES, dates) is None
    cells = [f"cell{k}" for k in range(300)]
    assert find_transposed(genes.T, cells, ["cd4", "cd8a", "il", "tnf", "ifn", "gata"]) is not None


def test_marks_of_missing_values_among_answers():
    rng = np.random.default_rng(0)
    answers = rng.integers(1, 6, (60, 2)).astype(float)
    assert find_unusual(answers, ["a", "b"]) == ()
    answers[::7, 1] = -9
    for is_ranks in (False, True):
        (found,) = find_unusual(answers, ["a", "b"], is_ranks=is_ranks)
        assert (found.kind, found.columns) == ("codes", ("b",))
        assert found.advice == "--read na=-9 --missing auto"
