"""Genes that activate and repress each other."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from edgewise import InputError
from studies.change.regulation import make_gene_regulation_change


def test_rows_labels_and_changes():
    data = make_gene_regulation_change((30, 20), rng=1)
    assert (len(data.first), len(data.second), data.n_changed) == (30, 20, 6)
    np.testing.assert_array_equal(data.X, make_gene_regulation_change((30, 20), rng=1).X)


def hill_level(regulations, gene, levels):
    """Steady level by the formulas of the docstring."""
    acting = [r for r in regulations if r.target == gene]
    z = {r: (levels[:, r.regulator] / r.threshold) ** r.steepness for r in acting}
    a = sum((z[r] for r in acting if r.kind in ("activation", "dual")), 0.0)
    b = sum((z[r] for r in acting if r.kind == "repression"), 0.0)
    b = b + sum((z[r] ** 2 / 2 for r in acting if r.kind == "dual"), 0.0)
    if {r.kind for r in acting} == {"repression"}:
        return 0.02 + 0.96 * (1 / (1 + b))
    return 0.02 + 0.96 * a / (1 + a + b)


def test_the_gene_network():
    regulations = make_gene_regulation_change(rng=0).first_regulations
    assert len({(r.regulator, r.target) for r in regulations}) == 15
    assert all(r.regulator < r.target for r in regulations)
    assert {r.target for r in regulations} == set(range(3, 13))
    assert {r.regulator for r in regulations} >= {0, 1, 2}
    assert {r.kind for r in regulations} == {"activation", "repression", "dual"}
    assert all(0.2 <= r.threshold <= 0.6 and 1.5 <= r.steepness <= 4 for r in regulations)
    other = make_gene_regulation_change(rng=1).first_regulations
    assert [r.kind for r in other] == [r.kind for r in regulations]
    assert all(r.threshold != s.threshold for r, s in zip(regulations, other, strict=True))
    assert all(r.steepness != s.steepness for r, s in zip(regulations, other, strict=True))


def test_genes_settle_by_their_regulations():
    data = make_gene_regulation_change((300, 200), biological_noise=0, experimental_noise=0, rng=0)
    for levels, regulations in (
        (data.first, data.first_regulations),
        (data.second, data.second_regulations),
    ):
        for gene in range(3, 13):
            expected = hill_level(regulations, gene, levels)
            np.testing.assert_allclose(levels[:, gene], expected, rtol=1e-12)
            assert levels[:, gene].std() > 0
        for gene in range(3):
            assert stats.kstest(levels[:, gene], stats.beta(2, 2).cdf).pvalue > 0.005


def test_regulations_change_their_kind():
    seen = Counter()
    for seed in range(40):
        data = make_gene_regulation_change(2, rng=seed)
        pairs = list(zip(data.first_regulations, data.second_regulations, strict=True))
        for before, after in pairs:
            is_changed = before.kind != after.kind
            assert data.changed[before.regulator, before.target] == is_changed
            assert (before.threshold, before.steepness) == (after.threshold, after.steepness)
            assert (before.regulator, before.target) == (after.regulator, after.target)
            if is_changed:
                seen[before.kind, after.kind] += 1
        assert sum(before.kind != after.kind for before, after in pairs) == 6
    assert set(seen) == {
        ("activation", "repression"),
        ("repression", "activation"),
        ("dual", "activation"),
        ("dual", "repression"),
    }


def test_gene_noise():
    quiet = make_gene_regulation_change(4000, biological_noise=0, experimental_noise=0, rng=0)
    measured = make_gene_regulation_change(4000, biological_noise=0, experimental_noise=0.05, rng=0)
    error = np.log(measured.second / quiet.second)
    np.testing.assert_allclose(error.std(axis=0), 0.05, rtol=0.06)
    assert np.abs(error.mean(axis=0)).max() < 4 * 0.05 / math.sqrt(4000)
    biological = make_gene_regulation_change(
        4000, biological_noise=0.1, experimental_noise=0, rng=0
    )
    levels = biological.first
    for gene in range(3, 13):
        settled = hill_level(biological.first_regulations, gene, levels)
        assert np.log(levels[:, gene] / settled).std() == pytest.approx(0.1, rel=0.06)
    np.testing.assert_allclose(
        np.log(levels[:, :3] / quiet.first[:, :3]).std(axis=0), 0.1, rtol=0.06
    )
    published = make_gene_regulation_change(20, rng=0)
    named = make_gene_regulation_change(20, biological_noise=0.1, experimental_noise=0.05, rng=0)
    np.testing.assert_array_equal(published.X, named.X)
    assert (published.X > 0).all()


def test_number_of_changed_regulations():
    assert make_gene_regulation_change(2, n_changed=0, rng=0).n_changed == 0
    assert make_gene_regulation_change(2, n_changed=15, rng=0).n_changed == 15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_changed": 16}, "between 0 and 15, got 16"),
        ({"n_changed": -1}, "between 0 and 15, got -1"),
        ({"biological_noise": -0.1}, "at least 0, got -0.1 and 0.05"),
        ({"experimental_noise": np.inf}, "at least 0, got 0.1 and inf"),
    ],
)
def test_bad_gene_arguments(options, message):
    with pytest.raises(InputError, match=message):
        make_gene_regulation_change(**options)
