"""The test of any change that fits nothing."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from edgewise import InputError
from edgewise.inference import PermutationTest, max_change_test
from edgewise.plot import plot_permutation
from edgewise.solvers import density_ratio
from tests.cases import by_default
from tests.estimators.change.change_rows import signs, standardized, two_groups


def memberships(y, n_permutations, seed):
    """Which rows, first group first, each shuffle puts into the second group."""
    member = np.sort(np.unique(y, return_inverse=True)[1]).astype(float)
    shuffles = np.tile(member, (n_permutations, 1))
    np.random.default_rng(seed).permuted(shuffles, axis=1, out=shuffles)
    return member == 1, shuffles == 1


def slow_statistics(rows, member, *, studentize, spare=0):
    """Statistic of every pair: Welch's t of its products, or their difference of means."""
    d = rows.shape[1]
    out = np.zeros((d, d))
    for u in range(d):
        for v in range(u + 1, d):
            product = rows[:, u] * rows[:, v]
            after, before = product[member], product[~member]
            out[u, v] = out[v, u] = after.mean() - before.mean()
            if studentize:
                parts = [
                    np.var(part, ddof=1) / len(part) * (len(part) / (len(part) - 1)) ** spare
                    for part in (after, before)
                ]
                out[u, v] = out[v, u] = out[u, v] / np.sqrt(sum(parts))
    return out


@pytest.mark.parametrize("studentize", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_values_are_those_of_a_slow_implementation(studentize, standardize):
    X, y = two_groups(14, 9, strength=1.0)
    X = 2.0 * X + 1.0
    test = max_change_test(
        X, y, n_permutations=40, studentize=studentize, standardize=standardize, random_state=3
    )
    assert isinstance(test, PermutationTest)
    rows = np.vstack(standardized(X, y)) if standardize else X
    member, shuffles = memberships(y, 40, 3)
    # The groups themselves were centred, those of the shuffles were not.
    observed = slow_statistics(rows, member, studentize=studentize, spare=int(standardize))
    nulls = [slow_statistics(rows, shuffle, studentize=studentize) for shuffle in shuffles]
    np.testing.assert_allclose(test.observed.weights, observed, atol=1e-12)
    sizes = np.abs(nulls)
    reached = (sizes >= np.abs(observed) - 1e-10).sum(axis=0)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(test.pvalues[off], ((1 + reached) / 41)[off])
    np.testing.assert_allclose(test.null_max, sizes.max(axis=(1, 2)))
    np.testing.assert_allclose(test.null_sum, sizes.sum(axis=(1, 2)) / 2)
    beyond = (test.null_max[:, None, None] >= np.abs(observed) - 1e-10).sum(axis=0)
    np.testing.assert_allclose(test.familywise[off], ((1 + beyond) / 41)[off])
    upper = np.triu_indices(4, 1)
    expected = stats.false_discovery_control(test.pvalues[upper])
    np.testing.assert_allclose(test.qvalues[upper], expected)
    assert test.classes == ("a", "b")
    assert test.n_permutations == 40


def test_a_difference_is_the_alpha_at_which_the_first_pair_enters():
    X, y = two_groups(60, 40, strength=1.0)
    test = max_change_test(X, y, studentize=False, n_permutations=9, random_state=0)
    before, after = standardized(X, y)
    largest = np.abs(test.observed.weights).max()
    for share, n_changes in ((1.001, 0), (0.999, 1)):
        # Away from the diagonal alone, as if the variables themselves had not changed.
        change = density_ratio(after, before, share * largest, ridge=0.1).value[:, :, 0]
        assert np.count_nonzero(np.triu(change, 1)) == n_changes


@pytest.mark.parametrize("studentize", [True, False])
def test_differences_of_several_features_are_lengths(studentize):
    X, y = two_groups(40, 50, strength=1.0)
    before, after = standardized(X, y)
    pooled = np.vstack([before, after])
    test = max_change_test(
        X, y, basis="polynomial", degree=3, studentize=studentize, n_permutations=9, random_state=0
    )
    powers = [None, *(pooled**k / (pooled**k).std(axis=0) for k in (1, 2, 3))]
    u, v = 0, 1
    features = [powers[k][:, w] for w in (u, v) for k in (1, 2, 3)]
    features += [powers[a][:, u] * powers[b][:, v] for a, b in ((1, 1), (1, 2), (2, 1))]
    differences = [feature[40:].mean() - feature[:40].mean() for feature in features]
    if not studentize:
        assert test.observed.weights[u, v] == pytest.approx(np.linalg.norm(differences))
    assert (test.observed.weights >= 0).all()
    assert test.pvalues[0, 1] < 0.2


def test_a_planted_change_is_found_and_named():
    X, y = two_groups(120, 120, n_features=12, strength=1.0)
    frame = pd.DataFrame(X, columns=[f"gene{k}" for k in range(12)])
    test = max_change_test(frame, y, random_state=0)
    assert test.n_permutations == 999
    edges = test.significant(by="familywise").edges()
    assert edges[["source", "target"]].to_numpy().tolist() == [["gene0", "gene1"]]
    assert edges.weight[0] > 3
    assert test.pvalue == 0.001
    assert plot_permutation(test).get_title().startswith("p = 0.001")
    swapped = max_change_test(X, np.where(y == "a", "b", "a"), random_state=0)
    assert swapped.observed.weights[0, 1] < -3


def test_results_depend_on_the_seed_alone():
    X, y = two_groups(20, 25, n_features=9)
    options = {"n_permutations": 30, "random_state": 4}
    one, two = (max_change_test(X, y, n_jobs=jobs, **options) for jobs in (1, 2))
    for name in ("pvalues", "familywise", "qvalues", "null_max", "null_sum"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    other = max_change_test(X, y, n_permutations=30, random_state=5)
    assert not np.allclose(other.null_max, one.null_max)


def test_more_pairs_than_are_compared_at_once():
    X, y = two_groups(20, 25, n_features=180)
    options = {"n_permutations": 30, "random_state": 4}
    one, two = (max_change_test(X, y, n_jobs=jobs, **options) for jobs in (1, 2))
    for name in ("pvalues", "familywise", "null_max", "null_sum"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    # Shuffles are the same for other columns; a pair is compared as if there were none.
    largest, total = [], []
    for first, last in ((0, 60), (120, 180)):
        alone = max_change_test(X[:, first:last], y, **options)
        part = slice(first, last)
        np.testing.assert_allclose(alone.observed.weights, one.observed.weights[part, part])
        np.testing.assert_array_equal(alone.pvalues, one.pvalues[part, part])
        largest.append(alone.null_max)
        total.append(alone.null_sum)
    assert (np.max(largest, axis=0) <= one.null_max * (1 + 1e-12)).all()
    assert (np.sum(total, axis=0) < one.null_sum).all()
    assert one.null_max.max() > np.max(largest)


def test_a_function_does_what_the_basis_of_the_same_features_does():
    X, y = two_groups(20, 25, strength=1.0)
    options = {"n_permutations": 20, "random_state": 0}
    named = max_change_test(X, y, **options)
    given = max_change_test(X, y, basis=lambda u, v: u * v, **options)
    np.testing.assert_allclose(named.observed.weights, given.observed.weights, atol=1e-8)
    np.testing.assert_allclose(named.null_max, given.null_max)
    cubes = {"basis": "power", "degree": 3, **options}
    powers = max_change_test(X, y, **cubes)
    given = max_change_test(X, y, basis=lambda u, v: u**3 * v**3, **options)
    np.testing.assert_allclose(powers.null_max, given.null_max, rtol=1e-6)
    assert not np.allclose(powers.null_max, named.null_max)


def test_means_count_only_if_rows_are_not_standardized():
    X, y = two_groups(60, 60, strength=0.0)
    moved = X + np.where(y == "a", 0.0, 1.5)[:, None]
    for basis in ("gaussian", "polynomial"):
        options = {"basis": basis, "degree": 3, "n_permutations": 199, "random_state": 0}
        level = max_change_test(X, y, **options)
        np.testing.assert_allclose(
            max_change_test(moved, y, **options).null_max, level.null_max, rtol=1e-6
        )
        raw = max_change_test(moved, y, standardize=False, **options)
        assert raw.pvalue == 0.005 < level.pvalue


def test_signs_tie_exactly():
    X, y = signs(20)
    test = max_change_test(
        X, y, basis="ising", studentize=False, n_permutations=200, random_state=0
    )
    products = X[:, 0] * X[:, 2]
    member, shuffles = memberships(y, 200, 0)
    observed = products[member].sum()
    centre = products.sum() / 2
    reached = sum(
        abs(products[shuffle].sum() - centre) >= abs(observed - centre) for shuffle in shuffles
    )
    assert test.pvalues[0, 2] == (1 + reached) / 201
    assert 0.05 < test.pvalues[0, 2] < 1
    # Two columns that always agree, and then never do, leave no spread to divide by.
    X[y == 0, 3], X[y == 1, 3] = X[y == 0, 2], -X[y == 1, 2]
    apart = max_change_test(X, y, basis="ising", n_permutations=50, random_state=0)
    assert np.isfinite(apart.null_max).all()
    assert apart.observed.weights[2, 3] < -100
    assert apart.pvalues[2, 3] == 1 / 51
    X[:, 3] = X[:, 2]
    same = max_change_test(X, y, basis="ising", n_permutations=50, random_state=0)
    assert same.pvalues[2, 3] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_permutations": 0}, "n_permutations must be at least 1"),
        ({"basis": "fourier"}, "basis must be one of"),
        ({"basis": "polynomial", "degree": 1}, "degree must be"),
        ({"y": ["a", "b", "c", "d"] * 40}, "y has 4 groups"),
        ({"X": np.full((160, 4), np.nan)}, "X contains NaN"),
        ({"X": np.arange(160.0)[:, None]}, "X has one column"),
    ],
)
def test_bad_input_is_named(change, message):
    X, y = two_groups()
    arguments = {"X": X, "y": y, "n_permutations": 9, **change}
    with pytest.raises(InputError, match=message):
        max_change_test(**arguments)


def null_pvalues(n_repeats, sizes, *, n_permutations=39, spread=1.0, **options):
    """P-values of tables in which no link changes, but the spread of a variable may."""
    found = []
    for seed in range(n_repeats):
        X, y = two_groups(*sizes, n_features=4, strength=0.0, seed=seed)
        X[y == "a", 2] *= spread
        X[:, 1] += 0.5 * X[:, 0]
        test = max_change_test(X, y, n_permutations=n_permutations, random_state=seed, **options)
        found.append((test.pvalue, test.pvalue_sum, test.pvalues[0, 2]))
    # A random point within each step makes the values continuous.
    steps = np.random.default_rng(0).uniform(size=(n_repeats, 3)) / (1 + n_permutations)
    return np.array(found) - steps


@pytest.mark.parametrize(("basis", "degree"), [("gaussian", 2), ("power", 2), ("polynomial", 3)])
@pytest.mark.parametrize("standardize", by_default(1, [True, False]))
def test_pvalues_are_uniform_where_nothing_changes(basis, degree, standardize):
    # Exact for rows as they are; that the groups were centred first shows below some 20 rows.
    sizes = (30, 40) if standardize else (8, 12)
    values = null_pvalues(150, sizes, basis=basis, degree=degree, standardize=standardize)
    for column in values.T:
        assert stats.kstest(column, "uniform").pvalue > 0.01


def test_spread_does_not_pass_for_a_change_of_links():
    studentized = null_pvalues(100, (20, 80), spread=4.0)
    plain = null_pvalues(100, (20, 80), spread=4.0, studentize=False)
    assert np.mean(studentized[:, 0] < 0.05) <= 0.12
    assert np.mean(plain[:, 0] < 0.05) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("basis", "sizes"),
    [
        ("gaussian", (30, 30)),
        ("gaussian", (20, 80)),
        ("gaussian", (100, 100)),
        # What centring does to cubes takes more rows to wear off.
        ("polynomial", (60, 60)),
        ("polynomial", (50, 200)),
    ],
)
def test_pvalues_are_uniform_in_many_tables(basis, sizes):
    values = null_pvalues(1000, sizes, n_permutations=99, basis=basis, degree=3)
    for column in values.T:
        assert stats.kstest(column, "uniform").pvalue > 0.01
